//! A bare client, and one of another user in a process of its own.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millstream_cwq::Algorithm;
use millstream_protocol::{Grant, GrantStatus, Message, Refusal, Reply, Request, Wanted, WorkerStatus};
use millstream_shm::{Mapping, Memory, Rings, Socket};

use crate::system::{LIMIT, eventually};

pub struct Client(pub Socket);

impl Client {
    pub fn connect(path: &Path) -> Self {
        Client(Socket::connect(path).unwrap())
    }

    pub fn send(&self, request: &Request) {
        self.0.send(&request.encode(), &[]).unwrap();
    }

    /// Returns the next reply; none at the end of the connection.
    pub fn next(&self) -> Option<(Reply, Vec<OwnedFd>)> {
        assert!(self.0.wait(Some(LIMIT)).unwrap(), "the broker does not answer");
        let received = self.0.receive().ok()??;
        Some((Reply::decode(&received.bytes).unwrap(), received.descriptors))
    }

    pub fn ask(&self, request: &Request) -> Reply {
        self.send(request);
        self.next().expect("an answer").0
    }

    pub fn refusal(&self, request: &Request) -> (Refusal, String) {
        match self.ask(request) {
            Reply::Refused { why, detail } => (why, detail),
            reply => panic!("not refused: {reply:?}"),
        }
    }

    pub fn try_attach(&self, wanted: Wanted) -> Result<Granted, (Refusal, String)> {
        self.send(&Request::Attach { wanted });
        match self.next().expect("an answer") {
            (Reply::Granted { grant }, descriptors) => Ok(Granted::new(grant, descriptors)),
            (Reply::Refused { why, detail }, _) => Err((why, detail)),
            (reply, _) => panic!("{reply:?}"),
        }
    }

    pub fn attach(&self) -> Granted {
        self.try_attach(Wanted::default()).unwrap()
    }

    pub fn status(&self) -> (Vec<WorkerStatus>, Vec<GrantStatus>) {
        self.send(&Request::Status {});
        let (mut workers, mut grants) = (Vec::new(), Vec::new());
        loop {
            match self.next().expect("an answer").0 {
                Reply::Worker { status } => workers.push(status),
                Reply::Grant { status } => grants.push(status),
                Reply::Use { .. } => {}
                Reply::End {} => return (workers, grants),
                reply => panic!("{reply:?}"),
            }
        }
    }
}

impl Client {
    /// Returns the use of a resource and its limit: the service's, a worker's, or a user's.
    pub fn used(&self, of_user: bool, of_worker: bool, number: u32, what: &str) -> Option<(u64, u64)> {
        self.send(&Request::Status {});
        let mut found = None;
        loop {
            match self.next().expect("an answer").0 {
                Reply::Use { status }
                    if (status.user, status.worker, status.number) == (of_user, of_worker, number) =>
                {
                    let its = status.uses.into_iter().find(|each| each.what == what);
                    found = its.map(|each| (each.used, each.limit));
                }
                Reply::End {} => return found,
                _ => {}
            }
        }
    }
}

/// The grant, and what came with it.
pub struct Granted {
    pub grant: Grant,
    pub arena: Memory,
    pub rings: Memory,
    pub page: Memory,
    pub doorbell: OwnedFd,
    pub keys: Socket,
    state: millstream_shm::Words,
}

impl Granted {
    pub fn new(grant: Grant, descriptors: Vec<OwnedFd>) -> Self {
        let [arena, rings, page, doorbell, keys] = <[OwnedFd; 5]>::try_from(descriptors).unwrap();
        let page = Memory::received(page).unwrap();
        let state = Mapping::read_only(&page).unwrap().words(0, 1).unwrap();
        let (arena, rings) = (Memory::received(arena).unwrap(), Memory::received(rings).unwrap());
        Granted { grant, arena, rings, page, doorbell, keys: Socket::received(keys), state }
    }

    pub fn state(&self) -> u64 {
        self.state[0].load(Ordering::Acquire)
    }

    pub fn ends_as(&self, state: u64) {
        eventually("the state of the grant", || (self.state() != 0).then_some(()));
        assert_eq!(self.state(), state);
    }

    /// Returns the mapping of the rings, and where in it the first queue's consumer of completions says that
    /// it sleeps.
    pub fn sleeping_place(&self) -> (Arc<Mapping>, usize) {
        let layout = Rings::new(self.grant.queues, self.grant.depth).unwrap();
        (Mapping::shared(&self.rings).unwrap(), layout.completions(0).0 + 8 * 16)
    }
}

/// Runs another user's side: a word says what it asks for, and it prints the answer as a line.
pub fn other(arguments: &[OsString]) {
    let client = Client::connect(Path::new(&arguments[0]));
    let number = || arguments[2].to_str().unwrap().parse().unwrap();
    match arguments[1].to_str().unwrap() {
        "attach" => match client.try_attach(Wanted::default()) {
            Ok(granted) => {
                println!("granted {}", granted.grant.id);
                // The parent kills this process.
                std::thread::sleep(LIMIT);
            }
            Err((why, detail)) => println!("{why:?} {detail}"),
        },
        "attach-unread" => {
            client.send(&Request::Attach { wanted: Wanted::default() });
            println!("sent");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            let replies = std::iter::from_fn(|| client.next()).map(|(reply, _)| format!("{reply:?}"));
            println!("{} end", replies.collect::<Vec<_>>().join(" "));
        }
        "attach-and-fork" => {
            let granted = client.try_attach(Wanted::default()).unwrap();
            // The child holds the connection, and lives on.
            let held = client.0.duplicate().unwrap();
            let mut child =
                Command::new("sleep").arg("60").stdin(held).stdout(Stdio::null()).spawn().unwrap();
            println!("granted {} {}", granted.grant.id, child.id());
            // This process is killed before the child ends.
            child.wait().unwrap();
        }
        "storm" => storm(Path::new(&arguments[0]), Duration::from_millis(number())),
        "much" => much(Path::new(&arguments[0]), Duration::from_millis(number())),
        "crowd" => {
            let others = (1..number()).map_while(|_| Socket::connect(Path::new(&arguments[0])).ok());
            let crowd: Vec<_> = others.collect();
            println!("connected {}", 1 + crowd.len());
            std::thread::sleep(2 * LIMIT);
        }
        "keys" => {
            let wanted = Wanted { key_slots: number() as u32, ..Wanted::default() };
            let queue = crate::real::Queue::of(client.try_attach(wanted).unwrap());
            println!("attached");
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap();
            println!("imported {}", queue.import_many(Algorithm::AesGcm, number() as usize).len());
        }
        "wait" => {
            println!("connected");
            println!("{:?}", client.next().map(|(reply, _)| reply));
        }
        "status" => {
            let (workers, grants) = client.status();
            let ids: Vec<u64> = grants.iter().map(|status| status.grant.id).collect();
            println!("workers {} grants {ids:?}", workers.len());
        }
        "revoke" => println!("{:?}", client.ask(&Request::Revoke { grant: number() })),
        "move" => println!("{:?}", client.ask(&Request::Move { grant: number(), worker: 0 })),
        "reload" => println!("{:?}", client.ask(&Request::Reload {})),
        word => panic!("{word}"),
    }
}

/// Connects, asks for a grant and leaves, as often as possible.
fn storm(path: &Path, lasts: Duration) {
    println!("begins");
    let (begin, mut attempts) = (Instant::now(), 0);
    let wanted = Wanted { queues: 64, depth: 16, ..Wanted::default() };
    let request = Request::Attach { wanted }.encode();
    while begin.elapsed() < lasts {
        if let Ok(socket) = Socket::connect(path) {
            // The broker may turn it away at once.
            let _ = socket.try_send(&request, &[]);
            attempts += 1;
        }
    }
    println!("attempts {attempts}");
}

/// Asks for as much memory as it may have, leaves, and asks again.
fn much(path: &Path, lasts: Duration) {
    println!("begins");
    let (begin, mut made) = (Instant::now(), 0);
    let wanted = Wanted { arena_bytes: 256 << 20, ..Wanted::default() };
    while begin.elapsed() < lasts {
        made += u32::from(Client(Socket::connect(path).unwrap()).try_attach(wanted.clone()).is_ok());
    }
    println!("made {made}");
}

/// A client process of a user.
pub struct Other(pub Child, std::io::BufReader<std::process::ChildStdout>);

impl Other {
    pub fn ask(socket: &Path, uid: u32, words: &[&str]) -> Self {
        Self::ask_as(socket, uid, "as-client", words)
    }

    pub fn ask_as(socket: &Path, uid: u32, role: &str, words: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(role).arg(socket).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        if uid != 0 {
            command.uid(uid).gid(uid);
        }
        let mut child = command.spawn().unwrap();
        let out = child.stdout.take().unwrap();
        Other(child, std::io::BufReader::new(out))
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut self.1, &mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Other {
    /// Sends a line, and returns the one that comes back.
    pub fn says(&mut self, line: &str) -> String {
        std::io::Write::write_all(self.0.stdin.as_mut().unwrap(), line.as_bytes()).unwrap();
        self.line()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
