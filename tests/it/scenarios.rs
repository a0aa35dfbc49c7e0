//! The behavioural scenarios of spec 4 ("Required behavioral test scenarios"), and by which tests each is proved.

use std::path::Path;

/// A scenario, and its tests: the file below `tests/it` or `src`, and the function.
const SCENARIOS: [(&str, &[(&str, &str)]); 10] = [
    (
        "ANSI and curses programs look the same",
        &[
            ("run/programs.rs", "vim_edits"),
            ("run/programs.rs", "a_scripted_full_screen_program"),
            ("run/transcript.rs", "a_progress_bar_comes_through_a_terminal"),
        ],
    ),
    (
        "signals and exits are the command's",
        &[
            ("run/jobs.rs", "ctrl_c_ends_a_job_and_the_shell_goes_on"),
            ("run/exit.rs", "every_exit_code_is_the_commands"),
            ("run/exit.rs", "a_command_that_a_signal_ends_ends_murmur_by_the_same_without_a_core_of_its_own"),
        ],
    ),
    (
        "a live tail over MCP while the command runs",
        &[("mcp/live.rs", "a_wait_is_over_when_something_comes_and_when_nothing_will")],
    ),
    ("history from cursor 0 after the end", &[("mcp.rs", "history_is_read_from_the_beginning_to_the_end")]),
    (
        "sessions at once stay apart",
        &[
            ("captures/crowd.rs", "a_hundred_at_once_stay_apart"),
            ("mcp.rs", "many_sessions_keep_their_cursors_apart"),
        ],
    ),
    (
        "large output has a stable next_cursor",
        &[("mcp.rs", "large_output_is_read_in_pages_of_either_encoding")],
    ),
    (
        "what expired is removed, and nothing that is active",
        &[
            ("captures/retention.rs", "each_session_is_kept_for_as_long_as_it_was_asked_to_be"),
            ("captures/retention.rs", "what_is_written_is_never_removed_whatever_its_files_say"),
        ],
    ),
    (
        "parity of the pseudo terminals, Windows' as far as there is one (crates/derun/README.md)",
        &[("run/modes.rs", "a_command_sees_the_settings_of_the_terminal_that_murmur_is_in")],
    ),
    (
        "traversal and links are refused, for reads and for writes",
        &[
            ("captures/links.rs", "what_is_planted_before_a_session_is_read_leads_nowhere"),
            ("captures/links.rs", "what_is_planted_while_a_session_is_written_leads_nowhere"),
            ("captures/ids.rs", "an_id_that_is_refused_leaves_no_trace_not_even_a_store"),
        ],
    ),
    (
        "a missing session is the same to every tool",
        &[("mcp/errors.rs", "a_missing_session_is_the_same_to_every_tool")],
    ),
];

#[test]
fn every_scenario_of_the_spec_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    for (scenario, tests) in SCENARIOS {
        for (file, test) in tests {
            let text = std::fs::read_to_string(root.join(file)).unwrap();
            let is_there = text.contains(&format!("#[test]\nfn {test}()"));
            assert!(is_there, "{scenario}: there is no test {test} in {file}");
        }
    }
}
