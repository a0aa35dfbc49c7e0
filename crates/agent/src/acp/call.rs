//! Translates tool calls into the names that the guard and rules use: `Bash {command}`, `Edit {file_path}` and so on.
//!
//! The protocol requires neither a name nor an input, and every program describes its calls in another way, as measured
//! on opencode 1.18.33, claude-agent-acp 0.101.0, codex-acp 2.6.0, goose 1.34.0 and gemini-cli 0.61.0. A title is
//! trusted only where it was seen to be exact: elsewhere, a model may have written it.

use super::message::text_at;
use serde_json::{Map, Value, json};

/// The fields of a `tool_call`, a `tool_call_update` or the `toolCall` of a request.
pub(super) type Fields = Map<String, Value>;

/// A tool call.
#[derive(Debug, PartialEq)]
pub(super) struct Call {
    /// The tool's name.
    pub(super) tool: String,
    /// Its input; an empty object if the program doesn't show it.
    pub(super) input: Value,
    /// The folder that it runs in, if it isn't the conversation's.
    pub(super) cwd: Option<String>,
    /// Whether the input says what the call would do.
    pub(super) is_shown: bool,
}

/// Names of tools, as programs call them, and as murmur does.
const TOOLS: [(&str, &str); 27] = [
    ("bash", "Bash"),
    ("shell", "Bash"),
    ("exec_command", "Bash"),
    ("run_shell_command", "Bash"),
    ("read", "Read"),
    ("read_file", "Read"),
    ("write", "Write"),
    ("write_file", "Write"),
    ("edit", "Edit"),
    ("multiedit", "Edit"),
    ("patch", "Edit"),
    ("apply_patch", "Edit"),
    ("replace", "Edit"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("grep_search", "Grep"),
    ("list", "LS"),
    ("list_directory", "LS"),
    ("tree", "LS"),
    ("webfetch", "WebFetch"),
    ("web_fetch", "WebFetch"),
    ("websearch", "WebSearch"),
    ("google_web_search", "WebSearch"),
    ("todowrite", "TodoWrite"),
    ("write_todos", "TodoWrite"),
    ("task", "Task"),
    ("skill", "Skill"),
];

/// Keys of a path in an input.
const PATHS: [&str; 7] =
    ["file_path", "filePath", "filepath", "notebook_path", "path", "absolute_path", "dir_path"];

impl Call {
    /// Reads a call from its descriptions. Earlier ones take precedence.
    pub(super) fn read(descriptions: &[&Fields]) -> Self {
        let descriptions = Descriptions(descriptions);
        if let Some((tool, input)) = descriptions.mcp() {
            let is_shown = is_shown(&input);
            return Self { tool, input, cwd: None, is_shown };
        }
        let tool = descriptions.tool();
        let raw = descriptions.raw();
        let path = || descriptions.path();
        let texts = |keys: &[&str]| keys.iter().find_map(|key| raw.get(*key)?.as_str()).map(str::to_owned);
        let mut cwd = None;
        let input: Value = match tool.as_str() {
            "Bash" => {
                cwd = texts(&["workdir", "cwd"]).or_else(|| descriptions.title_folder());
                let mut input = raw.clone();
                for key in ["workdir", "cwd", "directories", "patterns"] {
                    input.remove(key);
                }
                if let Some(command) = descriptions.title_command().filter(|_| !input.contains_key("command"))
                {
                    input.insert("command".to_owned(), command.into());
                }
                input.into()
            }
            "Read" | "LS" => fields([("file_path", path())]),
            "Write" => fields([
                ("file_path", path()),
                ("content", texts(&["content"]).or_else(|| descriptions.diff("newText"))),
            ]),
            "Edit" => fields([
                ("file_path", path()),
                (
                    "old_string",
                    texts(&["old_string", "oldString", "before"]).or_else(|| descriptions.diff("oldText")),
                ),
                (
                    "new_string",
                    texts(&["new_string", "newString", "after"]).or_else(|| descriptions.diff("newText")),
                ),
            ]),
            "WebFetch" if !raw.contains_key("url") => fields([("prompt", descriptions.title())]),
            _ => raw.clone().into(),
        };
        let input = descriptions.with_all_paths(&tool, input);
        let is_shown = match tool.as_str() {
            "Bash" => input.get("command").is_some_and(Value::is_string),
            "Read" | "Write" | "Edit" | "LS" => input.get("file_path").is_some(),
            _ => is_shown(&input),
        };
        Self { tool, input, cwd, is_shown }
    }
}

/// Whether an input has something in it.
fn is_shown(input: &Value) -> bool {
    input.as_object().is_some_and(|fields| !fields.is_empty())
}

/// An object of the fields that have a value.
fn fields<const N: usize>(fields: [(&str, Option<String>); N]) -> Value {
    let known = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
    Value::Object(known.collect())
}

/// The descriptions of a call, the most important first.
struct Descriptions<'a>(&'a [&'a Fields]);

impl Descriptions<'_> {
    /// The first text at `path`.
    fn text(&self, path: &[&str]) -> Option<&str> {
        let (first, rest) = path.split_first()?;
        let texts = self.0.iter().map(|fields| text_at(fields.get(*first), rest));
        texts.into_iter().find(|text| !text.is_empty())
    }

    /// The inputs, joined.
    fn raw(&self) -> Fields {
        let mut raw = Fields::new();
        for input in self.0.iter().rev().filter_map(|fields| fields.get("rawInput")?.as_object()) {
            raw.extend(input.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        raw
    }

    fn title(&self) -> Option<String> {
        self.text(&["title"]).map(str::to_owned)
    }

    /// The name that the program itself gives.
    fn name(&self) -> Option<&str> {
        let named = self.text(&["name"]).or_else(|| self.text(&["_meta", "claudeCode", "toolName"]));
        named
            .or_else(|| self.text(&["_meta", "goose", "toolCall", "toolName"]))
            .or_else(|| self.gemini_name())
    }

    /// The name in an id such as `run_shell_command__x_1`, which gemini makes.
    fn gemini_name(&self) -> Option<&str> {
        let (name, _) = self.text(&["toolCallId"])?.split_once("__")?;
        let is_known = name.contains('_') && TOOLS.iter().any(|(known, _)| *known == name);
        is_known.then_some(name)
    }

    /// The tool, by murmur's name for it.
    fn tool(&self) -> String {
        if let Some(name) = self.name() {
            return known(name).unwrap_or(name).to_owned();
        }
        let (raw, kind) = (self.raw(), self.text(&["kind"]).unwrap_or_default());
        // The announcement of a call comes last. Its title is the tool's name; a request's title is the command.
        let titles = self.0.iter().rev().filter_map(|fields| fields.get("title")?.as_str());
        let titles: Vec<&str> = titles.filter(|title| is_word(title)).collect();
        if let Some(command) = raw.get("command").and_then(Value::as_str) {
            let is_other =
                |title: &&&str| title.contains('_') && **title != command && known(title).is_none();
            let other = titles.iter().find(is_other).filter(|_| kind != "execute");
            return other.map_or("Bash", |title| *title).to_owned();
        }
        if let Some(tool) = titles.iter().find_map(|title| known(title)).filter(|_| kind != "execute") {
            return tool.to_owned();
        }
        match kind {
            "execute" => "Bash".to_owned(),
            "edit" | "delete" | "move" => "Edit".to_owned(),
            "read" => "Read".to_owned(),
            "search" => "Grep".to_owned(),
            "fetch" => "WebFetch".to_owned(),
            kind => match titles.first() {
                Some(title) => (*title).to_owned(),
                // opencode asks whether it may leave the workspace, for reading or writing.
                None if raw.contains_key("parentDir") => "Edit".to_owned(),
                None if kind.is_empty() || kind == "other" => "unknown".to_owned(),
                None => kind.to_owned(),
            },
        }
    }

    /// The call of an MCP server's tool, if the program tells it apart.
    fn mcp(&self) -> Option<(String, Value)> {
        let raw = self.raw();
        if let Some(name) = self.name().filter(|name| name.starts_with("mcp__")) {
            return Some((name.to_owned(), raw.into()));
        }
        if let Some(name) =
            self.text(&["_meta", "goose", "toolCall", "toolName"]).filter(|name| name.contains("__"))
        {
            return Some((format!("mcp__{name}"), raw.into()));
        }
        let flag = |name| {
            self.0.iter().any(|fields| fields.get("_meta").is_some_and(|meta| meta.get(name).is_some()))
        };
        if flag("is_mcp_tool_call") || flag("is_mcp_tool_approval") {
            let part = |key: &str| raw.get(key).and_then(Value::as_str).unwrap_or("unknown");
            let tool = format!("mcp__{}__{}", part("server"), part("tool"));
            return Some((tool, raw.get("arguments").cloned().unwrap_or_else(|| json!({}))));
        }
        // gemini has the arguments as JSON in its content.
        let (tool, server) = self.text(&["title"])?.strip_suffix(" MCP Server)")?.split_once(" (")?;
        let id = self.text(&["toolCallId"])?;
        if !id.starts_with(&format!("mcp_{server}_{tool}__")) {
            return None;
        }
        let arguments = self.contents().find_map(|text| serde_json::from_str(text).ok());
        Some((format!("mcp__{server}__{tool}"), arguments.unwrap_or_else(|| json!({}))))
    }

    /// Texts among the contents.
    fn contents(&self) -> impl Iterator<Item = &str> {
        self.items("content")
            .map(|item| text_at(Some(item), &["content", "text"]))
            .filter(|text| !text.is_empty())
    }

    /// The elements of the arrays called `key`.
    fn items(&self, key: &str) -> impl Iterator<Item = &Value> {
        let arrays = self.0.iter().filter_map(move |fields| fields.get(key)?.as_array());
        arrays.flatten()
    }

    /// The first text called `key` of the changes.
    fn diff(&self, key: &str) -> Option<String> {
        let mut changes = self.items("content").filter(|item| text_at(Some(item), &["type"]) == "diff");
        changes.find_map(|item| item.get(key)?.as_str()).map(str::to_owned)
    }

    /// The file or folder that the call is about.
    fn path(&self) -> Option<String> {
        let inputs = self.0.iter().filter_map(|fields| fields.get("rawInput"));
        let mut texts = inputs.flat_map(|input| PATHS.iter().filter_map(|key| input.get(*key)?.as_str()));
        texts.next().map(str::to_owned).or_else(|| self.changed_paths().into_iter().next())
    }

    /// The files of the changes, or else the locations.
    fn changed_paths(&self) -> Vec<String> {
        let paths = |key| {
            let mut paths: Vec<String> = Vec::new();
            for path in self.items(key).filter_map(|item| item.get("path")?.as_str()) {
                if !paths.iter().any(|known| known == path) {
                    paths.push(path.to_owned());
                }
            }
            paths
        };
        let changes = paths("content");
        if changes.is_empty() { paths("locations") } else { changes }
    }

    /// Adds `file_paths` to a change of several files.
    fn with_all_paths(&self, tool: &str, mut input: Value) -> Value {
        let paths = self.changed_paths();
        if ["Edit", "Write"].contains(&tool) && paths.len() > 1 {
            input["file_paths"] = paths.into();
        }
        input
    }

    /// gemini's title of a command is the command.
    fn title_command(&self) -> Option<&str> {
        self.gemini_name().filter(|name| *name == "run_shell_command").and_then(|_| self.text(&["title"]))
    }

    /// The folder that gemini names for a command.
    fn title_folder(&self) -> Option<String> {
        self.title_command()?;
        let mut texts = self.contents();
        let named = texts.find_map(|text| text.strip_prefix("[current working directory ")?.split_once(']'));
        named.map(|(folder, _)| folder.to_owned())
    }
}

/// murmur's name of a program's tool.
fn known(name: &str) -> Option<&'static str> {
    TOOLS.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool)
}

/// Whether a title may be a tool's name.
fn is_word(title: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    title.bytes().all(is_plain) && title.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
}
