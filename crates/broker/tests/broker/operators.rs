//! Permissions, changes of the policy, and grants that move.

use millstream_protocol::{Refusal, Reply, Request, STATE_GONE, STATE_REVOKED, Wanted};
use rustix::process::Signal;

use crate::client::Other;
use crate::stub;
use crate::system::{Service, Setting, eventually, is_root};

pub const TRIALS: &[(&str, fn())] = &[
    ("users see and end their own grants only", own_grants),
    ("operators see and end all", operators),
    ("without a policy others are not let in", others),
    ("a policy that is read again holds for the grants there are", reload),
    ("a policy with a mistake leaves the old one", reload_mistake),
    ("a grant moves to another worker", moves),
];

const POLICY: &str = "[default]\nmax_grants = 5\n[operators]\nuids = [7003]\n";

/// Returns whether other users can be tried.
fn can_be_others(test: &str) -> bool {
    if !is_root() {
        println!("SKIPPED {test}: only root can act as other users");
    }
    is_root()
}

fn own_grants() {
    if !can_be_others("own_grants") {
        return;
    }
    let service = Service::with(Setting { policy: Some(POLICY), ..Setting::default() });
    let ask = |uid, words: &[&str]| Other::ask(&service.socket(), uid, words).line();
    let mut others = [7001, 7002].map(|uid| Other::ask(&service.socket(), uid, &["attach"]));
    let ids = others.each_mut().map(|other| other.line().strip_prefix("granted ").unwrap().to_owned());
    assert_eq!(ask(7001, &["status"]), format!("workers 1 grants [{}]", ids[0]));
    assert_eq!(ask(7004, &["status"]), "workers 0 grants []");
    let none = |line: String| assert!(line.contains("NoSuchGrant"), "{line}");
    none(ask(7001, &["revoke", &ids[1]]));
    none(ask(7001, &["revoke", "999"]));
    for words in [&["move", &ids[0]][..], &["reload"]] {
        assert!(ask(7001, words).contains("NotOperator"));
    }
    assert_eq!(ask(7001, &["revoke", &ids[0]]), "End");
    assert_eq!(service.client().status().1.len(), 1);
}

fn operators() {
    if !can_be_others("operators") {
        return;
    }
    let service = Service::with(Setting { policy: Some(POLICY), ..Setting::default() });
    let ask = |uid, words: &[&str]| Other::ask(&service.socket(), uid, words).line();
    let client = service.client();
    let granted = client.attach();
    let id = granted.grant.id.to_string();
    assert_eq!(ask(7003, &["status"]), format!("workers 1 grants [{id}]"));
    assert_eq!(ask(7003, &["move", &id]), "End", "to where it is");
    assert_eq!(ask(7003, &["reload"]), "End");
    assert_eq!(ask(7003, &["revoke", &id]), "End");
    granted.ends_as(STATE_REVOKED);
}

fn others() {
    if !can_be_others("others") {
        return;
    }
    let service = Service::new();
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&service.socket()), 0o600);
    assert_eq!(mode(service.socket().parent().unwrap()), 0o700);
    // Others must be refused even where the file system would let them in.
    std::fs::set_permissions(service.socket(), PermissionsExt::from_mode(0o666)).unwrap();
    std::fs::set_permissions(service.socket().parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
    let line = Other::ask(&service.socket(), 7001, &["attach"]).line();
    assert!(line.starts_with("Denied") && line.contains("7001"), "{line}");
}

fn reload() {
    if !can_be_others("reload") {
        return;
    }
    let service = Service::with(Setting { policy: Some(POLICY), ..Setting::default() });
    let path = service.directory.path().join("policy.toml");
    let mut others = [7001, 7002].map(|uid| Other::ask(&service.socket(), uid, &["attach"]));
    for other in &mut others {
        assert!(other.line().starts_with("granted"));
    }
    let watcher = service.client();
    let sees = |what: &str, expected: &[(u32, u32)]| {
        eventually(what, || {
            let (_, grants) = watcher.status();
            let mut found: Vec<(u32, u32)> =
                grants.iter().map(|status| (status.uid, status.grant.weight)).collect();
            found.sort();
            (found == expected).then_some(())
        });
    };
    std::fs::write(&path, "[default]\nweight = 9\n").unwrap();
    assert_eq!(watcher.ask(&Request::Reload {}), Reply::End {});
    sees("another weight", &[(7001, 9), (7002, 9)]);
    std::fs::write(&path, "[[user]]\nuid = 7002\n").unwrap();
    service.signal(Signal::HUP);
    sees("the other is revoked", &[(7002, 1)]);
    std::fs::write(&path, "").unwrap();
    service.signal(Signal::HUP);
    sees("all are revoked", &[]);
    assert_eq!(watcher.try_attach(Wanted::default()).err().unwrap().0, Refusal::Denied, "root, too");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(service.socket()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "nobody else has business here");
}

fn reload_mistake() {
    let service = Service::with(Setting { policy: Some("[default]\n"), ..Setting::default() });
    let client = service.client();
    let granted = client.attach();
    std::fs::write(service.directory.path().join("policy.toml"), "[default]\nwieght = 9\n").unwrap();
    let (why, detail) = service.client().refusal(&Request::Reload {});
    assert_eq!(why, Refusal::Policy);
    assert!(detail.contains("line 2") && detail.contains("wieght"), "{detail}");
    assert_eq!(granted.state(), 0);
    service.client().attach();
}

fn moves() {
    let service = Service::with(Setting { workers: 2, ..Setting::default() });
    let (client, operator) = (service.client(), service.client());
    let granted = client.attach();
    let id = granted.grant.id;
    assert_eq!(operator.status().1[0].worker, 0);
    assert_eq!(operator.ask(&Request::Move { grant: id, worker: 1 }), Reply::End {});
    let (workers, grants) = operator.status();
    assert_eq!((grants[0].worker, workers[0].grants, workers[1].grants), (1, 0, 1));
    assert_eq!((workers[0].sleeps, workers[1].sleeps), (0, 1), "as the workers see it");
    assert_eq!(granted.state(), 0);
    assert_eq!(operator.refusal(&Request::Move { grant: id, worker: 2 }).0, Refusal::NoSuchWorker);
    assert_eq!(operator.refusal(&Request::Move { grant: 99, worker: 0 }).0, Refusal::NoSuchGrant);
    assert_eq!(operator.ask(&Request::Revoke { grant: id }), Reply::End {});
    granted.ends_as(STATE_REVOKED);
    let granted = client.try_attach(Wanted { key_slots: stub::CANT_ADOPT, ..Wanted::default() }).unwrap();
    let to = 1 - operator.status().1[0].worker;
    let (why, _) = operator.refusal(&Request::Move { grant: granted.grant.id, worker: to });
    assert_eq!(why, Refusal::NoWorker);
    granted.ends_as(STATE_GONE);
    eventually("no worker has it", || {
        operator.status().0.iter().all(|worker| worker.sleeps == 0).then_some(())
    });
}
