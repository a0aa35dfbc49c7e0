//! Variables by which programs are told what to run.

use super::field::Field;
use super::interpreter;
use super::language::Kind;
use super::walk::{Stream, Walk};
use super::wrapper;

/// Variables whose value is a command that some program runs.
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

/// How the names of others end.
const ENDS: [&str; 7] = ["PAGER", "EDITOR", "ASKPASS", "_RSH", "_WRAPPER", "_LAUNCHER", "_SSH_COMMAND"];

/// Variables that a shell expands when it shows them.
const PROMPTS: [&str; 5] = ["PS0", "PS1", "PS2", "PS4", "RPROMPT"];

/// Walks through what the variable `name` has programs run.
pub(super) fn told(walk: &mut Walk<'_>, name: &str, value: &[Field]) {
    // Names of a script's own variables are most often short, or in small letters.
    let is_upper = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.starts_with("npm_config_");
    if !is_upper {
        return;
    }
    let text = || value.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let is_runner = name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER")
        || name.starts_with("GIT_CONFIG_VALUE_")
        || ENDS.iter().any(|end| name.ends_with(end));
    if is_runner || COMMANDS.contains(&name) {
        walk.perhaps(|walk| {
            walk.source(text().trim_start_matches(['|', '-', '!']), &Stream::Elsewhere);
        });
    }
    match name {
        _ if PROMPTS.contains(&name) => expanded(walk, value),
        "BASH_ENV" | "ENV" => {
            expanded(walk, value);
            // A shell reads that file before anything else.
            for file in value {
                walk.apart(|walk| interpreter::file(walk, file, &Stream::Elsewhere));
            }
        }
        "GIT_CONFIG_PARAMETERS" => wrapper::git_parameters(walk, &text()),
        "MAKEFLAGS" | "GNUMAKEFLAGS" | "MFLAGS" => wrapper::make_text(walk, &text()),
        "GOFLAGS" => wrapper::flags(walk, &text()),
        "TAR_OPTIONS" => {
            let words: Vec<Field> = text().split_whitespace().map(Field::from).collect();
            walk.perhaps(|walk| {
                walk.run(&[&["tar".into()], words.as_slice()].concat(), &[], &Stream::Elsewhere);
            });
        }
        "LESS" => {
            for text in text().split('+').filter_map(|part| part.strip_prefix('!')) {
                walk.perhaps(|walk| {
                    walk.source(text, &Stream::Elsewhere);
                });
            }
        }
        "PERL5OPT" => {
            if let Some((_, code)) = text().split_once(';') {
                interpreter::text(walk, code, Kind::Perl);
            }
        }
        "PERL5DB" => interpreter::text(walk, &text(), Kind::Perl),
        "NODE_OPTIONS" => {
            for word in text().split_whitespace() {
                if let Some(code) = word.split_once("data:").map(|(_, code)| interpreter::data(code)) {
                    interpreter::text(walk, &code, Kind::Script);
                }
            }
        }
        _ => {}
    }
}

/// Walks through what a shell runs to expand the values.
fn expanded(walk: &mut Walk<'_>, value: &[Field]) {
    for text in value.iter().map(Field::marked).filter(|text| text.contains(['$', '`'])) {
        walk.expanded(text);
    }
}
