"""The command line of the inspector lists and calls every tool."""

import json
import shutil
import subprocess

from common import TOOLS, Repository, story


def run(program, directory):
    (directory / "package.json").write_text('{"private": true}')
    install = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "@modelcontextprotocol/inspector"]
    if not shutil.which("npm") or subprocess.run(install, cwd=directory, capture_output=True).returncode:
        return "skipped: it cannot be installed", []
    repository = Repository(program, directory)
    inspector = [str(directory / "node_modules/.bin/mcp-inspector"), "--cli", str(program), "mcp"]

    def ask(*words):
        command = [*inspector, *words]
        result = subprocess.run(
            command, cwd=repository.path, env=repository.env, capture_output=True, text=True, timeout=120
        )
        try:
            return json.loads(result.stdout)
        except ValueError:
            return {"fault": (result.stdout + result.stderr)[-1000:]}

    faults, calls = [], 0
    listed = ask("--method", "tools/list")
    tools = len(listed.get("tools", []))
    if tools != TOOLS:
        faults.append(f"tools/list: {listed}")
    for name, arguments in story():
        words = ["--method", "tools/call", "--tool-name", name]
        for key, value in arguments.items():
            words += ["--tool-arg", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        result = ask(*words)
        calls += 1
        if "content" not in result or bool(result.get("isError")) != (name == "checkpoint_undo"):
            faults.append(f"{name}: {str(result)[:1000]}")
    for method, member in (("resources/list", "resources"), ("prompts/list", "prompts")):
        if len(ask("--method", method).get(member, [])) != 3:
            faults.append(method)
    return f"{tools} tools, {calls} calls", faults
