"""Reports 17 to 35: restore, undo and merge."""

from trial import Cannot, Fails, holds, row

CONFLICT = """git switch -qc side; printf 'a\\nS\\nc\\n' >a.txt; git commit -qam side; git switch -q main; printf 'a\\nM\\nc\\n' >a.txt; git commit -qam main; """


@row("report 17: a snapshot in the middle of a merge")
def merge_in_progress(t):
    t.sh("new; " + CONFLICT + "git merge -q side >/dev/null; git checkpoint save -q -m mid --session s; git merge --abort; git branch -qD side; git checkpoint restore -q --index s; git status").has("merg")
    t.sh("cd r; printf 'a\\nB\\nc\\n' >a.txt; git add a.txt; git -c core.editor=true commit -q; git log -1 --format='%p' | wc -w").same("2")
    t.sh("cd r; git log -1 --format=%s").has("Merge branch 'side'")


@row("report 17: the same for cherry-pick and revert, by resume --apply as well")
def other_operations(t):
    for kind, begin, head in (("pick", "git cherry-pick side >/dev/null 2>&1", "CHERRY_PICK_HEAD"), ("revert", "git revert --no-edit HEAD~1 >/dev/null 2>&1", "REVERT_HEAD")):
        for back in ("git checkpoint restore -q --index s", "git checkpoint resume -q --apply s"):
            t.sh(f"rm -rf r; new; {CONFLICT} printf 'a\\nN\\nc\\n' >a.txt; git commit -qam again; {begin}; git checkpoint pause -q -m mid --session s; git reset -q --hard; {back}").good(0, 1)
            holds(t.at("r/.git", head).exists(), f"{kind}: {back}: no {head}")


@row("report 18: apply records its conflicts")
def conflicts(t):
    t.sh("new; " + "echo mine >>a.txt; git checkpoint save -q -m x --session s; git checkout -q a.txt; echo theirs >>a.txt; git commit -qam t; git checkpoint apply s; git ls-files -u").has("a.txt")


@row("report 19: no abort of a stash pop")
def abort_of_apply(t):
    t.sh("new; echo mine >>a.txt; git checkpoint save -q -m x --session s; git checkout -q a.txt; echo theirs >>a.txt; git commit -qam t; git checkpoint apply -q s >/dev/null 2>&1; git checkpoint undo -q; git status --short; tail -1 a.txt").same("theirs")


@row("report 20: one untracked collision")
def collision(t):
    t.sh("new; echo 1 >n; echo 1 >m; git checkpoint save -q -m x --session s; rm n m; echo 2 >n; git add n; git commit -qm n; git checkpoint apply s >/dev/null 2>&1; cat m").same("1")


@row("report 21: a failed pop loses the stash")
def kept_after_apply(t):
    t.sh("new; echo 1 >n; git checkpoint save -q -m x --session s; echo 2 >n; git checkpoint apply s >/dev/null 2>&1; git show checkpoints/s^2:n").same("1")


@row("report 22: restoring one session takes another's unsaved work")
def two_sessions(t):
    out = t.sh("new; git checkpoint start one -q; echo 1 >a.txt; git checkpoint save -q -m x; git checkpoint start two -q; echo 2 >b; git checkpoint restore one; cat b; git checkpoint undo -q; cat b")
    holds(out.text.strip().endswith("2"), out.short())


@row("report 23: undo only what one step did")
def reversed_step(t):
    t.sh("new; git checkpoint save -q --allow-empty -m a --session s; printf 'a\\nagent\\nc\\n' >a.txt; git checkpoint save -q -m b --session s; printf 'a\\nagent\\nc\\nmine\\n' >a.txt; git checkpoint apply --reverse s -q; cat a.txt").same("a\nb\nc\nmine")


@row("report 24: single hunks")
def hunks(t):
    out = t.sh("git init -q r; cd r; git checkpoint restore -h")
    if " -p" not in out.text:
        raise Cannot("restore has no -p")


@row("report 25: a restore is undone")
def undone(t):
    t.sh("new; echo 1 >b; git checkpoint save -q -m x --session s; echo 2 >b; git checkpoint restore s -q; git checkpoint undo -q; cat b").same("2")


@row("report 26: repeated undo toggles")
def chain(t):
    t.sh("""new; for i in 1 2 3; do echo $i >b; git checkpoint save -q -m $i --session s; done; git checkpoint restore s~1 -q; git checkpoint restore s~2 -q; echo n >new
      git checkpoint undo -q; cat b; git checkpoint undo -q; cat b; cat new; git checkpoint redo -q; cat b""").same("2\n3\nn\n2")


@row("report 27: reverted and cannot be applied again")
def again(t):
    t.sh("new; echo 1 >b; git checkpoint save -q -m x --session s; echo 2 >b; git checkpoint restore s -q; git checkpoint undo -q; git checkpoint redo -q; cat b").same("1")


@row("report 28: restore from a subdirectory")
def subdirectory(t):
    t.sh("new; mkdir src; echo 1 >src/x; git checkpoint save -q -m x --session s; echo 2 >src/x; echo 2 >a.txt; cd src; git checkpoint restore s -q -- .; cat x ../a.txt").same("1\n2")


@row("report 29: state of one work tree in another")
def another_work_tree(t):
    t.sh("""new; git worktree add -q ../w; cd ../w; echo 1 >b; git checkpoint save -q -m x --session s; cd ../r; git worktree remove --force ../w; git branch -qD w; git worktree add -q ../w; cd ../w; git checkpoint undo; git checkpoint status; ls""").lacks("^b$")


@row("report 30: the session's work tree is gone")
def work_tree_gone(t):
    t.sh("new; git worktree add -q ../w; cd ../w; echo 1 >b; git checkpoint save -q -m x --session s; cd ../r; git worktree remove --force ../w; git checkpoint fork s --name f --worktree ../v -q; cat ../v/b").same("1")


@row("report 31: the path differs")
def moved(t):
    t.sh("new; echo 1 >b; git checkpoint pause -q -m x --session s; cd ..; mv r q; cd q; git checkpoint resume s; rm b; git checkpoint restore s -q --force; cat b").has("^1$")


@row("report 32: branch renamed, squashed, deleted")
def branch_renamed(t):
    t.sh("new; git switch -qc f; echo 1 >b; git checkpoint pause -q -m x --session s; git branch -m g; git checkpoint resume s").has("renamed")


@row("report 33: an agent's reset --hard")
def reset_hard(t):
    t.sh("new; git checkpoint start s -q; git checkpoint save -q --allow-empty -m a; echo hours >>a.txt; git checkpoint watch --once -q; git reset -q --hard; git clean -fdq; git checkpoint status; git checkpoint list --autosaves; git checkpoint resume s").has("autosave")
    t.sh("cd r; git checkpoint apply s@{autosave} -q 2>/dev/null || git checkpoint restore s@{1} 2>&1; git for-each-ref --format='%(refname)' refs/checkpoints-autosave | head -1 | xargs -I@ git show @^2:a.txt").has("hours")


@row("report 34: gc takes snapshots")
def collected(t):
    t.sh("""new; git checkpoint start s -q; for i in 1 2 3; do echo $i >b; git checkpoint watch --once -q; done; git reflog expire --expire=now --all; git gc -q --prune=now; git checkpoint verify --all""").good()
    out = t.sh("cd r; git rev-list --first-parent --glob=refs/checkpoints-autosave --not --glob=refs/checkpoints | wc -l")
    if out.text.strip() == "1":
        raise Cannot("the latest autosave stays; earlier ones live in reflogs, which 'reflog expire --all' empties")


@row("report 35: the agent is killed, no hook runs")
def agent_killed(t):
    t.sh("""new; git checkpoint start s -q; sleep 100 & P=$!; git checkpoint watch --until-exit $P -q --interval 1 & W=$!; sleep 1; echo work >w; sleep 3; kill -9 $P; wait $W; git for-each-ref --format='%(refname)' refs/checkpoints-autosave refs/checkpoints | while read r; do git show $r^2:w 2>/dev/null; done""").has("work")
