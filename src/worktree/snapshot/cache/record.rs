//! Record of one file, and its encoding.

use crate::os::dir::{FileKind, FileTime, Meta};
use crate::store::ObjectId;

/// Stored form of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::worktree::snapshot) struct FileRecord {
    pub meta: Meta,
    /// A digest of everything else that the blob depends on: attributes, and the index entry where it matters.
    pub basis: u64,
    pub mode: u16,
    pub raw: bool,
    /// Whether it is a pointer of git-lfs.
    pub pointer: bool,
    pub id: ObjectId,
    /// The blob that `git add` would store.
    pub git_id: ObjectId,
}

impl FileRecord {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let meta = &self.meta;
        for time in [meta.mtime, meta.ctime] {
            put_time(time, out);
        }
        for number in [meta.size, meta.dev, meta.ino, self.basis] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [meta.uid, meta.gid, meta.mode, u32::from(self.mode)] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let link = meta.kind == FileKind::Link;
        out.push(u8::from(link) | u8::from(self.raw) << 1 | u8::from(self.pointer) << 2);
        out.extend_from_slice(self.id.as_bytes());
        if self.raw {
            out.extend_from_slice(self.git_id.as_bytes());
        }
    }

    /// Reads a record behind its path.
    pub(super) fn read(at: &mut ByteReader<'_>, hash: gix::hash::Kind) -> Option<Self> {
        let len = at.u32()? as usize;
        at.take(len)?;
        let (mtime, ctime) = (at.time()?, at.time()?);
        let (size, dev, ino, basis) = (at.u64()?, at.u64()?, at.u64()?, at.u64()?);
        let (uid, gid, mode, git_mode) = (at.u32()?, at.u32()?, at.u32()?, at.u32()?);
        let flags = at.take(1)?[0];
        let mut id = || ObjectId::try_from(at.take(hash.len_in_bytes())?).ok();
        let raw = flags & 2 != 0;
        let blob = id()?;
        let git_id = if raw { id()? } else { blob };
        let kind = if flags & 1 != 0 { FileKind::Link } else { FileKind::File };
        Some(Self {
            meta: Meta {
                kind,
                mode,
                size,
                mtime,
                ctime,
                dev,
                ino,
                // Not kept: a new name shows in `ctime`.
                links: 1,
                uid,
                gid,
            },
            basis,
            mode: u16::try_from(git_mode).ok()?,
            raw,
            pointer: flags & 4 != 0,
            id: blob,
            git_id,
        })
    }
}

/// Bytes read from the front; `None` beyond their end.
pub(in crate::worktree::snapshot) struct ByteReader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> ByteReader<'a> {
    pub(in crate::worktree::snapshot) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(bytes)
    }

    pub(in crate::worktree::snapshot) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(in crate::worktree::snapshot) fn time(&mut self) -> Option<FileTime> {
        Some(FileTime {
            seconds: self.u64()?.cast_signed(),
            nanos: self.u32()?,
        })
    }

    pub(in crate::worktree::snapshot) fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

pub(in crate::worktree::snapshot) fn put_time(time: FileTime, out: &mut Vec<u8>) {
    out.extend_from_slice(&time.seconds.to_le_bytes());
    out.extend_from_slice(&time.nanos.to_le_bytes());
}

pub(in crate::worktree::snapshot) fn put_u32(out: &mut Vec<u8>, number: usize) {
    let number = u32::try_from(number).expect("fewer than 2^32 files, directories and bytes of a path");
    out.extend_from_slice(&number.to_le_bytes());
}
