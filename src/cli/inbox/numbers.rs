//! `inbox.json`: the numbers that `murmur inbox` gave to requests.
//!
//! A number belongs to one request and is not given to another one for a day after it was last shown, so that an answer
//! never reaches a request that arrived since. A request's id is made from its call, so a number stands for what was shown.

use jiff::{SignedDuration, Timestamp};
use murmur_core::permit::request::RequestId;
use serde::{Deserialize, Serialize};
use sys::error::Failure;
use sys::paths::DataDir;
use sys::unreadable::unwritable;
use sys::{failure, lock, versioned};

/// How long a number stays with its request after it was last shown.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// The longest number, in digits. Longer ones are beginnings of ids.
const DIGITS: usize = 4;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    requests: Vec<Numbered>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Numbered {
    number: u32,
    id: RequestId,
    /// When it was last shown.
    shown: Timestamp,
}

/// Gives each request of `ids` its number, or a new one, and returns them in this order.
///
/// # Errors
/// If the file can't be read or written: without it, a number could be given twice.
pub(super) fn give(dir: &DataDir, ids: &[&RequestId], now: Timestamp) -> Result<Vec<u32>, Failure> {
    let path = dir.inbox();
    let _lock = lock::lock(&dir.inbox_lock()).map_err(|error| unwritable(&path, &error))?;
    let mut contents = read(dir)?;
    let numbers = contents.give(ids, now);
    versioned::write(&path, &contents).map_err(|error| unwritable(&path, &error))?;
    Ok(numbers)
}

/// The request that `typed` is the number of; `None` if it is not a number.
pub(super) fn request(dir: &DataDir, typed: &str, now: Timestamp) -> Result<Option<RequestId>, Failure> {
    let is_number = typed.len() <= DIGITS && typed.bytes().all(|byte| byte.is_ascii_digit());
    let Some(number) = typed.parse::<u32>().ok().filter(|_| is_number) else { return Ok(None) };
    let known = read(dir)?.requests.into_iter().find(|known| known.number == number && !known.is_old(now));
    // Three digits may also begin an id, and there are rarely that many requests.
    if known.is_none() && typed.len() > 2 {
        return Ok(None);
    }
    let found = known.ok_or_else(|| failure!("no request has the number {number}"; "see: murmur inbox"))?;
    Ok(Some(found.id))
}

fn read(dir: &DataDir) -> Result<Contents, Failure> {
    let path = dir.inbox();
    let contents = versioned::read(&path).map_err(|error| {
        failure!("cannot read {}", path.display(); "use ids instead of numbers, and remove the file")
            .because(&error)
    })?;
    Ok(contents.unwrap_or_default())
}

impl Numbered {
    fn is_old(&self, now: Timestamp) -> bool {
        now.duration_since(self.shown) > KEPT
    }
}

impl Contents {
    fn give(&mut self, ids: &[&RequestId], now: Timestamp) -> Vec<u32> {
        self.requests.retain(|known| !known.is_old(now));
        let mut numbers = Vec::new();
        for id in ids {
            let next = self.requests.iter().map(|known| known.number).max().unwrap_or_default() + 1;
            match self.requests.iter_mut().find(|known| known.id == **id) {
                Some(known) => known.shown = now,
                None => self.requests.push(Numbered { number: next, id: (*id).clone(), shown: now }),
            }
            numbers.extend(self.requests.iter().find(|known| known.id == **id).map(|known| known.number));
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_given_to_another_request_while_it_may_be_remembered() {
        let id = |text: &str| RequestId::parse(text).unwrap();
        let (first, second, third) = (id("7ggs733k"), id("2zh73ph2"), id("k3v9x2ab"));
        let now: Timestamp = "2026-11-26T09:00:00Z".parse().unwrap();
        let later = |hours: i64| now + SignedDuration::from_hours(hours);
        let mut contents = Contents::default();
        assert_eq!(contents.give(&[&first, &second], now), [1, 2]);
        // The first was answered, and another one arrived.
        assert_eq!(contents.give(&[&third, &second], later(20)), [3, 2]);
        assert_eq!(contents.give(&[&third], later(40)), [3]);
        assert_eq!(contents.give(&[&first], later(41)), [4]);
        assert_eq!(contents.give(&[], later(99)), [0_u32; 0]);
        assert_eq!(contents.give(&[&second], later(100)), [1]);
    }
}
