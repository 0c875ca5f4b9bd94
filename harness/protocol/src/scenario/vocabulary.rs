//! The words of the scenario format: which steps there are, and which details each may have.
//!
//! The loader, the linter's messages and the JSON Schema all read these tables, so that they cannot disagree.

use serde_json::{Map, Value, json};

use super::acts::{Words, verbs};
use super::codec;
use super::model::{
    ClientExpectation, ClientMessage, Fixture, Iut, ProxyExpectation, ProxyMessage,
};

/// What a detail's value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Name,
    Text,
    Number,
    Byte,
    Json,
    Hex,
    Mutation,
    Parts,
}

/// A detail of a step.
#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub form: Form,
    pub about: &'static str,
}

macro_rules! fields {
    ($($name:literal $form:ident $about:literal),+ $(,)?) => {
        pub(super) const FIELDS: &[Field] = &[$(Field { name: $name, form: Form::$form, about: $about }),+];
    };
}

fields! {
    "on" Name "the client connection, where the scenario has several",
    "run" Name "the run, where the scenario has several",
    "channel" Name "the channel's name; without it, the name of the message",
    "number" Number "the scope or channel number to use instead of a free one",
    "same-number-as" Name "the channel whose number to use again, whoever opened it",
    "scope" Number "the scope field of the frame",
    "channel-field" Number "the channel field of the frame",
    "type" Byte "the frame type",
    "json" Json "the JSON text, byte for byte",
    "hex" Hex "bytes in hex",
    "text" Text "plain text",
    "mode" Byte "the credential's mode byte",
    "arguments" Json "the run request's arguments",
    "image" Json "the run request's image",
    "volume-mounts" Json "the run request's volume mounts",
    "fuse-file-mounts" Json "the run request's FUSE file mounts",
    "fuse-directory-mounts" Json "the run request's FUSE directory mounts",
    "mutate" Mutation "the one thing that is broken in an otherwise well-formed message",
    "answer" Name "the answer by its name",
    "parts" Parts "JSON pointers into the message, and the JSON that must stand there",
    "call" Name "the call to the agent server, where there are several",
    "path" Name "the path that the WebSocket is opened for, by the name of its exchange",
    "status" Number "the HTTP status",
    "content-type" Text "the content type of the body; where it is expected, what it begins with",
    "key" Text "the key of the message, or of those that are taken back; `first` where none is given",
    "message" Name "which of the configured texts the message has; `ordinary` where none is given",
    "class" Name "what the HTTP status says: `success`, `refused` (anything else) or `4xx`",
    "capture" Name "the name under which later texts can use the id, as ${name}",
}

const RUN_REQUEST: &[&str] = &[
    "on",
    "run",
    "number",
    "channel-field",
    "json",
    "hex",
    "arguments",
    "image",
    "volume-mounts",
    "fuse-file-mounts",
    "fuse-directory-mounts",
    "mutate",
];
const CHANNEL_ASK: &[&str] = &[
    "run",
    "channel",
    "number",
    "same-number-as",
    "json",
    "hex",
    "mutate",
];
const RESPONSE: &[&str] = &["run", "json", "parts"];

pub(super) fn client_sends(message: ClientMessage) -> &'static [&'static str] {
    match message {
        ClientMessage::Credential => &["on", "text", "mode", "hex", "scope", "channel-field"],
        ClientMessage::Run => RUN_REQUEST,
        ClientMessage::Stop
        | ClientMessage::Enqueue
        | ClientMessage::Dequeue
        | ClientMessage::Schema => CHANNEL_ASK,
        ClientMessage::ChannelRequest => &["run", "channel", "number", "hex"],
        ClientMessage::ChannelResponse => &["run", "channel", "hex", "json"],
        ClientMessage::ChannelFinish => &["run", "channel"],
        ClientMessage::Frame => &["on", "run", "type", "scope", "channel-field", "hex", "json"],
        ClientMessage::Bytes => &["on", "hex"],
        ClientMessage::Text => &["on", "text"],
    }
}

pub(super) fn client_expects(expectation: ClientExpectation) -> &'static [&'static str] {
    use ClientExpectation as E;
    match expectation {
        E::Id => &["run", "capture", "parts"],
        E::VolumeHeld
        | E::VolumeMounted
        | E::VolumeFuseServed
        | E::VolumeMountUnsupported
        | E::VolumeMode => RESPONSE,
        E::Error | E::Chunk | E::Inactive => RESPONSE,
        E::Active | E::Relayed | E::Finish | E::BareFinish | E::FinishAtLast => &["run"],
        E::Answer | E::ChannelFinish | E::BareChannelFinish => &["run", "channel"],
        E::ChannelRequest => &["run", "channel"],
        E::Closed | E::Nothing => &["on"],
    }
}

pub(super) fn proxy_sends(message: ProxyMessage) -> &'static [&'static str] {
    match message {
        ProxyMessage::Begun
        | ProxyMessage::Error
        | ProxyMessage::Chunk
        | ProxyMessage::Inactive => &["run", "json", "hex"],
        ProxyMessage::Active => &["run", "hex"],
        ProxyMessage::Finish => &["run"],
        ProxyMessage::Answer => &["run", "channel", "answer", "json", "hex"],
        ProxyMessage::ChannelFinish => &["run", "channel"],
        ProxyMessage::Ask => &["run", "channel", "number", "hex"],
        ProxyMessage::Frame => &["run", "type", "scope", "channel-field", "hex", "json"],
        ProxyMessage::Bytes => &["run", "hex"],
        ProxyMessage::Text => &["run", "text"],
    }
}

pub(super) fn proxy_expects(expectation: ProxyExpectation) -> &'static [&'static str] {
    use ProxyExpectation as E;
    match expectation {
        E::Begin | E::Attempt | E::Closed | E::Nothing => &["run"],
        E::Enqueue | E::Dequeue | E::Schema | E::ChannelFinish => &["run", "channel"],
        E::ChannelResponse => &["run", "channel", "hex", "json"],
    }
}

/// The keys of a step in scenarios of a kind, and what each is for.
pub(super) fn step_keys(iut: Iut) -> impl Iterator<Item = (&'static str, &'static str)> {
    let (client, proxy): (&[_], &[_]) = match iut {
        Iut::Provider => (CLIENT_KEYS, PROXY_KEYS),
        Iut::Chain => (CLIENT_KEYS, &[]),
        _ => (&[], &[]),
    };
    let told = verbs(iut).iter().map(|verb| (verb.key, verb.about));
    client
        .iter()
        .chain(proxy)
        .copied()
        .chain(told)
        .chain(COMMON_KEYS.iter().copied())
}

/// The keys of what a client does in scenarios for providers and for chains.
const CLIENT_KEYS: &[(&str, &str)] = &[
    (
        "client connects",
        "the client opens a WebSocket: `authorized`, or `bare` without the credential",
    ),
    ("client closes", "the client closes its WebSocket, by name"),
    (
        "client drops",
        "the client's connection, by name, breaks without a close frame",
    ),
    ("client sends", "the client sends this message"),
    ("client expects", "the client must receive this"),
];

/// The keys of what a proxy does in scenarios for providers.
const PROXY_KEYS: &[(&str, &str)] = &[
    ("proxy sends", "the proxy sends this message"),
    ("proxy expects", "the proxy must receive this"),
    (
        "proxy closes",
        "the proxy closes its WebSocket, of this run",
    ),
    (
        "proxy refuses",
        "from here on the proxy turns this many connections away: `connections`",
    ),
];

/// The keys that every kind's scenarios have.
const COMMON_KEYS: &[(&str, &str)] = &[
    ("play", "the steps of a fragment"),
    ("control", "the mended conversation, which must succeed"),
    ("witness", "an ordinary exchange, which must still work"),
    ("either order", "branches that happen in any order"),
    (
        "one of",
        "branches of which exactly one happens; the first step of each decides",
    ),
    (
        "any number of",
        "expectations that may be met, however often, before the next one is",
    ),
    ("repeat", "how often the `steps` happen"),
    (
        "not applicable",
        "the scenario cannot go on for this reason",
    ),
];

fn field_schema(name: &str) -> Value {
    let Some(field) = FIELDS.iter().find(|field| field.name == name) else {
        return json!({});
    };
    let mut schema = match field.form {
        Form::Number => json!({"type": ["integer", "string"]}),
        Form::Byte => json!({"type": ["integer", "string"]}),
        Form::Hex => json!({"type": "string", "pattern": "^([0-9a-fA-F \\n]|\\$\\{[^}]*\\})*$"}),
        Form::Parts => json!({"type": "object", "propertyNames": {"pattern": "^(/.*)?$"}}),
        Form::Name | Form::Text | Form::Json | Form::Mutation => {
            json!({"type": ["string", "number"]})
        }
    };
    schema["description"] = json!(field.about);
    schema
}

fn step_schema(verb: &str, message: &str, fields: &[&str]) -> Value {
    let mut properties = Map::new();
    properties.insert(verb.into(), json!({"const": message}));
    properties.insert("checks".into(), json!({"$ref": "#/$defs/requirement"}));
    for field in fields {
        properties.insert((*field).into(), field_schema(field));
    }
    json!({"type": "object", "properties": properties, "required": [verb], "additionalProperties": false})
}

/// Whether every step of the one schema is one of the other.
fn covers(more: &Value, fewer: &Value) -> bool {
    let properties = |schema: &Value| schema["properties"].as_object().cloned();
    let (Some(more), Some(fewer)) = (properties(more), properties(fewer)) else {
        return false;
    };
    fewer
        .iter()
        .all(|(name, schema)| more.get(name) == Some(schema))
}

/// The JSON Schema of scenario files, as editors want it.
#[must_use]
pub fn json_schema() -> Value {
    let mut steps = Vec::new();
    for message in ClientMessage::ALL {
        steps.push(step_schema(
            "client sends",
            message.name(),
            client_sends(*message),
        ));
    }
    for message in ClientExpectation::ALL {
        steps.push(step_schema(
            "client expects",
            message.name(),
            client_expects(*message),
        ));
    }
    for message in ProxyMessage::ALL {
        steps.push(step_schema(
            "proxy sends",
            message.name(),
            proxy_sends(*message),
        ));
    }
    for message in ProxyExpectation::ALL {
        steps.push(step_schema(
            "proxy expects",
            message.name(),
            proxy_expects(*message),
        ));
    }
    let told = [Iut::Proxy, Iut::AgentServer, Iut::Client, Iut::Chain];
    for verb in told.into_iter().flat_map(verbs) {
        match verb.words {
            Words::Named(words) => {
                for word in words {
                    let schema = step_schema(verb.key, word.name, word.fields);
                    // Two kinds may have a word, with more details in one than in the other.
                    if !steps.iter().any(|known| covers(known, &schema)) {
                        steps.push(schema);
                    }
                }
            }
            Words::Link(_, fields) => {
                let mut schema = step_schema(verb.key, "", fields);
                schema["properties"][verb.key] = json!({"type": "string"});
                steps.push(schema);
            }
        }
    }
    // A case can say which message it is, and then any details may stand beside it.
    let every = FIELDS.iter().map(|field| field.name).collect::<Vec<_>>();
    let messages = told.into_iter().flat_map(verbs).map(|verb| verb.key);
    for verb in [
        "client sends",
        "client expects",
        "proxy sends",
        "proxy expects",
    ]
    .into_iter()
    .chain(messages)
    {
        let mut schema = step_schema(verb, "", &every);
        schema["properties"][verb] = json!({"type": "string", "pattern": "\\$\\{"});
        if !steps.contains(&schema) {
            steps.push(schema);
        }
    }
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/step"}});
    let branches = json!({"type": "array", "items": list, "minItems": 2});
    let object = |key: &str, value: Value, more: Value| {
        let mut properties = more;
        properties[key] = value;
        properties["checks"] = json!({"$ref": "#/$defs/requirement"});
        json!({"type": "object", "properties": properties, "required": [key], "additionalProperties": false})
    };
    let name = json!({"type": "string"});
    steps.push(object(
        "client connects",
        json!({"enum": ["authorized", "bare"]}),
        json!({"on": name}),
    ));
    steps.push(object("client closes", name.clone(), json!({})));
    steps.push(object("client drops", name.clone(), json!({})));
    steps.push(object("proxy closes", name.clone(), json!({})));
    steps.push(object(
        "proxy refuses",
        json!({"const": "connections"}),
        json!({}),
    ));
    steps.push(object(
        "play",
        name.clone(),
        json!({"on": name, "run": name, "channel": name}),
    ));
    steps.push(object("control", list.clone(), json!({})));
    steps.push(object("witness", list.clone(), json!({})));
    steps.push(object("any number of", list.clone(), json!({})));
    steps.push(object("either order", branches.clone(), json!({})));
    steps.push(object("one of", branches, json!({})));
    steps.push(object(
        "repeat",
        json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "\\$\\{"}]}),
        json!({"steps": list}),
    ));
    steps.push(object("not applicable", name.clone(), json!({})));
    let fixtures: Vec<_> = Fixture::ALL.iter().map(|(_, key)| *key).collect();
    let kinds: Vec<&str> = std::iter::once(Iut::Provider)
        .chain(told.into_iter().filter(|iut| !verbs(*iut).is_empty()))
        .map(Iut::as_str)
        .collect();
    let file = json!({
        "type": "object",
        "required": ["iut"],
        "additionalProperties": false,
        "properties": {
            "iut": {"enum": kinds, "description": "what the scenarios judge"},
            "revision": {"enum": ["scope", "path"], "description": "the protocol's revision; without it, scope"},
            "fragments": {
                "type": "object",
                "description": "conversations to play inside scenarios, by name",
                "additionalProperties": list
            },
            "scenarios": {"type": "array", "items": {"$ref": "#/$defs/scenario"}}
        }
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Conformance scenarios",
        "description": "Conversations that an implementation under test is judged by, or payloads that a codec is",
        "if": {"properties": {"iut": {"const": Iut::Codec.as_str()}}, "required": ["iut"]},
        "then": codec::schema::file(),
        "else": file,
        "$defs": {
            "requirement": {
                "type": "string",
                "pattern": "^[a-z0-9-]+(\\.[a-z0-9-]+)+$",
                "description": "the id of a requirement in the catalogue"
            },
            "scenario": {
                "type": "object",
                "required": ["id", "title", "requirements", "steps"],
                "additionalProperties": false,
                "properties": {
                    "id": {"type": "string", "pattern": "^[a-z0-9-]+(/[a-z0-9-]+){2}$", "maxLength": 80},
                    "title": {"type": "string"},
                    "requirements": {"type": "array", "items": {"$ref": "#/$defs/requirement"}, "minItems": 1},
                    "freedom": {"type": "string", "description": "the named freedom that the scenario pins"},
                    "since": {"type": "string", "description": "the first revision that has the scenario"},
                    "until": {"type": "string", "description": "the last revision that has the scenario"},
                    "exclusive": {"type": "boolean", "description": "needs its proxy address for itself"},
                    "needs": {"type": "array", "items": {"enum": fixtures}},
                    "cases": {
                        "type": "object",
                        "description": "data sets by name; each makes one scenario, with ${key} filled in",
                        "additionalProperties": {"type": "object"}
                    },
                    "steps": list
                }
            },
            "step": {"anyOf": steps}
        }
    })
}
