//! Who things are encrypted to: public keys of age and of ssh, given in the settings or in files, of which one may be
//! tracked in the project.

use std::path::Path;

#[cfg(feature = "encryption")]
use std::{io::Write as _, str::FromStr as _};

use gix::bstr::ByteSlice;

use super::super::{Error, Repository, config};

/// Encrypts to some recipients.
pub struct Encryptor {
    names: Vec<String>,
    #[cfg(feature = "encryption")]
    recipients: Vec<Box<dyn age_format::Recipient + Send + Sync>>,
}

impl std::fmt::Debug for Encryptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Encryptor").field(&self.names).finish()
    }
}

impl Encryptor {
    /// The one that the settings ask for.
    pub fn configured(repo: &Repository) -> Result<Option<Self>, Error> {
        let given = config::encrypt_to(repo);
        if given.is_empty() {
            return Ok(None);
        }
        let mut names = Vec::new();
        for value in given {
            let value = value.trim();
            if is_key(value) {
                names.push(value.to_owned());
                continue;
            }
            let path = Path::new(value);
            let path = match value.strip_prefix("~/").zip(super::keys::home()) {
                Some((rest, home)) => home.join(rest),
                None => repo.workdir().unwrap_or_else(|| repo.git_dir()).join(path),
            };
            let text = std::fs::read(&path).map_err(|error| {
                let why = crate::os::reason(&error);
                failed(format!("cannot read the recipients in '{}': {why}", path.display()))
            })?;
            let text = text.to_str_lossy();
            let lines = text.lines().map(str::trim);
            let keys: Vec<&str> = lines
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .collect();
            if keys.is_empty() {
                return Err(failed(format!("'{}' names no recipient", path.display())));
            }
            names.extend(keys.into_iter().map(str::to_owned));
        }
        names.dedup();
        Self::to(&names).map(Some)
    }

    /// The same, refused where none of the user's keys is among the recipients: they could not read what they save, nor
    /// add to it.
    pub fn for_own_writing(repo: &Repository) -> Result<Option<Self>, Error> {
        let Some(encryptor) = Self::configured(repo)? else {
            return Ok(None);
        };
        #[cfg(feature = "encryption")]
        if !super::KeyFiles::of(repo).can_open(&encryptor.encrypt(b"")?) {
            return Err(Error::NoRecipient);
        }
        Ok(Some(encryptor))
    }

    /// The keys, as age and ssh write them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// One for these keys.
    #[cfg(feature = "encryption")]
    pub fn to(names: &[String]) -> Result<Self, Error> {
        let mut recipients: Vec<Box<dyn age_format::Recipient + Send + Sync>> = vec![Box::new(Mark)];
        let mut kept = Vec::new();
        for name in names {
            let bad = |why: String| failed(format!("'{}' is no recipient: {why}", name.escape_debug()));
            if name.starts_with("ssh-") {
                let key = age_format::ssh::Recipient::from_str(name).map_err(|error| bad(ssh_fault(error)))?;
                recipients.push(Box::new(key));
                // A comment may name a person.
                kept.push(name.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
            } else {
                let key = age_format::x25519::Recipient::from_str(name).map_err(|error| bad(error.to_owned()))?;
                recipients.push(Box::new(key));
                kept.push(name.clone());
            }
        }
        if kept.is_empty() {
            return Err(failed("there is no recipient".to_owned()));
        }
        Ok(Self {
            names: kept,
            recipients,
        })
    }

    /// No recipients, in a program without encryption.
    #[cfg(not(feature = "encryption"))]
    pub fn to(_: &[String]) -> Result<Self, Error> {
        Err(failed("this program was built without encryption".to_owned()))
    }

    /// Encrypts bytes.
    #[cfg(feature = "encryption")]
    pub fn encrypt(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let words = |error: &dyn std::fmt::Display| failed(error.to_string());
        let recipients = self
            .recipients
            .iter()
            .map(|recipient| &**recipient as &dyn age_format::Recipient);
        let encryptor = age_format::Encryptor::with_recipients(recipients).map_err(|error| words(&error))?;
        let mut out = Vec::with_capacity(bytes.len() + 512);
        let mut writer = encryptor.wrap_output(&mut out).map_err(|error| words(&error))?;
        writer.write_all(bytes).map_err(|error| words(&error))?;
        writer.finish().map_err(|error| words(&error))?;
        debug_assert!(super::is_encrypted(&out), "the mark is its first stanza");
        Ok(out)
    }

    /// Encrypts nothing.
    #[cfg(not(feature = "encryption"))]
    pub fn encrypt(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Err(failed("this program was built without encryption".to_owned()))
    }
}

/// A stanza that marks the file as ours and gives its key to no one.
#[cfg(feature = "encryption")]
struct Mark;

#[cfg(feature = "encryption")]
impl age_format::Recipient for Mark {
    fn wrap_file_key(
        &self,
        _: &age_core::format::FileKey,
    ) -> Result<(Vec<age_core::format::Stanza>, std::collections::HashSet<String>), age_format::EncryptError> {
        let stanza = age_core::format::Stanza {
            tag: "git-checkpoint".to_owned(),
            args: vec!["1".to_owned()],
            body: Vec::new(),
        };
        Ok((vec![stanza], std::collections::HashSet::new()))
    }
}

/// Whether a text is a key and no path.
fn is_key(text: &str) -> bool {
    text.starts_with("age1") || text.starts_with("ssh-ed25519 ") || text.starts_with("ssh-rsa ")
}

fn failed(why: String) -> Error {
    Error::Encryption { why }
}

/// Why a text is no public key of ssh.
#[cfg(feature = "encryption")]
fn ssh_fault(error: age_format::ssh::ParseRecipientKeyError) -> String {
    use age_format::ssh::ParseRecipientKeyError as Fault;
    match error {
        Fault::Invalid(_) => "it is not a complete public key of ssh".to_owned(),
        Fault::RsaModulusTooLarge => "the RSA key is too large".to_owned(),
        Fault::RsaModulusTooSmall => "the RSA key is too small".to_owned(),
        Fault::Unsupported(kind) => format!("keys of type '{}' are not supported", kind.escape_debug()),
        _ => "keys of this type are not supported".to_owned(),
    }
}
