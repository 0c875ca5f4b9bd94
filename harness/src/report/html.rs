//! The HTML report: one static page without outside resources, which needs no script.

mod matrix;
mod svg;

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::record::{BaselineRecord, Counts, Failure, Record, Results, named};
use super::style;
use super::summary::{self, COLUMNS};
use crate::verdict::Verdict;

const STYLE: &str = include_str!("html/report.css");

/// The report of one run.
pub(super) fn of_run(results: &Results) -> String {
    let title = format!("Conformance: {}", results.in_words());
    let body = html! {
        (head(results))
        (incomplete(results))
        (baseline(results))
        (topics(results))
        (broken(results))
        (failures("", "Failures", &summary::wrong(results)))
        (failures("", "Warnings", &summary::of(results, Verdict::Warn)))
        (expected(results))
        (unscored(results))
        (not_applicable(results))
        (readings(results))
        (all(results))
    };
    page(&title, &body)
}

/// The report of several runs, each with the name that tells it apart.
pub(super) fn of_runs(runs: &[(String, Results)]) -> String {
    let body = html! {
        h1 { "Conformance of " (style::count(runs.len(), "run")) }
        (matrix::runs(runs))
        (matrix::matrix(runs))
        @for (name, results) in runs {
            @let wrong = summary::wrong(results);
            @if !wrong.is_empty() {
                (failures(name, &format!("Failures of {name}"), &wrong))
            }
        }
    };
    page("Conformance of several runs", &body)
}

fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}

/// The class that gives something the colour of a verdict.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "good",
        Verdict::Fail | Verdict::Stale | Verdict::Unstable => "bad",
        Verdict::Warn | Verdict::Inconclusive => "odd",
        Verdict::NotApplicable | Verdict::ExpectedFail => "quiet",
    }
}

fn name(verdict: Verdict) -> &'static str {
    let column = COLUMNS.iter().find(|(other, _)| *other == verdict);
    column.map_or(verdict.as_str(), |(_, name)| name)
}

fn chip(verdict: Verdict) -> Markup {
    html! { span class={ "chip " (class(verdict)) } { (name(verdict)) } }
}

fn tone(results: &Results) -> &'static str {
    match results.end.exit {
        Some(0) => "good",
        _ if !results.end.complete => "odd",
        _ => "bad",
    }
}

fn head(results: &Results) -> Markup {
    html! {
        header {
            h1 { "Conformance" }
            p class={ "banner " (tone(results)) } {
                strong { (results.in_words()) }
                span { (summary::counted(results.end.summary)) }
            }
            dl .facts {
                @for part in &results.end.parts {
                    dt { (part.name()) }
                    dd { code { (part.subject) } ", " (style::count(part.scenarios, "scenario")) }
                }
                dt { "started" }
                dd { time datetime=(results.started) { (results.started) } }
                dt { "harness" }
                dd { (results.harness) }
            }
        }
    }
}

fn incomplete(results: &Results) -> Markup {
    let end = &results.end;
    html! {
        @if !end.complete {
            p .notice {
                strong { "Incomplete: " }
                (end.stopped.as_deref().unwrap_or("the run is not over"))
                "; " (style::count(results.missing(), "result")) " missing."
            }
        }
        @for connection in &end.unclaimed {
            p .notice {
                strong { "A connection that no scenario asked for: " }
                (connection)
            }
        }
    }
}

fn baseline(results: &Results) -> Markup {
    let Some(BaselineRecord {
        path,
        findings,
        summary_without,
        ..
    }) = &results.end.baseline
    else {
        return html! {};
    };
    html! {
        section {
            h2 { "Baseline" }
            p { "Without " code { (path) } ": " (summary::counted(*summary_without)) "." }
            @if !findings.is_empty() {
                ul .plain {
                    @for finding in findings {
                        li {
                            span .chip.bad { (finding.trouble) } " "
                            code { (finding.entry) } " "
                            small { (path) ":" (finding.line) }
                            p { (finding.message) }
                        }
                    }
                }
            }
        }
    }
}

fn topics(results: &Results) -> Markup {
    let topics = summary::topics(&results.results);
    let mut all = Counts::default();
    let scored = results.results.iter().filter(|it| it.scored);
    scored.for_each(|it| all.add(it.verdict));
    let columns: Vec<_> = COLUMNS
        .iter()
        .filter(|(verdict, _)| all.get(*verdict) > 0)
        .collect();
    let row = |topic: &str, counts: &Counts| {
        html! {
            tr {
                th scope="row" { (topic) }
                td { (counts.total()) }
                @for (verdict, _) in &columns {
                    @match counts.get(*verdict) {
                        0 => td .none { "·" },
                        number => td class=(class(*verdict)) { (number) },
                    }
                }
            }
        }
    };
    html! {
        @if !topics.is_empty() {
            section {
                h2 { "By topic" }
                div .scroll tabindex="0" role="region" aria-label="Results by topic" {
                    table .numbers {
                        thead {
                            tr {
                                th scope="col" { "topic" }
                                th scope="col" { "scenarios" }
                                @for (_, name) in &columns { th scope="col" { (name) } }
                            }
                        }
                        tbody {
                            @for (topic, counts) in &topics { (row(topic, counts)) }
                        }
                        @if topics.len() > 1 {
                            tfoot { (row("all", &all)) }
                        }
                    }
                }
            }
        }
    }
}

/// The requirements that were broken, the most often broken first.
fn broken(results: &Results) -> Markup {
    let mut broken: BTreeMap<&str, (usize, &Record)> = BTreeMap::new();
    for record in &results.results {
        let counts = matches!(
            record.verdict,
            Verdict::Fail | Verdict::Warn | Verdict::Unstable
        );
        if let Some(blamed) = record.blamed().filter(|_| counts && record.scored) {
            broken.entry(&blamed.id).or_insert((0, record)).0 += 1;
        }
    }
    let mut broken: Vec<_> = broken.into_values().collect();
    broken.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    html! {
        @if broken.len() > 1 {
            section {
                h2 { "Requirements broken" }
                ul .plain {
                    @for (times, record) in &broken {
                        @if let Some(it) = record.blamed() {
                            li {
                                a href={ "#" (anchor("", record)) } { code { (it.id) } }
                                " " (times) "×" " " small { (it.strength) }
                                p { (it.text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a link within the page leads to; of several runs, `run` tells theirs apart.
fn anchor(run: &str, record: &Record) -> String {
    let revision = record.revision.as_deref().unwrap_or_default();
    [run, &record.id, "@", revision].concat()
}

fn failures(run: &str, title: &str, records: &[&Record]) -> Markup {
    let (firsts, likes) = summary::alike(records);
    html! {
        @if !records.is_empty() {
            section {
                h2 { (title) " " small { (records.len()) } }
                @for first in &firsts {
                    @let like: Vec<&Record> = likes
                        .iter()
                        .filter(|(_, other)| std::ptr::eq(*other, *first))
                        .map(|(record, _)| *record)
                        .collect();
                    (failure(run, first, &like))
                }
            }
        }
    }
}

fn failure(run: &str, record: &Record, like: &[&Record]) -> Markup {
    html! {
        article id=(anchor(run, record)) {
            h3 {
                (chip(record.verdict)) " "
                code { (record.id) }
                @if record.iut != "provider" && record.revision.is_some() {
                    " " small { (named(&record.iut, record.revision.as_deref())) }
                }
            }
            p .title {
                (record.title)
                @if record.provisional && record.failure.is_some() {
                    " " span .chip.quiet { "provisional" }
                }
            }
            @match &record.failure {
                Some(failure) => {
                    @if record.verdict == Verdict::Unstable {
                        p { (record.message.as_deref().unwrap_or_default()) }
                    }
                    (divergence(failure))
                },
                None => p { (record.message.as_deref().unwrap_or_default()) },
            }
            p .label { "Play it again" }
            pre .command tabindex="0" { code { (record.replay) } }
            @if !like.is_empty() {
                details {
                    summary { "The same in " (style::count(like.len(), "more scenario")) }
                    ul .plain {
                        @for other in like {
                            li id=(anchor(run, other)) {
                                code { (other.id) }
                                p { (other.title) }
                                pre .command tabindex="0" { code { (other.replay) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn divergence(failure: &Failure) -> Markup {
    html! {
        p .step {
            @match &failure.step {
                Some(step) => { span .label { "Step " } (step) },
                None => "after the last step",
            }
            @if let Some(at) = &failure.at { " " small { (at) } }
        }
        div .versus {
            div .allowed {
                p .label { "Allowed" }
                p { (failure.allowed) }
            }
            div .received {
                p .label { "Received" }
                p { (failure.received) }
                @if let Some(pointer) = &failure.pointer {
                    p { "at " code { (if pointer.is_empty() { "its root" } else { pointer }) } }
                }
                @if let Some(besides) = &failure.besides { p { (besides) } }
            }
        }
        ul .plain.requirements {
            @for (at, broken) in failure.broken.iter().enumerate() {
                li {
                    span .label { (if at == 0 { "Breaks " } else { "and " }) }
                    code { (broken.id) } " " small { (broken.strength) }
                    p { (broken.text) }
                    p { small { (broken.source) } }
                }
            }
        }
        @if let Some(lanes) = &failure.lanes {
            div .lanes tabindex="0" role="region" aria-label="The last messages" { (svg::draw(lanes)) }
        }
    }
}

fn expected(results: &Results) -> Markup {
    let expected = summary::of(results, Verdict::ExpectedFail);
    html! {
        @if !expected.is_empty() {
            section {
                h2 { "Expected to fail " small { (expected.len()) } }
                ul .plain {
                    @for record in expected {
                        @if let Some(why) = &record.expectation {
                            li id=(anchor("", record)) {
                                code { (record.id) }
                                p {
                                    (why.reason)
                                    @if let Some(link) = &why.link { " " (linked(link)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A link where it leads to the web; otherwise its text.
fn linked(link: &str) -> Markup {
    let leads = link.starts_with("https://") || link.starts_with("http://");
    html! {
        @if leads { a href=(link) rel="noreferrer" { (link) } } @else { (link) }
    }
}

fn unscored(results: &Results) -> Markup {
    let unscored = summary::unscored(results);
    html! {
        @if !unscored.is_empty() {
            section {
                h2 { "Not scored in this revision yet " small { (unscored.len()) } }
                details {
                    summary { (style::count(unscored.len(), "scenario")) }
                    @for record in unscored { (failure("", record, &[])) }
                }
            }
        }
    }
}

fn not_applicable(results: &Results) -> Markup {
    let mut reasons: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in summary::of(results, Verdict::NotApplicable) {
        let why = record.message.as_deref().unwrap_or_default();
        reasons.entry(why).or_default().push(record);
    }
    html! {
        @if !reasons.is_empty() {
            section {
                h2 { "Not applicable" }
                @for (reason, records) in &reasons {
                    details {
                        summary { (reason) " " small { (records.len()) } }
                        ul .plain { @for record in records { li { code { (record.id) } } } }
                    }
                }
            }
        }
    }
}

fn readings(results: &Results) -> Markup {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for record in results.results.iter().filter(|it| !it.readings.is_empty()) {
        let mut readings = record.readings.clone();
        readings.dedup();
        let family: Vec<&str> = record.id.split('/').take(3).collect();
        let line = format!("{}: {}", family.join("/"), readings.join("; "));
        *seen.entry(line).or_default() += 1;
    }
    html! {
        @if !seen.is_empty() {
            section {
                h2 { "Seen where the protocol leaves a choice" }
                details {
                    summary { (style::count(seen.len(), "reading")) }
                    ul .plain {
                        @for (line, times) in &seen {
                            li { (line) @if *times > 1 { " " small { (times) "×" } } }
                        }
                    }
                }
            }
        }
    }
}

fn all(results: &Results) -> Markup {
    html! {
        section {
            h2 { "Every result" }
            details {
                summary { (style::count(results.results.len(), "result")) }
                div .scroll tabindex="0" role="region" aria-label="Every result" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "verdict" }
                                th scope="col" { "scenario" }
                                th scope="col" .right { "time" }
                            }
                        }
                        tbody {
                            @for record in &results.results {
                                @let time = std::time::Duration::from_micros(record.duration_us);
                                tr {
                                    td class=(class(record.verdict)) { (name(record.verdict)) }
                                    td { code title=(record.title) { (record.id) } }
                                    td .right { (style::duration(time)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
