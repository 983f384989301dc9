//! What a save leaves out: decided by content, never by a guess from a name, and named wherever "saved" is said.

use crate::support::World;

fn key() -> String {
    let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\n";
    format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{line}{line}-----END OPENSSH PRIVATE KEY-----\n")
}

fn saved(world: &World) -> Vec<String> {
    let files = world.git_line(["ls-tree", "-r", "--name-only", "checkpoints/s^2"]);
    files.lines().map(str::to_owned).collect()
}

fn started() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s", "--quiet"]).success();
    world
}

#[test]
fn work_is_saved_whatever_it_is_called() {
    let world = started();
    let work = [
        ".env.example",
        ".env.sample",
        ".env/settings.py",
        ".envrc",
        "certs.pem/readme",
        "id_generator.rs",
        "id_service/mod.rs",
        "keys.key/x",
        "public.pem",
        "src/de.key",
    ];
    for path in work {
        world.file(path, format!("VALUE={path}\n"));
    }
    world.file("tests/fixture.rs", format!("const KEY: &str = \"{}\";\n", key()));
    let receipt = world.checkpoint(["save", "-m", "x", "--json"]).success().stdout_json();
    assert_eq!(receipt["skipped"].as_array().unwrap().len(), 0, "{receipt}");
    let saved = saved(&world);
    for path in work {
        assert!(saved.iter().any(|found| found == path), "{path}: {saved:?}");
    }
    world
        .checkpoint(["status", "--exit-code"])
        .success()
        .stdout_has("everything is saved");
}

#[test]
fn secrets_are_left_out_by_their_content_and_named_everywhere() {
    let world = started();
    world.file("backup.txt", key());
    world.file(".env", "KEY=1\n");
    world.file("deploy/prod.env", "TOKEN=abc\n");
    world.file("home/.netrc", "machine a login b password c0ffee\n");
    world.file("dump.sql", vec![b'x'; 60_000]);
    world.git(["config", "checkpoint.maxFileSize", "50k"]).success();
    world.git(["init", "--quiet", "nested"]).success();
    world.file("work", "work");
    world
        .checkpoint(["save", "-m", "x"])
        .success()
        .stderr_has("checkpoint.saveSecrets");
    assert_eq!(saved(&world), ["README.md", "src/main.txt", "work"]);
    let lists = world.git_line(["show", "checkpoints/s:lists/skipped"]);
    let expected = [
        "secret:6 .env",
        "secret:211 backup.txt",
        "secret:10 deploy/prod.env",
        "too-large:60000 dump.sql",
        "secret:34 home/.netrc",
        "nested-repository nested",
    ];
    let lines: Vec<_> = lists.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(lines, expected.map(|line| line.split_once(' ').unwrap().1), "{lists}");
    for line in &expected[..1] {
        assert!(lists.contains(line), "{lists}");
    }
    assert!(lists.contains("too-large:60000 dump.sql"), "{lists}");

    let status = world.checkpoint(["status", "--exit-code"]);
    status
        .code(1)
        .stdout_has("everything else is saved; left out: 6 paths")
        .stdout_has(".env: a secret")
        .stdout_lacks("everything is saved");
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["left_out"].as_array().unwrap().len(), 6, "{status}");
    assert_eq!(status["something_to_save"], false);
    world.checkpoint(["show", "s"]).success().stdout_has("Not saved");
    world.checkpoint(["pause"]).success().stderr_has("not saved");
    world
        .checkpoint(["resume", "s"])
        .success()
        .stderr_has("saved without 6 paths");

    // A file that is left out and grows is nothing new.
    world.checkpoint(["save", "-m", "y"]).success();
    let tip = world.git_line(["rev-parse", "checkpoints/s"]);
    world.file("dump.sql", vec![b'x'; 70_000]);
    world.checkpoint(["save"]).success().stdout_has("othing");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), tip);

    // Restoring never touches them.
    world.file("work", "more");
    world.checkpoint(["restore", "s"]).success();
    assert_eq!(world.read(".env"), b"KEY=1\n");
    assert_eq!(world.read("dump.sql").len(), 70_000);

    world.git(["config", "checkpoint.saveSecrets", "on"]).success();
    world.checkpoint(["save", "-m", "all"]).success();
    assert!(saved(&world).iter().any(|path| path == ".env"));
}

#[test]
fn the_project_and_the_user_name_what_is_left_out() {
    let world = started();
    world.file(".checkpointignore", "*.log\n/out/\n!keep.log\ndata/**/big\n");
    for path in ["a.log", "keep.log", "out/x", "data/one/two/big", "data/small", "tmp/x"] {
        world.file(path, "x");
    }
    world.git(["config", "checkpoint.exclude", "tmp/"]).success();
    world.checkpoint(["save", "-m", "x"]).success();
    let expected = [
        ".checkpointignore",
        "README.md",
        "data/small",
        "keep.log",
        "src/main.txt",
    ];
    assert_eq!(saved(&world), expected);
    // Tracked files are saved even so, and the user's word goes before the project's.
    world.git(["add", "--force", "a.log"]).success();
    world.git(["config", "--add", "checkpoint.exclude", "!/out/"]).success();
    world.checkpoint(["save", "-m", "y"]).success();
    let saved = saved(&world);
    assert!(
        saved.iter().any(|path| path == "a.log") && saved.iter().any(|path| path == "out/x"),
        "{saved:?}"
    );
}

#[test]
fn untracked_files_that_git_does_not_show_are_not_saved() {
    for (how, set) in [("no", true), ("false", true), ("flag", false)] {
        let world = started();
        if set {
            world.git(["config", "status.showUntrackedFiles", how]).success();
        }
        world.file("private/letter", "mine");
        world.file("src/new", "x");
        world.file("README.md", "changed");
        let line = if set {
            &["save", "-m", "x"][..]
        } else {
            &["save", "-m", "x", "--tracked-only"]
        };
        // It was asked for: the receipt counts them, and no save warns.
        world.checkpoint(line).success().no_stderr().stdout_has("2 untracked");
        assert_eq!(saved(&world), ["README.md", "src/main.txt"], "{how}");
        let skipped = world.git_line(["show", "checkpoints/s:lists/skipped"]);
        assert_eq!(skipped, "untracked private\nuntracked src/new", "{how}");
        if set {
            world
                .checkpoint(["status", "--exit-code"])
                .code(1)
                .stdout_lacks("everything is saved")
                .stdout_has("left out: 2 paths (private: untracked");
        }
        // A restore leaves alone what the checkpoint left out.
        world.file("README.md", "later");
        world.checkpoint(["restore", "s"]).success();
        assert_eq!(world.read("private/letter"), b"mine", "{how}");
        assert_eq!(world.read("src/new"), b"x", "{how}");
        assert_eq!(world.read("README.md"), b"changed", "{how}");
    }
}

/// The number of paths that each place names.
fn numbers(world: &World, place: &str) -> usize {
    let text = world.checkpoint(["status"]).success().stdout().to_owned();
    let json = world.checkpoint(["status", "--json"]).success().stdout_json();
    let listed = json["left_out"].as_array().unwrap().len();
    let said = text
        .split_once("everything else is saved; left out: ")
        .map(|(_, rest)| rest.to_owned());
    let said = said.and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert_eq!(said.unwrap_or(0), listed, "{place}: {text}");
    listed
}

#[test]
fn one_number_is_named_everywhere_and_a_fork_says_what_it_lacks() {
    type Row<'a> = (&'a str, &'a dyn Fn(&World));
    let rows: [Row<'_>; 6] = [
        ("an excluded file", &|w| {
            w.file(".checkpointignore", "*.skip\n");
            w.file("x.skip", "a");
        }),
        ("a FIFO", &|w| {
            w.command("mkfifo", ["p"]).run().success();
        }),
        ("a socket", &|w| {
            drop(std::os::unix::net::UnixListener::bind(w.path("socket")).unwrap());
        }),
        ("a repository", &|w| {
            w.git(["init", "--quiet", "deep/nested"]).success();
        }),
        ("a secret", &|w| w.file("id", key())),
        ("a large file", &|w| {
            w.git(["config", "checkpoint.maxFileSize", "10k"]).success();
            w.file("large", vec![b'x'; 20_000]);
        }),
    ];
    let world = started();
    world.checkpoint(["save", "-m", "begin"]).success();
    for (count, (what, make)) in rows.iter().enumerate() {
        make(&world);
        let saved = world.checkpoint(["save", "-m", what]);
        let warned: usize = saved
            .stderr()
            .lines()
            .filter_map(|line| {
                let rest = line.strip_prefix("warning: ")?;
                let (number, rest) = rest.split_once(' ')?;
                rest.contains("not saved").then(|| number.parse::<usize>().unwrap())
            })
            .sum();
        assert_eq!(
            (warned, numbers(&world, what)),
            (count + 1, count + 1),
            "{what}: {saved}"
        );
        let words = format!("{} path", count + 1);
        world.checkpoint(["resume", "s"]).success().stderr_has(&words);
        let (name, place) = (format!("f{count}"), format!("../f{count}"));
        let fork = world.checkpoint(["fork", "s", "--name", &name, "--worktree", &place]);
        fork.success().stdout_has(&words).stdout_has("not saved, so not there");
        let json = world.checkpoint(["fork", "s", "--worktree", &format!("{place}-json"), "--json"]);
        let json = json.success().stdout_json();
        let left = json["forks"][0]["worktree"]["left_out"].as_array().unwrap().len();
        assert_eq!(left, count + 1, "{what}");
    }
}

/// What `push` would refuse, and what is kept in the places for secrets.
#[test]
fn secrets_are_left_out_in_every_form_and_place() {
    let world = started();
    let token = concat!("ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let password = format!("DB_PASSWORD={}\n", "kT9vQ2xLw7RzP4").into_bytes();
    let utf16 = |text: &str| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>()
    };
    // An RSA key of 64 bits in DER.
    let number = [2, 9, 0, 0xb1, 2, 3, 4, 5, 6, 7, 8];
    let der: Vec<u8> = [&[0x30, 3 + 8 * 11, 2, 1, 0][..], &number.repeat(8)].concat();
    let files: Vec<(&str, Vec<u8>)> = vec![
        (
            ".cargo/credentials.toml",
            format!("[registry]\ntoken = \"{token}\"\n").into(),
        ),
        (
            ".gem/credentials",
            b"---\n:rubygems_api_key: rubygems_0123456789abcdef\n".to_vec(),
        ),
        (
            ".config/gh/hosts.yml",
            format!("github.com:\n    oauth_token: {token}\n").into(),
        ),
        (".env~", password.clone()),
        ("#.env#", password),
        (".env-prod", b"KEY=1\n".to_vec()),
        (".env1", b"KEY=1\n".to_vec()),
        (".env copy", b"KEY=1\n".to_vec()),
        ("sub/.env/production", b"KEY=1\n".to_vec()),
        (".my.cnf", b"[client]\nuser=root\npassword=kT9vQ2xLw7Rz\n".to_vec()),
        (
            ".dockerconfigjson",
            b"{\"auths\":{\"r.example\":{\"auth\":\"bWU6cHc=\"}}}".to_vec(),
        ),
        ("key16", utf16(&key())),
        ("keybom", [&b"\xef\xbb\xbf"[..], key().as_bytes()].concat()),
        ("key.der", der),
        (
            "secret.gpg",
            [&[0x95, 3, 0x98, 4, 1, 2, 3, 4, 1][..], &[9; 900]].concat(),
        ),
        ("just-a-token", format!("{token}\n").into()),
    ];
    for (path, bytes) in &files {
        world.file(path, bytes);
    }
    world.file("work", "work\n");
    world.checkpoint(["save", "-m", "x"]).success();
    assert_eq!(saved(&world), ["README.md", "src/main.txt", "work"]);
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["left_out"].as_array().unwrap().len(), files.len(), "{status}");
    // On the user's word they are saved; a push still refuses the keys that are no text.
    world.git(["config", "checkpoint.saveSecrets", "true"]).success();
    world.checkpoint(["save", "-m", "y"]).success();
    assert_eq!(saved(&world).len(), 3 + files.len());
    world.git(["init", "-q", "--bare", "../origin.git"]).success();
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    let refused = world.checkpoint(["push", "origin", "s"]);
    refused.code(4);
    for path in ["key16", "keybom", "key.der", "secret.gpg", "just-a-token"] {
        refused.stderr_has(path);
    }
}

/// An environment file that git tracks is saved, with a warning for each content that it has.
#[test]
fn a_tracked_environment_file_is_saved_with_a_warning_for_each_content() {
    let world = started();
    let value = |n: usize| format!("AWS_SECRET_ACCESS_KEY=q7Zs2Lx9Rw4Tb8Nd1Kf6Vh3Jm5Pc0Ga8Ye2Us7{n}\n");
    world.file(".env", value(1));
    world.file("app/prod.env", value(1));
    world.file(".env.example", "KEY=\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "all of it"]).success();
    let save = |path: &str| {
        world.file("work", path);
        world.checkpoint(["save", "-m", "x"])
    };
    save("1")
        .success()
        .stderr_has(".env has values and is tracked by git, so the checkpoint has it, and a push publishes it");
    save("2").success().stderr_lacks("tracked by git");
    world.file(".env", value(2));
    world.file("app/prod.env", value(2));
    save("3")
        .success()
        .stderr_has(".env, app/prod.env have values and are tracked by git");
    save("4").success().stderr_lacks("tracked by git");
    assert!(saved(&world).contains(&".env".to_owned()));
    world.git(["config", "checkpoint.saveSecrets", "on"]).success();
    world.file(".env", value(3));
    save("5").success().stderr_lacks("tracked by git");
}

/// The content of an environment file is one under any name, also after a save under another rule; files of settings beside it
/// are saved.
#[test]
fn copies_of_an_environment_file_are_left_out_whatever_they_are_called() {
    let world = started();
    let secret = "PASS=letmein\nAPI_KEY=zx81-q7Wc0pL29vTr\n";
    let secrets = [
        (".env", secret),
        (".envrc", "layout python\nexport TOKEN=abcd1234efgh5678\n"),
        ("backup.txt", secret),
        ("deploy/secrets.yml", "production:\n  SECRET_KEY_BASE: 0a1b2c3d\n"),
        ("env.old", secret),
        ("moved", secret),
        ("values.yml", "host: db\npassword: hunter22\n"),
    ];
    let work = [
        (".env.example", secret),
        ("app.conf", "host=example.org\ntimeout=30\nmax_tokens=4096\n"),
        ("config.yml", "host: example.org\npassword: ${PASSWORD}\n"),
        ("notes.txt", "PASS=letmein\nis what he said\n"),
    ];
    for (path, text) in secrets.iter().chain(&work) {
        world.file(path, *text);
    }
    world
        .checkpoint(["save", "-m", "x"])
        .success()
        .stderr_has("7 paths not saved");
    let expected = [
        ".env.example",
        "README.md",
        "app.conf",
        "config.yml",
        "notes.txt",
        "src/main.txt",
    ];
    assert_eq!(saved(&world), expected);
    let everything = world.git_line(["rev-list", "--objects", "--all"]);
    for (path, _) in secrets {
        let is_there = everything.lines().any(|line| line.ends_with(&format!(" {path}")));
        assert!(!is_there, "{path}: {everything}");
    }
    // The setting stores them, and without it a file that was read before is left out again.
    world.git(["config", "checkpoint.saveSecrets", "true"]).success();
    world.checkpoint(["save", "-m", "all"]).success();
    assert_eq!(saved(&world).len(), expected.len() + secrets.len());
    world.git(["config", "--unset", "checkpoint.saveSecrets"]).success();
    world.checkpoint(["save", "-m", "none"]).success();
    assert_eq!(saved(&world), expected);
    // What is staged is the project's own, until it is not any more.
    world.git(["add", "moved"]).success();
    world.checkpoint(["save", "-m", "staged"]).success();
    assert!(saved(&world).contains(&"moved".to_owned()));
    world.git(["rm", "-q", "--cached", "moved"]).success();
    world.checkpoint(["save", "-m", "not staged"]).success();
    assert_eq!(saved(&world), expected);
}
