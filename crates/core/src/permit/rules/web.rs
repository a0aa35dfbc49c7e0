//! Patterns for WebFetch: `domain:example.com`, and the host of a URL.

/// The prefix of domain patterns.
pub(super) const DOMAIN: &str = "domain:";

/// The hosts that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    name: String,
    /// Whether it matches only subdomains: `*.example.com`.
    below: bool,
}

impl Host {
    /// Parses `domain:HOST` or `domain:*.HOST`.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let host = pattern.strip_prefix(DOMAIN)?.trim();
        let (name, below) = host.strip_prefix("*.").map_or((host, false), |name| (name, true));
        plain(name).map(|name| Self { name, below })
    }

    pub(super) fn matches(&self, host: &str) -> bool {
        match host.strip_suffix(self.name.as_str()) {
            Some("") => !self.below,
            Some(before) => self.below && before.ends_with('.') && before.len() > 1,
            None => false,
        }
    }
}

/// The host of a URL, if every URL parser would find the same one: no user name, no backslash, no whitespace, only
/// ASCII.
pub(super) fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let is_plain = !url.contains(['\\', '\u{7f}']) && !url.chars().any(|letter| letter <= ' ');
    let authority = rest.split(['/', '?', '#']).next()?;
    let (name, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_port = port.chars().all(|digit| digit.is_ascii_digit());
    if is_web && is_plain && is_port { plain(name) } else { None }
}

/// The name of a host in lower case, without a trailing dot.
fn plain(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
    };
    name.split('.').all(is_label).then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unambiguous_hosts_are_accepted() {
        for (url, expected) in [
            ("https://Example.com/a?b#c", Some("example.com")),
            ("http://example.com.:8080", Some("example.com")),
            ("https://example.com?x=@evil.com", Some("example.com")),
            ("https://example.com@evil.com/", None),
            ("https://user:pw@evil.com", None),
            ("https://example.com\\@evil.com", None),
            ("https:/example.com", None),
            ("ftp://example.com", None),
            (" https://example.com", None),
            ("https://exa\tmple.com", None),
            ("https://ex%61mple.com", None),
            ("https://еxample.com", None),
            ("https://", None),
            ("https://a..b", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_domain_matches_itself_and_with_a_star_its_subdomains() {
        let matches = |pattern: &str, host: &str| Host::parse(pattern).unwrap().matches(host);
        assert!(matches("domain:Example.com", "example.com"));
        assert!(!matches("domain:example.com", "www.example.com"));
        assert!(!matches("domain:example.com", "badexample.com"));
        assert!(matches("domain:*.example.com", "a.www.example.com"));
        assert!(!matches("domain:*.example.com", "example.com"));
        assert!(!matches("domain:*.example.com", "badexample.com"));
        for wrong in ["example.com", "domain:", "domain:*", "domain:a b", "domain:https://x.y"] {
            assert_eq!(Host::parse(wrong), None, "{wrong}");
        }
    }
}
