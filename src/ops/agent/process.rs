//! The process of an agent, which proves that a session has ended whose agent was killed.
//!
//! A hook is started by the agent, in most cases through a shell. Of one event alone it is a guess which ancestor is the
//! agent: the nearest one that is not there to start the hook. A second event confirms it: the nearest ancestor that both
//! have in common. Only then its end is a proof. The proof holds on this machine, since its last start, and among the
//! same processes; elsewhere only the time of the last event counts.

use std::path::Path;

use crate::{
    os::{self, AncestorProcess},
    store::agents::{AgentProcess, Binding, ProcessId},
};

/// Programs that start another one with a command line of their own.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"];
/// Programs that start another one and wait for it.
const LAUNCHERS: &[&str] = &["env", "timeout", "nice", "setsid", "stdbuf", "git", "git-checkpoint"];

/// The process of the agent whose hook this process is, as far as one event shows it; `None` where the system does not
/// show processes.
pub fn caller(event: &str) -> Option<AgentProcess> {
    let scope = os::process_scope()?;
    let chain = up_to_agent(&os::ancestors(), event);
    (!chain.is_empty()).then_some(AgentProcess {
        scope,
        chain,
        is_confirmed: false,
    })
}

/// The ancestors up to the nearest one that is not there to start a hook.
fn up_to_agent(ancestors: &[AncestorProcess], event: &str) -> Vec<ProcessId> {
    let agent = ancestors
        .iter()
        .position(|ancestor| !starts_hook(&ancestor.command, event));
    let until = agent.map_or(ancestors.len(), |at| at + 1);
    let id_of = |ancestor: &AncestorProcess| ProcessId {
        id: ancestor.id,
        started: ancestor.started.clone(),
    };
    ancestors[..until].iter().map(id_of).collect()
}

/// Whether a command line is that of a process which starts a hook: a launcher, a shell with a command, or one that runs
/// the script of an event.
fn starts_hook(command: &[String], event: &str) -> bool {
    let name_of = |word: &str| {
        Path::new(word)
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned)
    };
    let Some(program) = command.first().and_then(|word| name_of(word.trim_start_matches('-'))) else {
        return false;
    };
    if LAUNCHERS.contains(&program.as_str()) {
        return true;
    }
    let mut words = command[1..].iter().skip_while(|word| {
        let is_option = word.starts_with('-');
        is_option && (word.starts_with("--") || !word.contains('c'))
    });
    let is_hook = |word: &String| word.starts_with('-') || name_of(word).as_deref() == Some(event);
    SHELLS.contains(&program.as_str()) && words.next().is_some_and(is_hook)
}

/// The process of an agent's session after another event, which is known of it so far.
pub(super) fn after_event(known: Option<&AgentProcess>, seen: AgentProcess) -> AgentProcess {
    let known = known.filter(|known| known.scope == seen.scope);
    let common = known.and_then(|known| known.chain.iter().find(|process| seen.chain.contains(process)));
    match common {
        Some(agent) => AgentProcess {
            scope: seen.scope,
            chain: vec![agent.clone()],
            is_confirmed: true,
        },
        // The session continues in another process.
        None => seen,
    }
}

/// Whether it is certain that the process of an agent's session has ended. Of a process that one event alone has shown it
/// is not: that may have been a program which the agent started for that event.
pub(super) fn has_ended(binding: &Binding, scope: Option<&str>) -> bool {
    let Some(process) = binding
        .process
        .as_ref()
        .filter(|process| process.is_confirmed && scope == Some(&*process.scope))
    else {
        return false;
    };
    let agent = process.chain.last();
    agent.is_some_and(|agent| os::has_ended(agent.id, &agent.started))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(ids: &[u32]) -> Vec<ProcessId> {
        let id_of = |id: &u32| ProcessId {
            id: *id,
            started: format!("t{id}"),
        };
        ids.iter().map(id_of).collect()
    }

    fn seen(ids: &[u32]) -> AgentProcess {
        AgentProcess {
            scope: "here".to_owned(),
            chain: chain(ids),
            is_confirmed: false,
        }
    }

    #[test]
    fn the_agent_is_the_nearest_process_that_starts_no_hook() {
        let ancestor = |id: u32, line: &str| AncestorProcess {
            id,
            started: format!("t{id}"),
            command: line.split('|').map(str::to_owned).collect(),
        };
        for (lines, agent) in [
            (&["/bin/sh|-c|/p/git-checkpoint hook claude-code Stop", "claude"][..], 1),
            (&["claude", "-bash"], 0),
            (
                &["bash|-lc|x", "timeout|20|bash|-lc|x", "/usr/bin/node|/p/gemini", "zsh"],
                2,
            ),
            (&["/bin/sh|/h/Documents/Cline/Hooks/Stop", "node|cline"], 1),
            (&["git|checkpoint|hook|pi|Stop", "node|pi"], 1),
            (&["bash|agent.sh|-c", "sshd"], 0),
            (&["bash|--norc|-l|-c|x", "pi"], 1),
            (&["sh|-c|x"], 0),
        ] {
            let ancestors: Vec<_> = lines.iter().zip(0..).map(|(line, id)| ancestor(id, line)).collect();
            let found = up_to_agent(&ancestors, "Stop");
            assert_eq!(found.last().map(|process| process.id), Some(agent), "{lines:?}");
        }
        assert_eq!(up_to_agent(&[], "Stop"), []);
    }

    #[test]
    fn two_events_confirm_the_process_they_have_in_common() {
        let first = seen(&[10, 5]);
        let second = after_event(Some(&first), seen(&[11, 5]));
        assert_eq!((second.chain.clone(), second.is_confirmed), (chain(&[5]), true));
        assert_eq!(after_event(Some(&second), seen(&[12, 5])), second);
        // A shell that runs all of the hooks is the agent, though it looks as if it started a hook alone.
        assert_eq!(after_event(Some(&first), seen(&[10, 5])).chain, chain(&[10]));
        // Another process of the agent, and the same numbers on another machine.
        let other = seen(&[13, 6]);
        assert_eq!(after_event(Some(&second), other.clone()), other);
        let elsewhere = AgentProcess {
            scope: "there".to_owned(),
            ..seen(&[11, 5])
        };
        assert_eq!(after_event(Some(&second), elsewhere.clone()), elsewhere);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_end_is_proved_only_where_the_number_means_the_process() {
        let scope = os::process_scope().expect("shown");
        let parent = os::ancestors().into_iter().next().expect("one that started this one");
        let binding = |scope: &str, started: &str| Binding {
            process: Some(AgentProcess {
                scope: scope.to_owned(),
                chain: vec![ProcessId {
                    id: parent.id,
                    started: started.to_owned(),
                }],
                is_confirmed: true,
            }),
            ..Binding::default()
        };
        let ended = |binding: &Binding| has_ended(binding, Some(&scope));
        assert!(!ended(&binding(&scope, &parent.started)), "it runs");
        assert!(ended(&binding(&scope, "1")), "its number was used again");
        assert!(!ended(&binding("another boot pid:[1]", "1")), "another machine");
        assert!(!has_ended(&binding(&scope, "1"), None), "processes are not shown");
        assert!(!ended(&Binding::default()));
        let mut shown_once = binding(&scope, "1");
        shown_once.process.as_mut().expect("set").is_confirmed = false;
        assert!(!ended(&shown_once), "one event alone");
    }
}
