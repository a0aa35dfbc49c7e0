//! One command line invocation, with its options parsed.

use crate::shell::{Field, Scope};

/// A program with its arguments, and the state of the shell where it runs.
pub(crate) struct Invocation<'a> {
    words: &'a [Field],
    pub(super) scope: &'a Scope,
}

impl<'a> Invocation<'a> {
    pub(super) fn new(words: &'a [Field], scope: &'a Scope) -> Self {
        Self { words, scope }
    }

    pub(super) fn arguments(&self) -> &'a [Field] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The program's base name. GNU tools installed with a `g` prefix count as the tool itself.
    pub(super) fn name(&self) -> String {
        const PREFIXED: [&str; 6] = ["gdd", "gtee", "gcp", "gln", "ginstall", "gtruncate"];
        let name = self.words.first().map(|word| word.base().to_string()).unwrap_or_default();
        if PREFIXED.contains(&name.as_str()) { name[1..].to_owned() } else { name }
    }

    /// The command as written, shortened for a message.
    pub(super) fn quoted(&self) -> String {
        let text = self.words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let end = text.char_indices().nth(120).map(|(at, _)| at);
        end.map_or_else(|| format!("`{text}`"), |end| format!("`{}…`", &text[..end]))
    }

    /// Whether the command only asks for help or the version.
    pub(super) fn asks_for_help(&self) -> bool {
        matches!(self.arguments(), [word] if ["--help", "--version", "-V", "-?"].contains(&word.marked()))
    }

    /// Whether the option is given: as `-x`, in a cluster of letters, or by its long name or a prefix of that.
    pub(super) fn has(&self, letter: char, long: &str) -> bool {
        self.options().any(|option| match option.strip_prefix("--") {
            Some(name) => {
                let name = name.split('=').next().unwrap_or(name);
                !long.is_empty() && !name.is_empty() && long.starts_with(name)
            }
            None => letter != '\0' && option[1..].contains(letter),
        })
    }

    /// Whether any of `words` is among the arguments.
    pub(super) fn has_any(&self, words: &[&str]) -> bool {
        self.arguments().iter().any(|word| words.contains(&word.marked()))
    }

    /// The arguments before `--` that start with `-`.
    fn options(&self) -> impl Iterator<Item = &'a str> {
        let all = self.arguments().iter().map(Field::marked).take_while(|word| *word != "--");
        all.filter(|word| word.len() > 1 && word.starts_with('-'))
    }

    /// The arguments that are neither options nor values of the options in `letters` (short) and `long`.
    pub(super) fn operands(&self, letters: &str, long: &[&str]) -> Vec<&'a Field> {
        let (mut operands, mut words) = (Vec::new(), self.arguments().iter());
        while let Some(word) = words.next() {
            let text = word.marked();
            if text == "--" {
                operands.extend(words);
                break;
            }
            match text.strip_prefix('-').filter(|option| !option.is_empty()) {
                None => operands.push(word),
                Some(option) => {
                    let name = option.trim_start_matches('-');
                    let takes_value = if option.starts_with('-') {
                        long.contains(&name)
                    } else {
                        option
                            .find(|letter| letters.contains(letter))
                            .is_some_and(|at| at + 1 == option.len())
                    };
                    if takes_value {
                        words.next();
                    }
                }
            }
        }
        operands
    }

    /// The value of an option: `-o value`, `-ovalue`, `--output value`, `--output=value`.
    pub(super) fn value(&self, short: &str, long: &str) -> Option<Field> {
        let arguments = self.arguments();
        arguments.iter().enumerate().find_map(|(at, word)| {
            let text = word.marked();
            let next = || arguments.get(at + 1).cloned();
            if !long.is_empty() && text == format!("--{long}") || !short.is_empty() && text == short {
                return next();
            }
            let attached = text
                .strip_prefix("--")
                .and_then(|text| text.strip_prefix(long))
                .and_then(|text| text.strip_prefix('='));
            attached.filter(|_| !long.is_empty()).map(Field::from).or_else(|| {
                let rest = text.strip_prefix(short).filter(|rest| !short.is_empty() && !rest.is_empty())?;
                (!text.starts_with("--")).then(|| rest.into())
            })
        })
    }
}
