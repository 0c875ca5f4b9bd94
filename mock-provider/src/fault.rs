//! Interceptors: what stands between the reference and its peers and spoils (or varies) one thing.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::checks::Check;
use crate::policy::{Greeting, Input, Output, Policy, Provider};
use crate::settings::Settings;
use crate::view::{Flow, Message, View};

/// One thing that an interceptor passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The reference is to take this input. The interceptor is not shown it again.
    Hear(Input),
    /// The provider is to do this. The interceptor is not shown it again.
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

    /// Says how to answer the handshake of the next client.
    fn greet(&self, view: &View) -> Greeting {
        let _ = view;
        Greeting::Plain
    }

    /// Is shown what happens to the provider.
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

impl Provider for Intercepted {
    fn greet(&self) -> Greeting {
        self.intercept.greet(&self.view)
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        let (mut next, mut done) = (Vec::new(), Vec::new());
        self.intercept.input(&self.view, input.clone(), &mut next);
        self.view.note_input(&input);
        let mut queue = VecDeque::from(next);
        while let Some(step) = queue.pop_front() {
            match step {
                Step::Do(output) => out.push(output),
                Step::Hear(input) => self.policy.on(input, &mut done),
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

/// Answers handshakes in this way.
#[must_use]
pub fn greet(how: fn(&View) -> Greeting) -> Box<dyn Intercept> {
    struct Greet(fn(&View) -> Greeting);
    impl Intercept for Greet {
        fn greet(&self, view: &View) -> Greeting {
            (self.0)(view)
        }
    }
    Box::new(Greet(how))
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

/// Is shown every frame that goes that way, as a [`Message`]; what is no frame passes. Those that it does not push on
/// ([`Message::pass`]) are lost.
#[must_use]
pub fn on(
    flow: Flow,
    mut f: impl FnMut(&Message<'_>, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    match flow {
        Flow::FromClient | Flow::FromProxy => {
            on_input(move |view, input, next| match view.read_input(&input) {
                Some(message) if message.flow == flow => f(&message, next),
                _ => next.push(input.into()),
            })
        }
        Flow::ToClient | Flow::ToProxy => {
            on_output(move |view, output, next| match view.read_output(&output) {
                Some(message) if message.flow == flow => f(&message, next),
                _ => next.push(output.into()),
            })
        }
    }
}

/// Puts these steps in place of the messages for which `when` holds.
#[must_use]
pub fn replace(
    flow: Flow,
    mut when: impl FnMut(&Message<'_>) -> bool + Send + 'static,
    with: fn(&Message<'_>) -> Vec<Step>,
) -> Box<dyn Intercept> {
    on(flow, move |message, next| {
        if when(message) {
            next.extend(with(message));
        } else {
            next.push(message.pass());
        }
    })
}

/// Loses the messages for which `when` holds.
#[must_use]
pub fn lose(
    flow: Flow,
    when: impl FnMut(&Message<'_>) -> bool + Send + 'static,
) -> Box<dyn Intercept> {
    replace(flow, when, |_| Vec::new())
}

/// Sends the messages for which `when` holds twice.
#[must_use]
pub fn double(
    flow: Flow,
    when: impl FnMut(&Message<'_>) -> bool + Send + 'static,
) -> Box<dyn Intercept> {
    replace(flow, when, |message| vec![message.pass(), message.pass()])
}

/// Gives the messages for which `when` holds another payload.
#[must_use]
pub fn rewrite(
    flow: Flow,
    mut when: impl FnMut(&Message<'_>) -> bool + Send + 'static,
    mut payload: impl FnMut(&Message<'_>) -> Bytes + Send + 'static,
) -> Box<dyn Intercept> {
    on(flow, move |message, next| {
        next.push(if when(message) {
            message.with_payload(payload(message))
        } else {
            message.pass()
        });
    })
}

/// Puts these steps in front of the messages for which `when` holds.
#[must_use]
pub fn before(
    flow: Flow,
    mut when: impl FnMut(&Message<'_>) -> bool + Send + 'static,
    steps: fn(&Message<'_>) -> Vec<Step>,
) -> Box<dyn Intercept> {
    on(flow, move |message, next| {
        if when(message) {
            next.extend(steps(message));
        }
        next.push(message.pass());
    })
}

/// Puts these steps behind the messages for which `when` holds.
#[must_use]
pub fn after(
    flow: Flow,
    mut when: impl FnMut(&Message<'_>) -> bool + Send + 'static,
    steps: fn(&Message<'_>) -> Vec<Step>,
) -> Box<dyn Intercept> {
    on(flow, move |message, next| {
        next.push(message.pass());
        if when(message) {
            next.extend(steps(message));
        }
    })
}
