"""bombs: things that are small to make and huge to read.

A gigabyte of zeros, a tree of 10^12 paths out of 13 objects, JSON 10,000 deep, 100,000 refs: each is refused or handled
within 10 s and 256 MiB of memory.
"""

import pathlib
import tempfile
import time

import world as w

SECONDS, MEMORY = 10, 256 << 20


def run(program, _names):
    tried, broken = 0, []
    for name, prepare, commands in BOMBS:
        with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
            world = w.small(pathlib.Path(folder) / "a", program)
            prepare(world)
            for arguments in commands:
                tried += 1
                problem = measured(world, arguments)
                if problem:
                    broken.append(f"{name}: {' '.join(arguments)}: {problem}")
    for line in broken:
        print(f"  {line[:600]}")
    print(f"bombs: {tried} commands on {len(BOMBS)} bombs, {len(broken)} broken")
    return not broken


def measured(world, arguments):
    report = world.root / "peak"
    start = time.monotonic()
    line = ["timeout", "60", "time", "-f", "%M", "-o", str(report), world.program, *arguments]
    done = world.run(*line, check=False)
    seconds = time.monotonic() - start
    peak = int(report.read_text().split()[-1]) * 1024
    if b"panicked" in done.stderr or done.returncode in (124, 134, 137, 139):
        return f"ended with {done.returncode}: {done.stderr.decode()}"
    if seconds > SECONDS or peak > MEMORY:
        return f"{seconds:.1f} s, {peak >> 20} MiB"
    return None


def zeros(world):
    with open(world.repo / "zeros", "wb") as file:
        file.truncate(1 << 30)
    world.git("config", "checkpoint.maxFileSize", "2g")
    world.git("config", "checkpoint.maxTotalSize", "4g")


def object_of(world, kind, data):
    return world.git("hash-object", "-w", "-t", kind, "--stdin", "--literally", data=data).decode().strip()


def crafted(world, session, tree, document=None):
    """A session whose newest checkpoint's files are this tree, made by git alone."""
    tip = world.git("rev-parse", "refs/checkpoints/work").decode().strip()
    index = world.git("rev-parse", f"{tip}^2^2").decode().strip()
    head = world.git("rev-parse", "HEAD").decode().strip()
    snapshot = world.git("commit-tree", "-p", head, "-p", index, "-m", "files", tree).decode().strip()
    root = world.git("rev-parse", f"{tip}^{{tree}}").decode().strip()
    if document is not None:
        blob = object_of(world, "blob", document)
        listing = [line for line in world.git("ls-tree", root).splitlines() if not line.endswith(b"\tcheckpoint.json")]
        listing.append(f"100644 blob {blob}\tcheckpoint.json".encode())
        root = world.git("mktree", data=b"\n".join(listing) + b"\n").decode().strip()
    message = world.git("log", "-1", "--format=%B", tip)
    commit = world.git("commit-tree", "-p", f"{tip}~1", "-p", snapshot, root, data=message).decode().strip()
    world.git("update-ref", f"refs/checkpoints/{session}", commit)


def paths(world):
    blob = object_of(world, "blob", b"x\n")
    tree = world.git("mktree", data="".join(f"100644 blob {blob}\tf{n}\n" for n in range(10)).encode()).decode().strip()
    for _ in range(11):
        tree = world.git("mktree", data="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode()).decode().strip()
    crafted(world, "evil", tree)


def deep(world):
    tree = world.git("rev-parse", "refs/checkpoints/work^2^{tree}").decode().strip()
    crafted(world, "evil", tree, b'{"schema": "git-checkpoint/1", "session": ' + b"[" * 10_000 + b"]" * 10_000 + b"}")
    (world.repo / "deep.json").write_bytes(b"[" * 10_000 + b"]" * 10_000)


def refs(world):
    tip = world.git("rev-parse", "refs/checkpoints/work").decode().strip()
    world.git("update-ref", "--stdin", data="".join(f"create refs/checkpoints/s{n:06} {tip}\n" for n in range(100_000)).encode())
    world.git("pack-refs", "--all")


LOOKS = (["list"], ["status"], ["show", "evil"], ["log", "evil"], ["diff", "evil"], ["resume", "evil"], ["verify", "evil"],
         ["restore", "evil", "--dry-run"], ["restore", "evil", "--force"], ["apply", "evil"])
BOMBS = (
    ("1 GiB of zeros", zeros, (["save", "-m", "zeros"], ["status"], ["restore", "@~1", "--dry-run"])),
    ("10^12 paths", paths, LOOKS),
    ("JSON 10,000 deep", deep, (*LOOKS, ["save", "--record", "deep.json"], ["import", "deep.json"])),
    ("100,000 refs", refs, (["save", "-m", "x"], ["list"], ["status"], ["log", "work"], ["show", "work~1"])),
)
