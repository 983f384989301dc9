//! The width of a terminal: no line that people read is wider, unless it is one thing that cannot be broken.

use std::time::{Duration, Instant};

use crate::support::{PROGRAM, Terminal, World};

const SESSION: &str = "a-session-with-a-name-that-is-as-long-as-people-make-them-abcdef";
const FORK: &str = "a-fork-with-a-rather-long-name-for-a-session";
const FILE: &str = "src/parser/tokens/generated/unicode/tables/combining-marks.rs";

/// A repository in which every name is long, then every command that prints something for people. Lines of bash, in which
/// `$session`, `$fork` and `$file` are long names.
const LINES: &str = r"
git checkpoint status
git checkpoint start $session --agent claude --task 'a task whose title is longer than what a terminal of eighty columns shows on a line'
git checkpoint save -m 'a summary that is much longer than what a terminal of eighty columns can show on one line' -a 'accomplished quite a lot of things in this session, more than one can tell' -d 'decided that the wire format stays as it is, because clients of last year still send it' --next 'find out why the last token of the last line of the file is dropped by the parser' -b 'no access to the staging system of the customer, which only the operations team has'
echo 2 >>$file; echo u >src/parser/tokens/generated/unicode/tables/untracked-file-of-the-user.rs; git checkpoint status
git checkpoint save -m 'second summary that is much longer than what a terminal of eighty columns can show' --name a-checkpoint-with-a-name-that-is-quite-long-too
git checkpoint show
git checkpoint show --all
git checkpoint log
git checkpoint log --oneline
git checkpoint log --trust
git checkpoint log --graph
git checkpoint log -- $file
git checkpoint log -p
git checkpoint list
git checkpoint list --all-repos
git checkpoint list --all-repos --size --trust
git checkpoint resume
git checkpoint resume --all
git checkpoint resume --brief
git checkpoint resume --list
git checkpoint diff
git checkpoint diff --stat @~1
git checkpoint diff --name-status @~1
git checkpoint claim
git checkpoint list --all-repos --size --trust
git checkpoint status
git checkpoint resume
git checkpoint search 'terminal of eighty'
git checkpoint blame $file
git checkpoint stats
git checkpoint verify
git checkpoint repair
git checkpoint agents
git checkpoint agent note 'read all callers of refresh(); none of them needs the old form of the argument' --agent claude-code-with-a-long-name
git checkpoint agent
git checkpoint task add 'port the parser of the generated unicode tables to the new wire format of last year' --agent ana-with-a-very-long-name --issue '#12345' --files $file
git checkpoint task
git checkpoint todo add 'write down what the parser of the generated unicode tables does with combining marks'
git checkpoint todo
git checkpoint decision 'keep the old wire format of the generated tables of the parser for another whole year' --reason 'clients of last year still send it and nobody can update all of them in time'
git checkpoint decision
git checkpoint question add 'which of the ports of the staging system of the customer does the new parser listen on?'
git checkpoint question
git checkpoint blocker add 'no access to the staging system of the customer, which only the operations team has' --needs 'a key from the operations team of the customer' --ref OPS-31
git checkpoint blocker
git checkpoint approval ask 'may the new parser of the generated unicode tables be deployed to production tomorrow?' --provider slack --channel '#operations-team'
git checkpoint approval
git checkpoint delegation add claude-code --issue '#12345' --model-tier large --status running
git checkpoint delegation
git checkpoint fork-point add -q 'Which of the parser libraries is used for the generated unicode tables from now on?' --option nom:'combinators that are known to everybody' --option winnow:'a fork of it that is said to be faster'
git checkpoint fork-point
git checkpoint phase 2/3 'a phase with a name that is longer than what a terminal of eighty columns shows'
git checkpoint step start 'write the parser of the generated unicode tables, and the tests of it' --agent rust-dev
git checkpoint step
git checkpoint message add --role user 'a message that a person wrote, which is longer than what a terminal of eighty columns shows'
git checkpoint message
git checkpoint message list --full
git checkpoint status
git checkpoint save -m third
git checkpoint show --all
git checkpoint tokens
git checkpoint push
git checkpoint remote
git checkpoint fetch
git checkpoint prune --keep-last 1 -n
git checkpoint prune --keep-last 1
git checkpoint undo
git checkpoint list --trash
git checkpoint restore @~1 -n
git checkpoint restore @~1
git checkpoint undo
echo 3 >>$file; echo v >untracked-file-with-a-name-that-is-longer-than-what-a-terminal-of-eighty-columns-shows.txt; git checkpoint apply -n
git checkpoint pause --clean -n
git checkpoint pause --clean -m 'half of the migration of the tables to the new wire format of last year is done'
git checkpoint status
git checkpoint resume
git checkpoint resume --apply
git checkpoint fork @ --name $fork --worktree ../a-linked-worktree-with-a-long-name -n
git checkpoint fork @ --name $fork --worktree ../a-linked-worktree-with-a-long-name
git checkpoint fork --list
git checkpoint list --all-repos
git checkpoint merge $fork -n
git checkpoint save --amend -m 'an amended summary that is longer than a terminal of eighty columns can show on one line'
git checkpoint rename $session another-name-for-the-session-that-is-not-shorter-than-before -n
git checkpoint bundle ../a-bundle-with-a-rather-long-name-for-a-file-that-one-writes.bundle
git checkpoint hooks install -n
git checkpoint enable claude-code -n
git checkpoint watch --once
git checkpoint purge -n -- $file
git checkpoint delete $fork -n
git remote set-url a-remote-with-a-long-name ../no-such-hub-here.git; git checkpoint push
git config checkpoint.autoPush a-remote-with-a-long-name; git checkpoint save --allow-empty -m fourth
git checkpoint push --queued
git checkpoint status
git checkpoint finish -m 'everything of the migration is done, which took longer than a terminal of eighty columns shows'
git checkpoint list --all-repos
git checkpoint status
git checkpoint switch no-session-has-a-name-that-is-longer-than-what-a-terminal-shows
";

fn terminal() -> Terminal {
    Terminal::new(80, "xterm")
        .env("GIT_PAGER", "cat")
        .env("NO_COLOR", "1")
        .env("CHECKPOINT_NO_PROMPT", "1")
        .env("session", SESSION)
        .env("fork", FORK)
        .env("file", FILE)
}

/// Whether a line is one thing that cannot be broken: a command to copy, a path, a name. git's own lines of a patch too.
fn is_unbreakable(line: &str) -> bool {
    let rest = line.trim_start_matches("hint:").trim();
    let labeled = rest.split_once("  ").filter(|(label, _)| !label.contains(' '));
    let rest = labeled.map_or(rest, |(_, value)| value.trim());
    rest.starts_with("git ")
        || rest.starts_with("diff --git ")
        || rest.starts_with("create mode ")
        || !rest.contains(' ')
}

fn too_wide(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim_end);
    lines
        .filter(|line| line.chars().count() > 80 && !is_unbreakable(line))
        .collect()
}

#[test]
fn every_command_fits_the_terminal() {
    let world = World::with_commit();
    world.file(FILE, "1\n");
    world.git(["add", "-A"]).success();
    let subject = "the first commit has a subject that is about as long as a subject of a commit is";
    world.git(["commit", "-qm", subject]).success();
    let branch = "feature/a-branch-with-a-name-that-is-as-long-as-some-people-make-them";
    world.git(["switch", "-qc", branch]).success();
    world.git(["config", "checkpoint.maxFileSize", "1k"]).success();
    world.git(["init", "-q", "--bare", "../hub.git"]).success();
    world
        .git(["remote", "add", "a-remote-with-a-long-name", "../hub.git"])
        .success();
    world.file(".env", "TOKEN=abcd1234efgh5678\n");
    world.file("src/parser/tokens/generated/unicode/tables/dump.sql", vec![b'x'; 3000]);
    let pipe = "src/parser/tokens/generated/unicode/tables/a-pipe-of-a-build-tool";
    world.command("mkfifo", ["p", pipe]).run().success();
    let mut wide = Vec::new();
    for line in LINES.lines().filter(|line| !line.is_empty()) {
        let text = terminal().run(&world, "bash", ["-c", line]).text();
        assert!(!text.contains("usage:"), "{line}: {text}");
        wide.extend(too_wide(&text).iter().map(|shown| format!("{line}\n    {shown}")));
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// The plan of a clean-up as people read it: what stays has its reason in the column of the others.
#[test]
fn rows_that_do_not_fit_go_on_below_their_last_cell() {
    let world = World::with_commit();
    world.file("README", "edited\n");
    world.file(".env", "TOKEN=abcd1234efgh5678\n");
    world.command("mkfifo", ["p"]).run().success();
    let screen = terminal().run(&world, PROGRAM, ["pause", "--clean", "-n"]);
    assert_eq!(
        screen.text(),
        "\
warning: 1 path not saved: .env: a secret by its content; set
  checkpoint.saveSecrets to save such files
warning: 1 path not saved: p: a FIFO, socket or device, which git does not store
Would save  main: 2 untracked (.env, README)
  main, paused, new; main @ cc84e4ac, 2 untracked
Would clean the working tree: 1 deleted, 2 kept
  delete   README                         saved; not in HEAD
  keep     .env                           the checkpoint did not save it (a
                                          secret)
  keep     p                              the checkpoint did not save it (a
                                          FIFO, socket or device)
Dry run: nothing was changed.
"
    );
    world.checkpoint(["save", "-m", "one"]).success();
    let shown = world.checkpoint(["show"]).success().stdout().to_owned();
    let (_, left_out) = shown.split_once("Not saved").unwrap();
    assert_eq!(left_out, " (2)\n  .env  a secret\n  p     a FIFO, socket or device\n");
}

/// What is put aside without a message of its own is named by its changes, which are not said again.
#[test]
fn what_is_put_aside_is_said_once() {
    let world = World::with_commit();
    world.file("README", "edited\n");
    world.file("u", "new\n");
    world.checkpoint(["pause", "--clean"]).success();
    let counts = world
        .checkpoint(["list", "--format", "%(summary)"])
        .success()
        .stdout()
        .to_owned();
    for command in ["status", "resume", "show"] {
        let text = world.checkpoint([command]).success().stdout().to_owned();
        let line = text.lines().find(|line| line.contains("aside")).unwrap();
        assert_eq!(line.matches("untracked").count(), 1, "{counts}{line}");
    }
}

/// The reason why nothing is pushed is in the error alone.
#[test]
fn the_reason_of_a_queue_that_waits_is_said_once() {
    let world = World::with_commit();
    world.git(["remote", "add", "origin", "../no-such-hub"]).success();
    world.git(["config", "checkpoint.autoPush", "origin"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    // The process in the background has given up by now.
    let began = Instant::now();
    let failures =
        || world.checkpoint(["status", "--json"]).success().stdout_json()["automatic_sharing"]["failures"].as_u64();
    while failures() < Some(1) {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    let queued = world.checkpoint(["push", "--queued"]);
    assert!(!queued.is_success());
    assert_eq!(queued.stdout(), "Waiting: main\n");
    assert_eq!(queued.stderr().matches("no-such-hub").count(), 1, "{queued}");
}

/// Times of a claim and of a compaction are those that people read elsewhere: minutes.
#[test]
fn times_in_show_are_minutes() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for text in ["one", "two", "three", "four", "five", "six"] {
        let text = format!("{text} {}", "a message of some length ".repeat(20));
        world
            .checkpoint(["message", "add", "--role", "user", text.trim()])
            .success();
    }
    world.checkpoint(["save", "-m", "chat"]).success();
    world.checkpoint(["claim"]).success();
    world.checkpoint(["compact", "--force"]).success();
    for command in [&["show", "--all"][..], &["resume"]] {
        let text = world.checkpoint(command).success().stdout().to_owned();
        assert!(text.contains("  claim: by "), "{text}");
        assert!(
            !text.contains("T0") && !text.contains("T1") && !text.contains("T2"),
            "{text}"
        );
    }
}

/// One decision is one question, and nothing is asked where there is nothing to do.
#[test]
fn one_decision_is_one_question() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    let nothing = Terminal::new(80, "xterm").env("NO_COLOR", "1");
    let screen = nothing.run(&world, PROGRAM, ["clear", "--messages"]).text();
    assert!(!screen.contains("[y/N]"), "{screen}");
    world
        .checkpoint(["message", "add", "--role", "user", "hello"])
        .success();
    world.checkpoint(["save", "-m", "two"]).success();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.checkpoint(["finish", "-m", "done"]).success();
    world.checkpoint(["push", "origin", "main"]).success();
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["delete", "other"]).success();
    for (command, question) in [
        (
            &["clear", "--messages", "--session", "main"][..],
            "Clear the messages of session main (1 message)? [y/N] ",
        ),
        (
            &["remote", "prune", "--finished"][..],
            "Delete 1 session on origin (main)? [y/N] ",
        ),
        (
            &["prune", "--trash"][..],
            "Permanently delete 1 entry of the trash? This cannot be undone. [y/N] ",
        ),
    ] {
        let terminal = Terminal::new(80, "xterm").env("NO_COLOR", "1").answer("[y/N] ", "n\n");
        let screen = terminal.run(&world, PROGRAM, command).text();
        assert!(screen.contains(question), "{command:?}: {screen}");
    }
}
