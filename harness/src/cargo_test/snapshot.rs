//! Snapshots of topics.

use std::path::{Path, absolute};

/// The topic of a scenario: its id's first two parts.
pub(super) fn topic(id: &str) -> String {
    id.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// Compares `text` with the snapshot `file`, named without its extension; panics where it differs, as insta does.
pub(super) fn compare(file: &Path, text: &str) {
    let file = absolute(file).unwrap_or_else(|_| file.to_owned());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(file.with_file_name(""));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name.as_ref(), text));
}
