//! Numbers, addresses, keys and selectors.

use std::net::IpAddr;

use zeroize::Zeroizing;

use super::fault::TextError;
use super::tokens::{Entry, Token};
use crate::description::{Prefix, Selector};

/// Reads a number, in hexadecimal behind `0x`.
///
/// # Errors
/// [`TextError`].
pub fn number<N: TryFrom<u64>>(token: Token<'_>) -> Result<N, TextError> {
    let value = match token.word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => token.word.parse(),
    };
    let value = value.ok().and_then(|value| N::try_from(value).ok());
    value.ok_or_else(|| token.error(format!("{} is no number that fits", shown(token.word))))
}

/// Reads an address.
///
/// # Errors
/// [`TextError`].
pub fn address(token: Token<'_>) -> Result<IpAddr, TextError> {
    token.word.parse().map_err(|_| token.error(format!("{} is no address", shown(token.word))))
}

/// Reads an address with the bits of its prefix; all of them where none are said.
///
/// # Errors
/// [`TextError`].
pub fn prefix(token: Token<'_>) -> Result<Prefix, TextError> {
    let fault = || token.error(format!("{} is no address with a prefix", shown(token.word)));
    let (text, bits) = match token.word.split_once('/') {
        Some((text, bits)) => (text, Some(bits.parse::<u8>().map_err(|_| fault())?)),
        None => (token.word, None),
    };
    let address: IpAddr = text.parse().map_err(|_| fault())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    if bits > most {
        return Err(fault());
    }
    Ok(Prefix { address, bits })
}

/// Reads the words of a selector, up to one that is none of a selector.
///
/// # Errors
/// [`TextError`] also for ports, since fragments have none, and for devices.
pub fn selector(entry: &mut Entry<'_>, token: Token<'_>) -> Result<Selector, TextError> {
    let (mut source, mut destination, mut protocol) = (None, None, None);
    while let Some(word) = entry.peek() {
        match word.word {
            "src" if source.is_none() => {
                entry.next();
                source = Some(prefix(entry.after(word)?)?);
            }
            "dst" if destination.is_none() => {
                entry.next();
                destination = Some(prefix(entry.after(word)?)?);
            }
            "proto" if protocol.is_none() => {
                entry.next();
                protocol = Some(protocol_of(entry.after(word)?)?);
            }
            "uid" => {
                entry.next();
                let value = entry.after(word)?;
                if value.word != "0" {
                    return Err(word.error("selectors by user are not there"));
                }
            }
            "sport" | "dport" | "type" | "code" | "key" | "dev" => {
                return Err(word.error(format!(
                    "selectors have addresses and a protocol, and no {}: a fragment could not be told",
                    word.word
                )));
            }
            _ => break,
        }
    }
    let (Some(source), Some(destination)) = (source, destination) else {
        return Err(token.error("a selector has src and dst"));
    };
    if source.address.is_ipv4() != destination.address.is_ipv4() {
        return Err(token.error("src and dst of a selector are of one family"));
    }
    // The kernel's 0 stands for all protocols.
    Ok(Selector { source, destination, protocol: protocol.filter(|protocol| *protocol != 0) })
}

fn protocol_of(token: Token<'_>) -> Result<u8, TextError> {
    Ok(match token.word {
        "icmp" => 1,
        "tcp" => 6,
        "udp" => 17,
        "gre" => 47,
        "ipv6-icmp" => 58,
        "sctp" => 132,
        _ => number(token)?,
    })
}

/// Reads a key in hexadecimal. The error shows nothing of it.
///
/// # Errors
/// [`TextError`].
pub fn key(token: Token<'_>) -> Result<Zeroizing<Vec<u8>>, TextError> {
    let fault = || token.error("a key is written as 0x and hexadecimal digits");
    let digits = token.word.strip_prefix("0x").ok_or_else(fault)?.as_bytes();
    if !digits.len().is_multiple_of(2) || digits.is_empty() {
        return Err(fault());
    }
    let mut key = Zeroizing::new(Vec::with_capacity(digits.len() / 2));
    for pair in digits.chunks_exact(2) {
        let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else { return Err(fault()) };
        key.push(high << 4 | low);
    }
    Ok(key)
}

/// Returns the value of a hexadecimal digit, without a table that its value would index.
fn nibble(digit: u8) -> Option<u8> {
    let of = |first: u8, len: u8, value: u8| {
        let offset = digit.wrapping_sub(first);
        // All ones if the digit is in the range.
        let within = 0u8.wrapping_sub(u8::from(offset < len));
        within & offset.wrapping_add(value + 1)
    };
    // Values are one more than the digit's, so that zero is none.
    (of(b'0', 10, 0) | of(b'a', 6, 10) | of(b'A', 6, 10)).checked_sub(1)
}

/// Returns a word for a message: one that might be a key, or is long, is not shown.
pub fn shown(word: &str) -> &str {
    let odd = word.len() > 32 || word.starts_with("0x") || word.chars().any(char::is_control);
    if odd { "a word" } else { word }
}
