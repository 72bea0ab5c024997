//! A test whether two classes of times have one mean: Welch's t-test, on all times and on those below several
//! percentiles.
//!
//! Ref. Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017 §2.3.

/// The part of the times that each test looks at, in hundredths. Interruptions of a measurement make long
/// tails that hide small differences, so each cut is tested on its own.
pub const CUTS: [usize; 6] = [100, 99, 95, 90, 75, 50];

/// One time, and the class of its secrets.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub fixed: bool,
    pub nanoseconds: f64,
}

/// The running mean and spread of one class (Welford).
#[derive(Clone, Copy, Default)]
struct Class {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Class {
    fn add(&mut self, x: f64) {
        self.count += 1.0;
        let off = x - self.mean;
        self.mean += off / self.count;
        self.squares += off * (x - self.mean);
    }

    /// Returns the variance of the mean.
    fn error(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

/// The two classes' means and Welch's t at one cut.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    pub cut: usize,
    pub fixed: f64,
    pub random: f64,
    pub t: f64,
}

/// Returns the tests of all cuts; none where a class has too few times to tell anything.
pub fn tests(samples: &[Sample]) -> Vec<Test> {
    let mut sorted: Vec<f64> = samples.iter().map(|sample| sample.nanoseconds).collect();
    sorted.sort_by(f64::total_cmp);
    CUTS.iter()
        .filter_map(|&cut| test(samples, cut, *sorted.get((sorted.len() * cut / 100).max(1) - 1)?))
        .collect()
}

fn test(samples: &[Sample], cut: usize, limit: f64) -> Option<Test> {
    let [mut fixed, mut random] = [Class::default(); 2];
    for sample in samples.iter().filter(|sample| sample.nanoseconds <= limit) {
        let class = if sample.fixed { &mut fixed } else { &mut random };
        class.add(sample.nanoseconds);
    }
    if fixed.count < 10.0 || random.count < 10.0 {
        return None;
    }
    let error = (fixed.error() + random.error()).sqrt();
    let difference = fixed.mean - random.mean;
    // A slow clock can give one class a single value. Equal means are no difference then, and others a
    // certain one.
    let t = if difference == 0.0 { 0.0 } else { difference / error.max(f64::MIN_POSITIVE) };
    Some(Test { cut, fixed: fixed.mean, random: random.mean, t })
}

/// Returns the test that tells the classes apart best.
pub fn worst(tests: &[Test]) -> Option<Test> {
    tests.iter().copied().max_by(|a, b| a.t.abs().total_cmp(&b.t.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::Random;

    /// Makes times with noise and with interruptions. The random class takes `more` longer.
    fn samples(more: f64) -> Vec<Sample> {
        let mut random = Random::new(1);
        let sample = |i: usize| {
            let fixed = random.below(2) == 0;
            let noise = random.below(40) as f64 + if i.is_multiple_of(50) { 5000.0 } else { 0.0 };
            Sample { fixed, nanoseconds: 1000.0 + noise + if fixed { 0.0 } else { more } }
        };
        (0..20_000).map(sample).collect()
    }

    #[test]
    fn equal_classes_are_not_told_apart() {
        let worst = worst(&tests(&samples(0.0))).unwrap();
        assert!(worst.t.abs() < 4.5, "{worst:?}");
    }

    #[test]
    fn a_small_difference_behind_interruptions_is_found() {
        let all = tests(&samples(3.0));
        assert!(all[0].t.abs() < 4.5, "interruptions hide it from the whole: {all:?}");
        let worst = worst(&all).unwrap();
        assert!(worst.t < -10.0 && worst.cut < 100, "{worst:?}");
    }

    /// The figures are those of an example worked out by hand.
    #[test]
    fn welch() {
        let times = [(true, [10.0, 12.0, 14.0]), (false, [20.0, 21.0, 22.0])];
        let samples: Vec<Sample> = times
            .iter()
            .flat_map(|(fixed, times)| times.map(|nanoseconds| Sample { fixed: *fixed, nanoseconds }))
            .cycle()
            .take(24)
            .collect();
        let test = test(&samples, 100, f64::MAX).unwrap();
        // Variances of 12 times each: 32/11 and 8/11; (12 - 21) / sqrt((32/11 + 8/11) / 12).
        assert!((test.fixed - 12.0).abs() < 1e-9 && (test.random - 21.0).abs() < 1e-9, "{test:?}");
        assert!((test.t + 9.0 / (40.0_f64 / 11.0 / 12.0).sqrt()).abs() < 1e-9, "{test:?}");
    }

    #[test]
    fn too_few_times_tell_nothing() {
        let few: Vec<Sample> = samples(0.0).into_iter().take(12).collect();
        assert!(tests(&few).is_empty() && worst(&[]).is_none());
    }
}
