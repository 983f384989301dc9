#!/usr/bin/env python3
"""A model server for the end-to-end stories of scripts/agents: loopback only, no key, no state.

Speaks Anthropic Messages, OpenAI Chat Completions and Responses, and Gemini generateContent, streamed or not. The last
user text that says `write NAME` is answered with a call of the tool that writes files; after its result, and for every
other text, with a sentence. Each request body is a line of LOG.

    server.py ROOT LOG PORTFILE
"""
import gzip
import itertools
import json
import re
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT, LOG, PORT_FILE = sys.argv[1:4]
COUNT = itertools.count(1)
WRITERS = ("write_file", "write", "create", "apply_patch", "shell_command", "shell", "exec_command", "bash")


def texts(content):
    if isinstance(content, str):
        return [content]
    return [part.get("text", "") for part in content or [] if isinstance(part, dict)]


def read(body):
    """Tools by name, and the file that is to be written now."""
    tools, wanted = {}, None
    for tool in body.get("tools") or []:
        about = tool.get("function", tool)
        for one in about.get("functionDeclarations", [about]):
            schema = one.get("input_schema") or one.get("parameters") or one.get("parametersJsonSchema")
            tools[one.get("name") or one.get("type")] = schema or {}
    entries = body.get("messages") or body.get("contents") or body.get("input") or []
    for entry in [{"role": "user", "content": entries}] if isinstance(entries, str) else entries:
        content = entry.get("content", entry.get("parts"))
        kind = str(entry.get("type", ""))
        is_result = entry.get("role") == "tool" or kind.endswith("_output") or any(
            isinstance(part, dict) and ("functionResponse" in part or part.get("type") == "tool_result")
            for part in (content if isinstance(content, list) else []))
        if is_result:
            wanted = None
        elif entry.get("role") == "user":
            for text in texts(content):
                # Only what a person types: a context that a hook injects repeats earlier prompts.
                found = re.match(r'"?write (\S+?)"?$', text.strip().splitlines()[-1] if text.strip() else "")
                wanted = found.group(1) if found else wanted
    return tools, wanted


def call(tools, name):
    """The call of a tool that writes the file, for whatever tools the agent has."""
    path = f"{ROOT}/{name}"
    tool = next((known for wish in WRITERS for known in tools if known and known.lower() == wish), None)
    if tool is None:
        return None
    names = list((tools[tool].get("properties") or {}))
    lower = tool.lower()
    if lower == "apply_patch":
        return tool, f"*** Begin Patch\n*** Add File: {name}\n+{name}\n*** End Patch\n"
    if lower in ("shell_command", "shell", "exec_command", "bash"):
        line = f"echo {name} > {path}"
        key = next((key for key in names if key in ("command", "cmd")), "command")
        is_list = (tools[tool].get("properties") or {}).get(key, {}).get("type") == "array"
        return tool, {key: ["bash", "-c", line] if is_list else line}
    key = next((key for key in names if key in ("file_path", "filePath", "path")), "path")
    text = next((key for key in names if key in ("content", "file_text", "text")), "content")
    return tool, {key: path, text: f"{name}\n"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json", status=200):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events):
        out = "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events)
        self.answer(out.encode(), "text/event-stream")

    def do_GET(self):
        self.answer({"data": [], "models": []})

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        coding = self.headers.get("content-encoding", "")
        data = gzip.decompress(data) if coding == "gzip" else zlib.decompress(data) if coding == "deflate" else data
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            return self.answer({}, status=400)
        with open(LOG, "a") as log:
            log.write(json.dumps({"path": self.path, "body": body}) + "\n")
        tools, wanted = read(body)
        made = call(tools, wanted) if wanted else None
        n = next(COUNT)
        text = f"Wrote {wanted}." if wanted and not made else "It is done."
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens") or "countTokens" in path:
            return self.answer({"input_tokens": 10, "totalTokens": 10})
        if path.endswith("/messages"):
            return self.anthropic(body, n, made, text)
        if path.endswith("/chat/completions"):
            return self.chat(body, n, made, text)
        if path.endswith("/responses"):
            return self.responses(body, n, made, text)
        if "enerateContent" in path:
            return self.gemini(path, n, made, text)
        self.answer({})

    def anthropic(self, body, n, made, text):
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": made[0], "input": made[1]} if made else {
            "type": "text", "text": text}
        stop = "tool_use" if made else "end_turn"
        usage = {"input_tokens": 100, "output_tokens": 10}
        head = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": body.get("model"),
                "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return self.answer({**head, "content": [block], "stop_reason": stop})
        empty = {**block, "input": {}} if made else {"type": "text", "text": ""}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(made[1])} if made else {
            "type": "text_delta", "text": text}
        self.events([(event["type"], event) for event in (
            {"type": "message_start", "message": {**head, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"})])

    def chat(self, body, n, made, text):
        function = {"name": made[0], "arguments": json.dumps(made[1])} if made else None
        part = {"tool_calls": [{"index": 0, "id": f"call_{n}", "type": "function", "function": function}]} if made else {
            "content": text}
        reason = "tool_calls" if made else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": f"c{n}", "model": body.get("model"), "created": 1}
        if not body.get("stream"):
            message = {"role": "assistant", "content": None, **part}
            return self.answer({**head, "object": "chat.completion", "usage": usage,
                                "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
        chunk = {**head, "object": "chat.completion.chunk"}
        chunks = [{**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", **part}, "finish_reason": None}]},
                  {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                  {**chunk, "choices": [], "usage": usage}]
        out = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.answer(out.encode(), "text/event-stream")

    def responses(self, body, n, made, text):
        if made and isinstance(made[1], str):
            item = {"type": "custom_tool_call", "id": f"ctc_{n}", "call_id": f"call_{n}", "name": made[0],
                    "input": made[1], "status": "completed"}
        elif made:
            item = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": made[0],
                    "arguments": json.dumps(made[1]), "status": "completed"}
        else:
            item = {"type": "message", "id": f"m_{n}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}
        whole = {"id": f"r{n}", "object": "response", "status": "completed", "model": body.get("model"),
                 "output": [item], "usage": usage}
        if not body.get("stream"):
            return self.answer(whole)
        self.events([(event["type"], event) for event in (
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole})])

    def gemini(self, path, n, made, text):
        part = {"functionCall": {"id": f"call_{n}", "name": made[0], "args": made[1]}} if made else {"text": text}
        answer = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
                  "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}}
        self.events([("", answer)]) if "stream" in path else self.answer(answer)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(PORT_FILE, "w") as port:
    port.write(str(server.server_address[1]))
server.serve_forever()
