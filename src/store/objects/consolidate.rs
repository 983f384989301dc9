//! Keeping our packs few: every save adds one, and git starts a repack of its own at 50 (`gc.autoPackLimit`), counting the
//! user's own as well. So there are never more than ten of ours, those included that are merged and still there.
//!
//! Our packs hold no deltas, so their entries are copied byte for byte. The smallest packs are merged until each one
//! left is several times as large as all smaller ones together, so every byte is copied a logarithmic number of times,
//! and so few are left that this happens at every fifth save or so. The new pack is durable before an old one goes; git
//! and gix look again for an object whose pack has gone.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Crc;
use gix::odb::pack::{index, multi_index};

use super::body::Body;
use super::pack::{self, IndexEntry};
use super::{name, seal};
use crate::os;
use crate::store::{Error, Repository, lock, paths};

/// More packs of ours than this are too many: with the merged one, one that is being written and the old ones that stay
/// for [`GRACE`] they come to nine, and to ten where two processes save at once.
const TOO_MANY: usize = 6;
/// More than this, merged ones among them, are never left behind.
const MOST: usize = 8;
/// How many times as large as all smaller ones together a pack is that stays.
const SMALL_FACTOR: u64 = 8;
/// The same where the smaller ones have more than [`MANY_BYTES`]: to copy bytes then costs more than to make a pack.
const FACTOR: u64 = 2;
const MANY_BYTES: u64 = 16 * 1024 * 1024;
/// An entry larger than this stays where it is: copying it again and again costs more than one more pack.
const LARGE_PACK: u64 = 512 * 1024 * 1024;

/// How much of a pack is read at once.
const BUFFER: usize = 256 * 1024;

/// How long merged packs stay: who lists the directory just then sees the old ones or the new one. Who sees neither looks
/// again, as git does for its own repack, which removes the old ones at once.
const GRACE: Duration = Duration::from_millis(10);

/// How old a note of a running `git gc` may be, as in git.
const GC_LIMIT: Duration = Duration::from_secs(12 * 3600);

/// Result of [`consolidate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConsolidationOutcome {
    /// Packs removed, because an earlier call had merged them.
    pub merged: usize,
}

struct SmallPack {
    base: PathBuf,
    size: u64,
}

/// Merges our packs if there are more than six of them. A cheap look at the directory otherwise.
///
/// Does nothing while another process of ours does it, while `git gc` or `git maintenance` runs (they would miss a pack
/// they have listed already), and with packs under a `.keep`. Call it when no lock is held: merging takes time that
/// other processes should not wait for. The merged packs go with a later call, a moment
/// after: a process that reads the directory meanwhile sees the new one or the old ones, not neither.
pub fn consolidate(repo: &Repository) -> Result<ConsolidationOutcome, Error> {
    let directory = paths::objects_dir(repo).join("pack");
    let note = note(repo);
    let none = ConsolidationOutcome { merged: 0 };
    let listed = indexes(&directory)?;
    // Which of them are ours is not worth finding out when all together are few.
    let may_be_many = || listed.len() > TOO_MANY && ours(listed).len() > TOO_MANY;
    if !(note.exists() || may_be_many()) || maintained(repo) {
        return Ok(none);
    }
    let _lock = match lock::common(repo, "consolidate", "the packs", Duration::ZERO) {
        Err(Error::Busy { .. }) => return Ok(none),
        lock => lock?,
    };
    let mut removed = remove_superseded(&directory, &note)?;
    if matches!(removed, RemovalOutcome::NotYet) && ours(indexes(&directory)?).len() > MOST {
        // Saves that follow one another faster than that wait for the old ones to go.
        std::thread::sleep(GRACE);
        removed = remove_superseded(&directory, &note)?;
    }
    let merged = match removed {
        RemovalOutcome::NotYet => return Ok(none),
        RemovalOutcome::Some(merged) => merged,
    };
    // Again under the lock: another process may have been at it.
    let mut found = ours(indexes(&directory)?);
    // What is too large to be copied again and again cannot be made fewer.
    found.retain(|candidate| candidate.size <= LARGE_PACK);
    if found.len() > TOO_MANY {
        merge(repo, &directory, &note, choose(&found))?;
    }
    Ok(ConsolidationOutcome { merged })
}

/// Where the names of merged packs are until they are removed: the new one, then the old ones, a line each.
fn note(repo: &Repository) -> PathBuf {
    repo.common_dir().join("checkpoint").join("superseded")
}

enum RemovalOutcome {
    NotYet,
    Some(usize),
}

/// Removes the packs that an earlier call merged.
fn remove_superseded(directory: &Path, note: &Path) -> Result<RemovalOutcome, Error> {
    let text = match os::read_regular(note) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(RemovalOutcome::Some(0)),
        Err(error) => return Err(Error::io("read", note)(error)),
    };
    if os::age(note).is_some_and(|age| age < GRACE) {
        return Ok(RemovalOutcome::NotYet);
    }
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().filter(|line| name::is_ours(line));
    let mut count = 0;
    // Without the new one, the old ones may be all there is: a gc has been at work, and takes care of them as well.
    if lines
        .next()
        .is_some_and(|new| directory.join(new).with_extension("idx").exists())
    {
        let old: Vec<&str> = lines.collect();
        remove_multi_index(directory, &old)?;
        for old in old {
            seal::remove(&directory.join(old))?;
            count += 1;
        }
    }
    fs::remove_file(note).map_err(Error::io("remove", note))?;
    Ok(RemovalOutcome::Some(count))
}

/// Removes git's index of several packs where it names one of these packs, as git does when it removes one: it would
/// lead to nowhere. The user's next `git multi-pack-index write` or maintenance writes it again.
fn remove_multi_index(directory: &Path, packs: &[&str]) -> Result<(), Error> {
    let path = directory.join("multi-pack-index");
    if !path.exists() {
        return Ok(());
    }
    let names_one = match multi_index::File::at(&path, None) {
        Ok(file) => file.index_names().iter().any(|name| {
            let stem = name.file_stem().and_then(|stem| stem.to_str());
            stem.is_some_and(|stem| packs.contains(&stem))
        }),
        // One that cannot be read is of no use to git either.
        Err(_) => false,
    };
    if !names_one {
        return Ok(());
    }
    let remove = |path: &Path| match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    };
    remove(&path)?;
    // What goes with it: bitmaps and reverse indices, by its checksum.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("multi-pack-index-")) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Copies the packs into a new one and notes them down.
fn merge(repo: &Repository, directory: &Path, note: &Path, chosen: &[SmallPack]) -> Result<(), Error> {
    let sharing = paths::sharing(repo);
    let mut body = Body::new(directory.to_owned(), sharing);
    let mut old = String::new();
    for candidate in chosen.iter().filter(|_| chosen.len() > 1) {
        match copy(&candidate.base, repo.object_hash(), &mut body)? {
            CopyOutcome::All => {
                old.extend(candidate.base.file_name().and_then(|name| name.to_str()));
                old.push('\n');
            }
            // Damage is reported by `verify`; copying it would spread it.
            CopyOutcome::Unusable => {}
        }
    }
    let Some(closed) = body.close(repo.object_hash())? else {
        return Ok(());
    };
    let keep = seal::place(closed, directory, sharing)?;
    paths::private_dir(repo)?;
    // A note cut off by a kill names fewer packs, and those stay until they are merged again.
    let written = os::private_file(note, sharing).and_then(|mut file| {
        file.set_len(0)?;
        io::Write::write_all(&mut file, format!("{}\n{old}", keep.pack_name()).as_bytes())
    });
    written.map_err(Error::io("write", note))
}

/// The indexes of all packs.
fn indexes(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", directory)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("read", directory))?.path();
        if path.extension().is_some_and(|extension| extension == "idx") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Our packs without a `.keep`, smallest first.
fn ours(indexes: Vec<PathBuf>) -> Vec<SmallPack> {
    let mut found = Vec::new();
    for path in indexes {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if !stem.is_some_and(name::is_ours) || path.with_extension("keep").exists() {
            continue;
        }
        // Gone in between is as good as never seen.
        if let Ok(metadata) = fs::metadata(path.with_extension("pack")) {
            found.push(SmallPack {
                base: path.with_extension(""),
                size: metadata.len(),
            });
        }
    }
    found.sort_by_key(|candidate| candidate.size);
    found
}

/// The smallest packs, as many as it takes for the next one to be so many times as large as all of them.
fn choose(found: &[SmallPack]) -> &[SmallPack] {
    let mut total = 0;
    let mut count = 0;
    for (position, candidate) in found.iter().enumerate() {
        // At least half of what is too many, so that this does not happen at every save.
        let factor = if total > MANY_BYTES { FACTOR } else { SMALL_FACTOR };
        if position > TOO_MANY / 2 && candidate.size >= factor * total {
            break;
        }
        total += candidate.size;
        count = position + 1;
    }
    &found[..count]
}

enum CopyOutcome {
    All,
    Unusable,
}

/// Appends the entries of the pack at `base` to `body`, each checked against its checksum.
fn copy(base: &Path, hash: gix::hash::Kind, body: &mut Body) -> Result<CopyOutcome, Error> {
    let path = base.with_extension("pack");
    let Ok(index) = index::File::at(base.with_extension("idx"), hash) else {
        return Ok(CopyOutcome::Unusable);
    };
    let mut entries: Vec<IndexEntry> = Vec::new();
    for entry in index.iter() {
        let Some(crc32) = entry.crc32 else {
            return Ok(CopyOutcome::Unusable);
        };
        entries.push(IndexEntry {
            id: entry.oid,
            crc32,
            offset: entry.pack_offset,
        });
    }
    entries.sort_unstable_by_key(|entry| entry.offset);
    let Ok(file) = File::open(&path) else {
        return Ok(CopyOutcome::Unusable);
    };
    let length = file.metadata().map_err(Error::io("read", &path))?.len();
    let Some(end) = length.checked_sub(hash.len_in_bytes() as u64) else {
        return Ok(CopyOutcome::Unusable);
    };
    let mut file = PackSource {
        file: BufReader::with_capacity(BUFFER, file),
        at: 0,
        length,
    };
    let ends: Vec<u64> = entries.iter().skip(1).map(|entry| entry.offset).chain([end]).collect();
    let start = body.mark();
    for (entry, &end) in entries.iter().zip(&ends) {
        let Some(bytes) = file.entry(entry, end) else {
            // Nothing of a damaged pack is to go into the new one.
            body.reset(start)?;
            return Ok(CopyOutcome::Unusable);
        };
        body.append_known(entry.id, &bytes, entry.crc32)?;
    }
    Ok(CopyOutcome::All)
}

/// A pack that is read from its beginning to its end.
struct PackSource {
    file: BufReader<File>,
    /// Where it is read next.
    at: u64,
    length: u64,
}

impl PackSource {
    /// The bytes of an entry, which lies behind the last one, if they are what the index has and no delta.
    fn entry(&mut self, entry: &IndexEntry, end: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(end.min(self.length).checked_sub(entry.offset)?).ok()?;
        let skipped = i64::try_from(entry.offset.checked_sub(self.at)?).ok()?;
        let mut bytes = vec![0; length];
        self.file.seek_relative(skipped).ok()?;
        self.file.read_exact(&mut bytes).ok()?;
        self.at = end;
        pack::parse_entry_header(&bytes)?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        (crc.sum() == entry.crc32).then_some(bytes)
    }
}

/// Whether git is at work on the packs.
fn maintained(repo: &Repository) -> bool {
    let maintenance = paths::objects_dir(repo).join("maintenance.lock");
    let multi_index = paths::objects_dir(repo).join("pack/multi-pack-index.lock");
    maintenance.exists() || multi_index.exists() || collected(&repo.common_dir().join("gc.pid"))
}

/// Whether the process that `gc.pid` names (`pid SP host`) may be at work. git leaves the file when it is killed, and
/// then takes it for stale after twelve hours, or at once when the process is not on this machine any more.
fn collected(file: &Path) -> bool {
    let Ok(text) = fs::read_to_string(file) else {
        return file.exists();
    };
    let stale = os::age(file).is_some_and(|age| age > GC_LIMIT);
    let gone = text.trim().split_once(' ').is_some_and(|(process, host)| {
        host == os::host_name()
            && process
                .parse()
                .is_ok_and(|process| os::is_running(process) == Some(false))
    });
    !stale && !gone
}
