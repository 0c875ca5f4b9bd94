//! Interceptors: what stands between the reference and its peers and spoils (or varies) one thing.

use diverge_intercept::Around;
use diverge_intercept::frames::Passing;
use diverge_protocol::rules::Revision;

use crate::checks::Check;
use crate::policy::{Greeting, Input, Output, Policy, Provider};
use crate::settings::Settings;
use crate::view::{Flow, Message, View};

pub use diverge_intercept::Intercept;
pub use diverge_intercept::frames::{after, before, double, lose, on, replace, rewrite};

/// The provider's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role;

impl diverge_intercept::Role for Role {
    type Settings = Settings;
    type View = View;
    type Input = Input;
    type Output = Output;
    type Asking = ();
    type Admission = Greeting;
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

/// An entry of a table of faults.
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

/// The reference with an interceptor around it.
#[derive(Debug)]
pub struct Intercepted {
    policy: Policy,
    around: Around<Role>,
}

impl Intercepted {
    /// Puts the interceptor around a reference with those settings.
    #[must_use]
    pub fn new(mut settings: Settings, intercept: Interceptor) -> Self {
        intercept.tune(&mut settings);
        Self {
            policy: Policy::new(settings.clone()),
            around: Around::new(View::new(settings), intercept),
        }
    }
}

impl Provider for Intercepted {
    fn greet(&mut self) -> Greeting {
        self.around.admit(&(), self.policy.greet())
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
            Self::FromClient | Self::FromProxy => {
                on_input(move |view, input, next| match view.read_input(&input) {
                    Some(message) if message.flow == self => f(&message, next),
                    _ => next.push(input.into()),
                })
            }
            Self::ToClient | Self::ToProxy => {
                on_output(move |view, output, next| match view.read_output(&output) {
                    Some(message) if message.flow == self => f(&message, next),
                    _ => next.push(output.into()),
                })
            }
        }
    }
}

impl Passing<Role> for Message<'_> {
    fn pass(&self) -> Step {
        self.pass()
    }

    fn with_payload(&self, payload: bytes::Bytes) -> Step {
        self.with_payload(payload)
    }
}

/// Changes the settings.
#[must_use]
pub fn tune(change: fn(&mut Settings)) -> Interceptor {
    diverge_intercept::tune(change)
}

/// Answers handshakes in this way.
#[must_use]
pub fn greet(how: fn(&View) -> Greeting) -> Interceptor {
    diverge_intercept::admit(move |view, (), _| how(view))
}

/// Leaves a check out.
#[must_use]
pub fn switch_off(check: Check) -> Interceptor {
    struct Off(Check);
    impl Intercept<Role> for Off {
        fn tune(&self, settings: &mut Settings) {
            settings.off.insert(self.0);
        }
    }
    Box::new(Off(check))
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
