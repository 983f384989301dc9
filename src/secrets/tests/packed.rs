//! Secrets in packed data are found in every form and nesting, and data without one keeps its bytes.

use std::io::{Cursor, Read as _, Write as _};

use base64::{Engine as _, engine::general_purpose};
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde_json::{Value, json};

use crate::secrets::{PackedReport, RedactionSettings, Scanner};

fn scanner() -> Scanner {
    Scanner::new(&RedactionSettings::default()).expect("rules")
}

/// Distinct keys of a known form, put together here so that no scanner takes this file for a leak.
fn key(n: usize) -> String {
    let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZ234567";
    let mut seed = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let tail: String = (0..16)
        .map(|_| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(letters[usize::try_from(seed >> 33).expect("31 bits") % letters.len()])
        })
        .collect();
    format!("AKIA{tail}")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).expect("memory");
    out.finish().expect("memory")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).expect("memory");
    out.finish().expect("memory")
}

fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    out.start_file("a/b.txt", options).expect("memory");
    out.write_all(bytes).expect("memory");
    out.finish().expect("memory").into_inner()
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    general_purpose::STANDARD.encode(bytes).into_bytes()
}

fn url_base64(bytes: &[u8]) -> Vec<u8> {
    general_purpose::URL_SAFE_NO_PAD.encode(bytes).into_bytes()
}

fn wrapped(bytes: &[u8]) -> Vec<u8> {
    base64(bytes).chunks(76).collect::<Vec<_>>().join(&b"\n"[..])
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .flat_map(|byte| format!("{byte:02X}").into_bytes())
        .collect()
}

fn nested(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    json!({ "inner": json!({ "data": text }).to_string() })
        .to_string()
        .into_bytes()
}

fn escaped(bytes: &[u8]) -> Vec<u8> {
    let each = bytes.iter().map(|byte| format!("\\u{byte:04x}"));
    format!("\"{}\"", each.collect::<String>()).into_bytes()
}

fn prefixed(bytes: &[u8]) -> Vec<u8> {
    [b"__compressed__".as_slice(), &base64(bytes)].concat()
}

type Pack = fn(&[u8]) -> Vec<u8>;
const FORMS: [(&str, Pack); 10] = [
    ("gzip", gzip),
    ("zlib", zlib),
    ("zip", zip),
    ("base64", base64),
    ("url", url_base64),
    ("wrapped", wrapped),
    ("hex", hex),
    ("nested", nested),
    ("escaped", escaped),
    ("prefixed", prefixed),
];
/// The forms that are text: they may be in a JSON value.
const TEXTS: std::ops::Range<usize> = 3..10;

/// Everything that can be unpacked from some bytes, in one text.
fn all(bytes: &[u8], out: &mut String, depth: usize) {
    out.push_str(&String::from_utf8_lossy(bytes));
    if depth == 0 {
        return;
    }
    let mut content = Vec::new();
    let gzip = flate2::read::MultiGzDecoder::new(bytes)
        .read_to_end(&mut content)
        .is_ok();
    if gzip || flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut content).is_ok() {
        return all(&content, out, depth - 1);
    }
    if let Ok(mut archive) = zip::ZipArchive::new(Cursor::new(bytes)) {
        for n in 0..archive.len() {
            // A form that carries no bytes may have damaged an entry.
            let mut content = Vec::new();
            if let Ok(mut entry) = archive.by_index(n) {
                let _ = entry.read_to_end(&mut content);
            }
            all(&content, out, depth - 1);
        }
        return;
    }
    let is_tree = bytes.starts_with(b"{") || bytes.starts_with(b"[") || bytes.starts_with(b"\"");
    if is_tree && let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        let mut texts = Vec::new();
        leaves(&value, &mut texts);
        for text in texts {
            all(text.as_bytes(), out, depth - 1);
        }
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    let joined: String = text.split_whitespace().collect();
    let joined = joined.trim_start_matches("__compressed__");
    let unpadded = joined.trim_end_matches('=');
    for engine in [&general_purpose::STANDARD_NO_PAD, &general_purpose::URL_SAFE_NO_PAD] {
        if let Ok(content) = engine.decode(unpadded) {
            all(&content, out, depth - 1);
        }
    }
    let pairs: Option<Vec<u8>> = joined
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    if let Some(content) = pairs {
        all(&content, out, depth - 1);
    }
}

fn leaves<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(map) => map.values().for_each(|item| leaves(item, out)),
        _ => {}
    }
}

/// Three levels of every form in every other: 1,000 plants.
#[test]
fn no_secret_is_left_in_any_nesting() {
    let scanner = scanner();
    let mut planted = 0;
    for (a, first) in FORMS {
        for (b, second) in FORMS {
            for (c, third) in FORMS {
                let key = key(planted);
                let text = format!("[default]\naws_access_key_id = {key}\nregion = north, and more of it\n");
                let packed = third(&second(&first(text.as_bytes())));
                let (clean, _) = scanner.redact_bytes(&packed);
                let (unpacked, found) = scanner.redact_packed(&clean);
                let clean = unpacked.unwrap_or_else(|| clean.into_owned());
                let mut seen = String::new();
                all(&clean, &mut seen, 9);
                assert!(!seen.contains(&key), "{a} in {b} in {c}");
                // What does not carry bytes loses the inner form already in the test; else the rest of the text stays.
                let carries = |name: &str| !["nested", "escaped"].contains(&name);
                if carries(b) && carries(c) {
                    assert!(seen.contains("region = north"), "{a} in {b} in {c}: {seen:?}");
                    assert!(!found.findings.is_empty() || clean != packed);
                }
                planted += 1;
            }
        }
    }
    assert_eq!(planted, 1000);
}

/// The same in the values of JSON, below names and in lists.
#[test]
fn no_secret_is_left_in_a_value() {
    let scanner = scanner();
    for (n, (name, pack)) in FORMS[TEXTS].iter().enumerate() {
        let key = key(5000 + n);
        let packed = String::from_utf8(pack(format!("{{\"token\": \"{key}\"}}").as_bytes())).expect("text");
        let mut value = json!({ "a": [{ "b": packed }], "prose": format!("it is {packed}, as said"), "n": 1.50 });
        scanner.redact_json(&mut value);
        let found = scanner.redact_packed_json(&mut value).findings;
        let mut seen = String::new();
        all(value["a"][0]["b"].as_str().expect("a text").as_bytes(), &mut seen, 6);
        seen.push_str(&value.to_string());
        assert!(!seen.contains(&key), "{name}: {seen}");
        for engine in [&general_purpose::STANDARD_NO_PAD, &general_purpose::URL_SAFE_NO_PAD] {
            let inner = engine.encode(&key);
            assert!(!value.to_string().contains(&inner[..20]), "{name}");
        }
        assert!(
            found.iter().all(|finding| finding.pointer.starts_with('/')),
            "{found:?}"
        );
    }
}

/// A letter of a key may be written as any escape of a programming language.
#[test]
fn a_secret_in_escapes_is_found() {
    let scanner = scanner();
    let key = key(7000);
    for escape in [
        |byte: u8| format!("\\u{byte:04x}"),
        |byte: u8| format!("\\x{byte:02X}"),
        |byte: u8| format!("\\{byte:03o}"),
    ] {
        let every: String = key.bytes().map(escape).collect();
        let first = escape(b'A') + &key[1..];
        for text in [every, first] {
            let (clean, report) = scanner.redact_packed(format!("x = '{text}'\n").as_bytes());
            assert_eq!(report.findings.len(), 1, "{text}");
            assert!(clean.is_some(), "{text}");
        }
    }
}

#[test]
fn data_without_a_secret_keeps_its_bytes() {
    let scanner = scanner();
    let texts = [
        "src/formats/claude_flow/hive.rs and AbCdEfGhIjKlMnOpQrStUvWxYz0123456789".to_owned(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned(),
        String::from_utf8(base64(b"nothing to be hidden in this text, which is long enough")).expect("text"),
        "a \\u0041 \\x42 \\103 \\1 \\19 and \\/ escape".to_owned(),
        "xylophone, xyz and the like".to_owned(),
    ];
    for text in &texts {
        assert_eq!(
            scanner.redact_packed(text.as_bytes()),
            (None, PackedReport::default()),
            "{text}"
        );
    }
    for pack in [gzip, zlib, zip] {
        let report = scanner.redact_packed(&pack(texts[0].as_bytes()));
        assert_eq!(report, (None, PackedReport::default()));
    }
}

/// An archive that would fill the memory is not searched, and not kept.
#[test]
fn what_is_beyond_the_limits_does_not_stay() {
    let scanner = scanner();
    let mut bomb = vec![0; 40 << 20];
    for _ in 0..2 {
        bomb = [gzip(&bomb), Vec::new()].concat();
    }
    assert_eq!(scanner.redact_packed(&bomb).0, None, "40 MiB are searched");
    let huge = gzip(&vec![0; 130 << 20]);
    let clean = scanner.redact_packed(&huge).0.expect("replaced");
    assert!(clean.starts_with(b"[REDACTED:"));
    let mut deep = b"a text of some length, without a secret".to_vec();
    for _ in 0..30 {
        deep = gzip(&deep);
    }
    assert!(scanner.redact_packed(&deep).0.is_some());
}

/// Data that is addressed by offsets keeps its length.
#[test]
fn nothing_moves_in_a_database_or_a_tar_archive() {
    let scanner = scanner();
    let key = key(9000);
    let mut tar = vec![0; 1024];
    tar[..5].copy_from_slice(b"a.txt");
    tar[257..262].copy_from_slice(b"ustar");
    tar.extend(
        format!(
            "AWS_ACCESS_KEY_ID={key} {}",
            String::from_utf8_lossy(&base64(key.as_bytes()))
        )
        .into_bytes(),
    );
    let packed = gzip(&tar);
    let clean = scanner.redact_packed(&packed).0.expect("a secret");
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(clean.as_slice())
        .read_to_end(&mut content)
        .expect("readable");
    assert_eq!(content.len(), tar.len());
    let mut seen = String::new();
    all(&content[1024..], &mut seen, 3);
    assert!(!seen.contains(&key) && content.windows(20).all(|part| part != key.as_bytes()));
}

/// The forms of what was not searched in some bytes.
fn unsearched(bytes: &[u8]) -> Vec<&'static str> {
    let (clean, report) = scanner().redact_packed(bytes);
    assert_eq!((clean, report.findings.len()), (None, 0));
    report.unsearched.iter().map(|data| data.form).collect()
}

/// A zip archive with the flag of encryption in both of its headers.
fn encrypted_zip() -> Vec<u8> {
    let mut bytes = zip(b"a text that nobody without the password reads");
    bytes[6] |= 1;
    let central = bytes
        .windows(4)
        .position(|part| part == b"PK\x01\x02")
        .expect("a header");
    bytes[central + 8] |= 1;
    bytes
}

#[test]
fn data_that_cannot_be_searched_is_reported() {
    let rest = b"\0\0\0\xff and more than sixteen bytes";
    for (start, form) in [
        (&b"\xfd7zXZ\0"[..], "xz"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"RFE1", "encryption at rest"),
        (b"-----BEGIN PGP MESSAGE-----", "PGP"),
        (b"%PDF-1.7", "PDF"),
    ] {
        assert_eq!(unsearched(&[start, rest].concat()), [form]);
    }
    let locked = encrypted_zip();
    let form = "an encrypted zip archive";
    assert_eq!(unsearched(&locked), [form]);
    assert_eq!(unsearched(&locked[..locked.len() - 30]), ["a damaged zip archive"]);
    let cut = gzip(&b"some words to be packed, ".repeat(20));
    assert_eq!(unsearched(&cut[..cut.len() - 12]), ["a damaged gzip stream"]);
    // Packed in other forms, it is reported with them.
    for pack in [gzip, zip, base64] {
        let (_, report) = scanner().redact_packed(&pack(&locked));
        assert_eq!(report.unsearched.len(), 1);
        assert_eq!((report.unsearched[0].form, report.unsearched[0].forms.len()), (form, 1));
    }
    let mut value = json!({ "keys": { "old": String::from_utf8(base64(&locked)).expect("text") } });
    let report = scanner().redact_packed_json(&mut value);
    assert_eq!(report.unsearched.len(), 1, "{report:?}");
    assert_eq!(report.unsearched[0].pointer, "/keys/old");
    // Words begin as data does.
    for text in [
        "plain words, nothing else",
        "BZh and others are not met",
        "RFE1: a request",
        "x^2 + y^2 = z^2, it says",
    ] {
        assert_eq!(unsearched(text.as_bytes()), Vec::<&str>::new(), "{text}");
    }
}

/// Names, comments and what is before or behind the contents of an archive.
#[test]
fn no_secret_is_left_around_the_contents_of_an_archive() {
    let scanner = scanner();
    let words = b"a text of some length, without a secret";
    let secret = |n| format!("AWS_ACCESS_KEY_ID={}", key(n));
    let gzip_with = |head: flate2::GzBuilder| {
        let mut out = head.write(Vec::new(), Compression::default());
        out.write_all(words).expect("memory");
        out.finish().expect("memory")
    };
    let zip_with = |comment: &str, name: &str| {
        let mut out = zip::ZipWriter::new(Cursor::new(Vec::new()));
        out.set_comment(comment).expect("short");
        let options = zip::write::SimpleFileOptions::default();
        out.start_file(name, options).expect("memory");
        out.write_all(words).expect("memory");
        out.finish().expect("memory").into_inner()
    };
    let archives = [
        gzip_with(flate2::GzBuilder::new().filename(secret(9100))),
        gzip_with(flate2::GzBuilder::new().comment(secret(9101))),
        [gzip(words), base64(secret(9102).as_bytes())].concat(),
        [zlib(words), base64(secret(9103).as_bytes())].concat(),
        zip_with(&secret(9104), "a.txt"),
        zip_with("", &secret(9105)),
    ];
    let archives = (9100..).map(key).zip(archives);
    for (key, bytes) in archives {
        let clean = scanner.redact_packed(&bytes).0.expect("a secret");
        let mut seen = String::from_utf8_lossy(&clean).into_owned();
        all(&clean, &mut seen, 4);
        assert!(!seen.contains(&key), "{seen}");
        // What follows a gzip stream damages it; the stream itself stays.
        let is_kept = seen.contains("without a secret") || clean.starts_with(&gzip(words));
        assert!(is_kept, "{seen}");
        assert!(!seen.contains(&general_purpose::STANDARD_NO_PAD.encode(&key)[..20]));
    }
    // A text that begins as a stream stays one.
    let packed = String::from_utf8(base64(secret(9200).as_bytes())).expect("text");
    let text = format!("x^2 + y^2 is {packed}");
    let clean = scanner.redact_packed(text.as_bytes()).0.expect("a secret");
    assert!(clean.starts_with(b"x^2 + y^2 is "));
}
