//! The credential in an authorization frame's payload.

use super::{Malformed, Rule};

/// The mode byte of a credential that is an unparsed string.
const UNBROKERED: u8 = 0;

/// The payload of an authorization frame: the mode byte 0, then the credential's UTF-8 to the end.
pub fn credential_payload(credential: &str) -> Vec<u8> {
    let mut payload = Vec::with_capacity(1 + credential.len());
    payload.push(UNBROKERED);
    payload.extend_from_slice(credential.as_bytes());
    payload
}

/// Reads the credential from an authorization frame's payload; the empty credential is well formed.
///
/// # Errors
/// [`Rule::PayloadEmpty`] without a mode byte, [`Rule::CredentialMode`] for a mode other than 0,
/// [`Rule::CredentialEncoding`] for what is not UTF-8 (provider facts, 3).
pub fn read_credential(payload: &[u8]) -> Result<&str, Malformed> {
    match payload.split_first() {
        None => Err(Malformed::bytes(
            Rule::PayloadEmpty,
            0,
            "a mode byte and a credential",
            "no byte",
        )),
        Some((&UNBROKERED, credential)) => std::str::from_utf8(credential).map_err(|error| {
            Malformed::bytes(
                Rule::CredentialEncoding,
                1 + error.valid_up_to(),
                "UTF-8",
                "bytes that are not UTF-8",
            )
        }),
        Some((mode, _)) => Err(Malformed::bytes(
            Rule::CredentialMode,
            0,
            "the mode byte 0",
            format!("the mode byte {mode}"),
        )),
    }
}
