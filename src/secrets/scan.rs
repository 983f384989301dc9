//! The scanner: matches of all rules, settled into ranges that do not overlap, with their places.
//!
//! Redaction must be idempotent, and replacing one secret can uncover another (two tokens without anything between).
//! So what would be left after replacing is looked at again until nothing more is found; mostly that is one more
//! pass, and only where there was a finding at all.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use super::check::marker_len;
use super::clean_texts::CleanTexts;
use super::engine::Engine;
use super::opaque::OpaqueRuns;
use super::settings::{AllowRule, CustomRule, WARNINGS, allow_list, own_rules};
use super::{Error, Finding, MARKER_START, RedactionMode, RedactionSettings, Severity, random};

/// Passes over what is left; text made to uncover one secret behind the other ends here.
const PASSES: usize = 8;

/// Name of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretName {
    /// Row of the built-in table. Before the own rules, so that a known format keeps its name.
    Rule(usize),
    /// Own rule.
    Own(usize),
    /// Random string.
    Random,
}

/// A range to report, before places are worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: SecretName,
    pub(super) severity: Severity,
}

/// Finds and replaces secrets by one set of settings. Making one is cheap; the built-in rules are shared by the
/// whole process and compiled one by one when their keyword is first seen.
pub struct Scanner {
    mode: RedactionMode,
    own: Vec<CustomRule>,
    allow: Vec<AllowRule>,
    engine: &'static Engine,
    /// Texts of JSON values that were clean, where copies of them are expected.
    pub(super) clean: Option<CleanTexts>,
}

impl Scanner {
    /// A scanner for these settings; fails if an own rule or an entry of the allow-list is wrong, and names it.
    pub fn new(settings: &RedactionSettings) -> Result<Self, Error> {
        let own = own_rules(&settings.rules)?;
        let allow = allow_list(&settings.allow, &own)?;
        Ok(Self {
            mode: settings.mode,
            own,
            allow,
            engine: Engine::shared(),
            clean: None,
        })
    }

    /// The same scanner, which does not scan a text of a JSON value again that it found clean before. For one piece of
    /// work: it remembers them for as long as it lives.
    #[must_use]
    pub fn with_memory(self) -> Self {
        Self {
            clean: Some(CleanTexts::default()),
            ..self
        }
    }

    /// Action on findings.
    pub fn mode(&self) -> RedactionMode {
        self.mode
    }

    /// Whether there are rules next to the built-in ones.
    pub(super) fn has_own_rules(&self) -> bool {
        !self.own.is_empty()
    }

    /// Name of a kind.
    pub(super) fn kind(&self, name: SecretName) -> Cow<'static, str> {
        match name {
            SecretName::Rule(rank) => Cow::Borrowed(self.engine.rule(rank).kind),
            SecretName::Own(index) => Cow::Owned(self.own[index].kind.clone()),
            SecretName::Random => Cow::Borrowed(WARNINGS[1]),
        }
    }

    /// All hits in `text`, sorted, without overlaps.
    pub(super) fn hits(&self, text: &[u8]) -> Vec<Hit> {
        if self.mode == RedactionMode::Off {
            return Vec::new();
        }
        let mut hits = settle(self.pass(text, true));
        for _ in 1..PASSES {
            if hits.iter().all(|hit| hit.severity == Severity::Warning) {
                break;
            }
            let view = View::new(self, text, &hits);
            let mut more = self.pass(&view.text, false);
            more.retain(|hit| hit.severity == Severity::Secret);
            if more.is_empty() {
                break;
            }
            hits.extend(more.into_iter().map(|hit| Hit {
                start: view.origin(hit.start),
                end: view.origin(hit.end),
                ..hit
            }));
            hits = settle(hits);
        }
        hits
    }

    /// The hits in a part of `text`, which is given with its context; ranges are those in `text`. Own rules see the
    /// part alone as well, so that `^` and `$` mean its ends.
    pub(super) fn hits_within(&self, text: &str, part: Range<usize>) -> Vec<Hit> {
        let mut hits = self.hits(text.as_bytes());
        if !self.own.is_empty() {
            let alone = self.hits(text[part.clone()].as_bytes());
            let alone = alone.into_iter().filter(|hit| matches!(hit.name, SecretName::Own(_)));
            hits.extend(alone.map(|hit| Hit {
                start: hit.start + part.start,
                end: hit.end + part.start,
                ..hit
            }));
            hits = settle(hits);
        }
        for hit in &mut hits {
            (hit.start, hit.end) = (hit.start.max(part.start), hit.end.min(part.end));
        }
        hits.retain(|hit| hit.start < hit.end);
        hits
    }

    /// One pass over a text: hits in any order, overlapping.
    fn pass(&self, text: &[u8], warn: bool) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut opaque = OpaqueRuns::new(text);
        // Names and entropy say nothing about bytes that are not text.
        let warn = warn && !text[..text.len().min(8000)].contains(&0);
        self.engine.each_match(text, |found| {
            let rule = self.engine.rule(found.rank);
            let severity = if rule.check.only_warns() {
                Severity::Warning
            } else {
                Severity::Secret
            };
            let hit = Hit {
                start: found.start,
                end: found.end,
                name: SecretName::Rule(found.rank),
                severity,
            };
            if (severity == Severity::Warning && !warn) || opaque.hides(hit.start, hit.end) || self.allows(text, hit) {
                return false;
            }
            push(&mut hits, text, hit);
            severity == Severity::Secret
        });
        for (index, own) in self.own.iter().enumerate() {
            for groups in own.regex.captures_iter(text) {
                let secret = groups.get(1).unwrap_or(groups.get_match());
                let hit = Hit {
                    start: secret.start(),
                    end: secret.end(),
                    name: SecretName::Own(index),
                    severity: Severity::Secret,
                };
                if hit.start < hit.end && !self.allows(text, hit) {
                    push(&mut hits, text, hit);
                }
            }
        }
        if warn {
            random::each(text, |start, end| {
                let hit = Hit {
                    start,
                    end,
                    name: SecretName::Random,
                    severity: Severity::Warning,
                };
                if !opaque.hides(start, end) && !self.allows(text, hit) {
                    hits.push(hit);
                }
            });
        }
        hits
    }

    /// Whether the user said that this is no secret.
    fn allows(&self, text: &[u8], hit: Hit) -> bool {
        let secret = &text[hit.start..hit.end];
        self.allow.iter().any(|entry| match entry {
            AllowRule::Text(allowed) => allowed == secret,
            AllowRule::Pattern(regex) => regex.is_match(secret),
            AllowRule::Kind(kind) => *kind == self.kind(hit.name),
        })
    }

    /// Findings with their places. `unit` is how many bytes of the input one byte of `text` represents and `shift` how
    /// many come before.
    pub(super) fn findings(
        &self,
        text: &[u8],
        hits: &[Hit],
        replaced: bool,
        unit: usize,
        shift: usize,
    ) -> Vec<Finding> {
        let mut place = TextPosition::default();
        let mut findings = Vec::with_capacity(hits.len());
        for hit in hits {
            place.advance(text, hit.start);
            findings.push(Finding {
                kind: self.kind(hit.name),
                severity: hit.severity,
                range: hit.start * unit + shift..hit.end * unit + shift,
                line: place.line + 1,
                column: place.column + 1,
                replaced: replaced && self.mode == RedactionMode::On && hit.severity == Severity::Secret,
            });
        }
        findings
    }
}

/// Line and column, both from 0, of a position that moves on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextPosition {
    at: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl TextPosition {
    /// Moves on to `to`, which is not before the present position.
    pub(super) fn advance(&mut self, text: &[u8], to: usize) {
        let passed = &text[self.at..to];
        let tail = match passed.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => {
                self.line += passed.split(|byte| *byte == b'\n').count() - 1;
                self.column = 0;
                &passed[last + 1..]
            }
            None => passed,
        };
        // A continuation byte is no character of its own.
        self.column += tail.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.at = to;
    }
}

/// Adds a hit, widened to whole characters, less any marker in it.
fn push(hits: &mut Vec<Hit>, text: &[u8], hit: Hit) {
    let inside = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let start = (hit.start.saturating_sub(3)..=hit.start)
        .rev()
        .find(|at| !inside(at))
        .unwrap_or(hit.start);
    let end = (hit.end..=text.len().min(hit.end + 3))
        .find(|at| !inside(at))
        .unwrap_or(hit.end);
    let mut at = start;
    // A marker that reaches into the hit begins at most this far before it.
    let mut from = start.saturating_sub(MARKER_START.len() + 65);
    let until = text.len().min(end + MARKER_START.len());
    while let Some(found) = text[from..until]
        .windows(MARKER_START.len())
        .position(|window| window == MARKER_START.as_bytes())
    {
        let begin = from + found;
        from = begin + 1;
        if begin >= end {
            break;
        }
        if let Some(len) = marker_len(&text[begin..]) {
            if begin > at {
                hits.push(Hit {
                    start: at,
                    end: begin,
                    ..hit
                });
            }
            at = at.max(begin + len);
        }
    }
    if at < end {
        hits.push(Hit { start: at, end, ..hit });
    }
}

/// Sorts hits and removes overlaps: of two secrets the wider range stays, under the name of the one that begins
/// first, of two with the same range that of the earlier rule; a warning gives way to a secret.
fn settle(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_unstable_by_key(|hit| (hit.start, Reverse(hit.end), Reverse(hit.severity), hit.name));
    let mut settled: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        let Some(last) = settled.last_mut().filter(|last| hit.start < last.end) else {
            settled.push(hit);
            continue;
        };
        match (last.severity, hit.severity) {
            (Severity::Secret, Severity::Secret) => last.end = last.end.max(hit.end),
            (Severity::Warning, Severity::Secret) => *last = hit,
            (_, Severity::Warning) => {}
        }
    }
    settled
}

/// A text with its secrets replaced, and where each byte of it comes from.
struct View {
    text: Vec<u8>,
    /// End of a marker here, end of what it replaces there.
    ends: Vec<(usize, usize)>,
    /// Start of a marker here, start of what it replaces there.
    starts: Vec<(usize, usize)>,
}

impl View {
    fn new(scanner: &Scanner, original: &[u8], hits: &[Hit]) -> Self {
        let mut view = Self {
            text: Vec::with_capacity(original.len()),
            ends: Vec::new(),
            starts: Vec::new(),
        };
        let mut at = 0;
        for hit in hits.iter().filter(|hit| hit.severity == Severity::Secret) {
            view.text.extend_from_slice(&original[at..hit.start]);
            view.starts.push((view.text.len(), hit.start));
            view.text
                .extend_from_slice(super::marker(&scanner.kind(hit.name)).as_bytes());
            view.ends.push((view.text.len(), hit.end));
            at = hit.end;
        }
        view.text.extend_from_slice(&original[at..]);
        view
    }

    /// The position in the original of a position here. No hit begins or ends inside a marker; such a position would
    /// be its beginning.
    fn origin(&self, at: usize) -> usize {
        let passed = self.ends.partition_point(|(here, _)| *here <= at);
        match (self.starts.get(passed), passed.checked_sub(1)) {
            (Some(&(here, there)), _) if here < at => there,
            (_, Some(last)) => self.ends[last].1 + (at - self.ends[last].0),
            (_, None) => at,
        }
    }
}
