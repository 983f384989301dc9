"""A model server on loopback for the stories with real agents: no key, no state.

It speaks Anthropic Messages, OpenAI Chat Completions and Responses, and Gemini generateContent, streamed or not. The last
line of the user that is an order decides; tool results that follow it are its steps:

    write NAME     the tool that writes files (a shell command where there is none), then "Wrote NAME."
    shell NAME     the shell makes the file, then "Made NAME."
    slow NAME      as write, but the answer after the tool takes a minute: there is time to end the agent
    helper NAME    the tool that starts a sub-agent, whose own order is `say NAME`, then "The helper is done."
    full NAME      "It is full.", with a usage that says that the context is nearly full
    say NAME       "NAME."
"""

import gzip
import itertools
import json
import re
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Cline puts the words of a person into tags.
ORDER = re.compile(r'^(?:<user_input[^>]*>)?"?(write|shell|slow|helper|full|say) ([\w./-]+)"?\s*(?:</user_input>)?\s*$', re.MULTILINE)
WRITERS = ("write", "write_file", "create", "create_file", "apply_patch", "editor")
SHELLS = ("bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell", "run_commands")
HELPERS = ("agent", "task", "spawn_agent", "invoke_agent", "codebase_investigator", "generalist", "subagent")
RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
COUNT = itertools.count(1)
PAUSE = 60
# A model that answers at once would let a tool write before the state at the prompt is saved.
DELAY = 0.3


class Conversation:
    """What an answer depends on: the tools by name, the order, and how many results have followed it."""

    def __init__(self, body):
        self.tools, self.order, self.results, self.is_gemini = {}, None, [], "contents" in body
        for tool in body.get("tools") or []:
            declared = tool.get("functionDeclarations") or tool.get("tools") or [tool.get("function", tool)]
            for one in declared:
                one = one.get("function", one)
                schema = one.get("input_schema") or one.get("parameters") or one.get("parametersJsonSchema")
                space = tool.get("name") if tool.get("type") == "namespace" else None
                self.tools[one.get("name") or one.get("type")] = (schema, space)
        entries = body.get("messages") or body.get("contents") or body.get("input") or []
        for entry in [{"role": "user", "content": entries}] if isinstance(entries, str) else entries:
            self.see(entry)

    def see(self, entry):
        content = entry.get("content", entry.get("parts"))
        parts = [{"text": content}] if isinstance(content, str) else [part for part in content or [] if isinstance(part, dict)]
        if entry.get("role") == "tool" or entry.get("type") in RESULTS:
            self.results.append(json.dumps(entry.get("output", content)))
            return
        for part in parts:
            if "functionResponse" in part or part.get("type") == "tool_result":
                self.results.append(json.dumps(part))
            elif entry.get("role") == "user" and isinstance(part.get("text"), str):
                for order in ORDER.findall(part["text"])[-1:]:
                    self.order, self.results = order, []

    def find(self, names):
        known = {name.lower(): name for name in self.tools if name}
        return next((known[name] for name in names if name in known), None)

    def answer(self, root):
        """A call (name, arguments) or a text, and whether the context is nearly full."""
        verb, name = self.order or ("", "")
        step = len(self.results)
        if not self.tools or not verb:
            return None, "Ready.", False
        if verb in ("write", "slow", "shell"):
            call = None if step else self.write(root, name) if verb != "shell" else self.shell(f"echo {name} > {name}")
            if verb == "slow" and step:
                time.sleep(PAUSE)
            return call, f"{'Made' if verb == 'shell' else 'Wrote'} {name}.", False
        if verb == "helper":
            return self.helper(name, step), "The helper is done.", False
        if verb == "say" and not step and "complete_task" in self.tools:
            about = (self.tools["complete_task"][0] or {}).get("properties") or {}
            def value(schema):
                inner = schema.get("properties") or {}
                return {key: value(one) for key, one in inner.items()} if schema.get("type") == "object" else f"{name}."

            return ("complete_task", {key: value(schema) for key, schema in about.items() if key != "wait_for_previous"}), "", False
        # Gemini counts the context of a resumed session anew; within a turn it looks at what the model said.
        call = self.shell("true") if verb == "full" and self.is_gemini and not step else None
        return call, "It is full." if verb == "full" else f"{name}.", verb == "full"

    def filled(self, tool, values):
        """Arguments by the names in the tool's schema; a required one that is not known gets a value of its type."""
        schema = self.tools[tool][0] or {}
        out = {}
        for key, about in (schema.get("properties") or {}).items():
            kind = about.get("type") if isinstance(about, dict) else None
            kind = str(kind[0] if isinstance(kind, list) else kind or "string").lower()
            if key in values:
                out[key] = ["bash", "-c", values[key]] if kind == "array" and key == "command" else values[key]
            elif key in (schema.get("required") or []):
                out[key] = (about.get("enum") or [{"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(kind, "x")])[0]
        return out

    def write(self, root, name):
        tool = self.find(WRITERS)
        if tool is None:
            return self.shell(f"echo {name} > {name}")
        if tool == "apply_patch":
            patch = f"*** Begin Patch\n*** Add File: {name}\n+{name}\n*** End Patch\n"
            return tool, {"input": patch} if self.tools[tool][0] else patch
        path, text = f"{root}/{name}", f"{name}\n"
        values = dict.fromkeys(("file_path", "filePath", "path", "absolute_path"), path)
        return tool, self.filled(tool, values | dict.fromkeys(("content", "file_text", "contents", "new_text"), text))

    def shell(self, line):
        tool = self.find(SHELLS)
        return tool and (tool, self.filled(tool, {"command": line, "cmd": line, "commands": [line], "description": "make a file"}))

    def helper(self, name, step):
        if step == 1 and "wait_agent" in self.tools:
            ids = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", self.results[0])[:1]
            return "wait_agent", self.filled("wait_agent", {"targets": ids, "ids": ids, "timeout_ms": 20000})
        tool = self.find(HELPERS)
        if step or tool is None:
            return None
        prompt, kind = f"say {name}", {"invoke_agent": "generalist", "task": "general"}.get(tool, "general-purpose")
        values = dict.fromkeys(("prompt", "message", "query", "objective", "task", "request"), prompt)
        values |= dict.fromkeys(("subagent_type", "agent_name"), kind)
        about = (self.tools[tool][0] or {}).get("properties") or {}
        for key in ("subagent_type", "agent_type", "agent_name"):
            kinds = about.get(key, {}).get("enum") or []
            if kinds and kind not in kinds:
                values[key] = kinds[0]
        return tool, self.filled(tool, values | {"description": "Look around", "name": "look", "task_name": "look"})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, data, kind="application/json"):
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        try:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass  # the agent was ended while it waited

    def events(self, events):
        lines = [(f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n" for name, data in events]
        self.reply("".join(lines).encode(), "text/event-stream")

    def do_HEAD(self):
        self.reply(b"", "text/plain")

    def do_GET(self):
        self.reply({"data": [{"id": "m", "object": "model"}], "models": []})

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        coding = self.headers.get("content-encoding", "")
        data = gzip.decompress(data) if coding == "gzip" else zlib.decompress(data) if coding == "deflate" else data
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens") or "countTokens" in path:
            return self.reply({"input_tokens": 10, "totalTokens": 10})
        speak = next((speak for end, speak in (("/messages", self.anthropic), ("/chat/completions", self.chat),
                      ("/responses", self.respond), ("enerateContent", self.gemini)) if end in path), None)
        if speak is None:
            return self.reply({})
        self.server.seen.append(data.decode(errors="replace"))
        conversation = Conversation(body)
        time.sleep(DELAY)
        call, text, is_full = conversation.answer(self.server.root)
        used = 199_000 if is_full else 1000
        speak(body, next(COUNT), conversation, call, text, used)

    def anthropic(self, body, n, _, call, text, used):
        if call:
            block = {"type": "tool_use", "id": f"toolu_{n:06}", "name": call[0], "input": call[1]}
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        else:
            block = {"type": "text", "text": text}
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        stop, usage = "tool_use" if call else "end_turn", {"input_tokens": used, "output_tokens": 10}
        head = {"id": f"msg_{n:06}", "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return self.reply({**head, "content": [block], "stop_reason": stop})
        self.events([(event["type"], event) for event in (
            {"type": "message_start", "message": {**head, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"})])

    def chat(self, body, n, _, call, text, used):
        function = {"name": call[0], "arguments": json.dumps(call[1])} if call else None
        part = {"tool_calls": [{"index": 0, "id": f"call_{n:06}", "type": "function", "function": function}]} if call else {"content": text}
        reason, usage = "tool_calls" if call else "stop", {"prompt_tokens": used, "completion_tokens": 10, "total_tokens": used + 10}
        head = {"id": f"chat_{n:06}", "model": body.get("model"), "created": 1}
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": None, **part}, "finish_reason": reason}
            return self.reply({**head, "object": "chat.completion", "usage": usage, "choices": [choice]})
        head["object"] = "chat.completion.chunk"
        delta = {"role": "assistant", **part}
        self.events([("", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
                     ("", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
                     ("", {**head, "choices": [], "usage": usage}), ("", "[DONE]")])

    def respond(self, body, n, conversation, call, text, used):
        if call and isinstance(call[1], str):
            item = {"type": "custom_tool_call", "id": f"ctc_{n:06}", "input": call[1]}
        elif call:
            item = {"type": "function_call", "id": f"fc_{n:06}", "arguments": json.dumps(call[1])}
            space = conversation.tools[call[0]][1]
            item |= {"namespace": space} if space else {}
        if call:
            item |= {"call_id": f"call_{n:06}", "name": call[0], "status": "completed"}
        else:
            item = {"type": "message", "id": f"m_{n:06}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}
        usage = {"input_tokens": used, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": used + 10}
        whole = {"id": f"resp_{n:06}", "object": "response", "created_at": 1, "status": "completed", "model": body.get("model"),
                 "output": [item], "usage": usage}
        if not body.get("stream"):
            return self.reply(whole)
        self.events([(event["type"], event) for event in (
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole})])

    def gemini(self, _body, n, _, call, text, used):
        part = {"functionCall": {"id": f"call_{n:06}", "name": call[0], "args": call[1]}} if call else {"text": text}
        answer = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
                  "usageMetadata": {"promptTokenCount": used, "candidatesTokenCount": 10, "totalTokenCount": used + 10}}
        return self.events([("", answer)]) if "stream" in self.path else self.reply(answer)


class Model:
    """The server, for as long as the story runs."""

    def __init__(self, root):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.root, self.server.seen, self.server.daemon_threads = str(root), [], True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def at(self, root):
        self.server.root = str(root)

    def count(self):
        return len(self.server.seen)

    def since(self, count, prompt):
        """The requests since then that hold this prompt."""
        return "\n".join(body for body in self.server.seen[count:] if prompt in body)

    def summaries(self, count):
        """How many requests since then ask for a summary of the conversation."""
        asks = re.compile(r"(create|write|provide|produce|generate|make|output|detailed|structured)[^.]{0,80}summar|state_snapshot", re.IGNORECASE)
        last = [json.dumps((json.loads(body).get("messages") or json.loads(body).get("contents") or json.loads(body).get("input") or [""])[-1])
                for body in self.server.seen[count:] if body.startswith("{")]
        return sum(bool(asks.search(text)) for text in last)

    def tools(self):
        return sorted(name for name in Conversation(json.loads(self.server.seen[-1])).tools if name)

    def close(self):
        self.server.shutdown()
