//! `mcp`: the tool server for coding agents.

use std::path::PathBuf;

use super::{Context, error::CommandError};

/// Serve coding agents as a tool server (MCP) on standard input and output
///
/// An agent starts it from its configuration, in the working tree that it works in. It offers tools to save, resume,
/// list, show, search, compare, restore and undo, and to record steps and tasks; documents of the session; and prompts.
/// Each call does what the command of that name does. It runs no program from a checkpoint, holds no lock between calls
/// and may be killed at any time. Every version of the protocol from 2024-11-05 to 2026-07-28 works.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The configuration of an agent:
    {\"mcpServers\": {\"checkpoint\":
      {\"command\": \"git\", \"args\": [\"checkpoint\", \"mcp\"]}}}
  For one repository, wherever the agent is started:
    git checkpoint mcp --repo ~/src/project
  Try it by hand:
    npx @modelcontextprotocol/inspector --cli git checkpoint mcp \\
      --method tools/list")]
pub(super) struct Args {
    /// The working tree to serve; the current directory by default
    #[arg(long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    repo: Option<PathBuf>,
}

#[cfg(feature = "mcp")]
pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    use std::sync::Arc;

    use super::{
        error::FailureKind,
        opening::{self, IdentityArgs},
        resident::ResidentProcess,
    };
    use crate::{os, serve::mcp};

    let mut env = context.env.clone();
    if let Some(directory) = args.repo {
        env = env.elsewhere(env.cwd.join(directory));
        // With `--repo` one is meant. Else the agent may start it anywhere, and would call a server broken that
        // ends where there is no repository: there each call reports it.
        drop(opening::at(&env, &IdentityArgs::default(), env.now)?);
    }
    let failed = |what: &str, error: &std::io::Error| {
        CommandError::new(FailureKind::Fatal, format!("{what}: {}", os::reason(error)))
    };
    let streams = os::ProtocolStreams::take().map_err(|e| failed("cannot take the standard streams", &e))?;
    let runner = Arc::new(ResidentProcess::new(&env));
    mcp::serve(runner, streams.input, streams.output).map_err(|e| failed("the server ended", &e))
}

/// Answers that this build has no server.
#[cfg(not(feature = "mcp"))]
pub(super) fn run(_: Args, _: &mut Context) -> Result<(), CommandError> {
    use super::error::FailureKind;

    let error = CommandError::new(FailureKind::Fatal, "this program was built without the tool server");
    Err(error
        .hint("build it with: cargo build --release --features mcp")
        .hint("the same tools without the protocol: git checkpoint batch"))
}
