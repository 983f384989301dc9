"""Installs and runs the packages that were built, on systems that have nothing of ours; see scripts/package.

The .deb and the .rpm go into a Debian root that debootstrap makes, each by its own package manager, with an upgrade and a
removal; the archive goes there by the installer, which takes it from a server on the loopback interface; the npm packages
go into an empty prefix, without a network. Every line of the transcript that starts with '$' was run.
"""

import functools
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib

STORY = """\
set -e
export HOME=/root GIT_CONFIG_NOSYSTEM=1 MANPAGER=cat PAGER=cat COLUMNS=80
git config --global user.name Ana; git config --global user.email ana@example.org; git config --global init.defaultBranch main
rm -rf /tmp/repo; mkdir /tmp/repo; cd /tmp/repo; git init -q; echo one >a.txt; git add a.txt; git commit -qm first
echo two >>a.txt; echo new >b.txt
git checkpoint save -m 'parser done' --next 'make it green'
rm b.txt; git checkout -q a.txt
git checkpoint restore --force >/dev/null; cat a.txt b.txt; git checkpoint verify; git fsck --strict
"""


class Trial:
    def __init__(self, root):
        self.root, self.failed = root, 0

    def check(self, title, holds, detail=""):
        self.failed += not holds
        print(f"{'ok    ' if holds else 'FAILED'}  {title}{'' if holds else ': ' + str(detail)[-600:]}", flush=True)

    def sh(self, command, inside=True, code=0, quiet=False, env=None):
        words = ["chroot", str(self.root), "/bin/sh", "-c", command] if inside else ["/bin/sh", "-c", command]
        if not quiet:
            print(f"$ {command}", flush=True)
        plain = {"PATH": os.environ["PATH"] if not inside else "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **(env or {})}
        out = subprocess.run(words, env=plain, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = out.stdout.decode("utf-8", "replace")
        if not quiet:
            print("".join(f"  {line}\n" for line in text.splitlines()[:20]), end="", flush=True)
        if code is not None and out.returncode != code:
            self.check(command.splitlines()[0], False, f"ended with {out.returncode}: {text}")
        return text

    def ours(self):
        """Files of ours in the root, apart from what a package manager keeps for itself."""
        found = self.sh("find / -xdev -path /proc -prune -o -path /tmp -prune -o -path /var -prune -o -name '*git-checkpoint*' -print", quiet=True)
        return sorted(line for line in found.splitlines() if not line.startswith("/root/"))


def wants(trial, stamp, before="", pages=True):
    """What an installed program has to show, however it was installed."""
    shown = trial.sh(f"{before}git checkpoint --version").strip()
    trial.check("--version tells version, commit and target", shown == stamp, shown)
    if pages:
        trial.check("git checkpoint --help opens the manual page", "GIT-CHECKPOINT" in trial.sh(f"{before}MANPAGER=cat COLUMNS=80 git checkpoint --help | head -n 5").upper())
        trial.check("man finds the page of a command", "restore" in trial.sh(f"{before}man -w git-checkpoint-restore"))
        for place in ("bash-completion/completions", "zsh/site-functions", "fish"):
            found = trial.sh(f"{before}find /usr/share/{place} ${{PREFIX:-/usr}}/share/{place} -name '*git-checkpoint*' 2>/dev/null | head -n 1", quiet=True)
            trial.check(f"completion in share/{place}", "git-checkpoint" in found)
    trial.check("help names the commands", "Time travel:" in trial.sh(f"{before}git checkpoint help | cat", quiet=True))
    told = trial.sh(before + STORY)
    trial.check("saves, restores, verifies; git finds no fault", "one\ntwo\nnew" in told and "No damage" in told, told)


def with_version(deb, version, to):
    """The same package as a later version."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["dpkg-deb", "--raw-extract", deb, directory], check=True)
        control = pathlib.Path(directory, "DEBIAN/control")
        control.write_text("".join(f"Version: {version}\n" if line.startswith("Version:") else line for line in control.read_text().splitlines(True)))
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", directory, to], check=True, stdout=subprocess.DEVNULL)


def debian(trial, out, version, target, stamp):
    deb = next(out.glob("*_amd64.deb"))
    print(f"\n== {deb.name}: dpkg in a new Debian system")
    shutil.copy(deb, trial.root / "tmp/one.deb")
    with_version(deb, f"{version}+1", trial.root / "tmp/two.deb")
    before = trial.ours()
    trial.sh("dpkg -i /tmp/one.deb")
    wants(trial, stamp)
    trial.sh("dpkg -i /tmp/two.deb")
    trial.check("upgraded", f"{version}+1" in trial.sh("dpkg-query -W git-checkpoint"))
    trial.check("it runs after the upgrade", version in trial.sh("git checkpoint --version"))
    trial.sh("dpkg -r git-checkpoint")
    trial.check("removed without a rest", trial.ours() == before, trial.ours())


def red_hat(trial, out, version, target, stamp):
    package = next(out.glob("*.x86_64.rpm"))
    print(f"\n== {package.name}: rpm with a database of its own")
    before = trial.ours()
    rpm = f"rpm --root {trial.root} --nodeps"
    shutil.copy(package, trial.root / "tmp/one.rpm")
    trial.sh(f"rpm --root {trial.root} --initdb && {rpm} -i {package}", inside=False)
    trial.check("rpm lists it", "/usr/bin/git-checkpoint" in trial.sh(f"rpm --root {trial.root} -ql git-checkpoint | head -n 3", inside=False))
    wants(trial, stamp)
    trial.sh(f"{rpm} -U --replacepkgs {package}", inside=False)
    trial.check("rpm finds every file as it was packed", trial.sh(f"rpm --root {trial.root} -V --nodeps git-checkpoint", inside=False).strip() == "")
    trial.sh(f"{rpm} -e git-checkpoint", inside=False)
    trial.check("removed without a rest", trial.ours() == before, trial.ours())


def installer(trial, out, version, target, stamp):
    print("\n== install.sh: the archive from a server on the loopback interface")
    with tempfile.TemporaryDirectory() as directory:
        served = pathlib.Path(directory)
        for path in (*out.glob("*.tar.gz"), out / "SHA256SUMS", out / "install.sh"):
            shutil.copy(path, served)
        quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=served))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        shutil.copy(out / "install.sh", trial.root / "tmp/install.sh")
        url = f"CHECKPOINT_URL=http://127.0.0.1:{server.server_address[1]} HOME=/root"
        before = trial.ours()
        archive = served / f"git-checkpoint-{version}-{target}.tar.gz"
        whole = archive.read_bytes()
        archive.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        told = trial.sh(f"{url} sh /tmp/install.sh", code=1)
        trial.check("a changed archive is refused, and nothing is installed", "nothing was installed" in told and trial.ours() == before and not (trial.root / "root/.local/bin/git-checkpoint").exists(), told)
        archive.write_bytes(whole)
        trial.sh(f"{url} sh /tmp/install.sh")
        prefix = "export HOME=/root PREFIX=/root/.local PATH=/root/.local/bin:$PATH; "
        wants(trial, stamp, prefix)
        (trial.root / "root/.local/share/man/man1/git-checkpoint-old.1").write_text("of an older version")
        trial.sh(f"{url} sh /tmp/install.sh")
        trial.check("an upgrade leaves no page of an older version", not (trial.root / "root/.local/share/man/man1/git-checkpoint-old.1").exists())
        trial.sh(f"{url} sh /tmp/install.sh --uninstall")
        # The list of the user's repositories, in state, is the program's and not the package's.
        left = trial.sh("find /root/.local -path /root/.local/state -prune -o -name '*git-checkpoint*' -print")
        trial.check("removed without a rest", left.strip() == "", left)
        server.shutdown()


def npm(trial, out, version, target, stamp):
    print("\n== npm: the packages into an empty prefix, without a network")
    if not shutil.which("npm"):
        return print("left out: npm is not installed")
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        packages = f"{out}/git-checkpoint-linux-x64-{version}.tgz {out}/git-checkpoint-{version}.tgz"
        env = {"HOME": str(place), "PATH": os.environ["PATH"], "npm_config_update_notifier": "false"}
        command = f"npm install --global --offline --no-audit --no-fund --cache {place}/cache --prefix {place}/prefix"
        trial.sh(f"{command} {packages}", inside=False, env=env)
        env["PATH"] = f"{place}/prefix/bin:{env['PATH']}"
        shown = trial.sh("git checkpoint --version", inside=False, env=env).strip()
        trial.check("--version tells version, commit and target", shown == stamp, shown)
        told = trial.sh(STORY.replace("/root", str(place)).replace("/tmp/repo", f"{place}/repo"), inside=False, env=env)
        trial.check("saves, restores, verifies; git finds no fault", "one\ntwo\nnew" in told and "No damage" in told, told)
        trial.sh("git checkpoint nonsense; test $? = 129", inside=False, env=env)
        trial.sh(f"npm uninstall --global --prefix {place}/prefix git-checkpoint git-checkpoint-linux-x64", inside=False, env=env)
        left = [str(path) for path in (place / "prefix").rglob("*git-checkpoint*")]
        trial.check("removed without a rest", left == [], left)


def binstall(trial, out, version, target):
    """What the metadata for cargo-binstall says is where the archive has it."""
    print("\n== cargo binstall: its metadata and the archive")
    about = tomllib.loads((pathlib.Path(__file__).parents[2] / "Cargo.toml").read_text())["package"]["metadata"]["binstall"]
    values = {"repo": "", "name": "git-checkpoint", "bin": "git-checkpoint", "binary-ext": "", "archive-suffix": ".tar.gz", "version": version, "target": target}

    def filled(text):
        for name, value in values.items():
            text = text.replace(f"{{ {name} }}", value)
        return text

    archive = out / filled(about["pkg-url"]).rsplit("/", 1)[1]
    with tarfile.open(archive) as opened:
        trial.check(f"{archive.name} has {filled(about['bin-dir'])}", filled(about["bin-dir"]) in opened.getnames())


def sums(trial, out):
    print("\n== SHA256SUMS")
    wrong = []
    lines = (out / "SHA256SUMS").read_text().splitlines()
    for line in lines:
        wanted, name = line.split("  ")
        if hashlib.sha256((out / name).read_bytes()).hexdigest() != wanted:
            wrong.append(name)
    trial.check(f"the {len(lines)} files are those that it names", not wrong, wrong)


def stamp_of(trial, archive, version):
    """What the program in the archive says of itself: version, commit and target."""
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(archive) as opened:
            opened.extractall(directory, filter="data")
        program = next(pathlib.Path(directory).glob("*/bin/git-checkpoint"))
        stamp = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{archive.name}: {archive.stat().st_size:,} bytes; {stamp}")
    named = re.fullmatch(rf"git-checkpoint {re.escape(version)} \([0-9a-f]{{12}}(-dirty)? [a-z0-9_]+-[a-z0-9_-]+\)", stamp)
    trial.check("the program names version, commit and target", named, stamp)
    return stamp


def run(out, version):
    target = "x86_64-unknown-linux-musl"
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        sys.exit("package: --try needs root and debootstrap")
    with tempfile.TemporaryDirectory(prefix="checkpoint-root-") as directory:
        root = pathlib.Path(directory) / "root"
        given = os.environ.get("CHECKPOINT_ROOT")
        if given:
            print(f"a copy of the Debian system in {given}", flush=True)
            subprocess.run(["cp", "-a", given, root], check=True)
        else:
            print("debootstrap: a Debian system with git and man, and nothing else", flush=True)
            subprocess.run(["debootstrap", "--variant=minbase", "--include=git,man-db,curl", "bookworm", root], check=True, stdout=subprocess.DEVNULL)
        trial = Trial(root)
        stamp = stamp_of(trial, out / f"git-checkpoint-{version}-{target}.tar.gz", version)
        sums(trial, out)
        debian(trial, out, version, target, stamp)
        red_hat(trial, out, version, target, stamp)
        installer(trial, out, version, target, stamp)
        npm(trial, out, version, target, stamp)
        binstall(trial, out, version, target)
        print(f"\npackage: {trial.failed} failed")
        return trial.failed
