//! Addresses of what runs already, and the passwords that they may hold, which are shown nowhere.

use std::ops::Range;

use super::PlugError;

/// `url`, where it can be the address of a WebSocket.
pub(crate) fn of_web_socket(url: &str) -> Result<&str, PlugError> {
    match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("ws") && !rest.is_empty() => Ok(url),
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("wss") => Err(PlugError::Tls(shown(url))),
        _ => Err(PlugError::NoWebSocket(shown(url))),
    }
}

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
    fn only_what_a_web_socket_can_be_at_is_dialled() {
        let mistake = |url| of_web_socket(url).err().map(|it| it.to_string());
        for url in ["ws://host", "WS://[::1]:80/a"] {
            assert_eq!(mistake(url), None);
        }
        for url in ["http://me:secret@host", "host:80", "ws://", ""] {
            let told = mistake(url).expect("a mistake");
            assert!(told.contains("ws://127.0.0.1:9000"), "{told}");
            assert!(!told.contains("secret"), "{told}");
        }
        let told = mistake("wss://host").expect("a mistake");
        assert!(told.contains("TLS"), "{told}");
    }

    #[test]
    fn a_short_password_is_looked_for_with_what_holds_it() {
        assert_eq!(secrets("ws://me:p@host/"), ["p", "me:p@"]);
        assert_eq!(secrets("ws://host/"), [""; 0]);
    }
}
