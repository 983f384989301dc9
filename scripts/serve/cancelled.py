"""A save of many files sends progress, and a cancelled one leaves nothing."""

import json
import time

from common import Client, Repository

FILES = 8000


def run(program, directory):
    faults = []
    repository = Repository(program, directory)
    repository.checkpoint("save", "--session", "auth", "-m", "begin")
    for number in range(FILES):
        file = repository.path / f"many/{number % 80}/{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n" * 400)
    before = repository.refs()
    client = Client(repository)
    number = client.start_call("checkpoint_save", {"session": "auth", "record": {"summary": "never"}}, token="p")
    with client.arrived:
        client.arrived.wait_for(lambda: client.notifications, 30)
    cancelled = time.monotonic()
    client.line(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}))
    # The next call waits for the lock of the first one, if that goes on.
    result = client.call("checkpoint_task", {"action": "add", "title": "next", "session": "auth"})
    took = time.monotonic() - cancelled
    if result.get("isError") or repository.refs() != before:
        faults.append(f"the cancelled save left something: {result}")
    if number in client.answers:
        faults.append("a cancelled request was answered")
    progress = len(client.notifications)
    values = [message["params"]["progress"] for message in client.notifications]
    if progress == 0 or values != sorted(set(values)):
        faults.append(f"progress does not grow: {values[:20]}")
    client.number += 0
    saved = client.call("checkpoint_save", {"session": "auth", "record": {"summary": "whole"}})
    if saved.get("isError"):
        faults.append(f"{saved}")
    if client.end() != 0:
        faults.append("the server did not end with success")
    repository.git("fsck", "--strict", "--no-dangling")
    return f"{FILES} files: {progress} notes of progress, the next call answered {took * 1000:.0f} ms after the cancellation", faults
