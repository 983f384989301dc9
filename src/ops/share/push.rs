//! `push`: sessions to a remote.
//!
//! git pushes exactly the commits that were looked at, and the remote takes a session only if it goes on from what is
//! there: so of two pushes at the same time one is refused, and neither drops anything. A chain that was pruned here
//! replaces the same chain there only if it is what it was when it was last seen. Where the remote has moved, it is
//! fetched and compared, and what is only here is pushed again if that is possible.

use std::collections::BTreeMap;

use super::{Error, Relation, Wire, chain, exchange, fetch, find, outgoing, unreachable};
use crate::{
    model::{name::Name, report::CommitInfo, selector::Selector},
    ops::{Scene, choose, compose, select},
    store::{
        self, ObjectId, graph, history,
        refs::{self, Edit, Expected},
        remote::Remote,
        session,
    },
};

/// How far back commits are looked at to tell whether one comes from another.
const WALKED: usize = 200_000;
/// How often a push is tried again because the remote moved meanwhile.
const TRIES: usize = 3;
/// How many commits of the user's history are named.
const LISTED: usize = 10;

/// Which sessions.
#[derive(Clone, Debug)]
pub enum Which {
    /// The current one.
    Current,
    /// These.
    Named(Vec<Selector>),
    /// All of this repository.
    All,
}

/// What is to be pushed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The remote; the usual one without a name.
    pub remote: Option<String>,
    /// The sessions.
    pub which: Which,
    /// Whether their autosaves go as well.
    pub autosaves: bool,
    /// Whether nothing is sent.
    pub dry_run: bool,
    /// Whether secrets may be published.
    pub allow_secrets: bool,
}

/// What was pushed.
#[derive(Debug)]
pub struct Pushed {
    /// The remote.
    pub remote: String,
    /// Where that is.
    pub url: String,
    /// Every session that was to be pushed, in the order given.
    pub sessions: Vec<Sent>,
    /// Commits of the user's own history that went, or would go, as well: how many, and the first of them.
    pub commits: (usize, Vec<CommitInfo>),
    /// Files that were too large to be looked at for secrets.
    pub unscanned: Vec<String>,
    /// Secrets that were published because that was allowed.
    pub allowed: Vec<super::Leak>,
    /// Contents of git-lfs that were sent first.
    pub lfs: usize,
    /// How many autosaves went.
    pub autosaves: usize,
    /// Whether nothing was sent.
    pub dry_run: bool,
}

/// A session that was to be pushed.
#[derive(Debug)]
pub struct Sent {
    /// Its name.
    pub name: Name,
    /// Its newest checkpoint here.
    pub id: ObjectId,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The remote had it.
    UpToDate,
    /// The remote has more.
    Behind(usize),
    /// It is new there.
    New(usize),
    /// It went on there.
    Forward(usize),
    /// It replaced the same chain as it was before a prune.
    Pruned,
    /// Both went on.
    Diverged {
        /// Checkpoints that are only here.
        ours: usize,
        /// Checkpoints that are only there.
        theirs: usize,
    },
    /// Another session has the name there.
    Another,
    /// The remote refused it.
    Refused {
        /// What it said.
        why: String,
        /// Whether it takes no refs of this kind at all.
        namespace: bool,
    },
}

impl Fate {
    /// Whether the remote has now what is here.
    pub fn is_good(&self) -> bool {
        !matches!(self, Self::Diverged { .. } | Self::Another | Self::Refused { .. })
    }

    /// A word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::UpToDate => "up-to-date",
            Self::Behind(_) => "behind",
            Self::New(_) => "new",
            Self::Forward(_) => "forward",
            Self::Pruned => "pruned",
            Self::Diverged { .. } => "diverged",
            Self::Another => "another-session",
            Self::Refused { .. } => "refused",
        }
    }
}

/// Pushes.
pub fn push(scene: &Scene<'_>, request: &Request, wire: Wire<'_>) -> Result<Pushed, Error> {
    let remote = find(scene, request.remote.as_deref(), true)?;
    if remote.mirror {
        return Err(Error::Mirror { remote: remote.name });
    }
    refs::recover(scene.repo, scene.wait)?;
    let mut sessions = Vec::new();
    for (name, id) in chosen(scene, &request.which)? {
        let tracking = refs::read(scene.repo, &remote.tracking_ref(&name))?;
        sessions.push((name, id, tracking));
    }
    let push = Push {
        scene,
        request,
        remote: &remote,
        wire,
    };
    let known: Vec<_> = sessions
        .iter()
        .map(|(name, id, tracking)| (name.to_string(), *id, *tracking))
        .collect();
    let outgoing = outgoing::of(scene, &remote, &known, wire)?;
    let leaks: Vec<_> = outgoing.leaks.into_iter().collect();
    if !leaks.is_empty() && !request.allow_secrets {
        return Err(Error::Secrets { leaks });
    }
    if !outgoing.pointers.is_empty() && !request.dry_run {
        push.contents(&outgoing.pointers.iter().cloned().collect::<Vec<_>>())?;
    }
    let first = outgoing.commits.iter().take(LISTED);
    let first = first
        .map(|id| history::commit_info(scene.repo, *id))
        .collect::<Result<_, _>>()?;
    let (sessions, autosaves) = push.run(sessions)?;
    Ok(Pushed {
        url: remote.push_url.clone().unwrap_or_else(|| remote.url.clone()),
        remote: remote.name.clone(),
        sessions,
        commits: (outgoing.commits.len(), first),
        unscanned: outgoing.unscanned,
        allowed: leaks,
        lfs: outgoing.pointers.len(),
        autosaves,
        dry_run: request.dry_run,
    })
}

/// The sessions and their newest checkpoints. A damaged one is an error only if it was named.
fn chosen(scene: &Scene<'_>, which: &Which) -> Result<Vec<(Name, ObjectId)>, Error> {
    let load = |name: Name, id: ObjectId| -> Result<(Name, ObjectId), Error> {
        choose::load(scene, name.as_str(), id)?;
        Ok((name, id))
    };
    match which {
        Which::Current => {
            let chosen = choose::meant(scene)?.ok_or_else(|| choose::none_current(scene))?;
            Ok(vec![(chosen.name, chosen.tip.entry.id)])
        }
        Which::Named(selectors) => {
            let mut found = Vec::<(Name, ObjectId)>::new();
            for selector in selectors {
                let (name, id) = select::session(scene, selector)?;
                if !found.iter().any(|(other, _)| *other == name) {
                    found.push(load(name, id)?);
                }
            }
            Ok(found)
        }
        Which::All => {
            let mut found = Vec::new();
            for session in session::all(scene.repo)? {
                if let (Ok(name), Ok(tip)) = (Name::new(session.name), session.tip) {
                    found.push((name, tip.id));
                }
            }
            found.sort();
            if found.is_empty() {
                return Err(choose::none_current(scene).into());
            }
            Ok(found)
        }
    }
}

type Session = (Name, ObjectId, Option<ObjectId>);

struct Push<'a> {
    scene: &'a Scene<'a>,
    request: &'a Request,
    remote: &'a Remote,
    wire: Wire<'a>,
}

/// A ref as it is given to git.
struct Spec {
    id: ObjectId,
    target: String,
    /// What the remote must have for the ref to be replaced; `None` where it only goes on.
    lease: Option<ObjectId>,
    force: bool,
}

impl Push<'_> {
    fn run(&self, sessions: Vec<Session>) -> Result<(Vec<Sent>, usize), Error> {
        let order: Vec<Name> = sessions.iter().map(|(name, ..)| name.clone()).collect();
        let mut fates = BTreeMap::new();
        let mut open = sessions;
        let mut autosaves = self.autosaves(&open)?;
        let mut sent_autosaves = 0;
        for attempt in 0..TRIES {
            let mut specs = Vec::new();
            let mut planned = BTreeMap::new();
            for (name, id, tracking) in &open {
                match self.plan(name, *id, *tracking)? {
                    Ok((spec, fate)) => {
                        specs.push(spec);
                        planned.insert(name.clone(), fate);
                    }
                    Err(fate) => drop(fates.insert(name.clone(), (*id, fate))),
                }
            }
            open.retain(|(name, ..)| planned.contains_key(name));
            let own = autosaves.len();
            specs.append(&mut autosaves);
            if specs.is_empty() {
                break;
            }
            let answers = self.transfer(&specs)?;
            sent_autosaves += specs
                .iter()
                .rev()
                .take(own)
                .filter(|spec| matches!(answers.get(&spec.target), Some(Answer::Done | Answer::UpToDate)))
                .count();
            let mut again = Vec::new();
            let mut seen = Vec::new();
            for (name, id, tracking) in std::mem::take(&mut open) {
                let Some(planned) = planned.remove(&name) else { continue };
                let fate = match answers.get(&session::ref_name(&name)) {
                    Some(Answer::Done) => planned,
                    Some(Answer::UpToDate) => Fate::UpToDate,
                    Some(Answer::Moved(_)) if attempt + 1 < TRIES => {
                        again.push((name, id, tracking));
                        continue;
                    }
                    Some(Answer::Moved(why)) => Fate::Refused {
                        why: why.clone(),
                        namespace: false,
                    },
                    Some(Answer::Refused(why)) => Fate::Refused {
                        namespace: is_namespace(why),
                        why: why.clone(),
                    },
                    None => {
                        return Err(Error::Unreachable {
                            remote: self.remote.name.clone(),
                            denied: false,
                            missing: false,
                            why: vec![format!("it said nothing about session '{name}'")],
                        });
                    }
                };
                if fate.is_good() {
                    seen.push((name.clone(), id, tracking));
                }
                fates.insert(name, (id, fate));
            }
            if !self.request.dry_run {
                self.remember(&seen)?;
            }
            if again.is_empty() {
                break;
            }
            // The remote is not what it was last seen to be: look, and compare anew.
            let fetch = fetch::Request {
                remote: Some(self.remote.name.clone()),
                session: (again.len() == 1).then(|| again[0].0.clone()),
                accept: false,
            };
            let fetched = fetch::fetch(self.scene, &fetch, self.wire)?;
            for (name, id, _) in again {
                let found = fetched.sessions.iter().find(|found| found.name == name);
                let there = match found {
                    Some(found) => found.tip,
                    None => refs::read(self.scene.repo, &self.remote.tracking_ref(&name))?,
                };
                if let Some((_, why)) = fetched.refused.iter().find(|(refused, _)| refused == name.as_str()) {
                    let why = format!("what the remote has of it is not safe to use: {why}");
                    fates.insert(name, (id, Fate::Refused { why, namespace: false }));
                    continue;
                }
                open.push((name, id, there));
            }
        }
        let sent = order.into_iter().filter_map(|name| {
            let (id, fate) = fates.remove(&name)?;
            Some(Sent { name, id, fate })
        });
        Ok((sent.collect(), sent_autosaves))
    }

    /// What is to be sent of a session, or why nothing is.
    fn plan(&self, name: &Name, id: ObjectId, there: Option<ObjectId>) -> Result<Result<(Spec, Fate), Fate>, Error> {
        let repo = self.scene.repo;
        let spec = |lease: Option<ObjectId>| Spec {
            id,
            target: session::ref_name(name),
            force: lease.is_some(),
            lease,
        };
        let Some(there) = there else {
            return Ok(Ok((spec(None), Fate::New(chain::length(repo, id)))));
        };
        let goes_on = || Ok::<_, Error>(graph::is_ancestor(repo, there, id, WALKED)? == Some(true));
        Ok(match chain::relation(repo, id, there)? {
            Relation::Same if id == there => Ok((spec(None), Fate::UpToDate)),
            // The shorter of two chains that end alike is the pruned one.
            Relation::Same if chain::length(repo, id) < chain::length(repo, there) => {
                Ok((spec(Some(there)), Fate::Pruned))
            }
            Relation::Same => Err(Fate::UpToDate),
            Relation::Ahead(count) if goes_on()? => Ok((spec(None), Fate::Forward(count))),
            Relation::Ahead(count) => Ok((spec(Some(there)), Fate::Forward(count))),
            Relation::Behind(count) => Err(Fate::Behind(count)),
            Relation::Diverged { ours, theirs } => Err(Fate::Diverged { ours, theirs }),
            Relation::Unrelated => Err(Fate::Another),
        })
    }

    /// The autosaves of these sessions, under a name that no other machine has.
    fn autosaves(&self, sessions: &[Session]) -> Result<Vec<Spec>, Error> {
        let mut specs = Vec::new();
        if !self.request.autosaves {
            return Ok(specs);
        }
        let host = Name::slug(self.scene.host, "x");
        let host = host.as_str().trim_end_matches("-x").to_owned();
        for (name, id, _) in sessions {
            let id = choose::load(self.scene, name.as_str(), *id)?.document.session.id;
            for (full, target) in refs::list(self.scene.repo, &format!("refs/checkpoints-autosave/{id}/"))? {
                // Of a damaged one nothing can be sent; verify names it.
                let Ok(id) = target else { continue };
                specs.push(Spec {
                    id,
                    target: format!("{full}.{host}"),
                    lease: None,
                    force: true,
                });
            }
        }
        Ok(specs)
    }

    /// Runs `git push` and gives what became of each ref.
    fn transfer(&self, specs: &[Spec]) -> Result<BTreeMap<String, Answer>, Error> {
        let mut git = store::git(self.scene.repo)
            .user_hooks()
            .config("push.useForceIfIncludes=false")
            .args([
                "push",
                "--porcelain",
                "--progress",
                "--no-follow-tags",
                "--recurse-submodules=no",
            ]);
        if self.request.dry_run {
            git = git.arg("--dry-run");
        }
        for spec in specs {
            if let Some(lease) = spec.lease {
                git = git.arg(format!("--force-with-lease={}:{lease}", spec.target));
            }
        }
        git = git.arg("--").arg(&self.remote.name);
        for spec in specs {
            // One with a lease must not be forced as well, or the lease would not count.
            let force = if spec.force && spec.lease.is_none() { "+" } else { "" };
            git = git.arg(format!("{force}{}:{}", spec.id, spec.target));
        }
        let exchange = exchange(git, self.wire, None)?;
        let mut answers = BTreeMap::new();
        for line in String::from_utf8_lossy(&exchange.stdout).lines() {
            let Some((target, answer)) = Answer::read(line) else {
                continue;
            };
            // With several URLs a ref has several answers, of which the worst counts.
            answers
                .entry(target)
                .and_modify(|known: &mut Answer| {
                    if matches!(known, Answer::Done | Answer::UpToDate) {
                        *known = answer.clone();
                    }
                })
                .or_insert(answer);
        }
        let whole = specs.iter().all(|spec| answers.contains_key(&spec.target));
        if !whole
            || (exchange.code != Some(0)
                && answers
                    .values()
                    .all(|answer| matches!(answer, Answer::Done | Answer::UpToDate)))
        {
            return Err(unreachable(self.remote, &exchange.words));
        }
        Ok(answers)
    }

    /// Notes what the remote has now.
    fn remember(&self, seen: &[Session]) -> Result<(), Error> {
        let mut edits = Vec::new();
        for (name, id, _) in seen {
            edits.push(Edit {
                name: self.remote.tracking_ref(name),
                expected: Expected::Any,
                new: Some(*id),
                message: "checkpoint: push".to_owned(),
            });
        }
        refs::update(
            self.scene.repo,
            &edits,
            &compose::people(self.scene).committer,
            self.scene.wait,
        )?;
        Ok(())
    }

    /// Sends contents of git-lfs.
    fn contents(&self, pointers: &[String]) -> Result<(), Error> {
        let failed = |why: String| Error::Lfs {
            remote: self.remote.name.clone(),
            objects: pointers.len(),
            why,
        };
        let has = store::git(self.scene.repo).args(["lfs", "version"]).run();
        if has.is_err() {
            return Err(failed("git-lfs is not installed".to_owned()));
        }
        // A command line has room for some thousand.
        for some in pointers.chunks(500) {
            let git = store::git(self.scene.repo)
                .args(["lfs", "push", "--object-id"])
                .arg(&self.remote.name)
                .args(some);
            let exchange = exchange(git, self.wire, None)?;
            if exchange.code != Some(0) {
                let said = exchange.words.lines().next_back().unwrap_or("it failed").to_owned();
                return Err(failed(format!("git lfs push: {said}")));
            }
        }
        Ok(())
    }
}

/// What a remote answered about a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    UpToDate,
    /// It has something else than was expected.
    Moved(String),
    Refused(String),
}

impl Answer {
    /// Reads a line of `git push --porcelain`: flag, `from:to`, summary with a reason in brackets.
    fn read(line: &str) -> Option<(String, Self)> {
        let mut fields = line.split('\t');
        let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
        let (_, target) = refs.split_once(':')?;
        let reason = summary
            .split_once('(')
            .map_or(summary, |(_, reason)| reason.trim_end_matches(')'))
            .to_owned();
        let moved = [
            "fetch first",
            "non-fast-forward",
            "stale info",
            "needs force",
            "remote ref updated since checkout",
        ];
        let raced = [
            "cannot lock ref",
            "failed to update ref",
            "incorrect old value",
            "reference already exists",
            "failed to lock",
        ];
        let answer = match flag {
            " " | "+" | "*" | "-" => Self::Done,
            "=" => Self::UpToDate,
            _ if moved.iter().chain(&raced).any(|word| reason.contains(word)) => Self::Moved(reason),
            _ => Self::Refused(reason),
        };
        Some((target.to_owned(), answer))
    }
}

/// Whether a remote refuses every ref outside of branches and tags.
fn is_namespace(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    [
        "hidden ref",
        "funny refname",
        "prohibited",
        "not allowed",
        "invalid ref",
        "refusing to create",
        "ref name",
        "refname",
    ]
    .iter()
    .any(|part| why.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let read = |line| Answer::read(line).map(|(_, answer)| answer);
        assert_eq!(read("*\tabc:refs/checkpoints/s\t[new reference]"), Some(Answer::Done));
        assert_eq!(read(" \tabc:refs/checkpoints/s\tabc..def"), Some(Answer::Done));
        assert_eq!(read("=\tabc:refs/checkpoints/s\t[up to date]"), Some(Answer::UpToDate));
        assert_eq!(
            read("!\tabc:refs/checkpoints/s\t[rejected] (fetch first)"),
            Some(Answer::Moved("fetch first".to_owned()))
        );
        assert_eq!(
            read("!\tabc:refs/checkpoints/s\t[remote rejected] (deny updating a hidden ref)"),
            Some(Answer::Refused("deny updating a hidden ref".to_owned()))
        );
        assert_eq!(read("To /a/b"), None);
        assert_eq!(read("Done"), None);
        assert!(is_namespace("deny updating a hidden ref") && !is_namespace("pre-receive hook declined"));
    }
}
