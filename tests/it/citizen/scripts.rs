//! Conventions that scripts rest on: pathspecs from files, JSON a line each, dry runs, what ties commits to
//! checkpoints, and what is reported when something was typed wrongly. The list of all is in `conventions`.

use super::conventions::session;
use crate::support::World;

/// Each kind of fault at the borders names tests that exist and inputs that stand in them.
#[test]
fn the_list_of_kinds_at_the_borders_names_real_tests_and_inputs() {
    let world = World::without_repository();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/borders");
    let listed = world.command("python3", ["-B", script, "--kinds"]).run();
    listed.success().stdout_has(" kinds\n");
}

/// A typing error in a pathspec is not taken for success without a word.
#[test]
fn row_05_pathspecs_that_choose_nothing() {
    let world = session();
    world.file("README.md", "again\n");
    for command in ["restore", "apply"] {
        world
            .checkpoint([command, "auth", "--", "REDME.md"])
            .code(3)
            .stderr_has("pathspec 'REDME.md' did not match any file");
        world
            .checkpoint([command, "auth", "--", "src"])
            .success()
            .stderr_has("warning: no selected file differs");
    }
    assert_eq!(world.read("README.md"), b"again\n");
}

/// Messages of libraries are reported in our form: no jargon of theirs, no signs of their language.
#[test]
fn row_19_what_libraries_say_is_told_in_our_words() {
    let world = session();
    world.file("bad.json", "{\n");
    for (args, said) in [
        (
            &["log", "-n", "x"][..],
            "'--max-count <N>': it must be a whole number\nhint: see: git checkpoint help log\n",
        ),
        (
            &["list", "--status", "x"],
            "interrupted]\nhint: see: git checkpoint help list\n",
        ),
        (
            &["save", "--record", "bad.json"],
            "the record 'bad.json': not valid JSON: it ends within an object",
        ),
        (
            &["diff", "--", ":(bad)x"],
            "pathspec ':(bad)x': found invalid keyword in pathspec signature\n",
        ),
        (&["import", "nofile"], "'nofile': no such file or directory\n"),
        (&["switch", "-"], "there is no previous session in this working tree\n"),
    ] {
        let out = world.checkpoint(args);
        assert!(!out.is_success());
        out.no_stdout().stderr_has(said);
    }
    // Wrong usage is reported in the colors that were asked for as well.
    let colored = |arg: &str| world.checkpoint(["lst", arg]).code(129).stderr().contains("\x1b[");
    assert!(colored("--color=always") && !colored("--color=never"));
    world.file(".git/checkpoint/current", "{\n");
    world
        .checkpoint(["save"])
        .code(128)
        .stderr_has("it ends within an object at line 2 column 0\nhint: ");
    let outside = World::without_repository();
    outside
        .checkpoint(["save"])
        .code(128)
        .stderr_has("\nhint: ")
        .stderr_has("git init");
}

/// Pathspecs from a file or standard input, quoted or ended with NUL, and git's switches for how they are read.
#[test]
fn row_05_pathspecs_from_a_file() {
    let world = session();
    world.file("src/main.txt", "other\n");
    world.file("a\tb", "tab\n");
    world.file("*", "star\n");
    world.git(["add", "--all"]).success();
    world.file("../specs", "\"a\\tb\"\r\n\nsrc\n");
    let diff = |args: &[&str], input: &str| {
        let args = ["diff", "--name-only", "-z"].iter().chain(args);
        let run = world.command(crate::support::PROGRAM, args);
        run.input(input).run()
    };
    let file = world.root().join("specs");
    let file = format!("--pathspec-from-file={}", file.display());
    diff(&[&file], "").success().stdout_is("a\tb\0src/main.txt\0");
    let stdin = "--pathspec-from-file=-";
    diff(&[stdin, "--pathspec-file-nul"], "src\0:(literal)*\0")
        .success()
        .stdout_is("*\0src/main.txt\0");
    // Nothing is not everything.
    diff(&[stdin], "\n").code(128).stderr_has("'-' has no pathspec\nhint: ");
    diff(&[stdin], "\"open\n").code(128).stderr_has("malformed quoting");
    diff(&[stdin, "--", "src"], "").code(129);
    diff(&["--pathspec-file-nul"], "").code(129);
    let literal = world.git(["--literal-pathspecs", "checkpoint", "diff", "--name-only", "--", "*"]);
    literal.success().stdout_is("*\n");
    let glob = world.git(["--glob-pathspecs", "checkpoint", "diff", "--name-only", "--", "s*.txt"]);
    glob.code(3).stderr_has("s*.txt' did not match any file");
    let icase = world.git(["--icase-pathspecs", "checkpoint", "diff", "--name-only", "--", "SRC/*"]);
    icase.success().stdout_is("src/main.txt\n");
    // The same in the other commands that take pathspecs.
    for args in [
        &["compare", "auth~1", "auth"][..],
        &["restore", "auth", "--dry-run", "--overlay"],
        &["apply", "auth", "--dry-run"],
        &["purge", "--dry-run"],
    ] {
        let args: Vec<_> = args.iter().chain(&[stdin]).copied().collect();
        let run = |input: &str| world.command(crate::support::PROGRAM, &args).input(input).run();
        run("src\n").success();
        run("").code(128).stderr_has("has no pathspec");
    }
}

#[test]
fn row_14_json_a_line_each() {
    let world = session();
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["task", "add", "one"]).success();
    world.checkpoint(["task", "add", "two"]).success();
    world.checkpoint(["note", "x"]).success();
    let help = world.checkpoint(["help", "schemas"]).success().stdout().to_owned();
    for (args, thing, count) in [
        (&["list"][..], "list", 2),
        (&["log", "auth"], "log", 2),
        (&["log", "--notes"], "notes", 1),
        (&["task", "list"], "items", 2),
        (&["verify", "--all"], "verify", 0),
        (&["remote", "status"], "remote-status", 0),
        (&["message", "list"], "messages", 0),
        (&["step", "list"], "steps", 0),
    ] {
        let one = world.checkpoint(args.iter().chain(&["--json"])).success().stdout_json();
        let lines = world.checkpoint(args.iter().chain(&["--json=lines"]));
        let lines: Vec<serde_json::Value> = lines
            .success()
            .stdout()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let schema = world.checkpoint(["help", "schemas", thing]).success().stdout_json();
        let member = schema["x-lines"].as_str().unwrap();
        assert_eq!(lines.len(), count, "{args:?}: {lines:?}");
        assert_eq!(one[member].as_array().unwrap(), &lines, "{args:?}");
        assert!(help.contains(&format!("(lines: '{member}')")), "{help}");
    }
    // What lists nothing is one line, and an error is as with --json.
    let status = world
        .checkpoint(["status", "--json=lines"])
        .success()
        .stdout()
        .to_owned();
    assert_eq!(status.lines().count(), 1);
    world
        .checkpoint(["show", "nothing", "--json=lines"])
        .code(3)
        .no_stdout()
        .stderr_has("{\"error\":{\"code\":\"not-found\"");
    world
        .checkpoint(["lst", "--json=lines"])
        .code(129)
        .stderr_has("{\"error\"");
    world.checkpoint(["list", "--json=xml"]).code(129).no_stdout();
}

#[test]
fn row_23_a_dry_run_makes_the_same_checks_and_changes_nothing() {
    let world = session();
    world.checkpoint(["start", "other"]).success();
    let all = || {
        let refs = world.git(["for-each-ref"]).success().stdout().to_owned();
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        let pins = std::fs::read(world.repo().join(".git/checkpoint/pins")).unwrap_or_default();
        (refs, status["current"]["session"].clone(), pins)
    };
    let before = all();
    let hooks = || std::fs::read_dir(world.path(".git/hooks")).unwrap().count();
    let there = hooks();
    for (line, said) in [
        (
            &["rename", "auth", "login"][..],
            "Would rename session auth to login\nDry run: nothing was changed.\n",
        ),
        (&["switch", "auth"], "Would switch to session auth, active\n"),
        (&["delete", "auth"], "Would delete session auth, 2 checkpoints, last "),
        (
            &["start", "third", "--task", "x"],
            "Would start session third\nDry run: nothing was changed.\n",
        ),
        (&["start", "auth", "--if-missing"], "Session "),
        (&["fork", "auth~1", "--name", "try"], "Would fork "),
        (&["fork", "@", "--worktree", "../try"], "Would fork "),
        (&["hooks", "install"], "post-commit    would be installed\n"),
        (
            &["hooks", "uninstall"],
            "No git hooks of git-checkpoint are installed.\n",
        ),
        (
            &["export", "--format", "handoff", "-o", "../try", "auth"],
            "Would write ../try, from ",
        ),
        (&["export", "--format", "folder", "-o", "../try"], "Would write "),
        (&["clear", "--messages", "--session", "auth"], "Nothing to clear"),
        (
            &["clear", "--all", "--session", "auth"],
            "Would clear messages, summary,",
        ),
        (&["pin", "auth@half"], "Would pin "),
        (&["unpin", "auth@half"], "Not pinned: "),
    ] {
        let out = world.checkpoint(line.iter().chain(&["--dry-run"]));
        assert!(out.success().stdout().starts_with(said), "{out}");
        assert_eq!(all(), before, "{line:?}");
        assert_eq!(hooks(), there, "{line:?}");
        assert!(!world.root().join("try").exists(), "{line:?}");
        let json = world.checkpoint(line.iter().chain(&["--dry-run", "--json"]));
        json.success().stdout_json();
    }
    for line in [
        &["rename", "auth", "other"][..],
        &["switch", "nowhere"],
        &["delete", "nowhere"],
        &["pin", "nowhere"],
        &["start", "auth"],
        &["fork", "auth", "--name", "other"],
        &["fork", "auth", "--option", "nope"],
        &["fork", "auth", "--worktree", "src"],
    ] {
        let dry = world.checkpoint(line.iter().chain(&["-n"]));
        let real = world.checkpoint(line);
        assert!(!dry.is_success(), "{dry}");
        assert_eq!(dry.stderr(), real.stderr());
    }
}

/// Commits and checkpoints lead to each other when settings ask for it, and only then.
#[test]
fn row_24_notes_and_trailers() {
    let world = session();
    let tip = || world.git_line(["rev-parse", "refs/checkpoints/auth"]);
    let message = || world.git_line(["log", "-1", "--format=%B"]);
    world
        .checkpoint(["hooks", "install"])
        .success()
        .stdout_lacks("commit-msg");
    world.git(["commit", "-qam", "plain"]).success();
    assert_eq!(message(), "plain");
    assert_eq!(world.git_line(["for-each-ref", "refs/notes"]), "");

    world.git(["config", "checkpoint.commitNotes", "on"]).success();
    world.git(["config", "checkpoint.commitTrailer", "on"]).success();
    world
        .checkpoint(["hooks", "install"])
        .success()
        .stdout_has("commit-msg");
    let before = tip();
    world.file("README.md", "again\n");
    world
        .git(["commit", "-qam", "tied\n\nSigned-off-by: A <a@b>"])
        .success();
    assert_eq!(
        message(),
        format!("tied\n\nSigned-off-by: A <a@b>\nCheckpoint-Id: {before}")
    );
    assert_ne!(tip(), before);
    let noted = || world.git_line(["notes", "--ref=checkpoints", "show", "HEAD"]);
    assert_eq!(noted(), format!("Checkpoint-Id: {}\nCheckpoint-Session: auth", tip()));
    // An amended commit has one trailer and the note of its own checkpoint.
    let second = tip();
    world.git(["commit", "-q", "--amend", "--no-edit"]).success();
    assert_eq!(message().matches("Checkpoint-Id").count(), 1);
    assert!(message().ends_with(&second));
    assert!(noted().contains(&tip()));
    // What the trailer names can be shown, and a message without words is still none.
    let named = world.git_line(["log", "-1", "--format=%(trailers:key=Checkpoint-Id,valueonly)"]);
    world.checkpoint(["show", named.trim()]).success();
    world.file("README.md", "once more\n");
    let empty = world.command("git", ["commit", "-qa"]).env("GIT_EDITOR", "true").run();
    empty.code(1).stderr_has("empty commit message");
    let verbose = world
        .command("git", ["commit", "-qav"])
        .env("GIT_EDITOR", "sed -i '1s/^/with a diff/'")
        .run();
    verbose.success();
    assert!(message().starts_with("with a diff\n\nCheckpoint-Id: "), "{}", message());
    assert_eq!(message().lines().count(), 3);
    // Off again, and taken out.
    world.git(["config", "checkpoint.commitTrailer", "off"]).success();
    world.file("README.md", "last\n");
    world.git(["commit", "-qam", "untied"]).success();
    assert_eq!(message(), "untied");
    world
        .checkpoint(["hooks", "uninstall"])
        .success()
        .stdout_has("commit-msg");
    assert!(!world.path(".git/hooks/commit-msg").exists());
}

#[test]
fn row_25_commits_of_two_forks() {
    let world = session();
    world.git(["commit", "-qam", "base"]).success();
    world.checkpoint(["save", "-m", "base"]).success();
    let fork = |name: &str, content: &str, subject: &str| {
        let directory = format!("../{name}");
        world
            .checkpoint(["fork", "auth", "--name", name, "--worktree", &directory])
            .success();
        world.file(format!("{directory}/src/main.txt"), content);
        world.git(["-C", &directory, "commit", "-qam", subject]).success();
        world
            .git(["-C", &directory, "checkpoint", "save", "-m", subject])
            .success();
    };
    fork("one", "fn main\n", "main");
    fork("two", "fn main() {}\n", "main");
    fork("three", "fn main\n", "main");
    let text = world
        .checkpoint(["diff", "--range", "one", "two"])
        .success()
        .stdout()
        .to_owned();
    let head = |name: &str| world.git_line(["rev-parse", &format!("checkpoint/{name}")]);
    let base = world.git_line(["rev-parse", "HEAD"]);
    let sides = ["one", "two"].map(|name| format!("{base}..{}", head(name)));
    let own = world.git(["-c", "core.abbrev=8", "range-diff", &sides[0], &sides[1]]);
    own.success().stdout_is(&text);
    assert!(text.contains(" ! ") || text.contains(" < "), "{text}");
    let json = world
        .checkpoint(["diff", "--range", "one", "three", "--json"])
        .success()
        .stdout_json();
    assert_eq!(json["base"], base.as_str());
    assert_eq!(json["commits"][0]["verdict"], "same");
    assert_eq!(json["commits"][0]["old"], head("one").as_str());
    assert_eq!(json["commits"][0]["new"], head("three").as_str());
    world
        .checkpoint(["diff", "--range", "one", "three", "--exit-code"])
        .success();
    world
        .checkpoint(["diff", "--range", "one", "two", "--exit-code"])
        .code(1);
    world
        .checkpoint(["diff", "--range", "auth", "auth"])
        .success()
        .no_stdout()
        .stderr_has("Neither side has a commit since ");
    world
        .checkpoint(["diff", "--range", "auth", "one"])
        .success()
        .stdout_is(&format!("-:  -------- > 1:  {} main\n", &head("one")[..8]));
    world.checkpoint(["diff", "--range", "one"]).code(129);
}

#[test]
fn row_29_names_of_checkpoints_are_suggested() {
    let world = session();
    world
        .checkpoint(["show", "hafl"])
        .code(3)
        .stderr_has("did you mean one of these?\nerror:   half  parser done\n");
    world
        .checkpoint(["show", "auth@halv"])
        .code(3)
        .stderr_has("'auth@halv'; did you mean one of these?\nerror:   auth@half  parser done\n");
    for args in [
        &["switch", "aut0"][..],
        &["resume", "atuh"],
        &["delete", "auht"],
        &["verify", "autj"],
        &["diff", "auth", "autx"],
        &["log", "autx"],
        &["repair", "autx"],
    ] {
        world.checkpoint(args).code(3).stderr_has("  auth  parser done\n");
    }
}

#[test]
fn verbose_tells_what_was_done() {
    let world = session();
    let once = world
        .checkpoint(["save", "-m", "x", "-v"])
        .success()
        .stderr()
        .to_owned();
    // Files of this moment are looked at again.
    let ways = ["looked through ", "nothing changed in "];
    assert!(ways.iter().any(|way| once.contains(way)), "{once}");
    assert!(once.contains("whose snapshot is used again"), "{once}");
    assert!(once.contains(" new objects, stored as one pack"), "{once}");
    assert!(!once.contains("  git "), "{once}");
    world.file("README.md", "again\n");
    world
        .checkpoint(["diff", "-vv"])
        .success()
        .stderr_has("  git diff-tree ");
    world
        .checkpoint(["save", "-m", "y", "-v"])
        .success()
        .stderr_has("looked through ");
    world.checkpoint(["save", "-vv", "--json"]).success().no_stderr();
}

#[test]
fn verbose_tells_the_time_on_standard_error() {
    let world = session();
    let plain = world.checkpoint(["list"]).success().stdout().to_owned();
    let out = world.checkpoint(["list", "-v"]);
    out.success().stdout_is(&plain).stderr_has("It took ");
    world.checkpoint(["list", "-v", "--json"]).success().no_stderr();
}
