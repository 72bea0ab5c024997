//! The parts of a data plane that all of its threads share.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use millstream_esp::{Counters, Description, Direction, Job, Packet, Place, Sa, Suite, Table, Workers};

use super::options::Options;
use super::outer::Outer;
use super::path_mtu::{self, PathMtus};
use super::paths::{Moved, Path};
use super::records::{Record, Records};
use super::sockets::TooBig;
use super::tun::Tun;

/// The room of the buffers that are kept: nearly all packets fit. They lie close together, and so do their addresses in caches.
const USUAL: usize = 2048;

/// The packets that are read, computed and written at a time.
pub(super) const BATCH: usize = 64;

/// The buffers that are kept for later packets.
const KEPT: usize = 16 * BATCH;

/// The device's MTU is less than the outer one by so much where no association says how much it has to be.
const USUAL_OVERHEAD: usize = 100;

/// The smallest MTU of IPv4 that a host must take (RFC 791).
const LEAST_MTU: usize = 576;

/// The parts of a data plane that all of its threads share.
pub(super) struct Plane {
    pub(super) tun: Tun,
    pub(super) place: Place,
    pub(super) records: Records,
    pub(super) workers: Workers,
    pub(super) worker_count: usize,
    pub(super) file: Option<PathBuf>,
    pub(super) from_kernel: bool,
    pub(super) keepalive: Option<Duration>,
    /// Drops of packets that have no association.
    pub(super) dropped: Counters,
    pub(super) events: Events,
    /// The peers that have moved, if peers are followed.
    pub(super) moved: Option<Moved>,
    pub(super) path_mtus: PathMtus,
    pub(super) outer: Outer,
    table: RwLock<Table>,
    opening: Mutex<Vec<Opening>>,
    buffers: Mutex<Vec<Packet>>,
}

/// Counts of what is no packet of an association.
#[derive(Default)]
pub(super) struct Events {
    /// Packets of IKE, which have another port's daemon.
    pub(super) ike: AtomicU64,
    /// Keep-alives that came.
    pub(super) keepalives_in: AtomicU64,
    /// Keep-alives that were sent.
    pub(super) keepalives_out: AtomicU64,
    /// Packets that the kernel did not take, on either side.
    pub(super) refused: AtomicU64,
    /// Packets of the device that stood for several, in this direction.
    pub(super) long_out: AtomicU64,
    /// Packets that were given to it and stand for several.
    pub(super) long_in: AtomicU64,
    /// Times that a peer was found at another address or port.
    pub(super) moves: AtomicU64,
    /// Times that a path was found to be narrower.
    pub(super) path_mtus: AtomicU64,
    /// Messages of ICMP about packets that no association has sent lately.
    pub(super) icmp_ignored: AtomicU64,
    /// Messages of the kernel about something that is not there, or could not be made.
    pub(super) not_followed: AtomicU64,
    /// Times that the service was lost.
    pub(super) service_losses: AtomicU64,
}

/// An association that opens, and its record.
struct Opening {
    sa: Arc<Sa>,
    record: Record,
    /// The number that the record has.
    written: u64,
}

impl Plane {
    pub(super) fn new(tun: Tun, place: Place, records: Records, workers: Workers, options: &Options) -> Self {
        Plane {
            tun,
            place,
            records,
            workers,
            worker_count: options.workers,
            file: options.file.clone(),
            from_kernel: options.from_kernel,
            keepalive: options.keepalive,
            dropped: Counters::default(),
            events: Events::default(),
            moved: options.follows.then(Moved::default),
            path_mtus: PathMtus::new(options.mtu, options.least_path_mtu.unwrap_or(options.mtu)),
            outer: Outer::new(options.most_sockets, options.least_path_mtu.is_some()),
            table: RwLock::new(Table::default()),
            opening: Mutex::new(Vec::new()),
            buffers: Mutex::new(Vec::new()),
        }
    }

    pub(super) fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a buffer for a packet of this length. `own` has buffers of the caller, and gets more of those that all threads share when it has none.
    pub(super) fn buffer(&self, own: &mut Vec<Packet>, len: usize) -> Packet {
        if len > USUAL {
            return Packet::with_room(len);
        }
        if own.is_empty() {
            let mut buffers = lock(&self.buffers);
            let rest = buffers.len().saturating_sub(BATCH);
            own.extend(buffers.drain(rest..));
        }
        own.pop().unwrap_or_else(|| Packet::with_room(USUAL))
    }

    /// Takes buffers back.
    pub(super) fn recycle(&self, packets: impl IntoIterator<Item = Packet>) {
        let mut buffers = lock(&self.buffers);
        for mut packet in packets {
            if buffers.len() < KEPT && packet.room().len() == USUAL {
                buffers.push(packet);
            }
        }
    }

    /// Returns the longest inner packet that fits an association's path.
    pub(super) fn longest(&self, facts: &Description) -> usize {
        let mtu = self.path_mtus.longest(|| self.peer(&Path::of(facts, Direction::Out)).ip());
        longest(mtu, facts.suite, facts.destination, facts.encapsulation.is_some())
    }

    /// Returns the device's MTU: the longest packet that fits all associations.
    pub(super) fn inner_mtu(&self) -> usize {
        let table = self.table();
        let sealing = table.all().filter(|sa| sa.direction() == Direction::Out);
        let least = sealing.map(|sa| self.longest(sa.facts())).min();
        least.unwrap_or(self.path_mtus.outer().saturating_sub(USUAL_OVERHEAD)).max(LEAST_MTU)
    }

    /// Sends packets of an association.
    pub(super) fn send(&self, facts: &Description, packets: &[&[u8]], class: u8) {
        let path = Path::of(facts, Direction::Out);
        let peer = self.peer(&path);
        let sent = self.outer.with(path.local, |socket| socket.send(packets, class, peer));
        let refused = sent.unwrap_or(packets.len());
        if refused > 0 {
            self.events.refused.fetch_add(refused as u64, Ordering::Relaxed);
        }
    }

    /// Returns the address to which packets of a path go.
    pub(super) fn peer(&self, path: &Path) -> SocketAddr {
        self.moved.as_ref().map_or(path.peer, |moved| moved.peer(path))
    }

    /// Notes a router's message that a packet was too big for the path, if it quotes one that an association has sent lately.
    pub(super) fn hear_too_big(&self, message: &TooBig) {
        let sent = path_mtu::quoted(&message.quoted).is_some_and(|(spi, number)| {
            let sends = |sa: &Arc<Sa>| {
                sa.direction() == Direction::Out
                    && sa.facts().spi == spi
                    && self.peer(&Path::of(sa.facts(), Direction::Out)).ip() == message.peer
                    && path_mtu::is_recent(sa.highest(), number)
            };
            self.table().all().any(sends)
        });
        let counter = match sent {
            true if !self.path_mtus.hear(message.peer, message.mtu) => return,
            true => &self.events.path_mtus,
            false => &self.events.icmp_ignored,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes where an authentic packet in UDP came from, if peers are followed.
    pub(super) fn hear(&self, job: &Job) {
        let (Some(moved), Some(from)) = (&self.moved, job.from()) else { return };
        let sa = job.sa();
        let is_newest = || sa.highest() == job.number();
        let path = Path::of(sa.facts(), Direction::In);
        if sa.facts().encapsulation.is_some() && moved.heard(&path, from, is_newest) {
            self.events.moves.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Keeps the record of an association that opens.
    pub(super) fn keep(&self, sa: Arc<Sa>, record: Record) {
        let written = sa.highest();
        lock(&self.opening).push(Opening { sa, record, written });
    }

    /// Writes the records of associations that have opened packets since the last time. Those that nobody else has any more are forgotten.
    ///
    /// # Errors
    /// The system's, of the last record that could not be written.
    pub(super) fn write_records(&self) -> io::Result<()> {
        let mut ended = Ok(());
        lock(&self.opening).retain_mut(|opening| {
            let is_last = Arc::strong_count(&opening.sa) == 1;
            let highest = opening.sa.highest();
            if highest != opening.written {
                match opening.record.write(highest) {
                    Ok(()) => opening.written = highest,
                    Err(error) => ended = Err(error),
                }
            }
            !is_last
        });
        ended
    }

    /// Writes all records as they are, before the process ends. Nothing is sealed any more.
    ///
    /// # Errors
    /// The system's; the next start leaves out the numbers that were reserved.
    pub(super) fn settle(&self) -> io::Result<()> {
        let table = self.table_mut();
        let settled: Vec<io::Result<()>> = table.all().map(|sa| sa.settle()).collect();
        self.write_records()?;
        settled.into_iter().collect()
    }
}

/// Returns the longest inner packet whose outer one has `mtu` bytes at most.
fn longest(mtu: usize, suite: Suite, destination: IpAddr, in_udp: bool) -> usize {
    let outer = if destination.is_ipv4() { 20 } else { 40 } + if in_udp { 8 } else { 0 };
    suite.longest_payload(mtu.saturating_sub(outer))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
