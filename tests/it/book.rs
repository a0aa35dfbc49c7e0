//! The documentation: its command lines do and print what it says, murmur accepts its examples, and its links have
//! targets.
//!
//! CONTRIBUTING.md, *Documentation*, describes how to write a document for this.
//!
//! Not trycmd: the blocks of a page share one home, one daemon and one fake-claude, and their ids differ between runs.
//! trycmd runs each block by itself, so we would still need this engine for all pages.

mod examples;
mod links;
mod objects;
pub(crate) mod page;
mod same;
mod shell;

use std::fmt::Write;
use std::time::Duration;

use crate::env::Env;
use page::{Block, Command, Page, Part, documents};
use shell::{Ran, Shell};

/// Longer than any document takes.
const DEADLINE: Duration = Duration::from_secs(180);

/// One test per document, so that a failure names it.
macro_rules! documents {
    ($($test:ident = $name:literal,)*) => {
        /// The documents with a test.
        const TESTED: &[&str] = &[$($name),*];
        mod every_command_line_is_true_of {
            $(#[test]
            fn $test() {
                super::holds(&super::Page::read($name));
            })*
        }
    };
}

documents! {
    contributing = "CONTRIBUTING.md",
    readme = "README.md",
    agents = "docs/guide/agents.md",
    architecture = "docs/design/architecture.md",
    backends = "docs/reference/backends.md",
    captures = "docs/guide/captures.md",
    claude_code = "fixtures/acted/README.md",
    claude_versions = "docs/reference/claude-code.md",
    commands = "docs/reference/commands.md",
    comparison = "docs/guide/comparison.md",
    config = "docs/reference/config.md",
    containers = "packaging/containers.md",
    daemon_protocol = "docs/reference/daemon-protocol.md",
    fixtures = "fake-claude/README.md",
    getting_started = "docs/guide/getting-started.md",
    guard = "docs/reference/guard.md",
    heartbeats = "docs/guide/heartbeats.md",
    hook = "docs/reference/hook.md",
    host_events = "docs/reference/host-events.md",
    host_protocol = "docs/reference/host-protocol.md",
    install = "docs/guide/install.md",
    journal = "docs/reference/journal.md",
    json = "docs/reference/json.md",
    mcp = "crates/derun/mcp.md",
    nix = "nix/README.md",
    notifications = "docs/guide/notifications.md",
    performance = "docs/design/performance.md",
    permissions = "docs/reference/permissions.md",
    promises = "docs/design/promises.md",
    pulses = "crates/store/pulses.md",
    approvals = "docs/guide/approvals.md",
    secrets = "docs/guide/secrets.md",
    service = "docs/guide/service.md",
    setup = "docs/guide/setup.md",
    testing = "fake-claude/testing.md",
    troubleshooting = "docs/guide/troubleshooting.md",
    watch = "docs/guide/watch.md",
    derun = "crates/derun/README.md",
    other_agents = "fixtures/agents.md",
}

#[test]
fn every_document_has_a_test() {
    let mut tested = TESTED.to_vec();
    tested.sort_unstable();
    assert_eq!(documents(), tested, "add it to `documents!` in tests/it/book.rs");
}

fn holds(page: &Page) {
    let env = Env::for_as_long_as(DEADLINE);
    let wrong = mismatches(&env, page);
    assert!(wrong.is_empty(), "{wrong}");
}

/// The lines of a document that are wrong, each with the actual output; empty if all are right.
fn mismatches(env: &Env, page: &Page) -> String {
    let mut wrong = String::new();
    let is_run = |part: &Part| match part {
        Part::Block(block) => block.language == "console" && block.not_run.is_none(),
        Part::Hidden(..) => true,
        Part::Prose(..) => false,
    };
    if !page.parts.iter().any(is_run) {
        return wrong;
    }
    let mut shell = Shell::new(env);
    for part in page.parts.iter().filter(|part| is_run(part)) {
        let ended = match part {
            Part::Block(block) => run_block(page, block, &mut shell, &mut wrong),
            Part::Hidden(line, script) => {
                let ran = shell.run_all(script);
                if ran.code != Some(0) {
                    complain(&mut wrong, &format!("{}:{line}: (hidden)", page.name), &[], &ran);
                }
                ran.code.is_none()
            }
            Part::Prose(..) => false,
        };
        if ended {
            wrong.push_str("\nthe shell has ended; nothing behind that was run\n");
            break;
        }
    }
    for process in shell.left_over() {
        writeln!(wrong, "{} leaves a process behind: {process}", page.name).unwrap();
    }
    wrong
}

/// The prompt at which this is typed.
fn prompt<'a>(command: &'a Command, typed: &str) -> &'a str {
    let mut prompts = command.written.iter().filter_map(|line| line.strip_suffix(typed));
    prompts.find(|line| line.ends_with(": ")).expect("the answer stands behind its prompt")
}

/// Runs a block's command lines; returns whether one of them ended the shell.
fn run_block(page: &Page, block: &Block, shell: &mut Shell<'_>, wrong: &mut String) -> bool {
    let commands = match block.commands() {
        Ok(commands) => commands,
        Err(what) => {
            writeln!(wrong, "{}: {what}", page.name).unwrap();
            return false;
        }
    };
    for command in commands {
        let ran = if block.on_terminal {
            shell.run_on_terminal(
                &command.script,
                block.typed.as_deref().map(|typed| (prompt(&command, typed), typed)),
            )
        } else {
            shell.run(&command.script)
        };
        let place = format!("{}:{}: $ {}", page.name, command.line, command.script.trim_end());
        let compared = if block.any_order {
            same::compare_in_any_order(&command.written, &ran.printed).map(|()| Vec::new())
        } else {
            same::compare(&command.written, &ran.printed)
        };
        match (command.written.is_empty(), ran.code, compared) {
            (true, Some(0), _) => {}
            (false, Some(0), Ok(learned)) => shell.learn(learned),
            _ => complain(wrong, &place, &command.written, &ran),
        }
        if ran.code.is_none() {
            return true;
        }
    }
    false
}

fn complain(wrong: &mut String, place: &str, written: &[String], ran: &Ran) {
    let code = ran.code.map_or("none".to_owned(), |code| code.to_string());
    let written = written.join("\n");
    writeln!(wrong, "\n{place}\n--- written ---\n{written}\n--- came, exit code {code} ---\n{}", ran.printed)
        .unwrap();
}

#[cfg(test)]
mod tests {
    use super::{Env, Page, mismatches};

    fn of(text: &str) -> String {
        mismatches(&Env::new(), &Page::parse("p.md", text).unwrap())
    }

    #[test]
    fn a_correct_document_passes() {
        let text = "```console\n$ cd /; x=1\n$ echo $x $PWD; echo two >&2\n1 /\ntwo\n$ cat <<'END'\n> a\n> END\na\n```\n\
            <!-- run\nset -- b\ny=2\n-->\n```console\n$ echo $x$y$1   # a word for the reader\n12b\n$ false || echo \"exit code $?\"\nexit code 1\n```\n";
        assert_eq!(of(text), "");
    }

    #[test]
    fn a_block_can_run_on_a_terminal() {
        let text = "```console (on a terminal)\n$ test -t 1 && test -t 2 && x=1; echo $x\n1\n```\n\
            ```console\n$ test -t 1 || echo $x\n1\n```\n";
        assert_eq!(of(text), "");
    }

    #[test]
    fn a_wrong_document_fails_and_shows_the_real_output() {
        let wrong = of("\n```console\n$ echo two; echo three\none\n$ true\n```\n");
        assert_eq!(
            wrong,
            "\np.md:3: $ echo two; echo three\n--- written ---\none\n--- came, exit code 0 ---\ntwo\nthree\n\n"
        );
    }

    #[test]
    fn a_failing_command_fails_the_document_whatever_it_prints() {
        for text in [
            "```console\n$ false\n```\n",
            "```console\n$ echo a; false\na\n```\n",
            "```console\n$ no-such-program\n```\n",
            "```console\n$ if then\n```\n",
            "<!-- run\nfalse\ntrue\n-->\n",
            "<!-- run\nfake no-such-fixture\n-->\n",
            "```console\n$ exit 0\n$ true\n```\n",
            "```console\nout\n```\n",
        ] {
            assert_ne!(of(text), "", "{text}");
        }
    }

    #[test]
    fn a_process_left_running_is_a_failure() {
        // A fork before its exec looks exactly like the shell.
        let wrong = of("```console\n$ mkfifo f\n$ (read -r line <f) &\n```\n");
        assert_eq!(wrong, "p.md leaves a process behind: bash --norc --noprofile \n");
    }

    #[test]
    fn a_made_up_id_can_be_used_in_later_commands() {
        let text = "<!-- run\nid=c0ffee12\n-->\n```console\n$ echo \"$id  site-$id\"\n7ggs733k  site-20444f29\n\
            $ test 7ggs733k = $id && test site-20444f29 = site-$id\n```\n";
        assert_eq!(of(text), "");
    }

    #[test]
    fn until_line_waits_for_a_command_to_print_a_line() {
        assert_eq!(of("<!-- run\nuntil_line '^b' printf '%s\\n' a bc\nuntil_line y yes\n-->\n"), "");
        assert_ne!(of("<!-- run\nuntil_line z echo a\n-->\n"), "");
    }

    #[test]
    fn claude_plays_the_scenario_that_the_document_chooses() {
        let text = "<!-- run\nfake attention\nmkdir ~/site && echo Look >~/site/HEARTBEAT.md\n-->\n\
            ```console\n$ murmur beat ~/site | cut -c 1-9\nattention\n$ ls -d ~/.murmur\n/home/me/.murmur\n```\n\
            <!-- run\nfake ok\n-->\n```console\n$ murmur beat /home/me/site | cut -c 1-3\nok\n```\n";
        assert_eq!(of(text), "");
    }
}
