"""Ten thousand broken requests: JSON that is cut or damaged, wrong types, huge and unknown members."""

import json
import random

from common import Client, Repository

COUNT = 10_000
LIMIT = 64
VALUES = [
    None, True, -1, 0, 1.5, 1e308, 10**30, "", "x", "\u0000", "\ud800", "--force", "-n", "../..", "a" * 5000, [], {}, [[]],
    {"": 0}, [None] * 50, {"$schema": 1}, {"__proto__": {}}, "é" * 300, ["--abort", "-", "@{-1}", ":/x", "^", "~~~"],
]


def call(rand):
    tool = rand.choice(
        ["save", "resume", "list", "show", "search", "diff", "restore", "undo", "step", "task", "nothing", "", 3, None]
    )
    members = [
        "session", "record", "files", "agent", "name", "pause", "idempotency_key", "checkpoint", "paths", "index", "force",
        "confirm", "action", "step", "title", "task", "id", "percent", "old", "new", "patch", "max_characters", "limit",
        "query", "status", "since", "unknown", "__proto__", "",
    ]
    # Nothing here is a request that could be carried out: each has at least one member of a wrong type or name.
    arguments = {rand.choice(members): rand.choice(VALUES) for _ in range(rand.randint(0, 6))}
    arguments[rand.choice(["unknown member", "Files", "record "])] = rand.choice(VALUES)
    name = f"checkpoint_{tool}" if isinstance(tool, str) else tool
    return {"name": name, "arguments": rand.choice([arguments, arguments, arguments, rand.choice(VALUES)])}


def message(rand, number):
    method = rand.choice(
        ["tools/call"] * 6
        + ["initialize", "ping", "tools/list", "resources/read", "prompts/get", "server/discover", "completion/complete",
           "logging/setLevel", "notifications/cancelled", "notifications/progress", "tasks/get", "", "x" * 200, 5, None]
    )
    params = call(rand) if method == "tools/call" else rand.choice([*VALUES, {"uri": rand.choice(VALUES)}, {"name": "resume", "arguments": rand.choice(VALUES)}])
    out = {"jsonrpc": rand.choice(["2.0"] * 8 + ["1.0", 2, None]), "id": f"b{number}", "method": method, "params": params}
    if rand.random() < 0.1:
        out["id"] = rand.choice(VALUES)
    if rand.random() < 0.1:
        del out[rand.choice(list(out))]
    if rand.random() < 0.1:
        out[rand.choice(["result", "error", "extra"])] = rand.choice(VALUES)
    return out


def spoil(rand, line):
    kind = rand.randint(0, 9)
    if kind < 4:
        return line
    if kind == 4:
        return line[: rand.randrange(len(line))]
    if kind == 5:
        data = bytearray(line)
        for _ in range(rand.randint(1, 20)):
            data[rand.randrange(len(data))] = rand.choice([0, 9, 0x22, 0x5C, 0x7B, 0x7D, 0xC3, 0xFF])
        return bytes(data).replace(b"\n", b" ")
    if kind == 6:
        return b"[" * rand.randint(1, 4000) + line
    if kind == 7:
        return b"[" + b",".join([line] * rand.randint(1, 5)) + b"]"
    if kind == 8:
        return line.replace(b"{", b'{"a":' + b"1" * rand.randint(1, 2000) + b",", 1)
    return bytes(rand.randrange(1, 256) for _ in range(rand.randint(1, 300))).replace(b"\n", b" ")


def huge(rand):
    size = rand.choice([100_000, 1_000_000, 1_900_000, 6_000_000])
    kind = rand.randint(0, 3)
    if kind == 0:
        return b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * size + b'"}'
    if kind == 1:
        return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"checkpoint_save","arguments":{"unknown":[' + b"1," * (size // 2) + b"1]}}}"
    if kind == 2:
        return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"checkpoint_save","arguments":{"unknown":"' + b"y" * size + b'"}}}'
    return b'{"a":' * (size // 5)


def run(program, directory):
    faults, rand = [], random.Random(7)
    repository = Repository(program, directory)
    repository.checkpoint("save", "-m", "before", "--session", "auth")
    before, files = repository.refs(), repository.git("status", "--porcelain")
    client = Client(repository)
    for number in range(COUNT):
        if number % 100 == 99:
            client.line(huge(rand))
        else:
            client.line(spoil(rand, json.dumps(message(rand, number)).encode("ascii")))
        if number % 500 == 499:
            if "result" not in client.request("ping", {}):
                faults.append(f"no answer to a ping after {number + 1} requests")
                break
    peak = client.memory()
    if client.strange:
        faults.append(f"{len(client.strange)} lines of output are no protocol: {client.strange[0][:200]}")
    if repository.refs() != before or repository.git("status", "--porcelain") != files:
        faults.append("something was changed")
    saved = client.call("checkpoint_save", {"session": "auth", "record": {"summary": "after"}})
    if saved.get("isError"):
        faults.append(f"the server does not work any more: {saved}")
    if client.end() != 0:
        faults.append("the server did not end with success")
    if peak >= LIMIT:
        faults.append(f"{peak:.1f} MiB of memory")
    return f"{COUNT} broken requests, {peak:.1f} MiB at most, {len(faults)} faults", faults
