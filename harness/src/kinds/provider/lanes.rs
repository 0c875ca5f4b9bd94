//! Plays many scenarios against one provider: which at once, and on which addresses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use diverge_protocol::scenario::Scenario;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::endpoint::Endpoint;
use crate::config::ProviderConfig;
use crate::iut::{Plug, PlugError};
use crate::kinds::Setting;
use crate::play::{Patience, Played, play};
use crate::runner::{Finished, Progress};
use crate::verdict::Exit;

/// How many extra processes or servers play the scenarios that need an address of their own.
const LANES: usize = 3;

/// Plays `scenarios` and reports each result as it comes.
///
/// # Errors
/// When the implementation cannot be had at all.
pub async fn run(
    scenarios: &[Arc<Scenario>],
    setting: &Setting,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Finished, PlugError> {
    let (exclusive, shared): (Vec<_>, Vec<_>) = scenarios
        .iter()
        .cloned()
        .partition(|scenario| scenario.exclusive);
    let one_address = matches!(setting.plug, Plug::Url(_));
    let mut lanes = vec![Endpoint::plug(&setting.plug, &setting.config.provider).await?];
    if !one_address {
        for _ in 0..LANES.min(exclusive.len()).min(setting.jobs) {
            lanes.push(Endpoint::plug(&setting.plug, &setting.config.provider).await?);
        }
    }
    let (results, mut from_lanes) = mpsc::channel(64);
    let context = Arc::new(Context {
        config: setting.config.provider.clone(),
        patience: setting.patience.clone(),
        results,
        shared: Mutex::new(shared.into()),
        exclusive: Mutex::new(exclusive.into()),
    });
    let lanes: Vec<Arc<Endpoint>> = lanes.into_iter().map(Arc::new).collect();
    let mut playing = JoinSet::new();
    let driver = drive(
        Arc::clone(&context),
        lanes.clone(),
        setting.jobs.max(1),
        one_address,
    );
    playing.spawn(driver);
    drop(context);
    let mut finished = Finished {
        strict: setting.strict,
        ..Finished::default()
    };
    while let Some(played) = from_lanes.recv().await {
        match played {
            Played::Judged(outcome) => {
                finished.summary.add(outcome.verdict);
                progress(Progress::Done(outcome));
            }
            Played::Unreachable(why) => finished.stop(Exit::Unreachable, why),
            Played::Fault(why) => finished.stop(Exit::Harness, why),
        }
        if finished.stopped.is_some() {
            break;
        }
    }
    playing.shutdown().await;
    for lane in &lanes {
        let unclaimed = lane.hub().take_unclaimed();
        finished
            .unclaimed
            .extend(unclaimed.into_iter().map(|connection| connection.about));
    }
    for lane in lanes {
        if let Some(lane) = Arc::into_inner(lane) {
            lane.unplug().await;
        }
    }
    Ok(finished)
}

struct Context {
    config: ProviderConfig,
    patience: Patience,
    results: mpsc::Sender<Played>,
    shared: Mutex<VecDeque<Arc<Scenario>>>,
    exclusive: Mutex<VecDeque<Arc<Scenario>>>,
}

fn next(queue: &Mutex<VecDeque<Arc<Scenario>>>) -> Option<Arc<Scenario>> {
    queue
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .pop_front()
}

async fn drive(context: Arc<Context>, lanes: Vec<Arc<Endpoint>>, jobs: usize, one_address: bool) {
    let mut workers = JoinSet::new();
    for _ in 0..jobs {
        let (context, lane) = (Arc::clone(&context), Arc::clone(&lanes[0]));
        workers.spawn(async move {
            while let Some(scenario) = next(&context.shared) {
                context.play(&scenario, &lane).await;
            }
        });
    }
    if one_address {
        // The one address is shared, so what needs it alone comes after everything else.
        while workers.join_next().await.is_some() {}
    }
    let alone = if one_address { &lanes[..] } else { &lanes[1..] };
    for lane in alone {
        let (context, lane) = (Arc::clone(&context), Arc::clone(lane));
        workers.spawn(async move {
            while let Some(scenario) = next(&context.exclusive) {
                context.play(&scenario, &lane).await;
            }
        });
    }
    while workers.join_next().await.is_some() {}
}

impl Context {
    async fn play(&self, scenario: &Scenario, lane: &Endpoint) {
        let generation = lane.generation();
        let mut played = play(scenario, lane, &self.config, &self.patience).await;
        let died = !lane.alive();
        let words = lane.last_words();
        if died && lane.reached() {
            if let Err(error) = lane.revive() {
                let _ = self
                    .results
                    .send(Played::Unreachable(error.to_string()))
                    .await;
                return;
            }
            if matches!(played, Played::Unreachable(_)) {
                played = play(scenario, lane, &self.config, &self.patience).await;
            }
        } else if lane.generation() != generation && matches!(played, Played::Unreachable(_)) {
            // It died in another scenario and was started again meanwhile.
            played = play(scenario, lane, &self.config, &self.patience).await;
        }
        if let (Played::Judged(outcome), true) = (&mut played, died)
            && let Some(message) = &mut outcome.message
        {
            message.push_str("; ");
            message.push_str(words.as_deref().unwrap_or("the process ended"));
        }
        let _ = self.results.send(played).await;
    }
}
