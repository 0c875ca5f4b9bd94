//! YAML text as a tree in which every node knows its place.
//!
//! Scalars stay text and repeated keys stay visible, so that the loader can report every mistake where it stands.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// A place in a file: 1-based line and column, and the byte range for excerpts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Bytes of the file.
    pub bytes: Range<usize>,
}

/// A YAML node and its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub place: Place,
    pub data: Data,
}

#[derive(Debug, Clone)]
pub(super) enum Data {
    /// Any scalar; `plain` tells an unquoted one.
    Scalar {
        text: String,
        plain: bool,
    },
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

/// The text is no YAML that scenario files may use.
#[derive(Debug)]
pub(super) struct NotYaml {
    pub place: Place,
    pub what: String,
}

impl Node {
    pub(super) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar { text, .. } => Some(text),
            Data::Sequence(_) | Data::Mapping(_) => None,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self.data {
            Data::Scalar { .. } => "a scalar",
            Data::Sequence(_) => "a list",
            Data::Mapping(_) => "a mapping",
        }
    }
}

/// Byte offsets of characters: the parser counts characters, excerpts need bytes.
struct Offsets(Vec<usize>);

impl Offsets {
    fn new(text: &str) -> Self {
        Self(
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect(),
        )
    }

    fn place(&self, span: Span) -> Place {
        let byte = |index: usize| {
            self.0
                .get(index)
                .or(self.0.last())
                .copied()
                .unwrap_or_default()
        };
        let (start, end) = (byte(span.start.index()), byte(span.end.index()));
        Place {
            line: span.start.line(),
            column: span.start.col() + 1,
            bytes: start..end.max(start),
        }
    }
}

/// Parses one YAML document.
pub(super) fn parse(text: &str) -> Result<Node, NotYaml> {
    let offsets = Offsets::new(text);
    let mut open: Vec<Node> = Vec::new();
    let mut keys: Vec<Option<Node>> = Vec::new();
    let mut root = None;
    for step in Parser::new_from_str(text) {
        let (event, span) = step.map_err(|error| {
            let mark = *error.marker();
            NotYaml {
                place: offsets.place(Span::empty(mark)),
                what: error.info().to_owned(),
            }
        })?;
        let place = offsets.place(span);
        let complete = match event {
            Event::Scalar(text, style, _, _) => Some(Node {
                place,
                data: Data::Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                },
            }),
            Event::SequenceStart(..) => {
                open.push(Node {
                    place,
                    data: Data::Sequence(Vec::new()),
                });
                keys.push(None);
                None
            }
            Event::MappingStart(..) => {
                open.push(Node {
                    place,
                    data: Data::Mapping(Vec::new()),
                });
                keys.push(None);
                None
            }
            Event::SequenceEnd | Event::MappingEnd => {
                keys.pop();
                open.pop()
            }
            Event::Alias(_) => {
                return Err(NotYaml {
                    place,
                    what: "aliases are not used in scenario files".into(),
                });
            }
            _ => None,
        };
        let Some(node) = complete else { continue };
        match (open.last_mut(), keys.last_mut()) {
            (
                Some(Node {
                    data: Data::Sequence(items),
                    ..
                }),
                _,
            ) => items.push(node),
            (
                Some(Node {
                    data: Data::Mapping(entries),
                    ..
                }),
                Some(key),
            ) => match key.take() {
                None => *key = Some(node),
                Some(name) => entries.push((name, node)),
            },
            _ if root.is_some() => {
                return Err(NotYaml {
                    place: node.place,
                    what: "one document a file is expected".into(),
                });
            }
            _ => root = Some(node),
        }
    }
    root.ok_or_else(|| NotYaml {
        place: Place {
            line: 1,
            column: 1,
            bytes: 0..0,
        },
        what: "the file is empty".into(),
    })
}
