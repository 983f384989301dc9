//! Changes that wait for a save stay with their session, whatever is taken back.

use super::{World, clone, save, shared};

/// The texts of the decisions and messages of a session, saved or not.
fn waiting(world: &World, session: &str) -> String {
    let decisions = world.checkpoint(["decision", "list", "--session", session]);
    let messages = world.checkpoint(["message", "list", session]);
    format!("{}{}", decisions.success().stdout(), messages.success().stdout())
}

fn fill(world: &World, session: &str) {
    let line = ["decision", "add", "of mine", "--session", session];
    world.checkpoint(line).success();
    let line = ["message", "add", "--session", session, "--role", "user", "said here"];
    world.checkpoint(line).success();
}

#[test]
fn an_undo_that_takes_a_session_away_refuses_while_changes_wait_in_it() {
    let world = shared();
    world.checkpoint(["start", "s"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    world.checkpoint(["bundle", "../s.bundle", "s"]).success();
    world.checkpoint(["fork", "s", "--name", "alt"]).success();
    world.checkpoint(["switch", "s"]).success();
    let here = |session: &str| {
        let name = format!("refs/checkpoints/{session}");
        let found = world.git(["rev-parse", "--verify", "--quiet", &name]);
        found.stdout().trim().to_owned()
    };
    let refused = |session: &str| {
        let before = here(session);
        assert_ne!(before, "", "{session}");
        fill(&world, session);
        for line in [&["undo", "--older"][..], &["undo", "--older", "--dry-run"]] {
            world
                .checkpoint(line)
                .code(4)
                .stderr_has(&format!("session '{session}' has 2 changes that are not saved"))
                .stderr_has(&format!("git checkpoint save --session {session}"))
                .stderr_has("git checkpoint undo --older --force");
        }
        assert_eq!(here(session), before);
        // Asked for, it goes, and all of it comes back.
        world.checkpoint(["undo", "--older", "--force"]).success();
        assert_eq!(here(session), "");
        world.checkpoint(["redo"]).success();
        assert_eq!(here(session), before);
        let text = waiting(&world, session);
        assert!(text.contains("of mine") && text.contains("said here"), "{text}");
    };
    refused("alt");
    // Without anything that waits it goes as before.
    world.checkpoint(["save", "--session", "alt", "--no-files"]).success();
    world.checkpoint(["undo", "--older"]).code(4).stderr_lacks("not saved");

    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "s"]).success();
    refused("s");
    clone(&world, "carl");
    world.checkpoint(["unbundle", "../s.bundle"]).success();
    refused("s");
}

/// After a pull that parted the session, other commands on the part are taken back alone.
#[test]
fn a_renamed_part_of_a_session_keeps_its_draft_when_the_name_is_taken_back() {
    let world = shared();
    world.checkpoint(["start", "s"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "s"]).success();
    world.checkpoint(["resume", "s"]).success();
    save(&world, "bob's");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    save(&world, "mine");
    world
        .checkpoint(["pull", "origin", "s"])
        .success()
        .stdout_has("was moved to session");
    let names = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    let part = names.lines().find(|name| *name != "s").unwrap().to_owned();
    fill(&world, &part);
    world.checkpoint(["rename", &part, "own"]).success();
    world.checkpoint(["undo"]).success();
    for (session, has) in [(part.as_str(), true), ("s", false)] {
        let text = waiting(&world, session);
        assert_eq!(text.contains("of mine"), has, "{session}: {text}");
        assert_eq!(text.contains("said here"), has, "{session}: {text}");
    }
    world.checkpoint(["redo"]).success();
    assert!(waiting(&world, "own").contains("of mine"));
    assert!(!waiting(&world, "s").contains("of mine"));
    // The pull itself takes the draft along, as before.
    world.checkpoint(["undo"]).success();
    world.checkpoint(["undo", "--older"]).success();
    assert!(waiting(&world, "s").contains("of mine"));
    world.checkpoint(["verify", "--all"]).success();
}
