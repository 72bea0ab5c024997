//! Entries of `ip xfrm policy`.

use super::fault::TextError;
use super::tokens::{Entry, Token};
use super::words::{address, number, selector, shown};
use crate::description::{Policy, PolicyDirection, Template};

/// Returns true if the entry is a policy: it has a template, or says that it blocks, or is written as one.
pub fn is_policy(entry: &Entry<'_>) -> bool {
    let mut words = entry.words();
    words.any(|word| matches!(word, "tmpl" | "action" | "policy" | "ptype"))
}

/// Reads a policy; none if its direction is of no concern here, as those of sockets.
///
/// # Errors
/// [`TextError`].
pub fn read(entry: &mut Entry<'_>) -> Result<Option<Policy>, TextError> {
    let first = Token { word: "policy", line: entry.line() };
    for word in ["ip", "xfrm", "policy"] {
        entry.skip(word);
    }
    if !entry.skip("add") {
        entry.skip("update");
    }
    let mut policy = Policy {
        direction: PolicyDirection::Out,
        selector: selector(entry, first)?,
        priority: 0,
        template: None,
    };
    let (mut direction, mut blocks) = (None, false);
    while let Some(token) = entry.next() {
        match token.word {
            "dir" => direction = Some(entry.after(token)?.word),
            "priority" => policy.priority = number(entry.after(token)?)?,
            "index" | "ptype" => {
                entry.after(token)?;
            }
            "action" => match entry.after(token)?.word {
                "allow" => {}
                "block" => blocks = true,
                other => return Err(token.error(format!("{} is no action", shown(other)))),
            },
            "tmpl" => {
                if policy.template.is_some() {
                    return Err(token.error("a policy has one template: packets are protected once"));
                }
                policy.template = Some(template(entry)?);
            }
            other => return Err(token.error(format!("{}: not known in a policy", shown(other)))),
        }
    }
    policy.direction = match direction {
        Some("out") => PolicyDirection::Out,
        Some("in" | "fwd") => PolicyDirection::In,
        Some(_) => return Ok(None),
        None => return Err(first.error("a policy has a direction: dir out, dir in or dir fwd")),
    };
    if blocks {
        policy.template = None;
    } else if policy.template.is_none() {
        return Err(first.error("a policy has a template, or blocks: packets in the clear go no way here"));
    }
    Ok(Some(policy))
}

fn template(entry: &mut Entry<'_>) -> Result<Template, TextError> {
    let mut template = Template { source: None, destination: None, spi: 0, reqid: 0 };
    while let Some(token) = entry.peek() {
        let takes = matches!(token.word, "src" | "dst" | "proto" | "spi" | "reqid" | "mode" | "level");
        if !takes {
            break;
        }
        entry.next();
        let value = entry.after(token)?;
        match (token.word, value.word) {
            ("src", _) => template.source = Some(address(value)?).filter(|address| !address.is_unspecified()),
            ("dst", _) => {
                template.destination = Some(address(value)?).filter(|address| !address.is_unspecified());
            }
            ("spi", word) => {
                template.spi = number(Token { word: word.split('(').next().unwrap_or(word), ..value })?
            }
            ("reqid", word) => {
                template.reqid = number(Token { word: word.split('(').next().unwrap_or(word), ..value })?;
            }
            ("proto", "esp") | ("mode", "tunnel") | ("level", "required") => {}
            (word, other) => {
                return Err(token.error(format!(
                    "{word} {}: templates are of esp in mode tunnel, and required",
                    shown(other)
                )));
            }
        }
    }
    Ok(template)
}
