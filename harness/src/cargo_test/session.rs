//! One run of the tests: the scenarios that it selects are played together, and each test waits for its own result.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};

use libtest_mimic::{Arguments, ColorSetting, Completion, Conclusion, Failed};
use tokio::runtime::Runtime;

use super::snapshot::{compare, topic};
use crate::baseline::{self, Baseline};
use crate::commands::complain;
use crate::kinds::Trial;
use crate::report::style::count;
use crate::report::{self, Heading, Mask};
use crate::runner::{Finished, Progress};
use crate::verdict::{Outcome, Verdict};

/// The exit code of a test program in which something failed.
const RED: u8 = 101;

/// The scenarios of one revision.
pub(super) struct Part {
    pub heading: Heading,
    /// What stands before a scenario's id in its test's name.
    pub prefix: String,
    pub trial: Box<dyn Trial>,
}

/// What is asked of a session.
pub(super) struct Options {
    /// Whether every scenario of the kind is in the parts.
    pub whole: bool,
    /// Whether warnings fail.
    pub strict: bool,
    /// Where snapshots are kept.
    pub snapshots: Option<PathBuf>,
    /// Whether scenarios are tests.
    pub scenarios: bool,
}

/// What the tests of one process share.
pub(super) struct Session {
    runtime: Runtime,
    parts: Mutex<Vec<Part>>,
    baseline: Mutex<Option<Baseline>>,
    options: Options,
    started: Once,
    playing: Mutex<Option<JoinHandle<()>>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By the names of the tests.
    results: HashMap<String, Told>,
    /// Whether all has been played.
    over: bool,
    /// Why what has no result has none.
    stopped: Option<String>,
    /// What is wrong with the run as a whole.
    wrong: Vec<String>,
    /// What does not fail it, and should be known.
    notes: Vec<String>,
}

/// What came of a scenario.
struct Told {
    verdict: Verdict,
    /// Why it did not pass: the whole story of a failure, a line for others.
    why: String,
    /// What a snapshot holds of it.
    golden: String,
}

impl Session {
    pub(super) fn new(
        runtime: Runtime,
        parts: Vec<Part>,
        baseline: Option<Baseline>,
        options: Options,
    ) -> Self {
        Self {
            runtime,
            parts: Mutex::new(parts),
            baseline: Mutex::new(baseline),
            options,
            started: Once::new(),
            playing: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Runs the tests, or lists them; nothing is started before a test that is run needs it.
    pub(super) fn run(self: Arc<Self>, arguments: &Arguments) -> ExitCode {
        let tests = self.tests(arguments);
        let conclusion = libtest_mimic::run(arguments, tests);
        if let Some(playing) = locked(&self.playing).take()
            && playing.join().is_err()
        {
            locked(&self.state)
                .wrong
                .push("playing the scenarios panicked".to_owned());
        }
        self.conclude(&conclusion)
    }

    /// A test for each scenario, and one for each snapshot; what the arguments do not select is not played.
    fn tests(self: &Arc<Self>, arguments: &Arguments) -> Vec<libtest_mimic::Trial> {
        let selects = |test: &libtest_mimic::Trial| {
            !arguments.is_filtered_out(test) && !arguments.is_ignored(test)
        };
        let mut tests = Vec::new();
        let mut files = HashSet::new();
        for part in locked(&self.parts).iter_mut() {
            let mut selected = HashSet::new();
            let mut topics: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let ids = part.trial.ids();
            for id in &ids {
                topics.entry(topic(id)).or_default().push(id.clone());
                if self.options.scenarios {
                    let test = self.scenario(part, id, arguments);
                    selected.extend(Some(id.clone()).filter(|_| selects(&test)));
                    tests.push(test);
                }
            }
            if let Some(directory) = &self.options.snapshots {
                for (topic, ids) in topics {
                    // Two revisions may have topics of one name.
                    let mut file = topic.replace('/', "-");
                    if !files.insert(file.clone()) {
                        file = format!("{file}-{}", part.prefix.trim_end_matches('/'));
                    }
                    let test = self.snapshot(part, &topic, &ids, directory.join(file));
                    selected.extend(ids.into_iter().filter(|_| selects(&test)));
                    tests.push(test);
                }
            }
            let selected: Vec<String> =
                ids.into_iter().filter(|id| selected.contains(id)).collect();
            part.trial.keep(&selected);
        }
        tests
    }

    fn scenario(
        self: &Arc<Self>,
        part: &Part,
        id: &str,
        arguments: &Arguments,
    ) -> libtest_mimic::Trial {
        let painted = paints(arguments);
        let name = format!("{}{id}", part.prefix);
        let lacking = part.trial.lacking(id);
        let session = Arc::clone(self);
        let of_test = name.clone();
        let test =
            libtest_mimic::Trial::ignorable_test(name, move || session.result(&of_test, painted));
        // nextest cannot be told while a test runs that it is to be ignored, only when tests are listed.
        test.with_ignored_flag(lacking.is_some() && in_nextest())
    }

    fn snapshot(
        self: &Arc<Self>,
        part: &Part,
        topic: &str,
        ids: &[String],
        file: PathBuf,
    ) -> libtest_mimic::Trial {
        let prefix = &part.prefix;
        let name = format!("snapshot/{prefix}{topic}");
        let tests: Vec<String> = ids.iter().map(|id| format!("{prefix}{id}")).collect();
        let session = Arc::clone(self);
        libtest_mimic::Trial::test(name, move || {
            let golden = |told: &Told| told.golden.clone();
            let goldens = tests.iter().map(|test| session.wait(test, golden));
            let goldens = goldens.collect::<Result<Vec<_>, _>>()?;
            compare(&file, &report::together(&goldens));
            Ok(())
        })
    }

    /// Waits until the scenario of a test has its result, and takes what is asked for out of it.
    fn wait<T>(self: &Arc<Self>, name: &str, take: impl FnOnce(&Told) -> T) -> Result<T, Failed> {
        self.started.call_once(|| {
            let session = Arc::clone(self);
            let playing = thread::spawn(move || {
                let over = Over(&session);
                session.play();
                drop(over);
            });
            *locked(&self.playing) = Some(playing);
        });
        let mut state = locked(&self.state);
        while !state.over && !state.results.contains_key(name) {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        match state.results.get(name) {
            Some(told) => Ok(take(told)),
            None => {
                let why = state.stopped.as_deref().unwrap_or("it has no result");
                Err(format!("not played: {why}").into())
            }
        }
    }

    /// What comes of one scenario's test.
    fn result(self: &Arc<Self>, name: &str, painted: bool) -> Result<Completion, Failed> {
        let (verdict, why) = self.wait(name, |told| (told.verdict, told.why.clone()))?;
        let why = if painted {
            why
        } else {
            anstream::adapter::strip_str(&why).to_string()
        };
        match verdict {
            Verdict::Pass => Ok(Completion::Completed),
            Verdict::Warn if !self.options.strict => Ok(Completion::Completed),
            Verdict::NotApplicable if in_nextest() => Err(format!("not applicable: {why}").into()),
            Verdict::NotApplicable | Verdict::ExpectedFail => Ok(Completion::ignored_with(why)),
            _ => Err(why.into()),
        }
    }

    /// Plays everything that is selected.
    fn play(&self) {
        let parts = std::mem::take(&mut *locked(&self.parts));
        let mut baseline = locked(&self.baseline).take();
        let mut ids = HashSet::new();
        for part in parts.iter().filter(|part| part.trial.scenarios() > 0) {
            ids.extend(part.trial.ids());
            let mut progress = |progress: Progress| {
                if let Progress::Done(mut outcome) = progress {
                    if let Some(baseline) = &mut baseline {
                        baseline.judge(&mut outcome, &part.heading);
                    }
                    self.tell(part, &outcome);
                }
            };
            let played = self.runtime.block_on(part.trial.play(&mut progress));
            let mut state = locked(&self.state);
            match played {
                Ok(finished) => state.end(finished, part),
                Err(error) => state.stopped = Some(error.to_string()),
            }
        }
        if let Some(baseline) = baseline {
            let iuts: Vec<_> = parts.iter().map(|part| part.heading.iut).collect();
            let every_one = |part: &Part| part.trial.scenarios() == part.heading.scenarios;
            let closed = baseline.close(baseline::Selection {
                iuts: &iuts,
                ids: &ids,
                whole: self.options.whole && parts.iter().all(every_one),
                ended: locked(&self.state).stopped.is_none(),
            });
            let mut state = locked(&self.state);
            match closed {
                Ok(reckoning) => {
                    let path = &reckoning.path;
                    let findings = reckoning
                        .findings
                        .iter()
                        .map(|it| format!("{path}:{}: {}: {}", it.line, it.entry, it.message));
                    state.wrong.extend(findings);
                }
                Err(error) => state.wrong.push(error.to_string()),
            }
        }
    }

    /// Hands a result to its test.
    fn tell(&self, part: &Part, outcome: &Outcome) {
        let mask = Mask::of(&outcome.transcript, &part.heading.secrets);
        let line = |text: Option<&str>| mask.text(text.unwrap_or_default());
        let why = match outcome.verdict {
            Verdict::Pass => String::new(),
            Verdict::NotApplicable => line(outcome.message.as_deref()),
            Verdict::ExpectedFail => {
                let expected = outcome.expectation.as_ref();
                let reason = expected.map_or("", |expected| &expected.reason);
                format!("expected to fail: {reason}")
            }
            _ => report::story(outcome, &part.heading),
        };
        let mut state = locked(&self.state);
        if outcome.verdict == Verdict::Warn && !self.options.strict {
            let message = line(outcome.message.as_deref());
            let broken = outcome.divergence.as_ref();
            let broken = broken.and_then(|divergence| divergence.requirements.first());
            let broken = broken.map_or_else(String::new, |id| format!(" ({id})"));
            state
                .notes
                .push(format!("{}: {message}{broken}", outcome.id));
        }
        let golden = match &self.options.snapshots {
            Some(_) => report::golden(outcome, part.heading.iut, &part.heading.secrets),
            None => String::new(),
        };
        let told = Told {
            verdict: outcome.verdict,
            why,
            golden,
        };
        state
            .results
            .insert(format!("{}{}", part.prefix, outcome.id), told);
        drop(state);
        self.changed.notify_all();
    }

    /// What it all comes to; what no test has told is told here.
    fn conclude(&self, conclusion: &Conclusion) -> ExitCode {
        let state = locked(&self.state);
        for note in &state.notes {
            crate::output::tell(&format!("warning: {note}"));
        }
        for wrong in &state.wrong {
            complain(wrong);
        }
        if conclusion.has_failed() || !state.wrong.is_empty() {
            ExitCode::from(RED)
        } else {
            ExitCode::SUCCESS
        }
    }
}

impl State {
    /// Takes in what a part came to as a whole.
    fn end(&mut self, finished: Finished, part: &Part) {
        let mask = Mask::of(&Default::default(), &part.heading.secrets);
        if let Some((_, why)) = finished.stopped {
            self.stopped = Some(mask.text(&why));
        }
        let unclaimed = finished.unclaimed.iter().map(|about| {
            let about = mask.text(about);
            format!("a connection to the proxy that no scenario asked for: {about}")
        });
        self.wrong.extend(unclaimed);
        if self
            .results
            .values()
            .any(|told| told.verdict == Verdict::Pass)
            || !part.is_whole()
        {
            return;
        }
        let revision = part.prefix.trim_end_matches('/');
        let kind = match (part.heading.iut.as_str(), revision) {
            (kind, "") => kind.to_owned(),
            (kind, revision) => format!("{kind}, {revision} revision"),
        };
        let lacking = self.lacking(&part.prefix);
        self.wrong.push(format!(
            "no scenario passed, so nothing shows that this conforms ({kind}){lacking}"
        ));
    }

    /// What most of the scenarios lack that were not applicable.
    fn lacking(&self, prefix: &str) -> String {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        let of_part = self.results.iter();
        let of_part = of_part.filter(|(name, _)| name.starts_with(prefix));
        let not_applicable = of_part.filter(|(_, told)| told.verdict == Verdict::NotApplicable);
        for (_, told) in not_applicable {
            *reasons.entry(&told.why).or_default() += 1;
        }
        let most = reasons.into_iter().max_by_key(|(_, number)| *number);
        most.map_or_else(String::new, |(why, number)| {
            let verb = if number == 1 { "is" } else { "are" };
            let scenarios = count(number, "scenario");
            format!("; {scenarios} {verb} not applicable: {why}")
        })
    }
}

impl Part {
    /// Whether all of its scenarios were selected.
    fn is_whole(&self) -> bool {
        self.trial.scenarios() == self.heading.scenarios
    }
}

/// Wakes the tests that wait when playing ends, whichever way it does.
struct Over<'a>(&'a Session);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        locked(&self.0.state).over = true;
        self.0.changed.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether nextest runs or lists the tests.
fn in_nextest() -> bool {
    std::env::var_os("NEXTEST").is_some()
}

/// Whether stories keep their colours.
fn paints(arguments: &Arguments) -> bool {
    match arguments.color {
        Some(ColorSetting::Always) => true,
        Some(ColorSetting::Never) => false,
        Some(ColorSetting::Auto) | None => {
            anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
        }
    }
}
