//! Compressing and inflating object bytes, with a bounded buffer for streams.

use std::cell::RefCell;
use std::io::{self, Read};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The size of each piece of a stream in memory.
pub(super) const CHUNK: usize = 64 * 1024;

thread_local! {
    /// A compressor takes some 300 KiB to set up, more than most objects are worth, so each thread keeps one a level.
    static COMPRESSORS: RefCell<Vec<(u32, Compress)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `run` with this thread's compressor, as new.
fn with_compressor<T>(level: Compression, run: impl FnOnce(&mut Compress) -> T) -> T {
    COMPRESSORS.with(|kept| {
        let mut kept = kept.borrow_mut();
        let at = kept.iter().position(|(of, _)| *of == level.level());
        if let Some(at) = at {
            kept[at].1.reset();
        } else {
            kept.push((level.level(), Compress::new(level, true)));
        }
        let at = at.unwrap_or(kept.len() - 1);
        run(&mut kept[at].1)
    })
}

/// Appends `data` as a zlib stream to `out`.
pub(super) fn compress(level: Compression, data: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    with_compressor(level, |compressor| {
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
    })
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
    with_compressor(level, |compressor| {
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
