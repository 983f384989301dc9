"""race-links [SECONDS]: restores, applies and undos while folders are swapped for links that lead out.

Two threads swap folders of the work tree for links, and back, for some time (60 s) while commands change files in them.
After every command everything outside is what it was: nothing written, changed or deleted there. The swaps are counted,
and how many of them fell into the run of a command.
"""

import collections
import os
import pathlib
import random
import shutil
import stat
import tempfile
import threading
import time

from world import World


def outside_state(folder):
    """Everything below a folder, with its times: whatever is touched there shows."""
    found = {}
    for top, names, leaves in os.walk(folder):
        for name in names + leaves:
            path = os.path.join(top, name)
            meta = os.lstat(path)
            data = b""
            if stat.S_ISREG(meta.st_mode):
                with open(path, "rb") as file:
                    data = file.read()
            changed = (meta.st_mtime_ns, meta.st_ctime_ns)
            found[path] = (meta.st_mode, meta.st_ino, changed, data)
        found[top] = sorted(names + leaves)
    return found


def run(program, arguments):
    seconds = int(arguments[0]) if arguments else 60
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        world = World(root, program)
        world.repo.mkdir()
        folders = ["d", "d/sub", "e", "e/deep/er"]
        names = [f"{folder}/file{n}" for folder in folders for n in range(12)]
        world.git("init", "-q", "-b", "main")
        for name in names:
            world.write(name, "committed\n")
        world.git("add", "-A")
        world.git("commit", "-qm", "first")
        for name in names:
            world.write(name, "saved\n")
        world.checkpoint("save", "--session", "race", "-m", "saved")
        outside = root / "outside"
        for name in names:
            # The same names as inside, so that every mistake has something to hit.
            for start in ("", "sub/", "deep/er/", "er/"):
                path = outside / (start + name.rsplit("/", 1)[1])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("precious\n")
        before = outside_state(outside)
        stop, swaps, during, running = threading.Event(), [0], [0], threading.Event()

        def swap(relative, aside):
            real = world.repo / relative
            try:
                os.rename(real, aside)
            except OSError:
                return
            try:
                os.symlink(outside, real)
                swaps[0] += 1
                during[0] += running.is_set()
                time.sleep(random.uniform(0, 0.002))
            except OSError:
                pass  # The command made a folder there meanwhile.
            while os.path.lexists(aside):
                try:
                    if real.is_symlink():
                        os.unlink(real)
                    elif real.exists():
                        shutil.rmtree(real)
                    os.rename(aside, real)
                except OSError:
                    pass

        def swapper(relative):
            aside = root / ("aside-" + relative.replace("/", "-"))
            while not stop.is_set():
                swap(relative, aside)
                # Now and then long enough for a command to plan while nothing is swapped.
                time.sleep(random.choice((0.0005, 0.002, 0.01, 0.05)))

        threads = [threading.Thread(target=swapper, args=(each,)) for each in ("d", "e/deep")]
        done = collections.Counter()
        for thread in threads:
            thread.start()
        started, round_, escapes = time.time(), 0, []
        try:
            while time.time() - started < seconds and not escapes:
                round_ += 1
                # Edits go by the folder itself, which a swap moves but does not replace.
                for relative in ("d", "e/deep"):
                    try:
                        handle = os.open(world.repo / relative, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                    except OSError:
                        continue
                    for n in range(12):
                        try:
                            file = os.open(f"file{n}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW,
                                           dir_fd=handle)
                            os.write(file, f"edited {round_}\n".encode())
                            os.close(file)
                        except OSError:
                            pass
                    os.close(handle)
                command = (["restore", "race", "--force"], ["undo", "--force"], ["apply", "race", "--force"],
                           ["redo", "--force"])[round_ % 4]
                running.set()
                ended = world.checkpoint(*command, check=False)
                if (world.repo / ".git/checkpoint/restore.journal").exists():
                    world.checkpoint("restore", "--continue" if round_ % 3 else "--abort", "--force", check=False)
                    done["continued"] += 1
                running.clear()
                done[f"{command[0]} {ended.returncode}"] += 1
                if os.environ.get("FAULTS_TELL"):
                    print(command, ended.returncode, ended.stdout.decode()[:200], ended.stderr.decode()[:300])
                if outside_state(outside) != before:
                    escapes.append(f"after {command}")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        world.git("fsck", "--strict")
        print(f"race-links: {int(time.time() - started)} s, {swaps[0]} swaps, {during[0]} of them under a command")
        print("  " + ", ".join(f"{name}: {count}" for name, count in sorted(done.items())))
        print(f"  {len(escapes)} files written, changed or deleted outside" + "".join(f"\n  {e}" for e in escapes))
        return not escapes and during[0] > 100 and any(name.endswith(" 0") for name in done)
