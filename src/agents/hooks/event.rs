//! An agent's hook event, whatever the agent calls it and its members.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// The occasions on which something is done. The names of the agents' own events map to these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// An agent session starts, or is resumed, forked or compacted.
    SessionStart,
    /// The user sent a prompt; no tool has run for it yet.
    Prompt,
    /// The agent finished its answer.
    TurnEnd,
    /// The user or a signal interrupted the turn.
    Interruption,
    /// The model or the agent failed.
    Failure,
    /// The agent is about to summarize its context.
    Compaction,
    /// The agent session ends. Agents give this little time, so nothing important depends on it.
    SessionEnd,
}

impl Occasion {
    /// The word for logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::Prompt => "prompt",
            Self::TurnEnd => "turn-end",
            Self::Interruption => "interruption",
            Self::Failure => "failure",
            Self::Compaction => "compaction",
            Self::SessionEnd => "session-end",
        }
    }
}

/// One event of one agent session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// The occasion.
    pub occasion: Occasion,
    /// The agent's own id of its session.
    pub session: String,
    /// Why a session starts, in the agent's word: `startup`, `resume`, `fork`, `compact`, `clear`, `new`.
    pub source: Option<String>,
    /// The agent's id of the turn, where it has one.
    pub turn: Option<String>,
    /// The directory the agent works in. Only this counts: the hook may run in a daemon that was started elsewhere.
    pub cwd: Option<String>,
    /// The agent's session file, at this moment: agents move it.
    pub transcript: Option<String>,
    /// The conversation as the agent exports it, where it has no session file to read.
    pub conversation: Option<String>,
    /// The user's prompt.
    pub prompt: Option<String>,
    /// The agent's last answer.
    pub answer: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The sub-agent that the event is about.
    pub helper: Option<String>,
    /// Whether the turn had ended before, and a hook of another program made the agent continue it.
    pub is_continued: bool,
}

/// Reads the payload of an event. `None` for a payload that names no session: nothing can be done with it.
pub fn read(occasion: Occasion, payload: &Value) -> Option<HookEvent> {
    let text = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| payload.get(*name).and_then(Value::as_str))
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let transcript = text(&["transcript_path", "transcriptPath", "session_file"]);
    let deep = |places: &[&str]| {
        let found = places.iter().find_map(|place| payload.pointer(place)?.as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    // Cline's task is a run in a session.
    let session = deep(&["/sessionContext/rootSessionId"])
        .or_else(|| text(&["session_id", "sessionId", "sessionID", "taskId", "conversation_id"]))?;
    // Cline names the agent of every run, and its parent where that is a helper.
    let is_helper = payload.get("taskId").is_none() || payload.get("parent_agent_id").is_some_and(Value::is_string);
    let helper = text(&["agent_id", "agentId"]).filter(|_| is_helper);
    Some(HookEvent {
        helper: helper.or_else(|| helper_of_copilot(payload, &session, transcript.as_deref())),
        occasion: ended_as(occasion, payload),
        session,
        source: text(&["source"]),
        // Pi's leaf before the answer is that of the turn before.
        turn: text(&["prompt_id", "turn_id", "parentID", "generation_id"])
            .or_else(|| text(&["leaf"]).filter(|_| occasion != Occasion::Prompt)),
        cwd: text(&["cwd", "directory"]).or_else(|| first_root(payload)),
        transcript,
        conversation: payload.get("export").map(by_lines),
        prompt: text(&["prompt", "initialPrompt"])
            .or_else(|| deep(&["/userPromptSubmit/prompt", "/taskStart/taskMetadata/initialTask"])),
        answer: text(&["last_assistant_message", "prompt_response", "response"])
            .or_else(|| deep(&["/turn/outputText", "/taskComplete/taskMetadata/result"])),
        model: text(&["model"]).or_else(|| deep(&["/model/slug"])),
        is_continued: payload.get("stop_hook_active") == Some(&Value::Bool(true)),
    })
}

/// The occasion of an end of a turn, whose cause is in Cursor's payload.
fn ended_as(occasion: Occasion, payload: &Value) -> Occasion {
    let status = payload.get("status").and_then(Value::as_str);
    match status.filter(|_| occasion == Occasion::TurnEnd && payload.get("conversation_id").is_some()) {
        Some("aborted") => Occasion::Interruption,
        Some("error") => Occasion::Failure,
        _ => occasion,
    }
}

/// The program that sent the payload, where that is another one than the hook is for: Cursor runs the hooks that are
/// configured for Claude Code as well.
pub fn sender(payload: &Value) -> Option<&'static str> {
    payload.get("cursor_version").map(|_| "cursor")
}

/// The files that may be the session file of an event that names none, for a home directory.
pub fn session_files(agent: &str, event: &HookEvent, home: &Path) -> Vec<PathBuf> {
    let id = event.session.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !id.chars().all(is_plain) {
        return Vec::new();
    }
    match agent {
        "cline" => vec![home.join(format!(".cline/data/sessions/{id}/{id}.messages.json"))],
        "cursor" => {
            let Some(root) = &event.cwd else { return Vec::new() };
            let slug = root.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            let slug = slug.trim_matches('-');
            let directory = home.join(format!(".cursor/projects/{slug}/agent-transcripts"));
            vec![
                directory.join(format!("{id}/{id}.jsonl")),
                directory.join(format!("{id}.jsonl")),
            ]
        }
        _ => Vec::new(),
    }
}

/// A conversation with a line for each of its messages, so that one that grows is stored again only at its end.
fn by_lines(export: &Value) -> String {
    let Value::Object(members) = export else {
        return export.to_string();
    };
    let mut out = String::from("{");
    for (n, (name, value)) in members.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        let name = Value::from(name.as_str());
        match value {
            Value::Array(items) if !items.is_empty() => {
                let lines: Vec<String> = items.iter().map(Value::to_string).collect();
                let _ = write!(out, "\n{name}:[\n{}\n]", lines.join(",\n"));
            }
            _ => {
                let _ = write!(out, "\n{name}:{value}");
            }
        }
    }
    out.push_str("\n}\n");
    out
}

/// Copilot reports a sub-agent's events under the sub-agent's id, while the session file stays in the directory that is
/// named after the session.
fn helper_of_copilot(payload: &Value, session: &str, transcript: Option<&str>) -> Option<String> {
    payload.get("sessionId")?;
    let directory = Path::new(transcript?).parent()?.file_name()?.to_str()?;
    (directory != session).then(|| session.to_owned())
}

fn first_root(payload: &Value) -> Option<String> {
    let roots = payload
        .get("workspaceRoots")
        .or_else(|| payload.get("workspace_roots"))?;
    let root = roots.get(0)?.as_str()?;
    // Cursor writes drives of Windows as `/C:/...`.
    let is_drive = root.starts_with('/') && root.get(2..3) == Some(":");
    Some(root.get(usize::from(is_drive)..)?.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_read_under_each_agents_names() {
        let claude = json!({
            "session_id": "s", "transcript_path": "/t/s.jsonl", "cwd": "/p", "prompt_id": "p1",
            "hook_event_name": "Stop", "last_assistant_message": "done",
        });
        let event = read(Occasion::TurnEnd, &claude).expect("a session");
        assert_eq!((event.session.as_str(), event.turn.as_deref()), ("s", Some("p1")));
        assert_eq!(event.answer.as_deref(), Some("done"));
        assert_eq!(event.helper, None);
        let copilot = json!({ "sessionId": "s", "cwd": "/p", "transcriptPath": "/c/s/events.jsonl" });
        let event = read(Occasion::TurnEnd, &copilot).expect("a session");
        assert_eq!(
            (event.helper, event.transcript.as_deref()),
            (None, Some("/c/s/events.jsonl"))
        );
        let cline = json!({ "taskId": "t", "workspaceRoots": ["/p"], "agent_id": "agent_1" });
        let event = read(Occasion::TurnEnd, &cline).expect("a session");
        assert_eq!((event.cwd.as_deref(), event.helper), (Some("/p"), None));
    }

    #[test]
    fn payloads_of_cline_and_cursor_are_read_by_their_documents() {
        let base = json!({
            "clineVersion": "", "taskId": "conv_1", "sessionContext": { "rootSessionId": "1795_a" }, "workspaceRoots": ["/p"],
            "agent_id": "agent_1", "parent_agent_id": null,
        });
        let of = |occasion, more: Value| {
            let mut payload = base.clone();
            if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
                payload.extend(more);
            }
            read(occasion, &payload).expect("a session")
        };
        let end = of(
            Occasion::TurnEnd,
            json!({ "turn": { "outputText": "done", "status": "completed" } }),
        );
        assert_eq!(
            (end.session.as_str(), end.answer.as_deref(), end.helper.as_deref()),
            ("1795_a", Some("done"), None)
        );
        let helper = of(Occasion::TurnEnd, json!({ "parent_agent_id": "agent_0" }));
        assert_eq!(helper.helper.as_deref(), Some("agent_1"));
        let prompt = of(
            Occasion::Prompt,
            json!({ "userPromptSubmit": { "prompt": "go", "attachments": [] } }),
        );
        assert_eq!(prompt.prompt.as_deref(), Some("go"));
        let files = session_files("cline", &end, Path::new("/h"));
        assert_eq!(
            files,
            [Path::new("/h/.cline/data/sessions/1795_a/1795_a.messages.json")]
        );

        let cursor = json!({
            "conversation_id": "c-1", "generation_id": "g-1", "hook_event_name": "stop", "cursor_version": "2.0.77",
            "workspace_roots": ["/home/ana/my.app"], "status": "aborted", "loop_count": 0,
        });
        assert_eq!(sender(&cursor), Some("cursor"));
        let event = read(Occasion::TurnEnd, &cursor).expect("a session");
        assert_eq!(
            (event.occasion, event.turn.as_deref()),
            (Occasion::Interruption, Some("g-1"))
        );
        let files = session_files("cursor", &event, Path::new("/h"));
        assert_eq!(
            files[0],
            Path::new("/h/.cursor/projects/home-ana-my-app/agent-transcripts/c-1/c-1.jsonl")
        );
        for (status, occasion) in [("completed", Occasion::TurnEnd), ("error", Occasion::Failure)] {
            let mut payload = cursor.clone();
            payload["status"] = status.into();
            assert_eq!(
                read(Occasion::TurnEnd, &payload).map(|event| event.occasion),
                Some(occasion)
            );
        }
        let windows = json!({ "conversation_id": "c", "workspace_roots": ["/C:/project"] });
        assert_eq!(
            read(Occasion::Prompt, &windows).and_then(|event| event.cwd).as_deref(),
            Some("C:/project")
        );
        let hostile = json!({ "conversation_id": "../../x", "workspace_roots": ["/p"] });
        let event = read(Occasion::Prompt, &hostile).expect("a session");
        assert!(session_files("cursor", &event, Path::new("/h")).is_empty());
    }

    #[test]
    fn the_leaf_is_a_turn_only_where_the_turn_ends() {
        let pi = json!({ "session_id": "s", "leaf": "0a1b2c3d" });
        let of = |occasion| read(occasion, &pi).and_then(|event| event.turn);
        assert_eq!(of(Occasion::Prompt), None);
        assert_eq!(of(Occasion::TurnEnd).as_deref(), Some("0a1b2c3d"));
    }

    #[test]
    fn a_helpers_event_is_recognized() {
        for payload in [
            json!({ "session_id": "s", "agent_id": "h" }),
            json!({ "sessionId": "h", "transcriptPath": "/c/s/events.jsonl" }),
        ] {
            let event = read(Occasion::TurnEnd, &payload).expect("a session");
            assert_eq!(event.helper.as_deref(), Some("h"));
        }
    }

    #[test]
    fn a_payload_without_a_session_is_none() {
        for payload in [
            json!(null),
            json!([]),
            json!({}),
            json!({ "session_id": "" }),
            json!({ "session_id": 3 }),
        ] {
            assert_eq!(read(Occasion::TurnEnd, &payload), None);
        }
    }
}
