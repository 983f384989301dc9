//! Settings of the linker.

// Cargo hands its facts over in the environment, and nothing of the program is there yet.
#![allow(clippy::disallowed_methods)]

use std::{env::var, fs, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    // A program at a fixed address needs no relocation when it starts. The 85,000 relocations of the tables touch 360 pages,
    // an eighth of the processor time of a small save; in the profile of the tests, which start it tens of thousands of
    // times, they are 219,000 and take a third. The price is that the addresses of the program's own code are the same
    // in each run; stack, heap and libraries still move.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    println!("cargo::rustc-link-arg-tests=-no-pie");
    // The standard library takes the unwinding from a library of gcc; to load one takes some 0.08 ms when the program
    // starts, a twentieth of a short command. Where this system has the archive, the linker gets a script in place of the
    // library, and takes the functions from the archive.
    if let (Ok(directory), Ok(target)) = (var("OUT_DIR"), var("TARGET"))
        && is("HOST", &target)
        && is_library("libgcc_eh.a")
    {
        let script = Path::new(&directory).join("libgcc_s.so");
        fs::write(script, "GROUP ( -lgcc_eh )\n").expect("Cargo made the directory");
        println!("cargo::rustc-link-search=native={directory}");
    }
}

/// Whether the C compiler, which is the linker by default, has this library.
fn is_library(name: &str) -> bool {
    let asked = Command::new("cc").arg(format!("-print-file-name={name}")).output();
    // Of a file that is not there it prints the name alone.
    asked.is_ok_and(|answer| answer.stdout.starts_with(b"/"))
}
