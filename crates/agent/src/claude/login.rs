//! Whether Claude Code is certainly not logged in, determined without calling the API and without reading a secret.
//!
//! Credentials can come from many places: variables, helpers, wrappers around the program, a keychain. In doubt, Claude
//! Code counts as logged in, since only it knows.

use memchr::memmem::find;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use sys::file::real_path;

/// Where credentials and settings are looked for.
#[derive(Debug)]
pub struct Places<'a> {
    /// The program, as found on PATH.
    pub program: &'a Path,
    /// The user's home folder.
    pub home: &'a Path,
    /// The folder it runs in.
    pub workspace: &'a Path,
    /// Its environment.
    pub variables: &'a [(OsString, OsString)],
}

/// Keys of ~/.claude.json of somebody who has logged in.
const LOGINS: [&[u8]; 4] = [b"\"primaryApiKey\"", b"\"oauthAccount\"", b"\"apiKeyHelper\"", b"ateway"];

/// Parts of the names of settings that may supply credentials.
const SUPPLIERS: [&str; 8] = ["env", "helper", "auth", "credential", "login", "token", "aws", "gcp"];

/// Settings for all users.
const MANAGED: &str = "/etc/claude-code";

/// The folder that has no credentials, if Claude Code is certainly not logged in.
pub(crate) fn logged_out(places: &Places<'_>) -> Option<PathBuf> {
    // Elsewhere, they are in a keychain.
    if !cfg!(target_os = "linux") || !is_itself(places.program) || is_supplied(places.variables) {
        return None;
    }
    let folder_in = |variable: &str| {
        let found = places.variables.iter().find(|(name, value)| name == variable && !value.is_empty());
        found.map(|(_, folder)| PathBuf::from(folder))
    };
    let chosen = folder_in(FOLDER);
    // Profiles that it shares with Anthropic's other tools.
    let profiles =
        folder_in("XDG_CONFIG_HOME").unwrap_or_else(|| places.home.join(".config")).join("anthropic");
    let folder = chosen.clone().unwrap_or_else(|| places.home.join(".claude"));
    let state = chosen.as_deref().unwrap_or(places.home).join(".claude.json");
    let projects = places.workspace.ancestors().map(|folder| folder.join(".claude"));
    let settings = projects
        .chain([folder.clone()])
        .flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name)));
    let is_out = !Path::new(MANAGED).exists()
        && !profiles.exists()
        && lacks(&folder.join(".credentials.json"), |bytes| bytes.is_empty())
        && lacks(&state, |bytes| LOGINS.iter().all(|key| find(bytes, key).is_none()))
        && settings.into_iter().all(|file| lacks(&file, has_no_supplier));
    is_out.then_some(folder)
}

const FOLDER: &str = "CLAUDE_CONFIG_DIR";

/// Whether `program` is Claude Code as it is installed, rather than a wrapper.
fn is_itself(program: &Path) -> bool {
    let Ok(real) = real_path(program) else { return false };
    let mut parts = real.iter();
    let is_package = parts.clone().any(|part| part == "@anthropic-ai");
    is_package || (parts.any(|part| part == "claude") && parts.next().is_some_and(|part| part == "versions"))
}

/// Whether a variable may supply credentials.
fn is_supplied(variables: &[(OsString, OsString)]) -> bool {
    variables.iter().any(|(name, value)| {
        let name = name.to_string_lossy();
        let is_own = name.starts_with("ANTHROPIC_") || name.starts_with("CLAUDE_");
        is_own && name != FOLDER && !value.is_empty()
    })
}

/// Whether `file` doesn't exist, or `is_nothing` says so of its contents.
fn lacks(file: &Path, is_nothing: impl Fn(&[u8]) -> bool) -> bool {
    match fs::metadata(file) {
        Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        Ok(found) if found.len() == 0 => is_nothing(b""),
        // Not even looked at: whatever it has may be a credential.
        Ok(_) if file.ends_with(".credentials.json") => false,
        Ok(found) => found.is_file() && fs::read(file).is_ok_and(|bytes| is_nothing(&bytes)),
    }
}

fn has_no_supplier(settings: &[u8]) -> bool {
    let Ok(Value::Object(settings)) = serde_json::from_slice(settings) else { return false };
    settings.keys().all(|key| {
        let key = key.to_lowercase();
        !SUPPLIERS.iter().any(|part| key.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture(tempfile::TempDir);

    impl Fixture {
        fn new() -> Self {
            let fixture = Self(tempfile::tempdir().unwrap());
            fixture.write("lib/@anthropic-ai/claude-code/cli.js", "");
            fixture.write("bin/wrapper", "");
            fixture.write("site/HEARTBEAT.md", "");
            fixture
        }

        fn path(&self, below: &str) -> PathBuf {
            self.0.path().join(below)
        }

        fn write(&self, below: &str, text: &str) {
            fs::create_dir_all(self.path(below).parent().unwrap()).unwrap();
            fs::write(self.path(below), text).unwrap();
        }

        fn is_out(&self, program: &str, variables: &[(&str, &str)]) -> bool {
            let variables: Vec<(OsString, OsString)> =
                variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
            let places = Places {
                program: &self.path(program),
                home: &self.path("home"),
                workspace: &self.path("site"),
                variables: &variables,
            };
            logged_out(&places).is_some()
        }
    }

    const PROGRAM: &str = "lib/@anthropic-ai/claude-code/cli.js";

    #[cfg(target_os = "linux")]
    #[test]
    fn without_any_credential_it_is_logged_out() {
        let fixture = Fixture::new();
        assert!(fixture.is_out(PROGRAM, &[("PATH", "/bin"), ("ANTHROPIC_API_KEY", "")]));
        // What has nothing to do with it.
        fixture.write("home/.claude/.credentials.json", "");
        fixture.write("home/.claude/settings.json", r#"{"hooks":{},"model":"opus"}"#);
        fixture.write("home/.claude.json", r#"{"numStartups":3,"projects":{}}"#);
        assert!(fixture.is_out(PROGRAM, &[]));
        fixture.write("elsewhere/.credentials.json", "{}");
        assert!(
            !fixture.is_out(PROGRAM, &[("CLAUDE_CONFIG_DIR", fixture.path("elsewhere").to_str().unwrap())])
        );
        fixture.write("share/claude/versions/2.1.330", "");
        std::os::unix::fs::symlink(fixture.path("share/claude/versions/2.1.330"), fixture.path("bin/claude"))
            .unwrap();
        assert!(fixture.is_out("bin/claude", &[]));
    }

    #[test]
    fn in_doubt_it_is_logged_in() {
        for name in
            ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BASE_URL"]
        {
            assert!(!Fixture::new().is_out(PROGRAM, &[(name, "1")]), "{name}");
        }
        for program in ["bin/wrapper", "bin/missing"] {
            assert!(!Fixture::new().is_out(program, &[]), "{program}");
        }
        for (file, text) in [
            ("home/.claude/.credentials.json", "{}"),
            ("home/.claude/settings.json", r#"{"apiKeyHelper":"./key.sh"}"#),
            ("home/.claude/settings.json", r#"{"env":{}}"#),
            ("home/.claude/settings.json", "{"),
            ("site/.claude/settings.local.json", r#"{"awsAuthRefresh":"aws sso login"}"#),
            (".claude/settings.json", r#"{"env":{}}"#),
            ("home/.claude.json", r#"{"oauthAccount":{}}"#),
            ("home/.claude.json", r#"{"primaryApiKey":"x"}"#),
            ("home/.claude.json", r#"{"cloudGateway":{}}"#),
            ("home/.config/anthropic/configs/default.json", "{}"),
        ] {
            let fixture = Fixture::new();
            fixture.write(file, text);
            assert!(!fixture.is_out(PROGRAM, &[]), "{file} {text}");
        }
    }
}
