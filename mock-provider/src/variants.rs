//! Conforming variants: each takes a freedom that the protocol leaves, and must never be flagged.

use std::collections::HashMap;

use diverge_protocol::rules::Revision;
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel};
use diverge_protocol::wire::request::RunRequest;
use diverge_protocol::wire::run::RefusalKind;
use diverge_protocol::wire::{Frame, FrameType, Profile, credential_payload};
use serde_json::value::RawValue;

use crate::fault::{
    Intercept, Interceptor, Role, Step, Variant, lose, on, on_output, replace, rewrite, tune,
};
use crate::faults::volumes::second_run;
use crate::mend::{LISTS, lenient_bytes, refused, sizes};
use crate::policy::{Input, Output};
use crate::settings::EarlyStop;
use crate::view::{Flow, Message, Part, View};

const fn variant(name: &'static str, about: &'static str, build: fn() -> Interceptor) -> Variant {
    Variant {
        name,
        revisions: &[Revision::Scope],
        about,
        build,
    }
}

/// All variants.
pub fn all() -> impl Iterator<Item = &'static Variant> {
    VARIANTS.iter()
}

/// The variant of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Variant> {
    all().find(|variant| variant.name == name)
}

const VARIANTS: &[Variant] = &[
    variant("id-unicode", "ids outside ASCII", || {
        id(|id| format!("{{\"id\":\"бег-🏃-{id}\"}}"))
    }),
    variant("id-long", "ids of many kilobytes", || {
        id(|id| format!("{{\"id\":\"{}\"}}", id.repeat(512)))
    }),
    variant("id-escaped", "ids spelled with escapes", || {
        id(|id| format!("{{\"\\u0069d\":\"\\u0061\\n\\\"{id}\\/\"}}"))
    }),
    variant(
        "id-spaced",
        "ids in JSON with white space and a member that nobody knows",
        || id(|id| format!("\n{{ \"since\" : [1,{{}}] ,\t\"id\" : \"{id}\" }} \r\n")),
    ),
    variant(
        "answers-delayed",
        "everything for a client is sent a turn later",
        || Delay::of(|output| matches!(output, Output::ToClient(..) | Output::CloseClient(_))),
    ),
    variant(
        "proxy-delayed",
        "everything for a proxy is sent a turn later",
        || {
            Delay::of(|output| {
                matches!(
                    output,
                    Output::Dial(_) | Output::ToProxy(..) | Output::CloseProxy(_)
                )
            })
        },
    ),
    variant(
        "scopes-interleaved",
        "what is sent on scopes of even number is sent a turn later",
        || {
            Delay::of(|output| match output {
                Output::ToClient(_, bytes) => {
                    Frame::decode(bytes.clone()).is_ok_and(|frame| frame.scope % 2 == 0)
                }
                Output::CloseClient(_) => true,
                _ => false,
            })
        },
    ),
    variant(
        "stop-channel-finished",
        "a stop's own channel is finished before the scope",
        || tune(|settings| settings.finish_stop_channel = true),
    ),
    variant(
        "open-channels-finished",
        "channels that are still open are finished before the scope",
        || tune(|settings| settings.finish_open_channels = true),
    ),
    variant(
        "early-stop-acted-on",
        "a stop before the id ends the run at once",
        || tune(|settings| settings.early_stop = EarlyStop::ActedOn),
    ),
    variant(
        "stray-chunks-relayed",
        "a chunk that the proxy sends outside a loop is relayed",
        || tune(|settings| settings.relay_stray_chunks = true),
    ),
    variant(
        "disorder-ends",
        "a run whose proxy sends a word out of order ends",
        || tune(|settings| settings.end_on_disorder = true),
    ),
    variant(
        "begin-scope-high",
        "begin is asked on the highest scope number",
        || tune(|settings| settings.begin_scope = u32::MAX),
    ),
    variant(
        "channels-high",
        "the provider's channel numbers start at the highest",
        || tune(|settings| settings.first_channel = u32::MAX),
    ),
    variant(
        "lowest-free-channel",
        "the provider's channels get the lowest number that is free",
        || tune(|settings| settings.lowest_free_channel = true),
    ),
    variant(
        "proxy-closed-last",
        "the proxy's connection is closed after the run's finish is sent",
        || {
            let mut held = Vec::new();
            on_output(move |view, output, next| match &output {
                Output::CloseProxy(run) if view.run(*run).is_some_and(|run| !run.finished) => {
                    held.push(output.into());
                }
                _ => {
                    next.push(output.into());
                    next.append(&mut held);
                }
            })
        },
    ),
    variant(
        "closes-without-close-frame",
        "a client is rejected by the end of its TCP connection",
        || {
            on_output(|_, output, next| {
                next.push(match output {
                    Output::CloseClient(client) => Output::DropClient(client).into(),
                    other => other.into(),
                });
            })
        },
    ),
    variant(
        "strict-before-credential",
        "any frame before the credential ends the connection",
        || {
            on(Flow::FromClient, |message, next| {
                let early = message
                    .view
                    .client(message.scope().0)
                    .is_some_and(|client| client.frames == 0);
                if early && message.part != Part::Credential {
                    next.push(Input::ClientClosed(message.scope().0).into());
                    next.push(Output::CloseClient(message.scope().0).into());
                } else {
                    next.push(message.pass());
                }
            })
        },
    ),
    variant(
        "unanswered-bare",
        "a run whose proxy ends before it answered is finished bare",
        || Box::new(Bare::default()),
    ),
    variant(
        "active-strict",
        "an active with bytes behind it is no active",
        || {
            lose(Flow::FromProxy, |message| {
                message.part == Part::Active && !message.body().is_empty()
            })
        },
    ),
    variant(
        "empty-credential-accepted",
        "the empty credential is accepted as well",
        || {
            rewrite(
                Flow::FromClient,
                |message| {
                    message.part == Part::Credential
                        && message.frame.payload[..] == [0]
                        && message
                            .view
                            .client(message.scope().0)
                            .is_some_and(|client| client.credentials == 0)
                },
                |message| credential_payload(&message.view.settings.credential).into(),
            )
        },
    ),
    variant("error-null", "early errors are null", || {
        early_error("null")
    }),
    variant("error-text", "early errors are a string", || {
        early_error("\"no \\u0006\"")
    }),
    variant("error-number", "early errors are a number", || {
        early_error("-1.5e300")
    }),
    variant("error-list", "early errors are a list", || {
        early_error("[[],{\"kind\":\"denied\"},null]")
    }),
    variant(
        "error-spaced",
        "early errors are spelled with white space",
        || early_error(" { \"kind\" : false } \n"),
    ),
    variant(
        "refusal-spaced",
        "refusals are spelled with white space and escapes, mode first",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Refusal,
                |message| {
                    respelled(message)
                        .unwrap_or_else(|| message.frame.payload.to_vec())
                        .into()
                },
            )
        },
    ),
    variant(
        "begin-respelled",
        "the begin request is spelled with white space and escapes",
        || {
            rewrite(
                Flow::ToProxy,
                |message| message.part == Part::Request,
                |message| {
                    let first = message.frame.payload.first().copied().unwrap_or_default();
                    let arguments = message
                        .run
                        .and_then(|run| run.arguments.as_deref())
                        .unwrap_or("null");
                    let body = format!(" {{\n\t\"argu\\u006dents\" : {arguments} }} \r\n");
                    [&[first], body.as_bytes()].concat().into()
                },
            )
        },
    ),
    variant(
        "unread-fields-filled",
        "the channel field of responses and finishes is not zero",
        || {
            on(Flow::ToClient, |message, next| {
                let unread = matches!(
                    message.frame.kind,
                    FrameType::Response | FrameType::ResponseFinish
                );
                let channel = if unread {
                    0xdead_beef
                } else {
                    message.frame.channel
                };
                next.push(message.with_frame(Frame {
                    channel,
                    ..message.frame.clone()
                }));
            })
        },
    ),
    variant(
        "null-list-unreadable",
        "a list that is null makes a request unreadable",
        || {
            replace(
                Flow::FromClient,
                |message| message.part == Part::Request && has_null_list(message.body()),
                |message| vec![message.with_payload("")],
            )
        },
    ),
    variant(
        "empty-enqueue-refused",
        "an enqueue without a block is answered with an error, and not carried on",
        || {
            replace(
                Flow::FromClient,
                |message| asks(message, ClientChannel::Enqueue) && is_empty_enqueue(message.body()),
                |message| {
                    let channel = message.frame.channel;
                    let error = b"\x02{\"kind\":\"no-content\"}".to_vec();
                    vec![
                        message.tell_client(FrameType::ChannelResponse, channel, error),
                        message.tell_client(FrameType::ChannelResponseFinish, channel, ""),
                    ]
                },
            )
        },
    ),
    variant(
        "schema-with-a-body-unreadable",
        "a schema request with bytes behind its first is finished and not carried on",
        || {
            replace(
                Flow::FromClient,
                |message| asks(message, ClientChannel::Schema) && !message.body().is_empty(),
                |message| {
                    let channel = message.frame.channel;
                    vec![message.tell_client(FrameType::ChannelResponseFinish, channel, "")]
                },
            )
        },
    ),
    variant(
        "schema-with-a-body-carried-whole",
        "a schema request is carried on with the bytes behind its first",
        || {
            rewrite(
                Flow::ToProxy,
                |message| {
                    let schema = Profile::scope().begin_channels.byte(BeginChannel::Schema);
                    message.part == Part::Ask && *message.frame.payload == [schema]
                },
                |message| {
                    let schema = Profile::scope().client_channels.byte(ClientChannel::Schema);
                    let mut asks = message
                        .run
                        .into_iter()
                        .flat_map(|run| run.client_channels.values());
                    let with_body = asks.find(|ask| ask.first() == Some(&schema) && ask.len() > 1);
                    let body = with_body.map(|ask| ask.slice(1..)).unwrap_or_default();
                    [&message.frame.payload[..], &body].concat().into()
                },
            )
        },
    ),
    variant(
        "asks-reordered",
        "what a client asks after the id is carried on a turn later, the latest first",
        || Box::new(Reorder::default()),
    ),
    variant(
        "byte-order-mark-skipped",
        "a byte order mark in front of a request's JSON is skipped",
        || lenient_bytes(|body| body.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec)),
    ),
    variant(
        "integral-numbers-taken",
        "a size written with a point or an exponent is read where it is whole",
        || {
            sizes(|size| {
                let number = size
                    .as_f64()
                    .filter(|it| size.is_f64() && it.fract() == 0.0);
                number
                    .filter(|it| (0.0..1.8e19).contains(it))
                    .map(|it| (it as u64).into())
            })
        },
    ),
    variant(
        "mode-mounted-once",
        "the volume that can be mounted is mounted once at a time",
        || second_run(RefusalKind::Mounted),
    ),
    variant(
        "fuse-unsupported",
        "runs with FUSE mounts are refused",
        || {
            refused(|request| {
                let mounts = LISTS[1..]
                    .iter()
                    .filter_map(|list| request.get(list)?.as_array());
                mounts.flatten().count() > 0
                    && RunRequest::decode_json(request.to_string().as_bytes()).is_ok()
            })
        },
    ),
];

/// Whether the client opens a channel that asks that in a run that has its id and no finish.
fn asks(message: &Message<'_>, kind: ClientChannel) -> bool {
    let first = Profile::scope().client_channels.byte(kind);
    message.is(Part::Ask, |run| run.id.is_some() && !run.finished)
        && message.frame.payload.first() == Some(&first)
}

/// Whether the content of an enqueue is an empty list.
fn is_empty_enqueue(json: &[u8]) -> bool {
    let body: serde_json::Value = serde_json::from_slice(json).unwrap_or_default();
    body["content"].as_array().is_some_and(Vec::is_empty)
}

/// Gives ids another JSON, made of the id.
fn id(json: fn(&str) -> String) -> Interceptor {
    rewrite(
        Flow::ToClient,
        |message| message.part == Part::Id,
        move |message| {
            let id = serde_json::from_slice::<serde_json::Value>(message.body()).ok();
            let id = id
                .as_ref()
                .and_then(|body| body["id"].as_str())
                .unwrap_or_default();
            format!("\0{}", json(id)).into()
        },
    )
}

/// Gives early errors that JSON.
fn early_error(json: &'static str) -> Interceptor {
    rewrite(
        Flow::ToClient,
        |message| message.part == Part::EarlyError,
        move |_| format!("\u{6}{json}").into(),
    )
}

/// A refusal with its members the other way round and its name spelled in escapes.
fn respelled(message: &Message<'_>) -> Option<Vec<u8>> {
    let refusal: serde_json::Value = serde_json::from_slice(message.body()).ok()?;
    let name: String = refusal["name"]
        .as_str()?
        .encode_utf16()
        .map(|unit| format!("\\u{unit:04X}"))
        .collect();
    let mode = refusal["mode"]
        .as_str()
        .map(|mode| format!("\"mode\" :\t\"{mode}\" ,"))
        .unwrap_or_default();
    let body = format!("\n{{ {mode} \"n\\u0061me\" : \"{name}\" }} ");
    Some([&message.frame.payload[..1], body.as_bytes()].concat())
}

/// Whether one of the request's optional lists is null.
fn has_null_list(json: &[u8]) -> bool {
    serde_json::from_slice::<HashMap<String, &RawValue>>(json).is_ok_and(|members| {
        let lists = ["volume_mounts", "fuse_file_mounts", "fuse_directory_mounts"];
        lists
            .iter()
            .filter_map(|list| members.get(*list))
            .any(|list| list.get() == "null")
    })
}

/// Finishes runs bare whose proxy went away, or finished begin, before it answered.
#[derive(Default)]
struct Bare {
    ended: bool,
}

impl Intercept<Role> for Bare {
    fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
        self.ended = match &input {
            Input::ProxyClosed(_) => true,
            other => view.read_input(other).is_some_and(|message| {
                message.flow == Flow::FromProxy && message.part == Part::Finish
            }),
        };
        next.push(input.into());
    }

    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        let error = view
            .read_output(&output)
            .is_some_and(|message| message.part == Part::EarlyError);
        if !(self.ended && error) {
            next.push(output.into());
        }
    }
}

/// Does some outputs a turn later, in their order.
struct Delay {
    holds: fn(&Output) -> bool,
    held: Vec<Step>,
}

impl Delay {
    fn of(holds: fn(&Output) -> bool) -> Interceptor {
        Box::new(Self {
            holds,
            held: Vec::new(),
        })
    }
}

impl Intercept<Role> for Delay {
    fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
        if input == Input::Woken {
            next.append(&mut self.held);
        } else {
            next.push(input.into());
        }
    }

    fn output(&mut self, _: &View, output: Output, next: &mut Vec<Step>) {
        if !(self.holds)(&output) {
            return next.push(output.into());
        }
        if self.held.is_empty() {
            next.push(Output::Wake.into());
        }
        self.held.push(output.into());
    }
}

/// Carries asks on a turn later and in the opposite order, but for the early ones, whose order is fixed.
#[derive(Default)]
struct Reorder {
    /// What is done now is done because of something that a client sent.
    for_client: bool,
    held: Vec<Step>,
}

impl Intercept<Role> for Reorder {
    fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
        if input == Input::Woken {
            next.extend(self.held.drain(..).rev());
        } else {
            self.for_client = matches!(input, Input::ClientBinary(..));
            next.push(input.into());
        }
    }

    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        let is_ask =
            |message: Message<'_>| message.flow == Flow::ToProxy && message.part == Part::Ask;
        if !self.for_client || !view.read_output(&output).is_some_and(is_ask) {
            return next.push(output.into());
        }
        if self.held.is_empty() {
            next.push(Output::Wake.into());
        }
        self.held.push(output.into());
    }
}
