//! The command in an item, which Codex reports as the line that starts a shell: `/bin/bash -lc 'git status'`.

/// The command that the shell runs; `line` itself if it does not start one.
pub(super) fn unwrapped(line: &str) -> String {
    match words(line).as_deref() {
        Some([_, option, command]) if matches!(option.as_str(), "-lc" | "-c") => command.clone(),
        _ => line.to_owned(),
    }
}

/// The words of a quoted line; `None` if a quote is not closed, or for more words than matter.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => match letters.next()? {
                            escaped @ ('$' | '`' | '"' | '\\') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            letter => word.get_or_insert_default().push(letter),
        }
        if words.len() > 3 {
            return None;
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_around_a_command_is_left_out() {
        for (line, command) in [
            ("/bin/bash -lc 'touch ran.txt'", "touch ran.txt"),
            ("/bin/bash -lc ls", "ls"),
            (r#"/usr/bin/zsh -lc "echo 'a b' \"\$HOME\"""#, r#"echo 'a b' "$HOME""#),
            (r#"/bin/bash -lc 'it'"'"'s'"#, "it's"),
            ("/bin/bash -lc 'a\nb'", "a\nb"),
            ("git status", "git status"),
            ("python3 -c 'x' y", "python3 -c 'x' y"),
            ("/bin/bash -lc 'open", "/bin/bash -lc 'open"),
            ("", ""),
        ] {
            assert_eq!(unwrapped(line), command, "{line}");
        }
    }
}
