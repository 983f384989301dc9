//! Times as other tools write them.

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use serde_json::Value;

use crate::model::time::Timestamp;

/// Dates without an offset are UTC: every system here writes those so (SQLite's `CURRENT_TIMESTAMP`, hand-written
/// heads of Markdown files).
const WITHOUT_OFFSET: [&str; 7] = [
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y%m%d-%H%M%S",
    "%B %d, %Y %H:%M",
    "%d %B %Y %H:%M",
];
const WITH_OFFSET: [&str; 3] = [
    "%Y-%m-%d %H:%M:%S%.f %z",
    "%Y-%m-%d %H:%M:%S%.f%z",
    "%Y-%m-%dT%H:%M:%S%.f%z",
];

/// Reads a time; `None` when it is none. Years outside 1970 to 9999 are none: git stores no others.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // Longer than any of the forms: not worth a look, and a bound on the work.
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    read(text).filter(|time| (0..=253_402_214_400).contains(&time.unix()))
}

/// A time at the start of a text, whatever words follow it: `2025-12-22 (by the nightly job)`.
pub(super) fn at_start(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(time) = parse(text) {
        return Some(time);
    }
    let ends = text
        .char_indices()
        .filter(|(_, c)| " (,;".contains(*c))
        .map(|(at, _)| at);
    let mut ends: Vec<usize> = ends.take(4).collect();
    ends.reverse();
    ends.into_iter().find_map(|end| parse(&text[..end]))
}

fn read(text: &str) -> Option<Timestamp> {
    if let Ok(time) = Timestamp::parse(text) {
        return Some(time);
    }
    for form in WITH_OFFSET {
        if let Ok(time) = DateTime::parse_from_str(text, form) {
            return Some(time.into());
        }
    }
    let bare = text
        .strip_suffix(" UTC")
        .or_else(|| text.strip_suffix('Z'))
        .unwrap_or(text);
    for form in WITHOUT_OFFSET {
        if let Ok(time) = NaiveDateTime::parse_from_str(bare, form) {
            return Some(utc(time));
        }
    }
    let date = NaiveDate::parse_from_str(bare, "%Y-%m-%d").ok()?;
    Some(utc(date.and_hms_opt(0, 0, 0)?))
}

fn utc(time: NaiveDateTime) -> Timestamp {
    DateTime::<Utc>::from_naive_utc_and_offset(time, Utc)
        .fixed_offset()
        .into()
}

/// A time from a text, or from a number of seconds or milliseconds since 1970.
pub(super) fn of_value(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => {
            let n = number.as_i64()?;
            // The second range ends in 2286, where the one of milliseconds is still in 1970.
            let (seconds, millis) = if n > 9_999_999_999 {
                (n / 1000, n % 1000)
            } else {
                (n, 0)
            };
            let nanos = u32::try_from(millis).ok()? * 1_000_000;
            let time = DateTime::<Utc>::from_timestamp(seconds, nanos)?.fixed_offset();
            Some(Timestamp::from(time)).filter(|time| (1..=253_402_214_400).contains(&time.unix()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_that_tools_write_are_read() {
        for (text, expected) in [
            ("2026-03-01T08:00:01.301639+00:00", "2026-03-01T08:00:01.301639+00:00"),
            ("2026-03-01T08:00:01Z", "2026-03-01T08:00:01+00:00"),
            ("2026-03-01 08:00:01 +0100", "2026-03-01T08:00:01+01:00"),
            ("2026-03-01 08:00:01", "2026-03-01T08:00:01+00:00"),
            ("2026-03-01 08:00:01 UTC", "2026-03-01T08:00:01+00:00"),
            ("2026-03-01T08:00:01.5", "2026-03-01T08:00:01.500+00:00"),
            (" 2026-03-01 08:00 ", "2026-03-01T08:00:00+00:00"),
            ("2026-03-01", "2026-03-01T00:00:00+00:00"),
            ("20260301-080001", "2026-03-01T08:00:01+00:00"),
        ] {
            assert_eq!(
                parse(text).map(|time| time.to_string()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
        for text in [
            "",
            "yesterday",
            "YYYY-MM-DD HH:MM",
            "2026-13-01",
            "0001-01-01",
            "\u{ff12}026-01-01",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let of = |n: i64| of_value(&n.into()).map(|time| time.to_string());
        assert_eq!(of(1_772_352_001).as_deref(), Some("2026-03-01T08:00:01+00:00"));
        assert_eq!(of(1_772_352_001_250).as_deref(), Some("2026-03-01T08:00:01.250+00:00"));
        assert_eq!((of(0), of(-1), of(i64::MAX)), (None, None, None));
    }
}
