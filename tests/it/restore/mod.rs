//! Restores below the commands: plans and their execution on snapshots, checked against the disk itself.

mod bytes;
mod cases;
mod hostile;
mod index;
mod racer;
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use git_checkpoint::model::chat::hex;
use git_checkpoint::model::plan::{Act, PlanLine};
use git_checkpoint::os;
use git_checkpoint::store::objects::Writer;
use git_checkpoint::store::{self, Repository};
use git_checkpoint::worktree::restore::{
    self, Error, Execution, ExecutionOutcome, RestoreOptions, RestorePlan, SideFiles,
};
use git_checkpoint::worktree::snapshot::{self, Snapshot};

use sha2::{Digest as _, Sha256};

use crate::support::World;

/// The world's repository as the program would open it.
fn open(world: &World) -> Repository {
    let vars: BTreeMap<_, _> = world
        .environment()
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
    store::open(&store::OpenEnvironment {
        cwd: world.repo(),
        vars,
        ..Default::default()
    })
    .unwrap()
}

fn umask() -> u32 {
    os::umask().unwrap()
}

/// Saves the present.
fn save(world: &World) -> Snapshot {
    save_with(world, u64::MAX, &[])
}

fn save_with(world: &World, max_file_size: u64, exclude: &[String]) -> Snapshot {
    let repo = open(world);
    let writer = Writer::durable(&repo).unwrap();
    let options = snapshot::SnapshotOptions {
        rules: snapshot::SnapshotRules {
            max_file_size,
            max_total_size: None,
            exclude,
            no_secrets: false,
            tracked_only: false,
            umask: umask(),
            index_path: None,
        },
        held: &[],
        cache: None,
        threads: 1,
        watcher: false,
    };
    let snapshot = snapshot::take(&repo, &writer, &options).unwrap();
    assert!(writer.finish().unwrap().release().is_none());
    snapshot
}

fn files(snapshot: &Snapshot) -> SideFiles<'_> {
    SideFiles {
        tree: snapshot.tree,
        lists: &snapshot.lists,
        held: &snapshot.held_blobs,
        umask: snapshot.umask,
    }
}

fn exact<'a>() -> RestoreOptions<'a> {
    RestoreOptions {
        keep_ignored: true,
        umask: umask(),
        ..RestoreOptions::default()
    }
}

fn planned(world: &World, target: &Snapshot, options: RestoreOptions<'_>) -> Result<RestorePlan, Error> {
    let present = save(world);
    restore::plan(&open(world), files(&present), files(target), options)
}

fn run(world: &World, plan: &RestorePlan) -> ExecutionOutcome {
    let mut execution = Execution {
        token: "test",
        progress: &mut |_, _| {},
    };
    restore::execute(&open(world), plan, &mut execution).unwrap()
}

/// Restores everything, which must be possible.
#[track_caller]
fn restore(world: &World, target: &Snapshot) -> (RestorePlan, ExecutionOutcome) {
    let plan = planned(world, target, exact()).unwrap();
    assert_eq!(plan.blocked, [], "blocked");
    let done = run(world, &plan);
    assert!(done.is_complete(), "{done:?}");
    assert_eq!(done.differing, []);
    (plan, done)
}

/// A plan as text, a line for each of its lines.
fn shown(lines: &[PlanLine]) -> Vec<String> {
    let text = |line: &PlanLine| format!("{} {} ({})", line.act.word(), line.path, line.why);
    lines.iter().map(text).collect()
}

fn acts(plan: &RestorePlan, act: Act) -> Vec<String> {
    plan.lines
        .iter()
        .filter(|line| line.act == act)
        .map(|line| line.path.to_string())
        .collect()
}

/// Everything in a directory but `.git`: kind, mode, content. Directories too.
pub(crate) fn disk(root: &Path) -> BTreeMap<Vec<u8>, String> {
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

fn walk(root: &Path, directory: &Path, found: &mut BTreeMap<Vec<u8>, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        if name == b".git" {
            continue;
        }
        let meta = fs::symlink_metadata(&path).unwrap();
        let mode = meta.permissions().mode() & 0o7777;
        let text = if meta.is_symlink() {
            format!("link {:?}", fs::read_link(&path).unwrap())
        } else if meta.is_dir() {
            walk(root, &path, found);
            "folder".to_owned()
        } else if meta.is_file() {
            format!("file {mode:o} {}", content(&fs::read(&path).unwrap()))
        } else {
            "special".to_owned()
        };
        found.insert(name, text);
    }
}

/// Short text as it is, so that a difference can be read; else a digest.
fn content(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= 4096 => format!("{text:?}"),
        _ => format!("{} bytes, {}", bytes.len(), hex(&Sha256::digest(bytes))),
    }
}

/// When a file was last written, in nanoseconds.
fn written(world: &World, path: &str) -> i64 {
    let meta = fs::symlink_metadata(world.path(path)).unwrap();
    meta.mtime() * 1_000_000_000 + meta.mtime_nsec()
}

fn chmod(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
}
