//! Parser of `git push --porcelain`.

/// Answer of a remote about a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RemoteAnswer {
    Done,
    UpToDate,
    /// It has something else than was expected.
    Moved(String),
    Refused(String),
}

impl RemoteAnswer {
    /// Whether the remote has now what it was given.
    pub(super) fn is_good(&self) -> bool {
        matches!(self, Self::Done | Self::UpToDate)
    }

    /// Reads a line of `git push --porcelain`: flag, `from:to`, summary with a reason in brackets.
    pub(super) fn read(line: &str) -> Option<(String, Self)> {
        let mut fields = line.split('\t');
        let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
        let (_, target) = refs.split_once(':')?;
        let reason = summary
            .split_once('(')
            .map_or(summary, |(_, reason)| reason.trim_end_matches(')'))
            .to_owned();
        let moved = [
            "fetch first",
            "non-fast-forward",
            "stale info",
            "needs force",
            "remote ref updated since checkout",
        ];
        let answer = match flag {
            " " | "+" | "*" | "-" => Self::Done,
            "=" => Self::UpToDate,
            _ if is_busy(&reason) || moved.iter().any(|word| reason.contains(word)) => Self::Moved(reason),
            _ => Self::Refused(reason),
        };
        Some((target.to_owned(), answer))
    }
}

/// Whether another push is in the way: it moved the ref meanwhile, or holds its lock.
pub(super) fn is_busy(why: &str) -> bool {
    [
        "cannot lock ref",
        "failed to update ref",
        "incorrect old value",
        "reference already exists",
        "failed to lock",
    ]
    .iter()
    .any(|word| why.contains(word))
}

/// Whether a remote would become shallow by a push of this clone, which it does not want, or lacks what this clone lacks.
pub(super) fn is_shallow(why: &str) -> bool {
    why.to_ascii_lowercase().contains("shallow")
}

/// Whether a remote refuses every ref outside of branches and tags. Its answer about objects, sizes or deletions is about
/// something else.
pub(super) fn is_namespace(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    let is_other = [
        "shallow", "object", "unpack", "size", "large", "quota", "deletion", "non-fast",
    ];
    if is_other.iter().any(|part| why.contains(part)) {
        return false;
    }
    [
        "hidden ref",
        "funny refname",
        "only branches",
        "refs/heads",
        "denied by",
        "prohibited",
        "not allowed",
        "invalid ref",
        "refusing to create",
        "ref name",
        "refname",
    ]
    .iter()
    .any(|part| why.contains(part))
}

/// Whether hooks of the other side said that only branches, or no such refs, are taken.
pub(super) fn namespace_words(words: &str) -> bool {
    let mut said = words.lines().filter_map(|line| line.strip_prefix("remote: "));
    said.any(|line| {
        let line = line.to_ascii_lowercase();
        // git's own line names the ref whatever the hook is about.
        if line.contains("hook declined to update") {
            return false;
        }
        let names = ["refs/checkpoints", "refs/heads", "only branches", "namespace"];
        names.iter().any(|name| line.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let read = |line| RemoteAnswer::read(line).map(|(_, answer)| answer);
        assert_eq!(
            read("*\tabc:refs/checkpoints/s\t[new reference]"),
            Some(RemoteAnswer::Done)
        );
        assert_eq!(read(" \tabc:refs/checkpoints/s\tabc..def"), Some(RemoteAnswer::Done));
        assert_eq!(
            read("=\tabc:refs/checkpoints/s\t[up to date]"),
            Some(RemoteAnswer::UpToDate)
        );
        assert_eq!(
            read("!\tabc:refs/checkpoints/s\t[rejected] (fetch first)"),
            Some(RemoteAnswer::Moved("fetch first".to_owned()))
        );
        assert_eq!(
            read("!\tabc:refs/checkpoints/s\t[remote rejected] (deny updating a hidden ref)"),
            Some(RemoteAnswer::Refused("deny updating a hidden ref".to_owned()))
        );
        assert_eq!(read("To /a/b"), None);
        assert_eq!(read("Done"), None);
        let of_refs = [
            "deny updating a hidden ref",
            "funny refname",
            "only branches are allowed",
            "DENIED by fallthru",
            "prohibited by Gerrit: not permitted: create",
            "creation of refs/x is not allowed",
        ];
        assert!(of_refs.iter().all(|why| is_namespace(why) && !is_shallow(why)));
        let others = [
            "pre-receive hook declined",
            "missing necessary objects",
            "unpacker error",
            "deletion prohibited",
            "file size is not allowed",
            "quota exceeded: not allowed",
        ];
        assert!(others.iter().all(|why| !is_namespace(why) && !is_shallow(why)));
        for why in ["shallow update not allowed", "Shallow updates are prohibited"] {
            assert!(is_shallow(why) && !is_namespace(why), "{why}");
        }
    }
}
