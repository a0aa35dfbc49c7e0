//! What holds for one agent where neither guard nor rule decides. It travels to the hook in an environment variable.

pub use crate::config::asking::{Approval, Checker, Questions};
use crate::config::asking::{Asking, Settled};
use crate::config::limit::Source;
use serde::{Deserialize, Serialize};

/// How long a call that is put off until it is answered is waited for before, in seconds: whoever is there answers it
/// without a second process.
pub const HOLD: u32 = 120;
/// The longest that a hook waits for a person where that is said, in seconds.
const LONGEST_WAIT: u32 = 7 * 86_400;
/// How long it waits where nothing is said, in seconds. With a `timeout` of more than 24.8 days Claude Code takes the hook
/// to have failed at once (measured on 2.1.197).
const ENDLESS: u32 = 24 * 86_400;

/// What an agent is to murmur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It runs one beat, unattended.
    Beat,
    /// It is hosted: somebody started it and speaks to it.
    Hosted,
    /// It is hosted and directs others.
    Manager,
}

/// All of it, resolved for one agent. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Whether the guard looks at commands; not with `permissions: "skip"`.
    pub guard: bool,
    /// Whether it is the manager: only what its patterns allow is allowed.
    #[serde(default)]
    pub manager: bool,
    /// Whether it may enter and leave plan mode; a beat may not ([`super::pipeline::PLAN`]).
    #[serde(default = "yes")]
    pub plan_mode: bool,
    /// Who decides.
    pub checker: Checker,
    /// What happens when a person does not answer in time.
    pub approval: Approval,
    /// How long a person has to answer, in seconds: until the call is denied or put off. `None` is until they answer.
    #[serde(default)]
    pub approval_wait: Option<u32>,
    /// How long a call that was put off waits for its answer, in seconds. `None` is until there is one.
    #[serde(default)]
    pub approval_expiry: Option<u32>,
    /// Who answers its questions.
    pub questions: Questions,
}

/// How long a hook may take for everything but waiting for an answer, in seconds.
const WORK: u32 = 20;

/// How much longer than its own deadline Claude Code waits for a hook, in seconds.
const MARGIN: u32 = 10;

impl Policy {
    /// Who is asked, and who says so: the defaults of its role, config.toml's word over them, then config.json's, and of
    /// the frontmatter, which lies where the agent can write, only what makes it stricter.
    #[must_use]
    pub fn settled(role: Role, settings: &Asking, workspace: &Asking, frontmatter: &Asking) -> Settled {
        let checker = if role == Role::Beat { Checker::Off } else { Checker::Manual };
        let defaults =
            Asking { checker: Some(checker), questions: Some(Questions::Broker), ..Asking::default() };
        let layers =
            [(Source::Default, &defaults), (Source::ConfigToml, settings), (Source::ConfigJson, workspace)];
        Settled::of(&layers, frontmatter)
    }

    /// What holds, as [`Self::settled`] has it.
    #[must_use]
    pub fn resolve(
        role: Role,
        settings: &Asking,
        workspace: &Asking,
        frontmatter: &Asking,
        guard: bool,
    ) -> Self {
        let said = Self::settled(role, settings, workspace, frontmatter);
        Self {
            guard,
            manager: role == Role::Manager,
            plan_mode: role != Role::Beat,
            checker: said.checker.map_or(Checker::Manual, |said| said.value),
            approval: said.approval.map(|said| said.value).unwrap_or(match (role, said.approval_wait) {
                // What waits as long as it takes is to hold no process meanwhile.
                (Role::Beat, None) => Approval::Defer,
                _ => Approval::Wait,
            }),
            approval_wait: said.approval_wait.map(|wait| wait.value.as_secs().min(LONGEST_WAIT)),
            approval_expiry: said.approval_expiry.map(|expiry| expiry.value.as_secs()),
            questions: said.questions.map_or(Questions::Broker, |said| said.value),
        }
    }

    /// What holds for a beat where nothing is said.
    #[must_use]
    pub fn of_beat() -> Self {
        let nothing = Asking::default();
        Self::resolve(Role::Beat, &nothing, &nothing, &nothing, true)
    }

    /// How long a model has to decide, in seconds.
    #[must_use]
    pub fn model_wait(&self) -> u32 {
        self.approval_wait.unwrap_or(HOLD)
    }

    /// How long a hook may take before it denies, in seconds.
    #[must_use]
    pub fn deadline(&self) -> u32 {
        let may_wait =
            matches!(self.checker, Checker::Manual | Checker::Llm) || self.questions == Questions::Broker;
        if may_wait { self.approval_wait.unwrap_or(ENDLESS).saturating_add(WORK) } else { WORK }
    }

    /// How long Claude Code is to wait for a hook, in seconds: longer than the hook itself, which says why.
    #[must_use]
    pub fn timeout(&self) -> u32 {
        self.deadline().saturating_add(MARGIN)
    }
}

/// Agents that an older murmur started have no beat's word against it.
fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::interval::Interval;

    const NOTHING: Asking =
        Asking { checker: None, approval: None, approval_wait: None, approval_expiry: None, questions: None };

    fn resolve(role: Role, settings: Asking, workspace: Asking, frontmatter: Asking) -> Policy {
        Policy::resolve(role, &settings, &workspace, &frontmatter, true)
    }

    #[test]
    fn a_beat_is_let_run_and_a_hosted_agent_asks_where_nothing_is_said() {
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
        let with = |checker| Asking { checker: Some(checker), ..NOTHING };
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
    fn a_person_has_as_long_as_it_takes_where_nothing_is_said() {
        let with = |seconds| Asking { approval_wait: Interval::from_secs(seconds), ..NOTHING };
        let said = resolve(Role::Beat, with(60), NOTHING, NOTHING);
        assert_eq!((said.approval, said.approval_wait), (Approval::Wait, Some(60)));
        assert_eq!((said.deadline(), said.timeout()), (80, 90));
        let most = resolve(Role::Beat, with(30 * 86_400), NOTHING, NOTHING);
        assert_eq!(most.approval_wait, Some(7 * 86_400));
        let unsaid = resolve(Role::Hosted, NOTHING, NOTHING, NOTHING);
        // Claude Code counts milliseconds in 31 bits.
        assert!(u64::from(unsaid.timeout()) * 1000 < 1 << 31);
        assert_eq!(unsaid.deadline(), 24 * 86_400 + 20);
    }

    #[test]
    fn skip_turns_the_guard_off_and_nothing_else() {
        let policy = Policy::resolve(Role::Beat, &NOTHING, &NOTHING, &NOTHING, false);
        assert_eq!(Policy { guard: true, ..policy }, resolve(Role::Beat, NOTHING, NOTHING, NOTHING));
    }

    #[test]
    fn it_survives_the_journey_through_the_environment() {
        let policy = resolve(Role::Manager, NOTHING, NOTHING, NOTHING);
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
        assert!(text.contains(r#""checker":"manual""#), "{text}");
    }
}
