//! Operations that go round stations: strands, units and memory. Each station serves them in the order of their
//! arrival.
//!
//! The network is closed: a token is one operation in flight, which begins again when it ends. One token a thread is a
//! synchronous thread; several that share a thread's station are an asynchronous one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A place where an operation is served.
pub type Station = usize;

/// The time for which an operation needs a station.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// The station.
    pub station: Station,
    /// The time, in cycles.
    pub cycles: f64,
}

/// The stations.
///
/// ```
/// use millstream_ultrasparc::timing::simulation::{Network, Visit};
///
/// // A thread that works 100 cycles for each operation, and a unit that then works 300: one after the other with one
/// // token, and as fast as the slower of them with two.
/// let cycles = |tokens| {
///     let mut network = Network::default();
///     let (thread, unit) = (network.station(1), network.station(1));
///     let route = [Visit { station: thread, cycles: 100.0 }, Visit { station: unit, cycles: 300.0 }];
///     network.run(tokens, 1000, |_, _| route.to_vec())
/// };
/// assert_eq!(cycles(1), 400.0);
/// assert_eq!(cycles(2), 300.0);
/// ```
#[derive(Default)]
pub struct Network {
    /// The time at which each server of each station is free.
    free: Vec<Vec<f64>>,
}

/// A token at the end of one of its visits. Tokens are ordered by time, and then by their arrival, so that a run is the
/// same each time.
struct Arrival {
    time: f64,
    number: u64,
    token: usize,
    visit: usize,
}

impl Network {
    /// A new station that serves as many at a time.
    pub fn station(&mut self, servers: usize) -> Station {
        self.free.push(vec![0.0; servers]);
        self.free.len() - 1
    }

    /// Runs `tokens` tokens until `operations` ended, after as many operations that fill the pipeline. Returns the
    /// cycles between the ends of two. The route of an operation depends on the token and on the number of operations
    /// that began before.
    ///
    /// # Panics
    /// Without tokens, or when a route is empty or names no station of this network.
    pub fn run(
        mut self,
        tokens: usize,
        operations: u64,
        mut route: impl FnMut(usize, u64) -> Vec<Visit>,
    ) -> f64 {
        let mut begun = 0;
        let mut begin = |token| {
            begun += 1;
            route(token, begun - 1)
        };
        let mut routes: Vec<Vec<Visit>> = (0..tokens).map(&mut begin).collect();
        let mut numbers = 0..;
        let mut next = |time, token, visit| {
            let number = numbers.next().expect("there are more numbers");
            Reverse(Arrival { time, number, token, visit })
        };
        let mut arrivals: BinaryHeap<_> = (0..tokens).map(|token| next(0.0, token, 0)).collect();
        let (mut ended, mut filled) = (0, 0.0);
        loop {
            let Reverse(Arrival { time, token, mut visit, .. }) =
                arrivals.pop().expect("a token is somewhere");
            if visit == routes[token].len() {
                ended += 1;
                if ended == operations {
                    filled = time;
                } else if ended == 2 * operations {
                    return (time - filled) / operations as f64;
                }
                routes[token] = begin(token);
                visit = 0;
            }
            let end = self.serve(routes[token][visit], time);
            arrivals.push(next(end, token, visit + 1));
        }
    }

    /// Returns the time at which an operation that arrives now has been served, by the server that is free first.
    fn serve(&mut self, Visit { station, cycles }: Visit, now: f64) -> f64 {
        let servers = self.free[station].iter_mut();
        let server = servers.min_by(|a, b| a.total_cmp(b)).expect("a station has a server");
        *server = now.max(*server) + cycles;
        *server
    }
}

impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.time.total_cmp(&other.time).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Arrival {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_a_station_work_at_once() {
        let cycles = |servers, tokens| {
            let mut network = Network::default();
            let unit = network.station(servers);
            network.run(tokens, 600, |_, _| vec![Visit { station: unit, cycles: 12.0 }])
        };
        assert_eq!(cycles(1, 1), 12.0);
        assert_eq!(cycles(1, 5), 12.0);
        assert_eq!(cycles(4, 2), 6.0);
        assert_eq!(cycles(4, 16), 3.0);
    }

    #[test]
    fn routes_are_asked_for_by_the_number_of_operations() {
        // Operations alternate between two stations: with two tokens both are always busy.
        let mut network = Network::default();
        let units = [network.station(1), network.station(1)];
        let route = |_, number: u64| vec![Visit { station: units[(number % 2) as usize], cycles: 10.0 }];
        assert_eq!(network.run(2, 100, route), 5.0);
    }
}
