//! The syntax of a policy: TOML, whose names of users, groups and algorithms are looked up here, once.

use std::ops::Range;
use std::path::PathBuf;

use millstream_cwq::{AlgorithmSet, Usages};
use millstream_protocol::KeyRules;
use nix::unistd::{Group, User};
use serde::Deserialize;
use toml::Spanned;

use super::accounts::{self, Accounts, Subuids};
use super::{Limits, PRECOMPUTE_ON, Policy, Rights, Service, Tokens, Who, algorithms};

/// A place in the text, and the mistake there.
pub(super) type Fault = (Range<usize>, String);

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
    #[serde(default)]
    limits: Whole,
    tokens: Option<Spanned<TokensSection>>,
    #[serde(default)]
    token: Vec<TokenSection>,
}

/// The limits of the whole service.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Whole {
    connections: Option<Spanned<u32>>,
    descriptors: Option<Spanned<u32>>,
    memory_mib: Option<Spanned<u32>>,
    queues: Option<Spanned<u32>>,
    key_memory_mib: Option<Spanned<u32>>,
    orders: Option<Spanned<u32>>,
    reserve_percent: Option<Spanned<u32>>,
    idle_s: Option<Spanned<u32>>,
    subuid: Option<bool>,
}

impl Whole {
    fn service(&self) -> Result<Service, Fault> {
        let usual = Service::default();
        let perhaps = |key, said: &Option<Spanned<u32>>, allowed| {
            said.as_ref().map(|_| number(key, said, 0, allowed)).transpose()
        };
        Ok(Service {
            connections: number("connections", &self.connections, usual.connections, 1..=1 << 20)?,
            descriptors: perhaps("descriptors", &self.descriptors, 16..=1 << 24)?,
            memory_mib: perhaps("memory_mib", &self.memory_mib, 1..=1 << 28)?,
            queues: number("queues", &self.queues, usual.queues, 1..=1 << 20)?,
            key_memory_mib: perhaps("key_memory_mib", &self.key_memory_mib, 1..=1 << 20)?,
            orders: number("orders", &self.orders, usual.orders, 2..=1 << 16)?,
            reserve_percent: number("reserve_percent", &self.reserve_percent, usual.reserve_percent, 0..=90)?,
            idle_s: number("idle_s", &self.idle_s, usual.idle_s, 1..=1 << 20)?,
        })
    }
}

/// Declares a section: the limits, and further keys.
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
            total_queues: Option<Spanned<u32>>,
            total_memory_mib: Option<Spanned<u32>>,
            total_key_slots: Option<Spanned<u32>>,
            connections: Option<Spanned<u32>>,
            orders: Option<Spanned<u32>>,
            attaches_per_s: Option<Spanned<u32>>,
            attach_burst: Option<Spanned<u32>>,
            workers: Option<Spanned<u32>>,
            usages: Option<Vec<Spanned<String>>>,
            nonces: Option<Spanned<String>>,
            exportable: Option<bool>,
            precompute: Option<Spanned<String>>,
            key_uses_per_s: Option<Spanned<u32>>,
            key_uses: Option<Spanned<u64>>,
            uses_per_s: Option<Spanned<u32>>,
            uses: Option<Spanned<u64>>,
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
                    total_queues: number("total_queues", &self.total_queues, usual.total_queues, 1..=1 << 20)?,
                    total_memory_mib: number("total_memory_mib", &self.total_memory_mib, usual.total_memory_mib, 1..=1 << 28)?,
                    total_key_slots: number("total_key_slots", &self.total_key_slots, usual.total_key_slots, 0..=1 << 26)?,
                    connections: number("connections", &self.connections, usual.connections, 1..=1 << 20)?,
                    orders: number("orders", &self.orders, usual.orders, 1..=1 << 16)?,
                    attaches_per_s: number("attaches_per_s", &self.attaches_per_s, usual.attaches_per_s, 0..=1 << 20)?,
                    attach_burst: number("attach_burst", &self.attach_burst, usual.attach_burst, 1..=1 << 20)?,
                    workers: number("workers", &self.workers, usual.workers, 0..=1024)?,
                    keys: KeyRules {
                        forbidden: forbidden_usages(self.usages.as_deref())?,
                        makes_nonces: makes_nonces(self.nonces.as_ref())?,
                        keeps_keys: self.exportable == Some(false),
                        precompute: precompute(self.precompute.as_ref())?,
                        key_uses_per_s: number("key_uses_per_s", &self.key_uses_per_s, 0, 0..=1 << 30)?,
                        key_uses: number("key_uses", &self.key_uses, 0, 0..=1 << 62)?,
                        uses_per_s: number("uses_per_s", &self.uses_per_s, 0, 0..=1 << 30)?,
                        uses: number("uses", &self.uses, 0, 0..=1 << 62)?,
                    },
                })
            }
        }
    };
}

section! {
    /// The limits of everybody.
    Section {}
}
section! {
    /// The limits of a user.
    UserSection { name: String, uid: u32, uids: String, }
}
section! {
    /// The limits of a group's members.
    GroupSection { name: String, gid: u32, }
}

/// The operators, who see and end everything.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Operators {
    users: Vec<Spanned<String>>,
    groups: Vec<Spanned<String>>,
    uids: Vec<u32>,
    gids: Vec<u32>,
}

/// The tokens that the service keeps.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensSection {
    store: Option<Spanned<PathBuf>>,
    #[serde(default)]
    users: Vec<Spanned<String>>,
    #[serde(default)]
    managers: Vec<Spanned<String>>,
}

/// A token with rights of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenSection {
    label: Spanned<String>,
    #[serde(default)]
    users: Vec<Spanned<String>>,
    #[serde(default)]
    managers: Vec<Spanned<String>>,
}

/// Parses a policy. An error gives the line, and the mistake there.
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
    let service = file.limits.service()?;
    let mut policy = Policy { default, service, tokens: tokens(file)?, ..Policy::default() };
    let mut accounts = Accounts::default();
    for section in &file.user {
        let (span, section) = (section.span(), section.as_ref());
        let uids = match &section.uids {
            Some(uids) => {
                if let Some(also) =
                    section.uid.as_ref().map(Spanned::span).or(section.name.as_ref().map(Spanned::span))
                {
                    return Err((also, "uids together with uid or name: put them all into uids".to_owned()));
                }
                let ranges = accounts::ranges(uids.as_ref()).map_err(|what| (uids.span(), what))?;
                accounts.share(&ranges).map_err(|what| (uids.span(), what))?;
                ranges
            }
            None => {
                let uid = who(span, section.name.as_ref(), section.uid.as_ref(), "uid", user)?;
                vec![uid..=uid]
            }
        };
        policy.users.push((uids, section.limits()?));
    }
    if file.limits.subuid.unwrap_or(true) {
        accounts.add_subordinates(&Subuids::of_system());
    }
    policy.accounts = accounts;
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

fn tokens(file: &File) -> Result<Tokens, Fault> {
    let Some(section) = &file.tokens else {
        return match file.token.first() {
            None => Ok(Tokens::default()),
            Some(token) => {
                Err((token.label.span(), "a token without [tokens]: say there where the store is".to_owned()))
            }
        };
    };
    let (span, section) = (section.span(), section.as_ref());
    let Some(store) = &section.store else {
        return Err((span, "tokens without a store: name its folder with store".to_owned()));
    };
    if !store.as_ref().is_absolute() {
        return Err((
            store.span(),
            "store: name the folder from the root, as in \"/var/lib/millstream\"".to_owned(),
        ));
    }
    let rights = |users, managers| Ok(Rights { users: people(users)?, managers: people(managers)? });
    let mut tokens = Tokens {
        store: Some(store.as_ref().clone()),
        all: rights(&section.users, &section.managers)?,
        each: Vec::new(),
    };
    for token in &file.token {
        let label = token.label.as_ref();
        if tokens.each.iter().any(|(other, _)| other == label) {
            return Err((
                token.label.span(),
                format!("the token {label:?} has a section already: put both into one"),
            ));
        }
        tokens.each.push((label.clone(), rights(&token.users, &token.managers)?));
    }
    Ok(tokens)
}

/// Returns those who are named: users by name or number, and groups with an @ in front.
fn people(said: &[Spanned<String>]) -> Result<Who, Fault> {
    let mut who = Who::default();
    for said in said {
        let (text, span) = (said.as_ref(), said.span());
        match text.strip_prefix('@') {
            Some(name) => {
                let named = || group(&Spanned::new(span, name.to_owned()));
                who.gids.push(name.parse().or_else(|_| named())?);
            }
            None => who.uids.push(text.parse().or_else(|_| user(said))?),
        }
    }
    Ok(who)
}

/// Returns whom a section is for: a name or a number, and not both.
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

fn number<N: Copy + PartialOrd + std::fmt::Display>(
    key: &str,
    said: &Option<Spanned<N>>,
    usual: N,
    allowed: std::ops::RangeInclusive<N>,
) -> Result<N, Fault> {
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
                "algorithms: none is called {:?}; there are {}, and a * at the end matches all that begin so",
                name.as_ref(),
                algorithms::names()
            );
            return Err((name.span(), what));
        };
        bits |= meant.to_bits();
    }
    Ok(AlgorithmSet::from_bits(bits))
}

/// Returns the usages that are not named, or none where the key is missing.
fn forbidden_usages(said: Option<&[Spanned<String>]>) -> Result<u8, Fault> {
    let Some(said) = said else { return Ok(0) };
    let mut allowed = Usages::NONE;
    for name in said {
        let Some(usage) = Usages::from_name(name.as_ref()) else {
            let names = Usages::names().collect::<Vec<_>>().join(", ");
            let what = format!("usages: none is called {:?}; there are {names}", name.as_ref());
            return Err((name.span(), what));
        };
        allowed = allowed | usage;
    }
    Ok(Usages::ALL.without(allowed).to_bits())
}

/// Returns true when workers have to make the nonces of AEADs.
fn makes_nonces(said: Option<&Spanned<String>>) -> Result<bool, Fault> {
    match said.map(|said| said.as_ref().as_str()) {
        None | Some("any") => Ok(false),
        Some("worker") => Ok(true),
        Some(other) => {
            let span = said.map(Spanned::span).unwrap_or_default();
            Err((span, format!("nonces = {other:?}: it must be \"any\" or \"worker\"")))
        }
    }
}

/// Returns when signatures may use nonces that were computed before: see [`KeyRules::precompute`].
fn precompute(said: Option<&Spanned<String>>) -> Result<u8, Fault> {
    match said.map(|said| said.as_ref().as_str()) {
        None | Some("off") => Ok(0),
        Some("auto") => Ok(1),
        Some("on") => Ok(PRECOMPUTE_ON),
        Some(other) => {
            let span = said.map(Spanned::span).unwrap_or_default();
            Err((span, format!("precompute = {other:?}: it must be \"off\", \"auto\" or \"on\"")))
        }
    }
}
