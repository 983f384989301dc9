//! Texts without a secret: nothing is replaced, and of what only warns there is next to nothing.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::Severity;
use super::{make, scanner, secrets};

#[test]
fn examples_of_aws_documentation_are_no_secrets() {
    let (id, key) = ("AKIA", "wJalrXUtnFEMI/K7MD|ENG/bPxRfiCYEXAMPLEKEY".replace('|', ""));
    let texts = [
        format!("aws_access_key_id = {id}IOSFODNN7EXAMPLE"),
        format!("{id}I44QH8DHBEXAMPLE and ASIAIOSFODNN7EXAMPLE"),
        format!("aws_secret_access_key = {key}"),
        format!("{id}IOSFODNN7EXAMPLE,{key}"),
        "AWS_SECRET_ACCESS_KEY=je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY".to_owned(),
    ];
    for text in texts {
        assert_eq!(secrets(&text), [], "{text}");
    }
    let near = make("AKIA{L9}EXAMPLF", 7).text;
    assert_eq!(secrets(&near).len(), 1, "{near}");
    assert_eq!(secrets("basic SFNT/TrueType fonts"), []);
}

#[test]
fn what_only_looks_random_stays() {
    for template in [
        "commit {h40}",
        "{h64}  target/x.tar.gz",
        "index {h7}..{h7} 100644",
        "checksum = \"{h64}\"",
        "\"integrity\": \"sha512-{b86}==\"",
        "github.com/x/y v1.2.3 h1:{b43}=",
        "{U}",
        "{\"uuid\":\"{U}\",\"parentUuid\":\"{U}\",\"sessionId\":\"{U}\"}",
        "{\"id\":\"toolu_01{w22}\",\"tool_use_id\":\"toolu_01{w22}\",\"requestId\":\"req_011C{w20}\"}",
        "{\"type\":\"thinking\",\"signature\":\"EqQB{b300}==\"}",
        "{\"thoughtSignature\":\"{b400}==\",\"encrypted_content\":\"gAAAAAB{u500}==\"}",
        "{\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo{b900}\"}}",
        "![x](data:image/png;base64,iVBORw0KGgo{b300}==)",
        "src: url(data:font/woff2;base64,d09GMgAB{b600}=)",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} ana@host",
        "-----BEGIN CERTIFICATE-----\n{b64}\n{b64}\n{b64}\n-----END CERTIFICATE-----",
        "sha256:{h64} sha256-{b43}= md5:{h32}",
        "ETag: \"{h32}\"",
        "https://example.com/{h40}/path?v={h8}#L10",
        "[main {h7}] secrets: the scanner",
        "0x{h40} 0x{h64}",
        "docker.io/library/x@sha256:{h64}",
        "{d10}:AB{w12} 12:34:56 10.0.0.1:8080",
    ] {
        for seed in 0..20 {
            let made = make(template, seed + 1);
            assert_eq!(scanner().scan(made.text.as_bytes()), [], "'{}'", made.text);
        }
    }
}

#[test]
fn chance_hits_inside_images_and_signatures_stay() {
    for template in [
        "{\"signature\":\"{b60}/AKIA{L16}/{b200}\"}",
        "{\"encrypted_content\":\"{u60}-eyJ{w20}-{u200}\"}",
        "data:image/png;base64,{b60}+AKIA{L16}+{b200}",
        "{\\\"thinking\\\":\\\"x\\\",\\\"signature\\\":\\\"{b60}/AKIA{L16}/{b200}\\\"}",
        "{b300}/AKIA{L16}/{b300}",
    ] {
        let made = make(template, 1);
        assert!(secrets(&made.text).is_empty(), "'{}'", made.text);
    }
    // But one that begins where the value begins is no chance.
    let made = make("{\"signature\":\"ghp_{w36}\"} data:x;base64,AKIA{L16}", 1);
    assert_eq!(secrets(&made.text).len(), 2);
}

/// A log of a build and a server such as agents print, without a secret.
fn log(lines: u64) -> String {
    let mut log = String::new();
    for n in 0..lines {
        let template = match n % 12 {
            0 => {
                "2026-11-27T10:{d2}:{d2}.{d3}Z  INFO http: GET /api/v1/users/{d4}?page=2&token_type=bearer 200 {d3}ms id={U}"
            }
            1 => "   Compiling serde v1.0.{d3}",
            2 => "test store::tests::{a8}_{a6}::{a9} ... ok",
            3 => "remote: Resolving deltas: 100% ({d3}/{d3}), completed with {d2} local objects.",
            4 => "[{h7}] auth: authorization header missing, bearer token required",
            5 => "Downloading https://example.com/pkg/{a8}-{d1}.{d2}.tar.gz#sha256={h64}",
            6 => "  at Object.{a8} (/srv/app/node_modules/{a6}/lib/{a8}.js:{d3}:{d2})",
            7 => "warning: unused variable: `{a6}_token` at src/{a6}.rs:{d3}:{d2}",
            8 => "diff --git a/src/{a8}.rs b/src/{a8}.rs\nindex {h7}..{h7} 100644\n--- a/src/{a8}.rs",
            9 => {
                "nginx: 10.0.{d2}.{d2} - - \"POST /login HTTP/1.1\" 302 0 \"https://example.com/login?next=%2F\" \"Mozilla/5.0\""
            }
            10 => "added {d3} packages, and audited {d4} packages in {d2}s; password reset mail queued for user {d5}",
            _ => {
                "{\"level\":\"info\",\"trace_id\":\"{h32}\",\"span_id\":\"{h16}\",\"msg\":\"secret rotated\",\"key\":\"{a8}/{a6}\"}"
            }
        };
        writeln!(log, "{}", make(template, n + 1).text).unwrap();
    }
    log
}

#[test]
fn ten_thousand_lines_of_log_have_no_finding() {
    let log = log(10_000);
    assert_eq!(scanner().scan(log.as_bytes()), []);
}

#[test]
fn minified_code_has_no_finding() {
    let made = make(
        "!function(e,t){\"object\"==typeof exports?t(exports):t((e=e||self).x={})}(this,function(e){\"use strict\";var t=\"password\",n={token:1,secret:t};\
         function r(e){return e.token||n.token}e.authorization=function(e){return\"Bearer \"+e},e.basic=\"Basic \"+btoa(t),\
         e.url=\"https://\"+u+\":\"+p+\"@\"+h;for(var i=\"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\",o=0;o<i.length;o++);\
         e.sk=\"sk-circle\",e.id=\"{U}\",e.hash=\"{h40}\"});//# sourceMappingURL=x.js.map",
        1,
    );
    let text = made.text.repeat(200);
    assert!(
        scanner()
            .scan(text.as_bytes())
            .iter()
            .all(|finding| finding.severity == Severity::Warning)
    );
    assert!(secrets(&text).is_empty());
}

/// All files below a directory, if there is one.
fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The source of this project must pass its own check before a push, and other people's.
#[test]
fn this_project_holds_no_secret() {
    let mut files = Vec::new();
    for directory in ["src", "tests", "fixtures", "scripts"] {
        files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), &mut files);
    }
    assert!(files.len() > 20);
    let scanner = scanner();
    for file in files {
        let found = scanner.scan(&fs::read(&file).unwrap());
        let secrets: Vec<_> = found
            .iter()
            .filter(|finding| finding.severity == Severity::Secret)
            .collect();
        assert!(secrets.is_empty(), "{}: {secrets:?}", file.display());
    }
}
