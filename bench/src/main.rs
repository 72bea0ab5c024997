//! Millstream beside its peers.
fn main() {}
