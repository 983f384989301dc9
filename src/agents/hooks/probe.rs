//! One question to an agent without a key: how it is made to ask a model server on loopback, and the server's answers.

use serde_json::{Value, json};

/// The prompt of the question.
const PROMPT: &str = "Say that you are ready.";
/// The answer.
const ANSWER: &str = "Ready.";

/// A run of an agent's program that asks a server on loopback.
#[derive(Clone, Debug)]
pub struct AgentProbe {
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables of its environment.
    pub variables: Vec<(&'static str, String)>,
}

/// The run of this agent for a server at `url`; `None` for one whose server is in its settings alone.
pub fn probe(agent: &str, url: &str) -> Option<AgentProbe> {
    let openai = format!("{url}/v1");
    let (args, variables): (Vec<&str>, Vec<(&'static str, &str)>) = match agent {
        "claude-code" => (
            vec!["-p", PROMPT],
            vec![
                ("ANTHROPIC_BASE_URL", url),
                ("ANTHROPIC_API_KEY", "none"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("CLAUDE_CODE_MAX_RETRIES", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
            ],
        ),
        "codex" => {
            let provider = format!(
                "model_providers.loopback={{name=\"loopback\",base_url=\"{openai}\",env_key=\"GIT_CHECKPOINT_KEY\",\
                 wire_api=\"responses\",supports_websockets=false,request_max_retries=1}}"
            );
            let args = [
                "exec",
                "--skip-git-repo-check",
                "-c",
                "model_provider=\"loopback\"",
                "-c",
                &provider,
                PROMPT,
            ];
            return Some(AgentProbe {
                args: args.into_iter().map(str::to_owned).collect(),
                variables: vec![("GIT_CHECKPOINT_KEY", "none".to_owned())],
            });
        }
        "copilot" => (
            vec!["--no-auto-update", "--log-level", "none", "-p", PROMPT],
            vec![
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_PROVIDER_BASE_URL", &openai),
                ("COPILOT_PROVIDER_TYPE", "openai"),
                ("COPILOT_PROVIDER_API_KEY", "none"),
                ("COPILOT_MODEL", "gpt-5-mini"),
                ("COPILOT_AUTO_UPDATE", "false"),
            ],
        ),
        "gemini" => (
            vec!["-m", "gemini-2.5-flash", "-p", PROMPT],
            vec![
                ("GEMINI_API_KEY", "none"),
                ("GOOGLE_GEMINI_BASE_URL", url),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
                ("NO_BROWSER", "1"),
            ],
        ),
        "qwen" => (
            vec!["--auth-type", "openai", "-p", PROMPT],
            vec![
                ("OPENAI_API_KEY", "none"),
                ("OPENAI_BASE_URL", &openai),
                ("OPENAI_MODEL", "m"),
            ],
        ),
        "opencode" => {
            let model = json!({ "name": "M", "limit": { "context": 200_000, "output": 8000 } });
            let options = json!({ "baseURL": openai, "apiKey": "none" });
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible", "name": "Loopback", "options": options, "models": { "m": model },
            });
            let settings = json!({
                "autoupdate": false, "share": "disabled", "model": "loopback/m", "small_model": "loopback/m",
                "provider": { "loopback": provider },
            });
            return Some(AgentProbe {
                args: vec!["run".to_owned(), PROMPT.to_owned()],
                variables: vec![("OPENCODE_CONFIG_CONTENT", settings.to_string())],
            });
        }
        _ => return None,
    };
    Some(AgentProbe {
        args: args.into_iter().map(str::to_owned).collect(),
        variables: variables
            .into_iter()
            .map(|(name, value)| (name, value.to_owned()))
            .collect(),
    })
}

/// The answer of the model server to a request of any agent: media type and body.
pub fn answer(path: &str, body: &[u8]) -> (&'static str, String) {
    let path = path.split('?').next().unwrap_or_default();
    // A body that is compressed cannot be read here; its sender streams.
    let request: Option<Value> = serde_json::from_slice(body).ok();
    let asked = request.as_ref().and_then(|request| request.get("stream")?.as_bool());
    let streams = asked.unwrap_or(request.is_none());
    if path.ends_with("/count_tokens") || path.contains("countTokens") {
        return whole(&json!({ "input_tokens": 10, "totalTokens": 10 }));
    }
    if path.contains("enerateContent") {
        let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11 });
        let content = json!({ "role": "model", "parts": [{ "text": ANSWER }] });
        let answer = json!({ "candidates": [{ "index": 0, "finishReason": "STOP", "content": content }], "usageMetadata": usage });
        return if path.contains("stream") {
            events(&[("", answer)])
        } else {
            whole(&answer)
        };
    }
    if path.ends_with("/messages") {
        return anthropic(streams);
    }
    if path.ends_with("/responses") {
        return responses(streams);
    }
    if path.ends_with("/chat/completions") {
        return completions(streams);
    }
    whole(&json!({ "data": [], "models": [] }))
}

fn anthropic(streams: bool) -> (&'static str, String) {
    let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
    let message = |content: Value, stop: Value| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop,
            "stop_sequence": null, "usage": usage,
        })
    };
    if !streams {
        return whole(&message(json!([{ "type": "text", "text": ANSWER }]), "end_turn".into()));
    }
    let start = json!({ "type": "message_start", "message": message(json!([]), Value::Null) });
    let block = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": ANSWER } });
    let stop = json!({
        "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 1 },
    });
    events(&[
        ("message_start", start),
        ("content_block_start", block),
        ("content_block_delta", delta),
        (
            "content_block_stop",
            json!({ "type": "content_block_stop", "index": 0 }),
        ),
        ("message_delta", stop),
        ("message_stop", json!({ "type": "message_stop" })),
    ])
}

fn responses(streams: bool) -> (&'static str, String) {
    let text = json!({ "type": "output_text", "text": ANSWER, "annotations": [] });
    let item = json!({ "type": "message", "id": "m_1", "role": "assistant", "status": "completed", "content": [text] });
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 1,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 11,
    });
    let response = |status: &str, output: &Value| {
        json!({
            "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "m", "output": output,
            "usage": usage,
        })
    };
    let done = response("completed", &json!([item]));
    if !streams {
        return whole(&done);
    }
    let created = json!({ "type": "response.created", "response": response("in_progress", &json!([])) });
    let added = json!({ "type": "response.output_item.added", "output_index": 0, "item": item });
    let ended = json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    events(&[
        ("response.created", created),
        ("response.output_item.added", added),
        ("response.output_item.done", ended),
        (
            "response.completed",
            json!({ "type": "response.completed", "response": done }),
        ),
    ])
}

fn completions(streams: bool) -> (&'static str, String) {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11 });
    let text = json!({ "role": "assistant", "content": ANSWER });
    if !streams {
        let choice = json!({ "index": 0, "message": text, "finish_reason": "stop" });
        return whole(&json!({
            "id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage,
        }));
    }
    let chunk = |choices: Value| json!({ "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices });
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    let (media, mut body) = events(&[
        ("", chunk(json!([{ "index": 0, "delta": text, "finish_reason": null }]))),
        ("", chunk(json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]))),
        ("", last),
    ]);
    body.push_str("data: [DONE]\n\n");
    (media, body)
}

fn whole(value: &Value) -> (&'static str, String) {
    ("application/json", value.to_string())
}

fn events(events: &[(&str, Value)]) -> (&'static str, String) {
    let line = |(name, data): &(&str, Value)| {
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("event: {name}\n")
        };
        format!("{name}data: {data}\n\n")
    };
    ("text/event-stream", events.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_answered_whole_and_streamed() {
        for path in [
            "/v1/messages?beta=true",
            "/v1/responses",
            "/v1/chat/completions",
            "/v1beta/models/m:generateContent",
        ] {
            let (media, body) = answer(path, br#"{"stream": false}"#);
            assert_eq!(media, "application/json", "{path}");
            assert!(
                serde_json::from_str::<Value>(&body).is_ok() && body.contains(ANSWER),
                "{path}"
            );
        }
        for path in [
            "/v1/messages",
            "/v1/responses",
            "/v1/chat/completions",
            "/v1/models/m:streamGenerateContent?alt=sse",
        ] {
            for request in [&br#"{"stream": true}"#[..], b"\x1f\x8b compressed"] {
                let (media, body) = answer(path, request);
                assert_eq!(media, "text/event-stream", "{path}");
                assert!(body.contains(ANSWER) && body.ends_with("\n\n"), "{path}");
            }
        }
        assert!(answer("/v1/models", b"").1.contains("data"));
    }

    #[test]
    fn only_an_agent_with_its_server_in_its_settings_cannot_be_asked() {
        for adapter in crate::agents::hooks::adapter::ADAPTERS {
            let found = probe(adapter.name, "http://127.0.0.1:1");
            let has_own = matches!(adapter.name, "pi" | "cline" | "cursor");
            assert_eq!(found.is_none(), has_own, "{}", adapter.name);
            let is_local = |probe: AgentProbe| {
                let all = format!("{probe:?}");
                all.contains("http://127.0.0.1:1") && all.contains("none")
            };
            assert!(found.is_none_or(is_local), "{}", adapter.name);
        }
    }
}
