//! Parses the lines that report on the session: tasks, compaction, limits, permission modes and MCP servers.
//!
//! Every release adds fields; a field of an unexpected shape is ignored, and the rest of the line counts.

use super::json::{Scanner, Text};
use super::known;
use super::rare::{number, owned};
use crate::event::{ApiError, BackgroundTask, Compaction, Event, McpServer, RateLimit, Task, TaskStage};
use crate::unknown::Unknown;
use std::borrow::Cow;

/// Passes on the events of a `system` line of this subtype, other than `init` and `api_retry`.
pub(super) fn system(subtype: &[u8], line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    match subtype {
        b"task_started" => sink(task(TaskStage::Started, line, unknown)),
        b"task_progress" => sink(task(TaskStage::Progress, line, unknown)),
        b"task_updated" => sink(task(TaskStage::Updated, line, unknown)),
        b"task_notification" => sink(task(TaskStage::Ended, line, unknown)),
        b"background_tasks_changed" => background(line, sink, unknown),
        b"compact_boundary" => sink(compacted(line, unknown)),
        b"status" => status(line, sink),
        _ if known::is_skipped_system(subtype) => {}
        _ => unknown.add(&[b"system/", subtype]),
    }
}

/// A change of a task.
fn task(stage: TaskStage, line: &[u8], unknown: &mut Unknown) -> Event<'static> {
    let mut task = Task { stage, ..Task::default() };
    let read = read_task(&mut task, &mut Scanner::new(line), b"", unknown);
    read.map_or(Event::Garbled, |()| Event::Task(Box::new(task)))
}

/// Reads what `object` says of a task: the line itself, or its part at `path`.
fn read_task(task: &mut Task, object: &mut Scanner<'_>, path: &[u8], unknown: &mut Unknown) -> Option<()> {
    object.members(|value, name| {
        match name {
            b"task_id" => task.id = owned(value.text_or_empty()?),
            b"tool_use_id" => task.tool_use_id = owned(value.text_or_empty()?),
            b"task_type" => task.kind = owned(value.text_or_empty()?),
            b"description" => task.description = owned(value.text_or_empty()?),
            b"is_backgrounded" => task.is_background = number(value.raw()?),
            b"status" => task.status = owned(value.text_or_empty()?),
            b"summary" => task.summary = owned(value.text_or_empty()?),
            b"last_tool_name" => task.last_tool = owned(value.text_or_empty()?),
            // Only the fields that changed.
            b"patch" if task.stage == TaskStage::Updated => {
                read_task(task, value, b"system/task_updated.patch.", unknown)?;
            }
            _ => {
                if !path.is_empty() && !known::is_task_field(name) {
                    unknown.add(&[path, name]);
                }
                value.skip()?;
            }
        }
        Some(())
    })
}

/// The list of background tasks. A line without a list does not mean that there are none.
fn background(line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    let (mut tasks, mut has_list) = (Vec::new(), false);
    let read = Scanner::new(line).members(|value, name| match name {
        b"tasks" if value.is_array() => {
            has_list = true;
            value.elements(|element| {
                let mut task = Task::default();
                read_task(&mut task, element, b"system/background_tasks_changed.tasks.", unknown)?;
                let Task { id, kind, description, .. } = task;
                tasks.push(BackgroundTask { id, kind, description });
                Some(())
            })
        }
        _ => value.skip(),
    });
    match read {
        Some(()) if has_list => sink(Event::Background { tasks }),
        Some(()) => {}
        None => sink(Event::Garbled),
    }
}

/// The conversation was compacted.
fn compacted(line: &[u8], unknown: &mut Unknown) -> Event<'static> {
    let (mut trigger, mut pre_tokens, mut post_tokens) = (String::new(), None, None);
    let read = Scanner::new(line).members(|value, name| match name {
        b"compact_metadata" => value.members(|value, name| {
            match name {
                b"trigger" => trigger = owned(value.text_or_empty()?),
                b"pre_tokens" => pre_tokens = number(value.raw()?),
                b"post_tokens" => post_tokens = number(value.raw()?),
                _ => {
                    if !known::is_compaction_field(name) {
                        unknown.add(&[b"system/compact_boundary.compact_metadata.", name]);
                    }
                    value.skip()?;
                }
            }
            Some(())
        }),
        _ => value.skip(),
    });
    let done = Compaction::Done { trigger, pre_tokens, post_tokens };
    read.map_or(Event::Garbled, |()| Event::Compaction(Box::new(done)))
}

/// A change of the session's status: compaction started or failed, or the permission mode changed.
fn status(line: &[u8], sink: &mut impl FnMut(Event<'_>)) {
    let (mut status, mut mode, mut result, mut error) =
        (Cow::default(), Cow::default(), Cow::default(), None);
    let read = Scanner::new(line).members(|value, name| {
        match name {
            b"status" => status = value.text_or_empty()?.decode(),
            b"permissionMode" => mode = value.text_or_empty()?.decode(),
            b"compact_result" => result = value.text_or_empty()?.decode(),
            b"compact_error" => error = Some(owned(value.text_or_empty()?)),
            _ => value.skip()?,
        }
        Some(())
    });
    if read.is_none() {
        return sink(Event::Garbled);
    }
    if status == "compacting" {
        sink(Event::Compaction(Box::new(Compaction::Started)));
    }
    // `compact_boundary` reports success.
    if result == "failed" {
        sink(Event::Compaction(Box::new(Compaction::Failed(error.unwrap_or_default()))));
    }
    if !mode.is_empty() {
        sink(Event::PermissionMode { mode });
    }
}

/// Reports a subscription's rate limits: first those of other windows (from 2.1.250 on), then the one that counts.
pub(super) fn rate_limit(line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    let mut info = LimitInfo::default();
    let read = Scanner::new(line).members(|value, name| match name {
        b"rate_limit_info" => info.read(value, |name| {
            unknown.add(&[b"rate_limit_event.rate_limit_info.", name]);
        }),
        _ => value.skip(),
    });
    if read.is_none() {
        return sink(Event::Garbled);
    }
    let LimitInfo { mut limit, windows } = info;
    for mut window in windows {
        // Only a rejected request says that a limit is reached.
        if limit.status != "rejected" {
            window.status.clone_from(&limit.status);
        }
        if window.window != limit.window {
            sink(Event::RateLimit(Box::new(window)));
        } else {
            limit.utilization = limit.utilization.or(window.utilization);
        }
    }
    sink(Event::RateLimit(Box::new(limit)));
}

/// `rate_limit_info`.
#[derive(Default)]
struct LimitInfo {
    limit: RateLimit,
    windows: Vec<RateLimit>,
}

impl LimitInfo {
    fn read(&mut self, object: &mut Scanner<'_>, mut unknown: impl FnMut(&[u8])) -> Option<()> {
        let Self { limit, windows } = self;
        object.members(|value, name| {
            match name {
                b"status" => limit.status = owned(value.text_or_empty()?),
                b"rateLimitType" => limit.window = owned(value.text_or_empty()?),
                b"resetsAt" => limit.resets_at = seconds(value.raw()?),
                b"utilization" => limit.utilization = number(value.raw()?),
                b"unifiedWindows" => *windows = unified_windows(value, &mut unknown)?,
                _ => {
                    if !known::is_limit_field(name) {
                        unknown(name);
                    }
                    value.skip()?;
                }
            }
            Some(())
        })
    }
}

fn unified_windows(object: &mut Scanner<'_>, unknown: &mut impl FnMut(&[u8])) -> Option<Vec<RateLimit>> {
    let mut windows = Vec::new();
    object.members(|value, window| {
        let mut limit = RateLimit::default();
        value.members(|value, name| {
            match name {
                b"status" => limit.status = owned(value.text_or_empty()?),
                b"resetsAt" => limit.resets_at = seconds(value.raw()?),
                b"utilization" => limit.utilization = number(value.raw()?),
                b"surpassedThreshold" => value.skip()?,
                _ => {
                    unknown(&[b"unifiedWindows.", name].concat());
                    value.skip()?;
                }
            }
            Some(())
        })?;
        if limit != RateLimit::default() {
            limit.window = owned(Text(window));
            windows.push(limit);
        }
        Some(())
    })?;
    Some(windows)
}

/// The whole seconds of a time.
fn seconds(raw: &[u8]) -> Option<i64> {
    number::<f64>(raw).map(|seconds| seconds as i64)
}

/// A request that the API rejected.
pub(super) fn api_error(line: &[u8], unknown: &mut Unknown) -> Event<'static> {
    let mut refusal = ApiError::default();
    let read = Scanner::new(line).members(|value, name| {
        match name {
            b"error" => refusal.error = owned(value.text_or_empty()?),
            b"api_error_status" => refusal.status = number(value.raw()?),
            b"api_error_params" => refusal.limit = limit_of(value.raw()?, unknown),
            _ => value.skip()?,
        }
        Some(())
    });
    read.map_or(Event::Garbled, |()| Event::ApiError(Box::new(refusal)))
}

/// The limit in the parameters of an error (from 2.1.300 on).
fn limit_of(params: &[u8], unknown: &mut Unknown) -> Option<RateLimit> {
    let mut info = LimitInfo::default();
    // Other parameters, of any shape, are of no interest.
    let _read = Scanner::new(params).members(|value, name| match name {
        b"rate_limit_info" => info.read(value, |name| {
            unknown.add(&[b"assistant.api_error_params.rate_limit_info.", name]);
        }),
        _ => value.skip(),
    });
    Some(info.limit).filter(|limit| !limit.status.is_empty())
}

/// The permission mode in an `init` line.
pub(super) fn permission_mode(line: &[u8]) -> Cow<'_, str> {
    let mut mode = Cow::default();
    // The line is known to be valid.
    let _read = Scanner::new(line).members(|value, name| {
        match name {
            b"permissionMode" => mode = value.text_or_empty()?.decode(),
            _ => value.skip()?,
        }
        Some(())
    });
    mode
}

/// The MCP servers in an `init` line.
pub(super) fn mcp_servers(line: &[u8], unknown: &mut Unknown) -> Vec<McpServer> {
    let mut servers = Vec::new();
    // The line is known to be valid.
    let _read = Scanner::new(line).members(|value, name| match name {
        b"mcp_servers" => value.elements(|element| {
            let mut server = McpServer::default();
            element.members(|value, name| {
                match name {
                    b"name" => server.name = owned(value.text_or_empty()?),
                    b"status" => server.status = owned(value.text_or_empty()?),
                    _ => {
                        if name != b"source" {
                            unknown.add(&[b"system/init.mcp_servers.", name]);
                        }
                        value.skip()?;
                    }
                }
                Some(())
            })?;
            if !server.name.is_empty() {
                servers.push(server);
            }
            Some(())
        }),
        _ => value.skip(),
    });
    servers
}
