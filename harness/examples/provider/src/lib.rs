//! A small provider: it runs what it is asked for, carries words and messages between client and proxy, and stops when
//! told. It has no volumes, and carries nothing on that the proxy asks for; `tests/baseline.toml` says what that fails.

use std::{collections::HashMap, error::Error, io, net::SocketAddr};

use diverge_link::{Connection, Limits, Listener, connect};
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel};
use diverge_protocol::wire::request::{BeginRequest, RunRequest, mount_fault};
use diverge_protocol::wire::run::{RunKind, RunResponse};
use diverge_protocol::wire::{Frame, FrameType, FrameType::*, Profile, read_credential};
use diverge_protocol::wire::{begin::BeginKind, channel::ChannelAsk};
use tokio::sync::mpsc::{UnboundedReceiver as Inbox, UnboundedSender as Outbox, unbounded_channel};
use tokio::{select, task::JoinSet};

/// Serves clients at `listen` until the set that is returned is dropped; every container's proxy answers at `proxy`.
pub async fn serve(
    listen: SocketAddr,
    proxy: SocketAddr,
    credential: String,
) -> io::Result<(SocketAddr, JoinSet<()>)> {
    let listener = Listener::bind(listen, Limits::default()).await?;
    let (address, mut server) = (listener.address()?, JoinSet::new());
    server.spawn(async move {
        let mut clients = JoinSet::new();
        while let Ok(handshake) = listener.accept().await {
            let credential = credential.clone();
            clients.spawn(async move {
                client(handshake.complete().await.ok()?, proxy, credential).await
            });
        }
    });
    Ok((address, server))
}

/// Serves one client. When it goes away, or breaks the rules of authorization, its runs end with it.
async fn client(connection: Connection, proxy: SocketAddr, credential: String) -> Option<()> {
    let (mut to_client, mut from_client) = connection.split();
    let first = from_client.frame().await?;
    if first.kind != Authorization || read_credential(&first.payload).ok()? != credential {
        return None;
    }
    let (outbox, mut outgoing) = unbounded_channel::<Frame>();
    let (mut runs, mut tasks) = (HashMap::<u32, Outbox<Frame>>::new(), JoinSet::new());
    loop {
        let frame = select! {
            Some(frame) = outgoing.recv() => { to_client.send(frame.encode()).await.ok()?; continue }
            frame = from_client.frame() => frame?,
        };
        let running = runs.get(&frame.scope).filter(|run| !run.is_closed());
        match (frame.kind, running) {
            (Authorization, _) => return None,
            (Request, None) => {
                let (asks, inbox) = unbounded_channel();
                runs.insert(frame.scope, asks);
                tasks.spawn(run(outbox.clone(), frame, proxy, inbox));
            }
            (ChannelRequest, Some(run)) => drop(run.send(frame)),
            _ => {}
        }
    }
}

/// Runs what is asked for until something ends it, and sends the finish.
async fn run(outbox: Outbox<Frame>, asked: Frame, proxy: SocketAddr, mut asks: Inbox<Frame>) {
    // A client that is gone is noticed where its messages are read.
    let client = |kind, channel, payload: Vec<u8>| {
        drop(outbox.send(Frame::new(kind, asked.scope, channel, payload)))
    };
    if let Ok(request) = RunRequest::decode(Profile::scope(), &asked.payload)
        && let Err(why) = carry(&request, proxy, &client, &mut asks).await
    {
        let why = serde_json::Value::from(why.to_string()).to_string();
        client(Response, 0, RunResponse::Error(why.as_bytes()).encode());
    }
    asks.close();
    client(ResponseFinish, 0, Vec::new());
}

/// Carries words and messages between a client and the proxy of its container, whose begin scope is number 1.
async fn carry(
    request: &RunRequest,
    proxy: SocketAddr,
    client: &(impl Fn(FrameType, u32, Vec<u8>) + Sync),
    asks: &mut Inbox<Frame>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    if !request.volume_mounts.is_empty() || mount_fault(request).is_some() {
        return Err("that cannot be mounted here".into());
    }
    let connection = connect(&format!("ws://{proxy}/"), Limits::default()).await?;
    let (mut to_proxy, mut from_proxy) = connection.split();
    let frame = |kind, channel, payload: Vec<u8>| Frame::new(kind, 1, channel, payload).encode();
    let (profile, arguments, mut begun) = (Profile::scope(), &*request.arguments, false);
    let begin = BeginRequest { arguments }.encode(profile);
    to_proxy.send(frame(Request, 0, begin)).await?;
    loop {
        select! {
            said = from_proxy.frame() => match said {
                Some(said) if said.scope != 1 => {}
                Some(said) if said.kind == Response => {
                    let Ok((kind, body)) = profile.begin_responses.split(&said.payload) else { continue };
                    // But for the id, what a run says has the names of what its proxy says.
                    let payload = match RunKind::named(kind.name()) {
                        None if !begun => RunResponse::Id(format!("{:032x}", rand::random::<u128>())).encode(),
                        Some(RunKind::Active) if begun => RunResponse::Active.encode(),
                        Some(kind) if begun || kind == RunKind::Error => [&[kind.byte()], body].concat(),
                        _ => continue,
                    };
                    begun = true;
                    client(Response, 0, payload);
                    if kind == BeginKind::Error { return Ok(()) }
                }
                Some(said) if matches!(said.kind, ChannelResponse | ChannelResponseFinish) => {
                    client(said.kind, said.channel, said.payload.to_vec());
                }
                Some(said) if said.kind == ChannelRequest => {
                    to_proxy.send(frame(ChannelResponseFinish, said.channel, Vec::new())).await?;
                }
                Some(said) if said.kind != ResponseFinish => {}
                _ if begun => return Ok(()),
                _ => return Err("the proxy is gone".into()),
            },
            // What is asked before the run has begun waits.
            Some(ask) = asks.recv(), if begun => {
                let asked = profile.client_channels.split(&ask.payload).ok();
                let asked = asked.filter(|(kind, body)| ChannelAsk::decode(*kind, body).is_ok());
                // Where the proxy has a channel of that name, the ask goes on to it, under the same number.
                match asked.map(|(kind, body)| (kind, BeginChannel::named(kind.name()), body)) {
                    Some((ClientChannel::Stop, ..)) => return Ok(()),
                    Some((_, Some(kind), body)) => {
                        let payload = profile.begin_channels.payload(kind, body);
                        to_proxy.send(frame(ChannelRequest, ask.channel, payload)).await?;
                    }
                    _ => client(ChannelResponseFinish, ask.channel, Vec::new()),
                }
            }
        }
    }
}
