//! Opening the repository that the environment and the current directory name, as git would.
//!
//! gix decides less strictly than git whom to trust, which repositories it understands and where the objects lie; the
//! differences are made up for here, so that code with a `Repository` need not consider them.

mod location;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gix::bstr::{BString, ByteSlice};
use gix::odb::store::init::Slots;

use self::location::{RepositoryLocation, absence, here, locate};
use super::{EncryptedSessions, Error, OpenEnvironment, Repository, elsewhere, env_config, paths, trust};

/// Room for decoded objects: the trees of two snapshots of some thousand directories, compared twice.
const OBJECT_CACHE: usize = 8 * 1024 * 1024;

/// How many packs gix can know in the life of a handle. Its own minimum of 32 is passed when many processes save at once,
/// and then it takes every object it has not seen yet for missing. Those of packs that are gone are free again, and we
/// and git merge packs before there are a hundred. A slot costs some 100 bytes, and a thousand of them a tenth of the time
/// that a command takes which needs no object.
const SLOTS: Slots = Slots::AsNeededByDiskState {
    multiplier: 2.0,
    minimum: FEWEST_SLOTS as usize,
};

const FEWEST_SLOTS: u16 = 256;

/// Extensions whose repositories we read and write rightly, in git's spelling lower-cased.
const EXTENSIONS: &[&str] = &[
    "compatobjectformat",
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// Opens the repository that `GIT_DIR` names, or the nearest one at or above the current directory.
///
/// Honours `GIT_WORK_TREE`, `GIT_INDEX_FILE` (read only), `GIT_OBJECT_DIRECTORY`, `GIT_ALTERNATE_OBJECT_DIRECTORIES`,
/// `GIT_CEILING_DIRECTORIES`, `GIT_DISCOVERY_ACROSS_FILESYSTEM`, `safe.directory`, `safe.bareRepository` and the
/// settings of `git -c`. Replace refs are off: an object is that of its id.
///
/// Errors distinguish: a push that is not accepted yet, no repository, one that belongs to another user, one of a
/// newer format or with an unknown extension, one whose files cannot be read.
pub fn open(environment: &OpenEnvironment) -> Result<Repository, Error> {
    if environment.get("GIT_QUARANTINE_PATH").is_some() {
        return Err(Error::Quarantine);
    }
    let settings = settings(environment)?;
    let mut options = gix::open::Options::default().cli_overrides(settings.clone());
    if environment.is_elsewhere || environment.ignores_index {
        options = options.filter_config_section(is_its_own);
    }
    let options_elsewhere = options.clone();
    let at = |found: &RepositoryLocation, options: gix::open::Options| {
        let options = options.object_store_slots(slots(&found.path));
        let opened = options.open(&found.path);
        opened.map(|repo| Repository::new(repo.to_thread_local(), environment.encrypted.clone()))
    };
    let open = |found: &RepositoryLocation, options| at(found, options).map_err(|source| explain(&found.path, source));
    // What is no repository after all is searched for from here on, or is an error, as if nothing had been tried.
    let tried = here(environment).and_then(|found| Some((at(&found, options.clone()).ok()?, found)));
    let (mut repo, found) = if let Some(opened) = tried {
        opened
    } else {
        let found = locate(environment)?;
        (open(&found, options.clone())?, found)
    };
    check_format(&repo)?;
    check_work_tree(&repo, environment)?;
    if repo.git_dir_trust() != gix::sec::Trust::Full {
        if !trust::declared_safe(&repo, &environment.cwd, environment.path("HOME").as_deref()) {
            return Err(Error::Unsafe {
                path: shown_root(&repo),
            });
        }
        let limit = std::iter::once(NO_LIMIT.into());
        let options = options.cli_overrides(settings.into_iter().chain(limit));
        let is_meant: fn(&gix::config::file::Metadata) -> bool =
            if environment.is_elsewhere || environment.ignores_index {
                is_not_of_environment
            } else {
                |_| true
            };
        repo = open(&found, options.filter_config_section(is_meant))?;
    }
    check_common_dir(&repo, environment)?;
    if found.searched && repo.is_bare() && explicit_bare(&repo) {
        return Err(Error::ImplicitBare {
            path: repo.git_dir().to_owned(),
        });
    }
    set_work_tree(&mut repo, environment)?;
    let elsewhere = environment.get("GIT_WORK_TREE").is_some() || configured_work_tree(&repo).is_some();
    if found.searched && !elsewhere && is_within(&environment.cwd, repo.git_dir()) {
        // As for git: within the repository itself there is no working tree.
        repo.set_workdir(None).map_err(Error::gix("leave the working tree"))?;
    }
    set_objects(&mut repo, environment)?;
    if let Some(store) = elsewhere::wanted(&repo)? {
        repo = open_elsewhere(&repo, &store, &options_elsewhere, environment)?;
    }
    let private = paths::private_path(&repo);
    if private.is_dir() {
        crate::os::notices::keep_in(&private);
    }
    // Namespaces are for servers; git's own plumbing ignores the variable as well.
    repo.refs.namespace = None;
    repo.object_cache_size(OBJECT_CACHE);
    Ok(repo)
}

/// The setting by which gix's distrust has no effect, for which it has no option: a trusted repository may hold large
/// objects.
const NO_LIMIT: &str = "gitoxide.objects.allocLimitIfReducedTrust=0";

/// The mark of a store elsewhere, with the directory that cannot be written; only our own counts.
const ELSEWHERE: &str = "gitcheckpoint.elsewhere";

/// Opens the store of a repository whose own directory cannot be written.
///
/// The working tree in it is the project's, which is trusted by now. What counts is whose the store is: it is ours, or
/// declared safe.
fn open_elsewhere(
    project: &Repository,
    store: &Path,
    options: &gix::open::Options,
    environment: &OpenEnvironment,
) -> Result<Repository, Error> {
    let home = environment.path("HOME");
    if !trust::is_own(store) && !trust::declared_safe_at(project, store, &environment.cwd, home.as_deref()) {
        return Err(Error::Unsafe { path: store.to_owned() });
    }
    let git_dir = elsewhere::refresh(project, store)?;
    let mark = [
        ELSEWHERE.as_bytes(),
        b"=",
        project.common_dir().as_os_str().as_encoded_bytes(),
    ];
    let opened = options
        .clone()
        .config_overrides([BString::from(mark.concat()), NO_LIMIT.into()])
        .filter_config_section(|_| true)
        .object_store_slots(SLOTS)
        .open(&git_dir)
        .map_err(|source| explain(&git_dir, source))?;
    let mut opened = Repository::new(opened.to_thread_local(), environment.encrypted.clone());
    if let Some(root) = project.workdir() {
        use_work_tree(&mut opened, root)?;
    }
    Ok(opened)
}

/// The repository's own directory, which cannot be written, if its sessions are in a store elsewhere.
pub fn read_only_directory(repo: &Repository) -> Option<PathBuf> {
    let config = repo.config_snapshot();
    let by_us = |meta: &gix::config::file::Metadata| meta.source == gix::config::Source::Api;
    let value = config.plumbing().string_filter(ELSEWHERE, by_us)?;
    gix::path::from_bstr(value.as_bstr()).ok().map(Into::into)
}

/// Fails where the repository's own directory cannot be written and `what` would have to be.
pub fn require_own_directory(repo: &Repository, what: &'static str) -> Result<(), Error> {
    match read_only_directory(repo) {
        Some(path) => Err(Error::ReadOnly { path, what }),
        None => Ok(()),
    }
}

/// Opens another working tree of a repository.
///
/// As [`open_beside`]. What is known of encrypted sessions is known there too.
pub fn open_worktree(repo: &Repository, root: &Path) -> Result<Repository, Error> {
    let opened = open_beside(root)?;
    Ok(opened.with_encrypted(repo.encrypted().clone()))
}

/// Opens another repository than the one that the environment names, such as a submodule.
///
/// Nothing that the environment or the command line says about the first repository holds here, as `git submodule`
/// and `git worktree` clear it as well: a working tree, an index, an object directory or a setting of the first would be
/// read, or written, in place of its own.
pub fn open_beside(root: &Path) -> Result<Repository, Error> {
    let opened = gix::open::Options::default()
        .cli_overrides(["core.useReplaceRefs=false"])
        .config_overrides([format!("{}=true", paths::BESIDE)])
        .filter_config_section(is_its_own)
        .object_store_slots(slots(root))
        .open(root)
        .map_err(|source| explain(root, source))?;
    let mut opened = Repository::new(opened.to_thread_local(), EncryptedSessions::default());
    let home = gix::path::env::home_dir();
    if opened.git_dir_trust() != gix::sec::Trust::Full
        && !trust::declared_safe(&opened, opened.current_dir(), home.as_deref())
    {
        return Err(Error::Unsafe {
            path: shown_root(&opened),
        });
    }
    check_format(&opened)?;
    if let Some(root) = configured_work_tree(&opened) {
        use_work_tree(&mut opened, &root)?;
    }
    opened.refs.namespace = None;
    opened.object_cache_size(OBJECT_CACHE);
    Ok(opened)
}

/// Whether a section of settings may say where working tree and index of a second repository are: not when gix made it
/// from `GIT_WORK_TREE` or `GIT_INDEX_FILE`.
fn is_its_own(meta: &gix::config::file::Metadata) -> bool {
    meta.trust == gix::sec::Trust::Full && is_not_of_environment(meta)
}

fn is_not_of_environment(meta: &gix::config::file::Metadata) -> bool {
    meta.source != gix::config::Source::EnvOverride
}

/// A handle on the same repository that keeps what is written through it in memory.
pub fn with_memory(repo: &Repository) -> Repository {
    repo.clone().with_object_memory()
}

/// Settings besides the configuration files.
fn settings(environment: &OpenEnvironment) -> Result<Vec<BString>, Error> {
    let mut settings = Vec::<BString>::new();
    if let Some(value) = environment.get("GIT_CONFIG_PARAMETERS") {
        let parsed = env_config::parse(value.as_encoded_bytes()).map_err(|why| Error::Environment {
            name: "GIT_CONFIG_PARAMETERS",
            value: value.to_string_lossy().into_owned(),
            why,
        })?;
        settings.extend(parsed.into_iter().filter(|setting| setting.contains(&b'.')));
    }
    settings.push("core.useReplaceRefs=false".into());
    if let Some(index) = environment.path("GIT_INDEX_FILE") {
        settings.push(
            [b"gitoxide.core.indexFile=", index.as_os_str().as_encoded_bytes()]
                .concat()
                .into(),
        );
    }
    Ok(settings)
}

/// The number of [`SLOTS`], computed in advance where that is cheap: gix looks at every pack to count them, and at all
/// of them again when the first object is read, which many commands never do.
fn slots(found: &Path) -> Slots {
    let dot_git = found.join(".git");
    let objects = if dot_git.is_dir() { dot_git } else { found.to_owned() }.join("objects");
    // The packs of other directories count as well. A working tree whose `.git` is a file has its objects elsewhere.
    let Ok(entries) = std::fs::read_dir(objects.join("pack")) else {
        return SLOTS;
    };
    if objects.join("info").join("alternates").exists() {
        return SLOTS;
    }
    let is_index = |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "idx");
    let packs = entries.flatten().filter(is_index).count();
    let wanted = u16::try_from(packs.saturating_mul(2)).unwrap_or(u16::MAX);
    Slots::Given(wanted.max(FEWEST_SLOTS))
}

/// Why gix could not open what is there: its own reason, unless the format is to blame.
fn explain(path: &Path, source: gix::Error) -> Error {
    let dirs = [path.join(".git"), path.to_owned()];
    if !dirs.iter().any(|dir| gix::discover::is_git(dir).is_ok()) {
        return absence(path, None);
    }
    for dir in &dirs {
        let Ok(config) = gix::config::File::from_path_no_includes(dir.join("config"), gix::config::Source::Local)
        else {
            continue;
        };
        if let Err(error) = check_config(&config, dir) {
            return error;
        }
    }
    Error::gix(format!("open repository '{}'", path.display()))(source)
}

fn check_format(repo: &Repository) -> Result<(), Error> {
    check_config(repo.config_snapshot().plumbing(), repo.git_dir())
}

/// Refuses what git refuses: a version above 1, and with version 1 any extension we do not know. In a repository of
/// version 0 git ignores extensions it does not know, and so do we.
fn check_config(config: &gix::config::File, path: &Path) -> Result<(), Error> {
    let version = config
        .string("core.repositoryFormatVersion")
        .unwrap_or_else(|| "0".into());
    let unsupported = || Error::FormatVersion {
        path: path.to_owned(),
        version: version.to_string(),
    };
    let number = version
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse::<u32>().ok())
        .ok_or_else(unsupported)?;
    if number > 1 {
        return Err(unsupported());
    }
    if number == 0 {
        return Ok(());
    }
    let sections = config.sections_by_name("extensions").into_iter().flatten();
    for name in sections.flat_map(|section| section.value_names().collect::<Vec<_>>()) {
        let known = EXTENSIONS.contains(&name.to_ascii_lowercase().as_str());
        if !known {
            return Err(Error::Extension {
                path: path.to_owned(),
                name,
            });
        }
    }
    match config.string("extensions.refStorage") {
        Some(value) if value != "files" && value != "reftable" => Err(Error::Extension {
            path: path.to_owned(),
            name: format!("refStorage = {value}"),
        }),
        _ => Ok(()),
    }
}

fn explicit_bare(repo: &Repository) -> bool {
    repo.config_snapshot()
        .string("safe.bareRepository")
        .is_some_and(|value| value == "explicit")
}

fn shown_root(repo: &Repository) -> PathBuf {
    repo.workdir().unwrap_or_else(|| repo.git_dir()).to_owned()
}

/// `GIT_COMMON_DIR` is only good for what it says anyway: gix takes the common directory from the repository itself.
fn check_common_dir(repo: &Repository, environment: &OpenEnvironment) -> Result<(), Error> {
    let Some(path) = environment.path("GIT_COMMON_DIR") else {
        return Ok(());
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(&path) == real(repo.common_dir()) {
        return Ok(());
    }
    Err(Error::Environment {
        name: "GIT_COMMON_DIR",
        value: path.display().to_string(),
        why: format!("the repository's own is '{}'", repo.common_dir().display()),
    })
}

/// A working tree that `core.worktree` names must be there. (Else gix takes it for another user's.)
fn check_work_tree(repo: &Repository, environment: &OpenEnvironment) -> Result<(), Error> {
    if environment.get("GIT_WORK_TREE").is_some() || repo.config_snapshot().string("core.worktree").is_none() {
        return Ok(());
    }
    let configured = configured_work_tree(repo);
    match configured.as_deref().or(repo.workdir()) {
        Some(path) if !path.is_dir() => Err(Error::WorkTreeMissing { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Whether a directory is the other one or lies below it, links resolved.
fn is_within(directory: &Path, other: &Path) -> bool {
    // To resolve both takes a call for each part of the paths.
    if other.parent() == Some(directory) && !other.is_symlink() {
        return false;
    }
    match (directory.canonicalize(), other.canonicalize()) {
        (Ok(directory), Ok(other)) => directory.starts_with(other),
        _ => false,
    }
}

/// With `GIT_DIR` alone the current directory is the root of the working tree, as in git (so it is in every hook).
fn set_work_tree(repo: &mut Repository, environment: &OpenEnvironment) -> Result<(), Error> {
    let named = environment.path("GIT_WORK_TREE");
    let configured = || configured_work_tree(repo);
    let implied = || {
        let configured = repo.config_snapshot().string("core.worktree").is_some();
        let bare = repo.config_snapshot().boolean("core.bare") == Some(true);
        let wanted = environment.flag("GIT_IMPLICIT_WORK_TREE") != Some(false);
        let applies = environment.get("GIT_DIR").is_some() && !configured && !bare && wanted;
        applies.then(|| environment.cwd.clone())
    };
    let Some(root) = named.or_else(configured).or_else(implied) else {
        return Ok(());
    };
    use_work_tree(repo, &root)
}

fn use_work_tree(repo: &mut Repository, root: &Path) -> Result<(), Error> {
    let root = root.canonicalize().map_err(Error::io("use as working tree", root))?;
    if repo.workdir() != Some(&root) {
        repo.set_workdir(root).map_err(Error::gix("set the working tree"))?;
    }
    Ok(())
}

/// The directory that `core.worktree` of the repository's own configuration names, the way git gets there: from the
/// repository's real directory, each `..` taken by the file system. (gix drops the name before a `..` from the text,
/// which leads elsewhere when that name is a symlink, and overlooks the setting when `..` is in the path to the
/// repository.) `None` where git does not look at it: in linked working trees, and without a working tree.
fn configured_work_tree(repo: &Repository) -> Option<PathBuf> {
    let config = repo.config_snapshot();
    config.string("core.worktree")?;
    let real = repo.git_dir().canonicalize().ok()?;
    if repo.git_dir() != repo.common_dir() || config.boolean("core.bare") == Some(true) {
        return None;
    }
    // Not what an included file says, nor the command line: git reads the format of a repository before those.
    let files = [real.join("config"), real.join("config.worktree")];
    let own = |meta: &gix::config::file::Metadata| {
        let path = meta.path.as_ref().and_then(|path| path.canonicalize().ok());
        path.is_some_and(|path| files.contains(&path))
    };
    let value = config.plumbing().string_filter("core.worktree", own)?;
    let path = gix::path::from_bstr(value.as_bstr()).ok()?;
    (!path.as_os_str().is_empty()).then(|| real.join(path))
}

/// Lets gix read from other object directories. It knows none but the repository's and those named in
/// `info/alternates`, so for further ones a directory of ours holds such a file.
fn set_objects(repo: &mut Repository, environment: &OpenEnvironment) -> Result<(), Error> {
    let own = environment.path("GIT_OBJECT_DIRECTORY");
    let alternates = environment.get("GIT_ALTERNATE_OBJECT_DIRECTORIES");
    if own.is_none() && alternates.is_none() {
        return Ok(());
    }
    let objects = own.unwrap_or_else(|| repo.common_dir().join("objects"));
    let path = match alternates {
        None => objects,
        Some(list) => proxy_directory(repo, &objects, list, environment)?,
    };
    use_objects(repo, &path, environment.cwd.clone())
}

/// Lets a handle read and write objects in another directory, with what its `info/alternates` names.
pub(super) fn use_objects(repo: &mut Repository, path: &Path, cwd: PathBuf) -> Result<(), Error> {
    let options = gix::odb::store::init::Options {
        slots: SLOTS,
        current_dir: Some(cwd),
        ..Default::default()
    };
    let store = gix::odb::Store::at_opts(path.to_owned(), repo.object_hash(), &mut std::iter::empty(), options)
        .map_err(Error::io("open object directory", path))?;
    let handle = gix::odb::Cache::from(std::sync::Arc::new(store).to_handle());
    repo.objects = gix::odb::memory::Proxy::from(handle).with_write_passthrough();
    Ok(())
}

fn proxy_directory(
    repo: &Repository,
    objects: &Path,
    list: &OsStr,
    environment: &OpenEnvironment,
) -> Result<PathBuf, Error> {
    let mut lines = objects.as_os_str().as_encoded_bytes().to_vec();
    for directory in std::env::split_paths(list).filter(|directory| !directory.as_os_str().is_empty()) {
        lines.push(b'\n');
        lines.extend_from_slice(environment.cwd.join(directory).as_os_str().as_encoded_bytes());
    }
    lines.push(b'\n');
    let name = gix::objs::compute_hash(repo.object_hash(), super::Kind::Blob, &lines).map_err(Error::gix("hash"))?;
    let directory = paths::own_directory(repo, paths::private_dir(repo)?.join("alternates"))?;
    let directory = paths::own_directory(repo, directory.join(name.to_string()))?;
    let info = paths::own_directory(repo, directory.join("info"))?;
    let file = info.join("alternates");
    if crate::os::read_regular(&file).ok().as_deref() != Some(&lines) {
        crate::os::replace(&file, &lines, paths::sharing(repo), false).map_err(Error::io("write", &file))?;
    }
    Ok(directory)
}
