//! The record: what people and agents wrote about the work.
//!
//! Every member is optional in the stored form, every list item carries `id`, `at` and `by`, and members this version
//! does not know are kept in `unknown` and written back after the known ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::time::Timestamp;

/// Members of a JSON object that this version of the program does not know, in input order.
pub type UnknownMembers = Map<String, Value>;

/// Declares an item of a list of the record: its own fields, framed by the `id`, `at` and `by` that every item has.
macro_rules! item {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            /// Unique in the record: eight base32 characters unless it was imported.
            pub id: String,
            /// When it was noted.
            pub at: Timestamp,
            /// Who noted it: an agent's name or the git user's.
            pub by: String,
            $($(#[$field_doc])* pub $field: $type,)*
            /// Members of a later version.
            #[serde(flatten)]
            pub unknown: UnknownMembers,
        }
    };
}

/// State of the work: what was done, decided, asked, and comes next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "record")]
pub struct Record {
    /// Summary; its first line is the commit's subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the summary was made from git's facts rather than written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_summary: bool,
    /// Achievements of the session so far, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accomplishments: Vec<Note>,
    /// Next steps, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<Note>,
    /// Progress in steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepProgress>,
    /// Progress in phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Units of work with a status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Small things not to forget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Todo>,
    /// Decisions with their reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Obstacles to the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// Questions that are open or were answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Approvals asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// Decisions with options that a fork may explore.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fork_points: Vec<ForkPoint>,
    /// Contradictions that a merge left, until a command resolves them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<RecordConflict>,
    /// Work handed to agents, and what it cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegations: Vec<Delegation>,
    /// Which paths belong to which agent.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub partitions: Map<String, Value>,
    /// Instructions for resuming, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume_instructions: Vec<Note>,
    /// References into a memory kept elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_refs: Vec<Note>,
    /// Files open in an editor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_files: Vec<OpenFile>,
    /// Work of agents, in their own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_history: Vec<AgentEntry>,
    /// Results of checks such as lint or tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// The iteration, when the caller works in iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// Why a session failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SessionFailure>,
    /// Files kept with the checkpoint; the contents are `files/<n>` in its tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Any JSON the caller wants kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// Fields of other systems that have no place above.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

item! {
    /// A line of text.
    Note {
        /// The text.
        text: String,
    }
}

item! {
    /// A unit of work.
    Task {
        /// Title.
        title: String,
        /// How far it is.
        #[serde(default)]
        status: TaskStatus,
        /// Who works on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The issue in a tracker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issue: Option<String>,
        /// Files it concerns.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// Ids of tasks that come first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        depends_on: Vec<String>,
        /// Who works on it alone for now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<super::claim::Claim>,
        /// Remarks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
        /// Percent done, 0 to 100.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<u8>,
    }
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Todo,
    /// Begun.
    InProgress,
    /// Finished.
    Done,
    /// Waits for something.
    Blocked,
    /// Will not be done.
    Dropped,
}

impl TaskStatus {
    /// All states of a task.
    pub const ALL: [Self; 5] = [Self::Todo, Self::InProgress, Self::Done, Self::Blocked, Self::Dropped];
}

item! {
    /// A small thing not to forget.
    Todo {
        /// Text.
        text: String,
        /// Whether it was done.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        done: bool,
    }
}

item! {
    /// A decision.
    Decision {
        /// Text of the decision.
        text: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
}

item! {
    /// Something that stops the work.
    Blocker {
        /// Text.
        text: String,
        /// Condition that would remove the blocker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        needs: Option<String>,
        /// A reference such as a tracker id.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    }
}

item! {
    /// A question.
    Question {
        /// Text of the question.
        text: String,
        /// The answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    }
}

item! {
    /// An approval asked for somewhere.
    Approval {
        /// Where, such as `slack`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The channel there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// The thread there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<String>,
        /// Text of the question.
        question: String,
        /// When it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_at: Option<Timestamp>,
        /// `approve`, `reject` or the words of the answer; an approval without one is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// Who answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answered_by: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
}

item! {
    /// A decision with options.
    ForkPoint {
        /// Title of the decision to make.
        title: String,
        /// The options.
        #[serde(default)]
        options: Vec<ForkOption>,
        /// Who decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decider: Option<String>,
        /// The key of the option chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<String>,
        /// Why it was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
}

item! {
    /// A contradiction between the two sides of a merge. The record itself has the value of ours.
    RecordConflict {
        /// Place in the record, its parts separated by `/`: `tasks/ab12cd34/status`; `session` and `context.md` are
        /// places next to the record.
        member: String,
        /// The session that was merged in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Value at the common checkpoint; absent where there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<Value>,
        /// Value of the session that was merged into; absent where it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ours: Option<Value>,
        /// Value of the session that was merged in; absent where it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        theirs: Option<Value>,
    }
}

/// One option of a fork point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForkOption {
    /// Its short name.
    pub key: String,
    /// Title.
    pub title: String,
    /// Arguments for the option.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pros: Vec<String>,
    /// Arguments against the option.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cons: Vec<String>,
    /// Files it would touch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

item! {
    /// Work handed to an agent.
    Delegation {
        /// Who got it.
        agent: String,
        /// The issue in a tracker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issue: Option<String>,
        /// The tier or name of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_tier: Option<String>,
        /// Tokens used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// Whether `tokens` is an estimate.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
        /// Seconds it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<u64>,
        /// How it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// Whether it was a panel review.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        panel: bool,
    }
}

item! {
    /// A file open in an editor.
    OpenFile {
        /// The path, quoted as git does where it must be.
        path: String,
        /// Counted from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// Counted from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        column: Option<u32>,
    }
}

item! {
    /// Entry of the agent history.
    AgentEntry {
        /// Which agent.
        agent: String,
        /// Report of the agent.
        text: String,
    }
}

item! {
    /// The result of a check.
    Check {
        /// Its name, such as `tests`.
        name: String,
        /// `pass`, `fail` or another word of the caller's.
        status: String,
        /// Details.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    }
}

item! {
    /// A file kept with the checkpoint.
    Attachment {
        /// Its name, without directories; C-quoted where it must be.
        name: String,
        /// The number of its blob, `files/<n>`.
        n: u32,
        /// Its length in bytes.
        size: u64,
    }
}

/// A step of so many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepProgress {
    /// Counted from 1; 0 before the first.
    pub n: u32,
    /// How many there are.
    pub of: u32,
}

/// A phase of so many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Counted from 1.
    pub n: u32,
    /// How many there are.
    pub of: u32,
    /// Title, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Why a session failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFailure {
    /// The message.
    pub message: String,
    /// A stack trace or log excerpt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}
