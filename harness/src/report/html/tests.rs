use super::*;
use crate::report::testing;

#[test]
fn a_failure_is_shown_with_all_that_its_reader_needs() {
    let page = of_run(&testing::results());
    for part in [
        "<!DOCTYPE html>",
        "does not conform",
        "id=\"provider/streams/one-loop@\"",
        "the chunk that the proxy sent",
        "a chunk with &quot;‹secret, 7 bytes›&quot;",
        "run.chunk.verbatim",
        "<g class=\"row bad\">",
        "--scenario provider/streams/one-loop",
        "@media (prefers-color-scheme: dark)",
    ] {
        assert!(page.contains(part), "`{part}` in\n{page}");
    }
}

#[test]
fn every_element_of_a_drawing_is_closed() {
    let page = of_run(&testing::results());
    for element in ["line", "path", "rect", "text", "g", "svg"] {
        let opened = page.matches(&format!("<{element} ")).count();
        assert!(opened > 0, "{element}");
        assert_eq!(
            page.matches(&format!("</{element}>")).count(),
            opened,
            "{element}"
        );
    }
}

#[test]
fn nothing_comes_from_outside_and_nothing_runs() {
    let page = of_run(&testing::results());
    for sign in ["<script", "src=", "@import", "url(", "<link", "onclick"] {
        assert!(!page.contains(sign), "{sign}");
    }
    let addresses = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("://"), "it points somewhere");
}

#[test]
fn whatever_an_implementation_sends_is_text() {
    let mut results = testing::results();
    let mut record = (*results.results[1]).clone();
    let evil = "</pre><script>alert(1)</script>";
    record.title = evil.to_owned();
    let failure = record.failure.as_mut().expect("it has one");
    failure.received = evil.to_owned();
    if let Some(lanes) = &mut failure.lanes {
        lanes.rows.push(crate::report::lanes::Row::Note {
            note: evil.to_owned(),
            marked: true,
        });
    }
    results.results[1] = std::sync::Arc::new(record);
    let page = of_run(&results);
    assert!(!page.contains("<script"), "{page}");
    assert_eq!(page.matches("&lt;script&gt;").count(), 5);
}

#[test]
fn of_failures_that_are_alike_one_is_shown_and_the_others_are_named() {
    let mut results = testing::results();
    let mut other = (*results.results[1]).clone();
    other.id = "provider/streams/another".to_owned();
    results.results.push(std::sync::Arc::new(other));
    let page = of_run(&results);
    assert_eq!(page.matches("<article").count(), 1);
    assert!(page.contains("The same in 1 more scenario"), "{page}");
}

#[test]
fn what_is_not_scored_yet_is_shown_apart() {
    let mut results = testing::results();
    let mut record = (*results.results[1]).clone();
    record.scored = false;
    results.results[1] = std::sync::Arc::new(record);
    let page = of_run(&results);
    assert!(!page.contains("<h2>Failures"), "{page}");
    assert!(page.contains("Not scored in this revision yet"), "{page}");
}

#[test]
fn several_runs_stand_side_by_side_and_differences_come_first() {
    let old = testing::results();
    let mut new = old.clone();
    let mut mended = (*new.results[1]).clone();
    (mended.verdict, mended.failure) = (Verdict::Pass, None);
    new.results[1] = std::sync::Arc::new(mended);
    let page = of_runs(&[("old".to_owned(), old), ("new".to_owned(), new)]);
    let (differ, same) = page
        .split_once("Where they are the same")
        .expect("both are there");
    assert!(differ.contains("provider/streams/one-loop"), "{page}");
    assert!(same.contains("provider/streams/passes"), "{page}");
    assert!(
        differ.contains(">old<") && differ.contains(">new<"),
        "{page}"
    );
}
