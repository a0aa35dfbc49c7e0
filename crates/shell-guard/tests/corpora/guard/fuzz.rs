//! Random input, and refused commands in random chains of wrappers.

use super::{place, quote};
use proptest::prelude::*;
use shell_guard::guard::{Finding, inspect, inspect_counting_steps};
use shell_guard::shell::wrapper::TABLE;

/// Generates text that mostly resembles shell.
fn shell() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        " ",
        " ",
        ";",
        "\n",
        "|",
        "&",
        "&&",
        "||",
        "(",
        ")",
        "{ ",
        "}",
        "<",
        ">",
        "<<",
        "<<<",
        ">(",
        "<(",
        "$",
        "$(",
        "${",
        "$((",
        "))",
        "'",
        "\"",
        "`",
        "\\",
        "~",
        "*",
        "?",
        "[",
        "]",
        "[[ ",
        " ]]",
        "{a,b}",
        "{1..99999999999}",
        "!",
        "#",
        "=",
        ":-",
        ":=",
        "%%",
        "##",
        "//",
        "@",
        "^^",
        "if ",
        "then ",
        "fi",
        "while ",
        "do ",
        "done",
        "case ",
        " in ",
        "esac",
        "for x in ",
        "function ",
        "f()",
        "x=",
        "$x",
        "${x:1:2}",
        "$'\\x41'",
        "EOF\n",
        "<<EOF\n",
        "rm -rf ",
        "/",
        "echo ",
        "sh -c ",
        "python3 -c ",
        "xargs ",
        "find . -exec ",
        "eval ",
        "99999999999>",
        "~99999999999999999999",
        "é",
        "\u{fdd0}",
        "\0",
    ]);
    prop_oneof![
        1 => any::<String>(),
        4 => prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat()),
    ]
}

/// Wraps `inner` as the wrapper's example wraps `sudo ls`. Returns `None` if the example has another form. Compound
/// commands are wrapped in `bash -c` first.
fn wrapped(example: &str, inner: &str) -> Option<String> {
    if example.contains("'sudo ls'") {
        return Some(example.replace("'sudo ls'", &quote(inner)));
    }
    let before = example.strip_suffix("sudo ls")?;
    // `watch` joins its words without quoting them.
    if example.starts_with("watch") {
        return Some(format!("{before}{}", quote(inner)));
    }
    let is_of_words = !inner.contains(['|', '&', ';', '<', '>', '(']);
    Some(if is_of_words { format!("{before}{inner}") } else { format!("{before}bash -c {}", quote(inner)) })
}

proptest! {
    #[test]
    fn the_guard_never_panics_or_exceeds_its_budget(line in shell()) {
        let (_, steps) = inspect_counting_steps(&line, &place("/home/user/project"));
        prop_assert!(steps <= 24_000);
    }

    #[test]
    fn a_refused_command_is_refused_in_any_chain_of_wrappers(
        line in prop::sample::select(vec!["sudo ls", "rm -rf /", "mkfs.ext4 /dev/sda", "reboot", "shred x", "dd of=/dev/sda"]),
        rows in prop::collection::vec(0..TABLE.len(), 0..5),
    ) {
        let mut wrapping = line.to_owned();
        for row in rows {
            wrapping = wrapped(TABLE[row].matches, &wrapping).unwrap_or(wrapping);
        }
        let finding = inspect(&wrapping, &place("/home/user/project"));
        prop_assert!(matches!(finding, Finding::Refused { .. }), "{wrapping}: {finding:?}");
    }
}
