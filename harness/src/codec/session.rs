//! Lines asked of as many processes as it takes: one, unless it dies.
//!
//! A process that dies is suspected of what it had not answered yet, which is asked again in new processes until what it
//! dies of is known. A count of answers that does not fit makes all of a process's answers worthless, since nobody knows
//! which belongs to what.

use std::collections::VecDeque;

use super::answer::Answer;
use super::pipe::{Asked, Codec, ENDLESS, Ending};
use crate::iut::PlugError;
use crate::play::Patience;

/// So many processes are started at most.
const STARTS: usize = 64;
/// So many of them may hang, each for as long as the patience lasts.
const HANGS: usize = 8;

/// What came of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// An answer.
    Said(Answer),
    /// None, and why.
    Nothing(String),
}

/// Asks about every line; `fits` says whether an answer is right, to tell where a count of answers went wrong.
///
/// # Errors
/// When the codec cannot be started.
pub async fn ask(
    codec: &Codec,
    lines: &[String],
    fits: &(dyn Fn(usize, &Answer) -> bool + Sync),
    patience: &Patience,
) -> Result<Vec<Reply>, PlugError> {
    let mut session = Session {
        replies: vec![Reply::Nothing(String::new()); lines.len()],
        unasked: VecDeque::from([(0..lines.len()).collect()]),
        deaths: Vec::new(),
    };
    let (mut starts, mut hangs) = (0, 0);
    let mut last = String::new();
    while let Some(group) = session.unasked.pop_front() {
        if group.is_empty() {
            continue;
        }
        if starts == STARTS || hangs == HANGS {
            let why = format!("{last}; after {starts} processes it was not asked any more");
            session.fail(&group, &why);
            continue;
        }
        starts += 1;
        let asked: Vec<String> = group.iter().map(|at| lines[*at].clone()).collect();
        let Asked { answers, ending } = codec.ask(&asked, patience).await?;
        if starts == 1 && answers.is_empty() && matches!(ending, Ending::Died(_)) {
            codec.try_out(patience).await?;
        }
        match answers.is_empty() {
            true => patience.exchange_failed(),
            false => patience.exchange_worked(),
        }
        let how = match ending {
            Ending::Died(how) if answers.len() < group.len() => how,
            Ending::Hung(waited) if answers.len() < group.len() => {
                hangs += 1;
                format!("no answer within {} ms", waited.as_millis())
            }
            ending => {
                session.settle(&group, answers, &ending, lines, fits);
                continue;
            }
        };
        last.clone_from(&how);
        session.died(&group, answers, how);
    }
    Ok(session.finish())
}

struct Session {
    replies: Vec<Reply>,
    /// Groups of lines that no process has been asked about yet, or that one died of.
    unasked: VecDeque<Vec<usize>>,
    /// For each death: what was left unanswered, and how it was.
    deaths: Vec<(Vec<usize>, String)>,
}

impl Session {
    fn fail(&mut self, group: &[usize], why: &str) {
        for at in group {
            self.replies[*at] = Reply::Nothing(why.to_owned());
        }
    }

    /// Takes the answers of a process that did not die.
    fn settle(
        &mut self,
        group: &[usize],
        answers: Vec<Answer>,
        ending: &Ending,
        lines: &[String],
        fits: &dyn Fn(usize, &Answer) -> bool,
    ) {
        if answers.len() == group.len() && *ending != Ending::Overflowed {
            for (at, answer) in group.iter().zip(answers) {
                self.replies[*at] = Reply::Said(answer);
            }
            return;
        }
        let more = match ending {
            Ending::Overflowed if answers.len() > group.len() => "more than ".to_owned(),
            Ending::Overflowed => format!("a line of more than {ENDLESS} bytes, as one of "),
            _ => String::new(),
        };
        let mut why = format!(
            "{more}{} answers to {} lines, so that nobody knows which answers what",
            answers.len(),
            group.len()
        );
        let odd = group
            .iter()
            .zip(&answers)
            .position(|(at, answer)| !fits(*at, answer));
        if let (Some(odd), false) = (odd, answers.is_empty()) {
            let line = lines[group[odd]].trim_end();
            why.push_str(&format!(
                "; answer {} is the first that does not fit its line, `{}`",
                odd + 1,
                cut(line)
            ));
        }
        self.fail(group, &why);
    }

    /// Takes what a process had answered until it died, and has the rest asked again.
    fn died(&mut self, group: &[usize], answers: Vec<Answer>, how: String) {
        let (answered, rest) = group.split_at(answers.len());
        for (at, answer) in answered.iter().zip(answers) {
            self.replies[*at] = Reply::Said(answer);
        }
        if let [one] = rest {
            self.replies[*one] = Reply::Nothing(how);
            return;
        }
        // What answers line by line dies of the first that it did not answer; what answers at the end, of any.
        let middle = if answered.is_empty() {
            rest.len() / 2
        } else {
            1
        };
        self.unasked.push_front(rest[middle..].to_vec());
        self.unasked.push_front(rest[..middle].to_vec());
        self.deaths.push((rest.to_vec(), how));
    }

    /// Charges each death to something.
    fn finish(mut self) -> Vec<Reply> {
        for (rest, how) in std::mem::take(&mut self.deaths) {
            let unanswered = |at: &usize| matches!(self.replies[*at], Reply::Nothing(_));
            if let (false, Some(first)) = (rest.iter().any(unanswered), rest.first()) {
                self.replies[*first] =
                    Reply::Nothing(format!("{how}, though not when asked this by itself"));
            }
        }
        self.replies
    }
}

/// A line, as far as it is worth showing.
pub(super) fn cut(line: &str) -> String {
    const SHOWN: usize = 400;
    match line.get(..SHOWN) {
        Some(start) if line.len() > SHOWN => format!("{start}…"),
        _ => line.to_owned(),
    }
}
