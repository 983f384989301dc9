//! State of the current session for a view that follows it. Reads no file of the working tree, so that it can be asked for
//! again and again.

use super::{
    Error, Scene, chat,
    list::{self, SessionStanding},
    session_choice,
};
use crate::{
    model::{chat::Compaction, document::Document, name::ShortName, record::Record},
    store::{ObjectId, change_stamp},
};

/// State of a session.
#[derive(Debug)]
pub struct SessionIndicator {
    /// Its name.
    pub session: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// That checkpoint's document.
    pub document: Document,
    /// Its status.
    pub standing: SessionStanding,
    /// Its chat, with what waits.
    pub chat: chat::ChatLength,
    /// The latest compaction.
    pub compaction: Option<Compaction>,
    /// The record with the draft.
    pub record: Record,
    /// How many operations wait in the draft.
    pub draft: usize,
}

/// State of the session that commands mean; `None` without one.
pub fn indicator(scene: &Scene<'_>) -> Result<Option<SessionIndicator>, Error> {
    let Some(chosen) = session_choice::session_for_command(scene)? else {
        return Ok(None);
    };
    let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
    let draft = session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
    let mut record = subject.record;
    if record.summary.is_none() {
        record.summary.clone_from(&chosen.tip.document.record.summary);
    }
    Ok(Some(SessionIndicator {
        chat: chat::standing(scene, &chosen)?,
        compaction: chat::compaction(&chosen.tip.document),
        standing: list::current_standing(scene, &chosen.tip.entry),
        draft: session_choice::waiting(&draft, &chosen.tip, &chosen.name),
        tip: chosen.tip.entry.id,
        session: chosen.name,
        document: chosen.tip.document,
        record,
    }))
}

/// A number that changes whenever a view of the sessions may.
pub fn stamp(scene: &Scene<'_>) -> Result<u64, Error> {
    Ok(change_stamp::session_stamp(scene.repo)?)
}
