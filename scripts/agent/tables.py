"""Tables over session files of real agents: is the chat what a person saw, whatever the pieces, and without its secrets?

A set of files is a directory with `transcripts/AGENT/NAME.jsonl` (or `.json`, `.md`) and, where the right chat is known,
`expected/AGENT/NAME.chat.jsonl` with a {role, content, id} a line. fixtures/sessions is one, written by hand in the form of
agents that are not driven here; the recorded days in fixtures/agents are a set as well.
"""

import base64
import concurrent.futures
import difflib
import json
import pathlib
import random
import re
import string
import subprocess

FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures"
WORKERS = 2


class File:
    """A session file, and the chat that a person saw: (role, text, id or None) each."""

    def __init__(self, agent, name, data, chat=None):
        self.agent, self.name, self.data, self.chat = agent, name, data, chat


def sets(directories):
    files = []
    for directory in map(pathlib.Path, [FIXTURES / "sessions", *directories]):
        for path in sorted((directory / "transcripts").glob("*/*")):
            expected = directory / "expected" / path.parent.name / f"{path.stem}.chat.jsonl"
            chat = None
            if expected.exists():
                said = [json.loads(line) for line in expected.read_text().splitlines() if line.strip()]
                chat = [(one["role"], one["content"].strip(), one.get("id")) for one in said]
            if not path.stem.endswith("-session"):
                files.append(File(path.parent.name, path.name, path.read_bytes(), chat))
    for path in sorted((FIXTURES / "agents").glob("*.json")):
        day, texts = json.loads(path.read_text()), {}
        for event in day["events"]:
            payload = event["payload"] or {}
            key = next((payload[name] for name in ("transcript_path", "transcriptPath", "session_file") if payload.get(name)), None)
            if event.get("transcript"):
                texts[key] = ("" if event["transcript"]["anew"] else texts.get(key, "")) + event["transcript"]["text"]
            elif payload.get("export"):
                texts["export"] = json.dumps(payload["export"])
        main = max(texts, key=lambda key: len(texts[key]))
        files.append(File(path.stem, "recorded day", texts[main].encode(), [(role, text, None) for role, text in day["chat"]]))
    return files


class Talk:
    """A repository in which session files are imported, each into a session of its own."""

    def __init__(self, program, directory):
        self.program, self.directory, self.repo = program, directory, directory / "repo"
        self.repo.mkdir(parents=True)
        (directory / "home").mkdir()
        self.env = {"HOME": str(directory / "home"), "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1",
                    "LC_ALL": "C"}
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ana")
        self.git("config", "user.email", "ana@example.org")
        self.git("commit", "-q", "--allow-empty", "-m", "first")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.repo, env=self.env, capture_output=True, check=True).stdout

    def run(self, *words):
        return subprocess.run([str(self.program), *words], cwd=self.repo, env=self.env, capture_output=True, text=True)

    def ok(self, *words):
        done = self.run(*words)
        if done.returncode not in (0, 7):
            raise RuntimeError(f"{words}: {done.returncode}: {done.stderr[-600:]}")
        return done.stdout

    def take(self, session, agent, path):
        return json.loads(self.ok("message", "import", "--json", "--from", agent, "--session", session, str(path)))

    def messages(self, session):
        return json.loads(self.ok("message", "list", "--full", "--json", "--session", session))["messages"]


def said(messages):
    """The chat as a person saw it."""
    out = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text").strip()
        if message["role"] in ("user", "assistant") and text and not (message.get("meta") or {}).get("helper"):
            out.append((message["role"], text, message["id"]))
    return out


def compare(program, directory, directories):
    """A row an agent: files, those with a known chat, messages expected, equal, differing, other ids, lines, not understood."""
    talk, rows, faults = Talk(program, directory), {}, []
    for n, file in enumerate(sets(directories)):
        talk.ok("start", "-q", f"t{n}")
        path = directory / f"t{n}{pathlib.Path(file.name).suffix or '.jsonl'}"
        path.write_bytes(file.data)
        done = talk.take(f"t{n}", file.agent, path)
        talk.ok("save", "-q", "--no-files", "-m", "kept", "--session", f"t{n}")
        row = rows.setdefault(file.agent, [0] * 8)
        row[0] += 1
        row[6] += done["records"]
        row[7] += sum(done["unknown"].values()) + len(done["skipped"])
        if done["unknown"] or done["skipped"]:
            print(f"# {file.agent} {file.name}: not understood: {done['unknown']} {done['skipped']}")
        if file.chat is None:
            continue
        seen = said(talk.messages(f"t{n}"))
        # OpenCode puts a prompt of several words into quotation marks itself.
        plain = lambda chat: [(role, text.strip('"')) for role, text, *_ in chat]
        pairs = difflib.SequenceMatcher(a=plain(file.chat), b=plain(seen), autojunk=False).get_matching_blocks()
        equal = sum(pair.size for pair in pairs)
        differing = max(len(file.chat), len(seen)) - equal
        ids = sum(file.chat[pair.a + i][2] not in (None, seen[pair.b + i][2]) for pair in pairs for i in range(pair.size))
        for at, more in enumerate((1, len(file.chat), equal, differing, ids), 1):
            row[at] += more
        if differing or ids:
            faults.append(f"{file.agent} {file.name}: expected {file.chat}, got {seen}")
    head = ("agent", "files", "with a known chat", "messages expected", "equal", "differing", "with another id", "records", "not understood")
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for agent, row in rows.items():
        print(f"| {agent} | " + " | ".join(map(str, row)) + " |")
    total = [sum(row[at] for row in rows.values()) for at in range(8)]
    return f"{total[0]} files, {total[2]} messages expected, {total[3]} equal, {total[4]} differing, {total[7]} records not understood", faults


def rewound(file, dice):
    """The file with ways back in it, as the agent itself writes them: an earlier message becomes the parent of what follows."""
    lines = file.data.splitlines(keepends=True)
    records = [json.loads(line) if line.strip().startswith(b"{") else None for line in lines]
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(lines) // 2, len(lines) + 1)
        before = [record for record in records[:at] if record]
        if file.agent == "gemini":
            ids = [record["id"] for record in before if record.get("type") == "user"]
            more = {"$rewindTo": dice.choice(ids)} if ids else None
        elif file.agent in ("claude-code", "qwen"):
            known = [record for record in before if record.get("type") in ("user", "assistant") and record.get("uuid")]
            back = dice.choice(known) if known else None
            more = back and {**back, "uuid": f"back-{dice.randrange(10**9)}", "parentUuid": dice.choice(known)["uuid"]}
        elif file.agent == "pi":
            known = [record for record in before if record.get("type") == "message"]
            back = dice.choice(known) if known else None
            more = back and {**back, "id": f"{dice.randrange(16**8):08x}", "parentId": dice.choice(known)["id"]}
        elif file.agent == "copilot":
            known = [record["id"] for record in before if record.get("type") == "user.message"]
            more = {"type": "session.snapshot_rewind", "id": f"back-{dice.randrange(10**9)}", "timestamp": before[-1].get("timestamp"),
                    "data": {"upToEventId": dice.choice(known), "eventsRemoved": 1}} if known else None
        else:
            more = {"timestamp": before[-1].get("timestamp"), "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
        if more:
            lines.insert(at, json.dumps(more).encode() + b"\n")
            records.insert(at, more)
    return b"".join(lines)


def states(file, data, dice):
    """The file as it is at some times: longer and longer, cut anywhere, also shorter again, or copied; the whole at last."""
    is_lines = file.name.endswith(".jsonl") or data.count(b"\n") > 3 and data.startswith(b"{") and b"\n{" in data
    out, length = [], 0
    for _ in range(dice.randrange(1, 7)):
        length = dice.randrange(length + 1) if dice.random() < 0.15 else dice.randrange(length, len(data) + 1)
        if is_lines or dice.random() < 0.5:
            out.append(data[:length])
        elif file.name.endswith(".md"):
            out.append(data[: data.rfind(b"\n", 0, length) + 1])
        else:
            document = json.loads(data)
            inner = document["messages"] if isinstance(document, dict) else document
            part = inner[: dice.randrange(len(inner) + 1)]
            out.append(json.dumps({**document, "messages": part} if isinstance(document, dict) else part).encode())
    return [*out, data, data]


def essence(messages):
    """A message without its number, times of records that have none, and what a later reading may add."""
    return [(message["id"], message["role"], json.dumps(message["content"], sort_keys=True), json.dumps(message.get("meta"), sort_keys=True))
            for message in messages]


def cuts(program, directory, directories, series=12):
    files = sets(directories)
    faults, count = [], [0, 0]

    def one(job):
        n, file = job
        dice, talk = random.Random(f"{file.agent}/{file.name}"), Talk(program, directory / f"w{n}")
        suffix = pathlib.Path(file.name).suffix
        for turn in range(series):
            has_lines = file.data.startswith(b"{") and b"\n{" in file.data
            data = rewound(file, dice) if has_lines and turn % 2 else file.data
            path = talk.directory / f"s{turn}{suffix or '.jsonl'}"
            path.write_bytes(data)
            talk.ok("start", "-q", f"whole{turn}")
            talk.take(f"whole{turn}", file.agent, path)
            talk.ok("start", "-q", f"cut{turn}")
            for state in states(file, data, dice):
                if dice.random() < 0.2:
                    path.unlink()  # written anew: another file of the same name
                path.write_bytes(state)
                done = talk.run("message", "import", "--from", file.agent, "--session", f"cut{turn}", str(path))
                count[0] += 1
                if done.returncode not in (0, 3, 128) or "panicked" in done.stderr or (done.returncode and state == data):
                    faults.append(f"{file.agent} {file.name}: {done.returncode}: {done.stderr[-300:]}")
                if dice.random() < 0.4:
                    talk.ok("save", "-q", "--no-files", "-m", "kept", "--session", f"cut{turn}")
            whole, cut = essence(talk.messages(f"whole{turn}")), essence(talk.messages(f"cut{turn}"))
            count[1] += 1
            if whole != cut:
                differs = [pair for pair in zip(whole, cut) if pair[0] != pair[1]][:1]
                faults.append(f"{file.agent} {file.name}, series {turn}: {len(whole)} and {len(cut)} messages; {differs}")

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, enumerate(files)))
    return f"{len(files)} files, {count[1]} series of cuts, {count[0]} readings, {len(faults)} differ", faults


# What stays byte for byte: an agent could not resume its session with another value.
KEPT = re.compile(r"(?i)(^|_)(type|role|kind|status|version|cwd|directory|path|name|tool|agent|model|timestamp|time|created|subtype|phase|source|mode"
                  r"|signature|encrypted_content|thoughtsignature|opaque|sha|hash|media_type|mimetype|reason|ending|event|category|level|originator|provider)s?$"
                  r"|(^|[a-z_])(id|uuid|ids|at)$|Id$|Uuid$|ID$|Ids$|Path$|Type$|Name$|Signature$|Opaque$|At$")


def tokens(dice):
    """A credential of a known kind; each is another one."""
    letters, capitals = string.ascii_letters + string.digits, string.ascii_uppercase + "234567"
    word = lambda alphabet, count: "".join(dice.choice(alphabet) for _ in range(count))
    kinds = (lambda: "ghp_" + word(letters, 36), lambda: "AKIA" + word(capitals, 16), lambda: "xoxb-" + word(string.digits, 12) + "-" + word(letters, 24),
             lambda: "sk-ant-api03-" + word(letters, 93) + "AA", lambda: "glpat-" + word(letters, 20), lambda: "npm_" + word(letters, 36))
    while True:
        yield dice.choice(kinds)()


def form(token, dice, before):
    """The forms in which people and tools leave a credential, next to what stands there."""
    which = dice.randrange(6)
    if which == 0:
        return f"{before[:200]} use {token} for it"
    if which == 1:
        return f"HOME=/root\nAPI_TOKEN={token}\nPATH=/bin:/usr/bin\n{before[:100]}"
    if which == 2:
        return "data: " + base64.b64encode(f"machine host.example login me password {token}".encode()).decode()
    if which == 3:
        return json.dumps({"auth": {"token": token}, "was": before[:40]})
    if which == 4:
        return f"git clone https://me:{token}@host.example/me/it"
    return f"{before[:60]}\n+export TOKEN='{token}'\n"


def plant(value, key, source, dice, planted):
    if isinstance(value, dict):
        return {name: plant(item, name, source, dice, planted) for name, item in value.items()}
    if isinstance(value, list):
        return [plant(item, key, source, dice, planted) for item in value]
    if not isinstance(value, str) or KEPT.search(key):
        return value
    token = next(source)
    planted.append(token)
    if value.startswith("{"):
        try:
            inner = json.loads(value)
            planted.pop()
            return json.dumps(plant(inner, "", source, dice, planted))
        except ValueError:
            pass
    tag = re.match(r"<\w+[^>]*>", value)
    return (tag[0] if tag else "") + form(token, dice, value) + (re.search(r"(</\w+>)?\s*$", value)[0] if tag else "")


def secrets(program, directory, directories):
    talk, planted, by_agent, faults = Talk(program, directory), [], {}, []
    dice = random.Random(5)
    source = tokens(dice)
    for n, file in enumerate(sets(directories)):
        before = len(planted)
        if file.name.endswith(".md"):
            lines = []
            for line in file.data.decode().splitlines():
                if line.strip() and not line.startswith(("# aider", "```")):
                    planted.append(next(source))
                    line = line[:5] + " " + form(planted[-1], dice, line).replace("\n", " ")
                lines.append(line)
            data = "\n".join(lines) + "\n"
        elif file.data.startswith(b"{") and b"\n{" in file.data:
            data = "".join(json.dumps(plant(json.loads(line), "", source, dice, planted)) + "\n" for line in file.data.splitlines() if line.strip())
        else:
            data = json.dumps(plant(json.loads(file.data), "", source, dice, planted))
        path = directory / f"p{n}{pathlib.Path(file.name).suffix or '.jsonl'}"
        path.write_text(data)
        talk.ok("start", "-q", f"p{n}")
        talk.take(f"p{n}", file.agent, path)
        talk.ok("save", "-q", "--no-files", "-m", "kept", "--session", f"p{n}")
        by_agent[file.agent] = by_agent.get(file.agent, 0) + len(planted) - before
    stored = talk.git("cat-file", "--batch-all-objects", "--batch")
    stored += b"".join(path.read_bytes() for path in (talk.repo / ".git").rglob("*") if path.is_file())
    runs = b"\n".join(base64.b64decode(run[: len(run) // 4 * 4]) for run in re.findall(rb"[A-Za-z0-9+/]{40,}", stored))
    found = [token for token in planted if token.encode() in stored or token.encode() in runs]
    for token in found:
        kept = stored if token.encode() in stored else runs
        at = kept.index(token.encode())
        faults.append(f"stored: {kept[max(0, at - 120) : at + 80]!r}")
    print(", ".join(f"{agent} {count}" for agent, count in sorted(by_agent.items())))
    return f"{len(planted)} secrets planted, {len(found)} in objects or below .git", faults
