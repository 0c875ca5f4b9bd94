//! `run codec` from outside: codecs in this tree and programs that are launched.

use serde_json::Value;

use super::program::{PROGRAM, code, conformance, lines};

fn run(arguments: &[&str]) -> (i32, Vec<Value>) {
    let output = conformance(&[&["run", "codec", "--format", "jsonl"], arguments].concat());
    (code(&output), lines(&output))
}

/// A command that puts what our codec writes through a script of `sed`.
fn through(script: &str) -> String {
    format!("sh -c '\"{PROGRAM}\" codec | sed \"{script}\"'")
}

fn failed(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|it| it["verdict"] == "fail").collect()
}

fn says(result: &Value, part: &str) -> bool {
    result["message"]
        .as_str()
        .is_some_and(|it| it.contains(part))
}

#[test]
fn the_reference_conforms_in_this_tree_and_launched() {
    let launched = format!("{PROGRAM} codec");
    for arguments in [&[][..], &["--launch", &launched]] {
        let (code, lines) = run(arguments);
        assert_eq!(code, 0, "{:?}", lines.last());
        let (summary, results) = lines.split_last().expect("a summary");
        assert_eq!(summary["pass"], results.len());
        assert!(results.len() > 300, "{}", results.len());
    }
}

#[test]
fn a_program_that_misjudges_five_payloads_is_told_which_and_why() {
    // Lines that no other scenario shares, by what is asked.
    let wrong = [
        (
            "codec/refusals/unknown-member/held",
            "codec.refusal.unknown-member",
            "member.unknown",
        ),
        (
            "codec/json/byte-order-mark/values",
            "codec.json.byte-order-mark",
            "json.encoding",
        ),
        (
            "codec/types/unsigned/with-a-point",
            "codec.type.unsigned",
            "unsigned.expected at /total_tokens",
        ),
        (
            "codec/objects/as-array/turn",
            "codec.object.not-array",
            "object.expected at /transcript/0",
        ),
        (
            "codec/frames/finish-with-payload/channel-json",
            "codec.frame.finish-empty",
            "frame.finish-with-payload",
        ),
    ];
    let lies: Vec<String> = wrong.iter().map(|(id, ..)| broken_line(id)).collect();
    let program = format!(
        "tee \"$0.asked\" | \"{PROGRAM}\" codec > \"$0.said\"\n\
         paste -d \"|\" \"$0.asked\" \"$0.said\" | while IFS='|' read -r asked said; do\n\
         case \"$asked\" in {}) echo accept chunk;; *) echo \"$said\";; esac\n\
         done\n",
        lies.iter()
            .map(|line| format!("\"{line}\""))
            .collect::<Vec<_>>()
            .join("|")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("codec.sh");
    std::fs::write(&script, program).expect("it is written");
    let (code, lines) = run(&["--launch", &format!("sh {}", script.display())]);
    assert_eq!(code, 1, "{:?}", lines.last());
    let failed = failed(&lines);
    assert_eq!(failed.len(), wrong.len(), "{failed:#?}");
    for ((id, requirement, why), line) in wrong.iter().zip(&lies) {
        let result = failed.iter().find(|it| it["id"] == *id).expect(id);
        assert_eq!(result["failed_requirement"], *requirement);
        for part in ["expected `reject`, for ", why, "got `accept chunk`", line] {
            assert!(says(result, part), "{part} in {result}");
        }
    }
}

/// The line that asks about a scenario's broken payload.
fn broken_line(id: &str) -> String {
    let text = String::from_utf8(conformance(&["explain", id]).stdout).expect("UTF-8");
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains("must be rejected"));
    lines
        .nth(1)
        .expect("the line stands below")
        .trim()
        .to_owned()
}

#[test]
fn a_line_that_is_no_answer_is_named() {
    let (code, lines) = run(&["--launch", &through("s/^reject$/malformed/")]);
    assert_eq!(code, 1);
    let failed = failed(&lines);
    assert_eq!(failed.len(), lines.len() - 1);
    assert!(
        failed
            .iter()
            .all(|it| it["failed_requirement"] == "codec.answers.line")
    );
    assert!(
        failed
            .iter()
            .all(|it| says(it, "`malformed`, which is no answer"))
    );
}

#[test]
fn another_kind_is_named() {
    let (code, lines) = run(&["--launch", &through("s/^accept usage$/accept tokens/")]);
    assert_eq!(code, 1);
    let failed = failed(&lines);
    assert!(!failed.is_empty());
    for result in failed {
        assert_eq!(
            result["failed_requirement"], "codec.answers.kind",
            "{result}"
        );
        assert!(
            says(result, "expected `accept usage`; got `accept tokens`"),
            "{result}"
        );
    }
}

#[test]
fn a_count_that_does_not_fit_makes_all_answers_worthless() {
    for (script, told) in [
        ("\\$d", "answers to"),
        ("1d", "answer 1 is the first that does not fit"),
        ("3s/.*/&\\n&/", "is the first that does not fit"),
    ] {
        let (code, lines) = run(&["--launch", &through(script)]);
        assert_eq!(
            (code, lines.last().map(|it| it["pass"].clone())),
            (1, Some(0.into())),
            "{script}"
        );
        assert!(
            lines
                .iter()
                .any(|it| says(it, "so that nobody knows which answers what")),
            "{script}"
        );
        assert!(
            lines.iter().any(|it| says(it, told)),
            "{script}: {:?}",
            lines.first()
        );
    }
}

#[test]
fn a_program_that_dies_of_one_payload_fails_by_that_alone() {
    let dying = format!("{PROGRAM} codec codec-dies-of-deep-ones");
    let (code, lines) = run(&["--launch", &dying]);
    assert_eq!(code, 1);
    let failed = failed(&lines);
    assert!(!failed.is_empty() && failed.len() < 12, "{failed:#?}");
    for result in failed {
        assert!(
            says(
                result,
                "the process ended (exit status: 1) after writing: error: this form dies"
            ),
            "{result}"
        );
        assert!(says(result, "5b5b5b"), "{result}");
    }
}

#[test]
fn a_program_that_hangs_is_ended_and_told() {
    let (code, lines) = run(&["--launch", "sleep 600", "--patience", "200"]);
    assert_eq!(
        (code, lines.last().map(|it| it["pass"].clone())),
        (1, Some(0.into()))
    );
    assert!(
        lines.iter().any(|it| says(it, "no answer within 200 ms")),
        "{:?}",
        lines.first()
    );
}

#[test]
fn a_program_that_knows_nothing_passes_nothing() {
    for command in [
        "true",
        "cat",
        "yes reject",
        "sed s/.*/reject/",
        "sed 's/.*/accept chunk/'",
        "head -n 3",
    ] {
        let (code, lines) = run(&["--launch", command, "--patience", "500"]);
        assert_eq!(
            (code, lines.last().map(|it| it["pass"].clone())),
            (1, Some(0.into())),
            "{command}"
        );
    }
}

#[test]
fn a_program_that_cannot_be_started_exits_4() {
    for command in ["/nonexistent/codec", "false", "sh -c 'exit 3'"] {
        assert_eq!(run(&["--launch", command]).0, 4, "{command}");
    }
}

#[test]
fn scenarios_are_selected_by_glob_and_read_from_a_file() {
    let (exit, lines) = run(&["--scenario", "codec/refusals/as-array"]);
    assert_eq!((exit, lines.len()), (0, 6));
    assert_eq!(run(&["--scenario", "codec/no/such"]).0, 2);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.yaml");
    let text = "iut: codec\nscenarios:\n  - id: codec/mine/one\n    title: Mine\n    requirement: codec.object.required\n    \
        frame: run-response\n    kind: id\n    payload: '0 {\"id\":\"c\"}'\n    broken: drop /id\n    rule: member.missing\n";
    std::fs::write(&file, text).expect("it is written");
    let path = file.display().to_string();
    let (exit, lines) = run(&["--scenario", &path]);
    assert_eq!((exit, lines.len()), (0, 2), "{lines:?}");
    assert_eq!(lines[0]["id"], "codec/mine/one");
    let lint = |path: &str| conformance(&["lint", path]);
    assert_eq!(code(&lint(&path)), 0);
    std::fs::write(&file, text.replace("drop /id", "set /id 1")).expect("it is written");
    let linted = lint(&path);
    assert_eq!(code(&linted), 2);
    let told = String::from_utf8_lossy(&linted.stderr).into_owned();
    assert!(
        told.contains("mine.yaml:3:5") && told.contains("breaks string.expected"),
        "{told}"
    );
}

#[test]
fn generated_cases_follow_from_their_seed_and_the_reference_is_right_about_all() {
    let arguments = ["--cases", "400", "--seed", "5"];
    let (code, lines) = run(&arguments);
    assert_eq!(code, 0, "{:?}", lines.last());
    let ids = |lines: &[Value]| -> Vec<String> {
        let ids = lines.iter().filter_map(|it| it["id"].as_str());
        let ids = ids.filter(|id| id.starts_with("codec/generated/"));
        ids.map(str::to_owned).collect()
    };
    let generated = ids(&lines);
    assert!(generated.len() > 40, "{generated:?}");
    assert!(lines.len() > generated.len() + 800);
    assert_eq!(ids(&run(&arguments).1), generated);
    let (_, alone) = run(&[&arguments[..], &["--scenario", "codec/generated/*/*"]].concat());
    assert_eq!(
        (ids(&alone), alone.len()),
        (generated.clone(), generated.len() + 1)
    );
    assert_ne!(ids(&run(&["--cases", "400", "--seed", "6"]).1), generated);
}

#[test]
fn a_generated_payload_that_is_misjudged_is_told_by_its_smallest_form() {
    let (code, lines) = run(&[
        "--launch",
        &format!("{PROGRAM} codec codec-trailing"),
        "--cases",
        "500",
        "--scenario",
        "codec/generated/path-run-request/*",
    ]);
    assert_eq!(code, 1);
    let failed = failed(&lines);
    assert_eq!(failed.len(), 1, "{lines:#?}");
    assert_eq!(
        failed[0]["id"],
        "codec/generated/path-run-request/json-trailing"
    );
    assert_eq!(failed[0]["failed_requirement"], "codec.json.trailing");
    for part in [
        "expected `reject`, for json.trailing",
        "such cases are misjudged",
        "{frame: path-run-request, kind: request, payload: '{\"prompt\":\"\"}', broken: 'append",
    ] {
        assert!(says(failed[0], part), "{part} in {}", failed[0]);
    }
}

#[test]
fn a_program_that_knows_nothing_passes_nothing_that_is_generated() {
    for command in ["sed s/.*/reject/", "sed 's/.*/accept usage/'", "cat"] {
        let (code, lines) = run(&["--launch", command, "--cases", "300"]);
        assert_eq!(code, 1);
        assert_eq!(
            lines.last().map(|it| it["pass"].clone()),
            Some(0.into()),
            "{command}"
        );
    }
}

#[test]
fn cases_belong_to_codecs() {
    for arguments in [
        &["run", "--cases", "3"][..],
        &["run", "events", "--cases", "3"],
        &["run", "codec", "--seed", "3"],
    ] {
        assert_eq!(code(&conformance(arguments)), 2, "{arguments:?}");
    }
}
