"""What a first day with the program met."""

from trial import Cannot, Fails, holds, row


@row("day 1: verify after watch and prune")
def watch_and_prune(t):
    t.sh("""new; git checkpoint start s -q; for i in 1 2 3; do echo $i >a; git checkpoint save -q -m "c$i"; done; echo wip >a; git checkpoint watch --once -q; git checkpoint restore s -q; git checkpoint undo -q; echo 4 >a; git checkpoint save -q -m c4; git checkpoint prune --keep-last 1 -q; git checkpoint verify --all""").good()
    t.sh("cd r; git checkpoint prune --trash -q; git checkpoint verify --all && git checkpoint prune --autosaves -q && git checkpoint verify --all").good()
    t.sh("rm -rf r; new; git config checkpoint.autoPrune on; git config checkpoint.keepLast 2; git checkpoint start s -q; echo w >a; git checkpoint watch --once -q; for i in 1 2 3 4; do echo $i >a; git checkpoint save -q -m $i; done; git checkpoint verify --all").good()


@row("day 2: the other side of a merge is lost by gc")
def merge_kept(t):
    t.sh("""new; git switch -q -c side; echo side >a.txt; git commit -qam side; git switch -q main; echo main >a.txt; git commit -qam main; git merge -q side >/dev/null; git checkpoint save -q -m mid --session s; git merge --abort; git branch -qD side; git reflog expire --expire=now --all; git gc -q --prune=now
      git checkpoint restore s --index -q; echo both >a.txt; git add a.txt; git -c core.editor=true commit -q; git log --format=%s""").good().has("Merge branch 'side'", "^side$")
    t.sh("""rm -rf r; new; git switch -q -c side; echo side >a.txt; git commit -qam side; git switch -q main; echo main >a.txt; git commit -qam main; git merge -q side >/dev/null; git checkpoint save -q -m mid --session s; printf wrong >a.txt; git checkpoint restore s --index -q; git status""").good().has("merg")


@row("day 2: status, save and show name the operation")
def named(t):
    begin = "new; git switch -q -c side; echo side >a.txt; git commit -qam side; git switch -q main; echo main >a.txt; git commit -qam main; "
    for act, word in (("git merge -q side", "merg"), ("git rebase -q side", "rebas"), ("git cherry-pick side", "cherry-pick"), ("git revert --no-edit HEAD~1; git revert --no-commit HEAD~1", "revert"), ("git bisect start; git bisect bad; git bisect good HEAD~1", "bisect"), ("git format-patch -q -1 side --stdout >../p; git am -q ../p", "am|patch")):
        t.sh(f"rm -rf r; {begin} ({act}) >/dev/null 2>&1; true")
        for command in ("status", "save -m x --session s --allow-empty", "show s"):
            t.sh(f"cd r; git checkpoint {command}").has(word)


@row("day 3: restore takes a committed fix out again")
def reverted_fix(t):
    t.sh("""new; echo 1 >b; git add b; git commit -qm b; echo wip >a.txt; git checkpoint pause -q -m wip --session s; git checkout -q -- .; echo fixed >b; git commit -qam 'hotfix b'; git checkpoint restore s -n""").has("hotfix b", "apply")


@row("day 5: everything is saved when it is not")
def not_everything(t):
    t.sh("""new; head -c 60000000 /dev/zero >dump.sql; printf 'PASS''WORD=Xk29fjPq7Lw\\n' >.env; git checkpoint save -q -m x --session s; git checkpoint status --exit-code; echo rc=$?""").has("dump.sql", ".env").lacks("rc=0", "everything is saved$")
    t.sh("cd r; git checkpoint status --json").has("too_large|too large|too-large", "secret")
    t.sh("cd r; git checkpoint pause -m y").has("dump.sql|2 ")


@row("day 7: deleted sessions come back, unknown remotes, singular and plural")
def smaller(t):
    t.sh("new; git checkpoint save -q --allow-empty -m x --session a; git checkpoint save -q --allow-empty -m x --session b; git checkpoint delete a b -q; git checkpoint undo -q; git checkpoint list --json").has('"a"', '"b"')
    t.sh("cd r; git checkpoint fetch nosuchremote").lacks("<session>")
    t.sh("cd r; git checkpoint prune --trash").lacks("prune --trash'")
    t.sh("git init -q --bare bare; cd bare; git checkpoint status").lacks("makes the first")
