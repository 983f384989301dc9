//! The private keys that things are decrypted with, found as age and ssh find theirs.

use std::path::{Path, PathBuf};

use super::super::{Repository, config};

/// Why something could not be decrypted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecryptionFailure {
    /// No key that was found is one of its recipients'.
    #[error("none of your keys opens it")]
    NoKey,
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
    /// Whether somebody named them.
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
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::io::Read as _;
    use std::path::{Path, PathBuf};
    use std::rc::Rc;
    use std::sync::{Arc, Mutex};

    use age_format::secrecy::SecretString;
    use age_format::{DecryptError, Identity, ssh};

    use super::{DecryptionFailure, KeyFiles, read};
    use crate::os;

    thread_local! {
        /// Keys by the files that they were looked for in: a draft of a thousand lines reads them once.
        static RINGS: RefCell<HashMap<Vec<PathBuf>, Rc<KeyRing>>> = RefCell::default();
    }

    #[derive(Default)]
    struct KeyRing {
        keys: RefCell<Vec<Box<dyn Identity>>>,
        /// Keys with a passphrase, which is asked for when one of them is a recipient's.
        closed: RefCell<Vec<(PathBuf, ssh::Identity)>>,
    }

    /// Decrypts bytes with the keys that are found.
    pub(in super::super) fn decrypt(files: &KeyFiles, bytes: &[u8]) -> Result<Vec<u8>, DecryptionFailure> {
        let ring = RINGS.with_borrow_mut(|rings| {
            let ring = rings.entry(files.paths.clone());
            Rc::clone(ring.or_insert_with(|| Rc::new(KeyRing::of(&files.paths, files.are_named))))
        });
        ring.decrypt(bytes)
    }

    impl KeyRing {
        fn of(files: &[PathBuf], are_named: bool) -> Self {
            let ring = Self::default();
            for path in files {
                let Some(bytes) = read(path, are_named) else { continue };
                if !ring.add(path, &bytes) && are_named {
                    os::notices::say(&format!("'{}' has no key of age or ssh", path.display()));
                }
            }
            ring
        }

        /// Adds the keys of a file; whether it has any.
        fn add(&self, path: &Path, bytes: &[u8]) -> bool {
            if bytes.starts_with(b"-----BEGIN") {
                let name = path.display().to_string();
                return match ssh::Identity::from_buffer(bytes, Some(name)) {
                    Ok(key @ ssh::Identity::Unencrypted(_)) => {
                        self.keys.borrow_mut().push(Box::new(key));
                        true
                    }
                    Ok(key @ ssh::Identity::Encrypted(_)) => {
                        self.closed.borrow_mut().push((path.to_owned(), key));
                        true
                    }
                    _ => false,
                };
            }
            let found = age_format::IdentityFile::from_buffer(bytes)
                .ok()
                .and_then(|file| file.into_identities().ok());
            let found = found.unwrap_or_default();
            let has_any = !found.is_empty();
            let keys = found.into_iter().map(|key| key as Box<dyn Identity>);
            self.keys.borrow_mut().extend(keys);
            has_any
        }

        fn decrypt(&self, bytes: &[u8]) -> Result<Vec<u8>, DecryptionFailure> {
            match self.with_keys(bytes) {
                Err(DecryptionFailure::NoKey) if os::can_ask_at_terminal() => {}
                done => return done,
            }
            for (path, key) in self.closed.take() {
                let question = Question {
                    path: path.clone(),
                    answer: Arc::default(),
                };
                // Asks only where the key is one of the recipients'.
                let tried = open(bytes, &key.clone().with_callbacks(question.clone()));
                let answer = question.answer.lock().ok().and_then(|mut answer| answer.take());
                match (tried, answer, key) {
                    (Ok(plain), Some(passphrase), ssh::Identity::Encrypted(closed)) => {
                        if let Ok(key) = closed.decrypt(passphrase) {
                            self.keys.borrow_mut().push(Box::new(ssh::Identity::from(key)));
                        }
                        return Ok(plain);
                    }
                    (Ok(plain), ..) => return Ok(plain),
                    // It was asked for and not given, or wrong: not asked for again by this command.
                    (Err(_), Some(_), _) => {
                        os::notices::say(&format!("the passphrase of '{}' is wrong", path.display()));
                    }
                    (Err(_), None, key) => self.closed.borrow_mut().push((path, key)),
                }
            }
            Err(DecryptionFailure::NoKey)
        }

        fn with_keys(&self, bytes: &[u8]) -> Result<Vec<u8>, DecryptionFailure> {
            let keys = self.keys.borrow();
            let mut failure = DecryptionFailure::NoKey;
            for key in keys.iter() {
                match open(bytes, &**key) {
                    Err(DecryptionFailure::NoKey) => {}
                    Err(other) => failure = other,
                    done => return done,
                }
            }
            if keys.is_empty() {
                // What is damaged is damaged for everybody.
                age_format::Decryptor::new(bytes).map_err(|error| failed(&error))?;
            }
            Err(failure)
        }
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

    /// Asks for the passphrase of a key at the terminal.
    #[derive(Clone)]
    struct Question {
        path: PathBuf,
        answer: Arc<Mutex<Option<SecretString>>>,
    }

    impl age_format::Callbacks for Question {
        fn display_message(&self, _: &str) {}

        fn confirm(&self, _: &str, _: &str, _: Option<&str>) -> Option<bool> {
            None
        }

        fn request_public_string(&self, _: &str) -> Option<String> {
            None
        }

        fn request_passphrase(&self, _: &str) -> Option<SecretString> {
            let text = os::ask_passphrase(&format!("Passphrase of '{}': ", self.path.display()))?;
            let passphrase = SecretString::from(text);
            if let Ok(mut answer) = self.answer.lock() {
                *answer = Some(passphrase.clone());
            }
            Some(passphrase)
        }
    }
}
