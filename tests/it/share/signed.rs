//! Signed checkpoints: made and checked as git makes and checks those of commits.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{at, clone, save, shared};
use crate::support::World;

/// A program that signs everything as gpg would, and that says of signatures what the file `verdict` says.
fn with_gpg() -> World {
    let world = shared();
    let root = world.root().to_str().unwrap().to_owned();
    let program = world.root().join("gpg");
    let text = format!(
        "#!/bin/sh\ncat >/dev/null\n\
         case \"$*\" in\n\
         *--verify*) echo; cat '{root}/verdict';;\n\
         *) echo \"$*\" >'{root}/called'; echo '[GNUPG:] SIG_CREATED D' >&2\n\
         printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n';;\n\
         esac\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    world
        .git(["config", "gpg.program", program.to_str().unwrap()])
        .success();
    world.git(["config", "checkpoint.sign", "on"]).success();
    world
}

fn verdict(world: &World, lines: &[&str]) {
    let lines: Vec<String> = lines.iter().map(|line| format!("[GNUPG:] {line}\n")).collect();
    fs::write(world.root().join("verdict"), lines.concat()).unwrap();
}

#[test]
fn each_verdict_of_gits_is_reported() {
    let world = with_gpg();
    let valid = "VALIDSIG AAAA 2026-01-02 1767323052 0 4 0 1 10 00 BBBB";
    verdict(&world, &["GOODSIG BBBB Ana Author", valid, "TRUST_FULLY 0 pgp"]);
    world.checkpoint(["start", "auth"]).success();
    let tip = save(&world, "one");
    assert_eq!(
        fs::read_to_string(world.root().join("called")).unwrap(),
        "--batch --no-tty --pinentry-mode=error --status-fd=2 -bsau Carl Committer <carl@example.org>\n"
    );
    let commit = world.git(["cat-file", "commit", &tip]).stdout().to_owned();
    assert!(
        commit.contains("\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END"),
        "{commit}"
    );
    world.git(["fsck", "--strict"]).success();
    // What git itself says of the same commit, in its letter.
    for (lines, letter, word, words) in [
        (
            &["GOODSIG BBBB Ana Author", valid, "TRUST_FULLY 0 pgp"][..],
            "G",
            "good",
            "good signature by Ana Author",
        ),
        (
            &["GOODSIG BBBB Ana Author", valid, "TRUST_UNDEFINED 0 pgp"],
            "U",
            "untrusted",
            "good signature by Ana Author, a key that is not trusted",
        ),
        (
            &["EXPSIG BBBB Ana Author", valid],
            "X",
            "expired",
            "expired signature by Ana Author",
        ),
        (
            &["EXPKEYSIG BBBB Ana Author", valid],
            "Y",
            "expired-key",
            "good signature by Ana Author, a key that has expired",
        ),
        (
            &["REVKEYSIG BBBB Ana Author", valid],
            "R",
            "revoked-key",
            "good signature by Ana Author, a key that was revoked",
        ),
        (&["BADSIG BBBB Ana Author"], "B", "bad", "bad signature by Ana Author"),
        (
            &["ERRSIG BBBB 1 10 00 1767323052 9 AAAA"],
            "E",
            "unchecked",
            "that cannot be checked",
        ),
    ] {
        verdict(&world, lines);
        assert_eq!(world.git_line(["log", "-1", "--format=%G?", &tip]), letter);
        world.checkpoint(["show", "auth"]).success().stdout_has(words);
        world.checkpoint(["list", "--trust"]).success().stdout_has(word);
        let listed = world.checkpoint(["list", "--trust", "--json"]).success().stdout_json();
        assert_eq!(listed["sessions"][0]["signature"]["verdict"], word);
        world.checkpoint(["log", "--trust"]).success().stdout_has(word);
        let log = world.checkpoint(["log", "--trust", "--json"]).success().stdout_json();
        assert_eq!(log["checkpoints"][1]["signature"]["verdict"], word);
        let shown = world.checkpoint(["show", "auth", "--json"]).success().stdout_json();
        assert_eq!(shown["signature"]["verdict"], word);
        let verified = world.checkpoint(["verify", "auth", "--json"]);
        verified.code(i32::from(word == "bad"));
        let report = verified.stdout_json();
        assert_eq!(report["signatures"].as_array().unwrap().len(), 2);
        assert_eq!(report["signatures"][0]["verdict"], word);
        assert_eq!(report["issues"].as_array().unwrap().is_empty(), word != "bad");
    }
    // Nothing that stays here is signed, and without the setting nothing is.
    fs::remove_file(world.root().join("called")).unwrap();
    world.file("a.txt", "changed\n");
    world.checkpoint(["restore", "auth"]).success();
    assert!(!world.root().join("called").exists());
    world.git(["config", "checkpoint.sign", "off"]).success();
    save(&world, "two");
    assert!(!world.root().join("called").exists());
    let shown = world.checkpoint(["show", "auth", "--json"]).success().stdout_json();
    assert!(shown["signature"].is_null());
}

#[test]
fn a_signature_that_cannot_be_made_loses_no_checkpoint_and_is_reported() {
    let world = with_gpg();
    world.checkpoint(["start", "auth"]).success();
    let silent = world.root().join("silent");
    fs::write(&silent, "#!/bin/sh\nsleep 60 | sleep 60\n").unwrap();
    let killed = world.root().join("killed");
    fs::write(&killed, "#!/bin/sh\nkill -9 $$\n").unwrap();
    for program in [&silent, &killed] {
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (silent, killed) = (silent.to_str().unwrap(), killed.to_str().unwrap());
    for (n, (key, value, why)) in (0..).zip([
        ("gpg.program", "/nowhere/gpg", "cannot run '/nowhere/gpg'"),
        ("gpg.program", "/bin/true", "/bin/true: it made no signature"),
        ("gpg.program", killed, "it made no signature"),
        ("gpg.program", silent, "gave no answer within 5 seconds"),
        ("gpg.format", "pigeon", "gpg.format 'pigeon' is unknown"),
        ("gpg.format", "ssh", "user.signingKey"),
    ]) {
        let begun = std::time::Instant::now();
        world.file("a.txt", format!("{n}\n"));
        let args = ["save", "-m", "one", "--json"];
        let saved = world
            .command(crate::support::PROGRAM, args)
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", key)
            .env("GIT_CONFIG_VALUE_0", value)
            .run();
        saved
            .success()
            .stderr_has("the checkpoint is not signed: ")
            .stderr_has(why);
        assert!(begun.elapsed().as_secs() < 30, "{value}");
        let id = saved.stdout_json()["id"].as_str().unwrap().to_owned();
        assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), id);
        assert_eq!(world.git_line(["log", "-1", "--format=%G?", &id]), "N");
        assert_eq!(world.git_line(["show", "checkpoints/auth^2:a.txt"]), n.to_string());
        let listed = world.checkpoint(["list", "--trust", "--json"]).success().stdout_json();
        assert_eq!(listed["sessions"][0]["signature"]["verdict"], "unsigned");
    }
    // Nothing new: nothing is made, so nothing is signed.
    let again = world.checkpoint(["save"]);
    again.success();
    assert_eq!(
        fs::read_to_string(world.root().join("called")).unwrap().lines().count(),
        1
    );
    fs::remove_file(world.root().join("called")).unwrap();
    world.checkpoint(["save"]).success();
    assert!(!world.root().join("called").exists());
}

#[test]
fn nobody_is_asked_for_the_passphrase_of_a_key() {
    let world = shared();
    if with_ssh(&world, "ana").is_none() {
        return;
    }
    let key = world.root().join("ana");
    let line = ["-q", "-p", "-N", "secret", "-f", key.to_str().unwrap()];
    world.command("ssh-keygen", line).run().success();
    // A program that would answer.
    let asked = world.root().join("asked");
    let program = world.root().join("askpass");
    fs::write(&program, format!("#!/bin/sh\n>'{}'\necho secret\n", asked.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    world
        .command(crate::support::PROGRAM, ["start", "auth"])
        .env("SSH_ASKPASS", program.to_str().unwrap())
        .env("SSH_ASKPASS_REQUIRE", "force")
        .env("DISPLAY", ":99")
        .run()
        .success()
        .stderr_has("the checkpoint is not signed: ");
    assert!(!asked.exists());
    assert_eq!(world.git_line(["log", "-1", "--format=%G?", "checkpoints/auth"]), "N");
}

/// Keys of gpg's own: one that is trusted, one that is not, and one that has expired since. Skipped without gpg.
#[test]
fn real_keys_of_gpg_sign() {
    let world = shared();
    // Sockets have short paths.
    let home = std::env::temp_dir().join(format!("gnupg-{}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let gpg = world.root().join("real-gpg");
    // Makes a key, and signs with it, at another time.
    let clock = world.root().join("clock");
    let text = format!(
        "#!/bin/sh\nif test -e '{0}'; then set -- --faked-system-time \"$(cat '{0}')\" \"$@\"; fi\n\
         GNUPGHOME='{1}' exec gpg \"$@\"\n",
        clock.display(),
        home.display()
    );
    fs::write(&gpg, text).unwrap();
    fs::set_permissions(&gpg, fs::Permissions::from_mode(0o755)).unwrap();
    let gpg = gpg.to_str().unwrap();
    let run = |args: &[&str]| world.command(gpg, args).run();
    if run(&["--version"]).status().code() != Some(0) {
        return;
    }
    let make = |who: &str, expires: &str| {
        let user = format!("{who} <{who}@example.org>");
        run(&[
            "--batch",
            "--passphrase",
            "",
            "--quick-generate-key",
            &user,
            "ed25519",
            "sign",
            expires,
        ])
        .success();
    };
    make("ana", "never");
    for (name, value) in [
        ("gpg.program", gpg),
        ("user.signingKey", "ana@example.org"),
        ("checkpoint.sign", "on"),
    ] {
        world.git(["config", name, value]).success();
    }
    world.checkpoint(["start", "auth"]).success();
    let tip = save(&world, "one");
    world.git(["verify-commit", &tip]).success();
    let letter = |tip: &str| world.git_line(["log", "-1", "--format=%G?", tip]);
    let word = || world.checkpoint(["show", "auth", "--json"]).success().stdout_json()["signature"]["verdict"].clone();
    assert_eq!((letter(&tip).as_str(), word()), ("G", "good".into()));
    // Changed after it was signed.
    let changed = world
        .git(["cat-file", "commit", &tip])
        .stdout()
        .replace("\none\n", "\ntwo\n");
    let forged = world
        .command("git", ["hash-object", "-t", "commit", "-w", "--stdin"])
        .input(changed)
        .run();
    let forged = forged.success().stdout().trim().to_owned();
    assert_ne!(forged, tip);
    world.git(["update-ref", "refs/checkpoints/forged", &forged]).success();
    assert_eq!(letter(&forged), "B");
    world
        .checkpoint(["show", "forged"])
        .success()
        .stdout_has("bad signature");
    world
        .checkpoint(["verify", "forged"])
        .code(1)
        .stdout_has("bad signature");
    // A key that has expired since: what it signed before is not what a trusted key signs.
    fs::write(&clock, "20260102T030000!").unwrap();
    make("old", "1d");
    world.git(["config", "user.signingKey", "old@example.org"]).success();
    let before = save(&world, "with a key that expires");
    fs::remove_file(&clock).unwrap();
    assert_eq!((letter(&before).as_str(), word()), ("Y", "expired-key".into()));
    world
        .checkpoint(["show", "auth"])
        .success()
        .stdout_has("a key that has expired");
    // A passphrase that the agent would have to ask for.
    let locked = [
        "--batch",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "secret",
        "--quick-generate-key",
    ];
    let locked = [&locked[..], &["eve <eve@example.org>", "ed25519", "sign", "never"]].concat();
    run(&locked).success();
    let agent = |line: &str| {
        world
            .command("gpgconf", ["--homedir", home.to_str().unwrap(), "--kill", line])
            .run();
    };
    agent("gpg-agent");
    world.git(["config", "user.signingKey", "eve@example.org"]).success();
    world
        .checkpoint(["save", "-m", "locked", "--allow-empty"])
        .success()
        .stderr_has("the checkpoint is not signed: ");
    assert_eq!(letter("checkpoints/auth"), "N");
    // The key is unknown where it is taken away: git says that it cannot be checked.
    let listed = run(&["--list-keys", "--with-colons", "ana@example.org"]);
    let print = listed
        .stdout()
        .lines()
        .find_map(|line| line.strip_prefix("fpr:::::::::"))
        .unwrap()
        .to_owned();
    let print = print.trim_end_matches(':');
    run(&["--batch", "--yes", "--delete-secret-and-public-key", print]).success();
    assert_eq!(letter(&tip), "E");
    world
        .checkpoint(["show", &tip])
        .success()
        .stdout_has("that cannot be checked");
    agent("all");
    let _ = fs::remove_dir_all(&home);
}

/// A certificate of gpgsm's own, trusted, untrusted and taken away. Skipped without gpgsm.
#[test]
fn certificates_of_x509_sign() {
    let world = shared();
    // Sockets have short paths.
    let home = std::env::temp_dir().join(format!("gpgsm-{}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let gpgsm = world.root().join("real-gpgsm");
    fs::write(
        &gpgsm,
        format!("#!/bin/sh\nGNUPGHOME='{}' exec gpgsm \"$@\"\n", home.display()),
    )
    .unwrap();
    fs::set_permissions(&gpgsm, fs::Permissions::from_mode(0o755)).unwrap();
    let gpgsm = gpgsm.to_str().unwrap();
    if world.command(gpgsm, ["--version"]).run().status().code() != Some(0) {
        return;
    }
    let kill = || {
        world
            .command("gpgconf", ["--homedir", home.to_str().unwrap(), "--kill", "all"])
            .run();
    };
    fs::write(home.join("gpgsm.conf"), "disable-crl-checks\n").unwrap();
    let wishes = "Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign\nSerial: random\nName-DN: CN=Ana Author\n\
                  Name-Email: ana@example.org\nNot-Before: 2020-01-01\nNot-After: 2049-12-31\n";
    let (file, certificate) = (home.join("wishes"), home.join("certificate"));
    fs::write(&file, wishes).unwrap();
    let (file, certificate) = (file.to_str().unwrap(), certificate.to_str().unwrap());
    let line = [
        "--batch",
        "--pinentry-mode",
        "loopback",
        "--passphrase-fd",
        "0",
        "--output",
        certificate,
    ];
    world
        .command(gpgsm, line.into_iter().chain(["--generate-key", file]))
        .input("\n")
        .run()
        .success();
    world
        .command(gpgsm, ["--batch", "--import", certificate])
        .run()
        .success();
    let listed = world.command(gpgsm, ["--list-keys", "--with-colons"]).run();
    let print = listed
        .stdout()
        .lines()
        .find_map(|line| line.strip_prefix("fpr:::::::::"));
    let print = print.unwrap().split(':').next().unwrap().to_owned();
    let trust = home.join("trustlist.txt");
    fs::write(&trust, format!("{print} S relax\n")).unwrap();
    kill();
    for (name, value) in [
        ("gpg.format", "x509"),
        ("gpg.x509.program", gpgsm),
        ("user.signingKey", "ana@example.org"),
        ("checkpoint.sign", "on"),
    ] {
        world.git(["config", name, value]).success();
    }
    world.checkpoint(["start", "auth"]).success();
    let tip = save(&world, "one");
    world.git(["verify-commit", &tip]).success();
    world.git(["fsck", "--strict"]).success();
    let letter = |tip: &str| world.git_line(["log", "-1", "--format=%G?", tip]);
    let verdict = |session: &str| {
        let shown = world.checkpoint(["show", session, "--json"]).success().stdout_json();
        shown["signature"]["verdict"].clone()
    };
    assert_eq!((letter(&tip).as_str(), verdict("auth")), ("G", "good".into()));
    world.checkpoint(["show", "auth"]).success().stdout_has("Ana Author");
    let commit = world.git(["cat-file", "commit", &tip]);
    let changed = commit.stdout().replace("\none\n", "\ntwo\n");
    let line = ["hash-object", "-t", "commit", "-w", "--stdin"];
    let forged = world
        .command("git", line)
        .input(changed)
        .run()
        .stdout()
        .trim()
        .to_owned();
    world.git(["update-ref", "refs/checkpoints/forged", &forged]).success();
    assert_eq!((letter(&forged).as_str(), verdict("forged")), ("B", "bad".into()));
    world
        .checkpoint(["verify", "forged"])
        .code(1)
        .stdout_has("bad signature");
    fs::remove_file(&trust).unwrap();
    kill();
    assert_eq!((letter(&tip).as_str(), verdict("auth")), ("U", "untrusted".into()));
    // Without the certificate nothing can be said but that there is a signature.
    fs::remove_file(home.join("pubring.kbx")).unwrap();
    kill();
    assert_ne!(letter(&tip), "G");
    assert_ne!(verdict("auth"), "good");
    kill();
    let _ = fs::remove_dir_all(&home);
}

/// A key of ssh, and a file of the keys that are trusted. `None` where there is no `ssh-keygen`.
fn with_ssh(world: &World, who: &str) -> Option<String> {
    let key = world.root().join(who);
    let key = key.to_str().unwrap();
    let line = ["-q", "-t", "ed25519", "-N", "", "-C", who, "-f", key];
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.command("ssh-keygen", line).run()));
    made.ok()?.success();
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingKey", key),
        ("checkpoint.sign", "on"),
    ] {
        world.git(["config", name, value]).success();
    }
    let trusted = world.root().join("trusted");
    let public = fs::read_to_string(format!("{key}.pub")).unwrap();
    let line = format!("{who}@example.org {public}");
    let known = fs::read_to_string(&trusted).unwrap_or_default();
    fs::write(&trusted, known + &line).unwrap();
    world
        .git(["config", "gpg.ssh.allowedSignersFile", trusted.to_str().unwrap()])
        .success();
    Some(public)
}

#[test]
fn keys_of_ssh_sign_and_what_others_signed_is_taken_only_if_it_is_trusted() {
    let world = shared();
    let Some(public) = with_ssh(&world, "ana") else { return };
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    // The key as such, with the private one next to it in no agent: as git refuses it.
    world
        .git(["config", "user.signingKey", &format!("key::{}", public.trim())])
        .success();
    world
        .checkpoint(["start", "unsigned"])
        .success()
        .stderr_has("the checkpoint is not signed: ");
    assert_eq!(
        world.git_line(["log", "-1", "--format=%G?", "checkpoints/unsigned"]),
        "N"
    );
    world.checkpoint(["switch", "auth"]).success();
    let left = fs::read_dir(world.path(".git/checkpoint")).unwrap().flatten();
    assert!(
        left.into_iter()
            .all(|file| !file.file_name().to_string_lossy().starts_with("signing."))
    );
    let key = world.root().join("ana");
    world
        .git(["config", "user.signingKey", key.to_str().unwrap()])
        .success();
    let tip = save(&world, "two");
    world.git(["verify-commit", "checkpoints/auth"]).success();
    assert_eq!(
        world.git_line(["log", "-1", "--format=%G? %GS", &tip]),
        "G ana@example.org"
    );
    world
        .checkpoint(["show", "auth"])
        .success()
        .stdout_has("Signed:    good signature by ana@example.org");
    world
        .checkpoint(["verify", "auth"])
        .success()
        .stdout_has("3 checkpoints: good signature by ana@example.org");
    world.checkpoint(["push", "origin", "auth"]).success();

    clone(&world, "bob");
    let trusted = world.root().join("trusted");
    for (name, value) in [
        ("gpg.ssh.allowedSignersFile", trusted.to_str().unwrap()),
        ("checkpoint.requireSigned", "on"),
    ] {
        world.git(["config", name, value]).success();
    }
    world
        .checkpoint(["pull", "origin", "auth"])
        .success()
        .stdout_has("good signature by ana@example.org");
    // Unsigned, signed by nobody that is known, and changed after it was signed: none of these is taken.
    world.enter("repo");
    let signed = world
        .git(["cat-file", "commit", &tip])
        .stdout()
        .replace("\ntwo\n", "\nother\n");
    let forged = world
        .command("git", ["hash-object", "-t", "commit", "-w", "--stdin"])
        .input(signed)
        .run();
    let forged = forged.success().stdout().trim().to_owned();
    assert_ne!(forged, tip);
    world.git(["update-ref", "refs/checkpoints/forged", &forged]).success();
    world
        .checkpoint(["show", "forged"])
        .success()
        .stdout_has("bad signature");
    world.git(["verify-commit", &forged]).code(1);
    world.git(["push", "-q", "origin", "refs/checkpoints/forged"]).success();
    world.git(["config", "checkpoint.sign", "off"]).success();
    world.checkpoint(["start", "plain"]).success();
    world.checkpoint(["push", "origin", "plain"]).success();
    let known = fs::read_to_string(&trusted).unwrap();
    with_ssh(&world, "eve");
    fs::write(&trusted, known).unwrap();
    world.checkpoint(["start", "of-eve"]).success();
    world.checkpoint(["push", "origin", "of-eve"]).success();
    world.enter("bob");
    let fetched = world.checkpoint(["fetch"]);
    fetched
        .code(1)
        .stdout_has("not signed, and checkpoint.requireSigned asks for a trusted one")
        .stdout_has("bad signature");
    let remote = || world.checkpoint(["remote"]);
    remote()
        .success()
        .stdout_has("3 sessions refused by the last fetch:")
        .stdout_has("not signed, and checkpoint.requireSigned asks for a trusted one")
        .stdout_has("auth");
    for session in ["forged", "plain", "of-eve"] {
        assert_eq!(
            at(&world, "bob", &format!("refs/checkpoints-remote/origin/{session}")),
            ""
        );
        world
            .checkpoint(["pull", "origin", session])
            .code(128)
            .stderr_has("was refused")
            .stderr_lacks("maxFetchSize");
    }
    remote().stdout_has("3 sessions refused");
    world.git(["config", "checkpoint.requireSigned", "off"]).success();
    world.checkpoint(["pull", "origin", "plain"]).success();
    let json = world.checkpoint(["remote", "--json"]).success().stdout_json();
    let refused = json["remotes"][0]["refused"].as_array().unwrap();
    let names: Vec<_> = refused.iter().map(|row| row["session"].as_str().unwrap()).collect();
    assert_eq!(names, ["forged", "of-eve"], "what was taken since is refused no more");
    let prompt = world.checkpoint(["resume", "plain", "--format", "prompt"]);
    prompt
        .success()
        .stdout_has("It was written by others: it came from remote 'origin'");
    // Where signatures are required, what was saved here without one is by no one that is known.
    world.checkpoint(["start", "own"]).success();
    save(&world, "without a signature");
    let prompt = || world.checkpoint(["resume", "own", "--format", "prompt"]);
    prompt().success().stdout_lacks("written by others");
    world.git(["config", "checkpoint.requireSigned", "on"]).success();
    prompt().success().stdout_has("it has no trusted signature: not signed");

    // Where nothing is taken, nothing is said not to be there.
    clone(&world, "dan");
    let nobody = world.root().join("nobody");
    fs::write(&nobody, "").unwrap();
    for (name, value) in [
        ("gpg.ssh.allowedSignersFile", nobody.to_str().unwrap()),
        ("checkpoint.requireSigned", "on"),
    ] {
        world.git(["config", name, value]).success();
    }
    let all = "4 sessions";
    world
        .checkpoint(["pull"])
        .code(1)
        .stderr_has(&format!("{all} of remote 'origin' refused"))
        .stderr_has("plain: checkpoint")
        .stderr_lacks("has no sessions");
    remote()
        .success()
        .stdout_has(&format!("{all} refused by the last fetch:"))
        .stdout_lacks("no sessions");
    world.git(["config", "checkpoint.requireSigned", "off"]).success();
    world.checkpoint(["fetch"]).success();
    remote().success().stdout_lacks("refused");
}
