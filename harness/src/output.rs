//! The standard streams. What cannot be written to standard output is lost, which must not pass unseen.
//!
//! A reader that is gone, such as `head`, is no fault of anybody's. Any other failure is kept, and the command line ends
//! with it.

use std::io::{self, Write};
use std::sync::OnceLock;

/// The first failure to write.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Prints `text` and the end of a line, with colours where they can be shown.
pub(crate) fn say(text: &str) {
    print(&format!("{text}\n"));
}

/// Prints `text` as it is, but for colours that cannot be shown.
pub(crate) fn print(text: &str) {
    let mut out = anstream::stdout().lock();
    take(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Takes in what came of writing to standard output.
pub(crate) fn take(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error);
    }
}

/// Why output has been lost, if any has.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

/// Prints `text` and the end of a line to standard error; where that fails, there is nobody left to tell.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}
