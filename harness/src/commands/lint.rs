//! `lint`: mistakes in scenario files, each at its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::codec::{CodecScenario, iut_of};
use diverge_protocol::scenario::{Iut, Mistake, json_schema, lint as probes};

use super::complain_of;
use crate::codec;
use crate::report::style;
use crate::suite::{self, SelectError};
use crate::verdict::Exit;

/// Writes the list of what a revision is to score from now on.
pub(crate) fn freeze(revision: Revision) -> Exit {
    match suite::Scored::freeze(revision) {
        Ok(list) => {
            anstream::print!("{list}");
            Exit::Conforms
        }
        Err(mistakes) => complain_of(&suite::SelectError::Mistakes(mistakes)),
    }
}

pub(crate) fn lint(files: &[PathBuf], schema: bool) -> Exit {
    if schema {
        anstream::println!("{:#}", json_schema());
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
        anstream::println!("well written: {}", style::count(checked, "scenario"));
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
    Ok(match iut_of(suite::read(file)?.as_ref()) {
        Some(Iut::Codec) => Proved::new(&codec::from_file(file)?, CodecScenario::unsound),
        _ => Proved::new(&suite::from_file(file)?, probes::unsound_probes),
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
        // The excerpt points at the first line of what may be a long block.
        let rest = &source.text
            [place.bytes.start.min(source.text.len())..place.bytes.end.min(source.text.len())];
        let end = place.bytes.start + rest.lines().next().map_or(0, str::len).max(1);
        let end = end
            .min(source.text.len())
            .max(place.bytes.start.min(source.text.len()));
        let kind = mistake.kind.to_string();
        let title = format!("{}: {kind}", mistake.at.display());
        let report = [Level::ERROR.primary_title(title).element(
            Snippet::source(source.text.as_str())
                .path(source.path.as_str())
                .annotation(AnnotationKind::Primary.span(place.bytes.start.min(end)..end)),
        )];
        anstream::eprintln!("{}\n", renderer.render(&report));
    }
}
