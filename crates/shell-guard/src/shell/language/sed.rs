//! sed: `e` and `w` commands, and the flags of `s/…/…/`.

use super::Effect;

/// The commands that `sed` runs: `e command`, and the result of `s/…/…/e`.
pub(super) fn effects(code: &str) -> Vec<Effect> {
    code.split(['\n', ';']).flat_map(command).collect()
}

fn command(text: &str) -> Vec<Effect> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit() || " ,$~+{".contains(c));
    let mut found = Vec::new();
    if let Some(file) = text.strip_prefix("w ").or(text.strip_prefix("W ")) {
        found.push(Effect::Write(file.trim().into()));
    }
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some('e'), Some(' ')) => found.push(Effect::Shell(text[2..].to_owned())),
        (Some('s'), Some(delimiter)) if !delimiter.is_alphanumeric() => {
            found.extend(substitution(&text[1 + delimiter.len_utf8()..], delimiter));
        }
        _ => {}
    }
    found
}

/// The effects of the flags in `s/pattern/with/flags`; `text` starts with the pattern.
fn substitution(text: &str, delimiter: char) -> Vec<Effect> {
    let mut parts = text.splitn(3, delimiter).skip(1);
    let (Some(with), Some(flags)) = (parts.next(), parts.next()) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some((_, file)) = flags.split_once("w ") {
        found.push(Effect::Write(file.trim().into()));
    }
    if flags.contains('e') && flags.chars().all(|c| c.is_alphanumeric()) {
        found.push(Effect::Shell(with.to_owned()));
    }
    found
}
