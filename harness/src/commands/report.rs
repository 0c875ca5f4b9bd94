//! `report`: reports of runs that have been recorded.

use std::path::Path;

use super::complain;
use crate::cli::ReportArgs;
use crate::report::record::{FORMAT, Results, VERSION};
use crate::report::style::say;
use crate::verdict::Exit;

pub(crate) fn report(args: &ReportArgs) -> Exit {
    if args.schema {
        let schema = schemars::schema_for!(Results);
        say(&serde_json::to_string_pretty(&schema).unwrap_or_default());
        return Exit::Conforms;
    }
    match write(args) {
        Ok(()) => Exit::Conforms,
        Err(why) => {
            complain(&why);
            Exit::Usage
        }
    }
}

fn write(args: &ReportArgs) -> Result<(), String> {
    let mut runs = Vec::new();
    for path in &args.results {
        runs.push((path.display().to_string(), read(path)?));
    }
    let stems: Vec<String> = args
        .results
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    let unique: std::collections::HashSet<&String> = stems.iter().collect();
    if unique.len() == runs.len() {
        let names = runs.iter_mut().map(|(name, _)| name);
        names
            .zip(&stems)
            .for_each(|(name, stem)| name.clone_from(stem));
    }
    for target in &args.report {
        let written = match runs.as_slice() {
            [(_, results)] => target.write(results),
            several => target.write_several(several),
        };
        written.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Reads the results of a run, as `run --report json=PATH` writes them.
///
/// # Errors
/// In words, with the place in the file.
pub(super) fn read(path: &Path) -> Result<Results, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("could not read {shown}: {error}"))?;
    let hint = "write them with `run --report json=PATH`";
    let results: Results = serde_json::from_str(&text)
        .map_err(|error| format!("{shown} holds no results of a run: {error}; {hint}"))?;
    if results.format != FORMAT {
        return Err(format!("{shown} holds no results of a run; {hint}"));
    }
    if results.version != VERSION {
        return Err(format!(
            "{shown} is of version {} of the results' form, and this harness reads version {VERSION}",
            results.version
        ));
    }
    Ok(results)
}
