//! Agent servers on loopback sockets, called by a real client.

#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;

use diverge_link::http::{self, CallError, Method, Response};
use diverge_protocol::rules::Revision;
use diverge_protocol::wire::agent_server::{Endpoint, Fate, Outcome};
use diverge_protocol::wire::chunk::{ChunkKind, judge};
use diverge_protocol::wire::sse::EventReader;
use mock_agent_server::server::{Behaviour, Config, Listen, Server, serve};
use mock_agent_server::settings::{ARGUMENTS, MESSAGES};
use mock_agent_server::{hollow, variants};
use tokio::net::TcpStream;

async fn start(revision: Revision, behaviour: Behaviour) -> Server {
    let listen = Listen::At("127.0.0.1:0".parse().unwrap());
    let config = Config {
        listen,
        revision,
        behaviour,
    };
    serve(config).await.unwrap()
}

async fn ask(to: SocketAddr, endpoint: Endpoint, body: String) -> Result<Response, CallError> {
    let call = http::Call {
        method: endpoint.method().parse::<Method>().unwrap(),
        path: endpoint.name().into(),
        content_type: Some("application/json".into()),
        body: body.into(),
    };
    http::call(to, call).await
}

async fn answer(to: SocketAddr, endpoint: Endpoint, body: String) -> (u16, Vec<u8>) {
    let response = ask(to, endpoint, body).await.unwrap();
    (response.status, response.bytes().await.unwrap().to_vec())
}

fn message(key: &str, text: &str) -> String {
    format!("{{\"key\":\"{key}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}")
}

async fn registered(server: &Server) -> SocketAddr {
    let to = server.address();
    let body = format!("{{\"arguments\":{ARGUMENTS}}}");
    let (status, _) = answer(to, Endpoint::Register, body).await;
    assert!((200..300).contains(&status), "{status}");
    to
}

/// A loop that goes on, and what its stream has brought so far.
struct Loop {
    response: Response,
    reader: EventReader,
    kinds: Vec<ChunkKind>,
}

impl Loop {
    async fn run(to: SocketAddr, text: &str) -> Self {
        let body = format!("{{\"messages\":[{}]}}", message("k", text));
        let response = ask(to, Endpoint::Run, body).await.unwrap();
        assert!(response.is_success());
        Self {
            response,
            reader: EventReader::new(),
            kinds: Vec::new(),
        }
    }

    /// Reads on, until a chunk of that kind or the end has come.
    async fn until(&mut self, kind: Option<ChunkKind>) {
        let mut events = Vec::new();
        while !kind.is_some_and(|kind| self.kinds.contains(&kind)) {
            match self.response.chunk().await.unwrap() {
                Some(bytes) => self.reader.push(&bytes, &mut events),
                None => break,
            }
            let kinds = events.drain(..).map(|it| judge(&it.data).unwrap());
            self.kinds.extend(kinds);
        }
    }

    async fn whole(mut self) -> Vec<ChunkKind> {
        self.until(None).await;
        assert!(!self.reader.is_cut_short());
        self.kinds
    }
}

#[tokio::test]
async fn a_conversation_over_sockets() {
    let server = start(Revision::Scope, Behaviour::Conforming).await;
    let to = registered(&server).await;
    let kinds = Loop::run(to, MESSAGES.tool).await.whole().await;
    assert_eq!(kinds[0], ChunkKind::UserTextContent);
    assert!(kinds.contains(&ChunkKind::ToolResponse));

    let mut long = Loop::run(to, MESSAGES.long).await;
    long.until(Some(ChunkKind::AssistantTextContent)).await;
    let busy = format!("{{\"messages\":[{}]}}", message("k", "x"));
    assert_eq!(answer(to, Endpoint::Run, busy).await.0, 409);
    let fate = answer(to, Endpoint::Enqueue, message("j", "x")).await;
    assert_eq!(fate, (200, Fate::Delivered.encode()));
    let parts = long.whole().await;
    let parts = parts.iter().filter(|kind| kind.is_user_part()).count();
    assert_eq!(parts, 2);
}

#[tokio::test]
async fn what_waits_is_held_until_it_is_withdrawn_or_the_loop_is_dropped() {
    let server = start(Revision::Scope, Behaviour::Conforming).await;
    let to = registered(&server).await;
    let mut holding = Loop::run(to, MESSAGES.holding).await;
    holding.until(Some(ChunkKind::AssistantTextContent)).await;
    let waiting = |key| tokio::spawn(answer(to, Endpoint::Enqueue, message(key, "x")));
    let (a, b) = (waiting("a"), waiting("b"));
    let withdrawn = loop {
        // The message is on its way on another connection; only one that has come is withdrawn.
        let (status, outcome) = answer(to, Endpoint::Dequeue, "{\"key\":\"a\"}".into()).await;
        assert_eq!(status, 200);
        if Outcome::decode(&outcome) == Ok(Outcome::Dequeued) {
            break a.await.unwrap();
        }
    };
    assert_eq!(withdrawn, (200, Fate::Dequeued.encode()));
    drop(holding);
    assert_eq!(b.await.unwrap(), (200, Fate::Missed.encode()));
    loop {
        // That the caller is gone is noticed on another connection, too.
        let body = format!("{{\"messages\":[{}]}}", message("k", "x"));
        let again = ask(to, Endpoint::Run, body).await.unwrap();
        if again.is_success() {
            break;
        }
    }
}

#[tokio::test]
async fn loops_end_by_themselves() {
    let server = start(Revision::Scope, Behaviour::Conforming).await;
    let to = registered(&server).await;
    for text in [MESSAGES.holding, MESSAGES.long] {
        let kinds = Loop::run(to, text).await.whole().await;
        assert_eq!(kinds.last(), Some(&ChunkKind::Usage));
    }
    let kinds = Loop::run(to, MESSAGES.failing).await.whole().await;
    assert_eq!(kinds.last(), Some(&ChunkKind::Notification));
}

#[tokio::test]
async fn every_variant_runs_loops_that_read_well() {
    for variant in variants::all() {
        let server = start(Revision::Scope, Behaviour::Variant(variant.name.into())).await;
        let to = registered(&server).await;
        for text in [MESSAGES.ordinary, MESSAGES.tool, MESSAGES.failing] {
            let kinds = Loop::run(to, text).await.whole().await;
            assert_eq!(
                kinds.first(),
                Some(&ChunkKind::UserTextContent),
                "{}",
                variant.name
            );
        }
    }
}

#[tokio::test]
async fn hollow_servers_run_nothing() {
    for hollow in hollow::all() {
        let server = start(Revision::Scope, Behaviour::Hollow(hollow.name.into())).await;
        let to = server.address();
        if TcpStream::connect(to).await.is_err() {
            assert_eq!(hollow.name, "refuse");
            continue;
        }
        if matches!(hollow.name, "mute" | "open-stream" | "flood") {
            continue; // Nothing ends what they begin.
        }
        let body = format!("{{\"messages\":[{}]}}", message("k", MESSAGES.ordinary));
        let ran = match ask(to, Endpoint::Run, body).await {
            Ok(response) => response.bytes().await.unwrap_or_default(),
            Err(_) => continue,
        };
        assert!(!ran.starts_with(b"data:"), "{}", hollow.name);
    }
}

#[tokio::test]
async fn the_port_comes_from_the_variable_and_is_free_when_the_server_is_stopped() {
    let port = start(Revision::Path, Behaviour::Conforming)
        .await
        .address()
        .port();
    let config = Config {
        listen: Listen::Port(Some(port.to_string())),
        revision: Revision::Path,
        behaviour: Behaviour::Conforming,
    };
    // The server above is dropped, and its port free once its task is gone.
    let server = loop {
        match serve(config.clone()).await {
            Ok(server) => break server,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!(server.address(), SocketAddr::from(([127, 0, 0, 1], port)));
    server.stop().await;
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
async fn a_behaviour_that_is_not_there_is_an_error() {
    let config = Config {
        listen: Listen::At("127.0.0.1:0".parse().unwrap()),
        revision: Revision::Scope,
        behaviour: Behaviour::Fault("no-such".into()),
    };
    let error = serve(config).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the revision scope has no fault `no-such`"
    );
}
