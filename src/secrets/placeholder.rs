//! Values that are there to be replaced, and are no secrets.

/// Whether a value is a placeholder to fill in.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].split(quote).next().unwrap_or_default(),
        _ => value.split(" #").next().unwrap_or_default(),
    };
    let value = value.trim().to_ascii_lowercase();
    let enclosed = |open, close| value.starts_with(open) && value.ends_with(close);
    let words = [
        "changeme",
        "change_me",
        "change-me",
        "replaceme",
        "replace_me",
        "todo",
        "tbd",
        "none",
        "null",
        "secret",
        "password",
        "dummy",
        "placeholder",
        "example",
    ];
    value.is_empty()
        || value.starts_with('#')
        || enclosed('<', '>')
        || enclosed('[', ']')
        || value.starts_with("${")
        || value.starts_with("your")
        || value
            .bytes()
            .all(|byte| matches!(byte, b'x' | b'*' | b'.' | b'-' | b'_'))
        || words.contains(&value.as_str())
}
