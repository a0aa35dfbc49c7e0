//! The names in Claude Code's output that murmur knows, besides those that its parser reads at once: the types and
//! fields that the versions `tested` in fixtures/claude-versions.json wrote in the conformance checks, and others that
//! their own schemas allow. Anything else is counted (`crate::unknown`).

/// Whether murmur knows lines of this type, which it skips.
pub(super) fn is_skipped_line(kind: &[u8]) -> bool {
    matches!(kind, b"attachment" | b"command_lifecycle" | b"control_response" | b"progress")
}

/// Whether murmur knows `system` lines of this subtype, which it skips.
pub(super) fn is_skipped_system(subtype: &[u8]) -> bool {
    matches!(
        subtype,
        b"hook_response"
            | b"hook_started"
            | b"informational"
            | b"notification"
            | b"permission_denied"
            | b"thinking_tokens"
            | b"ui_invalidate"
    )
}

/// Whether murmur knows blocks of this type, which it skips.
pub(super) fn is_skipped_block(kind: &[u8]) -> bool {
    matches!(kind, b"image" | b"redacted_thinking" | b"thinking")
}

/// Whether some line has this field, which murmur doesn't read in the first place.
#[rustfmt::skip]
pub(super) fn is_line_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"uuid" | b"timestamp" | b"tool_use_result" | b"tool_result_meta"
        // Messages.
        | b"agent_id" | b"api_error" | b"api_error_params" | b"api_error_status" | b"api_error_type" | b"isMeta" | b"isReplay"
        | b"isSynthetic" | b"is_api_error_message" | b"sourceToolAssistantUUID" | b"toolUseResult" | b"subagent_type" | b"task_description" | b"thinking_display"
        | b"thinking_duration_ms" | b"toolDenialKind"
        // The result.
        | b"deferred_tool_use" | b"duration_api_ms" | b"duration_ms" | b"errors" | b"fast_mode_disabled_reason"
        | b"fast_mode_state" | b"first_content_frame_ms" | b"is_error" | b"modelUsage"
        | b"model_usage_since_last_result" | b"num_turns" | b"origin" | b"permission_denials" | b"queued_turn_count"
        | b"result" | b"result_index" | b"safety_stops" | b"stop_reason" | b"subagent_stats" | b"terminal_reason"
        | b"time_to_request_ms" | b"total_cost_usd" | b"ttft_ms" | b"ttft_stream_ms" | b"usage"
        // `system`/`init`.
        | b"additional_directories" | b"agents" | b"analytics_disabled" | b"apiKeySource" | b"capabilities" | b"cwd"
        | b"mcp_servers" | b"memory_paths" | b"messaging_socket_path" | b"original_cwd" | b"output_style"
        | b"per_turn_effort_active" | b"permissionMode" | b"plugins" | b"product_feedback_disabled"
        | b"sandbox_enabled" | b"served_by_anthropic" | b"skills" | b"slash_commands" | b"terminal_slash_commands" | b"tools"
        | b"ultrathink_available" | b"ultrathink_typed_raises" | b"view_mode"
        // Other `system` lines.
        | b"attempt" | b"compact_error" | b"compact_metadata" | b"compact_result" | b"decision_reason" | b"decision_reason_type"
        | b"description" | b"error_status" | b"estimated_tokens" | b"estimated_tokens_delta" | b"is_backgrounded"
        | b"last_tool_name" | b"max_retries" | b"output_file" | b"patch" | b"prompt" | b"retry_delay_ms" | b"run_id"
        | b"spawn_depth" | b"status" | b"summary" | b"summary_is_report" | b"task_id" | b"task_type" | b"tasks"
        | b"tool_name" | b"tool_use_id"
        | b"command_uuid" | b"content" | b"event" | b"hook_no_verdict" | b"key" | b"level" | b"priority" | b"state"
        | b"tag" | b"text"
        // Hooks.
        | b"data" | b"exit_code" | b"hook_event" | b"hook_id" | b"hook_name" | b"outcome" | b"output"
        | b"parentToolUseID" | b"stderr" | b"stdout" | b"toolUseID"
        // Others.
        | b"rate_limit_info" | b"request" | b"request_id" | b"response"
    )
}

/// Whether messages have this field, which murmur doesn't read.
pub(super) fn is_message_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"container"
            | b"context_management"
            | b"diagnostics"
            | b"model"
            | b"role"
            | b"stop_details"
            | b"stop_reason"
            | b"stop_sequence"
            | b"type"
    )
}

/// Whether blocks have this field, which murmur doesn't read.
pub(super) fn is_block_field(name: &[u8]) -> bool {
    matches!(name, b"cache_control" | b"citations" | b"data" | b"signature" | b"source" | b"thinking")
}

/// Whether a tool's output has blocks of this type.
pub(super) fn is_output(kind: &[u8]) -> bool {
    matches!(kind, b"document" | b"image" | b"search_result" | b"text" | b"tool_reference")
}

/// Whether blocks of a tool's output have this field, which murmur doesn't read.
pub(super) fn is_output_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"cache_control" | b"citations" | b"content" | b"context" | b"source" | b"title" | b"tool_name"
    )
}

/// Whether `rate_limit_info` has this field, which murmur doesn't read.
#[rustfmt::skip]
pub(super) fn is_limit_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"adminRequestOffer" | b"canUserPurchaseCredits" | b"dailyCapPaused" | b"errorCode"
        | b"hasChargeableSavedPaymentMethod" | b"isUsingOverage" | b"limitScope" | b"memberSpendLimit"
        | b"overageDisabledReason" | b"overageEnabled" | b"overageInUse" | b"overagePeriodChannel"
        | b"overagePeriodMonthly" | b"overageResetsAt" | b"overageStatus" | b"rateLimitGraceActive"
        | b"surpassedThreshold" | b"usageCreditOffer"
    )
}

/// Whether `usage` or a model's part of `modelUsage` has this field, which murmur doesn't read.
#[rustfmt::skip]
pub(super) fn is_usage_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"cache_creation" | b"fallback_credit" | b"inference_geo" | b"iterations" | b"output_tokens_details"
        | b"server_tool_use" | b"service_tier" | b"speed"
        | b"cacheCreationEphemeral1hInputTokens" | b"cacheCreationEphemeral5mInputTokens" | b"canonicalModel"
        | b"contextWindow" | b"costBasis" | b"costUSD" | b"maxOutputTokens" | b"provider" | b"thinkingTokens"
        | b"webSearchRequests"
    )
}

/// Whether a part of a line about a task has this field, which murmur doesn't read.
#[rustfmt::skip]
pub(super) fn is_task_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"ambient" | b"awaited" | b"end_time" | b"error" | b"off_host" | b"parent_task_id" | b"run_id"
        | b"subagent_type" | b"total_paused_ms"
    )
}

/// Whether `compact_metadata` has this field, which murmur doesn't read.
#[rustfmt::skip]
pub(super) fn is_compaction_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"cumulative_dropped_tokens" | b"duration_ms" | b"messages_summarized"
        | b"pre_compact_artifact_read_versions" | b"pre_compact_discovered_tools" | b"precomputed"
        | b"preserved_messages" | b"preserved_segment" | b"user_context"
    )
}

/// What murmur doesn't read of the origin of a turn.
#[rustfmt::skip]
pub(super) const ORIGIN: [&[u8]; 22] = [
    b"asUser", b"body", b"fireReason", b"flagged", b"from", b"fromMode", b"fromSession", b"handback", b"handbackNote",
    b"handbackReportText", b"handbackToolUseId", b"inbound_origin", b"members", b"name", b"plugin", b"producer",
    b"runId", b"senderTaskId", b"server", b"subkind", b"taskKind", b"verifiedPeerPid",
];

/// What murmur doesn't read of a request for permission.
#[rustfmt::skip]
pub(super) const REQUEST: [&str; 28] = [
    "agent_id", "auto_modes_check_raised", "blocked_path", "classifier_approvable", "computer_folder",
    "decision_reason", "decision_reason_code", "decision_reason_hook_event", "decision_reason_hook_plugin_id",
    "decision_reason_hook_source", "decision_reason_rule_source", "decision_reason_type", "default_to_no",
    "description", "display_name", "matched_ask_rule", "mcp_server", "mcp_skill", "permission_suggestions", "plugin",
    "provenance_prompt_line", "requires_user_interaction", "rule_usually_offered", "server_policy_ask_only",
    "server_prompt", "suppress_always_allow_rule", "title", "tool_kind",
];
