//! The hand-off note: on one page, the facts that the next person or agent needs.

use super::{
    super::{markdown, outline},
    DocumentSource, list,
};
use crate::model::{
    facts::GitFacts,
    outline::{Outline, Section},
};

/// How many lines of a kind the note has.
const ROWS: usize = 20;

/// The sections that every note has, and the members of the outline in each; what else there is follows them.
const SECTIONS: [(&str, &[&str]); 9] = [
    ("Next steps", &["next_steps", "resume_instructions"]),
    ("Blocked", &["blockers", "approvals"]),
    ("Decisions made", &["decisions"]),
    ("Open questions", &["questions", "fork_points"]),
    ("Remaining", REMAINING),
    ("Done, latest first", &["accomplishments"]),
    (SETTLED, &[]),
    (DROPPED, &[]),
    ("Context for the next session", &["steps"]),
];

/// Answered questions; only where there are any.
const SETTLED: &str = "Answered and decided";
/// Tasks without an assignee; only where there are any.
const DROPPED: &str = "Dropped";

/// The members with open questions.
const ASKED: &[&str] = &["questions", "approvals", "fork_points"];

/// The members with items that are done at some time.
const REMAINING: &[&str] = &["tasks", "todos"];

/// The entries of several members as one section.
fn of(outline: &Outline, members: &[&str]) -> Section {
    let found: Vec<&Section> = members.iter().filter_map(|member| outline.section(member)).collect();
    let entries: Vec<_> = found.iter().flat_map(|section| section.entries.clone()).collect();
    Section {
        member: members.concat(),
        title: String::new(),
        rank: crate::model::outline::Rank::Rest,
        numbered: false,
        latest_last: false,
        total: entries.len() as u64,
        entries,
        command: String::new(),
    }
}

/// Status of the files as git reported it.
fn files(git: &GitFacts) -> String {
    let mut rows: Vec<String> = Vec::new();
    for (what, paths) in [
        ("staged", &git.staged),
        ("modified", &git.modified),
        ("deleted", &git.deleted),
        ("untracked", &git.untracked),
        ("conflicted", &git.conflicted),
    ] {
        rows.extend(paths.first.iter().map(|path| {
            if what == "staged" {
                let (state, path) = git.staged_kind(path).row(path);
                return format!("{state}: {path}");
            }
            format!("{what}: {path}")
        }));
        let more = paths.count.saturating_sub(paths.first.len() as u64);
        if more > 0 {
            rows.push(format!("{what}: and {more} more"));
        }
    }
    if rows.is_empty() && !git.has_status() {
        return "(not saved)\n".to_owned();
    }
    list(&rows, false)
}

/// The note.
pub fn handoff(source: &DocumentSource<'_>) -> String {
    let (document, record) = (source.document, &source.document.record);
    let session = &document.session;
    let title = session
        .title
        .as_deref()
        .or(session.task.as_deref())
        .unwrap_or(source.session);
    let mut out = format!("# Hand-off: {}\n\n## Status\n\n", markdown::line(title));
    let mut head = |label: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            out.push_str(&format!("- **{label}:** {}\n", markdown::line(&value)));
        }
    };
    head(
        "Session",
        Some(format!("{}, {}", source.session, session.status.word())),
    );
    let place = match document.host.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    head("Saved", Some(format!("{}{place}", document.created_at)));
    head(
        "Encrypted",
        document
            .encrypted
            .as_ref()
            .map(crate::model::document::EncryptionInfo::words),
    );
    head("Issue", Some(session.issues.join(", ")));
    head("Branch", Some(source.code()));
    head("Task", session.task.clone());
    head("Phase", source.phase());
    head("Progress", source.progress());
    let summary = record.summary.as_deref().unwrap_or(source.nothing());
    out.push_str(&format!("\n{}\n", markdown::block(summary)));
    let outline = Outline::of(source.contents, source.selector);
    let mut shown = Vec::new();
    for (title, members) in SECTIONS {
        let mut section = Section {
            numbered: title == "Next steps",
            ..of(&outline, members)
        };
        match title {
            "Blocked" | "Open questions" | "Remaining" => section.entries.retain(|entry| entry.open),
            "Done, latest first" => {
                let tasks = of(&outline, REMAINING).entries.into_iter();
                section
                    .entries
                    .extend(tasks.filter(|entry| !entry.open && entry.state != "dropped"));
            }
            SETTLED => {
                let asked = of(&outline, ASKED).entries.into_iter();
                section.entries.extend(asked.filter(|entry| !entry.open));
            }
            DROPPED => {
                let tasks = of(&outline, REMAINING).entries.into_iter();
                section.entries.extend(tasks.filter(|entry| entry.state == "dropped"));
            }
            _ => {}
        }
        if section.entries.is_empty() && [SETTLED, DROPPED].contains(&title) {
            continue;
        }
        section.total = section.entries.len() as u64;
        section.command = format!("git checkpoint show {} --all", source.selector);
        let text = if section.entries.is_empty() {
            format!("{}\n", source.nothing())
        } else {
            outline::list(&section, ROWS)
        };
        out.push_str(&format!("\n## {title}\n\n{text}"));
        shown.extend(members);
    }
    out.push_str(&format!("\n## Files not committed\n\n{}", files(&document.git)));
    // These are above, under the title.
    let mut rest = outline
        .clone()
        .without(&[("session", &["title", "task", "issues"]), ("phase", &["title"])]);
    rest.sections
        .retain(|section| !shown.contains(&section.member.as_str()));
    out.push_str(&outline::markdown(&rest, 2, ROWS));
    out.push_str(&format!("\n{}\n", outline::left_out_markdown(&outline)));
    out.push_str(&format!(
        "\n## On resuming\n\n\
         - [ ] `git checkpoint resume {0}` reports what changed since and what comes next\n\
         - [ ] the branch and the files are as above, or `git checkpoint restore {0}` brings them back\n\n\
         Checkpoint {1}, {2}.\n",
        source.selector, source.id, source.digest
    ));
    out
}
