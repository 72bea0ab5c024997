//! A worker can't do what it need not, and needs all that it can do.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::Trial;
use millstream_broker::worker::{Role, all_rules};
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_protocol::{KeyPurpose, KeyReply, KeyRequest, Message, Order, Report, Secret};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::serve::pattern;
use crate::{caught, test};

/// The signal of a system call that is not allowed.
const SIGSYS: i32 = 31;

/// The options of a worker that has all of its threads.
const VAULT: &[&str] = &["--tokens", "yes"];

pub fn tests() -> Vec<Trial> {
    let mut tests = vec![
        test("what_holds_is_said", what_holds_is_said),
        test("before_any_filter_files_and_networks_are_out_of_reach", || {
            drop(Worker::start(&["--probe", "process:confined"]));
        }),
        test("a_panic_ends_the_worker_with_a_message", || {
            assert_eq!(panics("control", &[]), Ok(()));
            assert_eq!(panics("accelerator", &[]), Ok(()));
            assert_eq!(panics("vault", &[]), Ok(()));
        }),
        test("a_worker_can_do_all_it_should", || exercise(&[]).unwrap()),
    ];
    for role in Role::ALL {
        for (name, _) in ATTEMPTS {
            let probe = format!("{}:{name}", role.name());
            tests.push(test(&format!("killed_for_{name}_in_{}", role.name()), move || killed(&probe)));
        }
    }
    for rule in all_rules().unwrap() {
        let name = format!("rule_is_needed {}", rule.name);
        tests.push(match rule.when {
            Some(when) => Trial::test(name, move || {
                println!("SKIPPED {}: needed when {when}", rule.name);
                Ok(())
            }),
            None => test(&name, move || {
                let done = exercise(&["--deny", &rule.name]);
                assert!(done.is_err(), "{} is superfluous: the worker can do all without it", rule.name);
            }),
        });
    }
    tests
}

/// Attempts that are forbidden to every thread. Each would end the process well if it succeeded.
const ATTEMPTS: &[(&str, fn())] = &[
    ("open", || drop(std::fs::File::open("/etc/passwd"))),
    ("create", || drop(std::fs::File::create("/tmp/millstream-worker-was-here"))),
    ("socket", || drop(std::net::UdpSocket::bind("127.0.0.1:0"))),
    ("unix_socket", || drop(std::os::unix::net::UnixDatagram::unbound())),
    ("exec", || drop(rustix_exec())),
    ("fork", || drop(Command::new("/bin/true").spawn())),
    ("thread", || drop(std::thread::Builder::new().spawn(|| ()))),
    ("signal", || {
        if let Some(parent) = rustix::process::getppid() {
            let _ = rustix::process::kill_process(parent, rustix::process::Signal::CONT);
        }
    }),
    ("ptrace", probes::ptrace),
    ("executable_memory", probes::executable_memory),
    ("dumpable", || {
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
    }),
    ("root", || {
        let _ = rustix::thread::set_thread_uid(rustix::thread::Uid::ROOT);
    }),
];

fn rustix_exec() -> std::io::Error {
    use std::os::unix::process::CommandExt;
    Command::new("/bin/true").exec()
}

/// Attempts that no safe function makes.
mod probes {
    #![allow(unsafe_code)]

    pub fn ptrace() {
        // SAFETY: the call names no memory.
        unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
    }

    pub fn executable_memory() {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping that nobody uses.
        unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    }
}

/// Returns what `--probe ROLE:NAME` has a worker try.
pub fn probe(name: &str) -> (Option<Role>, fn()) {
    let (role, name) = name.split_once(':').expect("a role and a name");
    let role = Role::ALL.into_iter().find(|known| known.name() == role);
    let attempt = match name {
        "panic" => || panic!("a panic that was asked for"),
        "confined" => confined,
        name => ATTEMPTS.iter().find(|(known, _)| *known == name).expect("an attempt").1,
    };
    (role, attempt)
}

/// Tries this before there is a filter, so that the rest of the sandbox must refuse.
fn confined() {
    let denied = |error: std::io::Error| assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    denied(std::fs::File::open("/etc/passwd").unwrap_err());
    denied(std::fs::read_dir("/").unwrap_err());
    denied(std::fs::File::create("/tmp/millstream-worker-was-here").unwrap_err());
    denied(std::net::TcpListener::bind("127.0.0.1:0").unwrap_err());
    denied(Command::new("/bin/true").spawn().unwrap_err());
    let parent = rustix::process::getppid().expect("the test");
    denied(rustix::process::kill_process(parent, rustix::process::Signal::CONT).unwrap_err().into());
    let status = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(status, rustix::process::DumpableBehavior::NotDumpable);
    assert!(!rustix::process::geteuid().is_root() && rustix::thread::no_new_privs().unwrap());
    let capabilities = rustix::thread::capabilities(None).unwrap();
    assert!(capabilities.effective.is_empty() && capabilities.permitted.is_empty());
    let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
    assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
    assert!(rustix::thread::set_thread_uid(rustix::thread::Uid::ROOT).is_err());
}

fn what_holds_is_said() {
    let worker = Worker::start(VAULT);
    println!("sandbox: {}; keys: {}", worker.sandbox, worker.key_memory);
    for part in ["seccomp", "landlock", "network", "no privileges"] {
        assert!(worker.sandbox.contains(part), "{}", worker.sandbox);
    }
    // The kernel must say so of all threads.
    for task in std::fs::read_dir(format!("/proc/{}/task", worker.child.id())).unwrap() {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        for line in
            ["Seccomp:\t2", "NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"]
        {
            assert!(status.contains(line), "{line} in {status}");
        }
    }
}

/// Checks that a worker that tries is killed for it.
fn killed(probe: &str) {
    match Worker::try_start(&[VAULT, &["--probe", probe]].concat()) {
        Ok(_) => panic!("{probe} was tried, and the worker serves"),
        Err(status) => assert_eq!(status.signal(), Some(SIGSYS), "{probe}: {status}"),
    }
    assert!(!std::path::Path::new("/tmp/millstream-worker-was-here").exists());
}

/// Checks that a worker whose thread panics says so and ends.
fn panics(role: &str, options: &[&str]) -> Result<(), String> {
    let probe = format!("{role}:panic");
    let options = [VAULT, &["--probe", &probe], options].concat();
    let (mut worker, ready) = Worker::spawn(&options, Stdio::piped());
    let status = worker.ended();
    let mut message = String::new();
    worker.child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    let told = message.contains("a panic that was asked for");
    if ready.is_none() && status.code() == Some(101) && told {
        Ok(())
    } else {
        Err(format!("{status}, and {message:?}"))
    }
}

/// Has a worker do everything that it ever does, and returns what went wrong.
fn exercise(options: &[&str]) -> Result<(), String> {
    caught(|| work(options)).flatten().map_err(|why| format!("it could not do its work: {why}"))?;
    panics("control", options)?;
    panics("accelerator", options)?;
    panics("vault", options)
}

fn work(options: &[&str]) -> Result<(), String> {
    let start = |options: &[&str]| Worker::try_start(options).map_err(|status| status.to_string());
    let options = &[VAULT, options].concat();
    let (mut worker, mut other) = (start(options)?, start(options)?);
    let wide = |id| millstream_protocol::Grant { arena_bytes: 16 << 20, key_slots: 4096, ..grant(id) };
    let mut client = Client::new(wide(1));
    let keys = client.worker_keys.take().ok_or("no keys")?;
    let done = |report: Option<Report>| match report {
        Some(Report::Done {}) => Ok(()),
        report => Err(format!("{report:?}")),
    };
    done(worker.order(&Order::Serve { grant: client.grant.clone() }, &client.descriptors(&keys)))?;
    drop(keys);

    // Keys: more than the first region holds, one generated, one destroyed.
    let handles: Vec<_> = (0..400).map(|i| client.import(Algorithm::AesCbc, true, &[i as u8; 16])).collect();
    let generate = KeyRequest::Generate {
        algorithm: Algorithm::AesGcm as u8,
        exportable: false,
        purpose: KeyPurpose::default(),
        len: 32,
    };
    let Some(KeyReply::Key { handle }) = client.ask(&generate) else {
        return Err("nothing generated".to_owned());
    };
    let Some(KeyReply::Destroyed {}) = client.ask(&KeyRequest::Destroy { handle }) else {
        return Err("nothing destroyed".to_owned());
    };

    // A token, whose PINs are wrapped on the vault's thread.
    done(worker.order(&Order::Vault { device: Secret::new(&[7; 32]) }, &[]))?;
    let make = KeyRequest::MakeToken {
        session: 0,
        label: "web".to_owned(),
        officer: Secret::new(b"officer's PIN"),
        user: Secret::new(b"314159"),
    };
    client.keys.send(&make.encode(), &[]).map_err(|error| error.to_string())?;
    let Some(Report::AddToken { ticket, .. }) = worker.report() else {
        return Err("no token was made".to_owned());
    };
    let found = Order::Found { ticket, taken: true, left: 0, attributes: Vec::new(), sealed: Vec::new() };
    worker.control.send(&found.encode(), &[]).map_err(|error| error.to_string())?;
    if !client.keys.wait(Some(Duration::from_secs(10))).map_err(|error| error.to_string())? {
        return Err("no answer about a token".to_owned());
    }
    let answer = client.keys.receive().ok().flatten().map(|received| KeyReply::decode(&received.bytes));
    if !matches!(answer, Some(Ok(KeyReply::Made { .. }))) {
        return Err(format!("{answer:?}"));
    }

    // A client and a worker that sleep, and objects of all sizes.
    for len in [16_u32, 4096, 200_000, 1 << 20, 3 << 20, 6 << 20] {
        client.await_sleep();
        let len = len / 16 * 16;
        client.arena.write(4096, &pattern(len as usize, 1));
        let word = ControlWord {
            opcode: Opcode::Cipher as u8,
            algorithm: Algorithm::AesCbc as u8,
            key: handles[7],
            source: 4096,
            source_len: len,
            destination: 8 << 20,
            iv_len: 16,
            ..ControlWord::default()
        };
        client.submit(&[word]);
        let ended = client.next_asleep(Duration::from_secs(10)).status();
        if ended != Some(Status::Ok) {
            return Err(format!("{ended:?}"));
        }
    }
    // Many operations at once.
    let null = |tag| ControlWord { tag, ..ControlWord::default() };
    client.submit(&(0..256).map(null).collect::<Vec<_>>());
    for _ in 0..256 {
        client.next();
    }

    // Grants come and go, and one moves.
    for round in 0..40 {
        let many = millstream_protocol::Grant { queues: 16, ..grant(100 + round) };
        let guest = Client::served(&worker, many);
        guest.import(Algorithm::AesCbc, false, &[1; 16]);
        if round % 2 == 0 {
            done(worker.order(&Order::Drop { grant: guest.grant.id }, &[]))?;
        }
    }
    crate::moving::move_grant(&client, &worker, &other)?;
    if client.execute(null(1)) != Status::Ok || client.export(handles[3]) != [3; 16] {
        return Err("it did not move whole".to_owned());
    }
    for worker in [&mut worker, &mut other] {
        done(worker.order(&Order::Stop {}, &[]))?;
        let status = worker.ended();
        if !status.success() {
            return Err(status.to_string());
        }
    }
    Ok(())
}
