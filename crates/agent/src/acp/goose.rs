//! Plugins in a repository (`.agents/plugins`): goose starts their hooks and MCP servers without asking, and notes the
//! plugins as enabled in the user's settings (measured on 1.52.0). murmur disables them with a variable that replaces
//! the setting, and repeats there what the user's settings say about other plugins.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::{failure, file};

/// The variable that says which plugins are enabled, by their folders.
pub(super) const PLUGINS: &str = "PLUGINS";

/// The folder of plugins, in a repository and in the user's home.
const FOLDER: &str = ".agents/plugins";

/// Where the user's plugins and settings are.
#[derive(Debug)]
pub(super) struct UserFiles {
    plugins: PathBuf,
    settings: PathBuf,
}

impl UserFiles {
    /// The plugins and settings of the user with this `home`, given goose's variables.
    pub(super) fn new(home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let root = variable("GOOSE_PATH_ROOT");
        let config = match (&root, variable("XDG_CONFIG_HOME")) {
            (Some(root), _) => root.join("config"),
            (None, xdg) => xdg.unwrap_or_else(|| home.join(".config")).join("goose"),
        };
        Self { plugins: root.as_deref().unwrap_or(home).join(FOLDER), settings: config.join("config.yaml") }
    }
}

/// What goose's settings say about a plugin.
#[derive(Debug, Deserialize, Serialize)]
struct Plugin {
    enabled: bool,
}

/// goose's settings about plugins, by their folders.
#[derive(Debug, Default, Deserialize)]
struct Settings {
    #[serde(default)]
    plugins: BTreeMap<String, Plugin>,
}

/// The value of [`PLUGINS`] for an agent in `workspace`; `None` if there is nothing to disable.
///
/// # Errors
/// If the user has plugins, and it is unknown which of them are enabled.
pub(super) fn disabled(workspace: &Path, user: &UserFiles) -> Result<Option<String>, Failure> {
    let own = plugins(&workspace.join(FOLDER));
    if own.is_empty() {
        return Ok(None);
    }
    let mut all = BTreeMap::new();
    let users = plugins(&user.plugins);
    if !users.is_empty() {
        all = settings(&user.settings)?.plugins;
        for plugin in users {
            // goose enables what it doesn't know.
            all.entry(plugin.to_string_lossy().into_owned()).or_insert(Plugin { enabled: true });
        }
    }
    let real: Vec<PathBuf> = own.iter().filter_map(|plugin| plugin.canonicalize().ok()).collect();
    let names = real.iter().chain(&own).map(|plugin| plugin.to_string_lossy().into_owned());
    all.extend(names.map(|name| (name, Plugin { enabled: false })));
    Ok(serde_json::to_string(&all).ok())
}

fn settings(path: &Path) -> Result<Settings, Failure> {
    let wrong = || {
        failure!(
            "cannot read which plugins {} enables", path.display();
            "fix the file, or set PLUGINS in env of [acp.goose] in config.toml"
        )
    };
    let Some(bytes) = file::read_regular(path).map_err(|error| wrong().because(&error))? else {
        return Ok(Settings::default());
    };
    let text = String::from_utf8_lossy(&bytes);
    serde_saphyr::from_str(&text).map_err(|error| wrong().because(&error))
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

    fn plugin(folder: &Path, name: &str) -> String {
        let path = folder.join(FOLDER).join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap().display().to_string()
    }

    #[test]
    fn plugins_of_a_repository_are_disabled_and_the_users_are_as_in_their_settings() {
        let [site, home] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (site, home) = (site.path().canonicalize().unwrap(), home.path().canonicalize().unwrap());
        let user = UserFiles::new(&home, |_| None);
        let disabled = || disabled(&site, &user);
        assert_eq!(disabled().unwrap(), None);
        let [one, two] = ["one", "two"].map(|name| plugin(&site, name));
        let both = format!(r#""{one}":{{"enabled":false}},"{two}":{{"enabled":false}}"#);
        assert_eq!(disabled().unwrap(), Some(format!("{{{both}}}")));

        let [mine, off] = ["mine", "off"].map(|name| plugin(&home, name));
        let of = |value: &Option<String>| -> BTreeMap<String, bool> {
            let all: BTreeMap<String, Plugin> = serde_json::from_str(value.as_deref().unwrap()).unwrap();
            all.into_iter().map(|(name, plugin)| (name, plugin.enabled)).collect()
        };
        let no_settings = [(&mine, true), (&off, true), (&one, false), (&two, false)];
        assert_eq!(of(&disabled().unwrap()), no_settings.map(|(name, is)| (name.clone(), is)).into());
        std::fs::create_dir_all(user.settings.parent().unwrap()).unwrap();
        let text = format!(
            "GOOSE_MODEL: m\nextensions:\n  a: {{ x: [1] }}\nplugins:\n  {off}:\n    enabled: false\n  {one}:\n    enabled: true\n"
        );
        std::fs::write(&user.settings, text).unwrap();
        let with_settings = [(&mine, true), (&off, false), (&one, false), (&two, false)];
        assert_eq!(of(&disabled().unwrap()), with_settings.map(|(name, is)| (name.clone(), is)).into());

        std::fs::write(&user.settings, "plugins: [").unwrap();
        let error = disabled().unwrap_err().line();
        assert!(error.starts_with("cannot read which plugins ") && error.contains("[acp.goose]"), "{error}");
    }

    #[test]
    fn gooses_variables_move_its_files() {
        let files = |set: &[(&str, &str)]| {
            let found = UserFiles::new(Path::new("/home/u"), |wanted| {
                set.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.into())
            });
            [found.plugins, found.settings].map(|path| path.display().to_string())
        };
        assert_eq!(files(&[]), ["/home/u/.agents/plugins", "/home/u/.config/goose/config.yaml"]);
        let xdg = ("XDG_CONFIG_HOME", "/x");
        assert_eq!(files(&[xdg]), ["/home/u/.agents/plugins", "/x/goose/config.yaml"]);
        let root = ("GOOSE_PATH_ROOT", "/r");
        assert_eq!(files(&[xdg, root]), ["/r/.agents/plugins", "/r/config/config.yaml"]);
    }
}
