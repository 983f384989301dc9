//! Settings of the linker.

use std::env::var;

// Cargo hands its facts over in the environment.
#[allow(clippy::disallowed_methods)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A program at a fixed address needs no relocation when it starts. The 85,000 relocations of the tables touch 360 pages,
    // an eighth of the processor time of a small save; in the profile of the tests, which start it tens of thousands of
    // times, they are 219,000 and take a third. The price is that the addresses of the program's own code are the same
    // in each run; stack, heap and libraries still move.
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-tests=-no-pie");
    }
}
