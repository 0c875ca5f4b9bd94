//! What moved: verdicts between two runs, or requirements and numbers between two revisions.

mod results;
mod revisions;

pub use results::{Move, Moved, results};
pub use revisions::{Changes, Tag, revisions};
