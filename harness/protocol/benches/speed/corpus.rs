//! Chunks as an agent's run sends them, the same ones in every run of the benchmark.

use std::fmt::Write;

use diverge_protocol::wire::chunk::ChunkKind;

/// Chunks of one sort.
pub struct Corpus {
    /// What they are.
    pub name: &'static str,
    /// Their JSON.
    pub chunks: Vec<String>,
}

impl Corpus {
    /// Their size.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(String::len).sum()
    }
}

/// How many of a thousand chunks are what.
const STREAM: &[(Sort, usize)] = &[
    (Sort::Reasoning, 200),
    (Sort::Text, 380),
    (Sort::Logprobs, 120),
    (Sort::ToolCall, 200),
    (Sort::Refusal, 10),
    (Sort::Usage, 20),
    (Sort::Notification, 14),
    (Sort::ToolResponse, 25),
    (Sort::UserText, 10),
    (Sort::UserResource, 4),
    (Sort::UserLink, 4),
    (Sort::UserImage, 4),
    (Sort::UserAudio, 2),
    (Sort::Image, 5),
    (Sort::Audio, 2),
];

#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Reasoning,
    Text,
    Logprobs,
    ToolCall,
    Refusal,
    Usage,
    Notification,
    ToolResponse,
    UserText,
    UserResource,
    UserLink,
    UserImage,
    UserAudio,
    Image,
    Audio,
}

/// A stream as an agent's run sends it, its parts for themselves, and every sort of chunk as often as any other.
pub fn corpora() -> Vec<Corpus> {
    use Sort::*;
    let parts: &[(&str, &[Sort])] = &[
        ("deltas", &[Reasoning, Text, Refusal, ToolCall]),
        ("logprobs", &[Logprobs]),
        ("tool results", &[ToolResponse]),
        ("media", &[UserImage, UserAudio, Image, Audio]),
        (
            "the rest",
            &[Usage, Notification, UserText, UserResource, UserLink],
        ),
    ];
    let mut writer = Writer::default();
    let mut stream = Vec::new();
    for (sort, times) in STREAM {
        for at in 0..*times {
            // Spread over the stream, as they come.
            stream.push((at * 1000 / times, *sort, writer.chunk(*sort)));
        }
    }
    stream.sort_by_key(|(at, ..)| *at);
    let named = |name, wanted: &dyn Fn(Sort) -> bool| Corpus {
        name,
        chunks: stream
            .iter()
            .filter(|(_, sort, _)| wanted(*sort))
            .map(|(_, _, chunk)| chunk.clone())
            .collect(),
    };
    let mut corpora = vec![named("the stream", &|_| true)];
    corpora.extend(
        parts
            .iter()
            .map(|(name, sorts)| named(name, &|sort| sorts.contains(&sort))),
    );
    let mut writer = Writer {
        short: true,
        ..Writer::default()
    };
    let once = || STREAM.iter().map(|(sort, _)| *sort);
    let alike = (0..40).flat_map(|_| once());
    corpora.push(Corpus {
        name: "each alike",
        chunks: alike.map(|sort| writer.chunk(sort)).collect(),
    });
    corpora
}

/// Every kind that the corpus must have.
pub const KINDS: &[ChunkKind] = ChunkKind::ALL;

#[derive(Default)]
struct Writer {
    state: u64,
    /// Whether texts and media are a sixteenth as long.
    short: bool,
}

const WORDS: &[&str] = &[
    " the",
    " a",
    " file",
    " function",
    " returns",
    "let",
    " =",
    " error",
    "\\n",
    " and",
    " of",
    " größer",
    " in",
    " test",
    ".",
    ",",
    " to",
    " is",
    "self",
    "::",
    "(",
    ")",
    " value",
    " 数据",
    " stream",
    "\\\"",
    " then",
    " when",
];

impl Writer {
    fn below(&mut self, limit: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % limit
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn words(&mut self, count: usize) -> String {
        let count = if self.short {
            count.div_ceil(16)
        } else {
            count
        };
        (0..count).map(|_| self.word()).collect()
    }

    fn base64(&mut self, length: usize) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        (0..length)
            .map(|_| char::from(DIGITS[self.below(64)]))
            .collect()
    }

    fn call_id(&mut self) -> String {
        format!(
            "call_{:08x}{:08x}",
            self.below(1 << 31),
            self.below(1 << 31)
        )
    }

    /// The sub-agent's call that every third delta comes from.
    fn parent(&mut self) -> String {
        match self.below(3) {
            0 => format!(r#""parent_tool_call_id":"{}","#, self.call_id()),
            _ => String::new(),
        }
    }

    /// One token's members, with a text that is the same in JSON as in UTF-8.
    fn token(&mut self) -> String {
        let word = match self.word() {
            escaped if escaped.contains('\\') => " so",
            word => word,
        };
        let bytes: Vec<_> = word.bytes().map(|byte| byte.to_string()).collect();
        let digits = self.below(10_000_000);
        let whole = self.below(12);
        format!(
            r#""token":"{word}","bytes":[{}],"logprob":"-{whole}.{digits:07}""#,
            bytes.join(",")
        )
    }

    fn logprobs(&mut self) -> String {
        let mut all = String::new();
        for token in 0..1 + self.below(2) {
            let comma = if token > 0 { "," } else { "" };
            let top: Vec<_> = (0..5).map(|_| format!("{{{}}}", self.token())).collect();
            let _ = write!(
                all,
                r#"{comma}{{{},"top_logprobs":[{}]}}"#,
                self.token(),
                top.join(",")
            );
        }
        all
    }

    fn chunk(&mut self, sort: Sort) -> String {
        let (parent, id) = (self.parent(), self.call_id());
        let words = |writer: &mut Writer, least: usize, more: usize| {
            let count = least + writer.below(more);
            writer.words(count)
        };
        let key = "5b0c9c1e-8f0e-4a53-9d0a-0c0fd7f6e0b7";
        match sort {
            Sort::Reasoning => {
                format!(
                    r#"{{"type":"assistant_reasoning",{parent}"text":"{}"}}"#,
                    words(self, 1, 4)
                )
            }
            Sort::Text => {
                format!(
                    r#"{{"type":"assistant_text_content",{parent}"text":"{}"}}"#,
                    words(self, 1, 4)
                )
            }
            Sort::Logprobs => format!(
                r#"{{"type":"assistant_text_content",{parent}"logprobs":[{}],"text":"{}"}}"#,
                self.logprobs(),
                self.words(2)
            ),
            Sort::ToolCall => format!(
                r#"{{"type":"assistant_tool_call",{parent}"id":"{id}","name":"read_file","arguments":"\"path\":{}"}}"#,
                words(self, 1, 3)
            ),
            Sort::Refusal => format!(
                r#"{{"type":"assistant_refusal","text":"{}"}}"#,
                words(self, 1, 4)
            ),
            Sort::Usage => format!(
                r#"{{"type":"usage","completion_tokens":{},"prompt_tokens":{},"total_tokens":{}}}"#,
                self.below(3000),
                self.below(90_000),
                self.below(93_000)
            ),
            Sort::Notification => format!(
                r#"{{"type":"notification","is_fatal":false,"message":{{"kind":"retry","after_ms":{},"why":"{}"}}}}"#,
                self.below(5000),
                self.words(6)
            ),
            Sort::ToolResponse => format!(
                r#"{{"type":"tool_response","id":"{id}","content":[{{"type":"text","text":"{}"}}],"structuredContent":{{"lines":[{}],"total":{},"truncated":false}},"isError":false}}"#,
                words(self, 60, 500),
                (0..40)
                    .map(|_| self.below(4000).to_string())
                    .collect::<Vec<_>>()
                    .join(","),
                self.below(4000)
            ),
            Sort::UserText => format!(
                r#"{{"type":"user_text_content","key":"{key}","text":"{}","_meta":{{"source":"editor","line":{}}}}}"#,
                words(self, 10, 60),
                self.below(900)
            ),
            Sort::UserResource => format!(
                r#"{{"type":"user_resource","key":"{key}","resource":{{"uri":"file:///src/main.rs","mimeType":"text/x-rust","text":"{}"}},"annotations":{{"audience":["assistant"],"priority":0.5}}}}"#,
                words(self, 100, 200)
            ),
            Sort::UserLink => format!(
                r#"{{"type":"user_resource_link","key":"{key}","uri":"file:///src/lib.rs","name":"lib.rs","title":"The library","mimeType":"text/x-rust","size":{}}}"#,
                self.below(90_000)
            ),
            Sort::UserImage => self.media(
                "user_image_content",
                &format!(r#""key":"{key}""#),
                "image/png",
                6000,
            ),
            Sort::UserAudio => self.media(
                "user_audio_content",
                &format!(r#""key":"{key}""#),
                "audio/wav",
                9000,
            ),
            Sort::Image => self.media(
                "assistant_image_content",
                r#""annotations":{"audience":["user"]}"#,
                "image/png",
                8000,
            ),
            Sort::Audio => self.media(
                "assistant_audio_content",
                r#""_meta":{}"#,
                "audio/wav",
                9000,
            ),
        }
    }

    fn media(&mut self, kind: &str, member: &str, mime: &str, length: usize) -> String {
        let data = self.base64(if self.short { length / 16 } else { length });
        format!(r#"{{"type":"{kind}",{member},"data":"{data}","mimeType":"{mime}"}}"#)
    }
}
