//! `why`: the reason for one line.

use super::{BlameRequest, BlamedFile, LineOrigin, blame};
use crate::{
    model::{chat::Role, path::RepoPath, selector::Selector},
    ops::{Error, Scene},
    store::{
        ObjectId,
        chat::SavedMessages,
        checkpoint::{self, Fault},
    },
};

/// Messages at the end of a chat among which the prompt of a turn is looked for.
const MESSAGES: u64 = 4000;

/// A decision that names a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDecision {
    /// Its id.
    pub id: String,
    /// Text of the decision.
    pub text: String,
    /// Why.
    pub reason: Option<String>,
}

/// The reason for a line.
#[derive(Debug)]
pub struct LineReason {
    /// The file.
    pub file: BlamedFile,
    /// The number of the line, from 1.
    pub line: u32,
    /// Its bytes.
    pub text: Vec<u8>,
    /// Its origin.
    pub origin: LineOrigin,
    /// The whole prompt, where the chat has it.
    pub prompt: Option<String>,
    /// The decisions of the session that name the file.
    pub decisions: Vec<NamedDecision>,
}

/// Finds the reason for a line of a file, from 1.
pub fn why(scene: &Scene<'_>, selector: Option<Selector>, path: RepoPath, line: u32) -> Result<LineReason, Error> {
    let request = BlameRequest {
        selector,
        path,
        ranges: vec![format!("{line},{line}")],
    };
    let file = blame(scene, &request)?;
    let found = file.lines.first().cloned().ok_or_else(|| Error::LineRange {
        range: line.to_string(),
        total: 0,
    })?;
    let origin = file.origins[found.origin].clone();
    let load = |id: ObjectId| checkpoint::load(scene.repo, id).map_err(Error::damaged(id.to_string()));
    let mut prompt = None;
    let mut decisions: Vec<NamedDecision> = Vec::new();
    let paths: Vec<String> = file.paths.iter().map(ToString::to_string).collect();
    let brought_in = origin.checkpoint.as_ref().map(|entry| load(entry.id)).transpose()?;
    let latest = load(file.latest)?;
    // Decisions carry forward, but the latest checkpoint may be one of before.
    for decision in brought_in
        .iter()
        .chain([&latest])
        .flat_map(|loaded| &loaded.document.record.decisions)
    {
        let texts = [Some(&decision.text), decision.reason.as_ref()];
        let is_named = texts
            .into_iter()
            .flatten()
            .any(|text| paths.iter().any(|path| names(text, path)));
        if is_named && !decisions.iter().any(|known| known.id == decision.id) {
            decisions.push(NamedDecision {
                id: decision.id.clone(),
                text: decision.text.clone(),
                reason: decision.reason.clone(),
            });
        }
    }
    if let Some(loaded) = &brought_in {
        let subject = || loaded.entry.id.to_string();
        if let Some(turn) = &origin.turn {
            let saved = SavedMessages::of(scene.repo, &loaded.document).map_err(Error::damaged(subject()))?;
            let from = saved.messages.saturating_sub(MESSAGES);
            saved
                .each(from, |_, message| {
                    let is_prompt = message.role == Role::User && message.turn() == Some(turn.as_str());
                    let text = message.text();
                    if prompt.is_none() && is_prompt && !text.trim().is_empty() {
                        prompt = Some(text.trim().to_owned());
                    }
                    Ok::<(), Fault>(())
                })
                .map_err(Error::damaged(subject()))?;
        }
    }
    Ok(LineReason {
        line: found.number,
        text: found.text,
        origin,
        prompt,
        decisions,
        file,
    })
}

/// Whether a text names a file: by its path, or by its name alone. Another path with the same name, or a longer name, is
/// another file.
fn names(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    [path, name]
        .into_iter()
        .filter(|wanted| !wanted.is_empty())
        .any(|wanted| {
            text.match_indices(wanted).any(|(at, _)| {
                let end = at + wanted.len();
                let before = text[..at].trim_end_matches(is_of_path).len();
                let after = end + text[end..].find(|c| !is_of_path(c)).unwrap_or(text.len() - end);
                // The whole path in the text: from the directory, or with the full stop of a sentence behind it.
                let found = text[before..after].trim_start_matches("./");
                [path, name].contains(&found)
                    || [path, name].contains(&found.trim_end_matches('.'))
                    || found.starts_with('/') && found.trim_end_matches('.').ends_with(&format!("/{path}"))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_file_is_named_by_its_path_or_its_name() {
        for (text, path, expected) in [
            ("keep src/lexer.rs small", "src/lexer.rs", true),
            ("lexer.rs: no macros", "src/lexer.rs", true),
            ("mylexer.rs is another", "src/lexer.rs", false),
            ("see lexer.rst", "src/lexer.rs", false),
            ("lexer.rs.bak is gone", "src/lexer.rs", false),
            ("src/lexer.rs stays", "lexer.rs", false),
            ("src/lexer.rs stays", "other/lexer.rs", false),
            ("in ./src/lexer.rs.", "src/lexer.rs", true),
            ("/home/ana/app/src/lexer.rs:12", "src/lexer.rs", true),
            ("'a b.txt' stays", "docs/a b.txt", true),
            ("see docs/a b.txt", "a b.txt", false),
            ("über.rs", "src/ber.rs", false),
            ("nothing here", "src/lexer.rs", false),
        ] {
            assert_eq!(names(text, path), expected, "{text}");
        }
    }
}
