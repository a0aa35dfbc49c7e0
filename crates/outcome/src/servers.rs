//! How an agent's MCP servers affect its beat's outcome.
//!
//! Claude Code continues without a server that failed, so an agent may report nothing because it couldn't look.

use super::{Outcome, SUMMARY, first_characters};
use murmur_agent::event::McpServer;

/// The MCP servers of an agent, as listed at the start of its turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Servers(Vec<McpServer>);

impl Servers {
    /// Merges another list. A server that failed once stays failed: it was missing for a turn.
    pub fn add(&mut self, listed: &[McpServer]) {
        for server in listed {
            match self.0.iter_mut().find(|known| known.name == server.name) {
                Some(known) if known.status == "failed" => {}
                Some(known) => known.status.clone_from(&server.status),
                None => self.0.push(server.clone()),
            }
        }
    }

    /// Returns `outcome` with the servers taken into account. `requires` names the servers that the heartbeat requires;
    /// `why` returns why a server was left out.
    #[must_use]
    pub fn apply(
        &self,
        outcome: Outcome,
        requires: &[impl AsRef<str>],
        why: &dyn Fn(&str) -> Option<String>,
    ) -> Outcome {
        if !matches!(outcome, Outcome::Ok | Outcome::Attention(_)) {
            return outcome;
        }
        let status = |name: &str| self.0.iter().find(|known| known.name == name).map(|known| &*known.status);
        let (mut missing, mut unknown) = (Vec::new(), Vec::new());
        for name in requires.iter().map(AsRef::as_ref) {
            match status(name) {
                Some("connected") => {}
                Some("failed") => missing.push(format!("{name:?} did not start")),
                Some("pending") => unknown.push(format!("{name:?}")),
                Some("needs-auth") => missing.push(format!("{name:?} needs you to log in")),
                Some(other) => missing.push(format!("{name:?} is {other:?}")),
                None => match why(name) {
                    Some(why) => missing.push(format!("{name:?} {why}")),
                    None => missing.push(format!("{name:?} is not configured for the agent")),
                },
            }
        }
        if !missing.is_empty() {
            let what = missing.join(", and the MCP server ");
            let answer = match outcome {
                Outcome::Attention(answer) => format!("; the agent had said: {answer}"),
                _ => String::new(),
            };
            return Outcome::Error(format!("a required MCP server is not available: {what}{answer}"));
        }
        if outcome != Outcome::Ok {
            return outcome;
        }
        let failed: Vec<String> =
            self.0.iter().filter(|server| server.status == "failed").map(quoted).collect();
        if let [first, rest @ ..] = &failed[..] {
            let names = if rest.is_empty() { first.clone() } else { failed.join(", ") };
            let s = if rest.is_empty() { "" } else { "s" };
            return attention(&format!("HEARTBEAT_OK, but the MCP server{s} {names} did not start"));
        }
        if !unknown.is_empty() {
            let (names, s) = (unknown.join(", "), if unknown.len() == 1 { "" } else { "s" });
            let pronoun = if unknown.len() == 1 { "it" } else { "them" };
            let still =
                format!("had not started when the agent did, so the agent may have worked without {pronoun}");
            return attention(&format!("HEARTBEAT_OK, but the MCP server{s} {names} {still}"));
        }
        outcome
    }
}

fn quoted(server: &McpServer) -> String {
    format!("{:?}", server.name)
}

fn attention(summary: &str) -> Outcome {
    Outcome::Attention(first_characters(summary, SUMMARY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_of(servers: &[(&str, &str)], requires: &[&str]) -> Outcome {
        let mut all = Servers::default();
        for (name, status) in servers {
            all.add(&[McpServer { name: (*name).to_owned(), status: (*status).to_owned() }]);
        }
        all.apply(Outcome::Ok, requires, &|name| (name == "kept").then(|| "is left out".to_owned()))
    }

    fn attention(text: &str) -> Outcome {
        Outcome::Attention(text.to_owned())
    }

    fn error(text: &str) -> Outcome {
        Outcome::Error(format!("a required MCP server is not available: {text}"))
    }

    #[test]
    fn an_ok_without_a_server_that_failed_is_attention() {
        assert_eq!(outcome_of(&[("mail", "connected")], &[]), Outcome::Ok);
        assert_eq!(outcome_of(&[("mail", "pending"), ("drive", "needs-auth")], &[]), Outcome::Ok);
        let one = attention("HEARTBEAT_OK, but the MCP server \"mail\" did not start");
        assert_eq!(outcome_of(&[("mail", "failed")], &[]), one);
        assert_eq!(outcome_of(&[("mail", "failed"), ("mail", "connected")], &[]), one);
        assert_eq!(outcome_of(&[("mail", "pending"), ("mail", "failed")], &[]), one);
        let two = attention("HEARTBEAT_OK, but the MCP servers \"mail\", \"web\" did not start");
        assert_eq!(outcome_of(&[("mail", "failed"), ("web", "failed")], &[]), two);
    }

    #[test]
    fn a_required_server_that_is_not_there_is_an_error() {
        assert_eq!(outcome_of(&[("mail", "connected")], &["mail"]), Outcome::Ok);
        assert_eq!(outcome_of(&[("mail", "pending"), ("mail", "connected")], &["mail"]), Outcome::Ok);
        assert_eq!(outcome_of(&[("mail", "failed")], &["mail"]), error("\"mail\" did not start"));
        assert_eq!(outcome_of(&[("mail", "needs-auth")], &["mail"]), error("\"mail\" needs you to log in"));
        assert_eq!(outcome_of(&[("mail", "disabled")], &["mail"]), error("\"mail\" is \"disabled\""));
        assert_eq!(outcome_of(&[], &["kept"]), error("\"kept\" is left out"));
        let both =
            error("\"mail\" is not configured for the agent, and the MCP server \"web\" did not start");
        assert_eq!(outcome_of(&[("web", "failed")], &["mail", "web"]), both);
    }

    #[test]
    fn a_required_server_that_may_have_started_later_is_attention() {
        let late = outcome_of(&[("mail", "pending")], &["mail"]);
        let expected = "HEARTBEAT_OK, but the MCP server \"mail\" had not started when the agent did, so the agent may have worked without it";
        assert_eq!(late, attention(expected));
    }

    #[test]
    fn what_the_agent_reports_itself_is_kept() {
        let mut servers = Servers::default();
        servers.add(&[McpServer { name: "mail".to_owned(), status: "failed".to_owned() }]);
        assert_eq!(servers.apply(attention("2 tests fail"), &["x"; 0], &|_| None), attention("2 tests fail"));
        let expected = servers.apply(attention("ATTENTION: x"), &["mail"], &|_| None);
        assert_eq!(expected, error("\"mail\" did not start; the agent had said: ATTENTION: x"));
        let broken = Outcome::Error("exited with code 1".to_owned());
        assert_eq!(servers.apply(broken.clone(), &["mail"], &|_| None), broken);
    }
}
