//! `{git: new-commits}`: whether the repository's HEAD is another commit than before.
//!
//! git only resolves a reference here, which runs no program that a repository could name.

use super::program::{self, Ending};
use super::seen::Seen;
use super::{Answer, Place, Problem, QUOTE, Told, described};
use murmur_core::config::interval::Interval;
use sys::process::Exit;

pub(super) async fn ask(
    name: &str,
    place: &Place<'_>,
    limit: Interval,
    seen: &Seen,
    now: &mut Seen,
) -> Result<Answer, Problem> {
    let git = program::find("git", place)?;
    let args = ["rev-parse", "--verify", "HEAD"];
    let finished = program::run(&git, &args, place, limit).await;
    match finished.ending {
        Ending::Exited(Exit::Code(0)) => {}
        Ending::Stopped(after) => return Err(Problem::Stopped(after)),
        ending => {
            let (how, end) = (described(&ending, limit), finished.output.end(QUOTE));
            return Err(Problem::Failed(format!("git {how}: {end}").trim_end_matches(": ").to_owned()));
        }
    }
    let head = finished.output.text();
    let before = seen.commits.get(name);
    now.commits.insert(name.to_owned(), head.clone());
    Ok(match before {
        Some(before) if *before == head => Answer::Skip("no new commits".to_owned()),
        Some(before) => {
            Answer::Pass(Told { gate: name.to_owned(), text: format!("HEAD was {before} and is {head}") })
        }
        None => Answer::Pass(Told { gate: name.to_owned(), text: format!("HEAD is {head}") }),
    })
}
