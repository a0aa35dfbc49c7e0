//! The behavioral scenarios of spec 4 ("Required behavioral test scenarios"), and the tests that prove each.

use std::path::Path;

/// A scenario, and its tests: the file below `tests/it` or `src`, and the function.
const SCENARIOS: [(&str, &[(&str, &str)]); 10] = [
    (
        "ANSI and curses programs look the same",
        &[
            ("run/programs.rs", "vim_works"),
            ("run/programs.rs", "a_full_screen_program_works"),
            ("run/transcript.rs", "a_progress_bar_passes_through_a_terminal"),
        ],
    ),
    (
        "signals and exits are the command's",
        &[
            ("run/jobs.rs", "ctrl_c_ends_a_job_and_the_shell_continues"),
            ("run/exit.rs", "every_exit_code_is_passed_through"),
            ("run/exit.rs", "murmur_dies_by_the_commands_signal_without_a_core_dump"),
        ],
    ),
    (
        "a live tail over MCP while the command runs",
        &[("mcp/live.rs", "a_wait_ends_with_new_output_or_the_end_of_the_session")],
    ),
    ("history from cursor 0 after the end", &[("mcp.rs", "output_is_read_from_beginning_to_end")]),
    (
        "sessions at once stay apart",
        &[
            ("captures/crowd.rs", "a_hundred_concurrent_sessions_stay_separate"),
            ("mcp.rs", "cursors_of_many_sessions_are_independent"),
        ],
    ),
    (
        "large output has a stable next_cursor",
        &[("mcp.rs", "large_output_is_read_in_pages_in_both_encodings")],
    ),
    (
        "what expired is removed, and nothing that is active",
        &[
            ("captures/retention.rs", "each_session_is_kept_for_its_own_retention"),
            ("captures/retention.rs", "a_session_being_written_is_never_removed_whatever_its_files_contain"),
        ],
    ),
    (
        "parity of the pseudoterminals, Windows' as far as there is one (crates/derun/README.md)",
        &[("run/modes.rs", "a_command_sees_the_settings_of_murmurs_terminal")],
    ),
    (
        "traversal and links are refused, for reads and for writes",
        &[
            ("captures/links.rs", "links_planted_before_a_session_is_read_are_not_followed"),
            ("captures/links.rs", "links_planted_while_a_session_is_written_are_not_followed"),
            ("captures/ids.rs", "a_rejected_id_leaves_no_trace_not_even_a_store"),
        ],
    ),
    (
        "a missing session is the same to every tool",
        &[("mcp/errors.rs", "every_tool_reports_a_missing_session_alike")],
    ),
];

#[test]
fn every_scenario_of_the_spec_has_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    for (scenario, tests) in SCENARIOS {
        for (file, test) in tests {
            let text = std::fs::read_to_string(root.join(file)).unwrap();
            let is_there = text.contains(&format!("#[test]\nfn {test}()"));
            assert!(is_there, "{scenario}: there is no test {test} in {file}");
        }
    }
}
