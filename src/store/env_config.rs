//! Settings that git hands to its plugins in `GIT_CONFIG_PARAMETERS` (`git -c key=value checkpoint`).
//!
//! gix does not read this variable. Its value is a list of shell-quoted words: `'key'='value'` and, from before git
//! 2.31, `'key=value'`; a key without a value is true.

use gix::bstr::BString;

/// The settings as `key=value` or bare `key`, in order. `Err` has what cannot be understood.
///
/// A key whose subsection contains an equals sign is left out: gix takes overrides as text that ends the key at the
/// first one, and no setting that we read looks like that.
pub(super) fn parse(parameters: &[u8]) -> Result<Vec<BString>, String> {
    let mut settings = Vec::new();
    let mut rest = parameters;
    loop {
        while let [b' ' | b'\t' | b'\n', tail @ ..] = rest {
            rest = tail;
        }
        if rest.is_empty() {
            return Ok(settings);
        }
        let (key, tail) = word(rest)?;
        rest = tail;
        if let [b'=', tail @ ..] = rest {
            rest = tail;
            // `'key'=` with nothing behind it is the new form of a key without a value.
            let value = if matches!(rest, [] | [b' ' | b'\t' | b'\n', ..]) {
                None
            } else {
                let (value, tail) = word(rest)?;
                rest = tail;
                Some(value)
            };
            if !key.contains(&b'=') {
                settings.push(setting(key, value.as_deref()));
            }
        } else {
            settings.push(key.into());
        }
        if !matches!(rest, [] | [b' ' | b'\t' | b'\n', ..]) {
            return Err("a space is missing between two settings".to_owned());
        }
    }
}

fn setting(mut key: Vec<u8>, value: Option<&[u8]>) -> BString {
    if let Some(value) = value {
        key.push(b'=');
        key.extend_from_slice(value);
    }
    key.into()
}

/// One word in single quotes, where `'\''` and `'\!'` represent a quote and an exclamation mark, and what follows it.
fn word(text: &[u8]) -> Result<(Vec<u8>, &[u8]), String> {
    let Some(mut rest) = text.strip_prefix(b"'") else {
        return Err("a word is not quoted".to_owned());
    };
    let mut value = Vec::new();
    loop {
        match rest {
            [b'\'', b'\\', quoted @ (b'\'' | b'!'), b'\'', tail @ ..] => {
                value.push(*quoted);
                rest = tail;
            }
            [b'\'', tail @ ..] => return Ok((value, tail)),
            [byte, tail @ ..] => {
                value.push(*byte);
                rest = tail;
            }
            [] => return Err("a quote is not closed".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn parsed(text: &str) -> Vec<String> {
        parse(text.as_bytes())
            .expect("valid")
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn reads_both_forms_and_quotes() {
        assert_eq!(parsed(""), Vec::<String>::new());
        assert_eq!(
            parsed("'checkpoint.redact=off' 'a.b=c d'"),
            ["checkpoint.redact=off", "a.b=c d"]
        );
        assert_eq!(
            parsed("'checkpoint.exclude'='it'\\''s' 'x.y'='no'\\!'' 'z.z'"),
            ["checkpoint.exclude=it's", "x.y=no!", "z.z"]
        );
        assert_eq!(parsed("'a.b'= 'c.d'=''"), ["a.b", "c.d="]);
        assert_eq!(parsed("'a.b=c'\\''=d'"), ["a.b=c'=d"]);
    }

    #[test]
    fn leaves_out_what_gix_cannot_take() {
        assert_eq!(parsed("'http.https://x/?a=b.proxy'='p' 'a.b'='c=d'"), ["a.b=c=d"]);
    }

    #[test]
    fn refuses_what_git_refuses() {
        for text in [
            "a.b=c",
            "'a.b",
            "'a.b=c'x",
            "'a.b'='c'x",
            "'a'='b",
            "'a'=b",
            "x'a'",
            "'a''b'",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(proptest::sample::select(&b"'='\\! \tab.\0\xff"[..]), 0..40)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn takes_back_what_git_quotes(value in proptest::collection::vec(1_u8..=255, 0..40)) {
            let mut text = b"'a.b'='".to_vec();
            for &byte in &value {
                match byte {
                    b'\'' | b'!' => text.extend_from_slice(&[b'\'', b'\\', byte, b'\'']),
                    _ => text.push(byte),
                }
            }
            text.push(b'\'');
            let settings = parse(&text).expect("quoted");
            let expected = [&b"a.b="[..], &value].concat();
            proptest::prop_assert_eq!(settings[0].to_vec(), expected);
        }
    }
}
