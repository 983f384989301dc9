//! Git's conventions for plugins, a test for each that no other test holds. The numbers are those of the project's list
//! of thirty:
//!
//! | row | what | where it is shown |
//! |---|---|---|
//! | 1 | help at all levels, with examples | `every::row_01` |
//! | 2 | manual pages | `setup::manual_pages_are_found_beside_the_program` |
//! | 3 | pages for a browser | `setup::pages_for_a_browser` |
//! | 4 | options, revisions, `--`, pathspecs | `row_04` |
//! | 5 | pathspecs, also from files, and git's switches for them | `row_05`, `scripts::row_05` |
//! | 6, 26 | directories and aliases | `row_06_and_26` |
//! | 7 | selectors | `stories::session`, `selectors_that_are_too_short_say_so` |
//! | 8 | what goes to which stream | `every::row_08_and_10`, `schemas` |
//! | 9 | progress | `row_09`, `terminal` |
//! | 10 | color | `every::row_08_and_10`, `every::rows_10_19_and_30`, `terminal` |
//! | 11 | glyphs | `row_11` |
//! | 12 | pager | `row_12`, `terminal` |
//! | 13 | patches that apply | `stories::history` |
//! | 14 | JSON, whole or a line each | `schemas`, `scripts::row_14` |
//! | 15 | formats, dates, NUL | `row_15` |
//! | 16 | settings | `row_16`, `store::settings` |
//! | 17 | environment | `row_17` |
//! | 18 | hints | `row_18` |
//! | 19 | messages | `every::rows_10_19_and_30`, `scripts::row_19` |
//! | 20 | exit codes | `row_20` |
//! | 21 | questions | `every::row_21`, `terminal` |
//! | 22 | choices are made by numbers on a terminal alone; there is no picker | `terminal`, `stories::session` |
//! | 23 | dry runs | `scripts::row_23`, `share` |
//! | 24 | notes and trailers | `scripts::row_24` |
//! | 25 | range-diff | `scripts::row_25` |
//! | 27 | completion | `setup::*_completes_as_git_checkpoint` |
//! | 28 | no text of git's is read that is translated | `store::children` |
//! | 29 | suggestions | `every::row_29`, `scripts::row_29` |
//! | 30 | nothing in the background, no network unasked | `every::rows_10_19_and_30` |

use crate::support::{Terminal, World};

/// A session with a checkpoint named `half`.
pub fn session() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("README.md", "changed\n");
    world
        .checkpoint(["save", "-m", "parser done", "--name", "half"])
        .success();
    world
}

#[test]
fn row_04_options_revisions_dashes_pathspecs() {
    let world = session();
    let plain = world
        .checkpoint(["log", "auth", "--oneline"])
        .success()
        .stdout()
        .to_owned();
    for args in [
        &["log", "--oneline", "--end-of-options", "auth"][..],
        &["--no-pager", "log", "--onel", "auth"],
        &["log", "--oneline", "auth", "--"],
    ] {
        world.checkpoint(args).success().stdout_is(&plain);
    }
    world
        .checkpoint(["log", "--end-of-options", "--oneline"])
        .code(129)
        .no_stdout();
    world
        .checkpoint(["diff", "auth~1", "auth", "--name-only", "--", "src"])
        .success()
        .no_stdout();
}

#[test]
fn row_05_pathspecs_are_gits() {
    let world = session();
    world.file("src/main.txt", "other\n");
    let names = |specs: &[&str]| {
        let args = ["diff", "--name-only", "--"].iter().chain(specs);
        world.checkpoint(args).success().stdout().to_owned()
    };
    assert_eq!(names(&["*.txt"]), "src/main.txt\n");
    assert_eq!(names(&[":(exclude)src"]), "");
    assert_eq!(names(&[":(glob)**/*.txt"]), "src/main.txt\n");
    let within = world
        .command(crate::support::PROGRAM, ["diff", "--name-only", "--", ":/src"])
        .within("src")
        .run();
    within.success().stdout_is("src/main.txt\n");
    let within = world
        .command(crate::support::PROGRAM, ["diff", "--name-only", "--", "main.txt"])
        .within("src")
        .run();
    within.success().stdout_is("src/main.txt\n");
}

#[test]
fn row_06_and_26_directories_and_aliases() {
    let world = session();
    world.git(["config", "alias.cp", "checkpoint"]).success();
    world.git(["config", "alias.cs", "!git checkpoint"]).success();
    let plain = world
        .git(["checkpoint", "log", "--oneline"])
        .success()
        .stdout()
        .to_owned();
    let repo = world.repo();
    let (dir, tree) = (
        format!("--git-dir={}/.git", repo.display()),
        format!("--work-tree={}", repo.display()),
    );
    for args in [
        &["cp", "log", "--oneline"][..],
        &["cs", "log", "--oneline"],
        &["-C", "src", "checkpoint", "log", "--oneline"],
        &["-C", "src", "cs", "log", "--oneline"],
        &[&dir, &tree, "checkpoint", "log", "--oneline"],
    ] {
        world.git(args).success().stdout_is(&plain);
    }
    let variables = world
        .command("git", ["checkpoint", "log", "--oneline"])
        .within("..")
        .env("GIT_DIR", repo.join(".git"))
        .env("GIT_WORK_TREE", &repo)
        .run();
    variables.success().stdout_is(&plain);
}

/// Progress of work that takes long: only on a terminal, and gone when the work is done. Here it shows at once.
#[test]
fn row_09_a_save_of_many_files_shows_how_far_it_is() {
    let world = session();
    for n in 0..4000 {
        world.file(format!("many/{}/{n}", n % 40), format!("{n}\n"));
    }
    let save = |args: &[&str]| {
        let args = [&["checkpoint", "save", "--allow-empty", "--color=never"], args].concat();
        let terminal = Terminal::new(80, "xterm").env("GIT_PROGRESS_DELAY", "0");
        terminal.run(&world, "git", args).text()
    };
    for switch in ["--no-progress", "--quiet", "--progress"] {
        let text = save(&["--dry-run", switch]);
        assert_eq!(
            text.contains("\rLooking at files: "),
            switch == "--progress",
            "{switch}: {text:?}"
        );
    }
    let text = save(&["-m", "many"]);
    assert!(text.contains("\r\x1b[KSaved "), "{text:?}");
    world.checkpoint(["save", "-m", "in a pipe"]).success().no_stderr();
}

#[test]
fn row_11_glyphs_are_a_switch_of_their_own() {
    let world = session();
    world.checkpoint(["fork", "auth", "--name", "try"]).success();
    world.checkpoint(["save", "-m", "tried", "--allow-empty"]).success();
    world
        .checkpoint(["save", "-m", "went on", "--allow-empty", "--session", "auth"])
        .success();
    let graph = |value: &str, color: &str| {
        let setting = format!("checkpoint.graph={value}");
        let out = world.git(["-c", &setting, "checkpoint", "log", "try", "--graph", color]);
        out.success().stdout().to_owned()
    };
    assert!(graph("ascii", "--color=never").is_ascii());
    assert!(!graph("unicode", "--color=never").is_ascii());
    let colored = graph("ascii", "--color=always");
    assert!(colored.is_ascii() && colored.contains("\x1b["), "{colored}");
}

#[test]
fn row_12_only_what_shows_much_is_paged() {
    let world = session();
    let run = |args: &[&str]| {
        Terminal::new(80, "xterm")
            .env("GIT_PAGER", "sed 's/^/paged: /'")
            .run(&world, "git", [&["checkpoint"], args].concat())
            .text()
    };
    for args in [&["list"][..], &["log"], &["show"], &["diff", "auth~1", "auth"]] {
        assert!(run(args).contains("paged: "), "{args:?}");
        assert!(!run(&[args, &["--no-pager"]].concat()).contains("paged: "), "{args:?}");
    }
    for args in [&["save", "--allow-empty"][..], &["status"], &["resume"], &["verify"]] {
        assert!(!run(args).contains("paged: "), "{args:?}");
    }
    world.git(["config", "checkpoint.pager", "sed 's/^/ours: /'"]).success();
    let ours = Terminal::new(80, "xterm")
        .run(&world, "git", ["checkpoint", "log"])
        .text();
    assert!(ours.contains("ours: "), "{ours}");
    // A setting of ours that is known is not called unknown.
    world.git(["config", "checkpoint.graph", "ascii"]).success();
    world.checkpoint(["status"]).success().no_stderr();
}

/// The programs that the user shows differences with run only when asked for: a patch that is passed on must apply.
#[test]
fn row_13_diff_programs() {
    let world = session();
    world.git(["config", "diff.external", "echo shown by"]).success();
    world.git(["config", "diff.noprefix", "true"]).success();
    let diff = |args: &[&str]| {
        let args = ["diff", "auth~1", "auth", "--no-record"].iter().chain(args);
        world.checkpoint(args).success().stdout().to_owned()
    };
    world.file("README.md", "again\n");
    let present = |args: &[&str]| {
        let args = ["diff", "--no-record"].iter().chain(args);
        world.checkpoint(args).success().stdout().to_owned()
    };
    assert_eq!(diff(&[]), "");
    assert!(present(&[]).contains("--- a/README.md"));
    assert!(
        present(&["--ext-diff"]).starts_with("shown by README.md"),
        "{}",
        present(&["--ext-diff"])
    );
}

#[test]
fn row_15_formats_dates_and_nul() {
    let world = session();
    let log = |args: &[&str]| {
        world
            .checkpoint(["log", "-n", "1"].iter().chain(args))
            .success()
            .stdout()
            .to_owned()
    };
    assert_eq!(log(&["--format=%(session) %(kind) %(name)"]), "auth save half\n");
    assert_eq!(log(&["--format=%(summary)", "-z"]), "parser done\0");
    assert_eq!(log(&["--format=%(date:unix)"]).trim().len(), 10);
    assert_eq!(log(&["--format=%(date)", "--date=short"]), "2026-01-02\n");
    assert_eq!(log(&["--format=%(date)", "--date=format:%Y"]), "2026\n");
    assert!(log(&["--date=iso"]).contains("2026-01-02 03:04:"));
    assert!(log(&["--date=relative"]).contains("ago"));
    let id = log(&["--format=%(id)"]);
    let named = |args: &[&str]| world.checkpoint(args).success().stdout().to_owned();
    assert_eq!(log(&["--format=oneline"]), format!("{} parser done\n", &id[..8]));
    assert!(log(&["--format=full"]).contains(&format!("checkpoint {id}Digest: sha256:")));
    assert_eq!(named(&["list", "--format=oneline"]), "auth active parser done\n");
    assert!(named(&["list", "--format=short"]).contains("\n    parser done\n"));
    assert_eq!(id.trim(), world.git_line(["rev-parse", "refs/checkpoints/auth"]));
    assert!(id.starts_with(log(&["--format=%(id:short)"]).trim()));
    world
        .checkpoint(["log", "--format=%(nope)"])
        .code(129)
        .no_stdout()
        .stderr_has("unknown field 'nope'; available: session, ");
    world
        .checkpoint(["log", "--date=nope"])
        .code(129)
        .no_stdout()
        .stderr_has("hint: styles: relative, iso,");
    // A heading over nothing says nothing.
    world.checkpoint(["log", "-n", "0"]).success().no_stdout();
}

#[test]
fn row_16_settings_are_gits() {
    let world = session();
    let file = world.home().join("included");
    std::fs::write(&file, "[checkpoint]\n\texclude = *.log\n").unwrap();
    let key = format!("includeIf.gitdir:{}.path", world.repo().join(".git").display());
    world.git(["config", &key, file.to_str().unwrap()]).success();
    world.file("a.log", "x\n");
    world
        .checkpoint(["save", "-m", "two", "--allow-empty"])
        .success()
        .stderr_has("1 path not saved: a.log: excluded by checkpoint.exclude");
    world
        .git(["-c", "checkpoint.exclude=", "checkpoint", "save", "-m", "three"])
        .success()
        .stderr_lacks("a.log");
    world
        .git(["-c", "checkpoint.redact=perhaps", "checkpoint", "status"])
        .code(128)
        .stderr_has("'perhaps' for 'checkpoint.redact' in the command line: it must be one of on, warn, off");
    world.git(["config", "checkpoint.maxFileSiz", "3"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stderr_has("unknown setting 'checkpoint.maxFileSiz' in file '")
        .stderr_has("did you mean 'checkpoint.maxFileSize'?");
    world
        .checkpoint(["help", "settings"])
        .success()
        .stdout_has("checkpoint.maxFileSize\n")
        .stdout_has("*.log', from file '")
        .no_stderr();
}

#[test]
fn row_17_environment() {
    let world = session();
    let run =
        |name: &str, value: &str, args: &[&str]| world.command(crate::support::PROGRAM, args).env(name, value).run();
    run("CHECKPOINT_SESSION", "other", &["save", "-m", "x"])
        .success()
        .stdout_has("other, new");
    run("CHECKPOINT_AGENT", "opus", &["save", "-m", "by opus", "--next", "next"]).success();
    let shown = world.checkpoint(["show", "--json"]).success().stdout_json();
    assert_eq!(shown["document"]["record"]["next_steps"][0]["by"], "opus");
    run(
        "GIT_COMMITTER_DATE",
        "2030-01-01T00:00:00Z",
        &["save", "-m", "later", "--allow-empty"],
    )
    .success();
    world
        .checkpoint(["log", "-n", "1", "--date=short", "--format=%(date)"])
        .success()
        .stdout_is("2030-01-01\n");
}

#[test]
fn row_18_hints_have_a_switch_each() {
    let world = session();
    let hint = |variables: &[(&str, &str)], args: &[&str]| {
        let terminal = variables
            .iter()
            .fold(Terminal::new(80, "xterm"), |t, (n, v)| t.env(n, v));
        let args = [&["checkpoint", "save", "--color=never"], args].concat();
        terminal.run(&world, "git", args).text().contains("hint: ")
    };
    assert!(hint(&[], &[]));
    assert!(!hint(&[("GIT_ADVICE", "0")], &[]));
    assert!(!hint(&[], &["--no-advice"]) && !hint(&[], &["--quiet"]));
    world.checkpoint(["save"]).success().no_stderr();
    world.checkpoint(["save", "--advice"]).success().stderr_has("hint: ");
    world.git(["config", "advice.checkpointUnchanged", "false"]).success();
    assert!(!hint(&[], &[]));
}

#[test]
fn row_20_exit_codes_mean_what_is_written() {
    let world = session();
    let page = world.checkpoint(["help", "exit-codes"]).success().stdout().to_owned();
    world.file("new.txt", "x\n");
    for (code, args) in [
        (0, &["save", "--dry-run"][..]),
        (1, &["status", "--exit-code"]),
        (3, &["show", "nothing"]),
        (6, &["resume", "auth", "--fail-on-drift"]),
        (4, &["start", "auth"]),
        (128, &["save", "-m", "x", "--record", "."]),
        (129, &["save", "--nonsense"]),
    ] {
        assert!(page.contains(&format!("\n  {code}\n")), "{code}: {page}");
        world.checkpoint(args).code(code);
    }
    world.git(["checkout", "-q", "--orphan", "elsewhere"]).success();
    world.git(["commit", "-q", "-m", "another beginning"]).success();
    world.checkpoint(["restore", "auth@half"]).code(4);
    assert!(page.contains("\n  4\n"), "{page}");
}

#[test]
fn selectors_that_are_too_short_say_so() {
    let world = session();
    world
        .checkpoint(["show", "abc"])
        .code(3)
        .no_stdout()
        .stderr_has("hint: an abbreviated id needs at least 4 digits\n");
    world.checkpoint(["show", "zzz"]).code(3).stderr_lacks("digits");
}

/// Wide and combining characters, 40 columns, a dumb terminal: nothing is longer than the screen, nothing is broken.
#[test]
fn narrow_and_dumb_terminals() {
    let world = session();
    let wide = "日本語のとても長い要約 e\u{301}e\u{301} und noch ein sehr langer Satz dahinter";
    world
        .checkpoint(["save", "-m", wide, "--allow-empty", "--next", wide])
        .success();
    for kind in ["xterm", "dumb"] {
        for args in [
            &["list"][..],
            &["log"],
            &["status"],
            &["show"],
            &["resume"],
            &["help", "settings"],
        ] {
            let screen = Terminal::new(40, kind)
                .env("GIT_PAGER", "cat")
                .env("LC_ALL", "C.UTF-8")
                .run(&world, "git", [&["checkpoint", "--color=never"], args].concat());
            let text = screen.text();
            assert!(!text.contains('\x1b'), "{args:?}: {text:?}");
            for line in text.lines() {
                // An id in full, a path and a command to copy are worth more than the width.
                if line.split(' ').any(|word| word.len() == 40 || word.contains('/')) || line.contains("git ") {
                    continue;
                }
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= 40, "{kind} {args:?}, {columns} columns: {line}");
            }
        }
    }
}
