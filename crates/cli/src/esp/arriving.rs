//! A thread that reads packets from an outer socket.

use std::io;
use std::mem::replace;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use millstream_esp::{Held, Job, Packet, Table};

use super::plane::{BATCH, Plane};
use super::sockets::{Arrived, Inbox, Socket};
use super::tun::Written;

/// The pause after the socket failed.
const PAUSE: Duration = Duration::from_millis(100);

/// A keep-alive (RFC 3948 §2.3).
pub(super) const KEEPALIVE: [u8; 1] = [0xff];

/// The beginning of a packet of IKE (RFC 3948 §2.2).
const IKE: [u8; 4] = [0; 4];

/// Starts the thread of a socket, which ends with it.
///
/// # Errors
/// The system's.
pub(super) fn start(plane: &Arc<Plane>, socket: Arc<Socket>) -> io::Result<JoinHandle<()>> {
    let plane = plane.clone();
    thread::Builder::new().name("esp-arriving".to_owned()).spawn(move || carry(&plane, &socket))
}

fn carry(plane: &Arc<Plane>, socket: &Socket) {
    let receiver = plane.clone();
    let mut line = plane.workers.line(move |mut jobs: Vec<Job>| {
        let table = receiver.table();
        let opened = jobs.iter_mut().filter_map(|job| {
            job.finish(|sa, flow| table.admits(sa, flow)).ok()?;
            receiver.hear(job);
            Some(job.packet().data())
        });
        let opened: Vec<_> = opened.collect();
        drop(table);
        let Written { refused, long } = receiver.tun.write(&opened);
        receiver.events.refused.fetch_add(refused, Ordering::Relaxed);
        receiver.events.long_in.fetch_add(long, Ordering::Relaxed);
        receiver.recycle(jobs.into_iter().map(Job::into_packet));
    });
    let mut inbox = Inbox::new();
    let (mut jobs, mut own) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    while !socket.is_over() {
        let received = socket.receive(&mut inbox, |packets, arrived| {
            // An empty one is a packet, too. Those that came as one may have a shorter one behind them.
            let none = packets.is_empty().then_some(packets);
            let mut rest = none.into_iter().chain(packets.chunks(arrived.each)).peekable();
            while rest.peek().is_some() {
                // Not while packets are given out, which takes the table, too.
                let (table, mut held) = (plane.table(), None);
                while jobs.len() < BATCH
                    && let Some(data) = rest.next()
                {
                    jobs.extend(begin(plane, (&table, &mut held), &mut own, data, arrived));
                }
                drop(table);
                if jobs.len() == BATCH {
                    line.hand_in(replace(&mut jobs, Vec::with_capacity(BATCH)));
                }
            }
        });
        // The others wait no longer than until the next call finds nothing.
        let is_quiet = !matches!(received, Ok(count) if count > 0);
        if !jobs.is_empty() && (is_quiet || jobs.len() >= BATCH / 2) {
            line.hand_in(replace(&mut jobs, Vec::with_capacity(BATCH)));
        }
        if is_quiet {
            let waited = received.and_then(|_| socket.wait());
            if waited.is_err() {
                thread::sleep(PAUSE);
            }
            // One that is left would end each wait at once.
            if waited.unwrap_or(true) {
                socket.too_big().iter().for_each(|message| plane.hear_too_big(message));
            }
        }
    }
    line.hand_in(jobs);
    line.drain();
}

/// Finds the association of a packet, and begins to open it.
fn begin(
    plane: &Plane,
    (table, last): (&Table, &mut Option<Arc<Held>>),
    own: &mut Vec<Packet>,
    data: &[u8],
    arrived: &Arrived,
) -> Option<Job> {
    let event = match data {
        _ if data == KEEPALIVE => Some(&plane.events.keepalives_in),
        _ if data.starts_with(&IKE) => Some(&plane.events.ike),
        _ => None,
    };
    if let Some(event) = event {
        event.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    let sa = table.for_arrived(data).inspect_err(|fate| plane.dropped.drop(*fate)).ok()?;
    let held = match last {
        Some(held) if Arc::ptr_eq(held.sa(), sa) => held,
        _ => last.insert(Held::new(sa).inspect_err(|fate| sa.counters().drop(*fate)).ok()?),
    };
    let mut packet = plane.buffer(own, data.len());
    packet.room()[..data.len()].copy_from_slice(data);
    packet.set_len(data.len());
    let job = Job::open_held(held, packet, arrived.class, arrived.from);
    job.map_err(|(packet, _)| plane.recycle([packet])).ok()
}
