//! The scenarios that come with the harness, and those that a user names.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use diverge_protocol::scenario::{Iut, Mistake, Scenario, Source, Suite};
use globset::Glob;
use include_dir::{Dir, include_dir};

use crate::kinds::Selection;

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../scenarios");

/// Why a selection of scenarios could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// Mistakes in scenario files.
    #[error("{} mistakes in scenario files", .0.len())]
    Mistakes(Vec<Mistake>),
    /// The pattern is no glob.
    #[error("`{pattern}` is no glob: {error}")]
    Glob {
        /// As given.
        pattern: String,
        /// Why.
        error: globset::Error,
    },
    /// The pattern fits no scenario and names no file.
    #[error(
        "`{0}` matches no scenario and is no scenario file; `diverge-conformance list scenarios` shows the ids, \
         and a glob such as `provider/*/*` selects several"
    )]
    Nothing(String),
    /// The file cannot be read.
    #[error("could not read {path}: {error}")]
    Unreadable {
        /// As given.
        path: String,
        /// The system's reason.
        error: std::io::Error,
    },
}

/// The built-in files for `iut`.
#[must_use]
pub fn sources(iut: Iut) -> Vec<Arc<Source>> {
    let Some(folder) = FILES.get_dir(iut.as_str()) else {
        return Vec::new();
    };
    let mut files: Vec<_> = folder.files().collect();
    files.sort_by_key(|file| file.path());
    files
        .into_iter()
        .filter(|file| {
            file.path()
                .extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .filter_map(|file| {
            let path = format!("scenarios/{}", file.path().display());
            Some(Arc::new(Source {
                path,
                text: file.contents_utf8()?.to_owned(),
            }))
        })
        .collect()
}

/// The built-in scenarios for `iut`.
///
/// # Errors
/// Mistakes in the files, which the tests rule out.
pub fn built_in(iut: Iut) -> Result<Vec<Arc<Scenario>>, Vec<Mistake>> {
    static LOADED: Mutex<BTreeMap<Iut, Vec<Arc<Scenario>>>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(scenarios) = loaded.get(&iut) {
        return Ok(scenarios.clone());
    }
    let suite = Suite::load(&sources(iut))?;
    let scenarios: Vec<_> = suite.scenarios.into_iter().map(Arc::new).collect();
    loaded.insert(iut, scenarios.clone());
    Ok(scenarios)
}

/// Reads a scenario file; it may play the built-in fragments.
///
/// # Errors
/// When it cannot be read, or every mistake in it.
pub fn from_file(path: &Path) -> Result<Vec<Arc<Scenario>>, SelectError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| SelectError::Unreadable {
        path: shown.clone(),
        error,
    })?;
    let source = Arc::new(Source { path: shown, text });
    let suite =
        Suite::load_beside(&[source], &sources(Iut::Provider)).map_err(SelectError::Mistakes)?;
    Ok(suite.scenarios.into_iter().map(Arc::new).collect())
}

/// The scenarios of `iut` that are selected.
///
/// # Errors
/// A pattern that selects nothing, or a file at fault.
pub fn select(iut: Iut, selection: &Selection) -> Result<Vec<Arc<Scenario>>, SelectError> {
    let mut all = built_in(iut).map_err(SelectError::Mistakes)?;
    let patterns = match selection {
        Selection::Patterns(patterns) => patterns,
        Selection::Ids(ids) => {
            all.retain(|scenario| ids.contains(&scenario.id));
            return Ok(all);
        }
    };
    if patterns.is_empty() {
        return Ok(all);
    }
    let (files, globs): (Vec<_>, Vec<_>) = patterns.iter().partition(|pattern| is_file(pattern));
    let mut from_files = Vec::new();
    for file in &files {
        from_files.extend(from_file(Path::new(file))?);
    }
    all.extend(from_files.iter().cloned());
    let mut selected: Vec<Arc<Scenario>> = Vec::new();
    for pattern in &globs {
        let found = matching(&all, pattern)?;
        if found.is_empty() {
            return Err(SelectError::Nothing((*pattern).clone()));
        }
        for scenario in found {
            if !selected.iter().any(|other| other.id == scenario.id) {
                selected.push(scenario);
            }
        }
    }
    // An id beside a file picks from the file; a file alone means all that is in it.
    let picked = selected
        .iter()
        .any(|one| from_files.iter().any(|other| other.id == one.id));
    if !picked {
        selected.extend(from_files);
    }
    Ok(selected)
}

/// Keeps only the scenarios with these ids, in the order of the ids.
pub fn keep(scenarios: &mut Vec<Arc<Scenario>>, ids: &[String]) {
    let places: HashMap<&str, usize> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| (id.as_str(), at))
        .collect();
    scenarios.retain(|scenario| places.contains_key(scenario.id.as_str()));
    scenarios.sort_by_key(|scenario| places.get(scenario.id.as_str()).copied());
}

/// Whether a pattern names a file: one that is there, or one that could only be meant as such.
fn is_file(pattern: &str) -> bool {
    Path::new(pattern).is_file() || is_file_name(pattern)
}

fn is_file_name(pattern: &str) -> bool {
    Path::new(pattern)
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The scenarios whose id, or whose family, fits the glob.
fn matching(all: &[Arc<Scenario>], pattern: &str) -> Result<Vec<Arc<Scenario>>, SelectError> {
    let glob = Glob::new(pattern).map_err(|error| SelectError::Glob {
        pattern: pattern.to_owned(),
        error,
    })?;
    let glob = glob.compile_matcher();
    Ok(all
        .iter()
        .filter(|scenario| glob.is_match(&scenario.id) || glob.is_match(&scenario.family))
        .cloned()
        .collect())
}
