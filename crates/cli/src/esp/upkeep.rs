//! Everything that time asks for: records, lifetimes, keep-alives, and the service that was lost.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use millstream_esp::{Direction, Place, Sa};

use super::arriving::KEEPALIVE;
use super::plane::Plane;
use super::rebind::rebind;

/// The time between two looks.
const TICK: Duration = Duration::from_millis(100);

/// The ticks between two looks at records and lifetimes.
const TICKS: u32 = 10;

/// Starts the threads: numbers that are reserved ahead don't wait for the rest.
///
/// # Errors
/// The system's.
pub(super) fn start(plane: &Arc<Plane>) -> io::Result<()> {
    let (keeps, reserves) = (plane.clone(), plane.clone());
    thread::Builder::new().name("esp-upkeep".to_owned()).spawn(move || keep_up(&keeps))?;
    thread::Builder::new().name("esp-numbers".to_owned()).spawn(move || reserve_numbers(&reserves))?;
    Ok(())
}

/// Reserves sequence numbers ahead of need, so that no packet waits for the disk. A sender asks for a block when it has used half of the one before.
fn reserve_numbers(plane: &Plane) {
    loop {
        // Nobody waits for the table while the disk is at work.
        let wanting: Vec<Arc<Sa>> = plane.table().all().filter(|sa| sa.wants_numbers()).cloned().collect();
        // A reservation that fails is tried again at the next look, and by the sender at the end of its block.
        wanting.iter().for_each(|sa| drop(sa.reserve_ahead()));
        drop(wanting);
        thread::sleep(TICK);
    }
}

fn keep_up(plane: &Plane) {
    let mut quiet = Quiet::default();
    for tick in 0u32.. {
        thread::sleep(TICK);
        look_at_service(plane);
        if tick.is_multiple_of(TICKS) {
            plane.table().all().for_each(|sa| sa.look_at_clock());
            plane.path_mtus.forget_old(Instant::now());
            // The next second tries again; until then a restart might take a packet twice.
            let _ = plane.write_records();
        }
        if let Some(limit) = plane.keepalive {
            quiet.keep_alive(plane, limit);
        }
    }
}

/// Gets the keys into a service again, after the one that had them has ended.
fn look_at_service(plane: &Plane) {
    let Place::Worker(service) = &plane.place else { return };
    if service.is_lost() {
        if plane.table().all().any(|sa| sa.is_bound()) {
            plane.events.service_losses.fetch_add(1, Ordering::Relaxed);
        }
        plane.table().all().for_each(|sa| sa.unbind());
        if service.reconnect().is_err() {
            return;
        }
    }
    if plane.table().all().any(|sa| !sa.is_bound()) {
        // The upkeep tries again at the next look.
        let _ = rebind(plane);
    }
}

/// The associations in UDP by their SPI and destination: how many packets each has sent, and since when it has sent no more.
#[derive(Default)]
struct Quiet(HashMap<(u32, IpAddr), (u64, Instant)>);

impl Quiet {
    /// Sends a keep-alive for each that was quiet for so long (RFC 3948 §4).
    fn keep_alive(&mut self, plane: &Plane, limit: Duration) {
        let table = plane.table();
        let in_udp =
            table.all().filter(|sa| sa.direction() == Direction::Out && sa.facts().encapsulation.is_some());
        let mut now = HashMap::new();
        for sa in in_udp {
            let packets = sa.counters().packets();
            // Two peers may have chosen the same SPI.
            let key = (sa.facts().spi, sa.facts().destination);
            let (_, mut since) = self
                .0
                .get(&key)
                .copied()
                .filter(|(before, _)| *before == packets)
                .unwrap_or((packets, Instant::now()));
            if since.elapsed() >= limit {
                plane.send(sa.facts(), &[&KEEPALIVE], 0);
                plane.events.keepalives_out.fetch_add(1, Ordering::Relaxed);
                since = Instant::now();
            }
            now.insert(key, (packets, since));
        }
        self.0 = now;
    }
}
