//! The tables `notify.channels.<name>`: where messages go.

use super::{Choice, EventKind, kinds};
use crate::config::checked::Check;
use crate::config::problem::Problem;
use crate::config::secret_file::{self, SecretFileError};
use crate::config::settings::Secret;
use crate::config::toml_text;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::failure;

/// Where messages go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The kinds of events that it gets; `None` means all.
    pub when: Option<BTreeSet<EventKind>>,
    /// How messages are sent.
    pub destination: Destination,
}

impl Channel {
    /// Whether requests can be answered through it.
    #[must_use]
    pub fn takes_answers(&self) -> bool {
        match &self.destination {
            Destination::Ntfy { answers, .. } => answers.is_some(),
            Destination::Telegram { senders, .. } => !senders.is_empty(),
            _ => false,
        }
    }

    /// The token of the Telegram bot that it takes answers with. Only one listener can ask for a bot's updates.
    pub(super) fn answering_bot(&self) -> Option<&Token> {
        match &self.destination {
            Destination::Telegram { token, .. } if self.takes_answers() => Some(token),
            _ => None,
        }
    }
}

/// How messages are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A program, with the event as JSON on stdin.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// The desktop's notifications.
    Desktop,
    /// An HTTP POST.
    Webhook {
        /// Where to.
        url: Address,
        /// The body's format.
        format: Format,
        /// The key that signs the body.
        secret: Option<Token>,
    },
    /// A topic of an ntfy server.
    Ntfy {
        /// The server.
        server: Address,
        /// The topic.
        topic: String,
        /// The access token, if the server wants one.
        token: Option<Token>,
        /// The topic for answers, if requests can be answered.
        answers: Option<String>,
    },
    /// A chat with a Telegram bot.
    Telegram {
        /// The server of the Bot API.
        server: Address,
        /// The bot's token.
        token: Token,
        /// The chat.
        chat: i64,
        /// The ids of the users who may answer requests.
        senders: BTreeSet<i64>,
    },
    /// An email.
    Email {
        /// The recipient.
        to: String,
        /// The program that takes the email on stdin, as sendmail does.
        sendmail: String,
    },
}

/// The format of a webhook's body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The event itself.
    #[default]
    Json,
    /// A message of Slack's incoming webhooks.
    Slack,
    /// A message of Discord's webhooks.
    Discord,
    /// A card for Microsoft Teams.
    Teams,
}

/// An `http` or `https` URL. Its path and query may be secret, so it is shown without them.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// The whole URL.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The scheme and the host.
    #[must_use]
    pub fn host(&self) -> &str {
        let start = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0[start..].find(['/', '?', '#']).map_or(self.0.len(), |at| start + at);
        &self.0[..end]
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Address({})", self.host())
    }
}

impl Check for Address {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        match host {
            Some(host) if !host.is_empty() && !host.contains('@') && is_plain => Ok(Self(text)),
            _ => Err(failure!("not a URL"; "write it as \"https://host/path\"")),
        }
    }
}

/// A secret in config.toml, or the file that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// The secret.
    Given(Secret),
    /// The file. A relative path is relative to config.toml.
    File(PathBuf),
}

impl Token {
    /// The secret, without the spaces around it. `folder` has config.toml.
    ///
    /// # Errors
    /// If its file is not usable.
    pub fn reveal(&self, folder: &Path) -> Result<Secret, SecretFileError> {
        let secret = match self {
            Self::Given(secret) => secret.clone(),
            Self::File(path) => secret_file::read(&folder.join(path))?,
        };
        Ok(Secret::new(secret.reveal().trim().to_owned()))
    }

    /// Whether `other` is the same secret, wherever it is. Files that can't be read are reported when they are used.
    pub(super) fn is_same(&self, other: &Self, folder: &Path) -> bool {
        let same = || Some(self.reveal(folder).ok()? == other.reveal(folder).ok()?);
        self == other || same().unwrap_or_default()
    }
}

/// What a channel's other keys depend on.
#[derive(Deserialize)]
#[serde(expecting = "a table with a \"type\"")]
pub(super) struct ChannelType {
    r#type: Type,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    Command,
    Desktop,
    Webhook,
    Ntfy,
    Telegram,
    Email,
}

/// A channel as written.
#[derive(JsonSchema)]
#[schemars(tag = "type", rename_all = "lowercase")]
pub(super) enum ChannelKeys {
    /// A program.
    Command(CommandKeys),
    /// The desktop's notifications.
    Desktop(DesktopKeys),
    /// An HTTP POST.
    Webhook(WebhookKeys),
    /// A topic of an ntfy server.
    Ntfy(NtfyKeys),
    /// A chat with a Telegram bot.
    Telegram(TelegramKeys),
    /// An email.
    Email(EmailKeys),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandKeys {
    /// The kinds of events that it gets. Default: all.
    when: Option<BTreeSet<Choice>>,
    /// The program and its arguments. It gets the event as JSON on stdin.
    command: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DesktopKeys {
    /// The kinds of events that it gets. Default: all.
    when: Option<BTreeSet<Choice>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WebhookKeys {
    /// The kinds of events that it gets. Default: all.
    when: Option<BTreeSet<Choice>>,
    /// Where to post it.
    url: String,
    /// The format of the body.
    #[serde(default)]
    format: Format,
    /// The key that signs the body.
    secret: Option<Secret>,
    /// A file with that key, relative to config.toml.
    secret_file: Option<PathBuf>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NtfyKeys {
    /// The kinds of events that it gets. Default: all.
    when: Option<BTreeSet<Choice>>,
    /// The server. Default: the public one.
    server: Option<String>,
    /// The topic.
    topic: String,
    /// The access token.
    token: Option<Secret>,
    /// A file with that token, relative to config.toml.
    token_file: Option<PathBuf>,
    /// The topic for answers to requests.
    answers: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TelegramKeys {
    /// The kinds of events that it gets. Default: all.
    when: Option<BTreeSet<Choice>>,
    /// The server. Default: the public one.
    server: Option<String>,
    /// The access token.
    token: Option<Secret>,
    /// A file with that token, relative to config.toml.
    token_file: Option<PathBuf>,
    /// The chat.
    chat: i64,
    /// The ids of the users who may answer requests.
    #[serde(default)]
    senders: BTreeSet<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmailKeys {
    /// The kinds of events that it gets. Default: all.
    when: Option<BTreeSet<Choice>>,
    /// The recipient.
    to: String,
    /// The program that takes the email on stdin. Default: sendmail.
    sendmail: Option<String>,
}

impl ChannelKeys {
    /// Reads the table of the channel called `name`.
    pub(super) fn read(kind: &ChannelType, name: &str, text: &[u8], path: &Path) -> Result<Self, Problem> {
        fn read<T: DeserializeOwned>(name: &str, text: &[u8], path: &Path) -> Result<T, Problem> {
            toml_text::read_variant(text, path, &["notify", "channels", name])
        }
        Ok(match kind.r#type {
            Type::Command => Self::Command(read(name, text, path)?),
            Type::Desktop => Self::Desktop(read(name, text, path)?),
            Type::Webhook => Self::Webhook(read(name, text, path)?),
            Type::Ntfy => Self::Ntfy(read(name, text, path)?),
            Type::Telegram => Self::Telegram(read(name, text, path)?),
            Type::Email => Self::Email(read(name, text, path)?),
        })
    }

    pub(super) fn checked(self) -> Result<Channel, Failure> {
        let (when, destination) = match self {
            Self::Command(CommandKeys { when, command }) => {
                if command.first().is_none_or(String::is_empty) {
                    return Err(
                        failure!("\"command\" names no program"; "write a list such as [\"apprise\", \"--body\"]"),
                    );
                }
                (when, Destination::Command { argv: command })
            }
            Self::Desktop(DesktopKeys { when }) => (when, Destination::Desktop),
            Self::Webhook(keys) => {
                let secret = token("secret", keys.secret, keys.secret_file)?;
                let url = address("url", keys.url)?;
                (keys.when, Destination::Webhook { url, format: keys.format, secret })
            }
            Self::Ntfy(keys) => {
                let topic = topic("topic", keys.topic)?;
                let answers = keys.answers.map(|text| self::topic("answers", text)).transpose()?;
                if answers.as_ref() == Some(&topic) {
                    return Err(failure!(
                        "\"answers\" is the topic of the messages";
                        "use another topic for answers, which nobody else can guess"
                    ));
                }
                let server = address("server", keys.server.unwrap_or_else(|| "https://ntfy.sh".to_owned()))?;
                let token = token("token", keys.token, keys.token_file)?;
                (keys.when, Destination::Ntfy { server, topic, token, answers })
            }
            Self::Telegram(keys) => {
                let default = || "https://api.telegram.org".to_owned();
                let server = address("server", keys.server.unwrap_or_else(default))?;
                let Some(token) = token("token", keys.token, keys.token_file)? else {
                    return Err(failure!("\"token\" is missing"; "add token-file with the bot's token"));
                };
                let (chat, senders) = (keys.chat, keys.senders);
                (keys.when, Destination::Telegram { server, token, chat, senders })
            }
            Self::Email(EmailKeys { when, to, sendmail }) => {
                let is_address = to.contains('@') && to.bytes().all(|byte| byte.is_ascii_graphic());
                if !is_address || to.starts_with('-') {
                    return Err(
                        failure!("\"to\" is not an email address"; "write one such as \"me@example.com\""),
                    );
                }
                let sendmail = sendmail.unwrap_or_else(|| "sendmail".to_owned());
                (when, Destination::Email { to, sendmail })
            }
        };
        Ok(Channel { when: when.map(kinds), destination })
    }
}

fn address(key: &str, text: String) -> Result<Address, Failure> {
    Address::check(text).map_err(|wrong| wrong.after(format_args!("{key:?}: ")))
}

fn token(key: &str, given: Option<Secret>, file: Option<PathBuf>) -> Result<Option<Token>, Failure> {
    match (given, file) {
        (Some(_), Some(_)) => {
            Err(failure!("both \"{key}\" and \"{key}-file\" are given"; "remove one of them"))
        }
        (Some(given), None) => Ok(Some(Token::Given(given))),
        (None, file) => Ok(file.map(Token::File)),
    }
}

/// Checks the name of a topic, as ntfy does.
fn topic(key: &str, text: String) -> Result<String, Failure> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(text);
    }
    Err(failure!("{key:?} is not the name of a topic"; "use up to 64 letters, digits, - and _"))
}
