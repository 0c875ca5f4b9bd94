//! Reading files that people write, and writing files so that whoever reads one, at whatever moment, finds it whole.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The longest file that a person may have written, in bytes.
const LONGEST: u64 = 8 << 20;

/// What such a file says.
///
/// # Errors
/// When it cannot be read, is no text, or is too long for one.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    let count = fs::File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut text)?;
    if count as u64 > LONGEST {
        let why = format!(
            "it is longer than {} MiB, which no such file is",
            LONGEST >> 20
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Puts `content` in the place of the file at `path` at once. What is no regular file is written to as it is.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if !is_regular(path) {
        return fs::write(path, content);
    }
    // A link goes on pointing at its file.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = beside(&path);
    let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Whether there is a regular file, or could be.
pub(crate) fn is_regular(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |about| about.is_file())
}

/// A file of this process's own in the same directory.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("report");
        replace(&path, b"one").expect("it is written");
        replace(&path, b"two").expect("it is written");
        assert_eq!(fs::read(&path).expect("it is there"), b"two");
        let entries = fs::read_dir(folder.path()).expect("it is listed");
        assert_eq!(entries.count(), 1);
        assert!(replace(&folder.path().join("no/such/report"), b"").is_err());
    }

    #[test]
    fn a_link_goes_on_pointing_at_its_file() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, b"one").expect("it is written");
        std::os::unix::fs::symlink(&file, &link).expect("it is linked");
        replace(&link, b"two").expect("it is written");
        assert_eq!(fs::read(&file).expect("it is there"), b"two");
    }
}
