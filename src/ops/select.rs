//! Resolution of selectors: from the text that people type to a checkpoint.
//!
//! A word is looked up as a session, then as a whole commit id, then as a checkpoint's name in the current session, then as a
//! branch with a session, then as the beginning of a commit id or digest, then as the beginning of a session's name. The first kind that matches decides; several
//! matches of one kind are ambiguous and listed.

use std::collections::BTreeSet;

use super::{
    Error, Scene, SelectorCandidate, branch_sessions,
    ids::short,
    session_choice::{self, SessionChoice},
    suggestions::{self, LISTED, listed, named_like, not_found, similar},
};
use crate::{
    model::{
        document::SessionStatus,
        name::ShortName,
        selector::{Base, Selector, SelectorStep},
        time::Timestamp,
    },
    store::{
        self, ObjectId, ancestry, autosave, branches,
        checkpoint::{self, Checkpoint, CheckpointCommit},
        current, refs, rewrite, session,
    },
};

/// The fewest digits of an id or digest that select.
const MIN_DIGITS: usize = 4;
/// A checkpoint that was selected.
#[derive(Debug)]
pub struct SelectedCheckpoint {
    /// The session it was found through; `None` for a bare id that no session's tip leads to.
    pub session: Option<ShortName>,
    /// The remote it was fetched from, when it was named as `<remote>/<session>`.
    pub remote: Option<String>,
    /// Whether it is that session's latest checkpoint.
    pub is_tip: bool,
    /// The checkpoint, read and verified.
    pub checkpoint: Checkpoint,
}

/// Whether a word that names a session is the name of a branch as well.
pub fn is_also_branch(scene: &Scene<'_>, word: &str) -> bool {
    let session = word.parse::<ShortName>().ok();
    let is_session = session.is_some_and(|name| session::tip(scene.repo, &name).is_ok_and(|tip| tip.is_some()));
    is_session && branches::resolve(scene.repo, &format!("refs/heads/{word}")).is_ok_and(|id| id.is_some())
}

/// The checkpoint a selector means, read and verified.
pub fn checkpoint(scene: &Scene<'_>, selector: &Selector) -> Result<SelectedCheckpoint, Error> {
    let (session, id) = commit(scene, selector)?;
    let fetched = remote(scene, selector);
    let subject = session.as_ref().map_or_else(|| short(id), ToString::to_string);
    let checkpoint = session_choice::load(scene, &subject, id)?;
    let tip = session
        .as_ref()
        .map(|name| session::tip(scene.repo, name))
        .transpose()?
        .flatten();
    Ok(SelectedCheckpoint {
        remote: fetched.map(|(remote, _, _)| remote),
        is_tip: tip == Some(id),
        session,
        checkpoint,
    })
}

/// The session a selector means, with its latest checkpoint; for verbs that take a session, not a checkpoint.
pub fn session(scene: &Scene<'_>, selector: &Selector) -> Result<(ShortName, ObjectId), Error> {
    let (session, _) = commit(scene, selector)?;
    let text = || selector.base.to_string();
    let name = session.ok_or_else(|| Error::absent(text()))?;
    let tip = session::tip(scene.repo, &name)?.ok_or_else(|| Error::absent(text()))?;
    Ok((name, tip))
}

/// The name of the session that a text means, as a selector or as a branch.
pub(super) fn session_name(scene: &Scene<'_>, text: &str) -> Result<String, Error> {
    let selector = Selector::parse(text).map_err(|_| Error::NotFound {
        text: text.to_owned(),
        candidates: similar(scene, text).unwrap_or_default(),
        remote: None,
        is_deleted: false,
    })?;
    Ok(session(scene, &selector)?.0.to_string())
}

/// The remote, the session and the latest checkpoint that a selector such as `origin/auth~2` begins with, if that was
/// fetched.
pub fn remote(scene: &Scene<'_>, selector: &Selector) -> Option<(String, ShortName, ObjectId)> {
    let Base::Word(word) = &selector.base else { return None };
    let (remote, session, full) = store::remote::named_ref(word)?;
    let tip = refs::read(scene.repo, &full).ok().flatten()?;
    if !matches!(branch_sessions::of_branch(scene, word), Ok(None)) {
        return None;
    }
    Some((remote, session, tip))
}

/// The session and commit a selector means; the commit is not read yet.
pub(super) fn commit(scene: &Scene<'_>, selector: &Selector) -> Result<(Option<ShortName>, ObjectId), Error> {
    if let Some(error) = misnamed(scene, selector)? {
        return Err(error);
    }
    let (session, mut id) = base(scene, selector)?;
    for step in &selector.steps {
        id = follow(scene, session.as_ref(), id, step)?;
    }
    Ok((session, id))
}

/// The error for a session that is there, but under a name that no session can have; `None` where there is none.
fn misnamed(scene: &Scene<'_>, selector: &Selector) -> Result<Option<Error>, Error> {
    let Base::Word(word) = &selector.base else {
        return Ok(None);
    };
    for name in [selector.to_string(), word.clone()] {
        let Err(invalid) = ShortName::new(name.as_str()) else {
            continue;
        };
        // What git takes for no name of a ref is none of a session.
        let is_there = |full: &str| {
            !matches!(
                refs::read(scene.repo, full),
                Ok(None) | Err(store::Error::RefName { .. })
            )
        };
        if !is_there(&format!("{}{name}", session::PREFIX)) {
            continue;
        }
        // Where names that differ in case are one file, another session may have been found.
        let names = session::names(scene.repo)?;
        if names.contains(&name) {
            return Ok(Some(Error::Misnamed {
                free: free_name(&names, &name),
                reason: invalid.reason,
                name,
            }));
        }
    }
    Ok(None)
}

/// The name most like a text that no session has.
pub(super) fn free_name(names: &BTreeSet<String>, text: &str) -> ShortName {
    let like = ShortName::like(text);
    let numbered = (2..).map(|n| like.numbered(n));
    let mut all = std::iter::once(like.clone()).chain(numbered.take(names.len() + 1));
    all.find(|name| !names.contains(name.as_str())).unwrap_or(like)
}

/// Fails if no session is meant: none is named, none is current, and none was paused last. One that was finished last is not
/// taken for it.
pub fn require_current(scene: &Scene<'_>) -> Result<(), Error> {
    if session_choice::commit_for_command(scene)?.is_some() {
        return Ok(());
    }
    let left = session_choice::just_left(scene)?;
    let is_paused = |left: &SessionChoice| left.tip.document.session.status == SessionStatus::Paused;
    match left.filter(is_paused) {
        Some(_) => Ok(()),
        None => Err(suggestions::none_current(scene)),
    }
}

fn base(scene: &Scene<'_>, selector: &Selector) -> Result<(Option<ShortName>, ObjectId), Error> {
    match &selector.base {
        Base::Current => {
            if let Some(found) = session_choice::commit_for_command(scene)? {
                return Ok((Some(found.0), found.1));
            }
            let chosen = session_choice::just_left_noted(scene)?;
            let chosen = chosen.ok_or_else(|| suggestions::none_current(scene))?;
            Ok((Some(chosen.name), chosen.tip.entry.id))
        }
        Base::Previous => {
            let previous = current::read(scene.repo)?.previous;
            let chosen = previous
                .map(|wanted| session_choice::by_identity(scene, &wanted))
                .transpose()?
                .flatten();
            let chosen = chosen.ok_or_else(|| Error::absent("-"))?;
            Ok((Some(chosen.name), chosen.tip.entry.id))
        }
        Base::Search(text) => search(scene, text),
        Base::Word(word) => self::word(scene, word),
    }
}

/// The latest checkpoint whose subject holds the text, whatever its case.
fn search(scene: &Scene<'_>, text: &str) -> Result<(Option<ShortName>, ObjectId), Error> {
    let wanted = text.to_lowercase();
    let mut best: Option<(Timestamp, ShortName, ObjectId)> = None;
    each_entry(scene, |name, entry| {
        if entry.subject.to_lowercase().contains(&wanted) && best.as_ref().is_none_or(|(at, ..)| entry.time > *at) {
            best = Some((entry.time, name.clone(), entry.id));
        }
    })?;
    let (_, name, id) = best.ok_or_else(|| Error::absent(format!(":/{text}")))?;
    Ok((Some(name), id))
}

/// Calls a function with every checkpoint of every session that can be read.
fn each_entry(scene: &Scene<'_>, mut each: impl FnMut(&ShortName, &CheckpointCommit)) -> Result<(), Error> {
    for session in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (ShortName::new(session.name), session.tip) else {
            continue;
        };
        for entry in session::history(scene.repo, tip.id).map_while(Result::ok) {
            each(&name, &entry);
        }
    }
    Ok(())
}

/// The session that a selector names by a branch, and by nothing that is nearer; `None` for all other selectors.
pub fn named_by_branch(scene: &Scene<'_>, selector: &Selector) -> Result<Option<ShortName>, Error> {
    let Base::Word(word) = &selector.base else {
        return Ok(None);
    };
    let found = match store::remote::named_ref(word) {
        Some((_, _, full)) => match branch_sessions::of_branch(scene, word)? {
            None if refs::read(scene.repo, &full)?.is_none() => branch_sessions::named_after(scene, word)?,
            found => found,
        },
        None if by_name(scene, word)?.is_some() => None,
        None => branch_sessions::of_branch_or_named_after(scene, word)?,
    };
    Ok(found.map(|(name, _)| name))
}

/// Meaning of a word as the name of a session, a whole commit id or the name of a checkpoint.
fn by_name(scene: &Scene<'_>, word: &str) -> Result<Option<(ShortName, ObjectId)>, Error> {
    let Ok(name) = ShortName::new(word) else {
        return Ok(None);
    };
    if let Some(tip) = session::tip(scene.repo, &name)? {
        return Ok(Some((name, tip)));
    }
    if let Some(found) = by_whole_id(scene, word)? {
        return Ok(Some(found));
    }
    if let Some(found) = session_choice::named(scene, &name)? {
        return Ok(Some((found.name, found.tip.entry.id)));
    }
    if let Ok(Some(current)) = session_choice::current_or_left(scene)
        && let Some(entry) = find_named(scene, current.tip.entry.id, &name)
    {
        return Ok(Some((current.name, entry.id)));
    }
    Ok(None)
}

fn word(scene: &Scene<'_>, word: &str) -> Result<(Option<ShortName>, ObjectId), Error> {
    if let Some((_, _, full)) = store::remote::named_ref(word) {
        let tip = refs::read(scene.repo, &full)?;
        // A branch is nearer than a remote of that name.
        if let Some((name, id)) = branch_sessions::of_branch(scene, word)? {
            if tip.is_some() {
                crate::os::notices::note(&format!(
                    "'{word}' is a branch and a fetched session: using session '{name}' of the branch"
                ));
            }
            return Ok((Some(name), id));
        }
        if let Some(tip) = tip {
            return Ok((None, tip));
        }
        let (name, id) = branch_sessions::named_after(scene, word)?
            .ok_or_else(|| not_found(scene, word, similar(scene, word).unwrap_or_default()))?;
        return Ok((Some(name), id));
    }
    if let Some((name, id)) = by_name(scene, word)? {
        return Ok((Some(name), id));
    }
    if let Some((name, id)) = branch_sessions::of_branch_or_named_after(scene, word)? {
        return Ok((Some(name), id));
    }
    let by_id = by_prefix(scene, word)?;
    let by_id = match by_id {
        found if !found.is_empty() => found,
        _ => match sessions_beginning(scene, word)? {
            found if !found.is_empty() => found,
            _ => identities_beginning(scene, word)?,
        },
    };
    match by_id.as_slice() {
        [(name, id, _)] => Ok((name.clone(), *id)),
        [] => Err(not_found(scene, word, similar(scene, word)?)),
        several => {
            let what = if several.iter().all(|(_, _, is_id)| *is_id) {
                "checkpoints"
            } else {
                "sessions"
            };
            let candidates = several.iter().take(LISTED).map(|(name, id, is_id)| {
                let selector = if *is_id { None } else { name.as_ref() };
                candidate(scene, selector, *id)
            });
            Err(Error::Ambiguous {
                text: word.to_owned(),
                what,
                count: several.len(),
                candidates: candidates.collect(),
            })
        }
    }
}

fn candidate(scene: &Scene<'_>, name: Option<&ShortName>, id: ObjectId) -> SelectorCandidate {
    let entry = checkpoint::entry(scene.repo, id).ok();
    SelectorCandidate {
        selector: name.map_or_else(|| short(id), ToString::to_string),
        at: entry.as_ref().map(|e| e.time),
        subject: entry.map(|e| e.subject).unwrap_or_default(),
    }
}

/// A found session and commit, and whether it was found by id.
type SelectorMatch = (Option<ShortName>, ObjectId, bool);

/// The checkpoint with this whole id, where the session has it that its document names. As in git a whole id means its
/// object, whatever else is called so; of all others, such as autosaves, the way of any beginning of an id is gone.
fn by_whole_id(scene: &Scene<'_>, word: &str) -> Result<Option<(ShortName, ObjectId)>, Error> {
    let Ok(id) = ObjectId::from_hex(word.as_bytes()) else {
        return Ok(None);
    };
    if id.kind() != scene.repo.object_hash() || !scene.repo.has_object(id) {
        return Ok(None);
    }
    let known = scene.seen.session.borrow().clone();
    if let Some((known, name, tip)) = known
        && known == id
        && session::tip(scene.repo, &name)? == Some(tip)
    {
        return Ok(Some((name, id)));
    }
    let Ok(found) = session_choice::load(scene, word, id) else {
        return Ok(None);
    };
    let name = found.document.session.name;
    let Some(tip) = session::tip(scene.repo, &name)? else {
        return Ok(None);
    };
    let mut chain = session::history(scene.repo, tip).map_while(Result::ok);
    if !chain.any(|entry| entry.id == id) {
        return Ok(None);
    }
    scene.seen.session.replace(Some((id, name.clone(), tip)));
    Ok(Some((name, id)))
}

/// Checkpoints whose commit id or digest begins with these digits.
fn by_prefix(scene: &Scene<'_>, word: &str) -> Result<Vec<SelectorMatch>, Error> {
    let digest = word.strip_prefix("sha256:");
    let digits = digest.unwrap_or(word).to_ascii_lowercase();
    if digits.len() < MIN_DIGITS || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::<SelectorMatch>::new();
    let mut seen = BTreeSet::new();
    each_entry(scene, |name, entry| {
        let by_commit = digest.is_none() && entry.id.to_hex().to_string().starts_with(&digits);
        let by_digest = entry
            .trailers
            .digest
            .as_ref()
            .is_some_and(|d| d.hex().starts_with(&digits));
        if (by_commit || by_digest) && seen.insert(entry.id) {
            found.push((Some(name.clone()), entry.id, true));
        }
    })?;
    if found.is_empty() {
        found.extend(rewritten(scene, &digits, digest.is_some())?);
    }
    if found.is_empty() && digest.is_none() {
        // Autosaves, safety checkpoints and old tips are on no session's chain, but their ids still select them.
        for id in checkpoint::commits_with_prefix(scene.repo, &digits) {
            if checkpoint::entry(scene.repo, id).is_ok_and(|e| checkpoint::siblings(scene.repo, &e).is_ok()) {
                found.push((None, id, true));
            }
        }
    }
    Ok(found)
}

/// Checkpoints that had such a commit id, or digest, before a prune or purge gave them another.
fn rewritten(scene: &Scene<'_>, digits: &str, by_digest: bool) -> Result<Vec<SelectorMatch>, Error> {
    let mut found = Vec::new();
    each_entry(scene, |name, entry| {
        let lines = rewrite::lines(scene.repo, entry).unwrap_or_default();
        let was = |line: &rewrite::RewriteLine| {
            let of_this = line.now.is_some() && line.now == entry.trailers.digest;
            let by_commit = !by_digest && line.commit.as_str().starts_with(digits);
            of_this && (by_commit || line.digest.hex().starts_with(digits))
        };
        if lines.iter().any(was) {
            found.push((Some(name.clone()), entry.id, true));
        }
    })?;
    Ok(found)
}

fn sessions_beginning(scene: &Scene<'_>, word: &str) -> Result<Vec<SelectorMatch>, Error> {
    let mut found = Vec::new();
    for session in session::named(scene.repo, |name| name.starts_with(word))? {
        if let (Ok(name), Ok(tip)) = (ShortName::new(&session.name), session.tip) {
            found.push((Some(name), tip.id, false));
        }
    }
    Ok(found)
}

/// The sessions whose identity begins with a word of at least [`MIN_DIGITS`] letters.
fn identities_beginning(scene: &Scene<'_>, word: &str) -> Result<Vec<SelectorMatch>, Error> {
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
    if word.len() < MIN_DIGITS || !word.bytes().all(is_part) {
        return Ok(Vec::new());
    }
    let found = session_choice::with_identity(scene, |id| id.starts_with(word))?;
    Ok(found.into_iter().map(|(name, tip)| (Some(name), tip, false)).collect())
}

fn find_named(scene: &Scene<'_>, tip: ObjectId, name: &ShortName) -> Option<CheckpointCommit> {
    let is_it = |entry: &CheckpointCommit| entry.trailers.name.as_deref() == Some(name.as_str());
    let mut merged = Vec::new();
    for entry in session::chain(scene.repo, tip).map_while(Result::ok) {
        if is_it(&entry) {
            return Some(entry);
        }
        merged.extend(entry.merged_commit());
    }
    // Also those of what was merged in.
    let mut known = BTreeSet::new();
    let sides = merged
        .into_iter()
        .flat_map(|tip| ancestry::merged_sides(scene.repo, tip, &mut known));
    sides.into_iter().find(is_it)
}

fn follow(
    scene: &Scene<'_>,
    session: Option<&ShortName>,
    id: ObjectId,
    step: &SelectorStep,
) -> Result<ObjectId, Error> {
    let who = || session.map_or_else(|| short(id), ToString::to_string);
    let missing = |step: String| Error::NoSuchStep { session: who(), step };
    match step {
        SelectorStep::Back(n) => {
            let mut chain = session::chain(scene.repo, id);
            match chain.nth(*n) {
                Some(entry) => Ok(entry.map_err(Error::damaged(who()))?.id),
                None => Err(missing(format!("~{n}"))),
            }
        }
        SelectorStep::Named(text) => {
            let name = ShortName::new(text.as_str())?;
            find_named(scene, id, &name).map(|entry| entry.id).ok_or_else(|| {
                match (session, named_like(scene, id, text)) {
                    (Some(session), near) if !near.is_empty() => Error::NotFound {
                        text: format!("{session}@{text}"),
                        candidates: listed(near, &format!("{session}@")),
                        remote: None,
                        is_deleted: false,
                    },
                    _ => missing(format!("@{text}")),
                }
            })
        }
        SelectorStep::Update(n) => {
            let name = session.ok_or_else(|| missing(format!("@{{{n}}}")))?;
            let log = refs::reflog(scene.repo, &session::ref_name(name))?;
            log.get(*n)
                .map(|entry| entry.new)
                .ok_or_else(|| missing(format!("@{{{n}}}")))
        }
        SelectorStep::Date(date) => {
            let name = session.ok_or_else(|| missing(format!("@{{{date}}}")))?;
            at_date(scene, name, id, date)?.ok_or_else(|| missing(format!("@{{{date}}}")))
        }
    }
}

/// The latest checkpoint of a session that is not later than a date: from its chain, and from its reflog, which also
/// knows tips that were replaced, and from its autosaves.
fn at_date(scene: &Scene<'_>, name: &ShortName, tip: ObjectId, date: &str) -> Result<Option<ObjectId>, Error> {
    let limit = unix_time(scene, date)?;
    let mut best: Option<(i64, ObjectId)> = None;
    let mut consider = |time: i64, id: ObjectId| {
        if time <= limit && best.is_none_or(|(best, _)| time > best) {
            best = Some((time, id));
        }
    };
    for entry in session::history(scene.repo, tip).map_while(Result::ok) {
        consider(entry.time.unix(), entry.id);
    }
    for entry in refs::reflog(scene.repo, &session::ref_name(name))? {
        consider(entry.who.time.seconds, entry.new);
    }
    if let Ok(tip) = checkpoint::load(scene.repo, tip) {
        let mut autosaves = autosave::history(scene.repo, &tip.document.session.id)?;
        autosaves.retain(|(time, _)| *time <= limit);
        autosaves.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        // An entry may outlive its commit, as git's reflogs may.
        let readable = |(_, id): &&(i64, ObjectId)| checkpoint::entry(scene.repo, *id).is_ok();
        if let Some((time, id)) = autosaves.iter().find(readable) {
            let after = checkpoint::entry(scene.repo, *id)
                .ok()
                .and_then(|e| e.parents.first().copied());
            // Within one second what came after is later.
            if best.is_none_or(|(best, of)| *time > best || (*time == best && after == Some(of))) {
                best = Some((*time, *id));
            }
        }
    }
    Ok(best.map(|(_, id)| id))
}

/// A date in any form git understands, through git: RFC 3339 is read here.
pub fn unix_time(scene: &Scene<'_>, date: &str) -> Result<i64, Error> {
    if let Ok(time) = Timestamp::parse(date) {
        return Ok(time.unix());
    }
    let word = date.trim().to_ascii_lowercase();
    match word.as_str() {
        "now" | "today" => return Ok(scene.now.unix()),
        // Words of expiry dates, which are no dates.
        "all" | "false" => return Err(Error::NotADate { text: date.to_owned() }),
        _ => {}
    }
    // As an expiry date, because git then refuses what it cannot parse; `rev-parse --since` takes that for now instead.
    // The first value is git's own clock, which may be another one than ours.
    let git = store::git(scene.repo)
        .config(format!("{DATE_KEY}=0 seconds ago"))
        .config(format!("{DATE_KEY}={date}"));
    let output = git
        .args(["config", "--type=expiry-date", "--get-all", DATE_KEY])
        .accept(0..=255)
        .text()
        .map_err(store::Error::from)?;
    let times: Vec<i64> = output.lines().filter_map(|line| line.trim().parse().ok()).collect();
    match times[..] {
        [clock, time] if word.ends_with("ago") => Ok(scene.now.unix() - (clock - time)),
        [_, time] => Ok(time),
        _ => Err(Error::NotADate { text: date.to_owned() }),
    }
}

/// Key under which a date is handed to git; no setting has it.
const DATE_KEY: &str = "checkpoint-date.value";
