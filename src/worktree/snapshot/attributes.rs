//! The attributes that decide in which form git stores a file: line ends, `$Id$`, encoding, filter.
//!
//! As with ignore rules the walk reads each `.gitattributes` through its directory's descriptor. Deeper files weigh more,
//! and `info/attributes` more than all of them. A `.gitattributes` that is not on disk counts only if its index entry
//! marks it as not checked out (sparse): one that was deleted does not, as for `git add -A`, which deletes it first.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::{BStr, ByteSlice};
use gix::filter::plumbing::{Driver, eol};
use gix::glob::pattern::Case;

use super::Error;
use super::cache;
use super::encoding::TextEncoding;
use super::globals::read_rules;
use super::settings::SnapshotSettings;
use crate::os;
use crate::store::Repository;

/// git reads no larger attribute file (`ATTR_MAX_FILE_SIZE`).
pub(super) const MAX_SIZE: u64 = 100 * 1024 * 1024;
/// git skips lines of this length and more (`ATTR_MAX_LINE_LENGTH`).
pub(super) const MAX_LINE: usize = 2048;

const NAMES: [&str; 6] = ["crlf", "ident", "filter", "eol", "text", "working-tree-encoding"];
/// A rule without any of these words leaves the content of files alone.
const WORDS: [&str; 8] = ["[attr]", "binary", "crlf", "encoding", "eol", "filter", "ident", "text"];

/// The attributes that hold in a directory.
pub(in crate::worktree) struct Attributes {
    search: Search,
    collection: MetadataCollection,
    /// `info/attributes`, which is the last list of `search` if there is one.
    info: Option<Arc<[u8]>>,
    /// Whether any rule can concern the content of a file.
    relevant: bool,
    /// Differs where other rules hold.
    digest: u64,
    /// Those that the checkpoint has, where a file of rules on the disk is not in it.
    kept: Option<Arc<Attributes>>,
}

impl Attributes {
    /// Those that hold in the whole repository.
    pub(in crate::worktree) fn read(repo: &Repository) -> Result<Self, Error> {
        let set = repo.config_snapshot().trusted_path("core.attributesFile");
        let set = set.map_err(Error::gix("read 'core.attributesFile'"))?;
        let user = set
            .or_else(|| os::user_rules("attributes"))
            .and_then(|path| Some(repo.workdir()?.join(path)));
        let mut this = Self {
            search: Search::default(),
            collection: MetadataCollection::default(),
            info: None,
            relevant: false,
            digest: 0,
            kept: None,
        };
        this.push(b"[attr]binary -diff -merge -text", Path::new("[builtin]"), None, true);
        for path in [os::system_attributes(), user].into_iter().flatten() {
            if let Some(bytes) = read_rules(&path, MAX_SIZE)? {
                this.push(&bytes, &path, None, true);
                this.count(&bytes, b"");
            }
        }
        if let Some(bytes) = read_rules(&repo.common_dir().join("info").join("attributes"), MAX_SIZE)? {
            this.info = Some(bytes.into());
            this.push_info();
        }
        Ok(this)
    }

    /// Those in a directory that has a `.gitattributes` of this content. `folder` is its path with a slash at the end,
    /// empty for the root.
    pub(in crate::worktree) fn add(&self, directory: &[u8], content: &[u8]) -> Self {
        let mut this = Self {
            search: self.search.clone(),
            collection: self.collection.clone(),
            info: self.info.clone(),
            relevant: self.relevant,
            digest: self.digest,
            kept: self.kept.as_ref().map(|kept| Arc::new(kept.add(directory, content))),
        };
        if this.info.is_some() {
            this.search.pop_pattern_list();
        }
        let mut source = directory.to_vec();
        source.extend_from_slice(b".gitattributes");
        // Only where paths are text can one be no path; then no file in the directory has attributes of its own.
        if let Ok(source) = gix::path::from_byte_slice(&source) {
            this.push(content, source, Some(Path::new("")), directory.is_empty());
        }
        this.count(content, directory);
        if this.info.is_some() {
            this.push_info();
        }
        this
    }

    /// The same where that file is not in the checkpoint, because it is ignored, say: what it does to files cannot be
    /// relied on when they come back.
    pub(super) fn add_unkept(this: &Arc<Self>, directory: &[u8], content: &[u8]) -> Self {
        let mut added = this.add(directory, content);
        added.kept = Some(this.kept.clone().unwrap_or_else(|| Arc::clone(this)));
        added.digest = cache::digest((added.digest, "not in the checkpoint"));
        added
    }

    /// A number that differs between directories where other rules hold.
    pub(in crate::worktree) fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether no file in the directory is stored in another form than it has on disk.
    pub(super) fn leave_content(&self, settings: &SnapshotSettings) -> bool {
        !self.relevant && settings.default_eol() == eol::AttributesDigest::Binary
    }

    fn push_info(&mut self) {
        if let Some(info) = self.info.clone() {
            self.push(&info, Path::new("info/attributes"), None, true);
            self.count(&info, b"/");
        }
    }

    fn push(&mut self, content: &[u8], source: &Path, root: Option<&Path>, macros: bool) {
        let short;
        let content = if content.lines().any(|line| line.len() >= MAX_LINE) {
            short = content
                .lines()
                .filter(|line| line.len() < MAX_LINE)
                .collect::<Vec<_>>()
                .join(&b'\n');
            &short
        } else {
            content
        };
        // An error can only come from a path that is not valid text, on systems where that matters.
        let source = PathBuf::from(source);
        let _ = self
            .search
            .add_patterns_buffer(content, source, root, &mut self.collection, macros);
    }

    fn count(&mut self, content: &[u8], directory: &[u8]) {
        self.digest = cache::digest((self.digest, content, directory));
        self.relevant |= WORDS.iter().any(|word| content.contains_str(word));
    }
}

/// Conversion of a file's content on its way into the repository and back.
#[derive(Clone)]
pub(in crate::worktree) struct Conversion<'a> {
    pub eol: eol::AttributesDigest,
    pub ident: bool,
    pub encoding: Option<TextEncoding>,
    pub filter: FilterAttribute<'a>,
    /// Whether the checkpoint has other rules, by which the file would come back in another form.
    pub unkept: bool,
}

/// The `filter` attribute.
#[derive(Clone, Copy)]
pub(in crate::worktree) enum FilterAttribute<'a> {
    None,
    /// git-lfs: content lies next to the repository, and a checkpoint must not depend on it.
    Lfs,
    /// A program of the user's.
    Driver(&'a Driver),
}

impl Conversion<'_> {
    /// Conversion of a symlink: none.
    pub(super) fn none() -> Self {
        Self {
            eol: eol::AttributesDigest::Binary,
            ident: false,
            encoding: None,
            filter: FilterAttribute::None,
            unkept: false,
        }
    }

    /// Whether a blob of the same size as the file on disk gives these bytes back.
    pub(super) fn keeps_size(&self, settings: &SnapshotSettings) -> bool {
        !self.ident && self.encoding.is_none() && self.eol.to_eol(settings.eol) != Some(eol::Mode::CrLf)
    }

    /// Whether at most line ends are converted.
    pub(super) fn can_be_streamed(&self) -> bool {
        !self.ident && self.encoding.is_none() && matches!(self.filter, FilterAttribute::None)
    }

    /// A number that differs between conversions.
    pub(in crate::worktree) fn digest(&self) -> u64 {
        let filter = match self.filter {
            FilterAttribute::None => String::new(),
            FilterAttribute::Lfs => "lfs".to_owned(),
            FilterAttribute::Driver(driver) => format!("{driver:?}"),
        };
        cache::digest((
            format!("{:?} {:?}", self.encoding, self.eol),
            self.ident,
            filter,
            self.unkept,
        ))
    }

    /// Whether content of any kind is stored as it is.
    pub(in crate::worktree) fn is_identity(&self) -> bool {
        self.eol == eol::AttributesDigest::Binary
            && !self.ident
            && self.encoding.is_none()
            && matches!(self.filter, FilterAttribute::None)
            && !self.unkept
    }
}

/// Asks for the attributes of one path after the other.
pub(in crate::worktree) struct Matcher<'a> {
    settings: &'a SnapshotSettings,
    at: Option<Arc<Attributes>>,
    outcome: Outcome,
}

impl<'a> Matcher<'a> {
    pub(in crate::worktree) fn new(settings: &'a SnapshotSettings) -> Self {
        Self {
            settings,
            at: None,
            outcome: Outcome::default(),
        }
    }

    /// Conversion of the file `path` in a directory with these attributes.
    pub(in crate::worktree) fn conversion(&mut self, attributes: &Arc<Attributes>, path: &[u8]) -> Conversion<'a> {
        let mut conversion = self.by_rules(attributes, path);
        if let Some(kept) = &attributes.kept {
            // What a filter hides is not stored without it, whatever comes back.
            let is_open = !matches!(conversion.filter, FilterAttribute::Driver(_));
            conversion.unkept = is_open && self.by_rules(kept, path).digest() != conversion.digest();
        }
        conversion
    }

    fn by_rules(&mut self, attributes: &Arc<Attributes>, path: &[u8]) -> Conversion<'a> {
        let default = self.settings.default_eol();
        let mut conversion = Conversion {
            eol: default,
            ident: false,
            encoding: None,
            filter: FilterAttribute::None,
            unkept: false,
        };
        if !attributes.relevant {
            return conversion;
        }
        if self.at.as_ref().is_some_and(|at| Arc::ptr_eq(at, attributes)) {
            self.outcome.reset();
        } else {
            self.outcome = Outcome::default();
            self.outcome.initialize_with_selection(&attributes.collection, NAMES);
            self.at = Some(Arc::clone(attributes));
        }
        let case: Case = self.settings.case();
        let found =
            attributes
                .search
                .pattern_matching_relative_path(path.as_bstr(), case, Some(false), &mut self.outcome);
        if !found {
            return conversion;
        }
        let states: Vec<_> = self
            .outcome
            .iter_selected()
            .map(|found| found.assignment.state)
            .collect();
        let [crlf, ident, filter, eol, text, encoding] = states[..] else {
            return conversion;
        };
        conversion.eol = line_ends(crlf, text, eol, self.settings);
        conversion.ident = ident == StateRef::Set;
        conversion.filter = match value(filter) {
            Some(name) if name == "lfs" => FilterAttribute::Lfs,
            Some(name) => self
                .settings
                .driver(name)
                .map_or(FilterAttribute::None, FilterAttribute::Driver),
            None => FilterAttribute::None,
        };
        conversion.encoding = value(encoding).and_then(TextEncoding::of_label);
        conversion
    }
}

fn value(state: StateRef<'_>) -> Option<&BStr> {
    match state {
        StateRef::Value(value) => Some(value.as_bstr()),
        _ => None,
    }
}

/// `text`, `crlf` and `eol` together, as git's `convert_attrs` combines them.
fn line_ends(
    crlf: StateRef<'_>,
    text: StateRef<'_>,
    eol: StateRef<'_>,
    settings: &SnapshotSettings,
) -> eol::AttributesDigest {
    use eol::AttributesDigest::{Binary, Text, TextAuto, TextAutoCrlf, TextAutoInput, TextCrlf, TextInput};
    let read = |state: StateRef<'_>| match state {
        StateRef::Set => Some(Text),
        StateRef::Unset => Some(Binary),
        StateRef::Value(value) if value.as_bstr() == "input" => Some(TextInput),
        StateRef::Value(value) if value.as_bstr() == "auto" => Some(TextAuto),
        StateRef::Unspecified | StateRef::Value(_) => None,
    };
    let action = read(text).or_else(|| read(crlf));
    let ends = value(eol).map(|value| value.as_bytes());
    let action = match (action, ends) {
        (Some(Binary), _) => Some(Binary),
        (Some(TextAuto), Some(b"lf")) => Some(TextAutoInput),
        (Some(TextAuto), Some(b"crlf")) => Some(TextAutoCrlf),
        (_, Some(b"lf")) => Some(TextInput),
        (_, Some(b"crlf")) => Some(TextCrlf),
        (action, _) => action,
    };
    match action {
        Some(Text) => settings.eol.to_eol().into(),
        Some(action) => action,
        None => settings.default_eol(),
    }
}
