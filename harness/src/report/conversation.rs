//! The conversation that a scenario expects, as a lane diagram.

use diverge_protocol::scenario::{Action, ClientExpectation, Part, ProxyExpectation, Step};
use diverge_protocol::transcript::Role;
use diverge_protocol::transcript::Role::{Client, Provider, Proxy};

use super::diagram::Diagram;
use super::style;
use crate::play::step_text;

/// Draws the steps, alternatives and repetitions with brackets beside them.
pub(crate) fn draw(steps: &[Step]) -> String {
    let mut conversation = Conversation {
        diagram: Diagram::new(roles(steps)),
    };
    conversation.steps(steps, "", Part::Probe);
    conversation.diagram.into_text()
}

/// The parties of the conversation.
fn roles(steps: &[Step]) -> Vec<Role> {
    let speaks = |role: Role| {
        any(steps, &|step: &Step| match &step.action {
            Action::Act(act) => act
                .verb()
                .is_some_and(|(verb, _)| verb.from == role || verb.to == role),
            _ => false,
        })
    };
    let all = [Role::Client, Role::Provider, Role::Proxy, Role::AgentServer];
    let mut roles: Vec<Role> = all.into_iter().filter(|role| speaks(*role)).collect();
    if roles.is_empty() {
        roles.extend([Role::Client, Role::Provider]);
        if any(steps, &takes_proxy) {
            roles.push(Role::Proxy);
        }
    }
    roles
}

fn takes_proxy(step: &Step) -> bool {
    use Action::{ProxyCloses, ProxyExpects, ProxyRefuses, ProxySends};
    matches!(
        step.action,
        ProxyExpects(_) | ProxySends(_) | ProxyCloses | ProxyRefuses
    )
}

fn any(steps: &[Step], holds: &dyn Fn(&Step) -> bool) -> bool {
    let inside = |step: &Step| match &step.action {
        Action::OneOf(branches) | Action::EitherOrder(branches) => {
            branches.iter().any(|branch| any(branch, holds))
        }
        Action::Repeat(_, steps) | Action::AnyNumberOf(steps) => any(steps, holds),
        _ => false,
    };
    steps.iter().any(|step| holds(step) || inside(step))
}

struct Conversation {
    diagram: Diagram,
}

impl Conversation {
    /// Draws steps inside of brackets; those of a part other than `around` get a bracket of their own.
    fn steps(&mut self, steps: &[Step], indent: &str, around: Part) {
        for steps in steps.chunk_by(|one, other| one.part == other.part) {
            let part = steps[0].part;
            if part == around {
                steps.iter().for_each(|step| self.step(step, indent));
            } else {
                let name = if part == Part::Control {
                    "control"
                } else {
                    "probe"
                };
                self.bracket(indent, &[(name, steps)], part);
            }
        }
    }

    fn bracket(&mut self, indent: &str, branches: &[(&str, &[Step])], part: Part) {
        for (at, (name, steps)) in branches.iter().enumerate() {
            let corner = if at == 0 { '╭' } else { '├' };
            self.diagram
                .note(&format!("{indent}{corner} {name}"), "", false);
            self.steps(steps, &format!("{indent}│"), part);
        }
        self.diagram.note(&format!("{indent}╰"), "", false);
    }

    fn branches(&mut self, names: [&str; 2], branches: &[Vec<Step>], indent: &str, part: Part) {
        let named: Vec<(&str, &[Step])> = branches
            .iter()
            .enumerate()
            .map(|(at, steps)| (names[at.min(1)], steps.as_slice()))
            .collect();
        self.bracket(indent, &named, part);
    }

    fn step(&mut self, step: &Step, indent: &str) {
        let (from, to, word) = match &step.action {
            Action::ClientConnects { bare: false } => (Client, Provider, "connects, credential"),
            Action::ClientConnects { bare: true } => (Client, Provider, "connects"),
            Action::ClientSends(message) => (Client, Provider, message.name()),
            Action::ClientCloses => (Client, Provider, "closes"),
            Action::ClientDrops => (Client, Provider, "breaks off"),
            Action::ClientExpects(ClientExpectation::Relayed) => {
                (Provider, Client, "all that the proxy sent")
            }
            Action::ClientExpects(ClientExpectation::Closed) => (Provider, Client, "closes"),
            Action::ProxySends(message) => (Proxy, Provider, message.name()),
            Action::ProxyCloses => (Proxy, Provider, "closes"),
            Action::ProxyExpects(ProxyExpectation::Begin) => (Provider, Proxy, "connects, begin"),
            Action::ProxyExpects(ProxyExpectation::Attempt) => {
                (Provider, Proxy, "tries to connect")
            }
            Action::ProxyExpects(ProxyExpectation::Closed) => (Provider, Proxy, "closes"),
            Action::ClientExpects(ClientExpectation::Nothing)
            | Action::ProxyExpects(ProxyExpectation::Nothing)
            | Action::ProxyRefuses => return self.diagram.note(indent, &step_text(step), false),
            Action::ClientExpects(expectation) => (Provider, Client, expectation.name()),
            Action::ProxyExpects(expectation) => (Provider, Proxy, expectation.name()),
            Action::Act(act) => match act.verb() {
                // What does not happen, and what happens to a party alone, is no arrow.
                Some((verb, word))
                    if word == Some("nothing")
                        || verb.key == "agent server"
                        || verb.from == verb.to =>
                {
                    return self.diagram.note(indent, &step_text(step), false);
                }
                Some((verb, Some(word))) => (verb.from, verb.to, word),
                Some((verb, None)) => {
                    let (_, word) = verb.key.split_once(' ').unwrap_or(("", verb.key));
                    (verb.from, verb.to, word)
                }
                None => return,
            },
            Action::NotApplicable(why) => {
                return self
                    .diagram
                    .note(indent, &format!("not applicable: {why}"), false);
            }
            Action::Repeat(times, steps) => {
                return self.bracket(indent, &[(&format!("{times} times"), steps)], step.part);
            }
            Action::AnyNumberOf(steps) => {
                return self.bracket(indent, &[("any number of", steps)], step.part);
            }
            Action::OneOf(branches) => {
                return self.branches(["one of", "or"], branches, indent, step.part);
            }
            Action::EitherOrder(branches) => {
                return self.branches(["any order", "and"], branches, indent, step.part);
            }
        };
        self.diagram
            .arrow(indent, from, to, &label(step, word), false);
    }
}

/// An arrow's label, with those of the step's details that a person tells messages apart by.
fn label(step: &Step, word: &str) -> String {
    let args = &step.args;
    let mut label = String::new();
    for name in [&args.on, &args.run, &args.channel].into_iter().flatten() {
        label.push_str(&format!("{name}: "));
    }
    label.push_str(word);
    let frame_type = args.frame_type.map(u32::from);
    for (name, number) in [
        ("number", args.number),
        ("type", frame_type),
        ("scope", args.scope),
    ] {
        if let Some(number) = number {
            label.push_str(&format!(", {name} {number}"));
        }
    }
    if let Some(answer) = &args.answer {
        label.push_str(&format!(": {answer}"));
    }
    let body = [&args.json, &args.hex, &args.text, &args.arguments]
        .into_iter()
        .flatten()
        .next();
    match (&args.mutate, body) {
        (Some(mutation), _) => label.push_str(&format!(", {mutation}")),
        (None, Some(body)) if body.is_empty() => label.push_str(", no byte"),
        (None, Some(body)) => label.push_str(&format!(" {body}")),
        (None, None) => {}
    }
    style::printable(&label)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use diverge_protocol::scenario::{Source, Suite};

    use super::super::prose;
    use super::*;

    const SCENARIO: &str = "
iut: provider
scenarios:
  - id: provider/test/example
    title: An example
    requirements: [run.started]
    steps:
      - client connects: authorized
      - client sends: run
        mutate: drop /image
      - one of:
          - - client expects: bare finish
              checks: request.missing-member
          - - client expects: error
            - client expects: finish
      - repeat: 3
        steps:
          - client expects: nothing
      - control:
          - client sends: run
          - proxy expects: begin
";

    fn steps() -> Vec<Step> {
        let source = Arc::new(Source {
            path: "example.yaml".into(),
            text: SCENARIO.into(),
        });
        let suite = Suite::load(&[source]).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        suite.scenarios[0].steps.clone()
    }

    fn plain(text: &str) -> Vec<String> {
        anstream::adapter::strip_str(text)
            .to_string()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn alternatives_repetitions_and_controls_have_brackets() {
        let rows = plain(&draw(&steps()));
        let gutters: Vec<String> = rows
            .iter()
            .skip(1)
            .map(|row| row.chars().take(14).collect())
            .collect();
        let gutters: Vec<&str> = gutters.iter().map(|gutter| gutter.trim()).collect();
        let expected = [
            "",
            "",
            "╭ one of",
            "│",
            "├ or",
            "│",
            "│",
            "╰",
            "╭ 3 times",
            "│",
            "╰",
            "╭ control",
            "│",
            "│",
            "╰",
        ];
        assert_eq!(gutters, expected, "{rows:#?}");
        assert!(rows[2].contains("── run, drop /image ──"), "{}", rows[2]);
        assert!(rows[4].contains("── bare finish ──│"), "{}", rows[4]);
        assert!(rows[14].contains("── connects, begin ──"), "{}", rows[14]);
    }

    #[test]
    fn the_same_steps_read_as_prose() {
        let lines = plain(&prose::steps(&steps()));
        let said: Vec<String> = lines
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "1 client connects",
            "2 client sends run, broken by `drop /image`",
            "one of these",
            "3 client expects bare finish request.missing-member",
            "or",
            "4 client expects error",
            "5 client expects finish",
            "3 times",
            "6 client expects nothing",
            "control: what must work",
            "7 client sends run",
            "8 proxy expects begin",
        ];
        assert_eq!(said, expected);
    }
}
