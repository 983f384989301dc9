//! The `git-checkpoint` program.

fn main() {}
