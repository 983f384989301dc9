//! Views for the page and the terminal interface, made by what makes the output of the commands.

#[cfg(feature = "serve")]
use super::export;
use super::{
    error::CommandError,
    failure, list, log,
    opening::{self, IdentityArgs, OpenedRepository},
    resident::{self, ResidentProcess},
};
use crate::{
    model::time::Timestamp,
    ops::{
        hands::Hands,
        indicator::{self, SessionIndicator},
        list::{SessionFilter, log as checkpoints, sessions},
    },
    render::{
        indicator::{CompactionGlance, IndicatorView, OpenItem},
        sessions::{CheckpointLog, SessionTable},
    },
    serve::{CallMonitor, CommandFailure, CommandLine, ViewSource, source::TextRun},
    store::checkpoint::oid,
};

impl ResidentProcess {
    fn opened<T>(&self, work: impl FnOnce(&OpenedRepository) -> Result<T, CommandError>) -> Result<T, CommandFailure> {
        let env = self.environment();
        let opened = opening::at(&env, &IdentityArgs::default(), env.now);
        opened
            .and_then(|opened| work(&opened))
            .map_err(|error| resident::failure(&error))
    }
}

impl ViewSource for ResidentProcess {
    fn text(&self, line: &CommandLine, columns: usize, monitor: &CallMonitor) -> TextRun {
        let (text, done) = self.gather(line, columns, monitor);
        TextRun {
            text,
            warnings: done.warnings,
            failure: done.failure,
        }
    }

    fn sessions(&self) -> Result<(SessionTable, Timestamp), CommandFailure> {
        self.opened(|opened| {
            let scene = opened.scene();
            let rows = sessions(&scene, &SessionFilter::default())?;
            let table = SessionTable {
                sessions: list::rows(&scene, rows, false),
            };
            Ok((table, scene.now))
        })
    }

    fn log(&self, selector: Option<&str>, limit: usize) -> Result<CheckpointLog, CommandFailure> {
        self.opened(|opened| {
            let selector = selector.map(failure::selector).transpose()?;
            let mut rows = Vec::new();
            let scene = opened.scene();
            let mut hands = Hands::new(&scene);
            let found = checkpoints(&scene, selector.as_ref(), Some(limit), None, |entry| {
                rows.push(log::row(entry, &mut hands));
            })?;
            Ok(CheckpointLog {
                session: found.session,
                checkpoints: rows,
                forked_from: found.source.map(oid),
                damage: found.damage.map(|fault| fault.to_string()),
                more: found.more,
            })
        })
    }

    fn indicator(&self) -> Result<Option<IndicatorView>, CommandFailure> {
        self.opened(|opened| {
            let scene = opened.scene();
            let found = indicator::indicator(&scene)?;
            Ok(found.map(|found| view(found, scene.now)))
        })
    }

    #[cfg(feature = "serve")]
    fn article(&self, selector: &str) -> Result<String, CommandFailure> {
        self.opened(|opened| {
            let selector = failure::selector(selector)?;
            Ok(export::html::article(&opened.scene(), &selector)?)
        })
    }

    fn stamp(&self) -> Result<u64, CommandFailure> {
        self.opened(|opened| Ok(indicator::stamp(&opened.scene())?))
    }
}

fn view(found: SessionIndicator, now: Timestamp) -> IndicatorView {
    let approvals = found.record.approvals.into_iter();
    let questions = found.record.questions.into_iter();
    IndicatorView {
        session: found.session.to_string(),
        status: found.standing.word(),
        branch: found.document.git.branch,
        id: oid(found.tip),
        saved_at: found.document.created_at,
        now,
        unsaved: found.draft > 0 || found.chat.waiting,
        messages: found.chat.messages.saturating_sub(found.chat.summarized),
        tokens: found.chat.tokens,
        exact: found.chat.exact,
        limit: found.chat.limit,
        near: found.chat.is_near(),
        compaction: found.compaction.map(|done| CompactionGlance {
            count: done.count,
            at: done.at,
            messages: done.messages,
            before: done.tokens_before,
            after: done.tokens_after,
        }),
        approvals: approvals
            .filter(|item| item.answer.is_none())
            .map(|item| OpenItem {
                id: item.id,
                text: item.question,
            })
            .collect(),
        questions: questions
            .filter(|item| item.answer.is_none())
            .map(|item| OpenItem {
                id: item.id,
                text: item.text,
            })
            .collect(),
    }
}
