//! MCP content: what `rmcp` accepts, less arrays in place of objects and repeated members.
//!
//! The types are ours, since `rmcp`'s hold free-form parts as values, which round numbers and refuse what nests too deep.

use serde::Serialize;

use super::shape::{Member, Object, Shape, Tagged, members, optional, required};
use super::tape::{Build, Fill, Play};
use super::vocabulary::vocabulary;

pub use super::tape::Raw;

/// Text.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
    /// Hints for whoever shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
}

/// An image or audio.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Media {
    /// Its bytes, in base64 by intention.
    pub data: String,
    /// Its media type.
    pub mime_type: String,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
    /// Hints for whoever shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
}

/// A resource with its contents.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Embedded {
    /// The resource.
    pub resource: Contents,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
    /// Hints for whoever shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
}

/// A resource's contents: at least one of text and blob, of which the text wins.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// Where it is.
    pub uri: String,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes, in base64 by intention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
}

/// A resource by its name and place.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Where it is.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Pictures that stand for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
    /// Hints for whoever shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
}

/// A picture that stands for a resource.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// Where it is.
    pub src: String,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes that it is meant for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// What it is drawn for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<Theme>,
}

/// Hints for whoever shows content.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// For whom it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Audience>>,
    /// How much it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A content block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// `text`
    Text(Text),
    /// `image`
    Image(Media),
    /// `audio`
    Audio(Media),
    /// `resource`
    Resource(Box<Embedded>),
    /// `resource_link`
    ResourceLink(Box<Link>),
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// What kind of result it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Block>>,
    /// What came out, as any JSON value; null is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Raw>,
    /// Whether that is a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
}

vocabulary! {
    /// For whom content is.
    pub enum Audience {
        /// The user.
        User = "user",
        /// The assistant.
        Assistant = "assistant",
    }
}

vocabulary! {
    /// What a picture is drawn for.
    pub enum Theme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}

vocabulary! {
    /// What kind of result a tool gave.
    pub enum ResultType {
        /// The whole result.
        Complete = "complete",
    }
}

macro_rules! words {
    ($($word:ident),+) => {$(
        impl Serialize for $word {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl Build for $word {
            fn build(play: &mut Play<'_, '_>) -> Option<$word> {
                $word::named(&play.text()?)
            }
        }
    )+};
}

words!(Audience, Theme, ResultType);

impl Fill for Text {
    #[inline]
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "text" => play.put(&mut self.text),
            "_meta" => play.put(&mut self.meta),
            "annotations" => play.put(&mut self.annotations),
            _ => play.pass(),
        }
    }
}

impl Fill for Media {
    #[inline]
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "data" => play.put(&mut self.data),
            "mimeType" => play.put(&mut self.mime_type),
            "_meta" => play.put(&mut self.meta),
            "annotations" => play.put(&mut self.annotations),
            _ => play.pass(),
        }
    }
}

impl Fill for Embedded {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "resource" => play.put(&mut self.resource),
            "_meta" => play.put(&mut self.meta),
            "annotations" => play.put(&mut self.annotations),
            _ => play.pass(),
        }
    }
}

impl Fill for Contents {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "uri" => play.put(&mut self.uri),
            "mimeType" => play.put(&mut self.mime_type),
            "text" => play.put(&mut self.text),
            "blob" => play.put(&mut self.blob),
            _ => play.put(&mut self.meta),
        }
    }
}

impl Fill for Link {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "uri" => play.put(&mut self.uri),
            "name" => play.put(&mut self.name),
            "title" => play.put(&mut self.title),
            "description" => play.put(&mut self.description),
            "mimeType" => play.put(&mut self.mime_type),
            "size" => play.put(&mut self.size),
            "icons" => play.put(&mut self.icons),
            "_meta" => play.put(&mut self.meta),
            "annotations" => play.put(&mut self.annotations),
            _ => play.pass(),
        }
    }
}

impl Fill for Icon {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "src" => play.put(&mut self.src),
            "mimeType" => play.put(&mut self.mime_type),
            "sizes" => play.put(&mut self.sizes),
            _ => play.put(&mut self.theme),
        }
    }
}

impl Fill for Annotations {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "audience" => play.put(&mut self.audience),
            "priority" => play.put(&mut self.priority),
            _ => play.put(&mut self.last_modified),
        }
    }
}

impl Fill for ToolResult {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "resultType" => play.put(&mut self.result_type),
            "content" => play.put(&mut self.content),
            "structuredContent" => play.put(&mut self.structured_content),
            "isError" => play.put(&mut self.is_error),
            "_meta" => play.put(&mut self.meta),
            _ => play.pass(),
        }
    }
}

impl Build for Box<Annotations> {
    fn build(play: &mut Play<'_, '_>) -> Option<Box<Annotations>> {
        Annotations::build(play).map(Box::new)
    }
}

impl Build for Block {
    fn build(play: &mut Play<'_, '_>) -> Option<Block> {
        // The variants stand in the order of the shape's; a test holds them together.
        Some(match play.object()? {
            0 => Block::Text(play.members()?),
            1 => Block::Image(play.members()?),
            2 => Block::Audio(play.members()?),
            3 => Block::Resource(Box::new(play.members()?)),
            _ => Block::ResourceLink(Box::new(play.members()?)),
        })
    }
}

const META: Member = optional("_meta", Shape::AnyObject);
const ANNOTATED: Member = optional("annotations", Shape::Object(&ANNOTATIONS));
const MIME_TYPE: Member = optional("mimeType", Shape::Str);

/// `_meta` alone, for the objects that carry nothing else of MCP's.
pub(super) const META_ONLY: &[Member] = &[META];

static ANNOTATIONS: Object = Object::open(&[
    optional(
        "audience",
        Shape::Array(&Shape::Const(&["user", "assistant"])),
    ),
    optional("priority", Shape::Number),
    optional("lastModified", Shape::Str),
]);

/// Text content.
pub(super) const TEXT: &[Member] = &[required("text", Shape::Str), META, ANNOTATED];

/// Image or audio content; the data is any string.
pub(super) const MEDIA: &[Member] = &[
    required("data", Shape::Str),
    required("mimeType", Shape::Str),
    META,
    ANNOTATED,
];

/// An embedded resource.
pub(super) const EMBEDDED: &[Member] = &[
    required("resource", Shape::Object(&CONTENTS)),
    META,
    ANNOTATED,
];

/// A resource's contents: `text` wins over `blob`, and either will do.
static CONTENTS: Object = Object::open(&[
    required("uri", Shape::Str),
    MIME_TYPE,
    optional("text", Shape::OnlyAStringCounts),
    optional("blob", Shape::OnlyAStringCounts),
    META,
])
.with_any_of(&["text", "blob"]);

/// A resource link.
pub(super) const LINK: &[Member] = &[
    required("uri", Shape::Str),
    required("name", Shape::Str),
    optional("title", Shape::Str),
    optional("description", Shape::Str),
    MIME_TYPE,
    optional("size", Shape::U64),
    optional("icons", Shape::Array(&ICON)),
    META,
    ANNOTATED,
];

static ICON: Shape = Shape::Object(&Object::open(&[
    required("src", Shape::Str),
    MIME_TYPE,
    optional("sizes", Shape::Array(&Shape::Str)),
    optional("theme", Shape::Const(&["light", "dark"])),
]));

const TYPE: &[Member] = &[required("type", Shape::Str)];

/// A content block, as an enqueue and a tool's result carry it.
pub(super) static BLOCK: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "one of text, image, audio, resource, resource_link",
    variants: &[
        ("text", Object::open(members![TYPE, TEXT])),
        ("image", Object::open(members![TYPE, MEDIA])),
        ("audio", Object::open(members![TYPE, MEDIA])),
        ("resource", Object::open(members![TYPE, EMBEDDED])),
        ("resource_link", Object::open(members![TYPE, LINK])),
    ],
    reserved: None,
});

/// A tool's result; see [`RESULT_ANY_OF`].
pub(super) const RESULT: &[Member] = &[
    optional("resultType", Shape::Const(&["complete"])),
    optional("content", Shape::Array(&BLOCK)),
    optional("structuredContent", Shape::Any),
    optional("isError", Shape::Bool),
    META,
];

/// A result says at least one of these; a `structuredContent` of null says something.
pub(super) const RESULT_ANY_OF: &[&str] = &["content", "structuredContent", "isError"];
