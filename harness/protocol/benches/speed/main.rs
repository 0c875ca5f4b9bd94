//! How fast chunks are judged, decoded and encoded, beside a plain serde port and serde_json's own pass over the text,
//! and how fast the rule checkers are. The table at the end has them in relation.
//!
//! `cargo bench -p diverge-protocol`; without `--bench`, as `cargo test --benches` runs it, everything runs once.

mod checkers;
mod corpus;
mod port;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use diverge_protocol::wire::chunk::{self, Chunk};
use serde::de::IgnoredAny;

/// The shortest time that each run took, by corpus and by what was measured.
#[derive(Default)]
struct Shortest(RefCell<BTreeMap<(&'static str, &'static str), f64>>);

const JUDGE: &str = "judge";
const DECODE: &str = "decode owned";
const ENCODE: &str = "encode";
const PORT_DECODE: &str = "port: decode";
const PORT_ENCODE: &str = "port: encode";
const IGNORED: &str = "IgnoredAny";

impl Shortest {
    /// Runs it so many times, and notes the shortest: what else a machine does makes none of them shorter.
    fn timed(
        &self,
        key: (&'static str, &'static str),
        times: u64,
        mut run: impl FnMut(),
    ) -> Duration {
        let (mut took, mut shortest) = (Duration::ZERO, Duration::MAX);
        for _ in 0..times {
            let start = Instant::now();
            run();
            let one = start.elapsed();
            took += one;
            shortest = shortest.min(one);
        }
        let mut kept = self.0.borrow_mut();
        let kept = kept.entry(key).or_insert(f64::INFINITY);
        *kept = kept.min(shortest.as_secs_f64());
        took
    }

    fn of(&self, corpus: &'static str, what: &'static str) -> Option<f64> {
        self.0.borrow().get(&(corpus, what)).copied()
    }
}

fn codecs(criterion: &mut Criterion, shortest: &Shortest, corpora: &[corpus::Corpus]) {
    for corpus in corpora {
        let texts = || {
            corpus
                .chunks
                .iter()
                .map(|chunk| black_box(chunk.as_bytes()))
        };
        let owned: Vec<Chunk> = texts()
            .map(|text| Chunk::decode(text).expect("a chunk"))
            .collect();
        let ported: Vec<port::Chunk> = texts()
            .map(|text| serde_json::from_slice(text).expect("a chunk of the port"))
            .collect();
        let mut group = criterion.benchmark_group(corpus.name);
        group.throughput(Throughput::Bytes(corpus.bytes() as u64));
        let mut measure = |what: &'static str, run: &mut dyn FnMut()| {
            group.bench_function(what, |bencher| {
                bencher.iter_custom(|times| shortest.timed((corpus.name, what), times, &mut *run));
            });
        };
        measure(JUDGE, &mut || {
            texts().for_each(|text| {
                black_box(chunk::judge(text).expect("a chunk"));
            });
        });
        measure(DECODE, &mut || {
            texts().for_each(|text| drop(black_box(Chunk::decode(text).expect("a chunk"))));
        });
        measure(PORT_DECODE, &mut || {
            texts().for_each(|text| {
                drop(black_box(
                    serde_json::from_slice::<port::Chunk>(text).expect("a chunk"),
                ));
            });
        });
        measure(IGNORED, &mut || {
            texts().for_each(|text| {
                black_box(serde_json::from_slice::<IgnoredAny>(text).expect("JSON"));
            });
        });
        measure(ENCODE, &mut || {
            owned
                .iter()
                .for_each(|chunk| drop(black_box(chunk.encode())));
        });
        measure(PORT_ENCODE, &mut || {
            ported
                .iter()
                .for_each(|chunk| drop(black_box(serde_json::to_vec(chunk).expect("JSON"))));
        });
        group.finish();
    }
}

const CHECKERS: &str = "rule checkers";

fn rule_checkers(criterion: &mut Criterion, shortest: &Shortest, chunks: &[String]) -> usize {
    let talk = checkers::conversation(10, chunks);
    assert!(
        checkers::judged(&talk).is_empty(),
        "the conversation breaks nothing"
    );
    let events = talk.events.len();
    let mut group = criterion.benchmark_group(CHECKERS);
    group.throughput(Throughput::Elements(events as u64));
    group.bench_function("events", |bencher| {
        bencher.iter_custom(|times| {
            shortest.timed((CHECKERS, CHECKERS), times, || {
                assert!(black_box(checkers::judged(black_box(&talk))).is_empty());
            })
        });
    });
    group.finish();
    events
}

fn table(shortest: &Shortest, corpora: &[corpus::Corpus], events: usize) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "\nMB/s by the shortest run, and how many times the port's or IgnoredAny's speed that is\n"
    )?;
    writeln!(
        out,
        "{:<13} {:>8} {:>12} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "",
        "port",
        "IgnoredAny",
        "judge",
        "/port",
        "/Ignored",
        "decode",
        "/port",
        "encode",
        "/port"
    )?;
    for corpus in corpora {
        let speed = |what| {
            shortest
                .of(corpus.name, what)
                .map_or(f64::NAN, |took| corpus.bytes() as f64 / took / 1e6)
        };
        let (port, ignored) = (speed(PORT_DECODE), speed(IGNORED));
        let (judge, decode, encode) = (speed(JUDGE), speed(DECODE), speed(ENCODE));
        writeln!(
            out,
            "{:<13} {port:>8.0} {ignored:>12.0} {judge:>10.0} {:>8.1} {:>8.2} {decode:>8.0} {:>8.1} {encode:>8.0} {:>8.1}",
            corpus.name,
            judge / port,
            judge / ignored,
            decode / port,
            encode / speed(PORT_ENCODE),
        )?;
    }
    if let Some(took) = shortest.of(CHECKERS, CHECKERS) {
        writeln!(
            out,
            "\n{CHECKERS}: {:.1} million events a second",
            events as f64 / took / 1e6
        )?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let corpora = corpus::corpora();
    let whole = &corpora[0].chunks;
    let missing = corpus::KINDS.iter().find(|kind| {
        let tag = format!(r#"{{"type":"{kind}""#);
        !whole.iter().any(|chunk| chunk.starts_with(&tag))
    });
    assert!(missing.is_none(), "the stream has no {missing:?}");
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    let shortest = Shortest::default();
    codecs(&mut criterion, &shortest, &corpora);
    let events = rule_checkers(&mut criterion, &shortest, whole);
    criterion.final_summary();
    if std::env::args().any(|argument| argument == "--bench")
        && !std::env::args().any(|argument| argument == "--test")
    {
        table(&shortest, &corpora, events)?;
    }
    Ok(())
}
