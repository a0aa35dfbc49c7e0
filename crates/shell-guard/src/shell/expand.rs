//! Word expansion: braces, tildes, parameters, substitutions, field splitting and globs.

mod arithmetic;
mod operation;

use super::brace;
use super::field::{CLASS, CLOSE, Field, OPEN, QUESTION, STAR};
use super::scope::Arguments;
use super::tree::{Operation, Parameter, Part, Word};
use super::walk::{Stream, Walk};
use crate::line::Doubt;

/// How many combinations of variable values are tried for one command.
const MAX_CHOICES: usize = 32;

/// The fields of a word during its expansion.
#[derive(Default)]
struct Fields {
    done: Vec<Field>,
    text: String,
    /// Whether there is a field, even an empty one.
    is_word: bool,
}

impl Fields {
    fn end(&mut self) {
        if self.is_word || !self.text.is_empty() {
            self.done.push(Field(std::mem::take(&mut self.text)));
        }
        self.is_word = false;
    }
}

impl Walk<'_> {
    /// Expands `words` to arguments.
    pub(super) fn fields(&mut self, words: &[Word]) -> Result<Vec<Field>, Doubt> {
        let mut fields = Vec::with_capacity(words.len());
        for word in words {
            match brace::expand(word)? {
                Some(words) => {
                    self.budget.spend(u32::try_from(words.len()).unwrap_or(u32::MAX))?;
                    for word in &words {
                        fields.append(&mut self.word(word, true)?);
                    }
                }
                None => fields.append(&mut self.word(word, true)?),
            }
        }
        Ok(fields)
    }

    /// Expands a word without field splitting, as in an assignment.
    pub(super) fn text(&mut self, word: &Word) -> Result<Field, Doubt> {
        let fields = self.word(word, false)?;
        let texts: Vec<String> = fields.into_iter().map(|field| field.0).collect();
        Ok(Field(texts.join(" ")))
    }

    fn word(&mut self, word: &Word, is_split: bool) -> Result<Vec<Field>, Doubt> {
        if let ([Part::Unquoted(text)], true) = (word.0.as_slice(), is_split)
            && (text == "[" || !text.starts_with('~') && !text.contains(['*', '?', '[', '(']))
        {
            return Ok(vec![Field(text.clone())]);
        }
        let mut fields = Fields::default();
        for (at, part) in word.0.iter().enumerate() {
            match part {
                Part::Unquoted(text) => {
                    let is_alone = word.0.len() == 1;
                    let next = word.0.get(at + 1);
                    let is_before_slash = matches!(next, Some(Part::Quoted(text)) if text.starts_with('/'));
                    let rest =
                        if at == 0 { self.tilde(text, is_alone, is_before_slash, &mut fields) } else { text };
                    let extended = if is_split && rest.contains('(') { extended(rest) } else { None };
                    let rest = extended.as_deref().unwrap_or(rest);
                    fields.text.extend(rest.chars().map(|c| if is_split { pattern(c) } else { c }));
                }
                Part::Quoted(text) => {
                    fields.text.push_str(text);
                    fields.is_word = true;
                }
                Part::Empty => fields.is_word = true,
                // The command line itself has no arguments, so `$1` next to other text is empty.
                Part::Variable(parameter) if word.0.len() > 1 && self.is_not_given(parameter) => {}
                Part::Variable(parameter) => {
                    self.variable(parameter, is_split, &mut fields)?;
                    // Text assembled from variables can grow exponentially.
                    self.budget.read(fields.text.len())?;
                }
                Part::CommandSubstitution { source, quoted } => {
                    let text = self.substitution(source)?;
                    fields.is_word |= *quoted;
                    self.insert(&text, is_split && !*quoted, &mut fields);
                }
                Part::Arithmetic(inner) => {
                    let text = self.text(inner)?;
                    let number = text.literal().and_then(arithmetic::value);
                    let unknown = || Field::unknown("$((…))").0;
                    fields.text.push_str(&number.map_or_else(unknown, |number| number.to_string()));
                }
                Part::ProcessSubstitutionText(source) => {
                    let output = self.in_subshell(|this| this.source(source, &Stream::External));
                    let file = self.process_file(output);
                    fields.text.push_str(&file.0);
                }
                Part::ProcessSubstitution { list, reads } => {
                    let input = if *reads { self.substitution_input.clone() } else { Stream::External };
                    let output = self.process(list, &input);
                    let file = self.process_file(output);
                    fields.text.push_str(&file.0);
                }
            }
        }
        fields.end();
        Ok(fields.done)
    }

    /// Expands a leading `~` into `fields` and returns the rest of `text`.
    fn tilde<'t>(
        &self,
        text: &'t str,
        is_alone: bool,
        is_before_slash: bool,
        fields: &mut Fields,
    ) -> &'t str {
        let Some(rest) = text.strip_prefix('~') else { return text };
        let length = rest.find('/').unwrap_or(rest.len());
        let (user, rest) = rest.split_at(length);
        // The user's name may continue in the next part of the word.
        if rest.is_empty() && !is_alone && !is_before_slash {
            return text;
        }
        let home = self.scope.values("HOME").first().and_then(|value| value.first()).cloned();
        let folder = match user {
            "" => home.unwrap_or_else(|| "~".into()),
            "+" => self.scope.folders().first().cloned().unwrap_or_default(),
            "-" => self.scope.previous_folder(),
            "root" => "/root".into(),
            user if user.chars().all(|c| c.is_alphanumeric() || "._-".contains(c)) => {
                Field(format!("/home/{user}"))
            }
            _ => return text,
        };
        fields.text.push_str(&folder.0);
        fields.is_word = true;
        rest
    }

    fn variable(&mut self, parameter: &Parameter, is_split: bool, fields: &mut Fields) -> Result<(), Doubt> {
        let value = self.parameter(parameter)?;
        fields.is_word |= parameter.quoted && !(parameter.name == "@" && value.is_empty());
        let is_array = parameter.name == "@" || parameter.name == "*" || value.len() > 1;
        for (at, field) in value.iter().enumerate() {
            if at > 0 && is_array {
                if parameter.quoted && (parameter.name == "*" || !is_split) {
                    fields.text.push(' ');
                } else {
                    fields.end();
                    fields.is_word = parameter.quoted;
                }
            }
            self.insert(&field.0, is_split && !parameter.quoted, fields);
        }
        Ok(())
    }

    /// Whether it is an argument of the command line itself, which has none.
    fn is_not_given(&self, parameter: &Parameter) -> bool {
        self.scope.arguments == Arguments::Line
            && parameter.operation == Operation::Value
            && (parameter.name == "@"
                || parameter.name == "*"
                || parameter.name.parse::<u8>().is_ok_and(|name| name > 0))
    }

    /// Inserts the result of an expansion.
    fn insert(&self, text: &str, is_split: bool, fields: &mut Fields) {
        if !is_split {
            fields.text.push_str(text);
            return;
        }
        let separators = match self.scope.values("IFS").first().and_then(|value| value.first()) {
            Some(value) => value.0.clone(),
            None => " \t\n".to_owned(),
        };
        let mut is_unknown = false;
        for character in text.chars() {
            match character {
                OPEN => is_unknown = true,
                CLOSE => is_unknown = false,
                _ if is_unknown => {}
                _ if separators.contains(character) => {
                    fields.end();
                    continue;
                }
                _ => {}
            }
            fields.text.push(if is_unknown { character } else { pattern(character) });
        }
    }

    /// Expands `$(source)`.
    fn substitution(&mut self, source: &str) -> Result<String, Doubt> {
        // `$(< file)` is the content of the file.
        if let Some(word) = source.trim().strip_prefix('<').filter(|word| !word.starts_with(['<', '('])) {
            let word = super::word::parse(word.trim())?;
            let file = self.text(&word)?;
            if let Some(written) = self.scope.files.get(&super::walk::plain(file.marked())) {
                return Ok(written.text.trim_end_matches('\n').to_owned());
            }
        }
        let output = self.in_subshell(|this| this.source(source, &Stream::External));
        Ok(match output.known() {
            Some(text) => text.trim_end_matches('\n').to_owned(),
            None => Field::unknown(&format!("$({source})")).0,
        })
    }

    /// Returns a name for the file that a process substitution expands to.
    fn process_file(&mut self, output: Stream) -> Field {
        let Stream::Known(written) = output else { return Field::unknown("<(…)") };
        let name = format!("/dev/fd/{}", 63 + self.scope.files.len());
        self.scope.files.insert(name.clone(), written);
        Field(name)
    }

    /// Walks a process substitution.
    pub(super) fn process(&mut self, list: &super::tree::List, input: &Stream) -> Stream {
        self.in_subshell(|this| this.list(list, input))
    }

    /// The file that `< word` reads, and its content if it is a process substitution.
    pub(super) fn read_from(&mut self, word: &Word) -> Result<(Field, Option<Stream>), Doubt> {
        if let [Part::ProcessSubstitution { list, .. }] = word.0.as_slice() {
            let output = self.process(list, &Stream::External);
            let output = if output == Stream::External { Stream::Unknown } else { output };
            return Ok((Field::unknown("<(…)"), Some(output)));
        }
        Ok((self.text(word)?, None))
    }

    /// Runs `walk` once for each combination of the values that its variables may have.
    pub(super) fn each_choice(
        &mut self,
        mut walk: impl FnMut(&mut Self) -> Result<Stream, Doubt>,
    ) -> Result<Stream, Doubt> {
        let outer = std::mem::take(&mut self.choices);
        let folders = self.scope.folders().to_vec();
        let mut output = walk(self);
        for _ in 1..MAX_CHOICES {
            while self.choices.last().is_some_and(|(_, taken, of)| taken + 1 >= *of) {
                self.choices.pop();
            }
            let Some(last) = self.choices.last_mut() else { break };
            last.1 += 1;
            // Every combination starts from the same state.
            self.scope.begin_branch();
            if self.scope.folders() != folders {
                self.scope.enter(folders.clone());
            }
            let other = walk(self);
            self.scope.merge_branch();
            output = match (output, other) {
                (Ok(first), Ok(second)) if first == second => Ok(first),
                (Ok(_), Ok(_)) => Ok(Stream::Unknown),
                (Err(doubt), _) | (_, Err(doubt)) => Err(doubt),
            };
        }
        self.choices = outer;
        output
    }

    /// The value of a variable; if it may have several, the one chosen for this round.
    pub(super) fn value(&mut self, name: &str) -> Option<Vec<Field>> {
        let mut values = self.scope.values(name);
        if values.len() < 2 {
            return values.pop();
        }
        let taken = match self.choices.iter().find(|(known, _, _)| known == name) {
            Some((_, taken, _)) => *taken,
            None => {
                self.choices.push((name.to_owned(), 0, values.len()));
                0
            }
        };
        values.into_iter().nth(taken)
    }
}

/// Replaces extended globs such as `!(…)` and `@(…)` with `*`; `None` if there are none.
fn extended(text: &str) -> Option<String> {
    let (mut out, mut depth) = (String::new(), 0_usize);
    for character in text.chars() {
        match character {
            '(' if depth > 0 => depth += 1,
            '(' if out.ends_with(['!', '@', '+', '*', '?']) => {
                out.pop();
                out.push('*');
                depth = 1;
            }
            ')' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            other => out.push(other),
        }
    }
    (out != text).then_some(out)
}

/// Marks an unquoted character that may be part of a glob.
fn pattern(character: char) -> char {
    match character {
        '*' => STAR,
        '?' => QUESTION,
        '[' => CLASS,
        other => other,
    }
}
