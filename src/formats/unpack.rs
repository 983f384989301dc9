//! Packed files, opened before anything else looks at them: what a writer encodes as a whole, and gzip.

use std::io::Read as _;

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{FILE_LIMIT, File, Problem};

/// The mark that claude-flow sets before base64, which it calls compression.
const ENCODED: &str = "__compressed__";

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The files with their packing opened; one that cannot be opened is a problem and is left out.
pub(super) fn all(files: Vec<File>, problems: &mut Vec<Problem>) -> Vec<File> {
    let mut out = Vec::with_capacity(files.len());
    for mut file in files {
        match open(&mut file) {
            Ok(()) => out.push(file),
            Err(why) => problems.push(Problem::broken(&file.path, why)),
        }
    }
    out
}

/// Opens a file in place, however often it was packed.
fn open(file: &mut File) -> Result<(), String> {
    for _ in 0..8 {
        if file.bytes.starts_with(&[0x1f, 0x8b, 8]) && !is_artifact(file) {
            file.bytes = gunzip(&file.bytes)?;
            if file.is("gz") {
                file.path.truncate(file.path.len() - 3);
            }
        } else if let Some(text) = text(&file.bytes).filter(|text| text.starts_with(ENCODED)) {
            file.bytes = decoded(text).ok_or("it begins with '__compressed__', but no base64 follows")?;
        } else {
            break;
        }
    }
    // A text may begin with these letters too; encrypted bytes are none.
    if file.bytes.starts_with(b"RFE1") && std::str::from_utf8(&file.bytes).is_err() {
        return Err(
            "its writer encrypted it (its mark is 'RFE1'): decrypt it with the program that wrote it".to_owned(),
        );
    }
    Ok(())
}

/// Files that a session keeps as they are.
fn is_artifact(file: &File) -> bool {
    file.folder().rsplit('/').next() == Some("artifacts")
}

fn text(bytes: &[u8]) -> Option<&str> {
    let start = bytes.trim_ascii_start();
    start
        .starts_with(ENCODED.as_bytes())
        .then(|| std::str::from_utf8(start).ok())
        .flatten()
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let reader = flate2::read::MultiGzDecoder::new(bytes);
    let read = reader.take(FILE_LIMIT + 1).read_to_end(&mut out);
    read.map_err(|error| format!("it cannot be unpacked: {error}"))?;
    if out.len() as u64 > FILE_LIMIT {
        return Err(format!("it unpacks to more than the {FILE_LIMIT} bytes allowed"));
    }
    Ok(out)
}

/// The bytes of a text that claude-flow encoded; `None` when it is none, or is damaged.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.trim().strip_prefix(ENCODED)?.split_whitespace().collect();
    LENIENT.decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_opened_however_often_they_were_packed() {
        use std::io::Write as _;
        let text = b"{\"a\": 1}";
        let encoded = |bytes: &[u8]| format!("{ENCODED}{}", LENIENT.encode(bytes)).into_bytes();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&encoded(&encoded(text))).expect("memory");
        let file = File {
            path: "x/a.json.gz".to_owned(),
            bytes: gzip.finish().expect("memory"),
            modified: None,
        };
        let mut problems = Vec::new();
        let opened = all(vec![file], &mut problems);
        assert_eq!(
            (opened[0].path.as_str(), opened[0].bytes.as_slice()),
            ("x/a.json", text.as_slice())
        );
        for bytes in [&b"__compressed__!!"[..], b"RFE1\xff\0"] {
            let file = File {
                bytes: bytes.to_vec(),
                ..File::default()
            };
            assert!(all(vec![file], &mut problems).is_empty());
        }
        assert_eq!(problems.len(), 2);
        let note = File {
            bytes: b"RFE1: a request for an enhancement".to_vec(),
            ..File::default()
        };
        assert_eq!(all(vec![note], &mut problems).len(), 1);
    }
}
