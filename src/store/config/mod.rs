//! The settings `checkpoint.*` of git's configuration, typed, from all its files and from `git -c`.
//!
//! One table has all of them; a wrong value is an error that names the key and where it is, because a setting that
//! is silently ignored is worse than none. In lists each value adds to the defaults, an empty one clears what came
//! before it.

mod table;

use std::{fmt, time::Duration};

use gix::bstr::{BStr, ByteSlice};

use super::{Error, Repository};
use crate::model::step::quoted;
pub use table::{SETTINGS, Setting, SettingKind};

/// Action on secrets in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redact {
    /// They are replaced.
    On,
    /// They are stored, and reported.
    Warn,
    /// They are not looked for.
    Off,
}

/// The settings in force, [`SETTINGS`] explains each.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table says what each is")]
pub struct Settings {
    pub agents: bool,
    pub allow_home: bool,
    /// The remote of automatic fetches; `None` where there are none.
    pub auto_fetch: Option<String>,
    pub auto_prune: bool,
    /// The remote of automatic pushes; `None` where there are none.
    pub auto_push: Option<String>,
    pub commit_notes: bool,
    pub commit_trailer: bool,
    pub compact_at: u64,
    pub compact_command: Option<String>,
    pub compact_timeout: Duration,
    pub exclude: Vec<String>,
    /// Files that each save rewrites, as `<format>:<path>`.
    pub export_to: Vec<String>,
    pub fork_copy: Vec<String>,
    /// A shell command that runs in the new working tree of each fork.
    pub fork_setup: Option<String>,
    pub interrupted_after: Duration,
    pub keep_completed: Option<bool>,
    pub keep_failed: Option<bool>,
    pub keep_daily: u64,
    pub keep_for: Duration,
    pub keep_hourly: u64,
    pub keep_last: u64,
    pub keep_sessions: u64,
    pub keep_weekly: u64,
    pub lock_timeout: Duration,
    pub max_fetch_size: u64,
    pub max_file_size: u64,
    pub max_total_size: u64,
    pub redact: Redact,
    pub redact_allow: Vec<String>,
    pub redact_rule: Vec<String>,
    /// Whether this repository is noted in the list of the user's repositories.
    pub repository_list: bool,
    /// Whether only signed checkpoints are taken from remotes.
    pub require_signed: bool,
    pub save_every: u64,
    pub save_on: Vec<String>,
    pub save_secrets: bool,
    /// Whether checkpoints are signed.
    pub sign: bool,
    /// Form of subjects that the program makes, with `%s` for the subject.
    pub subject_template: String,
    pub transcripts: TranscriptExtent,
    /// Whether a running watcher is asked which files may have changed.
    pub watcher: bool,
    /// Not one of ours: whether `status.showUntrackedFiles` means that untracked files are none of git's business here.
    pub tracked_only: bool,
}

/// How much of agents' session files is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptExtent {
    /// The chat, and next to it the file itself, without its secrets.
    Full,
    /// The chat alone.
    Chat,
    /// Nothing.
    Off,
}

/// A setting with the value in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingValue {
    /// The setting.
    pub setting: Setting,
    /// Its values as written, those of a list without the cleared ones; the last one counts otherwise.
    pub values: Vec<String>,
    /// Location of the last value; `None` for the default.
    pub place: Option<String>,
}

impl Settings {
    /// Reads them all; a value that cannot be used is [`Error::Setting`].
    pub fn read(repo: &Repository) -> Result<Self, Error> {
        let found = ConfigValues::of(repo)?;
        let redact = match found.last("redact", word)?.as_str() {
            "off" => Redact::Off,
            "warn" => Redact::Warn,
            _ => Redact::On,
        };
        Ok(Self {
            agents: found.last("agents", word)? == "on",
            allow_home: found.last("allowHome", word)? == "on",
            auto_fetch: Some(found.last("autoFetch", text)?).filter(|remote| !remote.is_empty()),
            auto_push: Some(found.last("autoPush", text)?).filter(|remote| !remote.is_empty()),
            auto_prune: found.last("autoPrune", word)? == "on",
            commit_notes: found.last("commitNotes", word)? == "on",
            commit_trailer: found.last("commitTrailer", word)? == "on",
            compact_at: found.last("compactAt", count)?,
            compact_command: Some(found.last("compactCommand", text)?).filter(|command| !command.is_empty()),
            compact_timeout: found.last("compactTimeout", |value, _| span(value))?,
            exclude: found.list("exclude")?,
            export_to: found.list("exportTo")?,
            fork_copy: found.list("forkCopy")?,
            fork_setup: Some(found.last("forkSetup", text)?).filter(|command| !command.is_empty()),
            interrupted_after: found.last("interruptedAfter", |value, _| span(value))?,
            keep_completed: kept(&found.last("keepCompleted", word)?),
            keep_failed: kept(&found.last("keepFailed", word)?),
            keep_daily: found.last("keepDaily", count)?,
            keep_hourly: found.last("keepHourly", count)?,
            keep_weekly: found.last("keepWeekly", count)?,
            repository_list: found.last("repositoryList", word)? == "on",
            keep_for: found.last("keepFor", |value, _| span(value))?,
            keep_last: found.last("keepLast", count)?,
            keep_sessions: found.last("keepSessions", count)?,
            lock_timeout: found.last("lockTimeout", |value, _| span(value))?,
            max_fetch_size: found.last("maxFetchSize", |value, _| size(value))?,
            max_file_size: found.last("maxFileSize", |value, _| size(value))?,
            max_total_size: found.last("maxTotalSize", |value, _| size(value))?,
            redact,
            redact_allow: found.list("redactAllow")?,
            redact_rule: found.list("redactRule")?,
            require_signed: found.last("requireSigned", word)? == "on",
            save_every: found.last("saveEvery", count)?,
            save_on: found.list("saveOn")?,
            sign: found.last("sign", word)? == "on",
            subject_template: found.last("subjectTemplate", template)?,
            save_secrets: found.last("saveSecrets", word)? == "on",
            transcripts: match found.last("transcripts", word)?.as_str() {
                "off" => TranscriptExtent::Off,
                "chat" => TranscriptExtent::Chat,
                _ => TranscriptExtent::Full,
            },
            watcher: found.last("watcher", word)? == "on",
            tracked_only: hides_untracked(repo),
        })
    }
}

/// Whether git shows no untracked files in this repository, as where the files of a home directory are kept.
fn hides_untracked(repo: &Repository) -> bool {
    let config = repo.config_snapshot();
    let value = config.string("status.showUntrackedFiles");
    value.is_some_and(|value| {
        let no = ["no", "false", "off", "0"];
        no.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// Whether checkpoints are signed; a value that cannot be used is reported by [`Settings::read`].
pub fn signs(repo: &Repository) -> bool {
    repo.config_snapshot().boolean("checkpoint.sign") == Some(true)
}

/// Values of `checkpoint.encryptTo`. What they mean is looked at where something is encrypted.
pub fn encrypt_to(repo: &Repository) -> Vec<String> {
    values(repo, "encryptTo")
}

/// The files of `checkpoint.identity`.
pub fn identities(repo: &Repository) -> Vec<std::path::PathBuf> {
    let home = gix::path::env::home_dir();
    let place = |text: String| match (text.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => repo.workdir().unwrap_or_else(|| repo.git_dir()).join(text),
    };
    values(repo, "identity").into_iter().map(place).collect()
}

fn values(repo: &Repository, name: &str) -> Vec<String> {
    let found = ConfigValues::of(repo).and_then(|found| found.list(name));
    // One that is no text is reported by `Settings::read`, which every command does first.
    found.unwrap_or_default()
}

/// The form of subjects that the program makes; `None` where they stay as they are. One that cannot be used is reported
/// by [`Settings::read`], which every command does first.
pub fn subject_template(repo: &Repository) -> Option<String> {
    let value = repo.config_snapshot().string("checkpoint.subjectTemplate")?;
    let value = template(value.to_str().ok()?.trim(), SettingKind::Text).ok()?;
    (value != "%s").then_some(value)
}

fn template(value: &str, _: SettingKind) -> Result<String, String> {
    if value.matches("%s").count() != 1 {
        return Err("it must have '%s' once, where the subject goes".to_owned());
    }
    if value.chars().any(char::is_control) || value.starts_with("Checkpoint-") {
        return Err("it must be the start of one line".to_owned());
    }
    Ok(value.to_owned())
}

/// A word of three; `auto` is neither.
fn kept(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Settings of any section by their full name (`color.ui`), as text; for who must not know git's configuration.
pub fn lookup(repo: &Repository) -> impl Fn(&str) -> Option<String> + Send + 'static {
    let config = repo.config_snapshot().plumbing().clone();
    move |name| config.string(name).map(|value| value.to_str_lossy().into_owned())
}

/// All settings with their values in force, in the order of the table. Fails on a value that cannot be used.
pub fn list(repo: &Repository) -> Result<Vec<SettingValue>, Error> {
    Settings::read(repo)?;
    let found = ConfigValues::of(repo)?;
    SETTINGS
        .iter()
        .map(|setting| {
            let values = found.values(setting);
            let place = values.last().and_then(|value| value.place.clone());
            Ok(SettingValue {
                setting: *setting,
                values: found.list(setting.name)?,
                place,
            })
        })
        .collect()
}

/// Keys under `checkpoint.` that are no settings, as typing errors are, each with where it is.
pub fn unknown(repo: &Repository) -> Vec<(String, String)> {
    let config = repo.config_snapshot();
    let sections = config.plumbing().sections_by_name("checkpoint").into_iter().flatten();
    let mut found = Vec::new();
    for section in sections {
        let place = place(section.meta());
        for name in section.value_names() {
            let known = SETTINGS.iter().any(|setting| setting.name.eq_ignore_ascii_case(&name));
            match section.header().subsection_name() {
                None if known => {}
                None => found.push((format!("checkpoint.{name}"), place.clone())),
                Some(sub) => found.push((format!("checkpoint.{sub}.{name}"), place.clone())),
            }
        }
    }
    found
}

/// Where a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPlace {
    /// The file or other source, in words.
    words: String,
    /// Options with which `git config` changes it; `None` where no file has it.
    pub scope: Option<String>,
}

impl fmt::Display for ConfigPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// A value with where it is; the default has no location.
struct ConfigValue {
    text: String,
    place: Option<String>,
    /// Options with which `git config` changes it; `None` where no file has it.
    scope: Option<String>,
}

/// The values of every setting, in the order in which they are read.
struct ConfigValues {
    values: Vec<(&'static str, ConfigValue)>,
}

impl ConfigValues {
    fn of(repo: &Repository) -> Result<Self, Error> {
        let config = repo.config_snapshot();
        let mut values = Vec::new();
        for section in config.plumbing().sections_by_name("checkpoint").into_iter().flatten() {
            if section.header().subsection_name().is_some() {
                continue;
            }
            for setting in SETTINGS {
                for raw in section.values(setting.name) {
                    let (place, scope) = (place(section.meta()), scope(section.meta()));
                    let text = match raw.to_str() {
                        Ok(text) => text.to_owned(),
                        Err(_) => {
                            return Err(bad(
                                setting,
                                raw.as_bstr(),
                                (place, scope),
                                "it is not UTF-8".to_owned(),
                            ));
                        }
                    };
                    values.push((
                        setting.name,
                        ConfigValue {
                            text,
                            place: Some(place),
                            scope,
                        },
                    ));
                }
                // `[checkpoint] redact` without a value means that it is on, as for git's own.
                if section.value_implicit(setting.name) == Some(None) {
                    let value = ConfigValue {
                        text: "true".to_owned(),
                        place: Some(place(section.meta())),
                        scope: scope(section.meta()),
                    };
                    values.push((setting.name, value));
                }
            }
        }
        Ok(Self { values })
    }

    /// The setting's default and then the values found.
    fn values(&self, setting: &'static Setting) -> Vec<ConfigValue> {
        let default = |text: &str| ConfigValue {
            text: text.to_owned(),
            place: None,
            scope: None,
        };
        let mut values: Vec<_> = match setting.kind {
            SettingKind::List | SettingKind::Words => setting
                .default
                .split(' ')
                .filter(|text| !text.is_empty())
                .map(default)
                .collect(),
            _ => vec![default(setting.default)],
        };
        let found = self.values.iter().filter(|(name, _)| *name == setting.name);
        values.extend(found.map(|(_, value)| ConfigValue {
            text: value.text.clone(),
            place: value.place.clone(),
            scope: value.scope.clone(),
        }));
        values
    }

    /// The last value, parsed.
    fn last<T>(&self, name: &str, parse: impl Fn(&str, SettingKind) -> Result<T, String>) -> Result<T, Error> {
        let setting = setting(name);
        let value = self.values(setting).pop().unwrap_or(ConfigValue {
            text: String::new(),
            place: None,
            scope: None,
        });
        parse(value.text.trim(), setting.kind).map_err(|why| {
            bad(
                setting,
                value.text.as_bytes().as_bstr(),
                (value.place.unwrap_or_else(|| "the defaults".to_owned()), value.scope),
                why,
            )
        })
    }

    /// The values of a list; of another setting its last value.
    fn list(&self, name: &str) -> Result<Vec<String>, Error> {
        let setting = setting(name);
        if !matches!(setting.kind, SettingKind::List | SettingKind::Words) {
            return Ok(vec![self.last(name, text)?]);
        }
        let mut list = Vec::new();
        for value in self.values(setting) {
            match setting.kind {
                _ if value.text.trim().is_empty() => list.clear(),
                SettingKind::Words => {
                    let words = value.text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
                    list.extend(words.map(str::to_owned));
                }
                _ => list.push(value.text),
            }
        }
        Ok(list)
    }
}

fn setting(name: &str) -> &'static Setting {
    SETTINGS
        .iter()
        .find(|setting| setting.name == name)
        .expect("only names of the table are asked for")
}

fn bad(setting: &Setting, value: &BStr, (place, scope): (String, Option<String>), why: String) -> Error {
    Error::Setting {
        key: format!("checkpoint.{}", setting.name),
        value: value.to_string(),
        place: Box::new(ConfigPlace { words: place, scope }),
        why,
    }
}

/// Location of a section, in words.
fn place(meta: &gix::config::file::Metadata) -> String {
    match (&meta.path, meta.source) {
        (Some(path), _) => format!("file '{}'", path.display()),
        (None, gix::config::Source::Cli | gix::config::Source::Api) => "the command line".to_owned(),
        (None, _) => "the environment".to_owned(),
    }
}

/// Options with which `git config` changes what a section has.
fn scope(meta: &gix::config::file::Metadata) -> Option<String> {
    let path = meta.path.as_ref()?;
    Some(match meta.source {
        // An included file is none that a scope means.
        _ if meta.level > 0 => format!("--file {} ", quoted(&path.display().to_string())),
        gix::config::Source::Local => String::new(),
        gix::config::Source::Worktree => "--worktree ".to_owned(),
        gix::config::Source::User => "--global ".to_owned(),
        _ => format!("--file {} ", quoted(&path.display().to_string())),
    })
}

#[allow(clippy::unnecessary_wraps, reason = "one of several parsers")]
fn text(value: &str, _: SettingKind) -> Result<String, String> {
    Ok(value.to_owned())
}

/// One of the words, or git's words for yes and no where `on` and `off` are among them.
fn word(value: &str, kind: SettingKind) -> Result<String, String> {
    let SettingKind::Word(words) = kind else {
        return Ok(value.to_owned());
    };
    let lower = value.to_ascii_lowercase();
    let meant = match lower.as_str() {
        "true" | "yes" | "1" => "on",
        "false" | "no" | "0" => "off",
        other => other,
    };
    match words.iter().find(|word| **word == meant) {
        Some(word) => Ok((*word).to_owned()),
        None => Err(format!("it must be one of {}", words.join(", "))),
    }
}

/// A number, with the same suffixes as a size.
fn count(value: &str, _: SettingKind) -> Result<u64, String> {
    size(value).map_err(|_| "it must be a number".to_owned())
}

/// A size in bytes with git's suffixes.
fn size(value: &str) -> Result<u64, String> {
    let wrong = || "it must be a number, perhaps with k, m or g".to_owned();
    let (digits, factor) = match value.as_bytes().last() {
        Some(b'k' | b'K') => (&value[..value.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&value[..value.len() - 1], 1 << 20),
        Some(b'g' | b'G') => (&value[..value.len() - 1], 1 << 30),
        _ => (value, 1),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(|| "it is too large".to_owned())
}

/// A time with its unit (`30s`, `5m`, `2h`, `1d`); seconds without one.
pub fn span(value: &str) -> Result<Duration, String> {
    let wrong = || "it must be a time such as 30s, 5m, 2h or 1d".to_owned();
    let at = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (digits, unit) = value.split_at(at);
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let millis = match unit.trim() {
        "ms" => 1,
        "" | "s" | "sec" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(millis)
        .map(Duration::from_millis)
        .ok_or_else(|| "it is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!(size("50m"), Ok(50 << 20));
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("1 G"), Ok(1 << 30));
        assert_eq!(size("18446744073709551615"), Ok(u64::MAX));
        assert!(
            ["", "m", "-1", "1.5k", "x", "18446744073709551615k", "é"]
                .iter()
                .all(|text| size(text).is_err())
        );
        assert_eq!(span("30"), Ok(Duration::from_secs(30)));
        assert_eq!(span("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(span("2 h"), Ok(Duration::from_secs(7200)));
        assert_eq!(span("1500ms"), Ok(Duration::from_millis(1500)));
        assert!(
            ["", "s", "-1", "3w", "1.5h", "99999999999999999999"]
                .iter()
                .all(|text| span(text).is_err())
        );
        assert!(span("18446744073709551615d").is_err());
    }

    #[test]
    fn templates_have_one_place_for_the_subject() {
        assert!(
            template("chore: %s", SettingKind::Text).is_ok() && template("%s [skip ci]", SettingKind::Text).is_ok()
        );
        for bad in ["", "chore:", "%s %s", "a\n%s", "Checkpoint-Kind: %s"] {
            assert!(template(bad, SettingKind::Text).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_table_is_sorted_and_its_defaults_are_valid() {
        assert!(SETTINGS.is_sorted_by(|one, other| one.name < other.name));
        for setting in SETTINGS {
            let fine = match setting.kind {
                SettingKind::Size | SettingKind::Count => size(setting.default).is_ok(),
                SettingKind::Span => span(setting.default).is_ok(),
                SettingKind::Word(_) => word(setting.default, setting.kind).is_ok(),
                SettingKind::Text | SettingKind::List | SettingKind::Words => true,
            };
            assert!(fine, "{}", setting.name);
        }
        assert_eq!(word("Yes", setting("redact").kind), Ok("on".to_owned()));
        assert!(word("maybe", setting("redact").kind).is_err());
    }
}
