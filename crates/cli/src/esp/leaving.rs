//! The thread that reads inner packets from the device.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use millstream_esp::{Divided, Fate, Flow, Job, Line, Offload, Packet, too_big};

use super::plane::{BATCH, Plane};
use super::tun;

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
    let mut room = vec![0; tun::ROOM];
    let mut packets = Vec::with_capacity(BATCH);
    loop {
        match plane.tun.read(&mut room) {
            Ok(Some((offload, long))) => divide(plane, &mut line, &mut packets, offload, long),
            Ok(None) if packets.is_empty() => {
                if plane.tun.wait().is_err() {
                    thread::sleep(PAUSE);
                }
            }
            Ok(None) => hand_in(plane, &mut line, &mut packets),
            Err(_) => {
                hand_in(plane, &mut line, &mut packets);
                thread::sleep(PAUSE);
            }
        }
    }
}

/// Divides what the device gave into packets, and hands them in whenever a batch of them is there: one that stands for thousands has no
/// more memory than others.
fn divide(plane: &Plane, line: &mut Line, packets: &mut Vec<Packet>, offload: Offload, long: &mut [u8]) {
    let mut divided = match Divided::new(offload, long) {
        Ok(divided) => divided,
        Err(fate) => return plane.dropped.drop(fate),
    };
    if divided.is_long() {
        plane.events.long_out.fetch_add(1, Ordering::Relaxed);
    }
    while let Some(packet) = divided.next(|len| plane.buffer(len)) {
        packets.push(packet);
        if packets.len() == BATCH {
            hand_in(plane, line, packets);
        }
    }
    // The packets of a long one go in one call of the outer side, too.
    if packets.len() >= BATCH / 2 {
        hand_in(plane, line, packets);
    }
}

fn hand_in(plane: &Plane, line: &mut Line, packets: &mut Vec<Packet>) {
    let jobs = begin(plane, packets.drain(..));
    if !jobs.is_empty() {
        line.hand_in(jobs);
    }
}

/// Finds the association of each packet, and begins to seal it. While this goes on no association is removed, and none is settled.
fn begin(plane: &Plane, packets: impl ExactSizeIterator<Item = Packet>) -> Vec<Job> {
    let table = plane.table();
    let mut jobs = Vec::with_capacity(packets.len());
    let mut told = None;
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
        let flow = Flow::read(packet.data());
        if !flow.is_ok_and(|flow| flow.fits(longest)) {
            sa.counters().drop(Fate::TooBig);
            // One answer is enough for the packets of a long one.
            let ends = flow.map(|flow| (flow.source, flow.destination)).ok();
            if told != Some(ends)
                && let Some(message) = too_big(packet.data(), longest)
            {
                // A sender that is not told finds out by itself.
                let _ = plane.tun.write(&[&message]);
                told = Some(ends);
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
