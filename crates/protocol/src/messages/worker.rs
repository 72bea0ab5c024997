//! Between the broker and its workers, and from worker to worker.

use crate::code::{Secret, fields, messages, numbered};
use crate::messages::key::{KeyPurpose, KeyRefusal};
use crate::messages::parts::{Grant, KeyRules, Presigned, QueueCounts};

fields! {
    /// The nonces that are left for a key.
    NoncesLeft {
        /// The next nonce as a number.
        next: u128,
        /// The number of nonces left.
        left: u64,
    }
}

numbered! {
    /// The outcome of a try of a PIN.
    Tried {
        /// The PIN was right, and the token is open.
        Opened = 1 "the PIN was right",
        /// The PIN was wrong.
        Wrong = 2 "the PIN was wrong",
        /// The PIN was right, and with it the token was found not to be what was sealed.
        NotSealed = 3 "the PIN was right, and the token is not what was sealed",
        /// The PIN was not compared: the vault failed before.
        Failed = 4 "the PIN could not be tried",
    }
}

impl Tried {
    /// Returns true when the PIN was right, so that the tries before it are forgotten.
    pub fn is_right(self) -> bool {
        matches!(self, Tried::Opened | Tried::NotSealed)
    }
}

messages! {
    /// Orders of a broker to a worker. Each is answered, in order.
    Order {
        /// Serves a grant. Five descriptors come along: arena, rings, state page, doorbell, the worker's end
        /// of the key socket. The answer is [`Report::Done`].
        Serve = 1 {
            /// The terms.
            grant: Grant,
        }
        /// Stops serving a grant. Its keys are zeroised, and operations that were not begun end as revoked.
        /// The answer is [`Report::Counts`], then [`Report::Done`].
        Drop = 2 {
            /// The grant.
            grant: u64,
        }
        /// Changes the terms of a grant after a change of the policy. The answer is [`Report::Done`].
        Limit = 3 {
            /// The grant.
            grant: u64,
            /// The share from now on.
            weight: u32,
            /// The algorithms from now on.
            algorithms: u128,
            /// The restrictions on new keys from now on. Whether keys may be exported applies to those that
            /// exist, too.
            keys: KeyRules,
        }
        /// Hands a grant to another worker. One descriptor comes along: the socket to that worker, for
        /// [`HandOver`] messages. The answer is [`Report::Done`] when the move has begun, and
        /// [`Report::Moved`] when everything was sent.
        Release = 4 {
            /// The grant.
            grant: u64,
        }
        /// Takes a grant from another worker. Five descriptors come along: arena, rings, state page, doorbell
        /// and the socket from that worker. The answer is [`Report::Done`] when the move has begun, and
        /// [`Report::Moved`] when the grant is served here.
        Adopt = 5 {
            /// The terms.
            grant: Grant,
            /// The inode of the grant's key socket: no other descriptor is taken from that worker.
            keys: u64,
        }
        /// Asks for counts. The answer is [`Report::Worker`], then [`Report::Counts`] for each grant, then
        /// [`Report::Done`].
        Count = 6 {}
        /// Finishes what was submitted, and ends the worker.
        Stop = 7 {}
        /// Tells the worker to show its progress in a page. One descriptor comes along: the page, of
        /// [`PROGRESS_BYTES`](crate::PROGRESS_BYTES). The answer is [`Report::Done`].
        Watch = 8 {}
        /// Tells the worker the key with which the workers of this service wrap keys. The answer is [`Report::Done`].
        Wrap = 9 {
            /// 32 bytes.
            key: Secret,
        }
        /// Tells the worker the device secret, without which no PIN opens a token. The answer is [`Report::Done`].
        Vault = 10 {
            /// The device secret.
            device: Secret,
        }
        /// The answer to what a worker asked of the store. There is no answer to it. Where the worker has to know the token as it is, one descriptor comes along: memory
        /// with the token's records, and the entries of its objects.
        Found = 11 {
            /// The worker's number for the question.
            ticket: u64,
            /// True when the change that was asked for is on the disk. It is not when another one came first.
            taken: bool,
            /// The tries of the PIN that are left.
            left: u8,
            /// The attributes of the object that was asked for.
            attributes: Vec<u8>,
            /// The sealed object.
            sealed: Vec<u8>,
        }
        /// The store does not do what the worker asked. There is no answer to it.
        NotFound = 12 {
            /// The worker's number for the question.
            ticket: u64,
            /// The reason, for the client.
            why: KeyRefusal,
        }
    }
}

messages! {
    /// Reports of a worker to its broker.
    Report {
        /// The worker is ready to serve. This is the first message.
        Ready = 1 {
            /// The sandbox that it is in, described in a few words.
            sandbox: String,
            /// The kind of memory its keys are in.
            key_memory: String,
            /// The number of bytes for keys.
            key_bytes: u64,
        }
        /// The order was obeyed.
        Done = 2 {}
        /// The order could not be obeyed.
        Failed = 3 {
            /// The reason, for people.
            why: String,
        }
        /// A grant has left this worker, or has arrived.
        Moved = 6 {
            /// The grant.
            grant: u64,
        }
        /// A move of a grant has failed, and the grant is not served here.
        NotMoved = 7 {
            /// The grant.
            grant: u64,
            /// The reason, for people.
            why: String,
        }
        /// The worker's own counts.
        Worker = 4 {
            /// The number of times it went to sleep.
            sleeps: u64,
            /// The presignatures.
            presigned: Presigned,
        }
        /// A grant's counts.
        Counts = 5 {
            /// The grant.
            grant: u64,
            /// The counts of its queues.
            counts: QueueCounts,
        }
        /// Asks that a try of a PIN be counted on the disk, and then for the token's records. The answer to this and to all that follow is
        /// [`Order::Found`] or [`Order::NotFound`].
        CountTry = 8 {
            /// The worker's number for the question.
            ticket: u64,
            /// The grant whose client tries it.
            grant: u64,
            /// The token.
            token: u128,
            /// True for the security officer's PIN.
            officer: bool,
        }
        /// Tells the outcome of a try.
        EndTry = 9 {
            /// The worker's number for the question.
            ticket: u64,
            /// The grant.
            grant: u64,
            /// The token.
            token: u128,
            /// True for the security officer's PIN.
            officer: bool,
            /// The outcome.
            tried: Tried,
        }
        /// Asks for an object, and for the token's records if they are not those that the worker knows.
        LookUp = 10 {
            /// The worker's number for the question.
            ticket: u64,
            /// The grant.
            grant: u64,
            /// The token.
            token: u128,
            /// The object; 0 for none.
            object: u128,
            /// The index of the token that the worker knows.
            known: Vec<u8>,
            /// True when the client has to be a manager.
            manages: bool,
        }
        /// Has the store write an object, or remove it.
        Change = 11 {
            /// The worker's number for the question.
            ticket: u64,
            /// The grant.
            grant: u64,
            /// The token.
            token: u128,
            /// The object.
            object: u128,
            /// The index of the token that the change is based on.
            before: Vec<u8>,
            /// The attributes.
            attributes: Vec<u8>,
            /// The sealed object; empty when it is removed.
            sealed: Vec<u8>,
            /// The index after the change.
            index: Vec<u8>,
        }
        /// Has the store write the header of a token with another PIN.
        ReplaceHeader = 12 {
            /// The worker's number for the question.
            ticket: u64,
            /// The grant.
            grant: u64,
            /// The token.
            token: u128,
            /// True for the security officer's PIN.
            officer: bool,
            /// The index of the token that the change is based on.
            before: Vec<u8>,
            /// The header.
            header: Vec<u8>,
            /// The index after the change.
            index: Vec<u8>,
        }
        /// Has the store add a token.
        AddToken = 13 {
            /// The worker's number for the question.
            ticket: u64,
            /// The grant.
            grant: u64,
            /// The token in whose place it comes; 0 for none.
            old: u128,
            /// The header.
            header: Vec<u8>,
            /// The index.
            index: Vec<u8>,
        }
        /// Has the store remove a token.
        RemoveToken = 14 {
            /// The worker's number for the question.
            ticket: u64,
            /// The grant.
            grant: u64,
            /// The token.
            token: u128,
        }
        /// Tells how often a grant has a token open now. There is no answer.
        HoldToken = 15 {
            /// The grant.
            grant: u64,
            /// The token.
            token: u128,
            /// The times; 0 when the grant has closed it.
            sessions: u32,
        }
    }
}

messages! {
    /// Messages from one worker to another when a grant moves. They never pass through the broker.
    HandOver {
        /// The position of a queue: one for each, in order.
        Queue = 1 {
            /// Control words taken from its submission ring.
            taken: u64,
            /// Completions posted to its completion ring.
            posted: u64,
            /// The queue's counts so far.
            counts: QueueCounts,
        }
        /// A key, which keeps its handle.
        Key = 2 {
            /// The key's handle.
            handle: u32,
            /// The number of its algorithm.
            algorithm: u8,
            /// True when the key may be exported.
            exportable: bool,
            /// The purpose of the key.
            purpose: KeyPurpose,
            /// The nonces that are left, where the worker makes them.
            nonces: NoncesLeft,
            /// The key.
            bytes: Secret,
        }
        /// The end of the hand-over. One descriptor comes along: the worker's end of the key socket.
        End = 3 {}
    }
}
