//! Seeds of a worker's random generator: one from the kernel at the beginning, and others by count and by time.

use std::io;
use std::time::{Duration, Instant};

use millstream_accelerator::Accelerator;
use millstream_shm::Words;
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use super::memory::SharedArena;

/// The age of a seed at which another is mixed in. Whoever has read the generator's state knows what it gives out until
/// then, and so do both of two machines that were restored from one snapshot.
const AGE: Duration = Duration::from_secs(60);

/// The turns of the accelerator's thread for which a clock is asked once.
const TURNS: u32 = 4096;

/// The time of the generator's last seed; none before the first.
#[derive(Default)]
pub(super) struct Seeding {
    seeded: Option<Instant>,
    turns: u32,
}

impl Seeding {
    /// Gives an accelerator its first seed. The thread is confined already, so that no more is allowed for this one than for
    /// those that follow.
    pub(super) fn begin(&mut self, accelerator: &mut Accelerator<SharedArena, Words>) -> io::Result<()> {
        seed(accelerator)?;
        self.seeded = Some(Instant::now());
        Ok(())
    }

    /// Mixes in a seed when so much was given out that the generator wants one or, at some turns, when the last is old.
    #[inline]
    pub(super) fn look(&mut self, accelerator: &mut Accelerator<SharedArena, Words>) {
        self.turns = self.turns.wrapping_add(1);
        if accelerator.wants_seed() || self.turns.is_multiple_of(TURNS) {
            self.renew(accelerator);
        }
    }

    /// Mixes in a seed if that is due. A thread that wakes up has slept for who knows how long.
    #[cold]
    pub(super) fn renew(&mut self, accelerator: &mut Accelerator<SharedArena, Words>) {
        let now = Instant::now();
        // If the kernel has none, the next turn asks again, and in the end the generator gives out no more.
        let is_old = self.seeded.is_none_or(|seeded| now.duration_since(seeded) >= AGE);
        if (is_old || accelerator.wants_seed()) && seed(accelerator).is_ok() {
            self.seeded = Some(now);
        }
    }
}

fn seed(accelerator: &mut Accelerator<SharedArena, Words>) -> io::Result<()> {
    let mut seed = Zeroizing::new([0; 32]);
    // The kernel gives up to 256 bytes whole, once it has entropy at all; before that the call waits.
    if getrandom(&mut *seed, GetRandomFlags::empty())? != seed.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    accelerator.seed(&seed);
    Ok(())
}
