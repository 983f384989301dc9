//! Nothing disappears: every leaf of a source is in a member, in `extra` or in an attachment, for all fixtures and for
//! mutated ones.

use serde_json::{Value, json};

use git_checkpoint::formats::{File, ProblemSeverity, parse_all};

use super::all;

/// With `--nocapture`: a line for each system and version. The figures of CHANGELOG and reports are these.
#[test]
fn every_leaf_of_every_case_is_kept() {
    let mut lost = Vec::new();
    println!("| case | values | members | extra | attachments | lost |\n|---|---|---|---|---|---|");
    for case in all() {
        let (parsed, _) = parse_all(case.files.clone());
        let leaves = &parsed.leaves;
        println!(
            "| {}/{} | {} | {} | {} | {} | {} |",
            case.system,
            case.name,
            leaves.source,
            leaves.members,
            leaves.extra,
            leaves.attachment,
            leaves.lost.len()
        );
        lost.extend(
            leaves
                .lost
                .iter()
                .map(|place| format!("{}/{}: {place}", case.system, case.name)),
        );
        if case.name.starts_with("real") {
            assert!(leaves.source > 10, "{}/{} counts nothing", case.system, case.name);
            let broken = parsed
                .problems
                .iter()
                .filter(|problem| problem.weight == ProblemSeverity::Broken);
            assert_eq!(
                broken.collect::<Vec<_>>(),
                Vec::<&_>::new(),
                "{}/{}",
                case.system,
                case.name
            );
        }
    }
    assert!(lost.is_empty(), "{} leaves are lost:\n{}", lost.len(), lost.join("\n"));
}

/// The program itself wrote the files of at least one case of each system that can be had.
#[test]
fn systems_that_can_be_had_have_fixtures_of_their_own() {
    let cases = all();
    for (system, least) in [("claude-mpm", 4), ("claude-flow", 2), ("folder", 1)] {
        let real = cases
            .iter()
            .filter(|case| case.system == system && case.name.starts_with("real-"));
        assert!(real.count() >= least, "{system}");
    }
}

/// A small generator of numbers (SplitMix64, published constants), so that a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % (end.max(1) as u64)).expect("below an end of that kind")
    }
}

/// Members that say which session or checkpoint a thing is, or that check it: with other values it is another thing.
const IDENTITY: [&str; 15] = [
    "id",
    "session_id",
    "sessionId",
    "swarm_id",
    "taskId",
    "schema",
    "integrity",
    "path",
    "name",
    "digest",
    "type",
    "timestamp",
    "created_at",
    "role",
    "status",
];

/// A text that is nowhere else.
fn word(numbers: &mut Numbers, words: &mut Vec<String>) -> String {
    let word = format!("mutation {} number {}", numbers.below(1_000_000), words.len());
    words.push(word.clone());
    word
}

/// Adds members, replaces texts, nests values; gives the words that must come in.
fn mutate(value: &mut Value, numbers: &mut Numbers, words: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if numbers.below(4) == 0 {
                map.insert(format!("added_{}", numbers.below(100)), word(numbers, words).into());
            }
            if numbers.below(6) == 0 {
                map.insert(
                    format!("tree_{}", numbers.below(100)),
                    json!([{ "deep": word(numbers, words) }, numbers.below(1_000_000_000)]),
                );
            }
            for (key, item) in map.iter_mut() {
                if item.is_string() && !IDENTITY.contains(&key.as_str()) && numbers.below(4) == 0 {
                    *item = match numbers.below(3) {
                        0 => json!({ "inner": word(numbers, words) }),
                        1 => json!([word(numbers, words)]),
                        _ => word(numbers, words).into(),
                    };
                } else {
                    mutate(item, numbers, words);
                }
            }
        }
        Value::Array(items) => {
            if !items.is_empty() && items.iter().all(Value::is_string) && numbers.below(3) == 0 {
                items.push(word(numbers, words).into());
            }
            for item in items {
                mutate(item, numbers, words);
            }
        }
        _ => {}
    }
}

#[test]
fn every_leaf_of_mutated_sources_is_kept() {
    let mut lost = Vec::new();
    let (mut rounds, mut leaves) = (0, 0);
    for case in all() {
        if ["damaged", "hostile", "odd-other", "odd-lost"]
            .iter()
            .any(|kind| case.name.starts_with(kind))
        {
            continue;
        }
        for seed in 0..8 {
            let mut numbers = Numbers(seed);
            let mut words = Vec::new();
            let files: Vec<File> = case
                .files
                .iter()
                .map(|file| {
                    let mut file = file.clone();
                    // What has a digest of itself is another story.
                    let is_checked = String::from_utf8_lossy(&file.bytes).contains("\"integrity\"");
                    if let (Ok(mut value), false) = (serde_json::from_slice::<Value>(&file.bytes), is_checked) {
                        mutate(&mut value, &mut numbers, &mut words);
                        file.bytes = serde_json::to_vec_pretty(&value).expect("JSON");
                    }
                    file
                })
                .collect();
            let (parsed, _) = parse_all(files);
            rounds += 1;
            leaves += parsed.leaves.source;
            lost.extend(
                parsed
                    .leaves
                    .lost
                    .iter()
                    .map(|place| format!("{}/{} seed {seed}: {place}", case.system, case.name)),
            );
        }
    }
    println!("{rounds} mutated sources, {leaves} leaves");
    assert!(rounds > 300 && leaves > 10_000);
    let shown: Vec<String> = lost.iter().take(40).cloned().collect();
    assert!(lost.is_empty(), "{} leaves are lost:\n{}", lost.len(), shown.join("\n"));
}
