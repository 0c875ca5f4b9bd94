//! A report that is written anew as a whole while results come.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::files::ReportFile;
use super::record::{Record, Results};
use crate::files;

/// How much longer than a writing took nothing is written again, so that it takes little of what the run needs.
const PAUSE: u32 = 9;

/// A document whose head says what it all comes to, so that it cannot grow at its end. A thread of its own puts the
/// newest in its place; whoever looks finds a whole document, and at most the last moments missing.
#[derive(Debug)]
pub(super) struct Page {
    path: PathBuf,
    render: fn(&Results) -> String,
    shared: Arc<Shared>,
    /// `None` where the path is no regular file: then it is written once, at the end.
    writer: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Slot {
    newest: Option<Results>,
    closing: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest, as soon as there is something new; `None` when nothing more comes.
    fn next(&self) -> Option<Results> {
        let mut slot = self
            .changed
            .wait_while(self.lock(), |slot| slot.newest.is_none() && !slot.closing)
            .unwrap_or_else(PoisonError::into_inner);
        slot.newest.take()
    }

    /// Waits so long, or until nothing more comes.
    fn pause(&self, long: Duration) {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), long, |slot| !slot.closing);
        drop(waited);
    }

    fn close(&self) {
        self.lock().closing = true;
        self.changed.notify_all();
    }
}

impl Page {
    pub(super) fn create(
        path: &Path,
        render: fn(&Results) -> String,
        results: &Results,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let writer = if files::is_regular(path) {
            files::replace(path, render(results).as_bytes())?;
            let (shared, path) = (Arc::clone(&shared), path.to_owned());
            let write = move || {
                while let Some(results) = shared.next() {
                    let started = Instant::now();
                    files::replace(&path, render(&results).as_bytes())?;
                    shared.pause(started.elapsed() * PAUSE);
                }
                Ok(())
            };
            let thread = std::thread::Builder::new().name("report".to_owned());
            Some(thread.spawn(write)?)
        } else {
            None
        };
        Ok(Self {
            path: path.to_owned(),
            render,
            shared,
            writer,
        })
    }
}

impl ReportFile for Page {
    fn add(&mut self, results: &Results, _record: &Record) -> io::Result<()> {
        if self.writer.is_some() {
            self.shared.lock().newest = Some(results.clone());
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    fn finish(&mut self, results: &Results) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            self.shared.close();
            writer
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("its writer panicked")))?;
        }
        files::replace(&self.path, (self.render)(results).as_bytes())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.shared.close();
    }
}
