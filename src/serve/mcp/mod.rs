//! The tool server: the Model Context Protocol over standard input and output, by the official SDK.
//!
//! Clients up to 2025-11-25 begin with `initialize`; since 2026-07-28 each request names its version and `server/discover`
//! is optional. The SDK knows both. A connection is not bound to one of them: what a request names counts, so that no
//! message before or between ends the server. Operations run on threads of their own; the thread of the protocol never
//! waits for one, so that cancellations and pings are answered meanwhile.

mod content;
mod transport;

use std::{
    io::{self, Read, Write},
    sync::Arc,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        ResourceContents, Role, ServerCapabilities, ServerConfig,
    },
    service::{RequestContext, serve_directly},
};
use tokio::sync::{Semaphore, mpsc};

use super::{CallMonitor, CommandRunner, FailureKind, documents, tools};
use transport::LineTransport;

/// How many operations run at once. Those that change something take turns anyway, by the locks of the repository.
const AT_ONCE: usize = 4;

/// Text that a client may show to its model.
const INSTRUCTIONS: &str = "\
Saves and resumes work sessions in this git repository: the record of the work and the exact files. Call \
checkpoint_resume when you continue earlier work, checkpoint_save after each finished piece of work and before anything \
risky. Restoring files takes two calls of checkpoint_restore: the first returns the plan, the second carries it out.";

/// Serves the streams until the client closes its side.
///
/// # Errors
/// When no thread can be started.
pub fn serve(
    runner: Arc<dyn CommandRunner>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(AT_ONCE)
        .build()?;
    let transport = LineTransport::new(input, output)?;
    let server = ToolServer {
        runner,
        places: Arc::new(Semaphore::new(AT_ONCE)),
        tools: content::tools(),
    };
    runtime.block_on(async move {
        let service = serve_directly(server, transport, None);
        service.waiting().await.map_err(io::Error::other)
    })?;
    Ok(())
}

/// The server.
struct ToolServer {
    runner: Arc<dyn CommandRunner>,
    /// Operations that may begin.
    places: Arc<Semaphore>,
    tools: Vec<rmcp::model::Tool>,
}

impl ToolServer {
    /// Does work on a thread of its own, with progress to the client; a cancellation by the client reaches it.
    async fn work<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&dyn CommandRunner, &CallMonitor) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let failed = || ErrorData::internal_error("the operation ended early", None);
        let _place = self.places.clone().acquire_owned().await.map_err(|_| failed())?;
        let mut monitor = CallMonitor::default();
        let (send, mut progress) = mpsc::unbounded_channel();
        let token = context.meta.get_progress_token();
        if token.is_some() {
            monitor.progress = Some(Arc::new(move |title: &str, done, total| {
                // The client has stopped listening once the call is answered.
                let _ = send.send((title.to_owned(), done, total));
            }));
        }
        let cancellation = monitor.cancellation.clone();
        let runner = Arc::clone(&self.runner);
        let mut running = tokio::task::spawn_blocking(move || work(&*runner, &monitor));
        let mut last = -1.0;
        loop {
            tokio::select! {
                result = &mut running => return result.map_err(|_| failed()),
                () = context.ct.cancelled(), if !cancellation.is_requested() => cancellation.cancel(),
                Some((title, done, total)) = progress.recv() => {
                    let Some(token) = token.clone() else { continue };
                    // It has to grow, also where one kind of work follows another.
                    last = f64::max(last + 1.0, as_number(done));
                    let mut params = ProgressNotificationParam::new(token, last).with_message(title);
                    if let Some(total) = total.map(as_number).filter(|total| *total >= last) {
                        params = params.with_total(total);
                    }
                    // A client that does not want it any more is no failure of the operation.
                    let _ = context.peer.notify_progress(params).await;
                }
            }
        }
    }
}

/// A count as the protocol has it.
#[expect(clippy::cast_precision_loss, reason = "no count of files comes near 2^53")]
fn as_number(count: u64) -> f64 {
    count as f64
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let mut server = Implementation::new("git-checkpoint", env!("CARGO_PKG_VERSION"));
        server.title = Some("git checkpoint".to_owned());
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::find(&request.name) else {
            return Err(ErrorData::invalid_params(
                format!("there is no tool '{}'", request.name.escape_debug()),
                None,
            ));
        };
        let agent = context.client_info().map(|client| client.name);
        let arguments = request.arguments.unwrap_or_default();
        let result = self
            .work(&context, move |runner, monitor| {
                let call = tools::ToolCall {
                    runner,
                    monitor,
                    agent: agent.as_deref(),
                };
                (tool.call)(&call, arguments)
            })
            .await?;
        Ok(CallToolResponse::from(match result {
            Ok(result) => content::success(result),
            Err(failure) => content::failure(&failure),
        }))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(content::resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(content::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let address = request.uri.clone();
        let read = self
            .work(&context, move |runner, monitor| {
                documents::read(runner, monitor, &address)
            })
            .await?;
        let not_found = |message: String| ErrorData::resource_not_found(message, None);
        let (kind, text) = match read {
            None => {
                return Err(not_found(format!(
                    "there is no resource '{}'",
                    request.uri.escape_debug()
                )));
            }
            Some(Err(failure)) if failure.kind == FailureKind::NotFound => return Err(not_found(failure.message)),
            Some(Err(failure)) => return Err(content::protocol_error(&failure)),
            Some(Ok(found)) => found,
        };
        let contents = ResourceContents::text(text, request.uri).with_mime_type(kind.media_type);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(content::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (name, arguments) = (request.name, request.arguments.unwrap_or_default());
        let wanted = name.clone();
        let made = self
            .work(&context, move |runner, monitor| {
                let argument = |name: &str| arguments.get(name)?.as_str().map(str::to_owned);
                documents::prompt(runner, monitor, &wanted, &argument)
            })
            .await?;
        let (kind, text) = match made {
            None => {
                let message = format!("there is no prompt '{}'", name.escape_debug());
                return Err(ErrorData::invalid_params(message, None));
            }
            Some(Err(documents::PromptFailure::Arguments(message))) => {
                return Err(ErrorData::invalid_params(message, None));
            }
            Some(Err(documents::PromptFailure::Command(failure))) => return Err(content::protocol_error(&failure)),
            Some(Ok(made)) => made,
        };
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message])
            .with_description(kind.description)
            .into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A method that is known gets here when its parameters are of no use.
        const KNOWN: [&str; 7] = [
            "initialize",
            "prompts/get",
            "prompts/list",
            "resources/read",
            "resources/list",
            "tools/call",
            "tools/list",
        ];
        let method = request.method;
        Err(if KNOWN.contains(&method.as_str()) {
            ErrorData::invalid_params(format!("wrong parameters for {method}"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
        })
    }
}

/// A result with nothing but text.
fn text_of(texts: Vec<String>) -> Vec<ContentBlock> {
    texts.into_iter().map(ContentBlock::text).collect()
}

/// An error of the tool, not of the protocol.
fn tool_error(texts: Vec<String>) -> CallToolResult {
    CallToolResult::error(text_of(texts))
}
