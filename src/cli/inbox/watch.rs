//! `murmur inbox --watch`: the inbox, then what changes in it.

use super::super::style::Style;
use super::super::user_env::UserEnv;
use super::super::watch::StatusFiles;
use super::entry::InboxEntry;
use super::list::{entries, print};
use crate::daemon::client;
use anyhow::bail;
use derun::cli::json;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{output_width, wrapped_list};
use jiff::Timestamp;
use murmur_rpc::client::AskError;
use murmur_rpc::envelope::{Event, GAP, LAGGED};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
use sys::error::Hinted;
use sys::text::Styled;
use sys::{clock, failure, terminal};
use tokio::time::{sleep, timeout};

/// How long a daemon may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// How long after its deadline an entry is surely gone.
const MARGIN: Duration = Duration::from_millis(10);

/// Shows the inbox, then each entry that comes, and on a terminal each that goes, until the daemon ends.
pub(super) async fn follow(json: bool, env: &UserEnv) -> anyhow::Result<()> {
    let dir = env.read_data_dir()?;
    let mut daemon = match client::connect(&dir).await {
        Ok(daemon) => daemon,
        Err(AskError::Gone(_)) => {
            bail!(failure!("murmur is not running, so nothing new arrives"; "run: murmur start"))
        }
        Err(error) => bail!(error.failure().after("cannot reach the daemon: ")),
    };
    client::attach(&mut daemon, None).await?;
    let is_terminal = io::stdout().is_terminal() && !json;
    let mut files = StatusFiles::new(&dir, env.settings_dir().ok().as_ref());
    let mut inbox: Option<Inbox> = None;
    loop {
        let entries = match entries(env).await {
            Ok(entries) => entries,
            Err(error) => {
                // A daemon that is ending answers in many ways, but then closes the connection.
                let ended = async { while daemon.next_event().await.is_ok() {} };
                match timeout(ENDING, ended).await {
                    Ok(()) => bail!(failure!("the daemon has ended"; "run: murmur start")),
                    Err(_) => return Err(error),
                }
            }
        };
        let is_first = inbox.is_none();
        let inbox = inbox.get_or_insert_default();
        let changes = inbox.update(entries);
        let opened = changes.opened.iter().filter_map(|index| inbox.entries.get(*index));
        let mut text = Vec::new();
        match is_terminal {
            true if is_first => print(&mut text, &inbox.entries)?,
            true => print_changes(&mut text, opened, &changes.closed)?,
            false => print_opened(&mut text, opened, json)?,
        }
        if is_terminal {
            let rows = wrapped_list(&String::from_utf8_lossy(&text), output_width());
            text = if is_first { fitted(&rows, screen_rows()) } else { rows }.into_bytes();
        }
        show(&text, json)?;
        let change = tokio::select! {
            event = daemon.next_event() => event,
            _ = files.changed() => continue,
            () = inbox.next_deadline(clock::now()) => continue,
        };
        match change {
            Ok(event) => {
                inbox.on_event(&event);
                if event.event_type == LAGGED {
                    client::attach(&mut daemon, None).await?;
                }
            }
            Err(AskError::Gone(_)) => bail!(failure!("the daemon has ended"; "run: murmur start")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The number of rows of the terminal, if it reports one.
fn screen_rows() -> Option<usize> {
    terminal::size().ok().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// The entries in `text` that fit a screen of this many rows, so that those with the nearest deadlines don't scroll
/// away, and how many are missing. At least the first one is kept.
fn fitted(text: &str, rows: Option<usize>) -> String {
    // Two rows are for what is missing, and one for the cursor.
    let Some(room) = rows.filter(|rows| text.lines().count() >= *rows).map(|rows| rows.saturating_sub(3))
    else {
        return text.to_owned();
    };
    // An empty row is between two entries; within one, rows are indented.
    let starts = std::iter::once(0)
        .chain(text.match_indices("\n\n").map(|(at, _)| at + 2))
        .filter(|at| text[*at..].starts_with(|c: char| !c.is_whitespace()));
    let starts: Vec<usize> = starts.collect();
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([text.len()]);
    let fits = ends.take_while(|end| text[..*end].lines().count() <= room).count().max(1);
    match starts.get(fits) {
        Some(end) => {
            let more = starts.len() - fits;
            format!("{}and {more} more; see: murmur inbox\n", &text[..*end])
        }
        None => text.to_owned(),
    }
}

fn show(text: &[u8], json: bool) -> io::Result<()> {
    let mut out = stdout().lock();
    match json {
        // Escapes for people are not valid in JSON.
        true => out.write_all(text)?,
        false => Styled(&mut out).write_all(text)?,
    }
    out.flush()
}

fn print_opened<'a>(
    out: &mut impl Write,
    opened: impl Iterator<Item = &'a InboxEntry>,
    json: bool,
) -> anyhow::Result<()> {
    for entry in opened {
        match json {
            true => writeln!(out, "{}", json::escaped(&serde_json::to_string(entry)?))?,
            false => entry.print(out, Style::of_stdout(), clock::now())?,
        }
    }
    Ok(())
}

fn print_changes<'a>(
    out: &mut impl Write,
    opened: impl Iterator<Item = &'a InboxEntry>,
    closed: &[(InboxEntry, Option<String>)],
) -> io::Result<()> {
    let style = Style::of_stdout();
    for (entry, how) in closed {
        writeln!(out)?;
        entry.print_closed(out, style, how.as_deref())?;
    }
    for entry in opened {
        writeln!(out)?;
        entry.print(out, style, clock::now())?;
    }
    Ok(())
}

/// What was shown, and what the daemon has reported since.
#[derive(Debug, Default)]
struct Inbox {
    entries: Vec<InboxEntry>,
    /// How requests ended, by their ids.
    ends: HashMap<String, String>,
    /// Whether events may have been missed.
    has_missed_events: bool,
}

/// How the inbox changed.
struct Changes {
    /// The indexes of new entries.
    opened: Vec<usize>,
    /// Entries that closed, and how, if known.
    closed: Vec<(InboxEntry, Option<String>)>,
}

impl Inbox {
    /// Waits until the next deadline is over: no event says that a hold has ended.
    async fn next_deadline(&self, now: Timestamp) {
        let deadlines = self.entries.iter().filter_map(|entry| entry.deadline);
        match deadlines.filter(|deadline| *deadline > now).min() {
            Some(deadline) => {
                sleep(Duration::try_from(deadline.duration_since(now)).unwrap_or_default() + MARGIN).await
            }
            None => std::future::pending().await,
        }
    }

    fn on_event(&mut self, event: &Event) {
        let text = |name: &str| event.payload.get(name).and_then(Value::as_str);
        match event.event_type.as_str() {
            LAGGED | GAP => self.has_missed_events = true,
            "request_closed" => {
                self.ends
                    .extend(text("id").zip(text("how")).map(|(id, how)| (id.to_owned(), how.to_owned())));
            }
            _ => {}
        }
    }

    fn update(&mut self, entries: Vec<InboxEntry>) -> Changes {
        let before = std::mem::replace(&mut self.entries, entries);
        let is_in = |entries: &[InboxEntry], entry: &InboxEntry| {
            entries.iter().any(|other| other.key() == entry.key())
        };
        let opened = self.entries.iter().enumerate().filter(|(_, entry)| !is_in(&before, entry));
        let opened = opened.map(|(index, _)| index).collect();
        let gone: Vec<InboxEntry> = before.into_iter().filter(|entry| !is_in(&self.entries, entry)).collect();
        let mut closed = Vec::new();
        for entry in gone {
            let id = entry.request.as_ref().map(|row| row.id.as_str());
            let end = id.and_then(|id| self.ends.remove(id));
            // The event that says how a request ended may be still to come.
            if id.is_some() && end.is_none() && !self.has_missed_events {
                self.entries.push(entry);
            } else {
                closed.push((entry, end));
            }
        }
        self.has_missed_events = false;
        Changes { opened, closed }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Kind;
    use super::*;
    use crate::daemon::broker::{RequestKind, RequestRow};
    use murmur_core::permit::request::RequestId;
    use serde_json::json;

    fn request(id: &str) -> InboxEntry {
        let row = RequestRow {
            id: RequestId::parse(id).unwrap(),
            kind: RequestKind::Permission,
            agent: "site-1".to_owned(),
            workspace: "/w".into(),
            heartbeat: None,
            defers: false,
            tool: "Bash".to_owned(),
            input: json!({ "command": "git push" }),
            cwd: "/w".into(),
            doubt: None,
            state: "waiting".to_owned(),
            asked_at: "2026-11-27T09:00:00Z".to_owned(),
            expires_at: None,
        };
        InboxEntry::request(row).numbered(Some(1))
    }

    fn stuck(text: &str) -> InboxEntry {
        InboxEntry::other(Kind::STUCK, "site-1", text.to_owned(), "murmur agent show site-1".to_owned())
    }

    fn event(event_type: &str, payload: Value) -> Event {
        Event { event_type: event_type.to_owned(), agent_id: String::new(), offset: 0, payload }
    }

    #[test]
    fn a_first_list_that_is_longer_than_the_screen_is_cut_between_entries() {
        let text = "1  one\n  a\n  run: x\n\n2  two\n  run: y\n\n3  three\n  run: z\n";
        for rows in [None, Some(10), Some(40)] {
            assert_eq!(fitted(text, rows), text);
        }
        let two = "1  one\n  a\n  run: x\n\n2  two\n  run: y\n\nand 1 more; see: murmur inbox\n";
        assert_eq!(fitted(text, Some(9)), two);
        let one = "1  one\n  a\n  run: x\n\nand 2 more; see: murmur inbox\n";
        assert_eq!(fitted(text, Some(7)), one);
        assert_eq!(fitted(text, Some(2)), one);
    }

    #[test]
    fn each_entry_is_shown_when_it_comes_and_when_it_goes() {
        let mut inbox = Inbox::default();
        let update = |inbox: &mut Inbox, entries| {
            let changes = inbox.update(entries);
            let mut out = Vec::new();
            for index in changes.opened {
                writeln!(out, "+ {}", inbox.entries[index].key()).unwrap();
            }
            for (entry, how) in changes.closed {
                entry.print_closed(&mut out, Style::none(), how.as_deref()).unwrap();
            }
            String::from_utf8(out).unwrap()
        };
        let both = |text: &str| vec![request("7ggs733k"), stuck(text)];
        assert_eq!(update(&mut inbox, both("for 1m")), "+ approval 7ggs733k\n+ stuck site-1\n");
        assert_eq!(update(&mut inbox, both("for 2m")), "");
        // It closes before the daemon reports how.
        assert_eq!(update(&mut inbox, vec![]), "no longer waits for you: stuck  for 2m\n");
        inbox.on_event(&event("request_closed", json!({ "id": "7ggs733k", "how": "denied" })));
        assert_eq!(update(&mut inbox, vec![]), "1  denied Bash for site-1\n");
        update(&mut inbox, vec![request("2zh73ph2")]);
        inbox.on_event(&event(GAP, Value::Null));
        assert_eq!(update(&mut inbox, vec![]), "1  no longer open: Bash for site-1\n");
    }
}
