//! What `rmcp` accepts as MCP content, less arrays in place of objects and repeated members.

use super::shape::{Member, Object, Shape, Tagged, members, optional, required};

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
