//! Nothing disappears: every leaf of a source is in a member, in `extra` or in an attachment, for all fixtures and for
//! mutated ones.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use git_checkpoint::formats::{File, ProblemSeverity, parse_all};

use super::{all, cases::everything};

/// Prints a line for each system and version, which `scripts/formats/table` shows.
#[test]
fn every_leaf_of_every_case_is_kept() {
    let mut lost = Vec::new();
    let read_back = read_back();
    println!("| system and version | values | members | extra | attachments | lost | read back |");
    println!("|---|---|---|---|---|---|---|");
    for case in all() {
        let (parsed, _) = parse_all(case.files.clone());
        let leaves = &parsed.leaves;
        let version = case.name.strip_prefix("real-").unwrap_or(&case.name);
        let reader = read_back.get(&(case.system.clone(), version.to_owned()));
        println!(
            "| {} {version} | {} | {} | {} | {} | {} | {} |",
            case.system,
            leaves.source,
            leaves.members,
            leaves.extra,
            leaves.attachment,
            leaves.lost.len(),
            reader.map_or("", String::as_str),
        );
        assert_eq!(
            leaves.source,
            leaves.members + leaves.extra + leaves.attachment + leaves.lost.len(),
            "{}/{}",
            case.system,
            case.name
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

/// Whether the program of each system and version read our export when `scripts/formats/real --read-back` ran last.
fn read_back() -> BTreeMap<(String, String), String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/formats/read-back.tsv");
    let text = fs::read_to_string(path).expect("the results of the last run");
    let each = text.lines().map(|line| {
        let [system, version, result, date] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        ((system.to_owned(), version.to_owned()), format!("{result}, {date}"))
    });
    each.collect()
}

/// Each program that can be had reads our export, where there is one in its form.
#[test]
fn exports_were_read_by_the_programs_themselves() {
    let read_back = read_back();
    for (system, least) in [("claude-mpm", 4), ("folder", 1)] {
        let of_system = |(of, _): &(&(String, String), &String)| of.0 == system;
        let results: Vec<_> = read_back.iter().filter(of_system).collect();
        assert!(results.len() >= least, "{system}");
        assert!(
            results.iter().all(|(_, result)| result.starts_with("yes")),
            "{results:?}"
        );
    }
}

/// The program itself wrote the files of at least one case of each system that can be had.
#[test]
fn systems_that_can_be_had_have_fixtures_of_their_own() {
    let cases = all();
    for (system, least) in [("claude-mpm", 4), ("claude-flow", 4), ("folder", 1)] {
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
    let (mut rounds, mut leaves, mut planted, mut refused) = (0, 0, 0, 0);
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
            let (parsed, _) = parse_all(files.clone());
            let is_refused = |file: &&File| {
                parsed
                    .problems
                    .iter()
                    .any(|problem| problem.weight == ProblemSeverity::Broken && problem.path.starts_with(&file.path))
            };
            let (broken, read): (Vec<&File>, Vec<&File>) = files.iter().partition(is_refused);
            refused += broken.len();
            // The count is checked against the words themselves, which the parsers cannot know. A later change of the same
            // value removes an earlier word.
            let planted_in: String = read.iter().map(|file| String::from_utf8_lossy(&file.bytes)).collect();
            words.retain(|word| planted_in.contains(word.as_str()));
            let text = everything(&parsed);
            let missing = words.iter().filter(|word| !text.contains(word.as_str()));
            let of = format!("{}/{} seed {seed}", case.system, case.name);
            lost.extend(missing.map(|word| format!("{of}: {word}")));
            planted += words.len();
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
    println!(
        "{rounds} mutated sources, {leaves} leaves, {planted} planted words, {refused} files refused with a reason"
    );
    assert!(rounds > 300 && leaves > 10_000 && planted > 1_000 && refused < rounds / 5);
    let shown: Vec<String> = lost.iter().take(40).cloned().collect();
    assert!(lost.is_empty(), "{} leaves are lost:\n{}", lost.len(), shown.join("\n"));
}
