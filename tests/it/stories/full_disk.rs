//! A watcher on a disk that is full for a while.

use crate::support::World;

#[test]
fn a_full_disk_is_told_and_saving_works_again_when_there_is_room() {
    let world = World::with_commit();
    let can = world.command("unshare", ["-m", "true"]).run();
    if !can.is_success() {
        eprintln!("skipped: needs root, to mount a small file system");
        return;
    }
    // The mount is gone with the last process that sees it, whatever happens.
    let script = r#"
        mkdir ../small && mount -t tmpfs -o size=8m tmpfs ../small && cp -a . ../small/repo && cd ../small/repo || exit 99
        git checkpoint start s
        timeout 60 git-checkpoint watch --interval 1s 2>&1 & watcher=$!
        trap 'kill -TERM $watcher 2>/dev/null' EXIT
        wait_for() { n=0; until git checkpoint status | grep -q "$1"; do n=$((n + 1)); [ $n -lt 100 ] || exit 98; sleep 0.2; done; }
        wait_for 'last autosave'
        echo two >README.md
        head -c 20000000 /dev/zero >../fill 2>/dev/null
        wait_for 'failing since'
        rm ../fill
        wait_for 'last autosave'
        kill -INT $watcher; wait $watcher; echo "ended with $?"
        git show "$(git for-each-ref --format='%(refname)' refs/checkpoints-autosave)^2:README.md"
        git checkpoint verify --all && git fsck --no-dangling
    "#;
    world
        .command("unshare", ["-m", "sh", "-c", script])
        .run()
        .success()
        .stdout_has("saving works again")
        .stdout_has("ended with 0\ntwo\n");
}
