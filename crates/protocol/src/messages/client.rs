//! Between a client and the broker.

use crate::code::{messages, numbered};
use crate::messages::parts::{Grant, GrantStatus, TokenStatus, UseStatus, Wanted, WorkerStatus};

numbered! {
    /// The reason why a broker refused.
    Refusal {
        /// The policy allows this user nothing.
        Denied = 1 "the policy allows this user no grant",
        /// More was asked for than the policy allows.
        TooMuch = 2 "more was asked for than the policy allows",
        /// This user has as many grants as the policy allows.
        TooManyGrants = 3 "this user has as many grants as the policy allows",
        /// No worker can serve it.
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
        /// The service keeps no tokens.
        NoTokens = 12 "the service keeps no tokens",
        /// There is no such token, or this user may not use it.
        NoSuchToken = 13 "there is no such token, or this user may not use it",
    }
}

messages! {
    /// Requests of a client to a broker.
    Request {
        /// Asks for a grant, which lives as long as this connection.
        Attach = 1 {
            /// The amounts it would like.
            wanted: Wanted,
        }
        /// Asks for the status. The answer is [`Reply::Worker`], [`Reply::Grant`] and [`Reply::Use`] for each
        /// entry, then [`Reply::End`]. Clients other than root and the broker's user see their own grants
        /// only.
        Status = 2 {}
        /// Ends a grant. The answer is [`Reply::End`].
        Revoke = 3 {
            /// The grant to end.
            grant: u64,
        }
        /// Moves a grant to another worker. The answer is [`Reply::End`].
        Move = 4 {
            /// The grant to move.
            grant: u64,
            /// The worker that it moves to.
            worker: u32,
        }
        /// Reads the policy file again. The answer is [`Reply::End`].
        Reload = 5 {}
        /// Asks for the tokens that the client may use. The answer is [`Reply::Token`] for each, then [`Reply::End`].
        Tokens = 6 {}
        /// Asks for objects of a token, in ascending order. The answer is [`Reply::Objects`].
        Objects = 7 {
            /// The token's serial number.
            token: u128,
            /// The object after which they begin; 0 for the first.
            after: u128,
        }
        /// Asks for the page whose word 0 counts the changes of all tokens. The answer is [`Reply::Changes`].
        Changes = 8 {}
    }
}

messages! {
    /// Answers of a broker.
    Reply {
        /// The request for a grant was granted. Five descriptors come along: arena, rings, state page,
        /// doorbell, key socket.
        Granted = 1 {
            /// The terms.
            grant: Grant,
        }
        /// The request was refused.
        Refused = 2 {
            /// The reason.
            why: Refusal,
            /// More about the reason, for people: the limit, or the file and line.
            detail: String,
        }
        /// The status of a worker.
        Worker = 3 {
            /// The status.
            status: WorkerStatus,
        }
        /// The status of a grant.
        Grant = 4 {
            /// The status.
            status: GrantStatus,
        }
        /// The end of an answer that has several parts.
        End = 5 {}
        /// The use of resources.
        Use = 6 {
            /// The party, and the amounts.
            status: UseStatus,
        }
        /// A token.
        Token = 7 {
            /// The facts that its users may know without a PIN.
            status: TokenStatus,
        }
        /// Objects of a token, as many as fit.
        Objects = 8 {
            /// The identifier of each and its attributes, as the store encodes them. Only a worker that has opened the token knows that they are
            /// authentic.
            objects: Vec<(u128, Vec<u8>)>,
            /// True when there are more.
            more: bool,
        }
        /// The page that counts the changes of tokens. One descriptor comes along; nobody but the broker can write there.
        Changes = 9 {}
    }
}
