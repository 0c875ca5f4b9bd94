//! A loop over loopback sockets, against an agent server that is played here.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use diverge_link::{ConnectError, Connection, Limits, Message, connect};
use diverge_protocol::rules::Revision;
use diverge_protocol::wire::{Frame, FrameType};
use mock_proxy::server::{Behaviour, Config, Server, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn start(revision: Revision, behaviour: Behaviour) -> (Server, TcpListener) {
    let agent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        agent: agent.local_addr().unwrap(),
        revision,
        behaviour,
    };
    (serve(config).await.unwrap(), agent)
}

async fn dial(server: &Server, path: &str) -> Result<Connection, ConnectError> {
    connect(
        &format!("ws://{}{path}", server.address()),
        Limits::default(),
    )
    .await
}

/// Takes one call, whose body ends with `}`, and gives its head's first line and its body.
async fn called(agent: &TcpListener) -> (TcpStream, String, String) {
    let (mut stream, _) = agent.accept().await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"}") {
        let mut some = [0; 1024];
        let count = stream.read(&mut some).await.unwrap();
        assert_ne!(count, 0);
        read.extend_from_slice(&some[..count]);
    }
    let read = String::from_utf8(read).unwrap();
    let (head, body) = read.split_once("\r\n\r\n").unwrap();
    let line = head.lines().next().unwrap().to_owned();
    (stream, line, body.to_owned())
}

async fn send(host: &mut Connection, kind: FrameType, channel: u32, payload: &str) {
    let payload = Bytes::copy_from_slice(payload.as_bytes());
    host.send(Frame::new(kind, 1, channel, payload).encode())
        .await
        .unwrap();
}

async fn receive(host: &mut Connection) -> (FrameType, Bytes) {
    match host.receive().await {
        Message::Binary(bytes) => {
            let frame = Frame::decode(bytes).unwrap();
            assert_eq!(frame.scope, 1);
            (frame.kind, frame.payload)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_loop_over_sockets() {
    let (server, agent) = start(Revision::Scope, Behaviour::Conforming).await;
    let mut host = dial(&server, "/").await.unwrap();
    let again = dial(&server, "/").await;
    assert!(matches!(again, Err(ConnectError::Status(409))));

    send(&mut host, FrameType::Request, 0, "\0{\"arguments\":7}").await;
    let (mut call, line, body) = called(&agent).await;
    assert_eq!(line, "POST /register HTTP/1.1");
    assert_eq!(body, "{\"arguments\":7}");
    call.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        .await
        .unwrap();
    assert_eq!(receive(&mut host).await.1, "\0[]");

    let message = "{\"key\":\"k\",\"content\":[]}";
    send(
        &mut host,
        FrameType::ChannelRequest,
        4,
        &format!("\x03{message}"),
    )
    .await;
    let (mut call, line, body) = called(&agent).await;
    assert_eq!(line, "POST /run HTTP/1.1");
    assert_eq!(body, format!("{{\"messages\":[{message}]}}"));
    call.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"a\": 1}\n\ndata: 2\n\n",
    )
    .await
    .unwrap();
    drop(call);
    let mut said = Vec::new();
    for _ in 0..6 {
        said.push(receive(&mut host).await);
    }
    let word = |kind, payload: &'static str| (kind, Bytes::from_static(payload.as_bytes()));
    assert_eq!(
        said,
        [
            word(FrameType::ChannelResponse, "\0"),
            word(FrameType::ChannelResponseFinish, ""),
            word(FrameType::Response, "\x03"),
            word(FrameType::Response, "\x02{\"a\": 1}"),
            word(FrameType::Response, "\x022"),
            word(FrameType::Response, "\x04{}"),
        ]
    );

    drop(host);
    let again = dial(&server, "/").await;
    assert!(matches!(again, Err(ConnectError::Status(409))));
    let address = server.address();
    server.stop().await;
    assert!(TcpListener::bind(address).await.is_ok());
}

#[tokio::test]
async fn a_path_over_sockets() {
    let (server, agent) = start(Revision::Path, Behaviour::Conforming).await;
    let mut host = dial(&server, "/agent/run").await.unwrap();
    host.send("{\"prompt\":\"hi\"}".into()).await.unwrap();
    let (mut call, line, body) = called(&agent).await;
    assert_eq!(line, "POST /run HTTP/1.1");
    assert_eq!(body, "{\"prompt\":\"hi\"}");

    let mut second = dial(&server, "/agent/run").await.unwrap();
    second.send("{}".into()).await.unwrap();
    let (mut busy, _, _) = called(&agent).await;
    busy.write_all(b"HTTP/1.1 409 Conflict\r\ncontent-length: 3\r\n\r\n\"n\"")
        .await
        .unwrap();
    assert_eq!(second.receive().await, Message::Binary("\x01\"n\"".into()));
    assert_eq!(second.receive().await, Message::Closed);

    call.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\ndata: 1\n\n")
        .await
        .unwrap();
    assert_eq!(host.receive().await, Message::Binary("\x001".into()));
    drop(host);
    assert!(matches!(call.read(&mut [0; 16]).await, Ok(0) | Err(_)));
    let nowhere = dial(&server, "/").await;
    assert!(matches!(nowhere, Err(ConnectError::Status(404))));
}

#[tokio::test]
async fn an_agent_server_that_is_not_there_is_told_of() {
    let (server, agent) = start(Revision::Scope, Behaviour::Conforming).await;
    drop(agent);
    let mut host = dial(&server, "/").await.unwrap();
    send(&mut host, FrameType::Request, 0, "\0{\"arguments\":7}").await;
    let (kind, payload) = receive(&mut host).await;
    assert_eq!((kind, payload[0]), (FrameType::Response, 1));
    assert_eq!(receive(&mut host).await.0, FrameType::ResponseFinish);
}

#[tokio::test]
async fn hollow_proxies() {
    for name in ["refuse", "hang-up"] {
        let (server, _agent) = start(Revision::Scope, Behaviour::Hollow(name.into())).await;
        assert!(dial(&server, "/").await.is_err(), "{name}");
    }
    let hollow = Behaviour::Hollow("flood".into());
    let (server, _agent) = start(Revision::Scope, hollow).await;
    let mut host = dial(&server, "/").await.unwrap();
    for _ in 0..1_000 {
        assert_eq!(receive(&mut host).await.0, FrameType::Response);
    }
    let hollow = Behaviour::Hollow("close-after-handshake".into());
    let (server, _agent) = start(Revision::Path, hollow).await;
    let mut host = dial(&server, "/agent/run").await.unwrap();
    assert_eq!(host.receive().await, Message::Closed);
}

#[tokio::test]
async fn a_behaviour_that_is_not_there_is_an_error() {
    let agent = "127.0.0.1:9".parse().unwrap();
    for behaviour in [
        Behaviour::Fault("no-such".into()),
        Behaviour::Fault("greets".into()),
        Behaviour::Variant("active-before-fates".into()),
        Behaviour::Hollow("no-such".into()),
    ] {
        let config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            agent,
            revision: Revision::Path,
            behaviour,
        };
        assert!(serve(config).await.is_err());
    }
}
