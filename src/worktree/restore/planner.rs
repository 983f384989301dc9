//! Making the plan: what happens to each path on which present and target differ.
//! Over 400 lines because one walk decides about every kind of path.
//!
//! A path is deleted or overwritten only if the present tree, which the safety checkpoint holds, has it. What it does
//! not hold (ignored, too large, unreadable, another repository) stays, and stops the restore where it is in the way.
//! What the target did not save is not absent from it, and stays as well.
#![expect(clippy::unused_self, reason = "the methods belong to the plan they are asked about")]

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use super::content::{Content, Converter, Thing};
use super::disk::{Disk, Inside, There, folders_above, split};
use super::paths::FileSystem;
use super::plan::{Plan, Step};
use super::side::{Node, Side};
use super::walk::{Next, Pair, Rules, Walk};
use super::{Error, Options, TEMPORARY, sparse};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::model::plan::{Act, Block, Why};
use crate::os::dir::Kind;
use crate::worktree::snapshot::attributes::Attributes;
use crate::worktree::snapshot::settings::Settings;

/// Bits that let a program run with the rights of somebody else.
const SPECIAL: u32 = 0o7000;

/// What the plan is made with.
pub(super) struct Planner<'a, 'o> {
    pub options: &'a mut Options<'o>,
    pub settings: &'a Settings,
    pub converter: Converter<'a>,
    pub system: FileSystem,
    pub root: &'a Path,
    pub disk: Disk,
    pub plan: Plan,
    /// Files that go away, by their keys.
    pub removed: HashSet<Vec<u8>>,
    /// Folders on disk whose place a file takes.
    pub replaced: HashSet<Vec<u8>>,
    /// Files on disk where something is written although the present tree has nothing there, or a folder above it.
    pub occupied: Vec<Vec<u8>>,
    /// Files that have to make room for a folder if something is written in it: not meant by themselves.
    pub in_the_way: HashMap<Vec<u8>, Content>,
    pub sparse: Option<HashSet<Vec<u8>>>,
}

impl Planner<'_, '_> {
    pub(super) fn run(&mut self, walk: &mut Walk<'_>, attributes: Attributes) -> Result<(), Error> {
        // The planner answers the walk, so reading files of rules has a converter of its own.
        let reader = Converter::new(walk.repo, self.settings)?;
        walk.run(attributes, &reader, |walk, pair| self.decide(walk, &pair))?;
        self.make_room();
        self.check_replaced()?;
        self.empty_folders(walk)?;
        self.check_room()?;
        self.not_saved(walk)?;
        self.not_held(walk)?;
        let keep = self.kept_folders(walk);
        self.plan.settle(&keep, self.options.only);
        Ok(())
    }

    fn is_meant(&mut self, path: &[u8]) -> bool {
        let path = RepoPath::from(path);
        let chosen = self.options.only.is_none_or(|only| only.contains(&path));
        chosen && self.options.paths.as_mut().is_none_or(|paths| paths.keeps(&path))
    }

    fn io(&self, path: &[u8]) -> impl FnOnce(io::Error) -> Error + use<> {
        let relative = String::from_utf8_lossy(path).into_owned();
        let path = gix::path::from_byte_slice(path).map_or_else(|_| self.root.join(relative), |p| self.root.join(p));
        Error::io("look at", path)
    }

    fn decide(&mut self, walk: &Walk<'_>, pair: &Pair<'_>) -> Result<Next, Error> {
        let path = &pair.path[..];
        let (now, then) = (pair.present, pair.target);
        if split(path).1.starts_with(TEMPORARY.as_bytes()) {
            // Of a restore that was killed. The safety checkpoint holds it now, whatever it is.
            if let Some(was) = self.content(walk.present, path, now, &pair.rules.present) {
                self.remove_content(path, was, Why::Leftover);
            }
            return Ok(Next::Done);
        }
        if let Some(reason) = pair.rules.not_saved.or_else(|| walk.target.skipped(path)) {
            return Ok(self.not_known(path, now, then, Why::NotSaved(reason)));
        }
        let is_included = self
            .options
            .included
            .is_some_and(|included| included.contains(&RepoPath::from(path)));
        if let Some(reason) = pair.rules.not_held.or_else(|| walk.present.skipped(path))
            && !is_included
        {
            // The present tree then only says what the index has; a FIFO is no file in any case.
            if now == then && reason != SkipReason::Special {
                if self.is_meant(path) && !matches!(now, Some(Node::Repository(_))) {
                    self.plan.line(Act::Keep, path, not_held(reason));
                }
                return Ok(Next::Done);
            }
            if then.is_none() {
                // A tracked file that cannot be read, or a repository: nothing is lost by leaving it.
                if now.is_some() && self.is_meant(path) && !self.options.overlay {
                    self.plan.line(Act::Keep, path, not_held(reason));
                }
                return Ok(Next::Done);
            }
            let both_folders = matches!((now, then), (Some(Node::Folder(_)), Some(Node::Folder(_))));
            let there = self.disk.at(path).map_err(self.io(path))?;
            if !both_folders && !matches!(there, There::Nothing) {
                let is = self.wanted(walk, path, then, pair.rules);
                let same = is
                    .map(|is| self.is_there_already(path, &is))
                    .transpose()?
                    .unwrap_or(false);
                if !same && self.is_meant_below(path, then) {
                    let file = if let There::Blocked(length) = there {
                        &path[..length]
                    } else {
                        path
                    };
                    self.plan.block(file, Block::NotHeld(reason));
                }
                return Ok(Next::Done);
            }
        }
        match (now, then) {
            (Some(Node::Repository(now)), Some(Node::Repository(then))) => {
                if now != then && self.is_meant(path) {
                    self.plan.line(Act::Skip, path, Why::Submodule);
                }
                Ok(Next::Done)
            }
            (Some(Node::Repository(_)), None) => {
                if !self.options.overlay && self.is_meant(path) {
                    self.plan.line(Act::Keep, path, Why::Repository);
                }
                Ok(Next::Done)
            }
            (_, Some(Node::Repository(_))) => {
                if self.is_meant(path) {
                    self.plan.line(Act::Skip, path, Why::Submodule);
                }
                Ok(Next::Done)
            }
            (Some(Node::Repository(_)), Some(_)) if self.is_repository_there(path)? => {
                if self.is_meant_below(path, then) {
                    self.plan.block(path, Block::Repository);
                }
                Ok(Next::Done)
            }
            (Some(Node::Folder(_)), Some(Node::Folder(_)) | None)
            | (None | Some(Node::Repository(_)), Some(Node::Folder(_))) => Ok(Next::Enter),
            (Some(Node::Folder(_)), Some(_)) => {
                if !self.is_meant(path) {
                    // What is in the folder may be meant all the same.
                    return Ok(Next::Enter);
                }
                self.write(walk, pair)?;
                Ok(Next::Replace)
            }
            (Some(_), Some(Node::Folder(_))) => {
                let was = self.content(walk.present, path, now, &pair.rules.present);
                if self.is_meant(path) && !self.options.overlay {
                    self.remove(walk, pair, Why::InTheWay)?;
                } else if let Some(was) = was {
                    self.in_the_way.insert(path.to_vec(), was);
                }
                Ok(Next::Enter)
            }
            (Some(_), Some(_)) => {
                if self.is_meant(path) {
                    self.change(walk, pair)?;
                }
                Ok(Next::Done)
            }
            (None, Some(_)) => {
                if self.is_meant(path) {
                    self.write(walk, pair)?;
                }
                Ok(Next::Done)
            }
            (Some(_), None) => {
                if pair.rules.replaced {
                    self.remove(walk, pair, Why::InTheWay)?;
                } else if !self.options.overlay && self.is_meant(path) {
                    self.remove(walk, pair, Why::NotInCheckpoint)?;
                }
                Ok(Next::Done)
            }
            (None, None) => Ok(Next::Done),
        }
    }

    /// A path of which the target does not know what was there.
    fn not_known(&mut self, path: &[u8], now: Option<Node>, then: Option<Node>, why: Why) -> Next {
        // Tracked content that was not what it is in the tree is told of with the other skipped paths.
        if now.is_some() && now != then && self.is_meant(path) {
            self.plan.line(Act::Keep, path, why);
        }
        Next::Done
    }

    /// Whether a path of the target, or if it is a folder anything in it, may be meant.
    fn is_meant_below(&mut self, path: &[u8], node: Option<Node>) -> bool {
        self.is_meant(path) || matches!(node, Some(Node::Folder(_)))
    }

    fn is_repository_there(&mut self, path: &[u8]) -> Result<bool, Error> {
        match self.disk.at(path).map_err(self.io(path))? {
            There::Something(meta) if meta.kind == Kind::Folder => {
                let inside = self.disk.inside(path).map_err(self.io(path))?;
                Ok(!matches!(inside.as_slice(), [Inside::Folder(_)]))
            }
            There::Something(_) => Ok(true),
            There::Nothing | There::Blocked(_) => Ok(false),
        }
    }

    fn content(
        &self,
        side: &Side<'_>,
        path: &[u8],
        node: Option<Node>,
        attributes: &std::sync::Arc<Attributes>,
    ) -> Option<Content> {
        let (thing, id) = match node? {
            Node::File { executable, id } => {
                let (mode, _) = side.mode(path, executable);
                (Thing::File { mode, executable }, id)
            }
            Node::Link(id) => (Thing::Link, id),
            Node::Folder(_) | Node::Repository(_) => return None,
        };
        Some(Content {
            thing,
            id,
            raw: side.is_raw(path),
            attributes: std::sync::Arc::clone(attributes),
        })
    }

    /// The target's content with the permission bits that it gets on disk.
    fn wanted(&self, walk: &Walk<'_>, path: &[u8], node: Option<Node>, rules: &Rules) -> Option<Content> {
        let mut content = self.content(walk.target, path, node, &rules.target)?;
        if let Thing::File { mode, executable } = &mut content.thing {
            let (bits, listed) = walk.target.mode(path, *executable);
            // What nobody chose is as git would make it now, and never wider than it was.
            *mode = if listed {
                bits & !SPECIAL
            } else {
                bits & !self.options.umask
            };
        }
        Some(content)
    }

    /// Both have a file or link there.
    fn change(&mut self, walk: &Walk<'_>, pair: &Pair<'_>) -> Result<(), Error> {
        let path = &pair.path[..];
        let (Some(was), Some(is)) = (
            self.content(walk.present, path, pair.present, &pair.rules.present),
            self.wanted(walk, path, pair.target, pair.rules),
        ) else {
            return Ok(());
        };
        let (Thing::File { mode: from, .. }, Thing::File { mode: to, executable }) = (was.thing, is.thing) else {
            let same = was.thing == is.thing && self.converter.same_bytes(path, &was, &is)?;
            return if same { Ok(()) } else { self.write(walk, pair) };
        };
        if !self.converter.same_bytes(path, &was, &is)? {
            return self.write(walk, pair);
        }
        let (exact, _) = walk.target.mode(path, executable);
        if from == exact {
            return Ok(());
        }
        if exact & SPECIAL != 0 {
            self.plan.line(Act::Skip, path, Why::SpecialBits);
        }
        if from == to || !matches!(self.disk.at(path).map_err(self.io(path))?, There::Something(_)) {
            return Ok(());
        }
        self.plan.line(Act::Mode, path, Why::Bits { from, to });
        self.plan.steps.push(Step::Mode {
            path: path.to_vec(),
            was,
            mode: to,
        });
        Ok(())
    }

    /// The target's file or link is written, over what the present has there or where nothing is.
    fn write(&mut self, walk: &Walk<'_>, pair: &Pair<'_>) -> Result<(), Error> {
        let path = &pair.path[..];
        let Some(is) = self.wanted(walk, path, pair.target, pair.rules) else {
            return Ok(());
        };
        let was = self.content(walk.present, path, pair.present, &pair.rules.present);
        let there = self.disk.at(path).map_err(self.io(path))?;
        let is_there = matches!(there, There::Something(_));
        if was.is_some() && !is_there && self.is_left_out(walk, path)? {
            self.plan.line(Act::Skip, path, Why::NotCheckedOut);
            return Ok(());
        }
        let was = was.filter(|_| is_there);
        if let Some(program) = self.unasked_program(path, &is, pair.rules) {
            self.plan.block(path, Block::Filter(program));
            return Ok(());
        }
        if was.is_none() && is_there && self.is_there_already(path, &is)? {
            return Ok(());
        }
        match there {
            There::Blocked(length) => self.occupied.push(path[..length].to_vec()),
            There::Something(meta) if meta.kind == Kind::Folder => {
                self.replaced.insert(path.to_vec());
            }
            There::Something(_) if was.is_none() => self.occupied.push(path.to_vec()),
            _ => {}
        }
        if is.thing == Thing::Link && !self.options.trusted {
            let target = self.converter.source.read(path, is.id)?;
            if leads_into_repository(&target) {
                self.plan.block(path, Block::LinkIntoRepository);
                return Ok(());
            }
        }
        let why = if self.converter.lacks_content(path, &is)? {
            Why::Pointer
        } else if pair.present.is_some() && was.is_none() && is_there {
            Why::OtherKind
        } else {
            match &was {
                None => Why::Absent,
                Some(was) if matches!(was.thing, Thing::Link) != matches!(is.thing, Thing::Link) => Why::OtherKind,
                Some(_) => Why::Differs,
            }
        };
        self.plan.line(Act::Write, path, why);
        if let Thing::File { executable, .. } = is.thing
            && walk.target.mode(path, executable).0 & SPECIAL != 0
        {
            self.plan.line(Act::Skip, path, Why::SpecialBits);
        }
        self.plan.steps.push(Step::Write {
            path: path.to_vec(),
            was,
            is,
        });
        Ok(())
    }

    /// The filter that the target would run on a file although the present rules do not ask for it.
    fn unasked_program(&mut self, path: &[u8], is: &Content, rules: &Rules) -> Option<String> {
        if self.options.trusted {
            return None;
        }
        let program = self.converter.program(path, is)?;
        let now = Content {
            attributes: std::sync::Arc::clone(&rules.present),
            ..is.clone()
        };
        (self.converter.program(path, &now).as_ref() != Some(&program)).then_some(program)
    }

    /// Whether a path that the present tree does not have is on disk as the target wants it: ignored now, say.
    fn is_there_already(&mut self, path: &[u8], is: &Content) -> Result<bool, Error> {
        let failed = self.io(path);
        let Some((folder, name)) = self.disk.folder_of(path).map_err(failed)? else {
            return Ok(false);
        };
        // What cannot be read is in the way.
        Ok(matches!(self.converter.is_on_disk(folder, name, path, is), Ok(Some(_))))
    }

    fn remove(&mut self, walk: &Walk<'_>, pair: &Pair<'_>, why: Why) -> Result<(), Error> {
        let path = &pair.path[..];
        if self.options.keep_ignored && pair.target.is_none() && walk.was_ignored(pair.rules, path, false) {
            if pair.rules.replaced {
                self.plan.block(path, Block::Kept);
            } else {
                self.plan.line(Act::Keep, path, Why::IgnoredThen);
            }
            return Ok(());
        }
        let Some(was) = self.content(walk.present, path, pair.present, &pair.rules.present) else {
            return Ok(());
        };
        if !matches!(self.disk.at(path).map_err(self.io(path))?, There::Something(_)) {
            // Left out by sparse checkout, or gone by itself.
            return Ok(());
        }
        self.remove_content(path, was, why);
        Ok(())
    }

    fn remove_content(&mut self, path: &[u8], was: Content, why: Why) {
        self.removed.insert(self.system.key(path));
        self.plan.line(Act::Delete, path, why);
        self.plan.steps.push(Step::Remove {
            path: path.to_vec(),
            was,
        });
    }

    fn is_left_out(&mut self, walk: &Walk<'_>, path: &[u8]) -> Result<bool, Error> {
        let left_out = match &mut self.sparse {
            Some(known) => known,
            none => none.insert(sparse::left_out(walk.repo, self.options.index)?),
        };
        Ok(left_out.contains(path) || folders_above(path).any(|folder| left_out.contains(&[folder, b"/"].concat())))
    }

    /// Files that were not meant themselves go if a folder has to be where they are.
    fn make_room(&mut self) {
        let needed: HashSet<Vec<u8>> = self
            .plan
            .steps
            .iter()
            .filter(|step| matches!(step, Step::Write { .. }))
            .flat_map(|step| folders_above(step.path()).map(<[u8]>::to_vec))
            .collect();
        let in_the_way = std::mem::take(&mut self.in_the_way);
        for (path, was) in in_the_way {
            if needed.contains(&path) {
                self.remove_content(&path, was, Why::InTheWay);
            }
        }
    }

    /// A folder in the way of a file must hold nothing but what goes away anyway.
    fn check_replaced(&mut self) -> Result<(), Error> {
        for folder in std::mem::take(&mut self.replaced) {
            for inside in self.disk.inside(&folder).map_err(self.io(&folder))? {
                match inside {
                    Inside::File(path) if self.removed.contains(&self.system.key(&path)) => {}
                    Inside::File(path) => self.plan.block(&path, Block::Ignored),
                    Inside::Special(path) => self.plan.block(&path, Block::NotHeld(SkipReason::Special)),
                    Inside::Repository(path) => self.plan.block(&path, Block::Repository),
                    Inside::Folder(path) => self.plan.steps.push(Step::RemoveFolder { path }),
                }
            }
        }
        Ok(())
    }

    /// What lies where something is to be written must go away anyway.
    fn check_room(&mut self) -> Result<(), Error> {
        for path in std::mem::take(&mut self.occupied) {
            if self.removed.contains(&self.system.key(&path)) {
                continue;
            }
            let why = match self.disk.at(&path).map_err(self.io(&path))? {
                There::Something(meta) if meta.kind == Kind::Special => Block::NotHeld(SkipReason::Special),
                _ => Block::Ignored,
            };
            self.plan.block(&path, why);
        }
        Ok(())
    }

    fn empty_folders(&mut self, walk: &Walk<'_>) -> Result<(), Error> {
        for folder in &walk.target.lists().empty_dirs {
            let path = folder.as_bytes();
            if !self.is_meant(path) {
                continue;
            }
            match self.disk.at(path).map_err(self.io(path))? {
                There::Something(meta) if meta.kind == Kind::Folder => continue,
                There::Something(_) => self.occupied.push(path.to_vec()),
                There::Blocked(length) => self.occupied.push(path[..length].to_vec()),
                There::Nothing => {}
            }
            self.plan.line(Act::Write, path, Why::EmptyFolder);
            self.plan.steps.push(Step::MakeFolder { path: path.to_vec() });
        }
        if self.options.overlay {
            return Ok(());
        }
        let saved: HashSet<_> = walk.target.lists().empty_dirs.iter().collect();
        let gone: HashSet<Vec<u8>> = self
            .plan
            .steps
            .iter()
            .filter(|step| matches!(step, Step::RemoveFolder { .. }))
            .map(|step| step.path().to_vec())
            .collect();
        for folder in &walk.present.lists().empty_dirs {
            let path = folder.as_bytes();
            let settled = saved.contains(folder) || gone.contains(path) || self.is_under_skipped(walk, path);
            if settled || !self.is_meant(path) || walk.target.node(path)?.is_some() {
                continue;
            }
            if self
                .options
                .cwd
                .as_ref()
                .is_some_and(|cwd| is_at_or_above(path, cwd.as_bytes()))
            {
                self.plan.line(Act::Keep, path, Why::CurrentFolder);
                continue;
            }
            self.plan.line(Act::Delete, path, Why::NotInCheckpoint);
            self.plan.steps.push(Step::RemoveFolder { path: path.to_vec() });
        }
        Ok(())
    }

    /// Whether the target did not save what was at a path or above it.
    fn is_under_skipped(&self, walk: &Walk<'_>, path: &[u8]) -> bool {
        std::iter::once(path)
            .chain(folders_above(path))
            .any(|path| walk.target.skipped(path).is_some())
    }

    /// Tells of what was there when the checkpoint was saved and is gone now.
    fn not_saved(&mut self, walk: &Walk<'_>) -> Result<(), Error> {
        for skipped in &walk.target.lists().skipped {
            let path = skipped.path.as_bytes();
            if self.system.check(path, true).is_err() || !self.is_meant(path) {
                continue;
            }
            if matches!(
                self.disk.at(path).map_err(self.io(path))?,
                There::Nothing | There::Blocked(_)
            ) {
                self.plan.line(Act::Skip, path, Why::NotSaved(skipped.reason));
            }
        }
        Ok(())
    }

    /// Tells of what came since and stays because no checkpoint can hold it.
    fn not_held(&mut self, walk: &Walk<'_>) -> Result<(), Error> {
        if self.options.overlay {
            return Ok(());
        }
        for skipped in &walk.present.lists().skipped {
            let path = skipped.path.as_bytes();
            let told = self.is_under_skipped(walk, path) || !self.is_meant(path);
            if !told && self.system.check(path, true).is_ok() && walk.target.node(path)?.is_none() {
                self.plan.line(Act::Keep, path, not_held(skipped.reason));
            }
        }
        Ok(())
    }

    fn kept_folders(&self, walk: &Walk<'_>) -> HashSet<Vec<u8>> {
        let mut keep = HashSet::new();
        let mut add = |path: &[u8]| {
            keep.insert(path.to_vec());
            keep.extend(folders_above(path).map(<[u8]>::to_vec));
        };
        for folder in &walk.target.lists().empty_dirs {
            add(folder.as_bytes());
        }
        if let Some(cwd) = &self.options.cwd {
            add(cwd.as_bytes());
        }
        keep
    }
}

/// Why something stays that no checkpoint holds.
fn not_held(reason: SkipReason) -> Why {
    match reason {
        SkipReason::NestedRepository => Why::Repository,
        reason => Why::NotHeld(reason),
    }
}

/// Whether `path` is `other` or a folder above it.
fn is_at_or_above(path: &[u8], other: &[u8]) -> bool {
    other
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Whether the text of a link has a name in it that stands for a repository's own folder.
fn leads_into_repository(target: &[u8]) -> bool {
    let system = FileSystem::default();
    target
        .split(|byte| *byte == b'/')
        .filter(|name| !matches!(*name, b"" | b"." | b".."))
        .any(|name| matches!(system.check_name(name, true), Err(super::paths::Unsafe::Git)))
}
