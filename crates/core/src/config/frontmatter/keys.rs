//! The keys of the frontmatter: parses YAML into settings; errors have their position in HEARTBEAT.md.

use std::num::NonZeroU32;
use std::sync::Arc;
use sys::error::{Failure, Hinted};
use sys::failure;

use serde::de::{Deserialize, Deserializer};
use serde_saphyr::{Error, Location, MergeKeyPolicy, Spanned};

use super::{Frontmatter, FrontmatterError};
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
use crate::config::spelling;
use crate::config::timing::Schedule;
use crate::config::trigger::On;
use crate::config::watchdogs::WatchdogKeys;

const KEYS: [&str; 38] = [
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
struct Key<T>(Option<T>);

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
type Given<T> = Key<Spanned<<T as Check>::Raw>>;

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Keys {
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

pub(super) fn read(yaml: &str, crons: &Crons) -> Result<Frontmatter, FrontmatterError> {
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if yaml.lines().all(blank) {
        return Ok(Frontmatter::default());
    }
    let options = serde_saphyr::options! {
        // Settings are a few lines; anything much larger is a mistake or an attack, and should fail quickly.
        budget: serde_saphyr::budget! {
            max_depth: 8,
            max_nodes: 4_096,
            max_events: 16_384,
            max_aliases: 16,
            max_anchors: 16,
            max_documents: 1,
        },
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    };
    let keys: Keys =
        serde_saphyr::from_str_with_options(yaml, options).map_err(|error| describe(&error, yaml))?;
    for (key, word) in [("name", &keys.name), ("description", &keys.description), ("model", &keys.model)] {
        if let Some(word) = word.0.as_ref().filter(|word| !is_word(&word.value)) {
            let accepted = "write one line of text that is not empty and does not start with '-'";
            return Err(wrong(word.referenced, failure!("{key:?} is {:?}", word.value; "{accepted}")));
        }
    }
    let (cron, tz) = (keys.cron.0.as_ref(), keys.tz.0.as_ref());
    let places = places(&keys);
    let interval = checked("interval", keys.interval)?;
    let schedule = Schedule::from_keys(
        interval,
        cron.map(|cron| cron.value.as_str()),
        tz.map(|tz| tz.value.as_str()),
        crons,
    )
    .map_err(|error| {
        let place = if error.key() == "tz" { tz } else { cron };
        let place = place.map_or(Location::UNKNOWN, |found| found.referenced);
        wrong(place, error.failure().after(format_args!("{:?}: ", error.key())))
    })?;
    let zone = tz.and_then(|name| zone_of(&name.value).ok());
    let zone = zone.as_ref().unwrap_or(crons.zone());
    let options = ScheduleKeys {
        enabled: keys.enabled.0,
        active_hours: checked("activeHours", keys.active_hours)?,
        except: checked("except", keys.except)?,
        jitter: checked("jitter", keys.jitter)?,
        catch_up: checked("catchUp", keys.catch_up)?,
        start_deadline: checked("startDeadline", keys.start_deadline)?,
        overlap: checked("overlap", keys.overlap)?,
        on: checked("on", keys.on)?,
    };
    let agent_place = keys.agent.place();
    let gates_place = keys.when.place().or(keys.verify.place());
    Ok(Frontmatter {
        places,
        agent_place,
        gates_place,
        name: keys.name.0.map(|name| name.value.into()),
        description: keys.description.0.map(|description| description.value.into()),
        schedule,
        max_turns: keys.max_turns.0.map(|turns| turns.value),
        timeout: checked("timeout", keys.timeout)?,
        background_wait: checked("backgroundWait", keys.background_wait)?,
        model: keys.model.0.map(|model| model.value.into()),
        agent: checked("agent", keys.agent)?,
        permissions: checked("permissions", keys.permissions)?,
        asking: ApprovalSettings {
            checker: checked::<Word<_>>("permissionsChecker", keys.permissions_checker)?.map(|word| word.0),
            approval: checked::<Word<_>>("approval", keys.approval)?.map(|word| word.0),
            approval_wait: checked("approvalWait", keys.approval_wait)?,
            approval_expiry: checked("approvalExpiry", keys.approval_expiry)?,
            questions: checked::<Word<_>>("questions", keys.questions)?.map(|word| word.0),
        },
        requires: checked("requires", keys.requires)?,
        mcp: checked("mcp", keys.mcp)?,
        reserve: checked("reserve", keys.reserve)?,
        on_limit: checked::<Word<_>>("onLimit", keys.on_limit)?.map(|word| word.0),
        options: options.boxed(zone),
        gates: Gates {
            when: checked("when", keys.when)?.unwrap_or_default(),
            verify: checked("verify", keys.verify)?.unwrap_or_default(),
        },
        on_failure: FailureKeys {
            retry: checked("retry", keys.retry)?,
            breaker: checked("breaker", keys.breaker)?,
        },
        max_budget: checked("maxBudgetUsd", keys.max_budget_usd)?,
        budget: checked::<Budget>("budget", keys.budget)?.map(|budget| Arc::new(budget.in_zone(zone))),
        min_free: checked("minFree", keys.min_free)?,
        watchdogs: WatchdogKeys {
            start_timeout: checked("startTimeout", keys.start_timeout)?,
            idle_timeout: checked("idleTimeout", keys.idle_timeout)?,
            tool_timeout: checked("toolTimeout", keys.tool_timeout)?,
        },
    })
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

fn checked<T: Check>(key: &str, given: Given<T>) -> Result<Option<T>, FrontmatterError> {
    let Some(Spanned { value, referenced, .. }) = given.0 else { return Ok(None) };
    T::check(value).map(Some).map_err(|own| wrong(referenced, own.after(format_args!("{key:?}: "))))
}

fn wrong(location: Location, what: Failure) -> FrontmatterError {
    FrontmatterError::Wrong { place: position(location), what }
}

/// The position in the file. The YAML begins on its second line.
fn position(location: Location) -> Position {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    Position { line: number(location.line()) + 1, column: number(location.column()) }
}

fn describe(error: &Error, yaml: &str) -> FrontmatterError {
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let line = usize::try_from(location.line().saturating_sub(1)).unwrap_or_default();
    let line = yaml.lines().nth(line).unwrap_or_default();
    let key = line.split_once(':').map(|(key, _)| key.trim()).filter(|key| KEYS.contains(key));
    let what = match (error.without_snippet(), key) {
        (Error::SerdeUnknownField { field, expected, .. }, _) => {
            // Those of the table that it is in.
            let hint = spelling::nearest(field, expected).map_or_else(
                || format!("use one of {}", expected.join(", ")),
                |meant| format!("did you mean {meant:?}?"),
            );
            failure!("unknown key {field:?}"; "{hint}")
        }
        (Error::DuplicateMappingKey { key, .. }, _) => {
            failure!("key {:?} is given twice", key.as_deref().unwrap_or_default(); "remove one of the two")
        }
        (_, Some(key)) if line.contains(": *") => {
            failure!("{key:?} begins with `*`, which YAML reads as an alias"; "put the value in quotes")
        }
        (_, Some(key)) => failure!("{key:?} has a wrong value"; "{}", accepted(key)),
        (other, None) => {
            let message = other.to_string();
            let message = message.lines().next().unwrap_or_default();
            let message = message.split(" at line ").next().unwrap_or_default().trim_start_matches("error: ");
            failure!(
                "the frontmatter is not `key: value` lines of YAML ({message})";
                "correct it, or begin the text with `***` if no frontmatter is meant"
            )
        }
    };
    wrong(location, what)
}

fn accepted(key: &str) -> &'static str {
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
