//! Webhooks: the event as JSON, signed if there is a secret, or the message in a chat service's format.

use super::{LIMIT, SendError, Sent, chat};
use crate::http::{Call, send as send_call};
use crate::message::Message;
use crate::tokens::hex;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use murmur_core::config::notify::{Address, Format};
use murmur_core::config::settings::Secret;
use serde_json::json;
use sha2::Sha256;
use sys::clock::rfc3339;

pub(super) fn send(
    url: &Address,
    format: Format,
    secret: Option<&Secret>,
    message: &Message,
    now: Timestamp,
) -> Result<Sent, SendError> {
    let body = match format {
        Format::Json => json!({
            "version": 1, "sentAt": rfc3339(now), "title": message.title, "body": message.body, "events": message.events,
        }),
        Format::Slack => chat::slack(message),
        Format::Discord => chat::discord(message),
        Format::Teams => chat::teams(message),
    };
    let body = body.to_string().into_bytes();
    let mut headers = Vec::new();
    if let Some(secret) = secret {
        let time = now.as_second().to_string();
        headers.push(("X-Murmur-Signature", format!("sha256={}", signature(secret, &time, &body))));
        headers.push(("X-Murmur-Timestamp", time));
    }
    let url_text = url.reveal().to_owned();
    let body = Some(("application/json", body));
    send_call(&Call { url: url_text, host: url.host(), body, headers, limit: LIMIT })?;
    Ok(Sent::default())
}

/// HMAC-SHA256 over the time, a dot and the body: with the time, a receiver can refuse what is sent to it again later.
fn signature(secret: &Secret, time: &str, body: &[u8]) -> String {
    // Keys of any length are valid.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes()) else {
        return String::new();
    };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_hmac_of_time_and_body() {
        let secret = Secret::new("key".to_owned());
        let signed = signature(&secret, "1770112800", b"{}");
        // printf '1770112800.{}' | openssl dgst -sha256 -hmac key
        assert_eq!(signed, "742fcfc1881fccb980c327a7bdbf30f2c86b5ba328afa2b14bd839302010c02b");
    }
}
