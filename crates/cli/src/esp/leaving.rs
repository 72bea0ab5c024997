//! The thread that reads inner packets from the device.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use millstream_esp::{Divided, Fate, Flow, Held, Job, Line, Packet, Table, too_big};

use super::plane::{BATCH, Plane};
use super::sockets::MOST_BYTES;
use super::tun;

/// The pause after the device failed, as while it is down.
const PAUSE: Duration = Duration::from_millis(100);

/// The most bytes that ESP puts around a packet: SPI and number, a vector, padding and its trailer, a tag.
const MOST_AROUND: usize = 8 + 16 + 17 + 32;

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
    let (mut packets, mut own) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    loop {
        match plane.tun.read(&mut room) {
            Ok(Some((offload, long))) => match Divided::new(offload, long) {
                Ok(divided) => divide(plane, &mut line, (&mut packets, &mut own), divided),
                Err(fate) => plane.dropped.drop(fate),
            },
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
fn divide(
    plane: &Plane,
    line: &mut Line,
    (packets, own): (&mut Vec<Packet>, &mut Vec<Packet>),
    mut divided: Divided<'_>,
) {
    if divided.is_long() {
        plane.events.long_out.fetch_add(1, Ordering::Relaxed);
    }
    while let Some(packet) = divided.next(|len| plane.buffer(own, len)) {
        let len = packet.data().len();
        packets.push(packet);
        if packets.len() >= fills_a_call(len) {
            hand_in(plane, line, packets);
        }
    }
    // Few that are left of a long one go with the next, if that is there already: a call for them alone costs as much as one for many.
    if packets.len() >= BATCH / 2 {
        hand_in(plane, line, packets);
    }
}

/// Returns how many packets of this length the outer side takes in one call.
fn fills_a_call(len: usize) -> usize {
    (MOST_BYTES / (len + MOST_AROUND)).clamp(1, BATCH)
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
    let (mut told, mut last) = (None, None);
    for packet in packets {
        let found = find(plane, &table, &mut last, packet.data());
        let Some((flow, Way { held, longest, .. })) = found else {
            plane.recycle([packet]);
            continue;
        };
        if !flow.fits(*longest) {
            held.sa().counters().drop(Fate::TooBig);
            // One answer is enough for the packets of a long one.
            let ends = (flow.source, flow.destination);
            if told != Some(ends)
                && let Some(message) = too_big(packet.data(), *longest)
            {
                // A sender that is not told finds out by itself.
                let _ = plane.tun.write(&[&message]);
                told = Some(ends);
            }
            plane.recycle([packet]);
            continue;
        }
        match Job::seal_held(held, packet) {
            Ok(job) => jobs.push(job),
            Err((packet, _)) => plane.recycle([packet]),
        }
    }
    jobs
}

/// The association for packets of a flow, and the longest of them that fits.
struct Way {
    flow: Flow,
    held: Arc<Held>,
    longest: usize,
}

/// Finds the association of a packet: mostly the one of the packet before, since the packets of a batch are a stretch of one stream. A packet
/// without one is counted.
fn find<'l>(
    plane: &Plane,
    table: &Table,
    last: &'l mut Option<Way>,
    packet: &[u8],
) -> Option<(Flow, &'l Way)> {
    let flow = Flow::read(packet).inspect_err(|fate| plane.dropped.drop(*fate)).ok()?;
    let goes_on = |way: &Way| flow.is_beside(&way.flow) && !way.held.sa().is_over();
    if !last.as_ref().is_some_and(goes_on) {
        let sa = table.for_flow(&flow).inspect_err(|fate| plane.dropped.drop(*fate)).ok()?;
        let held = Held::new(sa).inspect_err(|fate| sa.counters().drop(*fate)).ok()?;
        *last = Some(Way { flow, held, longest: plane.longest(sa.facts()) });
    }
    Some((flow, last.as_ref()?))
}
