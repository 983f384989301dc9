//! Texts that are nothing but assignments, as an environment file has them, and whether one of them is a secret. That shows
//! copies of environment files, whatever they are called.

use super::placeholder::is_placeholder;

/// Words in a name that speak of a secret.
const SECRETS: &[&str] = &[
    "apikey",
    "credential",
    "credentials",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pwd",
    "secret",
    "secrets",
    "token",
];

/// Endings of words that are written together: `PGPASSWORD`, `authtoken`.
const ENDINGS: &[&str] = &["apikey", "passphrase", "passwd", "password", "secret", "token"];

/// Words before `key` that make it one that is secret.
const KEYS: &[&str] = &[
    "access",
    "account",
    "admin",
    "api",
    "app",
    "auth",
    "deploy",
    "encryption",
    "hmac",
    "jwt",
    "license",
    "master",
    "private",
    "service",
    "session",
    "signing",
    "storage",
    "subscription",
];

/// Words behind one of a secret that make the name one of something about it: its place, its form, its limits.
const ABOUT: &[&str] = &[
    "age",
    "algorithm",
    "allowed",
    "arn",
    "attempts",
    "class",
    "command",
    "cookie",
    "cost",
    "count",
    "dir",
    "directory",
    "enabled",
    "endpoint",
    "env",
    "error",
    "expiration",
    "expires",
    "expiry",
    "field",
    "file",
    "format",
    "header",
    "help",
    "hint",
    "id",
    "issuer",
    "label",
    "length",
    "lifetime",
    "limit",
    "max",
    "maximum",
    "message",
    "min",
    "minimum",
    "name",
    "number",
    "path",
    "placeholder",
    "policy",
    "prefix",
    "provider",
    "rate",
    "ref",
    "regex",
    "required",
    "reset",
    "rotation",
    "rounds",
    "seconds",
    "size",
    "store",
    "strategy",
    "suffix",
    "text",
    "through",
    "timeout",
    "title",
    "ttl",
    "type",
    "uri",
    "url",
    "version",
];

/// Words before one of a secret with which it is counted, or is a token of a text.
const OTHERS: &[&str] = &[
    "bos", "cls", "count", "end", "eos", "mask", "max", "maximum", "min", "minimum", "num", "number", "pad", "sep",
    "special", "start", "stop", "total", "unk",
];

/// Ways to hash, sign or check, which `password_hash` and the like name.
const METHODS: &[&str] = &[
    "argon2",
    "argon2d",
    "argon2i",
    "argon2id",
    "basic",
    "bcrypt",
    "bearer",
    "blake2b",
    "crypt",
    "digest",
    "es256",
    "hmac",
    "hs256",
    "hs384",
    "hs512",
    "jwt",
    "ldap",
    "md5",
    "none",
    "oauth2",
    "pbkdf2",
    "pbkdf2_sha256",
    "plain",
    "rs256",
    "rs512",
    "scrypt",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "yescrypt",
];

/// A number with fewer digits counts or limits something.
const SHORT_NUMBER: usize = 4;

/// One assignment.
struct Assignment<'a> {
    key: &'a str,
    /// As it is written, with its quotes.
    value: &'a str,
}

/// How strict a text has to keep to the form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AssignmentForm {
    /// `KEY=value` without blanks around the sign: what a shell reads, and hardly any source code.
    Shell,
    /// `key = value` and `key: value` too, as files of settings have it.
    Settings,
}

/// Whether a text is nothing but assignments, empty lines and comments, and has at least one.
pub(super) fn are_all(text: &str, form: AssignmentForm) -> bool {
    all(text, form).is_some_and(|found| !found.is_empty())
}

/// Whether one line of a text gives a name that speaks of a secret a value, whatever else it has.
pub(super) fn has_secret(text: &str) -> bool {
    let mut assignments = text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("- ");
        Assignment::parse(line, AssignmentForm::Settings)
    });
    assignments.any(|assignment| is_secret(&assignment))
}

/// All assignments of a text that has nothing else.
fn all(text: &str, form: AssignmentForm) -> Option<Vec<Assignment<'_>>> {
    let mut found = Vec::new();
    let mut open = None;
    for line in text.lines() {
        if let Some(quote) = open {
            // The rest of a value of several lines, as a key in PEM is.
            if line.trim_end().ends_with(quote) {
                open = None;
            }
            continue;
        }
        let is_indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || form == AssignmentForm::Settings && is_separator(line) {
            continue;
        }
        let assignment = Assignment::parse(line, form).filter(|_| !is_indented || form == AssignmentForm::Shell)?;
        open = assignment.open_quote();
        found.push(assignment);
    }
    Some(found)
}

/// A comment of settings, or the beginning of a document in YAML.
fn is_separator(line: &str) -> bool {
    line.starts_with([';', '!']) || line == "---"
}

impl<'a> Assignment<'a> {
    fn parse(line: &'a str, form: AssignmentForm) -> Option<Self> {
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let quote = line
            .chars()
            .next()
            .filter(|c| form == AssignmentForm::Settings && matches!(c, '"' | '\''));
        let line = quote.map_or(line, |_| &line[1..]);
        let (key, rest) = line.split_at(line.find(|c| !is_part(c))?);
        let rest = quote.map_or(Some(rest), |quote| rest.strip_prefix(quote))?;
        if key.is_empty() || key.starts_with(['-', '.']) {
            return None;
        }
        let value = match form {
            AssignmentForm::Shell => rest
                .strip_prefix('=')
                .filter(|value| !value.starts_with([' ', '\t', '=']))?,
            AssignmentForm::Settings => match rest.trim_start().strip_prefix('=') {
                Some(value) => value,
                // Without a blank it is a time, a URL or the like.
                None => rest
                    .strip_prefix(':')
                    .filter(|value| value.is_empty() || value.starts_with([' ', '\t']))?,
            },
        };
        let value = value.trim();
        let value = quote.and_then(|_| value.strip_suffix(',')).unwrap_or(value);
        Some(Self { key, value })
    }

    /// The quote that is still open at the end of the line.
    fn open_quote(&self) -> Option<char> {
        let quote = self.value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        (!self.value[1..].contains(quote)).then_some(quote)
    }
}

fn is_secret(assignment: &Assignment<'_>) -> bool {
    names_secret(assignment.key) && is_literal(assignment)
}

/// Whether a name speaks of a secret, by its words.
fn names_secret(key: &str) -> bool {
    let words = words(key);
    let is_one = |at: usize| {
        let word = words[at].as_str();
        let before = at.checked_sub(1).map(|at| words[at].as_str());
        match word {
            // Alone, and behind `old`, it is a directory.
            "pwd" => before.is_some_and(|before| before != "old"),
            "key" => before.is_some_and(|before| KEYS.contains(&before)),
            _ => SECRETS.contains(&word) || ENDINGS.iter().any(|ending| word.ends_with(ending)),
        }
    };
    let Some(last) = (0..words.len()).rev().find(|at| is_one(*at)) else {
        return false;
    };
    let is_about = words[last + 1..].iter().any(|word| ABOUT.contains(&word.as_str()));
    let is_other = last > 0 && OTHERS.contains(&words[last - 1].as_str());
    !is_about && !is_other
}

/// The words of a name in lower case: `DB_PASSWORD`, `db.password` and `dbPassword` have the same two.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in key.chars() {
        let begins = before.is_ascii_lowercase() && c.is_ascii_uppercase();
        if begins || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a value is one, not a placeholder, a reference, a switch, a number, a place or a label.
fn is_literal(assignment: &Assignment<'_>) -> bool {
    let value = assignment.value;
    if is_placeholder(value) {
        return false;
    }
    let quoted = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let value = match quoted {
        Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
        None => value.split(" #").next().unwrap_or_default().trim(),
    };
    let lower = value.to_ascii_lowercase();
    let is_switch = matches!(
        lower.as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "auto" | "default"
    );
    let is_number = value.len() < SHORT_NUMBER && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_place = value.starts_with("./")
        || value.starts_with("../")
        || value.starts_with("~/")
        || value.contains("://") && !value.contains('@')
        || value.starts_with('/')
            && !value.contains(['+', '='])
            && !value.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_method = METHODS.contains(&lower.as_str());
    let is_named = is_label(assignment.key, value) || is_name(assignment.key, value);
    !(is_switch || is_number || is_method || is_place || is_named || is_reference(value, quoted))
}

/// A name of the thing itself, in several words of which the key has one that speaks of a secret (`CREATE_TOKEN=token_create`,
/// `api_key: API-Schlüssel`), or one from a scale, as tokens of a design are (`token: spacing-4`).
fn is_name(key: &str, value: &str) -> bool {
    let parts: Vec<String> = value.split(['-', '_', '.', ' ']).map(str::to_lowercase).collect();
    let key = words(key);
    let is_word = |part: &String| part.chars().all(char::is_alphabetic) && !part.is_empty();
    let is_spoken = |part: &String| SECRETS.contains(&part.as_str()) || part == "api" || part == "key";
    let repeats = parts.iter().any(|part| is_spoken(part) && key.contains(part));
    let is_scale = || {
        let [name, number] = parts.as_slice() else {
            return false;
        };
        let is_short = number.len() < SHORT_NUMBER && number.bytes().all(|byte| byte.is_ascii_digit());
        is_word(name) && is_short && key.iter().any(|word| word == "token" || word == "tokens")
    };
    parts.len() > 1 && repeats && parts.iter().all(is_word) || is_scale()
}

/// A variable, the output of a command, what a template fills in, or what a tool decrypts.
fn is_reference(value: &str, quoted: Option<char>) -> bool {
    let name = value.strip_prefix('$').unwrap_or_default();
    let is_variable = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let starts = ["$(", "${", "{{", "<%", "%{", "ENC[", "op://", "vault:"];
    // A tag, an anchor, an alias and a collection of YAML.
    let is_structure = quoted.is_none() && value.starts_with(['!', '&', '*', '{', '[', '`']);
    is_variable && quoted != Some('\'') || starts.iter().any(|start| value.starts_with(start)) || is_structure
}

/// A word or sentence for people, as files of translations have them: `login.password = Passwort`.
fn is_label(key: &str, value: &str) -> bool {
    let is_sentence = value
        .chars()
        .all(|c| c.is_alphabetic() || c == ' ' || matches!(c, '.' | ',' | ':' | '?' | '\'' | '…'));
    let mut letters = value.chars();
    let begins = letters.next().is_some_and(char::is_uppercase);
    let is_variable = !key.bytes().any(|byte| byte.is_ascii_lowercase());
    !is_variable && is_sentence && begins && !letters.any(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use crate::secrets::file::kind_of;

    /// Copies of environment files under any name, and files of the same form.
    #[test]
    fn assignments_of_secrets_are_left_out_whatever_the_file_is_called() {
        let texts = [
            "PASS=letmein\nAPI_KEY=zx81-q7Wc0pL29vTr\n",
            "# for the tests\n\nexport DB_PASSWORD='hunter two'\nPORT=80\n",
            "HOST=db\r\nSECRET_KEY_BASE=\"a1b2c3\"\r\n",
            concat!("DATABASE_URL=postgres://me:hun", "ter22@db/x\nPORT=5432\n"),
            "GITHUB_TOKEN=abcd1234\n",
            "PG_PASS=x1\nDBPASSWORD=\n",
            "clientSecret=abc\n",
            "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI\nAWS_ACCESS_KEY_ID=AKIAX\n",
            "PRIVATE_KEY=\"-----BEGIN KEY-----\nMIIB\nq/z0=\n-----END KEY-----\"\nPORT=1\n",
            "PIN_PASS=1234\n",
            "API_KEY=api-4f3a9b\n",
            "PASSWORD=correct-horse-battery\n",
            "TOKEN=abcd-1234efgh\n",
            "PASSWORD=blue-500\n",
            concat!("MYSQL_PW", "D=letmein\n"),
        ];
        for text in texts {
            for name in [
                "backup.txt",
                "env.old",
                "plain",
                "a/b",
                "x.properties",
                "copy.sh",
                ".dotenv",
                "conf.yml",
            ] {
                let kind = kind_of(name.as_bytes(), text.as_bytes());
                assert!(kind.is_some(), "{name}: {text}");
            }
        }
        for (name, text) in [
            (".envrc", "layout python\nexport TOKEN=abcd1234efgh5678\n"),
            ("app.yml", "---\nhost: db\npassword: hunter22\n"),
            (
                "application.properties",
                "spring.datasource.password = hunter2\nserver.port = 80\n",
            ),
            ("gradle.properties", "; mine\nsigning.password=abc\n"),
        ] {
            assert_eq!(kind_of(name.as_bytes(), text.as_bytes()), Some("environment"), "{name}");
        }
        for (name, text) in [
            ("secrets.yml", "production:\n  secret_key_base: 0a1b2c\n"),
            (
                "config/secrets.json",
                "{\n  \"api_key\": \"0a1b2c\",\n  \"port\": 1\n}\n",
            ),
            ("credentials.toml", "[registry]\ntoken = \"0a1b2c\"\n"),
        ] {
            assert_eq!(kind_of(name.as_bytes(), text.as_bytes()), Some("credentials"), "{name}");
        }
    }

    #[test]
    fn ordinary_settings_are_no_secrets() {
        for text in [
            "host=example.org\ntimeout=30\n",
            "host: example.org\ntimeout: 30\n",
            "PASS=\nTOKEN=changeme\nAPI_KEY=<your key>\nSECRET=${SECRET}\nAUTH_TOKEN=$TOKEN\n",
            "PASSWORD=$(pass show db)\nTOKEN={{ vault }}\nAPI_KEY=op://a/b/c\nSECRET=ENC[AES256_GCM,data:x]\n",
            "MAX_TOKENS=4096\nmax_token=4096\nTOKEN_TTL=3600\nPASSWORD_MIN_LENGTH=12\n",
            "SECRET_NAME=app\nAPI_KEY_HEADER=X-Api-Key\nTOKEN_URL=https://example.org/token\nPRIVATE_KEY_PATH=k\n",
            "PASSWORD_FILE=/run/secrets/db\nTOKEN=/run/secrets/token\nPASSWORD_STORE_DIR=x\n",
            "pass=12\nfail=3\nbypass=1234\n",
            "USE_TOKEN=true\nREQUIRE_PASSWORD=no\n",
            "PWD=/home/me\nOLDPWD=/tmp\nOLD_PWD=xyz1\nKEY=value\nPUBLIC_KEY=abcd\n",
            "login.password = Passwort\nlogin.forgot_password = Forgot your password?\n",
            "pad_token=PAD1\neos_token=EOS1\n",
            "password_hash=argon2id\npassword_min_length=12\nsecret=HS256\n",
            "token: spacing-4\naccent_token: blue-500\n",
            "api_key: API-Schlüssel\n",
            "X_API_KEY=header-name-x-api-key\nCREATE_TOKEN=token_create\nRESET_PASSWORD=password.reset.link\n",
            "PASS=letmein\nis what he said\n",
            "monkey=banana\nkeyboard=us_intl\ncompass=north\n",
        ] {
            for name in [
                "backup.txt",
                "conf",
                "x.properties",
                "settings.yml",
                "env.sh",
                ".dotenv",
            ] {
                assert_eq!(kind_of(name.as_bytes(), text.as_bytes()), None, "{name}: {text}");
            }
        }
        for (name, text) in [
            ("env.example", "PASS=letmein\n"),
            ("sample.env", "PASS=letmein\n"),
            ("tokens.py", "EOF_TOKEN = 'eof'\nPASSWORD = 'letmein'\n"),
            ("token.rs", "secret: letmein,\n"),
            (
                "docker-compose.yml",
                "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: letmein\n",
            ),
            (
                ".envrc",
                "layout python\nexport PASSWORD_STORE_DIR=x\nexport TOKEN=$(pass show token)\n",
            ),
            (
                "secrets.yml",
                "production:\n  secret_key_base: <%= ENV['SECRET_KEY_BASE'] %>\n",
            ),
            (
                "tokenizer_config.json",
                "{\n  \"eos_token\": \"<|end|>\",\n  \"pad_token\": \"PAD1\"\n}\n",
            ),
        ] {
            assert_eq!(kind_of(name.as_bytes(), text.as_bytes()), None, "{name}");
        }
    }
}
