//! The accelerator's thread: it looks at the rings of all grants, executes, wakes clients, and sleeps.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_accelerator::{
    Accelerator, FlushPolicy, GrantId, Presignatures, QueueId, Reserve, Turns, UseLimits,
};
use millstream_cpu::Features;
use millstream_cwq::Completion;
use millstream_cwq::ring::Producer;
use millstream_host::{Blocked, End, Hosted, Pace};
use millstream_protocol::Presigned;
use millstream_shm::{Doorbell, Words, sleep, wipe_stack};

use super::doorbells::Doorbells;
use super::memory::SharedArena;
use super::seeding::Seeding;
use crate::progress::Counter;

/// The time for which it goes on taking words when it is to finish: a client that never stops submitting must not keep
/// it.
const FINISH: Duration = Duration::from_secs(2);

/// The first and the longest sleep where words wait but their client takes no completions.
const BLOCKED: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// The interval at which it looks, at work, which queues are not used any more and whose clients have rung since. A
/// client whose queue has gone to sleep waits so long at most.
const LOOK: Duration = Duration::from_micros(200);

/// The time for which it attends to clients who rang before it looks at words again, if there are so many of them. The
/// others have their turn with the next look: so doorbells take a tenth of the time at most, and a single grant's
/// little more.
const ATTENDANCE: Duration = Duration::from_micros(20);

/// The nanoseconds, about, that the kernel takes to tell of a doorbell. Whoever rings is charged at least that.
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

/// The interval at which presignatures are looked through for old ones, at work. Turns of private keys are long, so a clock may be asked in each.
const AGING: Duration = Duration::from_millis(100);

/// The mailbox of the accelerator's thread.
pub(super) type Mailbox = millstream_host::Mailbox<Serving, Doorbell>;

/// The client of a queue, of which the accelerator knows nothing.
struct Client {
    /// The number of its grant.
    grant: u64,
    /// For the word that its client sleeps on; nothing is pushed here.
    completions: Producer<Words, { Completion::WORDS }>,
}

/// Counts, for a grant, what the accelerator does not see.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WakeCounts {
    /// The number of times that its client was woken.
    pub(super) wakes: u64,
    /// The number of times that its doorbell woke this thread.
    pub(super) doorbells: u64,
}

/// The accelerator of all grants, with what it owes each of their clients. Commands reach it between two steps.
pub(super) struct Serving {
    pub(super) accelerator: Accelerator<SharedArena, Words>,
    clients: HashMap<QueueId, Client>,
    wake_counts: HashMap<u64, WakeCounts>,
    /// The names that the accelerator has for the grants whose doorbells are listened to.
    grants: HashMap<u64, GrantId>,
    doorbells: Doorbells,
    /// The time at which the next commands are obeyed while words are served; none, at once.
    obeys_at: Option<Instant>,
    /// True when words were served just now.
    at_work: bool,
    pace: Pace,
    /// True when the stack is wiped after each step that did something, a slice of a long operation or all of one, because it
    /// can be read from outside.
    wipes: bool,
    /// Shows the broker that this thread gets on.
    pub(super) turns: Counter,
    /// The last time at which it looked for doorbells at work, and the last at which it had queues rest.
    looked: Instant,
    rested: Instant,
    /// The last time at which old presignatures were wiped at work.
    aged: Instant,
    blocked: Duration,
    /// True after a step that found words but completed none, until operations end: a client's ring is full.
    in_vain: bool,
    seeding: Seeding,
    began: Instant,
}

impl Serving {
    pub(super) fn new(
        features: Features,
        pace: Pace,
        turns: Turns,
        wipes: bool,
        reserve: Reserve,
        doorbells: Arc<OwnedFd>,
    ) -> Self {
        let deadline = u64::try_from(pace.flush.as_nanos()).unwrap_or(u64::MAX);
        let usual = FlushPolicy::default().full;
        // Words that are taken in groups wait for two of these, which fill the lanes of any algorithm.
        let full = if turns.group > 0 { 2 * turns.group } else { usual };
        let mut accelerator = Accelerator::new(features, FlushPolicy { full, deadline });
        accelerator.reserve(reserve);
        let began = Instant::now();
        accelerator.bound_turns(turns, move || began.elapsed().as_nanos() as u64);
        Serving {
            accelerator,
            clients: HashMap::new(),
            wake_counts: HashMap::new(),
            grants: HashMap::new(),
            doorbells: Doorbells::new(doorbells),
            obeys_at: None,
            at_work: false,
            pace,
            wipes,
            turns: Counter::of_turns(),
            looked: began,
            rested: began,
            aged: began,
            blocked: BLOCKED.0,
            in_vain: false,
            seeding: Seeding::default(),
            began,
        }
    }

    /// Wipes old presignatures: a thread that is never idle does not wake up for that.
    #[inline]
    fn age(&mut self) {
        if self.accelerator.has_presignatures() {
            let now = Instant::now();
            if now.duration_since(self.aged) >= AGING {
                self.aged = now;
                self.accelerator.age_presignatures();
            }
        }
    }

    /// Gives the accelerator's random generator its first seed.
    pub(super) fn seed(&mut self) -> io::Result<()> {
        self.seeding.begin(&mut self.accelerator)
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
        self.wake_counts.entry(grant).or_default();
    }

    /// A grant's queues are gone. Its clients look, if they sleep, what became of them.
    pub(super) fn leave(&mut self, grant: u64) -> WakeCounts {
        self.clients.retain(|_, client| {
            if client.grant == grant {
                sleep::wake(client.completions.sleep_word());
            }
            client.grant != grant
        });
        self.grants.remove(&grant);
        self.wake_counts.remove(&grant).unwrap_or_default()
    }

    pub(super) fn wake_counts_mut(&mut self, grant: u64) -> &mut WakeCounts {
        self.wake_counts.entry(grant).or_default()
    }

    pub(super) fn wake_counts(&self, grant: u64) -> WakeCounts {
        self.wake_counts.get(&grant).copied().unwrap_or_default()
    }

    pub(super) fn sleeps(&self) -> u64 {
        self.doorbells.sleeps()
    }

    /// Returns the counts of the presignatures.
    pub(super) fn presigned(&self) -> Presigned {
        let Presignatures { ready, taken, dropped } = self.accelerator.presignatures();
        Presigned { grants: self.accelerator.presigning() as u32, ready, taken, dropped }
    }

    /// Serves until the mailbox says to end.
    pub(super) fn run(mut self, mailbox: &Mailbox) {
        let pace = self.pace;
        if millstream_host::run(&mut self, mailbox, pace) == End::Finish {
            let begin = Instant::now();
            // A step of a long operation ends nothing before its last slice.
            while (self.accelerator.step(u64::MAX) > 0 || self.accelerator.held() > 0)
                && begin.elapsed() < FINISH
            {}
        }
        self.accelerator.flush();
        self.accelerator.forget_presignatures();
        self.wipe();
        for client in self.clients.values() {
            sleep::wake(client.completions.sleep_word());
        }
    }

    #[inline]
    fn wipe(&self) {
        if self.wipes {
            wipe_stack();
        }
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
        self.rest(now);
        if self.accelerator.resting() > 0 || self.doorbells.have_rung() {
            self.doorbells.hear();
            self.answer();
        }
    }

    /// Has queues rest that offered nothing for long.
    #[inline]
    fn rest(&mut self, now: Instant) {
        if now.duration_since(self.rested) >= REST {
            self.rested = now;
            self.accelerator.rest();
        }
    }

    /// Looks at queues again that rested and whose clients have rung, at the expense of their grants.
    fn answer(&mut self) {
        let began = Instant::now();
        let mut before = began;
        while let Some(grant) = self.doorbells.next_rung() {
            if let Some(counts) = self.wake_counts.get_mut(&grant) {
                counts.doorbells += 1;
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

    /// Limits the uses of a grant's keys from here on.
    pub(super) fn limit_uses(&mut self, id: GrantId, limits: UseLimits) {
        self.tell_time();
        self.accelerator.set_use_limits(id, limits);
    }

    /// Tells the accelerator the time, in which uses of keys come back.
    fn tell_time(&mut self) {
        self.accelerator.tell_time(self.began.elapsed().as_millis() as u64);
    }

    /// Does something for a grant, and charges it the time that it took, at least so many nanoseconds.
    pub(super) fn at_expense<T>(&mut self, of: GrantId, least: u64, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = Instant::now();
        let answer = work(self);
        let taken = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.accelerator.charge(of, taken.max(least));
        answer
    }
}

impl Hosted for Serving {
    type Sleep = Doorbells;

    #[inline]
    fn step(&mut self, now: u64) -> usize {
        if self.accelerator.wants_time() {
            self.tell_time();
        }
        self.accelerator.step(now)
    }

    #[inline]
    fn held(&self) -> usize {
        self.accelerator.held()
    }

    /// Returns true when queues offer something. What the last step could not take is no work before something has ended.
    #[inline]
    fn has_work(&mut self) -> bool {
        self.accelerator.has_work() && !std::mem::replace(&mut self.in_vain, true)
    }

    #[inline]
    fn wake_clients(&mut self) {
        let Serving { accelerator, clients, wake_counts, .. } = self;
        accelerator.wake_clients(|queue| wake(clients, wake_counts, queue));
    }

    #[inline]
    fn wake_seen(&mut self) {
        let Serving { accelerator, clients, wake_counts, .. } = self;
        accelerator.wake_seen(|queue| wake(clients, wake_counts, queue));
    }

    fn fall_asleep(&mut self) -> bool {
        self.accelerator.sleep()
    }

    fn wake_up(&mut self) {
        self.seeding.renew(&mut self.accelerator);
        self.accelerator.age_presignatures();
        self.answer();
        self.accelerator.wake();
    }

    fn sleeper(&mut self) -> &mut Doorbells {
        &mut self.doorbells
    }

    /// Has commands wait until words have had their part of the time since the last ones.
    #[cold]
    fn may_obey(&mut self) -> bool {
        if self.at_work && self.obeys_at.is_some_and(|at| Instant::now() < at) {
            return false;
        }
        self.obeys_at = None;
        true
    }

    #[cold]
    fn obeying<R>(&mut self, obey: impl FnOnce(&mut Self) -> R) -> R {
        let began = Instant::now();
        let said = obey(self);
        self.wipe();
        let ended = Instant::now();
        self.obeys_at = Some(ended + BETWEEN.min(OTHER_WORK * (ended - began)));
        said
    }

    #[inline]
    fn before_turn(&mut self) {
        self.turns.step_untouched();
        self.look_about();
        self.age();
        self.seeding.look(&mut self.accelerator);
    }

    #[inline]
    fn after_work(&mut self, ended: bool) {
        self.wipe();
        if ended {
            self.at_work = true;
            self.in_vain = false;
            self.blocked = BLOCKED.0;
        }
    }

    #[inline]
    fn idles(&mut self, idle: Duration) {
        self.at_work &= idle < IDLE;
    }

    /// Makes presignatures for later, a batch at a time. A request that comes meanwhile waits until the batch is done.
    #[inline]
    fn works_ahead(&mut self, idle: Duration) -> bool {
        if !self.accelerator.wants_presignatures() {
            return false;
        }
        if idle < IDLE {
            return true;
        }
        let made = self.accelerator.presign();
        self.wipe();
        made
    }

    /// Presignatures are wiped when they are old, also while nobody needs this thread.
    fn sleeps_at_most(&mut self) -> Option<Duration> {
        self.accelerator.age_presignatures().map(Duration::from_nanos)
    }

    fn before_sleep(&mut self, now: Instant) {
        self.turns.step_untouched();
        self.rest(now);
        self.accelerator.rest_all();
    }

    /// Takes what was offered since the last look. Where that is nothing, words wait whose clients take no completions: nobody
    /// rings when there is room again.
    fn blocked(&mut self, now: u64) -> Blocked {
        if self.accelerator.step(now) > 0 {
            self.wipe();
            self.wake_clients();
            return Blocked::Worked;
        }
        if !self.accelerator.sleep_blocked() {
            return Blocked::No;
        }
        let limit = self.blocked;
        self.blocked = BLOCKED.1.min(2 * limit);
        Blocked::For(limit)
    }
}

fn wake(clients: &HashMap<QueueId, Client>, wake_counts: &mut HashMap<u64, WakeCounts>, queue: QueueId) {
    let Some(client) = clients.get(&queue) else { return };
    sleep::wake(client.completions.sleep_word());
    wake_counts.entry(client.grant).or_default().wakes += 1;
}
