//! Files of states: the ids of their blobs, and their texts. Consecutive states share most of what is read here.

use std::{collections::HashMap, rc::Rc};

use crate::{
    model::{id::Digest, path::RepoPath},
    ops::Error,
    store::{
        Kind, ObjectId, Repository,
        checkpoint::{self, CheckpointCommit},
        scan::ObjectReader,
    },
};

/// The bytes of a file.
pub(super) type Text = Rc<Vec<u8>>;

/// Texts that are kept.
const TEXTS: usize = 4;

/// Reads files of trees.
pub(super) struct FileReader {
    repo: Repository,
    objects: ObjectReader,
    /// By the path the blob of a tree, or of a directory in it with what is left of the path.
    blobs: HashMap<RepoPath, HashMap<(ObjectId, usize), Option<ObjectId>>>,
    texts: Vec<(ObjectId, Text)>,
}

impl FileReader {
    pub(super) fn new(repo: &Repository) -> Self {
        Self {
            repo: repo.clone(),
            objects: ObjectReader::of(repo),
            blobs: HashMap::new(),
            texts: Vec::new(),
        }
    }

    /// The blob at a path of a tree; `None` where there is none, or something else.
    pub(super) fn blob_at(&mut self, tree: ObjectId, path: &RepoPath) -> Result<Option<ObjectId>, Error> {
        if !self.blobs.contains_key(path) {
            self.blobs.insert(path.clone(), HashMap::new());
        }
        let known = self.blobs.get_mut(path).expect("it was inserted");
        let bytes = path.as_bytes();
        let mut passed = Vec::new();
        let (mut at, mut from) = (tree, 0);
        let blob = loop {
            if let Some(blob) = known.get(&(at, from)) {
                break *blob;
            }
            passed.push((at, from));
            let end = bytes[from..]
                .iter()
                .position(|byte| *byte == b'/')
                .map(|end| from + end);
            let name = &bytes[from..end.unwrap_or(bytes.len())];
            let entry = self.objects.entry(at, name).map_err(Error::damaged(at.to_string()))?;
            match (entry, end) {
                (Some((true, directory)), Some(end)) => (at, from) = (directory, end + 1),
                (Some((false, blob)), None) => break Some(blob),
                _ => break None,
            }
        };
        known.extend(passed.into_iter().map(|key| (key, blob)));
        Ok(blob)
    }

    /// The file at a path of a tree; `None` where there is none, or something else.
    pub(super) fn text_at(&mut self, tree: ObjectId, path: &RepoPath) -> Result<Option<Text>, Error> {
        let blob = self.blob_at(tree, path)?;
        blob.map(|id| self.text(id)).transpose()
    }

    pub(super) fn text(&mut self, id: ObjectId) -> Result<Text, Error> {
        if let Some((_, text)) = self.texts.iter().find(|(known, _)| *known == id) {
            return Ok(Rc::clone(text));
        }
        let text = match self.objects.blob(id) {
            Some(text) => text,
            None => checkpoint::read(&self.repo, id, Kind::Blob, "file")
                .map_err(Error::damaged(id.to_string()))?
                .into(),
        };
        if self.texts.len() == TEXTS {
            self.texts.remove(0);
        }
        self.texts.push((id, Rc::clone(&text)));
        Ok(text)
    }

    /// The checkpoint that was restored before one was saved.
    pub(super) fn restored_from(&mut self, entry: &CheckpointCommit) -> Result<Option<Digest>, Error> {
        let found = self.objects.restored_from(entry);
        found.map_err(Error::damaged(entry.id.to_string()))
    }
}
