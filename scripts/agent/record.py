"""Records what the hooks of a real agent get: each event with its payload, the session file and the working tree at that time.

The program that the hooks call is put behind a small one that notes its input first. Paths become `@HOME@` and `@ROOT@`,
and long strings of the vendors (their prompts) are cut.
"""

import base64
import json
import pathlib
import re
import sys

import programs

LONGEST = 240
KEPT = 60
WRAPPER = '''#!/bin/sh
exec python3 {script} {directory} {program} "$@"
'''


def wrap(story):
    """Our hooks of the agent call the noting program; its name stays, so that it counts as ours."""
    directory = story.directory / "recorded"
    directory.mkdir(exist_ok=True)
    wrapper = story.directory / "noting/git-checkpoint"
    wrapper.parent.mkdir(exist_ok=True)
    wrapper.write_text(WRAPPER.format(script=pathlib.Path(__file__).resolve(), directory=directory, program=story.program))
    wrapper.chmod(0o755)
    file = story.home / programs.SETTINGS[story.agent]
    file.write_text(file.read_text().replace(str(story.program), str(wrapper)))


def note(directory, program, arguments):
    """Notes one event, then calls the program itself with the same input."""
    import os
    import subprocess
    import time

    data = sys.stdin.buffer.read()
    if arguments[:1] == ["hook"]:
        entry = {"agent": arguments[1], "event": arguments[2], "payload": json.loads(data or b"null")}
        payload = entry["payload"] or {}
        path = next((payload[name] for name in ("transcript_path", "transcriptPath", "session_file") if payload.get(name)), None)
        if path and os.path.isfile(path):
            entry["transcript"] = pathlib.Path(path).read_text(errors="surrogateescape")
        root = payload.get("cwd") or payload.get("directory") or os.getcwd()
        entry["files"] = {file.name: base64.b64encode(file.read_bytes()).decode() for file in sorted(pathlib.Path(root).glob("*.*")) if file.is_file()}
        name = f"{time.time_ns()}-{os.getpid()}.json"
        pathlib.Path(directory, name).write_text(json.dumps(entry))
    done = subprocess.run([program, *arguments], input=data)
    sys.exit(done.returncode)


def neutral(story, text):
    for path, mark in ((story.repo, "@ROOT@"), (story.home, "@HOME@")):
        text = text.replace(str(path), mark)
        text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", str(path)), mark.replace("@", "-"))
    # Claude Code keeps the output of background tasks in a directory of the user's number.
    text = re.sub(r"/tmp/claude-\d+/", "@WORLD@/tasks/", text)
    return text.replace(str(story.directory), "@WORLD@")


def cut(value):
    # The report of a helper in the background is read, and is short.
    if isinstance(value, str) and len(value) > LONGEST and not value.startswith("<task-notification>"):
        # The end stays: an agent puts marks around what it adds to a prompt.
        return f"{value[:KEPT]} (cut, {len(value)} characters in all) {value[-KEPT:]}"
    if isinstance(value, list):
        return [cut(item) for item in value]
    if isinstance(value, dict):
        return {name: cut(item) for name, item in value.items()}
    return value


def cut_lines(text):
    out = []
    for line in text.splitlines():
        try:
            out.append(json.dumps(cut(json.loads(line)), ensure_ascii=False, separators=(",", ":")))
        except ValueError:
            out.append(line)
    return "".join(f"{line}\n" for line in out)


def write(story):
    """Writes the events so far as a fixture: each has the new lines of the session file, and the files that changed."""
    events, files, transcripts = [], {}, {}
    for file in sorted((story.directory / "recorded").glob("*.json")):
        entry = json.loads(neutral(story, file.read_text()))
        entry["payload"] = cut(entry["payload"])
        if "transcript" in entry:
            whole = cut_lines(entry.pop("transcript"))
            key = next(iter(entry["payload"][name] for name in ("transcript_path", "transcriptPath", "session_file") if entry["payload"].get(name)))
            before = transcripts.get(key, "")
            anew = not whole.startswith(before)
            entry["transcript"] = {"text": whole if anew else whole[len(before):], "anew": anew}
            transcripts[key] = whole
        now = {name: base64.b64decode(data).decode() for name, data in entry.pop("files").items()}
        entry["files"] = {name: now.get(name) for name in sorted(now.keys() | files.keys()) if now.get(name) != files.get(name)}
        files = now
        entry.pop("agent")
        events.append(entry)
    turns = [[turn["subject"].strip('"'), sorted(turn["files"]), turn["outcome"]] for turn in story.turns()]
    fixture = {"program": programs.PACKAGES[story.agent], "events": events, "turns": turns, "chat": story.said()}
    out = pathlib.Path(story.recording) / f"{story.agent}.json"
    out.write_text(json.dumps(fixture, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    note(sys.argv[1], sys.argv[2], sys.argv[3:])
