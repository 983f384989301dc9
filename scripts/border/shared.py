"""Reports 47 to 58: sharing."""

from trial import Cannot, Fails, holds, row


@row("report 47: shallow and partial clones")
def shallow(t):
    for how in ("--depth=1", "--filter=blob:none"):
        t.sh(f"""rm -rf up c d; new up; for i in 1 2 3; do echo $i >>a.txt; git commit -qam $i; done; git config uploadpack.allowFilter true; git config receive.denyCurrentBranch ignore; cd ..; git clone -q {how} file://$PWD/up c; cd c; echo w >>a.txt; git checkpoint save -q -m x --session s
          git checkpoint push -q origin s; cd ..; git clone -q {how} file://$PWD/up d; cd d; git checkpoint pull -q origin s; git checkpoint restore s -q; tail -1 a.txt""").good().same("w")


@row("report 48: hand over without a server")
def bundle(t):
    t.sh("new; echo w >w; git checkpoint save -q -m x --session s; git checkpoint bundle -q -o ../b s || git checkpoint bundle ../b s; git clone -q . ../c; cd ../c; git checkpoint unbundle ../b; git checkpoint restore s -q --force; cat w").has("^w$")


@row("report 49: remote settings are used")
def remote_settings(t):
    t.sh("new; git init -q --bare ../o.git; git config url.$PWD/../o.git.pushInsteadOf none:x; git remote add origin none:x; git config remote.pushDefault origin; echo w >w; git checkpoint save -q -m x --session s; git checkpoint push -q s || git checkpoint push -q origin s; git -C ../o.git for-each-ref").has("refs/checkpoints/s")


@row("report 50: a server refuses refs outside of heads")
def refused(t):
    t.sh("""new; git init -q --bare ../o.git; printf '#!/bin/sh\\ncase $1 in refs/heads/*) exit 0;; esac; echo refused here; exit 1\\n' >../o.git/hooks/update; chmod +x ../o.git/hooks/update; git remote add origin ../o.git; echo w >w; git checkpoint save -q -m x --session s; git checkpoint push origin s; echo rc=$?""").has("refus", "rc=[1-9]")
    out = t.sh("cd r; git config remote.origin.checkpointNamespace refs/heads/checkpoints/; git checkpoint push origin s; git -C ../o.git for-each-ref")
    if "refs/heads/checkpoints" not in out.text:
        raise Cannot("no other namespace can be set")


@row("report 51: private records reach a remote with other pushes")
def mirror(t):
    t.sh("new; git init -q --bare ../o.git; git remote add --mirror=push origin ../o.git; echo w >w; git checkpoint save -q -m x --session s; git checkpoint status").has("mirror")


@row("report 52: leftovers on the server")
def leftovers(t):
    t.sh("new; git init -q --bare ../o.git; git remote add origin ../o.git; echo w >w; git checkpoint save -q -m x --session s; git checkpoint push -q origin s; git checkpoint delete --remote origin s; git -C ../o.git for-each-ref").lacks("refs/checkpoints")


@row("report 53: the second device sees nothing")
def second_device(t):
    t.sh("new; git init -q --bare ../o.git; git remote add origin ../o.git; git push -q origin main; echo w >w; git checkpoint save -q -m x --session auth; git checkpoint push -q origin auth; git clone -q ../o.git ../c; cd ../c")
    for command in ("list", "status", "resume", "resume auth"):
        t.sh(f"cd c; git checkpoint {command}").has("fetch|pull")


@row("report 54: always one push behind")
def push_by_itself(t):
    t.sh("new; git init -q --bare ../o.git; git remote add origin ../o.git; git push -q origin main; echo w >w; git checkpoint save -q -m x --session auth; git checkpoint finish -q; git checkpoint push").lacks("no session is current$")
    if "autoPush" not in t.sh("git init -q q; cd q; git checkpoint help settings").text:
        raise Cannot("'save --push' and 'git checkpoint push' push; no setting pushes after each save")


@row("report 55: both machines went on")
def diverged(t):
    t.sh("""new; git init -q --bare ../o.git; git remote add origin ../o.git; git push -q origin main; echo w >w; git checkpoint save -q -m x --session auth; git checkpoint push -q origin auth; git clone -q ../o.git ../c; cd ../c; git checkpoint pull -q origin auth
      git checkpoint save -q --allow-empty -m there --session auth; git checkpoint push -q origin auth; cd ../r; git checkpoint save -q --allow-empty -m here --session auth; git checkpoint pull origin auth; git checkpoint list""").has("auth-", "there")


@row("report 56: one name on two machines")
def one_name(t):
    t.sh("""new; git init -q --bare ../o.git; git remote add origin ../o.git; git push -q origin main; git clone -q ../o.git ../c; git checkpoint save -q --allow-empty -m here --session login; git checkpoint push -q origin login; cd ../c; git checkpoint save -q --allow-empty -m there --session login; git checkpoint pull origin login; git checkpoint list""").has("login-", "here")


@row("report 57: keys leak")
def keys(t):
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    t.sh(f"new; git init -q --bare ../o.git; git remote add origin ../o.git; git checkpoint note 'with {token}' -q --session s 2>/dev/null || git checkpoint start s -q; git checkpoint todo add 'with {token}' -q; git checkpoint save -q -m 'with {token}'; git cat-file --batch-all-objects --batch").lacks(token)
    t.sh(f"cd r; echo 'T={token}' >cfg; git checkpoint save -q -m y --session s; git checkpoint push origin s; echo rc=$?").has("rc=4")
    t.sh("cd r; printf 'DB_PASS''WORD=Xk29fjPq7Lw\\n' >cfg; git checkpoint save -q -m y --session t; git checkpoint push origin t; echo rc=$?").has("rc=4")


@row("report 58: too much is redacted")
def hashes(t):
    t.sh("new; git checkpoint save -m 'da39a3ee5e6b4b0d3255bfef95601890afd80709 and 123e4567-e89b-12d3-a456-426614174000 AKIAIOSFODNN7EXAMPLE' --session s --allow-empty").lacks("REDACTED")
