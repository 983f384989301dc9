//! Receipt of `setup`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::CountedNoun,
    slot::Slot,
    text::{Text, TextLine},
};

/// Files that were installed or removed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.setup/1")]
pub struct SetupReceipt {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Whether the files were removed; for people.
    #[serde(skip)]
    pub is_removal: bool,
    /// The files.
    pub files: Vec<SetupRow>,
}

/// A file of the set-up.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SetupRow {
    /// Its path.
    pub path: String,
    /// `write`, `replace`, `keep`, `remove`, `absent` or `foreign`: not written by this program.
    #[schemars(extend("enum" = ["write", "replace", "keep", "remove", "absent", "foreign"]))]
    pub action: &'static str,
}

impl View for SetupReceipt {
    fn text(&self) -> Text {
        let mut text = Text::new();
        let parent = |row: &SetupRow| Path::new(&row.path).parent().map(Path::to_owned);
        // Two dozen pages are one line: files of one directory with which the same is done.
        let shown: Vec<&SetupRow> = self.files.iter().filter(|row| row.action != "absent").collect();
        for rows in shown.chunk_by(|one, other| one.action == other.action && parent(one) == parent(other)) {
            let slot = match rows[0].action {
                "write" | "replace" => Slot::Added,
                "remove" => Slot::Removed,
                "foreign" => Slot::Caution,
                _ => Slot::Dim,
            };
            let place = match (rows, parent(rows[0])) {
                ([_, _, ..], Some(directory)) => {
                    format!("{} in {}", CountedNoun::new(rows.len(), "page"), directory.display())
                }
                _ => rows[0].path.clone(),
            };
            let line = TextLine::new().with(slot, format!("{:<8}", rows[0].action));
            text.push(line.with(Slot::Path, place));
        }
        let is_change = |row: &&&SetupRow| matches!(row.action, "write" | "replace" | "remove");
        let verb = match (self.dry_run, self.is_removal) {
            (false, false) => "installed",
            (false, true) => "removed",
            (true, false) => "would install",
            (true, true) => "would remove",
        };
        text.push(TextLine::plain(match shown.iter().filter(is_change).count() {
            0 => "nothing to do".to_owned(),
            changed => format!("{verb} {}", CountedNoun::new(changed, "file")),
        }));
        text
    }
}
