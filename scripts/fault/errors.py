"""errors [COMMAND...]: every call fails once with an error of the system, and a disk that is full or read-only.

ENOSPC, EIO, EROFS, EMFILE and EACCES at the first, second, ... call of each kind. Whatever is said, it is true: exit
code 0 means that it is done, and an error that nothing is, or it says how to go on; either way the user's own is as it
was. What is done `undo` takes back, and what is not done it knows nothing of. Nothing of ours is left after the next
save, and commands that only read work meanwhile.
"""

import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import kill
import world as w

ERRORS = ("ENOSPC", "EIO", "EROFS", "EMFILE", "EACCES")
# Calls that look rather than change can fail as well.
CALLS = [*w.CALLS, "openat", "read", "pread64", "getdents64", "mmap", "close", "lseek", "ftruncate"]
# Beyond these the loader and git's own start have been passed in every command; a longer sweep finds the same again.
LONGEST = 60


def ours(world):
    """The refs that a command may move and `undo` moves back; neither trash nor what `undo` itself keeps."""
    lines = world.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints").decode().splitlines()
    return dict(line.split() for line in lines)


def diverged(world):
    kill.ahead(world)
    world.checkpoint("save", "--allow-empty", "-m", "here")


def chatted(world):
    kill.chatted(world)
    # So that nothing is saved first.
    world.checkpoint("save", "-m", "all")


def noted(world):
    world.checkpoint("todo", "add", "one")
    world.checkpoint("save", "-m", "noted")
    world.checkpoint("todo", "add", "two")


def after(*command):
    def prepare(world):
        world.checkpoint(*command)

    return prepare


def todos(world):
    return [item["text"] for item in json.loads(world.checkpoint("todo", "list", "--json").stdout)["items"]]


def saved(world):
    tree = world.git("ls-tree", "-r", "--name-only", "refs/checkpoints/work^2").decode().split()
    return "another" in tree


def has(name):
    return lambda world: f"refs/checkpoints/{name}" in ours(world)


def lacks(name):
    return lambda world: f"refs/checkpoints/{name}" not in ours(world)


def finished(world):
    return json.loads(world.checkpoint("show", "work", "--json").stdout)["document"]["session"]["status"] == "completed"


def empty_chat(world):
    return not json.loads(world.checkpoint("show", "work", "--json").stdout)["document"].get("chat", {}).get("messages")


def count(number):
    return lambda world: len(world.git("rev-list", "--first-parent", "refs/checkpoints/work").split()) == number


# Name: its arguments, what is done before, what tells that it is done, and how that is taken back: by `undo` or `redo`,
# which moves refs or brings files; None where nothing is to be taken back.
COMMANDS = {
    "save": (["save", "-m", "three"], kill.plain, saved, None),
    "task": (["task", "add", "a task"], kill.plain, lambda world: b"a task" in world.checkpoint("task", "list").stdout, None),
    "fork": (["fork", "@~1", "--name", "forked"], kill.plain, has("forked"), "undo"),
    "delete": (["delete", "work"], kill.plain, lacks("work"), "undo"),
    "rename": (["rename", "work", "renamed"], kill.plain, has("renamed"), "undo"),
    "finish": (["finish", "-m", "done"], noted, finished, "undo"),
    "prune": (["prune", "--keep-last", "1"], kill.several, count(3), "undo"),
    "import": (["import", "../exported.json"], kill.exported, has("work"), "undo"),
    "clear": (["clear", "--yes", "--messages"], chatted, empty_chat, "undo"),
    "pull": (["pull", "origin", "work"], kill.ahead, count(4), "undo"),
    "pull-parted": (["pull", "origin", "work"], diverged, lambda world: len(ours(world)) == 2, "undo"),
    "undo-delete": (["undo"], kill.deleted, has("work"), "redo"),
    "undo-finish": (["undo"], after("finish", "-m", "done"), lambda world: not finished(world), "redo"),
    "restore": (["restore", "@~1"], kill.plain, None, "files"),
    "apply": (["apply", "@~1", "--force"], kill.plain, None, "files"),
    "undo-restore": (["undo"], after("restore", "@~1"), None, "files"),
}


def run(program, names):
    total = bad = 0
    unknown = [name for name in names if name not in COMMANDS]
    if unknown:
        raise SystemExit(f"faults: errors knows no '{unknown[0]}'; it knows {' '.join(COMMANDS)}")
    for name in names or COMMANDS:
        points, broken = sweep(program, name, *COMMANDS[name])
        total, bad = total + points, bad + broken
    for place in () if names else (full, readonly):
        points, broken = place(program)
        total, bad = total + points, bad + broken
    print(f"errors: {total} points, {bad} broken")
    return not bad


def sweep(program, name, arguments, prepare, is_done, back):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.small(root / "fixture", program)
        prepare(fixture)
        known, refs = w.checkpoints(fixture), ours(fixture)
        points, broken, died = collections.Counter(), [], 0
        # An apply that meets conflicts, and marks them, is done with another code than 0.
        codes = {0, w.copy(root / "fixture", root / "trial", program).checkpoint(*arguments, check=False).returncode}
        for turn, call in enumerate(CALLS):
            for when in range(1, LONGEST):
                error = ERRORS[(turn + when) % len(ERRORS)]
                world = w.copy(root / "fixture", root / "trial", program)
                before = w.theirs(world)
                ended = world.inject(call, when, f"error={error}", *arguments)
                if not ended.met:
                    break
                points[call] += 1
                try:
                    dead = gave_up(call, ended)
                    died += dead
                    if (world.repo / ".git/checkpoint/restore.journal").exists():
                        # Begun and not finished: unless it could no longer speak, it has said how to go back.
                        assert dead or b"--abort" in ended.stderr, f"a restore is pending, unsaid: {ended.stderr.decode()}"
                        world.checkpoint("restore", "--abort")
                    if back == "files":
                        look_at_files(world, before, arguments, ended, codes)
                    else:
                        changed = differing(before, w.theirs(world))
                        assert not changed, f"the user's own changed: {changed[:5]}"
                        look_at_refs(world, refs, arguments, is_done, back, ended, dead)
                    look(world, known)
                except (AssertionError, KeyError, ValueError) as wrong:
                    broken.append(f"{error} at {call} {when}: {wrong}")
        print(f"  {name}: {sum(points.values())} points, {died} of them ended it at once, {len(broken)} broken", flush=True)
        for line in broken[:20]:
            print(f"    {line[:600]}")
        return sum(points.values()), len(broken)


def differing(before, now):
    return sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


def gave_up(call, ended):
    """A process may end at once only where no line of ours could prevent it; that is a kill, and the rest is looked at
    all the same.

    Three such places were seen: the loader and the C library before `main`, which end without a word (SIGSEGV); Rust's
    library, which aborts a thread that gets no memory for its signal stack; and its check, in builds with debug
    assertions alone, that closing a folder works. A thread that cannot be started was a fourth, and was ours to mend.
    And strace: see `World.inject`.
    """
    killed = call == "close" and ended.returncode == -signal.SIGKILL
    loader = call == "mmap" and ended.returncode == -signal.SIGSEGV and not ended.stderr
    words = {"mmap": b"failed to allocate an alternative stack", "close": b"unexpected error during closedir"}.get(call)
    gives_up = killed or loader or (words is not None and words in ended.stderr)
    assert gives_up or b"panicked" not in ended.stderr, ended.stderr.decode()
    assert gives_up or ended.returncode >= 0, f"ended by signal {-ended.returncode}"
    return gives_up


def unspoken(ended):
    """Everything was done but for telling it."""
    return b"standard output" in ended.stderr


def look_at_files(world, before, arguments, ended, codes):
    changed = differing(before, w.theirs(world))
    if ended.returncode in codes:
        assert changed or b"Changed nothing" in ended.stdout, f"said that it did, and did not: {ended.stdout.decode()}"
        return
    if changed:
        # It was gone back already, with new times; or only the receipt could not be written.
        if unspoken(ended):
            world.checkpoint("redo" if arguments == ["undo"] else "undo")
        now = {key: value[:2] for key, value in w.theirs(world).items()}
        was = {key: value[:2] for key, value in before.items()}
        assert now == was, f"going back did not bring everything back: {differing(was, now)[:5]}"


def look_at_refs(world, refs, arguments, is_done, back, ended, dead):
    # Completes what a change of several refs left to the next command, and does nothing else.
    world.checkpoint("prune", "--keep-last", "1000")
    done = is_done(world)
    # 7: with the files that could be read, the others listed.
    if ended.returncode in (0, 7):
        # A prune leaves alone, and says so, what it cannot read.
        assert done or b"left alone" in ended.stderr, f"said that it did, and did not: {ended.stderr.decode()}"
    elif not dead and not unspoken(ended) and back:
        if b"do the rest" in ended.stderr:
            world.checkpoint(*arguments)
            done = is_done(world)
            assert done, "doing the rest did not do it"
        else:
            # Objects may be there; what a save adds is visible or not, and loses nothing either way.
            assert ours(world) == refs, f"failed, and did it: {ended.stderr.decode()}"
    if not back:
        return
    taken = world.checkpoint(back, check=False)
    if done:
        assert taken.returncode == 0, f"{back} does not take it back: {taken.stderr.decode()}"
    now = ours(world)
    if arguments[0] == "clear" and done:
        # What waited was saved before, in a checkpoint of its own.
        assert not is_done(world), "the chat is not back"
        return
    assert now == refs or (not done and taken.returncode == 0 and arguments != ["undo"]), (
        f"{back} gives {taken.returncode} {taken.stderr.decode()}, and refs are {differing(refs, now)}")


def look(world, known):
    lost = known - w.checkpoints(world)
    assert not lost, f"lost {len(lost)} checkpoints"
    for command in ("list", "log", "status"):
        done = world.checkpoint(command, check=False)
        # Where no session is current, as after a delete, `log` has none to show, and says just that.
        words = (b"is current in this work tree", b"there are no sessions yet")
        none = command == "log" and done.returncode == 3 and any(word in done.stderr for word in words)
        assert done.returncode == 0 or none, f"{command}: {done.returncode} {done.stderr.decode()}"
    world.checkpoint("save", "--allow-empty", "-m", "after")
    left = w.leftovers(world)
    assert not left, f"left {left}"
    w.sound(world)


def mounted(kind, program, act):
    """Acts in a file system of its own that is unmounted afterwards."""
    reason = w.need("mount", "umount", root=True)
    if reason:
        print(f"  {kind}: skipped, {reason}")
        return 0, 0
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], check=True)
        try:
            points, broken = act(pathlib.Path(folder))
        finally:
            subprocess.run(["umount", folder], check=True)
    print(f"  {kind}: {points} points, {len(broken)} broken")
    for line in broken:
        print(f"    {line[:600]}")
    return points, len(broken)


def full(program):
    def act(folder):
        world = w.small(folder / "a", program)
        known, broken, points = w.checkpoints(world), [], 0
        filler = folder / "filler"
        for left in (0, 1, 2, 4, 8, 16, 32, 64, 128):
            filler.unlink(missing_ok=True)
            world.write("new", f"{left}\n" * 2000)
            room = shutil.disk_usage(folder).free - left * 1024
            with open(filler, "wb") as file:
                try:
                    file.write(os.urandom(max(room, 0)))
                except OSError:
                    pass
            points += 1
            before = w.theirs(world)
            ended = world.checkpoint("save", "-m", f"{left} KiB left", check=False)
            if w.theirs(world) != before:
                broken.append(f"{left} KiB: the user's own changed")
            if b"panicked" in ended.stderr:
                broken.append(f"{left} KiB: {ended.stderr.decode()}")
            if known - w.checkpoints(world):
                broken.append(f"{left} KiB: lost checkpoints")
            if world.checkpoint("log", check=False).returncode:
                broken.append(f"{left} KiB: log fails")
            if ended.returncode == 0:
                known = w.checkpoints(world)
        filler.unlink()
        world.checkpoint("save", "--allow-empty", "-m", "after")
        w.sound(world)
        if w.leftovers(world):
            broken.append(f"left {w.leftovers(world)}")
        return points, broken

    return mounted("full disk", program, act)


def readonly(program):
    def act(folder):
        world = w.small(folder / "a", program)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        broken, points = [], 0
        for arguments in (["save", "-m", "x"], ["pause"], ["start", "x"], ["task", "add", "x"], ["delete", "work"]):
            points += 1
            ended = world.checkpoint(*arguments, check=False)
            if ended.returncode == 0 or b"panicked" in ended.stderr or b"read-only" not in ended.stderr.lower():
                broken.append(f"{arguments}: {ended.returncode} {ended.stderr.decode()}")
        for arguments in (["list"], ["log"], ["show"], ["diff"], ["status"], ["verify", "--all"]):
            points += 1
            ended = world.checkpoint(*arguments, check=False)
            if ended.returncode:
                broken.append(f"{arguments}: {ended.returncode} {ended.stderr.decode()}")
        subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
        return points, broken

    return mounted("read-only", program, act)
