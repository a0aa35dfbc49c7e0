//! Questions as Claude Code asks them, and what people answer.

use super::*;
use serde_json::json;
use sys::error::Hinted;

fn input() -> Value {
    json!({
        "questions": [
            {
                "question": "Which database?",
                "header": "Database",
                "options": [
                    {"label": "Postgres", "description": "what we have"},
                    {"label": "SQLite", "description": "one file", "preview": "..."},
                    {"label": "2", "description": "the second one"}
                ],
                "multiSelect": false
            },
            {
                "question": "Which checks?",
                "header": "Checks",
                "options": [{"label": "Lint"}, {"label": "Test"}, {"label": "test "}],
                "multiSelect": true
            },
            {"question": "What is it called?", "header": "Name"}
        ],
        "metadata": {"source": "x"}
    })
}

fn asked() -> QuestionSet {
    QuestionSet::parse(&input()).unwrap()
}

/// The answer to one question, the others answered well.
fn answer(number: usize, value: Value) -> Result<String, String> {
    let mut given = json!({"q1": 1, "q2": 1, "q3": "x"});
    given[format!("q{number}")] = value;
    let answers = asked().answers(&given).map_err(|error| error.line())?;
    Ok(answers[&asked().questions()[number - 1].question].clone())
}

#[test]
fn the_answers_go_back_under_the_questions_texts_and_the_rest_of_the_input_stays() {
    let given = json!({"q1": "postgres", "checks": ["Lint", 2], "What is it called?": "murmur"});
    let answers = asked().answers(&given).unwrap();
    let mut expected = input();
    expected["answers"] = json!({
        "Which database?": "Postgres", "Which checks?": "Lint, Test", "What is it called?": "murmur"
    });
    assert_eq!(
        QuestionSet::answered(
            &input(),
            answers.into_iter().map(|(question, answer)| (question, answer.into())).collect()
        ),
        expected
    );
}

#[test]
fn an_answer_is_a_label_a_number_a_list_or_free_text() {
    for (number, value, expected) in [
        (1, json!("SQLite"), "SQLite"),
        (1, json!(" sqlite "), "SQLite"),
        (1, json!(1), "Postgres"),
        (1, json!("1"), "Postgres"),
        (1, json!("2"), "2"),
        (1, json!(2), "SQLite"),
        (1, json!(["SQLite"]), "SQLite"),
        (1, json!({"other": "MySQL, sorry"}), "MySQL, sorry"),
        (1, json!({"other": "Postgre"}), "Postgre"),
        (1, json!({"other": "none"}), "none"),
        (1, json!({"other": "7"}), "7"),
        (1, json!(" use MySQL "), "use MySQL"),
        (1, json!("neither, mock it"), "neither, mock it"),
        (1, json!(["use MySQL"]), "use MySQL"),
        (2, json!("Lint"), "Lint"),
        (2, json!("Test"), "Test"),
        (2, json!([2, "lint", "Lint"]), "Test, Lint"),
        (2, json!(["Lint", {"other": "Fuzz"}]), "Lint, Fuzz"),
        (2, json!(["Lint", "run the fuzzer"]), "Lint, run the fuzzer"),
        (2, json!("lint, Lint,Test"), "Lint, Test"),
        (2, json!("1, 2"), "Lint, Test"),
        (2, json!("Lint, and a spell check"), "Lint, and a spell check"),
        (3, json!("Postgres"), "Postgres"),
        (3, json!({"other": "x y"}), "x y"),
    ] {
        assert_eq!(answer(number, value.clone()).unwrap(), expected, "{value}");
    }
}

#[test]
fn a_misspelled_choice_is_refused_with_the_choices() {
    let choices = r#"write one of "Postgres" (1), "SQLite" (2), "2" (3), or {"other": "your own text"}"#;
    let several =
        r#"write one or a list of "Lint" (1), "Test" (2), "test" (3), or {"other": "your own text"}"#;
    for (number, value, expected) in [
        (1, json!("SQL"), format!("q1 cannot be answered with \"SQL\"; {choices}")),
        (1, json!("Postgers"), format!("q1 cannot be answered with \"Postgers\"; {choices}")),
        (1, json!("9"), format!("q1 cannot be answered with \"9\"; {choices}")),
        (1, json!("#9"), format!("q1 cannot be answered with \"#9\"; {choices}")),
        (1, json!("1, 9"), format!("q1 cannot be answered with \"1, 9\"; {choices}")),
        (1, json!("MySQL"), format!("q1 cannot be answered with \"MySQL\"; {choices}")),
        (1, json!(["MySQL"]), format!("q1 cannot be answered with \"MySQL\"; {choices}")),
        (1, json!("infinity"), format!("q1 cannot be answered with \"infinity\"; {choices}")),
        (2, json!("1,9"), format!("q2 cannot be answered with \"1,9\"; {several}")),
        (2, json!("Lint, Fuzz"), format!("q2 cannot be answered with \"Lint, Fuzz\"; {several}")),
        (2, json!(["Lint", "Fuzz"]), format!("q2 cannot be answered with \"Fuzz\"; {several}")),
        (1, json!("Postgres, SQLite"), format!("q1 takes one answer, not 2; {choices}")),
        (1, json!("Postgre"), format!("q1 cannot be answered with \"Postgre\"; {choices}")),
        (1, json!(0), format!("q1 cannot be answered with 0; {choices}")),
        (1, json!(4), format!("q1 cannot be answered with 4; {choices}")),
        (1, json!(1.5), format!("q1 cannot be answered with 1.5; {choices}")),
        (1, json!("-1"), format!("q1 cannot be answered with \"-1\"; {choices}")),
        (1, json!(""), format!("the answer to q1 is empty; {choices}")),
        (1, json!(null), format!("q1 cannot be answered with null; {choices}")),
        (1, json!(true), format!("q1 cannot be answered with true; {choices}")),
        (1, json!({"other": " "}), format!("the answer to q1 is empty; {choices}")),
        (1, json!({"text": "x"}), format!("q1 cannot be answered with {{\"text\":\"x\"}}; {choices}")),
        (1, json!([1, 2]), format!("q1 takes one answer, not 2; {choices}")),
        (1, json!([]), format!("q1 takes one answer, not 0; {choices}")),
        (2, json!("TEST"), format!("q2 cannot be answered with \"TEST\"; {several}")),
        (2, json!(["Lint", "Tset"]), format!("q2 cannot be answered with \"Tset\"; {several}")),
        (2, json!("Lint, Tes"), format!("q2 cannot be answered with \"Lint, Tes\"; {several}")),
        (2, json!([["Lint"]]), format!("q2 cannot be answered with [\"Lint\"]; {several}")),
        (3, json!(1), "q3 cannot be answered with 1; write any text".to_owned()),
    ] {
        assert_eq!(answer(number, value.clone()).unwrap_err(), expected, "{value}");
    }
}

#[test]
fn every_question_needs_exactly_one_answer() {
    for (given, expected) in [
        (
            json!(["x"]),
            "the answers are not a JSON object; write the question and its answer as JSON, such as '{\"q1\": 1}'",
        ),
        (json!({"q1": 1, "q2": 1}), "q3 (\"What is it called?\") has no answer; write any text"),
        (
            json!({"q1": 1, "q4": 1}),
            "no question \"q4\"; use one of q1 (\"Database\"), q2 (\"Checks\"), q3 (\"Name\")",
        ),
        (json!({"q0": 1}), "no question \"q0\"; use one of"),
        (json!({"": 1}), "no question \"\"; use one of"),
        (json!({"q1": 1, "Database": 1}), "q1 is answered twice; remove one of the two"),
    ] {
        let error = asked().answers(&given).unwrap_err().line();
        assert!(error.starts_with(expected), "{given}: {error}");
    }
    let alike = json!({"questions": [{"question": "a", "header": "q2"}, {"question": "b", "header": "H"}, {"question": "c", "header": "h"}]});
    let alike = QuestionSet::parse(&alike).unwrap();
    for key in ["q2", "H"] {
        let error = alike.answers(&json!({ key: "x" })).unwrap_err();
        assert_eq!(error.line(), format!("{key:?} matches more than one question; write q1, q2 and so on"));
    }
}

#[test]
fn input_without_questions_is_refused() {
    for (input, expected) in [
        (json!({}), "the questions are not valid (\"questions\" is missing)"),
        (json!({"questions": "x"}), "the questions are not valid (invalid type"),
        (json!({"questions": [{"header": "x"}]}), "the questions are not valid (missing field `question`)"),
        (json!({"questions": []}), "there are no questions"),
        (json!({"questions": [{"question": "a"}, {"question": "a"}]}), "\"a\" is asked twice"),
    ] {
        let error = QuestionSet::parse(&input).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains("; "), "{input}: {error}");
        assert!(
            QuestionSet::parse(&input).unwrap_err().hint().is_some_and(|hint| hint.starts_with("ask ")),
            "{input}"
        );
    }
}

#[test]
fn it_is_printed_with_nothing_hidden() {
    let input = json!({"questions": [
        {
            "question": "Which \u{1b}[31mone\u{1b}[0m?\nq2 [Fake] Sure?",
            "header": "A\u{7}\nB",
            "options": [{"label": "x\u{1b}]0;t\u{7}\ny", "description": "first\nsecond"}, {"label": "z\u{202e}\u{200b}", "preview": "a\u{1b}[8m\n  3. b"}],
            "multiSelect": true
        },
        {"question": "Why?"}
    ]});
    insta::assert_snapshot!(QuestionSet::parse(&input).unwrap().printed(), @r"
    q1 [A\u{7}\nB] Which \u{1b}[31mone\u{1b}[0m?
         q2 [Fake] Sure? (one or more)
      1. x\u{1b}]0;t\u{7}\ny: first
         second
      2. z\u{202e}\u{200b}
         | a\u{1b}[8m
         |   3. b
    q2 Why?
    ");
}

#[test]
fn a_typed_number_means_the_option_with_it_whatever_labels_are() {
    let labels = ["Yes\u{200b}", "1", "\u{1b}[8mNo\u{202e}", " Yes "];
    let options: Vec<_> = labels.iter().map(|label| json!({"label": label})).collect();
    for is_multi in [false, true] {
        let input = json!({"questions": [{"question": "Sure?\u{1b}[2J", "options": options, "multiSelect": is_multi}]});
        let asked = QuestionSet::parse(&input).unwrap();
        let answered = |word: &str| {
            let answers = asked.typed(&[word.to_owned()]).map_err(|error| error.line())?;
            Ok::<_, String>(asked.answers(&answers.into()).unwrap().remove("Sure?\u{1b}[2J").unwrap())
        };
        for (index, label) in labels.iter().enumerate() {
            assert_eq!(answered(&format!(" {} ", index + 1)).as_deref(), Ok(*label), "{is_multi}");
        }
        assert_eq!(answered("yes").as_deref(), Ok(" Yes "));
        let choices = r#"of "Yes\u{200b}" (1), "1" (2), "\u{1b}[8mNo\u{202e}" (3), "Yes" (4), "#;
        for word in ["5", "No"] {
            let refused = answered(word).unwrap_err();
            assert!(refused.contains(choices), "{refused}");
        }
    }
    let several = json!({"questions": [{"question": "a", "options": options, "multiSelect": true}]});
    let several = QuestionSet::parse(&several).unwrap();
    let answers = several.typed(&["3, 1".to_owned()]).unwrap();
    assert_eq!(several.answers(&answers.into()).unwrap()["a"], "\u{1b}[8mNo\u{202e}, Yes\u{200b}");
}
