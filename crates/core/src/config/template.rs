//! The templates of `murmur init`, and whether a HEARTBEAT.md is an unedited template.
//!
//! The daemon does not start a heartbeat that is still a template, because a template doesn't fit any real project.

/// The template to write if none is named.
pub const DEFAULT: &str = "default";

/// The built-in templates: names and texts.
pub const TEMPLATES: [(&str, &str); 4] = [
    (DEFAULT, include_str!("templates/default.md")),
    ("tests", include_str!("templates/tests.md")),
    ("issues", include_str!("templates/issues.md")),
    ("deploy", include_str!("templates/deploy.md")),
];

/// Splits a text into frontmatter, without its `---` lines, and the rest.
#[must_use]
pub fn split(text: &str) -> (&str, &str) {
    text.strip_prefix("---\n").and_then(|rest| rest.split_once("---\n")).unwrap_or(("", text))
}

/// Whether a line of frontmatter belongs to the schedule, which `murmur init` fills in.
#[must_use]
pub fn is_schedule(line: &str) -> bool {
    ["interval:", "cron:", "tz:"].iter().any(|key| line.starts_with(key))
}

/// Whether a line of frontmatter sets a limit that only some backends have.
fn is_turns(line: &str) -> bool {
    line.starts_with("maxTurns:")
}

/// The template `text` without limits that only some backends have.
#[must_use]
pub fn without_turns(text: &str) -> String {
    let (settings, body) = split(text);
    let kept: String = settings.split_inclusive('\n').filter(|line| !is_turns(line)).collect();
    if kept.is_empty() { body.to_owned() } else { format!("---\n{kept}---\n{body}") }
}

/// Whether `text`, a whole HEARTBEAT.md, is an unedited template, or one [`without_turns`]. Ignores the schedule, line
/// endings and trailing blank lines.
#[must_use]
pub fn is_unedited(text: &str) -> bool {
    TEMPLATES.iter().any(|(_, template)| {
        let limited = significant(template).filter(|line| !is_turns(line));
        significant(text).eq(significant(template)) || significant(text).eq(limited)
    })
}

/// The lines that count in a comparison.
fn significant(text: &str) -> impl Iterator<Item = &str> {
    let mut lines = text.trim_end().lines().map(str::trim_end).peekable();
    let mut in_settings = lines.next_if_eq(&"---").is_some();
    lines.filter(move |line| {
        let is_end = in_settings && *line == "---";
        let is_counted = !in_settings || !(is_end || is_schedule(line));
        in_settings &= !is_end;
        is_counted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_unedited_with_any_schedule() {
        for (name, template) in TEMPLATES {
            let (settings, body) = split(template);
            for schedule in ["", "interval: 1h\n", "cron: '0 3 * * *'\ntz: Europe/Berlin\n"] {
                let text = format!("---\n{schedule}{settings}---\n{body}");
                assert!(is_unedited(&text), "{name}: {text}");
                assert!(
                    is_unedited(&text.replace('\n', "\r\n")) && is_unedited(&format!("{text}\n\n")),
                    "{name}"
                );
                assert!(!is_unedited(&format!("{text}\n- And this\n")), "{name}");
                assert!(!is_unedited(&format!("---\nmodel: opus\n{settings}---\n{body}")), "{name}");
            }
            assert!(is_unedited(template), "{name}");
            let without = without_turns(template);
            assert!(is_unedited(&without) && !without.contains("maxTurns"), "{name}: {without}");
            assert!(
                !is_unedited(&template.replace("maxTurns: ", "maxTurns: 1"))
                    || !template.contains("maxTurns")
            );
        }
    }

    #[test]
    fn other_texts_are_not_templates() {
        let (_, default) = TEMPLATES[0];
        for text in ["", "---\n", "---\n---\n", "Look.", &default[..100]] {
            assert!(!is_unedited(text), "{text}");
        }
    }
}
