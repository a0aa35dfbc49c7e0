//! Plugins in a repository (`.agents/plugins`), whose hooks and MCP servers goose starts without asking, and then notes as
//! enabled in the user's settings (measured on 1.52.0). murmur disables them with a variable that replaces these settings.

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::failure;

/// The variable that says which plugins are enabled, by their folders.
pub(super) const PLUGINS: &str = "PLUGINS";

/// The folder of plugins, in a repository and in the user's home.
const FOLDER: &str = ".agents/plugins";

/// The value of [`PLUGINS`] for an agent in `workspace`, for the user with this `home`; `None` if there is nothing to disable.
///
/// # Errors
/// If the user has plugins, too: they would be enabled although the user's settings may disable them.
pub(super) fn disabled(workspace: &Path, home: &Path) -> Result<Option<String>, Failure> {
    let folder = workspace.join(FOLDER);
    let plugins = plugins(&folder);
    if plugins.is_empty() {
        return Ok(None);
    }
    if !self::plugins(&home.join(FOLDER)).is_empty() {
        return Err(failure!(
            "goose would start plugins in {}, before murmur decides on anything", folder.display();
            "say in config.toml which plugins it may use, such as: [acp.goose] env = {{ PLUGINS = '{{\"{}\":{{\"enabled\":false}}}}' }}",
            plugins[0].display()
        ));
    }
    let real = plugins.iter().filter_map(|plugin| plugin.canonicalize().ok());
    let all = real.chain(plugins.iter().cloned());
    let entries: Map<String, Value> =
        all.map(|plugin| (plugin.to_string_lossy().into_owned(), json!({ "enabled": false }))).collect();
    Ok(Some(Value::from(entries).to_string()))
}

/// The folders in `folder`, in order.
fn plugins(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_of_a_repository_are_disabled_unless_the_user_has_some() {
        let [site, home] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let plugin = |folder: &Path, name: &str| {
            let path = folder.join(FOLDER).join(name);
            std::fs::create_dir_all(&path).unwrap();
            path.canonicalize().unwrap().display().to_string()
        };
        assert_eq!(disabled(site.path(), home.path()).unwrap(), None);
        let [one, two] = ["one", "two"].map(|name| plugin(site.path(), name));
        let expected = format!(r#"{{"{one}":{{"enabled":false}},"{two}":{{"enabled":false}}}}"#);
        assert_eq!(disabled(site.path(), home.path()).unwrap(), Some(expected));
        plugin(home.path(), "mine");
        let error = disabled(site.path(), home.path()).unwrap_err().line();
        assert!(error.contains("goose would start plugins in ") && error.contains(&one), "{error}");
    }
}
