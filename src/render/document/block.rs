//! A block in a file of another owner: put between two marker lines, the rest of the file byte for byte as it was.

/// The line before the block.
pub const BEGIN: &str = "<!-- git-checkpoint:handoff:begin; this block is replaced -->";
/// The line after the block.
pub const END: &str = "<!-- git-checkpoint:handoff:end -->";

/// Why a block cannot be put in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockDamage {
    /// The block begins and does not end.
    #[error("the marker in line {0} has no end")]
    NoEnd(usize),
    /// The block ends and did not begin.
    #[error("the end marker in line {0} has no beginning")]
    NoBegin(usize),
    /// There are several.
    #[error("there is a second block in line {0}")]
    Twice(usize),
}

/// The file with the block in it: in place of the one it has, else at its end. `None` is an absent file. In a file with
/// CRLF the block gets them as well.
pub fn put(file: Option<&[u8]>, text: &str) -> Result<Vec<u8>, BlockDamage> {
    let file = file.unwrap_or_default();
    let mut block = format!("{BEGIN}\n{}{END}\n", harmless(text));
    // The line end that a last line is given below may make the file one with CRLF: what is put in again is the same.
    let crlf = file.windows(2).any(|pair| pair == b"\r\n") || file.ends_with(b"\r");
    if crlf {
        block = block.replace('\n', "\r\n");
    }
    let mut out = Vec::with_capacity(file.len() + block.len() + 2);
    if let Some((start, end)) = find(file)? {
        out.extend_from_slice(&file[..start]);
        out.extend_from_slice(block.as_bytes());
        out.extend_from_slice(&file[end..]);
        return Ok(out);
    }
    out.extend_from_slice(file);
    if !file.is_empty() {
        let end = if crlf { "\r\n" } else { "\n" };
        if !file.ends_with(b"\n") {
            out.extend_from_slice(end.as_bytes());
        }
        out.extend_from_slice(end.as_bytes());
    }
    out.extend_from_slice(block.as_bytes());
    Ok(out)
}

/// The text with its last line ended and no line that is a marker, nor one that ends in CR: with its LF that would make
/// the file one with CRLF, and the block another one when it is put in again.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        if is(line.as_bytes(), BEGIN) || is(line.as_bytes(), END) {
            out.push('\\');
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn is(line: &[u8], marker: &str) -> bool {
    line.trim_ascii() == marker.as_bytes()
}

/// Where the block is: from the beginning of its first line to the end of its last.
fn find(file: &[u8]) -> Result<Option<(usize, usize)>, BlockDamage> {
    let (mut begun, mut found, mut at) = (None, None, 0);
    for (line, n) in file.split_inclusive(|b| *b == b'\n').zip(1..) {
        if is(line, BEGIN) {
            if begun.is_some() || found.is_some() {
                return Err(BlockDamage::Twice(n));
            }
            begun = Some((at, n));
        } else if is(line, END) {
            let Some((start, _)) = begun.take() else {
                return Err(BlockDamage::NoBegin(n));
            };
            found = Some((start, at + line.len()));
        }
        at += line.len();
    }
    match begun {
        Some((_, n)) => Err(BlockDamage::NoEnd(n)),
        None => Ok(found),
    }
}
