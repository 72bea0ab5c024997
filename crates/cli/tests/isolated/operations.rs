//! Operations with known results.

use millstream::cwq::{Algorithm, Status};
use millstream::isolated::Accelerator;
use millstream::modes::BlockMode;
use millstream::queue::{Buffer, Done, KeyHandle, Queue, Refusal, Request};
use millstream::{InOut, aes, features};

pub const KEY: [u8; 16] = *b"a key of a test!";
pub const IV: [u8; 16] = [3; 16];

/// A client that encrypts packets and knows the right result of each.
pub struct Client {
    pub accelerator: Accelerator,
    pub queue: Queue,
    pub key: KeyHandle,
    cbc: aes::Cbc,
    sent: u64,
}

/// The ends of operations.
#[derive(Debug, Default)]
pub struct Ends {
    pub good: usize,
    pub revoked: usize,
    pub gone: usize,
    pub other: Vec<Status>,
}

impl Client {
    pub fn new(accelerator: Accelerator) -> Client {
        let mut queue = accelerator.queue().unwrap();
        let key = queue.import_key(Algorithm::AesCbc, &KEY).unwrap();
        let cbc = aes::Cbc::new(features().unwrap(), &KEY).unwrap();
        Client { accelerator, queue, key, cbc, sent: 0 }
    }

    /// Puts one packet of that many bytes in flight.
    pub fn send(&mut self, bytes: usize) -> Result<(), Refusal> {
        let mut source = self.queue.buffer(bytes)?;
        self.sent += 1;
        fill(&mut source, self.sent);
        let destination = self.queue.buffer(bytes)?;
        match self.queue.submit(Request::encrypt(self.key, &IV, source, destination)) {
            Ok(_) => Ok(()),
            Err(refused) => Err(refused.why),
        }
    }

    /// Checks an end: a good one has the right output, and the input is always intact.
    pub fn check(&self, done: &Done, ends: &mut Ends) {
        let source = done.buffers.source.as_ref().expect("the input comes back");
        let number = u64::from_le_bytes(source[..8].try_into().unwrap());
        let mut expected = vec![0; source.len()];
        pattern(&mut expected, number);
        assert!(number > 0 && **source == *expected, "the input is intact");
        match done.result {
            Ok(()) => {
                let mut out = vec![0; source.len()];
                let pass = InOut::separate(source, &mut out).unwrap();
                self.cbc.encrypt(&mut IV.clone(), pass);
                assert_eq!(**done.buffers.destination.as_ref().unwrap(), *out, "packet {number}");
                ends.good += 1;
            }
            Err(Status::Revoked) => ends.revoked += 1,
            Err(Status::Gone) => ends.gone += 1,
            Err(other) => ends.other.push(other),
        }
    }

    /// Takes one end, if one has come.
    pub fn poll(&mut self, ends: &mut Ends) -> bool {
        match self.queue.poll() {
            Some(done) => {
                self.check(&done, ends);
                true
            }
            None => false,
        }
    }

    /// Takes all ends.
    pub fn finish(&mut self) -> Ends {
        let mut ends = Ends::default();
        while let Some(done) = self.queue.wait() {
            self.check(&done, &mut ends);
        }
        assert_eq!(self.queue.in_flight(), 0);
        ends
    }

    /// Sends packets and takes ends for a while.
    pub fn stream(
        &mut self,
        packets: usize,
        mut between: impl FnMut(usize),
    ) -> Result<Ends, (Refusal, Ends)> {
        let mut ends = Ends::default();
        for i in 0..packets {
            between(i);
            while self.queue.in_flight() == self.queue.depth() {
                if !self.poll(&mut ends) {
                    std::hint::spin_loop();
                }
            }
            if let Err(why) = self.send(16 * (1 + i % 60)) {
                return Err((why, ends));
            }
            self.poll(&mut ends);
        }
        while self.queue.in_flight() > 0 {
            if !self.poll(&mut ends) {
                std::hint::spin_loop();
            }
        }
        Ok(ends)
    }
}

fn fill(buffer: &mut Buffer, number: u64) {
    pattern(buffer, number);
}

/// Fills in the number, and bytes that follow from it.
fn pattern(bytes: &mut [u8], number: u64) {
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (number as usize * 31 + i * 7) as u8;
    }
    bytes[..8].copy_from_slice(&number.to_le_bytes());
}
