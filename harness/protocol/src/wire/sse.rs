//! Server-sent events: bytes of a stream in, events out, and what is left over at its end.
//!
//! It reads as every reader must (comments and unknown fields say nothing, LF, CR and CRLF each end a line, several
//! `data` lines are joined by LF) and keeps what a judge wants to know besides: an event's name, its fields in their
//! order, and an event that was never brought to its end.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// Its name, where it has one.
    pub name: Option<Vec<u8>>,
    /// Its data.
    pub data: Vec<u8>,
}

/// A stream, as far as it has come.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    name: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
    /// A CR ended the last line, so a LF directly behind it belongs to it.
    after_cr: bool,
    lines: u64,
}

/// The mark that may stand in front of a stream.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl EventReader {
    /// A stream that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes, and appends the events that they complete. An event without data is none.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) {
        for &byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' => self.end_line(out),
                b'\r' => {
                    self.end_line(out);
                    self.after_cr = true;
                }
                byte => self.line.push(byte),
            }
        }
    }

    /// The stream is over: whether an event, or the beginning of one, is left that no blank line brought to its end. A
    /// reader drops it.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        let begun = self.data.is_some() || self.name.is_some();
        begun || (!self.line.is_empty() && self.line.first() != Some(&b':'))
    }

    fn end_line(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        self.lines += 1;
        let line = match self.lines {
            1 => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line),
            _ => &line,
        };
        if line.is_empty() {
            let name = self.name.take();
            out.extend(self.data.take().map(|data| Event { name, data }));
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.name = Some(value.to_vec()),
            _ => {}
        }
    }
}

/// The bytes of one event with this data: a `data` line for each of its lines, and a blank line. CR and CRLF in it come
/// out as LF, since no event can carry them.
#[must_use]
pub fn event(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len() + 8);
    let mut rest = data;
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
        bytes.push(b'\n');
        let Some(end) = end else { break };
        let crlf = rest[end..].starts_with(b"\r\n");
        rest = &rest[end + 1 + usize::from(crlf)..];
    }
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8]) -> (Vec<Event>, bool) {
        let (mut reader, mut out) = (EventReader::new(), Vec::new());
        reader.push(stream, &mut out);
        (out, reader.is_cut_short())
    }

    fn data(stream: &str) -> Vec<String> {
        let events = read(stream.as_bytes()).0;
        let text = |event: Event| String::from_utf8_lossy(&event.data).into_owned();
        events.into_iter().map(text).collect()
    }

    #[test]
    fn lines_fields_and_comments_are_read_as_the_format_has_them() {
        for (stream, expected) in [
            ("data: a\n\n", &["a"][..]),
            ("data:a\n\ndata:  b\n\n", &["a", " b"]),
            ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]),
            (": keep-alive\n\ndata: a\n: more\n\n\n\n", &["a"]),
            ("data: a\ndata: b\ndata\n\n", &["a\nb\n"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("id: 1\nretry: 5\nodd: x\ndata: a\n\n", &["a"]),
            ("event: ping\n\n", &[]),
            ("data\n\n", &[""]),
        ] {
            assert_eq!(data(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn names_are_kept_and_belong_to_one_event() {
        let named = read(b"event: error\ndata: a\n\ndata: b\n\n").0;
        let names: Vec<_> = named.into_iter().map(|event| event.name).collect();
        assert_eq!(names, [Some(b"error".to_vec()), None]);
    }

    #[test]
    fn a_stream_reads_alike_however_it_is_cut() {
        let stream = b"data: {\"a\":1}\r\n\r\n: x\r\ndata: b\n\nevent: e\rdata: c\r\r";
        let whole = read(stream);
        for at in 0..=stream.len() {
            let (mut reader, mut out) = (EventReader::new(), Vec::new());
            reader.push(&stream[..at], &mut out);
            reader.push(&stream[at..], &mut out);
            assert_eq!((out, reader.is_cut_short()), whole, "cut at {at}");
        }
    }

    #[test]
    fn an_event_without_its_blank_line_is_left_over() {
        for (stream, cut) in [
            ("data: a\n\n", false),
            ("data: a\n", true),
            ("data: a", true),
            ("event: e\n", true),
            ("data: a\n\n: over", false),
            ("data: a\n\n\n", false),
        ] {
            assert_eq!(read(stream.as_bytes()).1, cut, "{stream:?}");
        }
    }

    #[test]
    fn an_event_is_read_back_as_its_data() {
        for data in ["{}", "", "a\nb", "a\r\nb\rc", "\n"] {
            let (events, cut) = read(&event(data.as_bytes()));
            let expected = data.replace("\r\n", "\n").replace('\r', "\n");
            assert_eq!(events.len(), 1, "{data:?}");
            assert_eq!(events[0].data, expected.as_bytes());
            assert!(!cut);
        }
    }
}
