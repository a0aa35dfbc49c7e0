//! Finds an agent's program. Services start without the user's PATH, so this asks the login shell for it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use sys::error::Hinted;
use sys::{process, shell};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::Instant;

/// The program of Claude Code.
pub const CLAUDE: &str = "claude";

/// An agent's program can't be started.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FindError {
    /// No folder on PATH has it.
    #[error("{program} not found on PATH ({})", .path.display())]
    Missing {
        /// The program's name.
        program: String,
        /// The PATH that was searched.
        path: PathBuf,
    },
    /// The file exists but is not executable.
    #[error("{} is not executable", .file.display())]
    NotExecutable {
        /// The file.
        file: PathBuf,
    },
}

impl Hinted for FindError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing { program, .. } => {
                let program = if program == CLAUDE { "Claude Code" } else { program };
                format!("install {program}, or add its folder to the PATH of your login shell")
            }
            Self::NotExecutable { file, .. } => format!("run: chmod +x {}", shell::path(file)),
        })
    }
}

/// Returns the first executable file called `program` in the folders of `path`. Skips relative folders.
///
/// # Errors
/// [`FindError::NotExecutable`] if only files that are not executable were found.
pub fn find(program: &str, path: &OsStr) -> Result<PathBuf, FindError> {
    let mut not_executable = None;
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let file = folder.join(program);
        if !file.is_file() {
            continue;
        }
        if rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_ok() {
            return Ok(file);
        }
        not_executable.get_or_insert(file);
    }
    Err(match not_executable {
        Some(file) => FindError::NotExecutable { file },
        None => FindError::Missing { program: program.to_owned(), path: PathBuf::from(path) },
    })
}

/// Returns the PATH to find and run the agent with: the login shell's, followed by the folders that only `own` has.
///
/// Tries a login shell first; if its PATH has no `program`, tries an interactive one as well, since many users set PATH
/// in files that only those read. Ignores a shell that fails or doesn't answer within `deadline`; without an answer the
/// result is `own`.
pub async fn login_path(program: &str, shell: &Path, own: &OsStr, deadline: Duration) -> OsString {
    let mut best = joined(OsStr::new(""), own);
    let end = Instant::now() + deadline;
    for flags in ["-lc", "-lic"] {
        if let Some(path) = ask_shell(shell, flags, end).await {
            best = joined(&path, own);
            if find(program, &path).is_ok() {
                break;
            }
        }
    }
    best
}

/// Marks the answer in the output of a login shell, which may print other text.
const MARKER: &str = "__murmur_path__";

/// Runs `shell` once, and kills whatever it started.
async fn ask_shell(shell: &Path, flags: &str, end: Instant) -> Option<OsString> {
    // The shell prints the variable itself, so that no program on the user's PATH runs.
    let script = format!("printf '{MARKER}%s{MARKER}' \"$PATH\"");
    let mut command = Command::new(shell);
    command.args([flags, &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    process::bind_to_us(&mut command);
    let mut child = command.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let mut output = Vec::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
            output.extend_from_slice(&buffer[..count]);
            if output.len() > 1 << 20 || between_markers(&output).is_some() {
                break;
            }
        }
    };
    let _timed_out = tokio::time::timeout_at(end, reading).await;
    if let Some(pid) = child.id() {
        process::signal_group(pid, rustix::process::Signal::KILL);
    }
    let _status = child.wait().await;
    between_markers(&output).filter(|path| !path.is_empty()).map(|path| OsString::from_vec(path.to_vec()))
}

fn between_markers(output: &[u8]) -> Option<&[u8]> {
    let start = memchr::memmem::find(output, MARKER.as_bytes())? + MARKER.len();
    let end = memchr::memmem::find(&output[start..], MARKER.as_bytes())?;
    output.get(start..start + end)
}

/// The folders of `first`, then those that only `second` has. Leaves out folders whose names are not UTF-8: they can't
/// be passed on to a beat's process.
fn joined(first: &OsStr, second: &OsStr) -> OsString {
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(first).chain(std::env::split_paths(second)) {
        if folder.to_str().is_some_and(|name| !name.is_empty()) && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    std::env::join_paths(folders).unwrap_or_else(|_| first.to_os_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn executable(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_file_that_is_not_executable_is_named_only_if_there_is_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        std::fs::create_dir_all(&one).unwrap();
        std::fs::create_dir_all(&two).unwrap();
        std::fs::write(one.join(CLAUDE), "").unwrap();
        let path = std::env::join_paths([&one, &two]).unwrap();
        assert_eq!(find(CLAUDE, &path), Err(FindError::NotExecutable { file: one.join(CLAUDE) }));
        executable(&two.join(CLAUDE), "");
        assert_eq!(find(CLAUDE, &path), Ok(two.join(CLAUDE)));
        let missing = find("goose", OsStr::new("/nonexistent")).unwrap_err();
        assert_eq!(
            missing.line(),
            "goose not found on PATH (/nonexistent); install goose, or add its folder to the PATH of your login shell"
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_chatty_login_shell_is_understood_and_own_folders_come_last() {
        let folder = tempfile::tempdir().unwrap();
        let shell = folder.path().join("shell");
        executable(&shell, "#!/bin/sh\necho welcome\nPATH=/from/login:/usr/bin\neval \"$2\"\necho bye\n");
        let path = login_path(CLAUDE, &shell, OsStr::new("/usr/bin:/own"), Duration::from_secs(60)).await;
        assert_eq!(path, "/from/login:/usr/bin:/own");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_login_shell_that_is_broken_or_hangs_is_ignored() {
        let own = OsStr::new("/own");
        assert_eq!(login_path(CLAUDE, Path::new("/nonexistent"), own, Duration::from_secs(60)).await, own);
        let folder = tempfile::tempdir().unwrap();
        let shell = folder.path().join("shell");
        executable(&shell, "#!/bin/sh\nkill -STOP $$\n");
        assert_eq!(login_path(CLAUDE, &shell, own, Duration::from_millis(50)).await, own);
    }
}
