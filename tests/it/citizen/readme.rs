//! Every code block of the README and of the guides is run, in order, on a terminal of 80 columns, and what is shown
//! there is compared with what is in the text; so they cannot rot.
//!
//! A block `console` has commands behind `$ ` (going on behind `> `) and what they print; a block `sh` has commands
//! that must succeed; a block `text` is a picture. Ids, times, sizes, the machine's name and directories may be others.
//! What a reader need not see is in comments: `<!-- run: COMMAND -->` and `<!-- wait: SECONDS -->`. `cargo` is a are-in
//! that runs the program built for the tests. With `UPDATE_README=1` it is rewritten with what is printed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use regex::Regex;

use crate::support::{PROGRAM, Terminal, World};

/// The stand-in for cargo: a build takes minutes, and the tests themselves begin with one.
const CARGO: &str = r#"#!/bin/sh
case "$1 $2 $3" in
'run --release --') shift 3; exec git-checkpoint "$@" ;;
'test  ' | 'install --locked --path' | 'build --release --target') ;;
*) echo "the stand-in does not know: cargo $*" >&2; exit 1 ;;
esac
"#;

/// One document: its world, and the directory its next command runs in.
struct Reader {
    world: World,
    bin: String,
}

impl Reader {
    fn new() -> Self {
        let world = World::new();
        world.file("src/parser.rs", "fn parse() {}\n");
        world.file("tests/refresh.rs", "fn refresh() {}\n");
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", "first"]).success();
        let bin = world.root().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("cargo"), CARGO).unwrap();
        fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats");
        std::os::unix::fs::symlink(samples, world.root().join("fixtures")).unwrap();
        let program = Path::new(PROGRAM).parent().unwrap().display().to_string();
        let bin = format!("{}:{program}:{}", bin.display(), std::env::var("PATH").unwrap());
        Self { world, bin }
    }

    /// Runs a command as typed, in the directory where the one before ended, and gives what the terminal showed.
    fn run(&self, command: &str, must_succeed: bool) -> String {
        let state = self.world.root().join("state");
        let script = format!(
            "{command}\nstatus=$?\n{{ pwd; export -p; }} >'{0}'\nexit $status",
            state.display()
        );
        let before = fs::read_to_string(&state).unwrap_or_default();
        let (directory, exports) = before.split_once('\n').unwrap_or((".", ""));
        let is_ours = |line: &&str| line.contains(" CHECKPOINT_");
        let exports = exports.lines().filter(is_ours).collect::<Vec<_>>().join("\n");
        let script = format!("cd '{directory}'\n{exports}\n{script}");
        let screen = Terminal::new(80, "xterm")
            .env("PATH", &self.bin)
            .env("NO_COLOR", "1")
            .env("GIT_PAGER", "cat")
            .env("GIT_ADVICE", "0")
            .env("CHECKPOINT_NO_PROMPT", "1")
            .run(&self.world, "sh", ["-c", &script]);
        let text = screen.text();
        assert!(screen.status.success() || !must_succeed, "{command}\n{text}");
        text
    }

    /// Text with another machine's name and directories.
    fn elsewhere(&self, text: &str) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        // What a directory is called decides on how lines are broken and padded.
        let padded = Regex::new(&format!(
            r"{}(\S*) +",
            regex::escape(self.world.root().to_str().unwrap())
        ))
        .unwrap();
        let text = padded.replace_all(text, "/home/ana$1 ");
        let text = text.replace(self.world.root().to_str().unwrap(), "/home/ana");
        let text = text.replace(&format!(" on {}", host.trim()), " on laptop");
        // How git counts objects on the way is git's own.
        let lines = text.split_inclusive('\n').filter(|line| !line.starts_with("remote: "));
        lines.collect()
    }

    /// Text without what differs from run to run and from machine to machine.
    fn normal(&self, text: &str) -> String {
        let text = self.elsewhere(text);
        // A slow machine shows progress.
        let progress = Regex::new("[^\n]*\u{1b}\\[K").unwrap();
        let text = progress.replace_all(&text, "");
        let size = Regex::new(r"[\d.]+ (bytes|[KM]iB)").unwrap();
        let text = size.replace_all(&text, "<size>");
        // A short id may be of digits alone, so that it is reported by its length.
        let short = Regex::new(r"\b[0-9a-f]{8}\b").unwrap();
        let text = short.replace_all(&text, "<short>");
        // Delimiters and ids of items are random.
        let random = Regex::new(r"\b(BEGIN|END|decision|task|todo|blocker) ([a-z2-7]{16}|[a-z2-7]{8})\b").unwrap();
        let text = random.replace_all(&text, "$1 <random>");
        // Trailing spaces are for nobody.
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        self.world.normal(lines.join("\n").trim_end())
    }
}

/// Runs one document, and gives what differs.
fn check(path: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let source = fs::read_to_string(&file).unwrap();
    let reader = Reader::new();
    let (mut out, mut faults) = (String::new(), Vec::new());
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        if let Some(command) = line
            .strip_prefix("<!-- run: ")
            .and_then(|rest| rest.strip_suffix(" -->"))
        {
            reader.run(command, true);
        } else if let Some(seconds) = line
            .strip_prefix("<!-- wait: ")
            .and_then(|rest| rest.strip_suffix(" -->"))
        {
            reader.world.advance(seconds.parse().unwrap());
        }
        let Some(kind) = line.strip_prefix("```") else { continue };
        let mut block = Vec::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            block.push(line);
        }
        if kind == "text" {
            // A picture.
            out.extend(block.iter().map(|line| format!("{line}\n")));
        } else if kind == "sh" {
            out.extend(block.iter().map(|line| format!("{line}\n")));
            reader.run(&block.join("\n"), true);
        } else if kind == "json" {
            // A story gives it to the program.
            out.extend(block.iter().map(|line| format!("{line}\n")));
        } else {
            assert_eq!(kind, "console", "{path}: a block that is not run");
            console(&reader, path, &block, &mut out, &mut faults);
        }
        out.push_str("```\n");
    }
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(file, out).unwrap();
    }
    faults
}

/// Runs the commands of a block, one by one.
fn console(reader: &Reader, path: &str, block: &[&str], out: &mut String, faults: &mut Vec<String>) {
    let mut rest = block;
    let (mut wanted, mut got) = (Vec::new(), Vec::new());
    while let [first, after @ ..] = rest {
        let mut command = first
            .strip_prefix("$ ")
            .unwrap_or_else(|| panic!("{path}: no command: {first}"))
            .to_owned();
        out.push_str(&format!("{first}\n"));
        rest = after;
        while let [more, after @ ..] = rest
            && let Some(more_text) = more.strip_prefix("> ")
        {
            command.push('\n');
            command.push_str(more_text);
            out.push_str(&format!("{more}\n"));
            rest = after;
        }
        let end = rest
            .iter()
            .position(|line| line.starts_with("$ "))
            .unwrap_or(rest.len());
        let shown = reader.run(&command, false);
        wanted.push(format!("$ {command}\n{}", rest[..end].join("\n")));
        got.push(format!("$ {command}\n{}", shown.trim_end()));
        let plain = reader.elsewhere(&shown);
        out.extend(plain.trim_end().lines().map(|line| format!("{}\n", line.trim_end())));
        rest = &rest[end..];
    }
    let (wanted, got) = (reader.normal(&wanted.join("\n")), reader.normal(&got.join("\n")));
    if wanted != got {
        faults.push(format!("{path}: stands there:\n{wanted}\n-- is printed:\n{got}\n"));
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    let faults = check("README.md");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_guides_show_what_is_printed() {
    let directory = "src/commands/guides";
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)).unwrap();
    let mut names: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 6, "{names:?}");
    let faults: Vec<_> = names
        .iter()
        .flat_map(|name| check(&format!("{directory}/{name}")))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let world = World::without_repository();
    for name in &names {
        let topic = name.trim_end_matches(".md");
        let page = world.checkpoint(["help", topic]);
        assert!(!page.success().stdout().contains("<!--"), "{topic}");
    }
}

/// What the README shows about commands and settings is complete.
#[test]
fn the_help_names_every_command_and_the_readme_leads_to_files() {
    let world = World::new();
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let all = world.checkpoint(["help"]).success().stdout().to_owned();
    let help = world.checkpoint(["help", "--json"]).success().stdout_json();
    for command in help["command"]["commands"].as_array().unwrap() {
        let name = command["name"].as_str().unwrap();
        let named = Regex::new(&format!("(?m)^  {name} ")).unwrap();
        assert!(named.is_match(&all), "the help does not name '{name}'");
    }
    // Links inside of the repository lead to files.
    for link in Regex::new(r"\]\(([^):#]+)\)").unwrap().captures_iter(&readme) {
        assert!(
            Path::new(env!("CARGO_MANIFEST_DIR")).join(&link[1]).exists(),
            "{}",
            &link[1]
        );
    }
}
