//! Takes a snapshot in a process of its own: only so can it run in another environment, directory or as another user.
//!
//! The process is this test binary, reported by a variable where to write the result.

use std::fs;
use std::path::Path;

use git_checkpoint::os;
use git_checkpoint::store::objects::Writer;
use git_checkpoint::store::{self, OpenEnvironment};
use git_checkpoint::worktree::snapshot::{self, PathSummary, Snapshot, SnapshotOptions, SnapshotRules};
use serde_json::{Value, json};

use crate::support::{Output, World, own_program};

/// Where the child writes; unset in an ordinary run of the tests.
pub const RESULT: &str = "CHECKPOINT_TEST_SNAPSHOT";
/// Its options as JSON.
pub const OPTIONS: &str = "CHECKPOINT_TEST_OPTIONS";

/// The output of a snapshot.
pub struct Taken {
    /// All of it.
    pub json: Value,
}

impl Taken {
    /// Reads what the child wrote, if it did.
    pub fn read(result: &Path) -> Option<Self> {
        let bytes = fs::read(result).ok()?;
        Some(Self {
            json: serde_json::from_slice(&bytes).expect("JSON"),
        })
    }

    pub fn tree(&self) -> &str {
        self.json["tree"]
            .as_str()
            .unwrap_or_else(|| panic!("no tree: {}", self.json))
    }

    pub fn index_tree(&self) -> &str {
        self.json["index_tree"]
            .as_str()
            .unwrap_or_else(|| panic!("no tree: {}", self.json))
    }

    /// The error instead of a snapshot.
    pub fn error(&self) -> Option<&str> {
        self.json["error"].as_str()
    }

    /// A list as its lines, empty if there is none.
    pub fn list(&self, name: &str) -> Vec<&str> {
        self.json["lists"][name].as_str().unwrap_or_default().lines().collect()
    }

    /// The submodules with changes of their own; those that were not looked through with a question mark.
    pub fn submodules(&self) -> Vec<String> {
        let line = |one: &Value| {
            let mark = if one[1] == true { "" } else { "?" };
            format!("{}{mark}", one[0].as_str().expect("text"))
        };
        self.json["submodules"]
            .as_array()
            .expect("a list")
            .iter()
            .map(line)
            .collect()
    }

    /// The paths and count of a part of the status.
    pub fn status(&self, name: &str) -> Vec<&str> {
        let paths = self.json["status"][name]["first"].as_array().expect("a list");
        paths.iter().map(|path| path.as_str().expect("text")).collect()
    }

    pub fn count(&self, name: &str) -> u64 {
        self.json["status"][name]["count"].as_u64().expect("a number")
    }

    /// The blobs called `conflict_blobs` or `held_blobs`.
    pub fn blobs(&self, name: &str) -> Vec<&str> {
        self.json[name]
            .as_array()
            .expect("a list")
            .iter()
            .map(|id| id.as_str().expect("text"))
            .collect()
    }
}

/// How the child is run.
#[derive(Default)]
pub struct Setting<'a> {
    /// Members of [`SnapshotOptions`] that differ from the test's usual ones, and `memory`.
    pub options: Value,
    /// More variables.
    pub variables: &'a [(&'a str, &'a str)],
    /// The directory, relative to the repository.
    pub directory: &'a str,
    /// A program and its arguments that start the child, such as `setpriv`.
    pub prefix: &'a [&'a str],
}

/// Takes a snapshot of the world's repository.
pub fn take(world: &World) -> Taken {
    take_with(world, &Setting::default())
}

/// Takes a snapshot under other conditions.
pub fn take_with(world: &World, setting: &Setting<'_>) -> Taken {
    let result = world.root().join("result.json");
    let _ = fs::remove_file(&result);
    let output = start(world, setting, &result);
    Taken::read(&result).unwrap_or_else(|| panic!("no result\n{output}"))
}

fn start(world: &World, setting: &Setting<'_>, result: &Path) -> Output {
    let line = [
        setting.prefix,
        &[own_program(), "snapshot::child::run_child", "--exact", "--nocapture"],
    ]
    .concat();
    let mut run = world
        .command(line[0], &line[1..])
        .env(RESULT, result)
        .env(OPTIONS, setting.options.to_string());
    for (name, value) in setting.variables {
        run = run.env(name, value);
    }
    run.within(setting.directory).run()
}

/// The child itself; without its variable there is nothing to do.
#[test]
fn run_child() {
    let Some(result) = std::env::var_os(RESULT) else {
        return;
    };
    let options: Value = serde_json::from_str(&std::env::var(OPTIONS).unwrap()).unwrap();
    let json = match taken(&options) {
        Ok(snapshot) => describe(&snapshot),
        Err(error) => json!({ "error": error }),
    };
    fs::write(result, json.to_string()).unwrap();
}

fn taken(json: &Value) -> Result<Snapshot, String> {
    let environment = OpenEnvironment {
        cwd: std::env::current_dir().unwrap(),
        vars: std::env::vars_os().collect(),
        ..Default::default()
    };
    let repo = store::open(&environment).map_err(|error| error.to_string())?;
    let exclude: Vec<String> = serde_json::from_value(json["exclude"].clone()).unwrap_or_default();
    let cache = json["cache"].as_str().map(Path::new);
    let held: Vec<String> = serde_json::from_value(json["held"].clone()).unwrap_or_default();
    let held: Vec<store::ObjectId> = held.iter().map(|id| id.parse().expect("an id")).collect();
    let options = SnapshotOptions {
        rules: SnapshotRules {
            max_file_size: json["max_file_size"].as_u64().unwrap_or(50 << 20),
            max_total_size: json["max_total_size"].as_u64(),
            exclude: &exclude,
            no_secrets: json["no_secrets"].as_bool() == Some(true),
            tracked_only: json["tracked_only"].as_bool() == Some(true),
            umask: os::umask().unwrap_or(0o022),
            index_path: None,
        },
        held: &held,
        cache,
        threads: usize::try_from(json["threads"].as_u64().unwrap_or(2)).unwrap(),
        watcher: false,
    };
    let memory = json["memory"].as_bool() == Some(true);
    let writer = if memory {
        Writer::memory(&repo)
    } else {
        Writer::durable(&repo).map_err(|error| error.to_string())?
    };
    let snapshot = snapshot::take(&repo, &writer, &options).map_err(|error| error.to_string())?;
    let sealed = writer.finish().map_err(|error| error.to_string())?;
    // A ref names the objects only later, in the test.
    let _ = sealed.release();
    Ok(snapshot)
}

fn describe(snapshot: &Snapshot) -> Value {
    let summary = |summary: &PathSummary| json!({ "count": summary.count, "first": summary.first });
    let ids = |ids: &[store::ObjectId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let lists: serde_json::Map<_, _> = snapshot
        .lists
        .encode()
        .into_iter()
        .map(|(name, bytes)| (name.to_owned(), String::from_utf8_lossy(&bytes).into_owned().into()))
        .collect();
    json!({
        "tree": snapshot.tree.to_string(),
        "index_tree": snapshot.index_tree.to_string(),
        "lists": lists,
        "conflict_blobs": ids(&snapshot.conflict_blobs),
        "held_blobs": ids(&snapshot.held_blobs),
        "submodules": snapshot.submodules.iter().map(|s| json!([s.path, s.known])).collect::<Vec<_>>(),
        "status": {
            "modified": summary(&snapshot.status.modified),
            "deleted": summary(&snapshot.status.deleted),
            "untracked": summary(&snapshot.status.untracked),
            "conflicted": summary(&snapshot.status.conflicted),
        },
    })
}
