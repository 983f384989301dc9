"""race [SECONDS]: many processes on one repository.

64 processes with 20 saves each, on one session and on eight; two work trees; then for some time (60 s) everything at
once: savers, a watcher, restores, forks, prunes, pack-refs, gc --prune=now and the user's own commits. No acknowledged
checkpoint is lost, every receipt is true, no update of a session overwrites another, branches and the index are the
user's, fsck is clean, and 99 of 100 saves take at most 3 s.
"""

import concurrent.futures
import json
import pathlib
import random
import statistics
import tempfile
import threading
import time

import world as w

PROCESSES, SAVES = 64, 20


def run(program, names):
    seconds = int(names[0]) if names else 60
    good = [crowd(program, 1), crowd(program, 8), two_trees(program), mixed(program, seconds)]
    return all(good)


def save(world, *arguments):
    start = time.monotonic()
    done = world.checkpoint("save", "--allow-empty", "--json", *arguments, check=False)
    return done, time.monotonic() - start


def report(name, times, lost, false, broken):
    times = sorted(times)
    slowest = times[int(len(times) * 0.99)] if times else 0
    if slowest > 3:
        broken.append(f"99 of 100 saves took up to {slowest:.1f} s")
    for line in broken[:10]:
        print(f"  {line[:600]}")
    print(f"race: {name}: {len(times)} saves, median {statistics.median(times) if times else 0:.2f} s, "
          f"p99 {slowest:.2f} s, {lost} lost, {false} false receipts, {len(broken)} broken", flush=True)
    return not (lost or false or broken)


def crowd(program, sessions):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        world = w.small(pathlib.Path(folder) / "a", program)
        for n in range(sessions):
            world.checkpoint("start", f"s{n}")
        before = w.theirs(world)

        def savers(number):
            return [save(world, "--session", f"s{number % sessions}", "-m", f"{number} {turn}") for turn in range(SAVES)]

        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            results = [result for group in pool.map(savers, range(PROCESSES)) for result in group]
        broken, times, false, ids = [], [], 0, set()
        for done, seconds in results:
            times.append(seconds)
            if done.returncode:
                broken.append(done.stderr.decode())
                continue
            ids.add(json.loads(done.stdout)["id"])
        reached = [set(world.git("rev-list", "--first-parent", f"refs/checkpoints/s{n}").decode().split()) for n in range(sessions)]
        lost = len(ids - set().union(*reached))
        false = len(results) - len(broken) - len(ids)
        if w.theirs(world) != before:
            broken.append("the user's own changed")
        finish(world, broken)
        return report(f"{PROCESSES} processes, {sessions} sessions", times, lost, false, broken)


def two_trees(program):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        world = w.small(pathlib.Path(folder) / "a", program)
        world.git("worktree", "add", "-q", "../linked", "-b", "linked")
        other = w.World(world.root, program)
        other.repo = world.root / "linked"
        times, broken, ids = [], [], set()

        def savers(number):
            place = (world, other)[number % 2]
            out = []
            for turn in range(SAVES):
                place.write(f"from{number}", f"{turn}\n")
                out.append(save(place, "--session", "shared", "-m", f"{number} {turn}"))
            return out

        world.checkpoint("start", "shared")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for group in pool.map(savers, range(16)):
                for done, seconds in group:
                    times.append(seconds)
                    if done.returncode:
                        broken.append(done.stderr.decode())
                    else:
                        ids.add(json.loads(done.stdout)["id"])
        lost = len(ids - set(world.git("rev-list", "--first-parent", "refs/checkpoints/shared").decode().split()))
        finish(world, broken)
        return report("two work trees", times, lost, len(times) - len(broken) - len(ids), broken)


def mixed(program, seconds):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        world = w.small(pathlib.Path(folder) / "a", program)
        world.git("config", "gc.auto", "0")
        world.git("worktree", "add", "-q", "../linked", "-b", "linked")
        linked = w.World(world.root, program)
        linked.repo = world.root / "linked"
        end = time.monotonic() + seconds
        ids, times, broken, lock, counts = set(), [], [], threading.Lock(), {}

        def loop(name, act, pause):
            chance = random.Random(name)
            while time.monotonic() < end:
                problem = act(chance)
                with lock:
                    counts[name] = counts.get(name, 0) + 1
                    if problem:
                        broken.append(f"{name}: {problem}")
                time.sleep(pause * chance.random())

        def saver(place, session):
            def act(chance):
                place.write(f"work/{chance.randrange(30)}", f"{chance.random()}\n" * 30)
                done, took = save(place, "--session", session, "-m", "mixed")
                with lock:
                    times.append(took)
                    if done.returncode in (0, 7):
                        ids.add(json.loads(done.stdout)["id"])
                # 5 is what may be tried again.
                return None if done.returncode in (0, 5, 7) else done.stderr.decode()

            return act

        def ours(place, *arguments, codes=(0, 1, 3, 4, 5)):
            def act(_chance):
                done = place.checkpoint(*arguments, check=False)
                return None if done.returncode in codes and b"panicked" not in done.stderr else done.stderr.decode()

            return act

        # git says itself that gc --prune=now beside a git that writes loses what that one writes. With git alone, `git add`
        # and `git commit` in a linked work tree beside `git gc --prune=now` and no process of ours, in seven of eight runs
        # of 12 s HEAD's commit or what it needs was gone, and every commit and gc after that failed. So the user's own
        # commits and it take turns; nothing of ours does.
        own_git = threading.Lock()

        def pack(_chance):
            world.run("git", "pack-refs", "--all", check=False)

        def gc(_chance):
            with own_git:
                world.run("git", "gc", "-q", "--prune=now", check=False)

        def commit(chance):
            linked.write(f"committed{chance.randrange(5)}", f"{chance.random()}\n")
            with own_git:
                linked.run("git", "add", "-A", check=False)
                linked.run("git", "commit", "-qm", "the user's", check=False)

        def restored(_chance):
            done = linked.checkpoint("restore", "work", "--force", check=False)
            if (linked.repo.parent / "repo/.git/worktrees/linked/checkpoint/restore.journal").exists():
                linked.checkpoint("restore", "--abort", check=False)
            return None if done.returncode in (0, 1, 3, 4, 5) else done.stderr.decode()

        jobs = [
            *((f"saver {n}", saver(world, f"s{n % 3}"), 0.1) for n in range(6)),
            ("other saver", saver(linked, "work"), 0.2),
            ("watcher", ours(world, "watch", "--once"), 1),
            ("reader", ours(world, "log", "s0"), 0.5),
            ("task", ours(world, "task", "add", "raced"), 0.3),
            ("prune", ours(world, "prune", "--keep-last", "30"), 5),
            ("restore", restored, 2),
            ("pack-refs", pack, 2),
            ("gc", gc, 5),
            ("commits", commit, 1),
        ]
        threads = [threading.Thread(target=loop, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Pruned ones are kept in the trash and the reflog, which --reflog reaches.
        lost = len(ids - w.checkpoints(world))
        finish(world, broken)
        print("  " + ", ".join(f"{name} {count}" for name, count in counts.items()))
        return report(f"everything for {seconds} s", times, lost, 0, broken)


def finish(world, broken):
    try:
        world.checkpoint("save", "--allow-empty", "-m", "after")
        w.sound(world)
        left = w.leftovers(world)
        assert not left, f"left {left}"
        world.checkpoint("verify", "--all")
    except AssertionError as error:
        broken.append(str(error))
