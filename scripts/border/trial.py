"""A row: its name, and a trial of it in a repository of its own.

Not a part by itself: the modules beside it hold the rows.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

ROWS = []

# Seconds after which a command that waits will wait for ever.
PATIENCE = 60

# What each script begins with. `new` makes a repository with one commit and stays in it.
PRELUDE = r"""
new() { git init -q -b main "${1:-r}"; cd "${1:-r}"; printf 'a\nb\nc\n' >a.txt; git add -A; git commit -qm init; }
cp_() { git checkpoint "$@"; }
killed_at() { { strace -f -qq -o "$ROOT/trace" -e trace="$1" -e inject="$1:signal=KILL:when=$2" git-checkpoint "${@:3}" & } >/dev/null 2>&1; wait $! 2>/dev/null; grep -q 'killed by SIGKILL' "$ROOT/trace"; }
failing() { strace -f -qq -o "$ROOT/trace" -e trace="$1" -e inject="$1:error=$2" git-checkpoint "${@:3}"; }
"""


class Fails(Exception):
    """The row does not hold, and why."""


class Cannot(Exception):
    """The row cannot be tried here, or is not meant to be possible, and why."""


class Row:
    """One row: a name and the function that tries it."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def run(self, program):
        """The verdict and the reason."""
        trial = Trial(program)
        try:
            return "holds", self.function(trial) or ""
        except Fails as error:
            return "fails", str(error)
        except Cannot as error:
            return "cannot", str(error)
        except (KeyError, ValueError, IndexError, OSError) as error:
            return "fails", f"{type(error).__name__}: {error}"
        finally:
            trial.remove()


def row(name):
    """Makes a function a row."""

    def add(function):
        ROWS.append(Row(name, function))
        return function

    return add


class Output:
    """What a script printed on both streams, and how it ended."""

    def __init__(self, code, text):
        self.code, self.text = code, text

    def has(self, *parts):
        """Every part, as a regular expression, is in the text."""
        for part in parts:
            if not re.search(part, self.text, re.M | re.S):
                raise Fails(f"without '{part}': {self.short()}")
        return self

    def lacks(self, *parts):
        for part in parts:
            if re.search(part, self.text, re.M):
                raise Fails(f"with '{part}': {self.short()}")
        return self

    def good(self, *codes):
        if self.code not in (codes or (0,)):
            raise Fails(f"ended with {self.code}: {self.short()}")
        return self

    def same(self, wanted):
        if self.text.strip() != wanted.strip():
            raise Fails(f"wanted '{wanted.strip()}': {self.short()}")
        return self

    def json(self):
        return json.loads(self.text)

    def short(self):
        return " / ".join(self.text.strip().splitlines())[-300:]


class Trial:
    """A temporary directory with a home, in which scripts of bash run one after the other."""

    def __init__(self, program):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="checkpoint-borders-")).resolve()
        self.directory = self.root / "t"
        self.directory.mkdir()
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "PYENV_ROOT", "FUSE_PYTHON") if name in os.environ}
        self.env = dict(
            kept,
            PATH=f"{pathlib.Path(program).parent}:{os.environ['PATH']}",
            HOME=str(self.root / "home"),
            GIT_CONFIG_NOSYSTEM="1",
            GIT_CONFIG_GLOBAL=str(self.root / "config"),
            ROOT=str(self.root),
            TERM="dumb",
            LC_ALL="C.UTF-8",
        )
        (self.root / "home").mkdir()
        (self.root / "config").write_text(
            "[user]\n\tname = Ana\n\temail = ana@example.org\n[init]\n\tdefaultBranch = main\n"
            "[protocol \"file\"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n"
        )

    def sh(self, script, patience=PATIENCE, **env):
        """Runs a script in the directory; a script that takes too long is a failure."""
        begun = subprocess.Popen(
            ["bash", "-c", PRELUDE + script], cwd=self.directory, env=dict(self.env, **env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )
        try:
            out, _ = begun.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(begun.pid, signal.SIGKILL)
            begun.communicate()
            raise Fails(f"took more than {patience} s")
        return Output(begun.returncode, out.decode(errors="replace"))

    def at(self, *parts):
        return self.directory.joinpath(*parts)

    def read(self, *parts):
        return self.at(*parts).read_text()

    def need(self, *tools, root=False):
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing:
            raise Cannot(f"needs {', '.join(missing)}")
        if root and os.geteuid() != 0:
            raise Cannot("needs root")

    def remove(self):
        subprocess.run(["chmod", "-R", "u+rwX", self.root], capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)


def holds(condition, why):
    if not condition:
        raise Fails(why)
