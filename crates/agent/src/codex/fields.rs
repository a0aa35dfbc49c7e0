//! The fields that the app-server's lines are known to have, of those that murmur reads: those of the schemas that
//! Codex 0.169.0 and 0.171.0 generate (`codex app-server generate-json-schema --experimental`), and of recordings.
//! Others are counted.

use super::known::ITEMS;
use super::line::CodexMessage;
use super::thread;
use crate::unknown::{Fields, Unknown};
use serde_json::{Map, Value};

const LINE: [&str; 7] = ["emittedAtMs", "error", "id", "jsonrpc", "method", "params", "result"];

/// A notification, and most requests.
const fn plain(names: &'static [&'static str]) -> Fields {
    Fields { names, objects: &[] }
}

/// Of all kinds of items.
#[rustfmt::skip]
const ITEM: Fields = plain(&[
    "action", "agentPath", "agentThreadId", "agentsStates", "aggregatedOutput", "appContext", "arguments", "changes",
    "clientId", "command", "commandActions", "completedAtMs", "content", "contentItems", "cwd", "delivery",
    "durationMs", "environmentId", "error", "exitCode", "failure", "fragments", "generationId", "id", "inputImages", "kind",
    "mcpAppResourceUri", "mcpAppUi", "memoryCitation", "model", "moderation", "name", "namespace", "output", "path",
    "phase", "pluginId", "processId", "prompt", "query", "questions", "readOnlyHint", "reasoningEffort",
    "receiverThreadIds", "result", "results", "review", "revisedPrompt", "savedPath", "scriptPath",
    "senderThreadId", "server", "source", "startedAtMs", "status", "success", "summary", "text", "tool",
    "transparentBackground", "type",
]);

const ERROR: Fields = plain(&["additionalDetails", "codexErrorInfo", "message", "misalignment"]);

#[rustfmt::skip]
const TURN: Fields = Fields {
    names: &["completedAt", "durationMs", "id", "items", "itemsView", "rootTurnId", "startedAt", "status"],
    objects: &[("error", ERROR)],
};

#[rustfmt::skip]
const TOKENS: Fields = plain(&[
    "cacheWriteInputTokens", "cachedInputTokens", "inputTokens", "outputTokens", "reasoningOutputTokens", "totalTokens",
]);

const WINDOW: Fields = plain(&["resetsAt", "usedPercent", "windowDurationMins"]);

#[rustfmt::skip]
const LIMITS: Fields = Fields {
    names: &[
        "credits", "individualLimit", "limitId", "limitName", "normalModelSlug", "planType", "rateLimitReachedType",
        "spendControlReached",
    ],
    objects: &[("primary", WINDOW), ("secondary", WINDOW)],
};

#[rustfmt::skip]
const HOOK: Fields = plain(&[
    "completedAt", "displayOrder", "durationMs", "entries", "eventName", "executionMode", "handlerType", "id", "scope",
    "source", "sourcePath", "startedAt", "status", "statusMessage",
]);

#[rustfmt::skip]
const THREAD: Fields = plain(&[
    "agentNickname", "agentRole", "attachedToThreadId", "canAcceptDirectInput", "cliVersion", "createdAt", "cwd",
    "daybreakEnabled", "environments", "ephemeral", "extra", "forkedFromId", "gitInfo", "historyMode", "id", "model",
    "modelProvider", "name", "originator", "parentThreadId", "path", "preview", "projectId", "reasoningEffort",
    "recencyAt", "section", "sectionEnteredAt", "sessionId", "source", "status", "threadSource", "turns", "updatedAt",
]);

/// Parameters, by method.
#[rustfmt::skip]
const PARAMS: [(&str, Fields); 11] = [
    ("account/rateLimits/updated", Fields { names: &[], objects: &[("rateLimits", LIMITS)] }),
    ("error", Fields { names: &["threadId", "turnId", "willRetry"], objects: &[("error", ERROR)] }),
    ("hook/completed", Fields { names: &["threadId", "turnId"], objects: &[("run", HOOK)] }),
    ("item/commandExecution/requestApproval", plain(&[
        "additionalPermissions", "approvalId", "availableDecisions", "command", "commandActions", "cwd",
        "environmentId", "itemId", "kind", "networkApprovalContext", "proposedExecpolicyAmendment",
        "proposedNetworkPolicyAmendments", "reason", "startedAtMs", "threadId", "turnId",
    ])),
    ("item/completed", plain(&["completedAtMs", "contentTokenCount", "item", "threadId", "turnId"])),
    ("item/fileChange/requestApproval", plain(&[
        "grantRoot", "itemId", "reason", "startedAtMs", "threadId", "turnId",
    ])),
    ("item/started", plain(&["item", "startedAtMs", "threadId", "turnId"])),
    ("mcpServer/elicitation/request", plain(&[
        "challenge", "description", "elicitationId", "environmentId", "message", "mode", "requestedSchema",
        "serverName", "threadId", "title", "turnId", "url",
    ])),
    ("thread/tokenUsage/updated", Fields { names: &["threadId", "turnId"], objects: &[
        ("tokenUsage", Fields { names: &["modelContextWindow"], objects: &[("last", TOKENS), ("total", TOKENS)] }),
    ] }),
    ("turn/completed", Fields { names: &["threadId"], objects: &[("turn", TURN)] }),
    ("warning", plain(&["message", "threadId"])),
];

/// Results: the id of murmur's request, and its method.
#[rustfmt::skip]
const RESULTS: [(&str, &str, Fields); 2] = [
    (thread::LIMITS, "account/rateLimits/read", Fields {
        names: &["accountId", "ordinaryUsageAllowed", "rateLimitResetCredits", "rateLimitUpsell", "rateLimitsByLimitId"],
        objects: &[("rateLimits", LIMITS)],
    }),
    (thread::THREAD, "thread/start", Fields {
        names: &[
            "activePermissionProfile", "approvalPolicy", "approvalsReviewer", "collaborationMode", "cwd",
            "disabledPluginIds", "initialTurnsPage", "instructionSources", "itemsBackwardsCursor", "model",
            "modelProvider", "multiAgentMode", "reasoningEffort", "runtimeWorkspaceRoots", "sandbox", "serviceTier",
            "turnsBackwardsCursor",
        ],
        objects: &[("thread", THREAD)],
    }),
];

/// Counts the unknown fields of `line`, whose text is `text`, if it has this `method`, or as a response.
pub(super) fn count(text: &str, line: &CodexMessage<'_>, method: Option<&str>, unknown: &mut Unknown) {
    let (name, part, known) = if let Some(method) = method {
        let Some((name, known)) = PARAMS.iter().find(|(name, _)| *name == method) else { return };
        (*name, "params", known)
    } else {
        let id = line.own_id().unwrap_or_default();
        let Some((_, name, known)) = RESULTS.iter().find(|(asked, ..)| *asked == id) else { return };
        (*name, "result", known)
    };
    let Ok(mut read) = serde_json::from_str::<Map<String, Value>>(text) else { return };
    for field in read.keys().filter(|field| !LINE.contains(&field.as_str())) {
        unknown.add(&[b"line.", field.as_bytes()]);
    }
    let Some(Value::Object(mut read)) = read.remove(part) else { return };
    unknown.add_fields(name, &read, known);
    if let Some(Value::Object(item)) = read.remove("item") {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        if ITEMS.contains(&kind) {
            unknown.add_fields(&format!("{name}/{kind}"), &item, &ITEM);
        }
    }
}
