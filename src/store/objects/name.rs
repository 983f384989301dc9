//! Names by which a pack of ours is known without any list: the second half of the number is made from the first.
//!
//! git takes any name for a pack. Its own are the hash of the contents, which would let two processes that store the
//! same objects share one name and one `.keep`.

use std::io;

use crate::os;

/// A new name, `pack-` and as many digits as an object id has.
pub(super) fn fresh(hash: gix::hash::Kind) -> io::Result<String> {
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(os::random_token()?.as_bytes());
    let half = hasher.try_finalize().map_err(io::Error::other)?.to_string();
    let half = &half[..half.len() / 2];
    Ok(format!("pack-{half}{}", second(hash, half).unwrap_or_default()))
}

/// Whether a pack, named without its extension, is one of ours.
pub(in crate::store) fn is_ours(stem: &str) -> bool {
    let Some(digits) = stem.strip_prefix("pack-").filter(|digits| digits.is_ascii()) else {
        return false;
    };
    let hash = match digits.len() {
        40 => gix::hash::Kind::Sha1,
        64 => gix::hash::Kind::Sha256,
        _ => return false,
    };
    let (half, rest) = digits.split_at(digits.len() / 2);
    second(hash, half).is_some_and(|wanted| wanted == rest)
}

fn second(hash: gix::hash::Kind, half: &str) -> Option<String> {
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(b"git-checkpoint pack ");
    hasher.update(half.as_bytes());
    Some(hasher.try_finalize().ok()?.to_string()[..half.len()].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_ours() {
        for hash in [gix::hash::Kind::Sha1, gix::hash::Kind::Sha256] {
            let name = fresh(hash).expect("a name");
            assert_eq!(name.len(), 5 + hash.len_in_hex());
            assert!(is_ours(&name));
            assert!(!is_ours(&name.replace("pack-", "pack_")));
            assert!(!is_ours(&name[..name.len() - 1]));
            let other = if name.ends_with('0') { '1' } else { '0' };
            assert!(!is_ours(&format!("{}{other}", &name[..name.len() - 1])));
        }
        assert!(!is_ours("pack-"));
        assert!(!is_ours("pack-da39a3ee5e6b4b0d3255bfef95601890afd80709"));
        assert!(!is_ours(&format!("pack-{}", "é".repeat(20))));
    }
}
