//! Comparison of the content of two files, of any size.

use std::{fs::File, io, io::Read as _, path::Path};

use super::open_regular_sized;

/// Bytes that are compared at once.
const BLOCK: usize = 64 << 10;

/// Whether both paths are symlinks with the same target, or regular files with the same bytes.
pub fn is_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let is_symlink = |path: &Path| Ok::<_, io::Error>(path.symlink_metadata()?.is_symlink());
    Ok(match (is_symlink(one)?, is_symlink(other)?) {
        (true, true) => std::fs::read_link(one)? == std::fs::read_link(other)?,
        (false, false) => {
            let ((mut one, length), (mut other, other_length)) = (open_regular_sized(one)?, open_regular_sized(other)?);
            length == other_length && is_beginning(&mut one, &mut other)?
        }
        _ => false,
    })
}

/// Whether a regular file begins with the bytes of another one, or is equal to it.
pub fn begins_with(whole: &Path, part: &Path) -> io::Result<bool> {
    let ((mut whole, length), (mut part, part_length)) = (open_regular_sized(whole)?, open_regular_sized(part)?);
    Ok(part_length <= length && is_beginning(&mut part, &mut whole)?)
}

/// Whether what one file has is the next that another one has.
fn is_beginning(part: &mut File, whole: &mut File) -> io::Result<bool> {
    let (mut wanted, mut found) = (vec![0; BLOCK], vec![0; BLOCK]);
    loop {
        let count = read_block(part, &mut wanted)?;
        if count == 0 {
            return Ok(true);
        }
        if read_block(whole, &mut found[..count])? != count || wanted[..count] != found[..count] {
            return Ok(false);
        }
    }
}

/// Reads until the block is full or the file ends.
fn read_block(file: &mut File, block: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < block.len() {
        match file.read(&mut block[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_any_length_are_compared() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let long: Vec<u8> = (0..3 * BLOCK + 7)
            .map(|n| u8::try_from(n % 251).expect("small"))
            .collect();
        let mut other = long.clone();
        *other.last_mut().expect("a byte") ^= 1;
        let contents: [(&str, &[u8]); 5] = [
            ("empty", b""),
            ("long", &long),
            ("same", &long),
            ("other", &other),
            ("begun", &long[..2 * BLOCK]),
        ];
        for (name, bytes) in contents {
            std::fs::write(path(name), bytes).expect("written");
        }
        for (one, bytes) in contents {
            for (two, more) in contents {
                assert_eq!(
                    is_same_content(&path(one), &path(two)).expect("read"),
                    bytes == more,
                    "{one} {two}"
                );
                assert_eq!(
                    begins_with(&path(one), &path(two)).expect("read"),
                    bytes.starts_with(more),
                    "{one} {two}"
                );
            }
        }
        assert!(is_same_content(&path("long"), &path("absent")).is_err());
        assert!(begins_with(&path("long"), directory.path()).is_err());
    }
}
