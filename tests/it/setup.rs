//! `git checkpoint setup` as it is used: `man` finds the pages, `git checkpoint --help` opens one, and Tab completes in
//! real shells, through git's own completion, which stays as it was.

use std::fs;
use std::path::Path;

use crate::support::{Output, Terminal, World};

/// A world in which the program lies in `bin`, which is first in PATH.
struct Installed {
    world: World,
    path: String,
}

impl Installed {
    fn new() -> Self {
        let world = World::with_commit();
        let bin = world.root().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_git-checkpoint"), bin.join("git-checkpoint")).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        Self { world, path }
    }

    fn git(&self, args: &[&str]) -> Output {
        self.world
            .command("git", args)
            .env("PATH", &self.path)
            .env("MANPAGER", "cat")
            .run()
    }

    fn home(&self, path: &str) -> std::path::PathBuf {
        self.world.home().join(path)
    }
}

/// Whether a program is there; in CI it must be.
fn has(program: &str) -> bool {
    let there = World::without_repository()
        .command("sh", ["-c", &format!("command -v {program}")])
        .run()
        .is_success();
    assert!(there || std::env::var_os("CI").is_none(), "{program} is not installed");
    if !there {
        eprintln!("{program} is not installed: its part is only tested in CI");
    }
    there
}

#[test]
fn manual_pages_are_found_beside_the_program() {
    let installed = Installed::new();
    installed
        .git(&["checkpoint", "setup", "man"])
        .success()
        .stdout_has("pages in ");
    let directory = installed.world.root().join("share/man/man1");
    let pages: Vec<_> = fs::read_dir(&directory).unwrap().map(|e| e.unwrap().path()).collect();
    for command in ["", "-save", "-resume", "-list", "-setup"] {
        assert!(
            pages.iter().any(|p| p.ends_with(format!("git-checkpoint{command}.1"))),
            "{command}: {pages:?}"
        );
    }
    if !has("man") {
        return;
    }
    let found = installed
        .world
        .command("man", ["-w", "git-checkpoint-save"])
        .env("PATH", &installed.path)
        .run();
    assert_eq!(
        Path::new(found.success().stdout().trim()),
        directory.join("git-checkpoint-save.1")
    );
    let help = installed.git(&["checkpoint", "--help"]);
    help.success()
        .stdout_has("git-checkpoint-save(1)")
        .stdout_has("EXIT STATUS")
        .stdout_has("EXAMPLES");
    // No page has markup that the formatter does not understand.
    if has("groff") {
        let page = pages[0].to_str().unwrap();
        let shown = installed
            .world
            .command("man", ["--warnings", "-E", "UTF-8", "-l", page])
            .env("MANWIDTH", "80")
            .run();
        shown.success().no_stderr().stdout_has("SYNOPSIS");
        // All of them by one start of what `man` starts eight programs for.
        let mut groff = installed.world.command(
            "groff",
            ["-k", "-t", "-mandoc", "-wmac", "-Tutf8", "-rLL=80n", "-P-cbou"],
        );
        for page in &pages {
            groff = groff.arg(page);
        }
        let shown = groff.run();
        let synopses = shown.success().no_stderr().stdout().matches("\nSYNOPSIS\n").count();
        assert_eq!(synopses, pages.len());
    }
}

#[test]
fn only_own_files_are_written_and_all_are_taken_back() {
    let installed = Installed::new();
    let before = installed.world.fingerprint();
    let zsh = installed.home(".local/share/zsh/site-functions/_git-checkpoint");
    let bash = installed.home(".local/share/bash-completion/completions/git-checkpoint");
    installed
        .git(&["checkpoint", "setup", "--dry-run"])
        .success()
        .stdout_has("would install");
    assert!(!bash.exists() && !installed.world.root().join("share").exists());

    fs::create_dir_all(zsh.parent().unwrap()).unwrap();
    fs::write(&zsh, "mine\n").unwrap();
    installed
        .git(&["checkpoint", "setup"])
        .code(4)
        .stdout_has("foreign")
        .stderr_has("_git-checkpoint'\nhint: ");
    assert_eq!(fs::read(&zsh).unwrap(), b"mine\n");
    assert!(bash.exists());
    fs::remove_file(&zsh).unwrap();

    installed
        .git(&["checkpoint", "setup"])
        .success()
        .stdout_has("installed 1 file\n");
    installed
        .git(&["checkpoint", "setup"])
        .success()
        .stdout_has("nothing to do\n");
    // An older one of its own is replaced.
    fs::write(&bash, fs::read_to_string(&bash).unwrap() + "# older\n").unwrap();
    let json = installed
        .git(&["checkpoint", "setup", "--json"])
        .success()
        .stdout_json();
    let replaced = json["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["action"] == "replace")
        .count();
    assert_eq!(replaced, 1, "{json}");

    installed
        .git(&["checkpoint", "setup", "--uninstall"])
        .success()
        .stdout_has("removed ");
    assert!(!zsh.exists() && !bash.exists());
    // Directories that would be empty are removed, and no others.
    assert!(!installed.world.root().join("share").exists());
    assert!(!zsh.parent().unwrap().exists() && !bash.parent().unwrap().exists());
    installed
        .git(&["checkpoint", "setup", "--uninstall"])
        .success()
        .stdout_is("nothing to do\n");

    let prefix = installed.world.root().join("usr");
    installed
        .git(&["checkpoint", "setup", "--prefix", prefix.to_str().unwrap()])
        .success();
    for file in [
        "man/man1/git-checkpoint.1",
        "bash-completion/completions/git-checkpoint",
        "zsh/site-functions/_git-checkpoint",
        "fish/vendor_conf.d/git-checkpoint.fish",
    ] {
        assert!(prefix.join("share").join(file).exists(), "{file}");
    }
    installed
        .git(&["checkpoint", "setup", "--print", "--shell", "fish"])
        .success()
        .stdout_has("complete -c git-checkpoint ");
    installed.world.fingerprint().assert_same_as(&before);
}

/// git opens HTML pages in the directory of its own alone: there they are put, when that is asked for.
#[test]
fn pages_for_a_browser() {
    let installed = Installed::new();
    let directory = installed.world.root().join("html");
    installed
        .git(&["config", "help.htmlPath", directory.to_str().unwrap()])
        .success();
    let shown = "#!/bin/sh\ncat \"$@\"\n";
    installed.world.file("../bin/show", shown);
    let program = installed.world.root().join("bin/show");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for (name, value) in [
        ("help.browser", "show"),
        ("browser.show.cmd", program.to_str().unwrap()),
    ] {
        installed.git(&["config", name, value]).success();
    }
    let help = installed.git(&["help", "--web", "checkpoint"]);
    help.code(128).stderr_has("documentation file not found");
    let server = installed.git(&[
        "-c",
        "help.htmlPath=https://example.org/git",
        "checkpoint",
        "setup",
        "html",
    ]);
    server.code(4).stderr_has("are on a server");
    installed
        .git(&["checkpoint", "setup", "html", "--dry-run"])
        .success()
        .stdout_has("would install");
    assert!(!directory.exists());
    // Nothing else is installed with it, and it is not installed with everything.
    installed.git(&["checkpoint", "setup", "html"]).success();
    assert!(!installed.world.root().join("share").exists());
    let help = installed.git(&["help", "--web", "checkpoint"]);
    help.success().stdout_has("<h1>git-checkpoint</h1>");
    let help = installed.git(&["-c", "help.format=html", "checkpoint", "--help"]);
    help.success().stdout_has("git-checkpoint-save.html");
    for entry in fs::read_dir(&directory).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for link in text.split("href=\"").skip(1) {
            let target = link.split('"').next().unwrap();
            assert!(directory.join(target).is_file(), "{target}");
        }
    }
    installed
        .git(&["checkpoint", "setup", "html", "--uninstall"])
        .success()
        .stdout_has("removed ");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

/// The line before Tab and after it.
const LINES: &[(&str, &str)] = &[
    ("git checkpoint sa", "git checkpoint save "),
    ("git checkpoint resume au", "git checkpoint resume auth-refactor "),
    (
        "git checkpoint resume auth-refactor@b",
        "git checkpoint resume auth-refactor@before-merge ",
    ),
    ("git checkpoint show bef", "git checkpoint show before-merge "),
    ("git checkpoint save --sess", "git checkpoint save --session="),
    (
        "git checkpoint save --session=a",
        "git checkpoint save --session=auth-refactor ",
    ),
    (
        "git checkpoint list --status pau",
        "git checkpoint list --status paused ",
    ),
    (
        "git -C .. checkpoint save --no-f",
        "git -C .. checkpoint save --no-files ",
    ),
    (
        "git -C ../repo checkpoint switch a",
        "git -C ../repo checkpoint switch auth-refactor ",
    ),
    (
        "git checkpoint save --attach README",
        "git checkpoint save --attach README.md",
    ),
    ("git checkpoint tokens au", "git checkpoint tokens auth-refactor "),
    ("git checkpoint tokens READ", "git checkpoint tokens README.md"),
    (
        "git checkpoint step show --in au",
        "git checkpoint step show --in auth-refactor ",
    ),
    ("git checkpoint log --date=rel", "git checkpoint log --date=relative "),
    (
        "git checkpoint export --format hand",
        "git checkpoint export --format handoff ",
    ),
    (
        "git checkpoint import --from dag",
        "git checkpoint import --from dagent ",
    ),
    ("git checkpoint help exit", "git checkpoint help exit-codes "),
    ("git checkpoint help recov", "git checkpoint help recovery "),
    ("git-checkpoint switch au", "git-checkpoint switch auth-refactor "),
    ("git cp fin", "git cp finish "),
    (
        "git-checkpoint resume auth-refactor@b",
        "git-checkpoint resume auth-refactor@before-merge ",
    ),
    (
        "git checkpoint save --name @ --session a",
        "git checkpoint save --name @ --session auth-refactor ",
    ),
    // git's own are untouched.
    ("git cherry-p", "git cherry-pick "),
    ("git checkpo", "git checkpoint "),
];

/// An installed program, a session with a named checkpoint, and the alias `cp`.
fn with_session() -> Installed {
    let installed = Installed::new();
    installed.git(&["config", "alias.cp", "checkpoint"]).success();
    installed
        .git(&[
            "checkpoint",
            "save",
            "-m",
            "one",
            "--session",
            "auth-refactor",
            "--name",
            "before-merge",
        ])
        .success();
    installed.git(&["checkpoint", "setup"]).success();
    installed
}

/// Types each line and Tab in an interactive shell, in which Ctrl-T writes the line to a file and clears it. Gives the
/// lines that were written.
fn typed(installed: &Installed, shell: &str, args: &[&str]) -> Vec<String> {
    let keys: String = LINES.iter().map(|(line, _)| format!("{line}\t\x14")).collect();
    Terminal::new(200, "xterm")
        .env("PATH", &installed.path)
        .answer("ready> ", &format!("{keys}exit\n"))
        .run(&installed.world, shell, args);
    let log = fs::read_to_string(installed.home("log")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

fn wanted() -> Vec<&'static str> {
    LINES.iter().map(|l| l.1).collect()
}

#[test]
fn bash_completes_as_git_checkpoint() {
    const GIT: &str = "/usr/share/bash-completion/completions/git";
    if !has("bash") || !Path::new(GIT).exists() {
        return;
    }
    // bash-completion changes how words are split, and loads both files when they are first needed.
    let general = Path::new("/usr/share/bash-completion/bash_completion");
    let by_hand = format!("source {GIT}; source ~/.local/share/bash-completion/completions/git-checkpoint\n");
    let loaded = general.exists().then(|| format!("source {}\n", general.display()));
    let mut installed = with_session();
    for source in [Some(by_hand), loaded].into_iter().flatten() {
        installed = with_session();
        let rc = format!(
            "PS1='ready> '\n\
             {source}\
             show() {{ printf '%s\\n' \"$READLINE_LINE\" >>~/log; READLINE_LINE=; READLINE_POINT=0; }}\n\
             bind -x '\"\\C-t\": show' 2>/dev/null\n\
             bind 'set enable-bracketed-paste off'\n"
        );
        let path = installed.home("rc");
        fs::write(&path, rc).unwrap();
        let lines = typed(
            &installed,
            "bash",
            &["--noprofile", "--rcfile", path.to_str().unwrap(), "-i"],
        );
        // Paths are bash's own, with git's rule that no space follows.
        assert_eq!(lines, wanted(), "{source}");
    }
    // The command git is still completed by git.
    let script = format!(
        "source {GIT}; complete -p git; source ~/.local/share/bash-completion/completions/git-checkpoint; complete -p git"
    );
    let registered = installed.world.command("bash", ["-c", &script]).run();
    let lines: Vec<&str> = registered.success().stdout().lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], lines[1]);
}

#[test]
fn zsh_completes_as_git_checkpoint() {
    if !has("zsh") {
        return;
    }
    let installed = with_session();
    let rc = "PS1='ready> '\n\
              fpath=(~/.local/share/zsh/site-functions $fpath)\n\
              autoload -Uz compinit; compinit -u -D\n\
              show() { print -r -- \"$BUFFER\" >>~/log; BUFFER= }\n\
              zle -N show; bindkey '^T' show\n\
              unsetopt promptcr promptsp\n";
    fs::write(installed.home(".zshrc"), rc).unwrap();
    let lines = typed(&installed, "zsh", &["-i"]);
    // zsh adds the space behind a path itself.
    let wanted: Vec<String> = wanted().iter().map(|l| l.replace("README.md", "README.md ")).collect();
    assert_eq!(lines, wanted);
}

#[test]
fn fish_completes_as_git_checkpoint() {
    if !has("fish") {
        return;
    }
    let installed = with_session();
    let fish = |line: &str| {
        let out = installed
            .world
            .command("fish", ["-c", &format!("complete -C '{line}'")])
            .env("PATH", &installed.path)
            .run();
        out.success()
            .stdout()
            .lines()
            .map(|l| l.split('\t').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(fish("git-checkpoint sa"), ["save"]);
    assert_eq!(fish("git-checkpoint resume au"), ["auth-refactor"]);
    assert_eq!(
        fish("git-checkpoint resume auth-refactor@"),
        ["auth-refactor@before-merge"]
    );
    assert_eq!(fish("git-checkpoint save --session=a"), ["--session=auth-refactor"]);
    assert_eq!(fish("git-checkpoint save --attach READ"), ["README.md"]);
    assert_eq!(fish("git-checkpoint save --attach=READ"), ["--attach=README.md"]);
    // Also in fish 3.6.0, which does not pass it on by itself (fish-shell#9457).
    assert_eq!(fish("git checkpoint sa"), ["save"]);
    assert_eq!(fish("git checkpoint resume au"), ["auth-refactor"]);
    assert!(
        fish("git che").contains(&"checkout".to_owned()),
        "git's own completion stays"
    );
}

#[test]
fn wrong_usage_is_told_in_gits_form() {
    let world = World::new();
    world
        .checkpoint(["sav"])
        .code(129)
        .no_stdout()
        .stderr_has("error: unknown command 'sav'\nhint: ")
        .stderr_has("'save'");
    let json = world
        .checkpoint(["rename", "--json"])
        .code(129)
        .no_stdout()
        .stderr_json();
    assert_eq!(json["error"]["code"], "usage");
}
