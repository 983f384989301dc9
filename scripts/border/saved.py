"""Reports 1 to 16: what is saved."""

import os

from trial import Cannot, Fails, holds, row

KEY = "-----BEGIN RSA PRIV" + "ATE KEY-----\\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI\\n-----END RSA PRIV" + "ATE KEY-----\\n"


@row("report 1: default exclusions swallow new source files")
def names_that_look_like_secrets(t):
    t.sh("""new; mkdir -p src id_service; echo 'pub fn id() {}' >src/id_generator.rs; echo code >id_service/mod.rs; echo x >src/de.key
      echo 'API_KEY=' >.env.example; echo 'layout python' >.envrc; git checkpoint save -q -m x --session s""").good()
    listed = t.sh("cd r; git ls-tree -r --name-only checkpoints/s^2").text.split()
    wanted = {"src/id_generator.rs", "id_service/mod.rs", "src/de.key", ".env.example", ".envrc"}
    holds(wanted <= set(listed), f"not saved: {wanted - set(listed)}")
    t.sh(f"cd r; printf -- '{KEY}' >server.txt; printf 'DB_PASS''WORD=hunter2hunter2\\n' >.env; git checkpoint save -m y --session s").has("2 paths", ".env")
    t.sh("cd r; git checkpoint status").has("2 ").lacks("everything is saved")
    t.sh("cd r; git checkpoint status --exit-code; echo rc=$?").lacks("rc=0")


@row("report 2: status.showUntrackedFiles=no of a dotfiles repository")
def untracked_hidden(t):
    t.sh("""new; git config status.showUntrackedFiles no; echo private >diary; echo more >>a.txt; git checkpoint save -q -m x --session s""").good()
    t.sh("cd r; git ls-tree -r --name-only checkpoints/s^2").lacks("diary").has("a.txt")
    t.sh("cd r; git config --unset status.showUntrackedFiles; git checkpoint save -q --tracked-only -m y --session s --allow-empty; git ls-tree -r --name-only checkpoints/s^2").good().lacks("diary")
    t.sh("""git init -q --bare dot; mkdir home; cd home; export GIT_DIR=../dot GIT_WORK_TREE=.; git config core.bare false; git config status.showUntrackedFiles no
      echo rc >.rc; echo private >diary; git add .rc; git commit -qm x; echo 2 >.rc; git checkpoint save -q -m x --session s; git ls-tree -r --name-only checkpoints/s^2""").good().lacks("diary").has(".rc")


@row("report 3: files under git-lfs end up as full blobs")
def large_files(t):
    t.need("git-lfs")
    t.sh("""new; git lfs install --local >/dev/null; git lfs track '*.bin' >/dev/null; head -c 200000 /dev/urandom >a.bin; git add -A; git commit -qm lfs
      git init -q --bare ../o.git; git remote add origin ../o.git; git push -q origin main""").good()
    t.sh("cd r; head -c 200000 /dev/urandom >a.bin; head -c 200000 /dev/urandom >new.bin; git checkpoint save -q -m x --session s").good()
    t.sh("cd r; git cat-file -s checkpoints/s^2:a.bin; git cat-file -s checkpoints/s^2:new.bin").has(r"^1\d\d$").lacks("200000")
    t.sh("cd r; sha256sum a.bin new.bin >../sums; git lfs prune --force >/dev/null 2>&1; git checkout -q a.bin; rm new.bin; git checkpoint restore s -q; sha256sum -c ../sums").good()
    t.sh("cd r; git checkpoint push -q origin s; cd ../o.git; find . -type f -size +100k | grep lfs/objects | wc -l").same("3")
    t.sh("""git clone -q o.git c; cd c; git lfs install --local >/dev/null; git checkpoint pull -q origin s; git lfs fetch origin $(git rev-parse checkpoints/s^2) >/dev/null 2>&1; git checkpoint restore s -q; sha256sum -c ../sums""").good()


@row("report 4: one unreadable directory and no checkpoint at all")
def unreadable(t):
    t.need("setpriv", root=True)
    t.sh("""new; mkdir data; echo x >data/y; mkfifo pipe; chmod 700 data; chown -R nobody . "$ROOT"; chmod 755 "$ROOT"; chown root data data/y""")
    t.sh("""cd r; echo work >>a.txt; setpriv --reuid=nobody --clear-groups git checkpoint save -m x --session s; echo rc=$?""").has("rc=7", "data")
    t.sh("cd r; git -c safe.directory='*' show checkpoints/s^2:a.txt").has("work")
    t.sh("cd r; echo /data >>.git/info/exclude; setpriv --reuid=nobody --clear-groups git checkpoint save -m x --session s --allow-empty >/dev/null 2>&1; echo rc=$?").has("rc=0")


@row("report 5: a file that changes while it is read")
def moving(t):
    t.sh("""new; ( for i in $(seq 4000); do echo "line $i" >>log; done ) & git checkpoint save -q -m x --session s; echo rc=$?; wait""").has("rc=[07]")
    t.sh("cd r; git checkpoint verify s").good()


@row("report 6: saved before it was ignored")
def ignored_later(t):
    t.sh("""new; mkdir big; for i in $(seq 300); do echo $i >big/$i; done; git checkpoint save -q -m x --session s; echo big >.gitignore; git checkpoint save -q -m y --session s
      git ls-tree -r --name-only checkpoints/s^2 | wc -l""").same("2")
    t.sh("cd r; git checkpoint restore s~1 -q; ls big | wc -l").same("300")


@row("report 7: an unignored node_modules")
def dependencies(t):
    t.sh("""new; mkdir -p node_modules/x; for i in $(seq 5000); do echo $i >node_modules/x/$i; done; git checkpoint save -m x --session s""", 30).good()
    t.sh("cd r; git checkpoint save -m y --session s --allow-empty", 10).good()


@row("report 8: a nested repository, ignored by an uncommitted .gitignore")
def nested_ignored(t):
    t.sh("""new; git checkpoint save -q --allow-empty -m x --session s; git init -q in; echo 1 >in/f; git -C in add f; git -C in commit -qm i; echo in >.gitignore
      git checkpoint save -q -m y --session s; git checkpoint restore s~1 -q; cat in/f; git -C in log --oneline; git checkpoint undo -q; cat in/f""").has("1", "i")


@row("report 9: agents' work trees inside the tree are walked")
def work_trees_inside(t):
    t.sh("""new; git worktree add -q .wt/x; mkdir .wt/x/node_modules; for i in $(seq 1000); do echo $i >.wt/x/node_modules/$i; done; git checkpoint save -q -m x --session s; git ls-tree -r --name-only checkpoints/s^2 | wc -l""").has("^[12]$")
    t.sh("cd r; git checkpoint status; ls .wt/x/node_modules | wc -l").has("1000")


@row("report 10: content of submodules")
def submodules(t):
    t.sh("""git init -q sub; (cd sub; echo s >s; git add s; git commit -qm s); new; git submodule -q add ../sub sm; git commit -qm sub; echo edit >sm/s; git checkpoint save -m x --session s""").has("sm")
    t.sh("cd r/sm; git checkpoint save -q -m inside --session i; git show checkpoints/i^2:s").has("edit")
    raise Cannot("a submodule has sessions of its own; that it has changes is reported")


@row("report 11: edits under skip-worktree and assume-unchanged")
def flags(t):
    t.sh("""new; echo 1 >b; git add b; git commit -qm b; git update-index --skip-worktree a.txt; git update-index --assume-unchanged b; echo mine >a.txt; echo mine >b; git checkpoint save -q -m x --session s
      echo other >a.txt; echo other >b; git checkpoint restore s -q; cat a.txt b; git ls-files -v""").same("mine\nmine\nS a.txt\nh b")


@row("report 12: sparse index and feature.manyFiles")
def many_files(t):
    t.sh("""new; mkdir in out; echo 1 >in/f; echo 1 >out/g; git add .; git commit -qm x; git config feature.manyFiles true; git sparse-checkout set --cone --sparse-index in; echo 2 >in/f
      git checkpoint save -q -m x --session s; echo 3 >in/f; git checkpoint restore s -q; cat in/f; ls; git checkpoint undo -q; cat in/f; git checkpoint verify s""").good().has("^2$", "^3$").lacks("out")


@row("report 13: mode and line ends of a round trip")
def round_trip(t):
    t.sh(r"""new; git config core.fileMode false; git config core.autocrlf input; printf '#!/bin/sh\r\necho\r\n' >run; chmod +x run; ln -s run l; git checkpoint save -q -m x --session s
      sha256sum run >../sum; rm run l; git checkpoint restore s -q; sha256sum -c ../sum; stat -c %a run; readlink l""").good().has("755", "^run$")


@row("report 14: a fork of a git-crypt repository")
def crypt(t):
    t.need("git-crypt")
    t.sh("""new; git-crypt init >/dev/null 2>&1; echo 'secret filter=git-crypt diff=git-crypt' >.gitattributes; echo one >secret; git add -A; git commit -qm c; echo two >secret; git checkpoint save -q -m x --session s
      git cat-file blob checkpoints/s^2:secret | head -c 10 | od -c | head -1; echo three >secret; git checkpoint restore s -q; cat secret""").good().has("G   I   T   C   R   Y   P   T", "^two$")
    t.sh("cd r; git checkpoint fork s --name f --worktree ../w; echo rc=$?; cat ../w/secret; git branch; git checkpoint list")
    out = t.sh("cd r; cat ../w/secret 2>/dev/null; git checkpoint show f >/dev/null 2>&1; echo session=$?; git rev-parse -q --verify checkpoint/f >/dev/null; echo branch=$?")
    if "two" not in out.text:
        holds("session=0" not in out.text and "branch=0" not in out.text, f"the fork fails and leaves: {out.short()}")


@row("report 15: one big file that changes all the time")
def big_and_moving(t):
    t.sh("new; head -c 3000000 /dev/urandom >db; git add db; git commit -qm db; head -c 3000000 /dev/urandom >db; git -c checkpoint.exclude=db checkpoint save -q -m x --session s; git show checkpoints/s^2:db | cmp - db").good()
    raise Cannot("a tracked file is always saved whole; checkpoint.exclude is for untracked ones")


@row("report 16: stashes are part of the work")
def stashes(t):
    t.sh("new; echo stashed >a.txt; git stash -q; echo w >w; git checkpoint save -q -m x --session s; git stash drop -q; git checkpoint resume s").has("stash")
    raise Cannot("a stash is a commit of its own; that it is missing is reported")
