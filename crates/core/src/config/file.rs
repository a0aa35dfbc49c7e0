//! config.json: parses bytes into workspaces, each of which is valid or invalid on its own.
//!
//! Looks only at the text; `heartbeat` checks whether the folders exist.

#[cfg(test)]
mod tests;
mod workspace;

use std::collections::HashMap;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::error::{Failure, Hinted};
use sys::failure;

use super::budget::Budget;
use super::cron::Crons;
use super::json::{self, Member, Object};
use super::problem::{Position, Problem};
use super::reserve::Reserve;
use super::schedule_options::ScheduleKeys;
use super::spelling;
use super::timing::Schedule;
use jiff::Timestamp;
use sys::file;
use sys::unreadable::uncommon;

pub use workspace::{DEFAULT_BACKGROUND_WAIT, DEFAULT_MAX_TURNS, DEFAULT_MIN_FREE, Workspace};
pub(super) use workspace::{DEFAULT_TIMEOUT, KEYS, is_word};

/// The default for how many beats run at once.
pub const DEFAULT_MAX_CONCURRENT: NonZeroU32 = NonZeroU32::new(4).unwrap();

/// The contents of config.json.
#[derive(Debug)]
pub struct File {
    /// How many beats may run at once, in all workspaces together.
    pub max_concurrent: NonZeroU32,
    /// What beats leave of each of their account's usage limits, unless a workspace sets another reserve.
    pub reserve: Option<Reserve>,
    /// The entries, in order.
    pub workspaces: Vec<Result<Workspace, Box<BadWorkspace>>>,
    /// Probable typos that were skipped, one line each.
    pub warnings: Vec<Problem>,
}

/// An invalid entry. Nothing runs in its workspace.
#[derive(Debug, Clone)]
pub struct BadWorkspace {
    /// What is wrong with it.
    pub problem: Problem,
    /// Its path, if it is readable and no earlier entry has it.
    pub path: Option<Arc<Path>>,
    /// Its schedule, if it is readable.
    pub schedule: Option<Schedule>,
    /// The other keys about its schedule, as far as they are readable.
    pub options: Option<Box<ScheduleKeys>>,
    /// Its last run, if it is readable.
    pub last_run: Option<Timestamp>,
}

impl BadWorkspace {
    /// An entry whose only usable part is its problem.
    fn unknown(problem: Problem) -> Self {
        Self { problem, path: None, schedule: None, options: None, last_run: None }
    }
}

/// Why config.json as a whole is not usable.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file is not readable.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is invalid in a way that affects all entries.
    #[error("{0}{more}", more = and_more(.0))]
    Wrong(#[from] Problem),
}

/// Says how many other problems there are.
fn and_more(problem: &Problem) -> String {
    match problem.all().count() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more; see: murmur config check)"),
    }
}

impl FileError {
    /// Every mistake because of which the file is not usable.
    #[must_use]
    pub fn all(&self) -> Vec<Failure> {
        match self {
            Self::Read { .. } => vec![self.failure()],
            Self::Wrong(problem) => problem.failures(),
        }
    }
}

impl Hinted for FileError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { path, source } => {
                uncommon(path, source).unwrap_or_else(|| file::read_hint(source).to_owned())
            }
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}

const ROOT_KEYS: [&str; 5] = ["maxConcurrent", "reserve", "workspaces", "budget", "$schema"];

/// Tables of config.toml that could be expected in a workspace.
pub(super) const SETTINGS: [&str; 3] = ["captures", "notify", "quiet"];

impl File {
    /// Reads the file at `path`. A missing file is an empty one.
    ///
    /// Fails if the file is not readable, or as [`File::parse`] does.
    pub fn read(path: &Path, crons: &Crons) -> Result<Self, FileError> {
        Self::of(Self::bytes(path)?.as_deref(), path, crons)
    }

    /// The bytes of the file at `path`; `None` if it is missing. Fails if it is not readable.
    pub fn bytes(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
        match file::read_regular(path) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::Read { path: path.to_owned(), source }),
        }
    }

    /// Parses `bytes` as [`File::parse`] does; without any, the file is an empty one.
    pub fn of(bytes: Option<&[u8]>, path: &Path, crons: &Crons) -> Result<Self, FileError> {
        bytes.map_or_else(|| Ok(Self::empty()), |bytes| Self::parse(bytes, path, crons))
    }

    /// Parses the bytes of a file; `path` is for messages. A file with only whitespace is an error: a torn write leaves
    /// one.
    ///
    /// Fails unless the text is a JSON object in UTF-8, and all values outside the entries are valid. Also fails on
    /// rules at the top level, where they would have no effect, and on misspelled limits. The error then has every
    /// mistake in the file.
    pub fn parse(bytes: &[u8], path: &Path, crons: &Crons) -> Result<Self, FileError> {
        let text = text_of(bytes, path)?;
        let mut file = Self::empty();
        if text.body().trim().is_empty() {
            let what = Failure::new("it is empty, which is not JSON").hint("write {} into it, or remove it");
            return Err(Problem::at(path, Position { line: 1, column: 1 }, what).into());
        }
        let root = text.object(text.body())?;
        let mut problems = Vec::new();
        for member in &root.0 {
            let name = member.name();
            if ROOT_KEYS.contains(&name.as_ref()) {
                continue;
            }
            let known = &ROOT_KEYS[..4];
            let what = text.unknown_key(
                member.key,
                &name,
                known,
                "move it into each workspace: rules are set per workspace",
            );
            if spelling::is_about_permission(&name) || spelling::is_about_limits(&name, known) {
                problems.push(what);
            } else {
                file.warnings.push(what);
            }
        }
        let member = |key| root.get(key);
        if let Some(member) = member("maxConcurrent").filter(|member| member.value != "null") {
            match serde_json::from_str(member.value) {
                Ok(count) => file.max_concurrent = count,
                Err(_) => problems.push(text.wrong(
                    "maxConcurrent",
                    member.value,
                    "write a whole number of at least 1, such as 4",
                )),
            }
        }
        let reserve = member("reserve")
            .map(|member| workspace::checked(&text, "reserve", member.value, Reserve::ACCEPTED));
        file.reserve = reserve.transpose().unwrap_or_else(keep(&mut problems)).flatten();
        let budget = member("budget")
            .map(|member| workspace::checked::<Budget>(&text, "budget", member.value, Budget::ACCEPTED));
        let budget = budget.transpose().unwrap_or_else(keep(&mut problems)).flatten();
        let budget = budget.map(|budget| Arc::new(budget.in_zone(crons.zone())));
        let entries = member("workspaces").map(|member| text.entries(&member)).transpose();
        if let Some(entries) = entries.unwrap_or_else(keep(&mut problems)) {
            file.workspaces.reserve_exact(entries.len());
            let mut reader = workspace::Reader::new(&text, crons, &mut file.warnings);
            file.workspaces.extend(entries.into_iter().map(|entry| reader.read(entry)));
            for workspace in file.workspaces.iter_mut().flatten() {
                if let (Some(_), Some(member)) = (file.reserve, root.get("reserve")) {
                    workspace.key_places.1.add("reserve", text.place(member.value));
                }
                workspace.reserve = workspace.reserve.or(file.reserve);
                workspace.total_budget.clone_from(&budget);
            }
        }
        refuse_duplicates(&mut file.workspaces, &text);
        if !problems.is_empty() {
            let bad = file.workspaces.iter().filter_map(|entry| entry.as_ref().err());
            problems.extend(bad.flat_map(|bad| bad.problem.clone().split()));
        }
        match Problem::first_of(problems) {
            Some(problem) => Err(problem.into()),
            None => Ok(file),
        }
    }

    fn empty() -> Self {
        Self {
            max_concurrent: DEFAULT_MAX_CONCURRENT,
            reserve: None,
            workspaces: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Adds a problem to `problems` and returns nothing in its place.
fn keep<T: Default>(problems: &mut Vec<Problem>) -> impl FnOnce(Problem) -> T {
    move |problem| {
        problems.push(problem);
        T::default()
    }
}

/// Marks all entries of a path but the first as invalid; the first one as well if they disagree on rules.
fn refuse_duplicates(entries: &mut [Result<Workspace, Box<BadWorkspace>>], text: &Text<'_>) {
    // The paths are clean, so their bytes are enough to compare, which is cheaper than comparing components.
    let paths: Vec<Option<Arc<Path>>> = entries.iter().map(path_of).collect();
    let mut seen: HashMap<&[u8], usize> = HashMap::with_capacity(entries.len());
    for (index, path) in paths.iter().enumerate() {
        let Some(path) = path else { continue };
        let first = *seen.entry(path.as_os_str().as_encoded_bytes()).or_insert(index);
        if first == index {
            continue;
        }
        let [before, entry] = match entries.get_disjoint_mut([first, index]) {
            Ok(pair) => pair,
            Err(_) => continue,
        };
        let lines = (place_of(before), place_of(entry));
        if let (Ok(one), Ok(other)) = (&*before, &*entry)
            && let Some(key) = disagreement(one, other)
        {
            let what =
                twice(path, lines.1, &format!("and the two disagree on {key:?}, so nothing runs there"));
            *before = Err(Box::new(one.to_bad(Problem::at(text.path, lines.0, what))));
        }
        let what = twice(path, lines.0, "and only that entry counts");
        let problem = Problem::at(text.path, lines.1, what);
        *entry = Err(Box::new(BadWorkspace::unknown(problem)));
    }
}

/// The first key about permissions on which two entries of one folder disagree.
pub(super) fn disagreement(one: &Workspace, other: &Workspace) -> Option<&'static str> {
    let permissions = (one.permissions != other.permissions).then_some("permissions");
    permissions.or_else(|| one.asking.difference(&other.asking))
}

/// The error for a workspace that is listed twice.
pub(super) fn twice(path: &Path, other: Position, what: &str) -> Failure {
    failure!("workspace {path:?} is also listed in line {}, {what}", other.line; "remove one of the two")
}

fn path_of(entry: &Result<Workspace, Box<BadWorkspace>>) -> Option<Arc<Path>> {
    entry.as_ref().map_or_else(|bad| bad.path.clone(), |workspace| Some(Arc::clone(&workspace.path)))
}

fn place_of(entry: &Result<Workspace, Box<BadWorkspace>>) -> Position {
    let unknown = Position { line: 1, column: 1 };
    entry.as_ref().map_or_else(|bad| bad.problem.place().unwrap_or(unknown), |workspace| workspace.place)
}

/// The text of a file, with its path for errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    source: &'a str,
    path: &'a Path,
}

/// The text of a config.json.
pub(super) fn text_of<'a>(bytes: &'a [u8], path: &'a Path) -> Result<Text<'a>, Problem> {
    match std::str::from_utf8(bytes) {
        Ok(source) => Ok(Text { source, path }),
        Err(error) => {
            let start = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
            let place = Position::of(&start, start.len());
            Err(Problem::at(
                path,
                place,
                failure!("byte {} is not UTF-8", error.valid_up_to(); "save the file as UTF-8"),
            ))
        }
    }
}

impl<'a> Text<'a> {
    /// The whole text, without a byte order mark.
    pub(super) fn body(&self) -> &'a str {
        self.source.strip_prefix('\u{feff}').unwrap_or(self.source)
    }

    /// Parses the whole text as an object.
    pub(super) fn object(&self, body: &'a str) -> Result<Object<'a>, Problem> {
        Object::parse(body).map_err(|error| {
            if error.is_data() {
                let start = body.len() - body.trim_start().len();
                let what = failure!("{}", json::message(&error); "write {{\"workspaces\": []}}");
                return Problem::at(self.path, self.place(body.get(start..).unwrap_or(body)), what);
            }
            // serde_json counts columns in bytes; convert to characters.
            let line = body.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
            let before = line.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or(line.as_bytes());
            let column = String::from_utf8_lossy(before).chars().count();
            let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            let place = Position { line: count(error.line()), column: count(column + 1) };
            Problem::at(
                self.path,
                place,
                failure!("this is not JSON: {}", json::message(&error); "correct it there or just before"),
            )
        })
    }

    pub(super) fn place(&self, part: &str) -> Position {
        let place = Position::of(self.source, json::span(self.source, part).start);
        // Editors don't count the byte order mark as a character.
        let marked = place.line == 1 && self.source.starts_with('\u{feff}');
        Position { column: place.column - u32::from(marked && place.column > 1), ..place }
    }

    /// The entries of the member `workspaces`.
    pub(super) fn entries(&self, member: &Member<'a>) -> Result<Vec<&'a str>, Problem> {
        json::elements(member.value)
            .map_err(|_| self.wrong("workspaces", member.value, "write a list of objects, [{\"path\": ...}]"))
    }

    /// The whole text, including a byte order mark.
    pub(super) fn source(&self) -> &'a str {
        self.source
    }

    fn wrong(&self, key: &str, value: &str, accepted: &str) -> Problem {
        self.wrong_since(key, value, "", accepted)
    }

    /// Like `wrong`, with the reason `why`.
    fn wrong_since(&self, key: &str, value: &str, why: &str, accepted: &str) -> Problem {
        let mut found: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if found.chars().count() > 60 {
            found = found.chars().take(60).chain("...".chars()).collect();
        }
        Problem::at(self.path, self.place(value), failure!("{key:?} is {found}{why}"; "{accepted}"))
    }

    fn key_of_settings(&self, raw: &str, name: &str) -> Problem {
        let what = failure!(
            "unknown key {name:?}"; "write it as a table [{name}] in config.toml, which holds for all workspaces"
        );
        Problem::at(self.path, self.place(raw), what)
    }

    fn unknown_key(&self, raw: &str, name: &str, known: &[&str], about_rules: &str) -> Problem {
        let hint = match spelling::nearest(name, known) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None if spelling::is_about_permission(name) => about_rules.to_owned(),
            None => format!("it has no effect; use one of {}", known.join(", ")),
        };
        Problem::at(self.path, self.place(raw), failure!("unknown key {name:?}"; "{hint}"))
    }
}
