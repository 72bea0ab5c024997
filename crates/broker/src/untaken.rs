//! Grants whose descriptors were sent and that their clients do not take.
//!
//! The system counts descriptors that are under way for the user who sent them, and has him send no more when these are as many as
//! one process may open. They are under way until the client receives them or closes its end, whatever becomes of this one. So nobody
//! has more than one such answer on a connection, and a connection that has one stays charged when it has ended for the broker.

use std::time::{Duration, Instant};

use crate::broker::Broker;
use crate::client::{CONNECTION, Client};
use crate::ledger::{Account, Amounts, Resource};
use crate::link::Link;

/// What is under way with a grant.
const UNDER_WAY: Amounts = Amounts::new(&[(Resource::Descriptors, 5)]);
/// How often it is looked whether it was taken.
const PAUSE: Duration = Duration::from_secs(1);

/// Connections that have ended for the broker, and not for their clients.
#[derive(Default)]
pub(crate) struct Untaken {
    links: Vec<(Link, Account)>,
    /// When to look at them.
    pub(crate) look_at: Option<Instant>,
}

impl Client {
    /// Whether descriptors may be under way to it.
    pub(crate) fn leaves_untaken(&mut self) -> bool {
        self.was_handed &= !self.link.is_taken();
        self.was_handed
    }
}

impl Broker {
    /// Ends a connection whose client has not taken its grant. It is charged as one without a grant already.
    pub(crate) fn keep_untaken(&mut self, mut link: Link, account: Account) {
        link.forget();
        link.socket().hang_up();
        self.ledger.add(account, &UNDER_WAY);
        self.untaken.links.push((link, account));
        self.untaken.look_at.get_or_insert(Instant::now() + PAUSE);
    }

    /// Looks which of them were taken meanwhile, or given up.
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
