//! Random repositories: saved, scrambled, restored with the index, and the scrambled one brought back by undo.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;

use crate::support::World;

#[derive(Debug, Clone)]
enum Change {
    File(Name, &'static [u8], u32),
    Link(Name, &'static str),
    Folder(Name),
    Remove(Name),
    Ignore(&'static str),
    Attributes(&'static str),
    Fifo(Name),
    Repository(Name),
    Stage(Name),
    Unstage(Name),
    Intend(Name),
    Flag(Name, &'static str),
    /// With these of its stages.
    Conflict(Name, &'static [u8]),
}

type Name = &'static [u8];

/// Few, so that files, links and directories take each other's place; the last two are not saved, or not in the tree.
const NAMES: [Name; 16] = [
    b"a",
    b"b",
    b"c",
    b"a/x",
    b"a/y",
    b"b/x",
    b"b/x/z",
    b"c/deep/er/f",
    b"nl\nname",
    b" s ",
    b"-f",
    "\u{e9}*".as_bytes(),
    b"\xff\xfe",
    b"q\"\\:[x]",
    b".env",
    b".gitmodules",
];
/// Larger than the limit on untracked files of these repositories.
const BIG: &[u8] = &[b'x'; 3000];

fn change() -> impl Strategy<Value = Change> {
    let name = || prop::sample::select(NAMES.to_vec());
    let content = prop::sample::select(vec![
        &b""[..],
        b"a\nb\n",
        b"a\r\nb\r\n",
        b"a\r\nb\n",
        b"x\0\r\n",
        b"one\n",
        b"two\n",
        b"[submodule \"..\"]\n\tpath = x\n\turl = x\n",
        BIG,
    ]);
    let mode = prop::sample::select(vec![0o644, 0o755, 0o600, 0o440]);
    prop_oneof![
        8 => (name(), content, mode).prop_map(|(n, c, m)| Change::File(n, c, m)),
        2 => (name(), prop::sample::select(vec!["a/x", "nowhere", "c", "/", "../.."]))
            .prop_map(|(n, to)| Change::Link(n, to)),
        2 => name().prop_map(Change::Folder),
        4 => name().prop_map(Change::Remove),
        1 => prop::sample::select(vec!["a", "b/x", "*.o", "c/"]).prop_map(Change::Ignore),
        1 => prop::sample::select(vec!["", "* text=auto\n", "* text eol=crlf\n", "a* -text\n"]).prop_map(Change::Attributes),
        1 => name().prop_map(Change::Fifo),
        4 => name().prop_map(Change::Stage),
        1 => name().prop_map(Change::Unstage),
        1 => name().prop_map(Change::Intend),
        1 => (name(), prop::sample::select(vec!["--assume-unchanged", "--skip-worktree"]))
            .prop_map(|(n, flag)| Change::Flag(n, flag)),
        1 => (name(), prop::sample::select(vec![&[1, 2, 3][..], &[2, 3], &[1, 2], &[1, 3], &[1]]))
            .prop_map(|(n, stages)| Change::Conflict(n, stages)),
        // Also where the index has files: one that holds some is a directory like any, as long as it does.
        1 => prop::sample::select([&NAMES[..], &[b"nested", b"d/nested"]].concat()).prop_map(Change::Repository),
    ]
}

fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

fn os(name: Name) -> &'static OsStr {
    OsStr::from_bytes(name)
}

/// Nothing at the path, and directories above it.
fn room(world: &World, name: Name) -> std::path::PathBuf {
    let path = world.path(os(name));
    let parent = path.parent().unwrap().to_owned();
    let mut above = world.repo();
    for part in parent.strip_prefix(world.repo()).unwrap().to_owned().components() {
        above.push(part);
        if !fs::symlink_metadata(&above).is_ok_and(|meta| meta.is_dir()) {
            clear(&above);
            fs::create_dir(&above).unwrap();
        }
    }
    clear(&path);
    path
}

fn apply(world: &World, change: &Change) {
    // git refuses some of these, and then nothing is staged.
    let git = |arguments: &[&str], name: Name| {
        let all = ["--literal-pathspecs"].iter().chain(arguments).map(OsStr::new);
        drop(world.git(all.chain(["--".as_ref(), os(name)])));
    };
    match change {
        Change::File(name, content, mode) => {
            let path = room(world, name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        Change::Link(name, to) => symlink(to, room(world, name)).unwrap(),
        Change::Folder(name) => fs::create_dir(room(world, name)).unwrap(),
        Change::Remove(name) => drop(room(world, name)),
        Change::Ignore(rule) => {
            let mut rules = fs::read_to_string(world.path(".gitignore")).unwrap_or_default();
            rules.push_str(rule);
            rules.push('\n');
            fs::write(world.path(".gitignore"), rules).unwrap();
        }
        Change::Attributes(rule) => fs::write(world.path(".gitattributes"), rule).unwrap(),
        Change::Fifo(name) => {
            let path = room(world, name);
            drop(world.command("mkfifo", [path.as_os_str()]).run());
        }
        Change::Repository(name) => {
            let path = room(world, name);
            let init = ["init".as_ref(), "-q".as_ref(), path.as_os_str()];
            world.git(init).success();
            fs::write(path.join("of its own"), "x").unwrap();
        }
        Change::Stage(name) => git(&["add", "--force"], name),
        Change::Unstage(name) => git(&["rm", "-rq", "--cached"], name),
        Change::Intend(name) => git(&["add", "--force", "-N"], name),
        Change::Flag(name, flag) => git(&["update-index", flag], name),
        Change::Conflict(name, stages) => {
            // No file and directory of one name: a tree cannot hold both.
            let mut lines = Vec::new();
            let slashes = name
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'/')
                .map(|(at, _)| at);
            for at in slashes.chain([name.len()]) {
                git(&["rm", "-rq", "--cached"], name);
                lines.extend([format!("0 {} 0\t", "0".repeat(40)).as_bytes(), &name[..at], b"\0"].concat());
            }
            for (stage, text) in [(1, "base\n"), (2, "ours\n"), (3, "theirs\n")] {
                if !stages.contains(&stage) {
                    continue;
                }
                let id = world
                    .command("git", ["hash-object", "-w", "--stdin"])
                    .input(text)
                    .run()
                    .stdout()
                    .trim()
                    .to_owned();
                lines.extend([format!("100644 {id} {stage}\t").as_bytes(), name, b"\0"].concat());
            }
            drop(
                world
                    .command("git", ["update-index", "-z", "--index-info"])
                    .input(lines)
                    .run(),
            );
        }
    }
}

struct State {
    files: std::collections::BTreeMap<Vec<u8>, String>,
    index: String,
    status: BTreeSet<String>,
    /// Paths, and directories, that git ignores.
    ignored: Vec<Vec<u8>>,
    /// Files of the index that are not there and need not be.
    left_out: Vec<Vec<u8>>,
}

fn state(world: &World) -> State {
    // Quoted by git, as there are names that are no text.
    let quoted = |arguments: &[&str]| world.git(arguments);
    let ignored = world.git(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
    let files = crate::restore::disk(&world.repo());
    // Other repositories are not reported where a whole directory is ignored.
    let repositories = files
        .keys()
        .filter_map(|path| path.strip_suffix(b"/.git"))
        .map(<[u8]>::to_vec);
    let repositories: Vec<_> = repositories.collect();
    let tagged = world.git(["ls-files", "-t", "-z"]);
    let left_out = tagged.stdout_bytes().split(|byte| *byte == 0);
    let left_out = left_out.filter_map(|line| line.strip_prefix(b"S "));
    State {
        left_out: left_out
            .filter(|path| !files.contains_key(*path))
            .map(<[u8]>::to_vec)
            .collect(),
        files,
        // What was added with `git add -N` has the mode that the file had then, which no list shows.
        index: quoted(&["ls-files", "--stage"])
            .stdout()
            .replace("100755 e69de29b", "100644 e69de29b")
            .replace("120000 e69de29b", "100644 e69de29b"),
        status: quoted(&["status", "--porcelain=v2", "--untracked-files=all"])
            .stdout()
            .lines()
            .map(str::to_owned)
            .collect(),
        ignored: ignored
            .stdout_bytes()
            .split(|byte| *byte == 0)
            .map(<[u8]>::to_vec)
            .chain(repositories)
            .collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn saved_scrambled_restored_and_undone(
        line_ends in prop::sample::select(vec!["false", "false", "true", "input"]),
        first in prop::collection::vec(change(), 0..15),
        second in prop::collection::vec(change(), 0..15),
        third in prop::collection::vec(change(), 1..15),
    ) {
        let world = World::with_commit();
        world.git(["config", "core.autocrlf", line_ends]).success();
        world.git(["config", "checkpoint.maxFileSize", "2k"]).success();
        for change in &first {
            apply(&world, change);
        }
        world.git(["commit", "-q", "--allow-empty", "-m", "second"]);
        for change in &second {
            apply(&world, change);
        }
        let saved = world.checkpoint(["save", "--allow-empty", "-m", "then", "--json"]);
        prop_assume!(saved.is_success());
        let skipped = saved.stdout_json()["skipped"].clone();
        let skipped: BTreeSet<String> =
            skipped.as_array().unwrap().iter().map(|s| s["path"].as_str().unwrap().to_owned()).collect();
        let then = state(&world);
        for change in &third {
            apply(&world, change);
        }
        let now = state(&world);
        // Half of a name unmerged as a directory and half of it a file: no tree holds both, and no merge leaves that.
        prop_assume!(!clashes(&then.index) && !clashes(&now.index));
        let restored = world.checkpoint(["restore", "@", "--index", "--force", "--json"]);
        if !restored.is_success() {
            // Only what nothing can hold stops it: a FIFO in the way, say.
            restored.code(4);
            let after = state(&world);
            prop_assert_eq!(after.files, now.files);
            prop_assert_eq!(after.index, now.index);
            return Ok(());
        }
        let after = state(&world);
        let plan = restored.stdout_json()["plan"].clone();
        // What was kept or skipped is reported, path by path; nothing else may differ.
        let told: Vec<Vec<u8>> = plan
            .as_array()
            .unwrap()
            .iter()
            .filter(|line| line["act"] == "keep" || line["act"] == "skip")
            .map(|line| unquoted(line["path"].as_str().unwrap()))
            .chain(skipped.iter().map(|path| unquoted(path)))
            // With skip-worktree a file that is not there is not deleted, for git as well.
            .chain(now.left_out.iter().cloned())
            .chain(then.ignored.iter().chain(&now.ignored).cloned())
            .filter(|path| !path.is_empty())
            .collect();
        let excused = |path: &[u8]| told.iter().any(|told| {
            // The path, what is in it, or a directory that stays because of it.
            let inside = |one: &[u8], other: &[u8]| one.strip_prefix(other).is_some_and(|r| r.is_empty() || r[0] == b'/');
            let told = told.strip_suffix(b"/").unwrap_or(told);
            inside(path, told) || inside(told, path)
        });
        let paths: BTreeSet<_> = then.files.keys().chain(after.files.keys()).collect();
        for path in paths {
            let (was, is) = (then.files.get(path), after.files.get(path));
            // git does not list empty directories and FIFOs that are ignored.
            let unlisted = |text: Option<&String>| text.is_none_or(|text| text == "folder" || text == "special");
            let has_rules = |state: &State| state.files.contains_key(&b".gitignore"[..]);
            let ignored = unlisted(was) && unlisted(is) && (has_rules(&then) || has_rules(&now));
            prop_assert!(was == is || ignored || excused(path), "{}: {was:?} became {is:?}", String::from_utf8_lossy(path));
        }
        let lacking = restored.stdout_json()["index_lacking"].as_array().unwrap().len();
        if lacking == 0 {
            prop_assert_eq!(&after.index, &then.index);
        }
        // With line ends converted, git's status goes by the size that a file had when its entry was made.
        let converts = |state: &State| state.files.contains_key(&b".gitattributes"[..]);
        let plain = line_ends == "false" && !converts(&then) && !converts(&now);
        if told.is_empty() && lacking == 0 && plain {
            prop_assert_eq!(&after.status, &then.status);
        }
        let undone = world.checkpoint(["undo", "--json"]);
        if restored.stdout_json()["outcome"] == "nothing" {
            undone.code(1);
        } else {
            undone.success();
        }
        let back = state(&world);
        prop_assert_eq!(&back.files, &now.files);
        if undone.is_success() && undone.stdout_json()["index_lacking"].as_array().unwrap().is_empty() {
            prop_assert_eq!(&back.index, &now.index);
            if plain {
                prop_assert_eq!(&back.status, &now.status);
            }
        }
        world.git(["fsck", "--strict"]).success();
    }
}

/// Whether a name of the index is a file and a directory.
fn clashes(index: &str) -> bool {
    let paths: BTreeSet<&str> = index
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(_, path)| path)
        .collect();
    let below = |path: &&str| {
        let inside = |other: &&str| other.strip_prefix(*path).is_some_and(|rest| rest.starts_with('/'));
        paths.iter().any(inside)
    };
    paths.iter().any(below)
}

fn unquoted(path: &str) -> Vec<u8> {
    git_checkpoint::model::path::RepoPath::from_quoted(path)
        .unwrap()
        .as_bytes()
        .to_vec()
}

/// More with `CHECKPOINT_TEST_CASES`.
fn cases() -> u32 {
    std::env::var("CHECKPOINT_TEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(16)
}
