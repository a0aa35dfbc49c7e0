//! Adds up the tokens of messages, for what no result covers.

use crate::event::Tokens;

/// The tokens of the messages so far. Reports on one message follow each other; the last one counts.
#[derive(Debug, Default)]
pub struct MessageTokens {
    /// The last message, and its tokens.
    message: (String, Tokens),
    /// The tokens of all earlier messages.
    earlier: Tokens,
}

impl MessageTokens {
    /// Records a report on `message`.
    pub fn report(&mut self, message: &str, tokens: Tokens) {
        if self.message.0 != message {
            self.earlier = self.total();
            message.clone_into(&mut self.message.0);
        }
        self.message.1 = tokens;
    }

    /// The tokens of all messages.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.earlier + self.message.1
    }
}
