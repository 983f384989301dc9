"""kill [COMMAND...]: commands that move refs or write drafts, killed at every call that changes the disk.

For each call, strace ends the process (SIGKILL) on entering it: the first time it is made, the second, and so on until
a run comes to its end. After each kill:
  - the user's files, index, branches and settings are as they were;
  - every checkpoint that was acknowledged before is reached by a ref of ours, and every noted operation is there;
  - git fsck and git status work, the same command and a save end with 0, and nothing of ours is left over;
  - the user's own branch -d, fetch and gc --prune=now end with 0, and everything still verifies.
restore, apply and undo, which change files, are killed by kill-files.
"""

import collections
import pathlib
import tempfile

import world as w


def plain(_world):
    pass


def deleted(world):
    world.checkpoint("delete", "work")


def several(world):
    for n in range(4):
        world.write("new", f"more {n}\n")
        world.checkpoint("save", "-m", f"more {n}")


def received(world):
    """Another clone has pushed a session and gone on with this one."""
    world.checkpoint("push", "origin", "--all")
    world.git("push", "-q", "origin", "refs/checkpoints/work:refs/checkpoints/others")


# Name, its arguments, what is done before, and the exit codes of a run that is not disturbed or is repeated.
COMMANDS = {
    "save": (["save", "-m", "three"], plain, (0,)),
    "save-many": (["save", "-m", "many"], lambda world: [world.write(f"many/{n}", f"{n}\n") for n in range(300)], (0,)),
    "pause": (["pause", "-m", "three"], plain, (0, 3)),
    "finish": (["finish", "-m", "done"], plain, (0, 3)),
    "start": (["start", "other"], plain, (0, 128)),
    "task": (["task", "add", "a task"], plain, (0,)),
    "note": (["note", "a note"], plain, (0,)),
    "message": (["message", "add", "--role", "user", "a message"], plain, (0,)),
    "fork": (["fork", "work~1", "--name", "forked"], plain, (0, 128)),
    "rename": (["rename", "work", "renamed"], plain, (0, 3)),
    "delete": (["delete", "work"], plain, (0, 3)),
    "undo-delete": (["undo"], deleted, (0, 1)),
    "pin": (["pin", "@"], plain, (0,)),
    "prune": (["prune", "--keep-last", "1"], several, (0,)),
    "watch": (["watch", "--once"], plain, (0,)),
    "push": (["push", "origin", "work"], plain, (0,)),
    "fetch": (["fetch", "origin"], received, (0,)),
}


def run(program, names):
    unknown = [name for name in names if name not in COMMANDS]
    if unknown:
        raise SystemExit(f"faults: kill knows no '{unknown[0]}'; it knows {' '.join(COMMANDS)}")
    results = [sweep(program, name, *COMMANDS[name]) for name in names or COMMANDS]
    print(f"kill: {sum(kills for kills, _ in results)} kills, {sum(broken for _, broken in results)} broken")
    return not any(broken for _, broken in results)


def sweep(program, name, arguments, prepare, codes):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.small(root / "fixture", program)
        prepare(fixture)
        known = w.checkpoints(fixture)
        points, broken = collections.Counter(), []
        for call in w.CALLS:
            when = 0
            while True:
                when += 1
                world = w.copy(root / "fixture", root / "trial", program)
                before = w.theirs(world)
                ended = world.inject(call, when, "signal=KILL", *arguments)
                if ended.returncode not in (137, -9):
                    # git may have been killed as a child: then the program says so, which is a fault of its own kind.
                    if ended.returncode in codes and b"signal" not in ended.stderr:
                        break
                    if when > 400:
                        broken.append(f"{call}: no end after {when}")
                        break
                points[call] += 1
                try:
                    look(world, before, known, arguments, codes)
                except AssertionError as error:
                    broken.append(f"{call} {when}: {error}")
        print(f"  {name}: {sum(points.values())} kills, {len(broken)} broken", flush=True)
        for line in broken:
            print(f"    {line[:600]}")
        return sum(points.values()), len(broken)


def look(world, before, known, arguments, codes):
    now = w.theirs(world)
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    assert not changed, f"the user's own changed: {sorted(changed)[:5]}"
    lost = known - w.checkpoints(world)
    assert not lost, f"lost checkpoints {sorted(lost)[:3]}"
    w.sound(world)
    if arguments[0] == "push":
        # The other side's own program may be what was killed: its lock is removed by whoever keeps that repository.
        for lock in (world.root / "remote.git/refs/checkpoints").glob("*.lock"):
            lock.unlink()
    again = world.checkpoint(*arguments, check=False)
    assert again.returncode in codes, f"again: {again.returncode} {again.stderr.decode()}"
    world.checkpoint("save", "--allow-empty", "-m", "after")
    lost = known - w.checkpoints(world)
    assert not lost, f"lost checkpoints {sorted(lost)[:3]} by the command after"
    left = w.leftovers(world)
    assert not left, f"left {left}"
    w.lives(world)
