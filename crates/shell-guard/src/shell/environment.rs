//! Environment variables that make programs run something.

use super::field::Field;
use super::interpreter;
use super::language::Syntax;
use super::walk::{Stream, Walk};
use super::wrapper;

/// Variables whose value is a command.
const COMMANDS: [&str; 44] = [
    "PAGER",
    "VISUAL",
    "EDITOR",
    "BROWSER",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "HGMERGE",
    "SVN_SSH",
    "PROMPT_COMMAND",
    "LESSOPEN",
    "LESSCLOSE",
    "FCEDIT",
    "TEXEDIT",
    "FZF_DEFAULT_COMMAND",
    "FZF_CTRL_T_COMMAND",
    "FZF_ALT_C_COMMAND",
    "RUSTC",
    "RUSTDOC",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "NM",
    "FC",
    "RANLIB",
    "STRIP",
    "OBJCOPY",
    "HOSTCC",
    "HOSTCXX",
    "MAKE",
    "CCACHE_PREFIX",
    "NPM_CONFIG_SCRIPT_SHELL",
    "npm_config_script_shell",
    "NPM_CONFIG_GIT",
    "npm_config_git",
    "DIFFPROG",
    "R_BROWSER",
    "XDG_UTILS_BROWSER",
    "MOZ_LAUNCHER",
];

/// Suffixes of other such variables' names.
const ENDS: [&str; 7] = ["PAGER", "EDITOR", "ASKPASS", "_RSH", "_WRAPPER", "_LAUNCHER", "_SSH_COMMAND"];

/// Variables that a shell expands when it prints them.
const PROMPTS: [&str; 5] = ["PS0", "PS1", "PS2", "PS4", "RPROMPT"];

/// Walks what the variable `name` makes programs run.
pub(super) fn set(walk: &mut Walk<'_>, name: &str, value: &[Field]) {
    // A script's own variables are mostly short or in lower case.
    let is_upper = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.starts_with("npm_config_");
    if !is_upper {
        return;
    }
    let text = || value.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let is_runner = name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER")
        || name.starts_with("GIT_CONFIG_VALUE_")
        || ENDS.iter().any(|end| name.ends_with(end));
    if is_runner || COMMANDS.contains(&name) {
        walk.speculate(|walk| {
            walk.source(text().trim_start_matches(['|', '-', '!']), &Stream::External);
        });
    }
    match name {
        _ if PROMPTS.contains(&name) => walk_expansions(walk, value),
        "BASH_ENV" | "ENV" => {
            walk_expansions(walk, value);
            // Shells read that file at startup.
            for file in value {
                walk.in_subshell(|walk| interpreter::file(walk, file, &Stream::External));
            }
        }
        "GIT_CONFIG_PARAMETERS" => wrapper::git_parameters(walk, &text()),
        "MAKEFLAGS" | "GNUMAKEFLAGS" | "MFLAGS" => wrapper::make_text(walk, &text()),
        "GOFLAGS" => wrapper::flags(walk, &text()),
        "TAR_OPTIONS" => {
            let words: Vec<Field> = text().split_whitespace().map(Field::from).collect();
            walk.speculate(|walk| {
                walk.run(&[&["tar".into()], words.as_slice()].concat(), &[], &Stream::External);
            });
        }
        "LESS" => {
            for text in text().split('+').filter_map(|part| part.strip_prefix('!')) {
                walk.speculate(|walk| {
                    walk.source(text, &Stream::External);
                });
            }
        }
        "PERL5OPT" => {
            if let Some((_, code)) = text().split_once(';') {
                interpreter::text(walk, code, Syntax::Perl);
            }
        }
        "PERL5DB" => interpreter::text(walk, &text(), Syntax::Perl),
        "NODE_OPTIONS" => {
            for word in text().split_whitespace() {
                if let Some(code) = word.split_once("data:").map(|(_, code)| interpreter::data(code)) {
                    interpreter::text(walk, &code, Syntax::CLike);
                }
            }
        }
        _ => {}
    }
}

/// Walks the substitutions in the values.
fn walk_expansions(walk: &mut Walk<'_>, value: &[Field]) {
    for text in value.iter().map(Field::marked).filter(|text| text.contains(['$', '`'])) {
        walk.walk_expansions(text);
    }
}
