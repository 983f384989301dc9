//! A format is its directory, its module line and its row in the table: nothing else in the program names it.

use std::{fs, path::Path};

use git_checkpoint::formats::System;

#[test]
fn a_format_is_named_in_its_directory_and_in_the_table_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let table = fs::read_to_string(root.join("formats/mod.rs")).expect("the table");
    let rows: Vec<&str> = table
        .lines()
        .filter_map(|line| line.trim().strip_suffix("::SYSTEM,"))
        .collect();
    assert_eq!(rows.len(), System::ALL.len());
    for module in rows {
        assert!(
            root.join("formats").join(module).join("mod.rs").is_file(),
            "{module} is a directory"
        );
        let named = table.lines().filter(|line| {
            let line = line.trim();
            line == format!("mod {module};") || line == format!("{module}::SYSTEM,")
        });
        assert_eq!(named.count(), 2, "{module}: its module line and its row");
    }
    // Names on the command line come from the table: none is in the code of a command or an operation.
    let mut wrong = Vec::new();
    for layer in ["commands", "ops", "render"] {
        sources(&root.join(layer), &mut |path, text| {
            for system in System::ALL {
                let word = format!("\"{}\"", system.word());
                if text.contains(&word) && !["json", "folder"].contains(&system.word()) {
                    wrong.push(format!("{}: {word}", path.display()));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn sources(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, each);
        } else if path.extension().is_some_and(|end| end == "rs") {
            // Tests and help texts may name a system.
            let text = fs::read_to_string(&path).expect("text");
            let code: String = text
                .lines()
                .take_while(|line| !line.contains("#[cfg(test)]"))
                .filter(|line| !line.trim_start().starts_with("//"))
                .map(|line| format!("{line}\n"))
                .collect();
            each(&path, &code);
        }
    }
}

/// The command line knows every name of the table, and no other.
#[test]
fn names_lead_to_their_systems() {
    for system in System::ALL {
        assert_eq!(System::named(system.word()), Some(*system));
    }
    assert_eq!(System::named("jsonl").map(System::word), Some("json"));
    assert_eq!(System::named("none"), None);
    assert_eq!(System::words().len(), System::ALL.len() + 1);
}
