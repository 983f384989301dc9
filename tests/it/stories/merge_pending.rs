//! A merge that is pending: who concludes it, and what is said of it until then.

use super::merge_conclusion::{forked, in_conflict, lines, text};
use crate::support::World;

/// An event of an agent, as the worker that a hook starts: the test waits for it.
fn agent_event(world: &World, event: &str, prompt: &str) {
    let payload = serde_json::json!({"session_id": "5b1c9a4e-1111-4222-8333-944455556666", "cwd": world.repo(),
        "hook_event_name": event, "prompt": prompt, "prompt_id": prompt});
    let command = world.command(crate::support::PROGRAM, ["hook", "claude-code", event]);
    let command = command.env("CHECKPOINT_AGENT_HOOK", "worker");
    command.input(payload.to_string()).run().success().no_stderr();
}

/// Whoever makes the checkpoint: a hook of git, an agent at its prompt, or at the end of its turn.
#[test]
fn hooks_and_turns_conclude_a_merge_as_a_save_does() {
    for by in ["hook", "edits between turns", "turn"] {
        let world = forked(&["f"]);
        world.git(["config", "checkpoint.agents", "true"]).success();
        in_conflict(&world, &["f"]);
        world.checkpoint(["save", "-m", "ours"]).success();
        match by {
            "hook" => drop(world.checkpoint(["hooks", "install"]).success()),
            "turn" => agent_event(&world, "UserPromptSubmit", "p1"),
            _ => {}
        }
        world.checkpoint(["merge", "t"]).code(1);
        // Not before it is resolved.
        match by {
            "turn" => {}
            "hook" => {
                world.file("h", "1\n");
                world.git(["commit", "-qm", "other", "--", "README.md"]);
            }
            _ => agent_event(&world, "UserPromptSubmit", "p0"),
        }
        world
            .checkpoint(["status"])
            .success()
            .stdout_has("pending    merge of t");
        world.file("f", lines(3, "both"));
        world.git(["add", "f"]).success();
        match by {
            "hook" => drop(world.git(["commit", "-qm", "done"]).success()),
            "turn" => agent_event(&world, "Stop", "p1"),
            _ => agent_event(&world, "UserPromptSubmit", "p2"),
        }
        assert_eq!(
            world.git_line(["show", "checkpoints/s^2:f"]),
            lines(3, "both").trim_end(),
            "{by}"
        );
        world.checkpoint(["status"]).success().stdout_lacks("pending");
        let aborted = world.checkpoint(["merge", "--abort"]);
        aborted.code(1).stderr_has("no merge in progress");
        world.checkpoint(["merge", "t"]).success().stdout_has("Up to date");
        assert_eq!(text(&world, "f"), lines(3, "both"), "{by}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// After a reset no save concludes it, so none is promised.
#[test]
fn no_conclusion_is_promised_that_does_not_come() {
    let resets: [(&[&str], &str, &str); 2] = [
        (
            &["reset", "-q", "--hard"],
            "nothing of it is in the files any more",
            "git checkpoint merge --continue --force",
        ),
        (
            &["reset", "-q"],
            "no longer unmerged",
            "git checkpoint merge --continue",
        ),
    ];
    for (reset, state, then) in resets {
        let world = forked(&["f"]);
        in_conflict(&world, &["f"]);
        world.checkpoint(["save", "-m", "ours"]).success();
        world.checkpoint(["merge", "t"]).code(1);
        world.git(reset.iter().copied()).success();
        world.file("h", "1\n");
        let saved = world.checkpoint(["save", "-m", "after"]);
        saved
            .success()
            .stderr_has("the merge of 't' is pending")
            .stderr_lacks("is concluded");
        world
            .checkpoint(["merge", "--abort"])
            .code(4)
            .stderr_has("1 checkpoint was saved after the merge of 't'")
            .stderr_has(state)
            .stderr_has(then)
            .stderr_lacks("the next save concludes");
        world.file("h", "2\n");
        world
            .checkpoint(["save", "-m", "once more"])
            .success()
            .stderr_lacks("is concluded");
        world.checkpoint(["status"]).success().stdout_has("merge");
    }
}

/// The files decide whether there are markers, not the index.
#[test]
fn markers_are_reported_where_they_are() {
    let world = forked(&["f", "g"]);
    in_conflict(&world, &["f", "g"]);
    world.git(["init", "-q", "--bare", "../remote.git"]).success();
    world.git(["remote", "add", "origin", "../remote.git"]).success();
    world.checkpoint(["merge", "t"]).code(1);
    let warned = |saved: &str, pushed: &str| {
        let out = world.checkpoint(["save", "-m", "x", "--allow-empty"]);
        out.success()
            .stderr_has(&format!("the merge of 't' is pending: {saved}\n"));
        let out = world.checkpoint(["push", "origin", "s"]);
        out.success()
            .stderr_has(&format!("the latest checkpoint of 's' has {pushed}\n"));
    };
    let all = "2 unmerged paths, with conflict markers in the files";
    warned(all, all);
    world.file("f", lines(3, "both"));
    let some = "2 unmerged paths, 1 of them with conflict markers in the file";
    warned(some, some);
    world.file("g", lines(3, "both"));
    warned("2 unmerged paths", "2 unmerged paths");
}
