//! Requests, and what goes over channels.

use proptest::prelude::*;

use super::text::{self, json, object};
use diverge_protocol::wire::channel::{DEQUEUE, ENQUEUE, READ, TRANSFER, WRITE};
use diverge_protocol::wire::profile::{
    ClientChannel, DequeueKind, EnqueueKind, RequestKind, SchemaKind,
};
use diverge_protocol::wire::request::{BEGIN, RUN};
use diverge_protocol::wire::{Profile, credential_payload};

/// Payloads of run requests that are well formed; whether their mounts make sense is another matter.
pub fn run_request() -> BoxedStrategy<Vec<u8>> {
    let payload = |json: String| {
        Profile::scope()
            .run_request
            .payload(RequestKind::Request, json.as_bytes())
    };
    text::of(&RUN).prop_map(payload).boxed()
}

/// Payloads of begin requests.
pub fn begin_request() -> BoxedStrategy<Vec<u8>> {
    let payload = |json: String| {
        Profile::scope()
            .begin_request
            .payload(RequestKind::Request, json.as_bytes())
    };
    text::of(&BEGIN).prop_map(payload).boxed()
}

/// What a channel's opener may ask, behind the first byte.
pub fn channel_ask(channel: ClientChannel) -> BoxedStrategy<Vec<u8>> {
    let json = |text: BoxedStrategy<String>| text.prop_map(String::into_bytes).boxed();
    match channel {
        ClientChannel::Stop | ClientChannel::Filetree | ClientChannel::Schema => {
            Just(Vec::new()).boxed()
        }
        ClientChannel::Postgres | ClientChannel::Daemon => any::<u32>()
            .prop_map(|id| id.to_be_bytes().to_vec())
            .boxed(),
        ClientChannel::Read => json(text::of(&READ)),
        ClientChannel::Write => json(text::of(&WRITE)),
        ClientChannel::Transfer => json(text::of(&TRANSFER)),
        ClientChannel::Enqueue => json(text::of(&ENQUEUE)),
        ClientChannel::Dequeue => json(text::of(&DEQUEUE)),
        ClientChannel::Secrets => json(object()),
    }
}

/// Answers on an enqueue channel.
pub fn enqueue_answer() -> BoxedStrategy<Vec<u8>> {
    let answers = &Profile::scope().enqueue_answers;
    prop_oneof![
        Just(answers.payload(EnqueueKind::Delivered, b"")),
        Just(answers.payload(EnqueueKind::Dequeued, b"")),
        json().prop_map(|error| answers.payload(EnqueueKind::Error, error.as_bytes())),
    ]
    .boxed()
}

/// Answers on a dequeue channel.
pub fn dequeue_answer() -> BoxedStrategy<Vec<u8>> {
    let answers = &Profile::scope().dequeue_answers;
    prop_oneof![
        Just(answers.payload(DequeueKind::Withdrawn, b"")),
        Just(answers.payload(DequeueKind::NothingWaited, b"")),
        json().prop_map(|error| answers.payload(DequeueKind::Error, error.as_bytes())),
    ]
    .boxed()
}

/// Answers on a schema channel.
pub fn schema_answer() -> BoxedStrategy<Vec<u8>> {
    let answers = &Profile::scope().schema_answers;
    (prop::sample::select(SchemaKind::ALL), json())
        .prop_map(|(kind, json)| answers.payload(kind, json.as_bytes()))
        .boxed()
}

/// Payloads of authorization frames.
pub fn credential() -> BoxedStrategy<Vec<u8>> {
    any::<String>()
        .prop_map(|credential| credential_payload(&credential))
        .boxed()
}
