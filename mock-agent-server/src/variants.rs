//! Conforming variants: each takes a freedom that the protocol leaves, and must never be flagged.

use std::collections::VecDeque;

use diverge_protocol::rules::Revision;
use diverge_protocol::wire::agent_server::Endpoint;
use diverge_protocol::wire::sse;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Head};
use crate::fault::{
    Intercept, Interceptor, Role, Step, Variant, after, answer_instead, before, lose, on_input,
    on_piece, replace, replace_reply, tune,
};
use crate::faults::{append, edit};
use crate::policy::{Input, Output, refusal};
use crate::settings::{Registration, Settings};
use crate::view::{Passing, Piece, View};

const fn variant(name: &'static str, about: &'static str, build: fn() -> Interceptor) -> Variant {
    Variant {
        name,
        revisions: &[Revision::Scope, Revision::Path],
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

const DEPENDENCIES: &str = r#"{"dependencies":[
    {"image":{"name":"a/b","digest":"sha256:00"},"memory":1,"disk":1,"arguments":null,"database":false},
    {"image":{"name":"a/b","digest":"sha256:00"},"memory":2,"disk":1,"arguments":{},"database":false,"permissions":["x"]}
]}"#;

const VARIANTS: &[Variant] = &[
    variant("delayed", "everything is done a turn later", || {
        Box::<Delayed>::default()
    }),
    variant(
        "head-late",
        "a loop's status comes only with its first chunk",
        || {
            let mut held: Option<Step> = None;
            on_piece(move |piece, next| {
                if let Passing::Head(_) = piece.what {
                    held = Some(piece.pass());
                    return;
                }
                next.extend(held.take());
                next.push(piece.pass());
            })
        },
    ),
    variant(
        "comments",
        "comments come before, between and behind events",
        || {
            replace(
                |_| true,
                |piece| match piece.what {
                    Passing::Head(_) => vec![piece.pass(), piece.raw(": hello\n\n")],
                    Passing::Chunk(_) => vec![
                        piece.raw(":\n"),
                        piece.pass(),
                        piece.raw(": keep-alive\n\n"),
                    ],
                    Passing::End => vec![piece.raw(": goodbye\n\n"), piece.pass()],
                },
            )
        },
    ),
    variant("bytes-one-by-one", "events are sent byte by byte", || {
        events(|event| event.iter().map(|byte| vec![*byte]).collect())
    }),
    variant("events-halved", "events are sent in two pieces", || {
        events(|event| {
            let (one, other) = event.split_at(event.len() / 2);
            vec![one.to_vec(), other.to_vec()]
        })
    }),
    variant("events-crlf", "lines end in CR and LF", || {
        events(|event| vec![replaced(event, b"\n", b"\r\n")])
    }),
    variant(
        "events-no-space",
        "no space stands behind the colon",
        || events(|event| vec![replaced(event, b"data: ", b"data:")]),
    ),
    variant(
        "events-with-ids",
        "events have an id, and the first says when to retry",
        || events(|event| vec![[b"id: 7\nretry: 1000\n", event].concat()]),
    ),
    variant(
        "events-blank-lines",
        "more than one blank line stands behind an event",
        || events(|event| vec![[event, b"\n\n"].concat()]),
    ),
    variant(
        "events-of-many-lines",
        "chunks are spread over several lines",
        || respelled(|chunk| serde_json::to_string_pretty(&chunk).unwrap_or_default()),
    ),
    variant(
        "content-type-parameters",
        "the content type has parameters",
        || tune(|settings| settings.content_type = "text/event-stream; charset=utf-8"),
    ),
    variant(
        "content-type-capitals",
        "the content type is in capitals",
        || tune(|settings| settings.content_type = "Text/Event-Stream;Charset=UTF-8"),
    ),
    variant(
        "statuses-other",
        "refusals have other statuses that say no",
        || {
            tune(|settings| {
                settings.unregistered_status = 412;
                settings.busy_status = 503;
                settings.content_status = 422;
                settings.unreadable_status = 422;
                if !settings.is_path() {
                    settings.arguments_status = 422;
                }
            })
        },
    ),
    variant(
        "text-only",
        "the program takes text and nothing else",
        || {
            on_input(|_, input, next| {
                let Input::Called(call, asked) = &input else {
                    return next.push(input.into());
                };
                let body = asked.json();
                let messages = body["messages"].as_array().into_iter().flatten();
                let blocks = messages
                    .chain([&body])
                    .filter_map(|message| message["content"].as_array())
                    .flatten();
                let text = |block: &Value| block["type"] == "text";
                next.push(if blocks.into_iter().all(text) {
                    input.into()
                } else {
                    let refused = refusal(422, "content", "only text is taken");
                    Output::Answer(*call, refused).into()
                });
            })
        },
    ),
    variant(
        "enqueue-registered-only",
        "messages are refused before a registration",
        || {
            answer_instead(Endpoint::Enqueue, |view, _| {
                let refused = || refusal(409, "unregistered", "nothing was registered");
                (!view.registered).then(refused)
            })
        },
    ),
    variant("successes-other", "a success is a 201 or a 202", || {
        replace_reply(
            |reply| {
                reply.is_good()
                    && reply.endpoint != Endpoint::Register
                    && reply.answer.status == 200
            },
            |reply| vec![reply.with_status(202)],
        )
    }),
    variant("run-201", "a loop is begun with 201", || {
        replace(
            |piece| matches!(piece.what, Passing::Head(_)),
            |piece| {
                vec![
                    Output::Stream(
                        piece.call,
                        Head {
                            status: 201,
                            ..Head::default()
                        },
                    )
                    .into(),
                ]
            },
        )
    }),
    variant(
        "register-201",
        "a registration is answered with 201",
        || {
            scope(|settings| {
                settings.registration = Registration {
                    status: 201,
                    body: Some("{ }"),
                };
            })
        },
    ),
    variant(
        "dependencies-empty",
        "a registration declares no dependencies by an empty list",
        || scope(|settings| settings.registration.body = Some("{\"dependencies\":[]}")),
    ),
    variant(
        "dependencies-null",
        "a registration declares no dependencies by a null",
        || {
            scope(|settings| {
                settings.registration.body = Some("{\"dependencies\":null,\"version\":3}")
            })
        },
    ),
    variant(
        "dependencies-declared",
        "a registration declares two dependencies",
        || scope(|settings| settings.registration.body = Some(DEPENDENCIES)),
    ),
    variant(
        "tools-declared",
        "a registration declares tools, as it did earlier",
        || scope(|settings| settings.registration.body = Some("{\"tools\":[{\"name\":\"look\"}]}")),
    ),
    variant("schema-none", "there is no schema", || {
        tune(|settings| settings.schema_status = 404)
    }),
    variant("schema-of-anything", "the schema allows everything", || {
        tune(|settings| settings.schema = "{}")
    }),
    variant("schema-old", "the schema is of an earlier draft", || {
        tune(|settings| {
            settings.schema = "{ \"$schema\": \"http://json-schema.org/draft-07/schema#\", \"type\": [\"object\"], \"title\": \"Arguments\" }\n";
        })
    }),
    variant("refusals-detailed", "refusals have more to say", || {
        replace_reply(
            |reply| reply.kind().is_some(),
            |reply| {
                let body = append(
                    &reply.answer.body,
                    "\"status\": 4.00, \"details\": [null, {}]",
                );
                vec![reply.with_body(body)]
            },
        )
    }),
    variant(
        "answers-untyped",
        "answers do not say that they are JSON",
        || {
            replace_reply(
                |_| true,
                |reply| {
                    vec![reply.with(Answer {
                        content_type: None,
                        ..reply.answer.clone()
                    })]
                },
            )
        },
    ),
    variant(
        "answers-spaced",
        "fates and outcomes are spelled with escapes, spaces and more members",
        || {
            replace_reply(
                |reply| {
                    reply.is_good()
                        && matches!(reply.endpoint, Endpoint::Enqueue | Endpoint::Dequeue)
                },
                |reply| {
                    let body = String::from_utf8_lossy(&reply.answer.body)
                        .replace("\"type\":", " \"t\\u0079pe\" : ");
                    vec![reply.with_body(append(format!("\n{body} ").as_bytes(), "\"at\" : 1"))]
                },
            )
        },
    ),
    variant(
        "chunks-escaped",
        "letters in chunks are spelled with escapes",
        || respelled(|chunk| chunk.to_string().replace("type", "t\\u0079pe")),
    ),
    variant("chunks-spaced", "chunks are spelled with spaces", || {
        on_piece(|piece, next| {
            next.push(match &piece.what {
                Passing::Chunk(chunk) => piece.chunk([b" ", chunk.as_ref(), b"\t"].concat()),
                _ => piece.pass(),
            });
        })
    }),
    variant(
        "chunks-ordered",
        "the members of chunks come in the order of the alphabet",
        || respelled(|chunk| chunk.to_string()),
    ),
    variant(
        "chunks-with-nulls",
        "what a chunk does not have is null",
        || {
            on_piece(|piece, next| {
                let nulls = match piece.kind().as_str() {
                    "assistant_reasoning" | "assistant_refusal" => {
                        "\"parent_tool_call_id\":null,\"logprobs\":null,\"_meta\":null,\"annotations\":null"
                    }
                    "usage" | "notification" | "user" => "\"_meta\":null",
                    _ => return next.push(piece.pass()),
                };
                next.push(with_members(piece, nulls));
            })
        },
    ),
    variant(
        "chunks-with-more",
        "chunks have members that nobody knows",
        || {
            on_piece(|piece, next| {
                next.push(match piece.what {
                    Passing::Chunk(_) => with_members(piece, "\"x-trace\":[1,{\"y\":2e3}]"),
                    _ => piece.pass(),
                });
            })
        },
    ),
    variant(
        "chunks-with-meta",
        "chunks of the assistant's have metadata",
        || {
            edit(
                |piece| {
                    piece.kind().starts_with("assistant")
                        || piece.is("usage")
                        || piece.is("notification")
                },
                |chunk: &mut Map<String, Value>| {
                    chunk.insert("_meta".into(), json!({"trace": "00-1"}));
                },
            )
        },
    ),
    variant("silent", "the assistant says nothing of itself", || {
        lose(|piece| piece.is("assistant_reasoning") || piece.is("usage"))
    }),
    variant(
        "warnings",
        "notifications that are not fatal come between",
        || {
            after(
                |piece| piece.is("assistant_reasoning") || piece.is("usage"),
                |piece| {
                    vec![
                        piece.chunk(
                            r#"{"type":"notification","is_fatal":false,"message":["retry",1]}"#,
                        ),
                    ]
                },
            )
        },
    ),
    variant("usage-often", "usage is told piece by piece", || {
        before(
            |piece| piece.is("usage"),
            |piece| {
                vec![
                    piece.chunk(r#"{"type":"usage","completion_tokens":0,"prompt_tokens":0,"total_tokens":0}"#),
                    piece.chunk(r#"{"type":"usage","completion_tokens":18446744073709551614,"prompt_tokens":1,"total_tokens":18446744073709551615}"#),
                ]
            },
        )
    }),
    variant("refuses", "the assistant declines", || {
        after(
            |piece| piece.is("assistant_reasoning"),
            |piece| {
                vec![piece.chunk(r#"{"type":"assistant_refusal","text":"I would rather not."}"#)]
            },
        )
    }),
    variant("pictures", "the assistant says images and audio", || {
        after(
            |piece| piece.is("assistant_reasoning"),
            |piece| {
                vec![
                    piece.chunk(r#"{"type":"assistant_image_content","data":"iVBORw0KGgo=","mimeType":"image/png"}"#),
                    piece.chunk(r#"{"type":"assistant_audio_content","data":"","mimeType":"audio/wav"}"#),
                ]
            },
        )
    }),
    variant(
        "calls-side-by-side",
        "fragments of two calls alternate, and responses come in the other order",
        || {
            replace(
                |piece| piece.is("tool_response"),
                |piece| {
                    let other = |rest: &str| {
                        format!(
                            "{{\"type\":\"assistant_tool_call\",\"id\":\"é/2\",\"name\":\"b\"{rest}}}"
                        )
                    };
                    let third = |rest: &str| {
                        format!(
                            "{{\"type\":\"assistant_tool_call\",\"id\":\"3\",\"name\":\"c\"{rest}}}"
                        )
                    };
                    vec![
                        piece.chunk(other(",\"arguments\":\"[1\"")),
                        piece.chunk(third("")),
                        piece.chunk(other(",\"arguments\":\",2]\"")),
                        piece.chunk(r#"{"type":"tool_response","id":"3","isError":true}"#),
                        piece.chunk(
                            r#"{"type":"tool_response","id":"é/2","structuredContent":{"a":1}}"#,
                        ),
                        piece.pass(),
                    ]
                },
            )
        },
    ),
    variant("agents-nested", "a sub-agent calls a sub-agent", || {
        before(
            |piece| piece.is("tool_response"),
            |piece| {
                let id = piece.json()["id"].clone();
                let call = json!({"type": "assistant_tool_call", "id": "inner", "name": "n", "arguments": "{}", "parent_tool_call_id": id});
                let said = json!({"type": "assistant_text_content", "text": "Deep.", "parent_tool_call_id": "inner"});
                let response = json!({"type": "tool_response", "id": "inner", "content": [], "parent_tool_call_id": id});
                [call, said, response]
                    .iter()
                    .map(|chunk| piece.chunk(chunk.to_string()))
                    .collect()
            },
        )
    }),
    variant("failure-in-a-word", "a failure is told by a string", || {
        edit(
            |piece| piece.json()["is_fatal"] == true,
            |chunk| drop(chunk.insert("message".into(), "no".into())),
        )
    }),
    variant("failure-unsaid", "a failure is told by a null", || {
        edit(
            |piece| piece.json()["is_fatal"] == true,
            |chunk| drop(chunk.insert("message".into(), Value::Null)),
        )
    }),
    variant(
        "fate-first",
        "a message is said to be delivered before its parts are sent",
        || tune(|settings| settings.fate_first = true),
    ),
    variant(
        "end-first",
        "a loop's stream ends before those are told that have missed it",
        || tune(|settings| settings.end_first = true),
    ),
];

/// Changes settings in the scope revision only.
fn scope(change: fn(&mut Settings)) -> Interceptor {
    struct Scope(fn(&mut Settings));
    impl Intercept<Role> for Scope {
        fn tune(&self, settings: &mut Settings) {
            if !settings.is_path() {
                (self.0)(settings);
            }
        }
    }
    Box::new(Scope(change))
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let (from, to) = (String::from_utf8_lossy(from), String::from_utf8_lossy(to));
    text.replace(&*from, &to).into_bytes()
}

/// Sends the bytes of every event in other pieces.
fn events(pieces: fn(&[u8]) -> Vec<Vec<u8>>) -> Interceptor {
    on_piece(move |piece, next| match &piece.what {
        Passing::Chunk(chunk) => {
            let pieces = pieces(&sse::event(chunk));
            next.extend(pieces.into_iter().map(|bytes| piece.raw(bytes)));
        }
        _ => next.push(piece.pass()),
    })
}

/// Spells the chunks of the assistant's in another way; user parts have bytes of the caller's, and stay.
fn respelled(spell: fn(Value) -> String) -> Interceptor {
    on_piece(move |piece, next| {
        next.push(match piece.what {
            Passing::Chunk(_) if !piece.is_user_part() => piece.chunk(spell(piece.json())),
            _ => piece.pass(),
        });
    })
}

fn with_members(piece: &Piece<'_>, members: &str) -> Step {
    match &piece.what {
        Passing::Chunk(chunk) => piece.chunk(append(chunk, members)),
        _ => piece.pass(),
    }
}

/// Does everything a turn later.
#[derive(Default)]
struct Delayed(VecDeque<Output>);

impl Intercept<Role> for Delayed {
    fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
        match input {
            Input::Woken => next.extend(self.0.pop_front().map(Step::from)),
            other => next.push(other.into()),
        }
    }

    fn output(&mut self, _: &View, output: Output, next: &mut Vec<Step>) {
        self.0.push_back(output);
        next.push(Output::Wake.into());
    }
}
