//! Comparison of stat data with the index: names that a directory and the index have in common, and files that are
//! unchanged without being read.

use gix::index::Entry;
use gix::index::entry::{self, Mode};

use super::index::{EntryExt, Group};
use super::walk::WalkContext;
use crate::os::dir::{Dir, DirNames, FileKind, FileTime, Meta};

/// A name of the disk, of the index, or of both, as positions in the two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamePair {
    pub name: Option<usize>,
    pub group: Option<usize>,
}

/// Brings the sorted names of a directory and of the index together.
///
/// With `by_number`, for file systems that find a file under other spellings of its name, index names that are not
/// listed are looked for, and belong to the listed name of the same file.
pub(super) fn join(dir: &Dir, names: &DirNames, groups: &[Group<'_>], by_number: bool) -> Vec<NamePair> {
    let mut pairs = Vec::with_capacity(names.len().max(groups.len()));
    let (mut at, mut group) = (0, 0);
    loop {
        let order = match (at < names.len(), groups.get(group)) {
            (false, None) => break,
            (true, None) => std::cmp::Ordering::Less,
            (false, Some(_)) => std::cmp::Ordering::Greater,
            (true, Some(group)) => names.name(at).cmp(group.name),
        };
        pairs.push(NamePair {
            name: order.is_le().then_some(at),
            group: order.is_ge().then_some(group),
        });
        at += usize::from(order.is_le());
        group += usize::from(order.is_ge());
    }
    if by_number || cfg!(target_os = "macos") {
        join_by_number(dir, names, groups, &mut pairs);
    }
    pairs
}

fn join_by_number(dir: &Dir, names: &DirNames, groups: &[Group<'_>], pairs: &mut Vec<NamePair>) {
    for at in 0..pairs.len() {
        let NamePair {
            name: None,
            group: Some(group),
        } = pairs[at]
        else {
            continue;
        };
        let wanted = groups[group].name;
        let Ok(meta) = dir.stat(wanted) else {
            continue;
        };
        let other = pairs.iter().position(|pair| match pair {
            NamePair {
                name: Some(name),
                group: None,
            } => {
                let found = dir.stat_at(names, *name);
                found.is_ok_and(|found| is_same_file((names.name(*name), &found), (wanted, &meta)))
            }
            _ => false,
        });
        if let Some(other) = other {
            pairs[at].name = pairs[other].name.take();
        }
    }
    pairs.retain(|pair| pair.name.is_some() || pair.group.is_some());
}

/// Whether two names are those of one file. Where files have no numbers, the names may differ in case alone.
fn is_same_file((name, meta): (&[u8], &Meta), (other, wanted): (&[u8], &Meta)) -> bool {
    let lower = |name: &[u8]| String::from_utf8_lossy(name).to_lowercase();
    if meta.ino == 0 {
        meta.is_same(wanted) && lower(name) == lower(other)
    } else {
        (meta.dev, meta.ino) == (wanted.dev, wanted.ino)
    }
}

/// Verdict of the stat data of a file about an index entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatVerdict {
    /// Nothing changed since the entry was written.
    Clean,
    /// The content has to be read.
    Unknown,
}

/// Compares a file or link with its entry as git does, but for two things that could hide an edit: flags by which the
/// user makes git skip the check are ignored, and nanoseconds count where both sides have them.
pub(super) fn compare(entry: &Entry, meta: &Meta, ground: &WalkContext<'_>) -> StatVerdict {
    let same_kind = match (entry.mode, meta.kind) {
        (Mode::FILE | Mode::FILE_EXECUTABLE, FileKind::File) => {
            !ground.settings.file_mode || (entry.mode == Mode::FILE_EXECUTABLE) == meta.is_executable()
        }
        (Mode::SYMLINK, FileKind::Link) => true,
        (Mode::SYMLINK, FileKind::File) => !ground.settings.symlinks,
        _ => false,
    };
    // git marks an entry that it cannot trust by a size of zero.
    let smudged = entry.stat.size == 0 && !entry.id.is_empty_blob();
    let clean = same_kind && !smudged && !entry.is_pending() && same_stat(&entry.stat, meta, ground);
    if clean && !is_racy(&entry.stat, meta, ground) {
        StatVerdict::Clean
    } else {
        StatVerdict::Unknown
    }
}

// The index keeps the low 32 bits of everything.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn same_stat(stat: &entry::Stat, meta: &Meta, ground: &WalkContext<'_>) -> bool {
    let check = ground.settings.check_stat;
    let same_time = |known: entry::stat::Time, found: FileTime| {
        let nanos = !check || known.nsecs == 0 || found.nanos == 0 || known.nsecs == found.nanos;
        known.secs == found.seconds as u32 && nanos
    };
    stat.size == meta.size as u32
        && same_time(stat.mtime, meta.mtime)
        && (!ground.settings.trust_ctime || same_time(stat.ctime, meta.ctime))
        && (!check || (stat.ino == meta.ino as u32 && stat.uid == meta.uid && stat.gid == meta.gid))
}

/// Whether the file may have been changed after the entry was made without a change of its time.
///
/// git judges by whole seconds. Nanoseconds count here only if they were compared, so that a later edit would have shown.
fn is_racy(stat: &entry::Stat, meta: &Meta, ground: &WalkContext<'_>) -> bool {
    let written = ground.index.written;
    let fine = ground.settings.check_stat
        && [stat.mtime.nsecs, meta.mtime.nanos, written.nanos]
            .iter()
            .all(|n| *n != 0);
    match i64::from(stat.mtime.secs).cmp(&(written.seconds & 0xffff_ffff)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal if fine => stat.mtime.nsecs >= written.nanos,
        std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_numbers_a_file_is_known_by_its_name_apart_from_case() {
        let meta = |ino| Meta {
            kind: FileKind::File,
            mode: 0o644,
            size: 3,
            mtime: FileTime::default(),
            ctime: FileTime::default(),
            dev: 0,
            ino,
            links: 1,
            uid: 0,
            gid: 0,
        };
        let none = meta(0);
        assert!(is_same_file((b"FILE", &none), (b"file", &none)));
        assert!(is_same_file(("É".as_bytes(), &none), ("é".as_bytes(), &none)));
        assert!(
            !is_same_file((b"other", &none), (b"file", &none)),
            "of equal size and times"
        );
        assert!(!is_same_file((b"FILE", &Meta { size: 4, ..none }), (b"file", &none)));
        assert!(is_same_file((b"any", &meta(7)), (b"name", &meta(7))));
        assert!(!is_same_file((b"FILE", &meta(7)), (b"file", &meta(8))));
    }
}
