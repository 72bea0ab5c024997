//! The terms and the state of a grant.

/// The terms of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantInfo {
    /// The grant's number, as `millstream status` shows it; 0 for one in this process.
    pub id: u64,
    /// The number of queues.
    pub queues: u32,
    /// Operations in flight in each.
    pub depth: usize,
    /// Bytes of arena. Each queue keeps some for itself: 768 for each operation in flight.
    pub arena_bytes: u32,
    /// The number of keys it may hold.
    pub key_slots: usize,
    /// The grant's share of an accelerator, among the weights of all.
    pub weight: u32,
    /// The algorithms it may use: the bit of each one's number.
    pub algorithms: u128,
}

/// The state of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantState {
    /// A worker serves it.
    Live,
    /// The grant was revoked.
    Revoked,
    /// The worker or the broker has ended; or this is a forked child of the process that attached.
    Gone,
}
