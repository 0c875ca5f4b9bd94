//! Readings that the pages leave open: where taking a payload and refusing it are both right.
//!
//! What a decoder here refuses for such a reason breaks a rule that [is open](super::Rule::is_open). What it takes,
//! though another may refuse it, is told by [`leaves_open`].

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chunk::ChunkKind;
use super::scan::{Broken, Kind, Scanner};
use super::shape;

/// How deep values may nest so that every reader takes them.
const MAX_DEPTH: usize = 127;

/// Whether a reader may refuse JSON text that is well formed here: for half a character, a number beyond a double or
/// values nested deeper than 127, wherever they stand; for a name that the outermost object, which may be one of
/// secrets, has twice; or because it is a tool's result that says nothing but a null `structuredContent`.
pub fn leaves_open(json: &[u8]) -> bool {
    let Ok(text) = shape::text(json) else {
        return false;
    };
    match Scanner::new(text).value() {
        Err(Broken::Surrogate | Broken::Range) => true,
        Err(Broken::End | Broken::Syntax | Broken::Trailing) => false,
        Ok(deepest) => {
            deepest > MAX_DEPTH || repeats_a_name(text).unwrap_or_default() || says_null(text)
        }
    }
}

fn repeats_a_name(text: &str) -> Result<bool, Broken> {
    let mut scan = Scanner::new(text);
    if scan.peek()? != Kind::Object {
        return Ok(false);
    }
    scan.enter();
    let mut names = HashSet::new();
    let mut first = true;
    while let Some(name) = scan.member(first)? {
        if !names.insert(name.meant()) {
            return Ok(true);
        }
        scan.value()?;
        first = false;
    }
    Ok(false)
}

fn says_null(text: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Result<'a> {
        r#type: String,
        #[serde(borrow, rename = "structuredContent")]
        structured: &'a RawValue,
        content: Option<&'a RawValue>,
        is_error: Option<bool>,
    }
    serde_json::from_str::<Result<'_>>(text).is_ok_and(|result| {
        result.r#type == ChunkKind::ToolResponse.name()
            && result.structured.get() == "null"
            && result.content.is_none()
            && result.is_error.is_none()
    })
}
