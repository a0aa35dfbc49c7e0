//! Checks that Claude Code's settings files load, and that nothing in them disables hooks and rules. Older versions
//! silently ignore a whole file because of one malformed entry (docs/guide/setup.md).

use super::finding::counted;
use super::{Check, Environment, Finding, Hint};
use murmur_agent::find;
use murmur_claude_files::setup::flaw::{self, flaws};
use murmur_core::config::heartbeat::Resolved;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::file;

const CHECK: Check = Check::CLAUDE_SETTINGS;

pub(super) fn examine(environment: &Environment, config: Option<&Resolved>) -> Vec<Finding> {
    let workspaces: BTreeSet<PathBuf> = config
        .into_iter()
        .flat_map(|config| &config.heartbeats)
        .map(|heartbeat| heartbeat.workspace.to_path_buf())
        .collect();
    let in_workspace = |folder: &PathBuf| {
        let names = [".claude/settings.json", ".claude/settings.local.json"];
        names.map(|name| folder.join(name))
    };
    let paths = std::iter::once(environment.claude.join("settings.json"))
        .chain(workspaces.iter().flat_map(in_workspace));
    let (mut count, mut findings) = (0, Vec::new());
    for path in paths {
        match check_path(environment, &path) {
            Ok(None) => {}
            Ok(Some(wrong)) => {
                count += 1;
                findings.extend(wrong);
            }
            Err(finding) => findings.push(finding),
        }
    }
    if findings.is_empty() {
        findings.push(CHECK.ok(format!("{}, no problems", counted(count, "file"))));
    }
    findings
}

/// The problems of the file at `path`; `None` if it does not exist.
fn check_path(environment: &Environment, path: &Path) -> Result<Option<Vec<Finding>>, Finding> {
    let bytes = file::read_regular(path).map_err(|error| {
        CHECK.fail(format!("cannot read {}: {error}", path.display()), Hint::OWNER_AND_MODE)
    })?;
    let Some(bytes) = bytes else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Ok(Some(Vec::new()));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let found =
            format!("{}: {error}: Claude Code ignores the whole file, including its rules", path.display());
        CHECK.fail(found, Hint::SETTINGS_JSON)
    })?;
    let flaws = flaws(text).into_iter().map(|flaw| {
        let finding = CHECK.failed(&flaw.problem(path)).into_warning();
        if flaw.is_flat { Finding { hint: Some(fix_flat(environment, path)), ..finding } } else { finding }
    });
    Ok(Some(flaws.chain(entries(&value).filter_map(|entry| entry.wrong(environment, path))).collect()))
}

/// The hint that rewrites the flat form in this file.
fn fix_flat(environment: &Environment, path: &Path) -> Hint {
    let folder = path.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    if path.parent() == Some(&*environment.claude) {
        Hint::FIX_FLAT
    } else if path.ends_with("settings.local.json") {
        Hint::FIX_FLAT_OF_FOLDER.in_folder(folder)
    } else {
        Hint::FIX_FLAT_OF_PROJECT.in_folder(folder)
    }
}

/// A hook command whose program is named like murmur's.
struct Entry<'a> {
    event: &'a str,
    command: &'a str,
    program: PathBuf,
}

fn entries(settings: &Value) -> impl Iterator<Item = Entry<'_>> {
    let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let commands = events.flat_map(|(event, groups)| {
        let groups = groups.as_array().into_iter().flatten();
        let hooks =
            groups.flat_map(|group| group.get("hooks").and_then(Value::as_array).into_iter().flatten());
        hooks.filter_map(move |hook| Some((&**event, hook.get("command")?.as_str()?)))
    });
    commands.filter_map(|(event, command)| {
        let (program, rest) = first_word(command)?;
        let is_ours = match program.file_name()?.to_str()? {
            "murmur-hook" => true,
            "murmur" => rest.split_whitespace().next() == Some("hook"),
            _ => false,
        };
        is_ours.then_some(Entry { event, command, program })
    })
}

/// The first word of a command as `sh` parses it, and the rest; `None` if the shell would expand it.
fn first_word(command: &str) -> Option<(PathBuf, &str)> {
    let mut word = String::new();
    let mut rest = command.trim_start();
    loop {
        let end =
            rest.find([' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')', '\'', '"', '\\', '$', '`', '~']);
        let end = end.unwrap_or(rest.len());
        word.push_str(&rest[..end]);
        rest = &rest[end..];
        let Some(mark) = rest.chars().next() else { break };
        rest = match mark {
            '\'' => {
                let (quoted, after) = rest[1..].split_once('\'')?;
                word.push_str(quoted);
                after
            }
            '"' => {
                let (quoted, after) = rest[1..].split_once('"')?;
                if quoted.contains(['$', '`', '\\']) {
                    return None;
                }
                word.push_str(quoted);
                after
            }
            '\\' => {
                let escaped = rest[1..].chars().next()?;
                word.push(escaped);
                &rest[1 + escaped.len_utf8()..]
            }
            '$' | '`' | '~' => return None,
            _ => break,
        };
    }
    (!word.is_empty()).then(|| (PathBuf::from(word), rest))
}

impl Entry<'_> {
    /// The problem if its program is missing or its event unknown.
    fn wrong(&self, environment: &Environment, path: &Path) -> Option<Finding> {
        let Self { event, command, program } = self;
        let at = format!("{}: hooks.{event}", path.display());
        if !flaw::is_event(event) {
            let found = format!("{at}: unknown event, so `{command}` never runs");
            return Some(CHECK.warn(found, Hint::EVENT_IS_UNKNOWN));
        }
        let why = if program.is_absolute() {
            match rustix::fs::access(program, rustix::fs::Access::EXEC_OK) {
                Ok(()) if program.is_file() => return None,
                Ok(()) => "is not a program".to_owned(),
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => "does not exist".to_owned(),
                Err(_) => "cannot be executed".to_owned(),
            }
        } else if program.components().count() == 1 {
            let found = find::find(program.to_str()?, &environment.path);
            found.err().map(|_| "is not on this PATH".to_owned())?
        } else {
            return None;
        };
        // The shell's exit code 127 alone blocks nothing.
        let then = if command.contains("||") {
            "runs what follows `||`, which may block every call"
        } else {
            "reports nothing"
        };
        let found = format!("{at}: {} {why}, so `{command}` {then}", program.display());
        Some(CHECK.fail(found, Hint::HOOK_IS_MISSING))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_the_program_the_shell_would_run() {
        for (command, word) in [
            ("'/a b/murmur-hook' Stop", Some("/a b/murmur-hook")),
            ("'/it'\\''s/murmur-hook' Stop", Some("/it's/murmur-hook")),
            ("\"/a b/murmur-hook\" Stop", Some("/a b/murmur-hook")),
            ("/a\\ b/murmur-hook||exit 2", Some("/a b/murmur-hook")),
            ("murmur hook Stop", Some("murmur")),
            ("\"$HOME/bin/murmur-hook\" Stop", None),
            ("$HOME/bin/murmur-hook Stop", None),
            ("~/bin/murmur-hook Stop", None),
            ("'/a/murmur-hook Stop", None),
            ("", None),
        ] {
            let found = first_word(command).map(|(found, _)| found);
            assert_eq!(found.as_deref(), word.map(Path::new), "{command}");
        }
    }
}
