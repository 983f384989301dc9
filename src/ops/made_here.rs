//! Whether a commit was made here, or came with a pull, a checkout or a merge.

use std::{cell::OnceCell, collections::HashMap};

use super::{Error, Scene};
use crate::store::{ObjectId, refs};

/// Beginnings of messages in the reflog of HEAD with which git notes that it made a commit.
const MADE: [&str; 6] = ["commit", "cherry-pick", "revert", "am", "rebase", "filter-branch"];

/// Commits made in this working tree, by the reflog of HEAD.
#[derive(Debug, Default)]
pub(super) struct LocalCommits {
    /// Commits to which HEAD went, and whether that was by making them.
    heads: OnceCell<HashMap<ObjectId, bool>>,
}

impl LocalCommits {
    /// Whether a commit by `author` was made here on the way to `head`, by the person who saves as `saver`. Without a reflog of
    /// that way the authors decide.
    pub(super) fn has(
        &self,
        scene: &Scene<'_>,
        (commit, author): (ObjectId, &str),
        (head, saver): (ObjectId, &str),
    ) -> Result<bool, Error> {
        if !author.eq_ignore_ascii_case(saver) {
            return Ok(false);
        }
        let heads = if let Some(heads) = self.heads.get() {
            heads
        } else {
            let read = read(scene)?;
            self.heads.get_or_init(|| read)
        };
        Ok(!heads.contains_key(&head) || heads.get(&commit).copied().unwrap_or(false))
    }
}

fn read(scene: &Scene<'_>) -> Result<HashMap<ObjectId, bool>, Error> {
    let mut heads = HashMap::new();
    for entry in refs::reflog(scene.repo, "HEAD")? {
        let is_made = MADE.iter().any(|word| {
            let rest = entry.message.strip_prefix(word);
            rest.is_some_and(|rest| rest.starts_with([':', ' ']))
        });
        // A rebase notes where it starts and ends as well.
        let is_moved = ["(start)", "(finish)", "(abort)", "checkout"]
            .iter()
            .any(|word| entry.message.split(':').next().unwrap_or_default().contains(word));
        *heads.entry(entry.new).or_insert(false) |= is_made && !is_moved;
    }
    Ok(heads)
}
