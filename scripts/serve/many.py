"""Two hundred calls at once, of two servers for one repository."""

from common import Client, Repository

EACH = 100


def run(program, directory):
    faults = []
    repository = Repository(program, directory)
    repository.checkpoint("start", "auth")
    clients = [Client(repository), Client(repository, era="stateless")]
    numbers = []
    for number in range(EACH):
        for who, client in enumerate(clients):
            if number % 10 == 0:
                record = {"summary": f"save {who}/{number}", "accomplishments": [f"done {who}/{number}"]}
                arguments = {"session": "auth", "record": record, "idempotency_key": f"{who}/{number}"}
                numbers.append((who, client.start_call("checkpoint_save", arguments)))
            else:
                arguments = {"action": "add", "title": f"task {who}/{number}", "session": "auth"}
                numbers.append((who, client.start_call("checkpoint_task", arguments)))
    failed = 0
    for who, number in numbers:
        result = clients[who].answer(number).get("result", {})
        if result.get("isError", True):
            failed += 1
            faults.append(f"{str(result)[:500]}")
    peak = max(client.memory() for client in clients)
    for client in clients:
        if client.end() != 0:
            faults.append("a server did not end with success")
    repository.checkpoint("save", "--session", "auth", "-m", "all")
    import json

    document = json.loads(repository.git("show", "checkpoints/auth:checkpoint.json"))
    tasks = {task["title"] for task in document["record"]["tasks"]}
    done = {item["text"] for item in document["record"]["accomplishments"]}
    wanted = {(who, number) for who in (0, 1) for number in range(EACH)}
    lost = [
        name for name in wanted
        if f"task {name[0]}/{name[1]}" not in tasks and f"done {name[0]}/{name[1]}" not in done
    ]
    if lost:
        faults.append(f"lost: {sorted(lost)[:10]}")
    repository.git("fsck", "--strict", "--no-dangling")
    return f"{len(numbers)} calls of 2 servers, {failed} failed, {len(lost)} lost, {peak:.1f} MiB", faults
