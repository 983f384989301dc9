"""kill-purge: a purge of a file, killed at every call that changes the disk.

A purge is to remove, so the rules are: what a ref names is whole (verify, git fsck); the next purge finishes; and after
git gc nothing in the repository has a byte of the file, and everything of every other file.
"""

import pathlib
import tempfile

from world import World, kills, leftovers, need

SECRET = "the needle in every checkpoint\n"


def build(root, program):
    """A repository whose chain, fork, undo list and trash hold the same secret."""
    world = World(root, program)
    world.repo.mkdir(parents=True)
    world.git("init", "-q", "-b", "main")
    world.write("README", "first\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "first")
    world.checkpoint("start", "auth")
    for n in range(3):
        world.write("secret", f"{SECRET}{n}\n")
        world.write("other", f"other {n}\n")
        world.checkpoint("save", "-m", f"save {n}")
    world.checkpoint("pin", "@")
    world.checkpoint("fork", "@", "--name", "try")
    world.checkpoint("fork", "@", "--name", "gone")
    world.checkpoint("delete", "gone")
    world.checkpoint("switch", "auth")
    world.checkpoint("restore", "auth~1", "--force")
    (world.repo / "secret").unlink()
    return world


def run(program, _names):
    reason = need("strace")
    if reason:
        print(f"kill-purge: skipped, {reason}")
        return True
    arguments = ["purge", "--yes", "--", "secret"]
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        build(root / "fixture", program)
        points, broken = kills(root, program, arguments, lambda world, _when: look(world, arguments))
        for line in broken:
            print(f"  {line[:600]}")
        print(f"kill-purge: {points} kills, {len(broken)} broken")
        return not broken


def look(world, arguments):
    def whole():
        world.git("fsck", "--strict")
        world.git("status")
        world.checkpoint("verify", "--all")
    whole()
    world.checkpoint(*arguments)
    whole()
    assert not leftovers(world), f"left {leftovers(world)}"
    assert not (world.repo / ".git/checkpoint/purge.json").exists(), "the note is left"
    for path in (world.repo / ".git/logs/refs").rglob("*"):
        assert not path.is_file() or "checkpoints" not in str(path) or len(path.read_text().splitlines()) <= 1, path
    refs = world.git("for-each-ref", "--format=%(refname)").decode()
    assert all(name in refs for name in ("checkpoints/auth", "checkpoints/try", "checkpoints-trash/")), refs
    world.checkpoint("undo", "--force")
    world.checkpoint("save", "--allow-empty", "-m", "after")
    world.git("gc", "-q", "--prune=now")
    objects = world.git("cat-file", "--batch-all-objects", "--batch", "--unordered")
    assert SECRET.encode() not in objects, "an object has it"
    assert b"other 0" in objects and b"other 2" in objects, "another file is gone"
    whole()
