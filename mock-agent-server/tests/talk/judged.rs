//! What agent servers say, judged as the harness judges it.

use std::collections::{BTreeSet, HashMap};

use diverge_protocol::rules::{ChunkStream, Ending, Joined, Message, Revision, Violation};
use diverge_protocol::wire::agent_server::{Endpoint, Fate, PathRunRequest, RunAsk};
use diverge_protocol::wire::channel::EnqueueAsk;
use diverge_protocol::wire::sse::{self, EventReader};
use mock_agent_server::policy::{Input, Output};
use mock_agent_server::{Asked, CallId, faults, variants};

use crate::conversation::{Conversation, Event};

const BOTH: [Revision; 2] = [Revision::Scope, Revision::Path];

/// Judges everything that was said in a conversation.
struct Judge {
    revision: Revision,
    stream: ChunkStream,
    asked: HashMap<CallId, Asked>,
    joined: HashMap<CallId, Joined>,
    readers: HashMap<CallId, EventReader>,
    out: Vec<Violation>,
}

impl Judge {
    fn judged(talk: &Conversation, revision: Revision) -> Vec<Violation> {
        let mut judge = Self {
            revision,
            stream: ChunkStream::new(revision),
            asked: HashMap::new(),
            joined: HashMap::new(),
            readers: HashMap::new(),
            out: Vec::new(),
        };
        for (seq, event) in (1..).zip(talk.log()) {
            match event {
                Event::Told(input) => judge.told(seq, input),
                Event::Did(output) => judge.did(seq, output),
            }
        }
        judge.stream.settled(0, &mut judge.out);
        judge.out
    }

    fn told(&mut self, seq: u64, input: &Input) {
        match input {
            Input::Called(call, asked) => {
                if asked.endpoint() == Some(Endpoint::Enqueue)
                    && let Some(message) = self.message(&asked.body)
                {
                    self.joined.insert(*call, self.stream.joined(message));
                }
                self.asked.insert(*call, asked.clone());
            }
            Input::Dropped(call) if self.readers.remove(call).is_some() => {
                self.stream.end(seq, Ending::CutOff, &mut self.out);
            }
            _ => {}
        }
    }

    fn message(&self, body: &[u8]) -> Option<Message> {
        match self.revision {
            Revision::Scope => Message::new(&EnqueueAsk::decode(body).ok()?).ok(),
            Revision::Path => Some(Message::prompt(&PathRunRequest::decode(body).ok()?.prompt)),
        }
    }

    fn started(&self, body: &[u8]) -> Vec<Message> {
        match self.revision {
            Revision::Scope => RunAsk::decode(body).map_or_else(
                |_| Vec::new(),
                |ask| {
                    ask.messages
                        .iter()
                        .filter_map(|it| Message::new(it).ok())
                        .collect()
                },
            ),
            Revision::Path => self.message(body).into_iter().collect(),
        }
    }

    fn did(&mut self, seq: u64, output: &Output) {
        match output {
            Output::Stream(call, _) => {
                self.stream.begin(&self.started(&self.asked[call].body));
                self.readers.insert(*call, EventReader::new());
            }
            Output::Event(call, data) => self.read(seq, *call, &sse::event(data)),
            Output::Raw(call, bytes) => self.read(seq, *call, bytes),
            Output::End(call) if self.readers.remove(call).is_some() => {
                self.stream.end(seq, Ending::Whole, &mut self.out);
            }
            Output::Cut(call) if self.readers.remove(call).is_some() => {
                self.stream.end(seq, Ending::CutOff, &mut self.out);
            }
            Output::Answer(call, answer) => {
                if let Some(joined) = self.joined.remove(call) {
                    match Fate::decode(&answer.body) {
                        Ok(fate) => self.stream.fate(seq, joined, fate, &mut self.out),
                        Err(_) => self.stream.forgotten(joined),
                    }
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, seq: u64, call: CallId, bytes: &[u8]) {
        let Some(reader) = self.readers.get_mut(&call) else {
            return;
        };
        let mut events = Vec::new();
        reader.push(bytes, &mut events);
        for event in events {
            self.stream.event(seq, &event.data, &mut self.out);
        }
    }
}

fn broken(mut talk: Conversation, revision: Revision) -> BTreeSet<&'static str> {
    talk.plays_everything();
    let broken = Judge::judged(&talk, revision);
    broken.iter().map(|it| it.requirement.as_str()).collect()
}

#[test]
fn the_reference_and_its_variants_break_nothing() {
    for revision in BOTH {
        assert_eq!(
            broken(Conversation::new(revision), revision),
            BTreeSet::new()
        );
        for variant in variants::all() {
            let broken = broken(Conversation::with(revision, variant.build()), revision);
            assert_eq!(broken, BTreeSet::new(), "{}", variant.name);
        }
    }
}

#[test]
fn every_fault_of_a_stream_is_told_by_its_requirement() {
    let told_by_streams = |id: &str| {
        let topics = ["chunk", "parts", "tool", "usage"];
        let others = [
            "agent.failure.last-word",
            "agent.enqueue.delivered-parts",
            "agent.enqueue.parts-together",
            "agent.enqueue.parts-of-messages",
            "agent.dequeue.not-taken",
            "agent.path.delivered-prompt",
            "agent.path.no-echo",
        ];
        let topic = id.split('.').nth(1);
        topics.iter().any(|it| topic == Some(*it)) || others.contains(&id)
    };
    let mut survivors = Vec::new();
    for fault in faults::all().filter(|it| told_by_streams(it.requirement)) {
        let told = BOTH.iter().any(|revision| {
            let talk = Conversation::with(*revision, fault.build());
            broken(talk, *revision).contains(fault.requirement)
        });
        survivors.extend((!told).then_some(fault.name));
    }
    assert_eq!(survivors, [""; 0]);
}
