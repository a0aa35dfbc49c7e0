//! What a shell knows while it runs a line: variables, functions, the folder, files it has just written.

use super::field::Field;
use super::tree::Node;
use crate::permit::call::Place;
use crate::permit::links::{Links, ReadLink};
use std::collections::HashMap;
use std::rc::Rc;

/// How many values one variable may have, depending on what happened.
const ALTERNATIVES: usize = 8;

/// The value of a variable: one field, or those of an array.
pub(super) type Value = Vec<Field>;

/// What something was before what may not happen.
#[derive(Debug, Clone, Default)]
struct Earlier {
    variables: HashMap<String, Vec<Value>>,
    folders: Option<Vec<Field>>,
}

/// A file that the line wrote, and with what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) text: String,
    /// Whether it was decoded from something.
    pub(super) is_decoded: bool,
}

/// The arguments of a script or function.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arguments {
    /// It is the line itself: most likely it has none.
    Line,
    /// It may be called with any.
    Unknown,
    /// These.
    Known(Vec<Field>),
}

/// What is known at one place of a line.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The folders it may run in.
    folders: Vec<Field>,
    before: Option<Field>,
    home: Option<Field>,
    workspace: Option<Field>,
    variables: HashMap<String, Vec<Value>>,
    /// How many times a variable got a value that it had not.
    changes: u32,
    /// What was changed by what may not happen, the innermost last.
    earlier: Vec<Earlier>,
    /// What variables of functions are outside of them, the innermost last.
    outer: Vec<HashMap<String, Option<Vec<Value>>>>,
    /// The folders it stays in if the last change of folders fails.
    pub(super) stays: Vec<Field>,
    /// Whether it ends where something fails: `set -e`.
    pub(super) is_strict: bool,
    /// What `$1` and `$@` stand for.
    pub(super) arguments: Arguments,
    /// Variables that are other names of others.
    pub(super) references: HashMap<String, String>,
    pub(super) functions: HashMap<String, Rc<Node>>,
    pub(super) aliases: HashMap<String, String>,
    pub(super) files: HashMap<String, Written>,
    /// Files and descriptors from which comes what is only known when it runs.
    pub(super) pipes: Vec<String>,
    /// Where links lead that the line has made, by their names.
    links: HashMap<String, String>,
    /// What variables are where the line begins, which murmur sets for its agents.
    given: Rc<[(&'static str, Field)]>,
    /// Where links lead that are on the disk.
    disk: Option<Rc<Links>>,
}

impl Scope {
    /// What is known where a line begins; without a place, nothing about folders.
    #[must_use]
    pub fn new(place: Option<&Place>) -> Self {
        let path = |path: &std::path::Path| Field::from(&*path.to_string_lossy());
        Self {
            folders: vec![place.map_or_else(|| Field::unknown("$PWD"), |place| path(&place.cwd))],
            before: None,
            home: place.map(|place| path(&place.home)),
            workspace: place.map(|place| path(&place.workspace)),
            variables: HashMap::new(),
            changes: 0,
            earlier: Vec::new(),
            outer: Vec::new(),
            stays: Vec::new(),
            is_strict: false,
            arguments: Arguments::Line,
            references: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            files: HashMap::new(),
            pipes: Vec::new(),
            links: HashMap::new(),
            given: place
                .into_iter()
                .flat_map(|place| &place.own.variables)
                .map(|(name, value)| (*name, path(value)))
                .collect(),
            disk: None,
        }
    }

    /// The same, where links on the disk are followed as `read` finds them.
    #[must_use]
    pub fn following(self, read: Option<ReadLink>) -> Self {
        Self { disk: read.map(|read| Rc::new(Links::new(read))), ..self }
    }

    /// Where the absolute `path` leads through links that are on the disk; none where it has none.
    #[must_use]
    pub fn real(&self, path: &str) -> Option<String> {
        self.disk.as_ref()?.real(path)
    }

    /// Whether links on the disk can be followed.
    #[must_use]
    pub fn sees_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// What a variable may be where the line has set it, as a single word each.
    #[must_use]
    pub fn given(&self, name: &str) -> Vec<Field> {
        let values = self.variables.get(name).into_iter().flatten();
        values.filter_map(|value| value.first().cloned()).collect()
    }

    /// The folders that a relative path may count from.
    #[must_use]
    pub fn folders(&self) -> &[Field] {
        &self.folders
    }

    /// The variables that the line has set by now, in the order of their names.
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

    /// Makes a link: `name` leads where `target` does.
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

    /// Where the link of that absolute path leads, if the line has made one.
    #[must_use]
    pub fn linked(&self, path: &str) -> Option<&str> {
        self.links.get(path).map(String::as_str)
    }

    /// Whether the line has made links.
    #[must_use]
    pub fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Whether what is read there is only known when it runs: a pipe with a name, a connection.
    pub(super) fn is_pipe(&self, path: &str) -> bool {
        path.starts_with("/dev/tcp/")
            || path.starts_with("/dev/udp/")
            || self.pipes.iter().any(|name| name == path)
    }

    /// The value of a variable, where it has one.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Field> {
        self.values(name).into_iter().flatten().next()
    }

    /// How much there is to copy.
    pub(super) fn size(&self) -> usize {
        self.variables.len() + self.functions.len() + self.aliases.len() + self.files.len() + self.links.len()
    }

    /// Goes to one of `folders`.
    pub(super) fn enter(&mut self, folders: Vec<Field>) {
        self.before = self.folders.first().cloned();
        let left = std::mem::replace(&mut self.folders, folders);
        if let Some(earlier) = self.earlier.last_mut() {
            earlier.folders.get_or_insert(left);
        }
    }

    /// It may also be in one of these folders.
    pub(super) fn may_be_in(&mut self, folders: Vec<Field>) {
        for folder in folders {
            if !self.folders.contains(&folder) && self.folders.len() < ALTERNATIVES {
                self.folders.push(folder);
            }
        }
    }

    /// What happens from here on may not happen.
    pub(super) fn suppose(&mut self) {
        self.earlier.push(Earlier::default());
    }

    /// What happened since [`Self::suppose`] did, or did not: everything may still be what it was.
    pub(super) fn join(&mut self) {
        let Some(earlier) = self.earlier.pop() else { return };
        for (name, values) in &earlier.variables {
            for value in values {
                self.add(name, value.clone());
            }
        }
        self.may_be_in(earlier.folders.clone().unwrap_or_default());
        self.hand_out(earlier);
    }

    /// What happened since [`Self::suppose`] did, where the line goes on.
    pub(super) fn settle(&mut self) {
        if let Some(earlier) = self.earlier.pop() {
            self.hand_out(earlier);
        }
    }

    /// What was before the inner was before the outer, unless that has changed it already.
    fn hand_out(&mut self, earlier: Earlier) {
        if let Some(outer) = self.earlier.last_mut() {
            for (name, values) in earlier.variables {
                outer.variables.entry(name).or_insert(values);
            }
            outer.folders = outer.folders.take().or(earlier.folders);
        }
    }

    /// A function begins, whose variables are its own.
    pub(super) fn begin(&mut self) {
        self.outer.push(HashMap::new());
    }

    /// In a function, a variable of its own.
    pub(super) fn own(&mut self, name: &str) {
        if let Some(outer) = self.outer.last_mut()
            && !outer.contains_key(name)
        {
            outer.insert(name.to_owned(), self.variables.get(name).cloned());
        }
    }

    /// A function ends, and so do its variables.
    pub(super) fn end(&mut self) {
        for (name, values) in self.outer.pop().unwrap_or_default() {
            match values {
                Some(values) => self.variables.insert(name, values),
                None => self.variables.remove(&name),
            };
        }
    }

    /// The folder it was in before.
    pub(super) fn before(&self) -> Field {
        self.before.clone().unwrap_or_else(|| Field::unknown("$OLDPWD"))
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        let values = self.variables.entry(name.to_owned()).or_default();
        self.changes += u32::from(!values.contains(&value));
        let values = std::mem::replace(values, vec![value]);
        if let Some(earlier) = self.earlier.last_mut().filter(|_| !values.is_empty()) {
            earlier.variables.entry(name.to_owned()).or_insert(values);
        }
    }

    /// A variable may also have this value.
    pub(super) fn add(&mut self, name: &str, value: Value) {
        let values = self.variables.entry(name.to_owned()).or_default();
        if !values.contains(&value) {
            if values.len() >= ALTERNATIVES {
                *values = vec![vec![Field::unknown(&format!("${name}"))]];
            } else {
                values.push(value);
            }
        }
    }

    /// How many times a variable got a value that it had not.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// Forgets a variable: it is what it was where the line began.
    pub(super) fn forget(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// The values that a variable may have; none where nothing is known of it.
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
                let value = self.given.iter().find(|(given, _)| *given == name);
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

/// An absolute path without `.`, `..` and empty names.
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
