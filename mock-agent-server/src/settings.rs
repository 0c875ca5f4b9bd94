//! What an agent server is told before it starts, and the freedoms and deviations that variants and faults set in it.

use std::collections::HashSet;
use std::time::Duration;

use diverge_protocol::rules::Revision;

/// A check that a request must pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// The arguments are such as the program takes.
    Arguments,
    /// Nothing was registered before.
    RegisteredOnce,
    /// Something was registered before a loop.
    Registered,
    /// No loop runs.
    Busy,
    /// A loop has a message to start on.
    AnyMessage,
    /// A message that a loop starts on has content.
    RunContent,
    /// A message that joins has content.
    EnqueueContent,
}

/// The texts that make the program do something in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// It says something and is done.
    pub ordinary: &'static str,
    /// It calls a tool.
    pub tool: &'static str,
    /// It stays in the loop until it is joined, or for [`Settings::long`].
    pub long: &'static str,
    /// It keeps what joins waiting until the loop ends, [`Settings::hold`] after the last thing that happened.
    pub holding: &'static str,
    /// It says something and fails.
    pub failing: &'static str,
}

/// The texts that the reference knows.
pub const MESSAGES: Messages = Messages {
    ordinary: "Say something.",
    tool: "Use a tool.",
    long: "Work until somebody joins.",
    holding: "Let everybody wait.",
    failing: "Fail.",
};

/// Arguments that the reference takes: any object will do that does not say `"refused":true`.
pub const ARGUMENTS: &str = r#"{"model":"conformance"}"#;

/// Arguments that the reference does not take.
pub const REFUSED_ARGUMENTS: &str = r#"{"refused":true}"#;

/// The schema of the arguments.
pub const SCHEMA: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"refused":{"enum":[false]}}}"#;

/// The port to serve on, by the value of the variable `PORT`.
#[must_use]
pub fn port(variable: Option<&str>) -> u16 {
    let decimal = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let number = variable.filter(decimal).and_then(|text| text.parse().ok());
    number.filter(|port| *port != 0).unwrap_or(DEFAULT_PORT)
}

/// The port of a server that was given none.
pub const DEFAULT_PORT: u16 = 8080;

/// What a program says when it was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The status.
    pub status: u16,
    /// The JSON body; none sends no body.
    pub body: Option<&'static str>,
}

/// What a dequeue withdraws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Withdraws {
    /// What waits under its key; in the path revision, which has no keys, everything.
    #[default]
    Named,
    /// Everything that waits; only a fault does in the scope revision.
    Everything,
    /// What waits under its key, and everything where nothing does; only a fault does in the scope revision.
    OrEverything,
    /// What waits under its key in lower case; only a fault does.
    InAnyCase,
    /// The first that it could withdraw; only a fault does.
    First,
}

/// How the policy uses the freedom that the protocol leaves. The default is the reference.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The revision that is spoken.
    pub revision: Revision,
    /// The checks that are left out.
    pub off: HashSet<Check>,
    /// How the port comes from the variable.
    pub port: fn(Option<&str>) -> u16,
    /// The answer to a successful registration.
    pub registration: Registration,
    /// The status of the answer to another registration.
    pub registered_status: u16,
    /// The status of the answer to a loop before a registration.
    pub unregistered_status: u16,
    /// The status of the answer to a loop while one runs.
    pub busy_status: u16,
    /// The status of the answer to arguments that are not taken.
    pub arguments_status: u16,
    /// The status of the answer to what cannot be read.
    pub unreadable_status: u16,
    /// The status of the answer to content that is not taken.
    pub content_status: u16,
    /// The status of the answer to a request for the schema, which has no body that is a schema where it is no 2xx.
    pub schema_status: u16,
    /// The schema.
    pub schema: &'static str,
    /// The content type of event streams.
    pub content_type: &'static str,
    /// How long a long message stays when nobody joins.
    pub long: Duration,
    /// How long a holding message stays after the last call.
    pub hold: Duration,
    /// What a dequeue withdraws.
    pub withdraws: Withdraws,
    /// Joining messages are answered before their parts are sent.
    pub fate_first: bool,
    /// A loop that ends brings its stream to the end before it answers those that waited.
    pub end_first: bool,
}

impl Settings {
    /// The reference's settings for a revision.
    #[must_use]
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            off: HashSet::new(),
            port,
            registration: match revision {
                Revision::Scope => Registration {
                    status: 200,
                    body: Some("{}"),
                },
                Revision::Path => Registration {
                    status: 204,
                    body: None,
                },
            },
            registered_status: 409,
            unregistered_status: 409,
            busy_status: 409,
            arguments_status: 400,
            unreadable_status: 400,
            content_status: 400,
            schema_status: 200,
            schema: SCHEMA,
            content_type: "text/event-stream",
            long: Duration::from_millis(3000),
            hold: Duration::from_millis(1000),
            withdraws: Withdraws::Named,
            fate_first: false,
            end_first: false,
        }
    }

    /// Whether the path revision is spoken.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.revision == Revision::Path
    }

    /// Whether a check is made.
    #[must_use]
    pub fn checks(&self, check: Check) -> bool {
        !self.off.contains(&check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_plain_decimal_in_range_or_else_8080() {
        for (variable, expected) in [
            (Some("1"), 1),
            (Some("65535"), 65535),
            (Some("0080"), 80),
            (None, 8080),
            (Some(""), 8080),
            (Some("0"), 8080),
            (Some("65536"), 8080),
            (Some(" 80"), 8080),
            (Some("80 "), 8080),
            (Some("+80"), 8080),
            (Some("abc"), 8080),
        ] {
            assert_eq!(port(variable), expected, "{variable:?}");
        }
    }
}
