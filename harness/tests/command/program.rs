//! The program, called from outside.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_diverge-conformance");

/// What comes of the program with these arguments.
pub fn conformance(arguments: &[&str]) -> Output {
    let output = Command::new(PROGRAM).args(arguments).output();
    output.expect("the binary starts")
}

/// The same, with this on its standard input.
pub fn fed(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it has an input");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A program that ended early is judged by its output.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the input is written");
    output
}

pub fn code(output: &Output) -> i32 {
    output.status.code().expect("the binary exits by itself")
}

/// The lines of a result as JSON Lines.
pub fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}
