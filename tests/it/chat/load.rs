//! Long chats: what must not depend on the length does not.

use std::fs;

use serde_json::{Value, json};

use super::{say, session};

#[test]
fn a_save_stores_only_new_chunks_and_adding_reads_no_message() {
    let world = session();
    let file: String = (0..3000)
        .map(|n| {
            format!(
                "{}\n",
                json!({ "role": "user", "content": format!("message {n}"), "id": format!("m{n}") })
            )
        })
        .collect();
    let path = world.root().join("chat.jsonl");
    fs::write(&path, file).unwrap();
    world
        .checkpoint(["--quiet", "message", "import", &path.to_string_lossy()])
        .success();
    world.checkpoint(["save"]).success();
    let chunks = |of: &str| -> Vec<String> {
        world
            .git_line(["ls-tree", &format!("{of}:chat")])
            .lines()
            .map(str::to_owned)
            .collect()
    };
    let before = chunks("checkpoints/s");
    assert_eq!(before.len(), 6, "{before:?}");
    for chunk in 0..before.len() {
        let lines = world.git_line(["show", &format!("checkpoints/s:chat/{chunk:06}.jsonl")]);
        assert!(lines.lines().count() <= 512);
    }
    say(&world, "user", "one more");
    world.checkpoint(["save"]).success();
    let after = chunks("checkpoints/s");
    assert_eq!(
        (&after[..5], after.len()),
        (&before[..5], 6),
        "only the last chunk is another one"
    );
    assert_ne!(after[5], before[5]);
    // The positions of the latest are right without reading the others.
    let list = world
        .checkpoint(["message", "list", "-n", "2", "--json"])
        .success()
        .stdout_json();
    let last = list["messages"].as_array().unwrap();
    assert_eq!(
        (last[0]["id"].as_str(), last[1]["n"].as_u64()),
        (Some("m2999"), Some(3001))
    );
    let all: Vec<Value> = super::messages(&world);
    assert!(
        all.iter()
            .zip(1_u64..)
            .all(|(message, n)| message["n"].as_u64() == Some(n))
    );
    assert_eq!(all[1234]["id"], "m1234");
}
