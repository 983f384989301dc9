//! A checkpoint as one page of HTML: to send, to print, to read without this program.
//!
//! The page asks for nothing: no script, no font, no picture from elsewhere, and its content security policy forbids all of
//! them, so that text of others could load nothing even if it were markup. Every text goes through the template, which
//! escapes it, after hidden and bidirectional characters became visible.

mod file_patch;
mod said;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use self::file_patch::patch_lines;
pub use self::file_patch::{FilePatch, files};
use super::{escape, indicator::grouped, text::Text};
use crate::model::{
    chat::{Message, Role},
    document::{CheckpointKind, Document},
    id::Oid,
    outline::{Entry, Outline, Section},
    record::ForkPoint,
    time::Timestamp,
    turn::{self, TurnGroup, TurnGroups},
};

/// The most bytes of one message that are shown.
const MESSAGE_LIMIT: usize = 16 << 10;
/// The most bytes of the chat that are shown: the latest turns. With the rest a page stays below 15 MB.
const CHAT_LIMIT: usize = 8 << 20;
/// The most checkpoints in the time line.
pub const TIMELINE_LIMIT: usize = 500;

/// The style of a report.
pub(super) const STYLE: &str = include_str!("html.css");

/// Where a report is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportPlace {
    /// A file of its own.
    File,
    /// The local page, which can open other checkpoints, and which makes the report again after each save: with less of
    /// the chat.
    Page,
}

impl ReportPlace {
    fn chat_limit(self) -> usize {
        match self {
            Self::File => CHAT_LIMIT,
            Self::Page => CHAT_LIMIT / 16,
        }
    }
}

/// The content of a page.
#[derive(Debug)]
pub struct HtmlReport<'a> {
    /// Where it is read.
    pub place: ReportPlace,
    /// The name of the session.
    pub session: &'a str,
    /// The id of the checkpoint, in hex.
    pub id: &'a str,
    /// The digest of its document.
    pub digest: &'a str,
    /// Its document.
    pub document: &'a Document,
    /// Its sections.
    pub outline: &'a Outline,
    /// The whole chat, oldest first.
    pub messages: &'a [Message],
    /// The checkpoints of the session, latest first; at most [`TIMELINE_LIMIT`].
    pub timeline: &'a [TimelineEntry],
    /// Whether there are older ones.
    pub has_older: bool,
    /// The changes since, when the checkpoint is the latest one of its session here.
    pub changes: Option<&'a Text>,
    /// Each file that differs from the commit, with its patch.
    pub files: &'a [FilePatch],
    /// Files that differ but are not shown, as they would make the page too large.
    pub more_files: usize,
}

/// A checkpoint of the time line.
#[derive(Debug)]
pub struct TimelineEntry {
    /// Its id; the page links to all of it, which is found without looking through all checkpoints.
    pub id: Oid,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub by: String,
    /// Why it was made.
    pub kind: Option<CheckpointKind>,
    /// Its subject.
    pub subject: String,
}

/// A part of a report under a heading.
struct ReportPart {
    id: String,
    title: String,
    body: Markup,
}

impl HtmlReport<'_> {
    /// The page.
    pub fn page(&self) -> String {
        let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
        let policy = format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'");
        let subject = self.document.subject().trim().lines().next().unwrap_or_default();
        let title = format!("{}: {subject}", self.session);
        let parts = self.parts();
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    title { (shown(&title)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a class="skip" href="#main" { "Skip to the content" }
                    (self.layout(&parts))
                }
            }
        }
        .into_string()
    }

    /// The report without the page around it.
    pub fn article(&self) -> String {
        self.layout(&self.parts()).into_string()
    }

    fn layout(&self, parts: &[ReportPart]) -> Markup {
        html! {
            div class="report" data-session=(self.session) {
                header class="head" { (self.head()) }
                nav class="contents" aria-label="Sections" {
                    p class="label" aria-hidden="true" { "On this page" }
                    ul {
                        @for part in parts { li { a href=(format!("#{}", part.id)) { (part.title) } } }
                    }
                }
                main id="main" tabindex="-1" {
                    @for part in parts {
                        section id=(part.id) aria-labelledby=(format!("{}-title", part.id)) {
                            details class="part" id=(format!("{}-part", part.id)) open {
                                summary { h2 id=(format!("{}-title", part.id)) { (part.title) } }
                                div class="body" { (part.body) }
                            }
                        }
                    }
                }
                footer class="foot" {
                    p { "Checkpoint " code { (self.id) } }
                    p { "Digest " code { (self.digest) } }
                    p { "Made by git-checkpoint. Everything here is in " code { "refs/checkpoints/" (shown(self.session)) } "." }
                }
            }
        }
    }

    fn head(&self) -> Markup {
        let git = &self.document.git;
        let status = self.document.session.status.word();
        html! {
            p class="kicker" {
                span class="name" { (shown(self.session)) } " "
                span class=(format!("badge status-{status}")) { (status) }
            }
            h1 { (shown_lines(self.outline.summary.as_deref().unwrap_or_else(|| self.document.subject()).trim())) }
            dl class="facts" {
                div { dt { "Saved" } dd { (time(self.document.created_at)) } }
                @if let Some(branch) = &git.branch { div { dt { "Branch" } dd { code { (shown(branch)) } } } }
                @if let Some(head) = &git.head { div { dt { "Commit" } dd { code { (head.short()) } } } }
                @if let Some(tokens) = self.tokens() { div { dt { "Chat" } dd { (tokens) } } }
                @if let Some(info) = &self.document.encrypted { div { dt { "Encrypted" } dd { (info.words()) } } }
                div { dt { "Kind" } dd { (self.document.kind.word()) } }
                div { dt { "Machine" } dd { (shown(&self.document.host)) } }
            }
        }
    }

    /// Messages and tokens of the chat, in words.
    fn tokens(&self) -> Option<String> {
        let messages = self.messages.len();
        let count = self
            .document
            .tokens
            .as_ref()
            .and_then(|tokens| tokens["count"].as_u64())
            .or_else(|| self.document.chat.as_ref().and_then(|chat| chat.tokens));
        let noun = if messages == 1 { "message" } else { "messages" };
        match count {
            _ if messages == 0 => None,
            Some(count) if count > 0 => Some(format!(
                "{} {noun}, {} tokens",
                grouped(messages as u64),
                grouped(count)
            )),
            _ => Some(format!("{} {noun}", grouped(messages as u64))),
        }
    }

    /// The parts of the page: id, title and content.
    fn parts(&self) -> Vec<ReportPart> {
        let mut out = Vec::new();
        let mut part = |id: &str, title: &str, body: Markup| {
            out.push(ReportPart {
                id: id.to_owned(),
                title: title.to_owned(),
                body,
            });
        };
        let graph_of =
            |section: &Section| (section.member == "fork_points").then_some(&self.document.record.fork_points);
        let mut sections = self
            .outline
            .sections
            .iter()
            .filter(|section| section.member != "messages")
            .peekable();
        while let Some(section) = sections.next_if(|section| section.member != "session") {
            part(
                &format!("s-{}", section.member),
                &shown(&section.title),
                one(section, graph_of(section)),
            );
        }
        if let Some(changes) = self.changes {
            part(
                "changes",
                "What changed since",
                html! { pre class="changes" tabindex="0" { (lines(changes)) } },
            );
        }
        for section in sections {
            part(
                &format!("s-{}", section.member),
                &shown(&section.title),
                one(section, graph_of(section)),
            );
        }
        part("timeline", "Time line", self.timeline());
        if !self.files.is_empty() {
            part("files", "Files against the commit", self.files());
        }
        if !self.messages.is_empty() {
            part("chat", "Chat", self.chat());
        }
        if !self.outline.left_out.is_empty() {
            let rows = self.outline.left_out.iter();
            part(
                "left-out",
                "Not shown",
                html! {
                    ul { @for row in rows { li { (shown(&row.words)) ": " code { (shown(&row.command)) } } } }
                },
            );
        }
        out
    }

    fn timeline(&self) -> Markup {
        html! {
            ol class="timeline" {
                @for entry in self.timeline {
                    li {
                        span class="dot" aria-hidden="true" {}
                        p class="what" { (shown(&entry.subject)) }
                        p class="who" {
                            @match self.place {
                                ReportPlace::File => code { (entry.id.short()) },
                                ReportPlace::Page => a href=(format!("#/c/{}", entry.id.as_str())) { code { (entry.id.short()) } },
                            }
                            " "
                            @if let Some(kind) = entry.kind { span class="badge" { (kind.word()) } " " }
                            (time(entry.at)) " by " (shown(&entry.by))
                        }
                    }
                }
            }
            @if self.has_older {
                p class="more" { "Older checkpoints: " code { "git checkpoint log " (shown(self.session)) } }
            }
        }
    }

    fn files(&self) -> Markup {
        html! {
            @for file in self.files {
                details class="file" id=(format!("file-{}", word(&file.path))) {
                    summary {
                        code { (shown(&file.path)) } " "
                        span class="counts" {
                            span class="t-added" { "+" (file.added) } " " span class="t-removed" { "\u{2212}" (file.removed) }
                        }
                    }
                    pre class="patch" tabindex="0" { (patch_lines(&file.text)) }
                }
            }
            @if self.more_files > 0 {
                p class="more" {
                    (self.more_files) " more files: " code { "git checkpoint show " (shown(self.session)) " --patch" }
                }
            }
        }
    }

    fn chat(&self) -> Markup {
        let groups = groups(self.messages);
        let of = |first: u64, last: u64| {
            let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(self.messages.len());
            &self.messages[index(first.saturating_sub(1))..index(last)]
        };
        // The latest turns that fit.
        let (mut size, mut from) = (0, groups.len());
        while from > 0 {
            let group = &groups[from - 1];
            size += of(group.first, group.last)
                .iter()
                .map(|m| m.text().len().min(MESSAGE_LIMIT))
                .sum::<usize>();
            if size > self.place.chat_limit() && from < groups.len() {
                break;
            }
            from -= 1;
        }
        html! {
            @if from > 0 {
                p class="more" {
                    "The first " (from) " of " (groups.len()) " turns are left out: "
                    code { "git checkpoint message list --session " (shown(self.session)) }
                }
            }
            @for group in &groups[from..] {
                details class="turn" id=(format!("turn-{}", group.first))
                    open[groups.last().is_some_and(|last| last.first == group.first)] {
                    summary {
                        span class="subject" { (shown(if group.subject.is_empty() { "(no prompt)" } else { &group.subject })) } " "
                        span class="who" {
                            (time(group.started_at)) ", " (count(group.last - group.first + 1, "message"))
                            @if let Some(model) = &group.model { ", " (shown(model)) }
                            @if !group.tokens.is_zero() { ", " (grouped(group.tokens.input + group.tokens.output)) " tokens" }
                        }
                    }
                    @for message in of(group.first, group.last) { (message_markup(message)) }
                }
            }
        }
    }
}

/// The turns of a chat. Messages that no agent gave a turn are grouped by the prompts.
fn groups(messages: &[Message]) -> Vec<TurnGroup> {
    let mut out = Vec::new();
    let mut current = TurnGroups::default();
    for (message, number) in messages.iter().zip(1..) {
        if message.turn().is_none() && message.role == Role::User && turn::spoken(message).is_some() {
            out.extend(std::mem::take(&mut current).end());
        }
        current.push(number, message);
    }
    out.extend(current.end());
    out
}

fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

fn message_markup(message: &Message) -> Markup {
    let text = message.text();
    let role = message.role.word();
    let body = || {
        let (part, rest) = cut(&text, MESSAGE_LIMIT);
        html! {
            @if message.role == Role::Tool {
                pre class="said" tabindex="0" { (shown_block(part)) }
            } @else {
                (said::markup(part))
            }
            @if rest > 0 { p class="more" { (rest) " more bytes are left out" } }
        }
    };
    html! {
        article class=(format!("message {role}")) {
            @if message.role == Role::Tool {
                details { summary { span class="role" { (role) } " " span class="who" { (grouped(text.len() as u64)) " bytes" } } (body()) }
            } @else {
                p class="who" {
                    span class="role" { (role) } " "
                    @if let Some(agent) = &message.agent { (shown(agent)) " " }
                    (time(message.at))
                }
                (body())
            }
        }
    }
}

fn one(section: &Section, forks: Option<&Vec<ForkPoint>>) -> Markup {
    let more = section.total.saturating_sub(section.entries.len() as u64);
    html! {
        @if let Some(forks) = forks { (graph(forks)) }
        @if section.numbered {
            ol { @for entry in &section.entries { li { (entry_of(entry)) } } }
        } @else {
            ul { @for entry in &section.entries { li { (entry_of(entry)) } } }
        }
        @if more > 0 { p class="more" { (more) " more: " code { (shown(&section.command)) } } }
    }
}

fn entry_of(entry: &Entry) -> Markup {
    let is_long = |value: &str| value.contains('\n') || value.len() > 160;
    html! {
        span class=(if entry.open { "text" } else { "text closed" }) { (shown_lines(&entry.text)) }
        @if !entry.state.is_empty() {
            " " span class=(format!("badge state-{}", word(&entry.state))) { (shown(&entry.state.replace('_', " "))) }
        }
        @if !entry.details.is_empty() {
            dl {
                @for detail in &entry.details {
                    div {
                        dt { (shown(if detail.label.is_empty() { &detail.member } else { &detail.label })) }
                        dd {
                            @if is_long(&detail.value) { pre tabindex="0" { (shown_block(&detail.value)) } } @else { (shown(&detail.value)) }
                        }
                    }
                }
            }
        }
        @if !entry.parts.is_empty() {
            ul { @for part in &entry.parts { li { (entry_of(part)) } } }
        }
    }
}

/// The fork points and their options as a drawing: a line a fork point, a branch an option, the chosen one filled. The list
/// below it has the same in words.
fn graph(forks: &[ForkPoint]) -> Markup {
    const ROW: usize = 26;
    let rows: usize = forks.iter().map(|fork| fork.options.len() + 1).sum();
    let height = rows * ROW + 8;
    let mut y = ROW / 2;
    let mut drawn = Vec::new();
    for fork in forks {
        let top = y;
        let options: Vec<(usize, bool, String)> = fork
            .options
            .iter()
            .zip(1..)
            .map(|(option, at)| {
                let is_chosen = fork.chosen.as_deref() == Some(&option.key);
                (top + at * ROW, is_chosen, format!("{}: {}", option.key, option.title))
            })
            .collect();
        y += (options.len() + 1) * ROW;
        drawn.push((top, shown(&fork.title), options));
    }
    html! {
        svg class="graph" viewBox=(format!("0 0 760 {height}")) role="img" aria-label="Fork points and their options" {
            @for (top, title, options) in &drawn {
                circle cx="12" cy=(top) r="6" class="fork" {}
                text x="28" y=(top + 5) class="title" { (short(title)) }
                @for (at, is_chosen, label) in options {
                    path d=(format!("M12 {top} V{at} H40", at = at)) class=(if *is_chosen { "chosen" } else { "open" }) {}
                    circle cx="46" cy=(at) r="5" class=(if *is_chosen { "chosen" } else { "open" }) {}
                    text x="60" y=(at + 5) { (short(&shown(label))) @if *is_chosen { " (chosen)" } }
                }
            }
        }
    }
}

fn short(text: &str) -> String {
    const MOST: usize = 90;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST - 2).chain("..".chars()).collect()
}

pub(super) fn lines(text: &Text) -> Markup {
    html! {
        @for line in text.lines() {
            @for span in line.spans() { span class=(format!("t-{}", span.slot().key())) { (escape::line(span.text())) } }
            "\n"
        }
    }
}

pub(super) fn time(at: Timestamp) -> Markup {
    let text = at.to_string();
    let date: String = text.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect();
    html! { time datetime=(text) { (date) } }
}

/// A word as the end of a class name.
fn word(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The first bytes of a text, whole characters, and how many bytes are not among them.
fn cut(text: &str, limit: usize) -> (&str, usize) {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], text.len() - end)
}

pub(super) fn shown(text: &str) -> String {
    escape::line(text).into_owned()
}

fn shown_block(text: &str) -> String {
    text.lines()
        .map(|line| escape::line(line).into_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A text in its lines.
pub(super) fn shown_lines(text: &str) -> Markup {
    html! {
        @for (line, at) in text.lines().zip(0..) {
            @if at > 0 { br; }
            (shown(line))
        }
    }
}

#[cfg(test)]
mod tests;
