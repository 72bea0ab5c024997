//! The messages of `NETLINK_XFRM`, by which Linux tells what its own IPsec has: associations and policies, as daemons of IKE install them.
//!
//! A message is written down in the syntax of `ip xfrm`, and read by the same reader as a file is: so both have the same rules. Attributes that would
//! change how packets are protected, and that are not there, are refused by name. Errors never show a key.
//!
//! Ref. Linux, `include/uapi/linux/xfrm.h`; RFC 3549 §2.2 (netlink).

mod bytes;
mod message;
mod policy;
mod state;

use bytes::Bytes;
pub use message::{KernelError, KernelMessage, KernelState};

/// The bytes of a message's header.
const HEADER: usize = 16;

/// Types of messages that all of netlink has.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Types of XFRM's messages.
const NEW_STATE: u16 = 0x10;
const GONE_STATE: u16 = 0x11;
const GET_STATE: u16 = 0x12;
const NEW_POLICY: u16 = 0x13;
const GONE_POLICY: u16 = 0x14;
const GET_POLICY: u16 = 0x15;
const EXPIRED: u16 = 0x18;
const CHANGED_POLICY: u16 = 0x19;
const CHANGED_STATE: u16 = 0x1a;
const NO_STATES: u16 = 0x1c;
const NO_POLICIES: u16 = 0x1d;

/// Flags of a request, and of an answer that changed while it was made.
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_DUMP_INTR: u16 = 0x10;

/// The multicast groups of events about associations, their ends, and policies, as `bind` takes them.
pub const KERNEL_GROUPS: u32 = 1 << 1 | 1 << 2 | 1 << 3;

/// The lists that the kernel can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelList {
    /// All associations.
    States,
    /// All policies.
    Policies,
}

/// Makes the message that asks the kernel for a list. `sequence` comes back with the answers.
pub fn ask_kernel(list: KernelList, sequence: u32) -> [u8; HEADER] {
    let kind = match list {
        KernelList::States => GET_STATE,
        KernelList::Policies => GET_POLICY,
    };
    let mut message = [0; HEADER];
    message[..4].copy_from_slice(&(HEADER as u32).to_ne_bytes());
    message[4..6].copy_from_slice(&kind.to_ne_bytes());
    message[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    message[8..12].copy_from_slice(&sequence.to_ne_bytes());
    message
}

/// Reads the messages that came from the kernel in one datagram. What is behind a message that has no length that can be is not looked at.
///
/// ```
/// use millstream_esp::{KernelList, KernelMessage, ask_kernel, kernel_messages};
///
/// // What is asked for is of the same form as what comes.
/// let request = ask_kernel(KernelList::States, 7);
/// let messages: Vec<_> = kernel_messages(&request).collect();
/// assert!(matches!(messages[..], [Ok(KernelMessage::Other)]));
/// assert!(kernel_messages(b"no message").next().is_some_and(|message| message.is_err()));
/// ```
pub fn kernel_messages(datagram: &[u8]) -> impl Iterator<Item = Result<KernelMessage, KernelError>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let all = Bytes(std::mem::take(&mut rest));
        let len = all.u32(0).ok().and_then(|len| usize::try_from(len).ok());
        let Some(message) = len.filter(|len| *len >= HEADER).and_then(|len| all.0.get(..len)) else {
            return Some(Err(KernelError::new("a message of netlink that is cut off")));
        };
        rest = all.0.get(message.len().next_multiple_of(4)..).unwrap_or_default();
        Some(read(Bytes(message)))
    })
}

fn read(message: Bytes<'_>) -> Result<KernelMessage, KernelError> {
    let (kind, flags) = (message.u16(4)?, message.u16(6)?);
    let body = Bytes(&message.0[HEADER..]);
    Ok(match kind {
        NLMSG_ERROR => match body.u32(0)?.cast_signed() {
            // An acknowledgement.
            0 => KernelMessage::Other,
            number => KernelMessage::Refused(number.saturating_neg()),
        },
        NLMSG_DONE => KernelMessage::End { whole: flags & NLM_F_DUMP_INTR == 0 },
        NEW_STATE | CHANGED_STATE => state::read(body)?,
        GONE_STATE => state::gone(body)?,
        EXPIRED => state::expired(body)?,
        NO_STATES => match body.u8(0)? {
            0 | state::ESP | state::ANY => KernelMessage::StatesGone,
            _ => KernelMessage::Other,
        },
        NEW_POLICY | CHANGED_POLICY => policy::read(body)?,
        GONE_POLICY => policy::gone(body)?,
        NO_POLICIES => KernelMessage::PoliciesGone,
        _ => KernelMessage::Other,
    })
}
