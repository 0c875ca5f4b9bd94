//! Faults of the credential.

use diverge_protocol::wire::{FrameType, credential_payload};

use crate::fault::{Fault, before, fault, rewrite};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "any-credential",
        "auth.rejected-closes",
        "accepts every unbrokered credential",
        || {
            rewrite(
                Flow::FromClient,
                |message| {
                    message.part == Part::Credential && message.frame.payload.first() == Some(&0)
                },
                |message| credential_payload(&message.view.settings.credential).into(),
            )
        },
    ),
    fault(
        "credential-acknowledged",
        "auth.accepted-silently",
        "answers a credential",
        || {
            before(
                Flow::FromClient,
                |message| message.part == Part::Credential,
                |message| vec![message.tell_client(FrameType::Response, 0, vec![0])],
            )
        },
    ),
];
