//! The three places in which a queue's operations are executed.

use std::sync::Arc;

use millstream_accelerator::GrantId;

use super::isolated::Isolated;
use super::parts::LocalAccelerator;
use super::thread::client::Client;

/// The one who executes.
pub(super) enum Driver {
    /// The thread that polls.
    Inline(Box<LocalAccelerator>, GrantId),
    /// A thread that looks at the ring.
    Thread(Arc<Client>),
    /// A worker, which is another process.
    Isolated(Box<Isolated>),
}
