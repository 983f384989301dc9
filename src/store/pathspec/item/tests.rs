//! Pathspecs compared with `git ls-files`.

use std::{fs, path::Path};

use gix::bstr::ByteSlice;
use proptest::prelude::*;

use super::super::*;
use crate::store::EncryptedSessions;

/// No name is a directory in one and a file in another.
const NAMES: &[&str] = &[
    "a",
    "b.rs",
    "src/main.rs",
    "src/deep/x.txt",
    "src/deep/B",
    "a[b]/y",
    "a[b]/*/z",
    "ab/y",
    "B/c",
    ".x",
    "..x/y",
    "s/\u{e9}",
    "q\\/x",
    "A",
];
const DIRECTORIES: &[&str] = &["", "src", "src/deep", "a[b]", "..x"];
const WORDS: &[&str] = &[
    "",
    "",
    "",
    ":/",
    ":",
    "::",
    ":(glob)",
    ":(literal)",
    ":(icase)",
    ":(glob,icase)",
    ":(literal,icase)",
    ":(top,glob)",
    ":(top)",
    ":(top,icase)",
    ":!",
    ":^",
    ":(exclude,glob)",
    ":!/",
    ":(exclude,icase)",
];
const PARTS: &[&str] = &[
    "a", "src", "deep", "*", "**", "?", "a[b]", "[ab]", "A", "x.txt", "*.txt", ".", "..", ".", "..", "s*", "*e*p",
    "\\a", "SRC", "", "..x", ".x", "q\\", "[!a]*",
];

fn specs() -> impl Strategy<Value = Vec<String>> {
    let path = prop::collection::vec(prop::sample::select(PARTS), 0..4);
    let spec = (prop::sample::select(WORDS), path, any::<bool>()).prop_map(|(word, parts, slash)| {
        let end = if slash && !parts.is_empty() { "/" } else { "" };
        let spec = format!("{word}{}{end}", parts.join("/"));
        if spec.is_empty() { ".".to_owned() } else { spec }
    });
    prop::collection::vec(spec, 1..4)
}

/// A repository whose index has these files.
fn repository(names: &[&str]) -> (tempfile::TempDir, Repository) {
    let outside = tempfile::tempdir().expect("a directory");
    let repo = Repository::new(
        gix::init(outside.path().canonicalize().expect("there")).expect("a repository"),
        EncryptedSessions::default(),
    );
    for directory in DIRECTORIES {
        fs::create_dir_all(outside.path().join(directory)).expect("made");
    }
    let id = ObjectId::empty_blob(repo.object_hash());
    let lines: Vec<String> = names.iter().map(|name| format!("100644 {id}\t{name}\0")).collect();
    let git = crate::store::git(&repo).args(["update-index", "--add", "-z", "--index-info"]);
    git.input(lines.concat()).run().expect("an index");
    (outside, repo)
}

/// Paths that git lists; `None` when it refuses the pathspecs. Exclusions are passed on their own: with a common prefix
/// of the others, git 2.47 reads exclusions relative to that prefix, also where they are shorter.
fn listed(repo: &Repository, directory: &str, specs: &[String]) -> Option<Vec<String>> {
    let (excluded, chosen): (Vec<&str>, Vec<&str>) =
        specs.iter().map(String::as_str).partition(|spec| is_excluded(spec));
    let mut names = ask(repo, directory, &chosen)?;
    for spec in excluded {
        let out = spec
            .replacen("exclude,", "", 1)
            .replacen(['!', '^'], "", usize::from(!spec.starts_with(":(")));
        let out = ask(repo, directory, &[&out])?;
        names.retain(|name| !out.contains(name));
    }
    Some(names)
}

fn is_excluded(spec: &str) -> bool {
    [":!", ":^", ":(exclude,"].iter().any(|word| spec.starts_with(word))
}

fn ask(repo: &Repository, directory: &str, specs: &[&str]) -> Option<Vec<String>> {
    let top = repo.workdir().expect("a working tree");
    let git = crate::store::git(repo).env("GIT_LITERAL_PATHSPECS", "0");
    let git = git.cwd(if specs.is_empty() {
        top.to_owned()
    } else {
        top.join(directory)
    });
    let git = git
        .args(["ls-files", "-z", "--full-name", "--"])
        .args(specs.iter().copied());
    let output = git.accept([0, 128]).run().expect("git ran");
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    (output.code == 0).then(|| names.map(|name| name.to_str_lossy().into_owned()).collect())
}

/// Paths that the filter keeps; `None` when it refuses the pathspecs.
fn kept(repo: &Repository, directory: &str, specs: &[String], names: &[&str]) -> Option<Vec<String>> {
    let filter = PathFilter::new(repo, specs, Path::new(directory)).ok()?;
    let kept = names.iter().filter(|name| filter.keeps(&RepoPath::from(**name)));
    let mut kept: Vec<String> = kept.map(|name| (*name).to_owned()).collect();
    kept.sort();
    Some(kept)
}

/// Whether everything that a pathspec matches is in a directory that is looked into.
fn is_found(filter: &PathFilter, names: &[&str]) -> bool {
    let directories = |name: &str| name.match_indices('/').map(|(at, _)| at + 1).collect::<Vec<_>>();
    let found = |item: &Pathspec, name: &str| {
        !item.matches(name.as_bytes(), false)
            || directories(name)
                .iter()
                .all(|end| item.may_match_below(&name.as_bytes()[..*end]))
    };
    filter
        .chosen
        .iter()
        .all(|(_, item)| names.iter().all(|name| found(item, name)))
}

#[test]
fn forms_of_everything_and_of_names_with_wildcards() {
    let (_outside, repo) = repository(NAMES);
    let top = repo
        .workdir()
        .expect("a working tree")
        .to_str()
        .expect("UTF-8")
        .trim_end_matches('/');
    let table: &[(&str, &[&str])] = &[
        ("", &["."]),
        ("", &["./"]),
        ("", &["././."]),
        ("", &["src/.."]),
        ("", &[":(glob)."]),
        ("", &[":(literal)."]),
        ("", &[":(icase)./"]),
        ("", &[".", "src"]),
        ("", &["src", "."]),
        ("", &[".", ":!src"]),
        ("", &[".", ":!."]),
        ("", &["src", ":!."]),
        ("", &[":"]),
        ("", &[":/"]),
        ("", &[":(top)"]),
        ("", &[":(top)."]),
        ("", &[":/./a"]),
        ("src", &[".."]),
        ("src", &["../"]),
        ("src", &["."]),
        ("src", &[":"]),
        ("src", &[":/"]),
        ("src", &["..", ":!main.rs"]),
        ("src", &["../.."]),
        ("src/deep", &["../.."]),
        ("src/deep", &["../../."]),
        ("src/deep", &["../../.."]),
        ("", &["a[b]/"]),
        ("", &["a[b]"]),
        ("", &["a[b]/y"]),
        ("a[b]", &["."]),
        ("a[b]", &["y"]),
        ("a[b]", &["*"]),
        ("a[b]", &["*/"]),
        ("", &["q\\"]),
        ("", &["/"]),
        ("", &["/elsewhere"]),
        ("", &["TOP"]),
        ("src", &["TOP/"]),
        ("src", &["TOP/src/../a[b]/"]),
        ("src", &["TOP/.."]),
    ];
    for (directory, specs) in table {
        let specs: Vec<String> = specs.iter().map(|spec| spec.replace("TOP", top)).collect();
        let git = listed(&repo, directory, &specs);
        assert_eq!(kept(&repo, directory, &specs, NAMES), git, "{specs:?} in '{directory}'");
    }
    let all = kept(&repo, "", &[".".to_owned()], NAMES);
    assert_eq!(all.map(|all| all.len()), Some(NAMES.len()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chooses_what_git_chooses(
        names in prop::sample::subsequence(NAMES, 1..=NAMES.len()),
        tries in prop::collection::vec((prop::sample::select(DIRECTORIES), specs()), 12),
    ) {
        let (_outside, repo) = repository(&names);
        for (directory, specs) in tries {
            let git = listed(&repo, directory, &specs);
            prop_assert_eq!(kept(&repo, directory, &specs, &names), git, "{:?} in '{}'", specs, directory);
            if let Ok(filter) = PathFilter::new(&repo, &specs, Path::new(directory)) {
                prop_assert!(is_found(&filter, &names), "{:?} in '{}'", specs, directory);
            }
        }
    }
}
