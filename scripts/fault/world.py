"""A repository of its own for one trial, and what is looked at before and after.

Not a test by itself: the modules beside it are.
"""

import hashlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ana",
    "GIT_AUTHOR_EMAIL": "ana@example.org",
    "GIT_COMMITTER_NAME": "Ana",
    "GIT_COMMITTER_EMAIL": "ana@example.org",
    "LC_ALL": "C",
    "TERM": "dumb",
}

# Seconds after which a command that waits will wait for ever; none takes three.
PATIENCE = 30

# Every call by which the program, the git it starts, and their libraries can change the disk.
CALLS = (
    "write pwrite64 writev ftruncate fallocate rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat "
    "mkdir mkdirat rmdir chmod fchmod fchmodat utimensat fsync fdatasync copy_file_range sendfile flock"
).split()


class World:
    """A repository and the program that is tried on it."""

    def __init__(self, root, program):
        self.root = root
        self.repo = root / "repo"
        self.program = program
        self.env = dict(ENVIRONMENT, HOME=str(root))

    def run(self, *line, check=True, data=None, timeout=None, env=None):
        done = subprocess.run(
            line, cwd=self.repo, env=dict(self.env, **(env or {})), input=data, capture_output=True, timeout=timeout
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{line} gave {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
        return done

    def run_for(self, seconds, line):
        """Runs a command that is killed, with all that it started, when it takes longer."""
        begun = subprocess.Popen(
            line, cwd=self.repo, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = begun.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(begun.pid, signal.SIGKILL)
            out, err = begun.communicate()
        return subprocess.CompletedProcess(line, begun.returncode, out, err)

    def git(self, *args, **more):
        return self.run("git", *args, **more).stdout

    def checkpoint(self, *args, **more):
        return self.run(self.program, *args, **more)

    def write(self, path, text, mode=0o644):
        path = self.repo / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def inject(self, call, when, what, *args, **more):
        """Runs the program with a fault at the `when`th `call`: `signal=KILL`, `error=EIO` and the like.

        Each process and thread counts its own calls. The answer's `met` tells whether there was such a call at all.
        strace's failing `close` does not close, as the system's does: a pipe stays open, and both ends wait for each
        other for ever. Then all of them are killed, and the answer's code is that of SIGKILL.
        """
        trace = self.root / "trace"
        line = ["strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={call}",
                "-e", f"inject={call}:{what}:when={when}", self.program, *args]
        done = self.run_for(PATIENCE, line) if call == "close" else self.run(*line, check=False, **more)
        told = trace.read_text(errors="replace")
        trace.unlink()
        done.met = ("killed by SIGKILL" if what == "signal=KILL" else "INJECTED") in told
        return done


def need(*tools, root=False):
    """Why this cannot be tried here, or None."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        return f"needs {', '.join(missing)}"
    if root and os.geteuid() != 0:
        return "needs root"
    return None


def small(root, program):
    """A repository with a remote, two branches and every state a file can have, and a session with two checkpoints."""
    world = World(root, program)
    world.repo.mkdir(parents=True)
    world.git("init", "-q", "-b", "main")
    for n in range(3):
        world.write(f"src/file{n}", f"first {n}\n")
    world.write(".gitignore", "*.o\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "first")
    world.git("branch", "merged")
    world.git("init", "-q", "--bare", str(root / "remote.git"))
    world.git("remote", "add", "origin", "../remote.git")
    world.git("push", "-q", "origin", "main")
    world.checkpoint("start", "work")
    world.write("src/file0", "one\n")
    world.write("new", "one\n")
    world.checkpoint("save", "-m", "one", "--name", "named")
    world.write("src/file1", "two\n")
    world.git("add", "src/file1")
    world.write("src/file1", "two, edited\n")
    world.checkpoint("save", "-m", "two")
    world.write("ignored.o", "ignored\n")
    world.write("new", "three\n")
    world.write("another", "three\n")
    return world


def copy(source, target, program):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)
    return World(target, program)


# With `--sample`, the later calls of a kind are tried ever more rarely: each is this part later than the one before.
SAMPLE = None


def moments():
    """The calls of one kind before which a run is killed, by number."""
    when = 1
    while True:
        yield when
        when += 1 if SAMPLE is None else max(1, when // SAMPLE)


def kills(root, program, arguments, look, data=None):
    """Runs a command on copies of `root/fixture`, killed at every call that changes the disk; `look` judges each.

    For each call, strace ends the process (SIGKILL) on entering it: the first time it is made, the second, and so on
    until a run meets no such call. `data` is what it reads. Gives the number of kills and what was found broken.
    """
    points, broken = 0, []
    for call in CALLS:
        for when in moments():
            world = copy(root / "fixture", root / "trial", program)
            ended = world.inject(call, when, "signal=KILL", *arguments, data=data)
            if not ended.met:
                break
            points += 1
            try:
                look(world, when)
            except (AssertionError, KeyError, ValueError) as error:
                broken.append(f"{call} {when}: {error}")
    return points, broken


def files(world):
    """Path to kind, mode and content of everything but the repository's own folder."""
    found = {}
    for folder, names, leaves in os.walk(world.repo):
        if pathlib.Path(folder) == world.repo:
            names.remove(".git")
        if not names and not leaves:
            found[os.path.relpath(folder, world.repo)] = "empty folder"
        for name in leaves + [n for n in names if os.path.islink(os.path.join(folder, n))]:
            path = os.path.join(folder, name)
            meta = os.lstat(path)
            if stat.S_ISLNK(meta.st_mode):
                text = f"link {os.readlink(path)}"
            else:
                with open(path, "rb") as file:
                    text = f"{stat.S_IMODE(meta.st_mode):o} {hashlib.sha256(file.read()).hexdigest()}"
            found[os.path.relpath(path, world.repo)] = text
    return found


def theirs(world):
    """All that is the user's: files with their times, and everything in the git folder that is not ours."""
    found = {}
    git = world.repo / ".git"
    for folder, names, leaves in os.walk(world.repo):
        inside = os.path.relpath(folder, git)
        if inside in ("checkpoint", "objects", "reftable") or "checkpoints" in folder.removeprefix(str(world.repo)):
            names.clear()
            continue
        for name in leaves:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, world.repo)
            meta = os.lstat(path)
            if stat.S_ISREG(meta.st_mode):
                with open(path, "rb") as file:
                    data = hashlib.sha256(file.read()).hexdigest()
            else:
                data = os.readlink(path) if stat.S_ISLNK(meta.st_mode) else stat.S_IFMT(meta.st_mode)
            found[key] = (data, stat.S_IMODE(meta.st_mode), meta.st_mtime_ns)
    # Packed refs may hold ours; git rewrites the file when one is deleted.
    packed = found.pop(".git/packed-refs", None)
    if packed:
        lines = (git / "packed-refs").read_text().splitlines()
        found["packed"] = tuple(line for line in lines if "refs/checkpoints" not in line)
    # In reftable repositories all refs share files.
    refs = world.run("git", "for-each-ref", check=False).stdout.splitlines()
    found["refs"] = tuple(line for line in refs if b"\trefs/checkpoints" not in line)
    return found


def checkpoints(world):
    """The ids of all checkpoints that a ref of ours or its reflog reaches."""
    return set(world.git("rev-list", "--first-parent", "--reflog", "--glob=refs/checkpoints*").decode().split())


def leftovers(world):
    """What a finished or recovered command may not leave behind."""
    git = world.repo / ".git"
    found = [str(path) for path in world.repo.rglob(".checkpoint-restore-*")]
    found += [str(path) for path in git.rglob("*.lock") if path.parent.name not in ("checkpoint", "locks")]
    found += [str(path) for path in git.rglob("checkpoint_tmp*")]
    found += [str(path) for path in git.rglob("pack-*.keep")]
    swap = git / "checkpoint/swap"
    found += [str(path) for path in swap.iterdir()] if swap.is_dir() else []
    for name in ("restore.journal", "refs.journal", "index.tmp", "index.lock.tmp"):
        path = git / "checkpoint" / name
        if path.exists() and path.stat().st_size:
            found.append(str(path))
    return found


def sound(world):
    """Git's own word on the repository, and that the user's own work goes on."""
    done = world.run("git", "fsck", "--strict", check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and b"error" not in said and b"missing" not in said, f"fsck: {said.decode()[:500]}"
    world.git("status", "--porcelain")


def lives(world):
    """The user's own commands that a leftover of ours would stop."""
    world.git("branch", "-q", "-d", "merged")
    world.git("fetch", "-q", "origin")
    world.git("gc", "-q", "--prune=now")
    world.checkpoint("verify", "--all")
