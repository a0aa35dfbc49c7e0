//! Several mistakes in one file.

use super::*;

#[test]
fn every_mistake_is_reported_if_one_outside_the_entries_stops_all() {
    let text = "{\"maxConcurrent\": 0, \"reserve\": 5, \"budgets\": {},\n\"budget\": {\"day\": -1}, \"permissions\": {},\n\"workspaces\": [{\"path\": \"/a\", \"interval\": \"x\", \"timeout\": 5}, {\"path\": \"/b\"}, 7]}";
    let error =
        File::parse(text.as_bytes(), Path::new("/m/config.json"), &Crons::new(TimeZone::UTC)).unwrap_err();
    let found: Vec<String> = error.all().iter().map(Hinted::line).collect();
    let begins = [
        "1:19: \"maxConcurrent\" is 0",
        "1:33: \"reserve\"",
        "1:36: unknown key \"budgets\"",
        "2:11: \"budget\"",
        "2:24: unknown key \"permissions\"",
        "3:43: \"interval\"",
        "3:59: \"timeout\"",
        "3:79: \"workspaces\" is 7",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (found, begin) in found.iter().zip(begins) {
        assert!(found.starts_with(&format!("/m/config.json:{begin}")), "{found} {begin}");
    }
    let text = "{\"workspaces\": 5, \"reserve\": 5}";
    let error =
        File::parse(text.as_bytes(), Path::new("/m/config.json"), &Crons::new(TimeZone::UTC)).unwrap_err();
    assert_eq!(error.all().len(), 2);
    assert!(
        error.line().contains(" is 5 (and 1 more; see: murmur config check); write "),
        "{}",
        error.line()
    );
}

#[test]
fn every_mistake_of_an_entry_is_reported_and_the_others_run() {
    let text = "{\"workspaces\": [\n  {\"path\": \"/a\", \"interval\": \"1h\"},\n  {\"path\": \"/b\", \"cron\": 5,\n\"tz\": \"UTC\", \"timeout\": \"x\", \"budgets\": 1}]}";
    let file = parse(text).unwrap();
    assert!(file.workspaces[0].is_ok());
    let bad = file.workspaces[1].as_ref().unwrap_err();
    let found: Vec<String> = bad.problem.all().map(Hinted::line).collect();
    let begins = ["3:26: \"cron\"", "4:25: \"timeout\"", "4:30: unknown key \"budgets\""];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (found, begin) in found.iter().zip(begins) {
        assert!(found.starts_with(&format!("/m/config.json:{begin}")), "{found} {begin}");
    }
}
