//! Reads the rules that apply to agents, and reports the files whose errors deny every call.

use jiff::tz::TimeZone;
use murmur_core::config::cron::Crons;
use murmur_core::config::file::{self as config, FileError};
use murmur_core::config::problem::Problem;
use murmur_core::config::settings::Settings;
use murmur_core::permit::rules::Rules;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::file::{self, real_path};
use sys::paths::{DataDir, PathsError, SettingsDir, readable};
use sys::unreadable::uncommon;

/// A file of rules.
#[derive(Debug)]
pub struct RulesFile {
    /// Its path, whether it exists or not.
    pub path: PathBuf,
    /// Its rules; `None` if it doesn't exist.
    pub rules: Option<Rules>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name, for people; also used to find rules stored by name.
    pub name: String,
    /// Its folder, used to find its rules, without links; `None` if only the name is known.
    pub folder: Option<PathBuf>,
}

impl Project {
    /// The project in `folder`.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self::at(folder, real_path(folder).as_deref().unwrap_or(folder))
    }

    /// The project in `folder`, whose path without links is `real`.
    #[must_use]
    pub fn at(folder: &Path, real: &Path) -> Self {
        let name = readable(&folder.file_name().unwrap_or_default().to_string_lossy());
        Self { name, folder: Some(real.to_owned()) }
    }

    /// The same project with another name, if one is given.
    #[must_use]
    pub fn with_name(self, name: Option<&str>) -> Self {
        Self { name: name.map_or(self.name, str::to_owned), ..self }
    }

    /// The rules stored by its name, which apply to every project of that name, if there are any.
    ///
    /// Fails if the project's name is not usable.
    pub fn by_name(&self, dir: &DataDir) -> Result<Option<PathBuf>, PathsError> {
        let path = dir.project_rules(&self.name)?;
        // A file that can't be accessed may exist and deny something.
        let is_there = path.symlink_metadata().map_or_else(
            |error| !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
            |_| true,
        );
        Ok(is_there.then_some(path))
    }
}

/// Returns the folder of the project that `folder` is in: the innermost workspace around it, or else itself.
pub fn project_folder(dir: &DataDir, folder: &Path) -> Result<PathBuf, FileError> {
    let file = config::File::read(&dir.config(), &Crons::new(TimeZone::UTC))?;
    let real = real_path(folder).unwrap_or_else(|_| folder.to_owned());
    let paths = file.workspaces.iter().filter_map(|entry| match entry {
        Ok(workspace) => Some(&*workspace.path),
        Err(bad) => bad.path.as_deref(),
    });
    let around = paths.filter_map(|path| path.canonicalize().ok()).filter(|path| real.starts_with(path));
    let innermost = around.max_by_key(|path| path.components().count());
    Ok(innermost.unwrap_or(real))
}

/// The files in the order in which they apply: the project's, by its name and by its folder, then the user's. Files
/// stored by name come first, so that their denials take precedence.
pub fn files(dir: &DataDir, settings: &SettingsDir, project: &Project) -> Result<Vec<PathBuf>, PathsError> {
    let by_folder = project.folder.as_deref().map(|folder| dir.rules_at(folder));
    Ok(project.by_name(dir)?.into_iter().chain(by_folder).chain([settings.rules()]).collect())
}

/// Reads the files at `paths`. If one is not readable, every call is denied.
pub fn read(paths: Vec<PathBuf>) -> Result<Vec<RulesFile>, Problem> {
    paths.into_iter().map(|path| Ok(RulesFile { rules: read_one(&path)?, path })).collect()
}

fn read_one(path: &Path) -> Result<Option<Rules>, Problem> {
    match file::read_regular(path) {
        Ok(Some(bytes)) => Rules::parse(&bytes, path).map(Some),
        Ok(None) => Ok(None),
        Err(error) => {
            let hint = uncommon(path, &error).unwrap_or_else(|| "check its owner and mode".to_owned());
            Err(Problem::with(path, failure!("not readable: {error}"; "{hint}")))
        }
    }
}

/// Checks that the rules of `project` are readable.
pub fn check(dir: &DataDir, settings: &SettingsDir, project: &Project) -> Result<(), Failure> {
    let denied = |failure: Failure| failure.after("every call would be denied: ");
    let paths = files(dir, settings, project).map_err(|error| denied(error.failure()))?;
    read(paths).map(drop).map_err(|problem| denied(problem.failure()))
}

/// The problems because of which every call is denied: a config.toml or rules that are not readable.
#[must_use]
pub fn problems(dir: &DataDir, settings: &SettingsDir) -> Vec<Failure> {
    let own = Settings::read(&settings.settings()).err().map(|error| error.all());
    let rules = read_one(&settings.rules()).err().map(|problem| problem.failures());
    let all = own.into_iter().chain(rules).flatten();
    all.map(|failure| failure.after("every call is denied: ")).chain(of_projects(dir)).collect()
}

/// The problems with the rules of projects, sorted by name.
fn of_projects(dir: &DataDir) -> Vec<Failure> {
    let folders = std::fs::read_dir(dir.projects()).into_iter().flatten().flatten();
    let mut names: Vec<_> = folders.map(|entry| entry.file_name()).collect();
    names.sort();
    let broken = names.iter().flat_map(|name| {
        let name = name.to_string_lossy();
        let problem = read_one(&dir.projects().join(&*name).join("permissions.toml")).err();
        let failures = problem.map(|problem| problem.failures()).unwrap_or_default();
        let denied = format!("every call in project {name} is denied: ");
        failures.into_iter().map(move |failure| failure.after(&denied))
    });
    broken.collect()
}
