"""errors [COMMAND...]: every call fails once with an error of the system, and a disk that is full or read-only.

ENOSPC, EIO, EROFS, EMFILE and EACCES at the first, second, ... call of each kind. Whatever is said, it is true: exit
code 0 means that the checkpoint is there and holds the files; anything else left the user's own as it was. Nothing of
ours is left after the next save, and commands that only read work meanwhile.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import tempfile

import world as w

ERRORS = ("ENOSPC", "EIO", "EROFS", "EMFILE", "EACCES")
# Calls that look rather than change can fail as well.
CALLS = [*w.CALLS, "openat", "read", "pread64", "getdents64", "mmap", "close", "lseek", "ftruncate"]
COMMANDS = {
    "save": ["save", "-m", "three"],
    "task": ["task", "add", "a task"],
    "fork": ["fork", "@~1", "--name", "forked"],
    "delete": ["delete", "work"],
    "restore": ["restore", "@~1"],
}
# Beyond these the loader and git's own start have been passed in every command; a longer sweep finds the same again.
LONGEST = 60


def run(program, names):
    total = bad = 0
    for name in names or COMMANDS:
        points, broken = sweep(program, name, COMMANDS[name])
        total, bad = total + points, bad + broken
    for place in (full, readonly):
        points, broken = place(program)
        total, bad = total + points, bad + broken
    print(f"errors: {total} points, {bad} broken")
    return not bad


def sweep(program, name, arguments):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.small(root / "fixture", program)
        known = w.checkpoints(fixture)
        points, broken = collections.Counter(), []
        for turn, call in enumerate(CALLS):
            for when in range(1, LONGEST):
                error = ERRORS[(turn + when) % len(ERRORS)]
                world = w.copy(root / "fixture", root / "trial", program)
                before = w.theirs(world)
                traced = root / "trace"
                line = ["strace", "-f", "-qq", "-o", str(traced), "-e", f"trace={call}",
                        "-e", f"inject={call}:error={error}:when={when}", program, *arguments]
                ended = world.run(*line, check=False)
                if "INJECTED" not in traced.read_text(errors="replace"):
                    break
                points[call] += 1
                try:
                    died = gave_up(call, ended)
                    if (world.repo / ".git/checkpoint/restore.journal").exists():
                        # Begun and not finished: unless it could no longer speak, it has said how to go back.
                        assert died or b"--abort" in ended.stderr, f"a restore is pending, unsaid: {ended.stderr.decode()}"
                        world.checkpoint("restore", "--abort")
                    look(world, before, known, name, ended)
                except AssertionError as wrong:
                    broken.append(f"{error} at {call} {when}: {wrong}")
        print(f"  {name}: {sum(points.values())} points, {len(broken)} broken", flush=True)
        for line in broken:
            print(f"    {line[:600]}")
        return sum(points.values()), len(broken)


def gave_up(call, ended):
    """A process may end at once only where Rust's own library or the loader gives up: no memory, or a close that fails.

    That is a kill, then, and the rest is looked at all the same.
    """
    gives_up = call in ("mmap", "close") and (ended.returncode < 0 or b"panicked at /rustc/" in ended.stderr)
    assert gives_up or b"panicked" not in ended.stderr, ended.stderr.decode()
    assert gives_up or ended.returncode >= 0, f"ended by signal {-ended.returncode}"
    return gives_up


def look(world, before, known, name, ended):
    now = w.theirs(world)
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    if name == "restore" and ended.returncode == 0:
        assert changed, "said that it restored, and did not"
    elif name == "restore" and changed:
        # It was gone back already, with new times; or only the receipt could not be written.
        if b"standard output" in ended.stderr:
            world.checkpoint("undo")
        now = {key: value[:2] for key, value in w.theirs(world).items()}
        was = {key: value[:2] for key, value in before.items()}
        assert now == was, "going back did not bring everything back"
    else:
        assert not changed, f"the user's own changed: {sorted(changed)[:5]}"
    lost = known - w.checkpoints(world)
    assert not lost, f"lost {len(lost)} checkpoints"
    if name == "save" and ended.returncode == 0:
        tree = world.git("ls-tree", "-r", "--name-only", "refs/checkpoints/work^2").decode().split()
        assert "another" in tree, "said that it saved, and did not"
    if name == "task" and ended.returncode == 0:
        assert b"a task" in world.checkpoint("task", "list").stdout, "said that it noted the task, and did not"
    for command in ("list", "log", "status"):
        # A session that was deleted is no longer the current one.
        if command != "log" or name != "delete" or ended.returncode != 0:
            world.checkpoint(command)
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
