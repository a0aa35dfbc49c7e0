//! A repository's instructions for OpenCode, and what the user's own settings of OpenCode deny. murmur runs OpenCode's
//! agent `build` and has it ask about every tool. That would replace these denials, and those of another agent that the
//! user chose, so a call that the user forbade could be allowed. If there are any, the agent is not started.

use super::program::{OPENCODE_AGENT, OPENCODE_SETTINGS};
use serde_json::Value;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::{failure, file};

/// The files in OpenCode's folder that may have settings.
const FILES: [&str; 3] = ["config.json", "opencode.json", "opencode.jsonc"];

/// The names of a repository's instructions.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The tools that murmur denies as well.
const DENIED_ANYWAY: [&str; 2] = ["task", "question"];

/// The settings files of the user with this home folder, given the variables `XDG_CONFIG_HOME` and `OPENCODE_CONFIG`.
pub(super) fn files(home: &Path, xdg: Option<PathBuf>, named: Option<PathBuf>) -> Vec<PathBuf> {
    let folder = xdg.unwrap_or_else(|| home.join(".config")).join("opencode");
    FILES.iter().map(|name| folder.join(name)).chain(named).collect()
}

/// The instruction files for an agent in `workspace`, up to the root of its repository: those of the first name that
/// there are. OpenCode reads them itself only if it also reads the repository's settings, which can start programs.
pub(super) fn instructions(workspace: &Path) -> Vec<String> {
    instructions_in(workspace.ancestors())
}

/// The same for a workspace with these folders at and above it, nearest first.
fn instructions_in<'a>(folders: impl Iterator<Item = &'a Path> + Clone) -> Vec<String> {
    let is_root = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
    let depth = folders.clone().position(is_root).unwrap_or_default();
    let files = |name: &str| -> Vec<String> {
        let all = folders.clone().take(depth + 1).map(|folder| folder.join(name));
        all.filter(|file| file.is_file()).map(|file| file.to_string_lossy().into_owned()).collect()
    };
    INSTRUCTIONS.into_iter().map(files).find(|files| !files.is_empty()).unwrap_or_default()
}

/// The settings in [`OPENCODE_SETTINGS`], to which murmur adds its own.
///
/// # Errors
/// If they are not a JSON object. OpenCode would also read comments and trailing commas.
pub(super) fn settings(text: Option<&str>) -> Result<Value, Failure> {
    let hint = "write it without comments and trailing commas, or set OPENCODE_CONFIG to a file with it";
    match serde_json::from_str(text.unwrap_or("{}")) {
        Ok(Value::Object(settings)) => Ok(Value::Object(settings)),
        Ok(_) => Err(failure!("{OPENCODE_SETTINGS} is not a JSON object").hint(hint)),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            Err(failure!("{OPENCODE_SETTINGS}:{line}:{column}: this is not JSON").hint(hint))
        }
    }
}

/// Checks that neither a file nor the environment has a denial or a choice of an agent that would be lost. `settings`
/// and `permission` are from the environment.
///
/// # Errors
/// If there is one, or a file is unreadable and could have one.
pub(super) fn check(
    files: &[PathBuf],
    settings: Option<&str>,
    permission: Option<&str>,
) -> Result<(), Failure> {
    let own = settings.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default();
    // The settings in the environment count before the files.
    let is_chosen = own["default_agent"] == OPENCODE_AGENT;
    for path in files {
        let bytes = file::read_regular(path).map_err(|error| {
            failure!("cannot read {}", path.display()).or_hint(error.hint()).because(&error)
        })?;
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        refuse_denial(&path.display().to_string(), text.as_deref())?;
        if !is_chosen {
            refuse_agent(&path.display().to_string(), text.as_deref())?;
        }
    }
    refuse_denial(OPENCODE_SETTINGS, settings)?;
    refuse_agent(OPENCODE_SETTINGS, settings)?;
    let permission = permission.map(|permission| format!("{{\"permission\":{permission}}}"));
    refuse_denial("OPENCODE_PERMISSION", permission.as_deref())
}

fn refuse_denial(place: &str, text: Option<&str>) -> Result<(), Failure> {
    let Some(text) = text else { return Ok(()) };
    let denies = match serde_json::from_str::<Value>(text) {
        Ok(settings) => {
            let build = ["agent", "mode"].map(|agents| &settings[agents][OPENCODE_AGENT]);
            [&settings, build[0], build[1]]
                .iter()
                .any(|place| denies(&place["permission"]) || turns_off(&place["tools"]))
        }
        // Comments, or something else that only OpenCode reads.
        Err(_) => text.contains("deny"),
    };
    if !denies {
        return Ok(());
    }
    Err(failure!(
        "murmur would override what {place} denies under \"permission\" or \"tools\"";
        "deny it in \"permissions\" of config.json instead, and remove it there"
    ))
}

fn refuse_agent(place: &str, text: Option<&str>) -> Result<(), Failure> {
    let Some(text) = text else { return Ok(()) };
    let is_other = match serde_json::from_str::<Value>(text) {
        Ok(settings) => settings.get("default_agent").is_some_and(|agent| agent != OPENCODE_AGENT),
        Err(_) => text.contains("default_agent"),
    };
    if !is_other {
        return Ok(());
    }
    let own = format!("'{{\"default_agent\":\"{OPENCODE_AGENT}\"}}'");
    Err(failure!(
        "murmur runs OpenCode's agent {OPENCODE_AGENT:?}, not the \"default_agent\" of {place}";
        "remove it, or put under [acp.opencode] in config.toml: env = {{ {OPENCODE_SETTINGS} = {own} }}"
    ))
}

/// Whether `tools`, the older form of permissions, turns one off.
fn turns_off(tools: &Value) -> bool {
    let mut tools = tools.as_object().into_iter().flatten();
    tools.any(|(tool, is_on)| *is_on == false && !DENIED_ANYWAY.contains(&tool.as_str()))
}

fn denies(permission: &Value) -> bool {
    match permission {
        Value::String(action) => action == "deny",
        Value::Object(tools) => tools.iter().any(|(tool, action)| {
            !DENIED_ANYWAY.contains(&tool.as_str())
                && match action {
                    Value::Object(patterns) => patterns.values().any(|action| action == "deny"),
                    action => action == "deny",
                }
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        refuse_denial("x", Some(text)).is_err()
    }

    #[test]
    fn instructions_are_those_of_the_repository() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        let found = |folder: &str| -> Vec<String> {
            let folder = at(folder);
            // Tests may run within a repository.
            let files =
                instructions_in(folder.ancestors().take_while(|above| above.starts_with(root.path())));
            files.iter().map(|file| file[root.path().as_os_str().len()..].to_owned()).collect()
        };
        std::fs::create_dir_all(at("repo/.git")).unwrap();
        std::fs::create_dir_all(at("repo/site")).unwrap();
        std::fs::create_dir(at("plain")).unwrap();
        for file in ["AGENTS.md", "repo/CLAUDE.md", "plain/CLAUDE.md"] {
            std::fs::write(at(file), "x").unwrap();
        }
        assert_eq!(found("repo/site"), ["/repo/CLAUDE.md"]);
        assert_eq!(found("plain"), ["/plain/CLAUDE.md"]);
        for file in ["repo/AGENTS.md", "repo/site/AGENTS.md"] {
            std::fs::write(at(file), "x").unwrap();
        }
        assert_eq!(found("repo/site"), ["/repo/site/AGENTS.md", "/repo/AGENTS.md"]);
    }

    #[test]
    fn a_denial_that_would_be_lost_is_refused_in_every_form() {
        for text in [
            r#"{"permission":"deny"}"#,
            r#"{"permission":{"bash":"deny"}}"#,
            r#"{"permission":{"edit":"ask","bash":{"*":"allow","git push *":"deny"}}}"#,
            r#"{"agent":{"build":{"permission":{"bash":"deny"}}}}"#,
            r#"{"mode":{"build":{"permission":{"bash":"deny"}}}}"#,
            r#"{"tools":{"bash":false}}"#,
            r#"{"agent":{"build":{"tools":{"write":false}}}}"#,
            "{ // mine\n \"permission\": { \"bash\": \"deny\" } }",
        ] {
            assert!(is_refused(text), "{text}");
        }
    }

    #[test]
    fn other_settings_are_not_refused() {
        for text in [
            "{}",
            r#"{"permission":"ask"}"#,
            r#"{"permission":{"bash":{"*":"allow"},"task":"deny","question":"deny"},"tools":{"bash":true,"task":false}}"#,
            r#"{"agent":{"build":{"permission":{"bash":"allow"}},"plan":{"permission":{"bash":"deny"}}}}"#,
            "{ // mine\n \"model\": \"a/b\" }",
        ] {
            assert!(!is_refused(text), "{text}");
        }
    }

    #[test]
    fn another_agent_is_refused_unless_the_environment_chooses_murmurs() {
        let home = tempfile::tempdir().unwrap();
        let paths = files(home.path(), None, None);
        std::fs::create_dir_all(paths[1].parent().unwrap()).unwrap();
        let is_refused = |text: &str, own: Option<&str>| {
            std::fs::write(&paths[1], text).unwrap();
            check(&paths, own, None).map_err(|error| error.line()).err()
        };
        assert_eq!(is_refused(r#"{"default_agent":"build"}"#, None), None);
        let (plan, build) = (r#"{"default_agent":"plan"}"#, r#"{"default_agent":"build"}"#);
        assert_eq!(
            is_refused(plan, None).unwrap(),
            format!(
                "murmur runs OpenCode's agent \"build\", not the \"default_agent\" of {}; remove it, or put under \
                 [acp.opencode] in config.toml: env = {{ OPENCODE_CONFIG_CONTENT = '{build}' }}",
                paths[1].display()
            )
        );
        assert!(is_refused("{ // mine\n \"default_agent\": \"x\" }", None).is_some());
        assert_eq!(is_refused(plan, Some(build)), None);
        assert!(is_refused("{}", Some(plan)).is_some());
    }

    #[test]
    fn settings_in_the_environment_that_are_not_plain_json_are_refused() {
        assert_eq!(settings(None).unwrap(), serde_json::json!({}));
        assert_eq!(settings(Some(r#"{"a":1}"#)).unwrap(), serde_json::json!({ "a": 1 }));
        for (text, problem) in [
            ("// mine\n{}", ":1:1: this is not JSON"),
            (r#"{"a":1,}"#, ":1:8: this is not JSON"),
            ("[]", " is not a JSON object"),
        ] {
            let error = settings(Some(text)).unwrap_err();
            assert_eq!(
                error.line(),
                format!(
                    "OPENCODE_CONFIG_CONTENT{problem}; write it without comments and trailing commas, \
                 or set OPENCODE_CONFIG to a file with it"
                )
            );
        }
    }

    #[test]
    fn the_error_names_the_file_and_what_to_do() {
        let home = tempfile::tempdir().unwrap();
        let paths = files(home.path(), None, None);
        assert!(check(&paths, None, None).is_ok());
        assert!(check(&paths, None, Some(r#"{"bash":"deny"}"#)).is_err());
        std::fs::create_dir_all(paths[1].parent().unwrap()).unwrap();
        std::fs::write(&paths[1], r#"{"permission":{"bash":"deny"}}"#).unwrap();
        let error = check(&paths, None, None).unwrap_err().line();
        assert!(
            error.starts_with("murmur would override what ") && error.contains("opencode.json denies"),
            "{error}"
        );
        assert!(error.contains("\"permissions\" of config.json"), "{error}");
    }
}
