//! The endpoint that scenarios drive, called by a real client.

#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;

use diverge_link::http::{self, CallError, Method, Response};
use mock_agent_server::{Answer, Arrival, Call, CallId, Endpoint, Head, Over};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The endpoint and its callers.
struct Pair {
    endpoint: Endpoint,
    arrivals: mpsc::Receiver<Arrival>,
}

impl Pair {
    async fn new() -> Self {
        let (to, arrivals) = mpsc::channel(16);
        let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let endpoint = Endpoint::bind(local, to).await.unwrap();
        Self { endpoint, arrivals }
    }

    /// Posts, and lets the answer come by itself.
    fn post(&self, path: &str, body: &'static str) -> JoinHandle<Result<Response, CallError>> {
        let call = http::Call {
            method: Method::POST,
            path: path.into(),
            content_type: Some("application/json".into()),
            body: body.into(),
        };
        tokio::spawn(http::call(self.endpoint.address(), call))
    }

    async fn called(&mut self) -> Call {
        match self.arrivals.recv().await.unwrap() {
            Arrival::Called(call) => *call,
            Arrival::Dropped(id) => panic!("{id} was dropped"),
        }
    }

    async fn dropped(&mut self) -> CallId {
        match self.arrivals.recv().await.unwrap() {
            Arrival::Called(call) => panic!("{:?}", call.asked),
            Arrival::Dropped(id) => id,
        }
    }
}

#[tokio::test]
async fn a_call_is_reported_as_it_came_and_answered_as_told() {
    let mut pair = Pair::new().await;
    let answer = pair.post("/register?x=1", "{ }");
    let mut call = pair.called().await;
    assert_eq!(
        (call.asked.method.as_str(), call.asked.path.as_str()),
        ("POST", "/register?x=1")
    );
    assert_eq!(call.asked.headers["content-type"], "application/json");
    assert_eq!(call.asked.body, "{ }");
    assert!(call.is_open());
    call.respond(Answer::json(409, "{\"kind\": \"x\"}"))
        .unwrap();
    let answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.status, 409);
    assert_eq!(answer.content_type.as_deref(), Some("application/json"));
    assert_eq!(answer.bytes().await.unwrap(), "{\"kind\": \"x\"}");
    assert_eq!(call.respond(Answer::empty(200)), Err(Over));
    assert!(!call.is_open());
}

#[tokio::test]
async fn events_come_one_by_one_until_the_end() {
    let mut pair = Pair::new().await;
    let answer = pair.post("/run", "{}");
    let mut call = pair.called().await;
    assert_eq!(call.event(b"{}"), Err(Over));
    call.stream(Head::default()).unwrap();
    let mut answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.content_type.as_deref(), Some("text/event-stream"));
    call.event(b"{\"a\": 1}").unwrap();
    assert_eq!(
        answer.chunk().await.unwrap().unwrap(),
        "data: {\"a\": 1}\n\n"
    );
    call.raw(": still here\n\n").unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), ": still here\n\n");
    call.end().unwrap();
    assert_eq!(answer.chunk().await.unwrap(), None);
    assert_eq!(call.event(b"{}"), Err(Over));
}

#[tokio::test]
async fn a_stream_that_is_broken_off_has_what_was_sent_and_no_end() {
    for (events, drop_it) in [(0, false), (1, true), (20, false)] {
        let mut pair = Pair::new().await;
        let answer = pair.post("/run", "{}");
        let mut call = pair.called().await;
        call.stream(Head::default()).unwrap();
        for _ in 0..events {
            call.event(b"{}").unwrap();
        }
        if drop_it {
            drop(call);
        } else {
            call.break_off();
        }
        let mut answer = answer.await.unwrap().unwrap();
        let mut body = String::new();
        let end = loop {
            match answer.chunk().await {
                Ok(Some(bytes)) => body.push_str(std::str::from_utf8(&bytes).unwrap()),
                end => break end,
            }
        };
        assert!(end.is_err(), "{events} events and {end:?}");
        assert_eq!(body, "data: {}\n\n".repeat(events));
    }
}

#[tokio::test]
async fn a_call_that_is_broken_off_or_dropped_has_no_answer() {
    let mut pair = Pair::new().await;
    for drop_it in [false, true] {
        let answer = pair.post("/enqueue", "{}");
        let mut call = pair.called().await;
        if drop_it {
            drop(call);
        } else {
            call.break_off();
        }
        assert!(answer.await.unwrap().is_err());
    }
}

#[tokio::test]
async fn a_caller_that_leaves_is_reported_once() {
    let mut pair = Pair::new().await;
    let held = pair.post("/enqueue", "{}");
    let mut call = pair.called().await;
    held.abort();
    assert_eq!(pair.dropped().await, call.id);
    assert_eq!(call.respond(Answer::empty(200)), Err(Over));

    let answer = pair.post("/run", "{}");
    let mut run = pair.called().await;
    run.stream(Head::default()).unwrap();
    drop(answer.await.unwrap().unwrap());
    assert_eq!(pair.dropped().await, run.id);
    assert!(!run.is_open());

    let whole = pair.post("/dequeue", "{}");
    let mut last = pair.called().await;
    last.respond(Answer::empty(204)).unwrap();
    assert_eq!(whole.await.unwrap().unwrap().status, 204);
    let other = pair.post("/dequeue", "{}");
    assert!(
        pair.called().await.id > last.id,
        "nothing else was reported"
    );
    other.abort();
}

#[tokio::test]
async fn calls_are_held_side_by_side() {
    let mut pair = Pair::new().await;
    let first = pair.post("/enqueue", "1");
    let mut held = pair.called().await;
    let second = pair.post("/enqueue", "2");
    let mut other = pair.called().await;
    other.respond(Answer::json(200, "2")).unwrap();
    assert_eq!(second.await.unwrap().unwrap().bytes().await.unwrap(), "2");
    held.respond(Answer::json(200, "1")).unwrap();
    assert_eq!(first.await.unwrap().unwrap().bytes().await.unwrap(), "1");
}

#[tokio::test]
async fn a_flood_goes_on_for_as_long_as_it_is_read() {
    let mut pair = Pair::new().await;
    let answer = pair.post("/run", "{}");
    let mut call = pair.called().await;
    call.stream(Head::default()).unwrap();
    call.flood("data: {}\n\n").unwrap();
    let mut answer = answer.await.unwrap().unwrap();
    for _ in 0..1000 {
        assert!(answer.chunk().await.unwrap().is_some());
    }
    drop(answer);
    assert_eq!(pair.dropped().await, call.id);
}

#[tokio::test]
async fn an_endpoint_that_is_stopped_is_gone_with_its_calls() {
    let mut pair = Pair::new().await;
    let held = pair.post("/run", "{}");
    let call = pair.called().await;
    let address = pair.endpoint.address();
    pair.endpoint.stop().await;
    assert!(held.await.unwrap().is_err());
    assert!(!call.is_open());
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn an_endpoint_that_leaves_keeps_its_port_and_returns_to_it() {
    let mut pair = Pair::new().await;
    let held = pair.post("/run", "{}");
    pair.called().await;
    let address = pair.endpoint.address();
    let reserved = pair.endpoint.leave().await.unwrap();
    assert!(held.await.unwrap().is_err());
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    assert!(tokio::net::TcpListener::bind(address).await.is_err());
    let (to, arrivals) = mpsc::channel(16);
    let endpoint = reserved.listen(to).unwrap();
    assert_eq!(endpoint.address(), address);
    let mut pair = Pair { endpoint, arrivals };
    let answer = pair.post("/run", "{}");
    pair.called()
        .await
        .respond(Answer::json(200, "{}"))
        .unwrap();
    assert_eq!(answer.await.unwrap().unwrap().status, 200);
}
