//! Input line by line, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};

/// Reads one line without its end; of one longer than `limit` only so much that this shows. Says whether there was one.
pub(crate) fn next_line(
    input: &mut BufReader<impl Read>,
    limit: usize,
    line: &mut Vec<u8>,
) -> io::Result<bool> {
    line.clear();
    let most = limit as u64 + 2;
    if input.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 == most {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let mut input = BufReader::new(&b"ab\n\nabcdefgh\ncd"[..]);
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while next_line(&mut input, 3, &mut line).expect("it reads") {
            lines.push(line.clone());
        }
        assert_eq!(lines, [&b"ab"[..], b"", b"abcde", b"cd"]);
    }
}
