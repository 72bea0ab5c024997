//! Grants whose descriptors were sent, and that their clients do not receive.
//!
//! The system counts descriptors in flight for the user who sent them, and forbids sending more when these
//! are as many as one process may open. They are in flight until the client receives them or closes its end,
//! even when this end is closed. So no client may have more than one such answer on a connection, and a
//! connection that has one stays charged after it has ended for the broker.

use std::time::{Duration, Instant};

use crate::broker::Broker;
use crate::client::{CONNECTION, Client};
use crate::ledger::{Account, Amounts, Resource};
use crate::link::Link;

/// The descriptors in flight with a grant.
const UNDER_WAY: Amounts = Amounts::new(&[(Resource::Descriptors, 5)]);
/// The pause between checks.
const PAUSE: Duration = Duration::from_secs(1);

/// Connections that have ended for the broker, and not for their clients.
#[derive(Default)]
pub(crate) struct Untaken {
    links: Vec<(Link, Account)>,
    /// The time of the next check.
    pub(crate) look_at: Option<Instant>,
}

impl Client {
    /// Returns true when descriptors may be in flight to it.
    pub(crate) fn leaves_untaken(&mut self) -> bool {
        self.was_handed &= !self.link.is_taken();
        self.was_handed
    }
}

impl Broker {
    /// Ends a connection whose client has not taken its grant. It is already charged as a connection
    /// without a grant.
    pub(crate) fn keep_untaken(&mut self, mut link: Link, account: Account) {
        link.forget();
        link.socket().hang_up();
        self.ledger.add(account, &UNDER_WAY);
        self.untaken.links.push((link, account));
        self.untaken.look_at.get_or_insert(Instant::now() + PAUSE);
    }

    /// Checks which of them were taken meanwhile, or given up.
    pub(crate) fn look_at_untaken(&mut self, now: Instant) {
        if self.untaken.look_at.is_none_or(|at| now < at) {
            return;
        }
        let ledger = &mut self.ledger;
        self.untaken.links.retain(|(link, account)| {
            let taken = link.is_taken();
            if taken {
                ledger.give_back(*account, &UNDER_WAY);
                ledger.give_back(*account, &CONNECTION);
            }
            !taken
        });
        self.untaken.look_at = (!self.untaken.links.is_empty()).then_some(now + PAUSE);
    }
}
