//! `open-file`: which files are open in an editor, and where in them.

use serde_json::Value;

use super::{ChangeNotice, ItemFields, ItemListArgs, SessionArg, checks::id_of_name, stored_path};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
        verbs::{self, VerbMeaning},
    },
    ops::items,
};

/// Record open files and positions in them
///
/// Recording a file again updates its position. Without arguments, lists the open files.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint open-file src/parser.rs:120:8 README.md
    git checkpoint open-file --close README.md
    git checkpoint open-file")]
pub(in crate::commands) struct Args {
    /// A file; line and column count from 1
    #[arg(value_name = "PATH[:LINE[:COL]]", value_hint = clap::ValueHint::FilePath)]
    places: Vec<String>,
    /// Close the files
    #[arg(long, requires = "places")]
    close: bool,
    #[command(flatten)]
    whose: SessionArg,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("open-file");
    if args.places.is_empty() {
        return super::list(context, &ItemListArgs::all(args.whose), kind);
    }
    // Other lists have these as commands.
    if let Some(word) = args.places.first()
        && let Some(meaning) = verbs::meaning(word)
        && !context.env.cwd.join(word).exists()
    {
        let rest: Vec<&str> = args.places.iter().skip(1).map(String::as_str).collect();
        let flag = if meaning == VerbMeaning::Ending { " --close" } else { "" };
        let next = match (meaning, rest.is_empty()) {
            (VerbMeaning::Listing, true) => "list open files: git checkpoint open-file".to_owned(),
            (_, true) => format!("specify files: git checkpoint open-file{flag} <path>"),
            _ => format!("specify files only: git checkpoint open-file{flag} {}", rest.join(" ")),
        };
        return Err(CommandError::new(
            Failure::Usage,
            format!("'{word}' looks like a command, and there is no such file"),
        )
        .hint(next));
    }
    let opened = args.whose.open(context)?;
    let mut found = Vec::new();
    for place in &args.places {
        let (path, line, column) = split(place)?;
        if path.is_empty() {
            return Err(CommandError::new(Failure::Usage, format!("'{place}' is not a file")));
        }
        let path = stored_path(context, &opened, path);
        let fields = ItemFields::default()
            .value("id", Some(id_of_name(&path)))
            .value("path", Some(path))
            .value("line", line)
            .value("column", column);
        found.push(Value::Object(fields.0));
    }
    if args.close {
        let now = super::to_change(&opened)?;
        let present = now.items(kind);
        let mut closed = Vec::new();
        for file in &found {
            let same = present.iter().find(|item| item["path"] == file["path"]);
            let path = file["path"].as_str().unwrap_or_default();
            closed.push(same.cloned().ok_or_else(|| {
                CommandError::new(Failure::NotFound, format!("'{path}' is not open"))
                    .hint("list open files: git checkpoint open-file")
            })?);
        }
        let ids: Vec<String> = closed
            .iter()
            .map(|item| crate::model::item::id_of(item).to_owned())
            .collect();
        let appended = items::remove(&opened.scene(), kind, &ids)?;
        let told = ChangeNotice::items("closed", "Closed", kind, closed);
        return super::report(context, &opened, &appended, told, &[]);
    }
    // The place it had before goes, also where the new one is less exact.
    for file in found.iter_mut().filter_map(Value::as_object_mut) {
        for member in ["line", "column"] {
            file.entry(member).or_insert(Value::Null);
        }
    }
    let appended = items::put(&opened.scene(), kind, found)?;
    let told = ChangeNotice::items("opened", "Noted", kind, super::stored(&appended, kind, Vec::new()));
    super::report(context, &opened, &appended, told, &[])
}

/// A path, a line and a column.
type FilePosition<'a> = (&'a str, Option<u32>, Option<u32>);

fn split(place: &str) -> Result<FilePosition<'_>, CommandError> {
    let number = |text: &str| -> Option<u32> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(0))
    };
    let last = |text: &'_ str| {
        text.rsplit_once(':')
            .and_then(|(rest, n)| Some((rest.len(), number(n)?)))
    };
    let (path, line, column) = match last(place) {
        None => (place, None, None),
        Some((len, n)) => match last(&place[..len]) {
            None => (&place[..len], Some(n), None),
            Some((shorter, line)) => (&place[..shorter], Some(line), Some(n)),
        },
    };
    if line == Some(0) || column == Some(0) {
        return Err(CommandError::new(
            Failure::Usage,
            format!("the line or column of '{place}' is out of range"),
        )
        .hint("lines and columns count from 1"));
    }
    Ok((path, line, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_and_numbers() {
        for (text, wanted) in [
            ("a.rs", ("a.rs", None, None)),
            ("a.rs:3", ("a.rs", Some(3), None)),
            ("a.rs:3:4", ("a.rs", Some(3), Some(4))),
            ("a:b.rs:3:4", ("a:b.rs", Some(3), Some(4))),
            ("c:\\a.rs", ("c:\\a.rs", None, None)),
            ("a:x:4", ("a:x", Some(4), None)),
            ("a:", ("a:", None, None)),
        ] {
            assert_eq!(split(text).expect(text), wanted, "{text}");
        }
        assert!(split("a:0").is_err() && split("a:99999999999").is_err());
    }
}
