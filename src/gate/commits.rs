//! `{git: new-commits}`: whether the repository's HEAD has changed.
//!
//! git only resolves a reference here, which runs no program that a repository could name.

use super::program::{self, ProgramEnd};
use super::seen::GateMemory;
use super::{GateAnswer, GateContext, Problem, QUOTE, described};
use murmur_core::config::interval::Interval;
use sys::process::Exit;

pub(super) async fn ask(
    name: &str,
    context: &GateContext<'_>,
    limit: Interval,
    seen: &GateMemory,
    now: &mut GateMemory,
) -> Result<GateAnswer, Problem> {
    let git = program::find("git", context)?;
    // Quiet, it ends with 1 if there is no commit yet.
    let args = ["rev-parse", "--verify", "--quiet", "HEAD"];
    let finished = program::run(&git, &args, context, limit, None).await;
    match finished.ending {
        ProgramEnd::Exited(Exit::Code(0)) => {}
        ProgramEnd::Exited(Exit::Code(1)) => return Ok(GateAnswer::Skip("no commits yet".to_owned())),
        ProgramEnd::Stopped(after) => return Err(Problem::Stopped(after)),
        ending => {
            let (how, end) = (described(&ending, limit), finished.output.end(QUOTE));
            return Err(Problem::Failed(format!("git {how}: {end}").trim_end_matches(": ").to_owned()));
        }
    }
    let head = finished.output.text();
    let before = seen.commits.get(name);
    now.commits.insert(name.to_owned(), head.clone());
    Ok(match before {
        Some(before) if *before == head => GateAnswer::Skip("no new commits".to_owned()),
        Some(before) => GateAnswer::Pass(format!("HEAD was {before} and is {head}")),
        None => GateAnswer::Pass(format!("HEAD is {head}")),
    })
}
