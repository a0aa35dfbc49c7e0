//! Agents as a table that fits.

use super::super::style::{Style, plain_line};
use crate::roster::Agent;
use jiff::Timestamp;
use std::time::Duration;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const HEAD: [&str; 9] =
    ["AGENT", "STATE", "TOOL", "LAST ACTION", "TASK", "BRANCH", "WORKSPACE", "AGE", "HEALTH"];

/// The columns that are cut where there is no room, in this order, and to how many columns of the terminal.
const CUT: [(usize, usize); 9] = [(3, 12), (4, 8), (6, 8), (5, 6), (0, 8), (2, 4), (6, 1), (4, 1), (3, 1)];

/// The column whose end says more than its beginning.
const WORKSPACE: usize = 6;

/// What is between columns.
const BETWEEN: usize = 2;

/// The table of `agents`, its head first, a line each; none is wider than `width`.
pub(super) fn lines(agents: &[Agent], now: Timestamp, width: Option<usize>, style: Style) -> Vec<String> {
    let rows: Vec<[String; 9]> = agents.iter().map(|agent| cells(agent, now)).collect();
    let head = HEAD.map(str::to_owned);
    let widest = |column: usize| rows.iter().chain([&head]).map(|row| row[column].width()).max().unwrap_or(0);
    let mut widths: [usize; 9] = std::array::from_fn(widest);
    if let Some(width) = width {
        fit(&mut widths, width);
    }
    let most = width.unwrap_or(usize::MAX);
    let mut lines = vec![style.bold(cut(&joined(&head, &widths), most))];
    for (agent, row) in agents.iter().zip(&rows) {
        let line = joined(row, &widths);
        // The health is at the end, where it is coloured.
        lines.push(match line.strip_suffix(agent.health.word()) {
            Some(begin) if line.width() <= most => format!("{begin}{}", style.health(agent.health)),
            _ => cut(&line, most),
        });
    }
    lines
}

fn cells(agent: &Agent, now: Timestamp) -> [String; 9] {
    let workspace = agent.workspace.to_string_lossy();
    let texts: [&str; 7] = [
        &agent.agent_id,
        agent.state,
        &agent.tool_name,
        &agent.last_action,
        &agent.current_task,
        &agent.git_branch,
        &workspace,
    ];
    let [id, state, tool, action, task, branch, workspace] = texts.map(plain_line);
    [id, state, tool, action, task, branch, workspace, age(agent.age(now)), agent.health.word().to_owned()]
}

/// Takes from `widths` what is more than `width` in all.
fn fit(widths: &mut [usize; 9], width: usize) {
    for (column, least) in CUT {
        let all: usize = widths.iter().sum::<usize>() + BETWEEN * (widths.len() - 1);
        let surplus = all.saturating_sub(width);
        widths[column] = widths[column].saturating_sub(surplus).max(least.min(widths[column]));
    }
}

fn joined(row: &[String; 9], widths: &[usize; 9]) -> String {
    let mut line = String::new();
    for (column, (text, width)) in row.iter().zip(widths).enumerate() {
        if column > 0 {
            line.push_str("  ");
        }
        let text = if column == WORKSPACE { cut_front(text, *width) } else { cut(text, *width) };
        let padding = if column + 1 == row.len() { 0 } else { width.saturating_sub(text.width()) };
        line.push_str(&text);
        line.extend(std::iter::repeat_n(' ', padding));
    }
    line
}

/// `text` in at most `width` columns of the terminal; `…` stands for what is cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let kept = text.chars().take_while(|c| take(&mut room, *c));
    let kept: String = kept.collect();
    if width == 0 { String::new() } else { format!("{kept}…") }
}

/// The same from the front: the end of `text`.
fn cut_front(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let kept: Vec<char> = text.chars().rev().take_while(|c| take(&mut room, *c)).collect();
    if width == 0 { String::new() } else { std::iter::once('…').chain(kept.into_iter().rev()).collect() }
}

/// Takes the width of `c` from `room`, if it is there.
fn take(room: &mut usize, c: char) -> bool {
    let left = room.checked_sub(c.width().unwrap_or(0));
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// How long ago, in its largest unit.
pub(super) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (length, unit) = unit(seconds);
    format!("{}{unit}", seconds / length)
}

/// How long after an age of `age` another one is shown.
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
    use crate::pulse::health::Health;
    use crate::roster::Source;
    use proptest::prelude::*;

    fn agent(id: &str, action: &str, health: Health) -> Agent {
        Agent {
            agent_id: id.to_owned(),
            source: Source::Pulse,
            state: "running",
            tool_name: "Bash".to_owned(),
            last_action: action.to_owned(),
            current_task: "Mend\u{1b}[2J the build".to_owned(),
            git_branch: "main".to_owned(),
            workspace: "/home/me/projects/site".into(),
            pid: 7,
            session_id: None,
            error: None,
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
    fn nothing_is_cut_where_there_is_room_and_the_last_action_is_cut_first() {
        insta::assert_snapshot!(shown(None), @"
        AGENT   STATE    TOOL  LAST ACTION             TASK               BRANCH  WORKSPACE               AGE  HEALTH
        site-1  running  Bash  cargo test --workspace  Mend[2J the build  main    /home/me/projects/site  2m   stuck
        blog    running  Bash  ls 日本語日本語日本語   Mend[2J the build  main    /home/me/projects/site  2m   active
        ");
        insta::assert_snapshot!(shown(Some(110)), @"
        AGENT   STATE    TOOL  LAST ACTION             TASK               BRANCH  WORKSPACE               AGE  HEALTH
        site-1  running  Bash  cargo test --workspace  Mend[2J the build  main    /home/me/projects/site  2m   stuck
        blog    running  Bash  ls 日本語日本語日本語   Mend[2J the build  main    /home/me/projects/site  2m   active
        ");
        insta::assert_snapshot!(shown(Some(80)), @"
        AGENT   STATE    TOOL  LAST ACTION   TASK      BRANCH  WORKSPACE     AGE  HEALTH
        site-1  running  Bash  cargo test …  Mend[2J…  main    …ojects/site  2m   stuck
        blog    running  Bash  ls 日本語日…  Mend[2J…  main    …ojects/site  2m   active
        ");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(width in 1_usize..200, action in "\\PC{0,60}", id in "\\PC{0,30}") {
            let agents = [agent(&id, &action, Health::Stale)];
            for line in lines(&agents, Timestamp::UNIX_EPOCH, Some(width), Style::none()) {
                prop_assert!(line.width() <= width, "{} {line:?}", line.width());
            }
        }
    }

    #[test]
    fn an_age_is_in_its_largest_unit_and_changes_with_that() {
        let table = [(0, "0s", 1), (59, "59s", 1), (60, "1m", 60), (119, "1m", 1), (3600, "1h", 3600)];
        for (seconds, shown, next) in table.into_iter().chain([(86_399, "23h", 1), (200_000, "2d", 59_200)]) {
            let length = Duration::from_secs(seconds);
            assert_eq!((age(length).as_str(), age_changes_in(length).as_secs()), (shown, next));
        }
        assert_eq!(age_changes_in(Duration::from_millis(1_250)), Duration::from_millis(750));
    }
}
