//! Selectors: how people name a session or a checkpoint, read from text.
//!
//! Only the form is decided here. Which of several meanings a word has (a session, a checkpoint's name, an id) depends
//! on what exists, and is decided by the store in the order of [`Selector::parse`]'s documentation.

use std::fmt;

/// The prefix of a digest, the one word that may hold a colon.
const DIGEST: &str = "sha256:";

/// Where a word ends and a step or a fault begins.
fn word_end(text: &str) -> usize {
    text.find(['~', '@', '^', ':']).unwrap_or(text.len())
}

/// A selector, by form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Base of the selector.
    pub base: Base,
    /// Steps taken from there, in order.
    pub steps: Vec<SelectorStep>,
}

/// The starting point of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// `@`: the current session.
    Current,
    /// `-`: the session that was current before.
    Previous,
    /// `:/text`: the latest checkpoint whose subject holds the text.
    Search(String),
    /// A word: a session, a checkpoint's name in the current session, or the beginning of a commit id or digest.
    Word(String),
}

/// A step from a checkpoint to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorStep {
    /// `~n`: n checkpoints back.
    Back(usize),
    /// `@{n}`: the session's state n updates ago.
    Update(usize),
    /// `@{date}`: the session's state at that time.
    Date(String),
    /// `@name`: the checkpoint of this name in the session.
    Named(String),
}

/// As [`Selector::parse`] reads it.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.fmt(f)?;
        self.steps.iter().try_for_each(|step| step.fmt(f))
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Current => f.write_str("@"),
            Self::Previous => f.write_str("-"),
            Self::Search(text) => write!(f, ":/{text}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl fmt::Display for SelectorStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Back(count) => write!(f, "~{count}"),
            Self::Update(count) => write!(f, "@{{{count}}}"),
            Self::Date(date) => write!(f, "@{{{date}}}"),
            Self::Named(name) => write!(f, "@{name}"),
        }
    }
}

/// Why a text is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not a selector: {reason}", text.escape_debug())]
pub struct InvalidSelector {
    /// Text as given.
    pub text: String,
    /// Reason why it is invalid.
    pub reason: &'static str,
}

impl Selector {
    /// The latest checkpoint of the current session.
    pub fn current() -> Self {
        Self {
            base: Base::Current,
            steps: Vec::new(),
        }
    }

    /// The latest checkpoint of what a word means.
    pub fn word(word: &str) -> Self {
        Self {
            base: Base::Word(word.to_owned()),
            steps: Vec::new(),
        }
    }

    /// Reads `@`, `-`, `session`, `name`, `id`, each with `~n`, `@{n}`, `@{date}` or `@name` after it, and `:/text`.
    ///
    /// `refs/checkpoints/<session>` and `checkpoints/<session>`, as git spells them, are taken as the session.
    pub fn parse(text: &str) -> Result<Self, InvalidSelector> {
        let fail = |reason| {
            Err(InvalidSelector {
                text: text.to_owned(),
                reason,
            })
        };
        if let Some(search) = text.strip_prefix(":/") {
            return if search.is_empty() {
                fail("there is no text after ':/'")
            } else {
                Ok(Self {
                    base: Base::Search(search.to_owned()),
                    steps: Vec::new(),
                })
            };
        }
        let word = text.strip_prefix("refs/").unwrap_or(text);
        let word = word.strip_prefix("checkpoints/").unwrap_or(word);
        let digest = word.strip_prefix(DIGEST);
        let end = word.len() - digest.unwrap_or(word).len() + word_end(digest.unwrap_or(word));
        let (base, mut rest) = match word {
            "-" => (Base::Previous, ""),
            _ if word.starts_with("-~") || word.starts_with("-@") => (Base::Previous, &word[1..]),
            _ if word == "@" => (Base::Current, ""),
            _ if word.starts_with("@~") => (Base::Current, &word[1..]),
            _ if word.starts_with("@{") => (Base::Current, word),
            _ if end == 0 => return fail("it names no session or checkpoint"),
            _ => (Base::Word(word[..end].to_owned()), &word[end..]),
        };
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = match Self::step(rest) {
                Ok(taken) => taken,
                Err(reason) => return fail(reason),
            };
            steps.push(step);
            rest = after;
        }
        Ok(Self { base, steps })
    }

    fn step(rest: &str) -> Result<(SelectorStep, &str), &'static str> {
        if let Some(after) = rest.strip_prefix('~') {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let n = if end == 0 { Ok(1) } else { after[..end].parse() };
            return Ok((
                SelectorStep::Back(n.map_err(|_| "the number after '~' is too large")?),
                &after[end..],
            ));
        }
        if let Some(after) = rest.strip_prefix("@{") {
            let end = after.find('}').ok_or("'@{' is not closed")?;
            let (inner, after) = (&after[..end], &after[end + 1..]);
            let step = match inner.parse() {
                Ok(n) => SelectorStep::Update(n),
                Err(_) if inner.trim().is_empty() => return Err("there is nothing in '@{}'"),
                Err(_) => SelectorStep::Date(inner.to_owned()),
            };
            return Ok((step, after));
        }
        if let Some(after) = rest.strip_prefix('@') {
            let end = word_end(after);
            if end == 0 {
                return Err("there is no name after '@'");
            }
            return Ok((SelectorStep::Named(after[..end].to_owned()), &after[end..]));
        }
        Err("only '~n', '@{n}', '@{date}' and '@name' may follow")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_selector_is_shown_as_it_is_read() {
        for text in [
            "@",
            "-",
            ":/some text",
            "auth",
            "@~2",
            "auth~1@{3}",
            "-@{yesterday}",
            "auth@{2 days ago}~4",
            "auth@before-refactor~1",
        ] {
            assert_eq!(Selector::parse(text).unwrap().to_string(), text);
        }
    }

    fn parsed(text: &str) -> (Base, Vec<SelectorStep>) {
        let selector = Selector::parse(text).unwrap_or_else(|e| panic!("{e}"));
        (selector.base, selector.steps)
    }

    #[test]
    fn every_form_of_the_manual() {
        let word = |w: &str| Base::Word(w.to_owned());
        assert_eq!(parsed("@"), (Base::Current, vec![]));
        assert_eq!(parsed("@~2"), (Base::Current, vec![SelectorStep::Back(2)]));
        assert_eq!(parsed("@{1}"), (Base::Current, vec![SelectorStep::Update(1)]));
        assert_eq!(parsed("-"), (Base::Previous, vec![]));
        assert_eq!(parsed("-~"), (Base::Previous, vec![SelectorStep::Back(1)]));
        assert_eq!(parsed("auth"), (word("auth"), vec![]));
        assert_eq!(parsed("refs/checkpoints/auth"), (word("auth"), vec![]));
        assert_eq!(
            parsed("checkpoints/auth~3"),
            (word("auth"), vec![SelectorStep::Back(3)])
        );
        assert_eq!(
            parsed("auth@before-merge~"),
            (
                word("auth"),
                vec![SelectorStep::Named("before-merge".into()), SelectorStep::Back(1)]
            )
        );
        assert_eq!(parsed("auth@{2}"), (word("auth"), vec![SelectorStep::Update(2)]));
        assert_eq!(
            parsed("auth@{10 minutes ago}"),
            (word("auth"), vec![SelectorStep::Date("10 minutes ago".into())])
        );
        assert_eq!(parsed(":/parser done"), (Base::Search("parser done".into()), vec![]));
        assert_eq!(parsed("sha256:abcd").0, word("sha256:abcd"));
    }

    #[test]
    fn what_is_no_selector_says_why() {
        for bad in [
            "",
            "~1",
            ":/",
            "a@{",
            "a@{}",
            "a@",
            "a^2",
            "a:file",
            "a~99999999999999999999999",
        ] {
            assert!(Selector::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = Selector::parse(&text);
        }
    }
}
