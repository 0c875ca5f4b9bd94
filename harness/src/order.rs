//! Which part of a selection is played, in which order, and how often.

use std::collections::HashMap;
use std::str::FromStr;

use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::Iut;

use crate::kinds::{Playing, Trial};
use crate::runner::{Finished, Progress};
use crate::verdict::{Outcome, Verdict};

/// One of several parts of about the same size, which together are the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

/// A shard that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write it as K/N, such as 1/4 for the first of four parts; K is at least 1 and at most N")]
pub struct NoShard;

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let (part, of) = text.split_once('/').ok_or(NoShard)?;
        let number = |text: &str| text.parse().map_err(|_| NoShard);
        let (part, of): (usize, usize) = (number(part)?, number(of)?);
        if (1..=of).contains(&part) {
            Ok(Self { part, of })
        } else {
            Err(NoShard)
        }
    }
}

/// What is done with a selection before it is played.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order {
    /// Only this part of it.
    pub shard: Option<Shard>,
    /// In an order that this seed decides.
    pub shuffle: Option<u64>,
}

impl Order {
    /// The ids that are played, in their order.
    #[must_use]
    pub fn arrange(&self, ids: Vec<String>) -> Vec<String> {
        let mut ids = match self.shard {
            None => ids,
            // Neighbours are alike, so each shard gets its share of every topic.
            Some(Shard { part, of }) => ids.into_iter().skip(part - 1).step_by(of).collect(),
        };
        if let Some(seed) = self.shuffle {
            fastrand::Rng::with_seed(seed).shuffle(&mut ids);
        }
        ids
    }
}

/// A trial that is played several times; a scenario whose verdict differs between them is unstable.
pub struct Repeated {
    trial: Box<dyn Trial>,
    times: u32,
}

impl Repeated {
    /// Plays `trial` so many times.
    #[must_use]
    pub fn new(trial: Box<dyn Trial>, times: u32) -> Self {
        Self { trial, times }
    }
}

impl Trial for Repeated {
    fn iut(&self) -> Iut {
        self.trial.iut()
    }

    fn revision(&self) -> Option<Revision> {
        self.trial.revision()
    }

    fn ids(&self) -> Vec<String> {
        self.trial.ids()
    }

    fn keep(&mut self, ids: &[String]) {
        self.trial.keep(ids);
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let mut seen: HashMap<String, Results> = HashMap::new();
            let mut whole = Finished::default();
            for round in 1..=self.times {
                let mut take = |told: Progress| match told {
                    Progress::Done(outcome) => {
                        let results = seen.entry(outcome.id.clone()).or_default();
                        results.add(outcome);
                        if results.verdicts.len() == self.times as usize
                            && let Some(outcome) = results.sum()
                        {
                            progress(Progress::Done(outcome));
                        }
                    }
                    note @ Progress::Note(_) => progress(note),
                };
                let finished = self.trial.play(&mut take).await?;
                whole.strict = finished.strict;
                whole.add(finished);
                if whole.stopped.is_some() {
                    break;
                }
                if round < self.times {
                    progress(Progress::Note(format!(
                        "played {round} of {} times",
                        self.times
                    )));
                }
            }
            // Of a run that stopped early, what there is of each scenario is its result.
            for results in seen.values_mut() {
                if let Some(outcome) = results.sum() {
                    progress(Progress::Done(outcome));
                }
            }
            Ok(whole)
        })
    }
}

/// The results of one scenario.
#[derive(Debug, Default)]
struct Results {
    verdicts: Vec<Verdict>,
    worst: Option<Box<Outcome>>,
}

impl Results {
    fn add(&mut self, outcome: Box<Outcome>) {
        self.verdicts.push(outcome.verdict);
        let is_worse = |worst: &Outcome| rank(outcome.verdict) > rank(worst.verdict);
        if self.worst.as_deref().is_none_or(is_worse) {
            self.worst = Some(outcome);
        }
    }

    /// The result that they come to, once.
    fn sum(&mut self) -> Option<Box<Outcome>> {
        let mut outcome = self.worst.take()?;
        let played = self.verdicts.len();
        if self.verdicts.iter().all(|it| *it == outcome.verdict) {
            return Some(outcome);
        }
        let times = |verdict: &Verdict| self.verdicts.iter().filter(|it| *it == verdict).count();
        let counts: Vec<String> = Verdict::ALL
            .iter()
            .filter(|verdict| times(verdict) > 0)
            .map(|verdict| format!("{} {}", times(verdict), verdict.as_str()))
            .collect();
        let why = outcome.message.take().unwrap_or_default();
        outcome.message = Some(format!("{why}; of {played} times: {}", counts.join(", ")));
        outcome.verdict = Verdict::Unstable;
        Some(outcome)
    }
}

/// How much a verdict has to tell; the outcome of the one with the most is shown.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::NotApplicable => 1,
        Verdict::Warn => 2,
        Verdict::Inconclusive => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::report::testing;

    fn ids() -> Vec<String> {
        (0..23).map(|number| format!("p/t/{number}")).collect()
    }

    #[test]
    fn shards_are_disjoint_and_together_the_whole() {
        for of in 1..30 {
            let shards: Vec<Vec<String>> = (1..=of)
                .map(|part| {
                    let shard = format!("{part}/{of}")
                        .parse()
                        .expect("there is such a shard");
                    let order = Order {
                        shard: Some(shard),
                        shuffle: None,
                    };
                    order.arrange(ids())
                })
                .collect();
            let together: BTreeSet<&String> = shards.iter().flatten().collect();
            assert_eq!(together.len(), 23);
            assert_eq!(shards.iter().map(Vec::len).sum::<usize>(), 23);
            let sizes = shards.iter().map(Vec::len);
            assert!(sizes.clone().max() <= sizes.min().map(|least| least + 1));
        }
    }

    #[test]
    fn a_shard_that_there_is_not_is_refused() {
        for text in ["0/4", "5/4", "4", "1/0", "a/b", "1/4/2", "-1/4"] {
            assert_eq!(text.parse::<Shard>(), Err(NoShard), "{text}");
        }
    }

    #[test]
    fn a_seed_decides_the_order() {
        let shuffled = |seed| {
            let order = Order {
                shard: None,
                shuffle: Some(seed),
            };
            order.arrange(ids())
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        assert_ne!(shuffled(7), ids());
        let mut sorted = shuffled(7);
        sorted.sort_by_key(|id| ids().iter().position(|other| other == id));
        assert_eq!(sorted, ids());
    }

    /// Fails its first scenario in its second round, and passes otherwise.
    struct Moody {
        rounds: AtomicUsize,
        always: bool,
    }

    impl Trial for Moody {
        fn iut(&self) -> Iut {
            Iut::Provider
        }

        fn revision(&self) -> Option<Revision> {
            None
        }

        fn ids(&self) -> Vec<String> {
            vec!["p/t/moody".to_owned(), "p/t/steady".to_owned()]
        }

        fn keep(&mut self, _ids: &[String]) {}

        fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
            let round = self.rounds.fetch_add(1, Ordering::Relaxed);
            let fails = self.always || round == 1;
            Box::pin(async move {
                for id in self.ids() {
                    let mut outcome = if fails && id == "p/t/moody" {
                        testing::failed()
                    } else {
                        testing::outcome(Verdict::Pass)
                    };
                    outcome.id = id;
                    progress(Progress::Done(Box::new(outcome)));
                }
                Ok(Finished::default())
            })
        }
    }

    async fn played(always: bool) -> Vec<Outcome> {
        let moody = Moody {
            rounds: AtomicUsize::new(0),
            always,
        };
        let repeated = Repeated::new(Box::new(moody), 3);
        let mut outcomes = Vec::new();
        let mut progress = |told: Progress| {
            if let Progress::Done(outcome) = told {
                outcomes.push(*outcome);
            }
        };
        let finished = repeated.play(&mut progress).await;
        assert!(finished.is_ok());
        outcomes
    }

    #[tokio::test]
    async fn a_verdict_that_differs_is_unstable_and_tells_the_failure() {
        let outcomes = played(false).await;
        assert_eq!(outcomes.len(), 2);
        assert_eq!(outcomes[0].verdict, Verdict::Unstable);
        let message = outcomes[0].message.as_deref().unwrap_or_default();
        assert!(
            message.ends_with("; of 3 times: 2 pass, 1 fail"),
            "{message}"
        );
        assert!(outcomes[0].divergence.is_some());
        assert_eq!(outcomes[1].verdict, Verdict::Pass);
    }

    #[tokio::test]
    async fn a_verdict_that_stays_is_told_once() {
        let verdicts: Vec<Verdict> = played(true).await.iter().map(|it| it.verdict).collect();
        assert_eq!(verdicts, [Verdict::Fail, Verdict::Pass]);
    }
}
