//! Checkpoints that are kept one an hour, day or week.

use std::collections::BTreeSet;

use super::RetentionRules;
use crate::{
    model::time::Timestamp,
    store::{ObjectId, checkpoint::CheckpointCommit},
};

/// The number of the period that a time is in.
type Period = fn(Timestamp) -> i64;

/// The checkpoints that the rules for hours, days and weeks keep, of a session's, latest first. As in other tools for
/// backups, the latest one of a period is kept, and periods without one do not count.
pub(super) fn kept(rules: &RetentionRules, entries: &[CheckpointCommit]) -> BTreeSet<ObjectId> {
    let mut kept = BTreeSet::new();
    let periods: [(Option<usize>, Period); 3] = [
        (rules.keep_hourly, hour),
        (rules.keep_daily, day),
        (rules.keep_weekly, week),
    ];
    for (number, period) in periods {
        let (mut left, mut last) = (number.unwrap_or(0), None);
        for entry in entries {
            if left == 0 {
                break;
            }
            let now = Some(period(entry.time));
            if last != now {
                kept.insert(entry.id);
                left -= 1;
                last = now;
            }
        }
    }
    kept
}

/// The number of the hour, in the time zone in which it was saved.
fn hour(time: Timestamp) -> i64 {
    (time.unix() + i64::from(time.offset())).div_euclid(3600)
}

fn day(time: Timestamp) -> i64 {
    hour(time).div_euclid(24)
}

/// The number of the week: the first day of 1970 was a Thursday.
fn week(time: Timestamp) -> i64 {
    (day(time) + 3).div_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_begin_where_the_calendar_says() {
        let at = |text: &str| Timestamp::parse(text).expect("a time");
        let same = |of: fn(Timestamp) -> i64, a: &str, b: &str| of(at(a)) == of(at(b));
        assert!(same(hour, "2026-11-27T10:00:00Z", "2026-11-27T10:59:59Z"));
        assert!(!same(hour, "2026-11-27T10:59:59Z", "2026-11-27T11:00:00Z"));
        assert!(same(day, "2026-11-27T00:00:00+02:00", "2026-11-27T23:59:59+02:00"));
        assert!(!same(day, "2026-11-27T23:59:59+02:00", "2026-11-28T00:00:00+02:00"));
        // A Monday to a Sunday.
        assert!(same(week, "2026-11-23T00:00:00Z", "2026-11-29T23:59:59Z"));
        assert!(!same(week, "2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z"));
        assert!(!same(week, "1969-12-28T12:00:00Z", "1969-12-29T12:00:00Z"));
    }
}
