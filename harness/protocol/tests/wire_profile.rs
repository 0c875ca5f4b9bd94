//! Claims about frames, credentials and the revision profile.

use bytes::Bytes;
use diverge_protocol::wire::profile::{
    ClientChannel, ProfileFault, ProviderChannel, ProxyChannel, SCOPE,
};
use diverge_protocol::wire::{
    Frame, FrameType, Profile, Rule, credential_payload, read_credential,
};

#[test]
fn the_built_in_profile_reads() {
    let profile = Profile::scope();
    assert_eq!(profile.name, "scope");
    assert_eq!(
        profile.client_channels.word(10),
        Some(ClientChannel::Secrets)
    );
    assert_eq!(
        profile.provider_channels.byte(ProviderChannel::FuseSetattr),
        25
    );
    assert_eq!(
        profile.proxy_channels.byte(ProxyChannel::McpNotifications),
        11
    );
    assert!(!profile.run_request.provisional);
    assert!(profile.client_channels.provisional);
}

#[test]
fn a_profile_at_fault_is_told_by_line_and_column() {
    let wrong = |from: &str, to: &str| Profile::parse(&SCOPE.replacen(from, to, 1)).expect_err(to);
    let unknown = wrong("stop = 0", "halt = 0");
    assert_eq!(
        (unknown.fault, unknown.column),
        (ProfileFault::UnknownName("halt".into()), 1)
    );
    assert_eq!(
        wrong("filetree = 1", "filetree = 0").fault,
        ProfileFault::RepeatedByte(0)
    );
    assert_eq!(
        wrong("dequeue = 9\n", "").fault,
        ProfileFault::MissingName("dequeue")
    );
    let syntax = wrong("stop = 0", "stop = 900");
    assert!(matches!(syntax.fault, ProfileFault::Syntax(_)), "{syntax}");
    assert_eq!(
        SCOPE.lines().nth(syntax.line - 1),
        Some("stop = 0"),
        "{syntax}"
    );
}

#[test]
fn a_frame_is_nine_bytes_and_a_payload() {
    let frame = Frame::new(FrameType::ChannelRequest, 1, 0x0203, &b"x"[..]);
    let bytes = frame.encode();
    assert_eq!(&bytes[..], &[4, 0, 0, 0, 1, 0, 0, 2, 3, b'x']);
    assert_eq!(Frame::decode(bytes), Ok(frame));
}

#[test]
fn a_frame_that_is_none_is_told_why() {
    let rule = |bytes: &'static [u8]| {
        Frame::decode_strict(Bytes::from_static(bytes)).map_err(|fault| fault.rule)
    };
    assert_eq!(rule(&[2, 0, 0, 0, 0, 0, 0, 0]), Err(Rule::FrameShort));
    assert_eq!(
        rule(&[7, 0, 0, 0, 0, 0, 0, 0, 0]),
        Err(Rule::FrameUnknownType)
    );
    assert_eq!(
        rule(&[3, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        Err(Rule::FrameFinishWithPayload)
    );
    assert!(Frame::decode(Bytes::from_static(&[3, 0, 0, 0, 0, 0, 0, 0, 0, 1])).is_ok());
}

#[test]
fn a_credential_is_a_mode_and_utf8() {
    assert_eq!(read_credential(&credential_payload("tok")), Ok("tok"));
    assert_eq!(read_credential(&[0]), Ok(""));
    let rule = |payload| read_credential(payload).map_err(|fault| fault.rule);
    assert_eq!(rule(&[]), Err(Rule::PayloadEmpty));
    assert_eq!(rule(b"\x01x"), Err(Rule::CredentialMode));
    assert_eq!(rule(&[0, 0xff]), Err(Rule::CredentialEncoding));
}
