//! Signatures of checkpoint commits: made and checked as git makes and checks those of its own commits, by the same
//! settings and with the same programs.
//!
//! A checkpoint's commit is signed as a whole, so the signature covers its tree, and with it the document and the files.
//! Making one runs the program that git would run, as the commit is written to a pack of ours; checking is left to git.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::bstr::ByteSlice;

use super::{Error, ObjectId, Repository, Signature, private_dir};
use crate::os;

/// How long a program may take where no question is asked: an agent or a card answers sooner.
const UNATTENDED_LIMIT: Duration = Duration::from_secs(5);

/// How a signature is made.
#[derive(Clone, Debug)]
pub struct Signer {
    form: SignatureForm,
    /// The program, as the settings name it.
    program: PathBuf,
    key: SigningKey,
    /// Where files for the program are written.
    directory: PathBuf,
    /// The header that holds the signature.
    header: &'static str,
}

/// Where the key comes from.
#[derive(Clone, Debug)]
enum SigningKey {
    /// `user.signingKey`.
    Given(String),
    /// The output of `gpg.ssh.defaultKeyCommand`.
    Command(String),
    /// The key of the committer.
    Committer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignatureForm {
    OpenPgp,
    X509,
    Ssh,
}

/// Whether a commit is signed, and how good that is, in the order of git's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureVerdict {
    /// `G`: good, by a key that is trusted.
    Good,
    /// `U`: good, by a key of which nothing is known.
    Untrusted,
    /// `X`: good, but the signature has expired.
    Expired,
    /// `Y`: good, but the key has expired.
    ExpiredKey,
    /// `R`: good, but the key was revoked.
    RevokedKey,
    /// `B`: it does not fit the commit.
    Bad,
    /// `E`: it cannot be checked, such as for want of the key.
    Unchecked,
    /// `N`: there is none.
    Unsigned,
}

impl SignatureVerdict {
    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Untrusted => "untrusted",
            Self::Expired => "expired",
            Self::ExpiredKey => "expired-key",
            Self::RevokedKey => "revoked-key",
            Self::Bad => "bad",
            Self::Unchecked => "unchecked",
            Self::Unsigned => "unsigned",
        }
    }

    /// Whether it proves who made the commit.
    pub fn is_good(self) -> bool {
        self == Self::Good
    }
}

/// A commit's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitSignature {
    /// How good it is.
    pub verdict: SignatureVerdict,
    /// Who signed, by the key.
    pub signer: String,
    /// The key, or its fingerprint.
    pub key: String,
}

impl CommitSignature {
    /// In words, for people.
    pub fn words(&self) -> String {
        let by = match (self.signer.as_str(), self.key.as_str()) {
            ("", "") => String::new(),
            ("", key) => format!(" by key {key}"),
            (signer, _) => format!(" by {signer}"),
        };
        match self.verdict {
            SignatureVerdict::Good => format!("good signature{by}"),
            SignatureVerdict::Untrusted => format!("good signature{by}, a key that is not trusted"),
            SignatureVerdict::Expired => format!("expired signature{by}"),
            SignatureVerdict::ExpiredKey => format!("good signature{by}, a key that has expired"),
            SignatureVerdict::RevokedKey => format!("good signature{by}, a key that was revoked"),
            SignatureVerdict::Bad => format!("bad signature{by}"),
            SignatureVerdict::Unchecked => format!("signature{by} that cannot be checked"),
            SignatureVerdict::Unsigned => "not signed".to_owned(),
        }
    }
}

impl Signer {
    /// The signer that git's settings name; the error is the reason why there is none.
    pub fn of(repo: &Repository) -> Result<Self, String> {
        let config = repo.config_snapshot();
        let text = |key: &str| {
            let value = config.string(key)?.to_str_lossy().into_owned();
            Some(value).filter(|value| !value.is_empty())
        };
        let form = text("gpg.format").unwrap_or_else(|| "openpgp".to_owned());
        let (form, section, usual) = match form.as_str() {
            "openpgp" => (SignatureForm::OpenPgp, "openpgp", "gpg"),
            "x509" => (SignatureForm::X509, "x509", "gpgsm"),
            "ssh" => (SignatureForm::Ssh, "ssh", "ssh-keygen"),
            other => return Err(format!("gpg.format '{}' is unknown", other.escape_debug())),
        };
        let path = |key: &str| text(key).map(|value| expanded(repo, key, value));
        let old = (form == SignatureForm::OpenPgp).then(|| path("gpg.program")).flatten();
        let program = path(&format!("gpg.{section}.program")).or(old);
        let key = match (path("user.signingKey"), form) {
            (Some(key), _) => SigningKey::Given(key),
            (None, SignatureForm::Ssh) => {
                let why = "either user.signingKey or gpg.ssh.defaultKeyCommand needs to be configured";
                SigningKey::Command(text("gpg.ssh.defaultKeyCommand").ok_or(why)?)
            }
            (None, _) => SigningKey::Committer,
        };
        Ok(Self {
            form,
            program: PathBuf::from(program.unwrap_or_else(|| usual.to_owned())),
            key,
            directory: private_dir(repo).map_err(|error| error.to_string())?,
            header: match repo.object_hash() {
                gix::hash::Kind::Sha1 => "gpgsig",
                _ => "gpgsig-sha256",
            },
        })
    }

    /// The header that a signature goes to.
    pub(super) fn header(&self) -> &'static str {
        self.header
    }

    /// Signs the bytes of a commit without its signature. The error is the reason why that is not possible; where no
    /// question is allowed, a program that would ask is such a reason.
    pub(super) fn sign(&self, commit: &[u8], committer: &Signature, can_ask: bool) -> Result<String, String> {
        let limit = (!can_ask).then_some(UNATTENDED_LIMIT);
        let signed = match self.form {
            SignatureForm::OpenPgp | SignatureForm::X509 => self.with_gpg(commit, committer, limit)?,
            SignatureForm::Ssh => self.with_ssh(commit, limit)?,
        };
        // As git does: a program of Windows may end lines otherwise.
        Ok(signed.replace('\r', "").trim_end_matches('\n').to_owned())
    }

    fn with_gpg(&self, commit: &[u8], committer: &Signature, limit: Option<Duration>) -> Result<String, String> {
        let key = match &self.key {
            SigningKey::Given(key) => key.clone(),
            _ => format!("{} <{}>", committer.name, committer.email),
        };
        let mut args: Vec<OsString> = Vec::new();
        if limit.is_some() {
            // A passphrase that the agent remembers still serves.
            args.extend(["--batch", "--no-tty", "--pinentry-mode=error"].map(OsString::from));
        }
        args.extend(["--status-fd=2".into(), "-bsau".into(), key.into()]);
        let done = os::run_tool(&self.program, &args, commit, limit).map_err(|error| self.cannot_run(&error))?;
        let said = String::from_utf8_lossy(&done.stderr);
        let is_created = said.lines().any(|line| line.starts_with("[GNUPG:] SIG_CREATED "));
        match String::from_utf8(done.stdout) {
            Ok(signature) if done.code == Some(0) && is_created => Ok(signature),
            _ => Err(self.refused(&said)),
        }
    }

    fn with_ssh(&self, commit: &[u8], limit: Option<Duration>) -> Result<String, String> {
        let key = match &self.key {
            SigningKey::Given(key) => key.clone(),
            SigningKey::Command(command) => default_key(command)?,
            SigningKey::Committer => String::new(),
        };
        let words = |error: Error| error.to_string();
        let buffer = ScratchFile::new(&self.directory, commit).map_err(words)?;
        let literal = literal_key(&key);
        let key_file = literal.map(|key| ScratchFile::new(&self.directory, format!("{key}\n").as_bytes()));
        let key_file = key_file.transpose().map_err(words)?;
        let mut args: Vec<OsString> = ["-Y", "sign", "-n", "git", "-f"].map(OsString::from).into();
        match &key_file {
            Some(file) => args.extend([file.path.clone().into(), "-U".into()]),
            None => args.push(key.into()),
        }
        args.push(buffer.path.clone().into());
        let done = os::run_tool(&self.program, &args, b"", limit);
        let signature = with_end(&buffer.path, ".sig");
        let text = fs::read_to_string(&signature);
        // Also of a program that was ended.
        let _ = fs::remove_file(&signature);
        let done = done.map_err(|error| self.cannot_run(&error))?;
        match text {
            Ok(text) if done.code == Some(0) => Ok(text),
            _ => Err(self.refused(&String::from_utf8_lossy(&done.stderr))),
        }
    }

    fn cannot_run(&self, error: &std::io::Error) -> String {
        let program = self.program.display();
        if error.kind() == std::io::ErrorKind::TimedOut {
            return format!(
                "'{program}' gave no answer within {} seconds",
                UNATTENDED_LIMIT.as_secs()
            );
        }
        format!("cannot run '{program}': {}", os::reason(error))
    }

    fn refused(&self, said: &str) -> String {
        let mut lines = said
            .lines()
            .filter(|line| !line.starts_with("[GNUPG:]") && !line.trim().is_empty());
        let last = lines.next_back().unwrap_or("it made no signature").trim();
        format!("{}: {last}", self.program.display())
    }
}

/// A key that is given as such and not as a file.
fn literal_key(key: &str) -> Option<&str> {
    key.strip_prefix("key::")
        .or_else(|| key.starts_with("ssh-").then_some(key))
}

/// The first line of the program's output, which names a key as such.
fn default_key(command: &str) -> Result<String, String> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let args: Vec<_> = words.map(Into::into).collect();
    let done = os::run_tool(Path::new(program), &args, b"", Some(UNATTENDED_LIMIT));
    let done = done.map_err(|error| format!("gpg.ssh.defaultKeyCommand: {}", os::reason(&error)))?;
    let text = String::from_utf8_lossy(&done.stdout);
    let first = text.lines().next().unwrap_or_default().trim();
    if done.code != Some(0) || literal_key(first).is_none() {
        return Err("gpg.ssh.defaultKeyCommand gives no key".to_owned());
    }
    Ok(first.to_owned())
}

/// The value of a setting, as a path where it begins with the home directory.
fn expanded(repo: &Repository, key: &str, value: String) -> String {
    if !value.starts_with("~/") {
        return value;
    }
    let path = repo.config_snapshot().trusted_path(key).ok().flatten();
    path.map_or(value, |path| path.to_string_lossy().into_owned())
}

/// A file for a program, readable by its owner only; gone with this value.
struct ScratchFile {
    path: PathBuf,
}

impl ScratchFile {
    fn new(directory: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let token = os::random_token().map_err(Error::io("make up a name in", directory))?;
        let path = directory.join(format!("signing.{token}"));
        let file = Self { path: path.clone() };
        let write = |path: &Path| os::private_file(path, os::Sharing::default())?.write_all(bytes);
        write(&path).map_err(Error::io("write", path))?;
        Ok(file)
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        // The next one has another name.
        let _ = fs::remove_file(&self.path);
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The signatures of commits, by git. A commit that cannot be read has none.
pub fn check(repo: &Repository, ids: &[ObjectId]) -> Result<HashMap<ObjectId, CommitSignature>, Error> {
    let mut found = HashMap::new();
    let mut signed = Vec::new();
    for id in ids {
        let is_signed = repo.find_object(*id).is_ok_and(|object| has_signature(&object.data));
        if is_signed {
            signed.push(*id);
        } else {
            let none = CommitSignature {
                verdict: SignatureVerdict::Unsigned,
                signer: String::new(),
                key: String::new(),
            };
            found.insert(*id, none);
        }
    }
    if signed.is_empty() {
        return Ok(found);
    }
    let lines: Vec<String> = signed.iter().map(ToString::to_string).collect();
    let output = super::git(repo)
        .args([
            "log",
            "--no-walk=unsorted",
            "--stdin",
            "--no-show-signature",
            "--format=%H%x00%G?%x00%GS%x00%GF%x00%GK",
        ])
        .input(lines.join("\n") + "\n")
        .run()?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.split('\0');
        let mut next = || fields.next().unwrap_or_default();
        let (id, letter, signer, fingerprint, key) = (next(), next(), next(), next(), next());
        let Ok(id) = ObjectId::from_hex(id.as_bytes()) else {
            continue;
        };
        let verdict = match letter {
            "G" => SignatureVerdict::Good,
            "U" => SignatureVerdict::Untrusted,
            "X" => SignatureVerdict::Expired,
            "Y" => SignatureVerdict::ExpiredKey,
            "R" => SignatureVerdict::RevokedKey,
            "B" => SignatureVerdict::Bad,
            // Of one that it has no settings for, git reports that there is none.
            _ => SignatureVerdict::Unchecked,
        };
        let key = if fingerprint.is_empty() { key } else { fingerprint };
        let signature = CommitSignature {
            verdict,
            signer: signer.to_owned(),
            key: key.to_owned(),
        };
        found.insert(id, signature);
    }
    Ok(found)
}

/// The signature of one commit; `None` where it is not signed.
pub fn of_commit(repo: &Repository, id: ObjectId) -> Result<Option<CommitSignature>, Error> {
    let found = check(repo, &[id])?.remove(&id);
    Ok(found.filter(|found| found.verdict != SignatureVerdict::Unsigned))
}

/// The first of these commits without a good signature by a trusted key, with its state in words.
pub fn first_untrusted(repo: &Repository, ids: &[ObjectId]) -> Result<Option<(ObjectId, String)>, Error> {
    let found = check(repo, ids)?;
    let bad = ids.iter().find_map(|id| {
        let found = found.get(id)?;
        (!found.verdict.is_good()).then(|| (*id, found.words()))
    });
    Ok(bad)
}

/// Whether the header of a commit holds a signature.
fn has_signature(commit: &[u8]) -> bool {
    let end = commit.find("\n\n").unwrap_or(commit.len());
    let header = &commit[..end];
    header
        .lines()
        .any(|line| line.starts_with(b"gpgsig ") || line.starts_with(b"gpgsig-sha256 "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_files_are_known() {
        assert_eq!(
            literal_key("key::ecdsa-sha2-nistp256 AAAA"),
            Some("ecdsa-sha2-nistp256 AAAA")
        );
        assert_eq!(literal_key("ssh-ed25519 AAAA me"), Some("ssh-ed25519 AAAA me"));
        assert_eq!(literal_key("/home/me/.ssh/id_ed25519.pub"), None);
    }

    #[test]
    fn signatures_are_seen_in_the_header_alone() {
        assert!(has_signature(b"tree 1\ngpgsig -----BEGIN\n more\n\ntext"));
        assert!(has_signature(b"tree 1\ngpgsig-sha256 x\n\ntext"));
        assert!(!has_signature(b"tree 1\nauthor x\n\ngpgsig not one\n"));
    }
}
