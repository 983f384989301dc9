//! Key material: private keys in every wrapping, signed tokens, password hashes.

use super::{Rule, assign, table};

/// A PEM block with this label. No five dashes may be between its two lines, so that a text is read once however many
/// opening lines it holds.
macro_rules! pem {
    ($label:literal) => {
        concat!(
            "-----BEGIN ",
            $label,
            r"PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-{1,4}[^-])*?-{4,5}END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        )
    };
}

pub(super) const RULES: &[Rule] = table! {
    "gcp-service-account-key" ["private_key"] Free check KeyBody =>
        concat!(r"private_key", assign!(), "(", pem!(""), ")"),
        "Google Cloud, Create and delete service account keys: the key file";
    "rsa-private-key" ["-----BEGIN RSA"] Free check KeyBody =>
        pem!("RSA "), "RFC 7468; PKCS #1 as OpenSSL writes it";
    "ec-private-key" ["-----BEGIN EC"] Free check KeyBody => pem!("EC "), "RFC 5915, section 4";
    "dsa-private-key" ["-----BEGIN DSA"] Free check KeyBody => pem!("DSA "), "OpenSSL, dsa(1)";
    "openssh-private-key" ["-----BEGIN OPENSSH"] Free check KeyBody => pem!("OPENSSH "), "OpenSSH, PROTOCOL.key";
    "encrypted-private-key" ["-----BEGIN ENCRYPTED"] Free check KeyBody =>
        pem!("ENCRYPTED "), "RFC 7468, section 11";
    "pgp-private-key" ["-----BEGIN PGP"] Free check KeyBody => pem!("PGP "), "RFC 9580, section 6.2";
    "private-key" ["-----BEGIN"] Free check KeyBody => pem!(r"(?:[A-Z0-9]{1,12} ){0,4}"), "RFC 7468, section 10";
    // One that is cut off: lines of base64 for as long as they follow each other, with anything between them that is no
    // base64: line ends, escapes, quotes, line numbers, indentation, and headers such as `DEK-Info`.
    "private-key" ["-----BEGIN"] Free check KeyBody =>
        concat!(
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:[^A-Za-z0-9+/=-]|\\+[nrt]){1,16}[A-Z][A-Za-z-]+: [^\n\\]+)*",
            r"(?:(?:[^A-Za-z0-9+/=-]|\\+[nrt]|[0-9]{1,6}[^A-Za-z0-9+/=]){1,48}[A-Za-z0-9+/=]{16,})+",
            r"(?:(?:[^A-Za-z0-9+/=-]|\\+[nrt]){1,8}[A-Za-z0-9+/]{1,15}={1,2})?"
        ),
        "RFC 7468, section 10";
    "ssh2-private-key" ["---- BEGIN SSH2"] Free check KeyBody =>
        r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?:[^-]|-{1,3}[^-])*?---- END SSH2 ENCRYPTED PRIVATE KEY ----",
        "ssh.com, private key file format";
    "private-key-base64" ["LS0tLS1CRUdJTi"] Left =>
        concat!(
            r"LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFW|BSU0EgUFJJVkFURSBLRV|BFQyBQUklWQVRFIEtFW|BEU0EgUFJJVkFURSBLRV",
            "|BPUEVOU1NIIFBSSVZBVEUgS0VZ|BFTkNSWVBURUQgUFJJVkFURSBLRV|BQR1AgUFJJVkFURSBLRV)[A-Za-z0-9+/]{24,}",
            "={0,2}"
        ),
        "Kubernetes, kubeconfig client-key-data: base64 of a PEM block";
    "putty-private-key" ["Private-Lines:"] Free =>
        r"Private-Lines: ?[0-9]{1,4}((?:(?:\s|\\+[rn]){1,6}[A-Za-z0-9+/=]{8,})+)",
        "PuTTY user manual, appendix C: PPK file format";
    "age-secret-key" ["AGE-SECRET-KEY-"] Free + nocase =>
        r"(?i:AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,})", "age, specification: X25519 identities";
    "wireguard-private-key" ["privatekey" "presharedkey"] Right + nocase =>
        concat!(r"(?i:privatekey|presharedkey)", assign!(), r"([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)"),
        "WireGuard, wg(8): configuration file format";
    "jwk-private-key" ["\"d\"" "\"d\\"] Free check Mixed =>
        r#""d\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}"([A-Za-z0-9_-]{40,})\\{0,3}""#,
        "RFC 7517; RFC 7518, section 6: parameter d";
    "nostr-secret-key" ["nsec1"] Both => r"nsec1[02-9ac-hj-np-z]{58}", "Nostr NIP-19";
    "bip32-private-key" ["xprv" "yprv" "zprv" "tprv"] Both =>
        r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}", "Bitcoin BIP 32: serialization format";
    "grafana-api-key" ["eyJrIjoi"] Token =>
        r"eyJrIjoi[A-Za-z0-9+/_-]{40,}={0,2}", "Grafana, API key: base64 of an object with the member k";
    "cloudflare-tunnel-token" ["eyJhIjoi"] Token =>
        r"eyJhIjoi[A-Za-z0-9+/_-]{80,}={0,2}", "Cloudflare, Tunnel tokens: base64 of account, tunnel and secret";
    "jwt" ["eyJ"] Token =>
        concat!(
            r"eyJ[A-Za-z0-9_-]{8,}(?:\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?",
            r"|\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"
        ),
        "RFC 7519; RFC 7516, compact serialization";
    "password-hash" ["$2a$" "$2b$" "$2y$"] Free => r"\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}", "crypt(5): bcrypt";
    "password-hash" ["$argon2"] Free =>
        r"\$argon2(?:id|i|d)\$v=[0-9]{1,3}\$[a-z0-9=,]{8,60}\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}",
        "Argon2, encoded hash";
    "password-hash" ["$1$" "$5$" "$6$" "$y$" "$7$" "$gy$" "$apr1$"] Free =>
        concat!(
            r"\$(?:[1567]|g?y|apr1)\$(?:rounds=[0-9]{1,9}\$|[./A-Za-z0-9]{2,12}\$)?[./A-Za-z0-9]{1,64}",
            r"\$[./A-Za-z0-9]{22,128}"
        ),
        "crypt(5); htpasswd(1)";
};
