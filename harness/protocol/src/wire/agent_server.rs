//! The agent server's HTTP interface: the bodies of its requests and answers, in both revisions (proxy and agent server
//! facts, 3 and 5).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Malformed;
use super::channel::{self, DequeueAsk, EnqueueAsk};
use super::run::write_json;
use super::shape::{Object, Shape, Tagged, optional, required};
use super::vocabulary::vocabulary;

pub use super::path_run::PathRunRequest;

vocabulary! {
    /// The paths that an agent server answers on.
    pub enum Endpoint {
        /// The arguments, once and first: `POST`.
        Register = "/register",
        /// The JSON Schema of the arguments: `GET`.
        Schema = "/schema",
        /// A loop, answered by an event stream: `POST`.
        Run = "/run",
        /// A message that joins, answered by its fate: `POST`.
        Enqueue = "/enqueue",
        /// A message that is taken back: `POST`.
        Dequeue = "/dequeue",
    }
}

impl Endpoint {
    /// The method it is asked with.
    pub const fn method(self) -> &'static str {
        match self {
            Endpoint::Schema => "GET",
            Endpoint::Register | Endpoint::Run | Endpoint::Enqueue | Endpoint::Dequeue => "POST",
        }
    }
}

vocabulary! {
    /// What becomes of a message that joins, by `type`.
    pub enum Fate {
        /// The loop took it.
        Delivered = "delivered",
        /// A dequeue withdrew it.
        Dequeued = "dequeued",
        /// No loop took it: there was none, or it was over before.
        Missed = "missed",
    }
}

vocabulary! {
    /// What a dequeue found, by `type`. The form is inferred from that of a fate.
    pub enum Outcome {
        /// Something waited, and was withdrawn.
        Dequeued = "dequeued",
        /// Nothing waited.
        Empty = "empty",
    }
}

const TAG_ONLY: Object = Object::open(&[required("type", Shape::Str)]);

static FATE: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "one of delivered, dequeued, missed",
    variants: &[
        ("delivered", TAG_ONLY),
        ("dequeued", TAG_ONLY),
        ("missed", TAG_ONLY),
    ],
    reserved: None,
});

static OUTCOME: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "dequeued or empty",
    variants: &[("dequeued", TAG_ONLY), ("empty", TAG_ONLY)],
    reserved: None,
});

fn typed(name: &str) -> Vec<u8> {
    format!("{{\"type\":\"{name}\"}}").into_bytes()
}

impl Fate {
    /// Reads the body of an answer to an enqueue.
    ///
    /// # Errors
    /// The rule broken.
    pub fn decode(body: &[u8]) -> Result<Fate, Malformed> {
        let variant = FATE.variant(super::shape::text(body)?)?;
        Ok(Fate::ALL[variant])
    }

    /// The body that says this.
    pub fn encode(self) -> Vec<u8> {
        typed(self.name())
    }
}

impl Outcome {
    /// Reads the body of an answer to a dequeue.
    ///
    /// # Errors
    /// The rule broken.
    pub fn decode(body: &[u8]) -> Result<Outcome, Malformed> {
        let variant = OUTCOME.variant(super::shape::text(body)?)?;
        Ok(Outcome::ALL[variant])
    }

    /// The body that says this.
    pub fn encode(self) -> Vec<u8> {
        typed(self.name())
    }
}

/// What a program is made for, in the scope revision; the value is byte for byte as it came.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RegisterAsk {
    /// The run request's arguments.
    pub arguments: Box<RawValue>,
}

/// What a program is made for, in the path revision; the value is byte for byte as it came.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PathRegisterAsk {
    /// The agent.
    pub agent: Box<RawValue>,
}

/// What a program declares when it is registered, in the scope revision; it may also be nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Registered {
    /// What the program depends on, each as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<Box<RawValue>>>,
    /// What earlier revisions had in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Box<RawValue>>>,
}

/// The messages that a loop starts on, in the scope revision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunAsk {
    /// The messages, in the order they were enqueued.
    pub messages: Vec<EnqueueAsk>,
}

/// A message that joins, in the path revision, is asked like a loop.
pub type PathEnqueueAsk = PathRunRequest;

static REGISTER: Shape = Shape::Object(&Object::open(&[required("arguments", Shape::Any)]));
static PATH_REGISTER: Shape = Shape::Object(&Object::open(&[required("agent", Shape::Any)]));
static REGISTERED: Shape = Shape::Object(&Object::open(&[
    optional("dependencies", Shape::Array(&Shape::Any)),
    optional("tools", Shape::Array(&Shape::Any)),
]));
static RUN: Shape = Shape::Object(&Object::open(&[required(
    "messages",
    Shape::Array(&channel::ENQUEUE),
)]));

/// What a proxy asks and an agent server answers, as far as it is JSON of the pages' own.
pub(super) static SHAPES: &[&Shape] = &[
    &FATE,
    &OUTCOME,
    &REGISTER,
    &PATH_REGISTER,
    &REGISTERED,
    &RUN,
];

macro_rules! body {
    ($type:ty, $shape:expr, $what:literal) => {
        impl $type {
            #[doc = concat!("Reads the body of ", $what, ".")]
            ///
            /// # Errors
            /// The rule broken.
            pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
                $shape.read(body)
            }

            /// The body that says this.
            pub fn encode(&self) -> Vec<u8> {
                let mut body = Vec::new();
                write_json(&mut body, self);
                body
            }
        }
    };
}

body!(RegisterAsk, REGISTER, "a registration");
body!(
    PathRegisterAsk,
    PATH_REGISTER,
    "a registration of the path revision"
);
body!(
    Registered,
    REGISTERED,
    "a successful answer to a registration"
);
body!(RunAsk, RUN, "a request for a loop");
body!(EnqueueAsk, channel::ENQUEUE, "a message");
body!(
    DequeueAsk,
    channel::DEQUEUE,
    "a request to take messages back"
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Rule;

    #[test]
    fn fates_and_outcomes_read_back() {
        for fate in Fate::ALL {
            assert_eq!(Fate::decode(&fate.encode()), Ok(*fate));
        }
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::decode(&outcome.encode()), Ok(*outcome));
        }
        let rule = |body: &str| Fate::decode(body.as_bytes()).err().map(|it| it.rule);
        assert_eq!(rule(r#"{"type":"empty"}"#), Some(Rule::ConstantExpected));
        assert_eq!(rule(r#"{"fate":"missed"}"#), Some(Rule::MemberMissing));
        assert_eq!(rule(r#"["missed"]"#), Some(Rule::ObjectExpected));
        assert_eq!(
            rule(r#"{"type":{"missed":null}}"#),
            Some(Rule::StringExpected)
        );
        assert_eq!(rule(r#"{"more":[],"type":"missed"}"#), None);
    }

    #[test]
    fn requests_keep_what_they_carry() {
        let register = RegisterAsk::decode(br#"{"more":1,"arguments":{ "n":1.50 }}"#);
        assert_eq!(
            register.map(|it| it.encode()),
            Ok(br#"{"arguments":{ "n":1.50 }}"#.to_vec())
        );
        for more in ["1.0", "1e999"] {
            let run = format!(
                r#"{{"messages":[{{"key":"k","content":[{{"type":"text", "text":"hi","more":{more}}}]}}]}}"#
            );
            let kept = RunAsk::decode(run.as_bytes()).map(|it| it.encode());
            assert_eq!(kept, Ok(run.into_bytes()));
        }
    }

    #[test]
    fn requests_that_lack_something_are_told_where() {
        let at = |result: Result<RunAsk, Malformed>| result.err().map(|it| (it.rule, it.pointer));
        assert_eq!(
            at(RunAsk::decode(b"{}")),
            Some((Rule::MemberMissing, "/messages".into()))
        );
        assert_eq!(
            at(RunAsk::decode(br#"{"messages":[{"key":"k"}]}"#)),
            Some((Rule::MemberMissing, "/messages/0/content".into()))
        );
        assert_eq!(
            at(RunAsk::decode(
                br#"{"messages":[{"key":"k","content":[{"type":"smell"}]}]}"#
            )),
            Some((Rule::ConstantExpected, "/messages/0/content/0/type".into()))
        );
    }

    #[test]
    fn a_registration_declares_lists_or_nothing() {
        assert!(Registered::decode(b"{}").is_ok_and(|it| it.dependencies.is_none()));
        let declared = Registered::decode(br#"{"dependencies":[{"image":{}}]}"#);
        assert!(declared.is_ok_and(|it| it.dependencies.is_some_and(|it| it.len() == 1)));
        assert!(Registered::decode(b"").is_err());
        assert!(Registered::decode(br#"{"dependencies":{}}"#).is_err());
        assert!(Registered::decode(b"[]").is_err());
    }
}
