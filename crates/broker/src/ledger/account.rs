//! The account that a user's grants are charged to.

/// An account, named by the lowest of the uids that share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Account(pub(crate) u32);
