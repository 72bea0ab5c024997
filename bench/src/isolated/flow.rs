//! One way of having operations in flight: a queue, its buffers, and the operations that go through them.

use std::time::Instant;

use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::queue::{Buffer, KeyHandle, Queue, Refused, Request};

/// The operation of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Null,
    Copy,
    Ecb,
    Cbc,
    Ctr,
    Gcm,
    HmacSha256,
    Sha256,
}

impl Work {
    pub const ALL: [Work; 8] =
        [Work::Null, Work::Copy, Work::Ecb, Work::Cbc, Work::Ctr, Work::Gcm, Work::HmacSha256, Work::Sha256];

    pub fn name(self) -> &'static str {
        match self {
            Work::Null => "null",
            Work::Copy => "copy",
            Work::Ecb => "aes-128-ecb",
            Work::Cbc => "aes-128-cbc",
            Work::Ctr => "aes-128-ctr",
            Work::Gcm => "aes-128-gcm",
            Work::HmacSha256 => "hmac-sha256",
            Work::Sha256 => "sha256",
        }
    }

    /// Returns the key's bytes. SoftHSM2 takes none for an HMAC that are fewer than those of the digest.
    pub fn secret(self) -> &'static [u8] {
        if self == Work::HmacSha256 { &[7; 32] } else { &[7; 16] }
    }

    /// Returns the algorithm of the key, if there is one.
    fn key(self) -> Option<Algorithm> {
        match self {
            Work::Null | Work::Copy | Work::Sha256 => None,
            Work::Ecb => Some(Algorithm::AesEcb),
            Work::Cbc => Some(Algorithm::AesCbc),
            Work::Ctr => Some(Algorithm::AesCtr),
            Work::Gcm => Some(Algorithm::AesGcm),
            Work::HmacSha256 => Some(Algorithm::Sha256),
        }
    }

    fn has_output(self) -> bool {
        matches!(self, Work::Copy | Work::Ecb | Work::Cbc | Work::Ctr | Work::Gcm)
    }
}

/// A queue and the operations that are sent through it again and again. Every operation's input is written
/// and its output read, like a packet's.
pub struct Flow {
    queue: Queue,
    work: Work,
    key: Option<KeyHandle>,
    free: Vec<(Option<Buffer>, Option<Buffer>)>,
    data: Vec<u8>,
    out: Vec<u8>,
    depth: usize,
}

impl Flow {
    pub fn new(mut queue: Queue, work: Work, bytes: usize, depth: usize) -> Result<Flow, millstream::Error> {
        let key = match work.key() {
            Some(algorithm) => Some(queue.import_key(algorithm, work.secret())?),
            None => None,
        };
        let mut free = Vec::new();
        for _ in 0..depth {
            let source = if work == Work::Null { None } else { Some(queue.buffer(bytes)?) };
            let destination = if work.has_output() { Some(queue.buffer(bytes)?) } else { None };
            free.push((source, destination));
        }
        let data = (0..bytes).map(|i| (i * 13) as u8).collect();
        Ok(Flow { queue, work, key, free, data, out: vec![0; bytes.max(64)], depth })
    }

    #[inline(always)]
    fn submit(&mut self) -> Result<(), String> {
        if self.work == Work::Null {
            return self.queue.submit(Request::null()).map(drop).map_err(refused);
        }
        let Some((Some(mut source), destination)) = self.free.pop() else {
            return Err("no buffers".to_owned());
        };
        source.copy_from_slice(&self.data);
        let queue = &mut self.queue;
        match (self.work, destination, self.key) {
            (Work::Copy, Some(to), _) => queue.submit(Request::copy(source, to)).map(drop).map_err(refused),
            (Work::Ecb, Some(to), Some(key)) => {
                queue.submit(Request::encrypt(key, &[], source, to)).map(drop).map_err(refused)
            }
            (Work::Cbc | Work::Ctr, Some(to), Some(key)) => {
                queue.submit(Request::encrypt(key, &[3; 16], source, to)).map(drop).map_err(refused)
            }
            (Work::Gcm, Some(to), Some(key)) => {
                queue.submit(Request::seal(key, &[3; 12], &[], source, to)).map(drop).map_err(refused)
            }
            (Work::HmacSha256, _, Some(key)) => {
                queue.submit(Request::mac(key, source)).map(drop).map_err(refused)
            }
            (Work::Sha256, ..) => {
                queue.submit(Request::digest(Hash::Sha256, source)).map(drop).map_err(refused)
            }
            _ => Err("a work without its buffers".to_owned()),
        }
    }

    /// Takes one completed operation, and reads its output.
    #[inline(always)]
    fn finish(&mut self) -> Result<(), String> {
        let Some(done) = self.queue.wait() else { return Err("nothing was in flight".to_owned()) };
        if let Err(status) = done.result {
            return Err(status.to_string());
        }
        if self.work == Work::Null {
            return Ok(());
        }
        match &done.buffers.destination {
            Some(buffer) => self.out[..buffer.len()].copy_from_slice(buffer),
            None => self.out[..done.tag().len()].copy_from_slice(done.tag()),
        }
        self.free.push((done.buffers.source, done.buffers.destination));
        Ok(())
    }

    /// Returns the nanoseconds of an operation, measured over so many.
    pub fn ns(&mut self, operations: usize) -> Result<f64, String> {
        let begin = Instant::now();
        let (mut submitted, mut finished) = (0, 0);
        while finished < operations {
            while submitted < operations && submitted - finished < self.depth {
                self.submit()?;
                submitted += 1;
            }
            self.finish()?;
            finished += 1;
        }
        let ns = begin.elapsed().as_nanos() as f64 / operations as f64;
        std::hint::black_box(&self.out);
        Ok(ns)
    }

    /// Returns the nanoseconds of single operations, from submission to completion. The output is not read.
    pub fn single_ns(&mut self, operations: usize) -> Result<f64, String> {
        let begin = Instant::now();
        self.singly(operations, || ())?;
        Ok(begin.elapsed().as_nanos() as f64 / operations as f64)
    }

    /// Returns the nanoseconds of each of so many single operations.
    pub fn latencies_ns(&mut self, operations: usize) -> Result<Vec<f64>, String> {
        let (mut times, mut last) = (Vec::with_capacity(operations), Instant::now());
        self.singly(operations, || {
            let now = Instant::now();
            times.push(now.duration_since(last).as_nanos() as f64);
            last = now;
        })?;
        Ok(times)
    }

    /// Executes one operation after another, and calls `done_one` after each.
    #[inline(always)]
    fn singly(&mut self, operations: usize, mut done_one: impl FnMut()) -> Result<(), String> {
        let (mut source, mut destination) = self.free.pop().ok_or("no buffers")?;
        let key = self.key.ok_or("no key")?;
        for _ in 0..operations {
            let (Some(from), Some(to)) = (source.take(), destination.take()) else {
                return Err("no buffers".into());
            };
            let request = Request::encrypt(key, &[3; 16], from, to);
            self.queue.submit(request).map_err(|refused| refused.to_string())?;
            let done = self.queue.wait().ok_or("nothing was in flight")?;
            done.result.map_err(|status| status.to_string())?;
            (source, destination) = (done.buffers.source, done.buffers.destination);
            done_one();
        }
        self.free.push((source, destination));
        Ok(())
    }

    /// Returns the result of an operation, to be compared.
    pub fn result(&mut self) -> Result<Vec<u8>, String> {
        self.out.fill(0);
        self.submit()?;
        self.finish()?;
        Ok(self.out.clone())
    }

    /// Removes the key.
    pub fn end(mut self) {
        if let Some(key) = self.key {
            self.queue.remove_key(key);
        }
    }
}

#[cold]
fn refused(refused: Refused) -> String {
    refused.to_string()
}
