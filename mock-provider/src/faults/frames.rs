//! Faults of frames: of those that are dropped, and of the provider's own.

use std::collections::HashMap;

use bytes::Bytes;
use diverge_protocol::wire::{Frame, FrameType};

use super::transport::{hang_up, running};
use crate::fault::{
    Fault, Interceptor, Step, after, before, fault, lose, on, on_input, replace, rewrite,
};
use crate::policy::{ClientId, Input, Output};
use crate::view::{Flow, Message, Part, RunView, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "unknown-type-closes",
        "frame.unknown-type-dropped",
        "ends a connection without runs that gets a frame of an unknown type with all low bits set",
        || {
            on_unknown_type(|view, client, bytes| {
                let idle = view.client(client).is_some_and(|it| it.runs.is_empty());
                (idle && bytes[0] & 7 == 7 && accepted(view, client)).then(|| hang_up(client))
            })
        },
    ),
    fault(
        "unknown-type-ends-run",
        "frame.unknown-type-dropped",
        "ends a run whose scope gets a frame of an unknown type",
        || {
            on_unknown_type(|view, client, bytes| {
                let scope = u32::from_be_bytes(bytes[1..5].try_into().ok()?);
                let run = view.scope(client, scope).filter(|run| running(run))?.run?;
                Some(vec![Input::ProxyClosed(run).into()])
            })
        },
    ),
    fault(
        "type-masked",
        "frame.unknown-type-dropped",
        "reads the low three bits of a type byte alone",
        || {
            on_unknown_type(|view, client, bytes| {
                let mut masked = bytes.to_vec();
                masked[0] &= 7;
                // What it takes for a ping it knows, and a first frame must still be a credential.
                (bytes[0] != 9 && accepted(view, client))
                    .then(|| vec![Input::ClientBinary(client, masked.into()).into()])
            })
        },
    ),
    fault(
        "ping-answered",
        "frame.server-types",
        "answers a frame of type 9 with one of type 10",
        || {
            on_unknown_type(|_, client, bytes| {
                let mut pong = bytes.to_vec();
                pong[0] = 10;
                (bytes[0] == 9).then(|| vec![Output::ToClient(client, pong.into()).into()])
            })
        },
    ),
    fault(
        "server-type-closes",
        "frame.wrong-direction-dropped",
        "ends a connection that gets a response or a finish on a scope that is not open",
        || {
            replace(
                Flow::FromClient,
                |message| {
                    is_server_type(message)
                        && message.run.is_none()
                        && accepted(message.view, message.scope().0)
                },
                |message| hang_up(message.scope().0),
            )
        },
    ),
    fault(
        "client-finish-obeyed",
        "frame.wrong-direction-dropped",
        "ends a run that its client finishes",
        || {
            replace(
                Flow::FromClient,
                |message| message.is(Part::Finish, running),
                |message| {
                    let run = message.run.and_then(|run| run.run);
                    run.map(|run| Input::ProxyClosed(run).into())
                        .into_iter()
                        .collect()
                },
            )
        },
    ),
    fault(
        "client-response-relayed",
        "frame.wrong-direction-dropped",
        "carries a client's response on to the proxy",
        || {
            replace(
                Flow::FromClient,
                |message| {
                    message.frame.kind == FrameType::Response && message.run.is_some_and(running)
                },
                |message| {
                    let scope = message.view.settings.begin_scope;
                    let frame =
                        Frame::new(FrameType::Response, scope, 0, message.frame.payload.clone());
                    let run = message.run.and_then(|run| run.run);
                    run.map(|run| Output::ToProxy(run, frame.encode()).into())
                        .into_iter()
                        .collect()
                },
            )
        },
    ),
    fault(
        "request-channel-checked",
        "frame.unread-fields-ignored",
        "drops a request whose channel field is above 65,535",
        || {
            lose(Flow::FromClient, |message| {
                message.part == Part::Request && message.frame.channel > 0xffff
            })
        },
    ),
    fault(
        "request-channel-occupied",
        "frame.unread-fields-ignored",
        "takes the number in a request's channel field for an open channel",
        || {
            let mut occupied = HashMap::new();
            lose(Flow::FromClient, move |message| {
                if message.part == Part::Request {
                    occupied.insert(message.scope(), message.frame.channel);
                }
                message.part == Part::Ask
                    && message.frame.channel != 0
                    && occupied.get(&message.scope()) == Some(&message.frame.channel)
            })
        },
    ),
    fault(
        "scope-little-endian",
        "frame.header",
        "names scope 0x01020304 in little-endian order",
        || {
            replace(
                Flow::ToClient,
                |message| message.frame.scope.to_be_bytes() == [1, 2, 3, 4],
                |message| {
                    vec![message.with_frame(Frame {
                        scope: message.frame.scope.swap_bytes(),
                        ..message.frame.clone()
                    })]
                },
            )
        },
    ),
    fault(
        "channel-little-endian",
        "frame.header",
        "names channel 0x01020304 in little-endian order when it answers",
        || {
            replace(
                Flow::ToClient,
                |message| {
                    matches!(message.part, Part::Answer | Part::AnswerFinish)
                        && message.frame.channel.to_be_bytes() == [1, 2, 3, 4]
                },
                |message| {
                    vec![message.with_frame(Frame {
                        channel: message.frame.channel.swap_bytes(),
                        ..message.frame.clone()
                    })]
                },
            )
        },
    ),
    fault(
        "stop-reason-returned",
        "frame.finish-empty",
        "returns the reason that a stop gave with the finish",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Finish && stop_reason(message).is_some(),
                |message| stop_reason(message).unwrap_or_default(),
            )
        },
    ),
    fault(
        "unreadable-ask-returned",
        "frame.finish-empty",
        "returns a long channel request that it cannot read with the channel's finish",
        || {
            let ask = |message: &Message<'_>| {
                let asks = &message.run?.client_channels;
                asks.get(&message.frame.channel)
                    .filter(|ask| ask.len() > 64 && ask[0] > 0xf0)
                    .cloned()
            };
            rewrite(
                Flow::ToClient,
                move |message| message.part == Part::AnswerFinish && ask(message).is_some(),
                move |message| ask(message).unwrap_or_default(),
            )
        },
    ),
    fault(
        "unknown-scope-answered",
        "frame.unknown-scope-dropped",
        "finishes a channel request, if it is no stop, on a scope that was never opened",
        || {
            replace(
                Flow::FromClient,
                |message| {
                    message.part == Part::Ask
                        && message.run.is_none()
                        && !is_stop(&message.frame)
                        && accepted(message.view, message.scope().0)
                },
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
        "unknown-scope-closes",
        "frame.unknown-scope-dropped",
        "ends a connection that gets a channel answer on a scope that was never opened",
        || {
            replace(
                Flow::FromClient,
                |message| {
                    matches!(message.part, Part::Answer | Part::AnswerFinish)
                        && message.run.is_none()
                        && accepted(message.view, message.scope().0)
                },
                |message| hang_up(message.scope().0),
            )
        },
    ),
    fault(
        "unknown-scope-stop-kept",
        "frame.unknown-scope-dropped",
        "keeps a stop on a scope that is not open yet until it is",
        || {
            let mut kept: HashMap<(ClientId, u32), Step> = HashMap::new();
            on(Flow::FromClient, move |message, next| {
                let unopened = message.run.is_none();
                if unopened && is_stop(&message.frame) && accepted(message.view, message.scope().0)
                {
                    kept.insert(message.scope(), message.pass());
                    return;
                }
                next.push(message.pass());
                if message.part == Part::Request {
                    next.extend(kept.remove(&message.scope()));
                }
            })
        },
    ),
    fault(
        "finished-scope-finished-again",
        "frame.unknown-scope-dropped",
        "answers a channel request on a finished scope with the finish again",
        || {
            replace(
                Flow::FromClient,
                |message| message.is(Part::Ask, |run| run.finished),
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "stray-answer-ends-run",
        "frame.unknown-channel-dropped",
        "ends a run whose client answers on a channel that is not open",
        || {
            replace(
                Flow::FromClient,
                |message| is_stray(message, Part::Answer),
                |message| {
                    let run = message.run.and_then(|run| run.run);
                    run.map(|run| Input::ProxyClosed(run).into())
                        .into_iter()
                        .collect()
                },
            )
        },
    ),
    fault(
        "stray-finish-returned",
        "frame.unknown-channel-dropped",
        "returns the finish of a channel that neither side has open",
        || {
            before(
                Flow::FromClient,
                |message| {
                    let own =
                        |run: &RunView| run.client_channels.contains_key(&message.frame.channel);
                    is_stray(message, Part::AnswerFinish) && !message.run.is_some_and(own)
                },
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
        "client-cancels",
        "frame.unknown-channel-dropped",
        "lets a client cancel its own channel by a finish",
        || {
            before(
                Flow::FromClient,
                |message| {
                    let own =
                        |run: &RunView| run.client_channels.contains_key(&message.frame.channel);
                    is_stray(message, Part::AnswerFinish) && message.run.is_some_and(own)
                },
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
        "request-acknowledged",
        "frame.no-acknowledgement",
        "answers a run request at once with an empty response",
        || {
            after(
                Flow::FromClient,
                |message| message.part == Part::Request && !message.frame.payload.is_empty(),
                |message| vec![message.respond(Bytes::new())],
            )
        },
    ),
    fault(
        "enqueue-acknowledged",
        "frame.no-acknowledgement",
        "answers an enqueue at once with an empty answer",
        || {
            after(
                Flow::FromClient,
                |message| {
                    message.is(Part::Ask, running) && message.frame.payload.first() == Some(&8)
                },
                |message| {
                    let channel = message.frame.channel;
                    vec![message.tell_client(FrameType::ChannelResponse, channel, Bytes::new())]
                },
            )
        },
    ),
];

/// Whether the client has given a credential.
fn accepted(view: &View, client: ClientId) -> bool {
    view.client(client).is_some_and(|it| it.credentials > 0)
}

fn is_server_type(message: &Message<'_>) -> bool {
    matches!(
        message.frame.kind,
        FrameType::Response | FrameType::ResponseFinish
    )
}

fn is_stop(frame: &Frame) -> bool {
    frame.kind == FrameType::ChannelRequest && frame.payload.first() == Some(&0)
}

/// Whether it is such a frame for a channel that the provider has not open, in a run that goes on.
fn is_stray(message: &Message<'_>, part: Part) -> bool {
    message.is(part, |run| {
        running(run) && !run.asks.contains_key(&message.frame.channel)
    })
}

/// The body of a stop on the message's run, where that gives a reason.
fn stop_reason(message: &Message<'_>) -> Option<Bytes> {
    let asks = message.run?.client_channels.values();
    let mut bodies = asks
        .filter(|ask| ask.first() == Some(&0))
        .map(|ask| ask.slice(1..));
    bodies.find(|body| body.starts_with(b"{\"reason\""))
}

/// Puts these steps, where there are some, in place of a client's frame of an unknown type.
fn on_unknown_type(
    mut with: impl FnMut(&View, ClientId, &Bytes) -> Option<Vec<Step>> + Send + 'static,
) -> Interceptor {
    on_input(move |view, input, next| match &input {
        Input::ClientBinary(client, bytes)
            if bytes.len() >= 9 && FrameType::of(bytes[0]).is_none() =>
        {
            match with(view, *client, bytes) {
                Some(steps) => next.extend(steps),
                None => next.push(input.into()),
            }
        }
        _ => next.push(input.into()),
    })
}
