//! The accelerator's thread: it looks at the rings of all grants, executes, wakes clients, and sleeps.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_accelerator::{Accelerator, FlushPolicy, GrantId, QueueId, Reserve, Turns};
use millstream_cpu::Features;
use millstream_cwq::Completion;
use millstream_cwq::ring::Producer;
use millstream_shm::{Words, sleep, wipe_stack};
use rustix::event::{Timespec, epoll};

use super::mailbox::{End, Mailbox};
use super::memory::SharedArena;
use crate::progress::Counter;

/// How long it goes on taking words when it is to finish: a client that never stops submitting must not keep it.
const FINISH: Duration = Duration::from_secs(2);

/// How long it sleeps at first, and at most, where words wait but their client takes no completions.
const BLOCKED: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// How often it looks, at work, which queues are not used any more and whose clients have rung since. A client whose queue
/// has gone to sleep waits so long at most.
const LOOK: Duration = Duration::from_micros(200);

/// How long it attends to those whose doorbells rang before it looks at words again, if there are so many of them. The others
/// have their turn with the next look: so doorbells take a tenth of the time at most, and a single grant's little more.
const ATTENDANCE: Duration = Duration::from_micros(20);

/// What the kernel takes to tell of a doorbell, in nanoseconds, about. Whoever rings is charged at least that.
const BELL_TIME: u64 = 500;

/// Commands take a part of the time that is so many times as small as the rest, whoever sends how many: those of
/// grants about keys, and the broker's.
const OTHER_WORK: u32 = 4;

/// When nothing was served for so long, commands wait for nothing.
const IDLE: Duration = Duration::from_micros(20);

/// The longest that words are served between two commands.
const BETWEEN: Duration = Duration::from_millis(2);

/// A queue that offered nothing for so long goes to sleep by itself.
const REST: Duration = Duration::from_millis(2);

/// How the thread behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) spin: Duration,
    pub(super) flush: Duration,
    /// Whether the stack is wiped after each step that did something, a slice of a long operation or all of one, because it can be
    /// read from outside.
    pub(super) wipes: bool,
}

/// What is known of a queue beside what its accelerator knows.
struct Client {
    /// The number of its grant.
    grant: u64,
    /// For the word that its client sleeps on; nothing is pushed here.
    completions: Producer<Words, { Completion::WORDS }>,
}

/// What is counted for a grant beside what its accelerator counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bells {
    /// How often its client was woken.
    pub(super) wakes: u64,
    /// How often its doorbell woke this thread.
    pub(super) doorbells: u64,
}

/// What the thread has. Commands reach it between two steps.
pub(super) struct Serving {
    pub(super) accelerator: Accelerator<SharedArena, Words>,
    clients: HashMap<QueueId, Client>,
    bells: HashMap<u64, Bells>,
    /// What the accelerator calls the grants whose doorbells are listened to.
    grants: HashMap<u64, GrantId>,
    sleeps: u64,
    mailbox: Arc<Mailbox<Serving>>,
    /// All doorbells, and the mailbox's.
    epoll: Arc<OwnedFd>,
    events: Vec<epoll::Event>,
    /// The grants that have rung and were not attended to yet.
    rung: VecDeque<u64>,
    /// When the next commands are obeyed while words are served; none, at once.
    obeys_at: Option<Instant>,
    /// Whether words were served just now.
    at_work: bool,
    pace: Pace,
    /// Shows the broker that this thread gets on.
    pub(super) turns: Counter,
    began: Instant,
    /// When it last looked for doorbells at work, and when it last had queues rest.
    looked: Instant,
    rested: Instant,
    blocked: Duration,
    /// Whether it went to work since something last ended, and nothing came of it: a client without room.
    in_vain: bool,
}

/// The number of the mailbox's bell among those of grants.
pub(super) const MAILBOX: u64 = u64::MAX;

impl Serving {
    pub(super) fn new(
        features: Features,
        pace: Pace,
        reserve: Reserve,
        mailbox: Arc<Mailbox<Serving>>,
        epoll: Arc<OwnedFd>,
    ) -> Self {
        let deadline = u64::try_from(pace.flush.as_nanos()).unwrap_or(u64::MAX);
        let mut accelerator = Accelerator::new(features, FlushPolicy { deadline, ..FlushPolicy::default() });
        accelerator.reserve(reserve);
        let began = Instant::now();
        accelerator.bound_turns(Turns::default(), move || began.elapsed().as_nanos() as u64);
        Serving {
            accelerator,
            clients: HashMap::new(),
            bells: HashMap::new(),
            grants: HashMap::new(),
            sleeps: 0,
            mailbox,
            epoll,
            events: Vec::with_capacity(32),
            rung: VecDeque::with_capacity(32),
            obeys_at: None,
            at_work: false,
            pace,
            turns: Counter::of_turns(),
            began,
            looked: began,
            rested: began,
            blocked: BLOCKED.0,
            in_vain: false,
        }
    }

    /// A grant was added, whose doorbell may ring.
    pub(super) fn serve(&mut self, grant: u64, id: GrantId) {
        self.grants.insert(grant, id);
    }

    /// A queue was added; its client may sleep on its completions.
    pub(super) fn attend(
        &mut self,
        queue: QueueId,
        grant: u64,
        completions: Producer<Words, { Completion::WORDS }>,
    ) {
        self.clients.insert(queue, Client { grant, completions });
        self.bells.entry(grant).or_default();
    }

    /// A grant's queues are gone. Its clients look, if they sleep, what became of them.
    pub(super) fn leave(&mut self, grant: u64) -> Bells {
        self.clients.retain(|_, client| {
            if client.grant == grant {
                sleep::wake(client.completions.sleep_word());
            }
            client.grant != grant
        });
        self.grants.remove(&grant);
        self.bells.remove(&grant).unwrap_or_default()
    }

    pub(super) fn bells_mut(&mut self, grant: u64) -> &mut Bells {
        self.bells.entry(grant).or_default()
    }

    pub(super) fn bells(&self, grant: u64) -> Bells {
        self.bells.get(&grant).copied().unwrap_or_default()
    }

    pub(super) fn sleeps(&self) -> u64 {
        self.sleeps
    }

    /// Serves until it is told to end.
    pub(super) fn run(mut self) {
        let mut idle_since = None;
        let end = loop {
            self.turns.step_untouched();
            if self.mailbox.is_told()
                && self.may_obey()
                && let Some(end) = self.obey()
            {
                break end;
            }
            self.look_about();
            if self.accelerator.step(self.now()) > 0 {
                if self.pace.wipes {
                    wipe_stack();
                }
                self.wake_seen();
                idle_since = None;
                self.at_work = true;
                self.in_vain = false;
                self.blocked = BLOCKED.0;
            } else if self.accelerator.held() == 0 {
                self.idle(&mut idle_since);
            } else {
                // Slices may have been executed that ended nothing.
                if self.pace.wipes {
                    wipe_stack();
                }
                self.wake_clients();
                std::hint::spin_loop();
            }
        };
        if end == End::Finish {
            let begin = Instant::now();
            // Of a long operation a step ends nothing until its last slice.
            while (self.accelerator.step(u64::MAX) > 0 || self.accelerator.held() > 0)
                && begin.elapsed() < FINISH
            {}
        }
        self.accelerator.flush();
        if self.pace.wipes {
            wipe_stack();
        }
        for client in self.clients.values() {
            sleep::wake(client.completions.sleep_word());
        }
    }

    /// Nanoseconds, where anything depends on them: asking costs more than an empty step.
    #[inline]
    fn now(&self) -> u64 {
        if self.pace.flush.is_zero() { 0 } else { self.began.elapsed().as_nanos() as u64 }
    }

    /// At work, has queues rest that are not used, and hears whose clients have rung since. Where all queues are at
    /// work there is nobody to hear.
    #[inline]
    fn look_about(&mut self) {
        if self.accelerator.queues() == 1 {
            return;
        }
        let now = Instant::now();
        if now.duration_since(self.looked) < LOOK {
            return;
        }
        self.looked = now;
        if now.duration_since(self.rested) >= REST {
            self.rested = now;
            self.accelerator.rest();
        }
        if self.accelerator.resting() > 0 || !self.rung.is_empty() {
            self.listen(Some(Timespec { tv_sec: 0, tv_nsec: 0 }));
        }
    }

    /// Whether words have had their part of the time since the last commands.
    #[cold]
    fn may_obey(&mut self) -> bool {
        if self.at_work && self.obeys_at.is_some_and(|at| Instant::now() < at) {
            return false;
        }
        self.obeys_at = None;
        true
    }

    /// Does what the control thread wants.
    #[cold]
    fn obey(&mut self) -> Option<End> {
        let began = Instant::now();
        let (commands, end) = self.mailbox.take();
        for command in commands {
            command(self);
        }
        if self.pace.wipes {
            wipe_stack();
        }
        let ended = Instant::now();
        self.obeys_at = Some(ended + BETWEEN.min(OTHER_WORK * (ended - began)));
        end
    }

    /// Does something for a grant, and charges it the time that it took, at least so many nanoseconds.
    pub(super) fn at_expense<T>(&mut self, of: GrantId, least: u64, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = Instant::now();
        let answer = work(self);
        let taken = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.accelerator.charge(of, taken.max(least));
        answer
    }

    /// Wakes every client that sleeps and has completions.
    pub(super) fn wake_clients(&mut self) {
        let Serving { accelerator, clients, bells, .. } = self;
        accelerator.wake_clients(|queue| wake(clients, bells, queue));
    }

    /// Wakes those that are seen to sleep, and does not wait for what was written to be on its way.
    fn wake_seen(&mut self) {
        let Serving { accelerator, clients, bells, .. } = self;
        accelerator.wake_seen(|queue| wake(clients, bells, queue));
    }

    /// Nothing to do: looks again for a while, then sleeps.
    fn idle(&mut self, since: &mut Option<Instant>) {
        self.wake_clients();
        // A clock is asked once for many looks.
        const LOOKS: u32 = 32;
        for _ in 0..LOOKS {
            if self.accelerator.has_work() && !std::mem::replace(&mut self.in_vain, true) {
                return;
            }
            if self.mailbox.is_told() {
                break;
            }
            std::hint::spin_loop();
        }
        let now = Instant::now();
        let idle = now.duration_since(*since.get_or_insert(now));
        self.at_work &= idle < IDLE;
        if idle < self.pace.spin || self.mailbox.is_told() {
            return;
        }
        if now.duration_since(self.rested) >= REST {
            self.rested = now;
            self.accelerator.rest();
        }
        self.accelerator.rest_all();
        if self.accelerator.sleep() {
            // Woken for nothing, it sleeps again at once.
            self.wait(None);
        } else if self.accelerator.step(self.now()) > 0 {
            if self.pace.wipes {
                wipe_stack();
            }
            self.wake_clients();
            *since = None;
        } else if self.accelerator.sleep_blocked() {
            // Nobody rings when there is room again.
            self.wait(Some(self.blocked));
            self.blocked = BLOCKED.1.min(2 * self.blocked);
        }
    }

    /// Sleeps until a doorbell rings, or the limit; not while there are some that have rung.
    #[cold]
    fn wait(&mut self, limit: Option<Duration>) {
        self.sleeps += u64::from(self.rung.is_empty());
        self.turns.step_untouched();
        let limit = limit.map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: i64::from(limit.subsec_nanos()),
        });
        self.listen(limit);
        self.accelerator.wake();
    }

    /// Waits for doorbells until the limit. Queues that rested and whose clients have rung are looked at again, at the expense
    /// of their grants. Nobody is heard again before all that have rung were attended to.
    fn listen(&mut self, limit: Option<Timespec>) {
        if self.rung.is_empty() {
            self.events.clear();
            // A signal ends it too: then it looks, and sleeps again.
            let _ =
                epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), limit.as_ref());
            for event in &self.events {
                // What is packed is copied first.
                let data = event.data;
                self.rung.push_back(data.u64());
            }
        }
        let began = Instant::now();
        let mut before = began;
        while let Some(grant) = self.rung.pop_front() {
            if let Some(bells) = self.bells.get_mut(&grant) {
                bells.doorbells += 1;
            }
            let Some(id) = self.grants.get(&grant) else { continue };
            self.accelerator.attend(*id);
            let now = Instant::now();
            let taken = u64::try_from((now - before).as_nanos()).unwrap_or(u64::MAX);
            self.accelerator.charge(*id, taken.max(BELL_TIME));
            before = now;
            if now - began >= ATTENDANCE {
                break;
            }
        }
    }
}

fn wake(clients: &HashMap<QueueId, Client>, bells: &mut HashMap<u64, Bells>, queue: QueueId) {
    let Some(client) = clients.get(&queue) else { return };
    sleep::wake(client.completions.sleep_word());
    bells.entry(client.grant).or_default().wakes += 1;
}

/// Waits for doorbells: for each no more than that it rang, never how often, so nothing is ever read there.
pub(super) fn listen(epoll: &OwnedFd, bell: impl AsFd, number: u64) -> io::Result<()> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    Ok(epoll::add(epoll, bell, epoll::EventData::new_u64(number), flags)?)
}
