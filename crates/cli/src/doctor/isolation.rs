//! Memory for keys and the sandbox, as a worker finds them that is started for this check.

use millstream::isolated::Service as Connection;
use millstream_broker::worker::{self, locked_bytes};
use rustix::process::{Resource, geteuid, getrlimit};

use super::finding::Finding;
use crate::error::Error;
use crate::programs::folder::Folder;
use crate::programs::service::Service;

pub(super) fn examine() -> Vec<Finding> {
    let mut findings = vec![limit(getrlimit(Resource::Memlock).maximum)];
    match trial() {
        Ok((sandbox, keys)) => findings.extend([key_memory(&keys), confined(&sandbox)]),
        Err(error) => findings.push(Finding::error(true, "worker", &error)),
    }
    findings
}

/// Compares the limit of locked memory with what a worker locks if nothing else is said.
fn limit(most: Option<u64>) -> Finding {
    let wanted = locked_bytes(worker::KEY_MEMORY);
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let Some(most) = most else { return Finding::ok("locked memory", "no limit") };
    let found = format!("at most {}; a worker takes {}", mib(most), mib(wanted));
    if most >= wanted {
        Finding::ok("locked memory", found)
    } else if geteuid().is_root() {
        Finding::ok("locked memory", format!("{found}, and root's service raises the limit"))
    } else {
        let remedy =
            "a service of this user has less memory for keys: raise the limit (ulimit -l, LimitMEMLOCK=)";
        Finding::warn("locked memory", found, remedy)
    }
}

/// Starts a service for a moment, and asks what its worker has: its sandbox, and its memory for keys.
fn trial() -> Result<(String, String), Error> {
    let folder = Folder::new()?;
    let service = Service::start(&folder)?;
    let status = Connection::connect(Some(service.socket()))?.status()?;
    let worker = status.workers.into_iter().next();
    let worker =
        worker.ok_or_else(|| Error::Serve("the service shows no worker; start it by hand".into()))?;
    Ok((worker.sandbox, worker.key_memory))
}

fn key_memory(kind: &str) -> Finding {
    if kind.starts_with("memfd_secret") {
        return Finding::ok("key memory", kind);
    }
    let remedy =
        "root can read keys in a worker: boot Linux 5.14 or later, before 6.5 with secretmem.enable=1";
    Finding::warn("key memory", kind, remedy)
}

/// Judges the words in which a worker describes its sandbox.
fn confined(sandbox: &str) -> Finding {
    let lacks = [
        ("no landlock", "boot a kernel with landlock among its security modules (lsm=landlock,...)"),
        (
            "the machine's network",
            "let the service make network namespaces: run it as root, or allow user namespaces",
        ),
        ("root without capabilities", "let the service's root change its user: this container forbids it"),
    ];
    match lacks.iter().find(|(words, _)| sandbox.contains(words)) {
        Some((_, remedy)) => Finding::warn("sandbox", sandbox, *remedy),
        None => Finding::ok("sandbox", sandbox),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn what_a_worker_lacks_is_told_with_its_remedy() {
        assert_eq!(confined("seccomp, landlock 7, own network, no privileges").state, State::Ok);
        let found = confined("seccomp, no landlock, own network, no privileges");
        assert!(found.state == State::Warn && found.remedy.unwrap().contains("lsm="));
        assert_eq!(key_memory("locked memory").state, State::Warn);
        assert_eq!(key_memory("memfd_secret").state, State::Ok);
        assert_eq!(limit(None).state, State::Ok);
        assert_eq!(limit(Some(1 << 40)).state, State::Ok);
    }
}
