//! A policy as it is written: TOML, whose names of users, groups and algorithms are looked up here, once.

use std::ops::Range;

use millstream_cwq::AlgorithmSet;
use nix::unistd::{Group, User};
use serde::Deserialize;
use toml::Spanned;

use super::{Limits, Policy, algorithms};

/// Where in the text, and what is wrong there.
type Fault = (Range<usize>, String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default: Option<Section>,
    #[serde(default)]
    user: Vec<Spanned<UserSection>>,
    #[serde(default)]
    group: Vec<Spanned<GroupSection>>,
    #[serde(default)]
    operators: Operators,
}

/// Declares a section: the limits, and what else it has.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            $($field: Option<Spanned<$type>>,)*
            max_grants: Option<Spanned<u32>>,
            arena_mib: Option<Spanned<u32>>,
            key_slots: Option<Spanned<u32>>,
            queues: Option<Spanned<u32>>,
            depth: Option<Spanned<u32>>,
            weight: Option<Spanned<u32>>,
            algorithms: Option<Vec<Spanned<String>>>,
        }

        impl $name {
            fn limits(&self) -> Result<Limits, Fault> {
                let usual = Limits::default();
                Ok(Limits {
                    max_grants: number("max_grants", &self.max_grants, usual.max_grants, 0..=1 << 20)?,
                    arena_mib: number("arena_mib", &self.arena_mib, usual.arena_mib, 1..=4095)?,
                    key_slots: number("key_slots", &self.key_slots, usual.key_slots, 0..=1 << 20)?,
                    queues: number("queues", &self.queues, usual.queues, 1..=1024)?,
                    depth: number("depth", &self.depth, usual.depth, 1..=1 << 16)?,
                    weight: number("weight", &self.weight, usual.weight, 1..=1024)?,
                    algorithms: algorithm_set(self.algorithms.as_deref(), usual.algorithms)?,
                })
            }
        }
    };
}

section! {
    /// What anybody may have.
    Section {}
}
section! {
    /// What a user may have.
    UserSection { name: String, uid: u32, }
}
section! {
    /// What the members of a group may have.
    GroupSection { name: String, gid: u32, }
}

/// Who sees and ends everything.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Operators {
    users: Vec<Spanned<String>>,
    groups: Vec<Spanned<String>>,
    uids: Vec<u32>,
    gids: Vec<u32>,
}

/// A policy from its text; else the line, and what is wrong there.
pub(super) fn parse(text: &str) -> Result<Policy, (usize, String)> {
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_of(text, span.start));
        let said = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
        (line, format!("{}, in `{said}`", error.message()))
    })?;
    policy(&file).map_err(|(span, what)| (line_of(text, span.start), what))
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn policy(file: &File) -> Result<Policy, Fault> {
    let default = file.default.as_ref().map(Section::limits).transpose()?;
    let mut policy = Policy { default, ..Policy::default() };
    for section in &file.user {
        let (span, section) = (section.span(), section.as_ref());
        let uid = who(span, section.name.as_ref(), section.uid.as_ref(), "uid", user)?;
        policy.users.push((uid, section.limits()?));
    }
    for section in &file.group {
        let (span, section) = (section.span(), section.as_ref());
        let gid = who(span, section.name.as_ref(), section.gid.as_ref(), "gid", group)?;
        policy.groups.push((gid, section.limits()?));
    }
    policy.operator_uids.extend(&file.operators.uids);
    policy.operator_gids.extend(&file.operators.gids);
    for name in &file.operators.users {
        policy.operator_uids.push(user(name)?);
    }
    for name in &file.operators.groups {
        policy.operator_gids.push(group(name)?);
    }
    Ok(policy)
}

/// Whom a section is for: a name or a number, and not both.
fn who(
    section: Range<usize>,
    name: Option<&Spanned<String>>,
    number: Option<&Spanned<u32>>,
    key: &str,
    look_up: fn(&Spanned<String>) -> Result<u32, Fault>,
) -> Result<u32, Fault> {
    match (name, number) {
        (Some(name), None) => look_up(name),
        (None, Some(number)) => Ok(*number.as_ref()),
        (Some(name), Some(_)) => Err((name.span(), format!("name and {key} at once: leave one of them out"))),
        (None, None) => Err((section, format!("nobody is named: add name or {key}"))),
    }
}

fn user(name: &Spanned<String>) -> Result<u32, Fault> {
    match User::from_name(name.as_ref()) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => {
            Err((name.span(), format!("there is no user {:?}: create it, or use its uid", name.as_ref())))
        }
        Err(error) => Err((name.span(), format!("the user {:?} can't be looked up: {error}", name.as_ref()))),
    }
}

fn group(name: &Spanned<String>) -> Result<u32, Fault> {
    match Group::from_name(name.as_ref()) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        Ok(None) => {
            Err((name.span(), format!("there is no group {:?}: create it, or use its gid", name.as_ref())))
        }
        Err(error) => {
            Err((name.span(), format!("the group {:?} can't be looked up: {error}", name.as_ref())))
        }
    }
}

fn number(
    key: &str,
    said: &Option<Spanned<u32>>,
    usual: u32,
    allowed: std::ops::RangeInclusive<u32>,
) -> Result<u32, Fault> {
    let Some(said) = said else { return Ok(usual) };
    if allowed.contains(said.as_ref()) {
        return Ok(*said.as_ref());
    }
    let (least, most) = allowed.into_inner();
    Err((said.span(), format!("{key} = {}: it must be from {least} to {most}", said.as_ref())))
}

fn algorithm_set(said: Option<&[Spanned<String>]>, usual: AlgorithmSet) -> Result<AlgorithmSet, Fault> {
    let Some(said) = said else { return Ok(usual) };
    let mut bits = 0;
    for name in said {
        let Some(meant) = algorithms::named(name.as_ref()) else {
            let what = format!(
                "algorithms: there is none called {:?}; there are {}, and a * at the end stands for all that begin so",
                name.as_ref(),
                algorithms::names()
            );
            return Err((name.span(), what));
        };
        bits |= meant.to_bits();
    }
    Ok(AlgorithmSet::from_bits(bits))
}
