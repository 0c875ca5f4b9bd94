//! What a step means by a message whose details it leaves out.

use super::model::Args;
use crate::wire::run::RunKind;

/// An enqueue's body.
pub const ENQUEUE: &str = r#"{"key":"first","content":[{"type":"text","text":"hello"}]}"#;
/// A dequeue's body.
pub const DEQUEUE: &str = r#"{"key":"first"}"#;
/// A chunk.
pub const CHUNK: &str = r#"{"type":"assistant_text_content","text":"hello"}"#;
/// An error.
pub const ERROR: &str = r#"{"kind":"made-up","error":"as the scenario says"}"#;
/// A schema.
pub const SCHEMA: &str = r#"{"type":"object"}"#;
/// The body of a run response that a step of a scenario for clients leaves out.
#[must_use]
pub fn run_response(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Id => r#"{"id":"run-${token}"}"#,
        RunKind::VolumeMode => r#"{"name":"volume-${token}","mode":"ephemeral"}"#,
        RunKind::Error => r#"{"kind":"made-up","error":"as said in ${token}"}"#,
        RunKind::Chunk => r#"{"type":"assistant_text_content","text":"hello from ${token}"}"#,
        RunKind::Active => "",
        RunKind::Inactive => "{}",
        _ => r#"{"name":"volume-${token}"}"#,
    }
}

/// The run request's arguments.
pub const ARGUMENTS: &str = r#"{"conformance":"${token}"}"#;
/// The run request's image.
pub const IMAGE: &str = r#"{"name":"conformance/agent","digest":"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#;

/// The JSON of a run request before anything in it is filled in or broken; `image` where the step names none.
#[must_use]
pub fn run_request(args: &Args, image: &str) -> String {
    if let Some(whole) = &args.json {
        return whole.clone();
    }
    let image = args.image.as_deref().unwrap_or(image);
    let mut text = format!(r#"{{"image":{image},"memory":268435456,"disk":1073741824"#);
    let lists = [
        ("volume_mounts", &args.volume_mounts),
        ("fuse_file_mounts", &args.fuse_file_mounts),
        ("fuse_directory_mounts", &args.fuse_directory_mounts),
    ];
    for (name, list) in lists {
        if let Some(list) = list {
            text.push_str(",\"");
            text.push_str(name);
            text.push_str("\":");
            text.push_str(list);
        }
    }
    text.push_str(",\"arguments\":");
    text.push_str(args.arguments.as_deref().unwrap_or(ARGUMENTS));
    text.push('}');
    text
}
