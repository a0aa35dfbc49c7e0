use super::super::checked::from_json;
use super::*;

fn budget(text: &str) -> Result<String, String> {
    match from_json::<Budget>(text) {
        Ok(Ok(budget)) => Ok(budget.to_string()),
        Ok(Err(failure)) => {
            Err(failure.line().split_once("; write ").map(|(what, _)| what.to_owned()).unwrap())
        }
        Err(_) => Err("type".to_owned()),
    }
}

#[test]
fn amounts_are_dollars_or_tokens_above_zero() {
    for (text, expected) in [
        (r#"{"day":5}"#, Ok("5 USD a day")),
        (r#"{"month":"9000000 tokens","day":"0.5 USD"}"#, Ok("0.5 USD a day, 9000000 tokens a month")),
        (r#"{"week":2.25,"day":null}"#, Ok("2.25 USD a week")),
        (r#"{"day":0}"#, Err("0 is not a budget for a day")),
        (r#"{"day":-1}"#, Err("-1 is not a budget for a day")),
        (r#"{"week":"0 USD"}"#, Err("\"0 USD\" is not a budget for a week")),
        (r#"{"month":"0 tokens"}"#, Err("\"0 tokens\" is not a budget for a month")),
        (r#"{"day":"5"}"#, Err("\"5\" is not a budget for a day")),
        (r#"{"day":"5 EUR"}"#, Err("\"5 EUR\" is not a budget for a day")),
        (r#"{"day":"1.5 tokens"}"#, Err("\"1.5 tokens\" is not a budget for a day")),
        (r#"{"day":"NaN USD"}"#, Err("\"NaN USD\" is not a budget for a day")),
        ("{}", Err("it limits nothing")),
        (r#"{"year":5}"#, Err("type")),
        (r#"{"day":[5]}"#, Err("type")),
        ("5", Err("type")),
    ] {
        assert_eq!(budget(text), expected.map(str::to_owned).map_err(str::to_owned), "{text}");
    }
}

#[test]
fn the_budget_of_a_beat_is_a_number_above_zero() {
    let read = |text: &str| from_json::<Usd>(text);
    assert_eq!(read("2.50").unwrap().unwrap().number(), "2.5");
    for wrong in ["0", "-1", "1e300"] {
        let failure = read(wrong).unwrap().unwrap_err().line();
        assert!(failure.ends_with("write a number of US dollars above 0, such as 2.5"), "{failure}");
    }
    assert!(read("\"5\"").is_err());
}

#[test]
fn a_wrong_value_in_config_json_is_reported_with_its_place_and_holds_only_its_workspace() {
    use super::super::cron::Crons;
    use super::super::file::File;
    use sys::error::Hinted;
    let parse = |text: &str| {
        let path = std::path::Path::new("/m/config.json");
        File::parse(text.as_bytes(), path, &Crons::new(TimeZone::UTC))
    };
    for (members, place, what) in [
        (r#""maxBudgetUsd": 0"#, 48, r#""maxBudgetUsd": 0 is not a budget; write a number"#),
        (r#""maxBudgetUsd": "5""#, 48, r#""maxBudgetUsd" is "5"; write a number"#),
        (
            r#""budget": {"day": "5 EUR"}"#,
            42,
            r#""budget": "5 EUR" is not a budget for a day; write amounts"#,
        ),
        (r#""budget": {"year": 5}"#, 42, r#""budget" is {"year": 5}; write amounts"#),
        (r#""minFree": "2GB""#, 43, r#""minFree": "2GB" is not a size; write a whole number"#),
    ] {
        let text = format!(r#"{{"workspaces": [{{"path": "/a", {members}}}, {{"path": "/b"}}]}}"#);
        let file = parse(&text).unwrap();
        let problem = file.workspaces[0].as_ref().unwrap_err().problem.line();
        let expected = format!("/m/config.json:1:{place}: {what}");
        assert!(problem.starts_with(&expected), "{problem}\n{expected}");
        assert!(file.workspaces[1].is_ok());
    }
    let wrong = parse(r#"{"budget": {"day": 0}}"#).unwrap_err().line();
    assert!(
        wrong.starts_with("/m/config.json:1:12: \"budget\": 0 is not a budget for a day; write"),
        "{wrong}"
    );
}
