//! Names that Windows keeps as they are.

/// Names of devices, with or without an extension, in any case.
const DEVICES: [&str; 8] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "COM", "LPT"];

/// Whether Windows makes exactly this name of a file: no device, no trailing dot or space, none of the characters that
/// separate directories, drives and streams or are wildcards. After "Naming Files, Paths, and Namespaces" of the Windows
/// documentation.
pub(super) fn is_allowed(name: &str) -> bool {
    let plain = name
        .chars()
        .all(|char| char >= ' ' && !matches!(char, '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*'));
    plain && !name.is_empty() && !name.ends_with(['.', ' ']) && !is_device(name)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ');
    let stem = stem.to_uppercase();
    DEVICES.iter().any(|device| match stem.strip_prefix(device) {
        Some("") => !matches!(*device, "COM" | "LPT"),
        Some(number) => {
            matches!(*device, "COM" | "LPT")
                && matches!(
                    number,
                    "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
                )
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn names_that_the_system_would_change_are_refused() {
        for name in [
            "", ".", "..", "a.", "a ", "a:b", "a\\b", "a/b", "CON", "con.txt", "Nul", "aux .c", "COM1", "lpt9.log",
            "COM²", "conin$", "what?", "a*", "x\u{1}", "a|b", "<", "\"",
        ] {
            assert!(!is_allowed(name), "{name:?}");
        }
        for name in [
            ".git", "a", "CONSOLE", "COM", "COM0", "COM10", "com1x", "aux-file", ".con", "ä.txt", "a b", "x.nul", "$",
        ] {
            assert!(is_allowed(name), "{name:?}");
        }
    }
}
