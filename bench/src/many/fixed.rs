//! The fixed costs of a queue, which every operation has on top of its engine's work.

use std::fmt::Write;
use std::hint::black_box;

use millstream::queue::{Config, Queue};
use millstream_cpu::Features;
use millstream_measure::clock;
use millstream_measure::statistics::median;
use serde_json::{Value, json};

use super::measure::Cell;
use super::work::Work;
use crate::measure::{Effort, OURS};
use crate::record::rounded;

/// Bytes of the buffer that is taken and dropped.
const BUFFER: usize = 64;

/// The most that taking a buffer and dropping it is to take, in nanoseconds.
const BUFFER_AT_MOST: f64 = 15.0;

/// The fixed costs of a queue, in nanoseconds.
pub struct Fixed {
    /// A word that asks for nothing, and its completion, with so many in flight.
    null: Vec<(usize, f64)>,
    /// A buffer, taken and dropped.
    buffer: f64,
}

impl Fixed {
    /// Finds the null words among the cells, and measures a buffer; none where no null word was measured through a queue.
    pub fn measure(features: Features, cells: &[Cell], effort: Effort) -> Option<Fixed> {
        let nulls = cells.iter().filter(|cell| cell.place.work == Work::Null);
        let of = |cell: &Cell| Some((cell.place.depth, cell.row(OURS, "queue")?.median_ns()));
        let null: Vec<_> = nulls.filter_map(of).collect();
        if null.is_empty() {
            return None;
        }
        let queue = Queue::inline(features, Config::default()).expect("a queue");
        let turn_ns = effort.seconds * 1e9 / f64::from(effort.rounds);
        let times = (turn_ns / 20.0).clamp(64.0, 1e6) as u32;
        let turn = || {
            let spent = clock::time_ns(|| {
                for _ in 0..times {
                    drop(black_box(queue.buffer(BUFFER).expect("the arena has room")));
                }
            });
            spent / f64::from(times)
        };
        Some(Fixed { null, buffer: median((0..effort.rounds).map(|_| turn()).collect()) })
    }

    /// Formats the costs, one a line.
    pub fn text(&self) -> String {
        const ROOM: &str = "a string takes everything";
        let mut text = String::new();
        for (depth, ns) in &self.null {
            writeln!(text, "fixed  an operation of a queue (null word), {depth} in flight: {ns:.1} ns")
                .expect(ROOM);
        }
        let word = if self.buffer <= BUFFER_AT_MOST { "met" } else { "missed" };
        let Fixed { buffer, .. } = self;
        writeln!(
            text,
            "{word:<7}a buffer of {BUFFER} bytes, taken and dropped: at most {BUFFER_AT_MOST} ns: {buffer:.1} ns"
        )
        .expect(ROOM);
        text
    }

    /// Returns the same for a record.
    pub fn json(&self) -> Value {
        let null = |(depth, ns): &(usize, f64)| json!({ "in_flight": depth, "ns": rounded(*ns) });
        json!({
            "null": self.null.iter().map(null).collect::<Vec<_>>(),
            "buffer_ns": rounded(self.buffer),
            "buffer_at_most": BUFFER_AT_MOST,
        })
    }
}
