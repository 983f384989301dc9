//! Where output files go: never through a symlink that came with the files of others.

use std::os::unix::fs::symlink;

use crate::support::World;

#[test]
fn no_output_goes_through_a_symlink() {
    let world = World::with_commit();
    world.file("file", "saved\n");
    world.checkpoint(["save", "-m", "one", "--session", "s"]).success();
    std::fs::create_dir_all(world.root().join("outside/inner")).unwrap();
    std::fs::write(world.root().join("outside/profile"), "alias x=y\n").unwrap();
    std::fs::write(world.root().join("outside/empty"), "").unwrap();
    symlink("../outside/profile", world.path("NOTE.md")).unwrap();
    symlink("../outside/empty", world.path("empty.md")).unwrap();
    symlink("../outside/absent", world.path("absent.json")).unwrap();
    symlink("../outside", world.path("docs")).unwrap();
    symlink("docs", world.path("chain")).unwrap();
    std::fs::create_dir(world.path("real")).unwrap();
    symlink("../../outside/inner", world.path("real/deep")).unwrap();
    let listing = || {
        world
            .command("find", ["../outside", "-printf", "%p %s %T@\n"])
            .run()
            .stdout()
            .to_owned()
    };
    let before = listing();
    for line in [
        &["export", "--format", "handoff", "-o", "NOTE.md", "--force", "s"][..],
        &["export", "--format", "markdown", "-o", "empty.md", "s"],
        &["export", "--format", "json", "-o", "absent.json", "s"],
        &["export", "--format", "json", "-o", "docs/x.json", "s"],
        &["export", "--format", "handoff", "-o", "chain/x.md", "s"],
        &["export", "--format", "folder", "-o", "docs/session", "s"],
        &["export", "--format", "folder", "-o", "real/deep/session", "s"],
        &["export", "--format", "handoff", "--into", "docs/profile", "s"],
        &["bundle", "docs/b.bundle", "s"],
        &["bundle", "absent.json", "--force", "s"],
    ] {
        let output = world.checkpoint(line);
        assert!(!output.is_success(), "{line:?}: {}", output.stdout());
        assert_eq!(listing(), before, "{line:?}");
    }
    // A directory of the user's own elsewhere may be reached by any name.
    symlink("outside", world.root().join("link")).unwrap();
    world
        .checkpoint(["export", "--format", "json", "-o", "../link/x.json", "s"])
        .success();
    assert!(world.root().join("outside/x.json").is_file());
}
