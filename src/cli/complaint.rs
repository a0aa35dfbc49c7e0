//! Errors as a command shows them: the one place where they become text.
//!
//! In: the error that a command ended with, and its causes. Out: `error: …` and `hint: …` on stderr. A hint is what an
//! error of ours says itself, never a part of a message.

use crate::error::{Failure, Hinted};
use crate::sys::text::Shown;
use std::error::Error;
use std::io::{self, Write};

/// Shows `error`, and what to do about it.
pub(super) fn complain(error: &anyhow::Error) {
    show(&told(error));
}

/// Shows what failed, and what to do about it.
pub(super) fn show(failure: &Failure) {
    let _closed = writeln!(Shown(io::stderr().lock()), "{}", failure.shown());
}

/// What failed with its causes, none of them twice, and what to do about it.
pub(super) fn told(error: &anyhow::Error) -> Failure {
    Failure::of_chain(error.chain()).or_hint(error.chain().find_map(hint))
}

/// Asks `error` for its hint, if it is one of these types: an error that goes through anyhow has lost its own type, and is
/// none of those that are not listed here. `tests/it/layers.rs` holds the list against the code.
macro_rules! hints {
    ($error:ident: $($type:path,)*) => {
        $(if let Some(ours) = $error.downcast_ref::<$type>() {
            return ours.hint();
        })*
    };
}

/// What `error` says to do.
pub(super) fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    hints! { error:
        crate::capture::id::IdError,
        crate::capture::store::StoreError,
        Failure,
        io::Error,
    }
    #[cfg(unix)]
    hints! { error:
        crate::agent::find::FindError,
        crate::agent::invocation::Taken,
        crate::agent::settings::NotText,
        crate::beat::BeatError,
        crate::cli::service::manager::ManagerError,
        crate::cli::start::Unsettled,
        crate::cli::status::Silent,
        crate::config::cron::CronError,
        crate::config::edit::EditError,
        crate::config::file::FileError,
        crate::config::frontmatter::FrontmatterError,
        crate::config::interval::IntervalError,
        crate::config::problem::Problem,
        crate::config::settings::SettingsError,
        crate::config::timing::ScheduleError,
        crate::daemon::broker::model::Unreachable,
        crate::daemon::broker::requests::NotTaken,
        crate::daemon::gone::GoneError,
        crate::daemon::state::NotNow,
        crate::host::hosting::HostingError,
        crate::host::id::IdError,
        crate::host::launch::LaunchError,
        crate::host::launch::WantedError,
        crate::host::record::ClaimError,
        crate::host::state::SendError,
        crate::permit::question::AnswerError,
        crate::permit::request::NotAnId,
        crate::permit::rules::EntryError,
        crate::replay::scrub::Suspicious,
        crate::roster::SessionsError,
        crate::rpc::client::AskError,
        crate::service::NotPlain,
        crate::setup::SetupError,
        crate::setup::check::CheckError,
        crate::sys::paths::PathsError,
        crate::trust::CollectError,
        crate::trust::StoreError,
    }
    None
}
