//! Takes the steps of a scenario in order, whoever is judged.
//!
//! A [`Scene`] knows the parties: it does what a step says, and tells whether what a step expects has come. The
//! sequencer knows the order: alternatives, any order, any number of times, how long to wait, and what it all means.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use diverge_protocol::rules::{RequirementId, Strength};
use diverge_protocol::scenario::{Action, Part, Scenario, Step};
use diverge_protocol::transcript::Transcript;

use super::halt::{Halt, Peek, diverged};
use super::patience::{Patience, Wait};
use super::{Played, step_text};
use crate::verdict::{Divergence, Outcome, Verdict};

/// The parties of a scenario: those that the harness plays, and the implementation.
pub(crate) trait Scene: Send {
    /// Does what a step says that expects nothing.
    fn act(&mut self, step: &Step) -> impl Future<Output = Result<(), Halt>> + Send;

    /// Whether what a step expects has come, without waiting; `blamed` is what its absence breaks.
    ///
    /// # Errors
    /// Where the step makes no sense at this point.
    fn peek(&mut self, step: &Step, blamed: Option<RequirementId>) -> Result<Peek, Halt>;

    /// Waits for one more message and takes it in; `false` when the patience, or `at_most`, is used up first.
    fn pump(
        &mut self,
        wait: &mut Wait,
        at_most: Option<Duration>,
    ) -> impl Future<Output = Result<bool, Halt>> + Send;

    /// What is broken where the one thing that is expected never comes and nothing finer is known.
    fn blamed_for(&self, _step: &Step) -> Option<RequirementId> {
        None
    }

    /// Fails where a message has come that no step has read.
    ///
    /// # Errors
    /// With that message; `blamed` is what the scenario tests.
    fn nothing_left(&mut self, blamed: Option<RequirementId>) -> Result<(), Halt>;

    /// Ends every link, and goes on judging what still comes until the implementation has ended its side.
    fn close(&mut self) -> impl Future<Output = Result<(), Halt>> + Send;

    /// The events that steps have sent or read since this was asked last, by their numbers, in the order of the script.
    fn take_told(&mut self) -> Vec<u64>;

    /// What happened.
    fn into_transcript(self) -> Transcript;
}

/// Plays `scenario` in `scene`.
pub(crate) async fn run<S: Scene>(scenario: &Scenario, scene: S, patience: &Patience) -> Played {
    let started = Instant::now();
    let mut sequencer = Sequencer {
        scenario,
        scene,
        patience,
        current: None,
        part: Part::Probe,
        evaluated: 0,
        readings: Vec::new(),
        meanwhile: Vec::new(),
        script: Vec::new(),
        unmet: Vec::new(),
    };
    let mut halt = sequencer.steps(&scenario.steps).await.err();
    if halt.is_none() {
        sequencer.current = None;
        sequencer.part = Part::Probe;
        let blamed = scenario.requirements.first().copied();
        halt = sequencer.scene.nothing_left(blamed).err();
    }
    let closing = sequencer.scene.close().await;
    halt = halt.or(closing.err());
    sequencer.judge(halt, started)
}

/// The state of one scenario that is being played.
struct Sequencer<'a, S> {
    scenario: &'a Scenario,
    scene: S,
    patience: &'a Patience,
    current: Option<&'a Step>,
    part: Part,
    evaluated: u32,
    readings: Vec<String>,
    /// Expectations that may be met any number of times before the next one is.
    meanwhile: Vec<&'a Step>,
    /// What the steps have sent and read, in the order in which the scenario has them.
    script: Vec<u64>,
    /// What steps have read that wait for more: another step beside them may be met first.
    unmet: Vec<(&'a Step, Vec<u64>)>,
}

type Steps<'b> = Pin<Box<dyn Future<Output = Result<(), Halt>> + Send + 'b>>;

impl<'a, S: Scene> Sequencer<'a, S> {
    fn steps<'b>(&'b mut self, steps: &'a [Step]) -> Steps<'b>
    where
        'a: 'b,
    {
        Box::pin(async move {
            for step in steps {
                self.current = Some(step);
                self.part = step.part;
                self.step(step).await?;
            }
            Ok(())
        })
    }

    async fn step(&mut self, step: &'a Step) -> Result<(), Halt> {
        match &step.action {
            Action::OneOf(branches) => {
                let taken = self.choose(branches).await?;
                self.steps(&branches[taken][1..]).await
            }
            Action::EitherOrder(branches) => {
                let mut left: Vec<(usize, &'a [Step])> =
                    branches.iter().map(Vec::as_slice).enumerate().collect();
                let before = std::mem::take(&mut self.script);
                let mut parts = vec![Vec::new(); branches.len()];
                while !left.is_empty() {
                    let firsts: Vec<&Step> = left
                        .iter()
                        .filter_map(|(_, branch)| branch.first())
                        .collect();
                    let taken = self.wait_among(&firsts).await?;
                    let (place, branch) = left.remove(taken);
                    self.steps(&branch[1..]).await?;
                    parts[place] = std::mem::take(&mut self.script);
                }
                self.script = before;
                self.script.extend(parts.into_iter().flatten());
                Ok(())
            }
            Action::AnyNumberOf(steps) => {
                self.meanwhile = steps.iter().collect();
                Ok(())
            }
            Action::Repeat(times, steps) => {
                for _ in 0..*times {
                    self.steps(steps).await?;
                }
                Ok(())
            }
            Action::NotApplicable(why) => Err(Halt::NotApplicable(why.clone())),
            action if action.expects() => self.wait_for(std::slice::from_ref(step)).await.map(drop),
            _ => {
                self.scene.act(step).await?;
                self.script.extend(self.scene.take_told());
                Ok(())
            }
        }
    }

    async fn choose(&mut self, branches: &'a [Vec<Step>]) -> Result<usize, Halt> {
        let firsts: Vec<&Step> = branches
            .iter()
            .filter_map(|branch| branch.first())
            .collect();
        if firsts.len() != branches.len() {
            return Err(Halt::Script(
                "every branch needs a first step that expects something".into(),
            ));
        }
        let taken = self.wait_among(&firsts).await?;
        for step in firsts {
            self.take_read(step);
        }
        if let Some(step) = branches[taken].first() {
            self.readings.push(step_text(step));
        }
        Ok(taken)
    }

    async fn wait_for(&mut self, steps: &'a [Step]) -> Result<usize, Halt> {
        let steps: Vec<&Step> = steps.iter().collect();
        self.wait_among(&steps).await
    }

    fn peek(&mut self, step: &'a Step) -> Result<Peek, Halt> {
        if !step.action.expects() {
            return Err(Halt::Script(
                "a branch starts with something that is expected".into(),
            ));
        }
        let blamed = step
            .checks
            .or_else(|| self.scenario.requirements.first().copied());
        let peek = self.scene.peek(step, blamed)?;
        let mut read = self.take_read(step);
        read.extend(self.scene.take_told());
        if !read.is_empty() {
            self.unmet.push((step, read));
        }
        Ok(peek)
    }

    /// What `step` has read since it was met last.
    fn take_read(&mut self, step: &Step) -> Vec<u64> {
        let mut unmet = self.unmet.iter();
        let at = unmet.position(|(other, _)| std::ptr::eq(*other, step));
        at.map_or_else(Vec::new, |at| self.unmet.swap_remove(at).1)
    }

    /// Waits until one of `steps` is met, and says which; only expectations can be waited for.
    async fn wait_among(&mut self, steps: &[&'a Step]) -> Result<usize, Halt> {
        let mut wait = self.patience.start();
        loop {
            let mut first_other = None;
            let mut pending = false;
            for (at, step) in steps.iter().enumerate() {
                match self.peek(step)? {
                    Peek::Met => {
                        self.evaluated += 1;
                        let read = self.take_read(step);
                        self.script.extend(read);
                        self.meanwhile.clear();
                        self.patience.exchange_worked();
                        return Ok(at);
                    }
                    Peek::Pending => pending = true,
                    Peek::Diverged(halt) => first_other = first_other.or(Some(halt)),
                }
            }
            if first_other.is_some() && self.passes_meanwhile()? {
                continue;
            }
            match first_other {
                Some(halt) if !pending || steps.len() == 1 => {
                    self.evaluated += 1;
                    self.patience.exchange_failed();
                    return Err(among(halt, steps));
                }
                _ => {}
            }
            match self.scene.pump(&mut wait, None).await {
                Ok(true) => {}
                Ok(false) => {
                    self.evaluated += 1;
                    // It tells how long was waited, which is less from here on.
                    let halt = first_other.unwrap_or_else(|| self.overdue(steps));
                    self.patience.exchange_failed();
                    return Err(halt);
                }
                Err(Halt::Diverged(divergence)) => {
                    self.evaluated += 1;
                    self.patience.exchange_failed();
                    return Err(Halt::Diverged(self.with_steps(divergence, steps)));
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// A breach of rules, with what the steps that are waited for say of the same message.
    fn with_steps(&mut self, mut broken: Box<Divergence>, steps: &[&'a Step]) -> Box<Divergence> {
        let mut own = None;
        for step in steps {
            match self.peek(step) {
                Ok(Peek::Met) => {
                    own = None;
                    break;
                }
                Ok(Peek::Diverged(Halt::Diverged(divergence))) => own = own.or(Some(divergence)),
                Ok(_) | Err(_) => {}
            }
        }
        match own.filter(|own| own.seq == broken.seq && own.seq.is_some()) {
            // What the scenario is about comes first, unless it only warns where a rule fails.
            Some(mut own)
                if strength_of(&own.requirements) >= strength_of(&broken.requirements) =>
            {
                let rules = broken.requirements.iter();
                let more = rules.filter(|it| !own.requirements.contains(it));
                let more: Vec<RequirementId> = more.copied().collect();
                own.requirements.extend(more);
                own
            }
            // What a step is there to check is broken by the same message; but a rule that only warns is made no failure
            // by the step that it was broken in.
            own => {
                let checks = steps.iter().find_map(|step| step.checks);
                let checks = own.map_or_else(|| checks.into_iter().collect(), |it| it.requirements);
                for checks in checks {
                    if !broken.requirements.contains(&checks)
                        && strength_of(&[checks]) <= strength_of(&broken.requirements)
                    {
                        broken.requirements.push(checks);
                    }
                }
                broken
            }
        }
    }

    /// Whether something came that may come any number of times; it is read then.
    fn passes_meanwhile(&mut self) -> Result<bool, Halt> {
        for step in self.meanwhile.clone() {
            if matches!(self.peek(step)?, Peek::Met) {
                // How often it comes is left open.
                self.take_read(step);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What was due did not come.
    fn overdue(&self, steps: &[&Step]) -> Halt {
        let wanted: Vec<String> = steps.iter().map(|step| expected(step)).collect();
        let waited = self.patience.limit().as_millis();
        let mut blamed = steps.iter().find_map(|step| step.checks);
        if let (None, [step]) = (blamed, steps) {
            blamed = self.scene.blamed_for(step);
        }
        let blamed = blamed.or_else(|| self.scenario.requirements.first().copied());
        diverged(
            &wanted.join(", or "),
            &format!("nothing for {waited} ms"),
            None,
            blamed,
        )
    }

    fn judge(self, halt: Option<Halt>, started: Instant) -> Played {
        let scenario = self.scenario;
        let mut outcome = Outcome::unplayed(scenario, Verdict::Pass, String::new());
        outcome.message = None;
        outcome.evaluated = self.evaluated;
        outcome.readings = self.readings;
        outcome.script = self.script;
        match halt {
            None if self.evaluated == 0 => {
                return Played::Fault(format!("scenario {} evaluated no expectation", scenario.id));
            }
            None => {}
            Some(Halt::Script(why)) => {
                let place = self
                    .current
                    .map_or_else(|| scenario.at.display(), |step| step.at.display());
                return Played::Fault(format!("{place}: scenario {}: {why}", scenario.id));
            }
            Some(Halt::Unreachable(why)) => return Played::Unreachable(why),
            Some(Halt::NotApplicable(why)) => {
                outcome.verdict = Verdict::NotApplicable;
                outcome.message = Some(why);
            }
            Some(Halt::TooLate(why)) => {
                outcome.verdict = Verdict::Inconclusive;
                outcome.message = Some(why);
            }
            Some(Halt::Diverged(mut divergence)) => {
                if divergence.requirements.is_empty() {
                    divergence
                        .requirements
                        .extend(scenario.requirements.first());
                }
                divergence.step = self.current.map(|step| (step.at.clone(), step_text(step)));
                outcome.verdict = verdict(self.part, divergence.by_rule, &divergence.requirements);
                outcome.message = Some(format!(
                    "expected {}; got {}",
                    divergence.allowed, divergence.received
                ));
                outcome.divergence = Some(*divergence);
            }
        }
        outcome.transcript = self.scene.into_transcript();
        outcome.duration = started.elapsed();
        Played::Judged(Box::new(outcome))
    }
}

fn verdict(part: Part, by_rule: bool, requirements: &[RequirementId]) -> Verdict {
    if part == Part::Control && !by_rule {
        return Verdict::Inconclusive;
    }
    if strength_of(requirements) == Some(Strength::Stated) {
        Verdict::Fail
    } else {
        Verdict::Warn
    }
}

/// The strength of the strongest.
fn strength_of(requirements: &[RequirementId]) -> Option<Strength> {
    let known = requirements.iter().filter_map(|id| id.requirement());
    known.map(|requirement| requirement.strength).max()
}

/// What a step expects, without who does.
fn expected(step: &Step) -> String {
    let text = step_text(step);
    let what = text
        .split_once(" expects ")
        .map(|(_, what)| what.to_owned());
    what.unwrap_or(text)
}

/// Where several branches were possible, the divergence allows all of them.
fn among(halt: Halt, steps: &[&Step]) -> Halt {
    match halt {
        Halt::Diverged(mut divergence) if steps.len() > 1 => {
            let all: Vec<String> = steps.iter().map(|step| step_text(step)).collect();
            divergence.allowed = all.join(", or ");
            Halt::Diverged(divergence)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use diverge_protocol::scenario::acts::{Act, ProxyAct};
    use diverge_protocol::scenario::{Source, Suite};

    use super::*;

    const FILE: &str = "
iut: proxy
scenarios:
  - id: proxy/test/order
    title: Two things in either order
    requirements: [proxy.loop.chunk-each]
    steps:
      - either order:
          - - provider expects: finish
          - - provider expects: relayed
";

    /// Numbers come one by one. The even ones are read while the step that reads them waits for two, and a finish is odd.
    struct Numbers {
        coming: VecDeque<u64>,
        come: VecDeque<u64>,
        even: usize,
        told: Vec<u64>,
    }

    impl Scene for Numbers {
        async fn act(&mut self, _: &Step) -> Result<(), Halt> {
            Ok(())
        }

        fn peek(&mut self, step: &Step, _: Option<RequirementId>) -> Result<Peek, Halt> {
            let relayed = matches!(step.action, Action::Act(Act::Proxy(ProxyAct::Relayed)));
            let fits = |number: &u64| number.is_multiple_of(2) == relayed;
            let read = self.come.iter().position(fits);
            let read = read.and_then(|at| self.come.remove(at));
            self.even += usize::from(relayed && read.is_some());
            let met = read.is_some() && (!relayed || self.even == 2);
            self.told.extend(read);
            Ok(if met { Peek::Met } else { Peek::Pending })
        }

        async fn pump(&mut self, _: &mut Wait, _: Option<Duration>) -> Result<bool, Halt> {
            let next = self.coming.pop_front();
            self.come.extend(next);
            Ok(next.is_some())
        }

        fn nothing_left(&mut self, _: Option<RequirementId>) -> Result<(), Halt> {
            Ok(())
        }

        async fn close(&mut self) -> Result<(), Halt> {
            Ok(())
        }

        fn take_told(&mut self) -> Vec<u64> {
            std::mem::take(&mut self.told)
        }

        fn into_transcript(self) -> Transcript {
            Transcript::default()
        }
    }

    #[tokio::test]
    async fn what_does_not_come_is_told_with_how_long_it_was_waited_for() {
        let source = Source {
            path: "test.yaml".into(),
            text: FILE.into(),
        };
        let suite = Suite::load(&[Arc::new(source)]).expect("a sound file");
        let patience = Patience::new(Duration::from_millis(700));
        let mut told = Vec::new();
        for _ in 0..2 {
            let scene = Numbers {
                coming: VecDeque::new(),
                come: VecDeque::new(),
                even: 0,
                told: Vec::new(),
            };
            let Played::Judged(outcome) = run(&suite.scenarios[0], scene, &patience).await else {
                panic!("a scenario at fault");
            };
            told.push(outcome.message.expect("why it fails"));
        }
        // Once the first exchange has failed, less is waited.
        let expected =
            [700, 500].map(|ms| format!("expected finish, or relayed; got nothing for {ms} ms"));
        assert_eq!(told, expected);
    }

    #[tokio::test]
    async fn what_a_step_reads_before_another_is_met_is_told_as_its_own() {
        let source = Source {
            path: "test.yaml".into(),
            text: FILE.into(),
        };
        let suite = Suite::load(&[Arc::new(source)]).expect("a sound file");
        let patience = Patience::new(Duration::from_secs(5));
        for coming in [[2, 4, 7], [2, 7, 4], [7, 2, 4]] {
            let scene = Numbers {
                coming: coming.into(),
                come: VecDeque::new(),
                even: 0,
                told: Vec::new(),
            };
            let played = run(&suite.scenarios[0], scene, &patience).await;
            let Played::Judged(outcome) = played else {
                panic!("{played:?}");
            };
            assert_eq!((outcome.verdict, outcome.message), (Verdict::Pass, None));
            assert_eq!(outcome.script, [7, 2, 4], "{coming:?}");
        }
    }
}
