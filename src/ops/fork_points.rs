//! The sessions that began as options of fork points.

use super::{Error, Scene};
use crate::{
    model::{name::ShortName, session::ForkSource},
    store::{checkpoint, session},
};

/// A session that explores an option of a fork point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPointSession {
    /// The fork point's id.
    pub point: String,
    /// The option's key.
    pub option: String,
    /// The session's name.
    pub session: ShortName,
}

/// All sessions that began as an option of a fork point. Reads the latest document of every session; damaged ones are
/// passed over.
pub fn sessions(scene: &Scene<'_>) -> Result<Vec<ForkPointSession>, Error> {
    let mut found = Vec::new();
    for session in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (ShortName::new(session.name), session.tip) else {
            continue;
        };
        let Ok(tip) = checkpoint::load(scene.repo, tip.id) else {
            continue;
        };
        if let Some(ForkSource {
            option: Some(option),
            fork_point: Some(point),
            ..
        }) = tip.document.session.forked_from
        {
            found.push(ForkPointSession {
                point,
                option,
                session: name,
            });
        }
    }
    found.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(found)
}
