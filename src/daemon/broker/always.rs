//! Answers with `--always`: adds a rule for the call to the project's permissions.toml.

use murmur_agent::rule_files::{self, Project};
use murmur_core::permit::request::Request;
use murmur_core::permit::rules::{self, Action, Rules, append_rule};
use murmur_hook::evaluate;
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use std::io;
use std::path::Path;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;
use sys::{atomic, file};

/// Adds a rule that applies `action` to the call of `request`, unless another rule would take precedence. Without
/// `patterns`, it covers exactly this call.
pub(super) fn add(
    dir: &DataDir,
    home: &Path,
    request: &Request,
    action: Action,
    patterns: Option<Vec<String>>,
) -> Result<(), Failure> {
    if request.project.is_empty() {
        return Err(failure!("the agent has no project to add a rule to"; "answer without --always"));
    }
    dir.require_ours().map_err(|error| error.failure())?;
    let project = Project::of(&request.workspace).with_name(Some(&request.project));
    let path = dir.rules_of(&request.workspace);
    // Rules kept under the project's name come first.
    let by_name = project.by_name(dir).map_err(|error| error.failure())?;
    let by_name = rule_files::read(by_name.into_iter().collect()).map_err(|problem| problem.failure())?;
    let place = CallPlace {
        cwd: request.cwd.clone(),
        workspace: request.workspace.clone(),
        home: home.to_path_buf(),
        own: ProtectedPaths::default(),
    };
    let call = Call { tool: request.tool.clone(), input: request.input.clone(), place };
    let failed = |error: io::Error| failure!("cannot add a rule to {}", path.display()).because(&error);
    let text = file::read_regular(&path).map_err(failed)?.unwrap_or_default();
    let text = String::from_utf8(text).map_err(|error| failed(io::Error::other(error)))?;
    let is_doubted = request.doubt.is_some();
    let proposed = evaluate::proposals(&call, action, is_doubted);
    let patterns = match patterns {
        None => evaluate::only_this(&call, &path).map_err(|error| {
            let failure = error.failure();
            let hint = format!("to choose a rule that covers more, run: murmur {action} ID --always");
            if proposed.is_empty() { failure } else { failure.hint(hint) }
        })?,
        Some(patterns) => {
            if proposed.iter().all(|rule| rule.patterns != patterns) {
                return Err(
                    failure!("such a rule is not proposed for this call"; "see: murmur allow ID --always"),
                );
            }
            patterns
        }
    };
    let text = append_rule(&text, &path, &call.tool, action, &patterns).map_err(|error| error.failure())?;
    let rules = Rules::parse(text.as_bytes(), &path).map_err(|error| error.failure())?;
    let before = by_name.iter().filter_map(|file| file.rules.as_ref());
    let all: Vec<&Rules> = before.chain([&rules]).collect();
    let decides = evaluate::matched(&call, &all, is_doubted);
    match decides.filter(|matched| matched.action != action) {
        Some(rules::Matched { number, file, .. }) => Err(failure!(
            "rule {number} of {file} takes precedence over a new one"; "change it, or answer without --always"
        )),
        None => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            // Without creating the data folder, which may have been deleted.
            atomic::create_private_subfolder(&dir.projects()).map_err(failed)?;
            atomic::create_private_subfolder(folder).map_err(failed)?;
            atomic::write(&path, text.as_bytes()).map_err(failed)
        }
    }
}
