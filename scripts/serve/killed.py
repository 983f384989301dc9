"""Servers killed at any time: what was acknowledged is there, what is there is whole, and the next command works."""

import json
import random
import time

from common import Client, Repository

ROUNDS = 60


def run(program, directory):
    faults, rand = [], random.Random(11)
    repository = Repository(program, directory)
    repository.checkpoint("save", "--session", "auth", "-m", "begin")
    acknowledged, saved = set(), 0
    for round in range(ROUNDS):
        client = Client(repository)
        numbers = {}
        for number in range(6):
            (repository.path / f"src/file{number}.txt").write_text(f"{round} {number} {rand.random()}\n")
            key = f"{round}/{number}"
            record = {"summary": key, "accomplishments": [key]}
            arguments = {"session": "auth", "record": record, "idempotency_key": key}
            numbers[client.start_call("checkpoint_save", arguments)] = key
        time.sleep(rand.random() * 0.25)
        client.process.kill()
        client.process.wait()
        client.reader.join(10)
        for number, key in numbers.items():
            result = client.answers.get(number, {}).get("result", {})
            if result.get("isError") is False:
                acknowledged.add(key)
        if repository.checkpoint("verify", "auth", check=False).returncode != 0:
            faults.append(f"round {round}: verify fails")
        # Sent again, what was saved is not saved twice.
        client = Client(repository)
        for key in numbers.values():
            record = {"summary": key, "accomplishments": [key]}
            arguments = {"session": "auth", "record": record, "idempotency_key": key}
            if client.call("checkpoint_save", arguments).get("isError"):
                faults.append(f"round {round}: {key} cannot be saved again")
            saved += 1
        client.end()
    document = json.loads(repository.git("show", "checkpoints/auth:checkpoint.json"))
    done = [item["text"] for item in document["record"]["accomplishments"]]
    wanted = {f"{round}/{number}" for round in range(ROUNDS) for number in range(6)}
    if set(done) != wanted or len(done) != len(wanted):
        faults.append(f"{len(wanted - set(done))} lost, {len(done) - len(set(done))} twice")
    if not acknowledged <= set(done):
        faults.append("something acknowledged is lost")
    repository.git("fsck", "--strict", "--no-dangling")
    figures = f"{ROUNDS} kills, {len(acknowledged)} saves acknowledged before one, {saved} sent again, {len(faults)} faults"
    return figures, faults
