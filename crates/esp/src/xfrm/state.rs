//! Messages about associations.

use zeroize::Zeroizing;

use super::bytes::{Bytes, SELECTOR, write_key, write_selector, write_to};
use super::message::{KernelError, KernelMessage, KernelState};
use crate::text::parse;

/// The number of ESP among the protocols of IP, and the one that stands for all of IPsec's.
pub const ESP: u8 = 50;
pub const ANY: u8 = 255;

/// The bytes of `xfrm_usersa_info`, and the places in it.
const INFO: usize = 224;
const ID: usize = SELECTOR;
const SOURCE: usize = 80;
const LIMITS: usize = 96;
const REQID: usize = 208;
const FAMILY: usize = 212;
const MODE: usize = 214;
const WINDOW: usize = 215;
const FLAGS: usize = 216;

/// The mode that is there.
const TUNNEL: u8 = 1;

/// The bytes of `xfrm_usersa_id`.
const GONE: usize = 24;

/// The flag by which packets of both families go through a tunnel.
const AF_UNSPEC: u8 = 32;

/// The flags, as `ip xfrm state` names them.
const FLAG_NAMES: [(u8, &str); 8] = [
    (1, "noecn"),
    (2, "decap-dscp"),
    (4, "nopmtudisc"),
    (8, "wildrecv"),
    (16, "icmp"),
    (AF_UNSPEC, "af-unspec"),
    (64, "align4"),
    (128, "esn"),
];

/// The attributes that are read.
const ALG_AUTH: u16 = 1;
const ALG_CRYPT: u16 = 2;
const ENCAP: u16 = 4;
const REPLAY_VAL: u16 = 10;
const ALG_AEAD: u16 = 18;
const ALG_AUTH_TRUNC: u16 = 20;
const TFC_PAD: u16 = 22;
const REPLAY_ESN: u16 = 23;
const EXTRA_FLAGS: u16 = 24;
const DIRECTION: u16 = 33;

/// The attributes that say nothing about how packets are protected: the past, thresholds of events, padding, and the kernel's own keep-alives.
const PASSED_OVER: [u16; 7] = [9, 11, 12, 15, 27, 32, 34];

/// The attributes that would, and that are not there, by their names.
const REFUSED: [(u16, &str); 11] = [
    (3, "compression"),
    (8, "a security context"),
    (14, "a care-of address"),
    (21, "a mark"),
    (25, "another protocol"),
    (28, "an offload to a device"),
    (29, "an output mark"),
    (30, "an output mark's mask"),
    (31, "an interface (if_id)"),
    (35, "one processor's packets"),
    (TFC_PAD, "padding against the analysis of traffic"),
];

/// The longest key, in bytes. None that is there is half as long.
const MOST_KEY: usize = 256;

/// Room for the whole text of an association, so that no part of a key is left where a shorter text was.
const ROOM: usize = 8192;

/// Reads an association. One that is not of ESP, or has no algorithm yet because a daemon has only taken its SPI, is of no concern.
///
/// # Errors
/// [`KernelError`], with its SPI.
pub fn read(body: Bytes<'_>) -> Result<KernelMessage, KernelError> {
    body.array::<INFO>(0)?;
    let info = body;
    if info.u8(ID + 20)? != ESP {
        return Ok(KernelMessage::Other);
    }
    let spi = u32::from_be(info.u32(ID + 16)?);
    let failed = |error: String| KernelError::new(format!("association {spi:#010x}: {error}"));
    let mut text = Zeroizing::new(String::with_capacity(ROOM));
    let has_keys = write(&mut text, info, body.from(INFO)?).map_err(|error| failed(error.to_string()))?;
    if !has_keys {
        return Ok(KernelMessage::Other);
    }
    let parsed = parse(&text).map_err(|error| failed(error.what))?;
    let mut states = parsed.states.into_iter();
    let state = states.next().ok_or_else(|| failed("nothing that is known".to_owned()))?;
    Ok(KernelMessage::State(Box::new(state)))
}

/// Reads which association was removed.
///
/// # Errors
/// [`KernelError`].
pub fn gone(body: Bytes<'_>) -> Result<KernelMessage, KernelError> {
    body.array::<GONE>(0)?;
    if body.u8(22)? != ESP {
        return Ok(KernelMessage::Other);
    }
    let destination = body.address(0, body.u16(20)?)?;
    Ok(KernelMessage::StateGone(KernelState { spi: u32::from_be(body.u32(16)?), destination }))
}

/// Reads which association has come to a limit.
///
/// # Errors
/// [`KernelError`].
pub fn expired(body: Bytes<'_>) -> Result<KernelMessage, KernelError> {
    let hard = body.u8(INFO)? != 0;
    if body.u8(ID + 20)? != ESP {
        return Ok(KernelMessage::Other);
    }
    let destination = body.address(ID, body.u16(FAMILY)?)?;
    let state = KernelState { spi: u32::from_be(body.u32(ID + 16)?), destination };
    Ok(KernelMessage::Expired { state, hard })
}

/// Writes an association as `ip xfrm state` does. Returns false if it has no algorithms.
fn write(text: &mut String, info: Bytes<'_>, attributes: Bytes<'_>) -> Result<bool, KernelError> {
    let family = info.u16(FAMILY)?;
    let (source, destination) = (info.address(SOURCE, family)?, info.address(ID, family)?);
    let spi = u32::from_be(info.u32(ID + 16)?);
    let reqid = info.u32(REQID)?;
    write_to(text, format_args!("src {source} dst {destination} proto esp spi {spi:#x} reqid {reqid}"));
    let flags = info.u8(FLAGS)?;
    for (bit, name) in FLAG_NAMES {
        if flags & bit != 0 {
            write_to(text, format_args!(" flag {name}"));
        }
    }
    write_limits(text, info)?;
    // A tunnel for packets of both families has a selector of zeros.
    let is_for_all = flags & AF_UNSPEC != 0 && info.u8(42)? == 0 && info.u8(43)? == 0;
    if info.u16(40)? != 0 && !is_for_all {
        text.push_str(" sel");
        write_selector(text, info)?;
    }
    let (mut has_keys, mut has_window, mut has_trunc) = (false, false, false);
    for attribute in attributes.attributes() {
        has_trunc |= attribute?.0 == ALG_AUTH_TRUNC;
    }
    for attribute in attributes.attributes() {
        let (kind, value) = attribute?;
        match kind {
            // The kernel tells both, of which the other one has the length of the tag.
            ALG_AUTH if has_trunc => {}
            ALG_AUTH | ALG_CRYPT | ALG_AEAD | ALG_AUTH_TRUNC => {
                write_algorithm(text, kind, value)?;
                has_keys = true;
            }
            REPLAY_ESN => {
                has_window = true;
                write_to(text, format_args!(" replay-window {}", value.u32(20)?));
                for (name, at) in
                    [("replay-oseq", 4), ("replay-seq", 8), ("replay-oseq-hi", 12), ("replay-seq-hi", 16)]
                {
                    write_to(text, format_args!(" {name} {}", value.u32(at)?));
                }
            }
            REPLAY_VAL => {
                write_to(text, format_args!(" replay-oseq {} replay-seq {}", value.u32(0)?, value.u32(4)?))
            }
            _ => write_other(text, kind, value)?,
        }
    }
    if !has_window {
        write_to(text, format_args!(" replay-window {}", info.u8(WINDOW)?));
    }
    // An association whose SPI alone was taken may have another mode at first.
    if has_keys && info.u8(MODE)? != TUNNEL {
        return Err(KernelError::new(format!(
            "mode {}: it is mode tunnel alone that is there",
            info.u8(MODE)?
        )));
    }
    Ok(has_keys)
}

fn write_limits(text: &mut String, info: Bytes<'_>) -> Result<(), KernelError> {
    let names = ["byte-soft", "byte-hard", "packet-soft", "packet-hard", "time-soft", "time-hard"];
    for (i, name) in names.into_iter().enumerate() {
        let limit = info.u64(LIMITS + 8 * i)?;
        // All ones stand for no limit, and so does zero where it is of time.
        if limit != u64::MAX && (limit != 0 || i < 4) {
            write_to(text, format_args!(" limit {name} {limit}"));
        }
    }
    for at in [LIMITS + 48, LIMITS + 56] {
        if info.u64(at)? != 0 {
            return Err(KernelError::new(
                "a lifetime that counts from its first use; say one from when it was added",
            ));
        }
    }
    Ok(())
}

fn write_algorithm(text: &mut String, kind: u16, value: Bytes<'_>) -> Result<(), KernelError> {
    let name = value.name()?;
    let (word, bits_at) = match kind {
        ALG_AEAD => ("aead", Some(68)),
        ALG_AUTH_TRUNC => ("auth-trunc", Some(68)),
        ALG_AUTH => ("auth", None),
        _ => ("enc", None),
    };
    let key = value.from(if bits_at.is_some() { 72 } else { 68 })?;
    let len = (value.u32(64)? as usize).div_ceil(8);
    let key = key.0.get(..len).filter(|key| (1..=MOST_KEY).contains(&key.len()));
    let key = key.ok_or_else(|| KernelError::new(format!("{name} has no key, or a part of one")))?;
    write_to(text, format_args!(" {word} {name}"));
    write_key(text, key);
    if let Some(at) = bits_at {
        write_to(text, format_args!(" {}", value.u32(at)?));
    }
    Ok(())
}

fn write_other(text: &mut String, kind: u16, value: Bytes<'_>) -> Result<(), KernelError> {
    match kind {
        ENCAP => {
            let name = match value.u16(0)? {
                2 => "espinudp",
                1 => "espinudp-nonike",
                7 => "espintcp",
                _ => "unknown",
            };
            let [source, destination] = [value.u16(2)?, value.u16(4)?].map(u16::from_be);
            write_to(text, format_args!(" encap type {name} sport {source} dport {destination}"));
        }
        EXTRA_FLAGS => {
            for (bit, name) in [(1, "dont-encap-dscp"), (2, "oseq-may-wrap")] {
                if value.u32(0)? & bit != 0 {
                    write_to(text, format_args!(" extra-flag {name}"));
                }
            }
        }
        DIRECTION => match value.u8(0)? {
            1 => text.push_str(" dir in"),
            2 => text.push_str(" dir out"),
            other => return Err(KernelError::new(format!("direction {other}"))),
        },
        TFC_PAD if value.u32(0)? == 0 => {}
        _ if PASSED_OVER.contains(&kind) => {}
        _ => return Err(KernelError::refused(kind, &REFUSED, "an association")),
    }
    Ok(())
}
