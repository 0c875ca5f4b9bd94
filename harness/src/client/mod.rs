//! The in-tree client: a conforming reference, its named faults, conforming variants of it, and hollow ones.
//!
//! [`Core`] is the reference, without I/O. A [`Form`] is what stands between it and what happens, and may do something
//! else. [`speak`] runs a form on a socket, as a program of its own or in this process.

mod core;
mod faults;
mod hollow;
mod shell;
mod variants;

use diverge_protocol::wire::client_line::ClientLine as Line;

pub use self::core::{Core, Given, Input, Output};
pub use self::shell::speak;
use crate::mutants::Duty;

/// A client by what it does.
#[derive(Debug)]
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What must come of it.
    pub duty: Duty,
    deed: Deed,
}

/// What a form does about what happens; most let the core do its part, and spoil it.
type Deed = fn(&mut Core, &Input, &mut Vec<Output>);

/// The conforming reference.
pub static REFERENCE: Form = Form {
    name: "reference",
    about: "tells what it reads, line by line",
    duty: Duty::Green,
    deed: |core, input, out| core.on(input, out),
};

/// Every form but the reference: hollow ones, faults, variants.
pub fn all() -> impl Iterator<Item = &'static Form> {
    let spoiled = hollow::HOLLOW.iter().chain(faults::all());
    spoiled.chain(variants::VARIANTS)
}

/// The form of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Form> {
    all().find(|form| form.name == name)
}

/// Does something else with what the core writes.
fn lines(out: &mut Vec<Output>, mut change: impl FnMut(Line) -> Vec<Line>) {
    let written = std::mem::take(out);
    for output in written {
        match output {
            Output::Line(line) => out.extend(change(line).into_iter().map(Output::Line)),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_forms_have_one_name() {
        let names: BTreeSet<&str> = all().map(|form| form.name).collect();
        assert_eq!(names.len(), all().count());
    }
}
