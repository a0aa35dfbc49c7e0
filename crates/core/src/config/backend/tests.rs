//! Names of backends, and what each can do.

use super::*;

#[test]
fn a_name_is_read_and_written_alike() {
    for name in ["claude", "codex", "acp:opencode", "acp:my-agent_2"] {
        assert_eq!(name.parse::<Backend>().unwrap().to_string(), name);
    }
    assert_eq!("claude-code".parse::<Backend>().unwrap(), Backend::Claude);
}

#[test]
fn other_names_are_refused() {
    for name in ["", "Claude", "acp", "acp:", "acp:a b", "acp:../x", "acp:-x", "gemini"] {
        assert!(name.parse::<Backend>().is_err(), "{name}");
    }
}

#[test]
fn a_backend_that_was_meant_is_suggested() {
    let hint = |name: &str| name.parse::<Backend>().unwrap_err().hint().unwrap();
    assert!(hint("Codex").starts_with("did you mean codex? Otherwise, use "));
    assert!(hint("gemini").starts_with("did you mean acp:gemini? Otherwise, use "));
    assert!(hint("mine").starts_with("use claude, codex, or acp:NAME"));
}

#[test]
fn only_claude_has_every_capability() {
    assert!(Capability::ALL.iter().all(|capability| Backend::Claude.has(*capability)));
    assert!(!Backend::Codex.has(Capability::Cost));
    let acp = |name: &str| Backend::Acp(name.into());
    assert!(!acp("opencode").has(Capability::Hooks));
    let costs = ["opencode", "claude-agent-acp", "mine", "gemini", "goose", "codex-acp"];
    let costs = costs.map(|name| acp(name).has(Capability::Cost));
    assert_eq!(costs, [true, true, true, false, true, false]);
    let asks = ["opencode", "claude-agent-acp", "mine", "gemini", "goose", "codex-acp"];
    let asks = asks.map(|name| acp(name).has(Capability::Asks));
    assert_eq!(asks, [true, true, false, false, false, false]);
    let errors = ["opencode", "claude-agent-acp", "mine", "gemini", "goose", "codex-acp"];
    let errors = errors.map(|name| acp(name).has(Capability::Errors));
    assert_eq!(errors, [false, true, true, true, false, false]);
    assert_eq!(Backend::Claude.lacks(), "");
    let codex = "deferred calls, user questions, a turn limit, cost reporting, background tasks, \
                 and a choice of MCP servers; \
                 its sandboxed calls and read-only MCP calls run without a decision if a hook's shell is killed";
    assert_eq!(Backend::Codex.lacks(), codex);
    let opencode = "hooks, deferred calls, user questions, a turn limit, a cost limit, token reporting, \
                    usage limits, background tasks, API error codes, and a choice of MCP servers; \
                    calls that it does not ask about run without a decision, and murmur only reports them";
    assert_eq!(acp("opencode").lacks(), opencode);
    let gemini = "hooks, guaranteed approval requests, deferred calls, user questions, a turn limit, \
                  cost reporting, usage limits, background tasks, and a choice of MCP servers; calls that it does not \
                  ask about run without a decision, and murmur only reports them";
    assert_eq!(acp("gemini").lacks(), gemini);
}
