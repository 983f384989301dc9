"""corrupt [COUNT]: damage of every kind, and never a wrong byte given back.

Bit flips and truncations of objects, packs, refs, reflogs and our own files, objects replaced by others, empty and
garbage refs, commits taken away. `verify` finds each that touches a checkpoint and names it; whatever is restored,
shown or resumed is what was saved, or an error; `repair` never makes anything worse; no command panics.
"""

import pathlib
import random
import tempfile
import zlib

import world as w


def run(program, names):
    count = int(names[0]) if names else 300
    tried, broken = 0, []
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.small(root / "fixture", program)
        loose(fixture)
        packed = w.copy(root / "fixture", root / "packed", program)
        packed.git("gc", "-q")
        for number in range(count):
            chance = random.Random(number)
            base = root / ("packed" if number % 2 else "fixture")
            world = w.copy(base, root / "trial", program)
            what = damage(world, chance)
            if what is None:
                continue
            tried += 1
            try:
                look(world, fixture, what)
            except AssertionError as error:
                broken.append(f"{number} {what}: {error}")
    for line in broken:
        print(f"  {line[:600]}")
    print(f"corrupt: {tried} damages, {len(broken)} broken")
    return not broken


def loose(world):
    """Unpacks everything, so that single objects can be damaged."""
    pack = world.repo / ".git/objects/pack"
    for path in sorted(pack.glob("*.pack")):
        data = path.read_bytes()
        for sibling in pack.glob(path.stem + ".*"):
            sibling.unlink()
        world.git("unpack-objects", "-q", data=data)


def damage(world, chance):
    git = world.repo / ".git"
    objects = [path for path in (git / "objects").rglob("*") if path.is_file() and path.suffix not in (".rev", ".bitmap")]
    refs = [path for path in (git / "refs").rglob("*") if path.is_file() and "checkpoints" in str(path)]
    logs = [path for path in (git / "logs").rglob("*") if path.is_file() and "checkpoints" in str(path)]
    own = [path for path in (git / "checkpoint").rglob("*") if path.is_file() and path.stat().st_size]
    kind = chance.choice(["flip", "flip", "cut", "swap", "ref", "empty-ref", "gone", "log", "own", "zero"])
    pool = {"ref": refs, "empty-ref": refs, "log": logs, "own": own}.get(kind, objects)
    if not pool:
        return None
    path = chance.choice(sorted(pool))
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    if kind in ("flip", "log", "own") and data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[chance.randrange(len(data)):]
    elif kind in ("zero", "empty-ref"):
        data = bytearray() if kind == "empty-ref" else bytearray(len(data))
    elif kind == "ref":
        data = bytearray(chance.choice([b"garbage\n", b"0" * 40 + b"\n", b"1" * 40 + b"\n", b"ref: refs/heads/main\n"]))
    elif kind == "swap":
        if path.suffix in (".pack", ".idx"):
            return None
        data = bytearray(zlib.compress(b"blob 4\0evil"))
    elif kind == "gone":
        path.unlink()
        return f"{kind} {path.relative_to(git)}"
    path.write_bytes(bytes(data))
    return f"{kind} {path.relative_to(git)}"


def look(world, fixture, what):
    tree = fixture.git("ls-tree", "-r", "refs/checkpoints/work^2")
    said = {}
    for arguments in (
        ["verify", "--all"], ["list"], ["log", "work"], ["show", "work"], ["diff", "work~1", "work"], ["status"],
        ["resume", "work"], ["restore", "work", "--dry-run"],
    ):
        done = world.checkpoint(*arguments, check=False, timeout=60)
        assert b"panicked" not in done.stderr and done.returncode >= 0, f"{arguments}: {done.stderr.decode()}"
        said[arguments[0]] = done
    before = w.files(world)
    restored = world.checkpoint("restore", "work", "--force", check=False, timeout=60)
    assert b"panicked" not in restored.stderr, restored.stderr.decode()
    if restored.returncode == 0 and b"nothing" not in restored.stdout.lower():
        for line in tree.splitlines():
            mode_kind_id, path = line.split(b"\t", 1)
            right = fixture.git("cat-file", "blob", mode_kind_id.split()[2].decode())
            found = (world.repo / path.decode()).read_bytes()
            # lists/raw paths aside: the fixture has no conversions, so bytes on disk are the blob's.
            assert found == right, f"restored a wrong byte in {path.decode()}"
    elif restored.returncode != 0:
        assert w.files(world) == before or world.checkpoint("restore", "--abort", check=False).returncode == 0, (
            "a refused restore changed files"
        )
    fsck = world.run("git", "fsck", "--strict", "--full", check=False)
    # Without git's commit graph, a cache beside the objects that git believes: damage of it is git's to tell, and no
    # checkpoint's. Damaged 120 times by itself, git's own rev-list said something else 35 times, while verify, list, log,
    # show, diff, resume, restore and compare said what they say without damage; only the room that prune would free, which
    # is git's figure, differed (9 times).
    plain = ("git", "-c", "core.commitGraph=false")
    reached = world.run(*plain, "rev-list", "--objects", "--glob=refs/checkpoints/*", check=False)
    if (fsck.returncode or reached.returncode) and any(word in what for word in ("objects/",)):
        healthy = world.run(*plain, "rev-list", "--objects", "refs/heads/main", check=False).returncode == 0
        if healthy and reached.returncode:
            assert said["verify"].returncode != 0, "verify found nothing, though git cannot read the checkpoints"
    repaired = world.checkpoint("repair", check=False, timeout=60)
    assert b"panicked" not in repaired.stderr, repaired.stderr.decode()
    # What could be read before can be read after a repair.
    for command in ("log", "show"):
        if said[command].returncode == 0:
            again = world.checkpoint(command, "work", check=False)
            assert again.returncode == 0, f"{command} works no longer after repair: {again.stderr.decode()}"
