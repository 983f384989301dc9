//! Pathspecs of the command line: behind `--`, or read from a file, and read as git's variables for them say.
//!
//! What is handed on are pathspecs in git's own form: `GIT_LITERAL_PATHSPECS` and its like are put into their words, so
//! that no layer below has to know them.

use std::{
    cell::OnceCell,
    ffi::OsString,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{
    Context,
    environment::Environment,
    error::{CommandError, FailureKind},
    input::refuse_own_input,
    message,
};
use crate::{
    model::{
        path::{self, RepoPath},
        step::quoted,
    },
    ops, os,
    serve::PathRule,
    store,
};

/// The most bytes of a file with pathspecs: 64 MiB, some million paths.
const LIMIT: u64 = 64 << 20;

/// The pathspecs of a command.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Pathspecs {
    /// Only these files, as pathspecs; ':(attr:...)' is not supported
    #[arg(id = "pathspecs", last = true, value_name = "PATHSPEC")]
    given: Vec<OsString>,
    /// Read the pathspecs from this file, one per line; '-' is standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "pathspecs",
        value_hint = clap::ValueHint::FilePath,
        hide_short_help = true
    )]
    pathspec_from_file: Option<PathBuf>,
    /// Pathspecs in that file end with NUL and are not quoted
    #[arg(long, requires = "pathspec_from_file", hide_short_help = true)]
    pathspec_file_nul: bool,
    /// The pathspecs as read, and as given.
    #[arg(skip)]
    made: OnceCell<Vec<(OsString, OsString)>>,
}

impl Pathspecs {
    /// Whether there are none, so that everything is meant.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty() && self.pathspec_from_file.is_none()
    }

    /// The same as they are typed, for a hint that repeats the command; each word after a space.
    pub(super) fn typed(&self) -> String {
        let mut out = String::new();
        if let Some(file) = &self.pathspec_from_file {
            out.push_str(&format!(" --pathspec-from-file {}", quoted(&file.to_string_lossy())));
            if self.pathspec_file_nul {
                out.push_str(" --pathspec-file-nul");
            }
        }
        if !self.given.is_empty() {
            out.push_str(" --");
        }
        for spec in &self.given {
            out.push(' ');
            out.push_str(&quoted(&spec.to_string_lossy()));
        }
        out
    }

    /// The pathspecs, in git's own form.
    ///
    /// # Errors [`FailureKind::Invalid`] when the file cannot be read, is quoted wrongly or names nothing: that is not
    /// everything.
    pub(super) fn read(&self, context: &Context) -> Result<Vec<OsString>, CommandError> {
        if let Some(made) = self.made.get() {
            return Ok(made.iter().map(|(made, _)| made.clone()).collect());
        }
        let given = match &self.pathspec_from_file {
            None => self.given.iter().map(|spec| spec.as_encoded_bytes().to_vec()).collect(),
            Some(file) => {
                let bytes = input(context, file)?;
                let specs = parse(&bytes, self.pathspec_file_nul).map_err(|line| {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    CommandError::new(FailureKind::Invalid, format!("malformed quoting: '{line}'"))
                        .hint("quote as git does, or use NUL-terminated pathspecs with --pathspec-file-nul")
                })?;
                if specs.is_empty() {
                    let name = file.display();
                    return Err(
                        CommandError::new(FailureKind::Invalid, format!("'{name}' has no pathspec"))
                            .hint("for all files, omit --pathspec-from-file"),
                    );
                }
                specs
            }
        };
        let mode = PathspecMode::of(&context.env);
        let made = given
            .iter()
            .map(|spec| (os::os_string(&mode.applied(spec)), os::os_string(spec)));
        let made = self.made.get_or_init(|| made.collect());
        Ok(made.iter().map(|(made, _)| made.clone()).collect())
    }

    /// The error of an operation with a pathspec as it was given.
    pub(super) fn as_given(&self, mut error: ops::Error) -> ops::Error {
        let given = |spec: &[u8]| {
            let made = self.made.get()?.iter();
            made.rev()
                .find(|(made, _)| made.as_encoded_bytes() == spec)
                .map(|(_, given)| given)
        };
        match &mut error {
            ops::Error::NoMatch { spec, .. } => {
                if let Some(given) = given(spec.as_bytes()) {
                    *spec = RepoPath::new(given.as_encoded_bytes().to_vec());
                }
            }
            ops::Error::Store(store::Error::Pathspec { spec, .. }) => {
                if let Some(given) = given(spec.as_bytes()) {
                    *spec = given.to_string_lossy().into_owned();
                }
            }
            _ => {}
        }
        error
    }

    /// The same as bytes.
    pub(super) fn bytes(&self, context: &Context) -> Result<Vec<Vec<u8>>, CommandError> {
        let specs = self.read(context)?;
        Ok(specs.iter().map(|spec| spec.as_encoded_bytes().to_vec()).collect())
    }
}

/// Content of the file. As in git, anything readable will do, such as a pipe from process substitution.
fn input(context: &Context, file: &Path) -> Result<Vec<u8>, CommandError> {
    if file.as_os_str() == "-" {
        return message::input(context, file, "the pathspecs", LIMIT);
    }
    refuse_own_input(context, file, "the pathspecs")?;
    let failed = |why: String| {
        let message = format!("cannot read the pathspecs '{}': {why}", file.display());
        CommandError::new(FailureKind::Invalid, message)
    };
    let mut bytes = Vec::new();
    File::open(context.env.cwd.join(file))
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
        .map_err(|error| failed(os::reason(&error)))?;
    if bytes.len() as u64 > LIMIT {
        return Err(failed(format!("it has more than the {LIMIT} bytes allowed")));
    }
    Ok(bytes)
}

/// The pathspecs in a file, or the line that is badly quoted. Empty lines are none.
fn parse(bytes: &[u8], nul: bool) -> Result<Vec<Vec<u8>>, Vec<u8>> {
    let end = if nul { b'\0' } else { b'\n' };
    let lines = bytes.split(|byte| *byte == end).filter(|line| !line.is_empty());
    if nul {
        return Ok(lines.map(<[u8]>::to_vec).collect());
    }
    lines
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(|line| path::unquote(line).map(Into::into).ok_or_else(|| line.to_vec()))
        .collect()
}

/// How git's variables want pathspecs to be read, as `git --literal-pathspecs` and its like set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PathspecMode {
    top: bool,
    literal: bool,
    glob: bool,
    noglob: bool,
    icase: bool,
}

impl PathspecMode {
    fn of(env: &Environment) -> Self {
        let is_set = |name: &str| env.flag(name) == Some(true);
        Self {
            top: env.paths != PathRule::Typed,
            literal: env.paths == PathRule::Exact || is_set("GIT_LITERAL_PATHSPECS"),
            glob: is_set("GIT_GLOB_PATHSPECS"),
            noglob: is_set("GIT_NOGLOB_PATHSPECS"),
            icase: is_set("GIT_ICASE_PATHSPECS"),
        }
    }

    /// A pathspec with what the variables say in its own words.
    fn applied(self, spec: &[u8]) -> Vec<u8> {
        if self == Self::default() {
            return spec.to_vec();
        }
        if self.literal {
            let words: &[u8] = if self.top { b":(top,literal)" } else { b":(literal)" };
            return [words, spec].concat();
        }
        let (mut words, rest) = taken_apart(spec);
        let has = |words: &[String], word: &str| words.iter().any(|known| known == word);
        if self.top && !has(&words, "top") {
            words.push("top".to_owned());
        }
        if self.glob && !has(&words, "literal") && !has(&words, "glob") {
            words.push("glob".to_owned());
        }
        if self.noglob && !has(&words, "glob") && !has(&words, "literal") {
            words.push("literal".to_owned());
        }
        if self.icase && !has(&words, "icase") {
            words.push("icase".to_owned());
        }
        [format!(":({})", words.join(",")).as_bytes(), rest].concat()
    }
}

/// The magic words of a pathspec, and its pattern.
fn taken_apart(spec: &[u8]) -> (Vec<String>, &[u8]) {
    if let Some(long) = spec.strip_prefix(b":(")
        && let Some(end) = long.iter().position(|byte| *byte == b')')
    {
        let words = String::from_utf8_lossy(&long[..end]).into_owned();
        let words = words.split(',').filter(|word| !word.is_empty()).map(str::to_owned);
        return (words.collect(), &long[end + 1..]);
    }
    let Some(mut rest) = spec.strip_prefix(b":") else {
        return (Vec::new(), spec);
    };
    let mut words = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        match first {
            b'/' => words.push("top".to_owned()),
            b'!' | b'^' => words.push("exclude".to_owned()),
            b':' => {
                rest = after;
                break;
            }
            _ => break,
        }
        rest = after;
    }
    (words, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_pathspecs() {
        let text = |bytes: &[u8], nul| {
            let specs = parse(bytes, nul);
            specs.map(|specs| {
                specs
                    .iter()
                    .map(|s| String::from_utf8_lossy(s).into_owned())
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(text(b"a\r\n\n\"b\\tc\"\n*.txt", false).unwrap(), ["a", "b\tc", "*.txt"]);
        assert_eq!(text(b"a\n\0\"b\"\0", true).unwrap(), ["a\n", "\"b\""]);
        assert_eq!(text(b"\"open\n", false).unwrap_err(), b"\"open");
        assert_eq!(text(b"\n", false).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn variables_are_put_into_words() {
        let applied = |mode: PathspecMode, spec: &str| String::from_utf8(mode.applied(spec.as_bytes())).unwrap();
        let none = PathspecMode::default();
        assert_eq!(applied(none, ":/a"), ":/a");
        let literal = PathspecMode { literal: true, ..none };
        assert_eq!(applied(literal, ":*"), ":(literal):*");
        let top = PathspecMode { top: true, ..none };
        assert_eq!(applied(top, "*.c"), ":(top)*.c");
        assert_eq!(applied(top, ":!*.c"), ":(exclude,top)*.c");
        assert_eq!(applied(top, ":/a"), ":(top)a");
        assert_eq!(
            applied(PathspecMode { literal: true, ..top }, ":!*"),
            ":(top,literal):!*"
        );
        let glob = PathspecMode { glob: true, ..none };
        assert_eq!(applied(glob, "*.c"), ":(glob)*.c");
        assert_eq!(applied(glob, ":!*.c"), ":(exclude,glob)*.c");
        assert_eq!(applied(glob, ":/!:*.c"), ":(top,exclude,glob)*.c");
        assert_eq!(applied(glob, ":(literal)*"), ":(literal)*");
        let noglob = PathspecMode {
            noglob: true,
            icase: true,
            ..none
        };
        assert_eq!(applied(noglob, "*"), ":(literal,icase)*");
        assert_eq!(applied(noglob, ":(glob)*"), ":(glob,icase)*");
    }
}
