//! The in-tree codec, which answers as our own decoder judges, and its forms: faults, conforming variants, hollow ones.

mod faults;
mod hollow;
mod variants;

use std::io;
use std::sync::LazyLock;

use diverge_protocol::wire::Malformed;
use diverge_protocol::wire::surface::Surface;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use crate::decode;
use crate::mutants::Duty;

/// What a codec says of a payload: its kind, where it accepts it.
pub type Verdict = Result<&'static str, Malformed>;

/// A form of the in-tree codec, and what must come of it.
#[derive(Debug)]
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What must come of it.
    pub duty: Duty,
    manner: Manner,
}

/// How a form differs from the reference.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// It judges otherwise, whatever our decoder says.
    Judges(Judge),
    /// It accepts what is malformed so.
    Takes(fn(&Payload<'_>, &Malformed) -> bool),
    /// It rejects what is well formed so.
    Refuses(fn(&Payload<'_>) -> bool),
    /// It says the same otherwise.
    Writes(fn(Pen<'_>)),
    /// It answers a line without regard to what is right.
    Says(fn(&str) -> String),
    /// It says the same to every line.
    Repeats(&'static str),
}

type Judge = fn(&Payload<'_>, Verdict) -> Option<&'static str>;

/// A payload that is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    surface: Surface,
    bytes: &'a [u8],
}

/// All the right answers, and the output in pieces, each written and flushed by itself.
struct Pen<'a> {
    answers: &'a [String],
    output: &'a mut Vec<Vec<u8>>,
}

/// The conforming reference.
pub static REFERENCE: Form = Form {
    name: "reference",
    about: "It answers each line as our own decoder judges it.",
    duty: Duty::Green,
    manner: Manner::Refuses(|_| false),
};

static ALL: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let mut all = faults::all();
    all.extend(variants::all());
    all.extend(hollow::all());
    all
});

/// Every form but the reference.
pub fn all() -> impl Iterator<Item = &'static Form> {
    ALL.iter()
}

/// The form of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Form> {
    all().find(|form| form.name == name)
}

/// Answers lines until they end, as the form does.
///
/// # Errors
/// When it cannot read or write, or where the form is one that dies.
pub async fn speak(
    form: &Form,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut lines = BufReader::new(input).lines();
    let mut output = output;
    let spoken = async {
        match form.manner {
            // What writes otherwise knows all answers first.
            Manner::Writes(write) => {
                let mut answers = Vec::new();
                while let Some(line) = lines.next_line().await? {
                    answers.push(answer(&line, |_, verdict| verdict.ok()));
                }
                let mut pieces = Vec::new();
                write(Pen {
                    answers: &answers,
                    output: &mut pieces,
                });
                for piece in pieces {
                    output.write_all(&piece).await?;
                    output.flush().await?;
                }
            }
            manner => {
                while let Some(line) = lines.next_line().await? {
                    let said = manner.says(&line);
                    if said == hollow::DIES {
                        return Err(io::Error::other("this form dies"));
                    }
                    output.write_all(said.as_bytes()).await?;
                    output.flush().await?;
                }
            }
        }
        Ok(())
    };
    let spoken = spoken.await;
    let _ = output.shutdown().await;
    spoken
}

impl Manner {
    /// What is written in answer to one line.
    fn says(self, line: &str) -> String {
        let said = match self {
            Manner::Judges(judge) => answer(line, judge),
            Manner::Takes(takes) => answer(line, |payload, verdict| match verdict {
                Err(fault) if takes(payload, &fault) => Some(payload.looks_like()),
                verdict => verdict.ok(),
            }),
            Manner::Refuses(refuses) => answer(line, |payload, verdict| {
                verdict.ok().filter(|_| !refuses(payload))
            }),
            Manner::Repeats(line) => line.to_owned(),
            Manner::Says(say) => return say(line),
            Manner::Writes(_) => return String::new(),
        };
        said + "\n"
    }
}

/// The answer to one line.
fn answer(line: &str, judge: impl Fn(&Payload<'_>, Verdict) -> Option<&'static str>) -> String {
    let mut bytes = Vec::new();
    let (surface, digits) = line.split_once(' ').unwrap_or((line, ""));
    let surface =
        Surface::named(surface).filter(|_| decode::unhex(digits.as_bytes(), &mut bytes).is_ok());
    let Some(surface) = surface else {
        return "unknown".to_owned();
    };
    let payload = Payload {
        surface,
        bytes: &bytes,
    };
    match judge(&payload, surface.judge(&bytes)) {
        Some(kind) => format!("accept {kind}"),
        None => "reject".to_owned(),
    }
}

impl<'a> Payload<'a> {
    /// The JSON of it, where it has some.
    fn json(&self) -> &'a [u8] {
        match self.surface {
            Surface::Frame => &[],
            surface => self
                .bytes
                .get(usize::from(surface.has_first_byte())..)
                .unwrap_or_default(),
        }
    }

    fn text(&self) -> &'a str {
        std::str::from_utf8(self.json()).unwrap_or_default()
    }

    fn has(&self, part: &str) -> bool {
        self.text().contains(part)
    }

    /// The kind that it would be, were it well formed.
    fn looks_like(&self) -> &'static str {
        let kinds = self.surface.kinds();
        let first = usize::from(self.bytes.first().copied().unwrap_or_default());
        let by_type = || kinds.iter().find(|kind| self.has(&format!("\"{kind}\"")));
        let by_byte = || kinds.get(first);
        let kind = match self.surface {
            Surface::Chunk | Surface::AgentEvent => by_type(),
            _ => by_byte(),
        };
        kind.or(kinds.first()).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_form_has_a_name_of_its_own() {
        let names: BTreeSet<_> = all().map(|form| form.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(!names.contains(REFERENCE.name));
    }

    #[tokio::test]
    async fn the_reference_answers_each_line_in_its_order() {
        let input =
            &b"run-response 08\nrun-response \nframe 00\nchunk 7b7d\nno such\nchunk 0\n"[..];
        let mut output = Vec::new();
        speak(&REFERENCE, input, &mut output)
            .await
            .expect("it speaks");
        let text = String::from_utf8(output).expect("it is text");
        assert_eq!(
            text,
            "accept active\nreject\nreject\nreject\nunknown\nunknown\n"
        );
    }
}
