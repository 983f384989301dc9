//! Values for completion that only the repository knows: sessions, and the checkpoints of one.
//!
//! A completion gives candidates or nothing: every failure here is an empty list.

use super::completion::{CompletionValue, ValueKind, ValueSource};
use crate::{
    commands::{
        Context,
        environment::Environment,
        opening::{self, IdentityArgs, OpenedRepository},
        ui::{OutputOptions, Streams, Ui},
    },
    model::{
        item::{ItemKind, id_of},
        selector::Selector,
        step::Step,
        time::Timestamp,
    },
    ops::{
        items,
        list::{self, SessionFilter},
        step, trash,
    },
    render::age,
    store::{
        checkpoint::{CheckpointCommit, oid},
        remote,
    },
};

/// How many checkpoints of a session are offered: a screen full.
const CHECKPOINTS: usize = 20;

/// Digits of an id that are offered; longer than the shortest that is accepted, so that it stays unique for a while.
const DIGITS: usize = 8;

/// Looks into the repository that `env` means, when it is asked.
pub(super) fn live(env: &Environment) -> ValueSource {
    let env = env.clone();
    std::sync::Arc::new(move |kind, current| {
        // Problems with settings would be reported through this, which is not read.
        let ui = Ui::new(&env, OutputOptions::default(), Streams::captured(b"").0);
        let mut context = Context {
            env: env.clone(),
            ui,
            is_last: false,
            visited: None,
        };
        let Ok(opened) = opening::open(&mut context, &IdentityArgs::default()) else {
            return Vec::new();
        };
        match kind {
            ValueKind::Item(kind) => items(&opened, kind),
            ValueKind::Session => sessions(&opened, false),
            ValueKind::DeletedSession => deleted_sessions(&opened),
            ValueKind::Remote => remotes(&opened),
            ValueKind::Step => steps(&opened),
            ValueKind::ForkOption => fork_options(&opened),
            ValueKind::Agent => of_sessions(&opened, |entry| entry.trailers.agent.as_ref()),
            ValueKind::Branch => of_sessions(&opened, |entry| entry.trailers.branch.as_ref()),
            ValueKind::Words(_) => Vec::new(),
            ValueKind::Selector | ValueKind::SelectorOrPath => match current.split_once('@') {
                Some((session, _)) if !session.is_empty() => checkpoints(&opened, session, &format!("{session}@")),
                _ => {
                    let mut out = sessions(&opened, true);
                    out.extend(checkpoints(&opened, "@", ""));
                    out
                }
            },
        }
    })
}

/// The steps, latest first, by id: titles have spaces.
fn steps(opened: &OpenedRepository) -> Vec<CompletionValue> {
    let found = step::steps(&opened.scene(), None);
    let steps = found.map(|found| found.steps).unwrap_or_default();
    let candidate = |step: Step| CompletionValue {
        help: format!("{}, {}: {}", step.n, step.status.word(), step.title),
        value: step.id,
    };
    steps.into_iter().rev().map(candidate).collect()
}

/// The keys of options, those of the latest fork point first and those that are decided last.
fn fork_options(opened: &OpenedRepository) -> Vec<CompletionValue> {
    let points = items::now(&opened.scene()).map(|now| now.record.fork_points);
    let (mut open, decided): (Vec<_>, Vec<_>) = points
        .unwrap_or_default()
        .into_iter()
        .rev()
        .partition(|point| point.chosen.is_none());
    open.extend(decided);
    let mut out: Vec<CompletionValue> = Vec::new();
    for point in open {
        for option in point.options {
            if out.iter().all(|known| known.value != option.key) {
                out.push(CompletionValue {
                    help: format!("{}: {}", point.title, option.title),
                    value: option.key,
                });
            }
        }
    }
    out
}

/// The items of a kind, those that are open first.
fn items(opened: &OpenedRepository, kind: &ItemKind) -> Vec<CompletionValue> {
    let Ok(now) = items::now(&opened.scene()) else {
        return Vec::new();
    };
    let (mut open, done): (Vec<_>, Vec<_>) = now.items(kind).into_iter().partition(|item| kind.is_open(item));
    open.extend(done);
    let candidate = |item: &serde_json::Value| CompletionValue {
        value: id_of(item).to_owned(),
        help: kind.text_of(item).to_owned(),
    };
    open.iter().map(candidate).collect()
}

fn sessions(opened: &OpenedRepository, all: bool) -> Vec<CompletionValue> {
    let scene = opened.scene();
    let rows = list::sessions(
        &scene,
        &SessionFilter {
            all,
            ..SessionFilter::default()
        },
    )
    .unwrap_or_default();
    let candidate = |row: list::SessionSummaryRow| {
        let help = match &row.tip {
            Ok((entry, standing)) => {
                format!(
                    "{}, {}: {}",
                    standing.word(),
                    age::age(entry.time, scene.now),
                    entry.subject
                )
            }
            Err(_) => "damaged".to_owned(),
        };
        CompletionValue { value: row.name, help }
    };
    rows.into_iter().map(candidate).collect()
}

/// The names of the sessions in the trash, each once, those that were deleted last first.
fn deleted_sessions(opened: &OpenedRepository) -> Vec<CompletionValue> {
    let scene = opened.scene();
    let mut out: Vec<CompletionValue> = Vec::new();
    let mut deleted = trash::deleted(&scene).unwrap_or_default();
    deleted.sort_by_key(|deleted| std::cmp::Reverse(deleted.at));
    for deleted in deleted {
        let value = deleted.name.to_string();
        if out.iter().all(|known| known.value != value) {
            let at = Timestamp::from_unix(deleted.at, 0);
            let help = format!("deleted {}: {}", age::age(at, scene.now), deleted.tip.subject);
            out.push(CompletionValue { value, help });
        }
    }
    out
}

/// Values of the sessions, each once, those of the latest session first.
fn of_sessions(opened: &OpenedRepository, of: impl Fn(&CheckpointCommit) -> Option<&String>) -> Vec<CompletionValue> {
    let mut out: Vec<CompletionValue> = Vec::new();
    for row in list::sessions(&opened.scene(), &SessionFilter::default()).unwrap_or_default() {
        let value = row.tip.as_ref().ok().and_then(|(entry, _)| of(entry));
        if let Some(value) = value.filter(|value| out.iter().all(|known| known.value != **value)) {
            out.push(CompletionValue {
                value: value.clone(),
                help: String::new(),
            });
        }
    }
    out
}

fn remotes(opened: &OpenedRepository) -> Vec<CompletionValue> {
    let all = remote::all(opened.scene().repo).into_iter();
    all.map(|remote| CompletionValue {
        value: remote.name,
        help: remote.url,
    })
    .collect()
}

/// The names and ids of a session's latest checkpoints. Behind `session@` only names mean something.
fn checkpoints(opened: &OpenedRepository, session: &str, prefix: &str) -> Vec<CompletionValue> {
    let scene = opened.scene();
    let Ok(selector) = Selector::parse(session) else {
        return Vec::new();
    };
    let (mut names, mut ids) = (Vec::new(), Vec::new());
    let log = list::log(&scene, Some(&selector), Some(CHECKPOINTS), None, |entry| {
        let help = format!("{}: {}", age::age(entry.time, scene.now), entry.subject);
        if let Some(name) = entry.trailers.name {
            names.push(CompletionValue {
                value: format!("{prefix}{name}"),
                help: help.clone(),
            });
        }
        let id = oid(entry.id).to_string();
        ids.push(CompletionValue {
            value: id.chars().take(DIGITS).collect(),
            help,
        });
    });
    if log.is_err() {
        return Vec::new();
    }
    if prefix.is_empty() {
        names.append(&mut ids);
    }
    names
}
