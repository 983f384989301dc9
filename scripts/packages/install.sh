#!/bin/sh
# Installs git-checkpoint @version@ below a prefix (default: ~/.local), after checking its SHA-256.
# Usage: install.sh [--uninstall] [PREFIX]
set -eu

url=${CHECKPOINT_URL:-@url@}
uninstall=
if [ "${1:-}" = --uninstall ]; then
    uninstall=1
    shift
fi
prefix=${1:-$HOME/.local}

fail() {
    echo "error: $1" >&2
    exit 1
}

# Everything of ours below the prefix, also of versions that had other pages.
remove() {
    rm -f "$prefix/bin/git-checkpoint" "$prefix"/share/man/man[0-9]/git-checkpoint*.[0-9]
    rm -f "$prefix/share/bash-completion/completions/git-checkpoint" "$prefix/share/zsh/site-functions/_git-checkpoint"
    rm -f "$prefix"/share/fish/*/git-checkpoint.fish
    rm -rf "$prefix/share/doc/git-checkpoint"
}

if [ -n "$uninstall" ]; then
    remove
    echo "Removed git-checkpoint from $prefix"
    exit
fi

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) target=x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
    Darwin-x86_64) target=x86_64-apple-darwin ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    *) fail "there is no package for $(uname -s) on $(uname -m); build it from source with cargo" ;;
esac
name=git-checkpoint-@version@-$target

get() { # name, file
    case $url in
        file://*) cp "${url#file://}/$1" "$2" ;;
        *)
            if command -v curl >/dev/null; then
                protocol='=https'
                # A server of this machine is as good as a file.
                case $url in http://127.0.0.1:* | http://localhost:*) protocol='=http' ;; esac
                curl --proto "$protocol" -fsSL "$url/$1" -o "$2"
            else
                wget -q "$url/$1" -O "$2"
            fi
            ;;
    esac || fail "cannot fetch $url/$1"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get "$name.tar.gz" "$work/$name.tar.gz"
get SHA256SUMS "$work/SHA256SUMS"
wanted=$(sed -n "s/^\([0-9a-f]*\)  $name\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS does not name $name.tar.gz"
if command -v sha256sum >/dev/null; then
    found=$(sha256sum "$work/$name.tar.gz")
else
    found=$(shasum -a 256 "$work/$name.tar.gz")
fi
[ "${found%% *}" = "$wanted" ] || fail "the SHA-256 of $name.tar.gz is ${found%% *}, not $wanted; nothing was installed"
tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$prefix"
remove
cp -R "$work/$name/bin" "$work/$name/share" "$prefix/"
echo "Installed $prefix/bin/git-checkpoint"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "hint: add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
