//! Faults of the port.

use crate::fault::{Fault, Intercept, Interceptor, Role, fault};
use crate::settings::{DEFAULT_PORT, Settings, port};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "port-ignored",
        "agent.port.given",
        "serves on 8080 whatever it is given",
        || rule(|_| DEFAULT_PORT),
    ),
    fault(
        "port-signed",
        "agent.port.given",
        "takes no port above 32767",
        || rule(|variable| port(variable.filter(|it| it.parse::<i16>().is_ok()))),
    ),
    fault(
        "port-default-other",
        "agent.port.default",
        "serves on 8000 where it is given no port",
        || {
            rule(|variable| match variable {
                None => 8000,
                given => port(given),
            })
        },
    ),
    fault(
        "port-empty-any",
        "agent.port.default",
        "serves on any port where it is given an empty one",
        || {
            rule(|variable| match variable {
                Some("") => 0,
                given => port(given),
            })
        },
    ),
    fault(
        "port-zero-any",
        "agent.port.default",
        "serves on any port where it is given 0",
        || {
            rule(|variable| match variable {
                Some("0") => 0,
                given => port(given),
            })
        },
    ),
    fault(
        "port-wrapped",
        "agent.port.default",
        "takes the low sixteen bits of a port out of range",
        || {
            rule(|variable| match variable.map(str::parse::<u32>) {
                Some(Ok(number)) if number > 65_535 => (number & 0xffff) as u16,
                _ => port(variable),
            })
        },
    ),
    fault(
        "port-trimmed",
        "agent.port.default",
        "takes a port with spaces around it",
        || rule(|variable| port(variable.map(str::trim))),
    ),
    fault(
        "port-leading-digits",
        "agent.port.default",
        "takes the digits in front of other letters for a port",
        || {
            rule(|variable| {
                port(variable.map(|it| {
                    let end = it.bytes().position(|byte| !byte.is_ascii_digit());
                    &it[..end.unwrap_or(it.len())]
                }))
            })
        },
    ),
];

fn rule(rule: fn(Option<&str>) -> u16) -> Interceptor {
    struct Rule(fn(Option<&str>) -> u16);
    impl Intercept<Role> for Rule {
        fn tune(&self, settings: &mut Settings) {
            settings.port = self.0;
        }
    }
    Box::new(Rule(rule))
}
