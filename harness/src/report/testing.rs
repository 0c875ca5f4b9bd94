//! Made-up results for the tests of reports.

use std::sync::Arc;
use std::time::Duration;

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::{Iut, Located, Place, Source};
use diverge_protocol::transcript::{LinkId, LinkKind, Role, RunRef, Transcript, What};
use diverge_protocol::wire::frame::{Frame, FrameType};

use super::Heading;
use super::mask::Mask;
use super::record::{Part, Record, Results};
use crate::verdict::{Divergence, Outcome, Verdict};

pub(crate) fn heading() -> Heading {
    Heading {
        iut: Iut::Provider,
        revision: None,
        subject: "the in-tree reference".to_owned(),
        replay: "diverge-conformance run provider --launch 'serve hunter2' --scenario ".to_owned(),
        scenarios: 3,
        unscored: Arc::default(),
        secrets: vec!["hunter2".to_owned()],
    }
}

pub(crate) fn id(name: &str) -> RequirementId {
    RequirementId::new(name).expect("the catalogue has it")
}

pub(crate) fn outcome(verdict: Verdict) -> Outcome {
    Outcome {
        id: "provider/streams/one-loop".to_owned(),
        title: "An example".to_owned(),
        topic: "streams".to_owned(),
        verdict,
        requirements: vec![id("run.chunk.relayed")],
        duration: Duration::from_micros(1_900),
        message: None,
        divergence: None,
        readings: Vec::new(),
        evaluated: 3,
        transcript: Transcript::default(),
        script: Vec::new(),
        expectation: None,
    }
}

/// A chunk that was changed on its way.
pub(crate) fn failed() -> Outcome {
    let mut talk = Talk::default();
    talk.client(FrameType::Authorization, 0, 0, b"\0hunter2");
    talk.client(FrameType::Request, 1, 0, br#"{"image":{}}"#);
    talk.proxy(FrameType::Response, 1, 0, b"\x02{\"type\":\"usage\"}");
    let seq = talk.provider(FrameType::Response, 1, 0, b"\x07{\"type\":\"hunter2\"}");
    talk.provider(FrameType::ResponseFinish, 1, 0, b"");
    let source = Arc::new(Source {
        path: "scenarios/provider/streams.yaml".to_owned(),
        text: String::new(),
    });
    let place = Place {
        bytes: 0..0,
        line: 14,
        column: 9,
    };
    let divergence = Divergence {
        step: Some((Located { source, place }, "client expects chunk".to_owned())),
        allowed: "the chunk that the proxy sent".to_owned(),
        received: "a chunk with \"hunter2\"".to_owned(),
        pointer: Some("/type".to_owned()),
        requirements: vec![id("run.chunk.verbatim"), id("run.chunk.one-response-each")],
        by_rule: true,
        seq: Some(seq),
    };
    let message = format!(
        "expected {}; got {}",
        divergence.allowed, divergence.received
    );
    Outcome {
        message: Some(message),
        divergence: Some(divergence),
        transcript: talk.transcript,
        ..outcome(Verdict::Fail)
    }
}

/// A run of a scenario that passes and one that fails.
pub(crate) fn results() -> Results {
    let mask = Mask::of(&Transcript::default(), &heading().secrets);
    let mut passed = outcome(Verdict::Pass);
    passed.id = "provider/streams/passes".to_owned();
    let mut results = Results::start(false);
    results.end.parts.push(Part::of(&heading(), &mask));
    for outcome in [passed, failed()] {
        let record = Record::of(&outcome, &heading(), &mask);
        results.end.summary.add(record.verdict);
        results.results.push(Arc::new(record));
    }
    results.end.exit = Some(1);
    results.end.complete = true;
    results
}

/// A transcript in the making: one client, one proxy.
pub(crate) struct Talk {
    pub transcript: Transcript,
    client: LinkId,
    begin: LinkId,
}

impl Default for Talk {
    fn default() -> Self {
        let mut transcript = Transcript::default();
        let client = transcript.open(LinkKind::Client, "client", None);
        let run = RunRef {
            link: client,
            scope: 1,
            generation: 0,
        };
        let begin = transcript.open(LinkKind::Begin, "proxy of run", Some(run));
        Self {
            transcript,
            client,
            begin,
        }
    }
}

impl Talk {
    fn say(&mut self, link: LinkId, sender: Role, frame: Frame) -> u64 {
        let at = Duration::from_micros(100 * self.transcript.events.len() as u64);
        self.transcript
            .record(at, link, sender, What::Binary(frame.encode()))
    }

    pub(crate) fn client(
        &mut self,
        kind: FrameType,
        scope: u32,
        channel: u32,
        payload: &[u8],
    ) -> u64 {
        self.say(
            self.client,
            Role::Client,
            Frame::new(kind, scope, channel, payload.to_vec()),
        )
    }

    pub(crate) fn provider(
        &mut self,
        kind: FrameType,
        scope: u32,
        channel: u32,
        payload: &[u8],
    ) -> u64 {
        self.say(
            self.client,
            Role::Provider,
            Frame::new(kind, scope, channel, payload.to_vec()),
        )
    }

    pub(crate) fn proxy(
        &mut self,
        kind: FrameType,
        scope: u32,
        channel: u32,
        payload: &[u8],
    ) -> u64 {
        self.say(
            self.begin,
            Role::Proxy,
            Frame::new(kind, scope, channel, payload.to_vec()),
        )
    }
}
