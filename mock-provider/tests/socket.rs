//! A run over loopback sockets, against a proxy that is played here.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use diverge_link::{Connection, Limits, Listener, Message, connect};
use diverge_protocol::wire::{Frame, FrameType, credential_payload};
use mock_provider::server::{Behaviour, Config, Server, serve};
use mock_provider::settings::Volumes;

const REQUEST: &str = "\0{\"image\":{\"name\":\"a\",\"digest\":\"sha256:00\"},\"memory\":1,\"disk\":1,\"arguments\":7}";

async fn start(behaviour: Behaviour) -> (Server, Listener) {
    let local = "127.0.0.1:0".parse().unwrap();
    let proxy = Listener::bind(local, Limits::default()).await.unwrap();
    let config = Config {
        listen: local,
        proxy: proxy.address().unwrap(),
        credential: "tok".into(),
        volumes: Volumes::default(),
        behaviour,
    };
    (serve(config).await.unwrap(), proxy)
}

async fn client(server: &Server) -> Connection {
    connect(&format!("ws://{}/", server.address()), Limits::default())
        .await
        .unwrap()
}

async fn send(connection: &mut Connection, kind: FrameType, payload: impl Into<Bytes>) {
    connection
        .send(Frame::new(kind, 1, 0, payload).encode())
        .await
        .unwrap();
}

async fn receive(connection: &mut Connection) -> (FrameType, Bytes) {
    match connection.receive().await {
        Message::Binary(bytes) => {
            let frame = Frame::decode(bytes).unwrap();
            assert_eq!(frame.scope, 1);
            (frame.kind, frame.payload)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_run_over_sockets() {
    let (server, proxies) = start(Behaviour::Conforming).await;
    let mut client = client(&server).await;
    send(
        &mut client,
        FrameType::Authorization,
        credential_payload("tok"),
    )
    .await;
    send(&mut client, FrameType::Request, REQUEST).await;
    let mut proxy = proxies.accept().await.unwrap().complete().await.unwrap();
    assert_eq!(
        receive(&mut proxy).await,
        (
            FrameType::Request,
            Bytes::from_static(b"\0{\"arguments\":7}")
        )
    );
    send(&mut proxy, FrameType::Response, "\0[]").await;
    send(&mut proxy, FrameType::Response, "\x03").await;
    assert_eq!(receive(&mut client).await.1[0], 0);
    assert_eq!(
        receive(&mut client).await,
        (FrameType::Response, Bytes::from_static(&[8]))
    );
    send(&mut client, FrameType::ChannelRequest, "\0").await;
    assert_eq!(
        receive(&mut client).await,
        (FrameType::ResponseFinish, Bytes::new())
    );
    assert_eq!(proxy.receive().await, Message::Closed);

    let address = server.address();
    server.stop().await;
    assert!(tokio::net::TcpListener::bind(address).await.is_ok());
    assert_eq!(client.receive().await, Message::Closed);
}

#[tokio::test]
async fn a_rejected_client_and_a_proxy_that_is_not_there() {
    let (server, proxies) = start(Behaviour::Conforming).await;
    let mut stranger = client(&server).await;
    send(
        &mut stranger,
        FrameType::Authorization,
        credential_payload("no"),
    )
    .await;
    assert_eq!(stranger.receive().await, Message::Closed);

    drop(proxies);
    let mut client = client(&server).await;
    send(
        &mut client,
        FrameType::Authorization,
        credential_payload("tok"),
    )
    .await;
    send(&mut client, FrameType::Request, REQUEST).await;
    assert_eq!(receive(&mut client).await.1[0], 6);
    assert_eq!(receive(&mut client).await.0, FrameType::ResponseFinish);
}

#[tokio::test]
async fn hollow_providers() {
    for name in ["refuse", "hang-up"] {
        let (server, _proxies) = start(Behaviour::Hollow(name.into())).await;
        assert!(
            connect(&format!("ws://{}/", server.address()), Limits::default())
                .await
                .is_err(),
            "{name}"
        );
    }
    let (server, _proxies) = start(Behaviour::Hollow("hang-up-after-handshake".into())).await;
    assert_eq!(client(&server).await.receive().await, Message::Closed);

    let (server, _proxies) = start(Behaviour::Hollow("flood".into())).await;
    let mut client = client(&server).await;
    for _ in 0..10_000 {
        assert_eq!(receive(&mut client).await.0, FrameType::Response);
    }
    server.stop().await;
}
