//! The messages.

use crate::code::{Secret, fields, messages, numbered};

fields! {
    /// What a client would like to have. Zero means: as much as is usual.
    Wanted {
        /// How the client calls itself, for `millstream status`.
        name: String,
        /// Queues; all are of the same depth.
        queues: u32,
        /// Operations in flight in each queue: a power of two.
        depth: u32,
        /// Bytes of arena, without the places that each queue keeps for itself.
        arena_bytes: u32,
        /// Keys it may hold.
        key_slots: u32,
    }
}

fields! {
    /// What a client was given.
    Grant {
        /// Its number, which never comes again while the broker lives.
        id: u64,
        /// Queues.
        queues: u32,
        /// Operations in flight in each: a power of two. The rings are twice as deep.
        depth: u32,
        /// Bytes of arena.
        arena_bytes: u32,
        /// Keys it may hold.
        key_slots: u32,
        /// Its share of an accelerator, among the weights of all.
        weight: u32,
        /// The algorithms it may use: the bit of each one's number.
        algorithms: u128,
    }
}

fields! {
    /// What was counted for the queues of a grant.
    QueueCounts {
        /// Operations that ended.
        operations: u64,
        /// Bytes of their sources.
        bytes: u64,
        /// In how many goes their worker executed operations, of all its grants: those by these are the lanes that were
        /// filled. Not to be added over grants.
        batches: u64,
        /// Operations that it executed in those goes.
        batched: u64,
        /// Operations in flight now.
        in_flight: u32,
        /// Keys it holds now.
        keys: u32,
        /// How often the client was woken from its sleep.
        client_wakes: u64,
        /// How often the doorbell rang.
        doorbells: u64,
        /// Operations that failed, by the number of their status.
        failures: Failures,
    }
}

/// Operations that failed: a status and how many.
pub type Failures = Vec<(u16, u64)>;

fields! {
    /// A grant as `millstream status` shows it.
    GrantStatus {
        /// What was granted.
        grant: Grant,
        /// How the client calls itself.
        name: String,
        /// The client's process.
        pid: u32,
        /// The client's user.
        uid: u32,
        /// The number of its worker.
        worker: u32,
        /// Seconds since it was granted.
        age_s: u64,
        /// What its queues did.
        counts: QueueCounts,
    }
}

fields! {
    /// A worker as `millstream status` shows it.
    WorkerStatus {
        /// Its number.
        worker: u32,
        /// Its process.
        pid: u32,
        /// The processor it is pinned to, and whether it is.
        cpu: (bool, u32),
        /// Grants that it serves.
        grants: u32,
        /// How often it went to sleep.
        sleeps: u64,
        /// How often it died and was started again.
        restarts: u64,
        /// What keeps it from harm, in a few words.
        sandbox: String,
        /// Where its keys are: `memfd_secret` or `locked memory`.
        key_memory: String,
    }
}

numbered! {
    /// Why a broker refused.
    Refusal {
        /// The policy allows this user nothing.
        Denied = 1 "the policy allows this user no grant",
        /// More was asked for than the policy allows.
        TooMuch = 2 "more was asked for than the policy allows",
        /// This user has as many grants as the policy allows.
        TooManyGrants = 3 "this user has as many grants as the policy allows",
        /// No worker is there to serve it.
        NoWorker = 4 "no worker can take the grant",
        /// Memory or descriptors have run out.
        Exhausted = 5 "memory or descriptors have run out in the service",
        /// There is no such grant, or it is not this user's.
        NoSuchGrant = 6 "there is no such grant, or it is another user's",
        /// There is no such worker.
        NoSuchWorker = 7 "there is no such worker",
        /// The policy file can't be used; the old policy stays.
        Policy = 8 "the policy file can't be used; the old policy stays",
        /// The message was not understood.
        Message = 9 "the message was not understood",
    }
}

numbered! {
    /// Why a worker refused what was asked about a key.
    KeyRefusal {
        /// There is no such key in this grant.
        NoSuchKey = 1 "there is no such key in this grant",
        /// The key was not created exportable.
        NotExportable = 2 "the key was not created exportable",
        /// All slots are taken.
        SlotsFull = 3 "every key slot is taken: destroy a key first, or ask for more key slots",
        /// The policy does not allow the algorithm.
        Policy = 4 "the policy does not allow the algorithm",
        /// The algorithm takes no key of that length, or the key is weak.
        KeyLength = 5 "the algorithm takes no such key",
        /// There is no such algorithm, or it takes no key.
        Algorithm = 6 "no such algorithm takes a key",
        /// The message was not understood.
        Message = 7 "the message was not understood",
        /// The memory for keys has run out.
        Exhausted = 8 "the memory for keys has run out",
    }
}

messages! {
    /// What a client asks of a broker.
    Request {
        /// A grant. It lives as long as this connection.
        Attach = 1 {
            /// What it would like.
            wanted: Wanted,
        }
        /// What there is: [`Reply::Worker`] and [`Reply::Grant`] for each, then [`Reply::End`]. Who is neither root nor
        /// the broker's user sees its own grants.
        Status = 2 {}
        /// The end of a grant: [`Reply::End`].
        Revoke = 3 {
            /// Which.
            grant: u64,
        }
        /// Another worker for a grant: [`Reply::End`].
        Move = 4 {
            /// Which.
            grant: u64,
            /// To which.
            worker: u32,
        }
        /// The policy file again: [`Reply::End`].
        Reload = 5 {}
    }
}

messages! {
    /// What a broker answers.
    Reply {
        /// Granted. With it come five descriptors: arena, rings, state page, doorbell, key socket.
        Granted = 1 {
            /// What.
            grant: Grant,
        }
        /// Refused.
        Refused = 2 {
            /// Why.
            why: Refusal,
            /// More about it, for people: the limit, the file and line.
            detail: String,
        }
        /// A worker.
        Worker = 3 {
            /// How it is.
            status: WorkerStatus,
        }
        /// A grant.
        Grant = 4 {
            /// How it is.
            status: GrantStatus,
        }
        /// Nothing more comes.
        End = 5 {}
    }
}

messages! {
    /// What a client asks of its grant's worker.
    KeyRequest {
        /// A key from these bytes: [`KeyReply::Key`].
        Import = 1 {
            /// The number of the algorithm in control words; that of a hash is for its HMAC.
            algorithm: u8,
            /// Whether it may be exported.
            exportable: bool,
            /// The key.
            bytes: Secret,
        }
        /// A new random key: [`KeyReply::Key`].
        Generate = 2 {
            /// As for an import.
            algorithm: u8,
            /// Whether it may be exported.
            exportable: bool,
            /// How many bytes.
            len: u16,
        }
        /// The bytes of an exportable key: [`KeyReply::Exported`].
        Export = 3 {
            /// Which.
            handle: u32,
        }
        /// The end of a key: [`KeyReply::Destroyed`].
        Destroy = 4 {
            /// Which.
            handle: u32,
        }
    }
}

messages! {
    /// What a worker answers.
    KeyReply {
        /// Here it is.
        Key = 1 {
            /// Its handle, for control words of this grant.
            handle: u32,
        }
        /// The bytes.
        Exported = 2 {
            /// The key.
            bytes: Secret,
        }
        /// It is no more, and zeroised.
        Destroyed = 3 {}
        /// Refused.
        Refused = 4 {
            /// Why.
            why: KeyRefusal,
        }
    }
}

messages! {
    /// What a broker tells a worker. Each is answered, in order.
    Order {
        /// Serve a grant. With it come five descriptors: arena, rings, state page, doorbell, the worker's end of the
        /// key socket. [`Report::Done`].
        Serve = 1 {
            /// What was granted.
            grant: Grant,
        }
        /// Serve a grant no longer; its keys are zeroised, and operations not begun end as revoked. [`Report::Done`].
        Drop = 2 {
            /// Which.
            grant: u64,
        }
        /// The policy has changed. [`Report::Done`].
        Limit = 3 {
            /// Which.
            grant: u64,
            /// The share from now on.
            weight: u32,
            /// The algorithms from now on.
            algorithms: u128,
        }
        /// Hand a grant to another worker. With it comes one descriptor: the socket to that one, where
        /// [`HandOver`] messages go. [`Report::Done`] when all was sent.
        Release = 4 {
            /// Which.
            grant: u64,
        }
        /// Take a grant from another worker. With it come five descriptors: arena, rings, state page, doorbell and the
        /// socket from that one. [`Report::Done`].
        Adopt = 5 {
            /// What was granted.
            grant: Grant,
        }
        /// [`Report::Worker`], then [`Report::Counts`] for each grant, then [`Report::Done`].
        Count = 6 {}
        /// Finish what was submitted, and end.
        Stop = 7 {}
    }
}

messages! {
    /// What a worker tells its broker.
    Report {
        /// It is ready to serve: the first message.
        Ready = 1 {
            /// What keeps it from harm, in a few words.
            sandbox: String,
            /// Where its keys are.
            key_memory: String,
        }
        /// The order was obeyed.
        Done = 2 {}
        /// The order could not be obeyed.
        Failed = 3 {
            /// Why, for people.
            why: String,
        }
        /// The worker's own figures.
        Worker = 4 {
            /// How often it went to sleep.
            sleeps: u64,
        }
        /// A grant's figures.
        Counts = 5 {
            /// Which.
            grant: u64,
            /// What its queues did.
            counts: QueueCounts,
        }
    }
}

messages! {
    /// What one worker tells another when a grant moves. It never passes through the broker.
    HandOver {
        /// Where a queue stands: one for each, in order.
        Queue = 1 {
            /// Control words taken from its submission ring.
            taken: u64,
            /// Completions posted to its completion ring.
            posted: u64,
            /// What it did so far.
            counts: QueueCounts,
        }
        /// A key, which keeps its handle.
        Key = 2 {
            /// Its handle.
            handle: u32,
            /// The number of its algorithm.
            algorithm: u8,
            /// Whether it may be exported.
            exportable: bool,
            /// The key.
            bytes: Secret,
        }
        /// All was said. With it comes one descriptor: the worker's end of the key socket.
        End = 3 {}
    }
}
