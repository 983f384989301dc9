"""modes: our own files are 0600 in folders of 0700 under any umask, whatever was done."""

import os
import pathlib
import stat
import tempfile

import world as w

DONE = (
    ["task", "add", "a task"], ["note", "a note"], ["message", "add", "--role", "user", "words"], ["save", "-m", "x"],
    ["fork", "@", "--name", "forked"], ["restore", "@~1"], ["undo"], ["pin", "@"], ["watch", "--once"], ["rename", "forked", "f"],
    ["delete", "f"], ["undo"], ["resume"], ["pause"],
)


def run(program, _names):
    looked, broken = 0, []
    for umask in (0o000, 0o002, 0o022, 0o027, 0o077):
        old = os.umask(umask)
        try:
            with tempfile.TemporaryDirectory(prefix="checkpoint-faults-") as folder:
                world = w.small(pathlib.Path(folder) / "a", program)
                for arguments in DONE:
                    world.write("new", f"{arguments}\n")
                    world.checkpoint(*arguments, check=False)
                for top, names, leaves in os.walk(world.repo / ".git/checkpoint"):
                    for name, wanted in [(".", 0o700), *((leaf, 0o600) for leaf in leaves)]:
                        mode = stat.S_IMODE(os.lstat(os.path.join(top, name)).st_mode)
                        looked += 1
                        if mode != wanted:
                            broken.append(f"umask {umask:03o}: {os.path.join(top, name)} is {mode:o}")
        finally:
            os.umask(old)
    for line in broken:
        print(f"  {line}")
    print(f"modes: {looked} files and folders under 5 umasks, {len(broken)} broken")
    return not broken
