//! The connections of those who fetch metrics: several at once, each for some seconds, none in the way of
//! another.
//!
//! The only library here is `httparse`, which reads requests. Whole servers were considered and not taken:
//! hyper wants an executor, which is more code than the rest of the broker's process, and tiny_http has no
//! deadlines, which are the point here.

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
use super::{MetricsConfig, Snapshot, empty};

/// The time that a connection lasts, whatever it does. Prometheus gives up after 10 s.
const LIMIT: Duration = Duration::from_secs(5);
/// The time that the broker may take to answer. It needs at most 2 s when workers do not answer.
const LIMIT_OF_BROKER: Duration = Duration::from_secs(3);
/// The most connections. One more takes the place of the one that has been idle longest.
const MOST: usize = 32;
/// The number of newcomers that are let in before the others have their turn.
const TURN: usize = 8;
/// The time for which nobody is let in when descriptors have run out.
const PAUSE: Duration = Duration::from_millis(250);

enum State {
    /// Reading the request, of which these bytes have come.
    Reads(Vec<u8>),
    /// Waiting for the metrics, to be sent with the body or without.
    Waits { body: bool },
    /// Writing the answer, of which so many bytes are sent.
    Writes(Arc<[u8]>, usize),
    /// Draining what the client still sends. If the connection were closed earlier, the answer could be lost.
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

    /// Does everything that can be done without waiting.
    fn go_on(&mut self, hosts: &[String]) -> Went {
        loop {
            let went = match &mut self.state {
                State::Reads(_) => self.read(hosts),
                State::Waits { .. } => Went::Later,
                State::Writes(..) => self.write(),
                State::Ends => match self.stream.read(&mut [0; 1024]) {
                    Ok(0) => Went::Over,
                    // The rest has its turn after the others.
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
                let text = format!("{status}: use GET /metrics, with a name or an address of this machine\n");
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

/// The result of a step of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// Another step may follow at once.
    On,
    /// The other side must do something first.
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
    /// A byte goes to the broker for each request, and one comes back with the answer.
    ring: UnixStream,
    hosts: Vec<String>,
    /// True when each grant is listed by itself, too.
    names: bool,
    connections: Vec<Connection>,
    /// The request to the broker that is under way, and its deadline.
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
            names: config.names,
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
            // A connection that has had its time ends, even if it still takes or sends something.
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
        // A connection that waits for the broker is left out, because poll would report again and again that
        // it hung up.
        let heard = self.connections.iter().filter(|each| !each.waits_for().is_empty());
        all.extend(heard.map(|each| PollFd::new(&each.stream, each.waits_for())));
        if poll(&mut all, limit.as_ref()).is_err_and(|error| error != Errno::INTR) {
            // The kernel has no memory for the call.
            std::thread::sleep(PAUSE);
        }
    }

    /// Lets newcomers in, and reads what they have sent already.
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

    /// Closes the connection that has been idle longest, or the oldest where none is idle.
    fn make_room(&mut self) {
        let each = self.connections.iter().enumerate();
        let oldest = each.min_by_key(|(_, each)| (!each.is_idle(), each.since)).map(|(index, _)| index);
        if let Some(oldest) = oldest {
            self.connections.swap_remove(oldest);
        }
    }

    /// Asks the broker's thread, if anybody waits for the answer and none is under way.
    fn ask(&mut self, now: Instant) {
        let waits = self.connections.iter().any(|each| matches!(each.state, State::Waits { .. }));
        if !waits || self.asked.is_some() {
            return;
        }
        let (sender, receiver) = sync_channel(1);
        // If the broker has not heard of the last request yet, it hears of this one with the next byte.
        if self.ask.try_send(sender).is_ok() {
            let _ = io::Write::write(&mut &self.ring, &[0]);
        }
        self.asked = Some((receiver, now + LIMIT_OF_BROKER));
    }

    /// Answers all that wait, when the broker has answered or its time is over.
    fn hear(&mut self) {
        let Some((receiver, until)) = &self.asked else { return };
        let (status, text) = match receiver.try_recv() {
            Ok(snapshot) => ("200 OK", text(&snapshot, self.names)),
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
