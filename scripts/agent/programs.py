"""The agents: how each is installed, made to talk to the model server, asked, and what it cannot do."""

import json
import os
import pathlib
import shutil
import subprocess
import time

PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "copilot": "@github/copilot@1.0.102",
    "gemini": "@google/gemini-cli@0.61.0",
    "qwen": "@qwen-code/qwen-code@0.24.4",
    "opencode": "opencode-ai@1.18.33",
    "pi": "@earendil-works/pi-coding-agent@1.6.0",
    "cline": "cline@3.0.65",
    "node22": "node@22",
}
BINARIES = {"claude-code": "claude"}
# Agents whose command line resumes no session without a terminal: each question is a session of its own.
WITHOUT_RESUME = {"cline": "resumes no session without a terminal"}
# Rows of the table that an agent does not have, and why.
LACKS = {
    ("cline", "interrupted in a turn"): WITHOUT_RESUME["cline"] + ", and does not report a signal",
    ("cline", "killed in a turn"): WITHOUT_RESUME["cline"],
    ("cline", "sub-agent"): "its hooks do not say what a sub-agent did",
    ("cline", "compaction is reported"): "reports none",
    ("cline", "rewind: a session to resume"): "takes no session file",
    ("cline", "another clone: the agent continues"): "takes no session file",
    ("cline", "a fork has a session of its own"): "takes no session file",
    ("cline", "doctor: the hooks fire"): "takes its model server from its settings alone",
    ("gemini", "compaction is reported"): "reports one before every call of the model, so that it is not registered; each turn's end saves the whole chat",
    ("pi", "sub-agent"): "has none",
    ("pi", "doctor: the hooks fire"): "takes its model server from its settings alone",
}


def directory():
    place = os.environ.get("AGENTS")
    return pathlib.Path(place) if place else pathlib.Path.home() / ".cache/git-checkpoint-agents"


def binary(agent):
    name = BINARIES.get(agent, agent)
    for place in (directory() / agent / "node_modules/.bin" / name, directory() / "node_modules/.bin" / name):
        if place.exists():
            return str(place)
    return shutil.which(name)


def path(agent):
    """Directories that come first in PATH: a new node, and the agent."""
    return [str(directory() / "node22/node_modules/.bin"), os.path.dirname(binary(agent))]


def write(file, value):
    """Writes a settings file once: what was done to it since stays."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=2) + "\n")


def claude_code(home, url):
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1"}


def codex(home, url):
    write(home / ".codex/config.toml", f'''model = "gpt-5.5"
model_provider = "local"
check_for_update_on_startup = false
model_auto_compact_token_limit = 100000
[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "LOCAL_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 1
[analytics]
enabled = false
''')
    return {"LOCAL_KEY": "none", "RUST_LOG": "error"}


def copilot(home, url):
    return {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "gpt-5-mini", "COPILOT_AUTO_UPDATE": "false", "NO_COLOR": "1"}


def gemini(home, url):
    write(home / ".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}},
          "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
          "model": {"compressionThreshold": 0.1}})
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_BROWSER": "1",
            "GEMINI_SANDBOX": "false", "GEMINI_TELEMETRY_ENABLED": "false"}


def qwen(home, url):
    write(home / ".qwen/settings.json", {"security": {"auth": {"selectedType": "openai"}},
          "general": {"disableAutoUpdate": True}, "privacy": {"usageStatisticsEnabled": False}})
    return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "m", "QWEN_TELEMETRY_ENABLED": "false"}


def opencode(home, url):
    model = {"name": "M", "limit": {"context": 200000, "output": 8000}, "tool_call": True}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Local", "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
                "models": {"m": model}}
    write(home / ".config/opencode/opencode.json", {"autoupdate": False, "share": "disabled", "model": "local/m",
          "small_model": "local/m", "provider": {"local": provider}, "permission": {"edit": "allow", "bash": "allow"}})
    # A plug-in makes it ask the registry at each start; offline it waits for the retries.
    write(home / ".npmrc", "fetch-retries=0\n")
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}


def pi(home, url):
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none",
                "models": [{"id": "m", "contextWindow": 200000, "maxTokens": 8000}]}
    write(home / ".pi/agent/models.json", {"providers": {"local": provider}})
    # A conversation of some words has something to compact only so.
    write(home / ".pi/agent/settings.json", {"compaction": {"enabled": True, "keepRecentTokens": 20}})
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}


def cline(home, url):
    if not (home / ".cline").exists():
        place = os.pathsep.join([*path("cline"), os.environ["PATH"]])
        line = [binary("cline"), "auth", "-p", "openai-compatible", "-k", "none", "-m", "m", "-b", f"{url}/v1"]
        subprocess.run(line, env={"HOME": str(home), "PATH": place} | QUIET, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return QUIET


QUIET = {"CLINE_TELEMETRY_DISABLED": "1", "DO_NOT_TRACK": "1"}
PREPARE = {"claude-code": claude_code, "codex": codex, "copilot": copilot, "gemini": gemini, "qwen": qwen,
           "opencode": opencode, "pi": pi, "cline": cline}


def command(agent, prompt, session=None, trusted=True, model=None):
    """The command line that asks once, in a session of this id if one is given."""
    base = [binary(agent)]
    if agent == "claude-code":
        return [*base, "-p", "--dangerously-skip-permissions", *(["--resume", session] if session else []), prompt]
    if agent == "codex":
        flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        flags += ["--dangerously-bypass-hook-trust"] if trusted else []
        flags += ["-m", model] if model else []
        return [*base, "exec", *flags, *(["resume", session] if session else []), prompt]
    if agent == "copilot":
        resumed = [f"--resume={session}"] if session else []
        return [*base, "--allow-all", "--no-auto-update", "--log-level", "none", *resumed, "-p", prompt]
    if agent == "gemini":
        return [*base, "-m", "gemini-2.5-flash", "--approval-mode", "yolo", *(["--resume", session] if session else []), "-p", prompt]
    if agent == "qwen":
        return [*base, "--approval-mode", "yolo", *(["--resume", session] if session else []), "-p", prompt]
    if agent == "opencode":
        return [*base, "run", *(["--session", session] if session else []), prompt]
    if agent == "cline":
        return [*base, prompt]
    return [*base, "--provider", "local", "--model", "m", *(["--session", session] if session else []), "-p", prompt]


# Files of the agent in which hooks are configured, below its home.
SETTINGS = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "copilot": ".copilot/hooks/git-checkpoint.json",
            "gemini": ".gemini/settings.json", "qwen": ".qwen/settings.json",
            "opencode": ".config/opencode/plugins/git-checkpoint.js", "pi": ".pi/agent/extensions/git-checkpoint.js",
            "cline": "Documents/Cline/Hooks/TaskStart"}


def trust_codex(story):
    """Answers Codex's own question for trust in the hooks, in a terminal of tmux; whether it was asked."""
    if shutil.which("tmux") is None:
        return False
    server = ["tmux", "-L", f"trust-{os.getpid()}", "-f", os.devnull]
    environment = story.env | {"TERM": "xterm-256color"}

    def run(*words):
        return subprocess.run([*server, *words], env=environment, cwd=story.repo, capture_output=True, text=True).stdout

    def wait(*texts, keys=()):
        for _ in range(120):
            seen = run("capture-pane", "-p")
            for text in texts:
                if text in seen:
                    return text
            time.sleep(0.25)
        return None

    run("new-session", "-d", "-x", "110", "-y", "40", binary("codex"), "--no-daemon")
    try:
        if wait("Trust this folder?", "Hooks need review") == "Trust this folder?":
            run("send-keys", "Enter")
        if not wait("Hooks need review"):
            return False
        run("send-keys", "Down")
        time.sleep(1)
        run("send-keys", "Enter")
        for _ in range(60):
            if "trusted_hash" in (story.home / ".codex/config.toml").read_text():
                time.sleep(1)
                return True
            time.sleep(0.25)
        return False
    finally:
        run("kill-server")
