//! Plays scenarios that each have an implementation to themselves.

use std::future::Future;
use std::sync::Arc;

use diverge_protocol::scenario::Scenario;
use futures_util::StreamExt;
use futures_util::stream;

use super::Setting;
use crate::play::Played;
use crate::runner::{Finished, Progress};
use crate::verdict::Exit;

/// Plays every scenario by `play`, some at once, and tells each result as it comes.
pub(super) async fn each<F>(
    scenarios: &[Arc<Scenario>],
    setting: &Setting,
    progress: &mut (dyn FnMut(Progress) + Send),
    play: impl Fn(Arc<Scenario>) -> F,
) -> Finished
where
    F: Future<Output = Played> + Send,
{
    let mut finished = Finished {
        strict: setting.strict,
        ..Finished::default()
    };
    let mut playing = stream::iter(scenarios.iter().cloned())
        .map(play)
        .buffer_unordered(setting.jobs.max(1));
    while let Some(played) = playing.next().await {
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
    finished
}
