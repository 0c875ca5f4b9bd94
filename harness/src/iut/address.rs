//! Addresses that hold a password, which is shown nowhere.

use std::ops::Range;

/// `url` as it may be shown.
pub(crate) fn shown(url: &str) -> String {
    match password(url) {
        Some(place) => {
            let mut shown = url.to_owned();
            shown.replace_range(place, "***");
            shown
        }
        None => url.to_owned(),
    }
}

/// What is looked for wherever else it turns up: the password, and also what holds it, where that is too short to be
/// looked for.
pub(crate) fn secrets(url: &str) -> Vec<String> {
    let Some(place) = password(url) else {
        return Vec::new();
    };
    let whole = &url[authority(url).start..=place.end];
    vec![url[place].to_owned(), whole.to_owned()]
}

/// The part between the scheme and the path.
fn authority(url: &str) -> Range<usize> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let length = url[start..].find(['/', '?', '#']);
    start..length.map_or(url.len(), |length| start + length)
}

/// Where the password is: behind the user's name, and before the last `@` of the authority.
fn password(url: &str) -> Option<Range<usize>> {
    let authority = authority(url);
    let user = &url[authority.clone()];
    let user = &user[..user.rfind('@')?];
    let start = authority.start + user.find(':')? + 1;
    Some(start..authority.start + user.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_of_an_address_is_masked() {
        let cases = [
            ("ws://me:secret@host:1/a", "ws://me:***@host:1/a"),
            ("ws://me:s:e@c@host", "ws://me:***@host"),
            ("me:pass@host:80", "me:***@host:80"),
            ("ws://me@host:1/", "ws://me@host:1/"),
            ("ws://[::1]:80/a:b@c", "ws://[::1]:80/a:b@c"),
            ("", ""),
        ];
        for (url, expected) in cases {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn a_short_password_is_looked_for_with_what_holds_it() {
        assert_eq!(secrets("ws://me:p@host/"), ["p", "me:p@"]);
        assert_eq!(secrets("ws://host/"), [""; 0]);
    }
}
