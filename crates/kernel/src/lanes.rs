//! Many objects of one algorithm side by side: the scheduler that keeps lanes full.
//!
//! A *lane manager* (`aes::CbcLanes`, `hash::HashLanes` ...) takes any number of jobs at once. If
//! there are so few that empty lanes would cost more time than the lanes save, it calls the direct
//! kernel for each job; the row's [`Crossover`] says how few that is. Otherwise one call enters the
//! tier's function, in which the scheduler owns a fixed number of lanes. It fills the lanes, runs all
//! of them until the shortest part ends, takes finished jobs out and puts new ones in. When too few
//! lanes are live, the direct kernel ends the remaining jobs. No job stays in a lane between calls.

/// The least number of objects for which a lane kernel takes less time than the direct kernel, by the
/// length of the objects. Each pair is a greatest length in bytes and the number of objects for it,
/// shortest first. The last number holds for all longer objects too.
#[derive(Clone, Copy, Debug)]
pub struct Crossover(pub &'static [(usize, usize)]);

impl Crossover {
    /// Lanes never pay. This is the crossover of a row that works on one object after another.
    pub const NEVER: Crossover = Crossover(&[(usize::MAX, usize::MAX)]);

    /// The least number of objects of about `bytes` bytes for which lanes pay.
    #[inline]
    pub fn objects(&self, bytes: usize) -> usize {
        let mut least = usize::MAX;
        for &(up_to, objects) in self.0 {
            least = objects;
            if bytes <= up_to {
                break;
            }
        }
        least
    }
}

/// `N` lanes of one kernel, each of which may hold one job.
///
/// Everything is `#[inline(always)]` and made part of the tier's `#[target_feature]` function.
pub trait Lanes<J, const N: usize> {
    /// Puts a job into a lane; returns the steps (blocks) it has to be run for.
    fn fill(&mut self, lane: usize, job: &mut J) -> usize;

    /// Runs every lane for that many steps. The result of an idle lane is ignored, but the lane must
    /// read and write only memory of its own.
    fn run(&mut self, steps: usize);

    /// Called when a lane's steps are done. Returns the steps that follow, such as the padded end of
    /// a message after its whole blocks, or 0 once the result is in the job.
    fn next(&mut self, lane: usize, job: &mut J) -> usize;

    /// Called when there is no job for this lane, now or from the beginning.
    fn idle(&mut self, lane: usize);

    /// Ends a job outside the lanes, `steps` before its next [`Lanes::next`], with the direct kernel.
    fn finish(&mut self, lane: usize, job: &mut J, steps: usize);
}

/// Works off all jobs, on `N` lanes while at least `fewest` of them are live.
#[inline(always)]
pub fn schedule<J, L: Lanes<J, N>, const N: usize>(lanes: &mut L, jobs: &mut [&mut J], fewest: usize) {
    /// The steps left of a lane without a job: the greatest number, so that such a lane never ends a
    /// run.
    const IDLE: usize = usize::MAX;
    let mut left = [IDLE; N];
    let mut owner = [0; N];
    let mut waiting = 0;
    let mut live = 0;
    for lane in 0..N {
        left[lane] = refill(lanes, jobs, &mut waiting, lane, &mut owner[lane]).unwrap_or(IDLE);
        live += usize::from(left[lane] != IDLE);
    }
    while live >= fewest.max(1) || (live > 0 && waiting < jobs.len()) {
        let mut steps = left[0];
        for lane in 1..N {
            steps = steps.min(left[lane]);
        }
        lanes.run(steps);
        for lane in 0..N {
            if left[lane] == IDLE {
                continue;
            }
            left[lane] -= steps;
            if left[lane] > 0 {
                continue;
            }
            left[lane] = lanes.next(lane, jobs[owner[lane]]);
            if left[lane] == 0 {
                left[lane] = refill(lanes, jobs, &mut waiting, lane, &mut owner[lane]).unwrap_or(IDLE);
                live -= usize::from(left[lane] == IDLE);
            }
        }
    }
    for lane in 0..N {
        if left[lane] != IDLE {
            lanes.finish(lane, jobs[owner[lane]], left[lane]);
        }
    }
}

/// Fills a lane with the next job that needs any steps; none when all have been taken.
#[inline(always)]
fn refill<J, L: Lanes<J, N>, const N: usize>(
    lanes: &mut L,
    jobs: &mut [&mut J],
    waiting: &mut usize,
    lane: usize,
    owner: &mut usize,
) -> Option<usize> {
    while let Some(job) = jobs.get_mut(*waiting) {
        *owner = *waiting;
        *waiting += 1;
        let mut steps = lanes.fill(lane, job);
        if steps == 0 {
            steps = lanes.next(lane, job);
        }
        if steps > 0 {
            return Some(steps);
        }
    }
    lanes.idle(lane);
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A job of two parts, which notes the steps it was given in lanes and outside.
    #[derive(Default, Clone, Debug)]
    struct Job {
        parts: [usize; 2],
        part: usize,
        in_lanes: usize,
        outside: usize,
        ended: u32,
    }

    /// Lanes that count.
    struct Counting<const N: usize> {
        steps: [Option<usize>; N],
        runs: usize,
    }

    impl<const N: usize> Lanes<Job, N> for Counting<N> {
        fn fill(&mut self, lane: usize, job: &mut Job) -> usize {
            assert_eq!(self.steps[lane], None, "a lane is filled only when it is free");
            self.steps[lane] = Some(0);
            job.parts[0]
        }

        fn run(&mut self, steps: usize) {
            assert!(steps > 0, "a run does something");
            self.runs += 1;
            for done in self.steps.iter_mut().flatten() {
                *done += steps;
            }
        }

        fn next(&mut self, lane: usize, job: &mut Job) -> usize {
            let done = self.steps[lane].replace(0).expect("the lane holds the job");
            assert_eq!(done, job.parts[job.part], "a part is run for just its steps");
            job.in_lanes += done;
            job.part += 1;
            if job.part == 1 && job.parts[1] > 0 {
                return job.parts[1];
            }
            job.ended += 1;
            self.steps[lane] = None;
            0
        }

        fn idle(&mut self, lane: usize) {
            self.steps[lane] = None;
        }

        fn finish(&mut self, lane: usize, job: &mut Job, steps: usize) {
            let done = self.steps[lane].take().expect("the lane holds the job");
            assert_eq!(done + steps, job.parts[job.part]);
            job.in_lanes += done;
            job.outside += steps + if job.part == 0 { job.parts[1] } else { 0 };
            job.ended += 1;
        }
    }

    fn check<const N: usize>(parts: &[[usize; 2]], fewest: usize) {
        let mut jobs: Vec<Job> = parts.iter().map(|&parts| Job { parts, ..Job::default() }).collect();
        let mut lanes = Counting::<N> { steps: [None; N], runs: 0 };
        let mut refs: Vec<&mut Job> = jobs.iter_mut().collect();
        schedule(&mut lanes, &mut refs, fewest);
        for job in &jobs {
            assert_eq!(job.ended, 1, "{job:?}");
            assert_eq!(job.in_lanes + job.outside, job.parts[0] + job.parts[1], "{job:?}");
        }
        if fewest <= 1 {
            assert!(jobs.iter().all(|job| job.outside == 0));
        }
        // Lanes are full as long as a job waits, so there are never more runs than parts.
        assert!(lanes.runs <= 2 * parts.len());
        assert_eq!(lanes.steps, [None; N]);
    }

    proptest! {
        #[test]
        fn every_job_is_run_for_just_its_steps(
            parts in proptest::collection::vec([0usize..6, 0usize..3], 0..40),
            fewest in 0usize..10,
        ) {
            check::<1>(&parts, fewest);
            check::<4>(&parts, fewest);
            check::<16>(&parts, fewest);
        }
    }

    #[test]
    fn equal_jobs_run_together() {
        let mut jobs = vec![Job { parts: [3, 1], ..Job::default() }; 16];
        let mut lanes = Counting::<8> { steps: [None; 8], runs: 0 };
        let mut refs: Vec<&mut Job> = jobs.iter_mut().collect();
        schedule(&mut lanes, &mut refs, 1);
        assert_eq!(lanes.runs, 4);
    }

    #[test]
    fn crossover_goes_by_length() {
        let crossover = Crossover(&[(64, 3), (1024, 5), (usize::MAX, 9)]);
        assert_eq!([0, 64, 65, 1024, 1025].map(|len| crossover.objects(len)), [3, 3, 5, 5, 9]);
        assert_eq!(Crossover::NEVER.objects(16), usize::MAX);
    }
}
