//! Interceptors: what stands between the reference and its callers and spoils (or varies) one thing.

use std::collections::VecDeque;

use crate::call::{Answer, Asked, CallId};
use crate::policy::{AgentServer, Input, Output, Policy};
use crate::settings::{Check, Settings};
use crate::view::{Passing, Piece, Reply, View};
use diverge_protocol::wire::agent_server::Endpoint;

/// One thing that an interceptor passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The reference is to take this input. The interceptor is not shown it again.
    Hear(Input),
    /// The server is to do this. The interceptor is not shown it again.
    Do(Output),
}

impl From<Input> for Step {
    fn from(input: Input) -> Self {
        Self::Hear(input)
    }
}

impl From<Output> for Step {
    fn from(output: Output) -> Self {
        Self::Do(output)
    }
}

/// Stands around the reference. What it does not push on to `next` does not happen; what it pushes besides does.
pub trait Intercept: Send {
    /// Changes the reference's settings before it starts.
    fn tune(&self, settings: &mut Settings) {
        let _ = settings;
    }

    /// Is shown what happens to the server.
    fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
        let _ = view;
        next.push(input.into());
    }

    /// Is shown what the reference does.
    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        let _ = view;
        next.push(output.into());
    }
}

/// A named deviation from the protocol.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// The id of the requirement that it breaks.
    pub requirement: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    build: fn() -> Box<dyn Intercept>,
}

/// An entry of a table of faults.
#[must_use]
pub const fn fault(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    build: fn() -> Box<dyn Intercept>,
) -> Fault {
    Fault {
        name,
        requirement,
        about,
        build,
    }
}

impl Fault {
    /// The interceptor, fresh.
    #[must_use]
    pub fn build(&self) -> Box<dyn Intercept> {
        (self.build)()
    }
}

/// The reference with an interceptor around it.
pub struct Intercepted {
    policy: Policy,
    view: View,
    intercept: Box<dyn Intercept>,
}

impl Intercepted {
    /// Puts the interceptor around a reference with those settings.
    #[must_use]
    pub fn new(mut settings: Settings, intercept: Box<dyn Intercept>) -> Self {
        intercept.tune(&mut settings);
        Self {
            policy: Policy::new(settings.clone()),
            view: View::new(settings),
            intercept,
        }
    }
}

impl AgentServer for Intercepted {
    fn port(&self, variable: Option<&str>) -> u16 {
        (self.view.settings.port)(variable)
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        let (mut next, mut done) = (Vec::new(), Vec::new());
        self.intercept.input(&self.view, input.clone(), &mut next);
        self.view.note_input(&input);
        let mut queue = VecDeque::from(next);
        while let Some(step) = queue.pop_front() {
            match step {
                Step::Do(output) => out.push(output),
                Step::Hear(input) => {
                    // A caller whom only the interceptor takes for gone; what did happen was noted above.
                    if let Input::Dropped(_) = &input {
                        self.view.note_input(&input);
                    }
                    self.policy.on(input, &mut done);
                }
            }
            for output in done.drain(..) {
                let mut next = Vec::new();
                self.intercept.output(&self.view, output.clone(), &mut next);
                self.view.note_output(&output);
                for step in next {
                    match step {
                        Step::Do(output) => out.push(output),
                        Step::Hear(_) => queue.push_back(step),
                    }
                }
            }
        }
    }
}

/// Changes the settings.
#[must_use]
pub fn tune(change: fn(&mut Settings)) -> Box<dyn Intercept> {
    struct Tune(fn(&mut Settings));
    impl Intercept for Tune {
        fn tune(&self, settings: &mut Settings) {
            (self.0)(settings);
        }
    }
    Box::new(Tune(change))
}

/// Leaves a check out.
#[must_use]
pub fn switch_off(check: Check) -> Box<dyn Intercept> {
    struct Off(Check);
    impl Intercept for Off {
        fn tune(&self, settings: &mut Settings) {
            settings.off.insert(self.0);
        }
    }
    Box::new(Off(check))
}

/// Is shown every input. Those that it does not push on are lost.
#[must_use]
pub fn on_input(
    f: impl FnMut(&View, Input, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    struct OnInput<F>(F);
    impl<F: FnMut(&View, Input, &mut Vec<Step>) + Send> Intercept for OnInput<F> {
        fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
            (self.0)(view, input, next);
        }
    }
    Box::new(OnInput(f))
}

/// Is shown every output. Those that it does not push on are lost.
#[must_use]
pub fn on_output(
    f: impl FnMut(&View, Output, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    struct OnOutput<F>(F);
    impl<F: FnMut(&View, Output, &mut Vec<Step>) + Send> Intercept for OnOutput<F> {
        fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
            (self.0)(view, output, next);
        }
    }
    Box::new(OnOutput(f))
}

/// Is shown every call to an endpoint. Those that it does not push on are never answered.
#[must_use]
pub fn on_call(
    endpoint: Endpoint,
    mut f: impl FnMut(&View, CallId, Asked, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    on_input(move |view, input, next| match input {
        Input::Called(call, asked) if asked.endpoint() == Some(endpoint) => {
            f(view, call, asked, next);
        }
        other => next.push(other.into()),
    })
}

/// Answers the calls to an endpoint for which `with` gives an answer, instead of the reference.
#[must_use]
pub fn answer_instead(
    endpoint: Endpoint,
    mut with: impl FnMut(&View, &Asked) -> Option<Answer> + Send + 'static,
) -> Box<dyn Intercept> {
    on_call(endpoint, move |view, call, asked, next| {
        next.push(match with(view, &asked) {
            Some(answer) => Output::Answer(call, answer).into(),
            None => Input::Called(call, asked).into(),
        });
    })
}

/// Is shown every whole answer. Those that it does not push on are never given.
#[must_use]
pub fn on_reply(
    mut f: impl FnMut(&Reply<'_>, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    on_output(move |view, output, next| {
        let Output::Answer(call, answer) = &output else {
            return next.push(output.into());
        };
        let asked = view.asked(*call);
        match asked.and_then(|asked| asked.endpoint().zip(Some(asked))) {
            Some((endpoint, asked)) => {
                let reply = Reply {
                    view,
                    call: *call,
                    endpoint,
                    asked,
                    answer: answer.clone(),
                };
                f(&reply, next);
            }
            None => next.push(output.into()),
        }
    })
}

/// Puts these steps in place of the answers for which `when` holds.
#[must_use]
pub fn replace_reply(
    mut when: impl FnMut(&Reply<'_>) -> bool + Send + 'static,
    mut with: impl FnMut(&Reply<'_>) -> Vec<Step> + Send + 'static,
) -> Box<dyn Intercept> {
    on_reply(move |reply, next| {
        if when(reply) {
            next.extend(with(reply));
        } else {
            next.push(reply.pass());
        }
    })
}

/// Is shown every piece of a loop's stream. Those that it does not push on are lost.
#[must_use]
pub fn on_piece(
    mut f: impl FnMut(&Piece<'_>, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    on_output(move |view, output, next| {
        let (call, what) = match &output {
            Output::Stream(call, head) => (*call, Passing::Head(head.clone())),
            Output::Event(call, data) => (*call, Passing::Chunk(data.clone())),
            Output::End(call) => (*call, Passing::End),
            _ => return next.push(output.into()),
        };
        let running = view.running.as_ref().filter(|it| it.call == call);
        let Some(asked) = running.map(|it| &it.asked).or_else(|| view.asked(call)) else {
            return next.push(output.into());
        };
        let piece = Piece {
            view,
            call,
            asked,
            nth: running.map_or(view.loops + 1, |it| it.nth),
            before: running.map_or(&[], |it| &it.chunks),
            what,
        };
        f(&piece, next);
    })
}

/// Puts these steps in place of the pieces for which `when` holds.
#[must_use]
pub fn replace(
    mut when: impl FnMut(&Piece<'_>) -> bool + Send + 'static,
    mut with: impl FnMut(&Piece<'_>) -> Vec<Step> + Send + 'static,
) -> Box<dyn Intercept> {
    on_piece(move |piece, next| {
        if when(piece) {
            next.extend(with(piece));
        } else {
            next.push(piece.pass());
        }
    })
}

/// Loses the pieces for which `when` holds.
#[must_use]
pub fn lose(when: impl FnMut(&Piece<'_>) -> bool + Send + 'static) -> Box<dyn Intercept> {
    replace(when, |_| Vec::new())
}

/// Puts these steps in front of the pieces for which `when` holds.
#[must_use]
pub fn before(
    when: impl FnMut(&Piece<'_>) -> bool + Send + 'static,
    steps: fn(&Piece<'_>) -> Vec<Step>,
) -> Box<dyn Intercept> {
    replace(when, move |piece| {
        let mut all = steps(piece);
        all.push(piece.pass());
        all
    })
}

/// Puts these steps behind the pieces for which `when` holds.
#[must_use]
pub fn after(
    when: impl FnMut(&Piece<'_>) -> bool + Send + 'static,
    steps: fn(&Piece<'_>) -> Vec<Step>,
) -> Box<dyn Intercept> {
    replace(when, move |piece| {
        let mut all = vec![piece.pass()];
        all.extend(steps(piece));
        all
    })
}
