"""neutral: 20 shapes of repositories, everything in them the same after a save as before.

The shapes are those of fixtures/repos, which the tests build as well; here all of them are saved and looked at by
another program: content, mode and time of every file, and every file of the git folder that is not ours. The shapes
with paths near the system's limit are left to the tests: Python cannot walk them.
"""

import pathlib
import tempfile

import world as w


def run(program, names):
    root = pathlib.Path(__file__).resolve().parents[2] / "fixtures/repos"
    scripts = [root / f"{name}.sh" for name in names] or sorted(path for path in root.glob("*.sh") if not path.stem.startswith("path-"))
    saved = refused = 0
    broken = []
    for script in scripts:
        with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
            world = w.World(pathlib.Path(folder), program)
            world.repo.mkdir()
            try:
                world.run("sh", str(script), timeout=60)
            except AssertionError:
                # Such as a shape that git of this version cannot build, or one of another user.
                continue
            if not (world.repo / ".git").is_dir():
                continue
            before = w.theirs(world)
            done = world.checkpoint("save", "-m", "neutral", check=False)
            saved, refused = saved + (done.returncode in (0, 7)), refused + (done.returncode not in (0, 7))
            now = w.theirs(world)
            changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
            if changed:
                broken.append(f"{script.stem}: {sorted(changed)[:5]}")
    for line in broken:
        print(f"  {line}")
    print(f"neutral: {saved} shapes saved, {refused} refused, {len(broken)} changed")
    return not broken and saved + refused >= 1
