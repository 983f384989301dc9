"""The time of a call through the server, in a batch and as a process, in a repository of twenty files."""

import json
import statistics
import subprocess
import time

from common import Client, Repository

ROUNDS = 40


def run(program, directory):
    repository = Repository(program, directory)
    repository.checkpoint("save", "--session", "auth", "-m", "begin")
    client = Client(repository)
    batch = subprocess.Popen(
        [str(program), "batch"], cwd=repository.path, env=repository.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    def by_batch(tool, arguments):
        batch.stdin.write(json.dumps({"tool": tool, "arguments": arguments}).encode() + b"\n")
        batch.stdin.flush()
        if json.loads(batch.stdout.readline())["exit_code"] != 0:
            raise RuntimeError(tool)

    calls = {
        "save": ("checkpoint_save", {"session": "auth", "record": {"summary": "s"}}, ["save", "--session", "auth", "-m", "s"]),
        "resume": ("checkpoint_resume", {"session": "auth"}, ["resume", "auth", "--format", "prompt"]),
        "list": ("checkpoint_list", {}, ["list"]),
    }
    figures = []
    for name, (tool, arguments, words) in calls.items():
        ways = {
            "server": lambda: client.call(tool, arguments),
            "batch": lambda: by_batch(tool, arguments),
            "process": lambda: repository.checkpoint(*words, "--json"),
        }
        times = {way: [] for way in ways}
        for number in range(ROUNDS):
            for way, act in ways.items():
                if name == "save":
                    (repository.path / f"src/file{number % 20}.txt").write_text(f"{number} {way}\n" * 50)
                begun = time.monotonic()
                act()
                times[way].append((time.monotonic() - begun) * 1000)
        medians = ", ".join(f"{way} {statistics.median(all):.1f}" for way, all in times.items())
        figures.append(f"{name}: {medians} ms")
    peak = client.memory()
    client.end()
    batch.stdin.close()
    batch.wait()
    size = program.stat().st_size / 2**20
    return "; ".join(figures) + f"; {peak:.1f} MiB of memory, {size:.2f} MiB of program", []
