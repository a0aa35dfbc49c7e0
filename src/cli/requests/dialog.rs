//! Asks a person about one request, line by line. Pure: takes what was typed, and returns what to do.

use super::super::inbox::rule::{Chosen, RuleChoice, Rules};
use super::respond::Answer;
use crate::daemon::broker::{RequestKind, RequestRow};
use murmur_core::permit::question::QuestionSet;
use serde_json::{Map, Value, json};
use sys::error::Hinted;

/// What follows what was typed.
#[derive(Debug, PartialEq)]
pub(in crate::cli) enum Next {
    /// Show this text, which may be empty, and ask again.
    Ask(String),
    /// Send this to the daemon.
    Respond(Value),
    /// Leave the request open.
    Skip,
    /// Leave this and all others open.
    Quit,
}

/// A dialog about one request.
#[derive(Debug)]
pub(in crate::cli) struct Dialog {
    row: RequestRow,
    rules: Rules,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// Allow or deny it?
    Decide,
    /// Which of these rules is added, too?
    Rule(RuleChoice),
    /// Why is it denied? With the patterns of a rule, if one is added.
    Reason(Option<Vec<String>>),
    /// The answers to the questions so far.
    Question(QuestionSet, Map<String, Value>),
}

impl Dialog {
    /// A dialog about `row`; `None` if its questions can't be read.
    pub(in crate::cli) fn new(row: RequestRow, rules: Rules) -> Option<Self> {
        let step = match row.kind {
            RequestKind::Permission => Step::Decide,
            RequestKind::Question => Step::Question(QuestionSet::parse(&row.input).ok()?, Map::new()),
        };
        Some(Self { row, rules, step })
    }

    /// The request.
    pub(in crate::cli) fn row(&self) -> &RequestRow {
        &self.row
    }

    /// What to ask.
    pub(in crate::cli) fn prompt(&self) -> String {
        match &self.step {
            Step::Decide if self.row.doubt.is_some() => {
                "allow it? type yes or always; [n]o, ne[v]er, [s]kip, [q]uit: ".to_owned()
            }
            Step::Decide => "allow it? [y]es, [n]o, [a]lways, ne[v]er, [s]kip, [q]uit: ".to_owned(),
            Step::Rule(choice) => choice.prompt(),
            Step::Reason(_) => "reason for the agent, or Enter for none: ".to_owned(),
            Step::Question(asked, answers) => {
                let index = answers.len();
                let question = asked.questions().get(index);
                let is_multiple = question.is_some_and(|question| question.multi_select);
                let what = match question.is_none_or(|question| question.options.is_empty()) {
                    true => "a text",
                    false if is_multiple => "numbers or labels, with commas, or =your own text",
                    false => "a number or a label, or =your own text",
                };
                format!("q{}: {what}, or Enter to skip: ", index + 1)
            }
        }
    }

    /// Handles a line.
    pub(in crate::cli) fn typed(&mut self, line: &str) -> Next {
        let line = line.trim();
        match std::mem::replace(&mut self.step, Step::Decide) {
            Step::Decide => self.decide(line),
            Step::Rule(choice) => match choice.chosen(line) {
                Chosen::Rule(patterns) if choice.answer == Answer::Deny => {
                    self.ask(Step::Reason(Some(patterns)), "")
                }
                Chosen::Rule(patterns) => Next::Respond(self.decision(choice.answer, Some(patterns), "")),
                Chosen::NoRule => self.ask(Step::Decide, "no rule was added"),
                Chosen::Unclear(text) => self.ask(Step::Rule(choice), &text),
            },
            Step::Reason(rule) => Next::Respond(self.decision(Answer::Deny, rule, line)),
            Step::Question(asked, answers) => self.answer(line, asked, answers),
        }
    }

    fn decide(&mut self, line: &str) -> Next {
        let is_doubted = self.row.doubt.is_some();
        match line.to_lowercase().as_str() {
            "y" | "a" if is_doubted => self.ask(
                Step::Decide,
                "the guard cannot tell what this call does; to allow it, type yes or always in full",
            ),
            "y" | "yes" => Next::Respond(self.decision(Answer::Allow, None, "")),
            "n" | "no" => self.ask(Step::Reason(None), ""),
            "a" | "always" => self.show_rules(Answer::Allow),
            "v" | "never" => self.show_rules(Answer::Deny),
            "" | "s" | "skip" => Next::Skip,
            "q" | "quit" => Next::Quit,
            _ => self
                .ask(Step::Decide, &format!("{line:?} is not one of the choices; type y, n, a, v, s or q")),
        }
    }

    fn show_rules(&mut self, answer: Answer) -> Next {
        match self.rules.choice(&self.row, answer) {
            Ok(choice) => {
                let text = choice.text();
                self.ask(Step::Rule(choice), text.trim_end())
            }
            Err(failure) => self.ask(Step::Decide, &failure.line()),
        }
    }

    fn answer(&mut self, line: &str, asked: QuestionSet, mut answers: Map<String, Value>) -> Next {
        let index = answers.len();
        let Some(question) = asked.questions().get(index).filter(|_| !line.is_empty()) else {
            return Next::Skip;
        };
        let answer = question.typed(line);
        // Report mistakes here, so that only this answer has to be given again.
        if let Err(error) = asked.check(index, &answer) {
            let text = error.line();
            return self.ask(Step::Question(asked, answers), &text);
        }
        answers.insert(format!("q{}", index + 1), answer);
        if answers.len() < asked.questions().len() {
            return self.ask(Step::Question(asked, answers), "");
        }
        Next::Respond(json!({ "id": self.row.id.as_str(), "answers": answers }))
    }

    fn ask(&mut self, step: Step, text: &str) -> Next {
        self.step = step;
        Next::Ask(text.to_owned())
    }

    fn decision(&self, answer: Answer, rule: Option<Vec<String>>, reason: &str) -> Value {
        let (id, always) = (self.row.id.as_str(), rule.is_some());
        let mut response = json!({ "id": id, "decision": answer.word(), "always": always });
        if let Some(patterns) = rule {
            response["patterns"] = patterns.into();
        }
        if !reason.is_empty() {
            response["reason"] = reason.into();
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::permit::request::RequestId;
    use sys::paths::DataDir;

    fn row(input: Value, kind: RequestKind, doubt: Option<&str>) -> RequestRow {
        RequestRow {
            id: RequestId::parse("7ggs733k").unwrap(),
            kind,
            agent: "site-1".to_owned(),
            workspace: "/w".into(),
            heartbeat: None,
            defers: false,
            tool: "Bash".to_owned(),
            input,
            cwd: "/w".into(),
            doubt: doubt.map(str::to_owned),
            state: "waiting".to_owned(),
            asked_at: "2026-11-27T09:00:00Z".to_owned(),
            expires_at: None,
        }
    }

    fn rules() -> Rules {
        let dir = DataDir::find(Some(std::path::Path::new("/data")), None, None).unwrap();
        Rules::new(dir, "/home/you".into())
    }

    fn dialog(doubt: Option<&str>) -> Dialog {
        let input = json!({ "command": "git push" });
        Dialog::new(row(input, RequestKind::Permission, doubt), rules()).unwrap()
    }

    #[test]
    fn a_call_is_allowed_or_denied_with_a_reason() {
        let allowed = json!({ "id": "7ggs733k", "decision": "allow", "always": false });
        assert_eq!(dialog(None).typed(" Y "), Next::Respond(allowed));
        let mut denied = dialog(None);
        assert_eq!(denied.typed("n"), Next::Ask(String::new()));
        assert_eq!(denied.prompt(), "reason for the agent, or Enter for none: ");
        let response =
            json!({ "id": "7ggs733k", "decision": "deny", "always": false, "reason": "not on a Friday" });
        assert_eq!(denied.typed("not on a Friday"), Next::Respond(response));
        assert_eq!(dialog(None).typed(""), Next::Skip);
        assert_eq!(dialog(None).typed("q"), Next::Quit);
        assert!(
            matches!(dialog(None).typed("x"), Next::Ask(text) if text.contains("not one of the choices"))
        );
    }

    #[test]
    fn a_key_does_not_allow_what_the_guard_doubts() {
        let mut doubted = dialog(Some("it is a script"));
        for key in ["y", "a"] {
            assert!(matches!(doubted.typed(key), Next::Ask(text) if text.contains("in full")), "{key}");
        }
        assert!(matches!(doubted.typed("yes"), Next::Respond(response) if response["decision"] == "allow"));
    }

    #[test]
    fn a_rule_is_chosen_among_those_that_are_shown() {
        let mut always = dialog(None);
        let Next::Ask(text) = always.typed("a") else { panic!() };
        assert!(
            text.contains("1. only this call\n     pattern = \"git push\"\n  2. git push with"),
            "{text}"
        );
        assert!(text.contains("permissions.toml"), "{text}");
        assert_eq!(always.prompt(), "which rule? 1 to 2, Enter for 1, or [n]one: ");
        assert_eq!(always.typed("n"), Next::Ask("no rule was added".to_owned()));
        for (typed, pattern) in [("", "git push"), ("1", "git push"), ("2", "git push:*")] {
            let mut always = dialog(None);
            always.typed("always");
            assert_eq!(always.typed("3"), Next::Ask("no rule 3; rules are 1 to 2".to_owned()));
            assert_eq!(always.typed("y"), Next::Ask("type a number, or n".to_owned()));
            let response =
                json!({ "id": "7ggs733k", "decision": "allow", "always": true, "patterns": [pattern] });
            assert_eq!(always.typed(typed), Next::Respond(response));
        }
    }

    #[test]
    fn a_call_that_the_guard_doubts_has_only_a_rule_for_itself() {
        let mut never = dialog(Some("it is a script"));
        let Next::Ask(text) = never.typed("never") else { panic!() };
        assert!(text.contains("pattern = \"git push\"") && !text.contains(":*"), "{text}");
        assert_eq!(never.prompt(), "add it? [y]es, [n]o: ");
        assert_eq!(never.typed("yes"), Next::Ask(String::new()));
        let response =
            json!({ "id": "7ggs733k", "decision": "deny", "always": true, "patterns": ["git push"] });
        assert_eq!(never.typed(""), Next::Respond(response));
    }

    #[test]
    fn questions_are_answered_one_after_another() {
        let option = |label: &str| json!({ "label": label, "description": "" });
        let question = |text: &str| json!({ "question": text, "header": "Q", "multiSelect": false, "options": [option("A"), option("B")] });
        let input = json!({ "questions": [question("Which?"), question("And?")] });
        let row = row(input, RequestKind::Question, None);
        let mut dialog = Dialog::new(row, rules()).unwrap();
        assert_eq!(dialog.prompt(), "q1: a number or a label, or =your own text, or Enter to skip: ");
        let refused =
            "q1 cannot be answered with \"7\"; write one of \"A\" (1), \"B\" (2), or =your own text";
        assert_eq!(dialog.typed("7"), Next::Ask(refused.to_owned()));
        assert_eq!(dialog.typed("C"), Next::Ask(refused.replace('7', "C")));
        assert_eq!(dialog.typed("2"), Next::Ask(String::new()));
        let Next::Respond(response) = dialog.typed("=something else") else { panic!() };
        assert_eq!(response["id"], "7ggs733k");
        assert_eq!(response["answers"], json!({ "q1": 2, "q2": { "other": "something else" } }));
    }
}
