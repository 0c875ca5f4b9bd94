//! Interceptors by their names.

use std::io;

use diverge_protocol::rules::Revision;

use crate::{Interceptor, Role};

/// A named deviation from the protocol.
#[derive(Debug)]
pub struct Fault<R: Role> {
    /// Its name.
    pub name: &'static str,
    /// The id of the requirement that it breaks.
    pub requirement: &'static str,
    /// The revisions whose reference has it.
    pub revisions: &'static [Revision],
    /// What it does, in a few words.
    pub about: &'static str,
    /// Makes the interceptor.
    pub build: fn() -> Interceptor<R>,
}

impl<R: Role> Fault<R> {
    /// The interceptor, fresh.
    #[must_use]
    pub fn build(&self) -> Interceptor<R> {
        (self.build)()
    }
}

/// A named freedom that the protocol leaves, taken.
#[derive(Debug)]
pub struct Variant<R: Role> {
    /// Its name.
    pub name: &'static str,
    /// The revisions whose reference takes it.
    pub revisions: &'static [Revision],
    /// What it does otherwise than the reference.
    pub about: &'static str,
    /// Makes the interceptor.
    pub build: fn() -> Interceptor<R>,
}

impl<R: Role> Variant<R> {
    /// The interceptor, fresh.
    #[must_use]
    pub fn build(&self) -> Interceptor<R> {
        (self.build)()
    }
}

/// Which implementation of a role to play.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// The reference.
    #[default]
    Conforming,
    /// The reference with the fault of that name.
    Fault(String),
    /// The conforming variant of that name.
    Variant(String),
    /// The hollow peer of that name.
    Hollow(String),
}

/// What there is to choose from; `H` is a hollow peer.
pub struct Repertoire<R: Role, H: 'static> {
    /// The faults.
    pub fault: fn(&str) -> Option<&'static Fault<R>>,
    /// The variants.
    pub variant: fn(&str) -> Option<&'static Variant<R>>,
    /// The hollow peers.
    pub hollow: fn(&str) -> Option<&'static H>,
}

/// What was chosen.
pub enum Chosen<R: Role, H: 'static> {
    /// The reference, and nothing around it.
    Reference,
    /// The reference in this interceptor.
    Intercepted(Interceptor<R>),
    /// A hollow peer.
    Hollow(&'static H),
}

impl Behaviour {
    /// What of a repertoire it is.
    ///
    /// # Errors
    /// When there is nothing of that name in this revision.
    pub fn choose<R: Role, H>(
        &self,
        revision: Revision,
        from: &Repertoire<R, H>,
    ) -> io::Result<Chosen<R, H>> {
        let unknown = |kind: &str, name: &str| {
            let revision = revision.as_str();
            let text = format!("the revision {revision} has no {kind} `{name}`");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        Ok(match self {
            Self::Conforming => Chosen::Reference,
            Self::Hollow(name) => {
                let hollow = (from.hollow)(name);
                Chosen::Hollow(hollow.ok_or_else(|| unknown("hollow peer", name))?)
            }
            Self::Fault(name) => {
                let fault = (from.fault)(name).filter(|it| it.revisions.contains(&revision));
                Chosen::Intercepted(fault.ok_or_else(|| unknown("fault", name))?.build())
            }
            Self::Variant(name) => {
                let variant = (from.variant)(name).filter(|it| it.revisions.contains(&revision));
                Chosen::Intercepted(variant.ok_or_else(|| unknown("variant", name))?.build())
            }
        })
    }
}
