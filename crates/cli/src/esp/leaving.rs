//! The thread that reads inner packets from the device.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use millstream_esp::{Fate, Flow, Job, Packet, too_big};

use super::plane::{BATCH, Plane};

/// The pause after the device failed, as while it is down.
const PAUSE: Duration = Duration::from_millis(100);

/// Starts the thread.
///
/// # Errors
/// The system's.
pub(super) fn start(plane: &Arc<Plane>) -> io::Result<()> {
    let plane = plane.clone();
    thread::Builder::new().name("esp-leaving".to_owned()).spawn(move || carry(&plane))?;
    Ok(())
}

fn carry(plane: &Arc<Plane>) {
    let sender = plane.clone();
    let mut line = plane.workers.line(move |mut jobs: Vec<Job>| {
        // Policies have chosen the associations already.
        let sealed = jobs.iter_mut().filter_map(|job| job.finish(|_, _| true).is_ok().then_some(&*job));
        let sealed: Vec<&Job> = sealed.collect();
        for run in
            sealed.chunk_by(|one, next| Arc::ptr_eq(one.sa(), next.sa()) && one.class() == next.class())
        {
            let packets: Vec<&[u8]> = run.iter().map(|job| job.packet().data()).collect();
            sender.send(run[0].sa().facts(), &packets, run[0].class());
        }
        sender.recycle(jobs.into_iter().map(Job::into_packet));
    });
    loop {
        match read(plane) {
            Ok(packets) if packets.is_empty() => {
                if plane.tun.wait().is_err() {
                    thread::sleep(PAUSE);
                }
            }
            Ok(packets) => line.hand_in(begin(plane, packets)),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Reads the packets that are there, up to a batch.
fn read(plane: &Plane) -> io::Result<Vec<Packet>> {
    let mut packets = Vec::with_capacity(BATCH);
    while packets.len() < BATCH {
        let mut packet = plane.buffer();
        match plane.tun.read(packet.room()) {
            Ok(Some(len)) => {
                packet.set_len(len);
                packets.push(packet);
            }
            Ok(None) => break,
            Err(error) if packets.is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    Ok(packets)
}

/// Finds the association of each packet, and begins to seal it. While this goes on no association is removed, and none is settled.
fn begin(plane: &Plane, packets: Vec<Packet>) -> Vec<Job> {
    let table = plane.table();
    let mut jobs = Vec::with_capacity(packets.len());
    for packet in packets {
        let sa = match table.for_leaving(packet.data()) {
            Ok(sa) => sa,
            Err(fate) => {
                plane.dropped.drop(fate);
                plane.recycle([packet]);
                continue;
            }
        };
        let longest = plane.longest(sa.facts());
        if !Flow::read(packet.data()).is_ok_and(|flow| flow.fits(longest)) {
            sa.counters().drop(Fate::TooBig);
            if let Some(message) = too_big(packet.data(), longest) {
                // A sender that is not told finds out by itself.
                let _ = plane.tun.write(&message);
            }
            plane.recycle([packet]);
            continue;
        }
        match Job::seal(sa, packet) {
            Ok(job) => jobs.push(job),
            Err((packet, _)) => plane.recycle([packet]),
        }
    }
    jobs
}
