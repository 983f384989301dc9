//! Nothing that the environment and the command line say about the first repository reaches a second one: a fork's
//! working tree, a submodule, a nested repository; and `..` in the names of repositories and working trees.

use std::fs;

use crate::support::{Output, PROGRAM, World};

/// Arguments of git, and variables, that speak of the first repository. `@` represents its path.
type First<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);

const FIRST: &[First<'_>] = &[
    (&[], &[]),
    (&["--work-tree=."], &[]),
    (&["--git-dir=.git"], &[]),
    (&["--git-dir=@/.git", "--work-tree=@"], &[]),
    (&[], &[("GIT_WORK_TREE", "@")]),
    (&[], &[("GIT_INDEX_FILE", "@/.git/index")]),
    (&[], &[("GIT_INDEX_FILE", ".git/index")]),
    (
        &[],
        &[
            ("GIT_DIR", ".git"),
            ("GIT_WORK_TREE", "."),
            ("GIT_INDEX_FILE", ".git/index"),
            ("GIT_PREFIX", ""),
        ],
    ),
    (&[], &[("GIT_OBJECT_DIRECTORY", "@/.git/objects")]),
    (&[], &[("GIT_DIR", "@/.git"), ("GIT_COMMON_DIR", "@/.git")]),
    (&["-c", "core.worktree=@"], &[]),
    (&["-c", "gitoxide.core.indexFile=@/.git/index"], &[]),
    (
        &["-c", "core.worktree=.."],
        &[("GIT_INDEX_FILE", "@/.git/index"), ("GIT_NAMESPACE", "space")],
    ),
];

/// Runs the program below git with what is said about the first repository.
fn run(world: &World, (options, variables): First<'_>, arguments: &[&str]) -> Output {
    let place = world.repo().canonicalize().unwrap();
    let filled = |text: &str| text.replace('@', place.to_str().unwrap());
    let mut line: Vec<String> = options.iter().map(|option| filled(option)).collect();
    line.push("checkpoint".to_owned());
    line.extend(arguments.iter().map(|word| (*word).to_owned()));
    let mut command = world.command("git", line);
    for (name, value) in variables {
        command = command.env(name, filled(value));
    }
    command.run()
}

#[test]
fn a_fork_touches_its_own_working_tree_and_index_alone() {
    for (n, first) in FIRST.iter().enumerate() {
        let world = World::with_commit();
        world.file("a", "1\n");
        world.git(["add", "a"]).success();
        world.git(["commit", "--quiet", "-m", "a"]).success();
        world.file("a", "staged\n");
        world.git(["add", "a"]).success();
        world.file("a", "saved\n");
        world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
        world.git(["reset", "--quiet"]).success();
        world.file("a", "later\n");
        world.file("later/file", "precious");
        let before = world.git_line(["ls-files", "-s"]);
        let path = format!("../fork-{n}");
        run(&world, *first, &["fork", "s", "--name", "f", "--worktree", &path]).success();
        assert_eq!(world.read("a"), b"later\n", "{first:?}");
        assert_eq!(world.read("later/file"), b"precious", "{first:?}");
        assert_eq!(world.git_line(["ls-files", "-s"]), before, "{first:?}");
        world.enter(format!("fork-{n}"));
        assert_eq!(world.read("a"), b"saved\n", "{first:?}");
        assert!(!world.path("later").exists(), "{first:?}");
        assert_eq!(world.git_line(["show", ":a"]), "staged", "{first:?}");
        assert_eq!(world.git_line(["status", "--short"]), "MM a", "{first:?}");
    }
}

/// How many submodules a checkpoint says have changes of their own.
fn changed(world: &World) -> usize {
    let shown = world.git(["show", "checkpoints/s:checkpoint.json"]);
    let document = shown.success().stdout_json();
    let list = &document["git"]["submodules_changed"];
    usize::try_from(list["count"].as_u64().unwrap_or(0)).unwrap()
}

/// A repository with a submodule `sm`, which has a submodule of its own `inner`.
fn with_submodules() -> World {
    let world = World::with_commit();
    for name in ["inner", "sub"] {
        let directory = world.root().join(name);
        fs::create_dir(&directory).unwrap();
        world.enter(name);
        world.git(["init", "--quiet", "--initial-branch=main"]).success();
        world.file("file", name);
        world.git(["add", "file"]).success();
        world.git(["commit", "--quiet", "-m", name]).success();
    }
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    world.git([&add[..], &["../inner", "inner"]].concat()).success();
    world.git(["commit", "--quiet", "-m", "inner"]).success();
    world.enter("repo");
    world.git([&add[..], &["../sub", "sm"]].concat()).success();
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    world.git([&add[..2], &update[..]].concat()).success();
    world.git(["commit", "--quiet", "-m", "sm"]).success();
    world
}

#[test]
fn a_submodule_is_looked_at_with_its_own_index_and_files() {
    let world = with_submodules();
    assert_eq!(world.git_line(["status", "--short"]), "");
    for first in FIRST {
        world.file("a", format!("{first:?}"));
        run(&world, *first, &["save", "--session", "s", "-m", "clean"]).success();
        assert_eq!(changed(&world), 0, "{first:?}");
    }
    // The same where something did change, in the submodule and in the one below it.
    for path in ["sm/file", "sm/inner/file"] {
        world.file(path, "changed");
        for first in FIRST {
            world.file("a", format!("{path} {first:?}"));
            run(&world, *first, &["save", "--session", "s", "-m", "changed"]).success();
            assert_eq!(changed(&world), 1, "{path} {first:?}");
        }
        world
            .git(["-C", "sm", "submodule", "foreach", "--quiet", "git checkout --quiet ."])
            .success();
        world.git(["-C", "sm", "checkout", "--quiet", "."]).success();
    }
}

#[test]
fn a_hook_calls_a_clean_submodule_clean() {
    let world = with_submodules();
    world.checkpoint(["start", "s", "--quiet"]).success();
    world.checkpoint(["hooks", "install", "--quiet"]).success();
    for (n, arguments) in [&["-a"][..], &["--", "README.md"], &["-a", "--amend"]]
        .iter()
        .enumerate()
    {
        world.file("README.md", format!("{n}"));
        world
            .git([&["commit", "--quiet", "-m", "work"], *arguments].concat())
            .success();
        assert_eq!(changed(&world), 0, "{arguments:?}");
    }
    world.checkpoint(["log", "--oneline"]).success().stdout_has("work");
}

#[test]
fn a_filter_of_a_fork_does_not_see_the_variables_of_the_first_repository() {
    let world = World::with_commit();
    let log = world.root().join("log");
    let smudge = format!(
        "echo $(pwd) $(env | grep -c '^GIT_\\(DIR\\|INDEX_FILE\\|WORK_TREE\\|CONFIG_PARAMETERS\\)=') >>{}; cat",
        log.display()
    );
    world.file(".gitattributes", "*.x filter=f\n");
    world.file("a.x", "one\n");
    world.git(["config", "filter.f.clean", "cat"]).success();
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "x"]).success();
    world.file("a.x", "two\n");
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    let index = world.path(".git/index");
    world.git(["config", "filter.f.smudge", &smudge]).success();
    let line = [
        "-c",
        "a.b=c",
        "checkpoint",
        "fork",
        "s",
        "--name",
        "f",
        "--worktree",
        "../fork",
    ];
    let command = world.command("git", line).env("GIT_INDEX_FILE", &index);
    command.run().success();
    let counts = fs::read_to_string(log).unwrap();
    // The first one is git's, which sets some for the working tree that it makes.
    let last = counts.lines().filter_map(|line| line.split_once("/fork ")).next_back();
    assert_eq!(last.map(|(_, count)| count), Some("0"), "{counts}");
    world.enter("fork");
    assert_eq!(world.read("a.x"), b"two\n");
}

/// The working tree that git takes for these arguments, from a directory.
fn git_says(world: &World, directory: &str, options: &[&str]) -> String {
    let line = [options, &["rev-parse", "--show-toplevel"]].concat();
    let output = world.command("git", line).within(directory).run();
    output.success().stdout().trim().to_owned()
}

#[test]
fn two_dots_lead_where_the_file_system_says() {
    let world = World::without_repository();
    for directory in ["w/deep", "g", "far/away", "other"] {
        fs::create_dir_all(world.path(directory)).unwrap();
    }
    std::os::unix::fs::symlink("far/away", world.path("link")).unwrap();
    std::os::unix::fs::symlink("../../g/.git", world.path("far/away/repo.git")).unwrap();
    world.file("g/letter.txt", "not of any repository");
    world.file("far/letter.txt", "nor this");
    world.file("w/a", "1\n");
    world.git(["init", "--quiet", "--initial-branch=main", "g"]).success();
    // The setting, the directory, the options of git.
    let cases: &[(&str, &str, &[&str])] = &[
        ("../../w", "w", &["--git-dir=../g/.git"]),
        ("../../w", "w/deep", &["--git-dir=../../g/.git"]),
        ("../../w", "w", &["--git-dir=../w/../g/.git"]),
        ("../../w", "w", &["--git-dir=../link/../../g/.git"]),
        ("../../w", "w", &["--git-dir=../link/repo.git"]),
        ("../../w/../w", "w", &["--git-dir=../g/.git"]),
        ("../../w/./../w", "w/deep", &["--git-dir=../../far/../g/.git"]),
        ("../../w", "g/.git/refs", &[]),
        ("../../w", "g", &[]),
        ("../../w/deep/..", "w", &["--git-dir=../g/.git"]),
    ];
    for (n, (setting, directory, options)) in cases.iter().enumerate() {
        let case = format!("{setting} in {directory}, {options:?}");
        world.git(["-C", "g", "config", "core.worktree", setting]).success();
        let place = world.path("w").canonicalize().unwrap();
        assert_eq!(git_says(&world, directory, options), place.to_str().unwrap(), "{case}");
        let ask = |line: &[&str]| {
            let line = [options, line].concat();
            world.command("git", line).within(directory).run().success();
        };
        world.file("w/a", format!("{n}\n"));
        let message = format!("{n}");
        ask(&["checkpoint", "save", "--session", "s", "-m", &message]);
        assert_eq!(
            world.git_line(["-C", "g", "ls-tree", "-r", "--name-only", "checkpoints/s^2"]),
            "a",
            "{case}"
        );
        world.file("w/a", "changed\n");
        ask(&["checkpoint", "restore", "s", "--force"]);
        assert_eq!(world.read("w/a"), format!("{n}\n").as_bytes(), "{case}");
        assert_eq!(world.read("g/letter.txt"), b"not of any repository", "{case}");
        assert_eq!(world.read("far/letter.txt"), b"nor this", "{case}");
        assert!(!world.path("g/a").exists(), "{case}");
    }
    // The setting counts in a submodule's own directory, too, and with a variable in place of the option.
    let output = world
        .command(PROGRAM, ["status"])
        .within("w")
        .env("GIT_DIR", "../w/../g/.git")
        .run();
    output.success().stdout_has("s");
}
