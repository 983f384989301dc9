//! Files that git reads itself and whose content makes a server refuse a push (`transfer.fsckObjects`): `.gitmodules`
//! with a name, URL, path or update command that could be an attack, `.gitattributes` with over-long lines.
//!
//! One such file in a tree makes it impossible to push every later checkpoint as well. In doubt a file counts as
//! refused: it is then kept next to the tree, which costs a diff and no content.

use gix::bstr::{BStr, ByteSlice};

use super::attributes::{MAX_LINE, MAX_SIZE};
use super::names::Meaning;

/// git reads a `.gitmodules` into memory only up to `core.bigFileThreshold`, 512 MiB unless set.
const MAX_MODULES: usize = 512 * 1024 * 1024;

/// Whether git's fsck accepts a blob under a name of this meaning.
pub(in crate::worktree) fn accepts(meaning: Meaning, blob: &[u8]) -> bool {
    match meaning {
        Meaning::Attributes => {
            // fsck reads up to the first zero byte.
            let text = blob.split(|byte| *byte == 0).next().unwrap_or_default();
            blob.len() as u64 <= MAX_SIZE && text.split(|byte| *byte == b'\n').all(|line| line.len() < MAX_LINE)
        }
        Meaning::Modules => blob.len() < MAX_MODULES && accepts_modules(blob),
    }
}

fn accepts_modules(blob: &[u8]) -> bool {
    let metadata = gix::config::file::Metadata::default();
    // What git cannot parse it reports without refusing; but it has judged what comes before the error.
    let Ok(file) =
        gix::config::File::from_bytes_no_includes(blob, metadata, gix::config::file::init::Options::default())
    else {
        return !blob.to_ascii_lowercase().contains_str("submodule");
    };
    file.sections_by_name("submodule").into_iter().flatten().all(|section| {
        let Some(name) = section.header().subsection_name() else {
            return true;
        };
        let values = |key: &str| section.values(key);
        is_safe_name(name)
            && values("url").iter().all(|url| is_safe_url(url.as_bstr()))
            && values("path").iter().all(|path| !path.starts_with(b"-"))
            && values("update").iter().all(|update| !update.starts_with(b"!"))
    })
}

/// A submodule's repository lies in a directory of its name: it must not lead out of there.
fn is_safe_name(name: &BStr) -> bool {
    !name.is_empty()
        && name
            .split(|byte| matches!(byte, b'/' | b'\\'))
            .all(|part| part != b"..")
}

fn is_safe_url(url: &BStr) -> bool {
    let decoded = percent_decoded(url);
    if url.starts_with(b"-") || decoded.contains(&b'\n') {
        return false;
    }
    if url.starts_with(b"./") || url.starts_with(b"../") {
        // Relative to the parent's URL: enough `..` would replace its host.
        let mut rest = url.as_bytes();
        let mut upwards = 0;
        loop {
            if let Some(next) = rest.strip_prefix(b"../") {
                rest = next;
                upwards += 1;
            } else if let Some(next) = rest.strip_prefix(b"./") {
                rest = next;
            } else {
                break;
            }
        }
        return upwards == 0 || !matches!(rest.first(), Some(b':' | b'/'));
    }
    // `https::URL` names a transport of the web and then the URL.
    let transports = [&b"http::"[..], b"https::", b"ftp::", b"ftps::"];
    if let Some(rest) = transports.iter().find_map(|transport| url.strip_prefix(*transport)) {
        return is_plain_url(rest);
    }
    let web = [&b"http://"[..], b"https://", b"ftp://", b"ftps://"];
    !web.iter().any(|scheme| url.starts_with(scheme)) || is_plain_url(url)
}

/// Whether a URL of the web has nothing in it that git could fail to take apart: a host, perhaps a port, and a path
/// that does not lead out of its root.
fn is_plain_url(url: &[u8]) -> bool {
    let Some(at) = url.find("://") else {
        return false;
    };
    let (scheme, rest) = (&url[..at], &url[at + 3..]);
    let end = rest.find_byteset(b"/?#").unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let (host, port) = match host.rfind_byte(b':') {
        Some(colon) if !host.ends_with(b"]") => (&host[..colon], Some(&host[colon + 1..])),
        _ => (host, None),
    };
    let is_port = |port: &[u8]| {
        let number = std::str::from_utf8(port).ok().and_then(|text| text.parse::<u16>().ok());
        number.is_some_and(|number| number > 0) && port.iter().all(u8::is_ascii_digit)
    };
    let escapes = url.split(|byte| *byte == b'%').skip(1);
    let mut escapes = escapes.map(|rest| rest.get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)));
    !scheme.is_empty()
        && scheme
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
        && !host.is_empty()
        && host
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_[:]".contains(byte))
        && port.is_none_or(is_port)
        && escapes.all(|valid| valid)
        && stays_inside(&percent_decoded(
            path.split(|byte| matches!(byte, b'?' | b'#'))
                .next()
                .unwrap_or_default(),
        ))
        && !percent_decoded(url).contains(&0)
}

/// Whether no `..` of a URL's path leads above its start.
fn stays_inside(path: &[u8]) -> bool {
    let mut depth = 0_usize;
    path.split(|byte| *byte == b'/').skip(1).all(|part| match part {
        b".." => depth.checked_sub(1).inspect(|less| depth = *less).is_some(),
        b"." => true,
        _ => {
            depth += 1;
            true
        }
    })
}

fn percent_decoded(url: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(url.len());
    let mut at = 0;
    while at < url.len() {
        match (url[at], digit(url.get(at + 1)), digit(url.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(name: &str, key: &str, value: &str) -> bool {
        accepts(
            Meaning::Modules,
            format!("[submodule \"{name}\"]\n\t{key} = \"{value}\"\n").as_bytes(),
        )
    }

    #[test]
    fn submodules_that_could_be_attacks_are_refused() {
        for (name, key, value) in [
            ("../x", "path", "x"),
            ("a/../../x", "path", "x"),
            ("a\\\\..", "path", "x"),
            ("", "path", "x"),
            ("x", "path", "-upload"),
            ("x", "url", "-u/bin/sh"),
            ("x", "url", "../../../:evil/x"),
            ("x", "url", ".././/x"),
            ("x", "url", "git://host/%0ahost"),
            ("x", "url", "https://host/x%0anext"),
            ("x", "url", "https:///x"),
            ("x", "url", "http::https:///x"),
            ("x", "url", "https::example.com/x"),
            ("x", "update", "!true"),
        ] {
            assert!(!modules(name, key, value), "{name} {key} {value}");
        }
    }

    #[test]
    fn usual_submodules_are_accepted() {
        for (name, key, value) in [
            ("x", "path", "libs/x"),
            ("a/b..c", "path", "x"),
            ("x", "url", "https://user@example.org:8080/x.git"),
            ("x", "url", "../x.git"),
            ("x", "url", "./x"),
            ("x", "url", "git@example.org:a/x.git"),
            ("x", "url", "/srv/x.git"),
            ("x", "url", "C:\\\\x"),
            ("x", "update", "rebase"),
            ("x", "ignore", "!all"),
        ] {
            assert!(modules(name, key, value), "{name} {key} {value}");
        }
        assert!(accepts(Meaning::Modules, b""));
        assert!(accepts(Meaning::Modules, b"not a config file ["));
    }

    #[test]
    fn attribute_lines_have_a_limit() {
        let line = |len: usize| [&b"* text\n"[..], &vec![b'x'; len], b"\n"].concat();
        assert!(accepts(Meaning::Attributes, &line(MAX_LINE - 1)));
        assert!(!accepts(Meaning::Attributes, &line(MAX_LINE)));
        assert!(accepts(Meaning::Attributes, &[&b"x\0"[..], &line(MAX_LINE)].concat()));
    }
}
