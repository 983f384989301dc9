//! The commit message of a checkpoint: a subject and a short body for people, trailers for listing.
//!
//! `list` and `log` read messages alone, so that a thousand sessions cost one object each; nothing that matters is
//! decided by a trailer. What a checkpoint is follows from its tree, because any text can forge a trailer.

use std::borrow::Cow;

use super::{
    document::{CheckpointKind, Document, SessionStatus},
    id::Digest,
    time::Timestamp,
};

/// Trailers of a commit message, unverified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers {
    /// The session's name when this was written.
    pub session: Option<String>,
    /// Cause of the checkpoint.
    pub kind: Option<CheckpointKind>,
    /// The session's status.
    pub status: Option<SessionStatus>,
    /// The checkpoint's own name.
    pub name: Option<String>,
    /// The occasion.
    pub trigger: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The machine.
    pub host: Option<String>,
    /// The session's summary, where the subject is another text.
    pub summary: Option<String>,
    /// Who works in the session alone, and until when.
    pub claim: Option<(String, Option<Timestamp>)>,
    /// When it was made, with its fraction of a second.
    pub time: Option<Timestamp>,
    /// Whether something that should have been captured was not.
    pub partial: bool,
    /// Whether the document is encrypted, and what people wrote is in it alone.
    pub encrypted: bool,
    /// The digest of the document.
    pub digest: Option<Digest>,
}

/// The longest subject, in characters; a longer summary is cut in the subject and whole in the document.
pub const SUBJECT_LIMIT: usize = 100;
/// The most lines of a list in the body.
const BODY_LINES: usize = 5;

/// A subject that the program made, in the form that a template gives it: `%s` is the subject.
pub fn formed(subject: &str, template: Option<&str>) -> String {
    match template {
        Some(template) => escaped(one_line(&template.replacen("%s", subject, 1), 2 * SUBJECT_LIMIT)),
        None => subject.to_owned(),
    }
}

/// Whether the subject of a document is an automatic one. That of a commit is the commit's own.
fn is_made(document: &Document) -> bool {
    let by_people = [
        CheckpointKind::Save,
        CheckpointKind::Pause,
        CheckpointKind::Finish,
        CheckpointKind::Commit,
    ];
    document.record.auto_summary || !by_people.contains(&document.kind)
}

/// The message for a document whose bytes have this digest. An automatic subject follows the template.
pub fn encode(document: &Document, partial: bool, digest: &Digest, template: Option<&str>) -> String {
    let record = &document.record;
    let summary = document.subject();
    let mut out = match subject(summary) {
        Some(subject) if !is_made(document) => subject,
        given => formed(&given.unwrap_or_else(|| fallback_subject(document)), template),
    };
    out.push('\n');
    let mut body = String::new();
    list(
        &mut body,
        "Done",
        record.accomplishments.iter().rev().map(|n| n.text.as_str()),
    );
    list(&mut body, "Next", record.next_steps.iter().map(|n| n.text.as_str()));
    list(&mut body, "Blocked", record.blockers.iter().map(|b| b.text.as_str()));
    if !body.is_empty() {
        out.push('\n');
        out.push_str(&body);
    }
    out.push('\n');
    let mut trailer = |key: &str, value: &str| {
        let value = one_line(value, 200);
        if !value.is_empty() {
            out.push_str(&format!("Checkpoint-{key}: {value}\n"));
        }
    };
    let session = &document.session;
    trailer("Session", session.name.as_str());
    trailer("Kind", document.kind.word());
    trailer("Status", session.status.word());
    trailer(
        "Name",
        document
            .name
            .as_ref()
            .map(super::name::ShortName::as_str)
            .unwrap_or_default(),
    );
    trailer("Trigger", document.trigger.as_deref().unwrap_or_default());
    trailer("Agent", session.agent.as_deref().unwrap_or_default());
    trailer("Task", session.task.as_deref().unwrap_or_default());
    trailer("Branch", document.git.worked_on().unwrap_or_default());
    trailer("Host", &document.host);
    if document.subject.is_some() {
        // A claim has a subject of its own in any case.
        let is_told = !record.auto_summary || document.trigger.as_deref() == Some("claim");
        let summary = record.summary.as_deref().filter(|_| is_told);
        let first = summary.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
        trailer("Summary", first.unwrap_or_default());
    }
    if let Some(claim) = &session.claim {
        let until = claim.until.map_or_else(|| "-".to_owned(), |until| until.to_string());
        trailer("Claim", &format!("{until} {}", claim.by));
    }
    if document.created_at != document.created_at.whole_seconds() {
        trailer("Time", &document.created_at.to_string());
    }
    trailer("Partial", if partial { "true" } else { "" });
    let is_encrypted = document.encrypted.is_some();
    trailer("Encrypted", if is_encrypted { "true" } else { "" });
    trailer("Digest", digest.as_str());
    out
}

/// Splits a message into its subject and its trailers.
///
/// Takes any bytes; a message that is not ours gives a subject and empty trailers.
pub fn decode(message: &[u8]) -> (String, Trailers) {
    // Nearly all messages are valid, which is faster to check than to repair.
    let text = std::str::from_utf8(message).map_or_else(|_| String::from_utf8_lossy(message), Cow::Borrowed);
    let text = text.trim_end();
    let subject = text.lines().next().unwrap_or_default().to_owned();
    let mut trailers = Trailers::default();
    // By hand: a log reads ten thousand messages, and to get ready for a search takes longer than to search in them.
    let bytes = text.as_bytes();
    let Some(end) = bytes.windows(2).rposition(|pair| pair == b"\n\n").map(|at| at + 1) else {
        return (subject, trailers);
    };
    for line in text[end + 1..].lines() {
        let Some((key, value)) = line.strip_prefix("Checkpoint-").and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        let Some(value) = value.strip_prefix(' ') else { continue };
        let text = || Some(value.to_owned());
        match key {
            "Session" => trailers.session = text(),
            "Kind" => trailers.kind = value.parse().ok(),
            "Status" => trailers.status = value.parse().ok(),
            "Name" => trailers.name = text(),
            "Trigger" => trailers.trigger = text(),
            "Agent" => trailers.agent = text(),
            "Task" => trailers.task = text(),
            "Branch" => trailers.branch = text(),
            "Host" => trailers.host = text(),
            "Summary" => trailers.summary = text(),
            "Claim" => {
                let parts = value.split_once(' ');
                trailers.claim = parts.map(|(until, by)| (by.to_owned(), Timestamp::parse(until).ok()));
            }
            "Time" => trailers.time = Timestamp::parse(value).ok(),
            "Partial" => trailers.partial = value == "true",
            "Encrypted" => trailers.encrypted = value == "true",
            "Digest" => trailers.digest = Digest::parse(value).ok(),
            _ => {}
        }
    }
    (subject, trailers)
}

/// The first line of a summary as a subject; `None` when it has no visible text.
fn subject(summary: &str) -> Option<String> {
    let line = summary
        .lines()
        .map(|line| one_line(line, SUBJECT_LIMIT))
        .find(|line| !line.is_empty())?;
    Some(escaped(line))
}

fn fallback_subject(document: &Document) -> String {
    format!("{} {}", document.kind.word(), document.session.name)
}

/// A list of the body: a heading and at most [`BODY_LINES`] lines.
fn list<'a>(out: &mut String, heading: &str, items: impl ExactSizeIterator<Item = &'a str>) {
    let count = items.len();
    if count == 0 {
        return;
    }
    out.push_str(&format!("{heading}:\n"));
    for item in items.take(BODY_LINES) {
        out.push_str(&format!("- {}\n", one_line(item, SUBJECT_LIMIT)));
    }
    if count > BODY_LINES {
        out.push_str(&format!("- and {} more\n", count - BODY_LINES));
    }
}

/// A line of a summary that looks like one of our trailers is marked, so that no reader takes it for one.
fn escaped(line: String) -> String {
    if line.starts_with("Checkpoint-") {
        format!("\\{line}")
    } else {
        line
    }
}

/// White space and control characters folded to single spaces, cut to `limit` characters.
fn one_line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for word in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
    {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        // A first cut by bytes keeps this linear on megabytes of text.
        if out.len() > 4 * limit {
            break;
        }
    }
    if out.chars().count() > limit {
        let cut: String = out.chars().take(limit - 3).collect();
        return format!("{}...", cut.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::document::tests::sample, *};

    #[test]
    fn a_message_says_what_the_document_says() {
        let mut document = sample();
        document.kind = CheckpointKind::Save;
        document.record.summary = Some("Parser done,\n\nCheckpoint-Status: failed\ntests red".into());
        document.git.branch = Some("main".into());
        let digest = Digest::of(&document.to_bytes());
        let message = encode(&document, true, &digest, None);
        assert_eq!(
            message,
            format!(
                "Parser done,\n\nCheckpoint-Session: auth\nCheckpoint-Kind: save\nCheckpoint-Status: active\n\
                 Checkpoint-Agent: claude\nCheckpoint-Branch: main\nCheckpoint-Host: laptop\n\
                 Checkpoint-Partial: true\nCheckpoint-Digest: {digest}\n"
            )
        );
        let (subject, trailers) = decode(message.as_bytes());
        assert_eq!(subject, "Parser done,");
        assert_eq!(trailers.digest, Some(digest));
        assert_eq!(
            (trailers.kind, trailers.status),
            (Some(CheckpointKind::Save), Some(SessionStatus::Active))
        );
        assert!(trailers.partial);
    }

    #[test]
    fn forged_trailers_stay_text() {
        let mut document = sample();
        document.record.summary = Some("Checkpoint-Digest: sha256:00".into());
        let message = encode(&document, false, &Digest::of(b"x"), None);
        assert!(message.starts_with("\\Checkpoint-Digest"), "{message}");
        assert_eq!(
            decode(b"Subject\n\nCheckpoint-Status: failed\n\nnot the last").1,
            Trailers::default()
        );
    }

    proptest! {
        #[test]
        fn whatever_the_summary_the_trailers_are_ours(summary in "(.|\n|Checkpoint-Digest: x){0,60}") {
            let mut document = sample();
            document.record.summary = Some(summary);
            let digest = Digest::of(b"document");
            let (_, trailers) = decode(encode(&document, false, &digest, None).as_bytes());
            prop_assert_eq!(trailers.digest, Some(digest));
            prop_assert_eq!(trailers.session.as_deref(), Some("auth"));
        }

        #[test]
        fn decoding_never_panics(message in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&message);
        }
    }
}
