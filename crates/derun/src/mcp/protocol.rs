//! The versions of MCP, and the lifecycle of a conversation: the version of each request, and whether it is allowed
//! yet.

use super::message::{Request, RpcError};
use serde_json::{Value, json};

/// Supported versions, oldest first. The last one has no handshake: each request names its version.
pub(super) const VERSIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", WITHOUT_HANDSHAKE];
const WITHOUT_HANDSHAKE: &str = "2026-07-28";
/// The newest version with a handshake.
const NEWEST: &str = "2025-11-25";
/// The first version with structured tool results.
const STRUCTURED: &str = "2025-06-18";

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A supported version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(&'static str);

impl Version {
    fn named(name: &str) -> Option<Self> {
        VERSIONS.into_iter().find(|version| *version == name).map(Self)
    }

    pub(super) const fn name(self) -> &'static str {
        self.0
    }

    /// Whether results may be structured.
    pub(super) fn is_structured(self) -> bool {
        self.0 >= STRUCTURED
    }

    /// Whether a conversation starts with `initialize`.
    pub(super) fn has_handshake(self) -> bool {
        self.0 < WITHOUT_HANDSHAKE
    }
}

/// The lifecycle of a conversation.
#[derive(Debug)]
pub(super) enum Lifecycle {
    /// Only discovery requests so far.
    New,
    /// Started with `initialize`.
    Initialized(Version),
    /// Started with a request that names its own version, like all later ones.
    Inline,
}

impl Lifecycle {
    /// Returns the version of `request`.
    ///
    /// # Errors
    /// The answer if the request is not allowed, or not yet.
    pub(super) fn admit(&mut self, request: &Request) -> Result<Version, RpcError> {
        if request.method == "initialize" {
            let version = negotiated(&request.params).ok_or_else(no_handshake)?;
            *self = Self::Initialized(version);
            return Ok(version);
        }
        if request.method == "ping" && matches!(self, Self::New) {
            return Ok(Version(NEWEST));
        }
        let meta = &request.params["_meta"];
        let is_discovery = request.method == "server/discover";
        let named = match meta[META_VERSION].as_str() {
            Some(name) => Some(Version::named(name).ok_or_else(|| unsupported(name))?),
            None => None,
        };
        let (agreed, is_new) = match *self {
            Self::New => (None, true),
            Self::Initialized(version) => (Some(version), false),
            Self::Inline => (None, false),
        };
        let Some(version) = named.or(agreed) else {
            let problem = "initialize first: a conversation begins with the method initialize";
            return Err(if is_new { RpcError::request(problem) } else { incomplete(meta) });
        };
        // Only requests after a handshake may omit the client's details.
        let goes_without = agreed.is_some() && version.has_handshake() && !is_discovery;
        if !goes_without && (named.is_none() || !meta[META_CAPABILITIES].is_object()) {
            return Err(incomplete(meta));
        }
        if is_new && !is_discovery {
            *self = Self::Inline;
        }
        Ok(version)
    }
}

/// The version for a client that sends these `initialize` parameters, if they are valid.
fn negotiated(params: &Value) -> Option<Version> {
    let client = &params["clientInfo"];
    let is_whole =
        params["capabilities"].is_object() && client["name"].is_string() && client["version"].is_string();
    let asked = Version::named(params["protocolVersion"].as_str()?).filter(|version| version.has_handshake());
    is_whole.then_some(asked.unwrap_or(Version(NEWEST)))
}

fn no_handshake() -> RpcError {
    RpcError::params(
        "initialize takes protocolVersion (a string), capabilities (an object) and clientInfo (an object with the \
         strings name and version)",
    )
}

fn unsupported(name: &str) -> RpcError {
    RpcError::version("Unsupported protocol version")
        .with_data(json!({ "requested": super::fail::shown(name), "supported": VERSIONS }))
}

fn incomplete(meta: &Value) -> RpcError {
    let is_there = [
        (META_VERSION, meta[META_VERSION].is_string()),
        (META_CAPABILITIES, meta[META_CAPABILITIES].is_object()),
    ];
    let missing: Vec<&str> =
        is_there.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name).collect();
    RpcError::params(format!(
        "request _meta is missing or has malformed required fields: {}",
        missing.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(lifecycle: &mut Lifecycle, method: &str, params: Value) -> Result<&'static str, String> {
        let request = Request { id: json!(1), method: method.to_owned(), params };
        let admitted = lifecycle.admit(&request).map(Version::name);
        admitted.map_err(|error| serde_json::to_value(error).unwrap()["message"].as_str().unwrap().to_owned())
    }

    fn inline(version: &str) -> Value {
        json!({ "_meta": { META_VERSION: version, META_CAPABILITIES: {} } })
    }

    #[test]
    fn a_conversation_that_started_inline_stays_inline() {
        let mut lifecycle = Lifecycle::New;
        assert_eq!(ask(&mut lifecycle, "ping", Value::Null), Ok(NEWEST));
        assert_eq!(ask(&mut lifecycle, "server/discover", inline("2026-07-28")), Ok("2026-07-28"));
        assert!(ask(&mut lifecycle, "tools/list", Value::Null).unwrap_err().starts_with("initialize first"));
        let unsupported = ask(&mut lifecycle, "tools/list", inline("2030-01-01"));
        assert_eq!(unsupported.unwrap_err(), "Unsupported protocol version");
        let bare = json!({ "_meta": { META_VERSION: "2026-07-28" } });
        let incomplete = ask(&mut lifecycle, "tools/list", bare.clone()).unwrap_err();
        assert!(incomplete.ends_with("required fields: io.modelcontextprotocol/clientCapabilities"));
        assert!(matches!(lifecycle, Lifecycle::New));
        assert_eq!(ask(&mut lifecycle, "tools/list", inline("2025-06-18")), Ok("2025-06-18"));
        assert!(ask(&mut lifecycle, "tools/list", bare).is_err());
        assert!(ask(&mut lifecycle, "ping", Value::Null).is_err());
    }

    #[test]
    fn after_a_handshake_only_a_version_without_one_needs_metadata() {
        let mut lifecycle = Lifecycle::New;
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": client });
        assert_eq!(ask(&mut lifecycle, "initialize", params), Ok(NEWEST));
        assert_eq!(ask(&mut lifecycle, "tools/list", Value::Null), Ok(NEWEST));
        let named = |version: &str| json!({ "_meta": { META_VERSION: version } });
        assert_eq!(ask(&mut lifecycle, "tools/list", named("2024-11-05")), Ok("2024-11-05"));
        assert!(ask(&mut lifecycle, "tools/list", named("2026-07-28")).is_err());
        assert!(ask(&mut lifecycle, "server/discover", Value::Null).is_err());
        assert_eq!(ask(&mut lifecycle, "tools/list", inline("2026-07-28")), Ok("2026-07-28"));
    }
}
