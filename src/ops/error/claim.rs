//! The claim of somebody else, as the errors about it have it.

use std::fmt;

use crate::model::{claim::Claim, time::Timestamp};

/// The claim that is in the way of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOfOther {
    /// Who.
    pub by: String,
    /// Where.
    pub host: String,
    /// Until when.
    pub until: Option<Timestamp>,
    /// The agent that the command was given, which takes the claim over.
    pub agent: Option<String>,
}

impl ClaimOfOther {
    /// As a command meets it that was given this agent.
    pub(in crate::ops) fn new(claim: &Claim, agent: Option<&str>) -> Self {
        Self {
            by: claim.by.clone(),
            host: claim.host.clone(),
            until: claim.until,
            agent: agent.map(str::to_owned),
        }
    }
}

impl fmt::Display for ClaimOfOther {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "claimed by {} on {}", self.by, self.host)?;
        match self.until {
            Some(at) => write!(out, " until {}", at.minute()),
            None => Ok(()),
        }
    }
}
