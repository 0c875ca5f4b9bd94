//! Interceptors: what stands between the reference and its callers and spoils (or varies) one thing.

use diverge_intercept::Around;
use diverge_protocol::rules::Revision;
use diverge_protocol::wire::agent_server::Endpoint;

use crate::call::{Answer, Asked, CallId};
use crate::policy::{AgentServer, Input, Output, Policy};
use crate::settings::{Check, Settings};
use crate::view::{Passing, Piece, Reply, View};

pub use diverge_intercept::Intercept;

/// The agent server's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role;

impl diverge_intercept::Role for Role {
    type Settings = Settings;
    type View = View;
    type Input = Input;
    type Output = Output;
    type Asking = ();
    type Admission = ();
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

/// An entry of a table of faults, of both revisions.
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
        revisions: &[Revision::Scope, Revision::Path],
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

impl AgentServer for Intercepted {
    fn port(&self, variable: Option<&str>) -> u16 {
        (self.around.view().settings.port)(variable)
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        let policy = &mut self.policy;
        self.around
            .on(input, out, |input, done| policy.on(input, done));
    }
}

/// Changes the settings.
#[must_use]
pub fn tune(change: fn(&mut Settings)) -> Interceptor {
    diverge_intercept::tune(change)
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

/// Is shown every call to an endpoint. Those that it does not push on are never answered.
#[must_use]
pub fn on_call(
    endpoint: Endpoint,
    mut f: impl FnMut(&View, CallId, Asked, &mut Vec<Step>) + Send + 'static,
) -> Interceptor {
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
) -> Interceptor {
    on_call(endpoint, move |view, call, asked, next| {
        next.push(match with(view, &asked) {
            Some(answer) => Output::Answer(call, answer).into(),
            None => Input::Called(call, asked).into(),
        });
    })
}

/// Is shown every whole answer. Those that it does not push on are never given.
#[must_use]
pub fn on_reply(mut f: impl FnMut(&Reply<'_>, &mut Vec<Step>) + Send + 'static) -> Interceptor {
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
) -> Interceptor {
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
pub fn on_piece(mut f: impl FnMut(&Piece<'_>, &mut Vec<Step>) + Send + 'static) -> Interceptor {
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
) -> Interceptor {
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
pub fn lose(when: impl FnMut(&Piece<'_>) -> bool + Send + 'static) -> Interceptor {
    replace(when, |_| Vec::new())
}

/// Puts these steps in front of the pieces for which `when` holds.
#[must_use]
pub fn before(
    when: impl FnMut(&Piece<'_>) -> bool + Send + 'static,
    steps: fn(&Piece<'_>) -> Vec<Step>,
) -> Interceptor {
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
) -> Interceptor {
    replace(when, move |piece| {
        let mut all = vec![piece.pass()];
        all.extend(steps(piece));
        all
    })
}
