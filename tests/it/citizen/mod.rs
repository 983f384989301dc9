//! How the program behaves among others: what `--json` promises, git's conventions, and what the README and the guides
//! show.
//!
//! These tests take the commands there are from the program itself (`help --json`), so that a new command is held to
//! them without a line here, and one that lacks its part fails them by name.

mod conventions;
mod every;
mod hints;
mod readme;
mod schemas;
mod scripts;

use serde_json::Value;

use crate::support::World;

/// Every command that does something by itself, as its words behind `git checkpoint`; a command of commands is here by
/// those.
pub fn commands(world: &World) -> Vec<String> {
    fn collect(command: &Value, before: &str, out: &mut Vec<String>) {
        for sub in command["commands"].as_array().unwrap() {
            let name = format!("{before}{}", sub["name"].as_str().unwrap());
            if sub["commands"].as_array().unwrap().is_empty() {
                out.push(name);
            } else {
                collect(sub, &format!("{name} "), out);
            }
        }
    }
    let help = world.checkpoint(["help", "--json"]).success().stdout_json();
    let mut out = Vec::new();
    collect(&help["command"], "", &mut out);
    assert!(out.len() > 20, "{out:?}");
    out
}

/// The words of a line, as a shell would split it: quotes are understood, nothing else is.
pub fn words(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut word, mut quote, mut any) = (String::new(), None, false);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) => (quote, any) = (Some(c), true),
            (' ', None) if word.is_empty() && !any => {}
            (' ', None) => {
                out.push(std::mem::take(&mut word));
                any = false;
            }
            (c, None) => word.push(c),
        }
    }
    if any || !word.is_empty() {
        out.push(word);
    }
    assert_eq!(quote, None, "{line}");
    out
}
