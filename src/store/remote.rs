//! Remotes: the repositories that sessions are shared with, and the names of the refs that hold what they have.
//!
//! Reads settings only; what talks to a remote is git. A remote's name can be nearly anything, so in a ref it is
//! encoded: whatever is not a lower-case letter, a digit, `_` or `-` becomes `%` and two hexadecimal digits.

use std::fs;
use std::time::Duration;

use gix::bstr::ByteSlice;

use super::{
    Error, Repository, fetching, lock, percent, refs,
    session::{self, REMOTE_PREFIX},
};
use crate::model::name::ShortName;

/// Where autosaves live.
const AUTOSAVES: &str = "refs/checkpoints-autosave/";

/// Where what is fetched waits until it has been checked.
pub const INCOMING_PREFIX: &str = "refs/checkpoints-incoming/";

/// Namespace for servers that take only branches: the one that is proposed, and the one that is read everywhere, so that
/// a colleague finds sessions without setting anything.
pub const BRANCH_NAMESPACE: &str = "refs/heads/checkpoints/";

/// A configured remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// Where it is fetched from, without credentials: for people, git itself knows it by the name.
    pub url: String,
    /// Where it is pushed to, if somewhere else; likewise.
    pub push_url: Option<String>,
    /// Whether every ref is pushed to it at once.
    pub mirror: bool,
    /// Where its sessions are pushed to: the beginning of their refs there, with the slash.
    pub namespace: String,
    /// Why `remote.<name>.checkpointNamespace` cannot be used, where it cannot; `namespace` is the value as written then.
    pub namespace_fault: Option<&'static str>,
}

impl Remote {
    /// The ref of a session over there.
    pub fn session_ref(&self, session: &ShortName) -> String {
        format!("{}{session}", self.namespace)
    }

    /// The ref over there of the autosave that `full` is here.
    pub fn autosave_ref(&self, full: &str) -> String {
        match full.strip_prefix(AUTOSAVES) {
            Some(rest) => format!("{}-autosave/{rest}", self.namespace.trim_end_matches('/')),
            None => full.to_owned(),
        }
    }

    /// The namespaces that its sessions are looked for in; what is pushed goes to the first.
    pub fn namespaces(&self) -> Vec<&str> {
        let mut all = vec![self.namespace.as_str()];
        let others = [session::PREFIX, BRANCH_NAMESPACE];
        all.extend(others.into_iter().filter(|other| *other != self.namespace));
        all
    }

    /// Whether a namespace is only read because others may use it: what is there need not be a session.
    pub fn is_guess(&self, namespace: &str) -> bool {
        namespace == BRANCH_NAMESPACE && self.namespace != BRANCH_NAMESPACE
    }

    /// The beginning of the refs that say what was fetched, with the slash.
    pub fn tracking(&self) -> String {
        format!("{REMOTE_PREFIX}{}/", encoded(&self.name))
    }

    /// The ref with the remote's session of this name as it was last seen.
    pub fn tracking_ref(&self, session: &ShortName) -> String {
        format!("{}{session}", self.tracking())
    }

    /// The beginning of the refs that were fetched and not checked yet, with the slash.
    pub fn incoming(&self) -> String {
        format!("{INCOMING_PREFIX}{}/", encoded(&self.name))
    }
}

/// Removes what killed fetches left: lock files among what was fetched and not checked, which would stop the user's own `gc`,
/// and git's `.keep` files. Those of a fetch that runs stay, and those of a remote whose directory cannot be read.
pub(super) fn sweep(repo: &Repository) -> Result<(), Error> {
    for encoded in fetching::noted(repo) {
        // One that is busy is at work.
        if let Ok(_fetching) = lock::remote(repo, &encoded, Duration::ZERO) {
            fetching::sweep(repo, &encoded);
        }
    }
    let remotes = fs::read_dir(repo.common_dir().join(INCOMING_PREFIX));
    for directory in remotes.into_iter().flatten().flatten() {
        let left = fs::read_dir(directory.path()).into_iter().flatten().flatten();
        if !left
            .map(|file| file.path())
            .any(|path| path.extension().is_some_and(|end| end == "lock"))
        {
            continue;
        }
        let encoded = directory.file_name().to_string_lossy().into_owned();
        // A fetch holds the first, and a change of refs of ours the second.
        let held = lock::remote(repo, &encoded, Duration::ZERO).and_then(|fetching| {
            Ok((
                fetching,
                lock::common(repo, "refs", "the refs of checkpoints", Duration::ZERO)?,
            ))
        });
        match held {
            Ok(_held) => refs::remove_locks(repo, &format!("{INCOMING_PREFIX}{encoded}/"))?,
            Err(Error::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Every remote that has a URL, by name.
pub fn all(repo: &Repository) -> Vec<Remote> {
    let names = repo.remote_names();
    let mut remotes: Vec<_> = names
        .iter()
        .filter_map(|name| find(repo, name.to_str().ok()?))
        .collect();
    remotes.sort_by(|a, b| a.name.cmp(&b.name));
    remotes
}

/// The remote of this name; `None` when it has no URL, or a name that could be taken for an option or hides something.
pub fn find(repo: &Repository, name: &str) -> Option<Remote> {
    if name.is_empty() || name.starts_with('-') || name.chars().any(char::is_control) {
        return None;
    }
    let config = repo.config_snapshot();
    let text = |key: &str| {
        let value = config.string(format!("remote.{name}.{key}").as_str())?;
        Some(value.to_str_lossy().into_owned()).filter(|value| !value.is_empty())
    };
    let (namespace, namespace_fault) = match text("checkpointNamespace") {
        Some(given) => match namespace(&given) {
            Ok(namespace) => (namespace, None),
            Err(why) => (given, Some(why)),
        },
        None => (session::PREFIX.to_owned(), None),
    };
    Some(Remote {
        name: name.to_owned(),
        namespace,
        namespace_fault,
        url: without_credentials(&text("url")?),
        push_url: text("pushurl").map(|url| without_credentials(&url)),
        mirror: config.boolean(format!("remote.{name}.mirror").as_str()) == Some(true),
    })
}

/// A text whose addresses have no credentials: those of the web have neither user nor query, others no password.
pub fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        out.push_str(before);
        let is_web = ["http://", "https://"].iter().any(|scheme| before.ends_with(scheme));
        let end = behind.find(|c: char| c.is_whitespace() || c == '\'' || c == '"');
        let (address, behind) = behind.split_at(end.unwrap_or(behind.len()));
        let (host, path) = address.split_at(address.find(['/', '?']).unwrap_or(address.len()));
        match host.rsplit_once('@') {
            Some((_, host)) if is_web => out.push_str(host),
            Some((user, host)) => {
                out.push_str(user.split(':').next().unwrap_or_default());
                out.push('@');
                out.push_str(host);
            }
            None => out.push_str(host),
        }
        match path.split_once('?') {
            Some((path, _)) if is_web => {
                out.push_str(path);
                out.push_str("?...");
            }
            _ => out.push_str(path),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// A namespace as it is written in the settings, with the slash at its end; the error is the reason why it is none.
pub fn namespace(given: &str) -> Result<String, &'static str> {
    let trimmed = given.trim().trim_end_matches('/');
    let Some(rest) = trimmed.strip_prefix("refs/") else {
        return Err("it must begin with 'refs/'");
    };
    if gix::validate::reference::name(trimmed.as_bytes().as_bstr()).is_err() {
        return Err("it is no valid name of a ref");
    }
    let others = [
        "heads", "tags", "remotes", "notes", "stash", "replace", "bisect", "worktree",
    ];
    if others.contains(&rest) {
        return Err("others keep their refs there: name a part of it");
    }
    if rest.starts_with("tags/") || rest.starts_with("remotes/") || rest.starts_with("notes/") {
        return Err("refs there do not move as a session does");
    }
    Ok(format!("{trimmed}/"))
}

/// The remote that is meant when none is named: of the branch that is checked out, for a push what git pushes to; else
/// the only one; else `origin`.
pub fn default(repo: &Repository, push: bool) -> Option<Remote> {
    let config = repo.config_snapshot();
    let text = |key: &str| config.string(key).map(|value| value.to_str_lossy().into_owned());
    let branch = refs::head_branch(repo).ok().flatten();
    let branch = branch.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
    let of_branch = |key: &str| text(&format!("branch.{}.{key}", branch?));
    let named = push
        .then(|| of_branch("pushRemote").or_else(|| text("remote.pushDefault")))
        .flatten()
        .or_else(|| of_branch("remote"));
    // `.` is this repository itself, and a URL has no name under which it could be remembered.
    if let Some(remote) = named.and_then(|name| find(repo, &name)) {
        return Some(remote);
    }
    let mut all = all(repo);
    if all.len() == 1 {
        return all.pop();
    }
    find(repo, "origin")
}

/// A remote's name as a part of a ref.
pub fn encoded(name: &str) -> String {
    percent::encode(name, |byte, first| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'_' => true,
        b'-' => !first,
        _ => false,
    })
}

/// The remote's name that [`encoded`] was given; `None` for what it never gives.
pub fn decoded(text: &str) -> Option<String> {
    percent::decode(text, encoded)
}

/// `<remote>/<session>` as people write it, from the part of a ref behind `refs/checkpoints-remote/`.
pub fn shown(part: &str) -> String {
    match part.split_once('/').map(|(remote, rest)| (decoded(remote), rest)) {
        Some((Some(remote), rest)) => format!("{remote}/{rest}"),
        _ => part.to_owned(),
    }
}

/// The ref that `<remote>/<session>`, as people write it, means; whether it exists is another question.
pub fn named_ref(text: &str) -> Option<(String, ShortName, String)> {
    let (remote, session) = text.rsplit_once('/')?;
    let session = ShortName::new(session).ok()?;
    let full = format!("{REMOTE_PREFIX}{}/{session}", encoded(remote));
    (!remote.is_empty()).then(|| (remote.to_owned(), session, full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_checked() {
        assert_eq!(
            namespace("refs/heads/checkpoints").as_deref(),
            Ok("refs/heads/checkpoints/")
        );
        assert_eq!(namespace(" refs/x/y// ").as_deref(), Ok("refs/x/y/"));
        for bad in [
            "heads/checkpoints/",
            "refs/heads/",
            "refs/heads",
            "refs/tags/",
            "refs/tags/x",
            "refs/",
            "refs",
            "refs/a b/",
            "refs/a..b/",
            "refs/*/",
            "refs/remotes/origin/",
            "refs/notes/x",
            "",
            "/",
            "refs/x.lock",
        ] {
            assert!(namespace(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_lose_their_credentials() {
        for (text, shown) in [
            ("../hub", "../hub"),
            ("ana@host:x/y.git", "ana@host:x/y.git"),
            ("https://host/x.git", "https://host/x.git"),
            (
                concat!("https://ana:", "word@host:1/x@y/z.git"),
                "https://host:1/x@y/z.git",
            ),
            ("https://word@host", "https://host"),
            ("https://a@b:c@host/x", "https://host/x"),
            ("http://host/x.git?key=word&a=b", "http://host/x.git?..."),
            ("http://host?key=word", "http://host?..."),
            (concat!("ssh://ana:", "word@host/x?y"), "ssh://ana@host/x?y"),
            (
                concat!(
                    "unable to access 'https://word@host/x?k=word/': see 'http://a:",
                    "word@b' and https://host"
                ),
                "unable to access 'https://host/x?...': see 'http://b' and https://host",
            ),
            ("a://", "a://"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }

    #[test]
    fn names_of_remotes_read_back() {
        for name in ["origin", "my.server", "a/b", "GitHub", "-x", "ü", "%41", "x.lock", ".."] {
            let part = encoded(name);
            assert_eq!(decoded(&part).as_deref(), Some(name));
            assert!(!part.contains(['/', '.']) && !part.starts_with('-'));
        }
        assert_eq!(encoded("origin"), "origin");
        for bad in ["%4", "A", "%6f", "%zz"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
        assert_eq!(shown("%47it/auth"), "Git/auth");
        let (remote, session, full) = named_ref("a/b/auth").expect("a remote and a session");
        assert_eq!((&*remote, session.as_str()), ("a/b", "auth"));
        assert_eq!(full, "refs/checkpoints-remote/a%2fb/auth");
        assert_eq!(named_ref("auth"), None);
        assert_eq!(named_ref("origin/Auth"), None);
    }
}
