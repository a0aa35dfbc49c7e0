//! The files of rules that hold for agents, from disk, and what is wrong with those that deny every call.

use crate::config::problem::Problem;
use crate::config::settings::Settings;
use crate::error::{Failure, Hinted};
use crate::failure;
use crate::permit::rules::Rules;
use crate::sys::file;
use crate::sys::paths::{DataDir, PathsError, SettingsDir};
use std::path::{Path, PathBuf};

/// One file of rules.
#[derive(Debug)]
pub struct File {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What is in it; none where it is not there.
    pub rules: Option<Rules>,
}

/// The files in the order in which they are looked at: the project's, if there is one, and the user's own.
///
/// # Errors
/// That the project's name is none.
pub fn files(
    dir: &DataDir,
    settings: &SettingsDir,
    project: Option<&str>,
) -> Result<Vec<PathBuf>, PathsError> {
    let own = project.map(|project| dir.project_rules(project)).transpose()?;
    Ok(own.into_iter().chain([settings.rules()]).collect())
}

/// What is in the files at `paths`.
///
/// # Errors
/// What is wrong with one of them: then every call is denied.
pub fn read(paths: Vec<PathBuf>) -> Result<Vec<File>, Problem> {
    paths.into_iter().map(|path| Ok(File { rules: read_one(&path)?, path })).collect()
}

fn read_one(path: &Path) -> Result<Option<Rules>, Problem> {
    match file::read_regular(path) {
        Ok(Some(bytes)) => Rules::parse(&bytes, path).map(Some),
        Ok(None) => Ok(None),
        Err(error) => {
            Err(Problem::with(path, failure!("cannot be read ({error})"; "check its owner and mode")))
        }
    }
}

/// Checks that the rules can be read that hold in `project`.
///
/// # Errors
/// What is wrong with one of their files.
pub fn check(dir: &DataDir, settings: &SettingsDir, project: &str) -> Result<(), Failure> {
    let denied = |failure: Failure| failure.after("every call would be denied: ");
    let paths = files(dir, settings, Some(project)).map_err(|error| denied(error.failure()))?;
    read(paths).map(drop).map_err(|problem| denied(problem.failure()))
}

/// Why calls are denied, whatever they are: config.toml, the user's own rules and each project's, as far as they cannot be read.
#[must_use]
pub fn problems(dir: &DataDir, settings: &SettingsDir) -> Vec<Failure> {
    let own = Settings::read(&settings.settings()).err().map(|error| error.failure());
    let rules = read_one(&settings.rules()).err().map(|problem| problem.failure());
    let all = own.into_iter().chain(rules).map(|failure| failure.after("every call is denied: "));
    all.chain(of_projects(dir)).collect()
}

/// What is wrong with the rules of projects, by their names.
fn of_projects(dir: &DataDir) -> Vec<Failure> {
    let folders = std::fs::read_dir(dir.projects()).into_iter().flatten().flatten();
    let mut names: Vec<_> = folders.map(|entry| entry.file_name()).collect();
    names.sort();
    let broken = names.iter().filter_map(|name| {
        let name = name.to_string_lossy();
        // No agent has another.
        let problem = read_one(&dir.project_rules(&name).ok()?).err()?;
        Some(problem.failure().after(format_args!("every call in project {name} is denied: ")))
    });
    broken.collect()
}
