#!/usr/bin/env python3
"""Measures the first paint of the terminal interface in a pseudo-terminal, from the start of its process on.

Usage: scripts/see/paint.py PROGRAM DIRECTORY [RUNS]

Prints JSON: the milliseconds until the first bytes of a screen and until the first checkpoint is on it (medians), and the
most memory of the process in MiB. No shell and no terminal multiplexer is in between.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time

SIZE = struct.pack("HHHH", 30, 100, 0, 0)
# An abbreviated id, with a style before or behind it.
ID = re.compile(rb"[0-9a-f]{8}")


def once(program, directory):
    begun = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, SIZE)
        os.chdir(directory)
        os.execvpe(program, [program, "ui"], dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8"))
    seen, first, listed = b"", None, None
    while listed is None and time.perf_counter() - begun < 20:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            seen += os.read(terminal, 65536)
        except OSError:
            break
        now = (time.perf_counter() - begun) * 1000
        # The last line of a screen: it is drawn, not only cleared.
        if first is None and b"quit" in seen:
            first = now
        if ID.search(seen):
            listed = now
    # What follows the list, such as the graph and the details, counts for the memory.
    ends = time.perf_counter() + 1.5
    while time.perf_counter() < ends:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                break
    with open(f"/proc/{pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    os.close(terminal)
    if listed is None:
        raise SystemExit(f"paint: no checkpoint appeared: {seen[-400:]!r}")
    return first, listed, peak


def main():
    program, directory = sys.argv[1:3]
    runs = [once(program, directory) for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 5)]
    first, listed, peak = zip(*runs)
    print(json.dumps({"first": statistics.median(first), "list": statistics.median(listed), "memory": max(peak)}))


main()
