//! murmur as a service of the user's own manager: the text of a systemd user unit and of a launchd agent. Pure.
//!
//! Whatever the manager does to the daemon, agents go on: hosts are processes of their own, and nobody but murmur ends
//! them (docs/service.md).

use crate::error::Hinted;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The unit's name.
pub const UNIT: &str = "murmur.service";

/// The launchd agent's label.
pub const LABEL: &str = "murmur";

/// What is to run as a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The `murmur` executable.
    pub program: PathBuf,
    /// The data folder.
    pub data_dir: PathBuf,
    /// The user's home folder.
    pub home: PathBuf,
    /// The variables that it finds its settings by, and their values: those that [`Self::environment_of`] says.
    pub environment: Vec<(&'static str, PathBuf)>,
}

/// The variables by which settings, Claude Code's own folder and captures are found, and where those are without them,
/// below the home folder. Without the last that depends on another.
const VARIABLES: [(&str, Option<&str>); 4] = [
    ("XDG_CONFIG_HOME", Some(".config")),
    ("XDG_STATE_HOME", Some(".local/state")),
    ("CLAUDE_CONFIG_DIR", Some(".claude")),
    ("DERUN_STATE_ROOT", None),
];

/// A path that cannot stand in such a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot stand in a service's file: it is not UTF-8, or has a control character", .0.display())]
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
    /// What a service of a user with this home folder has to be told of the environment, where `value` says what a
    /// variable has: a manager's own environment is not that of the shell, and rules would be looked for elsewhere.
    pub fn environment_of(
        home: &Path,
        value: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(&'static str, PathBuf)> {
        let told = VARIABLES.into_iter().filter_map(|(name, default)| {
            let folder = PathBuf::from(value(name)?);
            let is_default = default.is_some_and(|default| folder == home.join(default));
            (folder.is_absolute() && !is_default).then_some((name, folder))
        });
        told.collect()
    }

    /// The systemd user unit (systemd.service(5)).
    ///
    /// # Errors
    /// [`NotPlain`].
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
# Agents go on: each has a host of its own, and the next daemon finds them. `murmur stop` ends running beats.
ExecStop={murmur} stop --leave-agents
KillMode=process
TimeoutStopSec=60
Restart=on-failure
RestartSec=5
# One that finds another daemon, started by hand, ends with 0, and is not tried again and again.
RestartPreventExitStatus=0
WatchdogSec=120
# What an agent's tools do to the machine's memory is not the daemon's end.
OOMPolicy=continue
# No core file with what agents were told in it. Nothing below here keeps agents from their work: sandboxes of
# systemd's hold for all that the daemon starts.
LimitCORE=0

[Install]
WantedBy=default.target
"
        ))
    }

    /// The launchd agent (launchd.plist(5)).
    ///
    /// # Errors
    /// [`NotPlain`].
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
  <!-- Agents go on: each has a host of its own. -->
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

/// One word of a command line of systemd's: quoted, and with nothing in it expanded.
fn exec_word(text: &str) -> String {
    word(text).replace('$', "$$")
}

/// One word of another line of systemd's, where variables are not expanded.
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
    fn a_units_paths_are_words_whatever_is_in_them() {
        let unit = service("/opt/my \"tools\"/100%/$HOME/murmur").unit().unwrap();
        let expected = r#"ExecStart="/opt/my \"tools\"/100%%/$$HOME/murmur" --data-dir "/home/u/.murmur" start --foreground"#;
        assert!(unit.lines().any(|line| line == expected), "{unit}");
        for bad in ["/opt/a\nExecStartPre=/bin/true", "/opt/\u{1b}"] {
            assert!(service(bad).unit().is_err() && service(bad).plist().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_settings_are_found_by_stands_there_where_it_is_not_the_default() {
        let service = service("/bin/murmur");
        assert_eq!(service.environment.len(), 1, "{service:?}");
        let line = r#"Environment="XDG_CONFIG_HOME=/my \"100%%\"/$c&f""#;
        assert!(service.unit().unwrap().lines().any(|found| found == line));
        let dict = "<key>EnvironmentVariables</key><dict><key>XDG_CONFIG_HOME</key><string>/my \"100%\"/$c&amp;f</string></dict>";
        assert!(service.plist().unwrap().lines().any(|found| found.trim() == dict));
        let told = |value: &str| Service::environment_of(Path::new("/home/u"), |_| Some(value.into())).len();
        assert_eq!([told("relative"), told(""), told("/home/u/.claude"), told("/x")], [0, 0, 3, 4]);
        let without = Service { environment: Vec::new(), ..service };
        assert!(!(without.unit().unwrap() + &without.plist().unwrap()).contains("Environment"));
    }

    #[test]
    fn a_plist_has_its_paths_escaped() {
        let plist = service("/opt/<a&b>/murmur").plist().unwrap();
        assert!(plist.contains("<string>/opt/&lt;a&amp;b&gt;/murmur</string>"), "{plist}");
    }
}
