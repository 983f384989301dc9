//! Saves with an idempotency key: a caller that does not know whether its request arrived sends it again.
//!
//! The key and the digest of the request are in the document, so that they are as durable as the checkpoint itself: a
//! kill leaves both or none, and any process sees them. The search is made under the lock of the session.

use serde_json::json;

use super::{
    super::{Error, receipt::CheckpointReceipt, session_choice::SessionChoice},
    SaveRequest,
    attempt::SaveAttempt,
};
use crate::{
    model::{document::SaveKey, id::Digest},
    store::{
        checkpoint::{self, oid},
        session,
    },
};

/// How many checkpoints are searched, latest first. Requests are repeated within minutes.
const SEARCHED: usize = 100;
/// The most bytes of a key.
const LONGEST: usize = 256;

/// Takes the key of a request whose secrets are already replaced.
pub(super) fn key_of(request: &mut SaveRequest) -> Result<Option<SaveKey>, Error> {
    let Some(key) = request.key.take() else {
        return Ok(None);
    };
    if key.trim().is_empty() || key.len() > LONGEST {
        return Err(Error::KeyLength { longest: LONGEST });
    }
    let attachments = request.attachments.iter();
    let attachments = attachments.map(|(name, bytes)| json!([name, Digest::of(bytes)]));
    let parts = json!({
        "kind": request.kind,
        "status": request.status,
        "name": request.name,
        "trigger": request.trigger,
        "summary": request.summary,
        "changes": request.given.iter().chain(&request.changes).collect::<Vec<_>>(),
        "session": request.session,
        "attachments": attachments.collect::<Vec<_>>(),
        "files": request.files,
    });
    let digest = Digest::of(parts.to_string().as_bytes());
    Ok(Some(SaveKey { key, digest }))
}

impl SaveAttempt<'_> {
    /// The receipt of the checkpoint that an earlier request with the same key made.
    pub(super) fn repeated(&self, chosen: &SessionChoice) -> Result<Option<CheckpointReceipt>, Error> {
        let Some(key) = self.key else { return Ok(None) };
        let repo = self.scene.repo;
        for entry in session::chain(repo, chosen.tip.entry.id).take(SEARCHED) {
            let entry = entry.map_err(Error::damaged(chosen.name.as_str()))?;
            let found = checkpoint::load(repo, entry.id).map_err(Error::damaged(chosen.name.as_str()))?;
            let Some(request) = found.document.request.as_ref().filter(|request| request.key == key.key) else {
                continue;
            };
            if request.digest != key.digest {
                return Err(Error::KeyReused {
                    key: key.key.clone(),
                    id: oid(entry.id).short().to_owned(),
                });
            }
            let mut receipt = self.receipt(chosen.name.clone(), found.document.clone(), chosen.why.into());
            receipt.parent = found.previous();
            receipt.id = Some(entry.id);
            receipt.digest = Some(found.digest.clone());
            receipt.repeated = true;
            return Ok(Some(receipt));
        }
        Ok(None)
    }
}
