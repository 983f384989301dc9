//! Times for people: an age up to two weeks, a date after that, and the styles that `--date` names.
//!
//! The present is an argument, read once per command. Nothing here parses what a user typed as a moment
//! ("yesterday"): that is git's.

use std::fmt::Write as _;

use chrono::{
    DateTime, Datelike as _, FixedOffset, Timelike as _,
    format::{Item, StrftimeItems},
};

use super::count::CountedNoun;
use crate::model::time::Timestamp;

/// Ages beyond this are shown as a date: "17 days ago" makes the reader count.
const AGE_LIMIT: i64 = 14 * DAY;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Clocks of two machines may differ by this much before a time counts as one to come.
const SKEW: i64 = 2 * MINUTE;

/// `4 minutes ago`, `yesterday`, up to two weeks; then the date, in the offset it was noted with. A time to come is
/// shown as its date and time.
pub fn age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.unix() - time.unix();
    let ago = |n: i64, unit: &str| format!("{} ago", CountedNoun::new(usize::try_from(n).unwrap_or_default(), unit));
    match seconds {
        ..0 if seconds < -SKEW => time.to_chrono().format("%Y-%m-%d %H:%M").to_string(),
        ..5 => "just now".to_owned(),
        5..MINUTE => ago(seconds, "second"),
        MINUTE..HOUR => ago(seconds / MINUTE, "minute"),
        HOUR..DAY => ago(seconds / HOUR, "hour"),
        DAY..AGE_LIMIT if seconds < 2 * DAY => "yesterday".to_owned(),
        DAY..AGE_LIMIT => ago(seconds / DAY, "day"),
        _ => short_date(&time.to_chrono()),
    }
}

/// The date alone. Without letters, since a list may have a hundred thousand.
fn short_date(time: &DateTime<FixedOffset>) -> String {
    format!("{:04}-{:02}-{:02}", time.year(), time.month(), time.day())
}

/// How long something took or lasts: `45 s`, `12 min`, `3 h 20 min`, `2 days 4 h`.
pub fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let mut out = String::new();
    match (days, hours, minutes) {
        (0, 0, 0) => write!(out, "{seconds} s"),
        (0, 0, _) => write!(out, "{minutes} min"),
        (0, _, 0) => write!(out, "{hours} h"),
        (0, _, _) => write!(out, "{hours} h {minutes} min"),
        (1, 0, _) => write!(out, "1 day"),
        (_, 0, _) => write!(out, "{days} days"),
        (1, _, _) => write!(out, "1 day {hours} h"),
        (_, _, _) => write!(out, "{days} days {hours} h"),
    }
    .expect("writing to a string cannot fail");
    out
}

/// How `--date` shows a time. The names are git's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DateStyle {
    /// `4 minutes ago`.
    Relative,
    /// `2026-11-25 18:04:11 +0100`.
    Iso,
    /// `2026-11-25T18:04:11+01:00`.
    IsoStrict,
    /// `2026-11-25`.
    Short,
    /// `Wed Nov 25 18:04:11 2026 +0100`.
    Default,
    /// `Wed, 25 Nov 2026 18:04:11 +0100`.
    Rfc,
    /// Seconds since 1970.
    Unix,
    /// Seconds since 1970 and the offset.
    Raw,
    /// Less the further away: `18:04` today, `Nov 25 18:04` this year, else `Nov 25 2026`.
    Human,
    /// strftime letters of the caller's choice.
    Format(String),
}

/// A `--date` that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidStyle {
    /// No style has this name.
    #[error("unknown date format '{}'", .0.escape_debug())]
    Unknown(String),
    /// The letters after `format:` mean nothing.
    #[error("'{}' is not a date format", .0.escape_debug())]
    Format(String),
}

impl DateStyle {
    /// Reads the value of `--date`.
    pub fn parse(name: &str) -> Result<Self, InvalidStyle> {
        Ok(match name {
            "relative" => Self::Relative,
            "iso" | "iso8601" => Self::Iso,
            "iso-strict" | "iso8601-strict" => Self::IsoStrict,
            "short" => Self::Short,
            "default" => Self::Default,
            "rfc" | "rfc2822" => Self::Rfc,
            "unix" => Self::Unix,
            "raw" => Self::Raw,
            "human" => Self::Human,
            _ => {
                let Some(format) = name.strip_prefix("format:") else {
                    return Err(InvalidStyle::Unknown(name.to_owned()));
                };
                // chrono reports a bad letter only while writing, as an error of the formatter.
                if StrftimeItems::new(format).any(|item| item == Item::Error) {
                    return Err(InvalidStyle::Format(format.to_owned()));
                }
                Self::Format(format.to_owned())
            }
        })
    }

    /// `time` in this style, in the offset it was noted with.
    pub fn show(&self, time: Timestamp, now: Timestamp) -> String {
        let shown = time.to_chrono();
        let format = match self {
            Self::Relative => return age(time, now),
            Self::Unix => return time.unix().to_string(),
            Self::Raw => return format!("{} {}", time.unix(), shown.format("%z")),
            // What programs get, and a log may have a hundred thousand: letters take ten times as long.
            Self::IsoStrict if (0..=9999).contains(&shown.year()) && shown.offset().local_minus_utc() % 60 == 0 => {
                return iso_strict(&shown);
            }
            Self::IsoStrict => "%Y-%m-%dT%H:%M:%S%:z",
            Self::Iso => "%Y-%m-%d %H:%M:%S %z",
            Self::Short => return short_date(&shown),
            Self::Default => "%a %b %-d %H:%M:%S %Y %z",
            Self::Rfc => "%a, %-d %b %Y %H:%M:%S %z",
            Self::Human => {
                let present = now.to_chrono().with_timezone(shown.offset());
                if present.date_naive() == shown.date_naive() {
                    "%H:%M"
                } else if present.format("%Y").to_string() == shown.format("%Y").to_string() {
                    "%b %-d %H:%M"
                } else {
                    "%b %-d %Y"
                }
            }
            Self::Format(format) => format,
        };
        shown.format(format).to_string()
    }
}

/// As the letters `%Y-%m-%dT%H:%M:%S%:z` write it, for years of four digits and offsets of whole minutes.
fn iso_strict(time: &DateTime<FixedOffset>) -> String {
    let offset = time.offset().local_minus_utc();
    let minutes = offset.unsigned_abs() / 60;
    let parts = [
        ('\0', time.year().unsigned_abs() / 100),
        ('\0', time.year().unsigned_abs() % 100),
        ('-', time.month()),
        ('-', time.day()),
        ('T', time.hour()),
        (':', time.minute()),
        (':', time.second()),
        (if offset < 0 { '-' } else { '+' }, minutes / 60),
        (':', minutes % 60),
    ];
    let mut out = String::with_capacity(25);
    for (lead, number) in parts {
        if lead != '\0' {
            out.push(lead);
        }
        for digit in [number / 10, number % 10] {
            out.push(char::from_digit(digit, 10).unwrap_or('0'));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("valid")
    }

    #[test]
    fn ages_up_to_two_weeks() {
        let now = at("2026-11-25T18:04:11+01:00");
        for (seconds, wanted) in [
            (0, "just now"),
            (4, "just now"),
            (5, "5 seconds ago"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (240, "4 minutes ago"),
            (3599, "59 minutes ago"),
            (7200, "2 hours ago"),
            (86_399, "23 hours ago"),
            (86_400, "yesterday"),
            (172_799, "yesterday"),
            (172_800, "2 days ago"),
            (14 * 86_400 - 1, "13 days ago"),
            (14 * 86_400, "2026-11-11"),
            (-60, "just now"),
            (-3600, "2026-11-25 19:04"),
            (1_000_000_000, "1995-03-19"),
        ] {
            assert_eq!(
                age(Timestamp::from_unix(now.unix() - seconds, 3600), now),
                wanted,
                "{seconds}"
            );
        }
    }

    #[test]
    fn durations() {
        for (seconds, wanted) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3600, "1 h"),
            (12_000, "3 h 20 min"),
            (86_400, "1 day"),
            (100_000, "1 day 3 h"),
            (187_200, "2 days 4 h"),
            (172_800, "2 days"),
        ] {
            assert_eq!(duration(seconds), wanted);
        }
    }

    proptest! {
        #[test]
        fn the_strict_form_is_that_of_its_letters(seconds in 0_i64..253_402_300_799, offset in -86_399..86_399_i32) {
            let time = Timestamp::from_unix(seconds, offset);
            let wanted = time.to_chrono().format("%Y-%m-%dT%H:%M:%S%:z").to_string();
            prop_assert_eq!(DateStyle::IsoStrict.show(time, time), wanted);
            let time = Timestamp::from_unix(seconds, offset / 60 * 60);
            let wanted = time.to_chrono().format("%Y-%m-%dT%H:%M:%S%:z").to_string();
            prop_assert_eq!(DateStyle::IsoStrict.show(time, time), wanted);
        }
    }

    #[test]
    fn styles_are_gits() {
        let (time, now) = (at("2026-11-05T08:04:11+01:00"), at("2026-11-25T18:04:11+01:00"));
        for (style, wanted) in [
            ("relative", "2026-11-05"),
            ("iso", "2026-11-05 08:04:11 +0100"),
            ("iso-strict", "2026-11-05T08:04:11+01:00"),
            ("short", "2026-11-05"),
            ("default", "Thu Nov 5 08:04:11 2026 +0100"),
            ("rfc", "Thu, 5 Nov 2026 08:04:11 +0100"),
            ("unix", "1793862251"),
            ("raw", "1793862251 +0100"),
            ("human", "Nov 5 08:04"),
            ("format:%d.%m.%y", "05.11.26"),
        ] {
            assert_eq!(
                DateStyle::parse(style).expect("known").show(time, now),
                wanted,
                "{style}"
            );
        }
        let human = DateStyle::Human;
        assert_eq!(human.show(now, now), "18:04");
        assert_eq!(human.show(at("2025-11-05T08:04:11+01:00"), now), "Nov 5 2025");
        assert_eq!(DateStyle::parse("format:%Q"), Err(InvalidStyle::Format("%Q".into())));
        assert_eq!(
            DateStyle::parse("x\x1b").unwrap_err().to_string(),
            "unknown date format 'x\\u{1b}'"
        );
    }
}
