//! Messages about policies.

use super::bytes::{Bytes, SELECTOR, write_selector, write_to};
use super::message::{KernelError, KernelMessage};
use super::state::ESP;
use crate::description::Policy;
use crate::text::parse;

/// The bytes of `xfrm_userpolicy_info`, and the places in it.
const INFO: usize = 168;
const PRIORITY: usize = 152;
const DIRECTION: usize = 160;
const ACTION: usize = 161;

/// The bytes of `xfrm_userpolicy_id`, and the place of the direction in it.
const ID: usize = 64;
const ID_DIRECTION: usize = 60;

/// The bytes of a template.
const TEMPLATE: usize = 64;

/// The attributes that are read, those that say nothing, and those that would and are not there.
const TEMPLATES: u16 = 5;
const INFO_AGAIN: u16 = 7;
const KIND: u16 = 16;
const PASSED_OVER: [u16; 2] = [15, 27];
const REFUSED: [(u16, &str); 4] = [
    (8, "a policy with a security context"),
    (21, "a policy with a mark"),
    (28, "a policy with an offload to a device"),
    (31, "a policy with an interface (if_id)"),
];

/// Reads a policy. One of a socket is of no concern.
///
/// # Errors
/// [`KernelError`].
pub fn read(body: Bytes<'_>) -> Result<KernelMessage, KernelError> {
    body.array::<INFO>(0)?;
    let Some(direction) = direction(body.u8(DIRECTION)?) else { return Ok(KernelMessage::Other) };
    let mut text = String::new();
    write_selector(&mut text, body)?;
    write_to(&mut text, format_args!(" dir {direction} priority {}", body.u32(PRIORITY)?));
    let blocks = body.u8(ACTION)? != 0;
    text.push_str(if blocks { " action block" } else { " action allow" });
    for attribute in body.from(INFO)?.attributes() {
        let (kind, value) = attribute?;
        match kind {
            TEMPLATES => {
                for template in value.0.chunks(TEMPLATE) {
                    write_template(&mut text, Bytes(template))?;
                }
            }
            KIND if value.u8(0)? == 0 => {}
            KIND => return Err(KernelError::new("a policy of kind sub: not there")),
            _ if PASSED_OVER.contains(&kind) => {}
            _ => return Err(KernelError::refused(kind, &REFUSED, "a policy")),
        }
    }
    Ok(KernelMessage::Policy { policy: only_policy(&text)?, forwarded: direction == "fwd" })
}

/// Reads which policy was removed. One of a socket is of no concern.
///
/// # Errors
/// [`KernelError`].
pub fn gone(body: Bytes<'_>) -> Result<KernelMessage, KernelError> {
    body.array::<ID>(0)?;
    let Some(direction) = direction(body.u8(ID_DIRECTION)?) else { return Ok(KernelMessage::Other) };
    let mut text = String::new();
    // The kernel tells the whole policy if it was named by its index.
    let again = body.from(ID)?.attributes().filter_map(Result::ok).find(|(kind, _)| *kind == INFO_AGAIN);
    let place = again.map(|(_, value)| value).filter(|value| value.0.len() >= SELECTOR);
    write_selector(&mut text, place.unwrap_or(body))?;
    write_to(&mut text, format_args!(" dir {direction} action block"));
    Ok(KernelMessage::PolicyGone { policy: only_policy(&text)?, forwarded: direction == "fwd" })
}

fn only_policy(text: &str) -> Result<Policy, KernelError> {
    let parsed = parse(text.trim_start());
    let parsed = parsed.map_err(|error| KernelError::new(format!("a policy: {}", error.what)))?;
    parsed.policies.into_iter().next().ok_or_else(|| KernelError::new("a policy without a direction"))
}

/// Returns the word of a direction; none of those that sockets have.
fn direction(number: u8) -> Option<&'static str> {
    ["in", "out", "fwd"].get(usize::from(number)).copied()
}

fn write_template(text: &mut String, template: Bytes<'_>) -> Result<(), KernelError> {
    template.array::<TEMPLATE>(0)?;
    let family = template.u16(24)?;
    let (destination, source) = (template.address(0, family)?, template.address(28, family)?);
    let spi = u32::from_be(template.u32(16)?);
    let protocol = if template.u8(20)? == ESP { "esp" } else { "other" };
    let mode = if template.u8(48)? == 1 { "tunnel" } else { "other" };
    let level = if template.u8(50)? == 0 { "required" } else { "use" };
    let reqid = template.u32(44)?;
    write_to(
        text,
        format_args!(
            " tmpl src {source} dst {destination} proto {protocol} spi {spi} reqid {reqid} mode {mode} level {level}"
        ),
    );
    Ok(())
}
