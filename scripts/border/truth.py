"""What was saved, restored and reported, against git and the bytes on the disk."""

from trial import Cannot, Fails, holds, row

SAVED = "git checkpoint save -q --session s -m "


@row("truth 1: a second repository gets the environment of the first")
def environment(t):
    for way in ("git --work-tree=. checkpoint", "GIT_WORK_TREE=$PWD git checkpoint", "GIT_DIR=$PWD/.git git checkpoint", "GIT_INDEX_FILE=$PWD/.git/index git checkpoint", "git -c core.worktree=$PWD checkpoint", "GIT_OBJECT_DIRECTORY=$PWD/.git/objects git checkpoint"):
        t.sh(f"""rm -rf r fk; new; echo 1 >a; git add a; git commit -qm x; echo 2 >a; git add a; {SAVED} one; git reset -q; echo 3 >a; mkdir later; echo precious >later/file; cp .git/index ../i
          {way} fork s --name f --worktree ../fk -q; cat a later/file ../fk/a; cmp .git/index ../i; git -C ../fk diff --cached --name-only""").same("3\nprecious\n2\na")


@row("truth 1: clean submodules are reported as changed in a commit hook")
def submodules_in_hooks(t):
    t.sh("""git init -q sub; (cd sub; echo s >s; git add s; git commit -qm s); new; git submodule -q add ../sub sm; git commit -qm sub; git checkpoint start s -q; git checkpoint hooks install -q; echo 1 >a; git add a; git commit -qm a
      git --work-tree=. checkpoint save -m x --session s --allow-empty; git show checkpoints/s:checkpoint.json; git show checkpoints/s~1:checkpoint.json""").lacks("submodules_changed|changes of its own")


@row("truth 2: bytes under a lossy clean filter are lost by restore and undo")
def lossy(t):
    t.sh("""new; git config filter.strip.clean "sed '/output/d'"; git config filter.strip.smudge cat; echo '*.ipynb filter=strip' >.gitattributes; printf 'cell A\\noutput: 42\\n' >n.ipynb; git add .; git commit -qm x; git checkpoint save -q -m one --session s --allow-empty
      printf 'cell A\\noutput: 42\\ncell B\\noutput: took three days\\n' >n.ipynb; cp n.ipynb ../n; git checkpoint restore s -q; git checkpoint undo -q; cmp n.ipynb ../n""").good()


@row("truth 2: the same with line ends under a filter, and with a filter that is added to a committed file")
def lossy_ends(t):
    t.sh(r"""new; git config filter.id.clean cat; git config filter.id.smudge cat; git config core.autocrlf input; echo '*.x filter=id' >.gitattributes; printf 'a\r\nb\r\n' >n.x; git add .; git commit -qm x; git checkpoint save -q -m one --session s --allow-empty
      printf 'a\r\nb\r\nc\r\n' >n.x; cp n.x ../n; git checkpoint restore s -q; git checkpoint undo -q; cmp n.x ../n""").good()
    t.sh(r"""rm -rf r; new; git config filter.rot.clean 'tr a-z b-za'; git config filter.rot.smudge 'tr b-za a-z'; printf 'abc\n' >n.x; git add .; git commit -qm x; echo '*.x filter=rot' >.gitattributes; cp n.x ../n; git checkpoint save -q -m one --session s
      printf 'xyz\n' >n.x; cp n.x ../m; git checkpoint restore s -q; cmp n.x ../n; git checkpoint undo -q; cmp n.x ../m""").good()


@row("truth 3: core.checkStat=minimal and an edit of the same second and size")
def coarse(t):
    for setting in ("core.checkStat minimal", "core.trustctime false"):
        for _ in range(4):
            t.sh(f"""rm -rf r; new; git config {setting}; echo aaa >a; git add a; git commit -qm x; sleep .05; echo bbb >a; {SAVED} one; git show checkpoints/s^2:a""").same("bbb")


@row("truth 4: skip-worktree is taken for sparse checkout")
def skip(t):
    t.sh(f"""new; {SAVED} before --allow-empty; echo default >conf; git add conf; git commit -qm conf; git update-index --skip-worktree conf; echo 'my local edit' >conf; {SAVED} with; git checkpoint restore s~1 -q --force; git checkpoint undo -q; cat conf; git ls-files -v conf
      git checkpoint restore s~1 -q --force; git checkpoint restore s -q; cat conf""").good().same("my local edit\nS conf\nmy local edit")


@row("truth 5: restore --index in a sparse checkout drops skip-worktree")
def sparse_index(t):
    for how in ("", "--cone", "--no-cone", "--cone --sparse-index"):
        t.sh(f"""rm -rf r; new; mkdir in out; echo 1 >in/f; echo 1 >out/g; git add .; git commit -qm x; echo 2 >out/g; git commit -qam 2; git sparse-checkout set {how} in; git checkout -q HEAD~1; {SAVED} one --allow-empty; git checkout -q main
          git checkpoint restore s --index --force -q; git checkpoint undo -q; git ls-files -t out 2>/dev/null; git status --short""").same("S out/g")


@row("truth 6: the cache gives a stale mode where core.fileMode=false")
def stale_mode(t):
    t.sh(f"""new; git config core.fileMode false; echo 1 >f; git add f; git commit -qm plain; git update-index --chmod=+x f; git commit -qm executable; git reset -q HEAD~1; echo 22 >f; sleep 1; {SAVED} one; git reset -q ORIG_HEAD; {SAVED} two; git ls-tree checkpoints/s^2 f""").has("100755")
    t.sh(f"""rm -rf r; new; git config core.symlinks false; printf x >f; git add f; git commit -qm plain; git update-index --cacheinfo 120000,$(git rev-parse HEAD:f),f; git commit -qm l; git reset -q HEAD~1; printf yy >f; sleep 1; {SAVED} one; git reset -q ORIG_HEAD; {SAVED} two; git ls-tree checkpoints/s^2 f""").has("120000")


@row("truth 7: '..' in GIT_DIR with a relative core.worktree")
def dots(t):
    t.sh(f"""mkdir w g; echo letter >g/letter.txt; git init -q g; git -C g config core.worktree ../../w; cd w; G=../g/.git; echo 1 >a; git --git-dir=$G add a; git --git-dir=$G commit -qm x; echo 2 >a; git --git-dir=$G checkpoint save -q --session s -m one; git --git-dir=$G show checkpoints/s^2:a
      echo 3 >a; git --git-dir=$G checkpoint restore s --force -q; cat a; ls ../g""").good().same("2\n2\nletter.txt")


@row("truth 7: '..' behind a symlink, in a submodule, and within the git directory")
def more_dots(t):
    t.sh(f"""mkdir -p w deep/real; ln -s deep/real g; git init -q g; git -C g config core.worktree ../../../w; cd w; G=../deep/real/.git; echo 1 >a; git --git-dir=../g/../real/.git add a; git --git-dir=../g/../real/.git commit -qm x; echo 2 >a; git --git-dir=../g/../real/.git checkpoint save -q --session s -m one; git --git-dir=$G show checkpoints/s^2:a""").good().same("2")
    t.sh(f"""git init -q sub; (cd sub; echo s >s; git add s; git commit -qm s); new; git submodule -q add ../sub sm; git commit -qm sub; cd sm; echo 2 >s; GIT_DIR=../.git/modules/sm git checkpoint save -q --session s -m one; git show checkpoints/s^2:s; cd ../.git/modules/sm; git checkpoint list""").good().has("^2$")


@row("truth 8: a fork swallows a refusal and reports success")
def refused_fork(t):
    t.sh(f"""new; echo x >x; mkdir dist; echo old >dist/app.js; git add .; git commit -qm x; rm -r dist; echo 'dist/' >.gitignore; echo 'a file now' >dist; echo work >work; {SAVED} one; git checkpoint fork s --name f --worktree ../fk; cat ../fk/dist ../fk/work""").good().has("a file now", "^work$")


@row("truth 9: a tracked file that was deleted counts as ignored")
def deleted_and_ignored(t):
    t.sh(f"""new; mkdir dist; echo old >dist/app.js; git add .; git commit -qm x; rm -r dist; echo /dist >.gitignore; {SAVED} one; git checkpoint fork s --name f --worktree ../fk -q; ls ../fk; git checkout -q -- dist; git checkpoint restore s -q; ls""").good().lacks("dist")


@row("truth 10: undo refuses though nothing changed")
def undo_of_ignored(t):
    t.sh(f"""new; mkdir out; echo 1 >out/report; {SAVED} one; rm -r out; echo /out >.gitignore; git add .gitignore; git commit -qm ignore; git checkpoint restore s -q -- out; cat out/report; git checkpoint undo -q; ls""").good().same("1\na.txt")
    t.sh(f"""rm -rf r; new; mkdir out; echo 1 >out/report; {SAVED} one; rm -r out; echo out >>.git/info/exclude; git checkpoint restore s -q; git checkpoint undo -q; ls""").good().same("a.txt")
    t.sh(f"""rm -rf r; new; git config filter.n.clean 'cat; date +%N'; git config filter.n.smudge cat; git config filter.n.required true; echo '*.n filter=n' >.gitattributes; echo 1 >f.n; git add .; git commit -qm x; {SAVED} one --allow-empty; echo 2 >f.n; git checkpoint restore s -q; git checkpoint undo -q; cat f.n""").good().same("2")


@row("truth 11: shallow clones")
def shallow(t):
    t.sh(f"""git init -q up; cd up; for i in 1 2 3; do echo $i >>a; git add a; git commit -qm $i; done; cd ..; git clone -q --depth 1 "file://$PWD/up" c; cd c; echo work >>a; {SAVED} one; git checkout -q a; (cd ../up; for i in 4 5 6; do echo $i >>b; git add b; git commit -qm $i; done); git fetch -q --depth 1; git reset -q --hard origin/main
      git checkpoint resume s""").good().lacks("not known", "cannot read", "rewritten")


@row("truth 12: rules on the disk that are not in the snapshot")
def rules(t):
    t.sh(rf"""new; echo .gitattributes >>.git/info/exclude; echo '*.x text eol=crlf' >.gitattributes; printf 'a\r\n' >f.x; git add f.x; git commit -qm x; {SAVED} one --allow-empty; printf 'changed\r\n' >f.x; git checkpoint restore s -q; od -c f.x | head -1; git checkpoint undo -q; cat f.x""").good().has(r"a  \\r  \\n", "changed")
    for hide in ("mkdir d; echo .gitattributes >d/.gitignore; mv .gitattributes d; mv f.x d", "echo .gitattributes >.checkpointignore", "echo '/.git*' >.git/info/exclude", "git config checkpoint.exclude .gitattributes", "git config status.showUntrackedFiles no; git add f.x"):
        t.sh(rf"""rm -rf r; new; echo '*.x text eol=crlf' >.gitattributes; printf 'a\r\nb\r\n' >f.x; {hide}; F=$(find . -name f.x); {SAVED} one --allow-empty 2>/dev/null; cp $F ../f; git ls-files --error-unmatch $F >/dev/null 2>&1 || git cat-file -e checkpoints/s^2:${{F#./}} || exit 9; printf 'changed\r\n' >$F; cp $F ../g; git checkpoint restore s -q; cmp $F ../f && git checkpoint undo -q && cmp $F ../g""").good()


@row("truth 13: restore --force --dry-run where an ignored file is in the way")
def forced_dry_run(t):
    t.sh(f"""new; echo x >x; git add x; git commit -qm x; echo '*.o' >.gitignore; {SAVED} one; echo .gitignore >>.git/info/exclude; echo '*.p' >>.gitignore; git checkpoint restore s --dry-run --force""").good()
    t.sh(f"""rm -rf r; new; echo 1 >n; {SAVED} one; echo 2 >n; echo n >>.git/info/exclude; mkdir sub; echo 1 >sub/m; git checkpoint restore s --dry-run --force; git checkpoint restore s --force -q; cat n""").good().has("^1$")


@row("truth 14: drift that no line explains")
def unexplained(t):
    t.sh(f"""new; echo 1 >f; git add f; git commit -qm x; echo 2 >f; git add f; {SAVED} one; git reset -q; git checkpoint resume s --fail-on-drift; echo rc=$?""").has("rc=6", "index")


@row("truth 15: dates, two commits of a second, modes, link against file")
def small(t):
    t.sh(f"new; echo 1 >f; {SAVED} one; git checkpoint show \"s@{{$(date +%F)}}\"").lacks("not a date")
    t.sh("""rm -rf r; new; export GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' GIT_AUTHOR_DATE='2026-01-01T00:00:00Z'; echo 1 >f; git add f; git commit -qm one; echo 2 >f; git commit -qam two; git checkpoint save -q -m x --session s --allow-empty; git reset -q --hard HEAD~1; echo u >u; git add u; git commit -qm unrelated; git checkpoint resume s""").lacks("amended")
    t.sh(f"rm -rf r; new; echo i >.gitignore; git add .; git commit -qm i; echo 1 >i; chmod 755 i; git add -f i; {SAVED} one; git rm -q --cached i; chmod 644 i; git checkpoint restore s -q --force; stat -c %a i").has("755")
    t.sh(f"rm -rf r; new; {SAVED} one --allow-empty; chmod +x a.txt; {SAVED} two; chmod -x a.txt; git checkpoint resume s").lacks(r"\+0 -0")


@row("truth 15: an optional filter that fails")
def optional_filter(t):
    t.sh(f"new; git config filter.no.clean false; echo '*.n filter=no' >.gitattributes; echo content >f.n; {SAVED} one; echo rc=$?; git checkpoint show s").has("rc=7", "f.n", "filter-failed").lacks("to see why")


@row("truth 15: a stage-0 entry beside unmerged paths below it")
def odd_index(t):
    out = t.sh(f"""new; B=$(git rev-parse HEAD:a.txt); printf '100644 %s 0\\td\\n100644 %s 1\\td/x\\n100644 %s 2\\td/x\\n' $B $B $B | git update-index --index-info; git ls-files -s >../i; {SAVED} one; git reset -q; git checkpoint restore s --index --force -q; git ls-files -s | diff - ../i""")
    if out.code:
        raise Cannot("only 'git update-index' makes such an index, and git cannot write a tree of it; the unmerged paths come back")


@row("truth 15: ':(attr:...)' pathspecs are mentioned in the help")
def attributes(t):
    t.sh("git init -q r; cd r; git checkpoint help pathspecs 2>/dev/null || git checkpoint help selectors; git checkpoint help restore").has("attr")
