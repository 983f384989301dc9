//! The commits that hold a snapshot: they have the shape of a stash.

use super::{People, write_commit};
use crate::{
    model::message,
    store::{Error, Kind, ObjectId, Signature, Time, ident, objects::Writer},
};

/// Message of the commit that represents HEAD on an unborn branch.
const ROOT_MESSAGE: &str = "unborn branch\n";

/// The commits a snapshot consists of, written where they do not exist: the index commit and the snapshot commit. The
/// first has the `further` commits as parents; with the second, they would be untracked files of a stash.
pub fn write_snapshot(
    writer: &Writer,
    head: Option<ObjectId>,
    further: &[ObjectId],
    trees: (ObjectId, ObjectId),
    people: &People,
) -> Result<ObjectId, Error> {
    let (files, index) = trees;
    let head = head.map_or_else(|| write_unborn(writer), Ok)?;
    let further = further.iter().copied().filter(|id| *id != head);
    let parents = std::iter::once(head).chain(further).collect();
    let index_commit = write_commit(writer, index, parents, people, &fixed(writer, "index"))?;
    write_commit(
        writer,
        files,
        vec![head, index_commit],
        people,
        &fixed(writer, "files on disk"),
    )
}

/// A message that is only a subject which is always the same.
fn fixed(writer: &Writer, subject: &str) -> String {
    format!("{}\n", message::formed(subject, writer.subject_template()))
}

/// The commit that represents HEAD on an unborn branch: the same in every repository of one hash.
pub fn write_unborn(writer: &Writer) -> Result<ObjectId, Error> {
    let nobody = Signature {
        name: ident::FALLBACK_NAME.into(),
        email: ident::FALLBACK_EMAIL.into(),
        time: Time { seconds: 0, offset: 0 },
    };
    let people = People {
        author: nobody.clone(),
        committer: nobody,
    };
    let empty = writer.write(Kind::Tree, b"")?;
    write_commit(writer, empty, Vec::new(), &people, ROOT_MESSAGE)
}
