//! Strategies for property tests, of the codecs here and of any other: valid payloads of every surface with all the
//! freedom that the pages leave, broken ones that are one named change apart from a valid one, and bytes of any kind.
//!
//! What the pages leave open (a lone surrogate, a number beyond a double, a secret's name that comes twice) is in no
//! valid payload and is no break of a broken one, so an implementation may be held to either.
//!
//! ```
//! use diverge_strategies::{broken, bytes, valid};
//! use diverge_protocol::wire::surface::Surface;
//! use proptest::prelude::*;
//!
//! /// The decoder under test: the kind of a payload, or nothing where it is malformed.
//! fn kind_of(payload: &[u8]) -> Option<&'static str> {
//!     // Put a call of your own here.
//!     Surface::RunResponse.judge(payload).ok()
//! }
//!
//! proptest! {
//!     # #![proptest_config(ProptestConfig::with_cases(16))]
//!     # /*
//!     #[test]
//!     # */
//!     fn what_is_valid_is_taken(valid in valid(Surface::RunResponse)) {
//!         prop_assert_eq!(kind_of(&valid.bytes()), Some(valid.kind));
//!     }
//!
//!     # /*
//!     #[test]
//!     # */
//!     fn what_is_broken_is_refused(broken in broken(Surface::RunResponse)) {
//!         prop_assert_eq!(kind_of(&broken.bytes()), None, "{} breaks {}", broken.change, broken.rule);
//!     }
//!
//!     # /*
//!     #[test]
//!     # */
//!     fn nothing_makes_it_panic(payload in bytes(Surface::RunResponse)) {
//!         kind_of(&payload);
//!     }
//! }
//! # what_is_valid_is_taken();
//! # what_is_broken_is_refused();
//! # nothing_makes_it_panic();
//! ```

mod breaks;
mod channels;
mod streams;
mod text;

use std::fmt;

use proptest::prelude::*;
use proptest::strategy::Union;

pub use channels::{
    begin_request, channel_ask, credential, dequeue_answer, enqueue_answer, run_request,
    schema_answer,
};
pub use streams::{chunk_stream, event_stream, some_events};
pub use text::{json, number, object, planted, string};

use diverge_protocol::scenario::codec::{Change, Payload};
use diverge_protocol::wire::agent_event::EventRevision;
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::frame::HEADER;
use diverge_protocol::wire::run::{RefusalKind, RunKind};
use diverge_protocol::wire::shape::Shape;
use diverge_protocol::wire::surface::Surface;
use diverge_protocol::wire::{Frame, FrameType, Profile, Rule, chunk, path_run, run};

/// A payload that is well formed. Debugging output shows it as a person would write it.
#[derive(Clone, PartialEq, Eq)]
pub struct Valid {
    /// What it is, in the words of [`Surface::kinds`].
    pub kind: &'static str,
    /// The payload.
    pub payload: Payload,
}

impl Valid {
    /// The payload's bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.payload.bytes()
    }
}

impl fmt::Debug for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.payload)
    }
}

/// A payload that breaks one rule. Debugging output shows it as a person would write it.
#[derive(Clone, PartialEq, Eq)]
pub struct Broken {
    /// The neighbour that is well formed.
    pub valid: Valid,
    /// The one change of it.
    pub change: Change,
    /// The rule that the change breaks.
    pub rule: Rule,
    bytes: Vec<u8>,
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            valid,
            change,
            rule,
            ..
        } = self;
        write!(f, "{valid:?}, but {change}, which breaks {rule}")
    }
}

impl Broken {
    /// The broken payload's bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

/// Payloads of `surface` that are well formed, of every kind and in every spelling.
pub fn valid(surface: Surface) -> BoxedStrategy<Valid> {
    match surface {
        Surface::Frame => frame()
            .prop_map(|frame| Valid {
                kind: frame.kind.name(),
                payload: Payload {
                    first: None,
                    body: frame.encode().to_vec(),
                },
            })
            .boxed(),
        _ => Union::new(forms(surface).into_iter().map(Form::valid)).boxed(),
    }
}

/// Events of an AgentEvent stream that are well formed by `revision`.
pub fn agent_event(revision: EventRevision) -> BoxedStrategy<Valid> {
    Form::json(None, None, revision.shape()).valid()
}

/// Frames of any type, scope, channel and payload; a finish has none.
pub fn frame() -> BoxedStrategy<Frame> {
    let payload = prop::collection::vec(any::<u8>(), 0..40);
    (
        prop::sample::select(FrameType::ALL),
        any::<u32>(),
        any::<u32>(),
        payload,
    )
        .prop_map(|(kind, scope, channel, payload)| match kind.is_finish() {
            true => Frame::new(kind, scope, channel, Vec::new()),
            false => Frame::new(kind, scope, channel, payload),
        })
        .boxed()
}

/// Payloads of `surface` that are one named change apart from a valid one, and break one rule by it.
pub fn broken(surface: Surface) -> BoxedStrategy<Broken> {
    if surface == Surface::Frame {
        return (valid(surface), any::<prop::sample::Index>(), 1..HEADER)
            .prop_map(|(valid, which, cut)| {
                let length = valid.payload.body.len();
                let mut breaks = vec![
                    (Change::Put(0, vec![7]), Rule::FrameUnknownType),
                    (Change::Put(0, vec![255]), Rule::FrameUnknownType),
                    (Change::Nothing, Rule::FrameShort),
                    (Change::Json(truncate(length - cut)), Rule::FrameShort),
                ];
                if valid.kind.ends_with("finish") {
                    let more = Change::AppendBytes(vec![0]);
                    breaks.push((more, Rule::FrameFinishWithPayload));
                }
                one_of(valid, breaks, which)
            })
            .boxed();
    }
    let forms = forms(surface).into_iter().map(move |form| {
        let body = form.shape;
        (form.valid(), any::<prop::sample::Index>())
            .prop_map(move |(valid, which)| {
                let breaks = breaks_of(&valid.payload, body);
                one_of(valid, breaks, which)
            })
            .boxed()
    });
    Union::new(forms).boxed()
}

/// Bytes of any kind: random ones, text that looks like JSON, and payloads of `surface`, whole, broken, cut off or with
/// a byte changed.
pub fn bytes(surface: Surface) -> BoxedStrategy<Vec<u8>> {
    let looks = r#"[\x00-\x0b]?[\[\]{}":,0-9eE+\-. \\utfnsr\u{feff}é]{0,60}"#;
    let damaged = (
        valid(surface),
        any::<prop::sample::Index>(),
        any::<u8>(),
        any::<bool>(),
    )
        .prop_map(|(valid, at, byte, cut)| {
            let mut bytes = valid.bytes();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                bytes.truncate(if cut { at } else { bytes.len() });
            }
            bytes
        });
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        looks.prop_map(String::into_bytes),
        valid(surface).prop_map(|valid| valid.bytes()),
        broken(surface).prop_map(|broken| broken.bytes()),
        damaged,
    ]
    .boxed()
}

/// One form that payloads of a surface have.
#[derive(Debug, Clone, Copy)]
struct Form {
    first: Option<u8>,
    /// What it is; none where its JSON says so by its `type`.
    kind: Option<&'static str>,
    /// What stands behind the first byte; none where nothing there is read.
    shape: Option<&'static Shape>,
}

impl Form {
    fn json(first: Option<u8>, kind: Option<&'static str>, shape: &'static Shape) -> Form {
        Form {
            first,
            kind,
            shape: Some(shape),
        }
    }

    fn valid(self) -> BoxedStrategy<Valid> {
        let (first, kind) = (self.first, self.kind);
        let body = match self.shape {
            Some(shape) => text::of(shape).prop_map(String::into_bytes).boxed(),
            None => prop_oneof![
                2 => Just(Vec::new()),
                1 => prop::collection::vec(any::<u8>(), 1..6),
            ]
            .boxed(),
        };
        let tagged = self.shape.filter(|_| kind.is_none());
        body.prop_map(move |body| Valid {
            kind: kind.or_else(|| kind_of(tagged?, &body)).unwrap_or_default(),
            payload: Payload { first, body },
        })
        .boxed()
    }
}

/// The kind that a tagged object says that it is.
fn kind_of(shape: &'static Shape, body: &[u8]) -> Option<&'static str> {
    let Shape::Tagged(tagged) = shape else {
        return None;
    };
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let mut kinds = tagged.variants.iter().map(|(kind, _)| *kind);
    kinds.find(|kind| value[tagged.tag] == **kind)
}

/// The forms of a surface that has JSON.
fn forms(surface: Surface) -> Vec<Form> {
    let profile = Profile::scope();
    match surface {
        Surface::Frame => Vec::new(),
        Surface::RunResponse => RunKind::ALL.iter().map(|kind| run_form(*kind)).collect(),
        Surface::BeginResponse => {
            let form = |kind: &BeginKind| Form {
                first: Some(profile.begin_responses.byte(*kind)),
                kind: Some(kind.name()),
                shape: match kind {
                    BeginKind::Begun | BeginKind::Error => Some(&Shape::Any),
                    BeginKind::Chunk => Some(&chunk::CHUNK),
                    BeginKind::Active => None,
                    BeginKind::Inactive => Some(&Shape::AnyObject),
                },
            };
            BeginKind::ALL.iter().map(form).collect()
        }
        Surface::PathRunResponse => {
            use path_run::PathRunKind::{Chunk, Error};
            vec![
                Form::json(Some(0), Some(Chunk.name()), &path_run::PATH_CHUNK),
                Form::json(Some(1), Some(Error.name()), &Shape::Any),
            ]
        }
        Surface::PathRunRequest => vec![Form::json(None, Some("request"), &path_run::REQUEST)],
        Surface::Chunk => vec![Form::json(None, None, &chunk::CHUNK)],
        Surface::AgentEvent => vec![Form::json(None, None, EventRevision::Document.shape())],
    }
}

fn run_form(kind: RunKind) -> Form {
    let shape: Option<&'static Shape> = match kind.refusal() {
        Some(RefusalKind::Mode) => Some(&run::REFUSAL_WITH_MODE),
        Some(_) => Some(&run::REFUSAL),
        None => match kind {
            RunKind::Id => Some(&run::ID),
            RunKind::Chunk => Some(&chunk::CHUNK),
            RunKind::Inactive => Some(&Shape::AnyObject),
            RunKind::Active => None,
            _ => Some(&Shape::Any),
        },
    };
    Form {
        first: Some(kind.byte()),
        kind: Some(kind.name()),
        shape,
    }
}

/// Every change of a payload with JSON that breaks one rule.
fn breaks_of(payload: &Payload, shape: Option<&'static Shape>) -> Vec<(Change, Rule)> {
    let mut all = Vec::new();
    match payload.first {
        Some(_) => {
            all.push((Change::Nothing, Rule::PayloadEmpty));
            all.extend(
                [10, 127, 255].map(|byte| (Change::FirstByte(byte), Rule::PayloadUnknownFirstByte)),
            );
        }
        None => all.push((Change::Nothing, Rule::JsonSyntax)),
    }
    if let (Some(shape), Ok(text)) = (shape, std::str::from_utf8(&payload.body)) {
        all.push((Change::AppendBytes(vec![0xff]), Rule::JsonEncoding));
        let mutations = breaks::of(shape, text).into_iter();
        all.extend(mutations.map(|(mutation, rule)| (Change::Json(mutation), rule)));
    }
    all
}

/// The first of these breaks, from a place on, that can be made.
fn one_of(valid: Valid, breaks: Vec<(Change, Rule)>, from: prop::sample::Index) -> Broken {
    let start = from.index(breaks.len());
    let mut in_turn = breaks.iter().cycle().skip(start).take(breaks.len());
    let made = in_turn.find_map(|(change, rule)| {
        let bytes = change.apply(&valid.payload).ok()?;
        Some((change.clone(), *rule, bytes))
    });
    // The change to nothing can always be made, and stands in every list.
    let (change, rule, bytes) = made.unwrap_or((Change::Nothing, Rule::PayloadEmpty, Vec::new()));
    Broken {
        valid,
        change,
        rule,
        bytes,
    }
}

fn truncate(bytes: usize) -> diverge_protocol::wire::mutate::Mutation {
    diverge_protocol::wire::mutate::Mutation::Truncate(bytes)
}
