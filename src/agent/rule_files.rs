//! The files of rules that hold for agents, from disk, and what is wrong with those that deny every call.

use crate::config::cron::Crons;
use crate::config::file::{self as config, FileError};
use crate::config::problem::Problem;
use crate::config::settings::Settings;
use crate::error::{Failure, Hinted};
use crate::failure;
use crate::permit::rules::Rules;
use crate::sys::file;
use crate::sys::paths::{DataDir, PathsError, SettingsDir, readable};
use jiff::tz::TimeZone;
use std::io;
use std::path::{Path, PathBuf};

/// One file of rules.
#[derive(Debug)]
pub struct File {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What is in it; none where it is not there.
    pub rules: Option<Rules>,
}

/// A project: what it is called, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name, for people; and by it rules are found that murmur kept by name.
    pub name: String,
    /// Its folder, by which its rules are found; none where only the name is known.
    pub folder: Option<PathBuf>,
}

impl Project {
    /// The project in `folder`.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        let name = readable(&folder.file_name().unwrap_or_default().to_string_lossy());
        Self { name, folder: Some(folder.to_owned()) }
    }

    /// The same by another name, if one is given.
    #[must_use]
    pub fn called(self, name: Option<&str>) -> Self {
        Self { name: name.map_or(self.name, str::to_owned), ..self }
    }

    /// The rules that were kept by its name, and hold for every project of that name, if there are any.
    ///
    /// # Errors
    /// The project has no usable name.
    pub fn by_name(&self, dir: &DataDir) -> Result<Option<PathBuf>, PathsError> {
        let path = dir.project_rules(&self.name)?;
        // What cannot be looked at may be there, and may forbid something.
        let is_there = path.symlink_metadata().map_or_else(
            |error| !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
            |_| true,
        );
        Ok(is_there.then_some(path))
    }
}

/// The folder of the project that `folder` is in: the innermost workspace around it, else itself.
///
/// # Errors
/// When config.json cannot be used.
pub fn project_folder(dir: &DataDir, folder: &Path) -> Result<PathBuf, FileError> {
    let file = config::File::read(&dir.config(), &Crons::new(TimeZone::UTC))?;
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let paths = file.workspaces.iter().filter_map(|entry| match entry {
        Ok(workspace) => Some(&*workspace.path),
        Err(bad) => bad.path.as_deref(),
    });
    let around = paths.filter_map(|path| path.canonicalize().ok()).filter(|path| real.starts_with(path));
    let innermost = around.max_by_key(|path| path.components().count());
    Ok(innermost.unwrap_or(real))
}

/// The files in the order in which they are looked at: those of the project, by its name and by its folder, and the user's
/// own. Files kept by name come first, so that what they deny stays denied.
///
/// # Errors
/// The project has no usable name.
pub fn files(dir: &DataDir, settings: &SettingsDir, project: &Project) -> Result<Vec<PathBuf>, PathsError> {
    let by_folder = project.folder.as_deref().map(|folder| dir.rules_of(folder));
    Ok(project.by_name(dir)?.into_iter().chain(by_folder).chain([settings.rules()]).collect())
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
pub fn check(dir: &DataDir, settings: &SettingsDir, project: &Project) -> Result<(), Failure> {
    let denied = |failure: Failure| failure.after("every call would be denied: ");
    let paths = files(dir, settings, project).map_err(|error| denied(error.failure()))?;
    read(paths).map(drop).map_err(|problem| denied(problem.failure()))
}

/// Why every call is denied: config.toml, the user's rules or a project's rules that are not readable.
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
        let problem = read_one(&dir.projects().join(&*name).join("permissions.toml")).err()?;
        Some(problem.failure().after(format_args!("every call in project {name} is denied: ")))
    });
    broken.collect()
}
