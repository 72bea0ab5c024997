//! A worker on a thread: a real accelerator over shared memory, for one grant.
//!
//! # Safety
//! The arena is a mapping that the value keeps, and is reached by copies only.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use millstream::Features;
use millstream::cwq::Algorithm;
use millstream::cwq::ring::SLEEP_WORD;
use millstream_accelerator::{self as unit, Arena, ExportError, FlushPolicy, Handle, InsertError};
use millstream_protocol::{Grant, KeyRefusal, KeyReply, KeyRequest, Message, Secret};
use millstream_shm::{self as shm, Doorbell, Mapping, Socket, Words};

use crate::orders::Orders;

struct SharedArena(Arc<Mapping>);

// SAFETY: the mapping lives as long as the value.
unsafe impl Arena for SharedArena {
    fn base(&self) -> NonNull<u8> {
        self.0.base()
    }

    fn len(&self) -> u32 {
        self.0.len() as u32
    }

    fn exclusive(&self) -> bool {
        false
    }
}

/// A worker with one grant.
pub(crate) struct Worker {
    accelerator: unit::Accelerator<SharedArena, Words>,
    grant: unit::GrantId,
    queues: Vec<(unit::QueueId, Words)>,
    doorbell: Doorbell,
    keys: Socket,
    orders: Arc<Orders>,
}

impl Worker {
    pub(crate) fn new(
        terms: &Grant,
        arena: Arc<Mapping>,
        submissions: Vec<Words>,
        completions: Vec<Words>,
        doorbell: Doorbell,
        keys: Socket,
        orders: Arc<Orders>,
    ) -> Self {
        let features = Features::active().unwrap();
        let mut accelerator = unit::Accelerator::new(features, FlushPolicy::default());
        accelerator.seed(&[7; 32]);
        let grant = accelerator.add_grant(SharedArena(arena), terms.key_slots as usize);
        let queues = submissions.into_iter().zip(completions).map(|(submissions, completions)| {
            let queue = accelerator.add_queue(grant, submissions, completions.clone(), 1).unwrap();
            (queue, completions)
        });
        let queues = queues.collect();
        Worker { accelerator, grant, queues, doorbell, keys, orders }
    }

    pub(crate) fn run(mut self) {
        let (told, mut idle) = (self.orders.clone(), 0_u32);
        while !told.die.load(Ordering::Acquire) {
            told.turns.fetch_add(1, Ordering::AcqRel);
            if told.revoke.load(Ordering::Acquire) {
                self.accelerator.remove_grant(self.grant);
                break;
            }
            let stalled = told.stall.load(Ordering::Acquire);
            let ended = if stalled { 0 } else { self.accelerator.step(0) };
            told.taken.fetch_add(ended as u32, Ordering::Relaxed);
            self.wake();
            if told.finish.load(Ordering::Acquire) {
                break;
            }
            idle = if ended > 0 { 0 } else { idle.saturating_add(1) };
            if idle.is_multiple_of(64) && !told.deaf.load(Ordering::Acquire) {
                self.serve_keys();
            }
            if idle > 2000 {
                self.sleep(stalled);
            }
        }
        if told.hold.load(Ordering::Acquire) {
            std::mem::forget(self.keys);
        }
    }

    fn wake(&mut self) {
        let queues = &self.queues;
        self.accelerator.wake_clients(|queue| {
            for (_, words) in queues.iter().filter(|(of, _)| *of == queue) {
                shm::sleep::wake(&words[SLEEP_WORD]);
            }
        });
    }

    fn sleep(&mut self, stalled: bool) {
        if stalled {
            thread::sleep(Duration::from_millis(1));
            return;
        }
        if self.accelerator.sleep() {
            self.orders.sleeps.fetch_add(1, Ordering::Relaxed);
            let mut polled = [
                rustix::event::PollFd::new(&self.doorbell, rustix::event::PollFlags::IN),
                rustix::event::PollFd::new(&self.keys, rustix::event::PollFlags::IN),
            ];
            let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            let _ = rustix::event::poll(&mut polled, Some(&limit));
            let _ = rustix::io::read(&self.doorbell, &mut [0; 8]);
            self.accelerator.wake();
        }
    }

    fn serve_keys(&mut self) {
        while let Ok(Some(message)) = self.keys.try_receive() {
            let reply = match KeyRequest::decode(&message.bytes) {
                Ok(KeyRequest::Discard { handle }) => {
                    self.accelerator.remove_key(self.grant, Handle::from_bits(handle));
                    continue;
                }
                Ok(request) => self.answer(request),
                Err(_) => KeyReply::Refused { why: KeyRefusal::Message },
            };
            let _ = self.keys.try_send(&reply.encode(), &[]);
        }
    }

    fn answer(&mut self, request: KeyRequest) -> KeyReply {
        let why = match request {
            KeyRequest::Import { algorithm, exportable, bytes, .. } => {
                match self.insert(algorithm, bytes.expose(), exportable) {
                    Ok(handle) => return KeyReply::Key { handle: handle.to_bits() },
                    Err(why) => why,
                }
            }
            KeyRequest::Generate { algorithm, exportable, len, .. } => {
                let bytes = millstream_testkit::Random::new(99).bytes(usize::from(len));
                match self.insert(algorithm, &bytes, exportable) {
                    Ok(handle) => return KeyReply::Key { handle: handle.to_bits() },
                    Err(why) => why,
                }
            }
            KeyRequest::Export { handle } => {
                match self.accelerator.export_key(self.grant, Handle::from_bits(handle)) {
                    Ok(bytes) => return KeyReply::Exported { bytes: Secret::new(&bytes) },
                    Err(ExportError::NoKey) => KeyRefusal::NoSuchKey,
                    Err(_) => KeyRefusal::NotExportable,
                }
            }
            KeyRequest::Destroy { handle } => {
                if self.accelerator.remove_key(self.grant, Handle::from_bits(handle)) {
                    return KeyReply::Destroyed {};
                }
                KeyRefusal::NoSuchKey
            }
            _ => KeyRefusal::Message,
        };
        KeyReply::Refused { why }
    }

    fn insert(&mut self, algorithm: u8, bytes: &[u8], exportable: bool) -> Result<Handle, KeyRefusal> {
        let algorithm = Algorithm::from_code(algorithm).ok_or(KeyRefusal::Algorithm)?;
        self.accelerator.insert_raw_key(self.grant, algorithm, bytes, exportable).map_err(|error| match error
        {
            InsertError::SlotsFull => KeyRefusal::SlotsFull,
            InsertError::Policy(_) => KeyRefusal::Policy,
            _ => KeyRefusal::KeyLength,
        })
    }
}
