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
    /// What a policy keeps from the keys of a grant: nothing, where all is zero.
    KeyRules {
        /// Purposes that no key may have: bits of `Usages`.
        forbidden: u8,
        /// Whether the worker has to make the nonces of all keys of AEADs.
        makes_nonces: bool,
        /// Whether no key may be exported.
        keeps_keys: bool,
    }
}

fields! {
    /// What a key is for.
    KeyPurpose {
        /// Bits of `Usages`; 0 for all that the algorithm has operations for.
        usages: u8,
        /// Whether the worker makes its nonces, and refuses given ones.
        makes_nonces: bool,
    }
}

fields! {
    /// The nonces that are left for a key.
    NoncesLeft {
        /// The next one as a number.
        next: u128,
        /// How many there are.
        left: u64,
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
        /// What its keys may not be.
        keys: KeyRules,
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

fields! {
    /// How much of something is in use.
    Use {
        /// What, with its unit: `grants`, `connections`, `descriptors`, `queues`, `memory_bytes`, `key_memory_bytes`, `orders`.
        what: String,
        /// So much is charged.
        used: u64,
        /// The most that may be; the greatest number where there is no limit.
        limit: u64,
    }
}

fields! {
    /// What is in use of what somebody has, as `millstream status` shows it.
    UseStatus {
        /// Whether it is a user's; the number is the lowest uid of those who share the account.
        user: bool,
        /// Whether it is a worker's; the number is that of the worker. What is neither is the service's.
        worker: bool,
        /// The number.
        number: u32,
        /// Everything of which there is only so much.
        uses: Vec<Use>,
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
        /// This user asks too often, or is granted nothing for a while.
        NotNow = 10 "the service grants this user nothing at the moment",
        /// Only operators may do that.
        NotOperator = 11 "this user is no operator of the service",
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
        /// The algorithm has no such usage.
        Usage = 9 "a key of this algorithm can't have these usages",
        /// The algorithm encrypts and decrypts alike, so that one usage without the other would promise what does not hold.
        TwoWay = 10 "who may encrypt with this key can decrypt, and the other way round: ask for both usages; for an AEAD's key have the worker make its nonces",
        /// Only the keys of AEADs have nonces that a worker makes.
        Nonces = 11 "the worker makes nonces for aes-gcm and chacha20-poly1305 only: give them",
        /// The policy allows no keys for that.
        PolicyUsages = 12 "the policy's `usages` does not allow keys for all of this: ask for fewer usages",
        /// The policy wants the worker to make the nonces.
        PolicyNonces = 13 "the policy has `nonces = \"worker\"`: ask for a key whose nonces the worker makes",
        /// The policy allows no key to be exported.
        PolicyExportable = 14 "the policy has `exportable = false`: ask for a key that is not exportable",
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
        /// What there is: [`Reply::Worker`], [`Reply::Grant`] and [`Reply::Use`] for each, then [`Reply::End`]. Who is neither root nor
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
        /// What is in use of what there is.
        Use = 6 {
            /// Whose, and how much.
            status: UseStatus,
        }
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
            /// What it is for.
            purpose: KeyPurpose,
            /// The key.
            bytes: Secret,
        }
        /// A new random key: [`KeyReply::Key`].
        Generate = 2 {
            /// As for an import.
            algorithm: u8,
            /// Whether it may be exported.
            exportable: bool,
            /// What it is for.
            purpose: KeyPurpose,
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
        /// The end of a key, which is not answered: nobody waits for it.
        Discard = 5 {
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
            /// What new keys may not be from now on, and whether any may be exported.
            keys: KeyRules,
        }
        /// Hand a grant to another worker. With it comes one descriptor: the socket to that one, where
        /// [`HandOver`] messages go. [`Report::Done`] when that was begun, [`Report::Moved`] when all was sent.
        Release = 4 {
            /// Which.
            grant: u64,
        }
        /// Take a grant from another worker. With it come five descriptors: arena, rings, state page, doorbell and the
        /// socket from that one. [`Report::Done`] when that was begun, [`Report::Moved`] when it is served here.
        Adopt = 5 {
            /// What was granted.
            grant: Grant,
            /// The inode of its key socket: no other descriptor is taken from that worker.
            keys: u64,
        }
        /// [`Report::Worker`], then [`Report::Counts`] for each grant, then [`Report::Done`].
        Count = 6 {}
        /// Finish what was submitted, and end.
        Stop = 7 {}
        /// Show in a page how you get on. With it comes one descriptor: the page, of [`PROGRESS_BYTES`](crate::PROGRESS_BYTES).
        /// [`Report::Done`].
        Watch = 8 {}
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
            /// How many bytes there are for keys.
            key_bytes: u64,
        }
        /// The order was obeyed.
        Done = 2 {}
        /// The order could not be obeyed.
        Failed = 3 {
            /// Why, for people.
            why: String,
        }
        /// A grant has left this worker, or has arrived.
        Moved = 6 {
            /// Which.
            grant: u64,
        }
        /// It has not, and is not served here.
        NotMoved = 7 {
            /// Which.
            grant: u64,
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
            /// What it is for.
            purpose: KeyPurpose,
            /// The nonces that are left, where the worker makes them.
            nonces: NoncesLeft,
            /// The key.
            bytes: Secret,
        }
        /// All was said. With it comes one descriptor: the worker's end of the key socket.
        End = 3 {}
    }
}
