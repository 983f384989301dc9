//! A request to a model, built from what a session holds: agent description, context, checkpoint and messages, and the
//! question.

use super::{AGENT, CONTEXT, Error, Scene, SessionChat};
use crate::tokens::models::{Method, TokenMethod};

/// Puts a part, which has a name, between delimiters.
pub type FenceText<'a> = &'a dyn Fn(&str, &str) -> String;

/// The parts of a request.
pub struct ContextRequest<'a> {
    /// The record and the summary of earlier messages as Markdown, with their headings.
    pub checkpoint: String,
    /// The question; `None` for none.
    pub user: Option<String>,
    /// The most tokens; 0 for no limit.
    pub limit: u64,
    /// How tokens are counted.
    pub counting: TokenMethod,
    /// The chat.
    pub chat: &'a SessionChat<'a>,
    /// Puts a part between delimiters, where others wrote what the session holds: the name of the part, and its text.
    pub fence: Option<FenceText<'a>>,
    /// The sentences before such parts.
    pub preface: &'a str,
}

impl ContextRequest<'_> {
    /// A part as it is sent.
    fn fenced(&self, what: &str, text: String) -> String {
        match self.fence {
            Some(fence) if !text.is_empty() => format!("{}\n", fence(what, &text)),
            _ => text,
        }
    }
}

/// A part of a request with its tokens.
#[derive(Debug, Default)]
pub struct RequestPart {
    /// Markdown, its heading included; empty when there is none.
    pub text: String,
    /// Its tokens, without its delimiters; of the messages without their heading.
    pub tokens: u64,
}

/// A request as it is sent.
#[derive(Debug)]
pub struct TokenRequest {
    /// The sentences before everything, where others wrote it.
    pub preface: String,
    /// The agent description.
    pub agent: RequestPart,
    /// The context.
    pub context: RequestPart,
    /// The record, and the summary of earlier messages.
    pub checkpoint: RequestPart,
    /// The messages that have room.
    pub messages: RequestPart,
    /// The question.
    pub user: RequestPart,
    /// How many messages are in it.
    pub included: u64,
    /// How many messages were left out because of the limit, the oldest.
    pub left_out: u64,
    /// How many messages the summary represents.
    pub summarized: u64,
    /// The tokens of the heading of the messages, and of the delimiters with the sentences about them.
    pub frame: u64,
    /// The tokens of the whole.
    pub total: u64,
    /// How they were counted.
    pub method: Method,
}

impl TokenRequest {
    /// The system prompt.
    pub fn system(&self) -> String {
        let parts = [&self.agent, &self.context, &self.checkpoint, &self.messages];
        let parts = parts.map(|part| part.text.as_str()).concat();
        format!("{}{parts}", self.preface)
    }
}

/// The text of the parts that a limit does not shorten, for callers that need their length.
pub fn fixed(scene: &Scene<'_>, chat: &SessionChat<'_>, checkpoint: &str) -> Result<String, Error> {
    let [agent, context] = texts(scene, chat)?;
    Ok(agent + &context + checkpoint)
}

fn texts(scene: &Scene<'_>, chat: &SessionChat<'_>) -> Result<[String; 2], Error> {
    let of = |name, title| -> Result<String, Error> {
        let text = chat.text(scene, name)?;
        Ok(text.map_or_else(String::new, |text| format!("# {title}\n\n{}\n\n", text.trim())))
    };
    Ok([of(AGENT, "Agent")?, of(CONTEXT, "Context")?])
}

/// Builds it. Where it is too long, the oldest messages are left out; if it is too long without any,
/// [`Error::RequestTooLong`].
pub fn build(scene: &Scene<'_>, request: &ContextRequest<'_>) -> Result<TokenRequest, Error> {
    let counting = request.counting;
    let part = |name: &str, text: String| RequestPart {
        tokens: counting.count(&text),
        text: if name.is_empty() {
            text
        } else {
            request.fenced(name, text)
        },
    };
    let chat = request.chat;
    let [agent, context] = texts(scene, chat)?;
    let agent = part("agent description", agent);
    let context = part("context", context);
    let mut sections = Vec::new();
    chat.each(chat.live(), |_, message| {
        sections.push(message.section());
        Ok(())
    })?;
    let mut out = TokenRequest {
        agent,
        context,
        preface: request.preface.to_owned(),
        checkpoint: part("record", request.checkpoint.clone()),
        messages: RequestPart::default(),
        user: part("", request.user.clone().unwrap_or_default()),
        included: 0,
        left_out: 0,
        summarized: chat.live(),
        frame: 0,
        total: 0,
        method: counting.method,
    };
    let fixed = counting.count(&out.system()) + out.user.tokens;
    if request.limit > 0 && fixed > request.limit {
        return Err(Error::RequestTooLong {
            tokens: fixed,
            limit: request.limit,
        });
    }
    let heading = "# Messages\n\n";
    let counts = sections.iter().map(|section| counting.encoding.count(section));
    let counts: Vec<u64> = counts.collect();
    let mut first = 0;
    if request.limit > 0 {
        let room = request.limit - fixed;
        let mut sum = counting.encoding.count(heading) + counts.iter().sum::<u64>();
        while first < counts.len() && counting.scale(sum) > room {
            sum -= counts[first];
            first += 1;
        }
    }
    loop {
        let kept = &sections[first..];
        out.messages = if kept.is_empty() {
            RequestPart::default()
        } else {
            RequestPart {
                tokens: counting.scale(counts[first..].iter().sum()),
                text: request.fenced("messages", format!("{heading}{}", kept.concat())),
            }
        };
        out.total = counting.count(&out.system()) + out.user.tokens;
        // Counted as a whole a text may have a token more than its parts.
        if request.limit == 0 || out.total <= request.limit || first == sections.len() {
            break;
        }
        first += 1;
    }
    out.included = (sections.len() - first) as u64;
    out.left_out = first as u64;
    let parts = [&out.agent, &out.context, &out.checkpoint, &out.messages, &out.user];
    let parts = parts.iter().map(|part| part.tokens).sum::<u64>();
    // As a whole a text may have fewer tokens than its parts, each of which is rounded up.
    out.frame = out.total.saturating_sub(parts);
    Ok(out)
}
