//! `explain`: one scenario, requirement or mutant, told to a person.

use diverge_protocol::rules::{Requirement, RequirementId};

use super::super::complain;
use super::{Everything, titled};
use crate::kinds::{Entry, Kind};
use crate::mutants::{Duty, Mutant};
use crate::report::style::{self, QUIET, STRONG, paint, say, wrap};
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
    if let Some((kind, scenario)) = everything.entries.iter().find(|(_, it)| it.id == id) {
        return Some(explain_scenario(*kind, scenario));
    }
    let family: Vec<_> = everything
        .entries
        .iter()
        .filter(|(_, entry)| entry.family == id)
        .collect();
    if let [(kind, first), ..] = family.as_slice() {
        let ids = ids(family.iter().map(|(_, entry)| entry.id.as_str()));
        return Some(format!(
            "{}{ids}\n{}",
            entry("cases", id),
            explain_scenario(*kind, first)
        ));
    }
    let mut requirements = everything.requirements.iter();
    if let Some(requirement) = requirements.find(|it| it.id.as_str() == id) {
        return Some(explain_requirement(requirement, everything));
    }
    let mut mutants = everything.mutants.iter();
    Some(explain_mutant(
        mutants.find(|it| it.name == id)?,
        everything,
    ))
}

fn explain_scenario(kind: &dyn Kind, scenario: &Entry) -> String {
    let mut text = format!(
        "{}\n{}\n\n",
        head(&scenario.id, ""),
        wrap(&scenario.title, "  ")
    );
    if let Some(freedom) = &scenario.freedom {
        text.push_str(&entry("freedom", freedom));
    }
    let play = format!(
        "diverge-conformance run {} --scenario {}",
        kind.iut().as_str(),
        scenario.id
    );
    text.push_str(&entry("play it", &play));
    text.push_str(&titled("tests"));
    for requirement in scenario
        .requirements
        .iter()
        .filter_map(|id| id.requirement())
    {
        text.push_str(&sentence(requirement));
    }
    text.push_str(&kind.tell(&scenario.id).unwrap_or_default());
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
    let faults = everything.faults_of(id);
    let faults: Vec<(&str, &str)> = faults.map(|fault| (fault.name, fault.about)).collect();
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

fn explain_mutant(mutant: &Mutant, everything: &Everything) -> String {
    let iut = mutant.iut.as_str();
    let duty = match mutant.duty {
        Duty::Caught(_) => format!("a fault of the reference ({iut})"),
        Duty::Green => format!("a conforming variant ({iut}): no scenario may flag it"),
        Duty::NothingPasses => format!("a hollow form ({iut}): it must pass no scenario"),
    };
    let mut text = format!(
        "{}\n{}\n\n",
        head(mutant.name, &duty),
        wrap(mutant.about, "  ")
    );
    let play = format!("diverge-conformance run {iut} --mutant {}", mutant.name);
    text.push_str(&entry("play it", &play));
    let Duty::Caught(requirement) = mutant.duty else {
        return text;
    };
    let Some(id) = RequirementId::new(requirement) else {
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
        .entries()
        .flat_map(|entry| [entry.id.as_str(), entry.family.as_str()]);
    let requirements = everything
        .requirements
        .iter()
        .map(|requirement| requirement.id.as_str());
    let mutants = everything.mutants.iter().map(|mutant| mutant.name);
    let names = scenarios.chain(requirements).chain(mutants);
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
    use diverge_protocol::scenario::Iut;

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
        let scenarios = crate::suite::built_in(Iut::Provider).expect("the files are good");
        for scenario in &scenarios {
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
            .entries()
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
        let mutants = everything.mutants.iter().map(|mutant| mutant.name);
        for name in requirements.chain(mutants) {
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
        for mutant in everything().mutants {
            if let Duty::Caught(requirement) = mutant.duty {
                assert!(
                    RequirementId::new(requirement).is_some(),
                    "{}: {requirement}",
                    mutant.name
                );
            }
        }
    }
}
