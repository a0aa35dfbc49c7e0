//! Keeps Codex from trusting a folder by itself.
//!
//! Codex reads a folder's own settings (`.codex/config.toml`), whose MCP servers it starts without asking, if the user's
//! settings say that the folder is trusted. With a sandbox that may write, its app-server notes that there for every folder in
//! which a conversation starts (measured on 0.169.0). So for a folder on which the user has not decided, murmur says with
//! `-c` that it isn't trusted. Without a sandbox mode nothing is noted, and the option would replace `read-only` by
//! `workspace-write`.

use super::hooks::toml as quoted;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::{failure, file};
use toml::Table;

/// The settings of all users.
const SHARED: &str = "/etc/codex/config.toml";

/// The value of `-c` for an agent in `cwd` with these other arguments, unless the settings of the user with this `home`, or
/// with this `CODEX_HOME`, make it unnecessary.
///
/// # Errors
/// If settings are unreadable, or if the path of `cwd` is not UTF-8.
pub(super) fn option(
    home: &Path,
    codex_home: Option<PathBuf>,
    args: &[String],
    cwd: &Path,
) -> Result<Option<String>, Failure> {
    let own = codex_home.unwrap_or_else(|| home.join(".codex")).join("config.toml");
    let mut files = Vec::new();
    for path in [PathBuf::from(SHARED), own] {
        let bytes = file::read_regular(&path).map_err(|error| {
            failure!("cannot read {}", path.display()).or_hint(error.hint()).because(&error)
        })?;
        // Codex reports a file that is no TOML itself.
        files.extend(bytes.and_then(|bytes| String::from_utf8_lossy(&bytes).parse::<Table>().ok()));
    }
    let decides = |folder: &Path| files.iter().any(|settings| is_decided(settings, folder));
    let has_sandbox = args.iter().any(|arg| arg.contains("sandbox")) || files.iter().any(names_a_sandbox);
    if !has_sandbox || decides(cwd) || repository(cwd).is_some_and(|root| decides(&root)) {
        return Ok(None);
    }
    let folder = cwd.to_str().ok_or_else(
        || failure!("{} is not UTF-8, which Codex's settings require", cwd.display(); "use another path"),
    )?;
    Ok(Some(format!("projects={{{}={{trust_level=\"untrusted\"}}}}", quoted(folder))))
}

/// Whether these settings say if `folder` is trusted.
fn is_decided(settings: &Table, folder: &Path) -> bool {
    let projects = settings.get("projects").and_then(|projects| projects.as_table());
    projects
        .into_iter()
        .flatten()
        .any(|(path, project)| Path::new(path) == folder && project.get("trust_level").is_some())
}

/// Whether these settings choose a sandbox, in any profile.
fn names_a_sandbox(settings: &Table) -> bool {
    let profiles = settings.get("profiles").and_then(|profiles| profiles.as_table());
    settings.contains_key("sandbox_mode")
        || profiles.into_iter().flatten().any(|(_, profile)| profile.get("sandbox_mode").is_some())
}

/// The folder by which Codex knows the repository that contains `folder`: that of the main worktree.
fn repository(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let link = std::fs::read_to_string(root.join(".git")).unwrap_or_default();
    let git = link.strip_prefix("gitdir:").map(|path| root.join(path.trim()));
    let main = git.as_deref().and_then(|git| git.ancestors().find(|folder| folder.ends_with(".git")));
    Some(main.and_then(Path::parent).unwrap_or(root).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The option for a worktree of a repository with these settings and arguments. `REPO` and `HERE` stand for both.
    fn of(settings: &str, args: &[&str]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("repo/.git/worktrees/here")).unwrap();
        fs::create_dir_all(at("here/site")).unwrap();
        fs::create_dir_all(at("codex")).unwrap();
        fs::write(at("here/.git"), format!("gitdir: {}\n", at("repo/.git/worktrees/here").display()))
            .unwrap();
        let cwd = at("here/site");
        let settings =
            settings.replace("HERE", cwd.to_str().unwrap()).replace("REPO", at("repo").to_str().unwrap());
        fs::write(at("codex/config.toml"), settings).unwrap();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let found = option(&at("home"), Some(at("codex")), &args, &cwd).unwrap();
        if let Some(value) = &found {
            let expected: Table = value.parse().unwrap();
            assert_eq!(
                expected["projects"][cwd.to_str().unwrap()]["trust_level"].as_str(),
                Some("untrusted")
            );
        }
        found.is_some()
    }

    #[test]
    fn only_a_decision_of_the_user_makes_a_folder_trusted() {
        for (settings, args, expected) in [
            ("", &[][..], false),
            ("model = \"x\"", &[], false),
            ("model = \"x\"", &["-c", "sandbox_mode=\"workspace-write\""], true),
            ("sandbox_mode = \"danger-full-access\"", &[], true),
            ("[profiles.night]\nsandbox_mode = \"workspace-write\"", &[], true),
            ("sandbox_mode = \"workspace-write\"\n[projects.\"/\"]\ntrust_level = \"trusted\"", &[], true),
            (
                "sandbox_mode = \"workspace-write\"\n[projects.\"HERE\"]\ntrust_level = \"trusted\"",
                &[],
                false,
            ),
            (
                "sandbox_mode = \"workspace-write\"\n[projects.\"REPO\"]\ntrust_level = \"untrusted\"",
                &[],
                false,
            ),
            ("sandbox_mode = \"workspace-write\"\n[projects.\"HERE\"]\n", &[], true),
        ] {
            assert_eq!(of(settings, args), expected, "{settings:?} {args:?}");
        }
    }
}
