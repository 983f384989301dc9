//! The version of an agent's program: by its package or its path, else by asking it.

use std::{ffi::OsString, path::Path, time::Duration};

use serde_json::Value;

use crate::{
    model::step::quoted,
    os::{self, QueryOutcome, Question},
};

/// How long a program may take to say its version.
const TIME: Duration = Duration::from_secs(3);
/// How many directories above a program a package is looked for in.
const ABOVE: usize = 4;
/// The longest version that is shown.
const LONGEST: usize = 40;

/// The version of the program at this path, if it can be found.
pub fn of_program(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    of_package(&real).or_else(|| of_path(&real)).or_else(|| asked(program))
}

/// By the package that the program belongs to.
fn of_package(program: &Path) -> Option<String> {
    let directories = program.ancestors().skip(1).take(ABOVE);
    let manifest = directories
        .map(|directory| directory.join("package.json"))
        .find(|manifest| manifest.is_file())?;
    let manifest: Value = serde_json::from_slice(&os::read_regular(&manifest).ok()?).ok()?;
    manifest.get("bin")?;
    number(manifest.get("version")?.as_str()?)
}

/// By a part of its path, as where each version has a file or directory of its own.
fn of_path(program: &Path) -> Option<String> {
    program
        .components()
        .rev()
        .filter_map(|part| part.as_os_str().to_str())
        .find(|part| number(part).as_deref() == Some(part))
        .map(str::to_owned)
}

/// By its own words.
fn asked(program: &Path) -> Option<String> {
    let directory = program.parent()?;
    let line = OsString::from(format!(
        "exec {} --version </dev/null 2>/dev/null",
        quoted(&program.to_string_lossy())
    ));
    let outcome = os::query_program(Question {
        command: &line,
        directory,
        variables: &[],
        input: b"",
        limit: 1 << 16,
        time: TIME,
    });
    match outcome {
        Ok(QueryOutcome::Text(text)) => text
            .split(u8::is_ascii_whitespace)
            .filter_map(|word| std::str::from_utf8(word).ok())
            .find_map(number),
        _ => None,
    }
}

/// The word as a version: numbers with dots between them, and what follows.
fn number(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let word = word.strip_prefix('v').unwrap_or(word);
    let (major, rest) = word.split_once('.')?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_one = is_digits(major)
        && rest.starts_with(|c: char| c.is_ascii_digit())
        && word.len() <= LONGEST
        && word.chars().all(|c| c.is_ascii_alphanumeric() || ".-+_".contains(c));
    is_one.then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_with_dots() {
        for (word, version) in [
            ("2.1.332", Some("2.1.332")),
            ("v0.61.0-nightly.1", Some("0.61.0-nightly.1")),
            ("(1.0)", Some("1.0")),
            ("codex-cli", None),
            ("1", None),
            ("1.x", None),
            ("1.0\u{1b}[31m", None),
            ("node.js", None),
        ] {
            assert_eq!(number(word).as_deref(), version, "{word}");
        }
    }

    #[test]
    fn a_version_is_found_in_the_path_and_the_package() {
        assert_eq!(
            of_path(Path::new("/h/.local/share/claude/versions/2.1.332")).as_deref(),
            Some("2.1.332")
        );
        assert_eq!(of_path(Path::new("/usr/bin/claude")), None);
        let world = tempfile::tempdir().expect("a directory");
        let bin = world.path().join("package/bin");
        std::fs::create_dir_all(&bin).expect("directories");
        std::fs::write(bin.join("agent"), "").expect("a file");
        std::fs::write(
            world.path().join("package/package.json"),
            r#"{"version": "3.0.1", "bin": "bin/agent"}"#,
        )
        .expect("a file");
        assert_eq!(of_program(&bin.join("agent")).as_deref(), Some("3.0.1"));
    }
}
