//! Numbers, addresses, attributes and names in the kernel's messages.

use std::fmt::Write;
use std::net::IpAddr;

use super::message::KernelError;

/// The numbers of the families of addresses.
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// The bytes of a selector.
pub const SELECTOR: usize = 56;

/// A part of a message.
#[derive(Clone, Copy)]
pub struct Bytes<'m>(pub &'m [u8]);

impl<'m> Bytes<'m> {
    /// Returns so many bytes from a place on.
    ///
    /// # Errors
    /// [`KernelError`] where the message is shorter.
    pub fn array<const N: usize>(self, at: usize) -> Result<[u8; N], KernelError> {
        let found = self.0.get(at..).and_then(|rest| rest.first_chunk());
        found.copied().ok_or_else(|| KernelError::new("a message that is shorter than its kind"))
    }

    pub fn u8(self, at: usize) -> Result<u8, KernelError> {
        Ok(u8::from_ne_bytes(self.array(at)?))
    }

    pub fn u16(self, at: usize) -> Result<u16, KernelError> {
        Ok(u16::from_ne_bytes(self.array(at)?))
    }

    pub fn u32(self, at: usize) -> Result<u32, KernelError> {
        Ok(u32::from_ne_bytes(self.array(at)?))
    }

    pub fn u64(self, at: usize) -> Result<u64, KernelError> {
        Ok(u64::from_ne_bytes(self.array(at)?))
    }

    /// Returns the rest of the message.
    ///
    /// # Errors
    /// [`KernelError`] where the message is shorter.
    pub fn from(self, at: usize) -> Result<Self, KernelError> {
        self.0.get(at..).map(Bytes).ok_or_else(|| KernelError::new("a message that is shorter than its kind"))
    }

    /// Returns an address of a family; the other bytes of its place are not looked at.
    ///
    /// # Errors
    /// [`KernelError`] for a family that is none of IP's.
    pub fn address(self, at: usize, family: u16) -> Result<IpAddr, KernelError> {
        match family {
            AF_INET => Ok(IpAddr::from(self.array::<4>(at)?)),
            AF_INET6 => Ok(IpAddr::from(self.array::<16>(at)?)),
            other => Err(KernelError::new(format!("addresses of family {other}"))),
        }
    }

    /// Returns the name of an algorithm in a place of 64 bytes.
    ///
    /// # Errors
    /// [`KernelError`] for letters that no name has, which would be read as something else.
    pub fn name(self) -> Result<&'m str, KernelError> {
        let place = self.0.get(..64).ok_or_else(|| KernelError::new("an algorithm that is cut off"))?;
        let len = place.iter().position(|byte| *byte == 0).unwrap_or(place.len());
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"()-_,.".contains(byte);
        let name = std::str::from_utf8(&place[..len]).ok();
        name.filter(|name| !name.is_empty() && name.bytes().all(|byte| is_of_name(&byte)))
            .ok_or_else(|| KernelError::new("an algorithm without a name"))
    }

    /// Returns the attributes: their numbers, and their values.
    pub fn attributes(self) -> impl Iterator<Item = Result<(u16, Bytes<'m>), KernelError>> {
        /// The flags beside the number of an attribute.
        const FLAGS: u16 = 0xc000;
        let mut rest = self;
        std::iter::from_fn(move || {
            // Bytes that are fewer than a header are padding.
            let header = rest.0.first_chunk::<4>()?;
            let all = std::mem::replace(&mut rest, Bytes(&[])).0;
            let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
            let kind = u16::from_ne_bytes([header[2], header[3]]) & !FLAGS;
            let Some(value) = all.get(4..len) else {
                return Some(Err(KernelError::new("an attribute that is cut off")));
            };
            rest = Bytes(all.get(len.next_multiple_of(4)..).unwrap_or_default());
            Some(Ok((kind, Bytes(value))))
        })
    }
}

/// Writes the selector at the beginning of `place` as `ip xfrm` does, if it has a family.
///
/// # Errors
/// [`KernelError`] where the message is shorter, or of another family.
pub fn write_selector(text: &mut String, place: Bytes<'_>) -> Result<(), KernelError> {
    let family = place.u16(40)?;
    if family == 0 {
        return Ok(());
    }
    let (destination, source) = (place.address(0, family)?, place.address(16, family)?);
    let (bits_d, bits_s) = (place.u8(42)?, place.u8(43)?);
    write_to(text, format_args!(" src {source}/{bits_s} dst {destination}/{bits_d}"));
    let protocol = place.u8(44)?;
    if protocol != 0 {
        write_to(text, format_args!(" proto {protocol}"));
    }
    for (name, at) in [("dport", 32), ("sport", 36)] {
        if place.u16(at + 2)? != 0 {
            write_to(text, format_args!(" {name} {}", u16::from_be(place.u16(at)?)));
        }
    }
    if place.u32(48)? != 0 {
        write_to(text, format_args!(" dev {}", place.u32(48)?));
    }
    if place.u32(52)? != 0 {
        write_to(text, format_args!(" uid {}", place.u32(52)?));
    }
    Ok(())
}

/// Writes words. A key is never among them: [`write_key`] writes those.
pub fn write_to(text: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = text.write_fmt(words);
}

/// Writes a key in hexadecimal, without a table that its value would index.
pub fn write_key(text: &mut String, key: &[u8]) {
    text.push_str(" 0x");
    for byte in key {
        for nibble in [byte >> 4, byte & 15] {
            // All ones behind 9, and the distance from '9' to 'a'.
            let letter = 0u8.wrapping_sub(u8::from(nibble > 9)) & 39;
            text.push(char::from(b'0' + nibble + letter));
        }
    }
}
