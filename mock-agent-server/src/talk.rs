//! What the reference says in a loop: chunks as JSON, of either revision.

use bytes::Bytes;
use diverge_protocol::wire::channel::EnqueueAsk;
use indexmap::IndexMap;
use serde_json::value::RawValue;

use crate::settings::{MESSAGES, Messages};

/// What a message makes the program do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It says something and is done.
    Ordinary,
    /// It calls a tool.
    Tool,
    /// It stays until it is joined.
    Long,
    /// It lets everybody wait.
    Holding,
    /// It fails.
    Failing,
}

impl Deed {
    /// What this text makes it do.
    fn of(text: &str) -> Self {
        let Messages {
            ordinary: _,
            tool,
            long,
            holding,
            failing,
        } = MESSAGES;
        match text.trim() {
            it if it == tool => Self::Tool,
            it if it == long => Self::Long,
            it if it == holding => Self::Holding,
            it if it == failing => Self::Failing,
            _ => Self::Ordinary,
        }
    }
}

/// A message, as the loop takes it.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Its key; the path revision has none.
    pub key: Option<String>,
    /// The chunks that tell that it landed; none for the prompt that a loop of the path revision starts on.
    pub landed: Vec<Bytes>,
    /// What it makes the program do.
    pub deed: Deed,
}

impl Message {
    /// A message of the scope revision.
    pub fn of(ask: &EnqueueAsk) -> Self {
        let text = ask.content.iter().find_map(|block| text_of(block));
        Self {
            key: Some(ask.key.clone()),
            landed: ask
                .content
                .iter()
                .map(|block| part(&ask.key, block))
                .collect(),
            deed: Deed::of(&text.unwrap_or_default()),
        }
    }

    /// A prompt of the path revision that joins a loop.
    pub fn joining(prompt: &str) -> Self {
        let chunk = format!("{{\"type\":\"user\",\"prompt\":{}}}", string(prompt));
        Self {
            landed: vec![chunk.into()],
            ..Self::starting(prompt)
        }
    }

    /// A prompt of the path revision that a loop starts on.
    pub fn starting(prompt: &str) -> Self {
        Self {
            key: None,
            landed: Vec::new(),
            deed: Deed::of(prompt),
        }
    }
}

type Members = IndexMap<String, Box<RawValue>>;

fn members(block: &RawValue) -> Members {
    // A block was judged to be an object when it was read.
    serde_json::from_str(block.get()).unwrap_or_default()
}

fn text_of(block: &RawValue) -> Option<String> {
    serde_json::from_str(members(block).get("text")?.get()).ok()
}

/// A block as a user part: its own members, byte for byte, under the message's key.
fn part(key: &str, block: &RawValue) -> Bytes {
    let members = members(block);
    let kind = members
        .get("type")
        .and_then(|kind| serde_json::from_str::<String>(kind.get()).ok())
        .unwrap_or_default();
    let kind = match kind.as_str() {
        "resource" | "resource_link" => format!("user_{kind}"),
        _ => format!("user_{kind}_content"),
    };
    let mut chunk = format!("{{\"type\":{},\"key\":{}", string(&kind), string(key));
    for (name, value) in &members {
        let told = name == "type" || name == "key";
        if !told && value.get() != "null" {
            chunk.push_str(&format!(",{}:{}", string(name), value.get()));
        }
    }
    chunk.push('}');
    chunk.into()
}

/// A text as JSON.
pub(crate) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What the assistant says about the message of that number in the conversation.
pub(crate) fn said(number: u64) -> Vec<Bytes> {
    let text = format!("Message {number} ");
    vec![
        r#"{"type":"assistant_reasoning","text":"That is easy."}"#.into(),
        format!("{{\"type\":\"assistant_text_content\",\"text\":{}}}", string(&text)).into(),
        r#"{"type":"assistant_text_content","text":"is heard.","logprobs":[{"token":"heard","bytes":[104,101,97,114,100],"logprob":-0.25,"top_logprobs":[]}]}"#.into(),
        r#"{"type":"usage","completion_tokens":4,"prompt_tokens":7,"total_tokens":11}"#.into(),
    ]
}

/// A tool's call, which has a sub-agent, and its response.
pub(crate) fn tool_used(number: u64) -> Vec<Bytes> {
    let id = format!("call-{number}");
    let call = |arguments: &str| {
        format!(
            "{{\"type\":\"assistant_tool_call\",\"id\":\"{id}\",\"name\":\"look\",\"arguments\":{}}}",
            string(arguments)
        )
        .into()
    };
    vec![
        call("{\"at\":"),
        call("\"clouds\"}"),
        format!("{{\"type\":\"assistant_text_content\",\"parent_tool_call_id\":\"{id}\",\"text\":\"Looking.\"}}").into(),
        format!("{{\"type\":\"tool_response\",\"id\":\"{id}\",\"content\":[{{\"type\":\"text\",\"text\":\"Grey.\"}}]}}").into(),
    ]
}

/// What a program says that stays in the loop.
pub(crate) fn staying() -> Vec<Bytes> {
    vec![r#"{"type":"assistant_text_content","text":"I am at it."}"#.into()]
}

/// What a program says that fails.
pub(crate) fn failed() -> Vec<Bytes> {
    vec![
        r#"{"type":"assistant_text_content","text":"I am "}"#.into(),
        r#"{"type":"notification","is_fatal":true,"message":{"kind":"upstream","message":"the model is gone"}}"#.into(),
    ]
}
