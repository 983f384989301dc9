//! The recipes of the guide for a shell prompt, run by the shells that are here.

use crate::support::World;

const GUIDE: &str = include_str!("../../../src/commands/guides/scripting.md");

/// The block after the line that begins with these words.
fn recipe(head: &str) -> &'static str {
    let (_, rest) = GUIDE.split_once(head).expect("a recipe");
    let block = rest.split_once("```text\n").expect("its block").1;
    block.split_once("\n```").expect("its end").0
}

#[test]
fn the_prompt_of_the_guide_shows_the_session() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "feature/login"]).success();
    let bash = |world: &World| {
        let script = format!("{}\nprintf '%s' \"${{PS1@P}}\"", recipe("In `~/.bashrc`, for bash:"));
        world
            .command("bash", ["-c", &script])
            .run()
            .success()
            .stdout()
            .to_owned()
    };
    assert!(
        bash(&world).ends_with(" $ ") || bash(&world).ends_with(" # "),
        "{:?}",
        bash(&world)
    );
    world.checkpoint(["save", "-m", "x"]).success();
    assert!(bash(&world).contains("/repo feature-login"), "{:?}", bash(&world));
    world.checkpoint(["todo", "tell ops"]).success();
    assert!(bash(&world).contains("/repo feature-login*"), "{:?}", bash(&world));
    // The other shell, where it is installed.
    let script = format!("{}\nprint -P \"$PROMPT\"", recipe("In `~/.zshrc`, for zsh:"));
    let zsh = std::process::Command::new("zsh").arg("--version").output();
    if zsh.is_ok_and(|found| found.status.success()) {
        world
            .command("zsh", ["-f", "-c", &script])
            .run()
            .success()
            .stdout_has("feature-login*");
    }
}
