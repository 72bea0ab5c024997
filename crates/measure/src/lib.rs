//! Measuring and showing measurements: clocks, quantiles, figures, pictures.
//!
//! The callers, `millstream speed` and the benches, decide what is measured.
//!
//! ```
//! use millstream_measure::{clock, figures, statistics};
//!
//! let mut times: Vec<f64> = (0..9).map(|_| clock::time_ns(|| drop(std::hint::black_box(vec![0; 4096])))).collect();
//! times.sort_by(f64::total_cmp);
//! println!("{} ns, at most {} in nine of ten", statistics::median(times.clone()), statistics::quantile(&times, 0.9));
//! assert_eq!(figures::significant(12.345), "12.3");
//! ```
#![deny(unsafe_code)]

pub mod calendar;
pub mod clock;
pub mod disturbance;
pub mod figures;
pub mod plot;
pub mod statistics;
