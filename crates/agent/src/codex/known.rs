//! The names that the app-server's output is known to have, whether murmur reads them or not: those of the schemas that
//! Codex 0.169.0 and 0.171.0 generate. Anything else is counted (`crate::unknown`).

/// Notifications that murmur doesn't read.
#[rustfmt::skip]
pub(super) const NOTIFICATIONS: [&str; 79] = [
    "account/gatewayOAuth/changed", "account/login/completed", "account/updated", "app/list/updated",
    "autoApprovalReview/strictReviewRequired", "command/exec/outputDelta", "configWarning", "deprecationNotice",
    "externalAgentConfig/import/completed", "externalAgentConfig/import/progress", "fs/changed",
    "fuzzyFileSearch/sessionCompleted", "fuzzyFileSearch/sessionUpdated", "guardianWarning", "hook/started",
    "item/agentMessage/delta", "item/autoApprovalReview/completed", "item/autoApprovalReview/started",
    "item/commandExecution/outputDelta", "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta", "item/fileChange/patchUpdated", "item/mcpToolCall/progress",
    "item/plan/delta", "item/reasoning/summaryPartAdded", "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta", "mcpServer/event/stream/notification", "mcpServer/oauthLogin/completed",
    "mcpServer/startupStatus/updated", "model/rerouted", "model/safetyBuffering/updated", "model/verification",
    "modelProvider/authRecoveryCompleted", "modelProvider/authRecoveryStarted", "process/exited",
    "process/outputDelta", "project/changed", "remoteControl/status/changed", "serverRequest/resolved",
    "skills/changed", "thread/archived", "thread/attachment/updated", "thread/closed", "thread/compacted",
    "thread/deleted", "thread/environment/connected", "thread/environment/disconnected", "thread/goal/cleared",
    "thread/goal/updated", "thread/name/updated", "thread/prediction/updated", "thread/project/updated",
    "thread/queue/changed", "thread/readState/changed", "thread/realtime/closed", "thread/realtime/error",
    "thread/realtime/item/completed", "thread/realtime/item/started", "thread/realtime/item/transcript/delta",
    "thread/realtime/itemAdded", "thread/realtime/outputAudio/delta", "thread/realtime/sdp",
    "thread/realtime/started", "thread/realtime/transcript/delta", "thread/realtime/transcript/done",
    "thread/reverted", "thread/search/partial", "thread/section/changed", "thread/settings/updated",
    "thread/started", "thread/status/changed", "thread/unarchived", "turn/diff/updated", "turn/moderationMetadata",
    "turn/plan/updated", "turn/started", "windows/worldWritableWarning", "windowsSandbox/setupCompleted",
];

/// Requests to murmur, which the dialog answers.
#[rustfmt::skip]
pub(super) const REQUESTS: [&str; 11] = [
    "account/chatgptAuthTokens/refresh", "applyPatchApproval", "attestation/generate", "currentTime/read",
    "execCommandApproval", "item/commandExecution/requestApproval", "item/fileChange/requestApproval",
    "item/permissions/requestApproval", "item/tool/call", "item/tool/requestUserInput",
    "mcpServer/elicitation/request",
];

/// Items of a turn.
#[rustfmt::skip]
pub(super) const ITEMS: [&str; 19] = [
    "agentMessage", "collabAgentToolCall", "commandExecution", "contextCompaction", "dynamicToolCall",
    "enteredReviewMode", "exitedReviewMode", "fileChange", "functionCallOutput", "hookPrompt",
    "imageGeneration", "imageView", "mcpToolCall", "plan", "reasoning", "sleep", "subAgentActivity",
    "userMessage", "webSearch",
];

/// Content of the result of a call of an MCP tool, as the Model Context Protocol defines it.
pub(super) const MCP_CONTENT: [&str; 5] = ["audio", "image", "resource", "resource_link", "text"];

/// Changes of files.
pub(super) const CHANGES: [&str; 3] = ["add", "delete", "update"];
