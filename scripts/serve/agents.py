"""Real coding agents, headless and offline, save and resume through the server; a small model server plays the model.

The agents are looked for in the directories that AGENTS names (one for each, as npm installs them) and in PATH. Each is
asked to save, in one run, and to resume, in another; what reached the model is checked, and the refs with git.
"""

import json
import os
import pathlib
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from common import Repository

SUMMARY = "the parser reads tokens"


def wanted(prompt):
    """The tool that a prompt asks for, with its arguments."""
    if "SAVE-NOW" in prompt:
        return "checkpoint_save", {"session": "auth", "record": {"summary": SUMMARY, "next_steps": ["refresh the tests"]}}
    if "RESUME-NOW" in prompt:
        return "checkpoint_resume", {"session": "auth"}
    return None


class Model(BaseHTTPRequestHandler):
    """Anthropic Messages, OpenAI Chat Completions and Gemini: first the tool that is asked for, then a word."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_HEAD(self):
        self.reply(b"", "text/plain")

    def do_GET(self):
        self.reply(json.dumps({"data": [{"id": "fake-model", "object": "model"}], "models": []}).encode(), "application/json")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        self.server.seen.append(json.dumps(body))
        path = self.path.split("?")[0]
        if path.endswith("/messages"):
            return self.anthropic(body)
        if path.endswith("/chat/completions"):
            return self.openai(body)
        if "GenerateContent" in path or "generateContent" in path:
            return self.gemini(body, "stream" in path)
        if path.endswith("count_tokens") or "countTokens" in path:
            return self.reply(b'{"input_tokens": 10, "totalTokens": 10}', "application/json")
        return self.reply(b"{}", "application/json")

    def reply(self, data, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events):
        self.reply("".join(events).encode(), "text/event-stream")

    def pick(self, names, texts, is_answered):
        """The name of a tool as the agent has it, and its arguments; None for a last word."""
        call = wanted(" ".join(texts))
        if not call or is_answered:
            return None
        names = [name for name in names if name.endswith(call[0])]
        return (names[0], call[1]) if names else None

    def anthropic(self, body):
        blocks = [block for message in body["messages"] for block in (
            message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}])]
        texts = [block.get("text", "") for block in blocks if block.get("type") == "text"]
        is_answered = any(block.get("type") == "tool_result" for block in blocks)
        call = self.pick([tool["name"] for tool in body.get("tools", [])], texts, is_answered)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
        if call:
            block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
            reason, whole = "tool_use", {**block, "input": call[1]}
        else:
            block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}, "end_turn"
            whole = {"type": "text", "text": "Done."}
        if not body.get("stream"):
            data = {**message, "content": [whole], "stop_reason": reason}
            return self.reply(json.dumps(data).encode(), "application/json")
        events = [
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}}),
            ("message_stop", {}),
        ]
        self.events(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events)

    def openai(self, body):
        def text(message):
            content = message.get("content") or ""
            return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)

        messages = body["messages"]
        texts = [text(message) for message in messages if message["role"] == "user"]
        names = [tool["function"]["name"] for tool in body.get("tools", [])]
        call = self.pick(names, texts, any(message["role"] == "tool" for message in messages))
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            delta = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
        else:
            delta = {"role": "assistant", "content": "Done."}
        reason = "tool_calls" if call else "stop"
        base = {"id": "x", "created": 1, "model": body.get("model"), "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        if not body.get("stream"):
            data = {**base, "object": "chat.completion", "choices": [{"index": 0, "message": delta, "finish_reason": reason}]}
            return self.reply(json.dumps(data).encode(), "application/json")
        chunk = {**base, "object": "chat.completion.chunk"}
        self.events([
            f"data: {json.dumps({**chunk, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': None}]})}\n\n",
            f"data: {json.dumps({**chunk, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': reason}]})}\n\n",
            "data: [DONE]\n\n",
        ])

    def gemini(self, body, stream):
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        names = [
            declared["name"] for tool in body.get("tools", []) for declared in tool.get("functionDeclarations", [])
        ]
        call = self.pick(names, [part.get("text", "") for part in parts], any("functionResponse" in part for part in parts))
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "Done."}
        data = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        if stream:
            return self.events([f"data: {json.dumps(data)}\n\n"])
        return self.reply(json.dumps(data).encode(), "application/json")


def claude_code(repository, binary, url):
    server = {"mcpServers": {"checkpoint": {"command": str(repository.program), "args": ["mcp"]}}}
    config = repository.home / "servers.json"
    config.write_text(json.dumps(server))
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1", "DISABLE_TELEMETRY": "1",
           "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
           "ENABLE_TOOL_SEARCH": "false"}
    return env, lambda prompt: [binary, "-p", prompt, "--dangerously-skip-permissions", "--mcp-config", str(config)]


def gemini(repository, binary, url):
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True},
                "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
                "mcpServers": {"checkpoint": {"command": str(repository.program), "args": ["mcp"], "trust": True}}}
    directory = repository.home / ".gemini"
    directory.mkdir()
    (directory / "settings.json").write_text(json.dumps(settings))
    env = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_BROWSER": "1",
           "GEMINI_SANDBOX": "false", "GEMINI_TELEMETRY_ENABLED": "false"}
    return env, lambda prompt: [binary, "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", prompt]


def opencode(repository, binary, url):
    model = {"name": "Fake", "limit": {"context": 200000, "output": 8000}, "tool_call": True}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
                "models": {"fake-model": model}}
    settings = {"autoupdate": False, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
                "provider": {"fake": provider},
                "mcp": {"checkpoint": {"type": "local", "command": [str(repository.program), "mcp"], "enabled": True}}}
    directory = repository.home / ".config/opencode"
    directory.mkdir(parents=True)
    (directory / "opencode.json").write_text(json.dumps(settings))
    env = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return env, lambda prompt: [binary, "run", prompt]


AGENTS = {"claude": claude_code, "gemini": gemini, "opencode": opencode}


def find(name):
    places = [pathlib.Path(place) for place in os.environ.get("AGENTS", "").split(os.pathsep) if place]
    for place in places:
        for binary in sorted(place.glob(f"*/node_modules/.bin/{name}")) + [place / "node_modules/.bin" / name]:
            if binary.exists():
                return str(binary)
    return shutil.which(name)


def run(program, directory):
    figures, faults = [], []
    for name, prepare in AGENTS.items():
        binary = find(name)
        if not binary:
            figures.append(f"{name} skipped: it is not installed")
            continue
        here = directory / name
        here.mkdir()
        repository = Repository(program, here)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
        server.seen = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env, command = prepare(repository, binary, f"http://127.0.0.1:{server.server_port}")
        said = []
        for prompt in ("SAVE-NOW: save the work", "RESUME-NOW: resume the work"):
            result = subprocess.run(
                command(prompt), cwd=repository.path, env=repository.env | env, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=180,
            )
            said.append(f"{result.returncode}: {(result.stdout + result.stderr)[-500:]}")
        server.shutdown()
        saved = "refs/checkpoints/auth" in repository.refs()
        resumed = any(SUMMARY in body and "RESUME-NOW" in body for body in server.seen)
        if not saved or not resumed:
            faults.append(f"{name}: saved {saved}, resumed {resumed}, {len(server.seen)} requests; {said}")
        elif SUMMARY not in repository.git("show", "checkpoints/auth:checkpoint.json"):
            faults.append(f"{name}: the record is not as it was given")
        figures.append(f"{name}: {'saved' if saved else 'not saved'}, {'resumed' if resumed else 'not resumed'}")
    return "; ".join(figures), faults
