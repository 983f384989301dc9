//! Words of `save` and `pause` that are no option: the habits of other tools, a sentence without its option, a session.

use std::path::Path;

use super::{
    super::{
        Context,
        error::{CommandError, FailureKind},
        opening::{self, IdentityArgs},
    },
    SaveFlags,
};
use crate::model::{name::ShortName, step::quoted};

/// Accepts the habits of other tools, `save 'text'` and `save -am 'text'`, and answers a text after `-n`.
pub(super) fn understand(args: &mut SaveFlags, command: &str, cwd: &Path) -> Result<(), CommandError> {
    if let Some(text) = &args.dry_run_text {
        let text = quoted(text);
        let error = CommandError::new(FailureKind::Usage, "-n is --dry-run and takes no text");
        return Err(error
            .hint(format!("for a next step: git checkpoint {command} --next {text}"))
            .hint(format!("for a dry run: git checkpoint {command} -n -m {text}")));
    }
    let is_free = args.text.messages.is_empty() && args.text.file.is_none();
    if args.accomplishments == ["m"] && is_free && !args.words.is_empty() {
        // All changes are saved anyway.
        args.accomplishments.clear();
        args.text.messages.push(args.words.join(" "));
        return Ok(());
    }
    if let ([message], false) = (args.text.messages.as_slice(), args.words.is_empty())
        && !args.words.iter().all(|word| cwd.join(word).exists())
    {
        // A text whose quotes were left out.
        let words = args.words.join(" ");
        let text = quoted(&format!("{message} {words}"));
        let error = CommandError::new(
            FailureKind::Usage,
            format!("unexpected argument '{}'", words.escape_debug()),
        );
        return Err(error.hint(format!("did you mean: git checkpoint {command} -m {text}")));
    }
    args.text
        .messages
        .extend(sentence(&args.words, is_free, (command, cwd))?);
    Ok(())
}

/// A sentence that was typed without its option; anything else that was is an error. `is_free` is whether no summary was
/// given otherwise.
pub(in crate::commands) fn sentence(
    words: &[String],
    is_free: bool,
    (command, cwd): (&str, &Path),
) -> Result<Option<String>, CommandError> {
    let word = match words {
        [] => return Ok(None),
        [word] if is_free && word.contains(char::is_whitespace) => return Ok(Some(word.clone())),
        words => words.join(" "),
    };
    let error = CommandError::new(
        FailureKind::Usage,
        format!("unexpected argument '{}'", word.escape_debug()),
    );
    Err(if words.iter().all(|word| cwd.join(word).exists()) {
        let paths: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        error.hint(format!(
            "all files are saved; to restore only some: git checkpoint restore -- {}",
            paths.join(" ")
        ))
    } else {
        error.hint(format!("did you mean: git checkpoint {command} -m {}", quoted(&word)))
    })
}

/// The error for a word that was typed without an option, which may be the name of a session.
pub(in crate::commands) fn session_meant(
    context: &mut Context,
    whom: &IdentityArgs,
    (command, words): (&str, &[String]),
    error: CommandError,
) -> CommandError {
    let [word] = words else { return error };
    let Ok(name) = word.parse::<ShortName>() else {
        return error;
    };
    let opened = opening::open(context, whom).ok();
    if opened.is_none_or(|opened| !matches!(crate::store::session::tip(opened.scene().repo, &name), Ok(Some(_)))) {
        return error;
    }
    CommandError::new(
        FailureKind::Usage,
        format!("unexpected argument '{}'", word.escape_debug()),
    )
    .hint(format!("did you mean: git checkpoint {command} --session {name}"))
}
