//! Clouds, hosting, infrastructure, observability, build services.

use super::{Rule, assign, base64, table};

pub(super) const RULES: &[Rule] = table! {
    "aws-access-key-id" ["AKIA" "ASIA" "ABIA" "ACCA"] Both =>
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "AWS IAM User Guide, IAM identifiers: unique ids";
    "aws-secret-access-key" ["AKIA" "ASIA"] Right =>
        concat!(r#"A[KS]IA[A-Z0-9]{16}[\\,:;|"'\s]{1,6}("#, base64!(), r"{40})"),
        "AWS, access key pairs as the console's CSV has them";
    "aws-secret-access-key" [
        "secretaccesskey" "secret_access_key" "secret-access-key" "secret access key" "aws_secret" "awssecret"
    ] Right + nocase =>
        concat!(
            r"(?i:secret[_ -]?access[_ -]?key|aws_?secret_?(?:access_?)?(?:key)?)(?:", assign!(),
            r#"|[ \t]{1,4}["']?)("#, base64!(), r"{40})"
        ),
        "AWS CLI User Guide, configuration and credential files";
    "aws-session-token" ["FwoGZXIvYXdz" "IQoJb3JpZ2luX2Vj"] Left =>
        concat!(r"(?:FwoGZXIvYXdz|IQoJb3JpZ2luX2Vj)", base64!(), r"{60,}(?:=|%3[dD]){0,2}"),
        "AWS STS API Reference, Credentials";
    "aws-bedrock-api-key" ["ABSKQmVkcm9ja0FQSUtleS" "bedrock-api-key-"] Free =>
        r"(?:ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/]{50,}={0,2}|bedrock-api-key-[A-Za-z0-9+/_-]{50,}={0,2})",
        "Amazon Bedrock User Guide, API keys";
    "aws-mws-token" ["amzn.mws."] Free =>
        r"amzn\.mws\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "Amazon MWS Developer Guide, auth token";
    "signed-url-signature" ["x-amz-signature" "x-goog-signature"] Free + nocase =>
        r"(?i:x-(?:amz|goog)-signature)(?:=|%3[dD]|\\u003[dD])([0-9a-fA-F]{64,})",
        "AWS Signature Version 4, query parameters; Cloud Storage, signed URLs";

    "google-api-key" ["AIza"] Left => r"AIza[0-9A-Za-z_-]{33,}", "Google Cloud, API keys overview";
    "google-api-key" ["AQ."] Left check Random bits 3.0 =>
        r"AQ\.[0-9A-Za-z_-]{40,}", "Gemini API, API keys of the form that is bound to a service account";
    "google-oauth-client-secret" ["GOCSPX-"] Free =>
        r"GOCSPX-[A-Za-z0-9_-]{20,}", "Google Identity, OAuth client secrets";
    "google-access-token" ["ya29."] Left =>
        r"ya29\.[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{10,})*", "Google Cloud, token types: access tokens";
    "google-refresh-token" ["1//0"] Left => r"1//0[A-Za-z0-9_-]{35,}", "Google Identity, OAuth refresh tokens";
    "google-hmac-key" ["GOOG1E"] Both => r"GOOG1E[A-Z0-9]{55}", "Cloud Storage, HMAC keys";
    "firebase-server-key" [":APA91b"] Left back 11 =>
        r"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}", "Firebase Cloud Messaging, legacy server key";

    "azure-storage-key" ["accountkey"] Free + nocase =>
        concat!(r"(?i:accountkey)", assign!(), "(", base64!(), r"{86}(?:=|%3[dD]|\\u003[dD]){0,2})"),
        "Azure Storage, connection strings";
    "azure-shared-access-key" ["sharedaccesskey"] Free + nocase =>
        concat!(r"(?i:sharedaccesskey)", assign!(), "(", base64!(), r"{43}(?:=|%3[dD]|\\u003[dD])?)"),
        "Azure Service Bus, Event Hubs and IoT Hub, connection strings";
    "azure-sas-signature" ["sig="] Left =>
        concat!(r"sig=(", base64!(), r"{43}(?:=|%3[dD]|\\u003[dD]))"),
        "Azure Storage, service SAS: signature field";
    "azure-client-secret" ["0Q~" "1Q~" "2Q~" "3Q~" "4Q~" "5Q~" "6Q~" "7Q~" "8Q~" "9Q~"] Left back 3 =>
        r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}", "Microsoft Purview, Azure AD client secret";
    "azure-annotated-key" ["JQQJ9"] Both back 52 =>
        r"[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27}(?:[A-Za-z0-9]{2}==)?", "Microsoft, common annotated security keys";
    "azure-identifiable-key" ["+ASt" "ACDb" "+ABa" "+AMC"] Left back 76 =>
        r"[A-Za-z0-9+/]{76}(?:\+ASt|ACDb|\+ABa|\+AMC)[A-Za-z0-9+/]{6}==",
        "Microsoft security-utilities: 64-byte identifiable keys";
    "azure-identifiable-key" ["+ASb" "+AEh" "+ARm" "AzCa" "AIoT"] Left back 33 =>
        r"[A-Za-z0-9+/]{33}(?:\+ASb|\+AEh|\+ARm|AzCa|AIoT)[A-Za-z0-9+/]{6}=",
        "Microsoft security-utilities: 32-byte identifiable keys";
    "azure-identifiable-key" ["AzSe" "+ACR"] Left back 42 =>
        r"[A-Za-z0-9+/]{42}(?:AzSe|\+ACR)[A-D][A-Za-z0-9+/]{5}",
        "Microsoft security-utilities: 39-byte identifiable keys";
    "azure-identifiable-key" ["AzFu"] Left back 44 =>
        r"[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{6}==", "Microsoft security-utilities: function keys";
    "azure-devops-token" ["AZDO"] Both back 76 =>
        r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", "Azure DevOps, personal access tokens: format";

    "digitalocean-token" ["dop_v1_" "doo_v1_" "dor_v1_"] Free =>
        r"do[opr]_v1_[a-f0-9]{40,}", "DigitalOcean API, tokens";
    "digitalocean-spaces-key" ["DO00" "DO80"] Both => r"DO[08]0[A-Z0-9]{16}", "DigitalOcean Spaces, access keys";
    "alibaba-access-key-id" ["LTAI"] Both check Mixed => r"LTAI[A-Za-z0-9]{12,26}", "Alibaba Cloud, AccessKey pair";
    "tencent-secret-id" ["AKID"] Both check Mixed => r"AKID[A-Za-z0-9]{32}", "Tencent Cloud, API keys";
    "scaleway-access-key" ["SCW"] Both check Mixed => r"SCW[A-Z0-9]{17}", "Scaleway, API keys";
    "yandex-api-key" ["AQVN"] Left => r"AQVN[A-Za-z0-9_-]{35,}", "Yandex Cloud, API key";
    "yandex-iam-token" ["t1."] Left =>
        r"t1\.[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}", "Yandex Cloud, IAM token";
    "cloudflare-api-token" ["cfut_" "cfat_" "cfk_"] Left =>
        r"cf(?:k|ut|at)_[A-Za-z0-9_-]{40,}", "Cloudflare Fundamentals, token formats";
    "cloudflare-origin-key" ["v1.0-"] Left => r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}", "Cloudflare, Origin CA keys";
    "heroku-api-key" ["HRKU-"] Free => r"HRKU-[A-Za-z0-9_-]{36,}", "Heroku, API token format";
    "flyio-token" ["fo1_" "fm1a_" "fm1r_" "fm2_"] Left =>
        r"(?:fo1_[A-Za-z0-9_-]{40,}|fm(?:1[ar]|2)_[A-Za-z0-9+/_-]{60,}={0,2})", "Fly.io, access tokens";
    "vercel-token" ["vcp_" "vci_" "vca_" "vcr_" "vck_"] Left check Mixed =>
        r"vc[piark]_[A-Za-z0-9]{24,}", "Vercel changelog, new token formats";
    "vercel-blob-token" ["vercel_blob_rw_"] Free =>
        r"vercel_blob_rw_[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}", "Vercel Blob, read-write token";
    "netlify-token" ["nfp_" "nfc_" "nfo_" "nfu_" "nfb_"] Left check Mixed =>
        r"nf[pcoub]_[A-Za-z0-9]{36,}", "Netlify, personal access tokens";
    "supabase-token" ["sbp_"] Left => r"sbp_(?:v0_)?[a-f0-9]{40}", "Supabase, Management API access tokens";
    "supabase-secret-key" ["sb_secret_"] Free => r"sb_secret_[A-Za-z0-9_-]{20,}", "Supabase, API keys";
    "planetscale-token" ["pscale_tkn_" "pscale_oauth_"] Free =>
        r"pscale_(?:tkn|oauth)_[A-Za-z0-9=._-]{30,}", "PlanetScale, service tokens";
    "planetscale-password" ["pscale_pw_"] Free => r"pscale_pw_[A-Za-z0-9=._-]{30,}", "PlanetScale, passwords";
    "neon-api-key" ["napi_"] Left check Mixed => r"napi_[a-z0-9]{40,}", "Neon, API keys";
    "render-api-key" ["rnd_"] Left check Mixed => r"rnd_[A-Za-z0-9]{28,}", "Render, API keys";
    "databricks-token" ["dapi"] Both => r"dapi[a-f0-9]{32}(?:-[0-9])?", "Databricks, personal access tokens";
    "databricks-oauth-secret" ["dose"] Both =>
        r"dose[a-f0-9]{32}", "Databricks, OAuth secrets of service principals";
    "aiven-password" ["AVNS_"] Left => r"AVNS_[A-Za-z0-9_-]{19,}", "Aiven, service passwords";
    "mongodb-atlas-secret" ["mdb_sa_sk_"] Free =>
        r"mdb_sa_sk_[A-Za-z0-9_-]{30,}", "MongoDB Atlas, service accounts";
    "datastax-astra-token" ["AstraCS:"] Free =>
        r"AstraCS:[A-Za-z0-9]{20,}:[a-f0-9]{64}", "DataStax Astra, application tokens";
    "openshift-token" ["sha256~"] Left => r"sha256~[A-Za-z0-9_-]{43}", "OpenShift, OAuth access tokens";
    "rancher-token" ["token-"] Left => r"token-[a-z0-9]{5}:[a-z0-9]{54}", "Rancher, API keys";
    "tailscale-key" ["tskey-"] Free =>
        r"tskey-[a-z]{2,10}-[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}", "Tailscale, key prefixes";

    "vault-token" ["hvs." "hvb." "hvr."] Left check Mixed =>
        r"hv[sbr]\.[A-Za-z0-9_-]{24,}", "HashiCorp Vault, tokens: prefixes";
    "terraform-cloud-token" [".atlasv1."] Both back 14 =>
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", "HCP Terraform, API tokens";
    "pulumi-token" ["pul-"] Left => r"pul-[a-f0-9]{40}", "Pulumi Cloud, access tokens";
    "doppler-token" ["dp.pt." "dp.st." "dp.ct." "dp.sa." "dp.scim." "dp.audit."] Left =>
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}", "Doppler, token formats";
    "infracost-api-key" ["ico-"] Both check Mixed => r"ico-[A-Za-z0-9]{32}", "Infracost, API key";
    "onepassword-service-token" ["ops_eyJ"] Left =>
        r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,2}", "1Password Developer, service accounts";
    "onepassword-secret-key" ["A3-"] Both =>
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        "1Password, Secret Key";

    "dynatrace-token" ["dt0"] Left => r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "Dynatrace, token format";
    "newrelic-key" ["NRAK-" "NRRA-" "NRII-" "NRIQ-" "NRAL-"] Left =>
        r"NR(?:AK|RA|II|IQ|AL)-[A-Za-z0-9_-]{27,}", "New Relic, API keys";
    "newrelic-license-key" ["NRAL"] Both back 36 => r"[a-z0-9]{36}NRAL", "New Relic, license key";
    "grafana-token" ["glsa_" "glc_"] Left =>
        r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/_-]{32,}={0,2})",
        "Grafana, service account tokens; Grafana Cloud, access policy tokens";
    "sentry-token" ["sntrys_" "sntryu_" "sntrya_" "sntryi_"] Left =>
        r"sntry[suai]_[A-Za-z0-9+/_-]{40,}={0,2}", "Sentry, auth tokens";
    "honeycomb-key" ["hcaik_" "hcbik_" "hcxik_" "hcamk_" "hcxmk_"] Left =>
        r"hc[abx][im]k_[a-z0-9]{32,}", "Honeycomb, API keys";
    "posthog-key" ["phx_" "phs_"] Left check Mixed => r"ph[xs]_[A-Za-z0-9]{32,}", "PostHog, personal API keys";

    "circleci-token" ["CCIPAT_" "CCIPRJ_"] Free =>
        r"CCIP(?:AT|RJ)_[A-Za-z0-9]{16,}_[a-f0-9]{40}", "CircleCI, API tokens";
    "buildkite-token" ["bkua_"] Left => r"bkua_[a-f0-9]{40}", "Buildkite, API access tokens";
    "harness-token" ["pat." "sat."] Left =>
        r"[ps]at\.[A-Za-z0-9_-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}", "Harness, API keys";
    "octopus-api-key" ["API-"] Both check Mixed => r"API-[A-Z0-9]{25,36}", "Octopus Deploy, API keys";
    "sonarqube-token" ["squ_" "sqp_" "sqa_"] Left => r"sq[upa]_[a-f0-9]{40}", "SonarQube, tokens";
    "sourcegraph-token" ["sgp_"] Left =>
        r"sgp_(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}", "Sourcegraph, access tokens";
    "jfrog-api-key" ["AKCp"] Left => r"AKCp[A-Za-z0-9]{60,}", "JFrog, API keys";
    "jfrog-reference-token" ["cmVmdGtu"] Both =>
        r"cmVmdGtu[A-Za-z0-9]{56}", "JFrog, reference tokens: base64 of reftkn";
    "jetbrains-token" ["perm:" "perm-"] Left =>
        r"perm[:-][A-Za-z0-9+/=]{6,}\.[A-Za-z0-9+/=]{2,}\.[A-Za-z0-9+/=]{30,}", "YouTrack, permanent tokens";
    "prefect-key" ["pnu_" "pnb_"] Left check Mixed => r"pn[ub]_[A-Za-z0-9]{36,}", "Prefect, API keys";
};
