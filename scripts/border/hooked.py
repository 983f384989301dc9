"""Reports 36 to 46: hooks and what follows a commit."""

from trial import Cannot, Fails, holds, row


@row("report 36: husky rewrites hooks")
def husky(t):
    t.sh("new; mkdir -p .husky/_; printf '*\\n' >.husky/_/.gitignore; echo 'x' >.husky/_/h; git config core.hooksPath .husky/_; git checkpoint hooks install; echo rc=$?").has("rc=[14]", "husky")


@row("report 37: lefthook takes the hook back")
def lefthook(t):
    t.sh("new; echo 'pre-commit: {}' >lefthook.yml; printf '#!/bin/sh\\n# lefthook\\nlefthook run post-commit\\n' >.git/hooks/post-commit; chmod +x .git/hooks/post-commit; git checkpoint hooks install; echo rc=$?").has("rc=[14]", "lefthook")


@row("report 38: a hook manager stashes while others look")
def stash_meanwhile(t):
    t.sh("new; echo 1 >>a.txt; git checkpoint start s -q; (for i in $(seq 15); do git stash -q 2>/dev/null && git stash pop -q 2>/dev/null; done) & for i in 1 2 3 4 5; do git checkpoint save -q -m $i --session s >/dev/null 2>&1; done; wait; git checkpoint verify s; git fsck 2>&1 | grep -v dangling; tail -1 a.txt").has("^1$").lacks("missing")


@row("report 39: hooks in a shared place")
def shared_hooks(t):
    t.sh("new; mkdir ../g; git config --global core.hooksPath ../g; git checkpoint hooks install; echo rc=$?; ls ../g | wc -l").has("rc=[14]", "^0$")
    t.sh("cd r; git config core.hooksPath /dev/null; git checkpoint hooks install; echo rc=$?").has("rc=[14]|rc=128", "hooksPath|/dev/null").lacks("os error")


@row("report 40: the directory of hooks is tracked")
def tracked_hooks(t):
    t.sh("""new; git config core.hooksPath .githooks; mkdir .githooks; printf '#!/bin/sh\\n' >.githooks/post-commit; chmod +x .githooks/post-commit; git add -A; git commit -qm h; git checkpoint hooks install; echo rc=$?; git status --short""").has("rc=4").lacks("githooks/post-commit$")
    t.sh("cd r; git checkpoint hooks install --force -q; grep -r \"$ROOT\\|target/\" .githooks").same("")


@row("report 41: existing hooks lose arguments and input")
def existing_hooks(t):
    t.sh("""new; printf '#!/bin/sh\\ncat >"%s/in"; echo "$@" >>"%s/in"\\n' "$ROOT" "$ROOT" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push; cp -a .git/hooks ../before; git init -q --bare ../o.git; git remote add origin ../o.git
      git checkpoint hooks install --pre-push -q; git push -q origin main; cat "$ROOT/in"; git checkpoint hooks uninstall -q; diff -r .git/hooks ../before && echo alike""").has("refs/heads/main", "origin", "alike")


@row("report 42: a program with another PATH commits")
def other_path(t):
    t.sh("new; git checkpoint start s -q; git checkpoint hooks install -q; echo 2 >>a.txt; PATH=/usr/bin:/bin git commit -qam two; git checkpoint log --oneline s | wc -l").has("[2-9]")


@row("report 43: hooks with many sessions")
def many_sessions(t):
    t.sh("new; git checkpoint start s -q; git checkpoint hooks install -q; T=$(git rev-parse checkpoints/s); for i in $(seq 300); do echo \"create refs/checkpoints/x$i $T\"; done | git update-ref --stdin; echo 2 >>a.txt; time git commit -qam two", 20).good()


@row("report 44: a linked work tree is not captured")
def linked(t):
    t.sh("new; git checkpoint start s -q; git checkpoint hooks install -q; git worktree add -q ../w; cd ../w; git checkpoint hooks status; git checkpoint status; echo 2 >>a.txt; git commit -qam two; git log -1 --format=%H >../two; git checkpoint list").has("w")
    out = t.sh("cd r; git for-each-ref --format='%(refname)' refs/checkpoints | while read r; do git show $r:checkpoint.json | grep -c \"$(cat ../two)\"; done")
    holds("1" in out.text, "the commit in the linked work tree made no checkpoint")


@row("report 45: attributed to the wrong session after a branch switch")
def branch_switch(t):
    t.sh("new; git checkpoint hooks install -q; git switch -qc feature; git checkpoint start feature -q; git switch -q main; echo h >h; git add h; git commit -qm hotfix; git checkpoint log --oneline feature").lacks("hotfix")
    t.sh("cd r; git switch -q feature; git checkpoint status").has("feature")


@row("report 46: notes are lost by amend and rebase")
def notes(t):
    t.sh("""new; git config checkpoint.commitNotes on; git checkpoint start s -q; git checkpoint hooks install -q; git switch -qc f main; for i in 1 2 3; do echo $i >$i; git add $i; git commit -qm $i; done
      git switch -q main; echo x >x; git add x; git commit -qm x; git switch -q f; git rebase -q main; git commit -q --amend -m amended; sleep 1; for c in $(git rev-list main..f); do git notes --ref=checkpoints show $c >/dev/null 2>&1 && echo noted; done | wc -l""").same("3")
    t.sh("cd r; git init -q --bare ../o.git; git remote add origin ../o.git; S=$(git for-each-ref --format='%(refname:lstrip=2)' refs/checkpoints | head -1); git checkpoint push -q origin $S; git -C ../o.git for-each-ref refs/notes").has("refs/notes/checkpoints")
