//! Interceptors: what stands between the reference and its peers and spoils (or varies) one thing.

use std::collections::VecDeque;

use bytes::Bytes;
use diverge_protocol::rules::Revision;

use crate::policy::{Admission, Call, CallId, Endpoint, HostId, Input, Output, Proxy, Word};
use crate::settings::{Settings, Slip};
use crate::view::{CallView, Flow, Message, View};
use crate::{path, scope};

/// One thing that an interceptor passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The reference is to take this input. The interceptor is not shown it again.
    Hear(Input),
    /// The proxy is to do this. The interceptor is not shown it again.
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

    /// Is shown how the reference answers a request for a WebSocket on this path.
    fn admit(&mut self, view: &View, path: &str, by_reference: Admission) -> Admission {
        let _ = (view, path);
        by_reference
    }

    /// Is shown what happens to the proxy.
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
    /// The revision whose reference has it.
    pub revision: Revision,
    /// What it does, in a few words.
    pub about: &'static str,
    build: fn() -> Box<dyn Intercept>,
}

/// An entry of a table of faults of the scope revision.
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
        revision: Revision::Scope,
        about,
        build,
    }
}

/// An entry of a table of faults of the path revision.
#[must_use]
pub const fn path_fault(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    build: fn() -> Box<dyn Intercept>,
) -> Fault {
    Fault {
        revision: Revision::Path,
        ..fault(name, requirement, about, build)
    }
}

impl Fault {
    /// The interceptor, fresh.
    #[must_use]
    pub fn build(&self) -> Box<dyn Intercept> {
        (self.build)()
    }
}

/// The reference of a revision.
#[must_use]
pub fn reference(revision: Revision, settings: Settings) -> Box<dyn Proxy> {
    match revision {
        Revision::Scope => Box::new(scope::Policy::new(settings)),
        Revision::Path => Box::new(path::Policy::new(settings)),
    }
}

/// The reference with an interceptor around it.
pub struct Intercepted {
    policy: Box<dyn Proxy>,
    view: View,
    intercept: Box<dyn Intercept>,
}

impl Intercepted {
    /// Puts the interceptor around the reference of a revision.
    #[must_use]
    pub fn new(revision: Revision, intercept: Box<dyn Intercept>) -> Self {
        let mut settings = Settings::default();
        intercept.tune(&mut settings);
        Self {
            policy: reference(revision, settings),
            view: View::new(revision),
            intercept,
        }
    }
}

impl Proxy for Intercepted {
    fn admit(&mut self, path: &str) -> Admission {
        let by_reference = self.policy.admit(path);
        self.intercept.admit(&self.view, path, by_reference)
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

/// Lets the queue do this wrong.
#[must_use]
pub fn slip(slip: Slip) -> Box<dyn Intercept> {
    struct Slips(Slip);
    impl Intercept for Slips {
        fn tune(&self, settings: &mut Settings) {
            settings.slips.insert(self.0);
        }
    }
    Box::new(Slips(slip))
}

/// A call that the reference does not make; it hears nothing of the answer.
#[must_use]
pub fn extra_call(view: &View, endpoint: Endpoint, body: impl Into<Bytes>) -> Step {
    // Far behind every number that the reference gives.
    let id = CallId((1 << 40) + view.calls.len() as u64);
    Output::Call(id, Call::new(endpoint, body)).into()
}

/// Answers requests for a WebSocket in this way; it is shown the path, and how the reference answers.
#[must_use]
pub fn admit(how: fn(&View, &str, Admission) -> Admission) -> Box<dyn Intercept> {
    struct Admit(fn(&View, &str, Admission) -> Admission);
    impl Intercept for Admit {
        fn admit(&mut self, view: &View, path: &str, by_reference: Admission) -> Admission {
            (self.0)(view, path, by_reference)
        }
    }
    Box::new(Admit(how))
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
        Flow::FromHost => on_input(move |view, input, next| match view.read_input(&input) {
            Some(message) => f(&message, next),
            None => next.push(input.into()),
        }),
        Flow::ToHost => on_output(move |view, output, next| match view.read_output(&output) {
            Some(message) => f(&message, next),
            None => next.push(output.into()),
        }),
    }
}

/// Is shown the frames of both ways, each as a [`Message`]; what is no frame passes. Those that it does not push on are
/// lost.
#[must_use]
pub fn on_frames(
    f: impl FnMut(&Message<'_>, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    struct OnFrames<F>(F);
    impl<F: FnMut(&Message<'_>, &mut Vec<Step>) + Send> Intercept for OnFrames<F> {
        fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
            match view.read_input(&input) {
                Some(message) => (self.0)(&message, next),
                None => next.push(input.into()),
            }
        }

        fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
            match view.read_output(&output) {
                Some(message) => (self.0)(&message, next),
                None => next.push(output.into()),
            }
        }
    }
    Box::new(OnFrames(f))
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

/// Is shown every call of that endpoint. Those that it does not push on are not made.
#[must_use]
pub fn on_call(
    endpoint: Endpoint,
    mut f: impl FnMut(&View, CallId, Call, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    on_output(move |view, output, next| match output {
        Output::Call(id, call) if call.endpoint == endpoint => f(view, id, call, next),
        other => next.push(other.into()),
    })
}

/// Changes the calls of that endpoint for which `change` gives another.
#[must_use]
pub fn change_call(
    endpoint: Endpoint,
    mut change: impl FnMut(&View, &Call) -> Option<Call> + Send + 'static,
) -> Box<dyn Intercept> {
    on_call(endpoint, move |view, id, call, next| {
        let call = change(view, &call).unwrap_or(call);
        next.push(Output::Call(id, call).into());
    })
}

/// Makes another body of the calls' bodies for which `change` gives one.
#[must_use]
pub fn change_body(
    endpoint: Endpoint,
    mut change: impl FnMut(&View, &[u8]) -> Option<Vec<u8>> + Send + 'static,
) -> Box<dyn Intercept> {
    change_call(endpoint, move |view, call| {
        Some(Call {
            body: change(view, &call.body)?.into(),
            ..call.clone()
        })
    })
}

/// A word of the agent server's on its way, with what is known about its call.
pub struct Heard<'a> {
    /// What happened before it.
    pub view: &'a View,
    /// The call.
    pub id: CallId,
    /// What is known of the call.
    pub call: &'a CallView,
    /// The word.
    pub word: Word,
}

impl Heard<'_> {
    /// The word as it is.
    #[must_use]
    pub fn pass(&self) -> Step {
        self.with(self.word.clone())
    }

    /// Another word on the same call.
    #[must_use]
    pub fn with(&self, word: Word) -> Step {
        Input::Agent(self.id, word).into()
    }

    /// The status and body of a whole answer.
    #[must_use]
    pub fn answer(&self) -> Option<(u16, &Bytes)> {
        match &self.word {
            Word::Answered { status, body } => Some((*status, body)),
            _ => None,
        }
    }
}

/// Is shown every word on calls of that endpoint. Those that it does not push on are lost.
#[must_use]
pub fn on_word(
    endpoint: Endpoint,
    mut f: impl FnMut(&Heard<'_>, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    on_input(move |view, input, next| {
        let (id, word) = match input {
            Input::Agent(id, word) => (id, word),
            other => return next.push(other.into()),
        };
        match view.call(id) {
            Some(call) if call.call.endpoint == endpoint => {
                let heard = Heard {
                    view,
                    id,
                    call,
                    word,
                };
                f(&heard, next);
            }
            _ => next.push(Input::Agent(id, word).into()),
        }
    })
}

/// Makes another word of the words on calls of that endpoint for which `change` gives one.
#[must_use]
pub fn change_word(
    endpoint: Endpoint,
    mut change: impl FnMut(&Heard<'_>) -> Option<Word> + Send + 'static,
) -> Box<dyn Intercept> {
    on_word(endpoint, move |heard, next| {
        next.push(match change(heard) {
            Some(word) => heard.with(word),
            None => heard.pass(),
        });
    })
}

/// Is shown every message to the host on the path of that endpoint. Those that it does not push on are lost.
#[must_use]
pub fn on_said(
    endpoint: Endpoint,
    mut f: impl FnMut(&View, HostId, Bytes, &mut Vec<Step>) + Send + 'static,
) -> Box<dyn Intercept> {
    on_output(move |view, output, next| match output {
        Output::Send(host, bytes) if view.asks(host) == Some(endpoint) => {
            f(view, host, bytes, next);
        }
        other => next.push(other.into()),
    })
}
