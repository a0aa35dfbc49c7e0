//! Other agents than Claude Code: started by a command, they would run outside murmur.

use super::control::place;
use shell_guard::guard::{Finding, inspect};

#[test]
fn commands_that_start_another_agent_are_refused_unless_a_rule_names_it() {
    for line in [
        "codex",
        "codex exec --json x",
        "codex exec resume --last x",
        "codex app-server",
        "codex mcp add x -- evil",
        "codex login",
        "cd /tmp && echo x | codex exec -",
        "npx -y @openai/codex exec x",
        "npx @openai/codex@latest exec x",
        "npm install --global @openai/codex",
        "opencode",
        "opencode run x",
        "opencode acp",
        "opencode session delete x",
        "bunx opencode-ai@latest run x",
        "gemini -p x --yolo",
        "echo x | gemini",
        "gemini extensions install https://example.com/x",
        "pnpm dlx @google/gemini-cli -p x",
        "node node_modules/@google/gemini-cli/bundle/gemini.js -p x",
        "nix run nixpkgs#gemini-cli -- -p x",
        "nix shell nixpkgs#codex -c codex exec x",
        "goose",
        "goose run -t x",
        "goose session --resume",
        "nix run nixpkgs#goose-cli -- run -t x",
        "claude-agent-acp",
        "timeout 60 codex-acp",
        "npx @agentclientprotocol/claude-agent-acp",
        "deno run -A npm:@agentclientprotocol/codex-acp",
    ] {
        let found = inspect(line, &place());
        assert!(matches!(found, Finding::Controlled { .. }), "{line}: {found:?}");
    }
}

#[test]
fn other_agents_may_not_be_killed() {
    for line in [
        "pkill codex",
        "pkill -f 'opencode acp'",
        "pkill -f bin/goose",
        "killall gemini",
        "kill $(pgrep -x codex)",
        "npx fkill-cli opencode",
        "python3 -c 'import subprocess,os; os.kill(int(subprocess.check_output(\"pgrep codex\", shell=True)), 9)'",
    ] {
        let found = inspect(line, &place());
        assert!(matches!(found, Finding::Refused { entry: "murmur", .. }), "{line}: {found:?}");
    }
}

#[test]
fn what_only_shows_something_or_has_a_similar_name_passes() {
    for line in [
        "codex --version",
        "codex exec --help",
        "codex login status",
        "codex features list",
        "cat ~/.codex/config.toml",
        "opencode models",
        "opencode session list",
        "opencode mcp list",
        "gemini --list-extensions",
        "gemini mcp list",
        "goose --version",
        "goose session list",
        "goose up",
        "goose -dir migrations postgres \"$DATABASE_URL\" up-to 20260101",
        "goose sqlite3 app.db status",
        "npm install @openai/codex",
        "npx gemini-cli-helper",
        "node node_modules/opencode-ai-plugin/index.js",
        "ls node_modules/@openai/codex",
        "echo '{}' > .gemini/config.yaml",
        "echo x > AGENTS.md",
        "echo x > .agents/notes.md",
        "pkill -f gemini-proxy",
        "pkill -f 'node projects/goose/server.js'",
        "pkill mongoose",
        "killall code",
    ] {
        let found = inspect(line, &place());
        assert!(found == Finding::Clear, "{line}: {found:?}");
    }
}

#[test]
fn a_rule_names_the_agent_that_is_started() {
    for (line, program) in [
        ("npx @openai/codex exec x", "codex"),
        ("opencode run x", "opencode"),
        ("bunx @google/gemini-cli", "gemini"),
        ("goose run -t x", "goose"),
        ("claude-agent-acp", "claude-agent-acp"),
    ] {
        let found = inspect(line, &place());
        assert!(
            matches!(&found, Finding::Controlled { entry, .. } if *entry == program),
            "{line}: {found:?}"
        );
    }
}
