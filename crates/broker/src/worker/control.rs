//! The control thread: it obeys the broker, and answers clients about keys.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_accelerator::{GrantId, KeySlots, MovedQueue, QueueId, SharedKeyMemory};
use millstream_cpu::Features;
use millstream_cwq::AlgorithmSet;
use millstream_host::{End, Hosted};
use millstream_protocol::{
    Grant, KeyPurpose, KeyRefusal, KeyReply, KeyRequest, KeyRules, Message, Order, QueueCounts, Report,
};
use millstream_shm::{Doorbell, Mapping, Received, Socket, wipe_stack};
use rustix::event::{Timespec, epoll};
use zeroize::Zeroizing;

use super::Error;
use super::doorbells::listen;
use super::grant::{Parts, Refused, config, use_limits};
use super::handover::counts_of;
use super::key_socket::KeySocket;
use super::keys::Desk;
use super::memory::KeyRegions;
use super::moves::{MOVES, Move};
use super::pace::Paces;
use super::presigning::Presigning;
use super::serving::{Mailbox, Serving, WakeCounts};
use super::share::Share;
use super::tokens::{Effect, Taken, Tokens};
use super::wrapping::Wrapping;
use crate::progress::{self, Counter};

/// The number of the control socket among those of grants.
const BROKER: u64 = u64::MAX;
/// The number of the bell of the vault's thread.
pub(super) const VAULT: u64 = u64::MAX - 1;

/// The time for which requests of one client are answered before the broker is heard, and the next client. One is
/// answered in any case.
const TURN: Duration = Duration::from_micros(50);

/// The queues that are counted between two turns of the accelerator, but for those of one grant.
const COUNTED: usize = 64;

/// A grant that is served here.
pub(super) struct Held {
    pub(super) grant: Grant,
    pub(super) id: GrantId,
    queues: Vec<QueueId>,
    /// The grant's reserve of memory for keys.
    pub(super) memory: SharedKeyMemory,
    doorbell: Doorbell,
    /// None when the client has closed it, or was too slow to take answers.
    pub(super) keys: Option<KeySocket>,
    /// Unmapped here, after the accelerator has let go.
    _mappings: [Arc<Mapping>; 3],
}

/// The news from the broker.
enum Heard {
    Nothing,
    Order,
    End(End),
}

/// The outcome of an order.
pub(super) enum Obeyed {
    /// The order was obeyed, and the broker is told.
    Done,
    /// The order was an answer.
    Heard,
    /// The order was the end.
    End(End),
}

/// The state of the control thread.
pub(super) struct Control {
    pub(super) broker: Socket,
    pub(super) mailbox: Arc<Mailbox>,
    /// The epoll in which the accelerator's thread sleeps.
    pub(super) doorbells: Arc<OwnedFd>,
    pub(super) features: Features,
    pub(super) memory: Arc<KeyRegions>,
    pub(super) epoll: OwnedFd,
    /// The grants on their way, to here or from here.
    pub(super) moves: BTreeMap<u64, Move>,
    /// The one that went on last, of those that take turns with clients.
    pub(super) went_on: u64,
    pub(super) grants: BTreeMap<u64, Held>,
    /// True when the stack is wiped after each order and request, because it can be read from outside.
    wipes: bool,
    /// Shows the broker that this thread gets on, and for whom.
    pub(super) steps: Counter,
    /// Wraps keys; none until the broker has told how.
    wrapping: Option<Wrapping>,
    /// The pace of keys that take long.
    paces: Paces,
    /// Says which grants may use presignatures.
    presigning: Presigning,
    /// The vault of tokens, where the service keeps any.
    pub(super) tokens: Option<Tokens>,
}

/// The means to answer for a grant, as long as the rest of the thread's state is left alone.
macro_rules! desk {
    ($control:expr, $held:expr) => {
        Desk {
            features: $control.features,
            memory: &$held.memory,
            mailbox: &$control.mailbox,
            steps: &$control.steps,
            grant: $held.id,
            algorithms: AlgorithmSet::from_bits($held.grant.algorithms),
            rules: &$held.grant.keys,
            slots: $held.grant.key_slots as usize,
            wrapping: $control.wrapping.as_ref(),
            paces: &$control.paces,
        }
    };
}

impl Control {
    pub(super) fn new(
        broker: Socket,
        mailbox: Arc<Mailbox>,
        doorbells: Arc<OwnedFd>,
        features: Features,
        memory: Arc<KeyRegions>,
        wipes: bool,
        presigning: Presigning,
        tokens: Option<Tokens>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let number = epoll::EventData::new_u64(BROKER);
        epoll::add(&epoll, &broker, number, epoll::EventFlags::IN)?;
        if let Some(tokens) = &tokens {
            listen(&epoll, tokens.bell(), VAULT)?;
        }
        Ok(Control {
            broker,
            mailbox,
            doorbells,
            features,
            memory,
            epoll,
            moves: BTreeMap::new(),
            went_on: 0,
            grants: BTreeMap::new(),
            wipes,
            steps: Counter::of_steps(),
            wrapping: None,
            paces: Paces::default(),
            presigning,
            tokens,
        })
    }

    /// Obeys and answers until the end is ordered or the broker is gone.
    ///
    /// However many clients ask, and whatever: after each one's turn all that the broker has ordered is obeyed, and a grant that
    /// moves goes on.
    pub(super) fn run(&mut self) -> Result<End, Error> {
        let mut events = Vec::with_capacity(32);
        loop {
            events.clear();
            let limit = self.moves_rest().map(|rest| Timespec {
                tv_sec: rest.as_secs() as i64,
                tv_nsec: i64::from(rest.subsec_nanos()),
            });
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), limit.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::Wait(error.into())),
            }
            for event in &events {
                // The event is packed, so its data is copied first.
                let data = event.data;
                match data.u64() {
                    // The broker is heard below, as after all else.
                    BROKER => {}
                    VAULT => {
                        self.hear_vault();
                        self.rest();
                    }
                    number if number & MOVES != 0 => {
                        self.go_on(number & !MOVES);
                        self.rest();
                    }
                    grant => {
                        self.steps.step_for(grant);
                        self.attend(grant);
                        self.rest();
                        if self.next_move() {
                            self.rest();
                        }
                    }
                }
                if let Some(end) = self.hear_all()? {
                    return Ok(end);
                }
            }
            if !self.moves.is_empty() {
                self.moves_due();
                self.rest();
            }
        }
    }

    /// Nothing is in hand, and nothing of what was is on the stack.
    fn rest(&self) {
        self.steps.step_for(0);
        if self.wipes {
            wipe_stack();
        }
    }

    /// Has something done on the accelerator's thread, and waits for what comes of it; none when that has ended. Meanwhile no grant is
    /// in hand here: another one's words may be why it takes long.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        command: impl FnOnce(&mut Serving) -> T + Send + 'static,
    ) -> Option<T> {
        self.steps.empty_handed(|| self.mailbox.ask(command))
    }

    /// Tells the broker.
    pub(super) fn report(&self, report: &Report) -> Result<(), Error> {
        self.broker.send(&report.encode(), &[]).map_err(Error::Broker)
    }

    /// Obeys what the broker has ordered. None unless the end is ordered, or the broker is gone.
    fn hear_all(&mut self) -> Result<Option<End>, Error> {
        loop {
            match self.hear()? {
                Heard::Nothing => return Ok(None),
                Heard::Order => self.rest(),
                Heard::End(end) => return Ok(Some(end)),
            }
        }
    }

    /// Obeys one order and reports.
    fn hear(&mut self) -> Result<Heard, Error> {
        let received = match self.broker.try_receive() {
            Ok(Some(received)) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Heard::Nothing),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.report(&failed(&Refused::Received(error)))?;
                return Ok(Heard::Order);
            }
            // The broker is gone.
            Ok(None) | Err(_) => return Ok(Heard::End(End::Now)),
        };
        let report = match self.obey(received) {
            Ok(Obeyed::Done) => Report::Done {},
            Ok(Obeyed::Heard) => return Ok(Heard::Order),
            Ok(Obeyed::End(end)) => return Ok(Heard::End(end)),
            Err(refused) => failed(&refused),
        };
        // A broker that is gone is seen with the next order.
        let _ = self.report(&report);
        Ok(Heard::Order)
    }

    /// Does what is ordered.
    fn obey(&mut self, received: Received) -> Result<Obeyed, Refused> {
        let Received { bytes, descriptors } = received;
        let order = Order::decode(&bytes).map_err(Refused::Message)?;
        self.steps.step_for(about(&order));
        match order {
            Order::Serve { grant } => self.serve(grant, descriptors)?,
            Order::Drop { grant } => self.count_and_drop(grant)?,
            Order::Limit { grant, weight, algorithms, keys } => {
                self.limit(grant, weight, algorithms, keys)?
            }
            Order::Release { grant } => self.release(grant, descriptors)?,
            Order::Adopt { grant, keys } => self.adopt(grant, descriptors, keys)?,
            Order::Count {} => self.count()?,
            Order::Watch {} => self.show(descriptors)?,
            Order::Wrap { key } => self.wrapping = Wrapping::new(self.features, key.expose()),
            Order::Stop {} => return Ok(Obeyed::End(End::Finish)),
            order => return self.hear_store(order, descriptors),
        }
        Ok(Obeyed::Done)
    }

    /// Shows from now on how both threads get on.
    fn show(&mut self, descriptors: Vec<OwnedFd>) -> Result<(), Refused> {
        let given = descriptors.len();
        let [page] = descriptors.try_into().map_err(|_| Refused::Descriptors { given, needed: 1 })?;
        let page =
            progress::received(page).map_err(|why| Refused::Memory { what: "page for progress", why })?;
        self.steps.show(page.clone());
        self.ask(move |serving| serving.turns.show(page)).ok_or(Refused::Ended)
    }

    fn serve(&mut self, grant: Grant, descriptors: Vec<OwnedFd>) -> Result<(), Refused> {
        let queue = MovedQueue { weight: grant.weight, ..MovedQueue::default() };
        let queues = vec![queue; grant.queues.min(1024) as usize];
        let mut parts = self.parts(grant, descriptors)?;
        let memory = self.share(&parts.grant)?;
        let keys = KeySlots::with_memory(parts.grant.key_slots as usize, Some(memory.clone()));
        let socket = parts.socket.take();
        self.begin(parts, queues, (keys, memory), WakeCounts::default(), socket)
    }

    /// The reserve for a grant's keys.
    fn share(&self, grant: &Grant) -> Result<SharedKeyMemory, Refused> {
        let share = Share::new(self.memory.clone(), grant.key_slots as usize);
        Ok(share.ok_or(Refused::KeyMemory { slots: grant.key_slots })?)
    }

    /// Begins to take a grant that another worker hands over.
    fn adopt(&mut self, grant: Grant, descriptors: Vec<OwnedFd>, keys: u64) -> Result<(), Refused> {
        let mut parts = self.parts(grant, descriptors)?;
        let from = parts.socket.take().ok_or(Refused::Descriptors { given: 4, needed: 5 })?;
        let memory = self.share(&parts.grant)?;
        self.arrive(parts, memory, from, keys)
    }

    fn parts(&self, grant: Grant, descriptors: Vec<OwnedFd>) -> Result<Parts, Refused> {
        if self.grants.contains_key(&grant.id) || self.moves.contains_key(&grant.id) {
            return Err(Refused::Known(grant.id));
        }
        Parts::new(grant, descriptors, self.steps.page())
    }

    /// Has the accelerator go on with a grant's queues, and listens to its client.
    pub(super) fn begin(
        &mut self,
        parts: Parts,
        moved: Vec<MovedQueue>,
        (slots, memory): (KeySlots, SharedKeyMemory),
        wake_counts: WakeCounts,
        keys: Option<Socket>,
    ) -> Result<(), Refused> {
        let Parts { grant, arena, queues, doorbell, mappings, .. } = parts;
        let (number, config) = (grant.id, config(&grant, &memory, self.presigning));
        let uses = use_limits(&grant.keys);
        let adopted = self.ask(move |serving| {
            let (rings, sleepers): (Vec<_>, Vec<_>) = queues
                .into_iter()
                .map(|queue| ((queue.submissions, queue.completions), queue.sleeper))
                .unzip();
            let rings = rings.into_iter().zip(moved).map(|((to, from), moved)| (to, from, moved));
            let (id, ids) = serving.accelerator.adopt_grant(arena, config, rings, slots)?;
            serving.limit_uses(id, uses);
            for (queue, sleeper) in ids.iter().zip(sleepers) {
                serving.attend(*queue, number, sleeper);
            }
            *serving.wake_counts_mut(number) = wake_counts;
            serving.serve(number, id);
            // A grant that moved here may have brought clients that sleep.
            serving.wake_clients();
            Ok((id, ids))
        });
        let (id, queues) = adopted.ok_or(Refused::Ended)?.map_err(Refused::Rings)?;
        let held = Held { grant, id, queues, memory, doorbell, keys: None, _mappings: mappings };
        // A failure after this point is undone by dropping the grant.
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
        if let Some(keys) = keys.map(KeySocket::new) {
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
        // If it is not there, nothing is lost.
        let _ = epoll::delete(&self.doorbells, &held.doorbell);
        if let Some(keys) = &held.keys {
            let _ = epoll::delete(&self.epoll, keys);
        }
        self.paces.forget(held.id);
        self.close_tokens(number, &held);
        Ok(held)
    }

    /// Drops a grant, and reports what it has counted since anybody asked.
    fn count_and_drop(&mut self, grant: u64) -> Result<(), Refused> {
        let counts = self.drop_grant(grant)?;
        let _ = self.report(&Report::Counts { grant, counts });
        Ok(())
    }

    /// Drops a grant and returns its last counts.
    fn drop_grant(&mut self, number: u64) -> Result<QueueCounts, Refused> {
        let held = self.forget(number)?;
        let (id, queues) = (held.id, held.queues.clone());
        let dropped = self.ask(move |serving| {
            let counts = count(serving, number, id, &queues);
            serving.accelerator.remove_grant(id);
            serving.leave(number);
            counts
        });
        dropped.ok_or(Refused::Ended)
    }

    fn limit(&mut self, number: u64, weight: u32, algorithms: u128, keys: KeyRules) -> Result<(), Refused> {
        let change =
            |grant: &mut Grant| (grant.weight, grant.algorithms, grant.keys) = (weight, algorithms, keys);
        if let Some(moves) = self.moves.get_mut(&number) {
            moves.limit(change);
            return Ok(());
        }
        let held = self.grants.get_mut(&number).ok_or(Refused::Unknown(number))?;
        change(&mut held.grant);
        let (id, queues) = (held.id, held.queues.clone());
        let presigns = self.presigning.permits(&held.grant.keys);
        let uses = use_limits(&held.grant.keys);
        let limited = self.ask(move |serving| {
            serving.accelerator.set_algorithms(id, AlgorithmSet::from_bits(algorithms));
            serving.limit_uses(id, uses);
            serving.accelerator.set_presigns(id, presigns);
            for queue in queues {
                serving.accelerator.set_weight(queue, weight);
            }
        });
        limited.ok_or(Refused::Ended)
    }

    /// Begins to hand a grant to the worker at the other end of the socket that came with the order.
    fn release(&mut self, number: u64, descriptors: Vec<OwnedFd>) -> Result<(), Refused> {
        let given = descriptors.len();
        let [to] = descriptors.try_into().map_err(|_| Refused::Descriptors { given, needed: 1 })?;
        let held = self.forget(number)?;
        self.leave(number, held, Socket::received(to));
        Ok(())
    }

    /// Reports what was counted: the worker's own figures, and each grant's.
    fn count(&mut self) -> Result<(), Refused> {
        let mut asked: Vec<_> =
            self.grants.iter().map(|(number, held)| (*number, held.id, held.queues.clone())).collect();
        let mut counts = Vec::with_capacity(asked.len());
        // Grants are counted by the handful: words have their turn in between, however many queues there are.
        let (sleeps, presigned) = loop {
            let mut queues = 0;
            let mut few = |(.., of): &(u64, GrantId, Vec<QueueId>)| {
                queues += of.len();
                queues <= COUNTED
            };
            let some = asked.iter().take_while(|asked| few(asked)).count().max(1).min(asked.len());
            let some: Vec<_> = asked.drain(..some).collect();
            let counted = self.ask(move |serving| {
                let count = |(grant, id, queues): &(u64, GrantId, Vec<QueueId>)| {
                    (*grant, count(serving, *grant, *id, queues))
                };
                (some.iter().map(count).collect::<Vec<_>>(), (serving.sleeps(), serving.presigned()))
            });
            let (some, own) = counted.ok_or(Refused::Ended)?;
            counts.extend(some);
            if asked.is_empty() {
                break own;
            }
        };
        let _ = self.report(&Report::Worker { sleeps, presigned });
        for (grant, counts) in counts {
            let _ = self.report(&Report::Counts { grant, counts });
        }
        Ok(())
    }

    /// Answers a client about keys.
    fn attend(&mut self, number: u64) {
        let Some(held) = self.grants.get_mut(&number) else { return };
        let Some(keys) = &held.keys else { return };
        let desk = desk!(self, held);
        match answer(number, keys, &desk, &mut self.tokens) {
            Ok(None) => {}
            Ok(Some(effects)) => {
                // Nothing more is read from it until it is answered.
                let _ = epoll::delete(&self.epoll, keys);
                self.carry_out(effects);
            }
            Err(_) => {
                // The client is gone, or sends what can't be received, or does not take its answers: there are no more keys
                // for it.
                let _ = epoll::delete(&self.epoll, keys);
                held.keys = None;
            }
        }
        self.tell_closed();
    }

    /// Makes a key of a grant from one of a token.
    pub(super) fn load(&self, number: u64, algorithm: u8, purpose: &KeyPurpose, key: &[u8]) -> KeyReply {
        match self.grants.get(&number) {
            Some(held) => desk!(self, held).load(algorithm, purpose, key),
            None => KeyReply::Refused { why: KeyRefusal::NoSuchKey },
        }
    }
}

/// The grant that an order is about; 0 where it is about none.
fn about(order: &Order) -> u64 {
    match order {
        Order::Serve { grant } | Order::Adopt { grant, .. } => grant.id,
        Order::Drop { grant } | Order::Limit { grant, .. } | Order::Release { grant } => *grant,
        _ => 0,
    }
}

/// Answers what a client has asked, until its turn is over. It never waits for the client. What it asks about tokens may be answered later: then there
/// are steps to be carried out first.
fn answer(
    number: u64,
    keys: &KeySocket,
    desk: &Desk<'_>,
    tokens: &mut Option<Tokens>,
) -> io::Result<Option<Vec<Effect>>> {
    let began = Instant::now();
    loop {
        let message = match keys.try_receive() {
            Ok(Some(bytes)) => Zeroizing::new(bytes),
            Ok(None) => return Err(io::ErrorKind::ConnectionReset.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let reply = match (KeyRequest::decode(&message).ok(), tokens.as_mut()) {
            (Some(request), Some(tokens)) => match tokens.take(number, request) {
                Taken::NotMine(request) => desk.answer(Some(request)),
                Taken::Now(reply) => reply,
                Taken::Later(effects) => return Ok(Some(effects)),
            },
            (request, _) => desk.answer(request),
        };
        if let Some(reply) = reply {
            keys.try_send(&reply)?;
        }
        if began.elapsed() >= TURN {
            return Ok(None);
        }
    }
}

/// Returns the counts of a grant.
fn count(serving: &Serving, grant: u64, id: GrantId, queues: &[QueueId]) -> QueueCounts {
    let mut sum = QueueCounts::default();
    for queue in queues.iter().filter_map(|queue| serving.accelerator.stats(*queue)) {
        add(&mut sum, counts_of(&queue));
    }
    let (filled, wake_counts) = (serving.accelerator.filled(), serving.wake_counts(grant));
    QueueCounts {
        // Lanes are filled with what all grants offer.
        batches: filled.calls,
        batched: filled.operations,
        keys: serving.accelerator.keys(id) as u32,
        client_wakes: wake_counts.wakes,
        doorbells: wake_counts.doorbells,
        ..sum
    }
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
