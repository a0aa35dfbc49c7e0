//! Parses skills, commands, agents and output styles: their frontmatter, and commands that a shell runs before the
//! model reads the text.

/// The frontmatter keys that do more than inform the model.
const KEYS: [&str; 9] = [
    "allowed-tools",
    "context",
    "hooks",
    "mcpServers",
    "model",
    "permissionMode",
    "shell",
    "skills",
    "tools",
];

/// Splits the frontmatter from the text below it.
#[must_use]
pub fn split(text: &str) -> (&str, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---").filter(|rest| rest.starts_with(['\n', '\r', ' ', '\t'])) else {
        return ("", text);
    };
    match rest.split_once("\n---") {
        Some((front, body)) => (front, body.split_once('\n').map_or("", |(_, body)| body)),
        None => ("", text),
    }
}

/// The relevant lines of frontmatter, including the indented lines below each key.
#[must_use]
pub fn settings(front: &str) -> Vec<String> {
    let (mut lines, mut is_wanted) = (Vec::new(), false);
    for line in front.lines().filter(|line| !line.trim().is_empty()) {
        if !line.starts_with([' ', '\t', '-']) {
            let key = line.split(':').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            is_wanted = KEYS.contains(&key);
        }
        if is_wanted {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// The shell commands in the text, such as !`date`, and in blocks that begin with ```!.
#[must_use]
pub fn shell(body: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for part in body.split("!`").skip(1) {
        commands.extend(part.split_once('`').map(|(command, _)| command.trim().to_owned()));
    }
    for part in body.split("```!").skip(1) {
        commands.push(part.split("```").next().unwrap_or_default().trim().to_owned());
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skills_settings_and_commands_are_found() {
        let text = "---\nname: x\nallowed-tools: Bash(*)\nhooks:\n  Stop:\n    - hooks: a\ndescription: y\n---\nSee !`date; id` and\n```!\nuname\n```\n";
        let (front, body) = split(text);
        assert_eq!(settings(front), ["allowed-tools: Bash(*)", "hooks:", "  Stop:", "    - hooks: a"]);
        assert_eq!(shell(body), ["date; id", "uname"]);
        assert_eq!(split("no frontmatter"), ("", "no frontmatter"));
    }
}
