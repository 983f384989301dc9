//! Merging the content of one file, with the attributes that git looks at (`merge`, `conflict-marker-size`).
//!
//! Through gix, whose result for text is that of git's; blobs are taken as they are stored, so no filter runs.

use gix::bstr::{BStr, BString, ByteSlice};
use gix::merge::blob::builtin_driver::text;
use gix::merge::blob::platform::builtin_merge::Pick;
use gix::merge::blob::{Platform, Resolution, ResourceKind, pipeline};
use gix::objs::tree::EntryKind;

use super::MergeOptions;
use crate::store::{Error, ObjectId, Repository};

/// Labels of conflict markers.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// Label of the base, shown with `merge.conflictStyle=diff3`.
    pub base: &'a str,
    /// The present.
    pub ours: &'a str,
    /// Label of theirs.
    pub theirs: &'a str,
}

/// The state that merges of several files share.
pub(super) struct MergeCache {
    platform: Platform,
    options: gix::merge::blob::platform::merge::Options,
}

/// Result of a merge of contents.
pub(super) enum MergeOutcome {
    /// Both sides fit.
    Clean(ObjectId),
    /// Both sides between markers.
    Marked(ObjectId),
    /// The content is not text, or too large.
    Binary,
}

impl MergeCache {
    pub(super) fn new(repo: &Repository) -> Result<Self, Error> {
        let mut platform = repo
            .merge_resource_cache(pipeline::WorktreeRoots::default())
            .map_err(Error::gix("prepare a merge"))?;
        platform.filter_mode = pipeline::Mode::ToGit;
        let options = repo
            .blob_merge_options()
            .map_err(Error::gix("read the settings for merges"))?;
        Ok(Self { platform, options })
    }

    /// Merges the blobs of base, ours and theirs. Attributes are those of the name in ours.
    pub(super) fn merge(
        &mut self,
        repo: &Repository,
        names: [&BStr; 3],
        ids: [Option<ObjectId>; 3],
        options: MergeOptions<'_>,
    ) -> Result<MergeOutcome, Error> {
        let path = names[1];
        let failed = || Error::gix(format!("merge '{path}'"));
        let kinds = [
            ResourceKind::CommonAncestorOrBase,
            ResourceKind::CurrentOrOurs,
            ResourceKind::OtherOrTheirs,
        ];
        for (kind, id) in kinds.into_iter().zip(ids) {
            if let Some(id) = id.filter(|id| !repo.has_object(id)) {
                // gix would only say that it cannot prepare the file.
                let why = "it is not in this repository".to_owned();
                return Err(Error::Object { id, why });
            }
            let id = id.unwrap_or_else(|| ObjectId::null(repo.object_hash()));
            self.platform
                .set_resource(id, EntryKind::Blob, path, kind, &repo.objects)
                .map_err(failed())?;
        }
        // As in git, the names are in the markers when those of both sides differ.
        let same_name = path == names[2];
        let label = |label: &str, name: &BStr| -> BString {
            if same_name {
                label.into()
            } else {
                [label.as_bytes(), b":", name].concat().into()
            }
        };
        let [base, ours, theirs] = [
            label(options.labels.base, names[0]),
            label(options.labels.ours, names[1]),
            label(options.labels.theirs, names[2]),
        ];
        let labels = text::Labels {
            ancestor: Some(base.as_bstr()),
            current: Some(ours.as_bstr()),
            other: Some(theirs.as_bstr()),
        };
        let prepared = self
            .platform
            .prepare_merge(&repo.objects, self.options)
            .map_err(failed())?;
        let mut bytes = Vec::new();
        let (pick, resolution) = match prepared.configured_driver() {
            Ok(_) if options.drivers => {
                let context = repo.command_context().map_err(failed())?;
                prepared.merge(&mut bytes, labels, &context).map_err(failed())?
            }
            Ok(_) => {
                let text = gix::merge::blob::BuiltinDriver::Text;
                prepared.builtin_merge(text, &mut bytes, &mut gix::diff::blob::InternedInput::default(), labels)
            }
            Err(builtin) => prepared.builtin_merge(
                builtin,
                &mut bytes,
                &mut gix::diff::blob::InternedInput::default(),
                labels,
            ),
        };
        let [base, ours, theirs] = ids;
        let id = match pick {
            Pick::Buffer => repo.write_blob(&bytes).map_err(failed())?.detach(),
            _ if resolution == Resolution::Conflict => return Ok(MergeOutcome::Binary),
            Pick::Ancestor => base.or(ours).unwrap_or_else(|| ObjectId::null(repo.object_hash())),
            Pick::Ours => ours.unwrap_or_else(|| ObjectId::null(repo.object_hash())),
            Pick::Theirs => theirs.unwrap_or_else(|| ObjectId::null(repo.object_hash())),
        };
        Ok(if resolution == Resolution::Conflict {
            MergeOutcome::Marked(id)
        } else {
            MergeOutcome::Clean(id)
        })
    }
}
