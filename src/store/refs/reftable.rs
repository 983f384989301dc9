//! Refs of repositories with reftables: through git, which alone can read and write them.
//!
//! There a change of several refs is atomic and a killed process leaves no lock of ours, so nothing is to be recovered.

use std::time::Duration;

use gix::ObjectId;

use super::files::RefValue;
use super::{RefDamage, RefListing, RefUpdate, ReflogEntry};
use crate::store::{Error, Repository, Signature, Time, git};

/// An object id that git printed.
pub(super) fn id(text: &str) -> Result<ObjectId, Error> {
    ObjectId::from_hex(text.as_bytes()).map_err(|error| Error::Gix {
        action: format!("understand git's answer '{text}'"),
        source: gix::Error::from_error(error),
    })
}

/// The value of one ref.
pub(super) fn read(repo: &Repository, name: &str) -> Result<Option<RefValue>, Error> {
    let mut found = below(repo, name, name)?.into_iter();
    Ok(found.find(|(found, _)| found == name).map(|(_, value)| value))
}

/// All refs whose names begin with `prefix`, by name, in which order git lists them.
pub(super) fn list(repo: &Repository, prefix: &str) -> Result<Vec<RefListing>, Error> {
    // git takes whole parts of names, or patterns that stop at a slash; so it lists the directory and we compare.
    let directory = if prefix.ends_with('/') {
        prefix.trim_end_matches('/')
    } else {
        prefix.rsplit_once('/').map_or(prefix, |(directory, _)| directory)
    };
    below(repo, directory, prefix)
}

/// The refs of this name or below it whose names begin with `prefix`.
fn below(repo: &Repository, directory: &str, prefix: &str) -> Result<Vec<RefListing>, Error> {
    let format = "--format=%(refname) %(objectname) %(symref)";
    let text = git(repo).args(["for-each-ref", format, directory]).text()?;
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(name), Some(hex)) = (words.next(), words.next()) else {
            continue;
        };
        if !name.starts_with(prefix) {
            continue;
        }
        let value = match words.next().filter(|target| !target.is_empty()) {
            Some(target) => Err(RefDamage::Symbolic(target.to_owned())),
            None => Ok(id(hex)?),
        };
        found.push((name.to_owned(), value));
    }
    Ok(found)
}

/// Makes all changes in one transaction of git's.
pub(super) fn update(repo: &Repository, edits: &[RefUpdate], who: &Signature, wait: Duration) -> Result<(), Error> {
    let mut input = Vec::new();
    let null = repo.object_hash().null();
    for edit in edits {
        let found = check(repo, edit)?;
        // The old value is given once more, for git to compare under its own lock.
        let old = found.unwrap_or(null);
        match edit.new {
            Some(new) => input.extend_from_slice(format!("update {}\0{new}\0{old}\0", edit.name).as_bytes()),
            None if found.is_some() => input.extend_from_slice(format!("delete {}\0{old}\0", edit.name).as_bytes()),
            None => {}
        }
    }
    let message = edits
        .first()
        .map(|edit| super::reflog::one_line(&edit.message))
        .unwrap_or_default();
    let done = git(repo)
        .config("core.fsync=all")
        .config("core.logAllRefUpdates=always")
        .config(format!("reftable.lockTimeout={}", wait.as_millis().min(60_000)))
        .env("GIT_COMMITTER_NAME", who.name.to_string())
        .env("GIT_COMMITTER_EMAIL", who.email.to_string())
        .env("GIT_COMMITTER_DATE", format!("@{}", date(who.time)))
        .args(["update-ref", "--create-reflog", "-m", &message, "--stdin", "-z"])
        .input(input)
        .run();
    if let Err(error) = done {
        // Another process may have been faster; then that is the reason to give.
        for edit in edits {
            check(repo, edit)?;
        }
        return Err(error.into());
    }
    Ok(())
}

/// Empties the reflogs of refs.
pub(super) fn forget_logs(repo: &Repository, names: &[String]) -> Result<(), Error> {
    git(repo)
        .config("core.fsync=all")
        .args(["reflog", "expire", "--expire=all", "--expire-unreachable=all"])
        .args(names)
        .run()?;
    Ok(())
}

/// Takes the entries of a reflog out whose values `drops` names.
pub(super) fn drop_from_log(repo: &Repository, name: &str, drops: &dyn Fn(&ObjectId) -> bool) -> Result<(), Error> {
    let entries = reflog(repo, name)?;
    let goes = entries.iter().enumerate().filter(|(_, entry)| drops(&entry.new));
    // By number: each deletion moves the entries behind it, so the oldest goes first.
    let selectors: Vec<_> = goes.rev().map(|(at, _)| format!("{name}@{{{at}}}")).collect();
    for selector in selectors {
        git(repo)
            .config("core.fsync=all")
            .args(["reflog", "delete", "--rewrite", &selector])
            .run()?;
    }
    Ok(())
}

/// The present value of a ref if it is as expected.
fn check(repo: &Repository, edit: &RefUpdate) -> Result<Option<ObjectId>, Error> {
    let value = read(repo, &edit.name)?;
    super::swap::compare(edit, value)
}

/// Seconds and zone as git takes and gives them.
fn date(time: Time) -> String {
    let minutes = time.offset / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!(
        "{} {sign}{:02}{:02}",
        time.seconds,
        minutes.abs() / 60,
        minutes.abs() % 60
    )
}

/// The reflog of a ref, latest first.
pub(super) fn reflog(repo: &Repository, name: &str) -> Result<Vec<ReflogEntry>, Error> {
    if read(repo, name)?.is_none() {
        return Ok(Vec::new());
    }
    let format = "--format=%H%x00%gn%x00%ge%x00%gd%x00%gs";
    let text = git(repo)
        .args(["reflog", "show", "--date=raw", format, name, "--"])
        .text()?;
    let mut entries = Vec::<ReflogEntry>::new();
    for line in text.lines() {
        let fields: Vec<_> = line.splitn(5, '\0').collect();
        let [hex, author, email, selector, message] = fields[..] else {
            continue;
        };
        let Some(time) = selector
            .rsplit_once("@{")
            .and_then(|(_, rest)| parse_date(rest.trim_end_matches('}')))
        else {
            continue;
        };
        let new = id(hex)?;
        // git prints no old values; each is the new one of the line below.
        if let Some(newer) = entries.last_mut() {
            newer.old = Some(new);
        }
        let who = Signature {
            name: author.into(),
            email: email.into(),
            time,
        };
        entries.push(ReflogEntry {
            old: None,
            new,
            who,
            message: message.to_owned(),
        });
    }
    Ok(entries)
}

fn parse_date(text: &str) -> Option<Time> {
    let (seconds, zone) = text.split_once(' ')?;
    let number: i32 = zone.trim_start_matches(['+', '-']).parse().ok()?;
    let offset = (number / 100 * 60 + number % 100) * 60;
    Some(Time {
        seconds: seconds.parse().ok()?,
        offset: if zone.starts_with('-') { -offset } else { offset },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_back() {
        for offset in [0, 3600, -5400, 20_700, -43_200] {
            let time = Time {
                seconds: 1_700_000_000,
                offset,
            };
            assert_eq!(parse_date(&date(time)), Some(time));
        }
        assert_eq!(parse_date("x +0000"), None);
    }
}
