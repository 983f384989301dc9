//! Packs and their indexes read piece by piece into memory of bounded size.
//!
//! gix maps them, and each byte touched in a map costs 64 KiB of memory, as the system brings in the pages around it:
//! the trees of fifty directories, scattered over a pack of 50 MiB, took 20 MiB so. A piece read here costs its own length,
//! and the oldest pieces go.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;

use crate::os;

/// Bytes of a piece: a trade of calls against bytes that are not needed.
const BLOCK: usize = 8 * 1024;
/// How many bytes of pieces are kept, at least; twice as many at most.
const KEPT: usize = 1024 * 1024;
/// Files that are open at one time: there may be more packs than a process may open files.
const OPEN: usize = 16;

/// A piece.
type FileBlock = Rc<Vec<u8>>;

/// Files, by numbers of the caller's choice, read piece by piece.
pub(super) struct Blocks {
    /// With their lengths. The one used last comes last; `None` for one that cannot be opened.
    open: Vec<(usize, Option<(File, u64)>)>,
    kept: BlockCache<FileBlock>,
    /// The pieces that were asked for last, of an even and of an odd number: mostly they are the next ones, too.
    last: [Option<(usize, u64, FileBlock)>; 2],
}

impl Blocks {
    pub(super) fn new() -> Self {
        Self {
            open: Vec::new(),
            kept: BlockCache::new(KEPT),
            last: [None, None],
        }
    }

    /// The piece that has the byte at an offset of the file, and where in it that byte is. `None` beyond the end, or when
    /// the file cannot be read.
    pub(super) fn at(&mut self, number: usize, path: &Path, offset: u64) -> Option<(FileBlock, usize)> {
        let within = usize::try_from(offset % BLOCK as u64).ok()?;
        let start = offset - within as u64;
        let last = self.last[number % 2]
            .as_ref()
            .filter(|last| (last.0, last.1) == (number, start));
        let block = if let Some((.., block)) = last {
            block.clone()
        } else {
            let block = if let Some(block) = self.kept.get(number, start) {
                block
            } else {
                let block = Rc::new(self.read(number, path, start)?);
                self.kept.put(number, start, &block, block.len());
                block
            };
            self.last[number % 2] = Some((number, start, block.clone()));
            block
        };
        (within < block.len()).then_some((block, within))
    }

    /// Fills a buffer with the bytes from an offset on; gives how many there were before the end of the file.
    pub(super) fn fill(&mut self, number: usize, path: &Path, offset: u64, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buffer.len() {
            let Some((block, within)) = self.at(number, path, offset + filled as u64) else {
                break;
            };
            let count = (block.len() - within).min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&block[within..within + count]);
            filled += count;
        }
        filled
    }

    /// How long the file is; `None` when it cannot be read.
    pub(super) fn length(&mut self, number: usize, path: &Path) -> Option<u64> {
        self.file(number, path).map(|(_, length)| *length)
    }

    fn file(&mut self, number: usize, path: &Path) -> Option<&(File, u64)> {
        if let Some(at) = self.open.iter().position(|(known, _)| *known == number) {
            self.open[at..].rotate_left(1);
        } else {
            if self.open.len() == OPEN {
                self.open.remove(0);
            }
            self.open.push((number, os::open_regular_sized(path).ok()));
        }
        self.open.last()?.1.as_ref()
    }

    fn read(&mut self, number: usize, path: &Path, start: u64) -> Option<Vec<u8>> {
        let (file, length) = self.file(number, path)?;
        let left = length.checked_sub(start).filter(|left| *left > 0)?;
        let mut block = vec![0; usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK))];
        os::read_exact_at(file, &mut block, start).ok()?;
        Some(block)
    }
}

/// Cache by file and offset, in two generations: when the new one is full, the old one is dropped.
pub(super) struct BlockCache<V> {
    new: HashMap<(usize, u64), (V, usize)>,
    old: HashMap<(usize, u64), (V, usize)>,
    size: usize,
    enough: usize,
}

impl<V: Clone> BlockCache<V> {
    /// Keeps values of `enough` bytes at least, and twice as much at most.
    pub(super) fn new(enough: usize) -> Self {
        Self {
            new: HashMap::new(),
            old: HashMap::new(),
            size: 0,
            enough,
        }
    }

    pub(super) fn get(&mut self, number: usize, offset: u64) -> Option<V> {
        if let Some((value, _)) = self.new.get(&(number, offset)) {
            return Some(value.clone());
        }
        let (value, size) = self.old.remove(&(number, offset))?;
        self.put(number, offset, &value, size);
        Some(value)
    }

    /// Keeps a value that takes `size` bytes.
    pub(super) fn put(&mut self, number: usize, offset: u64, value: &V, size: usize) {
        if self.size > self.enough {
            self.old = std::mem::take(&mut self.new);
            self.size = 0;
        }
        self.size += size;
        self.new.insert((number, offset), (value.clone(), size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_across_pieces_and_up_to_their_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let content: Vec<u8> = (0..=250).cycle().take(3 * BLOCK + 5).collect();
        let paths: Vec<_> = (0..2 * OPEN).map(|n| directory.path().join(n.to_string())).collect();
        for path in &paths {
            std::fs::write(path, &content).expect("written");
        }
        let mut blocks = Blocks::new();
        for turn in 0..3 {
            for (number, path) in paths.iter().enumerate() {
                let offset = BLOCK - 3 + turn;
                let mut buffer = vec![0; BLOCK + 7];
                assert_eq!(blocks.fill(number, path, offset as u64, &mut buffer), buffer.len());
                assert!(buffer == content[offset..offset + buffer.len()]);
            }
        }
        assert!(blocks.open.len() <= OPEN);
        let mut buffer = [0; 10];
        assert_eq!(blocks.fill(0, &paths[0], 3 * BLOCK as u64, &mut buffer), 5);
        assert!(blocks.at(0, &paths[0], content.len() as u64).is_none());
        assert!(blocks.at(0, &paths[0], 1 << 40).is_none());
        assert_eq!(blocks.length(0, &paths[0]), Some(content.len() as u64));
        assert!(blocks.length(99, &directory.path().join("none")).is_none());
        assert!(blocks.at(99, &directory.path().join("none"), 0).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let mut kept = BlockCache::new(100);
        for offset in 0..100 {
            kept.put(0, offset, &offset, 10);
            assert_eq!(kept.get(0, 0), Some(0), "used again and again");
            assert!(kept.new.len() + kept.old.len() <= 2 * 12);
        }
        assert_eq!(kept.get(0, 50), None);
        assert_eq!(kept.get(1, 99), None);
        assert_eq!(kept.get(0, 99), Some(99));
    }
}
