"""Reports 59 to 69: storage and places."""

from trial import Cannot, Fails, holds, row


@row("report 59: pruned, collected, and the disk as full as before")
def pruned(t):
    t.sh("""new; git checkpoint start s -q; for i in 1 2 3 4; do head -c 3000000 /dev/urandom >b; git checkpoint save -q -m $i; done; git checkpoint prune --keep-last 1 -q; git checkpoint prune --trash -q; git gc -q --prune=now; test $(du -sm .git | cut -f1) -lt 7""").good()


@row("report 60: a pack for each snapshot")
def packs(t):
    t.sh("new; git checkpoint start s -q; for i in $(seq 60); do echo $i >>a.txt; git checkpoint save -q -m $i; done; test $(ls .git/objects/pack/*.pack | wc -l) -le 10; echo rc=$?; git gc --auto", 120).has("rc=0").lacks("Auto packing")


@row("report 61: history was rewritten")
def rewritten(t):
    t.need("git-filter-repo")
    t.sh("""new; echo pw >secret; git add -A; git commit -qm oops; git checkpoint start s -q; echo 1 >>a.txt; echo u >u; git checkpoint save -q -m one; git filter-repo --quiet --force --invert-paths --path secret; git checkpoint verify s""").has("rewritten")
    t.sh("cd r; rm -f u; git checkpoint restore s -q --force; cat u; git checkpoint repair s -q; git checkpoint verify s; echo rc=$?").has("^u$", "rc=0")


@row("report 62: no flock")
def no_flock(t):
    t.need("strace")
    for error in ("ENOLCK", "ENOSYS", "EOPNOTSUPP"):
        t.sh(f"rm -rf r; new; git checkpoint start s -q; echo 1 >>a.txt; failing flock {error} save -m x --session s; git checkpoint verify s").good().has("lock")


@row("report 63: no fsync of directories")
def no_fsync(t):
    t.need("strace")
    for error in ("EINVAL", "EBADF", "ENOTSUP"):
        for when in (1, 2, 3, 4, 5):
            t.sh(f"rm -rf r; new; git checkpoint start s -q; echo 1 >>a.txt; failing fsync {error}:when={when} save -m x --session s; echo rc=$?; git checkpoint verify --all; echo rc=$?").has("rc=[0-9]+.*rc=0")


@row("report 64: a container wrote as root")
def owners(t):
    t.need("setpriv", root=True)
    t.sh('new; chown -R nobody . "$ROOT/t" "$ROOT/home" "$ROOT/config"; chmod 755 "$ROOT"; echo w >w; git -c safe.directory="*" checkpoint save -q -m root --session s')
    for command in ("status", "list", "log s", "show s", "verify", "resume s", "save -m mine --allow-empty --session s", "todo add t"):
        t.sh(f"cd r; setpriv --reuid=nobody --clear-groups git checkpoint {command}").good()


@row("report 65: .git is read-only, another store")
def other_store(t):
    t.need("unshare", root=True)
    if "checkpoint.store" not in t.sh("git init -q q; cd q; git checkpoint help settings").text:
        raise Fails("there is no setting checkpoint.store")
    t.sh("""new; git init -q --bare ../o.git; git remote add origin ../o.git; git push -q origin main; cd ..; S=$PWD/store.git; export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=checkpoint.store GIT_CONFIG_VALUE_0=$S
      unshare -m bash -ec 'mount --bind r/.git r/.git; mount -o remount,bind,ro r/.git; cd r; ! touch .git/x 2>/dev/null; echo work >w; git checkpoint save -q -m x --session s; git checkpoint list; git checkpoint push -q origin s; echo more >w; git checkpoint restore s -q; cat w; git checkpoint undo -q; cat w'""").good().has("^work$", "^more$")
    t.sh("git -C o.git for-each-ref; git clone -q o.git c; cd c; git checkpoint pull -q origin s; git checkpoint resume s -q; git checkpoint restore s -q; cat w").has("refs/checkpoints/s", "^work$")


@row("report 66: refs clutter the log")
def clutter(t):
    t.sh("new; echo w >w; git checkpoint save -q -m x --session s; git branch -a; git tag; git log --exclude='refs/checkpoints*' --all --oneline").lacks("checkpoint")


@row("report 67: a layout with .bare and work trees")
def bare_layout(t):
    t.sh("new up; cd ..; git clone -q --bare up p/.bare; cd p; echo 'gitdir: ./.bare' >.git; git worktree add -q main; cd main; echo w >w; git checkpoint save -q -m x --session s; git show checkpoints/s^2:w; cd ..; git checkpoint status").has("^w$")


@row("report 68: the limit of watches")
def watches(t):
    t.need("strace")
    t.sh("new; git checkpoint start s -q; echo w >w; failing inotify_add_watch ENOSPC watch --once; git for-each-ref refs/checkpoints-autosave").good().has("autosave")


@row("report 69: a transcript of 70 MB")
def transcript(t):
    t.sh("""new; git checkpoint start s -q; python3 -c "
for i in range(20000): print('{\\"role\\": \\"user\\", \\"content\\": \\"%s\\"}' % ('word %d ' % i * 100))" >../m.jsonl; git checkpoint message import ../m.jsonl -q; git checkpoint save -q -m x; git checkpoint resume s >/dev/null""", 300).good()
