//! What the broker counts, and how others fetch it: the text format of Prometheus over HTTP.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use millstream_protocol::{GrantStatus, Refusal, WorkerStatus};
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge};
use prometheus_client::registry::{Registry, Unit};

/// How long a scrape may take, in each of its steps.
const LIMIT: Duration = Duration::from_secs(3);
/// The longest request that is read.
const MOST_BYTES: usize = 8192;

/// What happened since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) granted: u64,
    /// How long all grants took together.
    pub(crate) granting: Duration,
    /// By the reason.
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) revoked: u64,
    /// Grants that ended with their worker.
    pub(crate) gone: u64,
    pub(crate) restarts: u64,
}

impl Counters {
    pub(crate) fn granted(&mut self, took: Duration) {
        self.granted += 1;
        self.granting += took;
    }

    pub(crate) fn refused(&mut self, why: Refusal) {
        *self.refused.entry(format!("{why:?}")).or_default() += 1;
    }
}

/// Everything there is to tell, at one moment.
pub(crate) struct Snapshot {
    pub(crate) workers: Vec<WorkerStatus>,
    pub(crate) grants: Vec<GrantStatus>,
    pub(crate) counters: Counters,
}

/// Who waits for a snapshot.
pub(crate) struct Asker(SyncSender<Snapshot>);

impl Asker {
    pub(crate) fn answer(&self, snapshot: Snapshot) {
        // Who waits no longer has given up.
        let _ = self.0.try_send(snapshot);
    }
}

/// The broker's end of the thread that serves metrics.
pub(crate) struct Metrics {
    asks: Receiver<Asker>,
    /// A byte comes here for each that asks.
    bell: UnixStream,
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) address: SocketAddr,
}

impl Metrics {
    /// Listens, and serves in a thread of its own.
    pub(crate) fn serve(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (ask, asks) = sync_channel(1);
        let (ring, bell) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // One at a time: who is slow is cut off.
                    Ok(stream) => drop(answer(stream, &ask, &ring)),
                    // Descriptors have run out.
                    Err(_) => std::thread::sleep(LIMIT),
                }
            }
        })?;
        Ok(Metrics { asks, bell, address })
    }

    /// Who asks.
    pub(crate) fn asked(&self) -> Vec<Asker> {
        let mut bytes = [0; 64];
        while (&self.bell).read(&mut bytes).is_ok_and(|len| len == bytes.len()) {}
        self.asks.try_iter().collect()
    }
}

impl AsFd for Metrics {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// Answers one request: `GET /metrics`, and nothing else.
fn answer(stream: TcpStream, ask: &SyncSender<Asker>, ring: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let head = head(&stream)?;
    let mut words = head.split([' ', '\r', '\n']);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = match (method, path) {
        ("GET", "/metrics") => match snapshot(ask, ring) {
            Some(snapshot) => ("200 OK", text(&snapshot)),
            None => ("503 Service Unavailable", "the broker does not answer\n".to_owned()),
        },
        ("GET", _) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "GET /metrics\n".to_owned()),
    };
    write!(
        &stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// All of a request's head: what is not read before the connection is closed would take the answer with it.
fn head(mut stream: &TcpStream) -> io::Result<String> {
    let begin = Instant::now();
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let len = stream.read(&mut piece)?;
        head.extend(&piece[..len]);
        if len == 0 || head.len() > MOST_BYTES || begin.elapsed() > LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Asks the broker's thread.
fn snapshot(ask: &SyncSender<Asker>, mut ring: &UnixStream) -> Option<Snapshot> {
    let (sender, receiver) = sync_channel(1);
    ask.try_send(Asker(sender)).ok()?;
    ring.write_all(&[0]).ok()?;
    receiver.recv_timeout(LIMIT).ok()
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfWorker {
    worker: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfGrant {
    grant: u64,
    uid: u32,
    pid: u32,
    name: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfReason {
    reason: String,
}

/// A snapshot as text. The registry lives as long as the answer, so that ended grants leave nothing behind.
fn text(snapshot: &Snapshot) -> String {
    let mut registry = Registry::with_prefix("millstream");
    of_broker(&mut registry, &snapshot.counters);
    of_workers(&mut registry, &snapshot.workers);
    of_grants(&mut registry, &snapshot.grants);
    let mut out = String::new();
    match encode(&mut out, &registry) {
        Ok(()) => out,
        // Writing to a string does not fail.
        Err(fmt) => format!("# {fmt}\n"),
    }
}

fn of_broker(registry: &mut Registry, counters: &Counters) {
    let mut count = |name: &str, help: &str, value: u64| {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        registry.register(name, help, counter);
    };
    count("grants_made", "Grants that were made", counters.granted);
    count("grants_revoked", "Grants that were taken back", counters.revoked);
    count("grants_lost", "Grants that ended with their worker", counters.gone);
    count("worker_restarts", "Workers that died and were started again", counters.restarts);
    let spent = Counter::<f64, std::sync::atomic::AtomicU64>::default();
    spent.inc_by(counters.granting.as_secs_f64());
    registry.register_with_unit("granting", "Time spent on making grants", Unit::Seconds, spent);
    let refused = Family::<OfReason, Counter>::default();
    for (reason, count) in &counters.refused {
        refused.get_or_create(&OfReason { reason: reason.clone() }).inc_by(*count);
    }
    registry.register("requests_refused", "Requests that were refused", refused);
}

fn of_workers(registry: &mut Registry, workers: &[WorkerStatus]) {
    let sleeps = Family::<OfWorker, Counter>::default();
    let grants = Family::<OfWorker, Gauge>::default();
    for worker in workers {
        let of = OfWorker { worker: worker.worker };
        sleeps.get_or_create(&of).inc_by(worker.sleeps);
        grants.get_or_create(&of).set(i64::from(worker.grants));
    }
    registry.register("worker_sleeps", "How often a worker's accelerator went to sleep", sleeps);
    registry.register("worker_grants", "Grants that a worker serves", grants);
}

fn of_grants(registry: &mut Registry, grants: &[GrantStatus]) {
    let counter = Family::<OfGrant, Counter>::default;
    let (operations, bytes, failures, batches, doorbells) =
        (counter(), counter(), counter(), counter(), counter());
    let in_flight = Family::<OfGrant, Gauge>::default();
    let keys = Family::<OfGrant, Gauge>::default();
    for status in grants {
        let (GrantStatus { pid, uid, name, counts, .. }, grant) = (status, status.grant.id);
        let of = OfGrant { grant, pid: *pid, uid: *uid, name: name.clone() };
        let failed = counts.failures.iter().map(|(_, count)| count).sum();
        operations.get_or_create(&of).inc_by(counts.operations);
        bytes.get_or_create(&of).inc_by(counts.bytes);
        failures.get_or_create(&of).inc_by(failed);
        batches.get_or_create(&of).inc_by(counts.batches);
        doorbells.get_or_create(&of).inc_by(counts.doorbells);
        in_flight.get_or_create(&of).set(i64::from(counts.in_flight));
        keys.get_or_create(&of).set(i64::from(counts.keys));
    }
    registry.register("operations", "Operations that ended", operations);
    registry.register_with_unit("source", "Bytes of the operations' sources", Unit::Bytes, bytes);
    registry.register("operations_failed", "Operations that failed", failures);
    registry.register("batches", "In how many goes the grant's worker executed operations of all its grants: not to be added over grants", batches);
    registry.register("doorbells", "How often a worker was woken", doorbells);
    registry.register("operations_in_flight", "Operations in flight", in_flight);
    registry.register("keys", "Keys that a grant holds", keys);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn metrics_are_fetched_and_nothing_else() {
        let metrics = Metrics::serve("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = metrics.address;
        std::thread::spawn(move || {
            loop {
                for asker in metrics.asked() {
                    let mut counters = Counters { granted: 7, ..Counters::default() };
                    counters.refused(Refusal::Denied);
                    let grants = vec![GrantStatus { name: "a\"b".to_owned(), ..GrantStatus::default() }];
                    asker.answer(Snapshot { workers: vec![WorkerStatus::default()], grants, counters });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let found = fetch(address, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(found.starts_with("HTTP/1.1 200 OK\r\n"), "{found}");
        for line in [
            "millstream_grants_made_total 7",
            "millstream_requests_refused_total{reason=\"Denied\"} 1",
            "millstream_worker_sleeps_total{worker=\"0\"} 0",
            "millstream_operations_total{grant=\"0\",uid=\"0\",pid=\"0\",name=\"a\\\"b\"} 0",
            "# EOF",
        ] {
            assert!(found.lines().any(|each| each == line), "{line} in {found}");
        }
        assert!(fetch(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(fetch(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(fetch(address, "\r\n\r\n").starts_with("HTTP/1.1 405"));
    }
}
