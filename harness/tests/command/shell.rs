//! What the program is to a person at a shell: help to learn from, completions, and colours where they are wanted.

use std::process::Command;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(super::program::PROGRAM);
    command
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("CLICOLOR");
    command
}

fn stdout(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn completions_know_each_command_of_the_help() {
    let help = stdout(&mut program(&["help"]));
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|command| *command != "help").collect();
    assert!(
        commands.contains(&"run") && commands.contains(&"init"),
        "{help}"
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = stdout(&mut program(&["completions", shell]));
        for command in &commands {
            assert!(
                completions.contains(command),
                "{command} in those of {shell}"
            );
        }
    }
}

#[test]
fn bash_takes_its_completions() {
    let completions = stdout(&mut program(&["completions", "bash"]));
    let taken = Command::new("bash")
        .args([
            "-c",
            &format!("{completions}\ncomplete -p diverge-conformance"),
        ])
        .output()
        .expect("bash starts");
    assert!(taken.status.success(), "{taken:?}");
}

#[test]
fn the_help_begins_with_what_to_do_and_ends_with_the_exit_codes() {
    let help = stdout(&mut program(&["--help"]));
    for part in [
        "Start with `init`",
        "run provider --launch",
        "Exit codes: 0 conforms",
    ] {
        assert!(help.contains(part), "`{part}` in\n{help}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let explain = ["explain", "run.chunk.verbatim"];
    assert!(!stdout(&mut program(&explain)).contains('\u{1b}'));
    let forced = stdout(program(&explain).env("CLICOLOR_FORCE", "1"));
    assert!(forced.contains('\u{1b}'), "{forced}");
    let refused = stdout(
        program(&explain)
            .env("CLICOLOR_FORCE", "1")
            .env("NO_COLOR", "1"),
    );
    assert!(!refused.contains('\u{1b}'), "{refused}");
}
