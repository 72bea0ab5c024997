//! HMAC-SHA1 as libsrtp2 asks for it: the state of one authentication function of a session.
//!
//! Ref. RFC 3711 §4.2.1, RFC 2104.

use millstream::Features;
use millstream::hash::Hash;
use millstream::hmac::{Hmac, HmacKey};

use crate::count::Counter;

/// Bytes of the longest tag.
pub const TAG: usize = 20;

/// The authentication function of a session.
pub struct State {
    key: HmacKey,
    message: Hmac,
    /// The bytes of the message until now.
    len: usize,
    counted: Counter,
}

impl State {
    /// Makes the pads of a key.
    pub fn new(features: Features, key: &[u8]) -> Self {
        let key = HmacKey::new(features, Hash::Sha1, key);
        let (message, counted) = (key.start(), Counter::new("hmac-sha1", key.kernel().name));
        State { key, message, len: 0, counted }
    }

    /// Begins a message.
    pub fn start(&mut self) {
        self.message.restart(&self.key);
        self.len = 0;
    }

    /// Adds to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.message.update(data);
        self.len += data.len();
    }

    /// Ends the message, and writes as much of its code as there is room for.
    pub fn finish(&mut self, tag: &mut [u8]) {
        self.counted.add(self.len);
        let code = self.message.finish_reset(&self.key);
        self.len = 0;
        tag.copy_from_slice(&code[..tag.len()]);
    }
}
