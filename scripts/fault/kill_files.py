"""kill-files [COMMAND...]: restore, apply, merge, undo, redo, pause --clean and resume --apply, also with chosen hunks, and
merge --continue, killed at every call that changes the disk.

For each call, strace ends the process (SIGKILL) on entering it: the first time it is made, the second, and so on until
a run comes to its end. After each kill:
  - every byte that was there before is on disk at its path, or in a checkpoint that a ref names;
  - git fsck and git status work;
  - the next command finishes what was begun, or on every other point goes back, with exactly the right files, index and
    record: nobody touched anything meanwhile, so nothing is refused;
  - no temporary file and no lock is left;
  - undo then takes all of it back; after going back the command does it all once more.

`merge --continue` is over or to be repeated after a kill: it saves the resolution once, changes no file, and undo then takes
the merge and its resolution back.
"""

import os
import pathlib
import shutil
import tempfile

from world import World, files, kills, leftovers, need

def build(root, program):
    """A repository with every kind of file, a checkpoint of it, and then nearly everything else."""
    world = World(root, program)
    world.repo.mkdir(parents=True)
    world.git("init", "-q", "-b", "main")
    for n in range(4):
        world.write(f"src/file{n}", f"first {n}\n")
    world.write("README", "first\n")
    world.write(".gitignore", "*.o\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "first")
    world.write("src/file0", "saved\n")
    world.write("private", "saved\n", 0o600)
    world.write("script", "saved\n", 0o755)
    world.write("was-folder/inner/deep", "saved\n")
    world.write("was-file", "saved\n")
    world.write("staged", "saved\n")
    world.git("add", "staged")
    world.write("staged", "saved and edited\n")
    (world.repo / "link").symlink_to("README")
    (world.repo / "empty/inner").mkdir(parents=True)
    world.checkpoint("todo", "add", "saved todo")
    world.checkpoint("save", "-m", "saved")
    # Scrambled.
    world.write("src/file0", "edited\n")
    world.write("src/file1", "edited\n")
    (world.repo / "src/file2").unlink()
    world.write("private", "edited\n", 0o640)
    world.write("script", "saved\n", 0o644)
    shutil.rmtree(world.repo / "was-folder")
    world.write("was-folder", "a file now\n")
    (world.repo / "was-file").unlink()
    world.write("was-file/inner/deep", "a folder now\n")
    world.write("staged", "edited\n")
    world.git("add", "-A")
    world.write("staged", "edited again\n")
    (world.repo / "link").unlink()
    (world.repo / "link").symlink_to("private")
    shutil.rmtree(world.repo / "empty")
    world.write("later/on", "later\n")
    world.write("ignored.o", "ignored\n")
    # A draft that no save has folded in.
    world.checkpoint("todo", "add", "acknowledged todo")
    world.checkpoint("decision", "add", "acknowledged decision")
    world.checkpoint("blocker", "add", "acknowledged blocker")
    return world


def record(world):
    """What a save would put into the record."""
    return [world.checkpoint(noun, "list").stdout for noun in ("todo", "decision", "blocker", "task")]


def state(world):
    return index(world), record(world)


def index(world):
    return world.git("ls-files", "--stage")


def contents(world):
    """The bytes of every file and link, by path."""
    found = {}
    for path, text in files(world).items():
        full = world.repo / path
        if text.startswith("link"):
            found[path] = os.readlink(full).encode()
        elif text != "empty folder":
            found[path] = full.read_bytes()
    return found


def held(world):
    """(path, bytes) of everything in the snapshots that sessions and the undo list name."""
    found = set()
    for ref in world.git("for-each-ref", "--format=%(refname)", "refs/checkpoints-undo", "refs/checkpoints").decode().split():
        listing = world.git("ls-tree", "-r", "-z", f"{ref}^2")
        for line in listing.split(b"\0"):
            if line:
                fields, path = line.split(b"\t", 1)
                found.add((path.decode(), world.git("cat-file", "blob", fields.split()[2].decode())))
    return found


def sweep(name, arguments, prepare, program):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = build(root / "fixture", program)
        prepare(fixture)
        before, before_state, before_bytes = files(fixture), state(fixture), contents(fixture)
        shutil.copytree(root / "fixture", root / "whole", symlinks=True)
        whole = World(root / "whole", program)
        whole.checkpoint(*arguments, check=False, data=answers(arguments))
        after, after_state = files(whole), state(whole)
        assert after != before, "the command changes nothing"

        def judge(world, when):
            look(world, (before, before_state), before_bytes, (after, after_state), arguments, back=when % 2 == 0)

        points, broken = kills(root, program, arguments, judge, data=answers(arguments))
        print(f"  {name}: {points} kills, {len(broken)} broken")
        for line in broken:
            print(f"    {line[:600]}")
        return points, len(broken)


def compare(world, wanted, what):
    found = files(world)
    different = {p: (found.get(p), wanted[0].get(p)) for p in found.keys() | wanted[0].keys()
                 if found.get(p) != wanted[0].get(p)}
    assert not different, f"{what}: {different}"
    assert index(world) == wanted[1][0], f"{what}: the index differs"
    assert record(world) == wanted[1][1], f"{what}: the record differs: {record(world)}"


def look(world, before, before_bytes, after, arguments, back):
    now, safe = contents(world), held(world)
    lost = [path for path, data in before_bytes.items()
            if now.get(path) != data and (path, data) not in safe]
    assert not lost, f"lost {lost}"
    world.git("fsck", "--strict")
    world.git("status")
    pending = (world.repo / ".git/checkpoint/restore.journal").exists()
    if pending:
        done = world.checkpoint("restore", "--abort" if back else "--continue", check=False)
        assert done.returncode in (0, 1), f"ended with {done.returncode}: {done.stderr.decode()}"
        wanted = before if back else after
    elif files(world) == before[0] and state(world) == before[1]:
        done = world.checkpoint(*arguments, check=False, data=answers(arguments))
        assert done.returncode in (0, 1), f"ended with {done.returncode}: {done.stderr.decode()}"
        wanted = after
    else:
        wanted = after
    compare(world, wanted, "back" if wanted is before else "forth")
    assert not leftovers(world), f"left {leftovers(world)}"
    if wanted is before:
        done = world.checkpoint(*arguments, check=False, data=answers(arguments))
        assert done.returncode in (0, 1), f"after going back: {done.returncode}: {done.stderr.decode()}"
        compare(world, after, "once more")
    # All of it is taken back, also what was done before the kill.
    world.checkpoint("redo" if arguments[0] == "undo" else "undo")
    compare(world, before, "taken back")
    # And the command after that.
    world.checkpoint("save", "--allow-empty", "-m", "after")


def answers(arguments):
    """The first hunk of each file, and not the rest."""
    return b"y\nd\n" * 40 if "-p" in arguments else None


def diverged(world):
    """Another session of the same beginning, with other files and another record."""
    mine = {path: (world.repo / path).read_text() for path in ("src/file3", "README")}
    name = world.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints").decode().split()[0]
    world.checkpoint("fork", "@", "--name", "other")
    world.write("src/file3", "theirs\n")
    world.write("README", "theirs\n")
    world.write("theirs/new", "theirs\n")
    world.checkpoint("todo", "add", "their todo")
    world.checkpoint("save", "-m", "theirs")
    shutil.rmtree(world.repo / "theirs")
    for path, text in mine.items():
        world.write(path, text)
    world.write("README", "ours\n")
    world.checkpoint("switch", name)


def resolved(world):
    """A merge with conflicts in files and in the record, of which those in files are resolved."""
    world.write("src/file1", "common\n")
    world.checkpoint("state", "patch", '{"shared": 1}')
    world.checkpoint("save", "-m", "common")
    name = world.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints").decode().split()[0]
    world.checkpoint("fork", "@", "--name", "other")
    world.write("src/file1", "theirs\n")
    world.write("theirs", "theirs\n")
    world.checkpoint("state", "patch", '{"shared": 2}')
    world.checkpoint("save", "-m", "theirs")
    (world.repo / "theirs").unlink()
    world.write("src/file1", "ours\n")
    world.checkpoint("switch", name)
    world.checkpoint("state", "patch", '{"shared": 3}')
    world.checkpoint("todo", "add", "our todo")
    world.before_merge = files(world), state(world)
    done = world.checkpoint("merge", "other", "--files", check=False)
    assert done.returncode == 1, done.stderr.decode()
    world.write("src/file1", "both\n")
    world.git("add", "src/file1")


def concluded(name, program):
    """The sweep of `merge --continue`."""
    arguments = ["merge", "--continue"]
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = build(root / "fixture", program)
        resolved(fixture)
        # The text with markers is in the merge's own checkpoint, which the resolution follows.
        known = {(path, data) for path, data in held(fixture) if b"<<<<<<< " not in data}
        before_bytes = contents(fixture)
        shutil.copytree(root / "fixture", root / "whole", symlinks=True)
        whole = World(root / "whole", program)
        whole.checkpoint(*arguments)
        after = files(whole), state(whole)

        def judge(world, when):
            assert contents(world) == before_bytes, "a file changed"
            lost = known - held(world)
            assert not lost, f"lost {lost}"
            world.git("fsck", "--strict")
            world.git("status")
            done = world.checkpoint(*arguments, check=False)
            is_over = done.returncode == 1 and b"no merge in progress" in done.stderr
            assert done.returncode == 0 or is_over, f"again: {done.returncode}: {done.stderr.decode()}"
            compare(world, after, "concluded")
            subjects = world.checkpoint("log", "--oneline").stdout.decode().splitlines()
            many = sum("resolved the conflicts" in subject for subject in subjects)
            assert many == 1, f"{many} checkpoints have the resolution"
            assert not leftovers(world), f"left {leftovers(world)}"
            world.checkpoint("undo")
            compare(world, fixture.before_merge, "taken back")
            world.checkpoint("save", "--allow-empty", "-m", "after")

        points, broken = kills(root, program, arguments, judge)
        print(f"  {name}: {points} kills, {len(broken)} broken")
        for line in broken:
            print(f"    {line[:600]}")
        return points, len(broken)


def restored(world):
    world.checkpoint("restore", "@", "--index")


def taken_back(world):
    restored(world)
    world.checkpoint("undo")


COMMANDS = {
    "restore": (["restore", "@", "--index"], lambda world: None),
    "apply": (["apply", "@"], lambda world: None),
    "merge": (["merge", "other", "--files"], diverged),
    "restore-p": (["restore", "@", "-p"], lambda world: None),
    "apply-p": (["apply", "@", "-p"], lambda world: None),
    "undo": (["undo"], restored),
    "redo": (["redo"], taken_back),
    "clean": (["pause", "--clean"], lambda world: None),
    "resume": (["resume", "--apply"], lambda world: world.checkpoint("pause", "--clean")),
    "merge-continue": None,
}


def run(program, names):
    reason = need("strace")
    if reason:
        print(f"kill-files: skipped, {reason}")
        return True
    swept = {name: concluded(name, program) if COMMANDS[name] is None else sweep(name, *COMMANDS[name], program)
             for name in names or COMMANDS}
    results = list(swept.values())
    print(f"kill-files: {sum(kills for kills, _ in results)} kills, {sum(broken for _, broken in results)} broken")
    return not any(broken for _, broken in results)
