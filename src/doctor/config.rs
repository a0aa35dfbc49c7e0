//! The user's configuration: config.json with its heartbeats, config.toml, and rule files.

use super::files::instead_of_a_file;
use super::finding::counted;
use super::{Check, Environment, Finding, Hint};
use crate::beat::sources;
use crate::daemon::approved;
use crate::daemon::broker::model;
use murmur_core::config::approval::{ApprovalSettings, Checker};
use murmur_core::config::file::FileError;
use murmur_core::config::heartbeat::Resolved;
use murmur_core::config::problem::Problem;
use murmur_core::config::settings::{Settings, SettingsError, WrongTables};
use murmur_core::permit::rules::Rules;
use std::path::Path;
use sys::{clock, file};

/// Checks config.json.
pub(super) fn heartbeats(environment: &Environment, config: &Result<Resolved, FileError>) -> Finding {
    let (check, path) = (Check::CONFIG, environment.dir.config());
    if let Some(kind) = instead_of_a_file(&path) {
        return check.fail(format!("{} is {kind}, not a file", path.display()), Hint::NO_FILE);
    }
    let config = match config {
        Ok(config) => config,
        Err(error) => return check.failed(error),
    };
    let settings = Settings::read(&environment.user.settings.settings()).ok();
    let broken = config.heartbeats.iter().filter_map(|heartbeat| heartbeat.problem(settings.as_ref()));
    let broken: Vec<_> = broken.collect();
    let broken = broken.iter().flat_map(|problem| problem.all());
    let problems = config.problems.iter().chain(broken).map(|problem| check.failed(problem));
    let warnings = config.warnings.iter().map(|warning| check.failed(warning).into_warning());
    let warnings = warnings
        .chain(config.ahead.iter().map(|ahead| check.warn(ahead.to_string(), Hint::FORGET_THE_LAST_RUN)));
    let settings = settings.unwrap_or_default();
    let notices = config.heartbeats.iter().flat_map(|heartbeat| {
        let notices = sources::notices(heartbeat, &settings.asking).into_iter();
        let notices =
            notices.map(|notice| check.warn(format!("{}: {notice}", heartbeat.id), Hint::ASKS_TOO_MUCH));
        let unreported = heartbeat.unreported_cost(&settings);
        let unreported = unreported
            .map(|unreported| check.failed(&unreported).into_warning().after(&format!("{}: ", heartbeat.id)));
        notices.chain(unreported)
    });
    let mut wrong = problems.chain(warnings).chain(notices);
    let Some(mut first) = wrong.next() else {
        let unedited = config.heartbeats.iter().filter(|heartbeat| heartbeat.unedited).count();
        let unedited = if unedited == 0 { String::new() } else { format!(", {unedited} not edited yet") };
        let mut heartbeats = config.heartbeats.clone();
        approved::mark(&environment.dir, &mut heartbeats, clock::now());
        let unapproved = heartbeats.iter().filter(|heartbeat| !heartbeat.approved).count();
        let unapproved =
            if unapproved == 0 { String::new() } else { format!(", {unapproved} not approved yet") };
        return check.ok(format!("{}{unedited}{unapproved}", counted(config.heartbeats.len(), "heartbeat")));
    };
    let rest = wrong.count();
    if rest > 0 {
        first.found = format!("{} (and {rest} more)", first.found);
    }
    first
}

/// Checks config.toml, and its model if one is used.
pub(super) fn settings(environment: &Environment, config: Option<&Resolved>) -> Vec<Finding> {
    let (check, path) = (Check::SETTINGS, environment.user.settings.settings());
    let read = Settings::read(&path);
    let denying = read.as_ref().err().map(SettingsError::all).unwrap_or_default();
    let denying = denying.iter().map(|mistake| check.failed(mistake).after("every call is denied: "));
    let others = WrongTables::of(&read);
    let mistakes: Vec<Finding> = denying.chain(others.iter().map(|mistake| check.failed(mistake))).collect();
    match read {
        Ok(settings) if mistakes.is_empty() => vec![model(environment, &settings, config)],
        _ => mistakes,
    }
}

/// Checks the model of a valid config.toml.
fn model(environment: &Environment, settings: &Settings, config: Option<&Resolved>) -> Finding {
    let (check, path) = (Check::SETTINGS, environment.user.settings.settings());
    let asks_a_model = |asking: &ApprovalSettings| asking.checker == Some(Checker::Llm);
    let heartbeats = config.into_iter().flat_map(|config| &config.heartbeats);
    let mut approvals =
        heartbeats.flat_map(|heartbeat| [&heartbeat.settings.asking, &heartbeat.settings.tighter]);
    let model = if asks_a_model(&settings.asking) || approvals.any(asks_a_model) {
        match model::configured_model(&path, &environment.keys) {
            Ok(model) => format!("; model: {model}"),
            Err(error) => {
                let finding = check.failed(&error).after("calls are denied because no model can be asked: ");
                return if error.depends_on_environment() { finding.into_warning() } else { finding };
            }
        }
    } else {
        String::new()
    };
    let is_there = if path.exists() { "" } else { " does not exist; the defaults apply" };
    check.ok(format!("{}{is_there}{model}", path.display()))
}

/// Checks permissions.toml, the user's and every project's.
pub(super) fn rules(environment: &Environment) -> Vec<Finding> {
    let check = Check::RULES;
    let mut count = 0;
    let global = environment.user.settings.rules();
    let projects = std::fs::read_dir(environment.dir.projects()).into_iter().flatten().flatten();
    let projects = projects.map(|entry| entry.path().join("permissions.toml"));
    let (mut there, mut wrong) = (Vec::new(), Vec::new());
    for path in std::iter::once(global.clone()).chain(projects) {
        match read_rules(check, &path) {
            Ok(None) => {}
            Ok(Some(rules)) => {
                count += rules;
                there.push(path.display().to_string());
            }
            Err(findings) => {
                wrong.extend(findings.into_iter().map(|finding| finding.after("calls are denied: ")));
            }
        }
    }
    if !wrong.is_empty() {
        return wrong;
    }
    if let Some(path) = there.iter().find(|path| is_by_name(Path::new(path))) {
        let found = format!("{path} applies to every project of that name");
        return vec![check.warn(found, Hint::RULES_BY_NAME)];
    }
    let files = if there.is_empty() {
        format!("; {} does not exist", global.display())
    } else {
        format!(" in {}", there.join(", "))
    };
    vec![check.ok(format!("{}{files}", counted(count, "rule")))]
}

/// Whether it has the rules for all projects of a name, as in old versions.
fn is_by_name(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    let is_project = folder.parent().is_some_and(|above| above.ends_with("projects"));
    is_project && !folder.file_name().is_some_and(|name| name.to_string_lossy().contains('@'))
}

/// The number of rules; `None` if there is no file.
fn read_rules(check: Check, path: &Path) -> Result<Option<usize>, Vec<Finding>> {
    let bytes = file::read_regular(path).map_err(|error| {
        vec![check.fail(format!("cannot read {}: {error}", path.display()), Hint::OWNER_AND_MODE)]
    })?;
    let Some(bytes) = bytes else { return Ok(None) };
    let rules = Rules::parse(&bytes, path);
    let failed = |problem: Problem| problem.all().map(|problem| check.failed(problem)).collect();
    rules.map(|rules| Some(rules.iter().len())).map_err(failed)
}
