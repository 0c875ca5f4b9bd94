//! Several runs side by side.

use maud::{Markup, html};

use super::{chip, class, name, tone};
use crate::report::record::Results;
use crate::report::summary::{self, Matrix};
use crate::verdict::Verdict;

/// What each run came to.
pub(super) fn runs(runs: &[(String, Results)]) -> Markup {
    html! {
        section {
            h2 { "Runs" }
            div .scroll tabindex="0" role="region" aria-label="Runs" {
                table {
                    thead {
                        tr {
                            th scope="col" { "run" }
                            th scope="col" { "came to" }
                            th scope="col" { "results" }
                            th scope="col" { "started" }
                        }
                    }
                    tbody {
                        @for (run, results) in runs {
                            tr {
                                th scope="row" { (run) }
                                td class=(tone(results)) { (results.in_words()) }
                                td { (summary::counted(results.end.summary)) }
                                td { (results.started) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Scenarios by runs; those on which the runs differ stand first.
pub(super) fn matrix(runs: &[(String, Results)]) -> Markup {
    let Matrix {
        columns,
        differ,
        same,
    } = Matrix::of(runs);
    html! {
        section {
            h2 { "Where they differ " small { (differ.len()) } }
            @if differ.is_empty() {
                p { "They came to the same everywhere." }
            } @else {
                (table(&columns, &differ, "Where they differ"))
            }
        }
        @if !same.is_empty() {
            section {
                h2 { "Where they are the same " small { (same.len()) } }
                details {
                    summary { "Every scenario" }
                    (table(&columns, &same, "Where they are the same"))
                }
            }
        }
    }
}

fn table(columns: &[String], rows: &[(&str, Vec<Option<Verdict>>)], about: &str) -> Markup {
    html! {
        div .scroll tabindex="0" role="region" aria-label=(about) {
            table .matrix {
                thead {
                    tr {
                        th scope="col" { "scenario" }
                        @for column in columns { th scope="col" { (column) } }
                    }
                }
                tbody {
                    @for (id, verdicts) in rows {
                        tr {
                            th scope="row" { code { (id) } }
                            @for verdict in verdicts {
                                @match verdict {
                                    Some(Verdict::Pass) => td class=(class(Verdict::Pass)) { (name(Verdict::Pass)) },
                                    Some(verdict) => td { (chip(*verdict)) },
                                    None => td .none { "·" },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
