//! How long to wait for a message that is due, measured so that a busy machine is not taken for a silent peer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The length of one tick of the probe.
const TICK: Duration = Duration::from_millis(10);

/// A clock that counts ticks of a task of this very program.
///
/// A tick that comes late counts as one tick, so the clock stands still while the machine does not let this program run.
#[derive(Debug)]
struct Probe {
    ticks: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How long the scenarios of one run wait.
#[derive(Debug, Clone)]
pub struct Patience {
    probe: Arc<Probe>,
    full: Duration,
    /// What is left of it once the first exchange with an implementation has failed.
    short: Duration,
    first_exchange: Arc<AtomicU8>,
}

const UNDECIDED: u8 = 0;
const WORKED: u8 = 1;
const FAILED: u8 = 2;

/// The patience that is left once the first exchange with an implementation has failed.
const SHORT: Duration = Duration::from_millis(500);

impl Patience {
    /// Waits for `full` without progress. Needs a running runtime.
    #[must_use]
    pub fn new(full: Duration) -> Self {
        let (sender, ticks) = watch::channel(0);
        let task = tokio::spawn(async move {
            let mut interval = interval(TICK);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while !sender.is_closed() {
                interval.tick().await;
                sender.send_modify(|ticks| *ticks += 1);
            }
        });
        Self {
            probe: Arc::new(Probe { ticks, task }),
            full,
            short: SHORT,
            first_exchange: Arc::default(),
        }
    }

    /// For an implementation that may say nothing for as long as that, and be right.
    #[must_use]
    pub(crate) fn with_pauses(&self, pauses: Duration) -> Self {
        Self {
            short: SHORT + pauses,
            ..self.clone()
        }
    }

    /// The same clock for another implementation, about which nothing is known yet.
    #[must_use]
    pub fn for_another(&self) -> Self {
        Self {
            first_exchange: Arc::default(),
            ..self.clone()
        }
    }

    /// The first exchange with the implementation succeeded.
    pub fn exchange_worked(&self) {
        let _ = self.first_exchange.compare_exchange(
            UNDECIDED,
            WORKED,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// An exchange failed; where it is the first, the rest of the run waits less.
    pub fn exchange_failed(&self) {
        let _ = self.first_exchange.compare_exchange(
            UNDECIDED,
            FAILED,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Whether the first exchange failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.first_exchange.load(Ordering::Relaxed) == FAILED
    }

    /// How long to wait now.
    #[must_use]
    pub fn limit(&self) -> Duration {
        if self.has_failed() {
            self.full.min(self.short)
        } else {
            self.full
        }
    }

    /// Starts to wait.
    #[must_use]
    pub fn start(&self) -> Wait {
        let mut ticks = self.probe.ticks.clone();
        let from = *ticks.borrow_and_update();
        Wait {
            ticks,
            from,
            patience: self.clone(),
        }
    }
}

/// One stretch of waiting without progress.
#[derive(Debug)]
pub struct Wait {
    ticks: watch::Receiver<u64>,
    from: u64,
    patience: Patience,
}

impl Wait {
    /// Progress: the stretch starts anew.
    pub fn restart(&mut self) {
        self.from = *self.ticks.borrow_and_update();
    }

    /// Returns when the patience is used up.
    pub async fn exhausted(&mut self) {
        self.exhausted_after(None).await;
    }

    /// Returns when `at_most`, or the whole patience, is used up.
    pub async fn exhausted_after(&mut self, at_most: Option<Duration>) {
        loop {
            let limit = self.patience.limit().min(at_most.unwrap_or(Duration::MAX));
            let passed = *self.ticks.borrow_and_update() - self.from;
            if TICK * u32::try_from(passed).unwrap_or(u32::MAX) >= limit {
                return;
            }
            if self.ticks.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Wait {
    /// Returns when `pause` has passed on the probe's clock.
    pub async fn paused(&mut self, pause: Duration) {
        while TICK * u32::try_from(*self.ticks.borrow_and_update() - self.from).unwrap_or(u32::MAX)
            < pause
        {
            if self.ticks.changed().await.is_err() {
                return;
            }
        }
    }
}

/// When a scenario began, for the times in its transcript.
#[derive(Debug, Clone, Copy)]
pub struct Began(Instant);

impl Began {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// How long ago.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
