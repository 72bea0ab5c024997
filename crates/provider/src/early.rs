//! Opens files before a program changes its root directory: a program that has called `chroot(2)` reaches the service's
//! socket and the file of counters no more.
//!
//! Only a process that [may do that](may_change_root) opens the file and connects to the service when it fetches its first
//! algorithm, and keeps the connection for its first key. All others do so when they set a key, and hold nothing before.

use millstream::isolated::may_change_root;

use crate::count;
use crate::provider::Provider;
use crate::remote;

/// Prepares the provider for the algorithms that are about to be used, once.
pub fn begin(provider: Provider) {
    if provider.begins() && may_change_root() {
        count::open(provider);
        remote::connect_early(provider);
    }
}
