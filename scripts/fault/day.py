"""day [TURNS]: a day of autosaves, 2,880 unless told otherwise, every third with changes, on a simulated clock.

  - none fails, and each says rightly whether there was anything to save;
  - what the repository grows by is at most 1.5 times the bytes of the distinct objects that were stored;
  - never more than 999 loose objects;
  - every tenth moment is found by `session@{time}` with exactly its files, also after `git gc` and a rename.
"""

import datetime
import json
import pathlib
import random
import tempfile
import time

import world as w


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def loose(world):
    return int(world.git("count-objects").split()[0])


def stored(world):
    lines = world.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objectsize:disk)")
    return {name: int(number) for name, number in (line.split() for line in lines.decode().splitlines())}


def at(seconds):
    return {"GIT_COMMITTER_DATE": f"{seconds} +0000", "GIT_AUTHOR_DATE": f"{seconds} +0000"}


def look(world, session, moments):
    wrong = []
    for seconds, content in moments:
        when = datetime.datetime.fromtimestamp(seconds + 15, datetime.timezone.utc).isoformat()
        found = world.checkpoint("show", f"{session}@{{{when}}}", "--json", check=False)
        commit = json.loads(found.stdout)["id"] if found.returncode == 0 else "none"
        shown = world.run("git", "show", f"{commit}^2:notes", check=False)
        if found.returncode != 0 or shown.stdout.decode() != content:
            wrong.append(f"{when}: {found.stderr.decode().strip()[:200]}")
    return wrong


def run(program, arguments):
    turns = int(arguments[0]) if arguments else 2880
    dice = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        world = w.small(pathlib.Path(folder) / "day", program)
        # git forgets old entries of reflogs by the real clock: the day is the one that ends now.
        now = int(time.time()) - turns * 30
        world.checkpoint("save", "--allow-empty", "-m", "the day begins", env=at(now))
        git = world.repo / ".git"
        before, known = size(git), stored(world)
        failed, highest, moments, content, slowest = [], 0, [], "", 0.0
        # The packs that were merged last go with a save at least a second later: here many turns, in a day the next one.
        last = turns + -turns % 3
        for turn in [*range(turns), last]:
            if turn == last:
                passing = size(git) - before
                time.sleep(1.5)
            now += 30
            changed = turn % 3 == 0
            if changed:
                content = "".join(f"{dice.random()}\n" for _ in range(100))
                world.write("notes", content)
            begun = time.monotonic()
            done = world.checkpoint("watch", "--once", "--json", check=False, env=at(now))
            slowest = max(slowest, time.monotonic() - begun)
            wanted = b'"outcome":"saved"' if changed else b'"outcome":"unchanged"'
            if done.returncode != 0 or wanted not in done.stdout.replace(b" ", b""):
                failed.append(f"turn {turn}: {done.returncode} {done.stdout.decode()[:200]} {done.stderr.decode()[:200]}")
            if turn % 100 == 0:
                highest = max(highest, loose(world))
            if turn % 10 == 0:
                moments.append((now, content))
        highest = max(highest, loose(world))
        grown = size(git) - before
        unique = sum(number for name, number in stored(world).items() if name not in known)
        wrong = look(world, "work", moments)
        world.checkpoint("rename", "work", "renamed", env=at(now))
        world.git("gc", "--quiet")
        wrong += look(world, "renamed", moments)
        w.sound(world)
        factor = grown / unique
        print(f"day: {turns} autosaves, {len(failed)} failed, slowest {slowest * 1000:.0f} ms; grown by {grown} bytes, "
              f"{factor:.2f} times the {unique} of distinct objects, {passing} with packs merged a moment before; "
              f"at most {highest} loose objects; "
              f"{2 * len(moments)} moments looked up, {len(wrong)} wrong; {size(git) - before} bytes after gc")
        for line in (failed + wrong)[:10]:
            print(f"  {line}")
        return not failed and not wrong and factor <= 1.5 and highest < 1000
