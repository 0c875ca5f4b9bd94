//! `explain`: one scenario, requirement or mutant, told to a person.

use diverge_protocol::rules::{Requirement, RequirementId};
use diverge_protocol::scenario::Scenario;
use mock_provider::fault::Fault;
use mock_provider::{faults, hollow, variants};

use super::super::complain;
use super::{Everything, faults_of, titled};
use crate::events;
use crate::events::emitter::{self, Duty, Emitter};
use crate::report::style::{self, QUIET, STRONG, paint, say, wrap};
use crate::report::{conversation, prose};
use crate::verdict::Exit;

/// How alike a name must be to what was asked for to be worth a mention.
const ALIKE: f64 = 0.85;

/// `explain`.
pub(crate) fn explain(id: &str) -> Exit {
    let everything = match Everything::new() {
        Ok(everything) => everything,
        Err(exit) => return exit,
    };
    match explanation(id, &everything) {
        Some(text) => {
            say(text.trim_end());
            Exit::Conforms
        }
        None => {
            let near = near(id, &everything);
            let hint = match near.as_slice() {
                [] => "`diverge-conformance list` names what there is".to_owned(),
                near => format!("is it {}?", near.join(" or ")),
            };
            complain(&format!(
                "no scenario, requirement or mutant is called `{id}`; {hint}"
            ));
            Exit::Usage
        }
    }
}

fn explanation(id: &str, everything: &Everything) -> Option<String> {
    let scenarios = &everything.scenarios;
    if let Some(scenario) = scenarios.iter().find(|scenario| scenario.id == id) {
        return Some(explain_scenario(scenario));
    }
    let family: Vec<_> = scenarios
        .iter()
        .filter(|scenario| scenario.family == id)
        .collect();
    if let [first, ..] = family.as_slice() {
        let ids = ids(family.iter().map(|scenario| scenario.id.as_str()));
        return Some(format!(
            "{}{ids}\n{}",
            entry("cases", id),
            explain_scenario(first)
        ));
    }
    if let Some(requirement) = everything
        .requirements
        .iter()
        .find(|requirement| requirement.id.as_str() == id)
    {
        return Some(explain_requirement(requirement, everything));
    }
    if let Some(fault) = faults::find(id) {
        return Some(explain_fault(fault, everything));
    }
    if let Some(requirement) = events::requirements().find(|it| events::scenario_id(it) == id) {
        let play = format!("diverge-conformance run events --scenario {id}");
        return Some(format!(
            "{}\n{}{}{}",
            head(id, "one result of a stream of agent events"),
            entry("play it", &play),
            titled("tests"),
            sentence(requirement)
        ));
    }
    if let Some(emitter) = emitter::find(id) {
        return Some(explain_emitter(emitter));
    }
    let variant =
        variants::find(id).map(|it| (it.about, "a conforming variant: no scenario may flag it"));
    let hollow = hollow::find(id).map(|it| (it.about, "a hollow peer: it must pass no scenario"));
    let (about, kind) = variant.or(hollow)?;
    Some(format!(
        "{}\n{}\n{}",
        head(id, kind),
        wrap(about, "  "),
        entry("play it", &play(id))
    ))
}

fn explain_scenario(scenario: &Scenario) -> String {
    let mut text = format!(
        "{}\n{}\n\n",
        head(&scenario.id, ""),
        wrap(&scenario.title, "  ")
    );
    text.push_str(&entry("written", &scenario.at.display()));
    if let Some(freedom) = &scenario.freedom {
        text.push_str(&entry("freedom", freedom));
    }
    if scenario.exclusive {
        text.push_str(&entry("exclusive", "it has its proxy address for itself"));
    }
    for fixture in &scenario.needs {
        text.push_str(&entry(
            "needs",
            &format!("[provider.volumes] {} in the configuration", fixture.key()),
        ));
    }
    text.push_str(&entry(
        "play it",
        &format!(
            "diverge-conformance run provider --scenario {}",
            scenario.id
        ),
    ));
    text.push_str(&titled("tests"));
    for requirement in scenario
        .requirements
        .iter()
        .filter_map(|id| id.requirement())
    {
        text.push_str(&sentence(requirement));
    }
    text.push_str(&titled("steps"));
    text.push_str(&prose::steps(&scenario.steps));
    text.push_str(&titled("the conversation"));
    text.push_str(&conversation::draw(&scenario.steps));
    text
}

fn explain_requirement(requirement: &Requirement, everything: &Everything) -> String {
    let id = requirement.id;
    let words = |words: Vec<&str>| words.join(", ");
    let mut text = format!(
        "{}\n{}\n\n",
        head(id.as_str(), &style::strength(requirement)),
        wrap(&requirement.text, "  ")
    );
    text.push_str(&entry("source", &style::source(requirement)));
    text.push_str(&entry(
        "binds",
        &words(requirement.iut.iter().map(|iut| iut.as_str()).collect()),
    ));
    let rows: Vec<String> = requirement.rows.iter().map(u16::to_string).collect();
    if !rows.is_empty() {
        text.push_str(&entry("rows", &rows.join(", ")));
    }
    for (at, reading) in requirement.readings.iter().enumerate() {
        text.push_str(&entry(if at == 0 { "accepted" } else { "or" }, reading));
    }
    if let Some(reason) = &requirement.relabelled {
        text.push_str(&entry("relabelled", reason));
    }
    if let Some(reason) = &requirement.excluded {
        text.push_str(&entry("not tested", reason));
    }
    let testing: Vec<&str> = everything
        .testing(id)
        .map(|scenario| scenario.id.as_str())
        .collect();
    let results: Vec<String> = super::results(id).collect();
    let testing: Vec<&str> = testing
        .into_iter()
        .chain(results.iter().map(String::as_str))
        .collect();
    if !testing.is_empty() {
        text.push_str(&titled("scenarios that test it"));
        text.push_str(&ids(testing.into_iter()));
    }
    let passing = everything.passing_by(id).count();
    if passing > 0 {
        text.push_str(&paint(
            QUIET,
            format!(
                "  checked on the way in {}\n",
                style::count(passing, "other scenario")
            ),
        ));
    }
    let faults = faults_of(id).map(|fault| (fault.name, fault.about));
    let emitters = super::emitters_of(id).map(|emitter| (emitter.name, emitter.about));
    let faults: Vec<(&str, &str)> = faults.chain(emitters).collect();
    if !faults.is_empty() {
        text.push_str(&titled("mutants that break it"));
        let wide = faults
            .iter()
            .map(|(name, _)| name.len())
            .max()
            .unwrap_or_default();
        for (name, about) in faults {
            text.push_str(&format!("  {name:<wide$}  {about}\n"));
        }
    }
    text
}

fn explain_fault(fault: &Fault, everything: &Everything) -> String {
    let mut text = format!(
        "{}\n{}\n\n",
        head(fault.name, "a fault of the provider"),
        wrap(fault.about, "  ")
    );
    text.push_str(&entry("play it", &play(fault.name)));
    let Some(id) = RequirementId::new(fault.requirement) else {
        return text;
    };
    text.push_str(&titled("breaks"));
    text.push_str(&id.requirement().map(sentence).unwrap_or_default());
    let testing: Vec<&str> = everything
        .testing(id)
        .map(|scenario| scenario.id.as_str())
        .collect();
    text.push_str(&titled("scenarios that are to catch it"));
    text.push_str(&if testing.is_empty() {
        "  none\n".to_owned()
    } else {
        ids(testing.into_iter())
    });
    text
}

fn explain_emitter(emitter: &Emitter) -> String {
    let kind = match emitter.duty {
        Duty::Caught(_) => "a fault of the event stream",
        Duty::Green => "a conforming event stream: nothing may flag it",
        Duty::NothingPasses => "a hollow event stream: it must pass nothing",
    };
    let mut text = format!(
        "{}\n{}\n\n",
        head(emitter.name, kind),
        wrap(emitter.about, "  ")
    );
    let play = format!("diverge-conformance run events --mutant {}", emitter.name);
    text.push_str(&entry("play it", &play));
    if let Duty::Caught(id) = emitter.duty
        && let Some(requirement) = RequirementId::new(id).and_then(RequirementId::requirement)
    {
        text.push_str(&titled("breaks"));
        text.push_str(&sentence(requirement));
    }
    text
}

fn play(mutant: &str) -> String {
    format!("diverge-conformance run provider --mutant {mutant}")
}

fn head(id: &str, more: &str) -> String {
    let more = if more.is_empty() {
        String::new()
    } else {
        format!("  {}", paint(QUIET, more))
    };
    format!("{}{more}", paint(STRONG, id))
}

fn entry(name: &str, text: &str) -> String {
    let wrapped = wrap(text, &" ".repeat(14));
    format!(
        "{}{}\n",
        paint(QUIET, format!("  {name:<12}")),
        wrapped.trim_start()
    )
}

fn sentence(requirement: &Requirement) -> String {
    let strength = paint(QUIET, style::strength(requirement));
    format!(
        "  {}  {strength}\n{}\n",
        requirement.id,
        wrap(&requirement.text, "    ")
    )
}

fn ids<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.map(|id| format!("  {id}\n")).collect()
}

/// Names that were perhaps meant.
fn near(id: &str, everything: &Everything) -> Vec<String> {
    let scenarios = everything
        .scenarios
        .iter()
        .flat_map(|scenario| [scenario.id.as_str(), scenario.family.as_str()]);
    let requirements = everything
        .requirements
        .iter()
        .map(|requirement| requirement.id.as_str());
    let mutants = faults::all()
        .map(|it| it.name)
        .chain(variants::all().map(|it| it.name));
    let names = scenarios
        .chain(requirements)
        .chain(mutants)
        .chain(hollow::all().map(|it| it.name));
    let last = |name: &str| {
        name.rsplit(['/', '.'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mut near: Vec<(f64, &str)> = names
        .map(|name| {
            (
                strsim::jaro_winkler(id, name).max(strsim::jaro_winkler(id, &last(name))),
                name,
            )
        })
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    near.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
    near.dedup_by(|(_, one), (_, other)| one == other);
    near.into_iter()
        .take(3)
        .map(|(_, name)| format!("`{name}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Everything {
        Everything::new().unwrap_or_else(|exit| panic!("the built-in files are at fault: {exit:?}"))
    }

    fn plain(id: &str, everything: &Everything) -> Option<String> {
        let text = explanation(id, everything)?;
        Some(anstream::adapter::strip_str(&text).to_string())
    }

    #[test]
    fn every_scenario_is_told_as_prose_and_as_lanes() {
        let everything = everything();
        for scenario in &everything.scenarios {
            let text = plain(&scenario.id, &everything).expect("there is such a scenario");
            let place = scenario.at.display();
            for part in [
                place.as_str(),
                "\nsteps\n",
                "\n   1  ",
                "\nthe conversation\n",
                " client ",
            ] {
                assert!(text.contains(part), "`{part}` in\n{text}");
            }
            let lanes = text
                .split_once("\nthe conversation\n")
                .map_or("", |(_, lanes)| lanes);
            assert!(
                lanes.lines().all(|line| style::width(line) <= style::WIDTH),
                "{text}"
            );
        }
    }

    #[test]
    fn a_family_is_told_by_its_first_case() {
        let everything = everything();
        let cased = everything
            .scenarios
            .iter()
            .find(|scenario| scenario.family != scenario.id);
        let cased = cased.expect("some scenario has cases");
        let text = plain(&cased.family, &everything).expect("there is such a family");
        assert!(text.contains(&format!("  {}\n", cased.id)), "{text}");
    }

    #[test]
    fn every_requirement_and_every_mutant_can_be_explained() {
        let everything = everything();
        let requirements = everything
            .requirements
            .iter()
            .map(|requirement| requirement.id.as_str());
        let mutants = faults::all()
            .map(|it| it.name)
            .chain(variants::all().map(|it| it.name));
        for name in requirements
            .chain(mutants)
            .chain(hollow::all().map(|it| it.name))
        {
            assert!(
                explanation(name, &everything).is_some_and(|text| text.contains(name)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_name_that_was_perhaps_meant_is_offered() {
        let everything = everything();
        assert_eq!(explanation("run.chunk.verbatin", &everything), None);
        assert!(
            near("run.chunk.verbatin", &everything).contains(&"`run.chunk.verbatim`".to_owned())
        );
        assert!(near("chunk-lots", &everything).contains(&"`chunk-lost`".to_owned()));
        assert!(near("zzzzzz", &everything).is_empty());
    }

    #[test]
    fn every_fault_names_a_requirement_that_there_is() {
        for fault in faults::all() {
            assert!(
                RequirementId::new(fault.requirement).is_some(),
                "{}: {}",
                fault.name,
                fault.requirement
            );
        }
    }
}
