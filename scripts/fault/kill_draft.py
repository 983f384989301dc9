"""kill-draft: changes of a draft, with and without a session, one that saves, and a save, killed at every call.

strace ends the process (SIGKILL) on entering each call that can change the disk, the first time, the second, and so on.
After each kill:
  - every change that was acknowledged before is there, and the killed one is there once or not at all;
  - the next change and the next save work, and keep all of them;
  - git fsck and git status work, and nothing of ours is left over.
"""

import collections
import json
import pathlib
import tempfile

import world as w


def cases():
    """Name, what was there and acknowledged, the command that is killed, and the texts that must stay."""
    add = ["todo", "add", "killed"]

    def started(world):
        world.checkpoint("start", "s")

    def filled(world):
        started(world)
        world.checkpoint("todo", "add", "one")
        world.checkpoint("todo", "add", "two")

    def saved(world):
        filled(world)
        world.checkpoint("save", "-m", "saved")
        world.checkpoint("todo", "add", "three")

    def saves(world):
        filled(world)
        world.git("config", "checkpoint.saveEvery", "3")

    return [
        ("no session", lambda _world: None, add, []),
        ("empty draft", started, add, []),
        ("draft", filled, add, ["one", "two"]),
        ("after a save", saved, add, ["one", "two", "three"]),
        ("change that saves", saves, add, ["one", "two"]),
        ("save of a draft", filled, ["save", "-m", "x"], ["one", "two"]),
    ]


def run(program, _arguments):
    results = [sweep(program, *case) for case in cases()]
    print(f"kill-draft: {sum(kills for kills, _ in results)} kills, {sum(broken for _, broken in results)} broken")
    return not any(broken for _, broken in results)


def sweep(program, name, prepare, arguments, acknowledged):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.World(root / "fixture", program)
        fixture.repo.mkdir(parents=True)
        fixture.git("init", "-q", "-b", "main")
        fixture.write("README", "first\n")
        fixture.git("add", "-A")
        fixture.git("commit", "-qm", "first")
        prepare(fixture)
        points, broken = collections.Counter(), []
        for call in w.CALLS:
            when = 0
            while True:
                when += 1
                world = w.copy(root / "fixture", root / "trial", program)
                if world.inject(call, when, "signal=KILL", *arguments).returncode == 0:
                    break
                points[call] += 1
                try:
                    look(world, acknowledged)
                except (AssertionError, KeyError, ValueError) as error:
                    broken.append(f"{call} {when}: {error}")
        print(f"  {name}: {sum(points.values())} kills, {len(broken)} broken", flush=True)
        for line in broken:
            print(f"    {line[:600]}")
        return sum(points.values()), len(broken)


def todos(world):
    done = world.checkpoint("todo", "list", "--json")
    return [item["text"] for item in json.loads(done.stdout)["items"]]


def look(world, acknowledged):
    world.git("fsck", "--strict")
    world.git("status")
    world.checkpoint("todo", "add", "next")
    before = todos(world)
    assert [t for t in before if t not in ("killed", "next")] == acknowledged, f"there are {before}"
    assert before.count("killed") <= 1 and before.count("next") == 1, f"there are {before}"
    world.checkpoint("save", "-m", "after")
    assert todos(world) == before, f"after the save there are {todos(world)}, before {before}"
    git = world.repo / ".git"
    left = [str(p) for p in git.rglob("*.lock") if p.parent.name != "checkpoint"]
    left += [str(p) for p in (git / "checkpoint").rglob("*.new")]
    assert not left, f"left {left}"
