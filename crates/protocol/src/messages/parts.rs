//! Terms, counts and states: what messages carry.

use crate::code::fields;

fields! {
    /// The grant that a client would like to have. Zero in a field asks for the usual amount.
    Wanted {
        /// The client's name for itself, for `millstream status`.
        name: String,
        /// The number of queues, all of the same depth.
        queues: u32,
        /// Operations in flight in each queue: a power of two.
        depth: u32,
        /// Bytes of arena, without the room that each queue keeps for itself.
        arena_bytes: u32,
        /// The number of keys it may hold.
        key_slots: u32,
        /// True for a grant for private keys: workers that serve nothing else serve it.
        private_keys: bool,
    }
}

fields! {
    /// The restrictions that a policy puts on the keys of a grant. All zero means none.
    KeyRules {
        /// Purposes that no key may have, as bits of `Usages`.
        forbidden: u8,
        /// True when the worker has to make the nonces of all keys of AEADs.
        makes_nonces: bool,
        /// True when no key may be exported.
        keeps_keys: bool,
        /// Says when signatures may use nonces that were computed before: never with 0, always with 2, and with 1 where the worker sees
        /// whether the machine was restored from a snapshot, or runs on no hypervisor.
        precompute: u8,
        /// The most uses of each key in a second; 0 is no limit.
        key_uses_per_s: u32,
        /// The most uses of each key in all; 0 is no limit.
        key_uses: u64,
        /// The most uses of all keys of a grant in a second; 0 is no limit.
        uses_per_s: u32,
        /// The most uses of all keys of a grant in all; 0 is no limit.
        uses: u64,
    }
}

fields! {
    /// The terms that a client was given.
    Grant {
        /// The grant's number, which is never used again while the broker lives.
        id: u64,
        /// The number of queues.
        queues: u32,
        /// Operations in flight in each: a power of two. The rings are twice as deep.
        depth: u32,
        /// Bytes of arena.
        arena_bytes: u32,
        /// The number of keys it may hold.
        key_slots: u32,
        /// The client's share of an accelerator, relative to the weights of all.
        weight: u32,
        /// The algorithms it may use, as one bit for each algorithm's number.
        algorithms: u128,
        /// The restrictions on its keys.
        keys: KeyRules,
    }
}

fields! {
    /// The presignatures of a worker for private keys.
    Presigned {
        /// The number of grants that may use them.
        grants: u32,
        /// Presignatures that are ready.
        ready: u64,
        /// Presignatures that signatures were made with.
        taken: u64,
        /// Presignatures that were wiped unused.
        dropped: u64,
    }
}

fields! {
    /// Counts for the queues of a grant.
    QueueCounts {
        /// Operations that ended.
        operations: u64,
        /// Bytes of their sources.
        bytes: u64,
        /// The number of goes in which the worker executed operations, for all of its grants. Operations
        /// divided by goes tell how well the lanes were filled. The same for each grant of a worker, so never
        /// add it up over grants.
        batches: u64,
        /// Operations that the worker executed in those goes.
        batched: u64,
        /// Operations in flight now.
        in_flight: u32,
        /// Keys it holds now.
        keys: u32,
        /// The number of times the client was woken from its sleep.
        client_wakes: u64,
        /// The number of times the doorbell rang.
        doorbells: u64,
        /// Operations that failed, by the number of their status.
        failures: Failures,
    }
}

/// Failed operations: a status and how many ended with it.
pub type Failures = Vec<(u16, u64)>;

fields! {
    /// A grant as `millstream status` shows it.
    GrantStatus {
        /// The terms of the grant.
        grant: Grant,
        /// The client's name for itself.
        name: String,
        /// The client's process.
        pid: u32,
        /// The client's user.
        uid: u32,
        /// The number of its worker.
        worker: u32,
        /// Seconds since it was granted.
        age_s: u64,
        /// The counts of its queues.
        counts: QueueCounts,
    }
}

fields! {
    /// A worker as `millstream status` shows it.
    WorkerStatus {
        /// The worker's number.
        worker: u32,
        /// The worker's process.
        pid: u32,
        /// The processor it is pinned to; `false` when it is not pinned.
        cpu: (bool, u32),
        /// The number of grants that it serves.
        grants: u32,
        /// The number of times it went to sleep.
        sleeps: u64,
        /// The number of times it died and was started again.
        restarts: u64,
        /// The sandbox that it is in, described in a few words.
        sandbox: String,
        /// The kind of memory its keys are in: `memfd_secret` or `locked memory`.
        key_memory: String,
        /// True when it serves private keys, and nothing else.
        private_keys: bool,
        /// The presignatures.
        presigned: Presigned,
    }
}

fields! {
    /// The use of one resource.
    Use {
        /// The resource with its unit: `grants`, `connections`, `descriptors`, `queues`, `memory_bytes`,
        /// `key_memory_bytes`, `orders`.
        what: String,
        /// The amount that is charged.
        used: u64,
        /// The most that may be charged; the greatest number where there is no limit.
        limit: u64,
    }
}

fields! {
    /// The use of everything that one party has, as `millstream status` shows it.
    UseStatus {
        /// True for a user; the number is the lowest uid of those who share the account.
        user: bool,
        /// True for a worker; the number is the worker's. An entry of neither kind is the service's.
        worker: bool,
        /// The number.
        number: u32,
        /// The use of each limited resource.
        uses: Vec<Use>,
    }
}

fields! {
    /// A grant that has a token open.
    TokenHolder {
        /// The grant.
        grant: u64,
        /// The client's process.
        pid: u32,
        /// The client's user.
        uid: u32,
        /// The times that it has the token open.
        sessions: u32,
    }
}

fields! {
    /// A token as who may use it sees it without a PIN.
    TokenStatus {
        /// The serial number.
        token: u128,
        /// The label.
        label: String,
        /// True when there is a user PIN.
        has_user_pin: bool,
        /// The tries of the user PIN that are left.
        user_tries_left: u8,
        /// The tries of the security officer's PIN that are left.
        officer_tries_left: u8,
        /// The number of objects.
        objects: u32,
        /// The number of changes so far, of objects and PINs.
        changes: u64,
        /// True when the client may change the token.
        manages: bool,
        /// The times that the token is open, by all clients together.
        sessions: u32,
        /// The grants that have it open, 64 at most: all of them for who may change the token and for operators of the service, for others those of their own user.
        holders: Vec<TokenHolder>,
    }
}
