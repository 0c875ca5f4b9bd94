//! A codec as an implementation under test: it is asked about payloads on its standard input, and its answers are judged.
//!
//! - [`answer`]: the lines of both sides.
//! - [`pipe`]: one process, asked one batch of lines.
//! - [`session`]: a batch asked of as many processes as it takes, so that one that dies costs only what it died of.
//! - [`judge`]: scenarios and what was answered to them, as results.
//! - [`generate`]: payloads that nobody wrote down.
//! - [`generated`]: a codec judged by those, and the smallest of what it misjudges.
//! - [`forms`]: the in-tree codec, its faults, conforming variants and hollow forms.

pub mod answer;
pub mod forms;
pub mod generate;
pub mod generated;
pub mod judge;
pub mod pipe;
pub mod session;
mod shrink;

use std::sync::{Arc, OnceLock};

use diverge_protocol::scenario::codec::{CodecScenario, CodecSuite};
use diverge_protocol::scenario::{Iut, Mistake, Source};

use crate::kinds::Selection;
use crate::suite::{self, SelectError};

/// The built-in scenarios of codecs.
///
/// # Errors
/// Mistakes in the files, which the tests rule out.
pub fn built_in() -> Result<Vec<Arc<CodecScenario>>, Vec<Mistake>> {
    static LOADED: OnceLock<Vec<Arc<CodecScenario>>> = OnceLock::new();
    if let Some(scenarios) = LOADED.get() {
        return Ok(scenarios.clone());
    }
    let suite = CodecSuite::load(&suite::sources(Iut::Codec))?;
    let scenarios = suite.scenarios.into_iter().map(Arc::new).collect();
    Ok(LOADED.get_or_init(|| scenarios).clone())
}

/// The codec scenarios of a file.
///
/// # Errors
/// Every mistake in it.
pub fn from_source(source: &Arc<Source>) -> Result<Vec<Arc<CodecScenario>>, SelectError> {
    let suite = CodecSuite::load(&[Arc::clone(source)]).map_err(SelectError::Mistakes)?;
    let built_in = built_in().map_err(SelectError::Mistakes)?;
    suite::none_is_built_in(
        suite.scenarios.iter().map(|it| (&it.family, &it.at)),
        built_in.iter().map(|it| (&it.family, &it.at)),
    )?;
    Ok(suite.scenarios.into_iter().map(Arc::new).collect())
}

/// The scenarios that are selected.
///
/// # Errors
/// A pattern that selects nothing, or a file at fault.
pub fn select(selection: &Selection) -> Result<Vec<Arc<CodecScenario>>, SelectError> {
    let all = built_in().map_err(SelectError::Mistakes)?;
    let patterns = match selection {
        Selection::Ids(ids) => {
            return Ok(all.into_iter().filter(|it| ids.contains(&it.id)).collect());
        }
        Selection::Patterns(patterns) if patterns.is_empty() => return Ok(all),
        Selection::Patterns(patterns) => patterns,
    };
    suite::chosen(Iut::Codec, patterns, &all, from_source, |scenario| {
        [&scenario.id, &scenario.family]
    })
}
