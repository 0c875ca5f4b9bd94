//! `lint`: mistakes in scenario files, each at its place.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::codec::{CodecScenario, iut_of};
use diverge_protocol::scenario::{Iut, Mistake, json_schema, lint as probes};

use super::complain_of;
use crate::codec;
use crate::output;
use crate::report::style;
use crate::suite::{self, SelectError};
use crate::verdict::Exit;

/// Writes the list of what a revision is to score from now on.
pub(crate) fn freeze(revision: Revision) -> Exit {
    match suite::Scored::freeze(revision) {
        Ok(list) => {
            output::print(&list);
            Exit::Conforms
        }
        Err(mistakes) => complain_of(&suite::SelectError::Mistakes(mistakes)),
    }
}

pub(crate) fn lint(files: &[PathBuf], schema: bool) -> Exit {
    if schema {
        output::say(&format!("{:#}", json_schema()));
        return Exit::Conforms;
    }
    let mut exit = Exit::Conforms;
    let mut checked = 0;
    let mut check = |proved: Result<Proved, SelectError>| match proved {
        Err(error) => exit = complain_of(&error),
        Ok(proved) => {
            checked += proved.scenarios;
            if !proved.unsound.is_empty() {
                show(&proved.unsound);
                exit = Exit::Usage;
            }
        }
    };
    if files.is_empty() {
        for iut in Iut::CONVERSING {
            let told = suite::built_in(iut).map_err(SelectError::Mistakes);
            check(told.map(|scenarios| Proved::new(&scenarios, probes::unsound_probes)));
        }
        let codec = codec::built_in().map_err(SelectError::Mistakes);
        check(codec.map(|scenarios| Proved::new(&scenarios, CodecScenario::unsound)));
    }
    for file in files {
        check(prove(file));
    }
    if exit == Exit::Conforms {
        let checked = style::count(checked, "scenario");
        output::say(&format!("well written: {checked}"));
    }
    exit
}

/// Scenarios without mistakes, and those of them that prove nothing.
struct Proved {
    scenarios: usize,
    unsound: Vec<Mistake>,
}

impl Proved {
    fn new<S>(scenarios: &[Arc<S>], unsound: fn(&S) -> Vec<Mistake>) -> Self {
        Self {
            scenarios: scenarios.len(),
            unsound: scenarios
                .iter()
                .flat_map(|scenario| unsound(scenario))
                .collect(),
        }
    }
}

fn prove(file: &Path) -> Result<Proved, SelectError> {
    let source = suite::read(file)?;
    Ok(match iut_of(&source) {
        Some(Iut::Codec) => Proved::new(&codec::from_source(&source)?, CodecScenario::unsound),
        _ => Proved::new(&suite::from_source(&source)?, probes::unsound_probes),
    })
}

/// Prints each mistake with the lines it stands in.
pub(super) fn show(mistakes: &[Mistake]) {
    let renderer =
        if anstream::AutoStream::choice(&std::io::stderr()) == anstream::ColorChoice::Never {
            Renderer::plain()
        } else {
            Renderer::styled()
        };
    let renderer = renderer.decor_style(DecorStyle::Unicode);
    for mistake in mistakes {
        let source = &mistake.at.source;
        let place = &mistake.at.place;
        let kind = mistake.kind.to_string();
        let title = format!("{}: {kind}", mistake.at.display());
        let (line, span) = excerpt(&source.text, &place.bytes);
        let report = [Level::ERROR.primary_title(title).element(
            Snippet::source(line)
                .line_start(place.line)
                .path(source.path.as_str())
                .annotation(AnnotationKind::Primary.span(span)),
        )];
        output::tell(&format!("{}\n", renderer.render(&report)));
    }
}

/// The line in which a place begins, and what of that line belongs to it: it may be the first of a long block.
fn excerpt<'t>(text: &'t str, place: &Range<usize>) -> (&'t str, Range<usize>) {
    let at = place.start.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let from = (at - start).min(line.len());
    let to = place.end.saturating_sub(start).clamp(from, line.len());
    // A place of no length is shown by the character that stands there.
    let one = line[from..].chars().next().map_or(0, char::len_utf8);
    (line, from..to.max(from + one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_the_first_line_of_its_place() {
        let text = "ab: é\n  cd: e\n  f: g\n";
        let of = |place: Range<usize>| excerpt(text, &place);
        assert_eq!(of(4..6), ("ab: é", 4..6));
        assert_eq!(of(9..22), ("  cd: e", 2..7));
        assert_eq!(of(15..15), ("  f: g", 0..1));
        assert_eq!(of(23..40), ("", 0..0));
    }
}
