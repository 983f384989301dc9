//! Wrong usage in git's form: what is wrong in one line, then what to do about it as hints. clap words it; its layout of
//! paragraphs and tips is taken apart here.

use super::error::{CommandError, Kind};
use crate::secrets::{Scanner, Settings};

/// The error for arguments that clap refuses.
pub(super) fn error(error: &clap::Error) -> CommandError {
    from_text(&without_secrets(&error.render().to_string()))
}

/// An argument that is refused is shown, and may hold what must not be seen on a screen or in a log.
fn without_secrets(text: &str) -> String {
    match Scanner::new(&Settings::default()) {
        Ok(scanner) => scanner.redact_text(text).0.into_owned(),
        Err(_) => text.to_owned(),
    }
}

fn from_text(text: &str) -> CommandError {
    let text = text.strip_prefix("error: ").unwrap_or(text).trim_end();
    let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    // Missing arguments and possible values stand below, indented.
    let message: Vec<&str> = first.lines().map(str::trim).collect();
    let mut out = CommandError::new(Kind::Usage, message.join(" "));
    let mut usage = None;
    for line in rest.lines().map(str::trim) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            out = out.hint(tip);
        } else if let Some(form) = line.strip_prefix("Usage: ") {
            usage = Some(form);
        }
    }
    if let Some(form) = usage {
        let command: Vec<&str> = form
            .split(' ')
            .take_while(|w| !w.starts_with(['[', '<', '-']))
            .collect();
        out = out
            .hint(format!("usage: {form}"))
            .hint(format!("more with \"{} -h\"", command.join(" ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &[&str]) -> String {
        let command = clap::Command::new("git-checkpoint")
            .bin_name("git checkpoint")
            .subcommand(
                clap::Command::new("rename")
                    .arg(clap::Arg::new("to").value_name("TO").required(true))
                    .arg(
                        clap::Arg::new("status")
                            .long("status")
                            .value_parser(["active", "paused"]),
                    ),
            );
        let args = ["git-checkpoint"].iter().chain(args);
        error(&command.try_get_matches_from(args).unwrap_err())
            .render(true)
            .to_string()
    }

    #[test]
    fn one_line_says_what_is_wrong() {
        assert_eq!(
            shown(&["renam"]),
            "error: unrecognized subcommand 'renam'\n\
             hint: a similar subcommand exists: 'rename'\n\
             hint: usage: git checkpoint [COMMAND]\n\
             hint: more with \"git checkpoint -h\"\n"
        );
        assert_eq!(
            shown(&["rename"]),
            "error: the following required arguments were not provided: <TO>\n\
             hint: usage: git checkpoint rename <TO>\n\
             hint: more with \"git checkpoint rename -h\"\n"
        );
        assert!(
            shown(&["rename", "a", "--status", "x"])
                .starts_with("error: invalid value 'x' for '--status <status>' [possible values: active, paused]\n")
        );
        assert!(!shown(&["rename", "a", "--sta\x1b[2J\u{9b}"]).contains(['\x1b', '\u{9b}']));
    }
}
