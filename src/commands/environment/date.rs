//! Dates as git takes them in `GIT_COMMITTER_DATE`: seconds with an offset, RFC 2822 and ISO 8601 with their common
//! variants. Words such as "yesterday" are no such dates, for git neither.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};

use crate::model::time::Timestamp;

/// The largest offset there is, in minutes.
const LARGEST_OFFSET: i32 = 14 * 60;

/// Reads a date. `offset_at` gives the local offset for a date that names none, in seconds east of UTC.
pub(super) fn parse(text: &str, offset_at: &dyn Fn(i64) -> i32) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(time) = seconds(text) {
        return Some(time);
    }
    if let Ok(time) = DateTime::parse_from_rfc2822(text) {
        return valid(time.timestamp(), time.offset().local_minus_utc());
    }
    let (date, rest) = split_date(text)?;
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    let (time, rest) = split_time(rest)?;
    let local = NaiveDateTime::new(date, time).and_utc().timestamp();
    let zone = rest.trim();
    let offset = if zone.is_empty() {
        offset_at(local)
    } else {
        offset(zone)?
    };
    valid(local - i64::from(offset), offset)
}

/// git stores no time before 1970.
fn valid(seconds: i64, offset: i32) -> Option<Timestamp> {
    (seconds >= 0).then(|| Timestamp::from_unix(seconds, offset))
}

/// `@1112911993`, `1112911993 +0200`. Without `@`, a number of eight digits and less is more likely a date.
fn seconds(text: &str) -> Option<Timestamp> {
    let (number, zone) = text.split_once(' ').unwrap_or((text, "+0000"));
    let digits = number.strip_prefix('@').unwrap_or(number);
    let marked = digits.len() < number.len();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || (!marked && digits.len() < 9) {
        return None;
    }
    Some(Timestamp::from_unix(digits.parse().ok()?, offset(zone.trim())?))
}

/// The date at the start: `2005-04-07`, `2005.04.07`, `2005/04/07`, `04/07/2005` (month first) or `07.04.2005`.
fn split_date(text: &str) -> Option<(NaiveDate, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || "-./".contains(c)))
        .unwrap_or(text.len());
    let (date, rest) = text.split_at(end);
    let parts: Vec<&str> = date.split(['-', '.', '/']).collect();
    let [a, b, c] = parts.as_slice() else { return None };
    let number = |s: &str| s.parse::<u32>().ok();
    let (year, month, day) = match (a.len(), c.len()) {
        (4, 1..=2) => (a, b, c),
        (1..=2, 4) if date.contains('/') => (c, a, b),
        (1..=2, 4) if date.contains('.') => (c, b, a),
        _ => return None,
    };
    Some((
        NaiveDate::from_ymd_opt(year.parse().ok()?, number(month)?, number(day)?)?,
        rest,
    ))
}

/// The time at the start: `22:13:13`, `22:13`, with a fraction that is dropped.
fn split_time(text: &str) -> Option<(NaiveTime, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || ":.,".contains(c)))
        .unwrap_or(text.len());
    let (time, rest) = text.split_at(end);
    let whole = time.split(['.', ',']).next()?;
    let mut parts = whole
        .split(':')
        .map(|p| if p.len() == 2 { p.parse::<u32>().ok() } else { None });
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    if parts.next().is_some() {
        return None;
    }
    // A leap second is the last one of its minute here, as it is in git.
    Some((NaiveTime::from_hms_opt(hour, minute, second.min(59))?, rest))
}

/// `Z`, `UTC`, `GMT`, `+02`, `+0200` or `+02:00`, in seconds east of UTC.
fn offset(zone: &str) -> Option<i32> {
    if matches!(zone, "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: i32 = digits.parse().ok()?;
    let minutes = match digits.len() {
        2 => number * 60,
        4 if number % 100 < 60 => number / 100 * 60 + number % 100,
        _ => return None,
    };
    (minutes <= LARGEST_OFFSET).then_some(sign * minutes * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_git_takes() {
        for (text, wanted) in [
            ("1112911993 +0200", "2005-04-08T00:13:13+02:00"),
            ("@1112911993 -0330", "2005-04-07T18:43:13-03:30"),
            ("@0 +0000", "1970-01-01T00:00:00+00:00"),
            ("1112911993", "2005-04-07T22:13:13+00:00"),
            ("Thu, 07 Apr 2005 22:13:13 +0200", "2005-04-07T22:13:13+02:00"),
            ("7 Apr 2005 22:13:13 GMT", "2005-04-07T22:13:13+00:00"),
            ("2005-04-07T22:13:13", "2005-04-07T22:13:13+01:00"),
            ("2005-04-07 22:13:13", "2005-04-07T22:13:13+01:00"),
            ("2005-04-07T22:13:13Z", "2005-04-07T22:13:13+00:00"),
            ("2005-04-07T22:13:13.019+02:00", "2005-04-07T22:13:13+02:00"),
            ("2005-04-07 22:13 -0500", "2005-04-07T22:13:00-05:00"),
            ("2005.04.07 22:13:13 +02", "2005-04-07T22:13:13+02:00"),
            ("04/07/2005 22:13:13 UTC", "2005-04-07T22:13:13+00:00"),
            ("07.04.2005 22:13:13 +0000", "2005-04-07T22:13:13+00:00"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59+00:00"),
        ] {
            let got = parse(text, &|_| 3600).map(|t| t.to_string());
            assert_eq!(got.as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "soon",
            "yesterday",
            "2005-04-07",
            "2005-13-07 22:13:13",
            "2005-04-07 25:00:00",
            "2005-04-07 22:13:13 CEST",
            "2005-04-07 22:13:13 +2",
            "2005-04-07 22:13:13 +0275",
            "2005-04-07 22:13:13 +1500",
            "1960-01-01 00:00:00 Z",
            "2005-04-07 22:1:13",
            "20050407",
            "@",
            "@x",
            "1112911993 east",
            "2005-04-07 22:13:13:01",
            "1112911993 \u{e9}",
        ] {
            assert_eq!(parse(text, &|_| 0), None, "{text}");
        }
    }

    #[test]
    fn git_agrees_on_the_offset_of_a_local_date() {
        let asked = std::cell::Cell::new(0);
        let offset_at = |local| {
            asked.set(local);
            7200
        };
        assert_eq!(
            parse("1970-01-02 00:00:00", &offset_at).map(Timestamp::unix),
            Some(79_200)
        );
        assert_eq!(asked.get(), 86_400);
    }
}
