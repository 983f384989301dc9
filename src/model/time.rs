//! Points in time as RFC 3339 text with their offset.
//!
//! The clock itself is not here: a time always comes in from the caller, read once per command.

use std::fmt;

use chrono::{DateTime, FixedOffset, SecondsFormat, TimeDelta, TimeZone};
use serde::{Deserialize, Serialize};

/// A moment and the offset of the place where it was noted, written as in RFC 3339 (`2026-11-25T18:04:11+01:00`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(DateTime<FixedOffset>);

/// A text that is not a time in RFC 3339.
#[derive(Debug, thiserror::Error)]
#[error("'{}' is not a time in RFC 3339, such as 2026-11-25T18:04:11+01:00", .0.escape_debug())]
pub struct InvalidTime(String);

impl Timestamp {
    /// Reads RFC 3339.
    pub fn parse(text: &str) -> Result<Self, InvalidTime> {
        DateTime::parse_from_rfc3339(text)
            .map(Self)
            .map_err(|_| InvalidTime(text.to_owned()))
    }

    /// From seconds since 1970 (clamped to 0 and the year 9999, as git stores no earlier date) and an offset in
    /// seconds east of UTC (clamped to a day).
    pub fn from_unix(seconds: i64, offset: i32) -> Self {
        const YEAR_9999: i64 = 253_402_300_799;
        let offset = FixedOffset::east_opt(offset.clamp(-86_399, 86_399)).expect("less than a day");
        let time = offset.timestamp_opt(seconds.clamp(0, YEAR_9999 - 86_400), 0);
        Self(time.single().expect("a fixed offset maps every second once"))
    }

    /// The same with milliseconds, as the clock gives them.
    pub fn with_millis(seconds: i64, millis: u32, offset: i32) -> Self {
        Self(Self::from_unix(seconds, offset).0 + TimeDelta::milliseconds(millis.min(999).into()))
    }

    /// Without its fraction of a second: as git stores it.
    #[must_use]
    pub fn whole_seconds(self) -> Self {
        Self::from_unix(self.unix(), self.offset())
    }

    /// From milliseconds since 1970, in UTC; `None` outside of the years that git stores.
    pub fn from_unix_millis(millis: i64) -> Option<Self> {
        const YEAR_9999: i64 = 253_402_300_799_000;
        (0..YEAR_9999)
            .contains(&millis)
            .then(|| DateTime::from_timestamp_millis(millis).map(|time| Self(time.fixed_offset())))?
    }

    /// Seconds since 1970.
    pub fn unix(self) -> i64 {
        self.0.timestamp()
    }

    /// Seconds east of UTC.
    pub fn offset(self) -> i32 {
        self.0.offset().local_minus_utc()
    }

    /// How long after `earlier` this is; negative when it is before.
    pub fn since(self, earlier: Self) -> TimeDelta {
        self.0 - earlier.0
    }

    /// The minute for people, in the offset that it was noted with: `2026-11-25 18:04 +0100`.
    pub fn minute(self) -> String {
        self.0.format("%Y-%m-%d %H:%M %z").to_string()
    }

    /// The value as chrono's type, for formatting.
    pub fn to_chrono(self) -> DateTime<FixedOffset> {
        self.0
    }
}

impl From<DateTime<FixedOffset>> for Timestamp {
    fn from(time: DateTime<FixedOffset>) -> Self {
        Self(time)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, false))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

super::schema::text_schema!(Timestamp, "time", {
    "description": "RFC 3339 with offset.",
    "type": "string",
    "format": "date-time"
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_offset_and_fraction() {
        for text in [
            "2026-11-25T18:04:11+01:00",
            "2026-11-25T18:04:11.250-05:45",
            "1970-01-01T00:00:00+00:00",
        ] {
            assert_eq!(Timestamp::parse(text).expect("valid").to_string(), text);
        }
        assert_eq!(
            Timestamp::parse("2026-01-02T03:04:05Z").expect("valid").to_string(),
            "2026-01-02T03:04:05+00:00"
        );
        assert!(Timestamp::parse("yesterday").is_err());
        let time = Timestamp::parse("2026-11-25T18:04:11.250+01:00").expect("valid");
        assert_eq!(time.minute(), "2026-11-25 18:04 +0100");
    }

    #[test]
    fn unix_times_are_clamped_to_what_git_stores() {
        assert_eq!(Timestamp::from_unix(-5, 0).unix(), 0);
        assert_eq!(Timestamp::from_unix(i64::MAX, i32::MAX).to_string().len(), 25);
        assert_eq!(
            Timestamp::from_unix(1_767_323_045, 3600).to_string(),
            "2026-01-02T04:04:05+01:00"
        );
    }
}
