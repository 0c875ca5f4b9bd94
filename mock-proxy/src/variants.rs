//! Conforming variants: each takes a freedom that the protocol leaves, and must never be flagged.

use diverge_protocol::rules::Revision;
use diverge_protocol::wire::{Frame, FrameType};

use crate::answers;
use crate::fault::{
    Intercept, Interceptor, Role, Step, Variant, change_body, on, on_call, on_output, rewrite, tune,
};
use crate::faults::begins_after_one_that_failed;
use crate::policy::{Endpoint, Input, Output, Word};
use crate::view::{Flow, Part, View};

const SCOPE: &[Revision] = &[Revision::Scope];
const PATH: &[Revision] = &[Revision::Path];
const BOTH: &[Revision] = &[Revision::Scope, Revision::Path];

const fn variant(
    name: &'static str,
    about: &'static str,
    revisions: &'static [Revision],
    build: fn() -> Interceptor,
) -> Variant {
    Variant {
        name,
        about,
        revisions,
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
    variant(
        "answers-delayed",
        "everything for the host is sent a turn later",
        BOTH,
        || Delay::of(|output| matches!(output, Output::Send(..) | Output::Close(_))),
    ),
    variant(
        "calls-delayed",
        "the agent server is called a turn later",
        BOTH,
        || Delay::of(|output| matches!(output, Output::Call(..) | Output::HangUp(_))),
    ),
    variant(
        "fates-delayed",
        "what is sent on channels is sent a turn later than what is sent on scopes",
        SCOPE,
        || {
            Delay::of(|output| match output {
                Output::Send(_, bytes) => Frame::decode(bytes.clone()).is_ok_and(|frame| {
                    matches!(
                        frame.kind,
                        FrameType::ChannelResponse | FrameType::ChannelResponseFinish
                    )
                }),
                Output::Close(_) => true,
                _ => false,
            })
        },
    ),
    variant(
        "active-before-fates",
        "a loop's beginning is told before its messages are answered",
        SCOPE,
        || tune(|settings| settings.active_before_fates = true),
    ),
    variant(
        "delivery-awaited",
        "the next loop starts only once the message that was offered to the last one is answered",
        SCOPE,
        || tune(|settings| settings.awaits_delivery = true),
    ),
    variant(
        "dequeue-asks-while-starting",
        "a dequeue that comes while a run is being started is put to the agent server as well",
        SCOPE,
        || tune(|settings| settings.asks_while_starting = true),
    ),
    variant(
        "malformed-dropped",
        "an event whose data is no JSON is left out",
        BOTH,
        || tune(|settings| settings.drops_malformed = true),
    ),
    variant(
        "begins-once",
        "a begin after one that failed is refused",
        SCOPE,
        || tune(|settings| settings.begins_again = false),
    ),
    variant(
        "begin-after-refusal-unserved",
        "a begin after one that failed gets the bare finish",
        SCOPE,
        || {
            on(Flow::FromHost, |message, next| {
                next.push(if begins_after_one_that_failed(message) {
                    message.finish()
                } else {
                    message.pass()
                });
            })
        },
    ),
    variant(
        "values-spaced",
        "the values of a program without secrets are spelled with white space",
        SCOPE,
        || tune(|settings| settings.values = bytes::Bytes::from_static(b" {\n} ")),
    ),
    variant(
        "error-null",
        "the proxy's own errors are null",
        BOTH,
        || tune(|settings| settings.error = Some("null")),
    ),
    variant(
        "error-text",
        "the proxy's own errors are a string",
        BOTH,
        || tune(|settings| settings.error = Some("\"no \\u0002\"")),
    ),
    variant(
        "error-number",
        "the proxy's own errors are a number",
        BOTH,
        || tune(|settings| settings.error = Some("-1.5e300")),
    ),
    variant(
        "error-list",
        "the proxy's own errors are a list, spelled with white space",
        BOTH,
        || tune(|settings| settings.error = Some(" [ [ ] , {\"kind\":false}, null ]\n")),
    ),
    variant(
        "errors-respelled",
        "errors are written anew, with white space and their members in order",
        SCOPE,
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Error,
                |message| {
                    let error: serde_json::Value =
                        serde_json::from_slice(message.body()).unwrap_or_default();
                    let error = serde_json::to_vec_pretty(&error).unwrap_or_default();
                    [&message.frame.payload[..1], &error].concat().into()
                },
            )
        },
    ),
    variant(
        "begun-spaced",
        "the list behind begun is spelled with white space",
        SCOPE,
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Begun,
                |message| {
                    let list = [b"\n\t", message.body(), b" \r\n"].concat();
                    [&message.frame.payload[..1], &list].concat().into()
                },
            )
        },
    ),
    variant(
        "register-respelled",
        "the body of a register is spelled with white space and an escape",
        SCOPE,
        || {
            change_body(Endpoint::Register, |_, body| {
                let arguments = body.strip_prefix(b"{\"arguments\":")?.strip_suffix(b"}")?;
                Some([b" {\n\"argu\\u006dents\" :\t", arguments, b" }\r\n"].concat())
            })
        },
    ),
    variant(
        "run-respelled",
        "the body of a run is written anew, with white space and its members in order",
        SCOPE,
        || {
            change_body(Endpoint::Run, |_, body| {
                let body: serde_json::Value = serde_json::from_slice(body).ok()?;
                serde_json::to_vec_pretty(&body).ok()
            })
        },
    ),
    variant(
        "content-type-with-charset",
        "the content type of calls names a character set",
        BOTH,
        || {
            on_output(|_, output, next| {
                next.push(match output {
                    Output::Call(id, mut call) => {
                        call.content_type = "application/json; charset=utf-8";
                        Output::Call(id, call).into()
                    }
                    other => other.into(),
                });
            })
        },
    ),
    variant(
        "unread-fields-filled",
        "the channel field of responses and finishes is not zero",
        SCOPE,
        || {
            on(Flow::ToHost, |message, next| {
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
        "closes-without-close-frame",
        "a credential is answered by the end of the TCP connection",
        SCOPE,
        || {
            on_output(|_, output, next| {
                next.push(match output {
                    Output::Close(host) => Output::Drop(host).into(),
                    other => other.into(),
                });
            })
        },
    ),
    variant(
        "second-message-leaves",
        "a second binary message ends the exchange",
        PATH,
        || tune(|settings| settings.second_message_leaves = true),
    ),
    variant(
        "request-read",
        "a request for a run that is no JSON is refused by the proxy itself",
        PATH,
        || {
            on_call(Endpoint::Run, |_, id, call, next| {
                next.push(if answers::is_json(&call.body) {
                    Output::Call(id, call).into()
                } else {
                    Input::Agent(id, Word::Failed("not read".into())).into()
                });
            })
        },
    ),
    variant(
        "refuses-by-itself",
        "runs beside a run or ahead of a register, and registers behind one, are refused without asking anybody",
        PATH,
        || {
            on_output(|view, output, next| {
                next.push(match output {
                    Output::Call(id, call) if is_hopeless(view, call.endpoint) => {
                        let (status, body) = (409, "{\"kind\":\"known\"}".into());
                        Input::Agent(id, Word::Answered { status, body }).into()
                    }
                    other => other.into(),
                });
            })
        },
    ),
    variant(
        "null-arguments-unread",
        "a begin whose arguments are null is taken for one without arguments",
        SCOPE,
        || {
            rewrite(
                Flow::FromHost,
                |message| message.frame.payload[..] == *b"\0{\"arguments\":null}",
                |_| "\0{}".into(),
            )
        },
    ),
    variant(
        "text-leaves",
        "a text message ahead of the ask ends the exchange",
        PATH,
        || tune(|settings| settings.text_leaves = true),
    ),
];

/// Whether an agent server that conforms refuses a call of that endpoint.
fn is_hopeless(view: &View, endpoint: Endpoint) -> bool {
    let mut registers = view.calls_of(Endpoint::Register);
    let registered = registers.any(|(_, it)| it.status.is_some_and(answers::is_success));
    let mut runs = view.calls_of(Endpoint::Run);
    match endpoint {
        Endpoint::Run => !registered || runs.any(|(_, run)| run.streams && !run.over),
        Endpoint::Register => registered,
        _ => false,
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
