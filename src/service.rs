//! The systemd user unit and the launchd agent that run the daemon, as text. Pure.
//!
//! Agents keep running whatever the service manager does to the daemon: each has its own host process, and only murmur
//! stops them (docs/guide/service.md).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use sys::error::Hinted;

/// The name of the systemd unit.
pub const UNIT: &str = "murmur.service";

/// The label of the launchd agent.
pub const LABEL: &str = "murmur";

/// The service to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The `murmur` executable.
    pub program: PathBuf,
    /// The data folder.
    pub data_dir: PathBuf,
    /// The user's home folder.
    pub home: PathBuf,
    /// Environment variables to set, as [`Self::environment_of`] returns them.
    pub environment: Vec<(&'static str, PathBuf)>,
}

/// The variables that locate settings, agents' own folders and captures, each with its default below the home folder.
/// The default of the last one depends on another variable, so it has none here.
const VARIABLES: [(&str, Option<&str>); 5] = [
    ("XDG_CONFIG_HOME", Some(".config")),
    ("XDG_STATE_HOME", Some(".local/state")),
    ("CLAUDE_CONFIG_DIR", Some(".claude")),
    ("CODEX_HOME", Some(".codex")),
    ("DERUN_STATE_ROOT", None),
];

/// A path that a service file can't contain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a service file cannot contain the path {}: it is not UTF-8 or has a control character", .0.display())]
pub struct NotPlain(PathBuf);

impl Hinted for NotPlain {
    fn hint(&self) -> Option<String> {
        Some("use another path".to_owned())
    }
}

fn plain(path: &Path) -> Result<&str, NotPlain> {
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    text.ok_or_else(|| NotPlain(path.to_path_buf()))
}

impl Service {
    /// Returns the variables to set in the service, read with `value`, for a user with this home folder. Service
    /// managers don't inherit the shell's environment, so the daemon would look for its rules elsewhere.
    pub fn environment_of(
        home: &Path,
        value: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(&'static str, PathBuf)> {
        let variables = VARIABLES.into_iter().filter_map(|(name, default)| {
            let folder = PathBuf::from(value(name)?);
            let is_default = default.is_some_and(|default| folder == home.join(default));
            (folder.is_absolute() && !is_default).then_some((name, folder))
        });
        variables.collect()
    }

    /// The systemd user unit (systemd.service(5)).
    ///
    /// Fails with [`NotPlain`] if a path can't be written.
    pub fn unit(&self) -> Result<String, NotPlain> {
        let murmur =
            format!("{} --data-dir {}", exec_word(plain(&self.program)?), exec_word(plain(&self.data_dir)?));
        let mut environment = String::new();
        for (name, folder) in &self.environment {
            environment += &format!("Environment={}\n", word(&format!("{name}={}", plain(folder)?)));
        }
        Ok(format!(
            "\
[Unit]
Description=murmur: coding agents, unattended
Documentation=man:murmur(1)

[Service]
Type=notify
NotifyAccess=main
{environment}ExecStart={murmur} start --foreground
# Agents keep running: each has its own host, and the next daemon finds them. `murmur stop` ends running beats.
ExecStop={murmur} stop --leave-agents
KillMode=process
TimeoutStopSec=60
Restart=on-failure
RestartSec=5
# If another daemon already runs, this one exits with 0; don't restart it then.
RestartPreventExitStatus=0
WatchdogSec=120
# An agent's tools running out of memory must not stop the daemon.
OOMPolicy=continue
# Core files could contain agents' conversations. Nothing else is restricted: a systemd sandbox would also apply to
# the agents that the daemon starts.
LimitCORE=0

[Install]
WantedBy=default.target
"
        ))
    }

    /// The launchd agent (launchd.plist(5)).
    ///
    /// Fails with [`NotPlain`] if a path can't be written.
    pub fn plist(&self) -> Result<String, NotPlain> {
        let [program, data_dir, home] =
            [&self.program, &self.data_dir, &self.home].map(|path| plain(path).map(xml));
        let (program, data_dir, home) = (program?, data_dir?, home?);
        let mut environment = String::new();
        for (name, folder) in &self.environment {
            environment += &format!("<key>{name}</key><string>{}</string>", xml(plain(folder)?));
        }
        if !environment.is_empty() {
            environment = format!("  <key>EnvironmentVariables</key><dict>{environment}</dict>\n");
        }
        Ok(format!(
            "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key><string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>--data-dir</string><string>{data_dir}</string>
    <string>start</string><string>--foreground</string>
  </array>
{environment}  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <!-- Agents keep running: each has its own host. -->
  <key>AbandonProcessGroup</key><true/>
  <key>ExitTimeOut</key><integer>60</integer>
  <key>ProcessType</key><string>Background</string>
  <key>WorkingDirectory</key><string>{home}</string>
  <key>StandardErrorPath</key><string>{data_dir}/murmur.log</string>
  <key>HardResourceLimits</key><dict><key>Core</key><integer>0</integer></dict>
</dict>
</plist>
"
        ))
    }
}

/// Quotes one word of a systemd command line, with `%` and `$` escaped.
fn exec_word(text: &str) -> String {
    word(text).replace('$', "$$")
}

/// Quotes one word of any other systemd directive, where variables are not expanded.
fn word(text: &str) -> String {
    let mut word = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => word.extend(['\\', character]),
            '%' => word.push_str("%%"),
            other => word.push(other),
        }
    }
    word.push('"');
    word
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(program: &str) -> Service {
        let environment = Service::environment_of(Path::new("/home/u"), |name| {
            let is_config = name == "XDG_CONFIG_HOME";
            is_config.then(|| "/my \"100%\"/$c&f".into())
        });
        let (data_dir, home) = ("/home/u/.murmur".into(), "/home/u".into());
        Service { program: program.into(), data_dir, home, environment }
    }

    #[test]
    fn paths_in_a_unit_are_quoted() {
        let unit = service("/opt/my \"tools\"/100%/$HOME/murmur").unit().unwrap();
        let expected = r#"ExecStart="/opt/my \"tools\"/100%%/$$HOME/murmur" --data-dir "/home/u/.murmur" start --foreground"#;
        assert!(unit.lines().any(|line| line == expected), "{unit}");
        for bad in ["/opt/a\nExecStartPre=/bin/true", "/opt/\u{1b}"] {
            assert!(service(bad).unit().is_err() && service(bad).plist().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn variables_that_locate_settings_are_written_unless_default() {
        let service = service("/bin/murmur");
        assert_eq!(service.environment.len(), 1, "{service:?}");
        let line = r#"Environment="XDG_CONFIG_HOME=/my \"100%%\"/$c&f""#;
        assert!(service.unit().unwrap().lines().any(|found| found == line));
        let dict = "<key>EnvironmentVariables</key><dict><key>XDG_CONFIG_HOME</key><string>/my \"100%\"/$c&amp;f</string></dict>";
        assert!(service.plist().unwrap().lines().any(|found| found.trim() == dict));
        let count = |value: &str| Service::environment_of(Path::new("/home/u"), |_| Some(value.into())).len();
        assert_eq!([count("relative"), count(""), count("/home/u/.claude"), count("/x")], [0, 0, 4, 5]);
        let without = Service { environment: Vec::new(), ..service };
        assert!(!(without.unit().unwrap() + &without.plist().unwrap()).contains("Environment"));
    }

    #[test]
    fn a_plist_has_its_paths_escaped() {
        let plist = service("/opt/<a&b>/murmur").plist().unwrap();
        assert!(plist.contains("<string>/opt/&lt;a&amp;b&gt;/murmur</string>"), "{plist}");
    }
}
