"""The official Python SDK: 1.x begins with a handshake, 2.x speaks the stateless version."""

import json
import shutil
import subprocess
import sys

from common import TOOLS, Repository, run_client, story

RELEASES = ("mcp>=1.30,<2", "mcp>=2.3,<3")

CLIENT = '''
import asyncio, json, sys
from importlib.metadata import version

faults, calls = [], 0
story, program, repository, env = json.loads(sys.argv[1]), *sys.argv[2:4], json.loads(sys.argv[4])

async def drive(session):
    global calls
    tools = (await session.list_tools()).tools
    token = None
    for name, arguments in story:
        result = await session.call_tool(name, arguments)
        failed = getattr(result, "isError", None) or getattr(result, "is_error", None)
        structured = getattr(result, "structuredContent", None) or getattr(result, "structured_content", None)
        # An undo has nothing to undo here: that is a failure as a result.
        if bool(failed) != (name == "checkpoint_undo") or (not failed and not structured):
            faults.append(f"{name}: {result}")
        calls += 1
    resources = (await session.list_resources()).resources
    for resource in resources:
        read = await session.read_resource(resource.uri)
        if not read.contents[0].text:
            faults.append(f"{resource.uri} is empty")
    prompts = (await session.list_prompts()).prompts
    for prompt in prompts:
        if not (await session.get_prompt(prompt.name)).messages:
            faults.append(f"{prompt.name} is empty")
    return len(tools), len(resources), len(prompts)

async def main():
    from mcp import StdioServerParameters
    parameters = StdioServerParameters(command=program, args=["mcp"], cwd=repository, env=env)
    try:
        from mcp.client import Client
    except ImportError:
        Client = None
    if Client is not None and version("mcp").startswith("2"):
        from mcp.client.stdio import stdio_client
        async with Client(stdio_client(parameters)) as client:
            counts = await drive(client)
            era = str(getattr(client, "protocol_version", "?"))
    else:
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client
        async with stdio_client(parameters) as (read, write):
            async with ClientSession(read, write) as session:
                era = str((await session.initialize()).protocolVersion)
                counts = await drive(session)
    print(json.dumps({"version": version("mcp"), "era": era, "calls": calls, "tools": counts[0],
                      "resources": counts[1], "prompts": counts[2], "faults": faults}))

asyncio.run(main())
'''


def run(program, directory):
    figures, faults = [], []
    for number, release in enumerate(RELEASES):
        here = directory / str(number)
        here.mkdir()
        venv = here / "venv"
        made = subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, text=True)
        install = [str(venv / "bin/pip"), "install", "-q", "--disable-pip-version-check", release]
        if made.returncode or subprocess.run(install, capture_output=True, text=True).returncode:
            figures.append(f"{release} skipped: it cannot be installed")
            continue
        repository = Repository(program, here)
        (here / "client.py").write_text(CLIENT)
        arguments = [json.dumps(story()), str(program), str(repository.path), json.dumps(repository.env)]
        found = run_client(repository, [str(venv / "bin/python"), str(here / "client.py"), *arguments], here)
        faults += [f"{release}: {fault}" for fault in found["faults"]]
        if found["tools"] != TOOLS or found["calls"] != len(story()):
            faults.append(f"{release}: {found}")
        figures.append(
            f"mcp {found.get('version')} ({found.get('era')}): {found['tools']} tools, {found['calls']} calls, "
            f"{found.get('resources')} resources, {found.get('prompts')} prompts"
        )
        shutil.rmtree(venv)
    return "; ".join(figures), faults
