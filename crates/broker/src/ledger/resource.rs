//! The resources that are charged, with their units and the words for refusals.

use std::fmt;

use millstream_protocol::Refusal;

/// Declares the resources: their names for programs and for people, and the key of the policy that limits
/// each, for an account and for the service or a worker.
macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident = $label:literal, $words:literal, $of_account:literal, $of_whole:literal;)+) => {
        /// A limited resource.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Resource {
            $($(#[$doc])* $name,)+
        }

        impl Resource {
            pub(crate) const ALL: [Resource; COUNT] = [$(Resource::$name,)+];

            /// Returns the name for programs, with its unit.
            pub(crate) fn label(self) -> &'static str {
                match self { $(Resource::$name => $label,)+ }
            }

            fn words(self) -> &'static str {
                match self { $(Resource::$name => $words,)+ }
            }

            fn key(self, purse: Purse) -> &'static str {
                match (self, purse) {
                    $((Resource::$name, Purse::Account) => $of_account,
                    (Resource::$name, _) => $of_whole,)+
                }
            }
        }

        const COUNT: usize = [$($label,)+].len();
    };
}

resources! {
    /// Grants, until no worker has them any more.
    Grants = "grants", "grants", "max_grants", "[limits] grants";
    /// Connections that have no grant.
    Connections = "connections", "connections that ask for nothing", "connections", "[limits] connections";
    /// Descriptors of the broker.
    Descriptors = "descriptors", "descriptors", "[limits] descriptors", "[limits] descriptors, and LimitNOFILE of the service";
    /// Queues.
    Queues = "queues", "queues", "total_queues", "[limits] queues";
    /// Bytes of arenas and rings.
    Memory = "memory_bytes", "bytes of shared memory", "total_memory_mib", "[limits] memory_mib";
    /// Bytes of memory for keys.
    KeyMemory = "key_memory_bytes", "bytes of key memory", "total_key_slots", "[limits] key_memory_mib, or serve --key-memory";
    /// Orders that workers have not answered.
    Orders = "orders", "orders under way", "orders", "[limits] orders";
    /// Requests for grants.
    Attaches = "attaches", "grants a second", "attaches_per_s", "attaches_per_s";
}

/// The purse that has too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purse {
    Account,
    Service,
    Worker,
}

/// An amount of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts([u64; COUNT]);

impl Amounts {
    pub(crate) const UNLIMITED: Amounts = Amounts([u64::MAX; COUNT]);

    /// Makes amounts of some resources, and nothing of the others.
    pub(crate) const fn new(amounts: &[(Resource, u64)]) -> Self {
        Amounts([0; COUNT]).with(amounts)
    }

    /// Replaces the amounts of some resources.
    pub(crate) const fn with(mut self, amounts: &[(Resource, u64)]) -> Self {
        let mut at = 0;
        while at < amounts.len() {
            self.0[amounts[at].0 as usize] = amounts[at].1;
            at += 1;
        }
        self
    }

    pub(crate) fn get(&self, resource: Resource) -> u64 {
        self.0[resource as usize]
    }

    pub(crate) fn set(&mut self, resource: Resource, amount: u64) {
        self.0[resource as usize] = amount;
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0 == [0; COUNT]
    }

    pub(super) fn add(&mut self, more: &Amounts) {
        for (here, more) in self.0.iter_mut().zip(more.0) {
            *here = here.saturating_add(more);
        }
    }

    pub(super) fn subtract(&mut self, less: &Amounts) {
        for (here, less) in self.0.iter_mut().zip(less.0) {
            debug_assert!(*here >= less, "more is given back than was charged");
            *here = here.saturating_sub(less);
        }
    }

    pub(super) fn min(&self, other: &Amounts) -> Amounts {
        let mut least = *self;
        for (here, other) in least.0.iter_mut().zip(other.0) {
            *here = (*here).min(other);
        }
        least
    }

    /// Checks that `wanted` more stays within the limits.
    pub(super) fn fits(&self, wanted: &Amounts, limits: &Amounts, purse: Purse) -> Result<(), Over> {
        for resource in Resource::ALL {
            let (held, wanted, limit) = (self.get(resource), wanted.get(resource), limits.get(resource));
            if wanted > 0 && held.saturating_add(wanted) > limit {
                return Err(Over { purse, resource, held, wanted, limit });
            }
        }
        Ok(())
    }
}

/// A charge that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    pub(crate) purse: Purse,
    pub(crate) resource: Resource,
    pub(crate) held: u64,
    pub(crate) wanted: u64,
    /// The limit for the account that asked: without the reserve where that is not for it.
    pub(crate) limit: u64,
}

impl Over {
    /// Returns the kind of refusal that a client is told.
    pub(crate) fn refusal(&self) -> Refusal {
        match (self.purse, self.resource) {
            (_, Resource::Attaches) => Refusal::NotNow,
            (Purse::Account, Resource::Grants) => Refusal::TooManyGrants,
            (Purse::Account, Resource::Queues | Resource::Memory | Resource::KeyMemory) => Refusal::TooMuch,
            _ => Refusal::Exhausted,
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Over { purse, resource, held, wanted, limit } = self;
        let (words, key) = (resource.words(), resource.key(*purse));
        if *resource == Resource::Attaches {
            return write!(f, "this user asks for more than {limit} {words}: wait a moment, or raise {key}");
        }
        let whose = match purse {
            Purse::Account => "this user has",
            Purse::Service => "the service has given out",
            Purse::Worker => "the worker has given out",
        };
        write!(
            f,
            "{whose} {held} {words}, {wanted} more were asked for, and {limit} are allowed: raise {key}"
        )
    }
}
