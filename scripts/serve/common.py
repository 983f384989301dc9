"""A repository of its own for one run, and a plain client of the tool server."""

import json
import os
import queue
import subprocess
import threading

VERSIONS = {"handshake": "2025-11-25", "stateless": "2026-07-28"}


class Repository:
    """A home and a repository with twenty files."""

    def __init__(self, program, directory, files=20):
        self.program, self.path, self.home = program, directory / "repo", directory / "home"
        self.path.mkdir()
        self.home.mkdir()
        # As an agent would find it: git, and the program next to git's own.
        path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {"HOME": str(self.home), "PATH": path, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ana")
        self.git("config", "user.email", "ana@example.org")
        for number in range(files):
            file = self.path / f"src/file{number}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"file {number}\n" * 50)
        self.git("add", "-A")
        self.git("commit", "-qm", "first")

    def git(self, *words):
        result = subprocess.run(["git", *words], cwd=self.path, env=self.env, capture_output=True, text=True, check=True)
        return result.stdout

    def checkpoint(self, *words, check=True):
        command = [str(self.program), *words]
        result = subprocess.run(command, cwd=self.path, env=self.env, capture_output=True, text=True)
        if check and result.returncode not in (0, 7):
            raise RuntimeError(f"{words}: {result.returncode}: {result.stderr}")
        return result

    def refs(self):
        return self.git("for-each-ref", "--format=%(refname) %(objectname)")


class Client:
    """A client that speaks lines of JSON, and can speak anything else."""

    def __init__(self, repository, era="handshake"):
        self.version = VERSIONS["stateless"] if era == "stateless" else None
        command = [str(repository.program), "mcp"]
        self.process = subprocess.Popen(
            command, cwd=repository.path, env=repository.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.number, self.answers, self.notifications, self.strange = 0, {}, [], []
        self.arrived = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if era == "handshake":
            client = {"name": "script", "version": "1"}
            params = {"protocolVersion": VERSIONS["handshake"], "capabilities": {}, "clientInfo": client}
            self.request("initialize", params)
            self.line(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def read(self):
        for line in self.process.stdout:
            with self.arrived:
                try:
                    message = json.loads(line)
                    if "method" in message:
                        self.notifications.append(message)
                    elif isinstance(message.get("id"), int):
                        self.answers[message["id"]] = message
                except (ValueError, AttributeError):
                    self.strange.append(line)
                self.arrived.notify_all()

    def line(self, line):
        data = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def send(self, method, params, token=None):
        self.number += 1
        meta = {"progressToken": token} if token is not None else {}
        if self.version:
            meta |= {
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": {"name": "script", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        params = params | ({"_meta": meta} if meta else {})
        self.line(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        return self.number

    def answer(self, number, timeout=120):
        with self.arrived:
            if not self.arrived.wait_for(lambda: number in self.answers or not self.reader.is_alive(), timeout):
                raise TimeoutError(f"no answer to request {number}")
            return self.answers.pop(number)

    def request(self, method, params):
        return self.answer(self.send(method, params))

    def start_call(self, tool, arguments, token=None):
        return self.send("tools/call", {"name": tool, "arguments": arguments}, token)

    def call(self, tool, arguments):
        return self.answer(self.start_call(tool, arguments))["result"]

    def memory(self):
        """The most memory that the server had, in MiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            peak = next(line for line in status if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(120)
        self.reader.join(10)
        return code


def story():
    """Calls of every tool, each with a function that checks the result, for clients that hold results against schemas."""
    record = {"summary": "parser done", "next_steps": ["refresh tests"], "decisions": ["keep v1"]}
    return [
        ("checkpoint_save", {"session": "auth", "record": record, "idempotency_key": "k"}),
        ("checkpoint_save", {"session": "auth", "record": record, "idempotency_key": "k"}),
        ("checkpoint_list", {}),
        ("checkpoint_show", {}),
        ("checkpoint_search", {"query": "parser"}),
        ("checkpoint_diff", {"patch": True}),
        ("checkpoint_task", {"action": "add", "title": "port it"}),
        ("checkpoint_task", {"action": "list"}),
        ("checkpoint_step", {"action": "start", "title": "write it"}),
        ("checkpoint_step", {"action": "fail", "step": "1", "error": "it loops"}),
        ("checkpoint_step", {"action": "replay"}),
        ("checkpoint_save", {"record": {"summary": "more"}}),
        ("checkpoint_resume", {"session": "auth"}),
        ("checkpoint_restore", {"checkpoint": "auth~1"}),
        ("checkpoint_undo", {"dry_run": True}),
    ]


TOOLS = 10


def run_client(repository, command, directory, env=None):
    """Runs a client program; what it prints last is a JSON object with its figures."""
    environment = repository.env | (env or {})
    result = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=300)
    try:
        return json.loads(result.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"faults": [f"{command[0]} ended with {result.returncode}: {result.stderr[-2000:]}"], "calls": 0, "tools": 0}
