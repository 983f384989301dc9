//! Which repository is opened, how, and why not.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use git_checkpoint::store::config::{Redact, Settings};
use git_checkpoint::store::objects::Writer;
use git_checkpoint::store::refs;
use git_checkpoint::store::{self, Error, Kind, OpenEnvironment, Repository};

use super::{assert_clean, environment, open, save};
use crate::support::World;

/// The environment of the world with some more variables.
pub fn with(world: &World, vars: &[(&str, &OsStr)]) -> OpenEnvironment {
    let mut environment = environment(world);
    for (name, value) in vars {
        environment.vars.insert((*name).into(), (*value).into());
    }
    environment
}

fn git_dir(repo: &Repository) -> PathBuf {
    store::git_dir(repo).canonicalize().unwrap()
}

#[test]
fn the_nearest_repository_is_opened_and_only_below_the_ceiling() {
    let world = World::with_commit();
    let mut environment = environment(&world);
    environment.cwd = world.path("src");
    let repo = store::open(&environment).unwrap();
    assert_eq!(git_dir(&repo), world.path(".git").canonicalize().unwrap());
    assert_eq!(
        store::work_tree(&repo).unwrap().canonicalize().unwrap(),
        world.repo().canonicalize().unwrap()
    );
    assert_eq!(store::worktree_id(&repo), "main");
    fs::create_dir_all(world.path("src/deep")).unwrap();
    let ceiling = with(&world, &[("GIT_CEILING_DIRECTORIES", world.path("src").as_os_str())]);
    let below = OpenEnvironment {
        cwd: world.path("src/deep"),
        ..ceiling
    };
    assert!(matches!(store::open(&below), Err(Error::NotARepository { .. })));
    let outside = OpenEnvironment {
        cwd: world.home(),
        ..self::environment(&world)
    };
    let error = store::open(&outside).unwrap_err();
    assert!(matches!(error, Error::NotARepository { .. }), "{error}");
    assert!(error.to_string().starts_with("not a git repository"), "{error}");
}

#[test]
fn ceilings_are_those_of_git() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../outer/bare.git"]).success();
    world.git(["init", "-q", "../outer"]).success();
    world.git(["init", "-q", "../outer/inner"]).success();
    let root = world.root().canonicalize().unwrap();
    for directory in ["outer/a/b/c", "outer/inner/d/e", "outer/bare.git/hooks"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    for (link, target) in [("link", "outer"), ("outer/a/to-b", "b"), ("up", ".")] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    let directories = [
        "outer",
        "outer/a/b/c",
        "outer/inner",
        "outer/inner/d/e",
        "outer/bare.git/hooks",
        "link/a/b",
        "outer/a/to-b/c",
    ];
    let at = |path: &str| root.join(path).to_str().unwrap().to_owned();
    let mut values: Vec<String> = vec![String::new(), "/".into(), "//".into(), at("nowhere"), ":".into()];
    let places = [
        "outer",
        "outer/a",
        "outer/a/b/c",
        "outer/inner",
        "link/a",
        "up/outer/a",
        "outer/a/to-b",
        "outer/bare.git",
    ];
    for place in places {
        let path = at(place);
        values.extend([
            path.clone(),
            format!("{path}/"),
            format!("{path}//"),
            format!(":{path}"),
            format!(":{path}/"),
            format!("{path}:"),
            format!("{path}/."),
            format!("{path}/../{}", place.rsplit('/').next().unwrap()),
            format!(":{path}/."),
            format!("{place}:{}", at("nowhere")),
            format!("relative:{path}"),
            format!("relative::{path}"),
            format!("{}:{path}", root.display()),
            format!("{path}:{}", root.display()),
            format!("{path}::{}", at("link/a")),
            format!("/{path}"),
            // One that another only begins with.
            path[..path.len() - 1].to_owned(),
        ]);
    }
    let mut faults = Vec::new();
    let (mut found, mut absent) = (0, 0);
    for directory in directories {
        for value in &values {
            let told = world
                .command("git", ["rev-parse", "--absolute-git-dir"])
                .env("GIT_CEILING_DIRECTORIES", value)
                .within(at(directory))
                .run();
            let told = told.is_success().then(|| PathBuf::from(told.stdout().trim()));
            // A process is where the links lead.
            let environment = OpenEnvironment {
                cwd: root.join(directory).canonicalize().unwrap(),
                ..with(&world, &[("GIT_CEILING_DIRECTORIES", OsStr::new(value))])
            };
            let opened = match store::open(&environment) {
                Ok(repo) => Some(git_dir(&repo)),
                Err(Error::NotARepository { .. }) => None,
                Err(error) => panic!("{directory} {value}: {error}"),
            };
            *(if told.is_some() { &mut found } else { &mut absent }) += 1;
            if told != opened {
                faults.push(format!("{directory} with '{value}': git {told:?}, we {opened:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(found > 300 && absent > 100, "{found} found, {absent} not");
}

#[test]
fn the_environment_names_the_repository_as_in_a_hook() {
    let world = World::with_commit();
    let elsewhere = world.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let dir = world.path(".git");
    // With GIT_DIR alone the current directory is the root of the working tree, as in git.
    let environment = OpenEnvironment {
        cwd: elsewhere.clone(),
        ..with(&world, &[("GIT_DIR", dir.as_os_str())])
    };
    let repo = store::open(&environment).unwrap();
    assert_eq!(store::work_tree(&repo).unwrap(), elsewhere.canonicalize().unwrap());
    let told = world
        .command("git", ["rev-parse", "--show-toplevel"])
        .env("GIT_DIR", &dir)
        .within("../elsewhere")
        .run();
    assert_eq!(
        told.success().stdout().trim(),
        elsewhere.canonicalize().unwrap().to_str().unwrap()
    );
    let both = with(
        &world,
        &[
            ("GIT_DIR", dir.as_os_str()),
            ("GIT_WORK_TREE", world.path("src").as_os_str()),
        ],
    );
    let repo = store::open(&both).unwrap();
    assert_eq!(
        store::work_tree(&repo).unwrap(),
        world.path("src").canonicalize().unwrap()
    );
    // Relative, and the common directory said as well.
    let relative = with(
        &world,
        &[("GIT_DIR", OsStr::new(".git")), ("GIT_COMMON_DIR", OsStr::new(".git"))],
    );
    assert_eq!(git_dir(&store::open(&relative).unwrap()), dir.canonicalize().unwrap());
    let wrong = with(
        &world,
        &[("GIT_DIR", dir.as_os_str()), ("GIT_COMMON_DIR", elsewhere.as_os_str())],
    );
    assert!(matches!(
        store::open(&wrong),
        Err(Error::Environment {
            name: "GIT_COMMON_DIR",
            ..
        })
    ));
    let nothing = with(&world, &[("GIT_DIR", elsewhere.as_os_str())]);
    assert!(matches!(store::open(&nothing), Err(Error::NotARepository { .. })));
    // The index to read.
    let index = world.root().join("other-index");
    fs::copy(world.path(".git/index"), &index).unwrap();
    let repo = store::open(&with(&world, &[("GIT_INDEX_FILE", index.as_os_str())])).unwrap();
    assert_eq!(repo.index_path(), index);
    assert_eq!(repo.open_index().unwrap().entries().len(), 2);
}

#[test]
fn linked_work_trees_submodules_and_bare_repositories() {
    let world = World::with_commit();
    world
        .git(["worktree", "add", "--quiet", "--detach", "../linked"])
        .success();
    world.git(["clone", "--quiet", "--bare", ".", "../bare.git"]).success();
    world
        .git([
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            "../bare.git",
            "sub",
        ])
        .success();
    world.enter("linked");
    let repo = open(&world);
    assert_eq!(store::worktree_id(&repo), "linked-linked");
    assert!(
        store::private_dir(&repo)
            .unwrap()
            .canonicalize()
            .unwrap()
            .ends_with("repo/.git/checkpoint")
    );
    assert!(
        store::worktree_private_dir(&repo)
            .unwrap()
            .ends_with("worktrees/linked/checkpoint")
    );
    world.enter("repo/sub");
    let repo = open(&world);
    assert_eq!(store::worktree_id(&repo), "main");
    assert_eq!(
        git_dir(&repo),
        world.root().join("repo/.git/modules/sub").canonicalize().unwrap()
    );
    save(&repo, "s", b"in a submodule").unwrap();
    world.enter("bare.git");
    let repo = open(&world);
    assert!(!store::has_work_tree(&repo));
    assert!(matches!(store::work_tree(&repo), Err(Error::Bare { .. })));
    save(&repo, "s", b"in a bare one").unwrap();
    assert_eq!(refs::reflog(&repo, "refs/checkpoints/s").unwrap().len(), 1);
    let explicit = with(
        &world,
        &[("GIT_CONFIG_PARAMETERS", OsStr::new("'safe.bareRepository'='explicit'"))],
    );
    assert!(matches!(store::open(&explicit), Err(Error::ImplicitBare { .. })));
    let named = OpenEnvironment {
        vars: [explicit.vars.clone(), [("GIT_DIR".into(), ".".into())].into()]
            .into_iter()
            .flatten()
            .collect(),
        ..explicit
    };
    assert!(store::open(&named).is_ok());
}

#[test]
fn formats_and_extensions_that_we_do_not_know_are_told_apart() {
    let world = World::with_commit();
    let config = fs::read_to_string(world.path(".git/config")).unwrap();
    let write = |version: &str, more: &str| {
        let text = config.replace(
            "repositoryformatversion = 0",
            &format!("repositoryformatversion = {version}"),
        );
        fs::write(world.path(".git/config"), text + more).unwrap();
        store::open(&environment(&world))
    };
    for version in ["2", "99", "x"] {
        assert!(
            matches!(write(version, ""), Err(Error::FormatVersion { version: found, .. }) if found == version),
            "{version}"
        );
    }
    let unknown = write("1", "[extensions]\n\tfrobnicate = true\n");
    assert!(
        matches!(&unknown, Err(Error::Extension { name, .. }) if name == "frobnicate"),
        "{unknown:?}"
    );
    let storage = write("1", "[extensions]\n\trefStorage = clouds\n");
    assert!(
        matches!(&storage, Err(Error::Extension { name, .. }) if name == "refStorage = clouds"),
        "{storage:?}"
    );
    assert!(
        write("0", "[extensions]\n\tfrobnicate = true\n").is_ok(),
        "git ignores it with version 0"
    );
    assert!(
        write(
            "1",
            "[extensions]\n\tnoop = true\n\tpreciousObjects = true\n\tpartialClone = origin\n"
        )
        .is_ok()
    );
    for broken in ["[extensions]\n\tobjectFormat = md5\n", "[core\n"] {
        let error = write("1", broken).unwrap_err();
        assert!(!matches!(error, Error::NotARepository { .. }), "{error}");
        assert!(!error.to_string().contains("Message {"), "{error}");
    }
}

#[test]
fn replace_refs_are_not_followed() {
    let world = World::with_commit();
    world
        .git(["commit", "--quiet", "--allow-empty", "-m", "second"])
        .success();
    let (first, second) = (
        world.git_line(["rev-parse", "HEAD~1"]),
        world.git_line(["rev-parse", "HEAD"]),
    );
    world.git(["replace", &second, &first]).success();
    assert_eq!(world.git_line(["log", "-1", "--format=%s", &second]), "first");
    let repo = open(&world);
    let commit = repo.find_commit(second.parse::<store::ObjectId>().unwrap()).unwrap();
    assert_eq!(commit.message_raw().unwrap(), "second\n");
    let child = store::git(&repo)
        .args(["log", "-1", "--format=%s", &second])
        .text()
        .unwrap();
    assert_eq!(child, "second");
}

#[test]
fn object_directories_of_the_environment_are_used() {
    let world = World::with_commit();
    world.git(["clone", "--quiet", ".", "../other"]).success();
    world.file("only-here", "only here\n");
    let blob = world.command("git", ["hash-object", "-w", "only-here"]).run();
    let blob: store::ObjectId = blob.success().stdout().trim().parse().unwrap();
    let own = world.path(".git/objects");
    world.enter("other");
    let quarantine = world.path(".git/quarantine");
    fs::create_dir(&quarantine).unwrap();
    // As git does in a hook that runs before a push is accepted.
    let list = std::env::join_paths([&world.path(".git/objects"), &own]).unwrap();
    let vars = [
        ("GIT_OBJECT_DIRECTORY", quarantine.as_os_str()),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &list),
    ];
    let repo = store::open(&with(&world, &vars)).unwrap();
    assert!(repo.has_object(blob));
    assert!(repo.head_commit().is_ok());
    assert_eq!(
        store::git(&repo)
            .args(["cat-file", "blob", &blob.to_string()])
            .text()
            .unwrap(),
        "only here"
    );
    let writer = Writer::durable(&repo).unwrap();
    writer.trust([blob]);
    writer.write(Kind::Blob, b"only here\n").unwrap();
    let new = writer.write(Kind::Blob, b"new\n").unwrap();
    let sealed = writer.finish().unwrap();
    assert_eq!((sealed.written(), sealed.relied_on()), (&[new][..], &[blob][..]));
    assert!(sealed.release().is_none());
    assert_eq!(fs::read_dir(quarantine.join("pack")).unwrap().count(), 2);
    assert!(repo.has_object(new));
    assert!(!open(&world).has_object(new));
}

#[test]
fn another_users_repository_is_refused_with_the_remedy() {
    if !is_root() {
        super::skipped("only root can give a repository to another user");
        return;
    }
    let world = World::with_commit();
    assert!(
        std::process::Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(world.repo())
            .status()
            .unwrap()
            .success()
    );
    let refused = store::open(&environment(&world));
    let Err(error @ Error::Unsafe { .. }) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        error
            .hint()
            .unwrap()
            .contains("git config --global --add safe.directory"),
        "{error}"
    );
    let shown = world.git(["status"]);
    assert_eq!(shown.status().code(), Some(128));
    let allowed = format!("'safe.directory'='{}'", world.repo().display());
    let trusted = with(&world, &[("GIT_CONFIG_PARAMETERS", OsStr::new(&allowed))]);
    world
        .git(["-c", &format!("safe.directory={}", world.repo().display()), "status"])
        .success();
    // Everything is as in a repository of one's own, its settings too.
    fs::write(
        world.path(".git/config"),
        fs::read_to_string(world.path(".git/config")).unwrap() + "[checkpoint]\nredact = off\n",
    )
    .unwrap();
    let repo = store::open(&trusted).unwrap();
    assert_eq!(Settings::read(&repo).unwrap().redact, Redact::Off);
    assert_eq!(repo.config_snapshot().string("checkpoint.redact").unwrap(), "off");
    for (value, safe) in [
        ("/*", true),
        ("*", true),
        ("/elsewhere", false),
        (".", true),
        ("relative", false),
    ] {
        let setting = format!("'safe.directory'='{value}'");
        let environment = with(&world, &[("GIT_CONFIG_PARAMETERS", OsStr::new(&setting))]);
        assert_eq!(store::open(&environment).is_ok(), safe, "{value}");
        let git = world.git(["-c", &format!("safe.directory={value}"), "status"]);
        assert_eq!(git.is_success(), safe, "{value}: {}", git.stderr());
    }
    let taken_back = with(
        &world,
        &[(
            "GIT_CONFIG_PARAMETERS",
            OsStr::new("'safe.directory'='*' 'safe.directory'=''"),
        )],
    );
    assert!(store::open(&taken_back).is_err());
}

fn is_root() -> bool {
    let told = std::process::Command::new("id").arg("-u").output().unwrap();
    told.stdout == b"0\n"
}

#[test]
fn home_and_root_are_recognised() {
    let world = World::without_repository();
    world.enter("home");
    world.git(["init", "--quiet"]).success();
    assert!(store::is_home_or_root(&open(&world), &environment(&world)));
    world.enter("repo");
    world.git(["init", "--quiet"]).success();
    assert!(!store::is_home_or_root(&open(&world), &environment(&world)));
    let root = with(
        &world,
        &[
            ("GIT_DIR", world.path(".git").as_os_str()),
            ("GIT_WORK_TREE", OsStr::new("/")),
        ],
    );
    assert!(store::is_home_or_root(&store::open(&root).unwrap(), &root));
}

#[test]
fn a_read_only_repository_can_be_read() {
    let world = World::with_commit();
    let id = save(&open(&world), "s", b"hello").unwrap();
    let told = std::process::Command::new("unshare").args(["-m", "true"]).status();
    if !is_root() || !told.is_ok_and(|status| status.success()) {
        super::skipped("no mount namespaces here");
        return;
    }
    let mount = format!(
        "mount --bind {0} {0} && mount -o remount,ro,bind {0} && exec \"$@\"",
        world.repo().display()
    );
    let under = ["unshare", "-m", "sh", "-c", &mount, "sh"];
    assert_eq!(
        super::actor::start_under(&world, &under, "read s").finish().unwrap(),
        id.to_string()
    );
    let failed = super::actor::start_under(&world, &under, "save s 1 x")
        .finish()
        .unwrap_err();
    assert!(failed.contains("read-only file system"), "{failed}");
    assert_eq!(refs::read(&open(&world), "refs/checkpoints/s").unwrap(), Some(id));
    assert_clean(&world);
}
