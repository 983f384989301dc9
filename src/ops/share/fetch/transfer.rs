//! Transfer of refs from a remote into the quarantine.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        Error, exchange, listing,
        listing::ListedRef,
        ref_faults::{is_absent, is_of_some},
        unreachable,
    },
    ArrivedRefs, Fetch,
};
use crate::{
    model::name::ShortName,
    store::{self, ObjectId, fetching::RunningFetch, refs, remote::encoded},
};

/// From how many refs on they are fetched by id. Git compares each name with all refs of the remote (`get_remote_ref`), which
/// took 23 s for 3,000 refs; an id costs nothing.
const BY_ID: usize = 64;

/// A ref to fetch.
#[derive(Clone)]
pub(in crate::ops::share) struct WantedRef {
    pub(in crate::ops::share) name: ShortName,
    /// Position among the refs of the session.
    pub(super) number: usize,
    pub(in crate::ops::share) listed: ListedRef,
}

impl WantedRef {
    /// The last part of its name in the quarantine.
    fn waiting(&self) -> String {
        match self.number {
            0 => self.name.to_string(),
            // No session has such a name.
            number => format!("{}+{number}", self.name),
        }
    }
}

impl Fetch<'_> {
    /// Fetches a few sessions by their names, without a list of all that the remote has: of the refs it is asked only for
    /// those that begin with these names, and only once.
    pub(super) fn direct(&mut self, names: &[ShortName]) -> Result<ArrivedRefs, Error> {
        let remote = self.remote;
        let null = ObjectId::null(self.scene.repo.object_hash());
        let names: BTreeSet<&ShortName> = names.iter().collect();
        let wanted: Vec<WantedRef> = names
            .into_iter()
            .flat_map(|name| {
                let namespaces = remote.namespaces().into_iter().enumerate();
                namespaces.map(|(number, namespace)| WantedRef {
                    name: name.clone(),
                    number,
                    listed: ListedRef {
                        namespace: namespace.to_owned(),
                        id: null,
                    },
                })
            })
            .collect();
        if let Err(error) = self.receive(wanted.iter().map(|one| self.if_there(one)).collect()) {
            if !is_of_some(&error) {
                return Err(error);
            }
            self.one_by_one(&wanted)?;
        }
        let mut arrived = ArrivedRefs::default();
        for mut one in wanted {
            let waiting = format!("{}{}", remote.incoming(), one.waiting());
            let Some(tip) = refs::read(self.scene.repo, &waiting)? else {
                continue;
            };
            one.listed.id = tip;
            let refs = arrived.there.entry(one.name.clone()).or_default();
            if refs.iter().all(|known| known.id != tip) {
                refs.push(one.listed.clone());
                arrived.came.push((one, tip));
            }
        }
        for (name, refs) in &mut arrived.there {
            listing::without_old(self.scene, refs, self.known.get(name).copied());
            let is_left = |one: &WantedRef| refs.iter().any(|left| left.namespace == one.listed.namespace);
            arrived.came.retain(|(one, _)| one.name != *name || is_left(one));
        }
        // What was refused is there.
        for (name, _) in &self.refused {
            if let Ok(name) = ShortName::new(name.as_str()) {
                arrived.there.entry(name).or_default();
            }
        }
        Ok(arrived)
    }

    /// The lines that fetch a ref if the remote has it: a pattern, which may match nothing, without the names that are
    /// longer. A name by itself that is not there would end git.
    fn if_there(&self, one: &WantedRef) -> String {
        /// What may follow in the name of a ref, but for what sessions are not called.
        const FURTHER: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+@,=";
        let (namespace, name) = (&one.listed.namespace, &one.name);
        let mut lines = format!("+{namespace}{name}*:{}{}*\n", self.remote.incoming(), one.waiting());
        for letter in FURTHER.chars() {
            lines.push_str(&format!("^{namespace}{name}{letter}*\n"));
        }
        lines
    }

    /// Fetches sessions into the quarantine, in a dry run their objects alone, and gives what came. One that cannot be
    /// fetched does not keep the others from coming.
    pub(super) fn bring(&mut self, wanted: &[WantedRef]) -> Result<Vec<(WantedRef, ObjectId)>, Error> {
        if let Err(error) = self.transfer(wanted) {
            if !is_of_some(&error) {
                return Err(error);
            }
            self.one_by_one(wanted)?;
        }
        if self.request.dry_run {
            let is_refused = |name: &ShortName| self.refused.iter().any(|(refused, _)| refused == name.as_str());
            let came = wanted.iter().filter(|one| !is_refused(&one.name));
            return Ok(came.map(|one| (one.clone(), one.listed.id)).collect());
        }
        let prefix = self.remote.incoming();
        let waiting: BTreeMap<String, _> = refs::list(self.scene.repo, &prefix)?.into_iter().collect();
        let came = wanted.iter().filter_map(|one| {
            let target = waiting.get(&format!("{prefix}{}", one.waiting()))?;
            Some((one.clone(), *target.as_ref().ok()?))
        });
        Ok(came.collect())
    }

    /// Fetches each by itself, where one lacks objects, or has broken ones: git takes none then.
    fn one_by_one(&mut self, wanted: &[WantedRef]) -> Result<(), Error> {
        for one in wanted {
            match self.transfer(std::slice::from_ref(one)) {
                Err(Error::Unreachable { why, .. }) if why.iter().any(|line| is_absent(line)) => {}
                Err(Error::Unreachable { why, .. }) => {
                    self.refused.push((one.name.to_string(), why.join("; ")));
                }
                other => other?,
            }
        }
        Ok(())
    }

    fn transfer(&self, wanted: &[WantedRef]) -> Result<(), Error> {
        let incoming = self.remote.incoming();
        let lines = wanted.iter().map(|one| {
            let source = if wanted.len() < BY_ID {
                format!("{}{}", one.listed.namespace, one.name)
            } else {
                one.listed.id.to_string()
            };
            format!("+{source}:{incoming}{}\n", one.waiting())
        });
        self.receive(lines.collect())
    }

    /// Runs git with these refspecs.
    fn receive(&self, lines: String) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        let dry_run = self.request.dry_run.then_some("--dry-run");
        let repo = self.scene.repo;
        let running = (!self.request.dry_run)
            .then(|| RunningFetch::begin(repo, &encoded(&self.remote.name)))
            .transpose()?;
        let git = store::git(repo)
            // A pack is on the disk before a ref names what is in it; loose objects, which git makes of a small one,
            // are not. And git reports the size in advance only for a pack.
            .config("fetch.unpackLimit=1")
            .args([
                "fetch",
                "--progress",
                "--no-tags",
                "--no-prune",
                "--no-write-fetch-head",
            ])
            .args(dry_run)
            .args([
                "--no-auto-maintenance",
                "--no-recurse-submodules",
                "--no-show-forced-updates",
            ])
            // Nothing but these refs moves, and of a session nothing is left for later, also in a partial clone.
            .args(["--refmap=", "--no-filter", "--no-write-commit-graph", "--stdin", "--"])
            .arg(&self.remote.name)
            .input(lines);
        let exchange = exchange(git, self.wire, Some(self.scene.settings.max_fetch_size));
        if let Some(running) = running {
            running.end();
        }
        let exchange = exchange?;
        if exchange.code == Some(0) {
            return Ok(());
        }
        Err(unreachable(self.remote, &exchange.words))
    }
}
