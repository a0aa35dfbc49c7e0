//! What a person means by a name: one of the known heartbeats, agents, requests or captures.
//!
//! Takes what was typed and the candidates; returns one of them, or an error that lists those it could be. Whoever
//! calls this finds the candidates, and which of them is the latest.

use sys::error::Failure;
use sys::{failure, shell, spelling};

/// The word for the latest candidate.
pub const LAST: &str = "last";

/// How many candidates an error lists.
const LISTED: usize = 10;

/// How many candidates are enough, where all of them would take long to find.
pub const ENOUGH: usize = 10_000;

/// What is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    /// A heartbeat, or a workspace.
    Heartbeat,
    /// An agent.
    Agent,
    /// A request that waits for a person.
    Request,
    /// A captured session.
    Capture,
    /// A beat.
    Beat,
}

impl Noun {
    /// The noun, in the singular.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Agent => "agent",
            Self::Request => "request",
            Self::Capture => "capture",
            Self::Beat => "beat",
        }
    }

    /// Where to find names.
    fn see(self) -> &'static str {
        match self {
            Self::Heartbeat => "see: murmur list",
            Self::Agent => "see: murmur agent list",
            Self::Request => "see: murmur inbox",
            Self::Capture => "see: murmur capture list",
            Self::Beat => "see: murmur log",
        }
    }
}

/// Something that can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// Its other names.
    pub names: Vec<String>,
}

impl Candidate {
    /// A candidate without other names.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), names: Vec::new() }
    }
}

/// The index of the candidate that `typed` stands for; see [`find`].
///
/// # Errors
/// If no candidate matches, or several do.
pub fn choose(
    kind: Noun,
    typed: &str,
    candidates: &[Candidate],
    last: Option<usize>,
) -> Result<usize, Failure> {
    find(kind, typed, candidates, last)?.ok_or_else(|| unknown(kind, typed, candidates))
}

/// The index of the candidate that `typed` stands for: by its id, one of its names, `last`, or the beginning of its id,
/// in capitals or not. A heartbeat's id is a path, whose beginning is another folder, so it must be whole.
///
/// # Errors
/// If several candidates match, or if it is `last` and there are none.
pub fn find(
    kind: Noun,
    typed: &str,
    candidates: &[Candidate],
    last: Option<usize>,
) -> Result<Option<usize>, Failure> {
    let where_is = |is_it: &dyn Fn(&Candidate) -> bool| -> Vec<usize> {
        candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| is_it(candidate))
            .map(|(index, _)| index)
            .collect()
    };
    let (noun, plural) = (kind.noun(), format!("{}s", kind.noun()));
    let several = |found: &[usize], how: &str| {
        let listed = found.iter().take(LISTED).filter_map(|index| candidates.get(*index));
        let mut listed: Vec<String> = listed.map(|candidate| shell::word(&candidate.id)).collect();
        let more = found.len().saturating_sub(LISTED);
        let count = match found.len() {
            ENOUGH.. => format!("{ENOUGH} or more"),
            count => count.to_string(),
        };
        listed.extend(match found.len() {
            ENOUGH.. => Some("or others".to_owned()),
            _ => (more > 0).then(|| format!("or {more} others")),
        });
        failure!("{count} {plural} {how} {typed:?}"; "use one of: {}", listed.join(", "))
    };
    if let [index, ..] = where_is(&|candidate| candidate.id == typed).as_slice() {
        return Ok(Some(*index));
    }
    match where_is(&|candidate| candidate.names.iter().any(|name| name == typed)).as_slice() {
        [] => {}
        [index] => return Ok(Some(*index)),
        found => return Err(several(found, "are called")),
    }
    if typed == LAST {
        let none = || match kind {
            Noun::Request => failure!("no request is waiting"),
            _ => failure!("there is no {noun} yet"),
        };
        return last.map(Some).ok_or_else(|| none().hint(kind.see()));
    }
    let begins = |candidate: &Candidate| {
        let start = candidate.id.get(..typed.len());
        kind != Noun::Heartbeat && start.is_some_and(|start| start.eq_ignore_ascii_case(typed))
    };
    match where_is(&|candidate| !typed.is_empty() && begins(candidate)).as_slice() {
        [] => Ok(None),
        [index] => Ok(Some(*index)),
        found => Err(several(found, "begin with")),
    }
}

/// The error for an unknown name, with the nearest known one.
#[must_use]
pub fn unknown(kind: Noun, typed: &str, candidates: &[Candidate]) -> Failure {
    let known: Vec<&str> = candidates
        .iter()
        .flat_map(|candidate| candidate.names.iter().chain([&candidate.id]).map(String::as_str))
        .collect();
    let failure = match kind {
        Noun::Heartbeat => failure!("no heartbeat or workspace {typed:?}"),
        _ => failure!("no {} {typed:?}", kind.noun()),
    };
    failure.hint(match spelling::nearest(typed, &known) {
        Some(meant) => format!("did you mean {}?", shell::word(meant)),
        None => kind.see().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates() -> Vec<Candidate> {
        let named = |id: &str, name: &str| Candidate { id: id.to_owned(), names: vec![name.to_owned()] };
        vec![
            named("/home/me/site", "Site"),
            named("/home/me/site::heartbeats/nightly/HEARTBEAT.md", "nightly"),
            named("/home/me/shop", "shop"),
            named("/srv/shop", "shop"),
            Candidate::new("last-1"),
        ]
    }

    #[test]
    fn one_candidate_is_chosen() {
        for (typed, last, expected) in
            [("/home/me/site", None, 0), ("Site", None, 0), ("nightly", None, 1), ("last", Some(2), 2)]
        {
            assert_eq!(choose(Noun::Heartbeat, typed, &candidates(), last), Ok(expected), "{typed}");
        }
        for (typed, last, expected) in [("/home/me/sh", None, 2), ("/s", None, 3), ("last-", Some(2), 4)] {
            assert_eq!(choose(Noun::Capture, typed, &candidates(), last), Ok(expected), "{typed}");
        }
    }

    #[test]
    fn none_and_several_are_errors() {
        for (typed, expected) in [
            ("", "no heartbeat or workspace \"\"; see: murmur list"),
            ("Siet", "no heartbeat or workspace \"Siet\"; did you mean Site?"),
            ("shop", "2 heartbeats are called \"shop\"; use one of: /home/me/shop, /srv/shop"),
            ("/home/me/sho", "no heartbeat or workspace \"/home/me/sho\"; did you mean /home/me/shop?"),
            ("last", "there is no heartbeat yet; see: murmur list"),
        ] {
            let message =
                choose(Noun::Heartbeat, typed, &candidates(), None).map_err(|failure| failure.line());
            assert_eq!(message, Err(expected.to_owned()), "{typed}");
        }
    }

    #[test]
    fn an_error_lists_few_of_many() {
        let many: Vec<Candidate> = (0..1_000).map(|number| Candidate::new(format!("a{number:03}"))).collect();
        let message = choose(Noun::Agent, "a", &many, None).unwrap_err().line();
        assert!(message.starts_with("1000 agents begin with \"a\"; use one of: a000, a001, "), "{message}");
        assert!(message.ends_with(", a009, or 990 others"), "{message}");
        let more: Vec<Candidate> =
            (0..ENOUGH).map(|number| Candidate::new(format!("a{number:05}"))).collect();
        let message = choose(Noun::Agent, "a", &more, None).unwrap_err().line();
        assert!(
            message.starts_with("10000 or more agents begin with \"a\"; use one of: a00000, "),
            "{message}"
        );
        assert!(message.ends_with(", a00009, or others"), "{message}");
    }

    #[test]
    fn the_case_of_an_id_does_not_matter() {
        let ids = [Candidate::new("k3v9x2ab"), Candidate::new("k4v9x2ab")];
        for kind in [Noun::Request, Noun::Agent, Noun::Capture, Noun::Beat] {
            assert_eq!(choose(kind, "K3", &ids, None), Ok(0));
        }
        assert!(choose(Noun::Agent, "ü", &[Candidate::new("äü")], None).is_err());
    }
}
