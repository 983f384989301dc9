//! Many at once: every save that reports success is on the chain.

use std::collections::BTreeSet;

use crate::support::{PROGRAM, World};

#[test]
fn thirty_two_processes_saving_at_once_leave_thirty_two_checkpoints() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let before = world.fingerprint();
    let script = format!(
        "for n in $(seq 32); do '{PROGRAM}' save --session s --json -m \"save $n\" > ../out.$n & pids=\"$pids $!\"; done
         for pid in $pids; do wait $pid || exit 1; done"
    );
    world.command("sh", ["-c", &script]).run().success();
    let receipt = |n: u32| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(world.root().join(format!("out.{n}"))).unwrap()).unwrap()
    };
    let ids: BTreeSet<String> = (1..=32)
        .map(|n| receipt(n)["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 32);
    let chain = world.git_line(["log", "--first-parent", "--format=%H", "refs/checkpoints/s"]);
    let chain: BTreeSet<String> = chain.lines().map(str::to_owned).collect();
    assert_eq!(chain.len(), 33);
    assert!(ids.is_subset(&chain));
    assert_eq!(world.fingerprint(), before);
    world.checkpoint(["verify", "s"]).success();
    world.git(["fsck", "--strict"]).success();
    let packs = std::fs::read_dir(world.path(".git/objects/pack")).unwrap();
    let packs = packs
        .filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|x| x == "pack"))
        .count();
    assert!(packs <= 40, "{packs} packs: they are not merged");
}
