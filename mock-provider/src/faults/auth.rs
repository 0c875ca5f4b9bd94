//! Faults of a connection's first credential, and of what comes before it.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use diverge_protocol::wire::{Frame, FrameType, credential_payload};

use super::transport::hang_up;
use crate::credential;
use crate::fault::{
    Fault, Interceptor, Step, after, before, fault, lose, on, on_input, replace, rewrite,
};
use crate::policy::{ClientId, Input, Output, RunId};
use crate::view::{Flow, Message, Part, Peer, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "credential-acknowledged",
        "auth.accepted-silently",
        "answers a credential",
        || {
            before(
                Flow::FromClient,
                |message| message.part == Part::Credential,
                |message| vec![message.tell_client(FrameType::Response, 0, vec![0])],
            )
        },
    ),
    fault(
        "credential-returned",
        "auth.accepted-silently",
        "answers a good credential with one of its own",
        || {
            after(
                Flow::FromClient,
                |message| first(message) && good(message),
                |message| vec![message.tell_client(FrameType::Authorization, 0, vec![0])],
            )
        },
    ),
    fault(
        "locked-out",
        "auth.accepted-silently",
        "takes a good credential for a bad one after it has been guessed at three times",
        || {
            let mut guesses = 0;
            rewrite(
                Flow::FromClient,
                move |message| {
                    guesses += usize::from(text(message) == b"guessed");
                    let locked = first(message) && good(message) && guesses >= 3;
                    if locked {
                        guesses = 0;
                    }
                    locked
                },
                |_| Bytes::from_static(b"\0guessed"),
            )
        },
    ),
    fault(
        "credential-channel-checked",
        "frame.unread-fields-ignored",
        "rejects a credential whose channel field is not zero",
        || {
            replace(
                Flow::FromClient,
                |message| first(message) && message.frame.channel != 0,
                |message| hang_up(message.scope().0),
            )
        },
    ),
    fault(
        "credential-scope-opened",
        "frame.unread-fields-ignored",
        "takes the number in a credential's scope field for an open scope",
        || {
            let mut opened = HashMap::new();
            lose(Flow::FromClient, move |message| {
                let (client, scope) = message.scope();
                if first(message) && scope != 0 {
                    opened.insert(client, scope);
                }
                message.part == Part::Request && opened.get(&client) == Some(&scope)
            })
        },
    ),
    fault(
        "empty-credential-answered",
        "auth.empty-credential",
        "answers the empty credential with a finish before it rejects it",
        || {
            before(
                Flow::FromClient,
                |message| first(message) && message.frame.payload[..] == [0],
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "any-credential",
        "auth.rejected-closes",
        "accepts every unbrokered credential",
        || accepting(|_, given| given.first() == Some(&0)),
    ),
    fault(
        "long-credential-dropped",
        "auth.rejected-closes",
        "drops a credential of more than 64 KiB and waits for another",
        || {
            lose(Flow::FromClient, |message| {
                first(message) && message.frame.payload.len() > 1 << 16
            })
        },
    ),
    fault(
        "credential-beginning-accepted",
        "auth.rejected-closes",
        "compares no more of the credential than the client gave",
        || {
            accepting(|good, given| match given {
                [0, given @ ..] => !given.is_empty() && good.starts_with(given),
                _ => false,
            })
        },
    ),
    fault(
        "credential-excess-accepted",
        "auth.rejected-closes",
        "accepts the credential with a letter behind it",
        || {
            accepting(|good, given| match given {
                [0, given @ .., b'a'..=b'z'] => given == good,
                _ => false,
            })
        },
    ),
    fault(
        "credential-case-folded",
        "auth.rejected-closes",
        "compares the credential without regard to case",
        || {
            accepting(|good, given| {
                given.first() == Some(&0) && given[1..].eq_ignore_ascii_case(good)
            })
        },
    ),
    fault(
        "credential-trimmed",
        "auth.rejected-closes",
        "trims white space off the credential",
        || accepting(|good, given| given.first() == Some(&0) && given[1..].trim_ascii() == good),
    ),
    fault(
        "credential-zero-terminated",
        "auth.rejected-closes",
        "reads the credential up to a zero byte",
        || {
            accepting(|good, given| match given {
                [0, given @ ..] => given.split(|byte| *byte == 0).next() == Some(good),
                _ => false,
            })
        },
    ),
    fault(
        "rejected-request-finished",
        "auth.rejected-silently",
        "finishes a request behind a wrong credential before it ends the connection",
        || {
            let mut wrong: HashSet<ClientId> = HashSet::new();
            on(Flow::FromClient, move |message, next| {
                let client = message.scope().0;
                if first(message) && text(message) == b"guest" && message.frame.scope == 0 {
                    wrong.insert(client);
                } else if message.part == Part::Request && wrong.remove(&client) {
                    next.push(message.finish());
                    next.extend(hang_up(client));
                } else {
                    next.push(message.pass());
                }
            })
        },
    ),
    fault(
        "rejected-credential-forgets-scope",
        "scope.connections-independent",
        "forgets the run of the scope that a wrong credential names, whosever it is",
        || forgets_named_scope(|message| first(message) && !good(message)),
    ),
    fault(
        "unknown-mode-accepted",
        "auth.unknown-mode-rejected",
        "reads a credential alike behind every mode byte above 1",
        || {
            accepting(
                |good, given| matches!(given, [mode, given @ ..] if *mode > 1 && given == good),
            )
        },
    ),
    fault(
        "reserved-mode-accepted",
        "auth.unknown-mode-rejected",
        "reads a credential alike behind the mode byte 1",
        || accepting(|good, given| matches!(given, [1, given @ ..] if given == good)),
    ),
    fault(
        "missing-mode-dropped",
        "auth.missing-mode-rejected",
        "drops an authorization without a byte and waits for another",
        || {
            lose(Flow::FromClient, |message| {
                first(message) && message.frame.payload.is_empty()
            })
        },
    ),
    fault(
        "invalid-utf8-dropped",
        "auth.invalid-utf8-rejected",
        "drops a credential that does not begin as UTF-8 and waits for another",
        || {
            lose(Flow::FromClient, |message| {
                let invalid = |error: std::str::Utf8Error| error.valid_up_to() == 0;
                first(message) && std::str::from_utf8(text(message)).is_err_and(invalid)
            })
        },
    ),
    fault(
        "invalid-utf8-skipped",
        "auth.invalid-utf8-rejected",
        "reads a credential without the bytes that are not UTF-8",
        || {
            accepting(|good, given| match given {
                [0, given @ ..] => {
                    let valid: String = given.utf8_chunks().map(|chunk| chunk.valid()).collect();
                    valid.as_bytes() == good
                }
                _ => false,
            })
        },
    ),
    fault(
        "speaks-first",
        "auth.nothing-before-credential",
        "sends a frame as soon as a client connects",
        || {
            on_input(|_, input, next| {
                let client = match &input {
                    Input::ClientOpened(client) => Some(*client),
                    _ => None,
                };
                next.push(input.into());
                let hello = Frame::new(FrameType::Response, 0, 0, &b"hello"[..]).encode();
                next.extend(client.map(|client| Output::ToClient(client, hello).into()));
            })
        },
    ),
    fault(
        "early-request-served",
        "auth.nothing-before-credential",
        "serves a request on a connection that has given no credential",
        || {
            before(
                Flow::FromClient,
                |message| message.part == Part::Request && is_first_frame(message),
                trust,
            )
        },
    ),
    fault(
        "early-request-finished",
        "auth.nothing-before-credential",
        "finishes a request before the credential as it ends the connection",
        || {
            before(
                Flow::FromClient,
                |message| message.part == Part::Request && is_first_frame(message),
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "early-request-kept",
        "auth.nothing-before-credential",
        "keeps a request until the credential has come",
        || {
            let mut kept: HashMap<ClientId, Step> = HashMap::new();
            on(Flow::FromClient, move |message, next| {
                let client = message.scope().0;
                if message.part == Part::Request && is_first_frame(message) {
                    kept.insert(client, message.pass());
                    return;
                }
                next.push(message.pass());
                if first(message) {
                    next.extend(kept.remove(&client));
                }
            })
        },
    ),
    fault(
        "early-request-dropped",
        "auth.request-before-credential-closes",
        "drops a run request before the credential and keeps the connection",
        || {
            lose(Flow::FromClient, |message| {
                message.part == Part::Request
                    && is_first_frame(message)
                    && !message.frame.payload.is_empty()
            })
        },
    ),
    fault(
        "early-channel-finished",
        "auth.nothing-before-credential",
        "finishes a channel request that comes before the credential",
        || {
            before(
                Flow::FromClient,
                |message| message.part == Part::Ask && is_first_frame(message),
                |message| {
                    let channel = message.frame.channel;
                    vec![message.tell_client(
                        FrameType::ChannelResponseFinish,
                        channel,
                        Bytes::new(),
                    )]
                },
            )
        },
    ),
    fault(
        "first-frame-trusted",
        "auth.nothing-before-credential",
        "takes a response as a connection's first frame for its credential",
        || {
            replace(
                Flow::FromClient,
                |message| message.frame.kind == FrameType::Response && is_first_frame(message),
                trust,
            )
        },
    ),
    fault(
        "pipelined-request-lost",
        "auth.pipelined",
        "loses a run request that follows the credential at once",
        || {
            lose(Flow::FromClient, |message| {
                let frames = message
                    .view
                    .client(message.scope().0)
                    .map(|client| client.frames);
                message.part == Part::Request
                    && !message.frame.payload.is_empty()
                    && frames == Some(1)
            })
        },
    ),
    fault(
        "pipelined-requests-lost",
        "auth.pipelined",
        "loses the third request of a connection",
        || {
            lose(Flow::FromClient, |message| {
                let frames = message
                    .view
                    .client(message.scope().0)
                    .map(|client| client.frames);
                message.part == Part::Request && frames == Some(3)
            })
        },
    ),
];

/// Whether it is the first credential of its connection.
pub(super) fn first(message: &Message<'_>) -> bool {
    message.part == Part::Credential && !given(message.view, message.scope().0)
}

/// Whether the client has given a credential.
pub(super) fn given(view: &View, client: ClientId) -> bool {
    view.client(client).is_some_and(|it| it.credentials > 0)
}

/// Whether the credential is the one that is accepted.
pub(super) fn good(message: &Message<'_>) -> bool {
    credential::accepted(&message.frame.payload, &message.view.settings)
}

/// What stands behind a credential's mode byte.
fn text<'a>(message: &'a Message<'_>) -> &'a [u8] {
    match message.part {
        Part::Credential => message.body(),
        _ => &[],
    }
}

fn is_first_frame(message: &Message<'_>) -> bool {
    let client = message.view.client(message.scope().0);
    client.is_some_and(|client| client.frames == 0)
}

/// The connection is taken for one that has given the right credential.
fn trust(message: &Message<'_>) -> Vec<Step> {
    let payload = credential_payload(&message.view.settings.credential);
    let frame = Frame::new(FrameType::Authorization, 0, 0, payload);
    vec![Input::ClientBinary(message.scope().0, frame.encode()).into()]
}

/// Accepts also a first credential of which, beside the right one, `taken` holds.
fn accepting(taken: fn(&[u8], &[u8]) -> bool) -> Interceptor {
    rewrite(
        Flow::FromClient,
        move |message| {
            let good = message.view.settings.credential.as_bytes();
            first(message) && taken(good, &message.frame.payload)
        },
        |message| credential_payload(&message.view.settings.credential).into(),
    )
}

/// Forgets the run of another client whose number stands in the scope field of such a frame: what its proxy says from
/// then on is lost.
pub(super) fn forgets_named_scope(
    when: impl Fn(&Message<'_>) -> bool + Send + 'static,
) -> Interceptor {
    let mut owners: HashMap<u32, ClientId> = HashMap::new();
    let mut forgotten: HashSet<RunId> = HashSet::new();
    on_input(move |view, input, next| {
        if let Some(message) = view.read_input(&input) {
            let (client, scope) = message.scope();
            match message.peer {
                Peer::Proxy(run) if forgotten.contains(&run) => return,
                Peer::Client(_) if message.part == Part::Request => {
                    owners.insert(scope, client);
                }
                Peer::Client(_) if scope != 0 && when(&message) => {
                    let owner = owners.get(&scope).filter(|owner| **owner != client);
                    let run = owner.and_then(|owner| view.scope(*owner, scope)?.run);
                    forgotten.extend(run);
                }
                _ => {}
            }
        }
        next.push(input.into());
    })
}
