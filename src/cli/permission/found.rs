//! The files that say what an agent may do: where they are, and what is in those that are there.

use super::super::place::Place;
use crate::config::problem::Problem;
use crate::permit::rules::Rules;
use std::io;
use std::path::{Path, PathBuf};

/// One file of rules.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// None where it is not there.
    pub(super) rules: Option<Rules>,
}

/// The files in the order in which they are looked at: the project's, if there is one, and the user's own.
pub(super) fn files(project: Option<&str>, place: &Place) -> anyhow::Result<Vec<PathBuf>> {
    let own = project.map(str::to_owned).or_else(|| place.project());
    let mut paths = Vec::new();
    if let Some(project) = own {
        paths.push(place.data_dir()?.project_rules(&project)?);
    }
    paths.push(place.settings_dir()?.rules());
    Ok(paths)
}

/// What is in them.
pub(super) fn read(paths: Vec<PathBuf>) -> Result<Vec<File>, Problem> {
    paths
        .into_iter()
        .map(|path| match std::fs::read(&path) {
            Ok(bytes) => Ok(File { rules: Some(Rules::parse(&bytes, &path)?), path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(File { path, rules: None }),
            Err(error) => Err(unreadable(&path, &error)),
        })
        .collect()
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::with(path, format!("cannot be read ({error}); check its owner and mode"))
}
