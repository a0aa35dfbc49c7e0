//! `inbox.json`: the numbers that `murmur inbox` gave to its entries.
//!
//! A number belongs to one entry and is not given to another one for a day after it was last shown, so that an answer
//! never reaches a request that arrived since. A request's id is made from its call, so a number stands for what was
//! shown.

use jiff::{SignedDuration, Timestamp};
use murmur_core::permit::request::RequestId;
use serde::{Deserialize, Serialize};
use sys::error::Failure;
use sys::paths::DataDir;
use sys::unreadable::unwritable;
use sys::{failure, lock, versioned};

/// How long a number stays with its request after it was last recorded as shown.
const KEPT: SignedDuration = SignedDuration::from_hours(25);

/// How old the record of a number gets before it is renewed: a live view shows numbers again and again.
const FRESH: SignedDuration = SignedDuration::from_hours(1);

/// The longest number, in digits. Longer ones are prefixes of ids.
const DIGITS: usize = 4;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    requests: Vec<Numbered<RequestId>>,
    /// Entries that aren't requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Numbered<Other>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Numbered<T> {
    number: u32,
    id: T,
    /// When it was last shown.
    shown: Timestamp,
    /// When it was first seen, while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
}

/// An entry's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) number: u32,
    /// When the entry was first seen.
    pub(super) since: Timestamp,
}

/// An entry that isn't a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Other {
    /// Tells it apart from others.
    pub(super) key: String,
    /// What it is, with its article.
    pub(super) what: String,
    /// How to solve it, as a hint.
    pub(super) hint: String,
}

impl Other {
    /// Whether it is a stuck agent.
    pub(super) fn is_stuck(&self) -> bool {
        self.key.starts_with("stuck ")
    }
}

/// An entry.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    Request(RequestId),
    Other(Other),
}

/// Gives each request of `ids` its number, or a new one, and returns them in this order.
///
/// # Errors
/// If the file can't be read or written: without it, a number could be given twice.
pub(super) fn give(dir: &DataDir, ids: &[&RequestId], now: Timestamp) -> Result<Vec<u32>, Failure> {
    let subjects: Vec<Subject> = ids.iter().map(|id| Subject::Request((*id).clone())).collect();
    let given = give_all(dir, &subjects, |_| false, now)?;
    Ok(given.into_iter().map(|given| given.number).collect())
}

/// Like [`give`], for any entries. Those that `is_listed` wait no longer, unless they are among `subjects`.
pub(super) fn give_all(
    dir: &DataDir,
    subjects: &[Subject],
    is_listed: fn(&Other) -> bool,
    now: Timestamp,
) -> Result<Vec<Given>, Failure> {
    if subjects.is_empty() && !dir.inbox().exists() {
        return Ok(Vec::new());
    }
    let path = dir.inbox();
    let _lock = lock::lock(&dir.inbox_lock()).map_err(|error| unwritable(&path, &error))?;
    let mut contents = read(dir)?;
    let (numbers, is_changed) = contents.give(subjects, is_listed, now);
    if is_changed {
        versioned::write(&path, &contents).map_err(|error| unwritable(&path, &error))?;
    }
    Ok(numbers)
}

/// The request with the number `typed`; `None` if that is not a number. Fails if it is the number of another entry.
pub(super) fn request(dir: &DataDir, typed: &str, now: Timestamp) -> Result<Option<RequestId>, Failure> {
    let is_number = typed.len() <= DIGITS && typed.bytes().all(|byte| byte.is_ascii_digit());
    let Some(number) = typed.parse::<u32>().ok().filter(|_| is_number) else { return Ok(None) };
    let contents = read(dir)?;
    if let Some(other) = find(contents.others, number, now) {
        return Err(failure!("{number} in the inbox is {}, not a request", other.what; "{}", other.hint));
    }
    let known = find(contents.requests, number, now);
    // Three digits may also begin an id, and there are rarely that many requests.
    if known.is_none() && typed.len() > 2 {
        return Ok(None);
    }
    known.map(Some).ok_or_else(|| failure!("no request has the number {number}"; "see: murmur inbox"))
}

/// What has this number.
fn find<T>(known: Vec<Numbered<T>>, number: u32, now: Timestamp) -> Option<T> {
    let found = known.into_iter().find(|known| known.number == number && !known.is_old(now));
    found.map(|known| known.id)
}

fn read(dir: &DataDir) -> Result<Contents, Failure> {
    let path = dir.inbox();
    let contents = versioned::read(&path).map_err(|error| {
        failure!("cannot read {}", path.display(); "use ids instead of numbers, and remove the file")
            .because(&error)
    })?;
    Ok(contents.unwrap_or_default())
}

impl<T> Numbered<T> {
    fn is_old(&self, now: Timestamp) -> bool {
        now.duration_since(self.shown) > KEPT
    }
}

impl Contents {
    /// The numbers of `subjects`, and whether the contents changed.
    fn give(
        &mut self,
        subjects: &[Subject],
        is_listed: fn(&Other) -> bool,
        now: Timestamp,
    ) -> (Vec<Given>, bool) {
        self.requests.retain(|known| !known.is_old(now));
        self.others.retain(|known| !known.is_old(now));
        let numbers = self.requests.iter().map(|known| known.number);
        let mut last = numbers.chain(self.others.iter().map(|known| known.number)).max().unwrap_or_default();
        let mut is_changed = false;
        let waits = |key: &str| {
            subjects.iter().any(|subject| matches!(subject, Subject::Other(other) if other.key == key))
        };
        for known in &mut self.others {
            if known.since.is_some() && is_listed(&known.id) && !waits(&known.id.key) {
                // If it comes back, its time starts over.
                (known.since, is_changed) = (None, true);
            }
        }
        let numbers = subjects.iter().map(|subject| {
            let (number, is_new) = match subject {
                Subject::Request(id) => number(&mut self.requests, id, |known| known == id, &mut last, now),
                Subject::Other(other) => {
                    number(&mut self.others, other, |known| known.key == other.key, &mut last, now)
                }
            };
            is_changed |= is_new;
            number
        });
        (numbers.collect(), is_changed)
    }
}

/// The number of the one among `all` that `is_it`, which becomes `new`; a new number if there is none. Also returns
/// whether `all` changed.
fn number<T: Clone + PartialEq>(
    all: &mut Vec<Numbered<T>>,
    new: &T,
    is_it: impl Fn(&T) -> bool,
    last: &mut u32,
    now: Timestamp,
) -> (Given, bool) {
    if let Some(known) = all.iter_mut().find(|known| is_it(&known.id)) {
        let is_old = known.since.is_none() || now.duration_since(known.shown) > FRESH;
        let is_changed = is_old || known.id != *new;
        if is_changed {
            (known.id, known.shown) = (new.clone(), now);
        }
        return (Given { number: known.number, since: *known.since.get_or_insert(now) }, is_changed);
    }
    *last += 1;
    all.push(Numbered { number: *last, id: new.clone(), shown: now, since: Some(now) });
    (Given { number: *last, since: now }, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_given_to_another_request_while_it_may_be_remembered() {
        let request = |text: &str| Subject::Request(RequestId::parse(text).unwrap());
        let all = [request("7ggs733k"), request("2zh73ph2"), request("k3v9x2ab")];
        let [first, second, third] = &all;
        let other = |hint: &str| {
            Subject::Other(Other {
                key: "stuck a".to_owned(),
                what: "stuck".to_owned(),
                hint: hint.to_owned(),
            })
        };
        let now: Timestamp = "2026-11-26T09:00:00Z".parse().unwrap();
        let later = |hours: i64| now + SignedDuration::from_hours(hours);
        let mut contents = Contents::default();
        let mut give = |subjects: &[&Subject], hours| {
            let subjects: Vec<Subject> = subjects.iter().map(|subject| (*subject).clone()).collect();
            let given = contents.give(&subjects, |_| false, later(hours)).0;
            given.into_iter().map(|given| given.number).collect::<Vec<_>>()
        };
        assert_eq!(give(&[first, second], 0), [1, 2]);
        // The first was answered, and another one arrived.
        assert_eq!(give(&[third, second], 20), [3, 2]);
        assert_eq!(give(&[third], 40), [3]);
        assert_eq!(give(&[first, &other("a")], 41), [4, 5]);
        assert_eq!(give(&[&other("b"), second], 42), [5, 2]);
        assert_eq!(give(&[], 99), [0_u32; 0]);
        assert_eq!(give(&[second], 100), [1]);
    }

    #[test]
    fn an_entry_is_as_old_as_its_first_sight_until_it_is_gone() {
        let other = |key: &str| {
            Subject::Other(Other { key: key.to_owned(), what: String::new(), hint: String::new() })
        };
        let at =
            |hours| "2026-11-26T09:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_hours(hours);
        let mut contents = Contents::default();
        for (keys, hours, expected) in [
            (vec!["breaker a"], 0, vec![0]),
            (vec!["budget b", "breaker a"], 2, vec![2, 0]),
            (vec!["budget b"], 3, vec![2]),
            (vec!["breaker a"], 5, vec![5]),
            (vec!["breaker a"], 20, vec![5]),
        ] {
            let subjects: Vec<Subject> = keys.into_iter().map(other).collect();
            let (given, is_changed) = contents.give(&subjects, |_| true, at(hours));
            assert!(is_changed);
            let since: Vec<Timestamp> = given.into_iter().map(|given| given.since).collect();
            assert_eq!(since, expected.into_iter().map(at).collect::<Vec<_>>(), "{hours}");
        }
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let text =
            r#"{"version":1,"requests":[{"number":2,"id":"7ggs733k","shown":"2026-11-26T09:00:00Z"}]}"#;
        let contents: Contents = versioned::parse(text.as_bytes()).unwrap();
        assert_eq!((contents.requests[0].number, contents.others.len()), (2, 0));
    }
}
