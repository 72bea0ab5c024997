//! The messages.

use crate::code::{Secret, fields, messages, numbered};

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
    /// The purpose of a key.
    KeyPurpose {
        /// Bits of `Usages`; 0 stands for everything the algorithm can do.
        usages: u8,
        /// True when the worker makes the nonces, and refuses given ones.
        makes_nonces: bool,
    }
}

fields! {
    /// The nonces that are left for a key.
    NoncesLeft {
        /// The next nonce as a number.
        next: u128,
        /// The number of nonces left.
        left: u64,
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

numbered! {
    /// The reason why a worker refused a request about a key.
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
        Algorithm = 6 "there is no such algorithm, or it takes no key",
        /// The message was not understood.
        Message = 7 "the message was not understood",
        /// The memory for keys has run out.
        Exhausted = 8 "the memory for keys has run out",
        /// The algorithm has no such usage.
        Usage = 9 "a key of this algorithm can't have these usages",
        /// The algorithm encrypts and decrypts alike, so a key with only one of the two usages would promise
        /// a limit that does not hold.
        TwoWay = 10 "a key of this algorithm that encrypts can also decrypt: ask for both usages, or, for an AEAD, have the worker make the nonces",
        /// The worker makes nonces for keys of AEADs only.
        Nonces = 11 "the worker makes nonces for aes-gcm and chacha20-poly1305 only: give them",
        /// The policy allows no keys for that.
        PolicyUsages = 12 "the policy's `usages` does not allow keys for all of this: ask for fewer usages",
        /// The policy wants the worker to make the nonces.
        PolicyNonces = 13 "the policy has `nonces = \"worker\"`: ask for a key whose nonces the worker makes",
        /// The policy allows no key to be exported.
        PolicyExportable = 14 "the policy has `exportable = false`: ask for a key that is not exportable",
        /// The wrapped key can't be unwrapped here.
        Wrapped = 15 "the key was wrapped by another service, or for other usages, or before this one was started again: import the key again",
        /// The worker has made or expanded a key that takes long just now, and does other things first.
        Busy = 16 "the worker has just made a key of RSA, or made or expanded one of SLH-DSA, which takes long, and serves others first: ask again in a moment",
        /// The service keeps no tokens.
        NoTokens = 17 "the service keeps no tokens: its policy needs a [tokens] section",
        /// There is no such token, or this user may not use it.
        NoSuchToken = 18 "the service keeps no such token, or its policy does not let this user use it",
        /// The token is not open in this grant.
        TokenClosed = 19 "the token is not open here: open it with its PIN",
        /// The token has no such object.
        NoSuchObject = 20 "the token has no such key",
        /// The PIN was wrong too often.
        PinLocked = 21 "the PIN was wrong too often and is locked: the security officer sets another user PIN",
        /// The token has no user PIN.
        NoUserPin = 22 "the token has no user PIN yet: the security officer sets one",
        /// The PIN has a length that PINs don't have.
        PinLength = 23 "a PIN has 4 to 255 bytes: choose another",
        /// The token was made with another device secret.
        OtherDevice = 24 "the token was made with another device secret: restore the one of the machine that made it",
        /// The policy lets this user use the token and not change it.
        NotManager = 25 "the policy lets this user use the token, and not change it: have the user named under `managers`",
        /// The store's file is not what was sealed.
        Forged = 26 "the token is not what was sealed: somebody changed the file of the store; restore a backup",
        /// The disk is full.
        StoreFull = 27 "the disk of the store is full, and nothing was changed: free some space",
        /// The store can't be read or written.
        Store = 28 "the store can't be read or written: the log of the service says why",
        /// The attributes and the key are too long together.
        TooLong = 29 "the key with its attributes is too long for the service, which takes some 11,700 bytes",
        /// A token has that label already.
        TokenExists = 30 "a token has that label already: choose another",
        /// No more tokens may be open.
        TokensOpen = 31 "as many tokens are open as may be: close one",
        /// The key in the token is not meant for that.
        TokenUsage = 32 "the key in the token is not for all of this: ask for fewer usages",
        /// The key in the token is of another kind.
        TokenKind = 33 "the key in the token is of another kind than the algorithm takes",
        /// The PIN does not allow that.
        PinRole = 34 "the PIN with which the token was opened does not allow that: use the other one",
        /// The attributes are none that the key can have.
        Attributes = 35 "the key can't have these attributes: its kind, its length and its public key stay, and it becomes no more exportable",
        /// Too much is asked of tokens at once.
        TokensBusy = 36 "others ask for tokens, and PINs take long to try: ask again in a moment",
        /// This user tried too many wrong PINs.
        UserTries = 37 "this user has tried five wrong PINs of this token in a row, and tries no more: the security officer sets a new PIN",
        /// A text has a length that such texts don't have.
        TextLength = 38 "a label of a token has 1 to 32 bytes: choose another",
    }
}

impl KeyRefusal {
    /// Returns true when it is about a token rather than a key of the grant.
    pub fn is_about_tokens(self) -> bool {
        use KeyRefusal::*;
        matches!(
            self,
            NoTokens
                | NoSuchToken
                | TokenClosed
                | NoSuchObject
                | PinLocked
                | NoUserPin
                | PinLength
                | OtherDevice
                | NotManager
                | Forged
                | StoreFull
                | Store
                | TooLong
                | TokenExists
                | TokensOpen
                | TokenUsage
                | TokenKind
                | PinRole
                | Attributes
                | TokensBusy
                | UserTries
                | TextLength
        )
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

messages! {
    /// Requests of a client to the worker of its grant.
    KeyRequest {
        /// Makes a key from given bytes. The answer is [`KeyReply::Key`].
        Import = 1 {
            /// The number of the algorithm in control words; a hash's number stands for its HMAC.
            algorithm: u8,
            /// True when the key may be exported.
            exportable: bool,
            /// The purpose of the key.
            purpose: KeyPurpose,
            /// The key.
            bytes: Secret,
        }
        /// Makes a random key. The answer is [`KeyReply::Key`].
        Generate = 2 {
            /// The number of the algorithm, as for an import.
            algorithm: u8,
            /// True when the key may be exported.
            exportable: bool,
            /// The purpose of the key.
            purpose: KeyPurpose,
            /// The key's length in bytes.
            len: u16,
        }
        /// Asks for the bytes of an exportable key. The answer is [`KeyReply::Exported`].
        Export = 3 {
            /// The key.
            handle: u32,
        }
        /// Destroys a key. The answer is [`KeyReply::Destroyed`].
        Destroy = 4 {
            /// The key.
            handle: u32,
        }
        /// Destroys a key. There is no answer, because nobody waits for one.
        Discard = 5 {
            /// The key.
            handle: u32,
        }
        /// Encrypts the bytes of a key for [`KeyRequest::Unwrap`], and keeps nothing. The answer is [`KeyReply::Wrapped`].
        Wrap = 6 {
            /// The number of the algorithm, which is one with private keys.
            algorithm: u8,
            /// The usages that the key will have, as bits; 0 for all of the algorithm's.
            usages: u8,
            /// The key.
            bytes: Secret,
        }
        /// Makes a key from wrapped bytes, which is never exportable and has the usages that were wrapped with it. The answer is [`KeyReply::Key`].
        Unwrap = 7 {
            /// The number of the algorithm, as for the wrapping.
            algorithm: u8,
            /// The purpose of the key, with the usages of the wrapping.
            purpose: KeyPurpose,
            /// The wrapped key.
            bytes: Secret,
        }
        /// Opens a token with a PIN. The answer is [`KeyReply::Opened`] or [`KeyReply::WrongPin`].
        OpenToken = 8 {
            /// The token's serial number.
            token: u128,
            /// True for the security officer's PIN.
            officer: bool,
            /// The PIN.
            pin: Secret,
        }
        /// Closes a token. There is no answer, because nobody waits for one.
        CloseToken = 9 {
            /// The number that the token has in this grant.
            session: u32,
        }
        /// Makes a key of this grant from an object, which stays where it is. The answer is [`KeyReply::Key`].
        LoadObject = 10 {
            /// The open token.
            session: u32,
            /// The object.
            object: u128,
            /// The number of the algorithm, as for an import.
            algorithm: u8,
            /// The purpose, within the object's usages; 0 stands for all of them that the algorithm has.
            purpose: KeyPurpose,
        }
        /// Reads the attributes of an object, which are authentic then. The answer is [`KeyReply::Object`].
        ShowObject = 11 {
            /// The open token.
            session: u32,
            /// The object.
            object: u128,
        }
        /// Makes a key in a token. The answer is [`KeyReply::Object`].
        GenerateObject = 12 {
            /// The open token.
            session: u32,
            /// The length in bits; 0 for the usual one of the kind.
            bits: u32,
            /// The attributes: of these the kind, the label, the identifier, the usages (0 for all of the kind) and whether the key may leave the token count.
            attributes: Vec<u8>,
        }
        /// Brings a key into a token. The answer is [`KeyReply::Object`].
        ImportObject = 13 {
            /// The open token.
            session: u32,
            /// The attributes, as for a key that is made there.
            attributes: Vec<u8>,
            /// The key, as the store keeps it.
            bytes: Secret,
        }
        /// Copies an object, within its token or to another that is open. The answer is [`KeyReply::Object`].
        CopyObject = 14 {
            /// The open token.
            session: u32,
            /// The object.
            object: u128,
            /// The token for the copy.
            to: u32,
            /// The attributes of the copy.
            attributes: Vec<u8>,
        }
        /// Changes the attributes of an object. The answer is [`KeyReply::Object`].
        ChangeObject = 15 {
            /// The open token.
            session: u32,
            /// The object.
            object: u128,
            /// The attributes.
            attributes: Vec<u8>,
        }
        /// Asks for the key of an exportable object. The answer is [`KeyReply::Exported`].
        ExportObject = 16 {
            /// The open token.
            session: u32,
            /// The object.
            object: u128,
        }
        /// Removes an object. The answer is [`KeyReply::Changed`].
        RemoveObject = 17 {
            /// The open token.
            session: u32,
            /// The object.
            object: u128,
        }
        /// Sets a PIN of an open token. The answer is [`KeyReply::Changed`].
        SetPin = 18 {
            /// The open token.
            session: u32,
            /// True for the security officer's PIN.
            officer: bool,
            /// The new PIN.
            pin: Secret,
        }
        /// Makes a token. The answer is [`KeyReply::Made`].
        MakeToken = 19 {
            /// The open token in whose place the new one comes, which the security officer has opened and which goes with all of its objects; 0 for none.
            session: u32,
            /// The label.
            label: String,
            /// The security officer's PIN.
            officer: Secret,
            /// The user PIN; empty for none.
            user: Secret,
        }
        /// Removes a token that the security officer has opened, with all of its objects. The answer is [`KeyReply::Changed`].
        RemoveToken = 20 {
            /// The open token.
            session: u32,
        }
    }
}

impl KeyRequest {
    /// Returns true when it is about a token, or about what is in one.
    pub fn is_about_tokens(&self) -> bool {
        use KeyRequest::*;
        matches!(
            self,
            OpenToken { .. }
                | CloseToken { .. }
                | LoadObject { .. }
                | ShowObject { .. }
                | GenerateObject { .. }
                | ImportObject { .. }
                | CopyObject { .. }
                | ChangeObject { .. }
                | ExportObject { .. }
                | RemoveObject { .. }
                | SetPin { .. }
                | MakeToken { .. }
                | RemoveToken { .. }
        )
    }
}

messages! {
    /// Answers of a worker.
    KeyReply {
        /// The key was made.
        Key = 1 {
            /// The key's handle, for control words of this grant.
            handle: u32,
        }
        /// The bytes of an exported key.
        Exported = 2 {
            /// The key.
            bytes: Secret,
        }
        /// The key is destroyed and zeroised.
        Destroyed = 3 {}
        /// The request was refused.
        Refused = 4 {
            /// The reason.
            why: KeyRefusal,
        }
        /// A key that was wrapped. Workers of the same service unwrap it for any of its clients, as long as the service runs.
        Wrapped = 5 {
            /// The wrapped key.
            bytes: Secret,
        }
        /// The token is open.
        Opened = 6 {
            /// The number by which requests of this grant name it.
            session: u32,
        }
        /// The PIN was wrong.
        WrongPin = 7 {
            /// The tries that are left.
            left: u8,
        }
        /// An object of a token.
        Object = 8 {
            /// The object's identifier.
            object: u128,
            /// The attributes.
            attributes: Vec<u8>,
            /// The number of changes of the token so far, with this one if it was one.
            changes: u64,
        }
        /// The change was made, and is on the disk.
        Changed = 9 {
            /// The number of changes of the token so far, with this one; 0 for a token that is gone.
            changes: u64,
        }
        /// The token was made, and is on the disk.
        Made = 10 {
            /// The serial number.
            token: u128,
        }
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
