//! What a client under test writes of a run: one JSON object a line, told by its `event`.

use std::fmt;

use serde_json::{Map, Value, json};

/// A line, read. Debugging output shows its event alone, since what was read may be secret.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientLine {
    /// The container runs, under this id.
    Id(String),
    /// A volume refused the run.
    Refused {
        /// Why, in the client's word for it.
        kind: String,
        /// The volume's name.
        name: String,
        /// The mode that the volume is in, where the refusal tells.
        mode: Option<String>,
    },
    /// An error, as the JSON text that came.
    Error(String),
    /// A chunk, as the JSON text that came.
    Chunk(String),
    /// A loop began.
    Active,
    /// A loop ended, with its values as the JSON text that came.
    Inactive(String),
    /// The run's scope is finished.
    Finished,
    /// A payload could not be read.
    Malformed(String),
    /// What came may not come there.
    ProtocolError(String),
    /// An event of a name that has no meaning here.
    Other(String),
}

/// Why a line is not one that a client writes. Nothing of the line is quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It is no JSON, in UTF-8.
    #[error("text that is no JSON")]
    NotJson,
    /// It is JSON, and no object with a string `event`.
    #[error("JSON that is no object with a string `event`")]
    NoEvent,
    /// A member of a known event is not there, or no string.
    #[error("the event `{event}` without a string `{member}`")]
    Member {
        /// The event.
        event: &'static str,
        /// Its member.
        member: &'static str,
    },
}

impl ClientLine {
    /// Reads a line, without its end. Members that an event does not have are passed over.
    ///
    /// # Errors
    /// As [`LineFault`] tells apart.
    pub fn decode(line: &[u8]) -> Result<Self, LineFault> {
        let value: Value = serde_json::from_slice(line).map_err(|_| LineFault::NotJson)?;
        let Value::Object(members) = value else {
            return Err(LineFault::NoEvent);
        };
        let Some(event) = members.get("event").and_then(Value::as_str) else {
            return Err(LineFault::NoEvent);
        };
        Ok(match event {
            "id" => Self::Id(text(&members, "id", "id")?),
            "refused" => Self::Refused {
                kind: text(&members, "refused", "kind")?,
                name: text(&members, "refused", "name")?,
                mode: match members.get("mode") {
                    None | Some(Value::Null) => None,
                    Some(_) => Some(text(&members, "refused", "mode")?),
                },
            },
            "error" => Self::Error(text(&members, "error", "raw")?),
            "chunk" => Self::Chunk(text(&members, "chunk", "raw")?),
            "inactive" => Self::Inactive(text(&members, "inactive", "raw")?),
            "active" => Self::Active,
            "finished" => Self::Finished,
            "malformed" => Self::Malformed(text(&members, "malformed", "message")?),
            "protocol-error" => Self::ProtocolError(text(&members, "protocol-error", "message")?),
            other => Self::Other(other.to_owned()),
        })
    }

    /// The line, without its end.
    #[must_use]
    pub fn encode(&self) -> String {
        let event = self.event();
        let line = match self {
            Self::Id(id) => json!({"event": event, "id": id}),
            Self::Refused {
                kind,
                name,
                mode: None,
            } => json!({"event": event, "kind": kind, "name": name}),
            Self::Refused { kind, name, mode } => {
                json!({"event": event, "kind": kind, "name": name, "mode": mode})
            }
            Self::Error(raw) | Self::Chunk(raw) | Self::Inactive(raw) => {
                json!({"event": event, "raw": raw})
            }
            Self::Malformed(message) | Self::ProtocolError(message) => {
                json!({"event": event, "message": message})
            }
            Self::Active | Self::Finished | Self::Other(_) => json!({"event": event}),
        };
        line.to_string()
    }

    /// The event's name.
    #[must_use]
    pub fn event(&self) -> &str {
        match self {
            Self::Id(_) => "id",
            Self::Refused { .. } => "refused",
            Self::Error(_) => "error",
            Self::Chunk(_) => "chunk",
            Self::Active => "active",
            Self::Inactive(_) => "inactive",
            Self::Finished => "finished",
            Self::Malformed(_) => "malformed",
            Self::ProtocolError(_) => "protocol-error",
            Self::Other(name) => name,
        }
    }

    /// Whether it says that something was wrong with what came.
    #[must_use]
    pub fn is_trouble(&self) -> bool {
        matches!(self, Self::Malformed(_) | Self::ProtocolError(_))
    }
}

impl fmt::Debug for ClientLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLine")
            .field("event", &self.event())
            .finish_non_exhaustive()
    }
}

fn text(
    members: &Map<String, Value>,
    event: &'static str,
    member: &'static str,
) -> Result<String, LineFault> {
    let found = members.get(member).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or(LineFault::Member { event, member })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every() -> Vec<ClientLine> {
        let raw = || r#"{"a" : "\u0068"}"#.to_owned();
        let refused = |mode: Option<&str>| ClientLine::Refused {
            kind: "volume-mode".to_owned(),
            name: "v".to_owned(),
            mode: mode.map(str::to_owned),
        };
        vec![
            ClientLine::Id("x".to_owned()),
            refused(None),
            refused(Some("ephemeral")),
            ClientLine::Error(raw()),
            ClientLine::Chunk(raw()),
            ClientLine::Active,
            ClientLine::Inactive(raw()),
            ClientLine::Finished,
            ClientLine::Malformed("why".to_owned()),
            ClientLine::ProtocolError("why".to_owned()),
            ClientLine::Other("more".to_owned()),
        ]
    }

    #[test]
    fn every_line_is_read_as_it_was_written() {
        for line in every() {
            let read = ClientLine::decode(line.encode().as_bytes());
            assert!(read.as_ref() == Ok(&line), "{line:?} and {read:?}");
        }
    }

    #[test]
    fn what_is_no_line_is_told_by_what_it_lacks() {
        let member = |event, member| LineFault::Member { event, member };
        for (line, fault) in [
            ("", LineFault::NotJson),
            ("id x", LineFault::NotJson),
            (r#"{"event":"active"} {}"#, LineFault::NotJson),
            (r#"["active"]"#, LineFault::NoEvent),
            (r#"{"event":8}"#, LineFault::NoEvent),
            (r#"{"event":"id"}"#, member("id", "id")),
            (r#"{"event":"chunk","raw":{}}"#, member("chunk", "raw")),
            (
                r#"{"event":"refused","kind":"k"}"#,
                member("refused", "name"),
            ),
            (r#"{"event":"malformed"}"#, member("malformed", "message")),
        ] {
            let read = ClientLine::decode(line.as_bytes());
            assert!(read.as_ref() == Err(&fault), "{line}: {read:?}");
        }
    }

    #[test]
    fn debugging_output_quotes_nothing() {
        let line = ClientLine::Inactive(r#"{"K":"hunter2"}"#.to_owned());
        assert!(!format!("{line:?}").contains("hunter2"));
    }
}
