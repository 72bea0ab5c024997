//! A loop that encrypts packets through a queue: packets come one by one, many are in flight, and results leave as they end.
//!
//! ```console
//! $ cargo run --example packets
//! sealed 5000 packets, 339850 bytes
//! ```

use std::error::Error;

use millstream::cwq::Algorithm;
use millstream::nonce::CounterNonces;
use millstream::queue::{Config, Done, KeyHandle, Queue, Refusal, Request};

/// Bytes of a packet's header, which is authenticated and not encrypted.
const HEADER: usize = 8;

/// Seals packets as they come.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    // A real key is random. The nonces are counted from zero because nobody else uses the key.
    let key = queue.import_key(Algorithm::AesGcm, &[7; 16])?;
    let nonces = CounterNonces::new([0; 4])?;

    let mut sent = Sent::default();
    for number in 0..5000_u64 {
        let packet = vec![number as u8; 36 + (number % 65) as usize];
        submit(&mut queue, key, &nonces, number, &packet, &mut sent)?;
    }
    while let Some(done) = queue.wait() {
        sent.send(&done)?;
    }
    println!("sealed {} packets, {} bytes", sent.packets, sent.bytes);
    Ok(())
}

/// Puts a packet in flight. When the queue or its arena is full, takes results out first.
fn submit(
    queue: &mut Queue,
    key: KeyHandle,
    nonces: &CounterNonces,
    number: u64,
    packet: &[u8],
    sent: &mut Sent,
) -> Result<(), Box<dyn Error>> {
    let (mut source, destination) = loop {
        let buffers = queue.buffer(packet.len()).and_then(|source| Ok((source, queue.buffer(packet.len())?)));
        match buffers {
            Ok(buffers) if queue.in_flight() < queue.depth() => break buffers,
            Ok(_) | Err(Refusal::ArenaFull) => match queue.wait() {
                Some(done) => sent.send(&done)?,
                None => return Err(Refusal::ArenaFull.into()),
            },
            Err(refusal) => return Err(refusal.into()),
        }
    };
    source.copy_from_slice(packet);
    let header: [u8; HEADER] = number.to_be_bytes();
    queue.submit(Request::seal(key, &nonces.next()?, &header, source, destination))?;
    Ok(())
}

/// The way out.
#[derive(Default)]
struct Sent {
    packets: usize,
    bytes: usize,
}

impl Sent {
    /// Sends a sealed packet. Its buffers are free again when the caller drops `done`.
    fn send(&mut self, done: &Done) -> Result<(), millstream::Error> {
        done.check()?;
        let sealed = done.buffers.destination.as_deref().unwrap_or_default();
        self.packets += 1;
        self.bytes += sealed.len();
        Ok(())
    }
}
