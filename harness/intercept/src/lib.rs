//! What makes a mutant, or a conforming variant, of the reference of a role: an interceptor that stands between it and its
//! peers, and spoils (or varies) one thing.
//!
//! A role says what happens to it, what it does, and what is known of both ([`Role`]). An [`Intercept`] is shown all that
//! passes, as [`Step`]s; [`Around`] puts one around a reference. The combinators of [`frames`] are for roles that exchange
//! frames. [`Fault`] and [`Variant`] give an interceptor its name, and a [`Behaviour`] is chosen by it.

pub mod frames;
mod named;

use std::collections::VecDeque;
use std::fmt;

pub use named::{Behaviour, Chosen, Fault, Repertoire, Variant};

/// A role of the protocol, as the interceptors around its reference see it.
pub trait Role: Sized + 'static {
    /// The freedoms that the reference was given.
    type Settings;
    /// What has happened so far.
    type View: Notes<Self>;
    /// What happens to it.
    type Input: Clone;
    /// What it does.
    type Output: Clone;
    /// What a connection says before it is admitted.
    type Asking: ?Sized;
    /// How a connection is admitted.
    type Admission;
}

/// What keeps what has happened to a role.
pub trait Notes<R: Role> {
    /// This happened to it.
    fn note_input(&mut self, input: &R::Input);

    /// Its reference was made to believe that this happened.
    fn note_heard(&mut self, input: &R::Input) {
        let _ = input;
    }

    /// Its reference did this.
    fn note_output(&mut self, output: &R::Output);
}

/// One thing that an interceptor passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<R: Role> {
    /// The reference is to take this input. The interceptor is not shown it again.
    Hear(R::Input),
    /// The role is to do this. The interceptor is not shown it again.
    Do(R::Output),
}

/// Stands around the reference. What it does not push on to `next` does not happen; what it pushes besides does.
pub trait Intercept<R: Role>: Send {
    /// Changes the reference's settings before it starts.
    fn tune(&self, settings: &mut R::Settings) {
        let _ = settings;
    }

    /// Is shown how the reference admits a connection, and says how it is admitted.
    fn admit(
        &mut self,
        view: &R::View,
        asking: &R::Asking,
        by_reference: R::Admission,
    ) -> R::Admission {
        let _ = (view, asking);
        by_reference
    }

    /// Is shown what happens to the role.
    fn input(&mut self, view: &R::View, input: R::Input, next: &mut Vec<Step<R>>) {
        let _ = view;
        next.push(Step::Hear(input));
    }

    /// Is shown what the reference does.
    fn output(&mut self, view: &R::View, output: R::Output, next: &mut Vec<Step<R>>) {
        let _ = view;
        next.push(Step::Do(output));
    }
}

/// An interceptor, fresh.
pub type Interceptor<R> = Box<dyn Intercept<R>>;

/// An interceptor at its place, with what it knows.
pub struct Around<R: Role> {
    view: R::View,
    intercept: Interceptor<R>,
}

impl<R: Role> fmt::Debug for Around<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around").finish_non_exhaustive()
    }
}

impl<R: Role> Around<R> {
    /// An interceptor that knows this much.
    #[must_use]
    pub fn new(view: R::View, intercept: Interceptor<R>) -> Self {
        Self { view, intercept }
    }

    /// What is known so far.
    #[must_use]
    pub fn view(&self) -> &R::View {
        &self.view
    }

    /// How a connection is admitted that the reference would admit like this.
    pub fn admit(&mut self, asking: &R::Asking, by_reference: R::Admission) -> R::Admission {
        self.intercept.admit(&self.view, asking, by_reference)
    }

    /// Takes one input, lets the reference take what it is to take of it, and appends what is to be done.
    pub fn on(
        &mut self,
        input: R::Input,
        out: &mut Vec<R::Output>,
        mut reference: impl FnMut(R::Input, &mut Vec<R::Output>),
    ) {
        let (mut next, mut done) = (Vec::new(), Vec::new());
        self.intercept.input(&self.view, input.clone(), &mut next);
        self.view.note_input(&input);
        let mut queue = VecDeque::from(next);
        while let Some(step) = queue.pop_front() {
            match step {
                Step::Do(output) => out.push(output),
                Step::Hear(input) => {
                    self.view.note_heard(&input);
                    reference(input, &mut done);
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
pub fn tune<R: Role>(change: fn(&mut R::Settings)) -> Interceptor<R> {
    struct Tune<R: Role>(fn(&mut R::Settings));
    impl<R: Role> Intercept<R> for Tune<R> {
        fn tune(&self, settings: &mut R::Settings) {
            (self.0)(settings);
        }
    }
    Box::new(Tune::<R>(change))
}

/// Admits connections in this way; it is shown what they say, and how the reference admits them.
#[must_use]
pub fn admit<R: Role>(
    how: impl FnMut(&R::View, &R::Asking, R::Admission) -> R::Admission + Send + 'static,
) -> Interceptor<R> {
    struct Admit<F>(F);
    impl<R: Role, F: FnMut(&R::View, &R::Asking, R::Admission) -> R::Admission + Send> Intercept<R>
        for Admit<F>
    {
        fn admit(
            &mut self,
            view: &R::View,
            asking: &R::Asking,
            by_reference: R::Admission,
        ) -> R::Admission {
            (self.0)(view, asking, by_reference)
        }
    }
    Box::new(Admit(how))
}

/// Is shown every input. Those that it does not push on are lost.
#[must_use]
pub fn on_input<R: Role>(
    f: impl FnMut(&R::View, R::Input, &mut Vec<Step<R>>) + Send + 'static,
) -> Interceptor<R> {
    struct OnInput<F>(F);
    impl<R: Role, F: FnMut(&R::View, R::Input, &mut Vec<Step<R>>) + Send> Intercept<R> for OnInput<F> {
        fn input(&mut self, view: &R::View, input: R::Input, next: &mut Vec<Step<R>>) {
            (self.0)(view, input, next);
        }
    }
    Box::new(OnInput(f))
}

/// Is shown every output. Those that it does not push on are lost.
#[must_use]
pub fn on_output<R: Role>(
    f: impl FnMut(&R::View, R::Output, &mut Vec<Step<R>>) + Send + 'static,
) -> Interceptor<R> {
    struct OnOutput<F>(F);
    impl<R: Role, F: FnMut(&R::View, R::Output, &mut Vec<Step<R>>) + Send> Intercept<R>
        for OnOutput<F>
    {
        fn output(&mut self, view: &R::View, output: R::Output, next: &mut Vec<Step<R>>) {
            (self.0)(view, output, next);
        }
    }
    Box::new(OnOutput(f))
}
