//! Tools, results, resources and prompts in the types of the protocol.

use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ErrorData, MetaObject, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolAnnotations,
};
use serde_json::{Map, Value, json};

use super::{text_of, tool_error};
use crate::serve::{
    CommandFailure, FailureKind,
    documents::{self, CURRENT, DOCUMENTS, PROMPTS},
    tools::{self, TOOLS, ToolResult},
};

/// The definitions of the tools.
pub(super) fn tools() -> Vec<Tool> {
    TOOLS.iter().map(definition).collect()
}

fn definition(tool: &tools::Tool) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.read_only)
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(false);
    Tool::new(tool.name, tool.description, object((tool.input)()))
        .with_title(tool.title)
        .with_raw_output_schema(object(tool.result_schema()))
        .with_annotations(annotations)
}

fn object(schema: Value) -> Arc<Map<String, Value>> {
    Arc::new(match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    })
}

/// The result of a tool: structured, and as text for clients that know no structured results.
pub(super) fn success(result: ToolResult) -> CallToolResult {
    let structured = result.with_warnings();
    let mut texts = vec![result.text.unwrap_or_else(|| result.structured.to_string())];
    texts.extend(result.warnings.into_iter().map(|warning| format!("warning: {warning}")));
    let mut out = CallToolResult::success(text_of(texts));
    out.structured_content = Some(structured);
    out
}

/// A failure as the result of a tool: the message, the meaning of the exit code, the hints and the next step.
pub(super) fn failure(failure: &CommandFailure) -> CallToolResult {
    let mut text = format!(
        "error: {}\nexit code {}: {}",
        failure.message, failure.exit_code, failure.meaning
    );
    for hint in failure.hints.iter().flat_map(|hint| hint.lines()) {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    text.push_str("\nnext: ");
    text.push_str(tools::advice(failure));
    let mut out = tool_error(vec![text]);
    let details = json!({ "error": failure });
    if let Value::Object(details) = details {
        let mut meta = MetaObject::new();
        meta.0
            .insert("git-checkpoint/failure".to_owned(), Value::Object(details));
        out.meta = Some(meta);
    }
    out
}

/// A failure where the protocol has no other form for it.
pub(super) fn protocol_error(failure: &CommandFailure) -> ErrorData {
    let message = format!("{}; {}", failure.message, failure.meaning);
    let data = serde_json::to_value(failure).ok();
    match failure.kind {
        FailureKind::Usage
        | FailureKind::Invalid
        | FailureKind::NotFound
        | FailureKind::Ambiguous
        | FailureKind::Negative => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

/// The documents of the current session.
pub(super) fn resources() -> Vec<Resource> {
    let resource = |kind: &documents::DocumentKind| {
        Resource::new(documents::address(CURRENT, kind), kind.name)
            .with_title(format!("{} of the current session", kind.title))
            .with_description(kind.description)
            .with_mime_type(kind.media_type)
    };
    DOCUMENTS.iter().map(resource).collect()
}

/// The documents of any session.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |kind: &documents::DocumentKind| {
        ResourceTemplate::new(documents::address("{session}", kind), kind.name)
            .with_title(format!("{} of a session", kind.title))
            .with_description(kind.description)
            .with_mime_type(kind.media_type)
    };
    DOCUMENTS.iter().map(template).collect()
}

/// The prompts.
pub(super) fn prompts() -> Vec<Prompt> {
    let prompt = |kind: &documents::PromptKind| {
        let arguments = kind
            .arguments
            .iter()
            .map(|(name, about)| PromptArgument::new(*name).with_description(*about).with_required(false));
        Prompt::new(kind.name, Some(kind.description), Some(arguments.collect())).with_title(kind.title)
    };
    PROMPTS.iter().map(prompt).collect()
}
