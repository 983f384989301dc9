"""folding: files and directories renamed in case alone, on a file system that takes both names for one.

A file system in user space stands for those of Windows and macOS: it finds every name by any case and any Unicode form.
Each trial saves one name, gives the file or directory the other, and then restores, takes that back and does it again; each
time exactly the right names with the right bytes are on the disk. The trials of accents run on one that keeps names as they
are (APFS) and on one that takes accents apart (HFS+), with core.precomposeUnicode, and what is saved has git's form of the
names. Needs root or fusermount, and the Python module fusepy with libfuse.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata

from world import World, files

# What is saved, what stands there afterwards, and the options of the restore.
TRIALS = {
    "a file": ({"aa": "1"}, {"AA": "1"}, []),
    "a file with other bytes": ({"aa": "1"}, {"AA": "2"}, []),
    "a directory": ({"dd/x": "1"}, {"DD/x": "1"}, []),
    "a directory and its file": ({"dd/x": "1"}, {"DD/X": "2"}, []),
    "nested directories": ({"d/e/x": "1", "d/y": "1"}, {"D/E/x": "1", "D/y": "1"}, []),
    "an inner directory": ({"d/e/x": "1"}, {"d/E/x": "1"}, []),
    "a file for a directory": ({"d/x": "1"}, {"D": "2"}, []),
    "a directory for a file": ({"d": "1"}, {"D/x": "2"}, []),
    "two that change places": ({"a": "1", "B": "2"}, {"A": "2", "b": "1"}, []),
    "a file, and files that came later stay": ({"aa": "1"}, {"AA": "2", "later": "3"}, ["--overlay"]),
    "the index as well": ({"aa": "1"}, {"AA": "1"}, ["--index"]),
}

APART, COMPOSED = "e\u0301", "\u00e9"

# With accents: what is on the disk before the first commit, and so tracked, what comes untracked, and what is edited.
ACCENTS = {
    "accents, composed": ({f"{COMPOSED}t{COMPOSED}": "1"}, {f"new {COMPOSED}": "2"}),
    "accents, apart": ({f"{COMPOSED}t{COMPOSED}": "1"}, {f"new {APART}": "2"}),
    "accents in a directory": ({f"d{COMPOSED}/x": "1"}, {f"n{APART}/{APART}": "2", f"d{APART}/y": "3"}),
    "accents and case": ({"\u00c9t\u00e9": "1"}, {f"N{APART}": "2"}),
}

SYSTEM = r'''
import os, sys, unicodedata
try:  # Debian's name for it
    from fusepy import FUSE, FuseOSError, Operations
except ImportError:
    from fuse import FUSE, FuseOSError, Operations

BACK = sys.argv[1]
# Whether a new name is kept with its accents apart.
APART = sys.argv[3] == "apart"


def fold(name):
    return unicodedata.normalize("NFD", name).lower()


def form(name):
    return unicodedata.normalize("NFD", name) if APART else name


def real(path):
    at = BACK
    for name in filter(None, path.split("/")):
        exact = os.path.join(at, form(name))
        if not os.path.lexists(exact) and os.path.isdir(at):
            folded = [other for other in os.listdir(at) if fold(other) == fold(name)]
            exact = os.path.join(at, folded[0]) if folded else exact
        at = exact
    return at


def picked(meta, names):
    return {name: getattr(meta, name) for name in names.split()}


class Folding(Operations):
    def __call__(self, operation, *arguments):
        try:
            return getattr(self, operation)(*arguments)
        except OSError as error:
            raise FuseOSError(error.errno)

    def getattr(self, path, handle=None):
        return picked(os.lstat(real(path)), "st_atime st_ctime st_gid st_ino st_mode st_mtime st_nlink st_size st_uid")

    def statfs(self, path):
        return picked(os.statvfs(real(path)), "f_bavail f_bfree f_blocks f_bsize f_favail f_ffree f_files f_frsize f_namemax")

    def readdir(self, path, handle):
        return [".", ".."] + os.listdir(real(path))

    def readlink(self, path):
        return os.readlink(real(path))

    def mkdir(self, path, mode):
        os.mkdir(real(path), mode)

    def rmdir(self, path):
        os.rmdir(real(path))

    def unlink(self, path):
        os.unlink(real(path))

    def symlink(self, path, text):
        os.symlink(text, real(path))

    def link(self, path, target):
        os.link(real(target), real(path))

    def rename(self, old, new):
        source, target = real(old), real(new)
        if source == target:
            target = os.path.join(os.path.dirname(target), form(os.path.basename(new)))
        os.rename(source, target)

    def chmod(self, path, mode):
        os.chmod(real(path), mode)

    def chown(self, path, user, group):
        os.chown(real(path), user, group)

    def utimens(self, path, times=None):
        os.utime(real(path), times)

    def open(self, path, flags):
        return os.open(real(path), flags)

    def create(self, path, mode, info=None):
        return os.open(real(path), os.O_RDWR | os.O_CREAT, mode)

    def read(self, path, length, offset, handle):
        return os.pread(handle, length, offset)

    def write(self, path, data, offset, handle):
        return os.pwrite(handle, data, offset)

    def truncate(self, path, length, handle=None):
        os.truncate(real(path), length)

    def release(self, path, handle):
        os.close(handle)

    def fsync(self, path, data, handle):
        os.fsync(handle)


FUSE(Folding(), sys.argv[2], foreground=True, nothreads=True, entry_timeout=0, attr_timeout=0, negative_timeout=0, use_ino=len(sys.argv) > 4)
'''


def write(world, wanted):
    for path, text in wanted.items():
        world.write(path, text)


def clear(world):
    for path in world.repo.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def found(world):
    return {path: (world.repo / path).read_text() for path in files(world)}


def trial(root, program, saved, edited, options):
    world = World(root, program)
    world.repo.mkdir()
    world.git("init", "-q", "-b", "main")
    write(world, saved)
    world.git("add", "-A")
    world.git("commit", "-qm", "first")
    world.checkpoint("save", "--session", "s", "--allow-empty", "-m", "saved")
    clear(world)
    write(world, edited)
    kept = {path: text for path, text in edited.items() if path == "later"}
    wanted = {**saved, **kept}
    for step, state in (
        (("restore", "s", "--force", *options), wanted),
        (("undo",), edited),
        (("redo",), wanted),
        (("undo",), edited),
    ):
        world.checkpoint(*step)
        assert found(world) == state, f"{step}: {found(world)}, wanted {state}"
    world.git("fsck", "--strict")


def composed(names):
    return {unicodedata.normalize("NFC", name): text for name, text in names.items()}


def accents(root, program, tracked, untracked):
    world = World(root, program)
    world.repo.mkdir()
    world.git("init", "-q", "-b", "main")
    world.git("config", "core.precomposeUnicode", "true")
    write(world, tracked)
    # By name: git lists names composed on macOS alone.
    world.git("update-index", "--add", "--", *tracked)
    world.git("commit", "-qm", "first")
    write(world, untracked)
    world.checkpoint("save", "--session", "s", "-m", "saved")
    tree = world.git("ls-tree", "-r", "-z", "--name-only", "refs/checkpoints/s^2").decode().split("\0")
    saved = {**tracked, **untracked}
    assert sorted(filter(None, tree)) == sorted(composed(saved)), f"saved as {tree}"
    first = world.git("rev-parse", "refs/checkpoints/s^2^{tree}")
    world.checkpoint("save", "--session", "s", "--allow-empty")
    assert world.git("rev-parse", "refs/checkpoints/s^2^{tree}") == first, "the second save is another one"
    edited = {name: text + " edited" for name, text in saved.items()}
    write(world, edited)
    for step, state in ((("restore", "s", "--force"), saved), (("undo",), edited), (("redo",), saved)):
        world.checkpoint(*step)
        assert composed(found(world)) == composed(state), f"{step}: {found(world)}, wanted {state}"
    clear(world)
    world.checkpoint("restore", "s", "--force")
    assert composed(found(world)) == composed(saved), f"restore: {found(world)}"
    world.git("fsck", "--strict")


def run(program, names):
    """Tries all of it, or those whose names are given."""
    python = os.environ.get("FUSE_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import importlib.util as u; exit(not (u.find_spec('fusepy') or u.find_spec('fuse')))"], capture_output=True).returncode != 0:
        print("folding: skipped, the Python module fusepy or libfuse is not here (FUSE_PYTHON names another Python)")
        return True
    forms = {name: TRIALS[name] for name in names or TRIALS if name in TRIALS}
    spelled = {name: ACCENTS[name] for name in names or ACCENTS if name in ACCENTS}
    broken = mounted(python, "kept", lambda place, name: trial(place, program, *forms[name]), forms)
    for how in ("kept", "apart"):
        # A file has one number, whatever name it is found by.
        broken += mounted(python, how, lambda place, name: accents(place, program, *spelled[name]), spelled, "numbered")
    print(f"folding: {len(forms) + 2 * len(spelled)} trials, {broken} broken")
    return broken == 0


def mounted(python, how, attempt, names, *numbered):
    """Runs trials on a file system of their own; gives how many broke a rule."""
    broken = 0
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        (root / "back").mkdir()
        (root / "mounted").mkdir()
        system = subprocess.Popen([python, "-c", SYSTEM, str(root / "back"), str(root / "mounted"), how, *numbered])
        try:
            for _ in range(100):
                if os.path.ismount(root / "mounted"):
                    break
                time.sleep(0.1)
            for name in names:
                place = root / "mounted" / str(abs(hash(name)))
                place.mkdir()
                try:
                    attempt(place, name)
                except AssertionError as error:
                    broken += 1
                    print(f"  {name} ({how}): {str(error)[:600]}")
        finally:
            subprocess.run(["umount", str(root / "mounted")], capture_output=True)
            system.wait(timeout=20)
    return broken
