//! The computation of many packets at a time: each pass goes over all of them in one batch, side by side in lanes.
//!
//! Ref. RFC 4303 §2.2.1 and §2.8: with extended numbers an HMAC also covers the upper half, which is not sent.

use crate::description::Direction;
use crate::fate::Fate;
use crate::job::Job;
use crate::keys::Bound;
use crate::place::{Computer, Place};
use crate::suite::{Cipher, HEADER};
use crate::task::{Kind, Short, Task, run_here};

/// Computes packets on one thread, where the keys are: it has a queue of its own if that is in a worker.
pub struct Lane(Computer);

impl Lane {
    /// Makes one for the thread that calls it.
    pub fn new(place: &Place) -> Self {
        Lane(place.computer())
    }

    /// Seals and opens packets of any associations. Each has its result; one that fails concerns no other, and its bytes are never
    /// given out.
    pub fn run(&mut self, jobs: &mut [Job]) {
        self.draw_vectors(jobs);
        for pass in [Pass::Verify, Pass::Cipher, Pass::Authenticate] {
            self.pass(jobs, pass);
        }
    }

    /// Draws the vectors of CBC, which nobody may be able to foretell (RFC 3602 §3).
    fn draw_vectors(&mut self, jobs: &mut [Job]) {
        let draws = |job: &Job| is_out(job) && !job.sa().suite().needs_unique_vectors();
        let count = jobs.iter().filter(|job| draws(job)).count();
        if count == 0 {
            return;
        }
        let mut random = vec![[0u8; 16]; count];
        let drawn = millstream::random(random.as_flattened_mut());
        for (job, vector) in jobs.iter_mut().filter(|job| draws(job)).zip(&random) {
            let len = job.sa().suite().iv_len();
            job.packet.data_mut()[HEADER..HEADER + len].copy_from_slice(&vector[..len]);
            if drawn.is_err() {
                job.result = Err(Fate::Engine);
            }
        }
    }

    /// Runs one operation for each packet that has one in this pass.
    fn pass(&mut self, jobs: &mut [Job], pass: Pass) {
        let is_here = matches!(self.0, Computer::Here);
        let (mut which, mut tasks, mut grants) = (Vec::new(), Vec::new(), Vec::new());
        for (i, job) in jobs.iter_mut().enumerate().filter(|(_, job)| job.result.is_ok()) {
            if is_here && pass.gains_nothing(job) {
                pass.alone(job);
                continue;
            }
            let grant = job.held.keys.grant();
            if let Some(task) = pass.task(job) {
                tasks.push(task);
                grants.push(grant);
                which.push(i);
            }
        }
        if tasks.is_empty() {
            return;
        }
        self.0.run(&mut tasks, &grants);
        let results: Vec<_> =
            tasks.iter().map(|task| (task.result, task.makes_tag().then_some(task.tag))).collect();
        drop(tasks);
        for (i, (result, tag)) in which.into_iter().zip(results) {
            jobs[i].result = result;
            pass.end(&mut jobs[i], tag);
        }
    }
}

/// One pass over all packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Compares the HMACs of what has arrived.
    Verify,
    /// Encrypts and decrypts; an AEAD's whole work.
    Cipher,
    /// Makes the HMACs of what leaves.
    Authenticate,
}

impl Pass {
    /// Returns a packet's operation in this pass, if it has one.
    fn task(self, job: &mut Job) -> Option<Task<'_>> {
        match (self, job.sa().suite().auth().is_some(), is_out(job)) {
            (Pass::Verify, true, false) => verification(job),
            (Pass::Cipher, chained, out) => Some(ciphering(job, chained, out)),
            (Pass::Authenticate, true, true) => authentication(job),
            _ => None,
        }
    }

    /// Returns true for a packet that lanes compute no faster than the cipher does alone: putting it beside others costs more than that gains.
    fn gains_nothing(self, job: &Job) -> bool {
        self == Pass::Cipher && job.sa().suite().cipher() == Cipher::AesGcm
    }

    /// Computes a packet whose key is in this process, by itself.
    fn alone(self, job: &mut Job) {
        let Some(mut task) = self.task(job) else { return };
        run_here(std::slice::from_mut(&mut task));
        let (result, tag) = (task.result, task.makes_tag().then_some(task.tag));
        job.result = result;
        self.end(job, tag);
    }

    /// Puts a computed tag behind its packet.
    fn end(self, job: &mut Job, tag: Option<Short>) {
        if self == Pass::Authenticate && job.sa().facts().extended {
            let len = job.packet.data().len() - UPPER;
            job.packet.keep(0, len);
        }
        if let Some(tag) = tag.filter(|_| job.result.is_ok()) {
            let tag = tag.as_slice();
            job.packet.grow_back(tag.len());
            let at = job.packet.data().len() - tag.len();
            job.packet.data_mut()[at..].copy_from_slice(tag);
        }
    }
}

/// Bytes of the upper half of a number.
const UPPER: usize = 4;

fn is_out(job: &Job) -> bool {
    job.sa().direction() == Direction::Out
}

fn ciphering(job: &mut Job, chained: bool, out: bool) -> Task<'_> {
    let suite = job.sa().suite();
    let (iv, aad) = (job.nonce(), if chained { Short::default() } else { job.aad() });
    let start = HEADER + suite.iv_len();
    let Job { held, packet, .. } = job;
    let data = packet.data_mut();
    let end = if out { data.len() } else { data.len() - suite.tag_len() };
    let (data, tag) = data.split_at_mut(end);
    let (kind, tag) = match (chained, out) {
        (false, true) => (Kind::Seal, Short::default()),
        (false, false) => (Kind::Open, Short::of(&[tag])),
        (true, true) => (Kind::Encrypt, Short::default()),
        (true, false) => (Kind::Decrypt, Short::default()),
    };
    let (key, data) = (&held.keys.cipher, &mut data[start..]);
    Task { kind, key, iv, aad, data, tag, tag_len: suite.tag_len(), result: Ok(()) }
}

fn authentication(job: &mut Job) -> Option<Task<'_>> {
    let (suite, extended, number) = (job.sa().suite(), job.sa().facts().extended, job.number);
    let Job { held, packet, .. } = job;
    if extended {
        let len = packet.data().len();
        packet.grow_back(UPPER);
        packet.data_mut()[len..].copy_from_slice(&upper(number));
    }
    Some(mac(Kind::Mac, held.keys.auth.as_ref()?, packet.data_mut(), Short::default(), suite.tag_len()))
}

fn verification(job: &mut Job) -> Option<Task<'_>> {
    let (suite, extended, number) = (job.sa().suite(), job.sa().facts().extended, job.number);
    let Job { held, packet, .. } = job;
    let data = packet.data_mut();
    let end = data.len() - suite.tag_len();
    let tag = Short::of(&[&data[end..]]);
    let covered = if extended {
        // The tag is known, so its place can hold what it covers behind the packet.
        data[end..end + UPPER].copy_from_slice(&upper(number));
        end + UPPER
    } else {
        end
    };
    Some(mac(Kind::Verify, held.keys.auth.as_ref()?, &mut data[..covered], tag, suite.tag_len()))
}

fn mac<'t>(kind: Kind, key: &'t Bound, data: &'t mut [u8], tag: Short, tag_len: usize) -> Task<'t> {
    Task { kind, key, iv: Short::default(), aad: Short::default(), data, tag, tag_len, result: Ok(()) }
}

fn upper(number: u64) -> [u8; UPPER] {
    ((number >> 32) as u32).to_be_bytes()
}
