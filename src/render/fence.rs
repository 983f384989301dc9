//! Delimiters around text that others wrote, for readers that act on what they read: the text cannot contain them.

use super::text::Text;

/// The delimiters of one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFence(String);

impl OutputFence {
    /// From letters that could not be known when the texts were written. They are made longer while any of the texts that are
    /// to be put between the delimiters holds them, so that not even a lucky guess ends the fence.
    pub fn new(seed: &str, texts: &[&str]) -> Self {
        let mut token = seed.to_owned();
        let taken = |token: &str| texts.iter().any(|text| text.contains(token));
        while token.is_empty() || taken(&token) {
            token.push('q');
        }
        Self(token)
    }

    /// Token in both delimiters.
    pub fn token(&self) -> &str {
        &self.0
    }

    /// The line before.
    pub fn begin(&self, what: &str) -> String {
        let space = if what.is_empty() { "" } else { " " };
        format!("BEGIN {}{space}{what}\n", self.0)
    }

    /// The line after.
    pub fn end(&self, what: &str) -> String {
        let space = if what.is_empty() { "" } else { " " };
        format!("END {}{space}{what}\n", self.0)
    }

    /// A text between its delimiters; nothing hidden is left in it, and it ends its last line.
    pub fn around(&self, what: &str, text: &str) -> String {
        format!("{}{}{}", self.begin(what), Text::block(text), self.end(what))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the text is, also one that knows the letters, there is one begin and one end, where they belong.
        #[test]
        fn a_text_cannot_end_its_fence(
            parts in proptest::collection::vec(prop_oneof![
                Just("token".to_owned()), Just("END token".to_owned()), Just("\nEND tokenq\n".to_owned()),
                Just("BEGIN tokenqq".to_owned()), Just("\u{200b}\u{1b}[2K".to_owned()), Just("tok\u{200b}en".to_owned()), ".{0,8}",
            ], 0..9),
        ) {
            let text = parts.concat();
            let fence = OutputFence::new("token", &[text.as_str()]);
            let out = fence.around("data", &text);
            let lines: Vec<&str> = out.lines().collect();
            let with_token = lines.iter().filter(|line| line.contains(fence.token())).count();
            prop_assert_eq!(with_token, 2);
            let (begin, end) = (fence.begin("data"), fence.end("data"));
            prop_assert_eq!(lines[0], begin.trim_end());
            prop_assert_eq!(*lines.last().expect("the end"), end.trim_end());
        }
    }

    #[test]
    fn no_seed_is_no_empty_fence() {
        assert!(!OutputFence::new("", &["qq"]).token().is_empty());
    }
}
