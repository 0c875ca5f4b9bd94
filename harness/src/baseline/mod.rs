//! Baselines: failures that are known and expected, so that only what is new turns a run red.
//!
//! A baseline is a TOML file. Each of its entries names a scenario, a requirement or both, and says why:
//!
//! ```toml
//! [[expected]]
//! scenario = "provider/streams/word-by-word"  # this scenario fails
//! requirement = "run.chunk.verbatim"          # and this requirement is to blame
//! reason = "Numbers are written anew."        # required
//! link = "https://example.org/issues/12"      # optional, as is all that follows
//! message = "3 bytes more"                    # a part of the message
//! expires = 2027-01-31                        # the last day on which it is expected
//! ```
//!
//! A failure that an entry expects is counted as expected and does not fail the run. An entry whose scenario passes,
//! one that fits nothing in a run that could have fitted it, and one past its date are told, and turn the run red. An
//! entry that a run did not select anything for is left alone.

mod bless;
mod file;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use diverge_protocol::rules::{Catalogue, RequirementId, Revision};
use diverge_protocol::scenario::Iut;
use jiff::civil::Date;

use self::bless::Fresh;
pub use self::file::{Entry, FileError, FileFault};
use crate::files;
use crate::report::{Heading, Mask};
use crate::verdict::{Expectation, Outcome, Verdict};

/// Why a baseline could not be had or written.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file cannot be read.
    #[error("could not read the baseline {path}: {error}{}", hint(.error))]
    Unreadable {
        /// As given.
        path: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The file is at fault.
    #[error("{path}:{error}")]
    File {
        /// As given.
        path: String,
        /// What is wrong, and where.
        error: FileError,
    },
    /// The file cannot be written.
    #[error("could not write the baseline {path}: {why}")]
    Unwritable {
        /// As given.
        path: String,
        /// Why.
        why: String,
    },
}

fn hint(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::NotFound {
        "; --bless writes one"
    } else {
        ""
    }
}

/// What became of an entry so far; what counts more is greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Its scenario has no result yet, and its requirement was not broken.
    Open,
    /// Its scenario was not applicable, for this reason.
    NotApplicable(String),
    /// Its scenario failed otherwise than it says.
    Otherwise,
    /// Its scenario passed.
    Passed,
    /// A failure was as it says.
    Met,
}

/// A baseline, and what became of its entries.
#[derive(Debug)]
pub struct Baseline {
    path: PathBuf,
    text: String,
    entries: Vec<(Entry, Fate)>,
    today: Date,
    blessing: Option<Blessing>,
}

/// What `--bless` takes in.
#[derive(Debug)]
struct Blessing {
    reason: String,
    /// Whether warnings fail the run, and so are taken in too.
    strict: bool,
    fresh: Vec<Fresh>,
}

/// What a run was to play, by which entries are told that could have been met.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// The kinds of implementations.
    pub iuts: &'a [Iut],
    /// The ids of the scenarios.
    pub ids: &'a HashSet<String>,
    /// Whether that is every scenario of those kinds.
    pub whole: bool,
    /// Whether each of them has its result.
    pub ended: bool,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// What it expects to fail passes.
    Stale,
    /// It fits nothing.
    Unmatched,
    /// It is past its date.
    Expired,
}

impl Trouble {
    /// Its name in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Unmatched => "unmatched",
            Self::Expired => "expired",
        }
    }
}

/// An entry that turns the run red.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its line in the file.
    pub line: usize,
    /// What it names.
    pub entry: String,
    /// What is wrong.
    pub trouble: Trouble,
    /// The same in words, with what to do about it.
    pub message: String,
}

/// What a baseline came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reckoning {
    /// The file.
    pub path: String,
    /// The entries that turn the run red, in their order.
    pub findings: Vec<Finding>,
    /// How many entries have a reason that nobody has written yet.
    pub unsaid: usize,
    /// What `--bless` did.
    pub blessed: Option<Blessed>,
}

/// What `--bless` did to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blessed {
    /// How many entries are new.
    pub added: usize,
    /// How many are gone.
    pub removed: usize,
    /// How many are as they were.
    pub kept: usize,
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// When it cannot be read, or the first thing wrong with it.
    pub fn load(path: &Path) -> Result<Self, BaselineError> {
        let shown = path.display().to_string();
        let text =
            files::read(path).map_err(|error| BaselineError::Unreadable { path: shown, error })?;
        Self::of(path, text)
    }

    /// Reads a baseline that takes in every failure of the run, with `reason` for those that are new; a file that is
    /// not there is an empty one.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_to_bless(
        path: &Path,
        reason: Option<&str>,
        strict: bool,
    ) -> Result<Self, BaselineError> {
        let mut baseline = match Self::load(path) {
            Err(BaselineError::Unreadable { error, .. })
                if error.kind() == io::ErrorKind::NotFound =>
            {
                Self::of(path, String::new())?
            }
            other => other?,
        };
        let unsaid = || format!("{}: say why; blessed on {}", file::UNSAID, baseline.today);
        baseline.blessing = Some(Blessing {
            reason: reason.map_or_else(unsaid, str::to_owned),
            strict,
            fresh: Vec::new(),
        });
        Ok(baseline)
    }

    fn of(path: &Path, text: String) -> Result<Self, BaselineError> {
        let entries = file::read(&text).map_err(|error| BaselineError::File {
            path: path.display().to_string(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
            entries: entries
                .into_iter()
                .map(|entry| (entry, Fate::Open))
                .collect(),
            today: jiff::tz::Offset::UTC
                .to_datetime(jiff::Timestamp::now())
                .date(),
            blessing: None,
        })
    }

    /// Turns a failure that is expected into an expected one, and a pass that is not into a stale one.
    ///
    /// A message is compared as it is shown, without secrets.
    pub fn judge(&mut self, outcome: &mut Outcome, heading: &Heading) {
        match outcome.verdict {
            Verdict::Fail | Verdict::Warn | Verdict::Inconclusive => self.failed(outcome, heading),
            Verdict::Pass => self.passed(outcome, heading),
            Verdict::NotApplicable => {
                let why = outcome.message.clone().unwrap_or_default();
                self.note(outcome, heading, Fate::NotApplicable(why));
            }
            Verdict::Unstable => self.note(outcome, heading, Fate::Otherwise),
            Verdict::ExpectedFail | Verdict::Stale => {}
        }
    }

    /// Notes what became of the entries that name this scenario.
    fn note(&mut self, outcome: &Outcome, heading: &Heading, new: Fate) {
        for (entry, fate) in &mut self.entries {
            if entry.is_of(outcome, heading) && *fate < new {
                *fate = new.clone();
            }
        }
    }

    fn failed(&mut self, outcome: &mut Outcome, heading: &Heading) {
        let blamed = blamed(outcome);
        let message = outcome.message.as_deref().unwrap_or_default();
        let mut shown = None;
        let mut fits = |entry: &Entry| {
            let by = blamed.map(RequirementId::as_str);
            (entry.scenario.is_none() || entry.is_of(outcome, heading))
                && (entry.requirement.is_none() || entry.requirement.as_deref() == by)
                && (entry.revision.is_none() || entry.revision == heading.revision)
                && entry.message.as_ref().is_none_or(|part| {
                    shown
                        .get_or_insert_with(|| {
                            Mask::of(&outcome.transcript, &heading.secrets).text(message)
                        })
                        .contains(part)
                })
        };
        // Of several that fit, the first explains it, and all of them are met.
        let mut met = None;
        for (entry, fate) in &mut self.entries {
            if fits(entry) {
                *fate = Fate::Met;
                met = met.or(Some((entry.reason.clone(), entry.link.clone())));
            }
        }
        self.note(outcome, heading, Fate::Otherwise);
        if met.is_none()
            && let Some(blessing) = &mut self.blessing
            && (blessing.strict || outcome.verdict != Verdict::Warn)
        {
            blessing.fresh.push(Fresh {
                scenario: outcome.id.clone(),
                requirement: blamed.map(|id| id.as_str().to_owned()),
                // A provider has one revision only.
                revision: heading
                    .revision
                    .filter(|_| heading.iut != Iut::Provider)
                    .map(Revision::as_str),
                reason: blessing.reason.clone(),
            });
            met = Some((blessing.reason.clone(), None));
        }
        if let Some((reason, link)) = met {
            outcome.expectation = Some(Expectation {
                reason,
                link,
                verdict: outcome.verdict,
            });
            outcome.verdict = Verdict::ExpectedFail;
        }
    }

    fn passed(&mut self, outcome: &mut Outcome, heading: &Heading) {
        self.note(outcome, heading, Fate::Passed);
        let names = |(entry, _): &&(Entry, Fate)| entry.is_of(outcome, heading);
        if self.blessing.is_some() {
            return;
        }
        if let Some((entry, _)) = self.entries.iter().find(names) {
            outcome.expectation = Some(Expectation {
                reason: entry.reason.clone(),
                link: entry.link.clone(),
                verdict: Verdict::Pass,
            });
            outcome.verdict = Verdict::Stale;
            outcome.message = Some(format!(
                "it passes, though the baseline expects it to fail: {}",
                entry.reason
            ));
        }
    }

    /// What it came to; a baseline to be blessed is written, unless the run ended early.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn close(self, selection: Selection<'_>) -> Result<Reckoning, BaselineError> {
        let known = self.known(selection);
        let path = self.path.display().to_string();
        let mut findings = Vec::new();
        let mut gone = Vec::new();
        for (at, (entry, fate)) in self.entries.iter().enumerate() {
            let finding = |trouble, message| Finding {
                line: entry.line,
                entry: entry.names(),
                trouble,
                message,
            };
            if let Some((trouble, message)) = trouble(entry, fate, selection, &known) {
                gone.push(at);
                findings.push(finding(trouble, message));
            } else if let Some(date) = entry.expires.filter(|date| *date < self.today) {
                let message = format!(
                    "it was expected until {date}: mend what fails, or give the entry a new date"
                );
                findings.push(finding(Trouble::Expired, message));
            }
        }
        let mut unsaid: Vec<&Entry> = self.entries.iter().map(|(entry, _)| entry).collect();
        let mut blessed = None;
        let mut fresh_unsaid = 0;
        if let Some(blessing) = self.blessing.as_ref().filter(|_| selection.ended) {
            if !gone.is_empty() || !blessing.fresh.is_empty() || !self.path.exists() {
                let unwritable = |why| BaselineError::Unwritable {
                    path: path.clone(),
                    why,
                };
                let text =
                    bless::rewrite(&self.text, &gone, &blessing.fresh).map_err(&unwritable)?;
                files::replace(&self.path, text.as_bytes())
                    .map_err(|error| unwritable(error.to_string()))?;
            }
            findings.retain(|finding| finding.trouble == Trouble::Expired);
            let mut at = 0;
            unsaid.retain(|_| {
                at += 1;
                !gone.contains(&(at - 1))
            });
            if blessing.reason.starts_with(file::UNSAID) {
                fresh_unsaid = blessing.fresh.len();
            }
            blessed = Some(Blessed {
                added: blessing.fresh.len(),
                removed: gone.len(),
                kept: self.entries.len() - gone.len(),
            });
        }
        let unsaid = unsaid.iter().filter(|entry| entry.is_unsaid()).count() + fresh_unsaid;
        Ok(Reckoning {
            path,
            findings,
            unsaid,
            blessed,
        })
    }

    /// Every scenario that an entry may name, where one names what the run did not select.
    fn known(&self, selection: Selection<'_>) -> HashSet<String> {
        let elsewhere = |(entry, _): &(Entry, Fate)| {
            let scenario = entry.scenario.as_ref();
            scenario.is_some_and(|id| !selection.ids.contains(id))
        };
        let mut known = selection.ids.clone();
        if self.entries.iter().any(elsewhere) {
            known.extend(crate::kinds::every_id());
        }
        known
    }
}

impl Entry {
    /// Whether it names the scenario of this result.
    fn is_of(&self, outcome: &Outcome, heading: &Heading) -> bool {
        self.scenario.as_ref() == Some(&outcome.id)
            && (self.revision.is_none() || self.revision == heading.revision)
    }
}

/// The requirement that a failure is put down to.
fn blamed(outcome: &Outcome) -> Option<RequirementId> {
    outcome
        .divergence
        .as_ref()
        .and_then(|divergence| divergence.requirements.first().copied())
}

/// What is wrong with an entry by what became of it.
fn trouble(
    entry: &Entry,
    fate: &Fate,
    selection: Selection<'_>,
    known: &HashSet<String>,
) -> Option<(Trouble, String)> {
    if let Some(id) = &entry.requirement
        && RequirementId::new(id).is_none()
    {
        let ids = Catalogue::get().requirements().iter();
        let like = alike(id, ids.map(|it| it.id.as_str()));
        let message = format!("no requirement is called `{id}`{like}");
        return Some((Trouble::Unmatched, message));
    }
    match (fate, &entry.scenario) {
        (Fate::Met, _) => None,
        (Fate::Passed, _) => Some((
            Trouble::Stale,
            "it passes, though a failure is expected: delete the entry".to_owned(),
        )),
        (Fate::Otherwise, _) => Some((
            Trouble::Unmatched,
            "it fails, but otherwise than the entry says".to_owned(),
        )),
        (Fate::NotApplicable(why), _) => Some((
            Trouble::Unmatched,
            format!("it was not applicable, so nothing failed: {why}"),
        )),
        (Fate::Open, Some(id)) if !known.contains(id) => {
            let like = alike(id, known.iter().map(String::as_str));
            let message = format!("no scenario is called `{id}`{like}");
            Some((Trouble::Unmatched, message))
        }
        (Fate::Open, Some(id)) => {
            let missed = selection.whole && selection.ended && selection.ids.contains(id);
            missed.then(|| {
                let message = "it has no result in that revision".to_owned();
                (Trouble::Unmatched, message)
            })
        }
        (Fate::Open, None) => {
            let requirement = entry.requirement.as_deref().and_then(RequirementId::new)?;
            let binds = &requirement.requirement()?.iut;
            let judged = selection.iuts.iter().any(|iut| binds.contains(iut));
            (selection.whole && selection.ended && judged).then(|| {
                (
                    Trouble::Stale,
                    "nothing breaks it any more: delete the entry".to_owned(),
                )
            })
        }
    }
}

/// The name most like `name`, as a question.
fn alike<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    names
        .map(|other| (strsim::normalized_damerau_levenshtein(name, other), other))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, other)| format!("; did you mean `{other}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
