//! The scenarios that come with the harness, and those that a user names.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use diverge_protocol::scenario::codec::iut_of;
use diverge_protocol::scenario::{Iut, Located, Mistake, MistakeKind, Scenario, Source, Suite};
use globset::Glob;
use include_dir::{Dir, include_dir};

use crate::files;
use crate::kinds::Selection;

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../scenarios");

/// Why a selection of scenarios could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// Mistakes in scenario files.
    #[error("{} in scenario files", if .0.len() == 1 { "1 mistake".to_owned() } else { format!("{} mistakes", .0.len()) })]
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
    /// The file's scenarios are for another kind of implementation.
    #[error("{path} holds scenarios of the kind `{}`; `diverge-conformance run {}` plays them", .iut.as_str(), .iut.as_str())]
    OtherKind {
        /// As given.
        path: String,
        /// The kind that the file names.
        iut: Iut,
    },
    /// The file holds fragments alone.
    #[error("{0} holds no scenario, so there is nothing to play")]
    NoScenario(String),
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
    let scenarios = in_their_revisions(suite.scenarios);
    loaded.insert(iut, scenarios.clone());
    Ok(scenarios)
}

/// The scenarios that the revision by which they judge has.
fn in_their_revisions(scenarios: Vec<Scenario>) -> Vec<Arc<Scenario>> {
    let spoken = |it: &Scenario| Revisions::spoken(it.revision);
    let holds = |it: &Scenario| Revisions::known().holds(&it.span, spoken(it));
    let scenarios = scenarios.into_iter().filter(holds);
    scenarios.map(Arc::new).collect()
}

/// The scenarios of a file, which may play the built-in fragments.
///
/// # Errors
/// Every mistake in it.
pub fn from_source(source: &Arc<Source>) -> Result<Vec<Arc<Scenario>>, SelectError> {
    let library: Vec<_> = Iut::CONVERSING.into_iter().flat_map(sources).collect();
    let suite = Suite::load_beside(&[Arc::clone(source)], &library);
    let scenarios = suite.map_err(SelectError::Mistakes)?.scenarios;
    let built_in = built_in_for(scenarios.first().map(|first| first.iut))?;
    let built_in = built_in.iter().map(|it| (&it.family, &it.at));
    none_is_built_in(scenarios.iter().map(|it| (&it.family, &it.at)), built_in)?;
    Ok(in_their_revisions(scenarios))
}

fn built_in_for(iut: Option<Iut>) -> Result<Vec<Arc<Scenario>>, SelectError> {
    iut.map_or(Ok(Vec::new()), built_in)
        .map_err(SelectError::Mistakes)
}

/// An id stands for one scenario, so that a file of one's own must not use those that are built in. The file in which
/// they are written may be played by its path, also when it has been changed.
pub(crate) fn none_is_built_in<'a>(
    own: impl Iterator<Item = (&'a String, &'a Located)>,
    built_in: impl Iterator<Item = (&'a String, &'a Located)>,
) -> Result<(), SelectError> {
    let built_in: HashMap<&String, &Located> = built_in.collect();
    let mut told = HashSet::new();
    let taken = own.filter_map(|(id, at)| {
        let other = built_in.get(id)?;
        let path = std::fs::canonicalize(&at.source.path);
        let is_its_file = path.is_ok_and(|path| path.ends_with(&other.source.path));
        (!is_its_file && told.insert(id)).then(|| Mistake {
            at: at.clone(),
            kind: MistakeKind::BuiltInId {
                id: id.clone(),
                other: other.display(),
            },
        })
    });
    match taken.collect::<Vec<_>>() {
        taken if taken.is_empty() => Ok(()),
        taken => Err(SelectError::Mistakes(taken)),
    }
}

/// Reads a scenario file as it is.
///
/// # Errors
/// When it cannot be read, or is too long to be one.
pub fn read(path: &Path) -> Result<Arc<Source>, SelectError> {
    let shown = path.display().to_string();
    let text = files::read(path).map_err(|error| SelectError::Unreadable {
        path: shown.clone(),
        error,
    })?;
    Ok(Arc::new(Source { path: shown, text }))
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
    chosen(iut, patterns, &all, from_source, |scenario| {
        [&scenario.id, &scenario.family]
    })
}

/// Reads the scenarios of a file.
type FromSource<S> = fn(&Arc<Source>) -> Result<Vec<Arc<S>>, SelectError>;

/// What `patterns` choose of `all` and of the files that they name: by the id, or the id without the case.
pub(crate) fn chosen<S>(
    iut: Iut,
    patterns: &[String],
    all: &[Arc<S>],
    from_source: FromSource<S>,
    names: fn(&S) -> [&String; 2],
) -> Result<Vec<Arc<S>>, SelectError> {
    let (files, globs): (Vec<_>, Vec<_>) = patterns.iter().partition(|pattern| is_file(pattern));
    let mut from_files = Vec::new();
    for file in &files {
        let source = read(Path::new(file))?;
        match iut_of(&source) {
            Some(other) if other != iut => {
                let path = (*file).clone();
                return Err(SelectError::OtherKind { path, iut: other });
            }
            _ => from_files.extend(from_source(&source)?),
        }
    }
    if let (Some(file), true) = (files.first(), from_files.is_empty()) {
        return Err(SelectError::NoScenario((*file).clone()));
    }
    let mut selected: Vec<Arc<S>> = Vec::new();
    let mut picked = false;
    for pattern in &globs {
        let glob = Glob::new(pattern).map_err(|error| SelectError::Glob {
            pattern: (*pattern).clone(),
            error,
        })?;
        let glob = glob.compile_matcher();
        let fits = |it: &&Arc<S>| names(it).iter().any(|name| glob.is_match(name));
        let (of_files, of_all) = (from_files.iter().filter(fits), all.iter().filter(fits));
        let found: Vec<_> = of_all.chain(of_files.clone()).collect();
        if found.is_empty() {
            return Err(SelectError::Nothing((*pattern).clone()));
        }
        picked |= of_files.count() > 0;
        for scenario in found {
            if !selected
                .iter()
                .any(|other| names(other)[0] == names(scenario)[0])
            {
                selected.push(Arc::clone(scenario));
            }
        }
    }
    // An id beside a file picks from the file; a file alone means all that is in it.
    if !picked {
        selected.extend(from_files);
    }
    Ok(selected)
}

/// What of a revision is scored: a frozen list, so that a scenario that comes later is played and told, and decides
/// nothing until the list is frozen anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scored {
    ids: HashSet<String>,
}

impl Scored {
    /// The list of a built-in revision.
    #[must_use]
    pub fn of(revision: Revision) -> Self {
        let path = format!("revisions/{}.scored", revision.as_str());
        let file = FILES.get_file(path).and_then(|file| file.contents_utf8());
        file.map(Self::parse).unwrap_or_default()
    }

    /// Reads a list: an id a line, and comments behind `#`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim());
        Self {
            ids: lines
                .filter(|id| !id.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// The built-in scenarios among `ids` that are not scored. Where the list names no scenario of a kind, that kind
    /// is not frozen yet, and all of it is scored.
    #[must_use]
    pub fn unscored(&self, ids: impl IntoIterator<Item = String>) -> HashSet<String> {
        let kind = |id: &str| id.split('/').next().map(str::to_owned);
        let frozen: HashSet<Option<String>> = self.ids.iter().map(|id| kind(id)).collect();
        ids.into_iter()
            .filter(|id| frozen.contains(&kind(id)) && !self.ids.contains(id))
            .collect()
    }

    /// The list of everything that is built in for a revision now, as its file has it.
    ///
    /// # Errors
    /// Mistakes in the built-in files, which the tests rule out.
    pub fn freeze(revision: Revision) -> Result<String, Vec<Mistake>> {
        let mut ids = Vec::new();
        for iut in Iut::CONVERSING {
            let scenarios = built_in(iut)?;
            let of_it = scenarios.iter().filter(|it| it.revision == revision);
            ids.extend(of_it.map(|it| it.id.clone()));
        }
        ids.sort_unstable();
        let name = revision.as_str();
        let head = format!(
            "# What the {name} revision scores. What is not here is played and told, and decides nothing.\n\
             # Freeze it anew: diverge-conformance lint --freeze {name} > scenarios/revisions/{name}.scored\n"
        );
        Ok(ids.iter().fold(head, |list, id| list + id + "\n"))
    }

    /// The ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_scenario_of_a_frozen_kind_enters_unscored() {
        let list = Scored::parse("# frozen\nprovider/a/b\nprovider/a/c # why\n\n");
        let ids = [
            "provider/a/b",
            "provider/a/c",
            "provider/a/new",
            "proxy/a/b",
        ];
        let unscored = list.unscored(ids.map(str::to_owned));
        assert_eq!(unscored, HashSet::from(["provider/a/new".to_owned()]));
        assert!(
            Scored::default()
                .unscored(ids.map(str::to_owned))
                .is_empty()
        );
    }

    #[test]
    fn the_frozen_lists_name_only_scenarios_that_there_are() {
        let known: HashSet<String> = crate::kinds::every_id().into_iter().collect();
        for revision in [Revision::Scope, Revision::Path] {
            for id in Scored::of(revision).ids() {
                assert!(known.contains(id), "{id}");
            }
        }
        assert!(Scored::of(Revision::Scope).ids().count() > 0);
    }
}
