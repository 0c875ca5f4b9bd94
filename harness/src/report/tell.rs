//! A scenario told to a person: what it needs, its steps, and the conversation as lanes.

use diverge_protocol::scenario::Scenario;

use super::style::{QUIET, STRONG, paint};
use super::{conversation, prose};

/// Where it is written, what it needs, and what happens in it.
pub(crate) fn tell(scenario: &Scenario) -> String {
    let mut text = String::new();
    let mut needs = |what: &str| {
        text.push_str(&format!("  {what}\n"));
    };
    if scenario.exclusive {
        needs("it has its proxy address for itself");
    }
    for fixture in &scenario.needs {
        let key = fixture.key();
        needs(&format!("[provider.volumes] {key} in the configuration"));
    }
    if !text.is_empty() {
        text = format!("{}{text}", titled("needs"));
    }
    text.push_str(&titled("written"));
    text.push_str(&format!("  {}\n", paint(QUIET, scenario.at.display())));
    text.push_str(&titled("steps"));
    text.push_str(&prose::steps(&scenario.steps));
    text.push_str(&titled("the conversation"));
    text.push_str(&conversation::draw(&scenario.steps));
    text
}

fn titled(title: &str) -> String {
    format!("\n{}\n", paint(STRONG, title))
}
