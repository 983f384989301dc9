//! Files that are secrets as a whole: private keys, files of credentials, environment files with values.
//!
//! The content decides. A name only decides which form to look for: a directory, a source file that has a key in a test, a
//! template without values, a certificate are none, whatever they are called. What is nothing but assignments, one of them of
//! a secret, is a copy of an environment file under any name.

use std::borrow::Cow;

use super::{
    RedactionSettings, Scanner, Severity,
    assignments::{self, AssignmentForm},
    key_file::is_binary_key,
    placeholder::is_placeholder,
};

/// Larger files are none of these.
pub const MAX_FILE: u64 = 256 << 10;

/// Endings of source code and documents, in which a key is an example or a fixture of a test.
const SOURCES: &[&str] = &[
    "adoc", "bash", "bat", "c", "cc", "clj", "cpp", "cs", "css", "dart", "diff", "erl", "ex", "exs", "fish", "go", "h",
    "hpp", "hs", "html", "java", "jl", "js", "jsx", "kt", "lua", "md", "mjs", "ml", "patch", "php", "pl", "pm",
    "proto", "ps1", "py", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte", "swift", "tex", "ts", "tsx",
    "vue", "zig", "zsh",
];

/// Endings of environment files that are there to be copied and filled in.
const TEMPLATES: &[&str] = &[
    "default", "defaults", "dist", "example", "examples", "sample", "schema", "template", "tmpl", "tpl",
];

/// Words in the names of files that are there for secrets.
const WORDS: &[&str] = &[
    "credential",
    "secret",
    "token",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
];

/// Endings of copies that editors, people and file managers make.
const COPIES: &[&str] = &["~", ".bak", ".backup", ".old", ".orig", ".save", " copy"];

/// A file that is hardly more than secrets has at most this many bytes.
const SHORT: usize = 4096;

/// The kind of secret that a file is, by its path and content: `private-key`, `credentials`, `environment`. `None` for
/// every other file.
pub fn kind_of(path: &[u8], content: &[u8]) -> Option<&'static str> {
    if content.len() as u64 > MAX_FILE {
        return None;
    }
    let path = String::from_utf8_lossy(path).to_ascii_lowercase();
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let name = original(name);
    let Some(text) = text_of(content) else {
        return is_binary_key(content).then_some("private-key");
    };
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if name == ".envrc" {
        let is_secret = has_secret(&text) || assignments::has_secret(&text);
        return is_secret.then_some("environment");
    }
    let in_environment = directories.rsplit('/').next() == Some(".env") && !name.contains('.');
    if in_environment || is_environment(name) {
        return text.lines().any(assigns_value).then_some("environment");
    }
    if TEMPLATES.contains(&ending) {
        return None;
    }
    let is_copy = |form| {
        let is_secret = || assignments::has_secret(&text) || has_secret(&text);
        !is_template(name) && assignments::are_all(&text, form) && is_secret()
    };
    if SOURCES.contains(&ending) && !name.starts_with('.') {
        return is_copy(AssignmentForm::Shell).then_some("environment");
    }
    if is_private_key(&text) || is_binary_key(content) {
        return Some("private-key");
    }
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    let is_called_so = WORDS.iter().any(|word| name.contains(word));
    let is_meant = is_hidden || is_called_so;
    if is_credentials(name, &text)
        || is_meant && has_secret(&text)
        || is_called_so && !is_template(name) && assignments::has_secret(&text)
        || is_mostly_secret(&text)
    {
        return Some("credentials");
    }
    is_copy(AssignmentForm::Settings).then_some("environment")
}

/// Whether a file is a private key in a form that a search of its bytes does not show: binary, or in UTF-16.
pub fn is_key(content: &[u8]) -> bool {
    let is_text_of_one = || matches!(text_of(content), Some(Cow::Owned(text)) if is_private_key(&text));
    content.len() as u64 <= MAX_FILE && (is_binary_key(content) || is_text_of_one())
}

/// The name of the file that a file with this name is a copy of.
fn original(mut name: &str) -> &str {
    loop {
        let enclosed = name.strip_prefix('#').and_then(|name| name.strip_suffix('#'));
        let copy = COPIES.iter().find_map(|ending| name.strip_suffix(ending));
        // `.env (1)` and `.env copy 2`.
        let number = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
        let number = number.or_else(|| {
            Some((
                name.strip_suffix(|c: char| c.is_ascii_digit())?
                    .rsplit_once(" copy ")?
                    .0,
                "1",
            ))
        });
        let number = number.filter(|(_, n)| n.bytes().all(|byte| byte.is_ascii_digit()));
        match enclosed.or(copy).or(number.map(|(name, _)| name)) {
            Some(shorter) if !shorter.is_empty() => name = shorter,
            _ => return name,
        }
    }
}

/// The text of a file in UTF-8 or UTF-16, without its byte order mark; `None` for binary data.
fn text_of(content: &[u8]) -> Option<Cow<'_, str>> {
    const LOOKED_AT: usize = 64;
    let start = &content[..content.len().min(LOOKED_AT) & !1];
    let zeros = |at: usize| !start.is_empty() && start.iter().skip(at).step_by(2).all(|byte| *byte == 0);
    let decode = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text: String = char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        Cow::Owned(text)
    };
    match content {
        [0xef, 0xbb, 0xbf, rest @ ..] => Some(String::from_utf8_lossy(rest)),
        [0xff, 0xfe, rest @ ..] => Some(decode(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Some(decode(rest, u16::from_be_bytes)),
        _ if zeros(1) => Some(decode(content, u16::from_le_bytes)),
        _ if zeros(0) => Some(decode(content, u16::from_be_bytes)),
        _ if content.iter().take(8000).any(|byte| *byte == 0) => None,
        _ => Some(String::from_utf8_lossy(content)),
    }
}

/// Whether a file is there to be copied and filled in.
fn is_template(name: &str) -> bool {
    name.split(['.', '-', '_', ' ']).any(|part| TEMPLATES.contains(&part))
}

/// Whether a file is called as environment files are, in any case of the letters.
pub fn is_environment_name(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    name == ".envrc" || is_environment(&name)
}

/// Whether a file is called as environment files are: `.env`, `.env.local`, `.env-prod`, `.env1`, `production.env`.
fn is_environment(name: &str) -> bool {
    let named = match name.strip_prefix(".env") {
        Some(rest) => rest.starts_with(['.', '-', '_']) || rest.bytes().all(|byte| byte.is_ascii_digit()),
        None => name.strip_suffix(".env").is_some_and(|stem| !stem.is_empty()),
    };
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    named && !is_template(name) && !(SOURCES.contains(&ending))
}

/// Whether a line of an environment file gives a variable a value that is no placeholder.
fn assigns_value(line: &str) -> bool {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let Some((key, value)) = line.split_once('=') else {
        return false;
    };
    let key = key.trim();
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if key.is_empty() || !key.bytes().all(is_key) {
        return false;
    }
    !is_placeholder(value)
}

/// Whether most of a text is private keys in one of the forms that `ssh-keygen`, `openssl`, `gpg`, `puttygen` and `age`
/// write.
fn is_private_key(text: &str) -> bool {
    let (mut inside, mut body, mut of_keys, mut others, mut found) = (false, 0, 0, 0, false);
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("PuTTY-User-Key-File-") && text.contains("Private-Lines:") {
            return true;
        }
        if line.starts_with("AGE-SECRET-KEY-1") && line.len() > 50 {
            return true;
        }
        // As gpg-agent keeps it.
        if line.starts_with("Key: (private-key") || line.starts_with("Key: (protected-private-key") {
            return true;
        }
        let mark = line.trim_start_matches('-').trim();
        let begins = line.starts_with("----") && mark.starts_with("BEGIN ") && mark.contains("PRIVATE KEY");
        let ends = line.starts_with("----") && mark.starts_with("END ");
        if begins {
            (inside, body) = (true, 0);
        } else if ends && inside {
            // A marker alone, or with dots between, is an example.
            found |= body >= 32;
            inside = false;
        } else if inside {
            let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
            let is_data = !line.is_empty() && line.bytes().all(is_base64);
            body += if is_data { line.len() } else { 0 };
        }
        let certificate = line.starts_with("----") || line.len() == 64 || line.starts_with('#');
        if inside || begins || ends {
            of_keys += line.len();
        } else if !certificate {
            others += line.len();
        }
    }
    // A key that is cut off is one even so.
    found |= inside && body >= 64;
    found && of_keys > others
}

/// Whether a text is in the form of a file in which programs keep passwords and tokens.
fn is_credentials(name: &str, text: &str) -> bool {
    let value_of = |line: &str, key: &str, mark: char| {
        // A symbol of Ruby begins with a colon.
        let (found, value) = line.trim_start().trim_start_matches(':').split_once(mark)?;
        let found = found.trim().trim_matches('"');
        let value = value.trim().trim_matches(|c| matches!(c, '"' | ',' | '\''));
        (found == key && !is_placeholder(value)).then(|| value.to_owned())
    };
    let any = |key: &str, mark: char| text.lines().any(|line| value_of(line, key, mark).is_some());
    match name {
        ".netrc" | "_netrc" => {
            let words: Vec<_> = text.split_whitespace().collect();
            words
                .windows(2)
                .any(|pair| pair[0] == "password" && !is_placeholder(pair[1]))
        }
        ".pgpass" | "pgpass.conf" => text.lines().any(|line| {
            let fields: Vec<_> = line.split(':').collect();
            !line.starts_with('#') && fields.len() == 5 && !is_placeholder(fields[4])
        }),
        ".npmrc" | ".yarnrc" => text.lines().any(|line| {
            let secret = ["_authtoken=", "_password=", "_auth="];
            let lower = line.to_ascii_lowercase();
            let found = secret.iter().find_map(|key| lower.split_once(key));
            found.is_some_and(|(_, value)| !is_placeholder(value))
        }),
        ".pypirc" | ".my.cnf" | "my.cnf" => any("password", '=') || any("password", ':'),
        ".git-credentials" => text.lines().any(|line| {
            let rest = line.split_once("://").map(|(_, rest)| rest);
            rest.and_then(|rest| rest.split_once('@'))
                .is_some_and(|(user, _)| user.contains(':'))
        }),
        ".dockercfg" | ".dockerconfigjson" | "config.json" => {
            has_member(text, "\"auth\"") && (name != "config.json" || text.contains("\"auths\""))
        }
        _ => {
            any("aws_secret_access_key", '=')
                || any("oauth_token", ':')
                || any("rubygems_api_key", ':')
                || text.contains("\"service_account\"") && text.contains("-----BEGIN PRIVATE KEY-----")
                || text.contains("kind: Config") && (any("client-key-data", ':') || any("token", ':'))
        }
    }
}

/// Whether a member of an object in JSON, its name in quotes, has a text that is no placeholder.
fn has_member(text: &str, name: &str) -> bool {
    text.split(name).skip(1).any(|rest| {
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
        let value = value.and_then(|rest| rest.strip_prefix('"')?.split('"').next());
        value.is_some_and(|value| !is_placeholder(value))
    })
}

/// How many bytes of a text are secrets in one of the known forms.
fn secret_bytes(text: &str) -> usize {
    let Ok(scanner) = Scanner::new(&RedactionSettings::default()) else {
        return 0;
    };
    let found = scanner.scan(text.as_bytes()).into_iter();
    let secrets = found.filter(|finding| finding.severity == Severity::Secret);
    secrets.map(|finding| finding.range.len()).sum()
}

/// Whether one of the known forms of tokens is in a text.
fn has_secret(text: &str) -> bool {
    secret_bytes(text) > 0
}

/// Whether each line of a text is hardly more than a token.
fn is_mostly_secret(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut lines = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    text.len() <= SHORT && lines.peek().is_some() && lines.all(|line| secret_bytes(line) * 2 > line.len())
}

#[cfg(test)]
mod tests {
    use super::kind_of;

    fn key(kind: &str) -> String {
        let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz";
        format!("-----BEGIN {kind}-----\n{line}\n{line}\n-----END {kind}-----\n")
    }

    #[test]
    fn keys_are_told_by_their_content_whatever_they_are_called() {
        for kind in [
            "PRIVATE KEY",
            "RSA PRIVATE KEY",
            "EC PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ] {
            for name in ["id_rsa", "server.pem", "deploy", "backup.txt", "a.key", "notes"] {
                assert_eq!(
                    kind_of(name.as_bytes(), key(kind).as_bytes()),
                    Some("private-key"),
                    "{name} {kind}"
                );
            }
        }
        let chain = format!("{}{}", key("CERTIFICATE"), key("PRIVATE KEY"));
        assert_eq!(kind_of(b"bundle.pem", chain.as_bytes()), Some("private-key"));
        let putty = "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\nAAAA\n";
        assert_eq!(kind_of(b"k.ppk", putty.as_bytes()), Some("private-key"));
        let crlf = key("RSA PRIVATE KEY").replace('\n', "\r\n");
        assert_eq!(kind_of(b"win.pem", crlf.as_bytes()), Some("private-key"));
        let age = format!("# created\nAGE-SECRET-KEY-1{}\n", "Q".repeat(58));
        assert_eq!(kind_of(b"keys.txt", age.as_bytes()), Some("private-key"));
    }

    #[test]
    fn what_merely_looks_or_sounds_like_one_is_none() {
        let in_source = format!("const KEY: &str = \"{}\";\n", key("RSA PRIVATE KEY"));
        for (name, text) in [
            ("tls.rs", in_source.as_str()),
            ("id_generator.rs", "fn id() {}\n"),
            ("de.key", "hello = hallo\n"),
            ("id_rsa.pub", "ssh-rsa AAAAB3NzaC1yc2E user@host\n"),
            ("cert.pem", &key("CERTIFICATE")),
            ("public.pem", &key("PUBLIC KEY")),
            ("README.md", &key("RSA PRIVATE KEY")),
            ("howto", "put -----BEGIN PRIVATE KEY----- and so on\n"),
            ("empty.pem", ""),
            (
                "doc.txt",
                "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----\n",
            ),
            (".netrc", "machine example.org login me\n"),
            (
                ".npmrc",
                "//registry.example.org/:_authToken=${TOKEN}\nsave-exact=true\n",
            ),
            ("config.json", "{\"auth\": \"basic\"}\n"),
            ("settings.ini", "[aws]\nregion = eu\n"),
        ] {
            assert_eq!(kind_of(name.as_bytes(), text.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn environment_files_count_when_they_have_values() {
        for name in [".env", ".env.local", ".env.production", "prod.env", ".ENV"] {
            assert_eq!(
                kind_of(name.as_bytes(), b"# x\nexport KEY=1\n"),
                Some("environment"),
                "{name}"
            );
            let empty = b"# nothing yet\nKEY=\nOTHER=\"\"\nTHIRD=changeme\nFOURTH=<your key>\nFIFTH=${HOME}\nSIXTH='your-token'\n";
            assert_eq!(kind_of(name.as_bytes(), empty), None, "{name}");
        }
        for name in [
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.local.example",
            "env.rs",
            ".env.ts",
            "environment",
            ".envrc",
            "sample.env",
        ] {
            assert_eq!(kind_of(name.as_bytes(), b"KEY=value\n"), None, "{name}");
        }
        let token = format!("export GITHUB_TOKEN=ghp_{}\n", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        assert_eq!(kind_of(b".envrc", token.as_bytes()), Some("environment"));
    }

    #[test]
    fn copies_and_variants_of_environment_files_are_environment_files() {
        for name in [
            ".env~",
            "#.env#",
            ".env-prod",
            ".env_local",
            ".env1",
            ".env copy",
            ".env copy 2",
            ".env (1)",
            ".env.bak",
            "prod.env.orig",
            ".env/production",
            "app/.env/production",
        ] {
            assert_eq!(
                kind_of(name.as_bytes(), b"DB_HOST=db.example.org\n"),
                Some("environment"),
                "{name}"
            );
        }
        for name in [
            ".env-example",
            ".env_sample",
            ".env.example~",
            ".environment",
            ".env/pyvenv.cfg",
            ".envoy",
            "copy",
            "~",
        ] {
            assert_eq!(kind_of(name.as_bytes(), b"home=/usr/bin\n"), None, "{name}");
        }
    }

    #[test]
    fn keys_are_told_in_every_encoding() {
        let text = key("OPENSSH PRIVATE KEY");
        let units = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<_>>();
        for (name, bytes) in [
            ("mark", [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat()),
            ("little", [b"\xff\xfe".to_vec(), units(u16::to_le_bytes)].concat()),
            ("big", [b"\xfe\xff".to_vec(), units(u16::to_be_bytes)].concat()),
            ("little, no mark", units(u16::to_le_bytes)),
            ("big, no mark", units(u16::to_be_bytes)),
        ] {
            assert_eq!(kind_of(b"k", &bytes), Some("private-key"), "{name}");
        }
        assert_eq!(kind_of(b"zeros", &[0; 4096]), None);
    }

    #[test]
    fn a_token_counts_where_files_are_for_tokens_and_where_there_is_nothing_else() {
        let token = concat!("ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let in_config = format!("api:\n  host: example.org\n  user: me\n  port: 1\n  token: {token}\n");
        for name in [
            ".config/gh/x.yml",
            ".tool/settings",
            "credentials.toml",
            "my-tokens.txt",
            "app/secrets.yml",
        ] {
            assert_eq!(
                kind_of(name.as_bytes(), in_config.as_bytes()),
                Some("credentials"),
                "{name}"
            );
        }
        for (name, text) in [
            ("settings.yml", in_config.as_str()),
            ("secrets.rs", in_config.as_str()),
            ("notes.txt", &format!("a\nkey = {token}\n")),
            (".config/x.yml", "user: me\n"),
            ("note", "the token is in the safe\n"),
        ] {
            assert_eq!(kind_of(name.as_bytes(), text.as_bytes()), None, "{name}");
        }
        for text in [format!("{token}\n"), format!("# mine\nTOKEN={token}\n")] {
            assert_eq!(kind_of(b"x", text.as_bytes()), Some("credentials"), "{text}");
        }
    }

    #[test]
    fn files_of_credentials_are_told_by_their_form() {
        for (name, text) in [
            (".netrc", concat!("machine example.org login me pass", "word s3cret1\n")),
            ("_netrc", concat!("machine a\n login b\n pass", "word c0ffee\n")),
            (".pgpass", "localhost:5432:db:me:hunter2\n"),
            (".npmrc", concat!("//registry.example.org/:_auth", "Token=0a1b2c3d\n")),
            (".my.cnf", "[client]\nuser = root\npassword = hunter22\n"),
            (".dockerconfigjson", "{\"auths\":{\"r\":{\"auth\":\"bWU6cHc=\"}}}"),
            ("credentials", "---\n:rubygems_api_key: 0123456789abcdef\n"),
            ("hosts.yml", "github.com:\n    oauth_token: hunter22\n"),
            (".pypirc", "[pypi]\nusername = me\npassword = hunter22\n"),
            (".git-credentials", concat!("https://me:hun", "ter2@example.org\n")),
            (
                "config.json",
                "{\n \"auths\": {\n  \"r\": {\n   \"auth\": \"bWU6cHc=\"\n}}}\n",
            ),
            (
                "credentials",
                "[default]\naws_access_key_id = AKIAX\naws_secret_access_key = wJalrXUtnFEMI\n",
            ),
            (
                "kubeconfig",
                "kind: Config\nusers:\n- user:\n    client-key-data: LS0tLS1CRUdJTg==\n",
            ),
            (
                "sa.json",
                "{\"type\": \"service_account\", \"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMII\"}\n",
            ),
        ] {
            assert_eq!(kind_of(name.as_bytes(), text.as_bytes()), Some("credentials"), "{name}");
        }
    }
}
