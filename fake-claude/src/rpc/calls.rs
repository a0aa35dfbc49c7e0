//! The simulated results of commands. None is ever executed.
//!
//! Pure. Input: a command and its scripted result. Output: its text and exit code.

use serde_json::{Value, json};

use crate::act::tools;
use crate::script::{Script, Scripted};

/// The simulated end of a call.
pub(crate) struct CommandResult {
    pub(crate) text: String,
    pub(crate) exit: i32,
}

/// The scripted result of the call with this id, or an empty one.
pub(crate) fn scripted(script: Option<&Script>, id: &Value) -> Scripted {
    let nothing = Scripted { text: None, is_error: false, ends: None };
    script.and_then(|script| script.result(id)).unwrap_or(nothing)
}

/// The result of a command: the scripted one, the words of `echo`, the code of `exit`.
pub(crate) fn command(command: &str, scripted: &Scripted) -> CommandResult {
    let last = command.rsplit([';', '&']).next().unwrap_or_default().trim();
    let failure = tools::failure("Bash", &json!({"command": last}));
    let code = failure.as_deref().and_then(|text| text.rsplit(' ').next()?.parse().ok());
    let said =
        command.strip_prefix("echo ").filter(|words| !words.contains(['&', ';', '|', '>', '<', '`', '$']));
    let echoed = said.map(|words| format!("{}\n", words.trim_matches(['\'', '"']))).unwrap_or_default();
    CommandResult {
        text: scripted.text.clone().unwrap_or(echoed),
        exit: code.unwrap_or(i32::from(scripted.is_error)),
    }
}
