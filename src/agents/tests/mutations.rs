//! Damaged session files: bytes and values at random.

use super::*;

/// A value in a document, by chance.
fn node<'v>(value: &'v mut Value, dice: &mut Dice) -> &'v mut Value {
    let children = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    if children == 0 || dice.below(4) == 0 {
        return value;
    }
    let nth = dice.below(children);
    match value {
        Value::Array(items) => node(&mut items[nth], dice),
        Value::Object(members) => node(members.values_mut().nth(nth).expect("counted"), dice),
        other => other,
    }
}

/// A line, or the document, with values of other types, sizes and places.
fn with_other_values(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return;
    }
    let at = dice.below(lines.len());
    let (line, mut value) = match serde_json::from_slice::<Value>(bytes) {
        Ok(document) => (None, document),
        Err(_) => match serde_json::from_slice(lines[at]) {
            Ok(record) => (Some(at), record),
            Err(_) => return,
        },
    };
    let copied = node(&mut value, dice).clone();
    let other = match dice.below(9) {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(1e308),
        3 => serde_json::from_str("99999999999999999999999999").expect("a number"),
        4 => json!(""),
        5 => json!("../../\u{0}\u{2028}é".repeat(dice.below(50))),
        6 => json!([[], {}, [null]]),
        7 => json!({ "": { "type": "x", "id": [] } }),
        _ => copied,
    };
    *node(&mut value, dice) = other;
    let Some(line) = line else {
        *bytes = value.to_string().into_bytes();
        return;
    };
    let changed = format!("{value}\n").into_bytes();
    let mut out = lines[..line].concat();
    out.extend(changed);
    out.extend(lines[line + 1..].concat());
    *bytes = out;
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no environment that is handed down")]
fn no_bytes_make_a_reader_fail() {
    // `scripts/transcripts mutations` asks for more than the suite has time for, one reader at a time.
    let mutations = std::env::var("CHECKPOINT_TEST_MUTATIONS").ok();
    let mutations: usize = mutations.and_then(|count| count.parse().ok()).unwrap_or(300);
    let only = std::env::var("CHECKPOINT_TEST_READER").ok();
    let pieces: [&[u8]; 9] = [
        b"\0\0\0",
        b"\\ud83c",
        b"\n",
        b"{\"",
        b"}",
        b"null",
        b"\xff\xfe",
        b"[[[[[[[[",
        b"9e99",
    ];
    for (name, file) in samples() {
        let agent = named(name).expect("an agent");
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let mut dice = Dice(name.len() as u64);
        for _ in 0..mutations {
            let mut bytes = file.clone();
            if dice.below(2) == 0 {
                for _ in 0..=dice.below(3) {
                    with_other_values(&mut bytes, &mut dice);
                }
            }
            for _ in 0..=dice.below(4) {
                let at = dice.below(bytes.len() + 1);
                match dice.below(6) {
                    0 => bytes.truncate(at),
                    1 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
                    2 => {
                        let piece = pieces[dice.below(pieces.len())];
                        bytes.splice(at..at, piece.iter().copied());
                    }
                    3 => {
                        let end = at + dice.below(bytes.len() - at + 1).min(200);
                        bytes.drain(at..end);
                    }
                    4 => {
                        let end = at + dice.below(bytes.len() - at + 1).min(400);
                        let copied = bytes[at..end].to_vec();
                        bytes.splice(at..at, copied);
                    }
                    _ => {}
                }
            }
            let _ = detect(&bytes);
            let layout = layout(agent, &bytes);
            let reading = read(agent, layout, &bytes, now());
            assert!(reading.messages.len() <= bytes.len());
            if layout != Layout::Lines {
                continue;
            }
            let mut reader = Reader::new(agent, layout, State::default(), 0, now());
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                if line.ends_with(b"\n") {
                    reader.feed_line(line, lines::record(line));
                } else {
                    reader.feed(line);
                }
            }
            let ahead = reader.end();
            assert_eq!((&ahead.messages, ahead.taken), (&reading.messages, reading.taken));
        }
    }
}
