//! The keys of the frontmatter: parses YAML into settings; errors have their position in HEARTBEAT.md.

use std::num::NonZeroU32;
use std::sync::Arc;
use sys::error::Hinted;
use sys::failure;

use serde::de::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::{Frontmatter, FrontmatterError, mistakes};
use crate::config::active_hours::ActiveHours;
use crate::config::approval::{Approval, ApprovalSettings, Checker, Choice, Questions, Word};
use crate::config::backend::{Backend, KeyPlaces};
use crate::config::budget::{Budget, Usd};
use crate::config::checked::Check;
use crate::config::cron::{Crons, zone_of};
use crate::config::except::Except;
use crate::config::file::is_word;
use crate::config::gate::{Gates, Verify, When};
use crate::config::interval::Interval;
use crate::config::mcp::Mcp;
use crate::config::on_failure::{Breaker, FailureKeys, Retry};
use crate::config::permissions::{self, Permissions};
use crate::config::problem::Position;
use crate::config::requires::Requires;
use crate::config::reserve::{OnLimit, Reserve};
use crate::config::schedule_options::{CatchUp, Overlap, ScheduleKeys};
use crate::config::size::Size;
use crate::config::timing::Schedule;
use crate::config::trigger::On;
use crate::config::watchdogs::WatchdogKeys;

pub(super) const KEYS: [&str; 38] = [
    "name",
    "description",
    "interval",
    "cron",
    "tz",
    "timeout",
    "backgroundWait",
    "maxTurns",
    "model",
    "agent",
    "permissions",
    "permissionsChecker",
    "approval",
    "approvalWait",
    "approvalExpiry",
    "questions",
    "requires",
    "mcp",
    "reserve",
    "onLimit",
    "enabled",
    "activeHours",
    "except",
    "jitter",
    "catchUp",
    "startDeadline",
    "overlap",
    "on",
    "when",
    "verify",
    "retry",
    "breaker",
    "maxBudgetUsd",
    "budget",
    "minFree",
    "startTimeout",
    "idleTimeout",
    "toolTimeout",
];

/// The value of a key, if it is given. A key without a value is an error, rather than an absent key.
///
/// A type rather than a function for `deserialize_with`, which would compile the parser again for each key.
pub(super) struct Key<T>(pub(super) Option<T>);

impl<T> Key<Spanned<T>> {
    /// Where its value is.
    fn place(&self) -> Option<Position> {
        self.0.as_ref().map(|given| position(given.referenced))
    }
}

impl<T> Default for Key<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Key<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Some).map(Self)
    }
}

/// A value of a type with rules of its own, and its position.
pub(super) type Given<T> = Key<Spanned<<T as Check>::Raw>>;

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Keys {
    name: Key<Spanned<String>>,
    description: Key<Spanned<String>>,
    interval: Given<Interval>,
    cron: Key<Spanned<String>>,
    tz: Key<Spanned<String>>,
    timeout: Given<Interval>,
    background_wait: Given<Interval>,
    max_turns: Key<Spanned<NonZeroU32>>,
    model: Key<Spanned<String>>,
    agent: Given<Backend>,
    permissions: Given<Permissions>,
    permissions_checker: Given<Word<Checker>>,
    approval: Given<Word<Approval>>,
    approval_wait: Given<Interval>,
    approval_expiry: Given<Interval>,
    questions: Given<Word<Questions>>,
    requires: Given<Requires>,
    mcp: Given<Mcp>,
    reserve: Given<Reserve>,
    on_limit: Given<Word<OnLimit>>,
    enabled: Key<bool>,
    active_hours: Given<ActiveHours>,
    except: Given<Except>,
    jitter: Given<Interval>,
    catch_up: Given<CatchUp>,
    start_deadline: Given<Interval>,
    overlap: Given<Word<Overlap>>,
    on: Given<On>,
    when: Given<When>,
    verify: Given<Verify>,
    retry: Given<Retry>,
    breaker: Given<Breaker>,
    max_budget_usd: Given<Usd>,
    budget: Given<Budget>,
    min_free: Given<Size>,
    start_timeout: Given<Interval>,
    idle_timeout: Given<Interval>,
    tool_timeout: Given<Interval>,
}

/// Reads the settings; the error has every mistake.
pub(super) fn read(yaml: &str, crons: &Crons) -> Result<Frontmatter, FrontmatterError> {
    let (keys, mut wrong) = mistakes::parse(yaml);
    for (key, word) in [("name", &keys.name), ("description", &keys.description), ("model", &keys.model)] {
        if let Some(word) = word.0.as_ref().filter(|word| !is_word(&word.value)) {
            let accepted = "write one line of text that is not empty and does not start with '-'";
            wrong.add(key, position(word.referenced), failure!("{key:?} is {:?}", word.value; "{accepted}"));
        }
    }
    let (cron, tz) = (keys.cron.0.as_ref(), keys.tz.0.as_ref());
    let places = places(&keys);
    let interval = wrong.checked("interval", keys.interval);
    let schedule = Schedule::from_keys(
        interval,
        cron.map(|cron| cron.value.as_str()),
        tz.map(|tz| tz.value.as_str()),
        crons,
    );
    let schedule = schedule.unwrap_or_else(|error| {
        let place = if error.key() == "tz" { tz } else { cron };
        let place = position(place.map_or(Location::UNKNOWN, |found| found.referenced));
        // Keys that aren't readable are missing here.
        if !["interval", "cron", "tz"].iter().any(|key| wrong.has(key)) {
            wrong.add(error.key(), place, error.failure().after(format_args!("{:?}: ", error.key())));
        }
        None
    });
    let zone = tz.and_then(|name| zone_of(&name.value).ok());
    let zone = zone.as_ref().unwrap_or(crons.zone());
    let options = ScheduleKeys {
        enabled: keys.enabled.0,
        active_hours: wrong.checked("activeHours", keys.active_hours),
        except: wrong.checked("except", keys.except),
        jitter: wrong.checked("jitter", keys.jitter),
        catch_up: wrong.checked("catchUp", keys.catch_up),
        start_deadline: wrong.checked("startDeadline", keys.start_deadline),
        overlap: wrong.checked("overlap", keys.overlap),
        on: wrong.checked("on", keys.on),
    };
    let agent_place = keys.agent.place();
    let gates_place = keys.when.place().or(keys.verify.place());
    let front = Frontmatter {
        places,
        agent_place,
        gates_place,
        name: keys.name.0.map(|name| name.value.into()),
        description: keys.description.0.map(|description| description.value.into()),
        schedule,
        max_turns: keys.max_turns.0.map(|turns| turns.value),
        timeout: wrong.checked("timeout", keys.timeout),
        background_wait: wrong.checked("backgroundWait", keys.background_wait),
        model: keys.model.0.map(|model| model.value.into()),
        agent: wrong.checked("agent", keys.agent),
        permissions: wrong.checked("permissions", keys.permissions),
        asking: ApprovalSettings {
            checker: wrong
                .checked::<Word<_>>("permissionsChecker", keys.permissions_checker)
                .map(|word| word.0),
            approval: wrong.checked::<Word<_>>("approval", keys.approval).map(|word| word.0),
            approval_wait: wrong.checked("approvalWait", keys.approval_wait),
            approval_expiry: wrong.checked("approvalExpiry", keys.approval_expiry),
            questions: wrong.checked::<Word<_>>("questions", keys.questions).map(|word| word.0),
        },
        requires: wrong.checked("requires", keys.requires),
        mcp: wrong.checked("mcp", keys.mcp),
        reserve: wrong.checked("reserve", keys.reserve),
        on_limit: wrong.checked::<Word<_>>("onLimit", keys.on_limit).map(|word| word.0),
        options: options.boxed(zone),
        gates: Gates {
            when: wrong.checked("when", keys.when).unwrap_or_default(),
            verify: wrong.checked("verify", keys.verify).unwrap_or_default(),
        },
        on_failure: FailureKeys {
            retry: wrong.checked("retry", keys.retry),
            breaker: wrong.checked("breaker", keys.breaker),
        },
        max_budget: wrong.checked("maxBudgetUsd", keys.max_budget_usd),
        budget: wrong.checked::<Budget>("budget", keys.budget).map(|budget| Arc::new(budget.in_zone(zone))),
        min_free: wrong.checked("minFree", keys.min_free),
        watchdogs: WatchdogKeys {
            start_timeout: wrong.checked("startTimeout", keys.start_timeout),
            idle_timeout: wrong.checked("idleTimeout", keys.idle_timeout),
            tool_timeout: wrong.checked("toolTimeout", keys.tool_timeout),
        },
    };
    wrong.into_error().map_or(Ok(front), Err)
}

/// Where keys are set that not every backend can fulfill.
fn places(keys: &Keys) -> KeyPlaces {
    let mut places = KeyPlaces::default();
    for (key, place) in [
        ("agent", keys.agent.place()),
        ("maxTurns", keys.max_turns.place()),
        ("requires", keys.requires.place()),
        ("mcp", keys.mcp.place()),
        ("approval", keys.approval.place()),
        ("questions", keys.questions.place()),
        ("maxBudgetUsd", keys.max_budget_usd.place()),
        ("budget", keys.budget.place()),
        ("reserve", keys.reserve.place()),
        ("onLimit", keys.on_limit.place()),
        ("permissions", keys.permissions.place()),
        ("permissionsChecker", keys.permissions_checker.place()),
        ("approvalExpiry", keys.approval_expiry.place()),
        ("backgroundWait", keys.background_wait.place()),
        ("retry", keys.retry.place()),
    ] {
        place.into_iter().for_each(|place| places.add(key, place));
    }
    places
}

/// The position in the file. The YAML begins on its second line.
pub(super) fn position(location: Location) -> Position {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    Position { line: number(location.line()) + 1, column: number(location.column()) }
}

pub(super) fn accepted(key: &str) -> &'static str {
    match key {
        "interval" | "jitter" | "startDeadline" | "timeout" | "backgroundWait" | "approvalWait"
        | "approvalExpiry" | "startTimeout" | "idleTimeout" | "toolTimeout" => {
            "write an interval such as 30m or 1h30m"
        }
        "cron" => "write five fields in quotes, such as \"0 9 * * MON-FRI\"",
        "tz" => "write an IANA name such as Europe/Berlin",
        "maxTurns" => "write a whole number of at least 1",
        "agent" => "write claude, codex, or a name such as acp:opencode",
        "permissions" => permissions::ACCEPTED,
        "permissionsChecker" => Checker::ACCEPTED,
        "approval" => Approval::ACCEPTED,
        "questions" => Questions::ACCEPTED,
        "requires" => Requires::ACCEPTED,
        "mcp" => Mcp::ACCEPTED,
        "reserve" => Reserve::ACCEPTED,
        "onLimit" => OnLimit::ACCEPTED,
        "enabled" => "write true or false",
        "activeHours" => ActiveHours::ACCEPTED,
        "except" => Except::ACCEPTED,
        "catchUp" => CatchUp::ACCEPTED,
        "overlap" => Overlap::ACCEPTED,
        "on" => On::ACCEPTED,
        "when" => When::ACCEPTED,
        "verify" => Verify::ACCEPTED,
        "retry" => Retry::ACCEPTED,
        "breaker" => Breaker::ACCEPTED,
        "maxBudgetUsd" => Usd::ACCEPTED,
        "budget" => Budget::ACCEPTED,
        "minFree" => Size::ACCEPTED,
        _ => "write one line of text",
    }
}
