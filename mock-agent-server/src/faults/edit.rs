//! Chunks and bodies with something changed in them.

use serde_json::{Map, Value};

use crate::fault::{Interceptor, replace};
use crate::view::Piece;

/// A JSON object with something changed in it; what is no object stays as it is.
pub(crate) fn edited(json: &[u8], change: impl FnOnce(&mut Map<String, Value>)) -> Vec<u8> {
    match serde_json::from_slice(json) {
        Ok(Value::Object(mut members)) => {
            change(&mut members);
            Value::Object(members).to_string().into_bytes()
        }
        _ => json.to_vec(),
    }
}

/// Changes something in the chunks for which `when` holds.
pub(crate) fn edit(
    when: impl FnMut(&Piece<'_>) -> bool + Send + 'static,
    change: fn(&mut Map<String, Value>),
) -> Interceptor {
    replace(when, move |piece| {
        let chunk = edited(piece.json().to_string().as_bytes(), change);
        vec![piece.chunk(chunk)]
    })
}

/// The object with these members behind its own: text, so that whatever stands in it stays as it is.
pub(crate) fn append(json: &[u8], members: &str) -> Vec<u8> {
    let open = json.trim_ascii_end().strip_suffix(b"}").unwrap_or(json);
    [open, b",", members.as_bytes(), b"}"].concat()
}
