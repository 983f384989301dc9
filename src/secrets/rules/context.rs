//! Secrets that only their context identifies: URLs, headers, named variables, configuration files. Last of all the
//! generic assignment, which only warns.

use super::{Rule, assign, base64, table};

/// A variable with one of these names and a value of this form.
macro_rules! variable {
    ($names:literal, $value:literal) => {
        concat!("(?i:", $names, ")", assign!(), "(", $value, ")")
    };
}

/// A name that speaks of a secret, from the keyword on.
macro_rules! named {
    () => {
        r"(?i:pass(?:word|wd|phrase)|secret|token|api[_-]?key|access_?key|auth_key|private_key|credentials?)[A-Za-z0-9_-]{0,32}"
    };
}

/// Variables that hold the password of a database.
macro_rules! database {
    () => {
        "pgpassword|mysql_pwd|(?:mysql|mariadb)_root_password|rediscli_auth|mssql_sa_password|postgres_password"
    };
}

/// White space, also as an escape in JSON or source.
macro_rules! space {
    () => {
        r"(?:\s|\\+[nrt])+"
    };
}

pub(super) const RULES: &[Rule] = table! {
    "url-password" ["://" ":\\/\\/"] Free check Literal =>
        r#":(?:\\?/){2}[^\s/@:"'<>\\`]*:((?:[^\s/"'<>\\`?]|\\u[0-9a-fA-F]{4})+)@[A-Za-z0-9_.\[$%{-]"#,
        "RFC 3986, section 3.2.1: user information";
    "url-token" ["://" ":\\/\\/"] Free check Value =>
        r":(?:\\?/){2}([A-Za-z0-9_.~%-]{20,}):(?:x-oauth-basic|x-token-auth|api_token)?@",
        "GitHub and Bitbucket, tokens as the user name";
    "url-token" ["://" ":\\/\\/"] Free check Mixed =>
        r":(?:\\?/){2}([A-Za-z0-9_-]{36,})@", "RFC 3986, section 3.2.1: a token as the user name";
    "basic-auth" ["authorization"] Free + nocase check Word =>
        concat!("(?i:authorization)", assign!(), r"(?i:basic)[ \t]{1,4}([A-Za-z0-9+/_-]{8,}={0,2})"), "RFC 7617";
    "basic-auth" ["basic "] Left + nocase check Basic => r"(?i:basic) ([A-Za-z0-9+/]{8,}={0,2})", "RFC 7617";
    "bearer-token" ["authorization"] Free + nocase check Word =>
        concat!(
            "(?i:authorization)", assign!(),
            r"(?i:bearer|token|bot|api-?key|key|ssws|splunk|pveapitoken|genie-?key)(?:[ \t]{1,4}|=)(?:token=)",
            r#"?["'\\]{0,4}([A-Za-z0-9._~+/!@:=-]{8,})"#
        ),
        "RFC 6750, section 2.1";
    "bearer-token" ["bearer "] Left + nocase check Mixed bits 3.0 =>
        r"(?i:bearer) {1,4}([A-Za-z0-9._~+/-]{16,}={0,2})", "RFC 6750, section 2.1";
    "okta-token" ["ssws "] Left + nocase => r"(?i:ssws) {1,4}([A-Za-z0-9_-]{30,})", "Okta, API tokens";
    "authorization-header" ["authorization"] Free + nocase check Mixed bits 3.0 =>
        concat!("(?i:authorization)", assign!(), r"([A-Za-z0-9_~+/-]{20,}={0,2})"), "RFC 9110, section 11.6.2";
    "azure-subscription-key" ["ocp-apim-subscription-key"] Free + nocase =>
        variable!("ocp-apim-subscription-key", r"[A-Za-z0-9]{32,}"), "Azure API Management, subscriptions";
    "http-header-token" [
        "x-api-key" "x-auth-token" "x-auth-key" "private-token" "job-token" "x-vault-token" "x-api-token"
        "x-access-token" "x-functions-key" "x-figma-token" "x-shopify-access-token" "x-goog-api-key"
        "x-consul-token" "x-nomad-token" "x-amz-security-token" "x-plex-token" "x-rapidapi-key" "x-jfrog-art-api"
        "dd-api-key" "dd-application-key"
    ] Free + nocase check Mixed =>
        variable!("(?:x|dd|job|private)-[a-z-]{3,24}", r"[A-Za-z0-9._~+/=-]{12,}"),
        "header names as the services document them";
    "session-cookie" [
        "phpsessid=" "jsessionid=" "connect.sid=" "sessionid=" "session_id=" "_session=" "session_token="
        "session-token=" "asp.net_sessionid=" "remember_token="
    ] Free + nocase check Mixed =>
        concat!(
            r"(?i:phpsessid|jsessionid|connect\.sid|session_?id|_session|session[_-]token|asp\.net_sessionid",
            "|remember_token)=([A-Za-z0-9%._~+/:-]{16,})"
        ),
        "RFC 6265: cookies that name a session";
    "oauth-token" [
        "?access_token=" "&access_token=" "#access_token=" "?refresh_token=" "&refresh_token=" "#refresh_token="
        "?id_token=" "&id_token=" "#id_token=" "access_token\"" "refresh_token\"" "access_token\\\""
        "refresh_token\\\""
    ] Free check Mixed =>
        concat!(
            r#"(?:[?&\#](?:access|refresh|id)_token=|(?:access|refresh)_token\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}")"#,
            "([A-Za-z0-9._~+/%=-]{16,})"
        ),
        "RFC 6749, sections 4.2.2 and 5.1; RFC 6750, section 2.3";

    "netrc-password" ["machine " "machine\\n"] Left check Literal =>
        concat!(
            "machine", space!(), r"[^\s\\]*(?:\.[^\s\\]+|localhost)", space!(), "(?:(?:login|account)", space!(), r"[^\s\\]+",
            space!(), ")*password", space!(), r#"([^\s\\"]+)"#
        ),
        "curl, .netrc; ftp(1)";
    "netrc-password" ["default login " "default\n" "default\\n"] Left check Literal =>
        concat!("default", space!(), "login", space!(), r"[^\s\\]+", space!(), "password", space!(), r#"([^\s\\"]+)"#),
        "curl, .netrc; ftp(1)";
    "npm-auth" ["_authToken" "_auth" "_password"] Left check Value =>
        r#"(?:_authToken|_auth|_password)[ \t]{0,4}=[ \t]{0,4}["']?([A-Za-z0-9._~+/=-]{8,})"#,
        "npm, npmrc: auth settings";
    "docker-registry-auth" ["auth\"" "auth\\\"" "auth="] Free check Basic =>
        r#"auth(?:\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}"|=)([A-Za-z0-9+/]{8,}={0,2})"#, "Docker, config.json: auths";
    "curl-credentials" ["curl "] Left check Literal =>
        concat!(
            r"curl [^\n|;]{0,200}?(?:-u|--user|--proxy-user)",
            r#"[ =]{0,2}\\{0,3}["']?[^\s:"'$\\]{1,64}:([^\s"'\\]{1,128})"#
        ),
        "curl(1): --user";
    "sshpass-password" ["sshpass " "sshpass="] Left + nocase check Literal =>
        r#"(?i:sshpass)(?: +-p *|=)\\{0,3}["']?([^\s"'\\]{3,128})"#, "sshpass(1)";
    "database-password" [
        "pgpassword=" "mysql_pwd=" "mysql_root_password=" "rediscli_auth=" "mssql_sa_password="
        "mariadb_root_password=" "postgres_password="
    ] Free + nocase check Literal =>
        concat!("(?i:", database!(), r#")=\\{0,3}["']?([^\s"'`\\,;}{)(]{4,128})"#),
        "environment variables of PostgreSQL, MySQL, MariaDB, Redis, SQL Server";
    "database-password" [
        "pgpassword" "mysql_pwd" "mysql_root_password" "rediscli_auth" "mssql_sa_password" "mariadb_root_password"
        "postgres_password"
    ] Free + nocase check Word =>
        concat!("(?i:", database!(), ")", assign!(), r#"([^\s"'`\\,;}{)(]{4,128})"#),
        "environment variables of PostgreSQL, MySQL, MariaDB, Redis, SQL Server";
    "database-password" [
        "db_password" "db_pass" "database_password" "database_pass" "mysql_password" "mariadb_password"
        "redis_password" "mongo_password" "mongodb_password" "smtp_password" "mail_password" "ldap_password"
        "admin_password" "root_password" "dbpassword"
    ] Free + nocase check Word =>
        concat!(
            "(?i:(?:db|database)_?pass(?:word)?|(?:mysql|mariadb|redis|mongo|mongodb|smtp|mail|ldap|admin|root)_password)",
            assign!(), r#"([^\s"'`\\,;}{)(<>$.]{6,128})"#
        ),
        "variables that frameworks and images document for passwords of services";
    "database-password" ["jdbc:"] Left + nocase check Literal =>
        r#"(?i:jdbc):[^\s"']{1,300}?[?&;](?i:password|pwd)=([^\s"'&;\\]{3,128})"#, "JDBC, connection URLs";
    "url-password" ["?password=" "&password=" "?pwd=" "&pwd="] Free + nocase check Word =>
        r#"[?&](?i:password|pwd)=([^\s"'&;\\<>`$]{6,128})"#, "libpq and others, connection URIs: parameters";
    "mysql-password" ["mysql" "mariadb"] Left check Word =>
        concat!(
            r"(?:mysql|mariadb)(?:dump|admin|import|show|check)?(?:[ \t]+[^\s|;&]{1,128}){0,12}?[ \t]+",
            r#"-p([^\s"'|;&$<-][^\s"'|;&]{3,127})"#
        ),
        "mysql(1): -p with the password behind it";
    "configured-password" ["password"] Free + nocase check Random bits 3.0 =>
        r#"(?i:password)[ \t]+=[ \t]+"([^\s"'`\\<>(){}$]{10,128})""#,
        "Terraform, variable definition files, and other languages of configuration";
    "connection-string-password" [
        "server=" "data source=" "host=" "user id=" "uid=" "username="
    ] Left + nocase check Literal =>
        concat!(
            r#"(?i:server|data source|host|user id|uid|username)=[^\n"']{1,200}?[; ](?i:password|pwd)"#,
            r#"=([^;\s"']{3,128})"#
        ),
        "Microsoft, SqlConnection.ConnectionString";
    "rails-master-key" ["rails_master_key"] Free + nocase =>
        variable!("rails_master_key", "[a-f0-9]{32,}"), "Ruby on Rails guides, custom credentials";
    "laravel-app-key" ["app_key"] Free + nocase =>
        concat!("(?i:app_key)", assign!(), "(base64:", base64!(), "{40,}={0,2})"),
        "Laravel, configuration: encryption key";

    "cloudflare-api-token" ["cloudflare_" "cf_api_" "cf_token"] Free + nocase check Mixed =>
        variable!("cloudflare_(?:api_|global_api_)?(?:token|key)|cf_(?:api_)?(?:token|key)", "[A-Za-z0-9_-]{36,}"),
        "Cloudflare, API tokens and keys before the prefixes";
    "heroku-api-key" ["heroku"] Free + nocase =>
        concat!(
            r"(?i:heroku[a-z_. -]{0,20}(?:key|token))", assign!(),
            r"([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})"
        ),
        "Heroku, API keys before the prefix";
    "datadog-key" [
        "dd_api_key" "dd_app_key" "datadog_api_key" "datadog_app_key" "dd_application_key"
    ] Free + nocase =>
        variable!("(?:dd|datadog)_(?:api|app|application)_key", "[a-f0-9]{32,40}"),
        "Datadog, API and application keys";
    "twilio-auth-token" ["twilio"] Free + nocase =>
        variable!("twilio_?auth_?token", "[a-f0-9]{32}"), "Twilio, auth tokens";
    "azure-client-secret" ["azure_client_secret" "arm_client_secret"] Free + nocase check Mixed =>
        variable!("(?:azure|arm)_client_secret", "[A-Za-z0-9_~.-]{30,}"), "Azure SDK, EnvironmentCredential";
    "azure-openai-key" ["azure_openai"] Free + nocase check Mixed =>
        variable!("azure_openai_(?:api_)?key", "[A-Za-z0-9]{32,}"), "Azure OpenAI, keys";
    "mistral-api-key" ["mistral_api_key"] Free + nocase check Mixed =>
        variable!("mistral_api_key", "[A-Za-z0-9]{32,}"), "Mistral AI, API keys";
    "cohere-api-key" ["cohere_api_key" "co_api_key"] Free + nocase check Mixed =>
        variable!("co(?:here)?_api_key", "[A-Za-z0-9]{36,}"), "Cohere, API keys";
    "wandb-api-key" ["wandb_api_key"] Free + nocase =>
        variable!("wandb_api_key", "[a-f0-9]{40}"), "Weights & Biases, API keys";
    "vault-token" ["vault_token"] Free + nocase check Mixed =>
        variable!("vault_token", r"(?:hv[sbr]|[sbr])\.[A-Za-z0-9_-]{20,}"), "HashiCorp Vault, tokens before 1.10";
    "consul-token" ["consul_http_token" "nomad_token"] Free + nocase =>
        variable!("consul_http_token|nomad_token", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
        "HashiCorp Consul and Nomad, ACL tokens";
    "algolia-admin-key" ["algolia"] Free + nocase =>
        variable!("algolia_(?:admin_|write_)?(?:api_)?key", "[a-f0-9]{32}"), "Algolia, API keys";
    "fastly-api-token" ["fastly_api_"] Free + nocase check Mixed =>
        variable!("fastly_api_(?:token|key)", "[A-Za-z0-9_-]{32}"), "Fastly, API tokens";
    "linode-token" ["linode_"] Free + nocase =>
        variable!("linode_(?:cli_)?token", "[a-f0-9]{64}"), "Linode, personal access tokens";
    "hetzner-token" ["hcloud_token"] Free + nocase check Mixed =>
        variable!("hcloud_token", "[A-Za-z0-9]{64}"), "Hetzner Cloud, API tokens";
    "snyk-token" ["snyk_token"] Free + nocase =>
        variable!("snyk_token", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "Snyk, API tokens";
    "codecov-token" ["codecov_token"] Free + nocase =>
        variable!("codecov_token", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
        "Codecov, upload tokens";
    "pagerduty-token" ["pagerduty"] Free + nocase check Mixed =>
        variable!("pagerduty_(?:api_)?(?:token|key)", "[A-Za-z0-9_+-]{20,32}"), "PagerDuty, API keys";
    "bitwarden-token" ["bws_access_token"] Free + nocase =>
        variable!("bws_access_token", r"[0-9]\.[0-9a-f-]{36}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/=]{20,}"),
        "Bitwarden Secrets Manager, access tokens";

    "generic-secret" [
        "password" "passwd" "passphrase" "secret" "token" "api_key" "apikey" "api-key" "access_key" "accesskey"
        "auth_key" "private_key" "credential"
    ] Free + nocase check Quoted =>
        concat!(
            named!(),
            r#"["'\]\\ \t]{0,6}(?:=>|:=|[:=,]) {0,4}\\{0,3}["'`]([^\s"'`\\,;<>(){}\[\]$]{6,200})["'`\\]"#
        ),
        "no format: a name that speaks of a secret";
    "generic-secret" [
        "password" "passwd" "passphrase" "secret" "token" "api_key" "apikey" "api-key" "access_key" "accesskey"
        "auth_key" "private_key" "credential"
    ] Free + nocase check Bare =>
        concat!(named!(), r#"["'\\]{0,4}(?:=|: ?|%3[dD])([A-Za-z0-9+/=@#%^&*~-]{6,200})"#),
        "no format: a name that speaks of a secret";
};
