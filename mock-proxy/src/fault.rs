//! Interceptors: what stands between the reference and its peers and spoils (or varies) one thing.

use bytes::Bytes;
use diverge_intercept::Around;
use diverge_intercept::frames::Passing;
use diverge_protocol::rules::Revision;

use crate::policy::{Admission, Call, CallId, Endpoint, HostId, Input, Output, Proxy, Word};
use crate::settings::{Settings, Slip};
use crate::view::{CallView, Flow, Message, View};
use crate::{path, scope};

pub use diverge_intercept::Intercept;
pub use diverge_intercept::frames::{after, before, double, lose, on, replace, rewrite};

/// The proxy's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role;

impl diverge_intercept::Role for Role {
    type Settings = Settings;
    type View = View;
    type Input = Input;
    type Output = Output;
    type Asking = str;
    type Admission = Admission;
}

/// One thing that an interceptor passes on.
pub type Step = diverge_intercept::Step<Role>;
/// An interceptor.
pub type Interceptor = diverge_intercept::Interceptor<Role>;
/// A named deviation from the protocol.
pub type Fault = diverge_intercept::Fault<Role>;
/// A named freedom that the protocol leaves, taken.
pub type Variant = diverge_intercept::Variant<Role>;

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

/// An entry of a table of faults of the scope revision.
#[must_use]
pub const fn fault(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    build: fn() -> Interceptor,
) -> Fault {
    Fault {
        name,
        requirement,
        revisions: &[Revision::Scope],
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
    build: fn() -> Interceptor,
) -> Fault {
    Fault {
        revisions: &[Revision::Path],
        ..fault(name, requirement, about, build)
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
    around: Around<Role>,
}

impl Intercepted {
    /// Puts the interceptor around the reference of a revision.
    #[must_use]
    pub fn new(revision: Revision, intercept: Interceptor) -> Self {
        let mut settings = Settings::default();
        intercept.tune(&mut settings);
        Self {
            policy: reference(revision, settings),
            around: Around::new(View::new(revision), intercept),
        }
    }
}

impl Proxy for Intercepted {
    fn admit(&mut self, path: &str) -> Admission {
        self.around.admit(path, self.policy.admit(path))
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        let policy = &mut self.policy;
        self.around
            .on(input, out, |input, done| policy.on(input, done));
    }
}

impl diverge_intercept::frames::Flow for Flow {
    type Role = Role;
    type Message<'a> = Message<'a>;

    fn on(self, mut f: impl FnMut(&Message<'_>, &mut Vec<Step>) + Send + 'static) -> Interceptor {
        match self {
            Self::FromHost => on_input(move |view, input, next| match view.read_input(&input) {
                Some(message) => f(&message, next),
                None => next.push(input.into()),
            }),
            Self::ToHost => on_output(move |view, output, next| match view.read_output(&output) {
                Some(message) => f(&message, next),
                None => next.push(output.into()),
            }),
        }
    }
}

impl Passing<Role> for Message<'_> {
    fn pass(&self) -> Step {
        self.pass()
    }

    fn with_payload(&self, payload: Bytes) -> Step {
        self.with_payload(payload)
    }
}

/// Changes the settings.
#[must_use]
pub fn tune(change: fn(&mut Settings)) -> Interceptor {
    diverge_intercept::tune(change)
}

/// Lets the queue do this wrong.
#[must_use]
pub fn slip(slip: Slip) -> Interceptor {
    struct Slips(Slip);
    impl Intercept<Role> for Slips {
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
pub fn admit(how: fn(&View, &str, Admission) -> Admission) -> Interceptor {
    diverge_intercept::admit(how)
}

/// Is shown every input. Those that it does not push on are lost.
#[must_use]
pub fn on_input(f: impl FnMut(&View, Input, &mut Vec<Step>) + Send + 'static) -> Interceptor {
    diverge_intercept::on_input(f)
}

/// Is shown every output. Those that it does not push on are lost.
#[must_use]
pub fn on_output(f: impl FnMut(&View, Output, &mut Vec<Step>) + Send + 'static) -> Interceptor {
    diverge_intercept::on_output(f)
}

/// Is shown the frames of both ways, each as a [`Message`]; what is no frame passes. Those that it does not push on are
/// lost.
#[must_use]
pub fn on_frames(f: impl FnMut(&Message<'_>, &mut Vec<Step>) + Send + 'static) -> Interceptor {
    struct OnFrames<F>(F);
    impl<F: FnMut(&Message<'_>, &mut Vec<Step>) + Send> Intercept<Role> for OnFrames<F> {
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

/// Is shown every call of that endpoint. Those that it does not push on are not made.
#[must_use]
pub fn on_call(
    endpoint: Endpoint,
    mut f: impl FnMut(&View, CallId, Call, &mut Vec<Step>) + Send + 'static,
) -> Interceptor {
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
) -> Interceptor {
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
) -> Interceptor {
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
) -> Interceptor {
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
) -> Interceptor {
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
) -> Interceptor {
    on_output(move |view, output, next| match output {
        Output::Send(host, bytes) if view.asks(host) == Some(endpoint) => {
            f(view, host, bytes, next);
        }
        other => next.push(other.into()),
    })
}
