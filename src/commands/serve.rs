//! `serve`: the local page.

use super::{Context, error::CommandError};

/// Show sessions in a local web page
///
/// The page follows each save and compaction: state of the current session, its checkpoints with record, changes, files
/// and chat. It listens on the loopback interface only. The empty page is served to every local program; data only with the
/// token in the printed address, which is new each time. It changes nothing unless --actions is given. Ends with Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Look at the sessions of this repository:
    git checkpoint serve --open
  Also restore, fork, compact and answer from the page, each with a plan:
    git checkpoint serve --actions
  On a remote machine, at a port for 'ssh -L 8123:127.0.0.1:8123':
    git checkpoint serve --port 8123
  A page without a server, to keep or to send:
    git checkpoint export --format html -o session.html")]
pub(super) struct Args {
    /// The port; any free one by default
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Let the page run commands, each after its plan was shown
    #[arg(long)]
    actions: bool,
    /// End when this process has ended
    #[arg(long, value_name = "PID")]
    until_exit: Option<u32>,
}

#[cfg(feature = "serve")]
pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    use std::sync::Arc;

    use super::{
        error::FailureKind,
        opening::{self, IdentityArgs},
        resident::ResidentProcess,
        watch,
    };
    use crate::{
        os,
        page::{PageOptions, PageServer},
        render::{page_address::PageAddress, slot::Slot, text::TextLine},
        store,
    };

    let process = args.until_exit.map(watch::process).transpose()?;
    let opened = opening::open(context, &IdentityArgs::default())?;
    let repo = opened.scene().repo;
    let top = store::work_tree(repo).unwrap_or_else(|_| repo.git_dir());
    let options = PageOptions {
        port: args.port.unwrap_or(0),
        actions: args.actions,
        repository: top
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
    };
    let failed = |what: &str, error: &std::io::Error| {
        CommandError::new(FailureKind::Fatal, format!("{what}: {}", os::reason(error)))
    };
    let source = Arc::new(ResidentProcess::new(&context.env));
    let server = PageServer::bind(source, &options).map_err(|error| {
        failed(&format!("cannot listen on port {}", options.port), &error).hint("use any free port: omit --port")
    })?;
    let address = PageAddress {
        url: server.url(),
        port: server.port(),
        actions: args.actions,
    };
    if context.ui.options().json {
        context.ui.json(&address)?;
    } else {
        context.ui.data(address.url.as_str());
        let words = if args.actions { "shows and acts" } else { "is read-only" };
        context.ui.status(TextLine::new().with(
            Slot::Dim,
            format!("The page {words}; anyone with this address can open it. Press Ctrl-C to stop."),
        ));
    }
    if args.open {
        // Other users can see the arguments of a program, so the browser gets a private file that leads to the address.
        let file = store::worktree_private_dir(repo)?.join("serve.html");
        let opened = os::replace(&file, forwarding(&address.url).as_bytes(), store::sharing(repo), false)
            .and_then(|()| os::open_in_browser(&file));
        if let Err(error) = opened {
            context
                .ui
                .warning(&format!("the browser was not started: {}", os::reason(&error)));
        }
    }
    drop(opened);
    context.ui.finish()?;
    let has_ended = move || process.as_ref().is_some_and(|process| !process.is_alive());
    server.run(has_ended).map_err(|error| failed("the page ended", &error))
}

/// A document that leads to an address.
#[cfg(feature = "serve")]
fn forwarding(url: &str) -> String {
    format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={url}\"><title>Checkpoints</title>\n"
    )
}

/// Answers that this build has no page.
#[cfg(not(feature = "serve"))]
pub(super) fn run(_: Args, _: &mut Context) -> Result<(), CommandError> {
    use super::error::FailureKind;

    let error = CommandError::new(FailureKind::Fatal, "this program was built without the local page");
    Err(error
        .hint("build it with: cargo build --release --features serve")
        .hint(if cfg!(feature = "report") {
            "a page in a file: git checkpoint export --format html -o session.html"
        } else {
            "a document in a file: git checkpoint export --format markdown -o session.md"
        }))
}
