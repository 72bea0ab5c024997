//! Digests and MACs as `digest` and `mac` compute them.

/// A running digest or MAC.
pub(crate) trait Sum {
    fn update(&mut self, data: &[u8]);
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// An algorithm, with its key if it has one.
pub(crate) trait Sums: Sync {
    /// Begins a message that comes in pieces.
    fn begin(&self) -> Box<dyn Sum + '_>;

    /// Computes the sums of whole messages, in lanes where the algorithm has them.
    fn of_all(&self, messages: &[&[u8]]) -> Vec<Vec<u8>>;
}

/// Computes the sums of whole messages one after another.
pub(crate) fn one_by_one(sums: &(impl Sums + ?Sized), messages: &[&[u8]]) -> Vec<Vec<u8>> {
    let one = |message: &&[u8]| {
        let mut sum = sums.begin();
        sum.update(message);
        sum.finish()
    };
    messages.iter().map(one).collect()
}
