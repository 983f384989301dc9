//! Compressing and inflating object bytes, with a bounded buffer for streams.

use std::cell::RefCell;
use std::io::{self, Read};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The size of each piece of a stream in memory.
pub(super) const CHUNK: usize = 64 * 1024;

/// The window that zlib has by default, as a power of two: how far back it finds what comes again.
const WINDOW: u8 = 15;

/// The window for small contents, in which zlib needs a third of the memory that it clears for the default one.
const SMALL_WINDOW: u8 = 12;

/// The end of the window in which zlib looks for nothing (`MIN_LOOKAHEAD` in its sources).
const LOOKAHEAD: u64 = 262;

thread_local! {
    /// To set up a compressor takes longer than to compress most objects, so each thread keeps one for each window.
    static COMPRESSORS: RefCell<Vec<(u8, Compress)>> = const { RefCell::new(Vec::new()) };
}

/// The window for contents of this many bytes: the smallest in which zlib finds what it finds in the default one.
fn window(length: u64) -> u8 {
    if length <= (1 << SMALL_WINDOW) - LOOKAHEAD {
        SMALL_WINDOW
    } else {
        WINDOW
    }
}

/// Calls `run` with this thread's compressor for contents of `length` bytes, as new.
fn with_compressor<T>(level: Compression, length: u64, run: impl FnOnce(&mut Compress) -> T) -> io::Result<T> {
    let window = window(length);
    COMPRESSORS.with(|kept| {
        let mut kept = kept.borrow_mut();
        let at = kept.iter().position(|(of, _)| *of == window);
        if let Some(at) = at {
            let compressor = &mut kept[at].1;
            compressor.reset();
            compressor.set_level(level).map_err(io::Error::other)?;
        } else {
            kept.push((window, Compress::new_with_window_bits(level, true, window)));
        }
        let at = at.unwrap_or(kept.len() - 1);
        Ok(run(&mut kept[at].1))
    })
}

/// Appends `data` as a zlib stream to `out`.
pub(super) fn compress(level: Compression, data: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    with_compressor(level, data.len() as u64, |compressor| {
        out.reserve(data.len() / 2 + 64);
        loop {
            let input = &data[usize::try_from(compressor.total_in()).unwrap_or(data.len())..];
            match compressor
                .compress_vec(input, out, FlushCompress::Finish)
                .map_err(io::Error::other)?
            {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => out.reserve(CHUNK.max(out.capacity() / 2)),
            }
        }
    })?
}

/// Reads `source` to its end, at most one byte more than `length`, gives each piece to `seen` and the zlib stream made
/// of them, piece by piece, to `write`. The result is the number of bytes read.
pub(super) fn compress_stream<E>(
    level: Compression,
    length: u64,
    source: &mut dyn Read,
    seen: &mut dyn FnMut(&[u8]),
    write: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    read_error: &dyn Fn(io::Error) -> E,
    zlib_error: &dyn Fn(io::Error) -> E,
) -> Result<u64, E> {
    with_compressor(level, length, |compressor| {
        let mut input = vec![0; CHUNK];
        let mut output = Vec::with_capacity(CHUNK);
        let mut total = 0_u64;
        loop {
            let count = read_some(source, &mut input).map_err(read_error)?;
            total += count as u64;
            if total > length {
                return Ok(length + 1);
            }
            seen(&input[..count]);
            let flush = if count == 0 {
                FlushCompress::Finish
            } else {
                FlushCompress::None
            };
            let mut rest = &input[..count];
            loop {
                let before = compressor.total_in();
                output.clear();
                let status = compressor
                    .compress_vec(rest, &mut output, flush)
                    .map_err(|error| zlib_error(io::Error::other(error)))?;
                let used = usize::try_from(compressor.total_in() - before).unwrap_or(rest.len());
                rest = &rest[used..];
                write(&output)?;
                match status {
                    Status::StreamEnd => return Ok(total),
                    // With room left in the output there is nothing more to come for this piece.
                    _ if count != 0 && rest.is_empty() && output.len() < output.capacity() => break,
                    _ => {}
                }
            }
        }
    })
    .map_err(zlib_error)?
}

/// One successful read, retried when a signal interrupts it.
pub(super) fn read_some(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Inflates a zlib stream held in memory, which must give exactly `size` bytes.
pub(super) fn inflate(stream: &[u8], size: usize) -> io::Result<Vec<u8>> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "the compressed data is damaged");
    let mut out = Vec::with_capacity(size);
    let mut inflater = Decompress::new(true);
    loop {
        let used = usize::try_from(inflater.total_in()).unwrap_or(stream.len());
        let before = (inflater.total_in(), out.len());
        let status = inflater
            .decompress_vec(&stream[used..], &mut out, FlushDecompress::Finish)
            .map_err(|_| wrong())?;
        match status {
            Status::StreamEnd if out.len() == size => return Ok(out),
            Status::StreamEnd => return Err(wrong()),
            _ if out.len() == size && out.len() == out.capacity() => out.reserve(1),
            _ if before == (inflater.total_in(), out.len()) || out.len() > size => return Err(wrong()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of which the same ones come again at the end, as far back as can be.
    fn contents(length: usize) -> Vec<u8> {
        let words = (0..).flat_map(|number: u32| format!("{:x} ", number.wrapping_mul(2_654_435_761)).into_bytes());
        let mut out: Vec<u8> = words.take(length).collect();
        let again = length / 3;
        out.copy_within(..again, length - again);
        out
    }

    #[test]
    fn each_length_and_level_comes_back_whichever_was_before() {
        for length in [0, 1, 100, 3_833, 3_834, 3_835, 4_096, 40_000, 200_000, 5] {
            for level in [9, 0, 1, 6, 3, 0, 9] {
                let data = contents(length);
                let (mut whole, mut pieces) = (Vec::new(), Vec::new());
                compress(Compression::new(level), &data, &mut whole).unwrap();
                assert_eq!(inflate(&whole, length).unwrap(), data, "{length} bytes, level {level}");
                let write = &mut |bytes: &[u8]| {
                    pieces.extend_from_slice(bytes);
                    Ok(())
                };
                let read = compress_stream(
                    Compression::new(level),
                    length as u64,
                    &mut data.as_slice(),
                    &mut |_| {},
                    write,
                    &|error| error,
                    &|error| error,
                );
                assert_eq!(read.unwrap(), length as u64);
                assert_eq!(inflate(&pieces, length).unwrap(), data, "{length} bytes in pieces");
            }
        }
    }

    #[test]
    fn a_small_window_finds_what_the_default_one_finds() {
        let longest = (1 << SMALL_WINDOW) - usize::try_from(LOOKAHEAD).unwrap();
        for length in [10, 1_000, longest] {
            for level in 1..=9 {
                let data = contents(length);
                let mut small = Vec::new();
                compress(Compression::new(level), &data, &mut small).unwrap();
                assert_eq!(small[0] >> 4, SMALL_WINDOW - 8, "the header names the window");
                let mut default = Vec::with_capacity(2 * length + 100);
                Compress::new(Compression::new(level), true)
                    .compress_vec(&data, &mut default, FlushCompress::Finish)
                    .unwrap();
                assert_eq!(small.len(), default.len(), "{length} bytes, level {level}");
            }
        }
    }
}
