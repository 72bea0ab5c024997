//! Addresses, which make each hash of a key another function.
//!
//! Ref. FIPS 205 §4.2 and §4.3; §11.2 (the compressed form).

/// The purpose of a hash: FIPS 205 §4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// A step of a chain.
    WotsHash = 0,
    /// The public key of a one-time signature.
    WotsKey = 1,
    /// A node of a tree.
    Tree = 2,
    /// A node of a tree of FORS.
    ForsTree = 3,
    /// The public key of FORS.
    ForsRoots = 4,
    /// The secret at the beginning of a chain.
    WotsSecret = 5,
    /// The secret of a leaf of FORS.
    ForsSecret = 6,
}

/// An address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) layer: u32,
    pub(super) tree: u64,
    pub(super) kind: Kind,
    /// The last three words. Their meaning depends on the kind: the leaf, the chain and the step; or the leaf, the height and the node.
    pub(super) words: [u32; 3],
}

impl Address {
    /// Returns the compressed form of 22 bytes in big-endian words. Of the last one the upper half counts.
    #[inline(always)]
    pub(super) fn compressed(&self) -> [u32; 6] {
        let [first, second, third] = self.words;
        [
            self.layer << 24 | (self.tree >> 40) as u32,
            (self.tree >> 8) as u32,
            (self.tree as u32) << 24 | (self.kind as u32) << 16 | first >> 16,
            first << 16 | second >> 16,
            second << 16 | third >> 16,
            third << 16,
        ]
    }

    /// Returns the whole form of 32 bytes in little-endian words.
    #[inline(always)]
    pub(super) fn whole(&self) -> [u64; 4] {
        let pair = |low: u32, high: u32| u64::from(low.swap_bytes()) | u64::from(high.swap_bytes()) << 32;
        let [first, second, third] = self.words;
        [pair(self.layer, 0), self.tree.swap_bytes(), pair(self.kind as u32, first), pair(second, third)]
    }
}
