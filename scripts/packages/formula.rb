class GitCheckpoint < Formula
  desc "Save and resume work sessions with the exact state of the files"
  version "@version@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@url@/git-checkpoint-@version@-aarch64-apple-darwin.tar.gz"
      sha256 "@aarch64_apple_darwin@"
    end
    on_intel do
      url "@url@/git-checkpoint-@version@-x86_64-apple-darwin.tar.gz"
      sha256 "@x86_64_apple_darwin@"
    end
  end
  on_linux do
    on_arm do
      url "@url@/git-checkpoint-@version@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@aarch64_unknown_linux_musl@"
    end
    on_intel do
      url "@url@/git-checkpoint-@version@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@x86_64_unknown_linux_musl@"
    end
  end

  def install
    bin.install "bin/git-checkpoint"
    man1.install Dir["share/man/man1/*"]
    man5.install Dir["share/man/man5/*"]
    bash_completion.install Dir["share/bash-completion/completions/*"]
    zsh_completion.install Dir["share/zsh/site-functions/*"]
    fish_completion.install Dir["share/fish/**/*.fish"]
  end

  test do
    system "git", "init"
    system bin/"git-checkpoint", "save", "-m", "first"
    assert_match "first", shell_output("#{bin}/git-checkpoint log")
  end
end
