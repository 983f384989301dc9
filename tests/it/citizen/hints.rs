//! Commands that messages and help name: each is one of this program, with options that it has.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::words;
use crate::support::{PROGRAM, World};

/// Texts after which the words that follow are no command.
const PROSE: [&str; 1] = ["each time that"];

/// The sources below a directory, without their tests and comments, and with texts of several lines in one.
fn sources(directory: &Path, out: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let mut joined = String::new();
            for line in lines {
                if let Some(part) = line.strip_suffix('\\') {
                    joined.push_str(part);
                } else {
                    joined.push_str(line);
                    joined.push('\n');
                }
            }
            out.push((path.display().to_string(), joined));
        }
    }
}

/// The words of a command as far as they are certain: a placeholder of its own is `x`, one that is part of a word goes.
fn command(text: &str) -> Vec<String> {
    let end = text.find(['"', '\'', '\\', '\n', ';', ',', '(', ')', ':', '|', '`', '&', '[', ']']);
    let is_quoted = end.is_some_and(|end| text[end..].starts_with('\''));
    let (mut line, mut depth) = (String::new(), 0);
    for c in text[..end.unwrap_or(text.len())].chars() {
        match c {
            '{' | '<' => {
                if depth == 0 && line.ends_with(' ') {
                    line.push('x');
                }
                depth += 1;
            }
            '}' | '>' => depth -= 1,
            c if depth == 0 => line.push(c),
            _ => {}
        }
    }
    if is_quoted && line.ends_with(' ') {
        line.push('x');
    }
    words(&line)
}

#[test]
fn every_command_that_a_text_names_has_the_options_that_it_is_named_with() {
    let world = World::with_commit();
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    let mut named: BTreeMap<Vec<String>, &str> = BTreeMap::new();
    let mut count = 0;
    for (file, text) in &found {
        for (at, start) in text.match_indices("git checkpoint ") {
            let rest = &text[at + start.len()..];
            if !rest.starts_with(|c: char| c.is_ascii_lowercase()) || PROSE.iter().any(|prose| rest.starts_with(prose))
            {
                continue;
            }
            let mut args = command(rest);
            // Help is shown where all before it is understood.
            let end = args.iter().position(|word| word == "--").unwrap_or(args.len());
            args.insert(end, "-h".to_owned());
            count += 1;
            named.entry(args).or_insert(file);
        }
    }
    assert!(count > 500, "{count}");
    // All in one process: hundreds of starts take ten times as long.
    let requests: String = named
        .keys()
        .map(|args| format!("{}\n", json!({"args": args})))
        .collect();
    let answers = world.command(PROGRAM, ["batch"]).input(requests).run();
    let answers: Vec<Value> = answers
        .stdout()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), named.len());
    let is_unknown = ["unexpected argument '-", "unknown command", "unrecognized"];
    let mut wrong = Vec::new();
    for ((args, file), answer) in named.iter().zip(&answers) {
        let error = answer["error"].to_string();
        if is_unknown.iter().any(|words| error.contains(words)) {
            wrong.push(format!("{file}: {args:?}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What is looked for is found.
    let refused = world.checkpoint(command("conflict --session {}\"").into_iter().chain(["-h".to_owned()]));
    refused.code(129).stderr_has("unexpected argument '--session'");
}
