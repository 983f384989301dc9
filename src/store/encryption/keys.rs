//! The private keys that things are decrypted with, found as age and ssh find theirs.

use std::path::{Path, PathBuf};

use super::super::{Repository, config};

/// Why something could not be decrypted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecryptionFailure {
    /// No key that was found is one of its recipients'.
    #[error("none of your keys opens it")]
    NoKey,
    /// The key of a recipient has a passphrase that was not given.
    #[error("the key '{key}' needs its passphrase")]
    NoPassphrase {
        /// The file of the key.
        key: String,
    },
    /// It is not what was encrypted.
    #[error("{0}")]
    Damaged(String),
}

/// The user's home directory.
pub(super) fn home() -> Option<PathBuf> {
    gix::path::env::home_dir()
}

/// The files that may hold keys, in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct KeyFiles {
    paths: Vec<PathBuf>,
    /// Whether a setting names them.
    are_named: bool,
}

impl KeyFiles {
    /// Those that a repository's settings name, else the usual ones.
    pub fn of(repo: &Repository) -> Self {
        let named = config::identities(repo);
        let are_named = !named.is_empty();
        let paths = if are_named { named } else { usual() };
        Self { paths, are_named }
    }

    /// The bytes as they were before, where they were encrypted.
    pub fn decrypted(&self, bytes: Vec<u8>) -> Result<Vec<u8>, DecryptionFailure> {
        if super::is_encrypted(&bytes) {
            decrypt(self, &bytes)
        } else {
            Ok(bytes)
        }
    }
}

#[cfg(not(feature = "encryption"))]
impl KeyFiles {
    /// Nothing is decrypted by a program without encryption.
    #[expect(clippy::unused_self, reason = "as with encryption")]
    pub(super) fn opened_unasked(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(feature = "encryption")]
impl KeyFiles {
    /// The bytes as they were before they were encrypted, where a key without a passphrase opens them.
    pub(super) fn opened_unasked(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        ring::opened_unasked(self, bytes)
    }

    /// Whether one of the keys is a recipient's of these bytes; no passphrase is asked for.
    pub(super) fn can_open(&self, bytes: &[u8]) -> bool {
        ring::can_open(self, bytes)
    }
}

fn usual() -> Vec<PathBuf> {
    let Some(home) = home() else { return Vec::new() };
    let age = gix::path::env::var("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let mut files = Vec::new();
    // In age's own directory any file may be one; what is none is passed over.
    let found = std::fs::read_dir(age.join("age")).into_iter().flatten().flatten();
    files.extend(found.map(|entry| entry.path()).filter(|path| path.is_file()));
    files.sort();
    files.extend(["id_ed25519", "id_rsa"].map(|name| home.join(".ssh").join(name)));
    files
}

/// The bytes of a key file; none where there is none.
fn read(path: &Path, is_named: bool) -> Option<Vec<u8>> {
    /// The largest file that is read for keys.
    const MOST: u64 = 1 << 20;
    let is_small = std::fs::metadata(path).map(|found| found.len() <= MOST);
    match is_small.and_then(|small| if small { std::fs::read(path) } else { Ok(Vec::new()) }) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            if is_named {
                let why = crate::os::reason(&error);
                crate::os::notices::say(&format!("cannot read the key '{}': {why}", path.display()));
            }
            None
        }
    }
}

#[cfg(feature = "encryption")]
pub(super) use ring::decrypt;

/// Nothing is decrypted by a program without encryption.
#[cfg(not(feature = "encryption"))]
pub(super) fn decrypt(files: &KeyFiles, _: &[u8]) -> Result<Vec<u8>, DecryptionFailure> {
    let _ = files.paths.first().and_then(|path| read(path, files.are_named));
    Err(DecryptionFailure::NoKey)
}

#[cfg(feature = "encryption")]
mod ring {
    use std::cell::{Cell, OnceCell, RefCell};
    use std::collections::HashMap;
    use std::io::Read as _;
    use std::path::{Path, PathBuf};
    use std::rc::Rc;

    use age_core::format::{FileKey, Stanza};
    use age_format::secrecy::SecretString;
    use age_format::{DecryptError, Identity, scrypt, ssh};
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
    use sha2::{Digest as _, Sha256};

    use super::{DecryptionFailure, KeyFiles, read};
    use crate::os;

    thread_local! {
        /// Keys by the files that they were looked for in: a draft of a thousand lines reads them once.
        static RINGS: RefCell<HashMap<Vec<PathBuf>, Rc<KeyRing>>> = RefCell::default();
    }

    #[derive(Default)]
    struct KeyRing {
        keys: Vec<Box<dyn Identity>>,
        /// Keys with a passphrase, tried after the others.
        locked: Vec<LockedKey>,
    }

    /// Decrypts bytes with the keys that are found.
    pub(in super::super) fn decrypt(files: &KeyFiles, bytes: &[u8]) -> Result<Vec<u8>, DecryptionFailure> {
        ring(files).decrypt(bytes)
    }

    /// The bytes as they were before they were encrypted, where a key without a passphrase opens them.
    pub(super) fn opened_unasked(files: &KeyFiles, bytes: &[u8]) -> Option<Vec<u8>> {
        let ring = ring(files);
        ring.keys.iter().find_map(|key| open(bytes, &**key).ok())
    }

    /// Whether one of the keys opens bytes, with its passphrase if it has one.
    pub(super) fn can_open(files: &KeyFiles, bytes: &[u8]) -> bool {
        let ring = ring(files);
        let opens = |key: &dyn Identity| open(bytes, key).is_ok();
        ring.keys.iter().any(|key| opens(&**key))
            || ring.locked.iter().any(|key| {
                opens(&Probe(key));
                // A key that does not show its name may be one.
                key.was_met.get() || key.tag.is_none()
            })
    }

    fn ring(files: &KeyFiles) -> Rc<KeyRing> {
        RINGS.with_borrow_mut(|rings| {
            let ring = rings.entry(files.paths.clone());
            Rc::clone(ring.or_insert_with(|| Rc::new(KeyRing::of(&files.paths, files.are_named))))
        })
    }

    impl KeyRing {
        fn of(files: &[PathBuf], are_named: bool) -> Self {
            let mut ring = Self::default();
            for path in files {
                let Some(bytes) = read(path, are_named) else { continue };
                if !ring.add(path, &bytes) && are_named {
                    let mut text = format!("'{}' has no key of age or ssh", path.display());
                    if bytes.starts_with(b"-----BEGIN") {
                        text.push_str(&format!(
                            "; to convert a key in PEM form: ssh-keygen -p -o -f '{}'",
                            path.display()
                        ));
                    }
                    os::notices::say(&text);
                }
            }
            ring
        }

        /// Adds the keys of a file; whether it has any.
        fn add(&mut self, path: &Path, bytes: &[u8]) -> bool {
            if bytes.starts_with(b"-----BEGIN") {
                match ssh::Identity::from_buffer(bytes, None) {
                    Ok(key @ ssh::Identity::Unencrypted(_)) => self.keys.push(Box::new(key)),
                    Ok(ssh::Identity::Encrypted(key)) => self.locked.push(LockedKey {
                        path: path.to_owned(),
                        tag: tag(bytes),
                        key: LockedContent::Ssh(key),
                        unlocked: OnceCell::new(),
                        was_met: Cell::new(false),
                    }),
                    _ => return false,
                }
                return true;
            }
            // What 'age -p' made of a file of keys; a file that is for keys is none.
            if age_format::Decryptor::new(bytes).is_ok_and(|file| file.is_scrypt()) {
                self.locked.push(LockedKey {
                    path: path.to_owned(),
                    tag: None,
                    key: LockedContent::Age(bytes.to_owned()),
                    unlocked: OnceCell::new(),
                    was_met: Cell::new(false),
                });
                return true;
            }
            let found = identities(bytes);
            let has_any = !found.is_empty();
            self.keys.extend(found);
            has_any
        }

        fn decrypt(&self, bytes: &[u8]) -> Result<Vec<u8>, DecryptionFailure> {
            // Damage is damage with any key, and without one.
            age_format::Decryptor::new(bytes).map_err(|error| failed(&error))?;
            let mut failure = DecryptionFailure::NoKey;
            let locked = self.locked.iter().map(|key| key as &dyn Identity);
            for key in self.keys.iter().map(|key| &**key).chain(locked) {
                match open(bytes, key) {
                    Err(DecryptionFailure::NoKey) => {}
                    Err(other) => failure = other,
                    done => return done,
                }
            }
            if let (DecryptionFailure::NoKey, Some(key)) = (&failure, self.locked.iter().find(|key| key.was_met.get()))
            {
                failure = DecryptionFailure::NoPassphrase {
                    key: key.path.display().to_string(),
                };
            }
            Err(failure)
        }
    }

    /// The keys in a file of age.
    fn identities(bytes: &[u8]) -> Vec<Box<dyn Identity>> {
        let found = age_format::IdentityFile::from_buffer(bytes)
            .ok()
            .and_then(|file| file.into_identities().ok());
        let found = found.unwrap_or_default().into_iter();
        found.map(|key| key as Box<dyn Identity>).collect()
    }

    /// A key of ssh, or a file of keys of age, with a passphrase. It is asked for once in a command, at the terminal, and only
    /// where the key may be one of the recipients'; the identities of the crate ask for every recipient there is.
    struct LockedKey {
        path: PathBuf,
        /// The name of the key in a recipient's stanza; `None` where the file does not show it.
        tag: Option<String>,
        key: LockedContent,
        /// The keys, or none where the passphrase was not given or is wrong.
        unlocked: OnceCell<Vec<Box<dyn Identity>>>,
        /// Whether it is the key of a recipient, as far as that shows.
        was_met: Cell<bool>,
    }

    enum LockedContent {
        Ssh(ssh::EncryptedKey),
        /// The encrypted file.
        Age(Vec<u8>),
    }

    /// Notes whether a key is a recipient's, and never unlocks it.
    struct Probe<'k>(&'k LockedKey);

    impl Identity for Probe<'_> {
        fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
            self.0.is_met(stanza);
            None
        }
    }

    impl LockedKey {
        /// Whether a stanza may be for this key.
        fn is_met(&self, stanza: &Stanza) -> bool {
            let is_of_age = matches!(self.key, LockedContent::Age(_));
            let is_ours = if is_of_age {
                // Its stanzas name nobody.
                stanza.tag == "X25519"
            } else {
                stanza.tag.starts_with("ssh-") && (self.tag.as_ref()).is_none_or(|tag| stanza.args.first() == Some(tag))
            };
            if is_ours && (is_of_age || self.tag.is_some()) {
                self.was_met.set(true);
            }
            is_ours
        }

        fn unlock(&self) -> Vec<Box<dyn Identity>> {
            let Some(passphrase) = os::ask_passphrase(&format!("Passphrase of '{}': ", self.path.display())) else {
                return Vec::new();
            };
            let passphrase = SecretString::from(passphrase);
            let unlocked: Vec<Box<dyn Identity>> = match &self.key {
                LockedContent::Ssh(key) => {
                    let unlocked = key.decrypt(passphrase).ok().map(ssh::Identity::from);
                    unlocked
                        .into_iter()
                        .map(|key| Box::new(key) as Box<dyn Identity>)
                        .collect()
                }
                LockedContent::Age(bytes) => {
                    let plain = open(bytes, &scrypt::Identity::new(passphrase));
                    plain.map_or_else(|_| Vec::new(), |plain| identities(&plain))
                }
            };
            if unlocked.is_empty() {
                os::notices::say(&format!("the passphrase of '{}' is wrong", self.path.display()));
            }
            unlocked
        }
    }

    impl Identity for LockedKey {
        fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
            if !self.is_met(stanza) || !os::can_ask_at_terminal() {
                return None;
            }
            let unlocked = self.unlocked.get_or_init(|| self.unlock());
            unlocked.iter().find_map(|key| key.unwrap_stanza(stanza))
        }
    }

    /// The name of a private key in stanzas: the first four bytes of the SHA-256 of its public key, in base64 (C2SP `age`,
    /// "ssh-ed25519 recipient stanza"). The public key is in the clear in a file of OpenSSH (its `PROTOCOL.key`).
    fn tag(file: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(file).ok()?;
        let lines = text.lines().filter(|line| !line.starts_with("-----"));
        let bytes = STANDARD.decode(lines.collect::<String>()).ok()?;
        let mut rest = bytes.strip_prefix(b"openssh-key-v1\0")?;
        // The cipher, how its key is derived, the options of that, and the number of keys.
        for _ in 0..3 {
            rest = string(rest)?.1;
        }
        let (public, _) = string(rest.get(4..)?)?;
        Some(STANDARD_NO_PAD.encode(&Sha256::digest(public)[..4]))
    }

    /// A string behind its length of four bytes, and what follows it.
    fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
    }

    fn open(bytes: &[u8], key: &dyn Identity) -> Result<Vec<u8>, DecryptionFailure> {
        let decryptor = age_format::Decryptor::new(bytes).map_err(|error| failed(&error))?;
        let mut reader = decryptor
            .decrypt(std::iter::once(key))
            .map_err(|error| failed(&error))?;
        let mut plain = Vec::with_capacity(bytes.len());
        let read = reader.read_to_end(&mut plain);
        read.map_err(|_| DecryptionFailure::Damaged("its encrypted content is damaged".to_owned()))?;
        Ok(plain)
    }

    fn failed(error: &DecryptError) -> DecryptionFailure {
        match error {
            DecryptError::NoMatchingKeys | DecryptError::KeyDecryptionFailed => DecryptionFailure::NoKey,
            DecryptError::DecryptionFailed | DecryptError::InvalidMac => {
                DecryptionFailure::Damaged("its encrypted content is damaged".to_owned())
            }
            _ => DecryptionFailure::Damaged("its encryption header is damaged".to_owned()),
        }
    }
}
