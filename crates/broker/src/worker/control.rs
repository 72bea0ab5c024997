//! The control thread: it obeys the broker, and answers clients about keys.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use millstream_accelerator::{GrantId, KeySlots, MovedQueue, QueueId, SharedKeyMemory};
use millstream_cpu::Features;
use millstream_cwq::AlgorithmSet;
use millstream_protocol::{Grant, Message, Order, QueueCounts, Report};
use millstream_shm::{Doorbell, Mapping, Received, Socket};
use rustix::event::epoll;
use zeroize::Zeroizing;

use super::Error;
use super::grant::{Parts, Refused, config};
use super::handover::{Moved, counts_of};
use super::keys::Desk;
use super::mailbox::{End, Mailbox};
use super::serving::{Bells, listen};

/// The number of the control socket among those of grants.
const BROKER: u64 = u64::MAX;

/// How many requests of one client are answered before the next client's.
const REQUESTS: usize = 16;

/// A grant that is served here.
struct Held {
    grant: Grant,
    id: GrantId,
    queues: Vec<QueueId>,
    doorbell: Doorbell,
    /// None when the client has closed it, or was too slow to take answers.
    keys: Option<Socket>,
    /// Unmapped here, after the accelerator has let go.
    _mappings: [Arc<Mapping>; 2],
}

/// What goes on after an order.
enum Next {
    Order,
    End(End),
}

/// What the control thread has.
pub(super) struct Control {
    pub(super) broker: Socket,
    pub(super) mailbox: Arc<Mailbox>,
    /// Where the accelerator's thread sleeps.
    pub(super) doorbells: Arc<OwnedFd>,
    pub(super) features: Features,
    pub(super) memory: SharedKeyMemory,
    epoll: OwnedFd,
    grants: BTreeMap<u64, Held>,
}

impl Control {
    pub(super) fn new(
        broker: Socket,
        mailbox: Arc<Mailbox>,
        doorbells: Arc<OwnedFd>,
        features: Features,
        memory: SharedKeyMemory,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let number = epoll::EventData::new_u64(BROKER);
        epoll::add(&epoll, &broker, number, epoll::EventFlags::IN)?;
        Ok(Control { broker, mailbox, doorbells, features, memory, epoll, grants: BTreeMap::new() })
    }

    /// Obeys and answers until the end is ordered or the broker is gone.
    pub(super) fn run(&mut self) -> Result<End, Error> {
        let mut events = Vec::with_capacity(32);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::Wait(error.into())),
            }
            for event in &events {
                // What is packed is copied first.
                let data = event.data;
                match data.u64() {
                    BROKER => {
                        if let Next::End(end) = self.hear()? {
                            return Ok(end);
                        }
                    }
                    grant => self.attend(grant),
                }
            }
        }
    }

    /// Tells the broker.
    pub(super) fn report(&self, report: &Report) -> Result<(), Error> {
        self.broker.send(&report.encode(), &[]).map_err(Error::Broker)
    }

    /// Obeys one order and reports.
    fn hear(&mut self) -> Result<Next, Error> {
        let received = match self.broker.try_receive() {
            Ok(Some(received)) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Next::Order),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.report(&failed(&Refused::Received(error)))?;
                return Ok(Next::Order);
            }
            // The broker is gone.
            Ok(None) | Err(_) => return Ok(Next::End(End::Now)),
        };
        let report = match self.obey(received) {
            Ok(Next::Order) => Report::Done {},
            Ok(end) => return Ok(end),
            Err(refused) => failed(&refused),
        };
        // A broker that is gone is seen with the next order.
        let _ = self.report(&report);
        Ok(Next::Order)
    }

    fn obey(&mut self, received: Received) -> Result<Next, Refused> {
        let Received { bytes, descriptors } = received;
        match Order::decode(&bytes).map_err(Refused::Message)? {
            Order::Serve { grant } => self.serve(grant, descriptors)?,
            Order::Drop { grant } => self.drop_grant(grant)?,
            Order::Limit { grant, weight, algorithms } => self.limit(grant, weight, algorithms)?,
            Order::Release { grant } => self.release(grant, descriptors)?,
            Order::Adopt { grant } => self.adopt(grant, descriptors)?,
            Order::Count {} => self.count()?,
            Order::Stop {} => return Ok(Next::End(End::Finish)),
            _ => return Err(Refused::Message(millstream_protocol::Error::Value)),
        }
        Ok(Next::Order)
    }

    fn serve(&mut self, grant: Grant, descriptors: Vec<OwnedFd>) -> Result<(), Refused> {
        let queue = MovedQueue { weight: grant.weight, ..MovedQueue::default() };
        let queues = vec![queue; grant.queues.min(1024) as usize];
        let keys = KeySlots::with_memory(grant.key_slots as usize, Some(self.memory.clone()));
        let mut parts = self.parts(grant, descriptors)?;
        let socket = parts.socket.take();
        self.begin(parts, queues, keys, Bells::default(), socket)
    }

    /// Takes a grant that another worker hands over.
    fn adopt(&mut self, grant: Grant, descriptors: Vec<OwnedFd>) -> Result<(), Refused> {
        let mut parts = self.parts(grant, descriptors)?;
        let from = parts.socket.take().ok_or(Refused::Descriptors { given: 4, needed: 5 })?;
        let Grant { queues, weight, key_slots, .. } = parts.grant;
        let moved = Moved::receive(&from, queues as usize, weight, key_slots as usize)?;
        let keys =
            KeySlots::from_moved(self.features, key_slots as usize, Some(self.memory.clone()), moved.slots);
        self.begin(parts, moved.queues, keys.map_err(Refused::Keys)?, moved.bells, moved.keys)
    }

    fn parts(&self, grant: Grant, descriptors: Vec<OwnedFd>) -> Result<Parts, Refused> {
        if self.grants.contains_key(&grant.id) {
            return Err(Refused::Known(grant.id));
        }
        Parts::new(grant, descriptors)
    }

    /// Has the accelerator go on with a grant's queues, and listens to its client.
    fn begin(
        &mut self,
        parts: Parts,
        moved: Vec<MovedQueue>,
        slots: KeySlots,
        bells: Bells,
        keys: Option<Socket>,
    ) -> Result<(), Refused> {
        let Parts { grant, arena, queues, doorbell, mappings, .. } = parts;
        let (number, config) = (grant.id, config(&grant, &self.memory));
        let adopted = self.mailbox.ask(move |serving| {
            let (rings, sleepers): (Vec<_>, Vec<_>) = queues
                .into_iter()
                .map(|queue| ((queue.submissions, queue.completions), queue.sleeper))
                .unzip();
            let rings = rings.into_iter().zip(moved).map(|((to, from), moved)| (to, from, moved));
            let (id, ids) = serving.accelerator.adopt_grant(arena, config, rings, slots)?;
            for (queue, sleeper) in ids.iter().zip(sleepers) {
                serving.attend(*queue, number, sleeper);
            }
            *serving.bells_mut(number) = bells;
            Ok((id, ids))
        });
        let (id, queues) = adopted.ok_or(Refused::Ended)?.map_err(Refused::Rings)?;
        let held = Held { grant, id, queues, doorbell, keys: None, _mappings: mappings };
        // From here on what fails is undone by dropping it.
        self.grants.insert(number, held);
        let listening = self.listen_to(number, keys);
        if listening.is_err() {
            self.drop_grant(number)?;
        }
        listening
    }

    /// Listens to a grant's doorbell and key socket. A client that rang meanwhile is heard at once.
    fn listen_to(&mut self, number: u64, keys: Option<Socket>) -> Result<(), Refused> {
        let held = self.grants.get_mut(&number).ok_or(Refused::Unknown(number))?;
        listen(&self.doorbells, &held.doorbell, number).map_err(Refused::Doorbell)?;
        if let Some(keys) = keys {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&self.epoll, &keys, data, epoll::EventFlags::IN)
                .map_err(|error| Refused::KeySocket(error.into()))?;
            held.keys = Some(keys);
        }
        Ok(())
    }

    /// Takes a grant out of all but the accelerator. Its descriptors are others' too, so they are taken out of the
    /// epolls by name: closing them here would not do it.
    fn forget(&mut self, number: u64) -> Result<Held, Refused> {
        let held = self.grants.remove(&number).ok_or(Refused::Unknown(number))?;
        // Where it is not there, nothing is lost.
        let _ = epoll::delete(&self.doorbells, &held.doorbell);
        if let Some(keys) = &held.keys {
            let _ = epoll::delete(&self.epoll, keys);
        }
        Ok(held)
    }

    fn drop_grant(&mut self, number: u64) -> Result<(), Refused> {
        let held = self.forget(number)?;
        let id = held.id;
        let dropped = self.mailbox.ask(move |serving| {
            serving.accelerator.remove_grant(id);
            serving.leave(number);
        });
        dropped.ok_or(Refused::Ended)
    }

    fn limit(&mut self, number: u64, weight: u32, algorithms: u128) -> Result<(), Refused> {
        let held = self.grants.get_mut(&number).ok_or(Refused::Unknown(number))?;
        (held.grant.weight, held.grant.algorithms) = (weight, algorithms);
        let (id, queues) = (held.id, held.queues.clone());
        let limited = self.mailbox.ask(move |serving| {
            serving.accelerator.set_algorithms(id, AlgorithmSet::from_bits(algorithms));
            for queue in queues {
                serving.accelerator.set_weight(queue, weight);
            }
        });
        limited.ok_or(Refused::Ended)
    }

    /// Hands a grant to the worker at the other end of the socket that came with the order.
    fn release(&mut self, number: u64, descriptors: Vec<OwnedFd>) -> Result<(), Refused> {
        let given = descriptors.len();
        let [to] = descriptors.try_into().map_err(|_| Refused::Descriptors { given, needed: 1 })?;
        let held = self.forget(number)?;
        let id = held.id;
        let released = self.mailbox.ask(move |serving| {
            let released = serving.accelerator.release_grant(id)?;
            Some((released, serving.leave(number)))
        });
        let (released, bells) = released.flatten().ok_or(Refused::Ended)?;
        let queues = released.queues.into_iter().map(|(_, queue)| queue).collect();
        let slots = released.keys.into_moved();
        Moved { queues, slots, bells, keys: held.keys }.send(&Socket::received(to))
    }

    /// Reports what was counted: the worker's own figures, and each grant's.
    fn count(&mut self) -> Result<(), Refused> {
        let sleeps = self.mailbox.ask(|serving| serving.sleeps()).ok_or(Refused::Ended)?;
        let _ = self.report(&Report::Worker { sleeps });
        for (number, held) in &self.grants {
            let (grant, id, queues) = (*number, held.id, held.queues.clone());
            let counts = self.mailbox.ask(move |serving| {
                let mut sum = QueueCounts::default();
                for queue in queues.iter().filter_map(|queue| serving.accelerator.stats(*queue)) {
                    add(&mut sum, counts_of(&queue));
                }
                let (filled, bells) = (serving.accelerator.filled(), *serving.bells_mut(grant));
                QueueCounts {
                    // Lanes are filled with what all grants offer.
                    batches: filled.calls,
                    batched: filled.operations,
                    keys: serving.accelerator.keys(id) as u32,
                    client_wakes: bells.wakes,
                    doorbells: bells.doorbells,
                    ..sum
                }
            });
            let counts = counts.ok_or(Refused::Ended)?;
            let _ = self.report(&Report::Counts { grant, counts });
        }
        Ok(())
    }

    /// Answers a client about keys.
    fn attend(&mut self, number: u64) {
        let Some(held) = self.grants.get_mut(&number) else { return };
        let Some(keys) = &held.keys else { return };
        let desk = Desk {
            features: self.features,
            memory: &self.memory,
            mailbox: &self.mailbox,
            grant: held.id,
            algorithms: AlgorithmSet::from_bits(held.grant.algorithms),
        };
        if answer(keys, &desk).is_err() {
            // It is gone, or sends what can't be received, or does not take its answers: there are no more keys for it.
            let _ = epoll::delete(&self.epoll, keys);
            held.keys = None;
        }
    }
}

/// Answers what a client has asked, up to its share. It never waits for the client.
fn answer(keys: &Socket, desk: &Desk<'_>) -> io::Result<()> {
    for _ in 0..REQUESTS {
        let message = match keys.try_receive_bytes() {
            Ok(Some(bytes)) => Zeroizing::new(bytes),
            Ok(None) => return Err(io::ErrorKind::ConnectionReset.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        keys.try_send(&desk.answer(&message).encode(), &[])?;
    }
    Ok(())
}

fn failed(refused: &Refused) -> Report {
    Report::Failed { why: refused.to_string() }
}

fn add(sum: &mut QueueCounts, counts: QueueCounts) {
    sum.operations += counts.operations;
    sum.bytes += counts.bytes;
    sum.in_flight = sum.in_flight.saturating_add(counts.in_flight);
    for (status, count) in counts.failures {
        match sum.failures.iter_mut().find(|(other, _)| *other == status) {
            Some((_, total)) => *total += count,
            None => sum.failures.push((status, count)),
        }
    }
}
