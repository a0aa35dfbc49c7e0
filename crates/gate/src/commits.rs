//! `{git: new-commits}`: whether HEAD has commits that its branch did not have.
//!
//! Neither a reset nor another branch without new commits counts. git only reads references and commits here, which
//! runs no program that a repository could name.

use super::program::{self, ProgramEnd};
use super::seen::{Commits, GateMemory};
use super::{GateAnswer, GateContext, Problem, QUOTE, described};
use murmur_core::config::interval::Interval;
use sys::process::Exit;

/// The most branches to remember.
const MAX_BRANCHES: usize = 500;

pub(super) async fn ask(
    name: &str,
    context: &GateContext<'_>,
    limit: Interval,
    seen: &GateMemory,
    now: &mut GateMemory,
) -> Result<GateAnswer, Problem> {
    let Some(commits) = see(context, limit).await? else {
        return Ok(GateAnswer::Skip("no commits yet".to_owned()));
    };
    let before = seen.commits.get(name);
    let answer = match before {
        None => GateAnswer::Pass(format!("HEAD is {}", commits.head)),
        Some(before) if is_new(before, &commits, context, limit).await? => {
            GateAnswer::Pass(reason(before, &commits))
        }
        Some(_) => GateAnswer::Skip("no new commits".to_owned()),
    };
    now.commits.insert(name.to_owned(), commits);
    Ok(answer)
}

/// HEAD and the local branches; `None` without a commit.
pub(super) async fn see(context: &GateContext<'_>, limit: Interval) -> Result<Option<Commits>, Problem> {
    // Quiet, it ends with 1 if there is no commit yet.
    let Some(head) = git(&["rev-parse", "--verify", "--quiet", "HEAD"], context, limit).await? else {
        return Ok(None);
    };
    let mut commits = Commits { head, ..Commits::default() };
    let format = "--format=%(HEAD)%(objectname) %(refname:lstrip=2)";
    let count = format!("--count={MAX_BRANCHES}");
    let newest = "--sort=-committerdate";
    let branches = git(&["for-each-ref", format, &count, newest, "refs/heads"], context, limit).await?;
    for line in branches.unwrap_or_default().lines() {
        let Some((commit, branch)) = line.get(1..).and_then(|line| line.split_once(' ')) else { continue };
        commits.branches.insert(branch.to_owned(), commit.to_owned());
        if line.starts_with('*') {
            commits.branch = Some(branch.to_owned());
        }
    }
    Ok(Some(commits))
}

/// Whether HEAD has a commit that was in neither HEAD nor its branch (for a new branch: nor in any branch).
async fn is_new(
    before: &Commits,
    now: &Commits,
    context: &GateContext<'_>,
    limit: Interval,
) -> Result<bool, Problem> {
    if before.head == now.head {
        return Ok(false);
    }
    let mut args = vec!["rev-list", "--max-count=1", "--ignore-missing", "HEAD", "--not"];
    args.extend(known(before, now));
    Ok(git(&args, context, limit).await?.is_none_or(|new| !new.is_empty()))
}

/// The commits whose history isn't new.
fn known<'a>(before: &'a Commits, now: &Commits) -> Vec<&'a str> {
    let last = now.branch.as_ref().and_then(|branch| before.branches.get(branch));
    let all = before.branches.values().filter(|_| last.is_none());
    std::iter::once(&before.head).chain(last).chain(all).map(|commit| &**commit).collect()
}

/// What the agent is told.
fn reason(before: &Commits, now: &Commits) -> String {
    let last = now.branch.as_ref().and_then(|branch| before.branches.get(branch)).unwrap_or(&before.head);
    // Others may have committed during the last beat, too.
    let begun = before.begun.as_ref().filter(|_| *last == before.head);
    let begun = begun.map(|begun| format!(" ({begun} before the last beat)")).unwrap_or_default();
    format!("HEAD was {last}{begun} and is {}", now.head)
}

/// What git prints; `None` if it exits with 1.
async fn git(args: &[&str], context: &GateContext<'_>, limit: Interval) -> Result<Option<String>, Problem> {
    let git = program::find("git", context)?;
    // Without it, git could fetch what a partial clone lacks.
    let args = [&["-c", "protocol.allow=never"], args].concat();
    let finished = program::run(&git, &args, context, limit, None).await;
    match finished.ending {
        ProgramEnd::Exited(Exit::Code(0)) => Ok(Some(finished.output.text())),
        ProgramEnd::Exited(Exit::Code(1)) => Ok(None),
        ProgramEnd::Stopped(after) => Err(Problem::Stopped(after)),
        ending => {
            let (how, end) = (described(&ending, limit), finished.output.end(QUOTE));
            Err(Problem::Failed(format!("git {how}: {end}").trim_end_matches(": ").to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(head: &str, branch: Option<&str>, branches: &[(&str, &str)]) -> Commits {
        let branches =
            branches.iter().map(|(name, commit)| ((*name).to_owned(), (*commit).to_owned())).collect();
        Commits { head: head.to_owned(), begun: None, branch: branch.map(str::to_owned), branches }
    }

    #[test]
    fn a_branch_is_compared_with_itself_and_an_unknown_one_with_all() {
        let before = at("m1", Some("main"), &[("main", "m1"), ("topic", "t1")]);
        for (now, expected) in [
            (at("m2", Some("main"), &[]), vec!["m1", "m1"]),
            (at("t1", Some("topic"), &[]), vec!["m1", "t1"]),
            (at("n1", Some("new"), &[]), vec!["m1", "m1", "t1"]),
            (at("d1", None, &[]), vec!["m1", "m1", "t1"]),
        ] {
            assert_eq!(known(&before, &now), expected, "{now:?}");
        }
        let moved = Commits { begun: Some("m0".to_owned()), ..before };
        for (now, expected) in [
            (at("m2", Some("main"), &[]), "HEAD was m1 (m0 before the last beat) and is m2"),
            (at("t2", Some("topic"), &[]), "HEAD was t1 and is t2"),
            (at("n1", Some("new"), &[]), "HEAD was m1 (m0 before the last beat) and is n1"),
        ] {
            assert_eq!(reason(&moved, &now), expected);
        }
    }
}
