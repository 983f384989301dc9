//! Private keys in files that are no text: DER, OpenPGP packets and the S-expressions of gpg-agent.

/// Whether a file is a private key in one of the binary forms.
pub(super) fn is_binary_key(content: &[u8]) -> bool {
    is_der_key(content) || is_pgp_key(content) || is_expression(content)
}

/// Tags of ASN.1.
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;

/// 1.2.840.113549.1, under which PKCS #5 and #12 have their ways to encrypt, and PKCS #7 its content types.
const PKCS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01];
/// PKCS #7.
const CONTENT_TYPES: u8 = 7;

/// The first value of an encoding: its tag, its content, and what follows.
fn value(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        if !(1..=3).contains(&count) {
            return None;
        }
        let (digits, rest) = rest.split_at_checked(count)?;
        let length = digits.iter().fold(0, |sum, digit| (sum << 8) | usize::from(*digit));
        (length, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// PKCS #1 and its like for DSA, SEC 1, PKCS #8 with and without encryption, and PKCS #12.
fn is_der_key(content: &[u8]) -> bool {
    let Some((SEQUENCE, mut rest, after)) = value(content) else {
        return false;
    };
    // A line end that was added is no part of it.
    if after.len() > 2 {
        return false;
    }
    let mut parts = Vec::new();
    while let Some((tag, part, more)) = value(rest).filter(|_| parts.len() < 16) {
        parts.push((tag, part));
        rest = more;
    }
    let is_whole = rest.is_empty();
    let pkcs = |part: &[u8]| match value(part) {
        Some((OBJECT, id, _)) => id.strip_prefix(PKCS).and_then(|id| id.first().copied()),
        _ => None,
    };
    match parts.as_slice() {
        [(INTEGER, [0]), numbers @ ..] if numbers.iter().all(|(tag, _)| *tag == INTEGER) => {
            is_whole && matches!(numbers.len(), 5 | 8)
        }
        [(INTEGER, [1]), (OCTETS, key), ..] => is_whole && key.len() >= 16,
        [(INTEGER, [0 | 1]), (SEQUENCE, algorithm), (OCTETS, _), ..] => {
            is_whole && matches!(value(algorithm), Some((OBJECT, ..)))
        }
        [(SEQUENCE, algorithm), (OCTETS, key)] => is_whole && key.len() >= 16 && pkcs(algorithm).is_some(),
        [(INTEGER, [3]), (SEQUENCE, content), ..] => pkcs(content) == Some(CONTENT_TYPES),
        _ => false,
    }
}

/// A transferable secret key: RFC 9580, sections 4.2 and 5.5.
fn is_pgp_key(content: &[u8]) -> bool {
    let [first, second, ..] = *content else { return false };
    let header = match first {
        0x94 => 2,
        0x95 => 3,
        0x96 => 5,
        0xc5 if second < 192 => 2,
        0xc5 if second < 224 => 3,
        0xc5 if second == 255 => 6,
        _ => return false,
    };
    let Some(&[version, _, _, _, _, algorithm, ..]) = content.get(header..) else {
        return false;
    };
    matches!(version, 4..=6) && matches!(algorithm, 1..=3 | 16..=19 | 22 | 25..=28)
}

/// A key of gpg-agent.
fn is_expression(content: &[u8]) -> bool {
    let forms: [&[u8]; 2] = [b"(11:private-key(", b"(21:protected-private-key("];
    forms.iter().any(|form| content.starts_with(form))
}

#[cfg(test)]
mod tests {
    use super::is_binary_key;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut out = if let Ok(short @ ..0x80) = u8::try_from(content.len()) {
            vec![tag, short]
        } else {
            let [high, low] = u16::try_from(content.len()).expect("short").to_be_bytes();
            vec![tag, 0x82, high, low]
        };
        out.extend_from_slice(content);
        out
    }

    fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
        der(0x30, &parts.concat())
    }

    #[test]
    fn keys_are_told_by_their_structure() {
        let number = der(2, &[0x5a; 128]);
        let version = |n: u8| der(2, &[n]);
        let algorithm = sequence(&[
            der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]),
            der(5, &[]),
        ]);
        let pbes2 = sequence(&[
            der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d]),
            der(0x30, &[]),
        ]);
        let data = sequence(&[der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01])]);
        let key = der(4, &[7; 48]);
        let with = |first: Vec<u8>, count: usize| sequence(&[vec![first], vec![number.clone(); count]].concat());
        for (name, bytes) in [
            ("rsa", with(version(0), 8)),
            ("dsa", with(version(0), 5)),
            ("ec", sequence(&[version(1), key.clone()])),
            ("pkcs8", sequence(&[version(0), algorithm.clone(), key.clone()])),
            ("encrypted", sequence(&[pbes2, key.clone()])),
            ("pkcs12", sequence(&[version(3), data])),
            ("pgp", [&[0xc5, 0x58, 4, 1, 2, 3, 4, 22][..], &[9; 80]].concat()),
            ("old pgp", [&[0x95, 3, 0x98, 4, 1, 2, 3, 4, 1][..], &[9; 80]].concat()),
            ("agent", b"(21:protected-private-key(3:rsa(1:n3:abc)))".to_vec()),
        ] {
            assert!(is_binary_key(&bytes), "{name}");
            // A part of one is none that could be told from other data.
            assert!(!is_binary_key(&bytes[1..]), "{name}");
        }
        let public = sequence(&[algorithm.clone(), der(3, &[7; 48])]);
        let certificate = sequence(&[sequence(&[version(2), number.clone()]), algorithm, der(3, &[7; 48])]);
        for (name, bytes) in [
            ("public", public),
            ("rsa public", sequence(&[number.clone(), version(3)])),
            ("certificate", certificate),
            ("numbers", with(version(0), 3)),
            ("public pgp", [&[0xc6, 0x58, 4, 1, 2, 3, 4, 22][..], &[9; 80]].concat()),
            ("empty", Vec::new()),
            ("text", b"0\x82".to_vec()),
        ] {
            assert!(!is_binary_key(&bytes), "{name}");
        }
    }
}
