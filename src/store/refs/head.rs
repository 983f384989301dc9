//! State of `HEAD`, also where gix cannot read it.
//!
//! Read by the same strict rules as all other refs, so that damage to it has the same words.

use std::io;

use gix::ObjectId;

use super::{RefDamage, files, reftable};
use crate::os;
use crate::store::{Error, Repository, git, uses_reftable};

/// How many symbolic refs may lead from one to the next, as in git.
const STEPS: usize = 5;

/// `HEAD` of a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch (`refs/heads/main`); `None` when detached.
    pub branch: Option<String>,
    /// The commit; `None` when the branch has none yet.
    pub id: Option<ObjectId>,
}

/// Reads `HEAD`.
pub fn head(repo: &Repository) -> Result<Head, Error> {
    if uses_reftable(repo) {
        let id = git(repo)
            .args(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])
            .accept([1])
            .text()?;
        let id = if id.is_empty() { None } else { Some(reftable::id(&id)?) };
        let branch = symbolic(repo)?;
        return Ok(Head { branch, id });
    }
    let mut branch = None;
    let mut name = "HEAD".to_owned();
    for _ in 0..=STEPS {
        let value = if name == "HEAD" {
            of_file(repo)?
        } else {
            of_ref(repo, &name)?
        };
        match value {
            Some(Err(RefDamage::Symbolic(target))) => {
                name = checked(&name, target)?;
                branch.get_or_insert_with(|| name.clone());
            }
            Some(Err(damage)) => return Err(Error::Damaged { name, damage }),
            Some(Ok(id)) => return Ok(Head { branch, id: Some(id) }),
            None => return Ok(Head { branch, id: None }),
        }
    }
    let damage = RefDamage::Symbolic(name);
    Err(Error::Damaged {
        name: "HEAD".to_owned(),
        damage,
    })
}

/// Full name of the branch that `HEAD` names, whether or not there is such a branch; `None` when detached. Unlike
/// [`head`] this does not look at the branch.
pub fn head_branch(repo: &Repository) -> Result<Option<String>, Error> {
    if uses_reftable(repo) {
        return symbolic(repo);
    }
    match of_file(repo)? {
        Some(Err(RefDamage::Symbolic(target))) => checked("HEAD", target).map(Some),
        Some(Err(damage)) => Err(Error::Damaged {
            name: "HEAD".to_owned(),
            damage,
        }),
        Some(Ok(_)) | None => Ok(None),
    }
}

/// The branch that `HEAD` names, asked of git.
fn symbolic(repo: &Repository) -> Result<Option<String>, Error> {
    let name = git(repo).args(["symbolic-ref", "--quiet", "HEAD"]).accept([1]).text()?;
    Ok((!name.is_empty()).then_some(name))
}

/// Target of the symbolic ref `name`, unless it leads out of the directory of refs.
fn checked(name: &str, target: String) -> Result<String, Error> {
    if target.is_empty() || target.contains("..") {
        return Err(Error::Damaged {
            name: name.to_owned(),
            damage: RefDamage::Garbage,
        });
    }
    Ok(target)
}

/// The file itself, or the link that very old versions of git made of it.
fn of_file(repo: &Repository) -> Result<Option<files::RefValue>, Error> {
    let path = repo.git_dir().join("HEAD");
    if let Ok(target) = std::fs::read_link(&path)
        && let Some(target) = target.to_str().filter(|target| target.starts_with("refs/"))
    {
        return Ok(Some(Err(RefDamage::Symbolic(target.to_owned()))));
    }
    match os::read_regular(&path) {
        Ok(bytes) => Ok(Some(files::parse(&bytes, repo.object_hash()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// A ref that all working trees share, or one of this working tree's own.
fn of_ref(repo: &Repository, name: &str) -> Result<Option<files::RefValue>, Error> {
    if super::check_name(name).is_ok() {
        return files::read(repo, name);
    }
    let path = repo.git_dir().join(name);
    files::read_loose(repo.object_hash(), &path).map_err(Error::io("read", &path))
}
