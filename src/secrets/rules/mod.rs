//! The table of secret formats: data, no logic.
//!
//! A row has the words that must be in the text before its pattern is even compiled, the pattern, what may be at its
//! edges, and where the format is described. The patterns were written for this project from the providers' public
//! descriptions. Lengths are minima a little below the real ones where the prefix is distinctive, because a token cut
//! short by a terminal or a log is mostly still usable (the last six characters of a GitHub token are only its
//! checksum).

mod cloud;
mod context;
mod keys;
mod services;

/// One format.
#[derive(Debug)]
pub(super) struct Rule {
    /// Name of the kind, as it is in the marker; several rows may share one.
    pub(super) kind: &'static str,
    /// Words one of which every match begins with (or, with `back`, contains), at the place where the pattern is
    /// tried.
    pub(super) keywords: &'static [&'static str],
    /// The case of the keyword does not matter.
    pub(super) nocase: bool,
    /// Characters allowed directly before and after the match.
    pub(super) edge: Edge,
    /// How many bytes before the keyword a match may begin; 0: exactly at the keyword.
    pub(super) back: usize,
    /// Check of the secret beyond the pattern.
    pub(super) check: RuleCheck,
    /// Least Shannon entropy of the secret in bits a byte; 0: any.
    pub(super) bits: f32,
    /// Regular expression over bytes, ASCII classes. The secret is its first capture group, or the whole match.
    pub(super) pattern: &'static str,
    /// Where the format is described.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "kept for those who maintain the table; the tests ask that it is there"
        )
    )]
    pub(super) source: &'static str,
}

/// Characters allowed next to a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// Anything: the format is distinctive by itself.
    Free,
    /// No letter or digit before it.
    Left,
    /// No letter or digit after it. Only for formats of letters and digits: one that may end at other characters could
    /// follow its like, and each would be found only once the next has been replaced.
    Right,
    /// No letter or digit on either side; for such formats only.
    Both,
    /// No letter, digit, `-` or `_` before it: for patterns that read on through all of these, so that a long run is
    /// read once.
    Token,
}

/// A condition that a regular expression cannot say well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleCheck {
    /// None.
    Any,
    /// No variable, template or mask such as `${PASSWORD}`, `<token>`, `your-key` or `xxxx`.
    Literal,
    /// A `Literal` that is no word for a secret either, such as `password`.
    Value,
    /// A `Value` that has a digit or both cases: not an ordinary word.
    Word,
    /// A `Value` with letters and digits.
    Mixed,
    /// A `Value` with lower case, upper case and digits.
    Random,
    /// Base64 of `user:password`.
    Basic,
    /// The body of a private key: for the most part base64.
    KeyBody,
    /// Quoted string in a generic assignment; such a finding only warns.
    Quoted,
    /// The same for a value without quotes, which is more often code; only warns as well.
    Bare,
}

impl RuleCheck {
    /// Whether findings of rules with this check only warn.
    pub(super) fn only_warns(self) -> bool {
        matches!(self, Self::Quoted | Self::Bare)
    }
}

/// Builds a slice of rules: `"kind" ["keyword" ...] Edge [+ nocase] [back N] [check Check] [bits N.N] => pattern,
/// "source";`
macro_rules! table {
    ($($kind:literal [$($keyword:literal)+] $edge:ident $(+ $nocase:ident)? $(back $back:literal)? $(check $check:ident)?
       $(bits $bits:literal)? => $pattern:expr, $source:literal;)+) => {
        &[$(crate::secrets::rules::Rule {
            kind: $kind,
            keywords: &[$($keyword),+],
            nocase: crate::secrets::rules::table!(@nocase $($nocase)?),
            edge: crate::secrets::rules::Edge::$edge,
            back: 0 $(+ $back)?,
            check: crate::secrets::rules::table!(@check $($check)?),
            bits: 0.0 $(+ $bits)?,
            pattern: $pattern,
            source: $source,
        }),+]
    };
    (@nocase) => { false };
    (@nocase nocase) => { true };
    (@check) => { crate::secrets::rules::RuleCheck::Any };
    (@check $check:ident) => { crate::secrets::rules::RuleCheck::$check };
}
use table;

/// Between a name and its value: `name = "`, `"name": "`, `name => '`, `setenv("name", "`, `<name>`, `name="x"
/// value="`, and `=` as JSON and URLs write it.
macro_rules! assign {
    () => {
        r#"(?:[\]"'\\` \t]{0,6}(?:=>|:=|[:=,>]|\\u003[dDeE]|%3[dD])[\[\\"'` \t]{0,6}|["'][ \t]{1,4}value[ \t]{0,2}=[ \t]{0,2}["'])"#
    };
}
use assign;

/// One character of standard base64, also as JSON (`\/`) and URLs (`%2B`) write it.
macro_rules! base64 {
    () => {
        r"(?:[A-Za-z0-9+/]|\\/|%2[BFbf])"
    };
}
use base64;

/// All rows, the more specific kinds first: of several that match the same bytes, the first one names the finding.
pub(super) const TABLES: [&[Rule]; 4] = [keys::RULES, services::RULES, cloud::RULES, context::RULES];
