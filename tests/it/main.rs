//! One test binary: stories through the program, checked with git itself.

fn main() {}
