//! The credential: what the first frame of a connection must carry.

use diverge_protocol::wire::read_credential;

use crate::settings::Settings;

/// Whether that authorization payload is well formed, and the credential that is accepted.
#[must_use]
pub fn accepted(payload: &[u8], settings: &Settings) -> bool {
    read_credential(payload).is_ok_and(|credential| credential == settings.credential)
}
