"""kill-fork: fork --worktree with copied files, a hook and a set-up command, killed at every call that changes the disk.

For each call, strace ends the process (SIGKILL) on entering it, as in kill. After each kill:
  - the user's files, index, branches and settings are as they were, but for the fork's own branch;
  - every checkpoint that was acknowledged before is reached by a ref of ours;
  - either nothing was made and the same command ends with 0, or the program says which command completes the fork;
  - then the fork has exactly the files, the index and the copies, the set-up command ran, and everything verifies.
"""

import os
import pathlib
import shutil
import tempfile

import world as w

ARGUMENTS = ["fork", "work~1", "--name", "forked", "--worktree", "../forked"]
SETUP = "cat src/file0 copied.o >built.o && echo set up >>setup.log"


def mine(world):
    """What is the user's: without the linked working tree and its branch."""
    found = w.theirs(world)
    found["refs"] = tuple(ref for ref in found["refs"] if b"refs/heads/checkpoint/" not in ref)
    return {key: value for key, value in found.items()
            if not key.startswith((".git/worktrees", ".git/refs/heads/checkpoint", ".git/logs/refs/heads/checkpoint"))}


def tree(world):
    """The files of the fork, and its index."""
    root, found = world.root / "forked", {}
    for folder, names, leaves in os.walk(root):
        for name in leaves:
            path = pathlib.Path(folder) / name
            if path != root / ".git":
                found[str(path.relative_to(root))] = os.readlink(path) if path.is_symlink() else path.read_bytes()
    # Where a process of the set-up command was killed its exit code is reported, and it is run again by the user.
    for name in ("setup.log", "built.o"):
        found.pop(name, None)
    return found, world.git("-C", "../forked", "ls-files", "--stage")


def judge(world, before, known, wanted):
    # git's own lock, where git was killed: its owner's to remove, as 'status' says.
    (world.repo / ".git/packed-refs.lock").unlink(missing_ok=True)
    now = mine(world)
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    assert not changed, f"the user's own changed: {sorted(changed)[:5]}"
    lost = known - w.checkpoints(world)
    assert not lost, f"lost checkpoints {sorted(lost)[:3]}"
    listed = world.checkpoint("fork", "--list")
    if b"fork --continue forked" in listed.stderr:
        world.checkpoint("fork", "--continue", "forked")
        log = (world.root / "forked/setup.log").read_bytes()
        assert log.endswith(b"set up\n"), f"the set-up command did not run: {log}"
        assert (world.root / "forked/built.o").stat().st_size > 0, "the set-up command made nothing"
    elif world.run("git", "rev-parse", "-q", "--verify", "refs/checkpoints/forked", check=False).returncode != 0:
        world.checkpoint(*ARGUMENTS)
    found = tree(world)
    different = sorted(path for path in found[0].keys() | wanted[0].keys() if found[0].get(path) != wanted[0].get(path))
    assert not different, f"the fork differs: {different[:5]}"
    assert found[1] == wanted[1], "the index of the fork differs"
    again = world.checkpoint("fork", "--list")
    assert b"--continue" not in again.stderr, "it is still not complete"
    assert b"locked" not in world.git("worktree", "list", "--porcelain"), "the working tree is locked"
    world.checkpoint("verify", "--all")
    world.git("fsck", "--strict")
    world.run(world.program, "save", "--allow-empty", "-m", "after")
    left = w.leftovers(world)
    assert not left, f"left {left}"


def run(program, names):
    reason = w.need("strace")
    if reason:
        print(f"kill-fork: skipped, {reason}")
        return True
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.small(root / "fixture", program)
        fixture.write("copied.o", "ignored and copied\n" * 100)
        fixture.git("config", "checkpoint.forkCopy", "copied.o")
        fixture.git("config", "checkpoint.forkSetup", SETUP)
        fixture.write(".git/hooks/post-checkout", "#!/bin/sh\nexit 0\n", 0o755)
        before, known = mine(fixture), w.checkpoints(fixture)
        whole = w.copy(root / "fixture", root / "whole", program)
        whole.checkpoint(*ARGUMENTS)
        wanted = tree(whole)
        shutil.rmtree(root / "whole")
        kills, broken = w.kills(root, program, ARGUMENTS, lambda world, when: judge(world, before, known, wanted))
        for line in broken:
            print(f"    {line[:600]}")
        print(f"kill-fork: {kills} kills, {len(broken)} broken")
        return not broken
