"""kill [COMMAND...]: commands that move refs or write drafts, killed at every call that changes the disk.

For each call, strace ends the process (SIGKILL) on entering it: the first time it is made, the second, and so on until
a run comes to its end. After each kill:
  - the user's files, index, branches and settings are as they were;
  - every checkpoint that was acknowledged before is reached by a ref of ours;
  - every change of a draft that was acknowledged before is there, and the killed one is there once or not at all;
  - after every other kill `undo` takes back what was done, also where the kill came before anybody could say so, and
    knows nothing of what was not;
  - git fsck and git status work, the same command and a save end with 0, and nothing of ours is left over;
  - a checkpoint that waits to be pushed by itself is pushed by the next run of the queue, after a merge of the record where
    the remote has diverged;
  - the user's own branch -d, fetch and gc --prune=now end with 0, and everything still verifies.
restore, apply and undo, which change files, are killed by kill-files; purge, which is to remove, by kill-purge.
"""

import json
import pathlib
import shutil
import tempfile
import time

import world as w


def plain(_world):
    pass


def deleted(world):
    world.checkpoint("delete", "work")


def several(world):
    for n in range(4):
        world.write("new", f"more {n}\n")
        world.checkpoint("save", "-m", f"more {n}")


def pruned(world):
    several(world)
    world.checkpoint("prune", "--keep-last", "1")


def received(world):
    """Another clone has pushed a session and gone on with this one."""
    world.checkpoint("push", "origin", "--all")
    world.git("push", "-q", "origin", "refs/checkpoints/work:refs/checkpoints/others")


def ahead(world):
    """The remote has a checkpoint of this session that is not here."""
    tip = world.git("rev-parse", "refs/checkpoints/work").decode().strip()
    world.checkpoint("save", "--allow-empty", "-m", "elsewhere")
    world.checkpoint("push", "origin", "work")
    world.git("update-ref", "refs/checkpoints/work", tip)


def queued(world):
    """A checkpoint waits to be pushed by itself: the remote could not be reached."""
    url = world.git("config", "remote.origin.url").decode().strip()
    world.git("config", "checkpoint.autoPush", "origin")
    world.git("config", "remote.origin.url", str(world.root / "nowhere"))
    world.checkpoint("save", "--allow-empty", "-m", "queued")
    state = world.repo / ".git/checkpoint/push-queue.json"
    for _ in range(200):
        if state.exists() and json.loads(state.read_text()).get("failures"):
            break
        time.sleep(0.05)
    else:
        raise SystemExit("faults: the push of the queue was never tried")
    time.sleep(0.5)
    world.git("config", "remote.origin.url", url)


def apart(world):
    """Both sides of the queue's session have new checkpoints: what the remote has is merged into its record before it is pushed.

    The remote moves on after the queue was tried, and from another clone: what is known here would be merged at once.
    """
    world.checkpoint("push", "origin", "work")
    world.checkpoint("todo", "add", "ours")
    queued(world)
    other = w.World(world.root.parent / "other", world.program)
    other.root.mkdir()
    world.git("clone", "-q", "-b", "main", "../remote.git", str(other.repo))
    other.checkpoint("pull", "origin", "work")
    other.checkpoint("switch", "work")
    other.checkpoint("todo", "add", "theirs")
    other.checkpoint("message", "add", "--role", "user", "they say")
    other.checkpoint("save", "--allow-empty", "-m", "elsewhere")
    other.checkpoint("push", "origin", "work")
    shutil.rmtree(other.root)


def forked(world):
    world.checkpoint("fork", "work~1", "--name", "forked")


def exported(world):
    document = world.checkpoint("export", "--format", "json", "work").stdout
    (world.root / "exported.json").write_bytes(document)
    world.checkpoint("delete", "work")


def foreign(world):
    """What two other tools left: a database with several sessions, and a paused one."""
    cases = pathlib.Path(__file__).parents[2] / "fixtures/formats"
    for case in ("claude-flow/good-hive", "claude-mpm/good-411"):
        shutil.copytree(cases / case / "input", world.root / "foreign" / case)


def chatted(world):
    for n in range(6):
        world.checkpoint("message", "add", "--role", "user", f"message {n}")
    world.checkpoint("save", "-m", "chat")


def damaged(world):
    ref = world.repo / ".git/refs/checkpoints/work"
    ref.write_bytes(b"")


def noted(*texts, save_every=None, session=True):
    """Todos that were acknowledged."""

    def prepare(world):
        for text in texts:
            world.checkpoint("todo", "add", text)
        if save_every:
            world.git("config", "checkpoint.saveEvery", str(save_every))
        if not session:
            world.checkpoint("pause", "-m", "paused")

    return prepare


def saved(world):
    noted("one", "two")(world)
    world.checkpoint("save", "-m", "saved")
    world.checkpoint("todo", "add", "three")


def none(world):
    world.checkpoint("finish", "-m", "done")


TODO = ["todo", "add", "killed"]
# What `undo` takes back.
DEEDS = ("fork", "rename", "delete", "finish", "prune", "import", "pull", "clear")
# Name, its arguments, what is done before, and the exit codes of a run that is not disturbed or is repeated.
COMMANDS = {
    "save": (["save", "-m", "three"], plain, (0,)),
    "save-many": (["save", "-m", "many"], lambda world: [world.write(f"many/{n}", f"{n}\n") for n in range(300)], (0,)),
    "save-draft": (["save", "-m", "three"], noted("one", "two"), (0,)),
    "pause": (["pause", "-m", "three"], plain, (0, 3)),
    "finish": (["finish", "-m", "done"], plain, (0, 3)),
    "start": (["start", "other"], plain, (0, 128)),
    "task": (["task", "add", "a task"], plain, (0,)),
    "note": (["note", "a note"], plain, (0,)),
    "message": (["message", "add", "--role", "user", "a message"], plain, (0,)),
    "todo": (TODO, noted("one", "two"), (0,)),
    "todo-first": (TODO, plain, (0,)),
    "todo-new": (TODO, none, (0,)),
    "save-new": (["save", "-m", "three"], none, (0,)),
    "todo-saved": (TODO, saved, (0,)),
    "todo-saves": (TODO, noted("one", "two", save_every=3), (0,)),
    "todo-paused": (TODO, noted(session=False), (0,)),
    "clear": (["clear", "--yes", "--messages"], chatted, (0,)),
    "step": (["step", "run", "--title", "a step", "--", "true"], plain, (0,)),
    "fork": (["fork", "work~1", "--name", "forked"], plain, (0, 128)),
    "undo-fork": (["undo"], forked, (0, 1)),
    "rename": (["rename", "work", "renamed"], plain, (0, 3)),
    "delete": (["delete", "work"], plain, (0, 3)),
    "undo-delete": (["undo"], deleted, (0, 1)),
    "pin": (["pin", "@"], plain, (0,)),
    "prune": (["prune", "--keep-last", "1"], several, (0,)),
    "undo-prune": (["undo"], pruned, (0, 1)),
    "import": (["import", "../exported.json"], exported, (0, 1)),
    "import-foreign": (["import", "../foreign"], foreign, (0,)),
    "repair": (["repair"], damaged, (0,)),
    "watch": (["watch", "--once"], plain, (0,)),
    "push": (["push", "origin", "work"], plain, (0,)),
    "push-queued": (["push", "--queued"], queued, (0,)),
    "push-apart": (["push", "--queued"], apart, (0,)),
    "fetch": (["fetch", "origin"], received, (0,)),
    "pull": (["pull", "origin", "work"], ahead, (0,)),
}


def run(program, names):
    reason = w.need("strace")
    if reason:
        print(f"kill: skipped, {reason}")
        return True
    unknown = [name for name in names if name not in COMMANDS]
    if unknown:
        raise SystemExit(f"faults: kill knows no '{unknown[0]}'; it knows {' '.join(COMMANDS)}")
    results = [sweep(program, name, *COMMANDS[name]) for name in names or COMMANDS]
    print(f"kill: {len(results)} commands, {sum(kills for kills, _ in results)} kills, "
          f"{sum(broken for _, broken in results)} broken")
    return not any(broken for _, broken in results)


def sweep(program, name, arguments, prepare, codes):
    with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
        root = pathlib.Path(folder)
        fixture = w.small(root / "fixture", program)
        whole = w.checkpoints(fixture)
        prepare(fixture)
        # git lists nothing while a ref is damaged.
        before, known = w.theirs(fixture), whole if prepare is damaged else w.checkpoints(fixture)
        # Without a current session the todos of a change belong to a session that it starts or continues.
        noted = todos(fixture) if (arguments == TODO and prepare is not none) or name == "save-draft" else None
        ended = w.copy(root / "fixture", root / "trial", program).checkpoint(*arguments, check=False)
        assert ended.returncode == 0, f"{name} gives {ended.returncode} when nothing is done to it: {ended.stderr.decode()}"

        refs = None if prepare is damaged else sessions(fixture)
        moments = dict.fromkeys(MOMENTS, 0)

        def judge(world, when):
            look(world, before, known, arguments, codes, noted)
            if name.endswith("-new"):
                # Nobody is left with a session that holds nothing and that nothing leads to.
                empty = [ref for ref in sessions(world) if world.git("rev-list", "--count", ref).strip() == b"1"]
                assert not empty, f"empty sessions {empty}"

        def judge_undo(world, when):
            if name == "push-apart":
                moments[moment(world, refs)] += 1
            if arguments[0] in DEEDS and when % 2:
                taken_back(world, refs)
            judge(world, when)
            if name == "push-apart":
                merged_once(world, refs)

        kills, broken = w.kills(root, program, arguments, judge_undo)
        when = ""
        if name == "push-apart":
            when = " (" + ", ".join(f"{many} {moment}" for moment, many in moments.items()) + ")"
            broken += [f"no kill came {moment}" for moment, many in moments.items() if not many]
        print(f"  {name}: {kills} kills{when}, {len(broken)} broken", flush=True)
        for line in broken:
            print(f"    {line[:600]}")
        return kills, len(broken)


def sessions(world):
    """What undo moves back."""
    lines = world.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints").decode().splitlines()
    return dict(line.split() for line in lines)


def taken_back(world, refs):
    # Completes what a kill left to the next command, and does nothing else.
    world.checkpoint("prune", "--keep-last", "1000")
    moved = sessions(world)
    # A deletion before the kill may be what undo comes to next.
    if moved != refs:
        world.checkpoint("undo")
        now = sessions(world)
        assert now == refs, f"undo did not take it back: {sorted(now.items() ^ refs.items())}"
    elif len(refs) > 0:
        done = world.checkpoint("undo", "--dry-run", check=False)
        assert done.returncode != 0, f"undo would take back what was not done: {done.stdout.decode()}"


MOMENTS = ("before the merge", "between merge and push", "after the push")


def moment(world, refs):
    """How far a push that merges came before it was killed."""
    now = sessions(world)
    if now == refs:
        return MOMENTS[0]
    pushed = world.git("--git-dir", "../remote.git", "rev-parse", "refs/checkpoints/work").decode().strip()
    return MOMENTS[2] if pushed == now["refs/checkpoints/work"] else MOMENTS[1]


def merged_once(world, refs):
    """The record has what both sides added, once, from one merge; an undo takes that back."""
    present = todos(world)
    assert sorted(present) == ["ours", "theirs"], f"todos are {present}"
    log = json.loads(world.checkpoint("log", "--json").stdout)["checkpoints"]
    merges = [row for row in log if row["kind"] == "merge"]
    assert len(merges) == 1, f"{len(merges)} merges"
    world.git("update-ref", "refs/checkpoints/work", merges[0]["id"])
    # The remote has it by now, and a save came after.
    world.checkpoint("undo", "--older", "--force")
    assert sessions(world) == refs, "undo did not take the merge back"


def todos(world):
    done = world.checkpoint("todo", "list", "--json")
    return [item["text"] for item in json.loads(done.stdout)["items"]]


def look(world, before, known, arguments, codes, noted):
    if arguments == ["repair"]:
        world.checkpoint(*arguments)
    now = w.theirs(world)
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    assert not changed, f"the user's own changed: {sorted(changed)[:5]}"
    lost = known - w.checkpoints(world)
    assert not lost, f"lost checkpoints {sorted(lost)[:3]}"
    w.sound(world)
    if noted is not None:
        present = todos(world)
        assert [text for text in present if text != "killed"] == noted, f"todos are {present}"
        assert present.count("killed") <= 1, f"todos are {present}"
    # The remote's own git is killed as well here, and a lock that it leaves there is its owner's to remove: of ten kills
    # of a plain 'git push' four left one, and after three of these no other push went through.
    for lock in (world.root / "remote.git/refs").rglob("*.lock"):
        lock.unlink()
    again = world.checkpoint(*arguments, check=False)
    assert again.returncode in codes, f"again: {again.returncode} {again.stderr.decode()}"
    if arguments == ["push", "--queued"]:
        tips = [line.split()[0] for line in world.git("ls-remote", "origin", "refs/checkpoints/work").decode().splitlines()]
        assert tips == [sessions(world)["refs/checkpoints/work"]], f"the queue was not pushed: {tips}"
        # What is saved from here on is not pushed.
        world.git("config", "--unset", "checkpoint.autoPush")
    if noted is not None:
        present = todos(world)
        world.checkpoint("save", "-m", "after")
        assert todos(world) == present, f"after the save todos are {todos(world)}, before {present}"
    world.checkpoint("save", "--allow-empty", "-m", "after")
    lost = known - w.checkpoints(world)
    assert not lost, f"lost checkpoints {sorted(lost)[:3]} by the command after"
    left = w.leftovers(world)
    assert not left, f"left {left}"
    w.lives(world)
