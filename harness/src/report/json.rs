//! The JSON report: the results as they are.

use std::io;
use std::path::Path;

use super::files::ReportFile;
use super::grow::Growing;
use super::record::{End, Record, Results};

/// One result a line, so that what differs between two files is seen line by line too.
#[derive(Debug)]
pub(super) struct Json {
    file: Growing,
    is_empty: bool,
}

impl Json {
    pub(super) fn create(path: &Path, results: &Results) -> io::Result<Self> {
        let start = |name: &str, value: &str| {
            let value = serde_json::to_string(value)?;
            Ok::<_, serde_json::Error>(format!("\"{name}\":{value},\n"))
        };
        let head = [
            "{".to_owned(),
            start("format", &results.format)?,
            format!("\"version\":{},\n", results.version),
            start("harness", &results.harness)?,
            start("started", &results.started)?,
            "\"results\":[".to_owned(),
        ]
        .concat();
        Ok(Self {
            file: Growing::create(path, &head, &tail(&results.end)?)?,
            is_empty: true,
        })
    }
}

/// What follows the results: the members of the end.
fn tail(end: &End) -> io::Result<String> {
    let members = serde_json::to_string(end)?;
    Ok(format!("\n],\n{}\n", members.trim_start_matches('{')))
}

impl ReportFile for Json {
    fn add(&mut self, results: &Results, record: &Record) -> io::Result<()> {
        let comma = if self.is_empty { "" } else { "," };
        self.is_empty = false;
        let item = format!("{comma}\n{}", serde_json::to_string(record)?);
        self.file.add(&item, &tail(&results.end)?)
    }

    fn finish(&mut self, results: &Results) -> io::Result<()> {
        self.file.finish(&tail(&results.end)?)
    }
}
