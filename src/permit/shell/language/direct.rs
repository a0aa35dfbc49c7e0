//! Calls that name a program apart from its arguments.

/// `system {"a"} "b"` of Perl, and `system ["a", "b"], "c"` of Ruby, as `system "a", "c"`: the program stands apart from what it
/// is told that it is called.
pub(super) fn directly(code: &str) -> Option<String> {
    let mut changed = None;
    for call in ["system", "exec", "spawn", "popen"] {
        let mut from = 0;
        loop {
            let text = changed.as_deref().unwrap_or(code);
            let Some(at) = text.get(from..).and_then(|rest| rest.find(call)).map(|at| from + at + call.len())
            else {
                break;
            };
            from = at;
            let rest = text[at..].trim_start_matches(|c: char| c.is_whitespace() || c == '(');
            let (end, is_block) = match rest.chars().next() {
                Some('{') => ('}', true),
                Some('[') => (']', false),
                _ => continue,
            };
            let start = text.len() - rest.len();
            let Some(length) = rest.find(end) else { continue };
            let inner = &rest[1..length];
            let program = if is_block { inner } else { inner.split(',').next().unwrap_or(inner) };
            let after = rest[length + 1..].trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            let text = format!("{} {program}, {after}", &text[..start]);
            changed = Some(text);
        }
    }
    changed
}
