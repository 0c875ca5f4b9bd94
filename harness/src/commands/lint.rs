//! `lint`: mistakes in scenario files, each at its place.

use std::path::PathBuf;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::{Iut, Mistake, Scenario, json_schema, lint as probes};

use super::complain_of;
use crate::suite;
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
    let mut check =
        |scenarios: Result<Vec<std::sync::Arc<Scenario>>, suite::SelectError>| match scenarios {
            Err(error) => exit = complain_of(&error),
            Ok(scenarios) => {
                checked += scenarios.len();
                let unsound: Vec<Mistake> = scenarios
                    .iter()
                    .flat_map(|scenario| probes::unsound_probes(scenario))
                    .collect();
                if !unsound.is_empty() {
                    show(&unsound);
                    exit = Exit::Usage;
                }
            }
        };
    if files.is_empty() {
        for iut in [Iut::Provider, Iut::Proxy, Iut::AgentServer, Iut::Client] {
            check(suite::built_in(iut).map_err(suite::SelectError::Mistakes));
        }
    }
    for file in files {
        check(suite::from_file(file));
    }
    if exit == Exit::Conforms {
        anstream::println!("{checked} scenarios are well written");
    }
    exit
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
