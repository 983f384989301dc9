//! The rules of the source tree: which layer may name which other layer and which crate, where the environment and child
//! processes may be used, that nothing prints, that every file has a head comment, and how long a file may be.
//!
//! The source is read as text with a small tokenizer instead of asking the compiler: that way the test sees every
//! configuration and needs no build. It follows `crate::`, `self::`, `super::super::`, grouped imports and inline
//! modules. Macros that build paths from pieces would escape it; there are none.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One layer: its name below `src`, the layers it may name and the crates it may name.
struct Layer {
    name: &'static str,
    layers: &'static [&'static str],
    crates: &'static [&'static str],
    /// Whether `std::env` and `std::process` may be named here.
    system: bool,
}

/// The arrows. `std` and its relatives are open to all; what they may do is limited by `system` and by `clippy.toml`.
const LAYERS: &[Layer] = &[
    Layer {
        name: "model",
        layers: &[],
        crates: &[
            "schemars",
            "serde",
            "serde_json",
            "chrono",
            "memchr",
            "sha2",
            "unicode_normalization",
            "thiserror",
            "unicode_normalization",
        ],
        system: false,
    },
    Layer {
        name: "secrets",
        layers: &["model"],
        crates: &["memchr", "regex", "serde_json", "thiserror", "base64", "flate2", "zip"],
        system: false,
    },
    Layer {
        name: "tokens",
        layers: &[],
        crates: &[],
        system: false,
    },
    Layer {
        name: "agents",
        layers: &["model"],
        crates: &["jsonc_parser", "serde", "serde_json", "chrono", "sha2", "thiserror"],
        system: false,
    },
    Layer {
        name: "os",
        layers: &[],
        crates: &[
            "anstyle_query",
            "rustix",
            "getrandom",
            "signal_hook",
            "terminal_size",
            "thiserror",
        ],
        system: true,
    },
    Layer {
        name: "git",
        layers: &["os"],
        crates: &["thiserror"],
        system: true,
    },
    Layer {
        name: "store",
        layers: &["model", "git", "os"],
        crates: &[
            "age_format",
            "age_core",
            "base64",
            "gix",
            "serde",
            "serde_json",
            "chrono",
            "sha2",
            "flate2",
            "getrandom",
            "thiserror",
        ],
        system: false,
    },
    Layer {
        name: "worktree",
        layers: &["model", "secrets", "store", "git", "os"],
        crates: &["gix", "serde", "serde_json", "sha2", "getrandom", "thiserror"],
        system: false,
    },
    Layer {
        name: "formats",
        layers: &["model"],
        crates: &[
            "serde",
            "serde_json",
            "chrono",
            "rusqlite",
            "saphyr_parser",
            "thiserror",
            "base64",
            "flate2",
        ],
        system: false,
    },
    Layer {
        name: "render",
        layers: &["model"],
        crates: &[
            "base64",
            "maud",
            "sha2",
            "similar",
            "unicode_width",
            "schemars",
            "renderdag",
            "serde",
            "serde_json",
            "chrono",
            "thiserror",
        ],
        system: false,
    },
    Layer {
        name: "ops",
        layers: &[
            "agents", "model", "store", "worktree", "formats", "secrets", "tokens", "git", "os",
        ],
        crates: &[
            "memchr",
            "regex",
            "serde",
            "serde_json",
            "chrono",
            "sha2",
            "getrandom",
            "thiserror",
        ],
        system: false,
    },
    Layer {
        name: "serve",
        layers: &["model", "render", "os"],
        crates: &[
            "rmcp",
            "tokio",
            "schemars",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "thiserror",
        ],
        system: false,
    },
    Layer {
        name: "page",
        layers: &["model", "render", "serve", "os"],
        crates: &["axum", "futures_util", "hyper", "hyper_util", "tokio", "serde_json"],
        system: false,
    },
    Layer {
        name: "screen",
        layers: &["model", "render", "serve", "os"],
        crates: &["ratatui", "serde_json"],
        system: false,
    },
    Layer {
        name: "commands",
        layers: &[
            "agents", "model", "store", "formats", "secrets", "serve", "page", "screen", "tokens", "render", "ops",
            "git", "os",
        ],
        crates: &[
            "clap",
            "clap_complete",
            "clap_mangen",
            "serde",
            "serde_json",
            "chrono",
            "getrandom",
            "thiserror",
        ],
        system: false,
    },
    Layer {
        name: "main",
        layers: &["commands"],
        crates: &[],
        system: true,
    },
    Layer {
        name: "lib",
        layers: &[],
        crates: &[],
        system: false,
    },
];

/// Files that may name `std::env` or `std::process` although their layer may not, each for one purpose.
const SYSTEM_FILES: &[(&str, &str)] = &[
    ("commands/environment.rs", "fills the struct that everything else reads"),
    ("commands/ui/pager.rs", "starts the pager"),
];

/// Names below `std::env` and `std::process` that neither read nor start anything.
const HARMLESS: &[&str] = &[
    "std::env::split_paths",
    "std::env::join_paths",
    "std::env::consts",
    "std::process::ExitCode",
];

/// Names that every crate may use without being listed.
const OPEN_CRATES: &[&str] = &["std", "core", "alloc"];

/// Macros that print. `write!` to a writer that was handed in is the way.
const PRINTING: &[&str] = &["println", "eprintln", "print", "eprint", "dbg"];

/// The most lines that a file below `src` may have. A longer one is split.
const LIMIT: usize = 620;

/// The most lines that a file of tests may have: a list of cases grows longer than code before it becomes hard to read.
const TEST_LIMIT: usize = 1000;

/// A piece of source that matters here. Comments, strings and numbers are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    PathSep,
    Sign(char),
}

/// A token and the line it is on, from 1.
type Located = (Token, usize);

/// Splits source into tokens. Knows nested comments, raw strings, byte strings, characters and lifetimes.
fn tokens(source: &str) -> Vec<Located> {
    let chars: Vec<char> = source.chars().collect();
    let mut out = Vec::new();
    let mut line = 1;
    let mut i = 0;
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    while i < chars.len() {
        let c = chars[i];
        if c == '\n' {
            line += 1;
            i += 1;
        } else if c.is_whitespace() {
            i += 1;
        } else if c == '/' && at(i + 1) == '/' {
            while i < chars.len() && chars[i] != '\n' {
                i += 1;
            }
        } else if c == '/' && at(i + 1) == '*' {
            let mut depth = 0;
            while i < chars.len() {
                if chars[i] == '/' && at(i + 1) == '*' {
                    depth += 1;
                    i += 2;
                } else if chars[i] == '*' && at(i + 1) == '/' {
                    depth -= 1;
                    i += 2;
                    if depth == 0 {
                        break;
                    }
                } else {
                    line += usize::from(chars[i] == '\n');
                    i += 1;
                }
            }
        } else if let Some((hashes, start)) = raw_string(&chars, i) {
            i = start;
            while i < chars.len() {
                if chars[i] == '"' && (0..hashes).all(|h| at(i + 1 + h) == '#') {
                    i += 1 + hashes;
                    break;
                }
                line += usize::from(chars[i] == '\n');
                i += 1;
            }
        } else if c == '"' || (matches!(c, 'b' | 'c') && at(i + 1) == '"') {
            i += if c == '"' { 1 } else { 2 };
            while i < chars.len() && chars[i] != '"' {
                line += usize::from(chars[i] == '\n');
                if chars[i] == '\\' {
                    line += usize::from(at(i + 1) == '\n');
                    i += 1;
                }
                i += 1;
            }
            i += 1;
        } else if c == '\'' {
            i += if at(i + 1) == '\\' {
                let closing = (i + 3..chars.len()).find(|&j| chars[j] == '\'').unwrap_or(chars.len());
                closing + 1 - i
            } else if at(i + 2) == '\'' {
                line += usize::from(at(i + 1) == '\n');
                3
            } else {
                1 // a lifetime: its name follows as a word, which does no harm
            };
        } else if c.is_alphabetic() || c == '_' {
            let start = i;
            while i < chars.len() && (chars[i].is_alphanumeric() || chars[i] == '_') {
                i += 1;
            }
            let word: String = chars[start..i].iter().collect();
            if word == "r" && at(i) == '#' {
                i += 1; // a raw identifier: its name follows
            } else {
                out.push((Token::Word(word), line));
            }
        } else if c.is_ascii_digit() {
            while i < chars.len() && (chars[i].is_alphanumeric() || chars[i] == '_') {
                i += 1;
            }
        } else if c == ':' && at(i + 1) == ':' {
            out.push((Token::PathSep, line));
            i += 2;
        } else {
            out.push((Token::Sign(c), line));
            i += 1;
        }
    }
    out
}

/// If a raw string starts at `i`: its number of hashes and where its text starts.
fn raw_string(chars: &[char], i: usize) -> Option<(usize, usize)> {
    let before = i.checked_sub(1).map(|b| chars[b]);
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let mut j = i;
    if matches!(chars[j], 'b' | 'c') {
        j += 1;
    }
    if chars.get(j) != Some(&'r') {
        return None;
    }
    let hashes = chars[j + 1..].iter().take_while(|&&c| c == '#').count();
    (chars.get(j + 1 + hashes) == Some(&'"')).then_some((hashes, j + 2 + hashes))
}

/// A path as written, the module it is in, its line, and whether it is in test-only code.
pub(super) struct Named {
    pub(super) segments: Vec<String>,
    module: Vec<String>,
    line: usize,
    pub(super) import: bool,
    pub(super) test: bool,
}

/// Everything a file names: paths (imports spelled out one by one) and macro calls.
pub(super) fn names(source: &str, module: &[String], whole_file_is_test: bool) -> (Vec<Named>, Vec<(String, usize)>) {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut macros = Vec::new();
    // Inline modules: name, depth of the brace that opened it, whether it is test-only.
    let mut inline: Vec<(String, usize, bool)> = Vec::new();
    let mut depth: usize = 0;
    let mut test_attribute = false;
    let mut i = 0;
    while i < tokens.len() {
        let line = tokens[i].1;
        let here = || {
            module
                .iter()
                .cloned()
                .chain(inline.iter().map(|m| m.0.clone()))
                .collect::<Vec<_>>()
        };
        let test = whole_file_is_test || test_attribute || inline.iter().any(|m| m.2);
        match &tokens[i].0 {
            Token::Sign('#') if is_test_attribute(&tokens[i..]) => {
                test_attribute = true;
                i += 1;
            }
            Token::Sign(sign) => {
                match sign {
                    '{' => depth += 1,
                    '}' => {
                        depth = depth.saturating_sub(1);
                        test_attribute = false;
                        if inline.last().is_some_and(|m| m.1 == depth) {
                            inline.pop();
                        }
                    }
                    ';' => test_attribute = false,
                    _ => {}
                }
                i += 1;
            }
            Token::Word(word) if word == "mod" => {
                if let (Some((Token::Word(name), _)), Some((Token::Sign('{'), _))) =
                    (tokens.get(i + 1), tokens.get(i + 2))
                {
                    inline.push((name.clone(), depth, test_attribute));
                    test_attribute = false;
                    depth += 1;
                    i += 3;
                } else {
                    i += 2;
                }
            }
            Token::Word(word) if word == "use" => {
                let (paths, next) = import(&tokens, i + 1, &[]);
                found.extend(paths.into_iter().map(|(segments, line)| Named {
                    segments,
                    module: here(),
                    line,
                    import: true,
                    test,
                }));
                test_attribute = false;
                i = next;
            }
            Token::Word(word) if word == "extern" => {
                if let (Some((Token::Word(krate), _)), Some((Token::Word(name), _))) =
                    (tokens.get(i + 1), tokens.get(i + 2))
                    && krate == "crate"
                {
                    found.push(Named {
                        segments: vec![name.clone()],
                        module: here(),
                        line,
                        import: true,
                        test,
                    });
                }
                i += 1;
            }
            Token::Word(first) => {
                let mut segments = vec![first.clone()];
                i += 1;
                while let (Some((Token::PathSep, _)), Some((Token::Word(next), _))) = (tokens.get(i), tokens.get(i + 1))
                {
                    segments.push(next.clone());
                    i += 2;
                }
                if tokens.get(i).map(|t| &t.0) == Some(&Token::Sign('!'))
                    && tokens.get(i + 1).map(|t| &t.0) != Some(&Token::Sign('='))
                {
                    macros.push((segments.last().cloned().unwrap_or_default(), line));
                }
                if segments.len() > 1 {
                    found.push(Named {
                        segments,
                        module: here(),
                        line,
                        import: false,
                        test,
                    });
                }
            }
            Token::PathSep => i += 1,
        }
    }
    (found, macros)
}

/// Whether `#[cfg(test)]` or a combination that asks for `test` starts here.
fn is_test_attribute(tokens: &[Located]) -> bool {
    let word = |i: usize| match tokens.get(i) {
        Some((Token::Word(w), _)) => w.as_str(),
        _ => "",
    };
    let end = tokens.iter().position(|t| t.0 == Token::Sign(']')).unwrap_or(0);
    word(2) == "cfg"
        && (word(4) == "test" || (word(4) == "all" && tokens[..end].iter().any(|t| t.0 == Token::Word("test".into()))))
}

/// Paths with the line each is on.
type Paths = Vec<(Vec<String>, usize)>;

/// Spells out one import tree from `i` on, up to its `;` or the `,` or `}` that ends the branch.
fn import(tokens: &[Located], mut i: usize, prefix: &[String]) -> (Paths, usize) {
    let mut path = prefix.to_vec();
    let mut line = tokens.get(i).map_or(0, |t| t.1);
    let mut out = Vec::new();
    let mut grouped = false;
    while let Some((token, at)) = tokens.get(i) {
        match token {
            Token::Word(word) if word == "as" => i += 2,
            Token::Word(word) => {
                line = *at;
                path.push(word.clone());
                i += 1;
            }
            Token::Sign('{') => {
                grouped = true;
                i += 1;
                while let Some((token, _)) = tokens.get(i) {
                    match token {
                        Token::Sign('}') => {
                            i += 1;
                            break;
                        }
                        Token::Sign(',') => i += 1,
                        _ => {
                            let (inner, next) = import(tokens, i, &path);
                            out.extend(inner);
                            i = next.max(i + 1);
                        }
                    }
                }
            }
            Token::Sign(';') => {
                if prefix.is_empty() {
                    i += 1;
                }
                break;
            }
            Token::Sign(',' | '}') => break,
            Token::PathSep | Token::Sign(_) => i += 1,
        }
    }
    if !grouped && path.len() > prefix.len() {
        out.push((path, line));
    }
    (out, i)
}

/// The full path from the crate's root for what starts with `crate`, `self`, `super` or this crate's name; else None.
pub(super) fn inside(named: &Named) -> Option<Vec<String>> {
    let mut rest = named.segments.as_slice();
    let mut base = match rest.first()?.as_str() {
        "crate" | "git_checkpoint" => {
            rest = &rest[1..];
            Vec::new()
        }
        "self" if rest.len() > 1 || named.import => {
            rest = &rest[1..];
            named.module.clone()
        }
        "super" => named.module.clone(),
        _ => return None,
    };
    while rest.first().is_some_and(|s| s == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// The module path of a file below `src`: `commands/ui/pager.rs` is `commands::ui::pager`.
pub(super) fn module_of(file: &str) -> Vec<String> {
    let mut parts: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|p| p == "mod" || p == "lib" || p == "main") {
        parts.pop();
    }
    parts
}

/// All faults of one file, each as `src/<file>:<line>: <what>`. `crates` are the dependencies as names in code.
fn faults(file: &str, source: &str, crates: &BTreeSet<String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut fault = |line: usize, what: String| out.push(format!("src/{file}:{line}: {what}"));
    let head: Vec<&str> = source.lines().take_while(|l| l.starts_with("//!")).collect();
    if head.is_empty() {
        fault(1, "has no `//!` head that says what it is".into());
    }
    let lines = source.lines().count();
    if lines > LIMIT {
        fault(1, format!("has {lines} lines, over the limit of {LIMIT}: split it"));
    }
    let module = module_of(file);
    let name = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    let Some(layer) = LAYERS.iter().find(|l| l.name == name) else {
        fault(
            1,
            format!("'{name}' is no layer: add it to tests/it/layers.rs with its arrows"),
        );
        return out;
    };
    let is_test_file = file.ends_with("/tests.rs") || file.contains("/tests/");
    let (found, macros) = names(source, &module, is_test_file);
    for (called, line) in macros {
        if PRINTING.contains(&called.as_str()) {
            fault(line, format!("'{called}!' prints; hand the text to commands::ui"));
        }
    }
    let system = layer.system || SYSTEM_FILES.iter().any(|(f, _)| *f == file);
    for named in found {
        let written = named.segments.join("::");
        if let Some(path) = inside(&named) {
            let target = path.first().map_or("", String::as_str);
            let is_layer = LAYERS.iter().any(|l| l.name == target) && !matches!(target, "lib" | "main");
            if is_layer && target != layer.name && layer.name != "lib" && !layer.layers.contains(&target) {
                fault(
                    named.line,
                    format!("layer '{}' must not name '{target}' (`{written}`)", layer.name),
                );
            }
            if path.is_empty()
                || path.first().is_some_and(|p| p == "*")
                || (named.import && path.len() == 1 && path[0] == "self")
            {
                fault(
                    named.line,
                    format!("names the whole crate (`{written}`), which hides the arrow"),
                );
            }
            // A layer may hand out a type of a crate under its own name, but not the crate itself.
            if let Some(krate) = path.iter().skip(1).find(|s| *s == "gix" || *s == "clap")
                && !layer.crates.contains(&krate.as_str())
            {
                fault(
                    named.line,
                    format!("layer '{}' reaches '{krate}' through `{written}`", layer.name),
                );
            }
            continue;
        }
        let first = named.segments[0].as_str();
        if crates.contains(first) && !OPEN_CRATES.contains(&first) && !named.test && !layer.crates.contains(&first) {
            fault(
                named.line,
                format!("layer '{}' must not name the crate '{first}' (`{written}`)", layer.name),
            );
        }
        let touches = |what: &str| first == "std" && named.segments.get(1).is_some_and(|s| s == what);
        let harmless = HARMLESS.iter().any(|h| written.starts_with(h));
        if !system && !named.test && !harmless && (touches("env") || touches("process")) {
            fault(
                named.line,
                format!("`{written}`: only src/git.rs, src/os, main.rs and listed files touch it"),
            );
        }
        if named.import && first == "std" && named.segments.len() == 1 {
            fault(
                named.line,
                "imports the whole of std, which hides what it touches".into(),
            );
        }
    }
    out
}

/// Names of the dependencies as written in code, from cargo: the name of a library may differ from that of its package.
fn dependencies() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        // A build fetches the crates of its own system; the list needs those of all, so this may fetch the rest once.
        .args(["metadata", "--format-version=1", "--locked", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let resolve = &metadata["resolve"];
    let nodes = resolve["nodes"].as_array().unwrap();
    let ours = nodes.iter().find(|node| node["id"] == resolve["root"]).unwrap();
    let names = ours["deps"].as_array().unwrap().iter();
    names
        .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below `folder`, as paths relative to it with `/`.
pub(super) fn rust_files(directory: &Path) -> Vec<String> {
    fn walk(base: &Path, directory: &Path, out: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(base, &path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path.strip_prefix(base).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    let mut out = Vec::new();
    walk(directory, directory, &mut out);
    out.sort();
    out
}

#[test]
fn the_arrows_point_one_way() {
    let crates = dependencies();
    assert!(
        ["gix", "unicode_width", "rustix", "renderdag"]
            .iter()
            .all(|name| crates.contains(*name)),
        "{crates:?}"
    );
    let src = root().join("src");
    let mut report = String::new();
    let files = rust_files(&src);
    assert!(
        files.iter().any(|f| f == "lib.rs"),
        "no source found below {}",
        src.display()
    );
    for file in files {
        for fault in faults(&file, &fs::read_to_string(src.join(&file)).unwrap(), &crates) {
            writeln!(report, "{fault}").unwrap();
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn test_files_have_heads_and_stay_below_the_limit() {
    let tests = root().join("tests/it");
    let mut report = String::new();
    for file in rust_files(&tests) {
        let source = fs::read_to_string(tests.join(&file)).unwrap();
        let head: String = source.lines().take_while(|l| l.starts_with("//!")).collect();
        let lines = source.lines().count();
        if head.is_empty() {
            writeln!(report, "tests/it/{file}: has no `//!` head").unwrap();
        }
        if lines > TEST_LIMIT {
            writeln!(report, "tests/it/{file}: {lines} lines, over the limit of {TEST_LIMIT}").unwrap();
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The checker must be able to fail: each snippet with the fault it must find, or with none.
#[test]
fn the_checker_finds_planted_faults() {
    let crates: BTreeSet<String> = ["gix", "clap", "regex", "serde_json", "similar"]
        .map(str::to_owned)
        .into();
    let planted = [
        ("model/a.rs", "use crate::store::refs;", "must not name 'store'"),
        ("model/a.rs", "use super::super::store::refs;", "must not name 'store'"),
        ("model/a/b.rs", "use super::super::super::ops;", "must not name 'ops'"),
        (
            "model/a.rs",
            "mod x { use super::super::super::ops::y; }",
            "must not name 'ops'",
        ),
        (
            "model/a.rs",
            "fn f() { let x = crate::ops::save(); }",
            "must not name 'ops'",
        ),
        (
            "model/a.rs",
            "fn f() -> super::super::git::Out {}",
            "must not name 'git'",
        ),
        (
            "render/text.rs",
            "use crate::{model::id, formats::claude};",
            "must not name 'formats'",
        ),
        (
            "render/text.rs",
            "use crate::{\n    model::{id, session::{Session, Name}},\n    store,\n};",
            "src/render/text.rs:4: layer",
        ),
        (
            "render/text.rs",
            "pub use crate::{model::id as x, ops as y};",
            "must not name 'ops'",
        ),
        ("store/mod.rs", "use crate::ops as o;", "must not name 'ops'"),
        ("store/mod.rs", "use crate::worktree;", "must not name 'worktree'"),
        ("ops/save.rs", "use gix::Repository;", "the crate 'gix'"),
        ("ops/save.rs", "fn f(r: &gix::Repository) {}", "the crate 'gix'"),
        ("ops/save.rs", "fn f(r: &::gix::Repository) {}", "the crate 'gix'"),
        ("ops/save.rs", "use crate::store::gix::ObjectId;", "reaches 'gix'"),
        ("ops/save.rs", "extern crate gix as g;", "the crate 'gix'"),
        ("ops/save.rs", "use gix as g;", "the crate 'gix'"),
        ("ops/save.rs", "use {std::fs, clap::Parser};", "the crate 'clap'"),
        ("ops/save.rs", "#[derive(clap::Args)] struct A;", "the crate 'clap'"),
        (
            "commands/save.rs",
            "use crate::worktree::snapshot;",
            "must not name 'worktree'",
        ),
        ("commands/save.rs", "use r#gix::x;", "the crate 'gix'"),
        ("formats/x.rs", "use std::{fs, env};", "std::env"),
        ("formats/x.rs", "fn f() { std::env::var(\"A\"); }", "std::env"),
        ("store/x.rs", "use std::process::Command;", "std::process"),
        ("commands/save.rs", "fn f() { println!(\"x\"); }", "prints"),
        ("ops/a.rs", "fn f() { std::eprintln!(\"x\"); }", "prints"),
        (
            "model/a.rs",
            "fn f() { let _ = '\"'; crate::ops::x(); let _ = \"\"; }",
            "must not name 'ops'",
        ),
        (
            "model/a.rs",
            "fn f<'a>(x: &'a str) { let _ = '\\''; crate::ops::x(); }",
            "must not name 'ops'",
        ),
        (
            "model/a.rs",
            "/* a /* nested */ still */ use crate::ops;",
            "must not name 'ops'",
        ),
        (
            "model/a.rs",
            "const X: &str = r#\"a \" b\"#; use crate::ops;",
            "must not name 'ops'",
        ),
        ("model/a.rs", "use crate as root;", "whole crate"),
        ("model/a.rs", "use crate::*;", "whole crate"),
        (
            "model/a.rs",
            "#[cfg(test)] mod tests { use crate::ops::x; }",
            "must not name 'ops'",
        ),
        (
            "model/a.rs",
            "#[cfg(test)] mod tests { } use regex::Regex;",
            "the crate 'regex'",
        ),
        (
            "model/a.rs",
            "#[cfg(test)] use a::b; use regex::Regex;",
            "the crate 'regex'",
        ),
        ("strange/a.rs", "", "is no layer"),
    ];
    for (file, source, wanted) in planted {
        let found = faults(file, &format!("//! Head.\n{source}"), &crates);
        assert!(
            found.iter().any(|f| f.contains(wanted)),
            "{file}: {source}\nwanted '{wanted}', found {found:#?}"
        );
    }
    let innocent = [
        (
            "model/a.rs",
            "use super::id; use crate::model::session; use self::x::y; use std::fmt;",
        ),
        (
            "model/a.rs",
            "// use crate::ops;\n/* crate::ops::x */ const X: &str = \"crate::ops::x\"; const Y: &[u8] = br#\"gix::x\"#;",
        ),
        (
            "model/a.rs",
            "/// See `crate::ops`.\nfn ops() { let store = 1; self::ops(); Self::ops(); }",
        ),
        (
            "ops/a.rs",
            "use crate::{git, model::id, store::{Repository, refs}, worktree::snapshot};",
        ),
        (
            "store/a.rs",
            "use gix::{ObjectId, refs::{self, transaction}}; use super::format;",
        ),
        (
            "model/a.rs",
            "#[cfg(test)]\nmod tests { use super::*; use regex::Regex; fn f() { std::env::temp_dir(); } }",
        ),
        ("model/tests.rs", "use regex::Regex; use super::*;"),
        ("commands/environment.rs", "use std::env;"),
        ("main.rs", "use git_checkpoint::commands; use std::process::ExitCode;"),
        ("lib.rs", "pub mod model; mod ops;"),
        (
            "ops/a.rs",
            "use std::process::ExitCode; fn f() { std::env::join_paths([\"\"]); }",
        ),
        ("ops/a.rs", "fn f(println: bool) -> bool { println != true }"),
    ];
    for (file, source) in innocent {
        let found = faults(file, &format!("//! Head.\n{source}"), &crates);
        assert!(found.is_empty(), "{file}: {source}\nfound {found:#?}");
    }
    assert!(faults("model/a.rs", "fn f() {}", &crates)[0].contains("no `//!` head"));
    let longest = "//! Head.\n".to_owned() + &"fn f() {}\n".repeat(LIMIT - 1);
    assert_eq!(faults("model/a.rs", &longest, &crates), Vec::<String>::new());
    let longer = longest + "fn f() {}\n";
    assert!(faults("model/a.rs", &longer, &crates)[0].contains("over the limit"));
}
