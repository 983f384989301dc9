//! Meanings of parts of the output, and the characters of graphs. Colors are given to slots in `commands::ui`; nothing
//! else knows an escape sequence.

/// Meaning of a part of a line. Each but `Plain` can be given a color with `color.checkpoint.<key>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// Running text.
    Plain,
    /// A column's title or a section's name.
    Heading,
    /// An id of a checkpoint or commit.
    Id,
    /// A session's name.
    Session,
    /// A branch or ref.
    Branch,
    /// A person or agent.
    Person,
    /// A date or an age.
    Date,
    /// A path.
    Path,
    /// Lines or files that came.
    Added,
    /// Lines or files that changed.
    Changed,
    /// Lines or files that went.
    Removed,
    /// Words that came, in a line that changed.
    AddedWord,
    /// Words that went, in a line that changed.
    RemovedWord,
    /// The place of a patch's hunk.
    Hunk,
    /// Text that a search looked for.
    Match,
    /// Good state.
    Good,
    /// State that needs attention.
    Caution,
    /// Bad state.
    Bad,
    /// Least important text.
    Dim,
    /// Lines of a graph.
    Graph,
    /// The word `hint:` and its text.
    Hint,
    /// The word `warning:`.
    Warning,
    /// The words `error:` and `fatal:`.
    Error,
    /// A question to the user.
    Prompt,
}

impl Slot {
    /// Every slot that can be given a color.
    pub const ALL: [Self; 23] = [
        Self::Heading,
        Self::Id,
        Self::Session,
        Self::Branch,
        Self::Person,
        Self::Date,
        Self::Path,
        Self::Added,
        Self::Changed,
        Self::Removed,
        Self::AddedWord,
        Self::RemovedWord,
        Self::Hunk,
        Self::Match,
        Self::Good,
        Self::Caution,
        Self::Bad,
        Self::Dim,
        Self::Graph,
        Self::Hint,
        Self::Warning,
        Self::Error,
        Self::Prompt,
    ];

    /// The last part of the setting `color.checkpoint.<key>`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Heading => "heading",
            Self::Id => "id",
            Self::Session => "session",
            Self::Branch => "branch",
            Self::Person => "person",
            Self::Date => "date",
            Self::Path => "path",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::AddedWord => "addedword",
            Self::RemovedWord => "removedword",
            Self::Hunk => "hunk",
            Self::Match => "match",
            Self::Good => "good",
            Self::Caution => "caution",
            Self::Bad => "bad",
            Self::Dim => "dim",
            Self::Graph => "graph",
            Self::Hint => "hint",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Prompt => "prompt",
        }
    }
}

/// Which characters graphs are drawn with. Independent of color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Only ASCII.
    #[default]
    Ascii,
    /// Box-drawing lines and dots.
    Unicode,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_its_own_key() {
        let keys: std::collections::BTreeSet<_> = Slot::ALL.iter().map(|s| s.key()).collect();
        assert_eq!(keys.len(), Slot::ALL.len());
        assert!(keys.iter().all(|k| k.chars().all(|c| c.is_ascii_lowercase())));
    }
}
