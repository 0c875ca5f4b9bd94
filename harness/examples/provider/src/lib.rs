//! A small provider: it runs what it is asked for, carries words and messages between client and proxy, and stops when
//! told. It has no volumes, and carries nothing on that the proxy asks for; `tests/baseline.toml` says what that fails.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use diverge_link::{Connection, Limits, Listener, Message, Receiver, connect};
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::channel::ChannelAsk;
use diverge_protocol::wire::credential::read_credential;
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel};
use diverge_protocol::wire::request::{BeginRequest, RunRequest, mount_fault};
use diverge_protocol::wire::run::{RunKind, RunResponse};
use diverge_protocol::wire::{Frame, FrameType as Type, Profile};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// What a provider is told.
#[derive(Clone)]
pub struct Settings {
    pub listen: SocketAddr,
    /// Where the proxy of every container answers.
    pub proxy: SocketAddr,
    pub credential: String,
}

/// Serves clients until the set that this returns is dropped.
pub async fn serve(settings: Settings) -> io::Result<(SocketAddr, JoinSet<()>)> {
    let listener = Listener::bind(settings.listen, Limits::default()).await?;
    let (address, mut server) = (listener.address()?, JoinSet::new());
    server.spawn(async move {
        let mut clients = JoinSet::new();
        while let Ok(handshake) = listener.accept().await {
            let settings = settings.clone();
            clients.spawn(async move { client(handshake.complete().await.ok()?, settings).await });
        }
    });
    Ok((address, server))
}

/// Serves one client. When it goes away, or breaks the rules of authorization, its runs end with it.
async fn client(connection: Connection, settings: Settings) -> Option<()> {
    let (mut to_client, mut from_client) = connection.split();
    let (outbox, mut outgoing) = unbounded_channel::<Frame>();
    let (mut runs, mut accepted) = (HashMap::<u32, UnboundedSender<Frame>>::new(), false);
    let mut tasks = JoinSet::new();
    loop {
        let frame = tokio::select! {
            Some(frame) = outgoing.recv() => { to_client.send(frame.encode()).await.ok()?; continue }
            frame = next(&mut from_client) => frame?,
        };
        let running = runs.get(&frame.scope).filter(|run| !run.is_closed());
        match (frame.kind, running) {
            (Type::Authorization, _) => {
                let given = read_credential(&frame.payload).ok()?;
                accepted = (!accepted && given == settings.credential).then_some(true)?;
            }
            _ if !accepted => return None,
            (Type::Request, None) => {
                let (asks, inbox) = unbounded_channel();
                runs.insert(frame.scope, asks);
                tasks.spawn(run(outbox.clone(), frame, settings.proxy, inbox));
            }
            (Type::ChannelRequest, Some(run)) => drop(run.send(frame)),
            _ => {}
        }
    }
}

/// Runs what `request` asks for until something ends it, and sends the finish.
async fn run(
    outbox: UnboundedSender<Frame>,
    request: Frame,
    proxy: SocketAddr,
    mut asks: UnboundedReceiver<Frame>,
) {
    // A client that is gone is noticed where its messages are read.
    let send = |kind, channel, payload: Vec<u8>| {
        drop(outbox.send(Frame::new(kind, request.scope, channel, payload)))
    };
    if let Ok(request) = RunRequest::decode(Profile::scope(), &request.payload)
        && let Err(why) = carry(&send, &request, proxy, &mut asks).await
    {
        let why = serde_json::Value::from(why.to_string()).to_string();
        send(
            Type::Response,
            0,
            [&[RunKind::Error.byte()], why.as_bytes()].concat(),
        );
    }
    asks.close();
    send(Type::ResponseFinish, 0, Vec::new());
}

/// Carries words and messages between a client and the proxy of its container, whose begin scope is number 1.
async fn carry(
    client: &(impl Fn(Type, u32, Vec<u8>) + Sync),
    request: &RunRequest,
    proxy: SocketAddr,
    asks: &mut UnboundedReceiver<Frame>,
) -> io::Result<()> {
    if !request.volume_mounts.is_empty() || mount_fault(request).is_some() {
        return Err(io::Error::other("that cannot be mounted here"));
    }
    let connection = connect(&format!("ws://{proxy}/"), Limits::default())
        .await
        .map_err(io::Error::other)?;
    let (mut to_proxy, mut from_proxy) = connection.split();
    let (profile, mut begun) = (Profile::scope(), false);
    let begin = BeginRequest {
        arguments: &request.arguments,
    }
    .encode(profile);
    to_proxy
        .send(Frame::new(Type::Request, 1, 0, begin).encode())
        .await?;
    loop {
        tokio::select! {
            frame = next(&mut from_proxy) => match frame {
                Some(frame) if frame.scope != 1 => {}
                Some(frame) if frame.kind == Type::Response => {
                    let (kind, body) = match profile.begin_responses.split(&frame.payload) {
                        Ok((BeginKind::Begun, _)) if !begun => {
                            begun = true;
                            let id = RunResponse::Id(format!("{:032x}", rand::random::<u128>()));
                            client(Type::Response, 0, id.encode());
                            continue;
                        }
                        Ok((BeginKind::Error, body)) => (RunKind::Error, body),
                        Ok((BeginKind::Active, _)) if begun => (RunKind::Active, &[][..]),
                        Ok((BeginKind::Chunk, body)) if begun => (RunKind::Chunk, body),
                        Ok((BeginKind::Inactive, body)) if begun => (RunKind::Inactive, body),
                        _ => continue,
                    };
                    client(Type::Response, 0, [&[kind.byte()], body].concat());
                    if kind == RunKind::Error {
                        return Ok(());
                    }
                }
                // Channels of the client's have one number on both sides.
                Some(frame) if matches!(frame.kind, Type::ChannelResponse | Type::ChannelResponseFinish) => {
                    client(frame.kind, frame.channel, frame.payload.to_vec());
                }
                Some(frame) if frame.kind == Type::ChannelRequest => {
                    to_proxy.send(Frame::new(Type::ChannelResponseFinish, 1, frame.channel, Vec::new()).encode()).await?;
                }
                Some(frame) if frame.kind != Type::ResponseFinish => {}
                _ if begun => return Ok(()),
                _ => return Err(io::Error::other("the proxy is gone")),
            },
            // What is asked before the run has begun waits.
            Some(ask) = asks.recv(), if begun => {
                let asked = profile.client_channels.split(&ask.payload).ok();
                let (kind, body) = match asked.filter(|(kind, body)| ChannelAsk::decode(*kind, body).is_ok()) {
                    Some((ClientChannel::Stop, _)) => return Ok(()),
                    Some((ClientChannel::Enqueue, body)) => (BeginChannel::Enqueue, body),
                    Some((ClientChannel::Dequeue, body)) => (BeginChannel::Dequeue, body),
                    Some((ClientChannel::Schema, _)) => (BeginChannel::Schema, &[][..]),
                    _ => { client(Type::ChannelResponseFinish, ask.channel, Vec::new()); continue }
                };
                let payload = profile.begin_channels.payload(kind, body);
                to_proxy.send(Frame::new(Type::ChannelRequest, 1, ask.channel, payload).encode()).await?;
            }
        }
    }
}

/// The next frame; `None` once the peer is gone.
async fn next(receiver: &mut Receiver) -> Option<Frame> {
    loop {
        match receiver.receive().await {
            Message::Binary(bytes) => match Frame::decode(bytes) {
                Ok(frame) => return Some(frame),
                Err(_) => continue,
            },
            Message::Text(_) => {}
            Message::Closed => return None,
        }
    }
}
