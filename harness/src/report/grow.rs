//! A file that grows by one item after the other and is a whole document at every moment.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::files;

/// A document with a head, items and a tail. Each item is written together with the tail that follows it, over the
/// tail that was there, so that a run that is killed leaves everything that had come in a document that can be read.
#[derive(Debug)]
pub(super) struct Growing {
    file: File,
    /// Where the tail begins; `None` where the file cannot be gone back in, such as a pipe.
    tail_at: Option<u64>,
    head_len: usize,
    /// What is still to be written, where the file cannot be gone back in.
    waiting: Vec<u8>,
}

impl Growing {
    /// Begins the document.
    pub(super) fn create(path: &Path, head: &str, tail: &str) -> io::Result<Self> {
        let seekable = files::is_regular(path);
        let mut growing = Self {
            file: File::create(path)?,
            tail_at: seekable.then_some(0),
            head_len: head.len(),
            waiting: Vec::new(),
        };
        growing.add(head, tail)?;
        Ok(growing)
    }

    /// Adds an item, and what follows it now. A tail may be followed by blanks of an earlier one that was longer.
    pub(super) fn add(&mut self, item: &str, tail: &str) -> io::Result<()> {
        let Some(tail_at) = &mut self.tail_at else {
            self.waiting.extend_from_slice(item.as_bytes());
            return Ok(());
        };
        let mut text = [item, tail].concat().into_bytes();
        let old = self.file.seek(SeekFrom::End(0))?;
        let missing = old.saturating_sub(*tail_at + text.len() as u64);
        text.resize(text.len() + usize::try_from(missing).unwrap_or(0), b'\n');
        self.file.seek(SeekFrom::Start(*tail_at))?;
        self.file.write_all(&text)?;
        *tail_at += item.len() as u64;
        Ok(())
    }

    /// Writes another head, of the same length, over the one that is there.
    pub(super) fn head(&mut self, head: &str) -> io::Result<()> {
        debug_assert_eq!(head.len(), self.head_len);
        if self.tail_at.is_none() {
            self.waiting.splice(..self.head_len, head.bytes());
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(head.as_bytes())
    }

    /// Writes the last tail.
    pub(super) fn finish(&mut self, tail: &str) -> io::Result<()> {
        if self.tail_at.is_none() {
            let waiting = std::mem::take(&mut self.waiting);
            self.file.write_all(&waiting)?;
            return self.file.write_all(tail.as_bytes());
        }
        self.add("", tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole_after_each_item() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("list");
        let read = || std::fs::read_to_string(&path).expect("it is there");
        let mut file = Growing::create(&path, "0[", "] so far").expect("it is made");
        assert_eq!(read(), "0[] so far");
        file.add("a", "] so far").expect("it is written");
        assert_eq!(read(), "0[a] so far");
        file.head("1[").expect("it is written");
        file.add(",b", "]").expect("it is written");
        assert_eq!(read().trim_end(), "1[a,b]");
        file.finish("].").expect("it is written");
        assert_eq!(read().trim_end(), "1[a,b].");
    }
}
