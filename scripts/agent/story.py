"""One agent's day: turns, edits by hand, a sub-agent, a kill, going back, another clone, forks, and the way out."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import programs
import record
from model import Model

LIMIT = 180


class Story:
    def __init__(self, agent, program, directory, recording=None):
        self.agent, self.program, self.directory, self.recording = agent, program, directory, recording
        self.home, self.repo = directory / "home", directory / "work"
        self.home.mkdir(parents=True)
        self.repo.mkdir()
        self.model = Model(self.repo)
        self.rows = []
        self.enter(self.home, self.repo)
        for name, value in (("user.name", "Ana"), ("user.email", "ana@example.org"), ("init.defaultBranch", "main")):
            self.git("config", "--file", self.env["GIT_CONFIG_GLOBAL"], name, value)
        self.git("init", "-q")
        (self.repo / "README.md").write_text("demo\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")

    def enter(self, home, repo):
        """Another machine, as far as the agent can see: a home and a working tree."""
        self.home, self.repo = home, repo
        home.mkdir(exist_ok=True)
        path = [str(self.program.parent), *programs.path(self.agent), os.environ["PATH"]]
        config = str(self.directory / "gitconfig")
        self.env = {"HOME": str(home), "PATH": os.pathsep.join(path), "GIT_CONFIG_GLOBAL": config, "GIT_CONFIG_NOSYSTEM": "1",
                    "LC_ALL": "C.UTF-8", "TERM": "dumb"} | programs.PREPARE[self.agent](home, self.model.url)
        self.model.at(repo)

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.repo, env=self.env, capture_output=True, text=True, check=True).stdout

    def checkpoint(self, *words, check=True):
        done = subprocess.run([str(self.program), *words], cwd=self.repo, env=self.env, capture_output=True, text=True)
        if check and done.returncode not in (0, 7):
            raise RuntimeError(f"{words}: {done.returncode}: {done.stderr}")
        return json.loads(done.stdout) if "--json" in words and done.stdout else done.stdout

    def row(self, name, holds, detail=""):
        reason = programs.LACKS.get((self.agent, name))
        word = "ok" if holds else "cannot" if reason else "not ok"
        self.rows.append((name, word, reason if word == "cannot" else "" if holds else detail))
        print(f"{word} {self.agent}: {name}" + (f" ({self.rows[-1][2]})" if self.rows[-1][2] else ""), flush=True)
        return holds

    # The agent.

    def start(self, prompt, session=None, **how):
        log = open(self.directory / "agent.log", "ab")
        command = programs.command(self.agent, prompt, session, **how)
        return subprocess.Popen(command, cwd=self.repo, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def ask(self, prompt, session=None, **how):
        process = self.start(prompt, session, **how)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.end(process, signal.SIGKILL)
        return process.returncode

    def end(self, process, how):
        os.killpg(process.pid, how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            pass  # a busy machine, or an agent that finishes its turn first
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass
        process.wait(30)

    # What is saved.

    def turns(self):
        return self.checkpoint("turns", "--all", "--json", check=False).get("turns", []) if self.refs() else []

    def refs(self):
        return self.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/").split()

    def session(self):
        return self.refs()[0]

    def turns_are(self, count):
        """Workers of hooks go on alone for a moment."""
        for _ in range(300):
            if len(self.turns()) >= count:
                break
            time.sleep(0.1)
        return len(self.turns()) == count

    def seen(self, turns, count):
        # OpenCode puts a prompt of several words into quotation marks itself.
        return [(turn["subject"].strip('"'), sorted(turn["files"]), turn["outcome"]) for turn in turns[-count:]]

    def said(self):
        """The chat as a person saw it."""
        out = []
        for message in self.checkpoint("message", "list", "--full", "--json")["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
            if message["role"] in ("user", "assistant") and text.strip() and not (message.get("meta") or {}).get("helper"):
                out.append((message["role"], text.strip().strip('"')))
        return out

    def place(self, resumed):
        if resumed.get("import"):
            subprocess.run(resumed["import"], shell=True, cwd=self.repo, env=self.env, check=True, capture_output=True)
        return resumed["id"]

    # The day.

    def run(self):
        try:
            self.day()
        except Exception as error:  # a row that could not be tried is a failure of that row
            self.row("the story continues", False, f"{type(error).__name__}: {error}"[:600])
        finally:
            self.model.close()
        return self.rows

    def settings(self):
        file = self.home / programs.SETTINGS[self.agent]
        return file.read_bytes() if file.exists() else None

    def day(self):
        before = self.settings()
        self.checkpoint("enable", self.agent)
        with_hooks = self.settings()
        self.checkpoint("disable", self.agent)
        self.row("settings byte for byte", self.settings() == before and with_hooks != before)
        self.checkpoint("enable", self.agent)
        if self.agent == "codex":
            self.trust()
        if self.recording:
            record.wrap(self)
        self.two_turns()
        session = self.turns()[-1]["agent_session"]
        if self.agent in programs.WITHOUT_RESUME:
            return self.short_day()
        self.helper(session)
        self.ended(session)
        self.helpers()
        self.compaction(session)
        if self.recording:
            record.write(self)
        self.back()
        self.elsewhere()
        self.forks()
        self.gate()
        self.checkpoint("disable", "--all")
        self.row("nothing of ours stays", b"git-checkpoint" not in (self.settings() or b""))
        ok = subprocess.run([str(self.program), "verify", "--all"], cwd=self.repo, env=self.env, capture_output=True)
        self.row("sessions are intact", ok.returncode == 0)

    def short_day(self):
        """What is left of the day for an agent that resumes no session."""
        for name in ("sub-agent", "interrupted in a turn", "killed in a turn", "compaction is reported", "rewind: a session to resume",
                     "another clone: the agent continues", "a fork has a session of its own"):
            self.row(name, False)
        done = self.checkpoint("rewind", "1", "--json")
        files = {name for name in ("one.txt", "two.txt", "mine.txt") if (self.repo / name).exists()}
        self.row("rewind: files", files == {"one.txt"} and not done.get("agent"), str(files))
        self.gate()
        self.checkpoint("disable", "--all")
        self.row("nothing of ours stays", self.settings() is None)
        ok = subprocess.run([str(self.program), "verify", "--all"], cwd=self.repo, env=self.env, capture_output=True)
        self.row("sessions are intact", ok.returncode == 0)

    def shown(self):
        """The agent's row of `agents`."""
        return next(row for row in self.checkpoint("agents", "--json", check=False)["agents"] if row["agent"] == self.agent)

    def trust(self):
        """Codex runs no hook that the user has not trusted: `agents` says so, and nothing is saved."""
        trust = self.shown().get("trust")
        self.ask("say untrusted", trusted=False)
        self.row("trust is asked for", bool(trust) and not self.refs())

    def gate(self):
        """The gate that the agent puts before hooks: `agents` knows whether it is open, by the agent's own files."""
        row = self.shown()
        self.row("version is known", programs.PACKAGES[self.agent].endswith(f"@{row.get('version')}"), str(row.get("version")))
        if self.agent == "codex":
            closed = bool(row.get("trust"))
            self.row("trusted in the agent itself", closed and programs.trust_codex(self) and not self.shown().get("trust"), str(self.shown().get("trust")))
        elif self.agent == "gemini":
            self.env.pop("GEMINI_CLI_TRUST_WORKSPACE")
            closed = bool(self.shown().get("trust"))
            refused = self.ask("say untrusted") != 0
            file = self.home / ".gemini/trustedFolders.json"
            file.write_text(json.dumps({str(self.repo): "TRUST_FOLDER"}))
            count = len(self.turns())
            opened = not self.shown().get("trust") and self.ask("write trusted.txt") == 0 and self.turns_are(count + 1)
            self.row("trusted in the agent itself", closed and refused and opened, str((closed, refused, opened)))
        else:
            self.row("no step is asked for where hooks run untrusted", not row.get("trust"), str(row.get("trust")))
        done = self.checkpoint("agents", "doctor", self.agent, "--json", check=False)
        self.row("doctor: the hooks fire", done["agents"][0]["saved"], str(done["agents"][0]))

    def two_turns(self):
        self.ask("write one.txt")
        self.row("a turn is saved", self.turns_are(1) and (self.repo / "one.txt").exists())
        session = self.turns()[-1]["agent_session"]
        (self.repo / "mine.txt").write_text("by hand\n")
        self.ask("shell two.txt", None if self.agent in programs.WITHOUT_RESUME else session)
        self.turns_are(2)
        turns = self.turns()
        wanted = [("write one.txt", ["one.txt"], "done"), ("shell two.txt", ["two.txt"], "done")]
        self.row("files by tool and by shell", self.seen(turns, 2) == wanted, str(self.seen(turns, 2)))
        self.row("edits by hand are apart", len(turns) == 2 and turns[1]["follows_edits"])
        wanted = [("user", "write one.txt"), ("assistant", "Wrote one.txt."), ("user", "shell two.txt"), ("assistant", "Made two.txt.")]
        said = self.said()
        self.row("chat as a person saw it", said == wanted, str(said))
        self.row("tokens and model", bool(turns[-1]["model"]) and (turns[-1]["tokens"] or {}).get("output", 0) > 0,
                 str((turns[-1]["model"], turns[-1]["tokens"])))

    def helper(self, session):
        count = len(self.turns())
        # Codex offers sub-agents to models that it does not know.
        self.ask("helper looked", session, model="m")
        self.turns_are(count + 1)

    def helpers(self):
        """The step of the sub-agent: Qwen Code reports its end with the next turn."""
        steps = self.checkpoint("step", "list", "--json")["steps"]
        found = [(step["prompt"], step["status"], "looked" in step.get("output", {}).get("head", "")) for step in steps]
        self.row("sub-agent", found == [("say looked", "done", True)], f"{found}, tools {self.model.tools()}")

    def ended(self, session):
        """The agent ends in the middle of a turn: by a signal that it may handle, and by one that it cannot."""
        for name, how in (("interrupted", signal.SIGINT), ("killed", signal.SIGKILL)):
            count = len(self.turns())
            process = self.start(f"slow {name}.txt", session)
            begun = time.time()
            while not (self.repo / f"{name}.txt").exists() and time.time() - begun < LIMIT / 2:
                time.sleep(0.1)
            time.sleep(1.5)
            self.end(process, how)
            self.ask(f"write after-{name}.txt", session)
            self.turns_are(count + 2)
            found = self.seen(self.turns(), 2)
            wanted = [(f"slow {name}.txt", [f"{name}.txt"], "interrupted"), (f"write after-{name}.txt", [f"after-{name}.txt"], "done")]
            self.row(f"{name} in a turn", found == wanted, str(found))

    def compaction(self, session):
        """The agent compacts: by its command, or because the model says that the context is nearly full."""
        before, requests = self.said(), self.model.count()
        if self.agent in ("claude-code", "copilot"):
            self.ask("/compact", session)
        else:
            self.ask("full context", session)
            self.ask("say next", session)
        self.row("compaction happens", self.model.summaries(requests) > 0, f"{self.model.count() - requests} requests, none for a summary")
        for _ in range(1 if (self.agent, "compaction is reported") in programs.LACKS else 50):
            log = self.git("log", "--first-parent", "--format=%s", f"refs/checkpoints/{self.session()}")
            told = "before the agent compacts" in log
            if told:
                break
            time.sleep(0.2)
        self.row("compaction is reported", told)
        if self.agent not in ("claude-code", "copilot"):
            for _ in range(100):
                if ("assistant", "next.") in self.said():
                    break
                time.sleep(0.1)
        said = self.said()
        self.row("the chat keeps what was compacted", said[: len(before)] == before, str(said)[:600])

    def back(self):
        turns = self.turns()
        n = next(turn["n"] for turn in turns if turn["subject"].strip('"') == "shell two.txt")
        done = self.checkpoint("rewind", str(n), "--json")
        files = {name for name in ("one.txt", "two.txt", "mine.txt", "killed.txt", "after-killed.txt") if (self.repo / name).exists()}
        self.row("rewind: files", files == {"one.txt", "two.txt", "mine.txt"}, str(files))
        if not self.row("rewind: a session to resume", bool(done.get("agent"))):
            return
        count, requests = len(turns), self.model.count()
        self.ask("write three.txt", self.place(done["agent"]))
        # An agent may ask for a title of an earlier session as well.
        seen = self.model.since(requests, "write three.txt")
        self.row("the agent sees what was before", "shell two.txt" in seen and "write one.txt" in seen)
        self.row("and nothing of what came after", "slow killed.txt" not in seen)
        self.row("its turn is saved", self.turns_are(count + 1))

    def elsewhere(self):
        subprocess.run(["git", "init", "-q", "--bare", str(self.directory / "there.git")], env=self.env, check=True)
        session, count = self.session(), len(self.turns())
        self.git("remote", "add", "origin", str(self.directory / "there.git"))
        self.git("push", "-q", "origin", "main")
        self.checkpoint("push", "origin", session)
        here = (self.home, self.repo)
        clone = self.directory / "clone"
        self.git("clone", "-q", str(self.directory / "there.git"), str(clone))
        self.enter(self.directory / "elsewhere", clone)
        self.checkpoint("enable", self.agent)
        self.checkpoint("pull", "origin", session)
        resumed = self.checkpoint("resume", session, "--agent", "--json")
        placed = pathlib.Path(resumed.get("file") or os.devnull)
        text = self.checkpoint("export", session, "--format", self.agent, "--json")["text"]
        self.row("export --format writes the same file", bool(text) and placed.read_text() == text, f"{placed}: {len(text or '')} characters")
        requests = self.model.count()
        self.ask("write four.txt", self.place(resumed))
        seen = self.model.since(requests, "write four.txt")
        self.row("another clone: the agent continues", "write three.txt" in seen and "write one.txt" in seen)
        self.row("and its turn is saved there", self.turns_are(count + 1))
        self.row("paths are those of the clone", str(here[1]) + "/one.txt" not in seen)
        self.enter(*here)

    def forks(self):
        words = ["fork", "@", "--name", "left", "--worktree", str(self.directory / "left"), "--agent-session", "--json"]
        forked = self.checkpoint(*words)["forks"][0]
        here = self.repo
        self.enter(self.home, self.directory / "left")
        requests = self.model.count()
        self.ask("write left.txt", self.place(forked["agent"]))
        self.turns_are(1)
        turn = (self.turns() or [{}])[-1]
        self.row("a fork has a session of its own", "write three.txt" in self.model.since(requests, "write left.txt")
                 and turn.get("agent_session") == forked["agent"]["id"] and (self.repo / "left.txt").exists(),
                 f"{turn.get('subject')}, {turn.get('agent_session')} for {forked['agent']['id']}")
        self.enter(self.home, here)


def table(results):
    """Agents by rows, for the reader."""
    names = list(dict.fromkeys(name for rows in results.values() for name, _, _ in rows))
    lines = ["| | " + " | ".join(results) + " |", "|---" * (len(results) + 1) + "|"]
    for name in names:
        cells = [next((word for known, word, _ in rows if known == name), "-") for rows in results.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [f"{agent}: {name}: {reason}" for agent, rows in results.items() for name, word, reason in rows if reason]
    return "\n".join(lines)


def clean(directory):
    shutil.rmtree(directory, ignore_errors=True)


def run(agent, program, directory, recording=None):
    story = Story(agent, program, pathlib.Path(directory), recording)
    return story.run()
