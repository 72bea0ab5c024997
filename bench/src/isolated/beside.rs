//! The latency of packets while a private key of the same service signs without pause.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::isolated::{Attach, Exportable};
use millstream::queue::{Queue, Refusal, Request};
use millstream::{Error, SignatureScheme};
use millstream_measure::statistics::{median, quantile};

use super::flow::{Flow, Work};
use super::{Figure, Service, pin};

/// Bytes of the modulus of RSA-4096.
const MODULUS: usize = 512;

/// Packets of a turn.
const PACKETS: usize = 20_000;

/// Measures one AES-CBC of 64 bytes after another, alone and while RSA-4096 signs, in turns. The worker for packets has a processor of
/// its own. The one for private keys shares that of the client, where there are no more: what it takes from the client is seen as well.
pub(super) fn packets(command: &Path, [clients, worker]: [usize; 2], rounds: u32) -> Result<Figure, String> {
    let service = Service::start_with(command, &[worker, clients], None)?;
    let mut signer = Signer::attach(&service).map_err(|error| error.to_string())?;
    let queue = service.attach(64, 1)?.queue().map_err(|e| e.to_string())?;
    let mut flow = Flow::new(queue, Work::Cbc, 64, 1).map_err(|e| e.to_string())?;
    pin(clients);
    flow.latencies_ns(PACKETS)?;
    let (mut alone, mut beside, mut ratios, mut signed) = (vec![], vec![], vec![], 0);
    for _ in 0..rounds {
        let quiet = late(flow.latencies_ns(PACKETS)?);
        let stop = AtomicBool::new(false);
        let (busy, signatures) = std::thread::scope(|scope| {
            let signing = scope.spawn(|| {
                pin(clients);
                signer.sign_until(&stop)
            });
            let busy = flow.latencies_ns(PACKETS);
            stop.store(true, Ordering::Relaxed);
            let signatures = signing.join().map_err(|_| "who signs ended early".to_owned())?;
            Ok::<_, String>((late(busy?), signatures.map_err(|error| error.to_string())?))
        })?;
        signed += signatures;
        ratios.push(busy / quiet);
        alone.push(quiet);
        beside.push(busy);
    }
    if signed == 0 {
        return Err("nothing was signed beside the packets".to_owned());
    }
    let detail =
        format!("beside {:.0} ns, alone {:.0} ns; {signed} signatures", median(beside), median(alone));
    let what = "aes-128-cbc of 64, 99 of 100, beside RSA-4096 over alone".to_owned();
    Ok(Figure { what, value: median(ratios), unit: "times", wish: Some((true, 1.5)), detail })
}

/// Returns the time within which ninety-nine of a hundred end.
fn late(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    quantile(&times, 0.99)
}

/// A client that signs with a key of RSA-4096.
struct Signer {
    queue: Queue,
    key: millstream::queue::KeyHandle,
}

impl Signer {
    fn attach(service: &Service) -> Result<Self, Error> {
        let socket = Some(service.socket.clone());
        let accelerator = Attach { socket, private_keys: true, ..Attach::default() }.attach()?;
        let key = accelerator.generate_key(Algorithm::Rsa, MODULUS, Exportable::No)?;
        Ok(Signer { queue: accelerator.queue()?, key })
    }

    /// Keeps two signatures under way until it is told to stop. Returns how many there were.
    fn sign_until(&mut self, stop: &AtomicBool) -> Result<u64, Error> {
        let (mut under_way, mut signed) = (0, 0);
        loop {
            while under_way < 2 && !stop.load(Ordering::Relaxed) {
                let mut digest = self.queue.buffer(32)?;
                digest.fill(7);
                let place = self.queue.buffer(MODULUS)?;
                let scheme = SignatureScheme::RsaPkcs1 { hash: Some(Hash::Sha256) };
                self.queue.submit(Request::sign_rsa(self.key, scheme, digest, place))?;
                under_way += 1;
            }
            if under_way == 0 {
                return Ok(signed);
            }
            self.queue.wait().ok_or(Refusal::Gone)?.check()?;
            under_way -= 1;
            signed += 1;
        }
    }
}
