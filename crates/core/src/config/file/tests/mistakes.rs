//! Several mistakes in one file.

use super::*;

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
