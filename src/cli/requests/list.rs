//! Lists waiting requests, once or continuously.

use super::super::runtime;
use super::super::style::{Style, plain_line};
use super::super::user_env::UserEnv;
use super::text::paragraph;
use super::{ask_rows, data_dir, note_no_daemon, waiting};
use crate::daemon::broker::{RequestKind, RequestRow};
use crate::daemon::{client, instance};
use anyhow::bail;
use derun::cli::json::{escaped, print as print_json};
use derun::cli::stdout::{note, stdout};
use murmur_rpc::client::AskError;
use murmur_rpc::envelope::{Event, GAP, LAGGED};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock;
use sys::error::Hinted;
use sys::failure;
use sys::paths::DataDir;

pub(in crate::cli) fn list(
    kind: RequestKind,
    json: bool,
    watch: bool,
    env: &UserEnv,
) -> anyhow::Result<ExitCode> {
    let dir = data_dir(env)?;
    if watch {
        runtime()?.block_on(follow(&dir, kind, json))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = runtime()?.block_on(waiting(&dir, kind))?;
    let mut out = stdout().lock();
    if json {
        print_json(&mut out, "requests/1", &json!({ "requests": rows }))?;
    } else if rows.is_empty() {
        writeln!(out, "{}", nothing(kind))?;
        if !instance::is_running(&dir)? {
            note("murmur is not running, so no new requests arrive; run: murmur start")?;
        }
    } else {
        let (style, now) = (Style::of_stdout(), clock::now());
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            paragraph(&mut out, style, row, now)?;
        }
        note_no_daemon(&dir)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn nothing(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Permission => "no permission requests",
        RequestKind::Question => "no questions",
    }
}

/// Shows waiting requests, then changes, until the daemon ends.
async fn follow(dir: &DataDir, kind: RequestKind, json: bool) -> anyhow::Result<()> {
    let mut client = match client::connect(dir).await {
        Ok(client) => client,
        Err(AskError::Gone(_)) => {
            bail!(failure!("murmur is not running, so there are no new requests"; "run: murmur start"))
        }
        Err(error) => bail!(error.failure().after("cannot reach the daemon: ")),
    };
    let mut view = View { kind, json, style: Style::of_stdout(), shown: HashSet::new() };
    // A request that opens in between is in the list, and its event is ignored.
    client::attach(&mut client, None).await?;
    view.all(ask_rows(&mut client).await?)?;
    loop {
        let event = match client.next_event().await {
            Ok(event) => event,
            Err(AskError::Gone(_)) => bail!(failure!("the daemon has ended"; "run: murmur start")),
            Err(error) => return Err(error.into()),
        };
        if event.event_type == GAP || event.event_type == LAGGED {
            client::attach(&mut client, None).await?;
            view.all(ask_rows(&mut client).await?)?;
        } else {
            view.event(event)?;
        }
    }
}

struct View {
    kind: RequestKind,
    json: bool,
    style: Style,
    shown: HashSet<String>,
}

impl View {
    fn all(&mut self, rows: Vec<RequestRow>) -> io::Result<()> {
        rows.into_iter().try_for_each(|row| self.opened(&row))
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        match event.event_type.as_str() {
            "request_opened" => match RequestRow::deserialize(event.payload) {
                Ok(row) => self.opened(&row),
                Err(_) => Ok(()),
            },
            "request_closed" => self.closed(&event.payload),
            _ => Ok(()),
        }
    }

    fn opened(&mut self, row: &RequestRow) -> io::Result<()> {
        if row.kind != self.kind || !self.shown.insert(row.id.to_string()) {
            return Ok(());
        }
        let mut out = stdout().lock();
        if self.json {
            writeln!(out, "{}", escaped(&json!({ "opened": row }).to_string()))?;
        } else {
            paragraph(&mut out, self.style, row, clock::now())?;
        }
        out.flush()
    }

    fn closed(&mut self, payload: &Value) -> io::Result<()> {
        let text = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default();
        if !self.shown.remove(text("id")) {
            return Ok(());
        }
        let mut out = stdout().lock();
        if self.json {
            writeln!(out, "{}", escaped(&json!({ "closed": payload }).to_string()))?;
        } else {
            writeln!(out, "{}  {}", self.style.bold(plain_line(text("id"))), plain_line(text("how")))?;
        }
        out.flush()
    }
}
