//! Reports in files, all from the one stream of results, each whole at every moment of the run.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use diverge_protocol::transcript::Transcript;

use super::json::Json;
use super::junit::Junit;
use super::mask::Mask;
use super::page::Page;
use super::record::{Part, Record, Results};
use super::{Heading, Reporter, html, markdown};
use crate::files;
use crate::runner::{Finished, Progress};
use crate::verdict::Exit;

/// The forms of reports in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// JUnit XML.
    Junit,
    /// The results as JSON.
    Json,
    /// One page to be looked at.
    Html,
    /// A summary for where Markdown is shown.
    Markdown,
}

impl ReportFormat {
    /// Every form, by its name.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Junit, "junit"),
        (Self::Json, "json"),
        (Self::Html, "html"),
        (Self::Markdown, "markdown"),
    ];
}

/// A report that is asked for: `FORMAT=PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportTarget {
    /// Its form.
    pub format: ReportFormat,
    /// Where it is written.
    pub path: PathBuf,
}

/// What does not say which report is to be written where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write it as FORMAT=PATH, with junit, json, html or markdown as the format")]
pub struct NoReport;

impl FromStr for ReportTarget {
    type Err = NoReport;

    fn from_str(text: &str) -> Result<Self, NoReport> {
        let (name, path) = text.split_once('=').ok_or(NoReport)?;
        let format = ReportFormat::ALL
            .iter()
            .find(|(_, other)| *other == name)
            .filter(|_| !path.is_empty());
        let (format, _) = format.ok_or(NoReport)?;
        Ok(Self {
            format: *format,
            path: path.into(),
        })
    }
}

/// A report that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("could not write the report {path}: {error}")]
pub struct ReportError {
    /// The file.
    pub path: String,
    /// Why.
    pub error: io::Error,
}

impl ReportTarget {
    fn begin(&self, results: &Results) -> Result<Box<dyn ReportFile>, ReportError> {
        let path = &self.path;
        let begin = || -> io::Result<Box<dyn ReportFile>> {
            Ok(match self.format {
                ReportFormat::Json => Box::new(Json::create(path, results)?),
                ReportFormat::Junit => Box::new(Junit::create(path, results)?),
                ReportFormat::Html => Box::new(Page::create(path, html::of_run, results)?),
                ReportFormat::Markdown => Box::new(Page::create(path, markdown::of_run, results)?),
            })
        };
        begin().map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> ReportError {
        ReportError {
            path: self.path.display().to_string(),
            error,
        }
    }

    /// Writes the report of a run that has been recorded.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, results: &Results) -> Result<(), ReportError> {
        let mut file = self.begin(results)?;
        let mut write = || {
            for record in &results.results {
                file.add(results, record)?;
            }
            file.finish(results)
        };
        write().map_err(|error| self.failed(error))
    }

    /// Writes the report of several runs side by side, each with the name that tells it apart. There is one as HTML
    /// and one as Markdown.
    ///
    /// # Errors
    /// When the form is another, or the file cannot be written.
    pub fn write_several(&self, runs: &[(String, Results)]) -> Result<(), ReportError> {
        let text = match self.format {
            ReportFormat::Html => html::of_runs(runs),
            ReportFormat::Markdown => markdown::of_runs(runs),
            ReportFormat::Json | ReportFormat::Junit => {
                let why = "several runs are shown side by side as html or markdown only";
                return Err(self.failed(io::Error::other(why)));
            }
        };
        files::replace(&self.path, text.as_bytes()).map_err(|error| self.failed(error))
    }
}

/// A report in the making.
pub(super) trait ReportFile: fmt::Debug + Send {
    /// `record` is the newest of `results`.
    fn add(&mut self, results: &Results, record: &Record) -> io::Result<()>;
    /// Nothing more comes.
    fn finish(&mut self, results: &Results) -> io::Result<()>;
}

/// Writes reports in files.
#[derive(Debug)]
pub struct Files {
    results: Results,
    heading: Option<Heading>,
    mask: Mask,
    exit: Exit,
    files: Vec<(PathBuf, Box<dyn ReportFile>)>,
    failed: Vec<ReportError>,
}

impl Files {
    /// Begins the reports; `strict` says whether warnings fail the run.
    ///
    /// # Errors
    /// The first file that cannot be written.
    pub fn create(targets: &[ReportTarget], strict: bool) -> Result<Self, ReportError> {
        let results = Results::start(strict);
        let mut files = Vec::new();
        for target in targets {
            files.push((target.path.clone(), target.begin(&results)?));
        }
        Ok(Self {
            results,
            heading: None,
            mask: Mask::default(),
            exit: Exit::Conforms,
            files,
            failed: Vec::new(),
        })
    }

    /// The reports that could not be written to their ends.
    #[must_use]
    pub fn failed(&self) -> &[ReportError] {
        &self.failed
    }

    /// Does something with each file; one that fails is left.
    fn each(&mut self, mut act: impl FnMut(&mut dyn ReportFile, &Results) -> io::Result<()>) {
        let (results, failed) = (&self.results, &mut self.failed);
        self.files
            .retain_mut(|(path, file)| match act(file.as_mut(), results) {
                Ok(()) => true,
                Err(error) => {
                    let path = path.display().to_string();
                    failed.push(ReportError { path, error });
                    false
                }
            });
    }
}

impl Reporter for Files {
    fn begin(&mut self, heading: &Heading) {
        self.mask = Mask::of(&Transcript::default(), &heading.secrets);
        self.results.end.parts.push(Part::of(heading, &self.mask));
        self.heading = Some(heading.clone());
    }

    fn progress(&mut self, progress: &Progress) {
        let (Progress::Done(outcome), Some(heading)) = (progress, &self.heading) else {
            return;
        };
        if self.files.is_empty() {
            return;
        }
        let record = Arc::new(Record::of(outcome, heading, &self.mask));
        if record.scored {
            self.results.end.summary.add(record.verdict);
        }
        self.results.results.push(Arc::clone(&record));
        self.each(|file, results| file.add(results, &record));
    }

    fn end(&mut self, finished: &Finished) {
        self.exit = self.exit.worst(finished.exit());
        self.results.end.part(finished, &self.mask);
    }

    fn finish(&mut self, whole: &Finished) {
        let exit = self.exit.worst(whole.baseline_exit());
        self.results.end.whole(whole, exit.code());
        self.each(|file, results| file.finish(results));
    }

    fn abandon(&mut self, exit: Exit, why: &str) {
        self.results.end.exit = Some(exit.code());
        self.results.end.stopped = Some(super::style::printable(&self.mask.text(why)));
        self.each(|file, results| file.finish(results));
    }
}
