//! Patterns as git takes them, and the matcher made of one.
//!
//! POSIX basic and extended expressions with GNU's extensions, as `git grep` reads them, are written again in the syntax
//! of the `regex` crate, which takes a time that is linear in the text whatever the pattern is. Lines decide: nothing that
//! is emitted here matches a line end, so a whole blob can be searched at once.

use std::iter::Peekable;
use std::str::Chars;

use regex::bytes::{Regex, RegexBuilder};

/// How a pattern is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatternSyntax {
    /// POSIX basic, as `git grep -G`.
    #[default]
    Basic,
    /// POSIX extended, as `git grep -E`.
    Extended,
    /// A fixed text, as `git grep -F`.
    Fixed,
}

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// It refers back to a group, which no matcher can do in a time that is bounded.
    #[error("back-references such as \\{0} are not supported")]
    BackReference(char),
    /// It is incomplete.
    #[error("{0} is not closed")]
    Unclosed(&'static str),
    /// It ends with a backslash.
    #[error("it ends with a backslash")]
    TrailingBackslash,
    /// The number of repetitions is malformed.
    #[error("the repetition '{{{0}}}' is malformed")]
    Repetition(String),
    /// The name of a class is unknown.
    #[error("unknown character class '{0}'")]
    Class(String),
    /// The matcher cannot be made.
    #[error("{0}")]
    Matcher(String),
}

/// A matcher for the lines of texts, and one for texts in which JSON escapes characters.
#[derive(Clone, Debug)]
pub struct Pattern {
    plain: Regex,
    json: Regex,
}

impl Pattern {
    /// Compiles a pattern. Several lines are several patterns, of which one must match.
    pub fn new(text: &str, syntax: PatternSyntax, ignore_case: bool) -> Result<Self, PatternError> {
        let compile = |is_json: bool| {
            let parts: Result<Vec<String>, PatternError> = text
                .split('\n')
                .map(|line| Translation::of(line, syntax, is_json))
                .collect();
            let parts = parts?;
            RegexBuilder::new(&parts.join("|"))
                .multi_line(true)
                .case_insensitive(ignore_case)
                .build()
                .map_err(|error| {
                    let text = error.to_string();
                    // The crate's message quotes the rewritten pattern on lines of its own; the last line is the reason.
                    let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    PatternError::Matcher(reason.to_owned())
                })
        };
        Ok(Self {
            plain: compile(false)?,
            json: compile(true)?,
        })
    }

    /// The matcher for a text. The one for JSON finds each line that has the text somewhere with its characters escaped, and
    /// some that have not.
    pub fn matcher(&self, is_json: bool) -> &Regex {
        if is_json { &self.json } else { &self.plain }
    }
}

/// A pattern being written again.
struct Translation<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    /// Where in `out` the last atom begins; `None` where a repetition has nothing to repeat.
    atom: Option<usize>,
    /// Whether the last atom has a repetition already.
    is_repeated: bool,
    /// Where open groups begin.
    groups: Vec<usize>,
    is_json: bool,
}

impl<'p> Translation<'p> {
    fn of(text: &'p str, syntax: PatternSyntax, is_json: bool) -> Result<String, PatternError> {
        let mut translation = Self {
            rest: text.chars().peekable(),
            out: String::new(),
            atom: None,
            is_repeated: false,
            groups: Vec::new(),
            is_json,
        };
        match syntax {
            PatternSyntax::Fixed => text.chars().for_each(|c| translation.literal(c)),
            PatternSyntax::Basic => translation.basic()?,
            PatternSyntax::Extended => translation.extended()?,
        }
        if !translation.groups.is_empty() {
            return Err(PatternError::Unclosed("a group"));
        }
        Ok(format!("(?:{})", translation.out))
    }

    fn literal(&mut self, c: char) {
        self.begin_atom();
        match (c, self.is_json) {
            ('"', true) => self.out.push_str("(?:\\\\?\")"),
            ('\\', true) => self.out.push_str("(?:\\\\\\\\?)"),
            ('\t', true) => self.out.push_str("(?:\\t|\\\\t)"),
            _ => self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }

    fn begin_atom(&mut self) {
        self.atom = Some(self.out.len());
        self.is_repeated = false;
    }

    /// An atom that is written as it is.
    fn atom(&mut self, text: &str) {
        self.begin_atom();
        self.out.push_str(text);
    }

    /// An atom for many characters, also for those that JSON escapes.
    fn wide_atom(&mut self, text: &str) {
        if self.is_json {
            self.atom(&format!("(?:\\\\.|{text})"));
        } else {
            self.atom(text);
        }
    }

    /// An assertion, which takes no repetition.
    fn assertion(&mut self, text: &str) {
        self.out.push_str(text);
        self.atom = None;
    }

    /// The start of a line; in JSON also that of a text and of a line of it.
    fn line_start(&mut self) {
        self.assertion(if self.is_json { "(?:^|\\\\[nr]|\")" } else { "^" });
    }

    /// The end of a line; in JSON also that of a text and of a line of it.
    fn line_end(&mut self) {
        self.assertion(if self.is_json { "(?:$|\\\\[nr]|\")" } else { "$" });
    }

    /// The start of a word; in JSON the letter of an escaped line end or tab may be before it.
    fn word_start(&mut self, text: &str) {
        if self.is_json {
            self.assertion(&format!("(?:{text}|\\\\[nrt])"));
        } else {
            self.assertion(text);
        }
    }

    fn repetition(&mut self, sign: &str) {
        let Some(start) = self.atom else {
            // As GNU: an asterisk with nothing before it matches itself.
            sign.chars().for_each(|c| self.literal(c));
            return;
        };
        if self.is_repeated {
            // A second sign would make the first one lazy.
            self.out.insert_str(start, "(?:");
            self.out.push(')');
        }
        self.out.push_str(sign);
        self.is_repeated = true;
    }

    fn open_group(&mut self) {
        self.groups.push(self.out.len());
        self.out.push_str("(?:");
        self.atom = None;
    }

    fn close_group(&mut self) {
        if let Some(start) = self.groups.pop() {
            self.out.push(')');
            self.atom = Some(start);
            self.is_repeated = false;
        }
    }

    fn alternative(&mut self) {
        self.out.push('|');
        self.atom = None;
    }

    /// Whether nothing is before this place in the group or alternative.
    fn is_at_start(&self) -> bool {
        self.out.is_empty() || self.out.ends_with("(?:") || self.out.ends_with('|')
    }

    fn basic(&mut self) -> Result<(), PatternError> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => match self.rest.next() {
                    None => return Err(PatternError::TrailingBackslash),
                    Some('(') => self.open_group(),
                    Some(')') => {
                        if self.groups.is_empty() {
                            return Err(PatternError::Unclosed("a group"));
                        }
                        self.close_group();
                    }
                    Some('|') => self.alternative(),
                    Some('{') => self.interval(true)?,
                    Some(sign @ ('+' | '?')) if self.atom.is_some() => self.repetition(sign.encode_utf8(&mut [0; 4])),
                    Some(other) => self.escaped(other)?,
                },
                '*' => self.repetition("*"),
                '[' => self.bracket()?,
                '.' => self.wide_atom("."),
                '^' if self.is_at_start() => self.line_start(),
                '$' if self.is_at_end() => self.line_end(),
                other => self.literal(other),
            }
        }
        Ok(())
    }

    /// Whether the rest of a basic expression is the end of a group or alternative.
    fn is_at_end(&self) -> bool {
        let mut rest = self.rest.clone();
        match rest.next() {
            None => true,
            Some('\\') => matches!(rest.next(), Some(')' | '|')),
            Some(_) => false,
        }
    }

    fn extended(&mut self) -> Result<(), PatternError> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => match self.rest.next() {
                    None => return Err(PatternError::TrailingBackslash),
                    Some(other) => self.escaped(other)?,
                },
                '(' => self.open_group(),
                ')' if !self.groups.is_empty() => self.close_group(),
                '|' => self.alternative(),
                '*' => self.repetition("*"),
                '+' => self.repetition("+"),
                '?' => self.repetition("?"),
                '{' if self.atom.is_some() => self.interval(false)?,
                '[' => self.bracket()?,
                '.' => self.wide_atom("."),
                '^' => self.line_start(),
                '$' => self.line_end(),
                other => self.literal(other),
            }
        }
        Ok(())
    }

    /// The character after a backslash, in either syntax.
    fn escaped(&mut self, c: char) -> Result<(), PatternError> {
        match c {
            'w' => self.atom("\\w"),
            'W' => self.wide_atom("[^\\w\\n]"),
            's' => self.wide_atom("[\\s--\\n]"),
            'S' => self.wide_atom("\\S"),
            'b' => self.word_start("\\b"),
            'B' => self.assertion("\\B"),
            '<' => self.word_start("\\b{start}"),
            '>' => self.assertion("\\b{end}"),
            '`' => self.line_start(),
            '\'' => self.line_end(),
            '1'..='9' => return Err(PatternError::BackReference(c)),
            other => self.literal(other),
        }
        Ok(())
    }

    /// `{m,n}` behind its opening brace.
    fn interval(&mut self, is_basic: bool) -> Result<(), PatternError> {
        let mut text = String::new();
        loop {
            match self.rest.next() {
                None => return Err(PatternError::Unclosed("a repetition")),
                Some('}') if !is_basic => break,
                Some('\\') if is_basic && self.rest.peek() == Some(&'}') => {
                    self.rest.next();
                    break;
                }
                Some(c) => text.push(c),
            }
        }
        let malformed = || PatternError::Repetition(text.clone());
        let number = |part: &str| part.parse::<u16>().map_err(|_| malformed());
        let (least, most) = match text.split_once(',') {
            None => (number(&text)?, Some(number(&text)?)),
            Some((least, most)) => {
                let least = if least.is_empty() { 0 } else { number(least)? };
                (least, if most.is_empty() { None } else { Some(number(most)?) })
            }
        };
        if most.is_some_and(|most| most < least) || self.atom.is_none() {
            return Err(malformed());
        }
        let most = most.map(|most| most.to_string()).unwrap_or_default();
        self.repetition(&format!("{{{least},{most}}}"));
        Ok(())
    }

    /// A bracket expression behind its opening bracket.
    fn bracket(&mut self) -> Result<(), PatternError> {
        let unclosed = || PatternError::Unclosed("a bracket expression");
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut items = String::new();
        let mut is_first = true;
        loop {
            let c = self.rest.next().ok_or_else(unclosed)?;
            if c == ']' && !is_first {
                break;
            }
            is_first = false;
            let from = match (c, self.rest.peek().copied()) {
                ('[', Some(kind @ (':' | '.' | '='))) => {
                    self.rest.next();
                    let name = self.named(kind)?;
                    if kind == ':' {
                        items.push_str(class(&name).ok_or(PatternError::Class(name))?);
                        continue;
                    }
                    let mut letters = name.chars();
                    match (letters.next(), letters.next()) {
                        (Some(letter), None) => letter,
                        _ => return Err(PatternError::Class(name)),
                    }
                }
                (c, _) => c,
            };
            let mut to = from;
            if self.rest.peek() == Some(&'-') {
                let mut ahead = self.rest.clone();
                ahead.next();
                if ahead.peek().is_some_and(|end| *end != ']') {
                    self.rest.next();
                    to = self.rest.next().ok_or_else(unclosed)?;
                    if to == '[' && self.rest.peek() == Some(&'.') {
                        self.rest.next();
                        let name = self.named('.')?;
                        to = name.chars().next().unwrap_or('.');
                    }
                }
            }
            if from == to {
                push_escaped(&mut items, from);
            } else {
                push_escaped(&mut items, from);
                items.push('-');
                push_escaped(&mut items, to);
            }
        }
        let sign = if is_negated { "^\\n" } else { "" };
        self.wide_atom(&format!("[{sign}{items}]"));
        Ok(())
    }

    /// The name in `[:name:]` and its like, behind the opening sign.
    fn named(&mut self, kind: char) -> Result<String, PatternError> {
        let mut name = String::new();
        loop {
            match self.rest.next() {
                None => return Err(PatternError::Unclosed("a bracket expression")),
                Some(c) if c == kind && self.rest.peek() == Some(&']') => {
                    self.rest.next();
                    return Ok(name);
                }
                Some(c) => name.push(c),
            }
        }
    }
}

fn push_escaped(out: &mut String, c: char) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

/// A class of POSIX, as an item of a bracket expression.
fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => "\\p{Alphabetic}",
        "digit" => "0-9",
        "alnum" => "\\p{Alphabetic}0-9",
        "upper" => "\\p{Uppercase}",
        "lower" => "\\p{Lowercase}",
        "space" => "\\t\\x0B\\x0C\\r ",
        "blank" => "\\t ",
        "punct" => "[:punct:]",
        "print" => "[:print:]",
        "graph" => "[:graph:]",
        "cntrl" => "\\x00-\\x09\\x0B-\\x1F\\x7F",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, syntax: PatternSyntax, text: &str) -> bool {
        let pattern = Pattern::new(pattern, syntax, false).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        pattern.matcher(false).is_match(text.as_bytes())
    }

    #[test]
    fn basic_expressions_are_those_of_git() {
        for (pattern, text, expected) in [
            ("a+b", "a+b", true),
            ("a+b", "aab", false),
            ("a\\+b", "aab", true),
            ("a\\{2\\}", "aa", true),
            ("a\\{3,\\}", "aa", false),
            ("a{2}", "a{2}", true),
            ("\\(ab\\)*c", "ababc", true),
            ("x\\|y", "y", true),
            ("x|y", "x|y", true),
            ("*a", "*a", true),
            ("\\(*a\\)", "*a", true),
            ("^a$", "b\na\nc", true),
            ("a^b$c", "a^b$c", true),
            ("[]x]", "]", true),
            ("[^]a]", "a", false),
            ("[\\n]", "\\", true),
            ("[[:digit:]-]", "-", true),
            ("[a-c]", "b", true),
            ("\\<word\\>", "a word here", true),
            ("\\<word\\>", "swords", false),
            ("a.c", "a\nc", false),
            ("a[^x]c", "a\nc", false),
            ("a\\sc", "a\nc", false),
            ("(a)", "(a)", true),
            ("a\\.b", "axb", false),
            ("one\ntwo", "some two", true),
        ] {
            assert_eq!(
                matches(pattern, PatternSyntax::Basic, text),
                expected,
                "{pattern} in {text:?}"
            );
        }
    }

    #[test]
    fn extended_expressions_are_those_of_git() {
        for (pattern, text, expected) in [
            ("a+b", "aab", true),
            ("(ab|c)+d", "abcd", true),
            ("a\\+b", "a+b", true),
            ("a{2,3}", "aa", true),
            ("a{,1}b", "b", true),
            ("^(a+)?$", "", true),
            ("xa+?y", "xy", true),
            ("xa**y", "xaay", true),
            ("{a", "{a", true),
            ("a)", "a)", true),
        ] {
            assert_eq!(
                matches(pattern, PatternSyntax::Extended, text),
                expected,
                "{pattern} in {text:?}"
            );
        }
    }

    #[test]
    fn fixed_text_means_itself_and_its_form_in_json() {
        assert!(matches("a.b*[", PatternSyntax::Fixed, "xa.b*["));
        assert!(!matches("a.b", PatternSyntax::Fixed, "axb"));
        let pattern = Pattern::new("say \"a\\b\"", PatternSyntax::Fixed, false).expect("a pattern");
        let stored = serde_json::json!({ "content": "say \"a\\b\"" }).to_string();
        assert!(pattern.matcher(true).is_match(stored.as_bytes()), "{stored}");
        assert!(!pattern.matcher(false).is_match(stored.as_bytes()));
    }

    #[test]
    fn letters_of_any_script_match_in_either_case() {
        let pattern = Pattern::new("ÜBER", PatternSyntax::Basic, true).expect("a pattern");
        assert!(pattern.matcher(false).is_match("über".as_bytes()));
    }

    #[test]
    fn malformed_patterns_are_refused_with_the_reason() {
        for (pattern, syntax) in [
            ("\\(a", PatternSyntax::Basic),
            ("a\\)", PatternSyntax::Basic),
            ("[a", PatternSyntax::Basic),
            ("a\\", PatternSyntax::Basic),
            ("\\(a\\)\\1", PatternSyntax::Basic),
            ("a\\{2", PatternSyntax::Basic),
            ("a{3,2}", PatternSyntax::Extended),
            ("(a", PatternSyntax::Extended),
            ("[[:nothing:]]", PatternSyntax::Extended),
        ] {
            assert!(Pattern::new(pattern, syntax, false).is_err(), "{pattern}");
        }
    }
}
