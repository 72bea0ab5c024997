//! The name of an operation in flight.

/// Names one of a queue's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(
    /// The slot, and above it the slot's generation. They are one number because a load of the whole stalls when the
    /// halves were stored apart.
    u64,
);

impl Ticket {
    /// Returns the ticket of the slot's next operation.
    #[inline(always)]
    pub(super) fn next(self) -> Self {
        Ticket(self.0.wrapping_add(1 << 32))
    }

    #[inline(always)]
    pub(super) fn slot(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(super) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns a number below the queue's depth that no other operation in flight has: the place in a table of who waits for what.
    ///
    /// ```
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let mut names = vec![""; queue.depth()];
    /// for name in ["one", "two"] {
    ///     names[queue.submit(Request::null())?.index()] = name;
    /// }
    /// while let Some(done) = queue.wait() {
    ///     println!("{} has ended", names[done.ticket.index()]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn index(self) -> usize {
        self.slot() as usize
    }

    /// Returns the ticket as a number, for faces in other languages. The lower half is below the queue's depth, and no
    /// two operations in flight have the same number.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// Rebuilds a ticket from [`Ticket::to_bits`]. An unknown number matches no operation.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Self {
        Ticket(bits)
    }
}
