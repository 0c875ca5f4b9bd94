//! Interceptors of messages that are frames.

use bytes::Bytes;

use crate::{Interceptor, Role, Step};

/// Which way messages go, and so who hears them.
pub trait Flow: Copy + Send + 'static {
    /// Whose messages they are.
    type Role: Role;
    /// A message, with what is known about it.
    type Message<'a>: Passing<Self::Role>;

    /// Is shown every frame that goes that way; what is no frame passes. Those that it does not push on
    /// ([`Passing::pass`]) are lost.
    #[must_use]
    fn on(
        self,
        f: impl FnMut(&Self::Message<'_>, &mut Vec<Step<Self::Role>>) + Send + 'static,
    ) -> Interceptor<Self::Role>;
}

/// A message on its way.
pub trait Passing<R: Role> {
    /// The message as it is.
    #[must_use]
    fn pass(&self) -> Step<R>;

    /// The message with another payload.
    #[must_use]
    fn with_payload(&self, payload: Bytes) -> Step<R>;
}

/// Is shown every frame that goes that way, as a message; what is no frame passes. Those that it does not push on
/// ([`Passing::pass`]) are lost.
#[must_use]
pub fn on<F: Flow>(
    flow: F,
    f: impl FnMut(&F::Message<'_>, &mut Vec<Step<F::Role>>) + Send + 'static,
) -> Interceptor<F::Role> {
    flow.on(f)
}

/// Puts these steps in place of the messages for which `when` holds.
#[must_use]
pub fn replace<F: Flow>(
    flow: F,
    mut when: impl FnMut(&F::Message<'_>) -> bool + Send + 'static,
    mut with: impl FnMut(&F::Message<'_>) -> Vec<Step<F::Role>> + Send + 'static,
) -> Interceptor<F::Role> {
    flow.on(move |message, next| {
        if when(message) {
            next.extend(with(message));
        } else {
            next.push(message.pass());
        }
    })
}

/// Loses the messages for which `when` holds.
#[must_use]
pub fn lose<F: Flow>(
    flow: F,
    when: impl FnMut(&F::Message<'_>) -> bool + Send + 'static,
) -> Interceptor<F::Role> {
    replace(flow, when, |_| Vec::new())
}

/// Sends the messages for which `when` holds twice.
#[must_use]
pub fn double<F: Flow>(
    flow: F,
    when: impl FnMut(&F::Message<'_>) -> bool + Send + 'static,
) -> Interceptor<F::Role> {
    replace(flow, when, |message| vec![message.pass(), message.pass()])
}

/// Gives the messages for which `when` holds another payload.
#[must_use]
pub fn rewrite<F: Flow>(
    flow: F,
    mut when: impl FnMut(&F::Message<'_>) -> bool + Send + 'static,
    mut payload: impl FnMut(&F::Message<'_>) -> Bytes + Send + 'static,
) -> Interceptor<F::Role> {
    flow.on(move |message, next| {
        next.push(if when(message) {
            message.with_payload(payload(message))
        } else {
            message.pass()
        });
    })
}

/// Puts these steps in front of the messages for which `when` holds.
#[must_use]
pub fn before<F: Flow>(
    flow: F,
    mut when: impl FnMut(&F::Message<'_>) -> bool + Send + 'static,
    mut steps: impl FnMut(&F::Message<'_>) -> Vec<Step<F::Role>> + Send + 'static,
) -> Interceptor<F::Role> {
    flow.on(move |message, next| {
        if when(message) {
            next.extend(steps(message));
        }
        next.push(message.pass());
    })
}

/// Puts these steps behind the messages for which `when` holds.
#[must_use]
pub fn after<F: Flow>(
    flow: F,
    mut when: impl FnMut(&F::Message<'_>) -> bool + Send + 'static,
    mut steps: impl FnMut(&F::Message<'_>) -> Vec<Step<F::Role>> + Send + 'static,
) -> Interceptor<F::Role> {
    flow.on(move |message, next| {
        next.push(message.pass());
        if when(message) {
            next.extend(steps(message));
        }
    })
}
