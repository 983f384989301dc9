"""Reports 70 to 80: finding and using."""

from trial import Cannot, Fails, holds, row


def offered(t, command, else_why):
    if t.sh(f"git init -q r 2>/dev/null; cd r; git checkpoint {command} -h").code != 0:
        raise Cannot(else_why)


@row("report 70: which checkpoints hold this version of a file")
def versions(t):
    out = t.sh("new; for i in 1 2; do echo $i >b; git checkpoint save -q -m $i --session s; done; git checkpoint show s~1:b; git checkpoint log s -- b")
    holds("1" in out.text.splitlines()[:1], out.short())
    if out.code != 0:
        raise Cannot("'show SESSION:PATH' prints it; log takes no paths")


@row("report 71: search sessions by what was said")
def search(t):
    offered(t, "search", "there is no search; 'git grep WORD checkpoints/SESSION' finds it")


@row("report 72: sessions of all repositories in one list")
def all_repositories(t):
    if "--all-repos" not in t.sh("git init -q r; cd r; git checkpoint help list").text:
        raise Cannot("a list is of one repository")


@row("report 73: a new work tree lacks .env")
def ignored_files(t):
    t.sh("new; echo .env >.gitignore; git add .; git commit -qm i; echo K=v >.env; git checkpoint save -q --allow-empty -m x --session s; git -c checkpoint.forkCopy=.env checkpoint fork s --name f --worktree ../w -q; cat ../w/.env").has("K=v")


@row("report 74: a command that sets up a new work tree")
def set_up(t):
    t.sh("new; printf '#!/bin/sh\\ntouch set-up\\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; git checkpoint save -q --allow-empty -m x --session s; git checkpoint fork s --name f --worktree ../w -q; ls ../w").has("set-up")


@row("report 75: torn lines in a transcript")
def torn(t):
    t.sh(r"""new; git checkpoint start s -q; printf '{"type":"user","message":{"role":"user","content":"hello"},"uuid":"u1","sessionId":"x","timestamp":"2026-01-01T00:00:00Z"}\n{"type":"us\n\0\0\n{"type":"user","message":{"role":"user","content":"a \\ud800 b"},"uuid":"u2","sessionId":"x","timestamp":"2026-01-01T00:00:01Z"}\n' >../t.jsonl; git checkpoint message import ../t.jsonl; git checkpoint message import ../t.jsonl; git checkpoint message list""").has("hello")


@row("report 76: hand the conversation from one agent to another")
def agents(t):
    t.sh("git init -q r; cd r; git checkpoint help message import").has("codex", "gemini", "cline")


@row("report 77: sessions named as I call things")
def names(t):
    t.sh("new; git checkpoint start 'JIRA-123'; git checkpoint start 'feature/login'; git checkpoint start 'my work'").has("jira-123", "feature-login", "my-work")


@row("report 78: reword a checkpoint later")
def reword(t):
    t.sh("new; echo w >w; git checkpoint save -q -m typo --session s; git checkpoint save -q --amend -m right --session s || exit 9; git checkpoint log --oneline s").has("right|error").lacks("typo")
    

@row("report 79: what takes the space")
def space(t):
    out = t.sh("git init -q r; cd r; git checkpoint help list; git checkpoint stats -h; git checkpoint prune -h")
    if "%(size)" not in out.text and "--size" not in out.text:
        raise Cannot("'prune --dry-run' says what a prune would free; nothing lists sizes")


@row("report 80: keep one a day, an ignore file of the project")
def keep_daily(t):
    t.sh("new; echo '*.tmp' >.checkpointignore; echo 1 >x.tmp; echo 1 >y; git checkpoint save -q -m x --session s 2>/dev/null; git ls-tree -r --name-only checkpoints/s^2").lacks("x.tmp").has("^y$")
    if "--keep-daily" not in t.sh("cd r; git checkpoint prune -h; git checkpoint help prune").text:
        raise Cannot("'.checkpointignore' is heeded; a prune keeps by number and age")
