//! Each row of both tables holds what it says.

use super::*;
use crate::permit::shell::wrapper;

fn place() -> Place {
    Place {
        cwd: "/home/me/work".into(),
        workspace: "/home/me/work".into(),
        home: "/home/me".into(),
        own: Own::default(),
    }
}

fn entry(line: &str) -> Option<&'static str> {
    match inspect(line, &place()) {
        Finding::Refused { entry, .. } => Some(entry),
        _ => None,
    }
}

#[test]
fn every_danger_refuses_its_example_and_not_the_other() {
    for danger in TABLE {
        assert_eq!(entry(danger.matches), Some(danger.entry), "{}", danger.matches);
        assert_eq!(inspect(danger.not_match, &place()), Finding::Clear, "{}", danger.not_match);
    }
}

#[test]
fn every_wrapper_runs_what_its_example_wraps_and_not_the_other() {
    for wrapper in wrapper::TABLE {
        assert!(entry(wrapper.matches).is_some(), "{}", wrapper.matches);
        assert_eq!(inspect(wrapper.not_match, &place()), Finding::Clear, "{}", wrapper.not_match);
    }
}
