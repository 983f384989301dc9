//! Arguments of commands that print rows: the format of a row and the style of dates.

use super::{
    Context,
    error::{CommandError, FailureKind},
};
use crate::render::{age::DateStyle, format::Template};

/// A line a row instead of a table.
#[derive(Debug, clap::Args)]
pub(super) struct FormatArg {
    /// Print each row in this format, with fields such as %(session) and %(date:short); or oneline, short or full
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// End lines with NUL
    #[arg(short = 'z', requires = "format")]
    nul: bool,
}

/// Formats by their names.
pub(super) type NamedFormats = [(&'static str, &'static str)];

impl FormatArg {
    /// The format asked for, with these atoms; `named` are the formats that have a name.
    pub(super) fn template(&self, atoms: &[&str], named: &NamedFormats) -> Result<Option<Template>, CommandError> {
        self.template_or(None, atoms, named)
    }

    /// The same; with `-z` alone it is the format of this name.
    pub(super) fn template_or(
        &self,
        with_nul: Option<&str>,
        atoms: &[&str],
        named: &NamedFormats,
    ) -> Result<Option<Template>, CommandError> {
        let parse = |text: &str| {
            let found = named.iter().find(|(name, _)| *name == text);
            let text = found.map_or(text, |(_, form)| form);
            Template::parse(text, atoms).map_err(|e| CommandError::of(FailureKind::Usage, &e))
        };
        let given = self.format.as_deref().or(with_nul.filter(|_| self.nul));
        given.map(parse).transpose()
    }

    /// Whether lines end with NUL.
    pub(super) fn is_nul(&self) -> bool {
        self.nul
    }

    /// Whether a format was asked for.
    pub(super) fn is_given(&self) -> bool {
        self.format.is_some()
    }

    /// Writes one row.
    pub(super) fn write(&self, context: &Context, row: &str) {
        context
            .ui
            .bytes(format!("{row}{}", if self.nul { '\0' } else { '\n' }).as_bytes());
    }
}

/// The style of dates.
#[derive(Debug, clap::Args)]
pub(super) struct DateArg {
    /// How to show dates: relative, iso, iso-strict, short, unix or format:...
    #[arg(long = "date", value_name = "STYLE")]
    style: Option<String>,
}

impl DateArg {
    /// The style asked for, else relative dates, in a pipe too.
    pub(super) fn style(&self) -> Result<DateStyle, CommandError> {
        self.style_or("relative")
    }

    /// The same where lines may have a format of their own, which programs read.
    pub(super) fn style_with(&self, form: &FormatArg) -> Result<DateStyle, CommandError> {
        let has_fields = form.format.as_deref().is_some_and(|form| form.contains('%'));
        self.style_or(if has_fields { "iso-strict" } else { "relative" })
    }

    fn style_or(&self, default: &str) -> Result<DateStyle, CommandError> {
        DateStyle::parse(self.style.as_deref().unwrap_or(default)).map_err(|e| {
            CommandError::of(FailureKind::Usage, &e)
                .hint("styles: relative, iso, iso-strict, short, unix, human and format:<as in strftime>")
        })
    }
}
