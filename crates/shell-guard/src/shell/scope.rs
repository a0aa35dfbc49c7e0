//! The state of a shell during a walk: variables, functions, the working folder, files just written.

use super::field::Field;
use super::tree::Node;
use crate::call::CallPlace;
use crate::links::{LinkReader, Links};
use std::collections::HashMap;
use std::rc::Rc;

/// How many values one variable may have, depending on earlier branches.
const MAX_VALUES: usize = 8;

/// The value of a variable: one field, or the elements of an array.
pub(super) type Value = Vec<Field>;

/// State from before a branch that may not be taken.
#[derive(Debug, Clone, Default)]
struct Snapshot {
    variables: HashMap<String, Vec<Value>>,
    folders: Option<Vec<Field>>,
}

/// Text that the command line wrote to a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) text: String,
    /// Whether the text was decoded from something.
    pub(super) is_decoded: bool,
}

/// The positional parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arguments {
    /// Those of the command line itself: none, most likely.
    Line,
    /// Any.
    Unknown,
    /// These.
    Known(Vec<Field>),
}

/// The state at one point of the command line.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The possible working folders.
    folders: Vec<Field>,
    before: Option<Field>,
    home: Option<Field>,
    workspace: Option<Field>,
    variables: HashMap<String, Vec<Value>>,
    /// How many times a variable got a new value.
    changes: u32,
    /// State from before each open branch, innermost last.
    snapshots: Vec<Snapshot>,
    /// The outer values of functions' local variables, innermost function last.
    outer: Vec<HashMap<String, Option<Vec<Value>>>>,
    /// The working folders if the last `cd` failed.
    pub(super) if_cd_fails: Vec<Field>,
    /// Whether a failure ends the shell: `set -e`.
    pub(super) exits_on_error: bool,
    /// The values of `$1` and `$@`.
    pub(super) arguments: Arguments,
    /// Name references: `declare -n`.
    pub(super) references: HashMap<String, String>,
    pub(super) functions: HashMap<String, Rc<Node>>,
    pub(super) aliases: HashMap<String, String>,
    pub(super) files: HashMap<String, Written>,
    /// Pipes and descriptors with input that is only known at run time.
    pub(super) pipes: Vec<String>,
    /// Targets of links that the command line has created, by name.
    links: HashMap<String, String>,
    /// Initial values of variables that murmur sets for its agents.
    initial: Rc<[(&'static str, Field)]>,
    /// Links on disk.
    disk: Option<Rc<Links>>,
}

impl Scope {
    /// Creates the initial state. Without a place, nothing is known about folders.
    #[must_use]
    pub fn new(place: Option<&CallPlace>) -> Self {
        let path = |path: &std::path::Path| Field::from(&*path.to_string_lossy());
        Self {
            folders: vec![place.map_or_else(|| Field::unknown("$PWD"), |place| path(&place.cwd))],
            before: None,
            home: place.map(|place| path(&place.home)),
            workspace: place.map(|place| path(&place.workspace)),
            variables: HashMap::new(),
            changes: 0,
            snapshots: Vec::new(),
            outer: Vec::new(),
            if_cd_fails: Vec::new(),
            exits_on_error: false,
            arguments: Arguments::Line,
            references: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            files: HashMap::new(),
            pipes: Vec::new(),
            links: HashMap::new(),
            initial: place
                .into_iter()
                .flat_map(|place| &place.own.variables)
                .map(|(name, value)| (*name, path(value)))
                .collect(),
            disk: None,
        }
    }

    /// Follows links on disk with `read`.
    #[must_use]
    pub fn with_links(self, read: Option<LinkReader>) -> Self {
        Self { disk: read.map(|read| Rc::new(Links::new(read))), ..self }
    }

    /// Returns the target of the absolute `path` if a link on disk leads elsewhere.
    #[must_use]
    pub fn resolve_on_disk(&self, path: &str) -> Option<String> {
        self.disk.as_ref()?.resolve(path)
    }

    /// Whether links on disk can be followed.
    #[must_use]
    pub fn can_read_links(&self) -> bool {
        self.disk.is_some()
    }

    /// The single words that the command line may have assigned to a variable.
    #[must_use]
    pub fn assigned(&self, name: &str) -> Vec<Field> {
        let values = self.variables.get(name).into_iter().flatten();
        values.filter_map(|value| value.first().cloned()).collect()
    }

    /// The folders that a relative path may be relative to.
    #[must_use]
    pub fn folders(&self) -> &[Field] {
        &self.folders
    }

    /// The variables that the command line has set so far, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.variables.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// The user's home folder.
    #[must_use]
    pub fn home(&self) -> Option<&Field> {
        self.home.as_ref()
    }

    /// The agent's workspace.
    #[must_use]
    pub fn workspace(&self) -> Option<&Field> {
        self.workspace.as_ref()
    }

    /// Adds a link from `name` to `target`.
    pub(super) fn link(&mut self, name: &str, target: &Field) {
        for folder in &self.folders {
            let in_folder = |path: &str| {
                if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", folder.marked()) }
            };
            let link = in_folder(name);
            let parent = link.rsplit_once('/').map_or("", |(parent, _)| parent);
            let target = target.marked();
            let target =
                if target.starts_with('/') { target.to_owned() } else { format!("{parent}/{target}") };
            self.links.insert(plain(&link), target);
        }
    }

    /// The target of a link at that absolute path, if the command line has created one.
    #[must_use]
    pub fn link_target(&self, path: &str) -> Option<&str> {
        self.links.get(path).map(String::as_str)
    }

    /// Whether the command line has created links.
    #[must_use]
    pub fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Whether input from there is only known at run time: a named pipe or a connection.
    pub(super) fn is_pipe(&self, path: &str) -> bool {
        path.starts_with("/dev/tcp/")
            || path.starts_with("/dev/udp/")
            || self.pipes.iter().any(|name| name == path)
    }

    /// The value of a variable, if it has one.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Field> {
        self.values(name).into_iter().flatten().next()
    }

    /// The size of the state, which determines the cost of copying it.
    pub(super) fn size(&self) -> usize {
        self.variables.len() + self.functions.len() + self.aliases.len() + self.files.len() + self.links.len()
    }

    /// Changes to one of `folders`.
    pub(super) fn enter(&mut self, folders: Vec<Field>) {
        self.before = self.folders.first().cloned();
        let left = std::mem::replace(&mut self.folders, folders);
        if let Some(earlier) = self.snapshots.last_mut() {
            earlier.folders.get_or_insert(left);
        }
    }

    /// Adds possible working folders.
    pub(super) fn add_folders(&mut self, folders: Vec<Field>) {
        for folder in folders {
            if !self.folders.contains(&folder) && self.folders.len() < MAX_VALUES {
                self.folders.push(folder);
            }
        }
    }

    /// Starts a branch that may not be taken.
    pub(super) fn begin_branch(&mut self) {
        self.snapshots.push(Snapshot::default());
    }

    /// Ends a branch: both the state before and after it are possible.
    pub(super) fn merge_branch(&mut self) {
        let Some(earlier) = self.snapshots.pop() else { return };
        for (name, values) in &earlier.variables {
            for value in values {
                self.add(name, value.clone());
            }
        }
        self.add_folders(earlier.folders.clone().unwrap_or_default());
        self.pass_to_outer(earlier);
    }

    /// Ends a branch that was certainly taken.
    pub(super) fn commit_branch(&mut self) {
        if let Some(earlier) = self.snapshots.pop() {
            self.pass_to_outer(earlier);
        }
    }

    /// Hands the state before an inner branch to the outer one, which keeps older values.
    fn pass_to_outer(&mut self, earlier: Snapshot) {
        if let Some(outer) = self.snapshots.last_mut() {
            for (name, values) in earlier.variables {
                outer.variables.entry(name).or_insert(values);
            }
            outer.folders = outer.folders.take().or(earlier.folders);
        }
    }

    /// Enters a function.
    pub(super) fn enter_function(&mut self) {
        self.outer.push(HashMap::new());
    }

    /// Makes a variable local to the current function.
    pub(super) fn declare_local(&mut self, name: &str) {
        if let Some(outer) = self.outer.last_mut()
            && !outer.contains_key(name)
        {
            outer.insert(name.to_owned(), self.variables.get(name).cloned());
        }
    }

    /// Leaves a function and restores its local variables.
    pub(super) fn leave_function(&mut self) {
        for (name, values) in self.outer.pop().unwrap_or_default() {
            match values {
                Some(values) => self.variables.insert(name, values),
                None => self.variables.remove(&name),
            };
        }
    }

    /// The previous working folder.
    pub(super) fn previous_folder(&self) -> Field {
        self.before.clone().unwrap_or_else(|| Field::unknown("$OLDPWD"))
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        let values = self.variables.entry(name.to_owned()).or_default();
        self.changes += u32::from(!values.contains(&value));
        let values = std::mem::replace(values, vec![value]);
        if let Some(earlier) = self.snapshots.last_mut().filter(|_| !values.is_empty()) {
            earlier.variables.entry(name.to_owned()).or_insert(values);
        }
    }

    /// Adds a possible value of a variable.
    pub(super) fn add(&mut self, name: &str, value: Value) {
        let values = self.variables.entry(name.to_owned()).or_default();
        if !values.contains(&value) {
            if values.len() >= MAX_VALUES {
                *values = vec![vec![Field::unknown(&format!("${name}"))]];
            } else {
                values.push(value);
            }
        }
    }

    /// How many times a variable got a new value.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// Resets a variable to its initial value.
    pub(super) fn unset(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// The possible values of a variable; empty if nothing is known.
    pub(super) fn values(&self, name: &str) -> Vec<Value> {
        let name = self.references.get(name).map_or(name, String::as_str);
        if let Some(values) = self.variables.get(name) {
            return values.clone();
        }
        let one = |field: Option<Field>| field.map(|field| vec![vec![field]]).unwrap_or_default();
        match name {
            "HOME" => one(self.home.clone()),
            "PWD" if self.home.is_some() => self.folders.iter().map(|folder| vec![folder.clone()]).collect(),
            "OLDPWD" => one(self.before.clone()),
            "TMPDIR" => one(Some("/tmp".into())),
            "XDG_RUNTIME_DIR" => one(Some("/run/user/1000".into())),
            _ if name.starts_with("MURMUR_") => {
                let value = self.initial.iter().find(|(given, _)| *given == name);
                one(value.map(|(_, value)| value.clone()))
            }
            "IFS" => one(Some(" \t\n".into())),
            "SHELL" | "BASH" => one(Some("/bin/bash".into())),
            "USER" | "LOGNAME" => one(self.home.as_ref().map(Field::base)),
            "0" => one(Some("bash".into())),
            "@" | "*" => match &self.arguments {
                Arguments::Known(arguments) => vec![arguments.clone()],
                Arguments::Line | Arguments::Unknown => Vec::new(),
            },
            _ => match name.parse::<usize>() {
                Ok(number) => match &self.arguments {
                    Arguments::Known(arguments) => {
                        one(Some(arguments.get(number.saturating_sub(1)).cloned().unwrap_or_default()))
                    }
                    Arguments::Line | Arguments::Unknown => Vec::new(),
                },
                Err(_) => Vec::new(),
            },
        }
    }
}

/// Normalizes an absolute path.
fn plain(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}
