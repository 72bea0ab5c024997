//! The connections of those who fetch metrics: some at once, each for some seconds, none in the way of another.
//!
//! Of libraries, `httparse` reads requests. Whole servers were looked at and not taken: hyper wants an executor, which is more
//! code than the rest of the broker's process, and tiny_http has no deadlines, which are the point here.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};

use super::place::{Listener, Stream};
use super::request::{Asked, MOST_BYTES, asked};
use super::text::{KIND, text};
use super::totals::Totals;
use super::{MetricsConfig, Snapshot, empty};

/// How long a connection lasts, whatever it does. Prometheus gives up after 10 s.
const LIMIT: Duration = Duration::from_secs(5);
/// How long the broker may take to answer. It needs 2 s at most where workers don't.
const LIMIT_OF_BROKER: Duration = Duration::from_secs(3);
/// So many connections there are. One more takes the place of the one that has been idle longest.
const MOST: usize = 32;
/// So many are let in before the others have their turn.
const TURN: usize = 8;
/// How long nobody is let in when descriptors have run out.
const PAUSE: Duration = Duration::from_millis(250);

enum State {
    /// What has come of the request.
    Reads(Vec<u8>),
    /// It wants the metrics, with the body or without.
    Waits { body: bool },
    /// What it is told, and how much of that is gone.
    Writes(Arc<[u8]>, usize),
    /// It was told everything. What it still sends is taken: closed before that, the answer could be lost.
    Ends,
}

struct Connection {
    stream: Stream,
    since: Instant,
    state: State,
}

impl Connection {
    fn is_idle(&self) -> bool {
        matches!(self.state, State::Reads(_) | State::Ends)
    }

    fn waits_for(&self) -> PollFlags {
        match self.state {
            State::Reads(_) | State::Ends => PollFlags::IN,
            State::Waits { .. } => PollFlags::empty(),
            State::Writes(..) => PollFlags::OUT,
        }
    }

    /// Does what can be done without waiting.
    fn go_on(&mut self, hosts: &[String]) -> Went {
        loop {
            let went = match &mut self.state {
                State::Reads(_) => self.read(hosts),
                State::Waits { .. } => Went::Later,
                State::Writes(..) => self.write(),
                State::Ends => match self.stream.read(&mut [0; 1024]) {
                    Ok(0) => Went::Over,
                    // More of it has its turn after the others.
                    Ok(_) => Went::Later,
                    Err(error) => Went::not(&error),
                },
            };
            if went != Went::On {
                return went;
            }
        }
    }

    fn read(&mut self, hosts: &[String]) -> Went {
        let State::Reads(head) = &mut self.state else { return Went::On };
        let mut piece = [0; 1024];
        let room = piece.len().min(MOST_BYTES - head.len());
        match self.stream.read(&mut piece[..room]) {
            Ok(0) => return Went::Over,
            Ok(len) => head.extend(&piece[..len]),
            Err(error) => return Went::not(&error),
        }
        match asked(head, self.stream.local(), hosts) {
            Asked::Part => {}
            Asked::Metrics { body } => self.state = State::Waits { body },
            Asked::Nothing { status, body } => {
                let text =
                    format!("{status}: it is GET /metrics, under a name or an address of this machine\n");
                self.state = State::Writes(answer(status, &text, body), 0);
            }
        }
        Went::On
    }

    fn write(&mut self) -> Went {
        let State::Writes(answer, at) = &mut self.state else { return Went::On };
        match rustix::net::send(&self.stream, &answer[*at..], SendFlags::NOSIGNAL) {
            Ok(len) => *at += len,
            Err(error) => return Went::not(&error.into()),
        }
        if *at < answer.len() {
            return Went::On;
        }
        self.state = State::Ends;
        match rustix::net::shutdown(&self.stream, Shutdown::Write) {
            Ok(()) => Went::On,
            Err(_) => Went::Over,
        }
    }
}

/// How a step of a connection went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// There may be another at once.
    On,
    /// The other side is to do something first.
    Later,
    /// The connection is at its end.
    Over,
}

impl Went {
    fn not(error: &io::Error) -> Went {
        use io::ErrorKind::{Interrupted, WouldBlock};
        if matches!(error.kind(), WouldBlock | Interrupted) { Went::Later } else { Went::Over }
    }
}

fn answer(status: &str, text: &str, body: bool) -> Arc<[u8]> {
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {KIND}\r\nContent-Length: {}\r\n{allow}\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        text.len()
    );
    [head.as_bytes(), if body { text.as_bytes() } else { &[] }].concat().into()
}

/// The thread that serves metrics.
pub(super) struct Server {
    listener: Listener,
    ask: SyncSender<SyncSender<Snapshot>>,
    /// A byte goes to the broker for each that asks, and one comes back with the answer.
    ring: UnixStream,
    hosts: Vec<String>,
    /// None where each grant is told of by itself.
    totals: Option<Totals>,
    connections: Vec<Connection>,
    /// What the broker was asked for, and until when it may take.
    asked: Option<(Receiver<Snapshot>, Instant)>,
    pause_until: Option<Instant>,
}

impl Server {
    pub fn new(
        listener: Listener,
        ask: SyncSender<SyncSender<Snapshot>>,
        ring: UnixStream,
        config: &MetricsConfig,
    ) -> Self {
        Server {
            listener,
            ask,
            ring,
            hosts: config.hosts.clone(),
            totals: (!config.names).then(Totals::default),
            connections: Vec::new(),
            asked: None,
            pause_until: None,
        }
    }

    /// Serves until the broker's end is gone.
    pub fn run(mut self) {
        while empty(&self.ring) {
            let now = Instant::now();
            self.hear();
            // Who has been here for as long as he may has had his time, whatever he still takes or sends.
            self.connections
                .retain_mut(|each| now < each.since + LIMIT && each.go_on(&self.hosts) != Went::Over);
            self.let_in(now);
            self.ask(now);
            self.wait();
        }
    }

    /// Waits until something happens, or a time has come.
    fn wait(&self) {
        let now = Instant::now();
        let ends = self.connections.iter().map(|each| each.since + LIMIT);
        let until = ends.chain(self.asked.as_ref().map(|(_, until)| *until)).chain(self.pause_until).min();
        let limit = until.map(|until| {
            let left = until.saturating_duration_since(now);
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) }
        });
        let mut all = vec![PollFd::new(&self.ring, PollFlags::IN)];
        if self.pause_until.is_none() {
            all.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        // Poll would tell again and again that somebody hung up who waits for the broker.
        let heard = self.connections.iter().filter(|each| !each.waits_for().is_empty());
        all.extend(heard.map(|each| PollFd::new(&each.stream, each.waits_for())));
        if poll(&mut all, limit.as_ref()).is_err_and(|error| error != Errno::INTR) {
            // The kernel has no memory for it.
            std::thread::sleep(PAUSE);
        }
    }

    /// Lets in who waits at the door, and takes what he has sent already.
    fn let_in(&mut self, now: Instant) {
        if self.pause_until.is_some_and(|until| now < until) {
            return;
        }
        self.pause_until = None;
        for _ in 0..TURN {
            match self.listener.accept() {
                Ok(stream) => {
                    let mut new = Connection { stream, since: now, state: State::Reads(Vec::new()) };
                    if new.go_on(&self.hosts) == Went::Over {
                        continue;
                    }
                    if self.connections.len() == MOST {
                        self.make_room();
                    }
                    self.connections.push(new);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                    // Descriptors have run out, or memory.
                    _ => return self.pause_until = Some(now + PAUSE),
                },
            }
        }
    }

    /// The one that has been idle longest goes; where none is, the oldest.
    fn make_room(&mut self) {
        let each = self.connections.iter().enumerate();
        let oldest = each.min_by_key(|(_, each)| (!each.is_idle(), each.since)).map(|(index, _)| index);
        if let Some(oldest) = oldest {
            self.connections.swap_remove(oldest);
        }
    }

    /// Asks the broker's thread, if anybody waits for it, and it was not asked.
    fn ask(&mut self, now: Instant) {
        let waits = self.connections.iter().any(|each| matches!(each.state, State::Waits { .. }));
        if !waits || self.asked.is_some() {
            return;
        }
        let (sender, receiver) = sync_channel(1);
        // Where it has not heard of the last yet, it hears of this with the next byte.
        if self.ask.try_send(sender).is_ok() {
            let _ = io::Write::write(&mut &self.ring, &[0]);
        }
        self.asked = Some((receiver, now + LIMIT_OF_BROKER));
    }

    /// Answers all that wait, if the broker has, or has not in time.
    fn hear(&mut self) {
        let Some((receiver, until)) = &self.asked else { return };
        let (status, text) = match receiver.try_recv() {
            Ok(snapshot) => {
                if let Some(totals) = &mut self.totals {
                    totals.count(&snapshot.grants);
                }
                ("200 OK", text(&snapshot, self.totals.as_ref()))
            }
            Err(_) if Instant::now() < *until => return,
            Err(_) => ("503 Service Unavailable", "the broker does not answer\n".to_owned()),
        };
        self.asked = None;
        let (with, without) = (answer(status, &text, true), answer(status, &text, false));
        for each in &mut self.connections {
            if let State::Waits { body } = each.state {
                each.state = State::Writes(if body { with.clone() } else { without.clone() }, 0);
            }
        }
    }
}
