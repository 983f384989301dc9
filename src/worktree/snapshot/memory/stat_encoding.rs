//! Packed encoding of stat data: compared by a digest, and kept until the walk needs them.

use crate::os::dir::{FileKind, FileTime, Meta};

const SIZE: usize = 56;

/// Adds what is said of a file. Its device is that of the directory, and its kind is next to its name.
pub(super) fn put(meta: &Meta, out: &mut Vec<u8>) {
    let (mtime, ctime) = (meta.mtime, meta.ctime);
    let long = [
        mtime.seconds.cast_unsigned(),
        ctime.seconds.cast_unsigned(),
        meta.size,
        meta.ino,
    ];
    // More names than a number of 32 bits can say are as good as the most of them.
    let links = u32::try_from(meta.links).unwrap_or(u32::MAX);
    let short = [mtime.nanos, ctime.nanos, meta.mode, meta.uid, meta.gid, links];
    let mut all = [0; SIZE];
    for (room, number) in all.chunks_exact_mut(8).zip(long) {
        room.copy_from_slice(&number.to_le_bytes());
    }
    for (room, number) in all[32..].chunks_exact_mut(4).zip(short) {
        room.copy_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&all);
}

/// Decodes the stat data of a file of this kind on this device.
pub(super) fn meta(told: &[u8; SIZE], kind: FileKind, dev: u64) -> Meta {
    let long = |at: usize| u64::from_le_bytes(*told[at * 8..].first_chunk().expect("four long numbers"));
    let short = |at: usize| u32::from_le_bytes(*told[32 + at * 4..].first_chunk().expect("six short numbers"));
    let time = |at: usize| FileTime {
        seconds: long(at).cast_signed(),
        nanos: short(at),
    };
    Meta {
        kind,
        mode: short(2),
        size: long(2),
        mtime: time(0),
        ctime: time(1),
        dev,
        ino: long(3),
        links: u64::from(short(5)),
        uid: short(3),
        gid: short(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_comes_back() {
        let time = |seconds| FileTime {
            seconds,
            nanos: 999_999_999,
        };
        let one = Meta {
            kind: FileKind::Link,
            mode: 0o7777,
            size: u64::MAX,
            mtime: time(-1),
            ctime: time(i64::MAX),
            dev: 5,
            ino: u64::MAX - 1,
            links: 2,
            uid: u32::MAX,
            gid: 7,
        };
        let mut out = Vec::new();
        put(&one, &mut out);
        put(&Meta { size: 3, ..one }, &mut out);
        let (all, rest) = out.as_chunks();
        assert!(rest.is_empty());
        assert_eq!(meta(&all[0], FileKind::Link, 5), one);
        assert_eq!(meta(&all[1], FileKind::Link, 5).size, 3);
    }
}
