//! The table of agents, fitted to the terminal.
//!
//! The crate comfy-table would only replace the padding: it wraps cells, while this table drops whole columns by
//! importance and shortens paths at the front.

use super::super::reported::in_background;
use super::super::style::{Colors, Style, in_parentheses, plain_line, zone};
use crate::agents::{Agent, Source};
pub(super) use derun::cli::fitted::cut;
use derun::cli::fitted::take;
use jiff::Timestamp;
use std::borrow::Cow;
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

const HEAD: [&str; 9] =
    ["AGENT", "STATE", "TOOL", "LAST ACTION", "TASK", "BRANCH", "WORKSPACE", "AGE", "HEALTH"];

const AGENT: usize = 0;
const STATE: usize = 1;
const TOOL: usize = 2;
const ACTION: usize = 3;
const TASK: usize = 4;
const BRANCH: usize = 5;
/// A column that is shortened at the front.
const WORKSPACE: usize = 6;
const AGE: usize = 7;

/// The maximum width of each column. The last action gets the remaining width.
const MAX_WIDTHS: [usize; 9] = [32, usize::MAX, 24, usize::MAX, 40, 32, 40, usize::MAX, usize::MAX];

/// The maximum width of an id when output is not a terminal; nothing else is shortened there.
const ID: usize = 80;

/// Columns to drop if there is no room, in this order.
const DROP_ORDER: [usize; 4] = [WORKSPACE, BRANCH, TASK, TOOL];

/// The minimum width of a shortened last action, and of a shortened id next to it.
const LEAST: usize = 16;

/// The number of spaces between columns.
const BETWEEN: usize = 2;

/// Column widths; `None` for hidden columns.
type Widths = [Option<usize>; 9];

/// The lines of the table, starting with its header; none is wider than `width`.
pub(super) fn lines(agents: &[Agent], now: Timestamp, width: Option<usize>, style: Style) -> Vec<String> {
    let rows: Vec<[String; 9]> = agents.iter().map(|agent| cells(agent, now)).collect();
    let head = HEAD.map(str::to_owned);
    let widest = |column: usize| rows.iter().chain([&head]).map(|row| row[column].width()).max().unwrap_or(0);
    let mut widest: [usize; 9] = std::array::from_fn(widest);
    let widths = match width {
        Some(width) => fit(widest, width),
        None => {
            widest[AGENT] = widest[AGENT].min(ID);
            widest.map(Some)
        }
    };
    let most = width.unwrap_or(usize::MAX);
    let mut lines = vec![style.bold(cut(&joined(&head, &widths), most))];
    for (agent, row) in agents.iter().zip(&rows) {
        let line = joined(row, &widths);
        // The health is last and in color.
        lines.push(match line.strip_suffix(agent.health.as_str()) {
            Some(begin) if line.width() <= most => format!("{begin}{}", style.health(agent.health)),
            _ => cut(&line, most),
        });
    }
    lines
}

fn cells(agent: &Agent, now: Timestamp) -> [String; 9] {
    let workspace = agent.workspace.to_string_lossy();
    let action = action(agent);
    let texts: [&str; 7] = [
        &name(agent),
        &state(agent),
        &agent.tool_name,
        &action,
        &agent.current_task,
        &agent.git_branch,
        &workspace,
    ];
    let [id, state, tool, action, task, branch, workspace] = texts.map(plain_line);
    [id, state, tool, action, task, branch, workspace, age(agent.age(now)), agent.health.as_str().to_owned()]
}

/// The id of `agent`, with its backend unless that is Claude Code.
pub(super) fn name(agent: &Agent) -> String {
    format!("{}{}", agent.agent_id, in_parentheses(&agent.backend))
}

/// The state of `agent`, with the number of its background tasks, and until when its account is on hold.
pub(super) fn state(agent: &Agent) -> String {
    let until = |until: Timestamp| until.to_zoned(zone().clone()).strftime("%a %H:%M").to_string();
    let hold = agent.hold.map(|hold| format!(", on hold until {}", until(hold))).unwrap_or_default();
    format!("{}{}{hold}", agent.state, in_background(agent.background as u64))
}

/// The last action of `agent`, or its error.
pub(super) fn action(agent: &Agent) -> Cow<'_, str> {
    // A host's report that is newer than the pulse is not about the call that failed.
    let goes_on = agent.source == Source::Host && agent.state != "idle";
    match &agent.error {
        Some(error) if !goes_on => Cow::Owned(format!("failed: {error}")),
        _ => Cow::Borrowed(&agent.last_action),
    }
}

/// Fits columns into `width`, given the width of their `widest` cells. Headers are never shortened.
fn fit(widest: [usize; 9], width: usize) -> Widths {
    let most: [usize; 9] = std::array::from_fn(|column| widest[column].min(MAX_WIDTHS[column]));
    let mut widths = most.map(Some);
    widths[ACTION] = Some(most[ACTION].min(LEAST));
    for column in DROP_ORDER {
        if all(&widths) > width {
            widths[column] = None;
        }
    }
    shrink(&mut widths, AGENT, LEAST, width);
    if all(&widths) > width {
        widths[ACTION] = None;
        // The health says most of what the state says, and an id that is too short names no agent.
        for column in [AGE, STATE] {
            widths[AGENT] = Some(most[AGENT]);
            shrink(&mut widths, AGENT, LEAST, width);
            if all(&widths) > width {
                widths[column] = None;
            }
        }
        shrink(&mut widths, AGENT, HEAD[AGENT].len(), width);
    }
    let left = width.saturating_sub(all(&widths));
    widths[ACTION] = widths[ACTION].map(|least| least.saturating_add(left).min(most[ACTION]));
    widths
}

/// Shortens `column` until the table fits into `width`, at most down to `least`.
fn shrink(widths: &mut Widths, column: usize, least: usize, width: usize) {
    let surplus = all(widths).saturating_sub(width);
    widths[column] = widths[column].map(|now| now.saturating_sub(surplus).max(least.min(now)));
}

/// The width of the table.
fn all(widths: &Widths) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + BETWEEN * shown.count().saturating_sub(1)
}

fn joined(row: &[String; 9], widths: &Widths) -> String {
    let mut line = String::new();
    for (column, (text, width)) in row.iter().zip(widths).enumerate() {
        let Some(width) = *width else { continue };
        if !line.is_empty() {
            line.extend(std::iter::repeat_n(' ', BETWEEN));
        }
        let text = if column == WORKSPACE { cut_front(text, width) } else { cut(text, width) };
        let padding = if column + 1 == row.len() { 0 } else { width.saturating_sub(text.width()) };
        line.push_str(&text);
        line.extend(std::iter::repeat_n(' ', padding));
    }
    line
}

/// Shortens `text` at the front.
fn cut_front(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let kept: Vec<char> = text.chars().rev().take_while(|c| take(&mut room, *c)).collect();
    if width == 0 { String::new() } else { std::iter::once('…').chain(kept.into_iter().rev()).collect() }
}

/// An age in its largest unit.
pub(super) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (length, unit) = unit(seconds);
    format!("{}{unit}", seconds / length)
}

/// How long until the displayed age changes.
pub(super) fn age_changes_in(age: Duration) -> Duration {
    let (length, _) = unit(age.as_secs());
    Duration::from_secs((age.as_secs() / length + 1) * length).saturating_sub(age)
}

fn unit(seconds: u64) -> (u64, char) {
    match seconds {
        0..60 => (1, 's'),
        60..3600 => (60, 'm'),
        3600..86_400 => (3600, 'h'),
        _ => (86_400, 'd'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::config::backend::Backend;
    use murmur_store::pulse::health::Health;
    use proptest::prelude::*;

    fn agent(id: &str, action: &str, health: Health) -> Agent {
        Agent {
            agent_id: id.to_owned(),
            backend: Backend::default(),
            source: Source::Pulse,
            state: "running",
            background: 0,
            hold: None,
            tool_name: "Bash".to_owned(),
            last_action: action.to_owned(),
            current_task: "Mend\u{1b}[2Jing the build".to_owned(),
            git_branch: "main".to_owned(),
            workspace: "/home/me/projects/site".into(),
            project: None,
            heartbeat: None,
            pid: Some(7),
            session_id: None,
            error: None,
            started_at: Timestamp::UNIX_EPOCH,
            at: Timestamp::UNIX_EPOCH,
            health,
            alive: Some(true),
        }
    }

    fn shown(width: Option<usize>) -> String {
        let agents = [
            agent("site-1", "cargo test --workspace", Health::Stuck),
            agent("blog", "ls 日本語日本語日本語", Health::Active),
        ];
        let now = Timestamp::from_second(150).unwrap();
        lines(&agents, now, width, Style::none()).join("\n")
    }

    #[test]
    fn columns_are_dropped_to_fit_and_the_last_action_gets_the_rest() {
        insta::assert_snapshot!(shown(None), @"
        AGENT   STATE    TOOL  LAST ACTION             TASK               BRANCH  WORKSPACE               AGE  HEALTH
        site-1  running  Bash  cargo test --workspace  Mending the build  main    /home/me/projects/site  2m   stuck
        blog    running  Bash  ls 日本語日本語日本語   Mending the build  main    /home/me/projects/site  2m   active
        ");
        assert_eq!(shown(Some(111)), shown(None));
        let sizes = [110, 80, 60, 51, 30].map(|width| format!("{width}:\n{}", shown(Some(width))));
        insta::assert_snapshot!(sizes.join("\n"), @"
        110:
        AGENT   STATE    TOOL  LAST ACTION             TASK               BRANCH  WORKSPACE               AGE  HEALTH
        site-1  running  Bash  cargo test --workspace  Mending the build  main    /home/me/projects/site  2m   stuck
        blog    running  Bash  ls 日本語日本語日本語   Mending the build  main    /home/me/projects/site  2m   active
        80:
        AGENT   STATE    TOOL  LAST ACTION        TASK               BRANCH  AGE  HEALTH
        site-1  running  Bash  cargo test --wor…  Mending the build  main    2m   stuck
        blog    running  Bash  ls 日本語日本語…   Mending the build  main    2m   active
        60:
        AGENT   STATE    TOOL  LAST ACTION             AGE  HEALTH
        site-1  running  Bash  cargo test --workspace  2m   stuck
        blog    running  Bash  ls 日本語日本語日本語   2m   active
        51:
        AGENT   STATE    LAST ACTION            AGE  HEALTH
        site-1  running  cargo test --workspa…  2m   stuck
        blog    running  ls 日本語日本語日本語  2m   active
        30:
        AGENT   STATE    AGE  HEALTH
        site-1  running  2m   stuck
        blog    running  2m   active
        ");
    }

    #[test]
    fn long_values_do_not_exceed_a_columns_maximum() {
        let long = Agent {
            tool_name: "mcp__tool__".repeat(5),
            git_branch: "feature/".repeat(10),
            current_task: "Mend it. ".repeat(20),
            workspace: "/srv/".repeat(60).into(),
            ..agent(&"a".repeat(300), &"cargo test ".repeat(9), Health::Active)
        };
        let agents = [long, agent("blog", "ls", Health::Active)];
        let width = |width| lines(&agents, Timestamp::UNIX_EPOCH, width, Style::none())[0].clone();
        let starts = |head: &str| HEAD.map(|name| head.rfind(name));
        assert_eq!(starts(&width(Some(250))), [0, 34, 43, 69, 121, 163, 197, 239, 244].map(Some));
        // Without a terminal, only the id is shortened.
        assert_eq!(starts(&width(None))[..5], [0, 82, 91, 148, 248].map(Some));
    }

    #[test]
    fn an_error_is_shown_unless_a_host_has_newer_activity() {
        let failed = |source, state| {
            let error = Some("rate_limit".to_owned());
            let agent = Agent { source, state, error, ..agent("a", "API Error", Health::Active) };
            action(&agent).into_owned()
        };
        assert_eq!(failed(Source::Pulse, "idle"), "failed: rate_limit");
        assert_eq!(failed(Source::Host, "idle"), "failed: rate_limit");
        assert_eq!(failed(Source::Pulse, "running"), "failed: rate_limit");
        assert_eq!(failed(Source::Host, "running"), "API Error");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(width in 1_usize..200, action in "\\PC{0,60}", id in "\\PC{0,30}") {
            let agents = [agent(&id, &action, Health::Stale)];
            for line in lines(&agents, Timestamp::UNIX_EPOCH, Some(width), Style::none()) {
                prop_assert!(line.width() <= width, "{} {line:?}", line.width());
            }
            let table = lines(&agents, Timestamp::UNIX_EPOCH, Some(width), Style::none());
            let heads: Vec<&str> = table[0].split("  ").map(str::trim).filter(|head| !head.is_empty()).collect();
            for (head, least) in [("AGENT", 16), ("HEALTH", 16), ("STATE", 36), ("AGE", 41)] {
                prop_assert!(width < least || heads.contains(&head), "{table:?}");
            }
            prop_assert!(width < 16 || heads.iter().all(|head| HEAD.contains(head)), "{table:?}");
        }
    }

    #[test]
    fn an_age_is_shown_and_refreshed_in_its_largest_unit() {
        let table = [(0, "0s", 1), (59, "59s", 1), (60, "1m", 60), (119, "1m", 1), (3600, "1h", 3600)];
        for (seconds, shown, next) in table.into_iter().chain([(86_399, "23h", 1), (200_000, "2d", 59_200)]) {
            let length = Duration::from_secs(seconds);
            assert_eq!((age(length).as_str(), age_changes_in(length).as_secs()), (shown, next));
        }
        assert_eq!(age_changes_in(Duration::from_millis(1_250)), Duration::from_millis(750));
    }
}
