//! Files that make a server refuse a push, with git's fsck as judge.

use std::collections::BTreeSet;

use crate::support::World;

use super::child::take;

/// Contents of a `.gitmodules`, good and bad, by the value of one key of one submodule.
const VALUES: &[(&str, &str)] = &[
    ("url", "https://example.org/x.git"),
    ("url", "https://user:your-token@example.org:8443/x.git"),
    ("url", "ssh://git@example.org/x"),
    ("url", "git@example.org:x.git"),
    ("url", "git://example.org/x"),
    ("url", "git://example.org/x%0ay"),
    ("url", "../x.git"),
    ("url", "../../../x.git"),
    ("url", "./x"),
    ("url", ".././../:x"),
    ("url", "../../..//x"),
    ("url", "./%0ax"),
    ("url", "/srv/x.git"),
    ("url", "file:///srv/x.git"),
    ("url", "C:/x"),
    ("url", "-x"),
    ("url", "--upload-pack=x"),
    ("url", "http://example.org/x%0ay"),
    ("url", "http://example.org/x%0Ay"),
    ("url", "http:///x"),
    ("url", "https://"),
    ("url", "http::https://example.org/x"),
    ("url", "https::example.org/x"),
    ("url", "https:///example.org/submodule.git"),
    ("url", "https::::example.com/submodule.git"),
    ("url", "http::ftp://example.org/x"),
    ("url", "ftp://example.org/x"),
    ("url", "ext::sh -c x"),
    ("url", "foo::https:///x"),
    ("url", "http://example.org:port/x"),
    ("url", "http://example.org:99999/x"),
    ("url", "http://example.org/%zz"),
    ("url", "http://example.org/a/../b"),
    ("url", "http://example.org/a/./../b"),
    ("url", "http://example.org/../b"),
    ("url", "http://example.org/a/../../b"),
    ("url", "http://example.org//../b"),
    ("url", "http://example.org/a/%2e%2e/../b"),
    ("url", "http://example.org/?/../../b"),
    ("url", "http://exam ple.org/x"),
    ("url", "http://[::1]/x"),
    ("url", ""),
    ("path", "libs/x"),
    ("path", "-x"),
    ("path", ""),
    ("update", "checkout"),
    ("update", "!true"),
    ("update", "none"),
    ("ignore", "!x"),
];

const NAMES: &[&str] = &[
    "x",
    "a/b",
    "..",
    "../x",
    "a/../b",
    "a/..",
    "..a",
    "a..",
    "a\\\\..\\\\b",
    "",
    ".",
    "a b",
];

const WHOLE: &[&str] = &[
    "",
    "# only a comment\n",
    "[submodule]\n\turl = -x\n",
    "[other \"../x\"]\n\turl = -x\n",
    "[submodule \"x\"]\n\turl\n",
    "[submodule \"x\"] url = -x\n",
    "[Submodule \"x\"]\n\tURL = -x\n",
    "[submodule \"x\"]\n\turl = ok\n\turl = -x\n",
    "[submodule \"x\"]\n\turl = ok\n[submodule \"x\"]\n\tpath = -x\n",
    "not a config file [\n",
    "[submodule \"x\"]\n\turl = -x\nbroken [\n",
];

#[test]
fn held_is_what_fsck_refuses() {
    let world = World::new();
    let mut paths = Vec::new();
    let mut add = |content: String| {
        let path = format!("d{:03}/.gitmodules", paths.len());
        // Each content must be another blob, since fsck names blobs.
        world.file(&path, format!("{content}# {path}\n"));
        paths.push(path);
    };
    for (key, value) in VALUES {
        add(format!("[submodule \"x\"]\n\t{key} = \"{value}\"\n"));
    }
    for name in NAMES {
        add(format!("[submodule \"{name}\"]\n\tpath = x\n"));
    }
    for whole in WHOLE {
        add((*whole).to_owned());
    }
    for (n, len) in [(0, 2047), (1, 2048), (2, 5000)] {
        let path = format!("attributes{n}/.gitattributes");
        world.file(&path, format!("{}\n# {path}\n", "x".repeat(len)));
        paths.push(path);
    }
    let taken = take(&world);
    let held: BTreeSet<_> = taken
        .list("held")
        .into_iter()
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect();

    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "x"]).success();
    let fsck = world.git(["fsck", "--strict"]);
    assert!(!fsck.is_success());
    let staged = world.git_line(["ls-files", "--stage"]);
    // Mode, id and stage are before the path.
    let path_of = |id: &str| {
        staged
            .lines()
            .find(|line| line.split(' ').nth(1) == Some(id))?
            .split_once('\t')
    };
    let refused: BTreeSet<_> = fsck
        .stderr()
        .lines()
        .filter_map(|line| line.strip_prefix("error in blob ")?.split(':').next())
        .map(|id| path_of(id).unwrap().1.to_owned())
        .collect();
    let content = |path: &String| format!("{path}: {}", String::from_utf8_lossy(&world.read(path)));
    let missed: Vec<_> = refused.difference(&held).map(content).collect();
    assert!(missed.is_empty(), "git refuses these as well:\n{}", missed.join("\n"));
    let needless: Vec<_> = held.difference(&refused).map(content).collect();
    assert!(needless.is_empty(), "git takes these:\n{}", needless.join("\n"));
    for line in taken.list("held") {
        let (n, path) = line.split_once(' ').unwrap();
        let blob = taken.blobs("held_blobs")[n.parse::<usize>().unwrap()].to_owned();
        assert_eq!(
            world.git(["cat-file", "blob", &blob]).stdout_bytes(),
            world.read(path),
            "{path}"
        );
    }
}
