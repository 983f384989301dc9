//! Copies of damaged files, kept before they are replaced: `<common>/checkpoint/quarantine/`.

use std::{io::Write, path::PathBuf};

use super::{Error, Repository, paths::own_directory, private_dir, sharing};
use crate::os;

/// Keeps the bytes of a ref's file; gives the copy's path, or `None` when there is no such file.
pub fn keep_ref(repo: &Repository, name: &str) -> Result<Option<PathBuf>, Error> {
    let path = repo.common_dir().join(name);
    let bytes = match os::read_regular(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let directory = own_directory(repo, private_dir(repo)?.join("quarantine"))?;
    let token = os::random_token().map_err(Error::io("create a file in", &directory))?;
    let copy = directory.join(format!("{}-{token}", name.replace('/', "%2f")));
    let mut file = os::private_file(&copy, sharing(repo)).map_err(Error::io("create", &copy))?;
    file.write_all(&bytes).map_err(Error::io("write", &copy))?;
    os::sync(&file).map_err(Error::io("write", &copy))?;
    Ok(Some(copy))
}
