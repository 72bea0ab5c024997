//! The loop of an accelerator's thread.

use std::time::{Duration, Instant};

use crate::mailbox::{Bell, End, Mailbox};
use crate::patience::Patience;
use crate::sleep::Sleep;

/// The number of looks at the rings for which a clock is asked once.
const LOOKS: u32 = 32;

/// The pace of an accelerator's thread.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time for which it looks at empty rings before it sleeps. Waking it costs its client a system call.
    pub spin: Duration,
    /// The time for which an operation may wait for others to fill lanes with.
    pub flush: Duration,
}

/// The outcome of an attempt to sleep while something is offered that can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Nothing is blocked: the loop goes on.
    No,
    /// Operations have ended meanwhile.
    Worked,
    /// Nobody will ring when it can be taken: the thread sleeps for so long at most.
    For(Duration),
}

/// An accelerator with its clients, hosted by a thread. The required methods are the accelerator's own. The hooks are for
/// hosts that serve clients who don't trust each other.
pub trait Hosted: Sized {
    /// The way in which the thread sleeps.
    type Sleep: Sleep;

    /// Takes what the queues offer and executes it, or holds it until lanes are full. Returns how many operations ended.
    /// `now` counts nanoseconds, or is 0 where operations wait for nothing.
    fn step(&mut self, now: u64) -> usize;

    /// Returns how many operations were taken and have not ended.
    fn held(&self) -> usize;

    /// Returns true when the queues offer something that a step can take.
    fn has_work(&mut self) -> bool;

    /// Wakes every client that sleeps and has completions.
    fn wake_clients(&mut self);

    /// Wakes those that are seen to sleep, and does not wait for what was written to be on its way.
    fn wake_seen(&mut self);

    /// Says in all rings that the accelerator sleeps. Returns false when something is offered: then nothing was said.
    fn fall_asleep(&mut self) -> bool;

    /// Says in all rings that the accelerator is awake, and hears who has rung.
    fn wake_up(&mut self);

    /// Returns the means by which the thread sleeps.
    fn sleeper(&mut self) -> &mut Self::Sleep;

    /// Returns false when commands have to wait because words were not served for long enough.
    #[inline]
    fn may_obey(&mut self) -> bool {
        true
    }

    /// Obeys commands.
    #[inline]
    fn obeying<R>(&mut self, obey: impl FnOnce(&mut Self) -> R) -> R {
        obey(self)
    }

    /// Prepares a turn.
    #[inline]
    fn before_turn(&mut self) {}

    /// Follows a turn that executed something. `ended` says that operations ended in it, so that clients move on.
    #[inline]
    fn after_work(&mut self, _ended: bool) {}

    /// Learns for how long nothing was served.
    #[inline]
    fn idles(&mut self, _idle: Duration) {}

    /// Does a piece of work that others will profit from, when nothing was served for so long. Returns true while there is more of
    /// that, or the time for it will come: then the thread does not sleep yet.
    #[inline]
    fn works_ahead(&mut self, _idle: Duration) -> bool {
        false
    }

    /// Returns for how long the thread may sleep though nobody rings; none where there is no limit.
    #[inline]
    fn sleeps_at_most(&mut self) -> Option<Duration> {
        None
    }

    /// Prepares for sleep.
    #[inline]
    fn before_sleep(&mut self, _now: Instant) {}

    /// Decides what to do when something is offered though a look found nothing to take.
    #[inline]
    fn blocked(&mut self, _now: u64) -> Blocked {
        Blocked::No
    }
}

/// Serves until the mailbox says to end. Returns how; what is left to do is the caller's.
pub fn run<H: Hosted, B: Bell>(hosted: &mut H, mailbox: &Mailbox<H, B>, pace: Pace) -> End {
    let patience = Patience::new(pace.spin);
    let mut host =
        Host { hosted, mailbox, pace, began: Instant::now(), idle_since: None, patience, slept: false };
    loop {
        if let Some(end) = host.obey() {
            return end;
        }
        host.turn();
    }
}

struct Host<'a, H, B> {
    hosted: &'a mut H,
    mailbox: &'a Mailbox<H, B>,
    pace: Pace,
    began: Instant,
    /// The first look since which nothing ended.
    idle_since: Option<Instant>,
    patience: Patience,
    /// True when the thread has slept since then.
    slept: bool,
}

impl<H: Hosted, B: Bell> Host<'_, H, B> {
    /// Does what other threads want.
    #[inline]
    fn obey(&mut self) -> Option<End> {
        if self.mailbox.is_told() && self.hosted.may_obey() { self.obey_now() } else { None }
    }

    #[cold]
    fn obey_now(&mut self) -> Option<End> {
        let mailbox = self.mailbox;
        self.hosted.obeying(|hosted| {
            let (commands, end) = mailbox.take();
            for command in commands {
                command(hosted);
            }
            end
        })
    }

    #[inline]
    fn turn(&mut self) {
        self.hosted.before_turn();
        let now = self.now();
        if self.hosted.step(now) > 0 {
            self.hosted.after_work(true);
            self.hosted.wake_seen();
            self.worked();
        } else if self.hosted.held() == 0 {
            self.idle();
        } else {
            // Slices may have been executed that ended nothing.
            self.hosted.after_work(false);
            self.hosted.wake_clients();
            std::hint::spin_loop();
        }
    }

    /// Notes that operations have ended, and whether it was by looking that they were seen.
    #[inline]
    fn worked(&mut self) {
        if self.idle_since.take().is_some() && !std::mem::take(&mut self.slept) {
            self.patience.paid();
        }
    }

    /// Returns nanoseconds, where anything depends on them: asking costs more than an empty step.
    #[inline]
    fn now(&self) -> u64 {
        if self.pace.flush.is_zero() { 0 } else { self.began.elapsed().as_nanos() as u64 }
    }

    /// Looks again for a while when there is nothing to do, then sleeps.
    fn idle(&mut self) {
        self.hosted.wake_clients();
        for _ in 0..LOOKS {
            if self.hosted.has_work() {
                return;
            }
            if self.mailbox.is_told() {
                break;
            }
            std::hint::spin_loop();
        }
        let now = Instant::now();
        let idle = now.duration_since(*self.idle_since.get_or_insert(now));
        self.hosted.idles(idle);
        if self.hosted.works_ahead(idle) || idle < self.patience.time() || self.mailbox.is_told() {
            return;
        }
        self.hosted.before_sleep(now);
        if self.hosted.fall_asleep() {
            if !self.slept {
                self.patience.was_in_vain();
            }
            let limit = self.hosted.sleeps_at_most();
            self.sleep(limit);
            self.slept = true;
            if H::Sleep::LOOKS_AGAIN {
                self.idle_since = None;
                self.slept = false;
            }
            return;
        }
        let now = self.now();
        match self.hosted.blocked(now) {
            Blocked::No => {}
            Blocked::Worked => self.worked(),
            Blocked::For(limit) => self.sleep(Some(limit)),
        }
    }

    #[cold]
    fn sleep(&mut self, limit: Option<Duration>) {
        // A command that came meanwhile may have rung before the thread could hear it.
        if !self.mailbox.is_told() {
            self.hosted.sleeper().sleep(limit);
        }
        self.hosted.wake_up();
    }
}
