//! Command lines on Windows, and errors of starting one.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// A program and its arguments.
#[derive(Debug)]
pub struct CommandLine {
    program: OsString,
    arguments: Vec<OsString>,
}

impl CommandLine {
    /// Creates a command line from a program and its arguments.
    ///
    /// # Errors
    /// Fails if there is no program or an argument contains a NUL.
    pub fn new(words: &[OsString]) -> io::Result<Self> {
        let has_zero = |word: &OsString| word.as_encoded_bytes().contains(&0);
        match words {
            [program, arguments @ ..] if !program.is_empty() && !words.iter().any(has_zero) => {
                Ok(Self { program: program.clone(), arguments: arguments.to_vec() })
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Its arguments.
    #[must_use]
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// Resolves the program's file: the given path, or the first match on PATH, with PATHEXT's extensions if it
    /// has none. Unlike cmd.exe, does not search the current folder.
    pub fn file(&self) -> Result<PathBuf, NotStarted> {
        let named = PathBuf::from(&self.program);
        let is_place = named.components().count() > 1 || named.is_absolute() || named.has_root();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = if is_place { vec![PathBuf::new()] } else { std::env::split_paths(&path).collect() };
        let endings = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".to_owned());
        for folder in folders {
            let whole = folder.join(&named);
            if named.extension().is_some() && whole.is_file() {
                return Ok(whole);
            }
            for ending in endings.split(';').filter(|ending| ending.starts_with('.')) {
                let mut ended = whole.clone().into_os_string();
                ended.push(ending);
                let ended = PathBuf::from(ended);
                if ended.is_file() {
                    return Ok(ended);
                }
            }
        }
        Err(NotStarted::Command(io::ErrorKind::NotFound.into()))
    }
}

/// The reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The command doesn't exist or is not executable.
    #[error(transparent)]
    Command(io::Error),
    /// The system failed to start a process.
    #[error("cannot start a process")]
    Trouble(#[source] io::Error),
}
