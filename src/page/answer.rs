//! Answers to requests that were admitted: a view, the plan of an action, or its outcome.

use super::Site;
use crate::{
    render::page::{self, PlanField, PlanView},
    serve::{
        CallMonitor, CommandFailure, CommandLine,
        actions::{Action, ActionRefusal, ActionRequest, ActionTarget},
    },
};

/// Columns of texts.
const COLUMNS: usize = 84;

const MARKUP: &str = "text/html; charset=utf-8";

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Answer {
    fn markup(status: u16, markup: String) -> Self {
        Self {
            status,
            kind: MARKUP,
            body: markup.into_bytes(),
        }
    }

    fn failure(status: u16, failure: &CommandFailure) -> Self {
        Self::markup(status, page::failure(&failure.message, &failure.hints).into_string())
    }

    fn refusal(status: u16, message: &str) -> Self {
        Self::markup(status, page::failure(message, &[]).into_string())
    }

    /// A view by its path.
    pub(super) fn view(site: &Site, path: &str, of: Option<&str>) -> Self {
        let of = of.unwrap_or("@");
        let made = match path {
            "/api/status" => site
                .source
                .indicator()
                .map(|view| page::status(view.as_ref(), site.actions)),
            "/api/sessions" => site.source.sessions().map(|(table, now)| page::sessions(&table, now)),
            "/api/checkpoint" => {
                return match site.source.article(of) {
                    Ok(markup) => Self::markup(200, markup),
                    // A view as well: the session that is shown may be deleted meanwhile.
                    Err(failure) => Self::markup(200, page::absent(&failure.message, &failure.hints)),
                };
            }
            "/api/export" => return Self::export(site, of),
            _ => return Self::refusal(404, "nothing is here"),
        };
        match made {
            Ok(markup) => Self::markup(200, markup),
            Err(failure) => Self::failure(500, &failure),
        }
    }

    fn export(site: &Site, of: &str) -> Self {
        let line = CommandLine::new("export")
            .option("format", Some("json"))
            .selector(Some(&of.to_owned()));
        let line = match line {
            Ok(line) => line,
            Err(message) => return Self::refusal(400, &message),
        };
        let run = site.source.run(&line, &CallMonitor::default());
        match run.failure {
            Some(failure) => Self::failure(404, &failure),
            None => Self {
                status: 200,
                kind: "application/json",
                body: run.output.into_bytes(),
            },
        }
    }

    /// The plan of an action, or its outcome.
    pub(super) fn action(site: &Site, mut request: ActionRequest, is_plan: bool) -> Self {
        if !site.actions {
            return Self::refusal(403, "this page only shows; for actions: git checkpoint serve --actions");
        }
        let Some(action) = Action::find(&request.action) else {
            return Self::refusal(400, "there is no such action");
        };
        match action.target {
            // Never of the session that happens to be shown.
            ActionTarget::Current | ActionTarget::Item => request.session = None,
            ActionTarget::Checkpoint => {
                request.checkpoint.get_or_insert_with(|| "@".to_owned());
            }
            ActionTarget::Session => {}
        }
        if is_plan {
            return Self::plan(site, action, &request);
        }
        let done = action.carried_out(&request, site.source.as_ref(), COLUMNS, &CallMonitor::default());
        let run = match done {
            Ok(run) => run,
            Err(refusal @ ActionRefusal::Request(_)) => return Self::refusal(400, &refusal.to_string()),
            Err(refusal) => return Self::refusal(409, &refusal.to_string()),
        };
        match run.failure {
            Some(failure) => Self::failure(409, &failure),
            None => Self::markup(200, page::receipt(&run.text, &run.warnings)),
        }
    }

    fn plan(site: &Site, action: &Action, request: &ActionRequest) -> Self {
        let target = match action.target {
            ActionTarget::Current | ActionTarget::Item => None,
            ActionTarget::Session => request.session.as_ref().map(|name| format!("Session {name}")),
            ActionTarget::Checkpoint => match (request.checkpoint.as_deref(), &request.session) {
                (Some("@"), Some(name)) => Some(format!("Latest checkpoint of {name}")),
                (Some(selector), _) => Some(format!("Checkpoint {selector}")),
                _ => None,
            },
        };
        let mut view = PlanView {
            title: action.title,
            about: action.about,
            target: target.as_deref(),
            field: action.field.as_ref().map(|field| PlanField {
                label: field.label,
                is_optional: field.optional,
                has_lines: field.has_lines,
            }),
            value: request.text.as_deref(),
            acts_at_once: action.target == ActionTarget::Item,
            plan: None,
            warnings: &[],
            token: None,
            failure: None,
            destroys: action.destroys,
        };
        if action.field.is_some() && request.text.is_none() {
            return Self::markup(200, view.markup());
        }
        let planned = action.planned(request, site.source.as_ref(), COLUMNS, &CallMonitor::default());
        let plan = match planned {
            Ok(Some(plan)) => plan,
            Ok(None) => return Self::markup(200, view.markup()),
            Err(message) => {
                view.failure = Some((&message, &[]));
                return Self::markup(200, view.markup());
            }
        };
        view.token = Some(&plan.token);
        view.plan = Some(&plan.run.text);
        view.warnings = &plan.run.warnings;
        view.failure = plan
            .run
            .failure
            .as_ref()
            .map(|failure| (failure.message.as_str(), failure.hints.as_slice()));
        Self::markup(200, view.markup())
    }
}
