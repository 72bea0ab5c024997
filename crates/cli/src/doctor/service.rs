//! The running service, a grant of it, and the policy.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use millstream::isolated::token::TokenStatus;
use millstream::isolated::{Attach, AttachError, Service, ServiceRefusal};
use millstream_broker::rules::Policy;
use nix::unistd::{Uid, User};

use super::Places;
use super::finding::Finding;
use crate::shown;

/// The policy of a service that systemd starts.
const POLICY: &str = "/etc/millstream/policy.toml";

pub(super) fn examine(places: &Places, asked: bool) -> Vec<Finding> {
    // Whoever names a socket asks for the service behind it.
    let named = places.socket.is_some() || std::env::var_os(millstream_protocol::SOCKET_VARIABLE).is_some();
    let asked = asked || named;
    let mut findings = Vec::new();
    match Service::connect(places.socket.as_deref()).and_then(|mut service| {
        let (status, tokens) = (service.status()?, service.tokens());
        Ok((service.socket().to_owned(), status, tokens))
    }) {
        Ok((socket, status, kept)) => {
            let grants = status.grants.len();
            let found = format!(
                "at {}, {}; grants that this user sees: {grants}",
                shown::path(&socket),
                whose(&socket)
            );
            findings.extend([Finding::ok("service", found), grant(socket, asked)]);
            findings.extend(tokens(kept));
        }
        // A service that is there and can't be used is a fault, even if nobody asked.
        Err(error) => {
            let is_fault = asked || !matches!(error, AttachError::NoService { .. });
            findings.push(Finding::error(is_fault, "service", &error));
        }
    }
    findings.extend(policy(places.policy.as_deref()));
    findings
}

/// Returns the user whose socket it is, in words.
fn whose(socket: &Path) -> String {
    let Ok(found) = socket.metadata() else { return "of nobody known".to_owned() };
    let user = User::from_uid(Uid::from_raw(found.uid())).ok().flatten();
    format!("of {}", user.map_or_else(|| format!("user {}", found.uid()), |user| user.name))
}

/// Asks for a small grant, which ends at once.
fn grant(socket: PathBuf, asked: bool) -> Finding {
    let attach = Attach {
        socket: Some(socket),
        name: "millstream doctor".to_owned(),
        depth: 16,
        arena_bytes: 1 << 16,
        key_slots: 1,
        ..Attach::default()
    };
    match attach.attach() {
        Ok(accelerator) => {
            let algorithms = accelerator.grant().algorithms.count_ones();
            Finding::ok("grant", format!("this user gets one, for {algorithms} algorithms"))
        }
        Err(error) => Finding::error(asked, "grant", &error),
    }
}

/// Tells of the tokens that this user may use, and of PINs that are locked.
fn tokens(kept: Result<Vec<TokenStatus>, AttachError>) -> Option<Finding> {
    let kept = match kept {
        Ok(kept) => kept,
        // Most services keep no tokens, or none for this user.
        Err(AttachError::Refused { why: ServiceRefusal::NoTokens | ServiceRefusal::Denied, .. }) => {
            return None;
        }
        Err(error) => return Some(Finding::error(true, "tokens", &error)),
    };
    let objects: u64 = kept.iter().map(|token| u64::from(token.objects)).sum();
    let found = format!("this user may use {}, with {objects} objects", kept.len());
    let locked = |token: &&TokenStatus| {
        token.officer_tries_left == 0 || token.has_user_pin && token.user_tries_left == 0
    };
    let Some(token) = kept.iter().find(locked) else { return Some(Finding::ok("tokens", found)) };
    let label = shown::text(&token.label);
    let (whose, remedy) = match token.officer_tries_left {
        0 => ("security officer's", "the user PIN still opens it: copy its keys to another token".to_owned()),
        _ => ("user", format!("set a new one with 'millstream token pin {label} --reset'")),
    };
    let found = format!("{found}; the {whose} PIN of {label} is locked after ten wrong ones");
    Some(Finding::warn("tokens", found, remedy))
}

/// Reads the policy as the service would.
fn policy(named: Option<&Path>) -> Option<Finding> {
    let usual = Path::new(POLICY);
    let path = named.or_else(|| usual.exists().then_some(usual))?;
    Some(match Policy::load(path) {
        Ok(_) => Finding::ok("policy", shown::path(path)),
        Err(error) => Finding::fail(
            "policy",
            error.to_string(),
            "correct that line; a running service keeps its old policy",
        ),
    })
}
