"""leaks: a secret in every place that a push takes along; none of them reaches the remote.

In a file of a checkpoint and of an autosave, in the name of a file, also beyond the first fifty, in a commit that a
checkpoint or an autosave rests on, in the name of its author, in its message, in a note of a commit, in what is staged
alone, and in a fork. Each push is refused with 4 and names the place, and no object of the remote holds the secret; a
push of the session without that place is done.
"""

import pathlib
import tempfile

import world as w

SECRET = "ghp_" + "0123456789abcdefghij" + "ABCDEFGHIJ012345"


def commit(world, *options):
    world.git("commit", "-q", "--allow-empty", *options)


def in_an_autosave(world):
    world.write("config", f"listen on 80\nTOKEN={SECRET}\n")
    world.checkpoint("watch", "--once")
    return "--autosaves"


def in_a_commit_below_an_autosave(world):
    world.write("config", f"listen on 80\nTOKEN={SECRET}\n")
    world.git("add", "config")
    commit(world, "-m", "config")
    world.git("rm", "-q", "config")
    commit(world, "-m", "no config")
    world.write("src/file0", "autosaved\n")
    world.checkpoint("watch", "--once")
    return "--autosaves"


def saved(prepare):
    def act(world):
        prepare(world)
        world.checkpoint("save", "-m", "more", "--allow-empty")
        return None

    return act


def a_name_beyond_the_first_fifty(world):
    for number in range(80):
        world.write(f"many/{number:02}", "one of many\n")
    world.write(f"many/{SECRET}", "named\n")


def staged_alone(world):
    world.write("config", f"listen on 80\nTOKEN={SECRET}\n")
    world.git("add", "config")
    (world.repo / "config").unlink()


def a_note(world):
    world.git("config", "checkpoint.commitNotes", "on")
    world.git("notes", "--ref=checkpoints", "add", "-m", f"note {SECRET}", "HEAD")


PLACES = {
    "a file of a checkpoint": saved(lambda world: world.write("config", f"listen on 80\nTOKEN={SECRET}\n")),
    "a file of an autosave": in_an_autosave,
    "a commit below an autosave": in_a_commit_below_an_autosave,
    "the name of a file": saved(lambda world: world.write(SECRET, "named\n")),
    "the name of a file beyond the first fifty": saved(a_name_beyond_the_first_fifty),
    "the message of a commit": saved(lambda world: (commit(world, "-m", f"with {SECRET}"), commit(world, "-m", "later"))),
    "the author of a commit": saved(lambda world: (commit(world, "-m", "x", f"--author={SECRET} <a@example.org>"), commit(world, "-m", "later"))),
    "what is staged alone": saved(staged_alone),
    "a note of a commit": saved(a_note),
}


def run(program, names):
    leaked, refused = [], 0
    for place, act in PLACES.items():
        if names and not any(name in place for name in names):
            continue
        with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
            root = pathlib.Path(folder)
            world = w.small(root, program)
            world.checkpoint("push", "origin", "work")
            option = act(world)
            done = world.checkpoint("push", "origin", "work", *([option] if option else []), check=False)
            held = world.run("git", "--git-dir", str(root / "remote.git"), "cat-file", "--batch-all-objects", "--batch").stdout
            if done.returncode != 4 or SECRET.encode() in held:
                leaked.append(f"{place}: ended with {done.returncode}")
                continue
            if SECRET.encode() in done.stdout + done.stderr:
                leaked.append(f"{place}: the message shows it")
                continue
            refused += 1
            if option:
                world.checkpoint("push", "origin", "work")
    for line in leaked:
        print(f"  {line}")
    print(f"leaks: {refused} pushes refused, {len(leaked)} leaked")
    return not leaked
