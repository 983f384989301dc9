"""The official TypeScript SDKs: @modelcontextprotocol/sdk begins with a handshake, @modelcontextprotocol/client knows the
stateless version as well."""

import json
import shutil
import subprocess

from common import TOOLS, Repository, run_client, story

PACKAGES = (("@modelcontextprotocol/sdk@1", "handshake"), ("@modelcontextprotocol/client@2", "stateless"))

CLIENT = '''
import { readFileSync } from "node:fs";
const [story, program, repository, env, era] = [JSON.parse(process.argv[2]), process.argv[3], process.argv[4], JSON.parse(process.argv[5]), process.argv[6]];
const old = era === "handshake";
const name = old ? "@modelcontextprotocol/sdk" : "@modelcontextprotocol/client";
const { Client } = await import(old ? name + "/client/index.js" : name);
const stdio = await import(old ? name + "/client/stdio.js" : name + "/stdio").catch(() => import(name));
const faults = [];
const options = old ? {} : { versionNegotiation: { mode: "auto" } };
const client = new Client({ name: "script", version: "1" }, options);
await client.connect(new stdio.StdioClientTransport({ command: program, args: ["mcp"], cwd: repository, env }));
const tools = (await client.listTools()).tools;
let calls = 0;
for (const [name, args] of story) {
  // The client holds the structured result against the schema of the tool.
  const result = await client.callTool({ name, arguments: args });
  if (Boolean(result.isError) !== (name === "checkpoint_undo") || (!result.isError && !result.structuredContent))
    faults.push(name + ": " + JSON.stringify(result).slice(0, 500));
  calls += 1;
}
const resources = (await client.listResources()).resources;
for (const resource of resources)
  if (!(await client.readResource({ uri: resource.uri })).contents[0].text) faults.push(resource.uri + " is empty");
const prompts = (await client.listPrompts()).prompts;
for (const prompt of prompts)
  if (!(await client.getPrompt({ name: prompt.name })).messages.length) faults.push(prompt.name + " is empty");
const version = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
const spoken = client.getNegotiatedProtocolVersion?.() ?? era;
await client.close();
console.log(JSON.stringify({ version, era: String(spoken), calls, tools: tools.length, resources: resources.length, prompts: prompts.length, faults }));
'''


def run(program, directory):
    figures, faults = [], []
    for number, (package, era) in enumerate(PACKAGES):
        here = directory / str(number)
        here.mkdir()
        (here / "package.json").write_text('{"private": true, "type": "module"}')
        install = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", package]
        if not shutil.which("npm") or subprocess.run(install, cwd=here, capture_output=True).returncode:
            figures.append(f"{package} skipped: it cannot be installed")
            continue
        repository = Repository(program, here)
        (here / "client.mjs").write_text(CLIENT)
        arguments = [json.dumps(story()), str(program), str(repository.path), json.dumps(repository.env), era]
        found = run_client(repository, ["node", "client.mjs", *arguments], here)
        faults += [f"{package}: {fault}" for fault in found["faults"]]
        if found["tools"] != TOOLS or found["calls"] != len(story()):
            faults.append(f"{package}: {found}")
        figures.append(
            f"{package.rsplit('@', 1)[0]} {found.get('version')} ({found.get('era')}): {found['tools']} tools, "
            f"{found['calls']} calls, {found.get('resources')} resources, {found.get('prompts')} prompts"
        )
    return "; ".join(figures), faults
