//! The lines of one client, and how its process ends.

use super::super::violation::Cx;
use super::id;
use crate::transcript::What;
use crate::wire::client_line::{ClientLine, LineFault};

#[derive(Debug, Default)]
pub(super) struct Output {
    finished: bool,
}

impl Output {
    pub(super) fn event(&mut self, what: &What, cx: &mut Cx<'_>) {
        match what {
            What::Line(line) => self.line(line, cx),
            What::Exited { code } if self.finished && *code != Some(0) => {
                let received = match code {
                    Some(code) => format!("the exit status {code}"),
                    None => "an end by a signal".to_owned(),
                };
                cx.flag(
                    id::FINISH_EXIT,
                    "the exit status 0 behind `finished`",
                    received,
                );
            }
            _ => {}
        }
    }

    fn line(&mut self, line: &[u8], cx: &mut Cx<'_>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match ClientLine::decode(line) {
            Err(fault @ LineFault::Member { .. }) => {
                cx.flag(
                    id::LINE_MEMBERS,
                    "an event with its members",
                    fault.to_string(),
                );
            }
            Err(fault) => {
                let allowed = "a JSON object with a string `event`";
                cx.flag(id::LINE_OBJECT, allowed, fault.to_string());
            }
            Ok(ClientLine::Other(_)) => {}
            Ok(told) => {
                if self.finished {
                    let received = format!("`{}`", told.event());
                    cx.flag(id::FINISH_LAST, "nothing behind `finished`", received);
                }
                self.finished |= told == ClientLine::Finished;
            }
        }
    }
}
