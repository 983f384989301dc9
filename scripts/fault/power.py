"""power [CUTS]: the disk as it would be after a power cut, 200 times, while saves run.

What git itself wrote a moment before, by `git add` and `git commit`, and never synced, is relied on by half of the saves, and
commits make checkpoints by the commit hook.

An ext4 image with commit=1 is copied at one moment (a reflink of an XFS file, so that the copy is of one instant), as
its disk would be without power from then on. In each copy every acknowledged checkpoint is complete, every acknowledged
task and message is there, no ref is empty, the next save, git fsck and git gc end with 0; and when the very content of
the lost time is saved again, all is sound.
"""

import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import world as w


def shell(text):
    subprocess.run(text, shell=True, check=True, capture_output=True)


def run(program, names):
    reason = w.need("mkfs.ext4", "mkfs.xfs", "mount", "losetup", root=True)
    if reason:
        print(f"power: skipped, {reason} (e2fsprogs, xfsprogs)")
        return True
    cuts = int(names[0]) if names else 200
    # Whoever ends this early leaves no mounts behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        host, live, after = root / "host", root / "live", root / "after"
        for place in (host, live, after):
            place.mkdir()
        shell(f"truncate -s 2G {root}/xfs && mkfs.xfs -q -m reflink=1 {root}/xfs && mount -o loop {root}/xfs {host}")
        try:
            shell(f"truncate -s 256M {host}/image && mkfs.ext4 -q {host}/image && mount -o loop,commit=1 {host}/image {live}")
            try:
                return cut(program, cuts, host, live, after)
            finally:
                shell(f"umount {live}")
        finally:
            shell(f"umount {host}")


def cut(program, cuts, host, live, after):
    world = w.small(live / "a", program)
    world.checkpoint("hooks", "install")
    shell("sync")
    acknowledged, noted, lock, stop, failed = set(), set(), threading.Lock(), threading.Event(), []
    # Held from git's first write to our receipt: what git alone wrote in between is not ours to keep.
    unacknowledged = threading.Lock()

    def committer():
        turn = 0
        while not stop.is_set():
            turn += 1
            with unacknowledged:
                for number in range(3):
                    world.write(f"committed/file{(turn + number) % 30}", f"commit {turn} {number}\n" * 40)
                done = world.run("git", "add", "committed", check=False)
                if turn % 3:
                    done = world.run("git", "commit", "-qm", f"commit {turn}", "--", "committed", check=False)
                if done.returncode:
                    # Another writer had the index; nothing of it is acknowledged.
                    continue
                # By the hook, or by a save that relies on what was added or committed.
                if turn % 3 != 1:
                    done = world.checkpoint("save", "-m", f"after git {turn}", "--session", "git", "--json", check=False)
                    if done.returncode:
                        failed.append(done.stderr.decode())
                        continue
                tips = world.git("for-each-ref", "--format=%(objectname)", "refs/checkpoints/").decode().split()
            with lock:
                acknowledged.update(tips)
            time.sleep(0.2)

    def saver(name):
        turn = 0
        while not stop.is_set():
            turn += 1
            world.write(f"{name}/file{turn % 50}", f"{name} {turn}\n" * 40)
            done = world.checkpoint("save", "-m", f"{name} {turn}", "--session", name, "--json", check=False)
            if done.returncode:
                failed.append(done.stderr.decode())
                continue
            with lock:
                acknowledged.add(json.loads(done.stdout)["id"])
            # So that the last cut, where all of it is verified, has not ten times as much of it as the first.
            time.sleep(0.2)

    def noter(words):
        turn = 0
        while not stop.is_set():
            turn += 1
            text = f"{words[0]} number {turn}."
            done = world.checkpoint(*words, text, "--session", "work", check=False)
            if done.returncode:
                failed.append(done.stderr.decode())
                continue
            with lock:
                noted.add(text)
            time.sleep(0.2)

    threads = [threading.Thread(target=saver, args=(name,)) for name in ("left", "right")]
    notes = (["task", "add"], ["message", "add", "--role", "user"])
    threads += [threading.Thread(target=noter, args=(words,)) for words in notes]
    threads.append(threading.Thread(target=committer))
    for thread in threads:
        thread.start()
    lost, broken, chance = 0, [], random.Random(1)
    try:
        for number in range(cuts):
            time.sleep(chance.random() * 0.3)
            with unacknowledged:
                with lock:
                    known, texts = set(acknowledged), set(noted)
                shell(f"rm -f {host}/copy && cp --reflink=always {host}/image {host}/copy")
            shell(f"mount -o loop {host}/copy {after}")
            try:
                missing = look(w.World(after / "a", program), known, texts)
                lost += missing
            except AssertionError as error:
                broken.append(f"cut {number}: {error}")
            finally:
                shell(f"umount {after}")
            if number % 20 == 19:
                print(f"  {number + 1} cuts, {len(acknowledged) + len(noted)} acknowledged, {lost} lost, {len(broken)} broken", flush=True)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    for line in [*broken, *failed[:3]]:
        print(f"  {line[:600]}")
    print(f"power: {cuts} cuts, {len(acknowledged)} checkpoints and {len(noted)} tasks and messages acknowledged, "
          f"{lost} lost, {len(broken) + len(failed)} broken")
    return not (lost or broken or failed)


def look(world, known, texts):
    empty = [str(path) for path in (world.repo / ".git/refs").rglob("*") if path.is_file() and path.stat().st_size == 0]
    assert not empty, f"empty refs {empty}"
    missing = len(known - w.checkpoints(world))
    kept = b"".join(world.checkpoint(kind, "list", "--session", "work", "--json").stdout for kind in ("task", "message"))
    missing += sum(text.encode() not in kept for text in texts)
    world.checkpoint("save", "-m", "after the cut", "--session", "left")
    w.sound(world)
    # What the cut took is written again: no object half there may be taken for present.
    for path in (world.repo / "left").glob("*"):
        path.write_text(path.read_text() + "again\n")
    world.checkpoint("save", "-m", "again", "--session", "right")
    world.git("gc", "-q", "--prune=now")
    w.sound(world)
    world.checkpoint("verify", "--all")
    left = w.leftovers(world)
    assert not left, f"left {left}"
    return missing
