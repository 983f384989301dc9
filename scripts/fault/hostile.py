"""hostile [PART...]: crafted trees, refs, remotes and settings, and text that would drive a terminal.

Trees with names that mean `.git` or lead outside on some system, ref names that look like options, remotes whose
address starts a program, settings and attributes that run one: saved, listed, shown, restored, applied and fetched.
Nothing is written outside the work tree or into the repository's own folder, and no program is started. Then 50 texts
of control characters in every field of a record and in names of files: no raw control byte reaches a terminal.
"""

import itertools
import os
import pathlib
import pty
import re
import select
import subprocess
import tempfile
import time

import world as w
from bombs import crafted, object_of

# Names of an entry that no restore may write: the repository's folder in all disguises, and ways out.
DISGUISES = [
    ".git", ".GIT", ".Git", ".giT", "git~1", "GIT~1", ".git ", ".git.", ".git...", ".git . .", ".git::$INDEX_ALLOCATION",
    ".git:stream", ".g\u200cit", ".gi\u200dt", "\u200e.git", ".git\u200f", ".\u202agit", ".git\ufeff", ".g\u206ait", ".G\u200cIT",
    "..", ".", "", "gi7eba~1", "git~1 ", "git~1.", ".git\\config", "..\\out", "a\\..\\..\\out", "C:\\out", "C:out", "\\\\host\\out",
]
INNER = [b"hooks/post-checkout", b"config"]
# Files that mean something to git when they are links.
LINKS = [".gitmodules", ".gitattributes", ".gitignore", ".mailmap"]
REFS = [
    "-x", "--upload-pack=x", "--help", "CON", "con", "nul", "aux.txt", "HEAD", "head", "s/x", "S", "\u00e9", "a\u202eb", "a b".replace(" ", "\u00a0"),
    "x" * 200, "refs", "@", "main", "--all", "..a".replace("..", "-."),
]
URLS = [
    "ext::sh -c touch% {canary}", "ext::touch {canary}", "--upload-pack=touch {canary}", "-oProxyCommand=touch {canary}",
    "ssh://-oProxyCommand=touch%20{canary}/x", "-u{canary}", "fd::17", "file://-x", "http://127.0.0.1:1/x", "git://127.0.0.1:1/x",
    "ssh://127.0.0.1:1/-x", "/nonexistent", "../../nonexistent", "file:///nonexistent", "::", "ext::", "foreign::x", "a:b:c", "\n", "%00",
]
SETTINGS = [
    ("core.fsmonitor", "touch {canary}"), ("core.hooksPath", "{hooks}"), ("filter.evil.clean", "touch {canary}; cat"),
    ("filter.evil.process", "touch {canary}"), ("diff.external", "touch {canary}"), ("diff.evil.textconv", "touch {canary}; cat"),
    ("diff.evil.command", "touch {canary}"), ("merge.evil.driver", "touch {canary}"), ("core.editor", "touch {canary}"),
    ("core.pager", "touch {canary}"), ("core.sshCommand", "touch {canary}"), ("core.askPass", "touch {canary}"),
    ("credential.helper", "!touch {canary}"), ("gpg.program", "touch {canary}"), ("commit.gpgSign", "true"),
    ("core.alternateRefsCommand", "touch {canary}"), ("uploadpack.packObjectsHook", "touch {canary}"),
    ("gc.recentObjectsHook", "touch {canary}"), ("trailer.evil.command", "touch {canary}"), ("sequence.editor", "touch {canary}"),
]
# A setting of the repository's own user that git itself honours in the same place: the user's own word.
HONOURED = {"filter.evil.clean", "filter.evil.process", "core.pager"}

PAYLOADS = [
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b]52;c;ZXZpbA==\x07", "\x1b[2J", "\x1b[1;1H", "\x1bc", "\x1b(0", "\x1b[?1049h", "\x1b[6n", "\x1b]8;;http://evil\x07x",
    "\x9b31m", "\x9d0;t\x9c", "\x90q\x9c", "\x07", "\x08\x08", "\r overwritten", "\x0b", "\x0c", "\x7f", "\x00x", "\x85next", "\x8e", "\x1b\\", "\x1bPq\x1b\\",
    "\u202eevil", "\u2066x\u2069", "\u200fx", "\u061cx", "\u2028x", "\u2029x", "\ufeffx", "\u200bx", "\u00adx", "\U000e0041x", "a\u0300" * 40,
    "\x1b[8m", "\x1b[5m", "\x1b[999C", "\x1b[s\x1b[u", "\x1b[?25l", "\x1b[!p", "\x1b[3J", "\x1b]11;?\x07", "\x1b]4;1;?\x07", "\x1b_x\x1b\\", "\x1b^x\x1b\\",
    "\x1bX\x1b\\", "\x1b[200~", "\x1b[>c", "\x1b[0x",
]
# Commands that show what is stored; every other one is given the text itself.
LOOKING = (
    ["list"], ["log"], ["log", "--notes"], ["log", "--graph"], ["show"], ["show", "-p"], ["diff", "@~1", "@"], ["diff", "-p", "@~1"], ["status"],
    ["resume"], ["resume", "--format", "prompt"], ["compare", "@~1", "@"], ["task", "list"], ["question", "list"], ["blocker", "list"],
    ["message", "list"], ["fork-point", "list"], ["restore", "@~1", "--dry-run"], ["apply", "@~1", "--dry-run"], ["save", "--dry-run"],
    ["prune", "--dry-run", "--keep-last", "1"], ["export", "--format", "markdown"], ["request", "--preview"], ["replay"], ["verify"],
)
# What a terminal may be sent: printable text, line ends, and our own colours and line erasing.
OURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[K|\x1b\[\?25[hl]|\r\n|\n|\r")


def run(program, names):
    parts = {"trees": trees, "ref-names": refs, "remotes": remotes, "settings": settings, "terminal": terminals}
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise SystemExit(f"faults: hostile knows no '{unknown[0]}'; it knows {' '.join(parts)}")
    said, total, bad = [], 0, 0
    for name in names or parts:
        tried, broken = parts[name](program)
        said.append(f"{len(tried)} {name}")
        total, bad = total + len(tried), bad + len(broken)
        for line in broken[:20]:
            print(f"  {line[:400]}", flush=True)
    print(f"hostile: {', '.join(said)}: {total} tried, {bad} broken")
    return not bad


def raw_tree(world, entries):
    """A tree object with any names whatever."""
    data = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return object_of(world, "tree", data)


def corpus(world):
    """(what it is, tree id) of every crafted tree."""
    blob = object_of(world, "blob", b"#!/bin/sh\ntouch canary\n")
    link = object_of(world, "blob", b"../outside")
    inner = {}
    for path in INNER:
        tree, rest = blob, path.split(b"/")
        mode = b"100755"
        for part in reversed(rest):
            tree, mode = raw_tree(world, [(mode, part, tree)]), b"40000"
        inner[path] = tree
    for name, path in itertools.product(DISGUISES, INNER):
        yield f"{name!r}/{path.decode()}", raw_tree(world, [(b"40000", name.encode(), inner[path])])
    for name in DISGUISES:
        yield f"file {name!r}", raw_tree(world, [(b"100644", name.encode(), blob)])
    out = raw_tree(world, [(b"100644", b"file", blob)])
    yield "a link and a folder of one name", raw_tree(world, [(b"120000", b"a", link), (b"40000", b"a", out)])
    yield "a link and a folder that fold", raw_tree(world, [(b"120000", b"A", link), (b"40000", b"a", out)])
    yield "a name with slashes", raw_tree(world, [(b"100644", b"../outside/file", blob)])
    yield "an absolute name", raw_tree(world, [(b"100644", b"/tmp/outside", blob)])
    yield "unsorted", raw_tree(world, [(b"100644", b"z", blob), (b"100644", b"a", blob)])
    yield "twice", raw_tree(world, [(b"100644", b"a", blob), (b"100644", b"a", blob)])
    yield "setuid", raw_tree(world, [(b"104755", b"a", blob)])
    yield "a gitlink called .git", raw_tree(world, [(b"160000", b".git", "1" * 40)])
    for name in LINKS:
        yield f"{name} a link", raw_tree(world, [(b"120000", name.encode(), link)])


def outside(world):
    place = world.root / "outside"
    return sorted((str(path), path.lstat().st_mtime_ns) for path in place.rglob("*"))


def trees(program):
    tried, broken = [], []
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.small(root / "fixture", program)
        (fixture.root / "outside").mkdir()
        (fixture.root / "outside/file").write_text("the user's")
        for number, (what, tree) in enumerate(corpus(fixture)):
            tried.append(what)
            world = w.copy(root / "fixture", root / "trial", program)
            crafted(world, "evil", tree)
            git = world.repo / ".git"
            own = {name: (git / name).read_bytes() for name in ("config", "HEAD", "index")}
            hooks, beside = sorted((git / "hooks").rglob("*")), outside(world)
            actions = [["restore", "evil", "--force"], ["apply", "evil"], ["fork", "evil", "--name", f"f{number}", "--worktree", "../made"]]
            for arguments in (["show", "evil"], ["diff", "evil"], ["verify", "evil"], *actions):
                done = world.checkpoint(*arguments, check=False, timeout=60)
                if b"panicked" in done.stderr or done.returncode < 0:
                    broken.append(f"{what}: {arguments}: {done.stderr.decode()}")
            changed = [name for name, data in own.items() if (git / name).read_bytes() != data and name != "index"]
            if changed or sorted((git / "hooks").rglob("*")) != hooks:
                broken.append(f"{what}: changed {changed or 'hooks'} of the repository")
            if outside(world) != beside or (world.root / "canary").exists() or (world.repo / "canary").exists():
                broken.append(f"{what}: wrote outside, or ran")
            # Through a fetch into a clone as well.
            tried.append(f"fetched: {what}")
            world.run("git", "push", "-q", "origin", "refs/checkpoints/evil", check=False)
            done = world.checkpoint("fetch", "origin", check=False, timeout=60)
            if b"panicked" in done.stderr or done.returncode < 0:
                broken.append(f"{what}: fetch: {done.stderr.decode()}")
            if outside(world) != beside:
                broken.append(f"{what}: fetch wrote outside")
    return tried, broken


def refs(program):
    tried, broken = [], []
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        w.small(root / "fixture", program)
        for name in REFS:
            tried.append(name)
            world = w.copy(root / "fixture", root / "trial", program)
            made = world.run("git", "update-ref", f"refs/checkpoints/{name}", "refs/checkpoints/work", check=False)
            world.run("git", "push", "-q", "origin", f"refs/checkpoints/{name}:refs/checkpoints/{name}", check=False)
            if made.returncode == 0:
                world.run("git", "update-ref", "-d", f"refs/checkpoints/{name}", check=False)
            for arguments in (["list"], ["status"], ["log", name], ["show", "--", name], ["start", "--", name], ["fetch", "origin"], ["save", "-m", "x"]):
                done = world.checkpoint(*arguments, check=False, timeout=60)
                if b"panicked" in done.stderr or done.returncode < 0:
                    broken.append(f"{name}: {arguments}: {done.stderr.decode()}")
            w.sound(world)
    return tried, broken


def remotes(program):
    tried, broken = [], []
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        w.small(root / "fixture", program)
        canary = root / "canary"
        for url in URLS:
            tried.append(url)
            address = url.format(canary=canary)
            world = w.copy(root / "fixture", root / "trial", program)
            with open(world.repo / ".git/config", "a") as file:
                file.write('[remote "evil"]\n\turl = "%s"\n' % address.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
            for arguments in (["fetch", "evil"], ["push", "evil", "work"], ["pull", "evil", "work"], ["fetch", "--", address], ["push", "--", address]):
                try:
                    done = world.checkpoint(*arguments, check=False, timeout=60, env={"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true"})
                except subprocess.TimeoutExpired:
                    broken.append(f"{url!r}: {arguments}: waits for ever")
                    continue
                if b"panicked" in done.stderr or done.returncode <= 0:
                    broken.append(f"{url!r}: {arguments}: {done.returncode} {done.stderr.decode()}")
            if canary.exists():
                broken.append(f"{url!r}: started a program")
                canary.unlink()
    return tried, broken


def settings(program):
    tried, broken = [], []
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        w.small(root / "fixture", program)
        canary, hooks = root / "canary", root / "hooks"
        hooks.mkdir()
        for hook in ("post-checkout", "reference-transaction", "pre-commit", "post-commit", "post-index-change", "fsmonitor-watchman", "pre-auto-gc"):
            (hooks / hook).write_text(f"#!/bin/sh\ntouch {canary}\n")
            (hooks / hook).chmod(0o755)
        for key, value in SETTINGS:
            tried.append(key)
            world = w.copy(root / "fixture", root / "trial", program)
            world.git("config", key, value.format(canary=canary, hooks=hooks))
            world.write(".gitattributes", "* filter=evil diff=evil merge=evil\n" if "evil" in key else "")
            canary.unlink(missing_ok=True)
            for arguments in (["save", "-m", "x"], ["status"], ["diff", "@~1"], ["show", "@", "-p"], ["resume"], ["restore", "@~1", "--force"], ["undo"],
                              ["verify", "--all"], ["log"], ["list"]):
                done = world.checkpoint(*arguments, check=False, timeout=60)
                if b"panicked" in done.stderr or done.returncode < 0:
                    broken.append(f"{key}: {arguments}: {done.stderr.decode()}")
                if canary.exists() and key not in HONOURED:
                    broken.append(f"{key}: {arguments} started a program")
                    canary.unlink()
    return tried, broken


def on_terminal(world, arguments):
    """What a command writes to a terminal."""
    main, other = pty.openpty()
    env = dict(world.env, TERM="xterm-256color", GIT_PAGER="cat", PAGER="cat")
    process = subprocess.Popen([world.program, *arguments], cwd=world.repo, env=env, stdin=other, stdout=other, stderr=other)
    os.close(other)
    out, end = b"", time.monotonic() + 5
    while time.monotonic() < end:
        if select.select([main], [], [], 0.05)[0]:
            try:
                data = os.read(main, 1 << 16)
            except OSError:
                break
            if not data:
                break
            out += data
        elif process.poll() is not None:
            break
    # One that asks something waits for an answer.
    process.kill()
    process.wait()
    os.close(main)
    return out


def raw(data):
    """Control characters in what a terminal is sent, besides our own."""
    text = OURS.sub(b"", data).decode(errors="replace")
    bad = [char for char in text if ord(char) < 32 and char != "\t" or 0x7F <= ord(char) < 0xA0 or char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029"]
    return sorted(set(bad))


def terminals(program):
    tried, broken = [], []
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        world = w.small(root / "a", program)
        said = world.checkpoint("help").stdout.decode()
        rest = re.findall(r"^  ([a-z][a-z-]+)  ", said, re.MULTILINE)
        assert len(rest) > 50, f"the help names {len(rest)} commands"
        rest = [name for name in rest if name != "watch"]  # It stays.
        for payload in PAYLOADS:
            text = payload.replace("\0", "")
            world.checkpoint("save", "--allow-empty", "-m", f"s {text}", "-n", f"n {text}", "--decision", f"d {text}", check=False)
            for words in (["task", "add"], ["note"], ["question"], ["blocker", "add"], ["message", "add", "--role", "user"], ["fork-point", "add"]):
                more = ["--option", f"k:{text}"] if words[0] == "fork-point" else []
                world.checkpoint(*words, f"{words[0]} {text}", *more, check=False)
            try:
                world.write(f"file {text}".replace("/", "_")[:100], text)
                world.write("src/file0", text * 3)
            except (OSError, ValueError):
                pass
            world.checkpoint("save", "-m", "more", check=False)
            commands = [*LOOKING, ["show", text or "x"], ["switch", text or "x"], [text or "x"]]
            # The others once, with the text as what they are given: what they say of it goes to the terminal as well.
            commands += [[name, text or "x"] for name in rest]
            for arguments in commands:
                tried.append(arguments)
                bad = raw(on_terminal(world, arguments))
                if bad:
                    broken.append(f"{payload!r}: {arguments}: raw {bad!r}")
    return tried, broken
