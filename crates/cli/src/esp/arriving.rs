//! A thread that reads packets from an outer socket.

use std::io;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use millstream_esp::{Job, Packet};

use super::plane::{BATCH, Plane};
use super::sockets::{Arrived, Socket};

/// The pause after the socket failed.
const PAUSE: Duration = Duration::from_millis(100);

/// A keep-alive (RFC 3948 §2.3).
pub(super) const KEEPALIVE: [u8; 1] = [0xff];

/// The beginning of a packet of IKE (RFC 3948 §2.2).
const IKE: [u8; 4] = [0; 4];

/// Starts the thread of a socket.
///
/// # Errors
/// The system's.
pub(super) fn start(plane: &Arc<Plane>, socket: Arc<Socket>) -> io::Result<()> {
    let plane = plane.clone();
    thread::Builder::new().name("esp-arriving".to_owned()).spawn(move || carry(&plane, &socket))?;
    Ok(())
}

fn carry(plane: &Arc<Plane>, socket: &Socket) {
    let receiver = plane.clone();
    let mut line = plane.workers.line(move |mut jobs: Vec<Job>| {
        for job in &mut jobs {
            let admitted = job.finish(|sa, flow| receiver.table().admits(sa, flow));
            if admitted.is_err() {
                continue;
            }
            receiver.hear(job);
            if receiver.tun.write(job.packet().data()).is_err() {
                receiver.events.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        receiver.recycle(jobs.into_iter().map(Job::into_packet));
    });
    loop {
        let mut jobs = Vec::with_capacity(BATCH);
        let mut came = 0;
        while came < BATCH {
            let mut packet = plane.buffer();
            match socket.receive(packet.room()) {
                Ok(Some(arrived)) => {
                    packet.set_range(arrived.start, arrived.len);
                    for packet in divide(plane, packet, arrived.each) {
                        came += 1;
                        jobs.extend(begin(plane, packet, &arrived));
                    }
                }
                Ok(None) => {
                    plane.recycle([packet]);
                    break;
                }
                Err(_) => {
                    thread::sleep(PAUSE);
                    break;
                }
            }
        }
        if !jobs.is_empty() {
            line.hand_in(jobs);
        }
        if came < BATCH {
            if socket.wait().is_err() {
                thread::sleep(PAUSE);
            }
            // One that is left would end each wait at once.
            socket.too_big().iter().for_each(|message| plane.hear_too_big(message));
        }
    }
}

/// Parts what was read at once into packets of so many bytes, of which the last one may be shorter. The first stays where it is.
fn divide(plane: &Plane, mut first: Packet, each: usize) -> impl Iterator<Item = Packet> {
    let others = first.data().chunks(each).skip(1).map(|data| {
        let mut packet = plane.buffer();
        packet.room()[..data.len()].copy_from_slice(data);
        packet.set_len(data.len());
        packet
    });
    let others: Vec<Packet> = others.collect();
    first.cut(each.min(first.data().len()));
    iter::once(first).chain(others)
}

/// Finds the association of a packet, and begins to open it.
fn begin(plane: &Plane, packet: Packet, arrived: &Arrived) -> Option<Job> {
    let data = packet.data();
    let event = match data {
        _ if data == KEEPALIVE => Some(&plane.events.keepalives_in),
        _ if data.starts_with(&IKE) => Some(&plane.events.ike),
        _ => None,
    };
    if let Some(event) = event {
        event.fetch_add(1, Ordering::Relaxed);
        plane.recycle([packet]);
        return None;
    }
    let table = plane.table();
    match table.for_arrived(packet.data()) {
        Ok(sa) => match Job::open(sa, packet, arrived.class, arrived.from) {
            Ok(job) => return Some(job),
            Err((packet, _)) => plane.recycle([packet]),
        },
        Err(fate) => {
            plane.dropped.drop(fate);
            plane.recycle([packet]);
        }
    }
    None
}
