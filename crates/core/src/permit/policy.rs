//! The policy for calls that neither guard nor rules decide. The hook gets it in an environment variable.

pub use crate::config::approval::{Approval, Checker, Questions};
use crate::config::approval::{ApprovalSettings, ResolvedApproval};
use crate::config::backend::{Backend, Capability};
use crate::config::limit::Source;
use serde::{Deserialize, Serialize};

/// How long a hook waits before it defers a call, in seconds, so that a person who is there can answer without a second
/// process.
pub const DEFER_AFTER: u32 = 120;
/// Maximum time that a hook waits for a person if a time is set, in seconds.
const MAX_WAIT: u32 = 7 * 86_400;
/// How long a hook waits if no time is set, in seconds. With a `timeout` over 24.8 days, Claude Code treats the hook as
/// failed at once (measured on 2.1.197).
const DEFAULT_WAIT: u32 = 24 * 86_400;

/// The role of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The agent of a beat, unattended.
    Beat,
    /// A hosted agent, which takes messages.
    Hosted,
    /// A hosted agent that directs others.
    Manager,
}

/// The resolved policy of one agent. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Whether the guard checks commands; off with `permissions: "skip"`.
    pub guard: bool,
    /// Whether it is a manager, for which only its patterns are allowed.
    #[serde(default)]
    pub manager: bool,
    /// Whether it may enter and leave plan mode; beats may not ([`super::pipeline::PLAN`]).
    #[serde(default = "yes")]
    pub plan_mode: bool,
    /// Who decides on calls.
    pub checker: Checker,
    /// What happens when a person does not answer in time.
    pub approval: Approval,
    /// How long a person has to answer before the call is denied or deferred, in seconds. `None` means no limit.
    #[serde(default)]
    pub approval_wait: Option<u32>,
    /// How long a deferred call waits for its answer, in seconds. `None` means no limit.
    #[serde(default)]
    pub approval_expiry: Option<u32>,
    /// Who answers its questions.
    pub questions: Questions,
}

/// How long a hook may take apart from waiting for an answer, in seconds.
const WORK: u32 = 20;

/// How much longer than the hook's deadline Claude Code waits, in seconds.
const MARGIN: u32 = 10;

impl Policy {
    /// Resolves the settings and their sources: the role's defaults, overridden by config.toml, then by config.json.
    /// The frontmatter, which the agent can edit, can only make them stricter.
    #[must_use]
    pub fn settled(
        role: Role,
        settings: &ApprovalSettings,
        workspace: &ApprovalSettings,
        frontmatter: &ApprovalSettings,
    ) -> ResolvedApproval {
        let checker = if role == Role::Beat { Checker::Off } else { Checker::Manual };
        let defaults = ApprovalSettings {
            checker: Some(checker),
            questions: Some(Questions::Broker),
            ..ApprovalSettings::default()
        };
        let layers =
            [(Source::Default, &defaults), (Source::ConfigToml, settings), (Source::ConfigJson, workspace)];
        ResolvedApproval::of(&layers, frontmatter)
    }

    /// Resolves the policy, as in [`Self::settled`].
    #[must_use]
    pub fn resolve(
        role: Role,
        settings: &ApprovalSettings,
        workspace: &ApprovalSettings,
        frontmatter: &ApprovalSettings,
        guard: bool,
    ) -> Self {
        let settled = Self::settled(role, settings, workspace, frontmatter);
        let policy = Self {
            guard,
            manager: role == Role::Manager,
            plan_mode: role != Role::Beat,
            checker: settled.checker.map_or(Checker::Manual, |checker| checker.value),
            approval: settled.approval.map(|approval| approval.value).unwrap_or(
                match (role, settled.approval_wait) {
                    // Don't keep a process around for a wait without limit.
                    (Role::Beat, None) => Approval::Defer,
                    _ => Approval::Wait,
                },
            ),
            approval_wait: settled.approval_wait.map(|wait| wait.value.as_secs().min(MAX_WAIT)),
            approval_expiry: settled.approval_expiry.map(|expiry| expiry.value.as_secs()),
            questions: settled.questions.map_or(Questions::Broker, |questions| questions.value),
        };
        // Only a beat can end and be resumed.
        if role == Role::Beat { policy } else { policy.without_defer() }
    }

    /// The same policy for `backend`, which may lack [`Capability::Defer`].
    #[must_use]
    pub fn on(self, backend: &Backend) -> Self {
        if backend.has(Capability::Defer) { self } else { self.without_defer() }
    }

    /// The same policy, except that a call is denied when it would be deferred.
    fn without_defer(self) -> Self {
        if self.approval == Approval::Wait {
            return self;
        }
        let approval_wait = Some(self.approval_wait.unwrap_or(DEFER_AFTER));
        Self { approval: Approval::Wait, approval_wait, ..self }
    }

    /// The policy of a beat without any settings.
    #[must_use]
    pub fn of_beat() -> Self {
        let nothing = ApprovalSettings::default();
        Self::resolve(Role::Beat, &nothing, &nothing, &nothing, true)
    }

    /// How long a model may take to decide, in seconds.
    #[must_use]
    pub fn model_wait(&self) -> u32 {
        self.approval_wait.unwrap_or(DEFER_AFTER)
    }

    /// How long a hook may take before it denies the call, in seconds.
    #[must_use]
    pub fn deadline(&self) -> u32 {
        let may_wait =
            matches!(self.checker, Checker::Manual | Checker::Llm) || self.questions == Questions::Broker;
        if may_wait { self.approval_wait.unwrap_or(DEFAULT_WAIT).saturating_add(WORK) } else { WORK }
    }

    /// How long Claude Code waits for a hook, in seconds: longer than the hook's deadline, so that the hook can give a
    /// reason.
    #[must_use]
    pub fn timeout(&self) -> u32 {
        self.deadline().saturating_add(MARGIN)
    }
}

/// The default for agents of an older murmur, which had no such setting.
fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::interval::Interval;

    const NOTHING: ApprovalSettings = ApprovalSettings {
        checker: None,
        approval: None,
        approval_wait: None,
        approval_expiry: None,
        questions: None,
    };

    fn resolve(
        role: Role,
        settings: ApprovalSettings,
        workspace: ApprovalSettings,
        frontmatter: ApprovalSettings,
    ) -> Policy {
        Policy::resolve(role, &settings, &workspace, &frontmatter, true)
    }

    #[test]
    fn by_default_a_beat_runs_freely_and_a_hosted_agent_asks() {
        let beat = resolve(Role::Beat, NOTHING, NOTHING, NOTHING);
        assert_eq!(
            beat,
            Policy {
                guard: true,
                manager: false,
                plan_mode: false,
                checker: Checker::Off,
                approval: Approval::Defer,
                approval_wait: None,
                approval_expiry: None,
                questions: Questions::Broker,
            }
        );
        assert_eq!(
            resolve(Role::Hosted, NOTHING, NOTHING, NOTHING),
            Policy { checker: Checker::Manual, plan_mode: true, approval: Approval::Wait, ..beat }
        );
        assert!(resolve(Role::Manager, NOTHING, NOTHING, NOTHING).manager);
    }

    #[test]
    fn config_json_overrides_config_toml_and_frontmatter_only_tightens_either() {
        let with = |checker| ApprovalSettings { checker: Some(checker), ..NOTHING };
        for (settings, workspace, frontmatter, expected) in [
            (with(Checker::Manual), NOTHING, NOTHING, Checker::Manual),
            (with(Checker::Manual), with(Checker::Off), NOTHING, Checker::Off),
            (with(Checker::Manual), NOTHING, with(Checker::Off), Checker::Manual),
            (NOTHING, with(Checker::Manual), with(Checker::Off), Checker::Manual),
            (NOTHING, NOTHING, with(Checker::Deny), Checker::Deny),
            (with(Checker::Deny), with(Checker::Llm), with(Checker::Manual), Checker::Manual),
        ] {
            assert_eq!(resolve(Role::Beat, settings, workspace, frontmatter).checker, expected);
        }
    }

    #[test]
    fn by_default_a_person_has_unlimited_time() {
        let with = |seconds| ApprovalSettings { approval_wait: Interval::from_secs(seconds), ..NOTHING };
        let policy = resolve(Role::Beat, with(60), NOTHING, NOTHING);
        assert_eq!((policy.approval, policy.approval_wait), (Approval::Wait, Some(60)));
        assert_eq!((policy.deadline(), policy.timeout()), (80, 90));
        let most = resolve(Role::Beat, with(30 * 86_400), NOTHING, NOTHING);
        assert_eq!(most.approval_wait, Some(7 * 86_400));
        let unset = resolve(Role::Hosted, NOTHING, NOTHING, NOTHING);
        // Claude Code counts milliseconds in 31 bits.
        assert!(u64::from(unset.timeout()) * 1000 < 1 << 31);
        assert_eq!(unset.deadline(), 24 * 86_400 + 20);
    }

    #[test]
    fn a_backend_that_cannot_defer_denies_at_that_time() {
        let of = |settings| {
            let policy = resolve(Role::Beat, settings, NOTHING, NOTHING).on(&Backend::Codex);
            (policy.approval, policy.approval_wait)
        };
        assert_eq!(of(NOTHING), (Approval::Wait, Some(DEFER_AFTER)));
        let deferred = ApprovalSettings {
            approval: Some(Approval::Defer),
            approval_wait: Interval::from_secs(60),
            ..NOTHING
        };
        assert_eq!(of(deferred), (Approval::Wait, Some(60)));
        let beat = resolve(Role::Beat, NOTHING, NOTHING, NOTHING);
        assert_eq!(beat.on(&Backend::Claude), beat);
        let hosted = resolve(Role::Hosted, NOTHING, NOTHING, NOTHING);
        assert_eq!(hosted.on(&Backend::Codex), hosted);
    }

    #[test]
    fn hosted_agents_never_defer() {
        let defer = |approval_wait| ApprovalSettings {
            approval: Some(Approval::Defer),
            approval_wait,
            approval_expiry: Interval::from_secs(5),
            ..NOTHING
        };
        for role in [Role::Hosted, Role::Manager] {
            for (wait, expected) in [(None, DEFER_AFTER), (Interval::from_secs(60), 60)] {
                let policy = resolve(role, defer(wait), NOTHING, NOTHING);
                assert_eq!((policy.approval, policy.approval_wait), (Approval::Wait, Some(expected)));
            }
        }
    }

    #[test]
    fn skip_turns_the_guard_off_and_nothing_else() {
        let policy = Policy::resolve(Role::Beat, &NOTHING, &NOTHING, &NOTHING, false);
        assert_eq!(Policy { guard: true, ..policy }, resolve(Role::Beat, NOTHING, NOTHING, NOTHING));
    }

    #[test]
    fn it_round_trips_through_the_environment() {
        let policy = resolve(Role::Manager, NOTHING, NOTHING, NOTHING);
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
        assert!(text.contains(r#""checker":"manual""#), "{text}");
    }
}
