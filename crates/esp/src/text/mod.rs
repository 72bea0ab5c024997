//! The syntax of `ip xfrm state` and `ip xfrm policy`: what the commands print, and what their `add` takes.
//!
//! An entry begins with a line that is not indented, and goes on over the indented lines behind it. Whatever this module does not know is
//! an error that names the line: nothing that would change how packets are protected is passed over. Errors never show a key.

mod fault;
mod policy;
mod state;
mod tokens;
mod words;

use crate::description::{Description, Policy};
pub use fault::TextError;
use tokens::Entry;

/// The entries of a text.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The associations, in their order.
    pub states: Vec<Description>,
    /// The policies, in their order.
    pub policies: Vec<Policy>,
}

/// Reads associations and policies.
///
/// ```
/// let text = "
/// src 192.0.2.1 dst 192.0.2.2
///     proto esp spi 0xc0de0001 reqid 1 mode tunnel
///     replay-window 128 flag esn
///     aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128
///     encap type espinudp sport 4500 dport 4500 addr 0.0.0.0
/// src 10.1.0.0/16 dst 10.2.0.0/16
///     dir out priority 100
///     tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
/// ";
/// let parsed = millstream_esp::parse(text)?;
/// assert_eq!((parsed.states[0].spi, parsed.states[0].extended), (0xc0de_0001, true));
/// assert_eq!(parsed.policies.len(), 1);
/// # Ok::<(), millstream_esp::TextError>(())
/// ```
///
/// # Errors
/// [`TextError`], for the first line that is not understood.
pub fn parse(text: &str) -> Result<Parsed, TextError> {
    let mut parsed = Parsed::default();
    for mut entry in Entry::split(text)? {
        if policy::is_policy(&entry) {
            parsed.policies.extend(policy::read(&mut entry)?);
        } else {
            parsed.states.push(state::read(&mut entry)?);
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests;
