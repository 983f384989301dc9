//! Code hosting, package registries, model providers, messaging, payment, office tools.

use super::{Rule, table};

pub(super) const RULES: &[Rule] = table! {
    "github-token" ["ghp_"] Free => r"ghp_[A-Za-z0-9]{30,}", "GitHub Docs, About authentication: token formats";
    "github-oauth-token" ["gho_"] Free =>
        r"gho_[A-Za-z0-9]{30,}", "GitHub Docs, About authentication: token formats";
    "github-user-token" ["ghu_"] Free =>
        r"ghu_[A-Za-z0-9]{30,}", "GitHub Docs, About authentication: token formats";
    "github-app-token" ["ghs_"] Free =>
        r"ghs_[A-Za-z0-9_-]{30,}(?:\.[A-Za-z0-9_-]{16,}){0,2}",
        "GitHub changelog 2026-05-15, installation tokens of both formats";
    "github-refresh-token" ["ghr_"] Free =>
        r"ghr_[A-Za-z0-9]{30,}", "GitHub Docs, About authentication: token formats";
    "github-fine-grained-token" ["github_pat_"] Free =>
        r"github_pat_[A-Za-z0-9_]{30,}", "GitHub Docs, fine-grained personal access tokens";
    "gitlab-token" ["glpat-"] Free =>
        r"glpat-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,}){0,2}", "GitLab, token overview: prefixes";
    "gitlab-deploy-token" ["gldt-"] Left => r"gldt-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-runner-token" ["glrt-" "glrtr-"] Left =>
        r"glrtr?-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,}){0,2}", "GitLab, token overview: prefixes";
    "gitlab-runner-token" ["GR1348941"] Free =>
        r"GR1348941[A-Za-z0-9_-]{20,}", "GitLab, runner registration tokens (legacy)";
    "gitlab-job-token" ["glcbt-"] Left => r"glcbt-[A-Za-z0-9_.-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-trigger-token" ["glptt-"] Left => r"glptt-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-feed-token" ["glft-"] Left => r"glft-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-mail-token" ["glimt-"] Left => r"glimt-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-agent-token" ["glagent-"] Left => r"glagent-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-scim-token" ["glsoat-"] Left => r"glsoat-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-oauth-secret" ["gloas-"] Left => r"gloas-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "gitlab-feature-flag-token" ["glffct-"] Left =>
        r"glffct-[A-Za-z0-9_-]{20,}", "GitLab, token overview: prefixes";
    "atlassian-token" ["ATATT3" "ATCTT3" "ATSTT3"] Free =>
        r"AT(?:ATT|CTT|STT)3[A-Za-z0-9_=-]{60,}", "Atlassian, API tokens";
    "bitbucket-app-password" ["ATBB"] Both check Mixed => r"ATBB[A-Za-z0-9]{32}", "Bitbucket Cloud, app passwords";

    "npm-token" ["npm_"] Left => r"npm_[A-Za-z0-9]{30,}", "GitHub changelog 2021-09-23, npm access token format";
    "pypi-token" ["pypi-AgE"] Free =>
        r"pypi-AgE[A-Za-z0-9_-]{40,}", "PyPI, API tokens: a macaroon behind the prefix";
    "rubygems-token" ["rubygems_"] Left => r"rubygems_[a-f0-9]{48}", "RubyGems guides, API keys";
    "cargo-registry-token" ["cio"] Both check Mixed bits 3.0 =>
        r"cio[A-Za-z0-9]{32}", "Cargo's default registry, API tokens since 2020";
    "nuget-api-key" ["oy2"] Both => r"oy2[a-z0-9]{43}", "NuGet, API keys";
    "clojars-token" ["clojars_"] Left + nocase => r"(?i:clojars_)[a-z0-9]{60}", "Clojars, deploy tokens";
    "docker-token" ["dckr_pat_" "dckr_oat_"] Free => r"dckr_[po]at_[A-Za-z0-9_-]{20,}", "Docker, access tokens";
    "huggingface-token" ["hf_" "api_org_"] Left =>
        r"(?:hf|api_org)_[A-Za-z0-9]{30,}", "Hugging Face, user access tokens";

    "anthropic-api-key" ["sk-ant-"] Free => r"sk-ant-[A-Za-z0-9_-]{20,}", "Anthropic, API keys";
    "openai-api-key" ["sk-proj-" "sk-svcacct-" "sk-admin-" "sk-None-"] Free =>
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}", "OpenAI, API keys";
    "openai-api-key" ["T3BlbkFJ"] Left back 83 =>
        r"sk-[A-Za-z0-9_-]{16,80}T3BlbkFJ[A-Za-z0-9_-]{16,}", "OpenAI, API keys: base64 of the name in the middle";
    "openrouter-api-key" ["sk-or-"] Free => r"sk-or-(?:v[0-9]-)?[A-Za-z0-9]{32,}", "OpenRouter, API keys";
    "langfuse-secret-key" ["sk-lf-"] Free =>
        r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "Langfuse, API keys";
    "llm-api-key" ["sk-"] Left check Mixed bits 2.5 =>
        r"sk-[A-Za-z0-9]{20,}", "OpenAI's older keys, DeepSeek and other services with the same form";
    "groq-api-key" ["gsk_"] Left => r"gsk_[A-Za-z0-9]{40,}", "Groq, API keys";
    "xai-api-key" ["xai-"] Left => r"xai-[A-Za-z0-9]{60,}", "xAI, API keys";
    "perplexity-api-key" ["pplx-"] Left => r"pplx-[A-Za-z0-9]{40,}", "Perplexity, API keys";
    "replicate-token" ["r8_"] Left => r"r8_[A-Za-z0-9]{36,}", "Replicate, API tokens";
    "fireworks-api-key" ["fw_"] Both check Mixed => r"fw_[A-Za-z0-9]{22,24}", "Fireworks AI, API keys";
    "together-api-key" ["tgp_v1_"] Left => r"tgp_v1_[A-Za-z0-9_-]{40,}", "Together AI, API keys";
    "cerebras-api-key" ["csk-"] Left => r"csk-[a-z0-9]{40,}", "Cerebras, API keys";
    "nvidia-api-key" ["nvapi-"] Free => r"nvapi-[A-Za-z0-9_-]{50,}", "NVIDIA NIM, API keys";
    "langsmith-api-key" ["lsv2_pt_" "lsv2_sk_"] Free =>
        r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", "LangSmith, API keys";
    "pinecone-api-key" ["pcsk_"] Left => r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,}", "Pinecone, API keys";
    "tavily-api-key" ["tvly-"] Left => r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{28,}", "Tavily, API keys";
    "firecrawl-api-key" ["fc-"] Both => r"fc-[a-f0-9]{32}", "Firecrawl, API keys";
    "jina-api-key" ["jina_"] Left => r"jina_[A-Za-z0-9_-]{50,}", "Jina AI, API keys";
    "elevenlabs-api-key" ["sk_"] Both => r"sk_[a-f0-9]{48}", "ElevenLabs, API keys";
    "voyage-api-key" ["pa-"] Token check Random => r"pa-[A-Za-z0-9_-]{43}", "Voyage AI, API keys";
    "runpod-api-key" ["rpa_"] Left => r"rpa_[A-Z0-9]{36,}", "RunPod, API keys";
    "e2b-api-key" ["e2b_"] Left => r"e2b_[a-f0-9]{40}", "E2B, API keys";
    "wandb-api-key" ["wandb_v1_"] Free => r"wandb_v1_[A-Za-z0-9_-]{30,}", "Weights & Biases, API keys";
    "apify-token" ["apify_api_"] Free => r"apify_api_[A-Za-z0-9]{30,}", "Apify, API tokens";
    "cursor-api-key" ["crsr_"] Left => r"crsr_[a-f0-9]{48,}", "Cursor, API keys";
    "cursor-api-key" ["key_"] Both => r"key_[a-f0-9]{64}", "Cursor, API keys";

    "slack-bot-token" ["xoxb-"] Free => r"xoxb-[A-Za-z0-9-]{20,}", "Slack, token types";
    "slack-user-token" ["xoxp-" "xoxo-"] Free => r"xox[po]-[A-Za-z0-9-]{20,}", "Slack, token types";
    "slack-app-token" ["xapp-"] Free =>
        r"xapp-[0-9]-[A-Za-z0-9]{6,}-[0-9]{6,}-[a-f0-9]{20,}", "Slack, app-level tokens";
    "slack-config-token" ["xoxe-" "xoxe.xox"] Free =>
        r"xoxe(?:\.xox[bp])?-[A-Za-z0-9-]{20,}", "Slack, configuration and rotated tokens";
    "slack-session-token" ["xoxc-" "xoxd-" "xoxs-" "xoxa-" "xoxr-"] Free =>
        r"xox[cdsar]-[A-Za-z0-9%+/=_-]{20,}", "Slack, token types (workspace and browser)";
    "slack-webhook" ["hooks.slack.com"] Free =>
        concat!(
            r"hooks\.slack\.com\\?/(?:services\\?/T[A-Za-z0-9_]{5,}\\?/B[A-Za-z0-9_]{5,}\\?/([A-Za-z0-9_]{16,})",
            r"|(?:workflows|triggers)\\?/[A-Za-z0-9_\\/-]{30,})"
        ),
        "Slack, incoming webhooks";
    "discord-bot-token" [
        "MTA" "MTE" "MTI" "MTM" "MTQ" "MTU" "MTY" "MTc" "MTg" "MTk" "MjA" "MjE" "MjI" "MjM" "MjQ" "MjU" "MjY" "Mjc"
        "Mjg" "Mjk" "MzA" "MzE" "MzI" "MzM" "MzQ" "MzU" "MzY" "Mzc" "Mzg" "Mzk" "NDA" "NDE" "NDI" "NDM" "NDQ" "NDU"
        "NDY" "NDc" "NDg" "NDk" "NTA" "NTE" "NTI" "NTM" "NTQ" "NTU" "NTY" "NTc" "NTg" "NTk" "NjA" "NjE" "NjI" "NjM"
        "NjQ" "NjU" "NjY" "Njc" "Njg" "Njk" "NzA" "NzE" "NzI" "NzM" "NzQ" "NzU" "NzY" "Nzc" "Nzg" "Nzk" "ODA" "ODE"
        "ODI" "ODM" "ODQ" "ODU" "ODY" "ODc" "ODg" "ODk" "OTA" "OTE" "OTI" "OTM" "OTQ" "OTU" "OTY" "OTc" "OTg" "OTk"
    ] Token =>
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        "Discord, reference: the first part is base64 of the bot's id, so of digits";
    "discord-bot-token" ["discord"] Free + nocase =>
        r"(?i:discord)[^\n]{0,60}?([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})",
        "Discord, reference: authentication";
    "discord-webhook" ["discord.com" "discordapp.com"] Free =>
        r"discord(?:app)?\.com\\?/api\\?/(?:v[0-9]{1,2}\\?/)?webhooks\\?/[0-9]{15,21}\\?/([A-Za-z0-9_-]{50,})",
        "Discord, webhooks";
    "telegram-bot-token" [":AA"] Left back 10 =>
        r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}", "Telegram Bot API, authorizing your bot";
    "telegram-bot-token" ["/bot"] Free =>
        r"/bot([0-9]{8,10}:[A-Za-z0-9_-]{32,36})", "Telegram Bot API, making requests: the token stands in the path";
    "teams-webhook" ["webhook.office.com"] Free =>
        concat!(
            r"webhook\.office\.com\\?/webhookb2\\?/([A-Za-z0-9@_-]{36,}\\?/IncomingWebhook\\?/[A-Za-z0-9]{20,}",
            r"\\?/[A-Za-z0-9-]{36})"
        ),
        "Microsoft Teams, incoming webhooks";
    "google-chat-webhook" ["chat.googleapis.com"] Free =>
        concat!(
            r"chat\.googleapis\.com\\?/v1\\?/spaces\\?/[A-Za-z0-9_-]{6,}\\?/messages\?[^\s]{0,80}",
            "?token=([A-Za-z0-9_%-]{30,})"
        ),
        "Google Chat, webhooks";
    "zapier-webhook" ["hooks.zapier.com"] Free =>
        r"hooks\.zapier\.com\\?/hooks\\?/catch\\?/([0-9]{4,}\\?/[A-Za-z0-9]{5,})", "Zapier, webhooks";
    "twilio-api-key" [
        "SK0" "SK1" "SK2" "SK3" "SK4" "SK5" "SK6" "SK7" "SK8" "SK9" "SKa" "SKb" "SKc" "SKd" "SKe" "SKf"
    ] Both =>
        r"SK[a-f0-9]{32}", "Twilio, API keys";
    "sendgrid-api-key" ["SG."] Left => r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,}", "SendGrid, API keys";
    "mailgun-api-key" ["key-"] Both => r"key-[a-f0-9]{32}", "Mailgun, API keys";
    "mailgun-api-key" ["mailgun"] Right + nocase =>
        r"(?i:mailgun)[^\n]{0,40}?([a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8})", "Mailgun, API keys";
    "mailchimp-api-key" ["-us1" "-us2" "-us3" "-us4" "-us5" "-us6" "-us7" "-us8" "-us9"] Both back 32 =>
        r"[a-f0-9]{32}-us[0-9]{1,2}", "Mailchimp, API keys";
    "mandrill-api-key" ["md-"] Token check Random => r"md-[A-Za-z0-9_-]{22}", "Mailchimp Transactional, API keys";
    "brevo-api-key" ["xkeysib-" "xsmtpsib-"] Free =>
        r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}", "Brevo, API keys";
    "resend-api-key" ["re_"] Left check Mixed => r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", "Resend, API keys";
    "klaviyo-api-key" ["pk_"] Both => r"pk_[a-f0-9]{34}", "Klaviyo, private keys";

    "stripe-secret-key" ["sk_live_" "sk_test_" "rk_live_" "rk_test_" "sk_org_"] Free =>
        r"(?:sk|rk)_(?:org_)?(?:live|test)_[A-Za-z0-9]{16,}",
        "Stripe, API keys (Clerk and Paystack use the same form)";
    "stripe-webhook-secret" ["whsec_"] Left =>
        r"whsec_[A-Za-z0-9+/]{24,}={0,2}", "Stripe, webhook signatures; Standard Webhooks";
    "square-access-token" ["EAAA"] Token bits 4.0 =>
        r"(EAAA[A-Za-z0-9_-]{60})(?:[^A-Za-z0-9_+/-]|\z)", "Square, access tokens";
    "square-token" ["sq0atp-" "sq0csp-"] Free =>
        r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}", "Square, application secrets";
    "braintree-access-token" ["access_token$"] Free =>
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}", "Braintree, access tokens";
    "razorpay-key" ["rzp_live_" "rzp_test_"] Left => r"rzp_(?:live|test)_[A-Za-z0-9]{14,}", "Razorpay, API keys";
    "plaid-access-token" ["access-sandbox-" "access-development-" "access-production-"] Free =>
        r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "Plaid, access tokens";
    "flutterwave-secret-key" ["FLWSECK"] Free => r"FLWSECK(?:_TEST)?-[a-fA-F0-9]{32}-X", "Flutterwave, API keys";
    "easypost-api-key" ["EZAK" "EZTK"] Both => r"EZ[AT]K[A-Za-z0-9]{54}", "EasyPost, API keys";
    "shippo-token" ["shippo_live_" "shippo_test_"] Free =>
        r"shippo_(?:live|test)_[a-f0-9]{40}", "Shippo, API tokens";
    "duffel-token" ["duffel_live_" "duffel_test_"] Free =>
        r"duffel_(?:live|test)_[A-Za-z0-9_=-]{40,}", "Duffel, access tokens";
    "shopify-token" ["shpat_" "shpss_" "shpca_" "shppa_" "shptka_" "shpua_"] Left =>
        r"shp(?:at|ss|ca|pa|tka|ua)_[a-fA-F0-9]{32,}", "Shopify, access tokens: prefixes";

    "notion-token" ["ntn_"] Left => r"ntn_[A-Za-z0-9]{40,}", "Notion, integration tokens";
    "notion-token" ["secret_"] Both check Random =>
        r"secret_[A-Za-z0-9]{43}", "Notion, integration tokens before 2024-09-25";
    "linear-api-key" ["lin_api_" "lin_oauth_" "lin_wh_"] Free =>
        r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}", "Linear, API keys";
    "figma-token" ["figd_" "figo_" "figoh_" "figor_" "figu_" "figur_"] Left =>
        r"fig(?:d|oh?|or|ur?)_[A-Za-z0-9_-]{36,}", "Figma, access tokens";
    "airtable-token" ["pat"] Both => r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", "Airtable, personal access tokens";
    "hubspot-token" ["pat-na" "pat-eu" "pat-ap"] Left =>
        r"pat-[a-z]{2}[0-9]-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
        "HubSpot, private apps";
    "salesforce-token" ["00D"] Left =>
        r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}", "Salesforce, session ids and access tokens";
    "clickup-token" ["pk_"] Left => r"pk_[0-9]{5,}_[A-Z0-9]{32}", "ClickUp, personal tokens";
    "trello-token" ["ATTA"] Both => r"ATTA[a-f0-9]{60,}", "Trello, API tokens";
    "typeform-token" ["tfp_"] Left => r"tfp_[A-Za-z0-9_.=-]{40,}", "Typeform, personal access tokens";
    "contentful-token" ["CFPAT-"] Free => r"CFPAT-[A-Za-z0-9_-]{40,}", "Contentful, personal access tokens";
    "postman-api-key" ["PMAK-"] Free => r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", "Postman, API keys";
    "readme-api-key" ["rdme_"] Left => r"rdme_[a-z0-9]{60,}", "ReadMe, API keys";
    "adafruit-io-key" ["aio_"] Both check Mixed => r"aio_[A-Za-z0-9]{28}", "Adafruit IO, API keys";
    "frameio-token" ["fio-u-"] Left => r"fio-u-[A-Za-z0-9_=-]{60,}", "Frame.io, developer tokens";
    "mapbox-secret-token" ["sk.eyJ" "tk.eyJ"] Left =>
        r"[st]k\.eyJ[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{16,}", "Mapbox, access tokens";
    "facebook-access-token" ["EAA"] Both bits 4.0 =>
        r"EAA[A-Z][A-Za-z0-9]{100,}", "Meta for Developers, access tokens";
    "twitter-bearer-token" ["AAAAAAAAAAAAAAAAAAAA"] Left =>
        r"A{20,24}[A-Za-z0-9]{2,60}%(?:2[BF]|3D)[A-Za-z0-9%]{20,}", "X Developer, app-only bearer tokens";
    "linkedin-client-secret" ["WPL_AP"] Left =>
        r"WPL_AP[0-9]\.[A-Za-z0-9]{12,}\.[A-Za-z0-9+/=]{6,}", "LinkedIn, client secrets";
    "dropbox-token" ["sl."] Left check Random =>
        r"sl\.(?:u\.)?[A-Za-z0-9_-]{120,}", "Dropbox, short-lived access tokens";
};
