//! What is said of an encrypted record to who has no key: that there is one.

use super::{
    encrypted::{be, key, set},
    shared,
};

/// A document or list without what the record has would say that there is nothing.
#[test]
fn without_a_key_nothing_says_that_there_is_nothing() {
    let world = shared();
    let ana = key(&world, "ana");
    key(&world, "eve");
    set(&world, "checkpoint.encryptTo", &ana);
    be(&world, "ana");
    world
        .checkpoint(["save", "-m", "hidden", "--decision", "hidden", "--next", "hidden"])
        .success();
    be(&world, "eve");
    for format in ["handoff", "markdown"] {
        let note = world.checkpoint(["export", "--format", format]);
        note.success().stdout_has("(encrypted)\n");
        // But for the files, which git knows.
        let (before, _) = note.stdout().split_once("## Files").unwrap();
        assert!(!before.contains("(none)"), "{note}");
    }
    for format in ["json", "claude-mpm"] {
        let target = world.root().join(format);
        let words = ["export", "--format", format, "-o", target.to_str().unwrap()];
        world.checkpoint(words).code(4).stderr_has("is encrypted");
        assert!(!target.exists());
    }
    for words in [&["turns"][..], &["turns", "--json"], &["turns", "main"]] {
        world.checkpoint(words).code(4).no_stdout().stderr_has("is encrypted");
    }
    for format in ["prompt", "markdown", "text"] {
        world
            .checkpoint(["resume", "--format", format])
            .success()
            .stdout_has("none of your keys opens it");
    }
    be(&world, "ana");
    world.checkpoint(["turns"]).success().stderr_has("No turns found.");
}
