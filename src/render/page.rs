//! The local page: its frame, and the fragments that its script puts into it. A checkpoint in it is a report as in `html`.
//!
//! As there, every text goes through a template, after hidden and bidirectional characters became visible.

use std::fmt::Write as _;

use maud::{DOCTYPE, Markup, html};

use super::{
    age,
    html::{self, shown, shown_lines, time},
    indicator::{IndicatorView, OpenItem, grouped},
    sessions::SessionTable,
    text::Text,
};
use crate::model::time::Timestamp;

/// The style of the page.
pub fn style() -> String {
    [html::STYLE, include_str!("page.css")].concat()
}

/// A button of a menu.
#[derive(Clone, Copy, Debug)]
pub struct MenuItem {
    /// The word of its action.
    pub word: &'static str,
    /// Its name.
    pub title: &'static str,
    /// Whether it takes something away.
    pub destroys: bool,
}

/// The frame, without data. Without groups of actions the page only shows.
pub fn frame(repository: &str, groups: &[(&str, Vec<MenuItem>)]) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (shown(repository)) " - checkpoints" }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/page.css";
                script src="/page.js" defer {}
            }
            body class="page" {
                a class="skip" href="#main" { "Skip to the content" }
                header class="top" {
                    p class="brand" { a href="#/" { "Checkpoints" } " " span class="who" { (shown(repository)) } }
                    p id="live" class="live" role="status" { "Connecting" }
                    button type="button" class="plain" data-export="json" { "Export as JSON" }
                    @if !groups.is_empty() {
                        details class="menu" id="menu" {
                            summary { "Actions" }
                            div class="panel" { @for (title, items) in groups { (menu(title, items)) } }
                        }
                    }
                }
                div class="frame" {
                    nav class="sessions" aria-label="Sessions" { div id="sessions" {} }
                    div class="content" {
                        div id="status" {}
                        div id="view" { main id="main" tabindex="-1" { p class="empty" { "Loading" } } }
                    }
                }
                dialog id="dialog" aria-labelledby="dialog-title" {}
                noscript { p class="empty" { "This page needs its script. Without one: git checkpoint export --format html" } }
            }
        }
    }
    .into_string()
}

fn menu(title: &str, items: &[MenuItem]) -> Markup {
    html! {
        p class="label" { (title) }
        ul {
            @for item in items {
                li { button type="button" data-action=(item.word) class=[item.destroys.then_some("destroys")] { (item.title) } }
            }
        }
    }
}

/// The sessions.
pub fn sessions(table: &SessionTable, now: Timestamp) -> String {
    html! {
        p class="label" { "Sessions" }
        @if table.sessions.is_empty() { p class="who" { "None yet. The first 'git checkpoint save' starts one." } }
        ul {
            @for row in &table.sessions {
                li {
                    a href=(format!("#/s/{}", encoded(&row.session))) aria-current=[row.current.then_some("true")] {
                        span class="line-1" {
                            span class="name" { (shown(&row.session)) }
                            span class=(format!("badge status-{}", row.status)) { (row.status) }
                        }
                        span class="line-2" { (shown(row.damage.as_ref().unwrap_or(&row.summary))) }
                        @if let Some(at) = row.at {
                            span class="line-3" {
                                (age::age(at, now)) " by " (shown(row.agent.as_ref().filter(|_| !row.is_by_person).unwrap_or(&row.author)))
                            }
                        }
                    }
                }
            }
        }
    }
    .into_string()
}

/// State of the current session.
pub fn status(view: Option<&IndicatorView>, can_act: bool) -> String {
    let Some(view) = view else {
        return html! { p class="empty" { "No session is current in this working tree." } }.into_string();
    };
    let percent = view.percent();
    html! {
        section class=(if view.near { "status near" } else { "status" }) aria-label="Current session" {
            dl class="figures" {
                div {
                    dt { "Current session" }
                    dd { strong { (shown(&view.session)) } }
                    dd class="who" {
                        (view.status)
                        @if let Some(branch) = &view.branch { ", " (shown(branch)) }
                        @if view.unsaved { ", unsaved changes" }
                    }
                }
                div {
                    dt { "Latest checkpoint" }
                    dd { a href=(format!("#/c/{}", view.id.as_str())) { (age::age(view.saved_at, view.now)) } }
                    dd class="who" { (time(view.saved_at)) }
                }
                div class="tokens" {
                    dt { "Chat" }
                    dd { (view.tokens_text()) }
                    @if let Some(percent) = percent {
                        dd {
                            div class="meter" role="meter" aria-label="Tokens of the chat against the limit"
                                aria-valuemin="0" aria-valuemax="100" aria-valuenow=(percent) {
                                svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
                                    rect class="track" width="100" height="4" {}
                                    rect class="value" width=(percent) height="4" {}
                                }
                            }
                        }
                    }
                }
                div {
                    dt { "Compactions" }
                    @match &view.compaction {
                        None => dd { "None" },
                        Some(done) => {
                            dd { (grouped(done.before)) " \u{2192} " (grouped(done.after)) " tokens" }
                            dd class="who" { (done.count) " so far, latest " (age::age(done.at, view.now)) ", " (done.messages) " messages" }
                        },
                    }
                }
            }
            @if view.near {
                p class="alert" role="alert" {
                    "The chat is near its limit. The next save or request compacts it at " (grouped(view.limit)) " tokens."
                }
            }
            (open_items("Approval", &view.approvals, can_act.then_some(&[("approve", "Approve"), ("reject", "Reject")][..])))
            (open_items("Question", &view.questions, can_act.then_some(&[("answer", "Answer")][..])))
        }
    }
    .into_string()
}

fn open_items(noun: &str, items: &[OpenItem], buttons: Option<&[(&str, &str)]>) -> Markup {
    html! {
        @for item in items {
            div class="waiting" {
                p { span class="badge state-open" { (noun) } " " (shown_lines(&item.text)) }
                @if let Some(buttons) = buttons {
                    p class="buttons" {
                        @for (word, title) in buttons {
                            button type="button" class="plain" data-action=(word) data-item=(item.id) { (title) }
                        }
                    }
                }
            }
        }
    }
}

/// The plan of an action, with what a person has to fill in or confirm.
#[derive(Debug)]
pub struct PlanView<'a> {
    /// The name of the action.
    pub title: &'a str,
    /// Consequence of the action.
    pub about: &'a str,
    /// Its target, in words.
    pub target: Option<&'a str>,
    /// The value to fill in.
    pub field: Option<PlanField<'a>>,
    /// The value that was filled in; without one the field is shown, and no plan.
    pub value: Option<&'a str>,
    /// Whether filling in the value is all that is to be done.
    pub acts_at_once: bool,
    /// Output of the dry run.
    pub plan: Option<&'a Text>,
    /// Warnings of the dry run.
    pub warnings: &'a [String],
    /// Token of the plan.
    pub token: Option<&'a str>,
    /// Why it cannot be done, and what helps.
    pub failure: Option<(&'a str, &'a [String])>,
    /// Whether it takes something away.
    pub destroys: bool,
}

/// A value that a person fills in.
#[derive(Clone, Copy, Debug)]
pub struct PlanField<'a> {
    /// Its label.
    pub label: &'a str,
    /// Whether it may stay empty.
    pub is_optional: bool,
    /// Whether it may have several lines.
    pub has_lines: bool,
}

impl PlanView<'_> {
    /// The contents of the dialog.
    pub fn markup(&self) -> String {
        let is_filled = self.field.is_none() || self.value.is_some();
        let step = if is_filled || self.acts_at_once { "act" } else { "fill" };
        html! {
            form method="dialog" data-plan=[self.token] data-step=(step) {
                h2 id="dialog-title" { (self.title) }
                p { (self.about) }
                @if let Some(target) = self.target { p class="who" { (shown(target)) } }
                @if let Some(field) = self.field {
                    label {
                        span {
                            (field.label)
                            @if field.has_lines { span class="who" { ", one a line" } }
                            @if field.is_optional { span class="who" { " (optional)" } }
                        }
                        @if field.has_lines {
                            textarea name="text" rows="3" spellcheck="false"
                                required[!field.is_optional] readonly[self.value.is_some()] { (self.value.unwrap_or_default()) }
                        } @else {
                            input name="text" value=[self.value] autocomplete="off" spellcheck="false"
                                required[!field.is_optional] readonly[self.value.is_some()];
                        }
                    }
                }
                @if let Some(plan) = self.plan { pre class="plan" tabindex="0" aria-label="Plan" { (html::lines(plan)) } }
                @for warning in self.warnings { p class="alert" { (shown_lines(warning)) } }
                @if let Some((message, hints)) = self.failure { (failure(message, hints)) }
                div id="dialog-error" role="alert" {}
                p class="buttons" {
                    button type="button" class="plain" data-close="true" { "Cancel" }
                    @if self.failure.is_none() {
                        button type="submit" class=(if self.destroys && step == "act" { "main destroys" } else { "main" }) {
                            (if step == "act" { self.title } else { "Continue" })
                        }
                    }
                }
            }
        }
        .into_string()
    }
}

/// An error of a command.
pub fn failure(message: &str, hints: &[String]) -> Markup {
    html! {
        div class="error" {
            p { (shown_lines(message)) }
            @for hint in hints { p class="who" { (shown_lines(hint)) } }
        }
    }
}

/// A view in the place of a checkpoint that cannot be shown.
pub fn absent(message: &str, hints: &[String]) -> String {
    html! { main id="main" tabindex="-1" class="empty" { (failure(message, hints)) } }.into_string()
}

/// Receipt of an action, as the contents of the dialog.
pub fn receipt(text: &Text, warnings: &[String]) -> String {
    html! {
        h2 id="dialog-title" { "Done" }
        pre class="plan" tabindex="0" aria-label="Receipt" { (html::lines(text)) }
        @for warning in warnings { p class="alert" { (shown_lines(warning)) } }
        p class="buttons" { button type="button" class="main" data-close="true" { "Close" } }
    }
    .into_string()
}

/// A text as part of an address.
pub fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::id::Oid, render::sessions::SessionRow};

    const HOSTILE: &str = "\"'><script>alert(1)</script>\u{202e}\u{1b}[31m javascript:alert(1)";

    fn tags(page: &str) -> impl Iterator<Item = &str> {
        page.split('<').skip(1).filter_map(|rest| rest.split('>').next())
    }

    #[test]
    fn texts_of_others_are_no_markup() {
        let at = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
        let oid = Oid::new("a".repeat(40)).expect("an id");
        let item = OpenItem {
            id: "aaaa\" onload=\"x".to_owned(),
            text: HOSTILE.to_owned(),
        };
        let indicator = IndicatorView {
            session: HOSTILE.to_owned(),
            status: "active",
            branch: Some(HOSTILE.to_owned()),
            id: oid.clone(),
            saved_at: at,
            now: at,
            unsaved: true,
            messages: 1,
            tokens: 900,
            exact: true,
            limit: 1000,
            near: true,
            compaction: None,
            approvals: vec![item.clone()],
            questions: vec![item],
        };
        let table = SessionTable {
            sessions: vec![SessionRow {
                session: HOSTILE.to_owned(),
                current: true,
                status: "damaged",
                damage: Some(HOSTILE.to_owned()),
                id: Some(oid),
                at: Some(at),
                summary: HOSTILE.to_owned(),
                author: HOSTILE.to_owned(),
                claimed_by: Some(HOSTILE.to_owned()),
                ..SessionRow::default()
            }],
        };
        let item = MenuItem {
            word: "save",
            title: "Save",
            destroys: true,
        };
        let text = Text::block(HOSTILE);
        let hints = [HOSTILE.to_owned()];
        let plan = PlanView {
            title: "Fork a session",
            about: "",
            target: Some(HOSTILE),
            field: Some(PlanField {
                label: "Name",
                is_optional: true,
                has_lines: false,
            }),
            value: Some("\"><script>"),
            acts_at_once: false,
            plan: Some(&text),
            warnings: &hints,
            token: Some("\"><script>"),
            failure: Some((HOSTILE, &hints)),
            destroys: true,
        };
        for made in [
            frame(HOSTILE, &[("Session", vec![item])]),
            sessions(&table, at),
            status(Some(&indicator), true),
            plan.markup(),
            receipt(&text, &hints),
        ] {
            assert!(
                !made.contains('\u{202e}') && !made.contains('\u{1b}') && !made.contains("<script>"),
                "{made}"
            );
            for tag in tags(&made) {
                assert!(
                    !tag.contains("href=\"javascript") && !tag.contains(" onload=\"x"),
                    "{tag}"
                );
                assert!(!tag.contains(" style="), "{tag}");
            }
        }
    }

    #[test]
    fn lines_of_texts_are_lines() {
        let hints = ["one\nor two".to_owned()];
        let text = Text::block("done");
        for made in [
            failure("first\nsecond", &hints).into_string(),
            receipt(&text, &hints),
            absent("a\nb", &hints),
        ] {
            assert!(made.contains("one<br>or two") && !made.contains("\\n"), "{made}");
        }
    }

    #[test]
    fn addresses_are_encoded() {
        assert_eq!(encoded("a b/\u{e9}~1"), "a%20b%2F%C3%A9~1");
    }
}
