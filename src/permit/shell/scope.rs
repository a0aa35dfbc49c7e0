//! What a shell knows while it runs a line: variables, functions, the folder, files it has just written.

use super::field::Field;
use super::tree::Node;
use crate::permit::call::Place;
use std::collections::HashMap;
use std::rc::Rc;

/// How many values one variable may have, depending on what happened.
const ALTERNATIVES: usize = 8;

/// The value of a variable: one field, or those of an array.
pub(super) type Value = Vec<Field>;

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
    /// What `$1` and `$@` stand for.
    pub(super) arguments: Arguments,
    /// Variables that are other names of others.
    pub(super) references: HashMap<String, String>,
    pub(super) functions: HashMap<String, Rc<Node>>,
    pub(super) aliases: HashMap<String, String>,
    pub(super) files: HashMap<String, Written>,
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
            arguments: Arguments::Line,
            references: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            files: HashMap::new(),
        }
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

    /// How much there is to copy.
    pub(super) fn size(&self) -> usize {
        self.variables.len() + self.functions.len() + self.aliases.len() + self.files.len()
    }

    /// Goes to `folder`; where that is not sure to happen, it may still be in those it was in.
    pub(super) fn enter(&mut self, folder: Field, is_sure: bool) {
        self.before = self.folders.first().cloned();
        if is_sure || self.folders.len() >= ALTERNATIVES {
            self.folders.clear();
        }
        self.folders.push(folder);
    }

    /// The folder it was in before.
    pub(super) fn before(&self) -> Field {
        self.before.clone().unwrap_or_else(|| Field::unknown("$OLDPWD"))
    }

    /// Sets a variable; where that is not sure to happen, it may still be what it was.
    pub(super) fn set(&mut self, name: &str, value: Value, is_sure: bool) {
        let values = self.variables.entry(name.to_owned()).or_default();
        self.changes += u32::from(!values.contains(&value));
        if is_sure {
            values.clear();
        }
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
