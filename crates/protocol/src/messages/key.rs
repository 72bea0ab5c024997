//! Between a client and the worker of its grant, about keys and tokens.

use crate::code::{Secret, fields, messages, numbered};

fields! {
    /// The purpose of a key.
    KeyPurpose {
        /// Bits of `Usages`; 0 stands for everything the algorithm can do.
        usages: u8,
        /// True when the worker makes the nonces, and refuses given ones.
        makes_nonces: bool,
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
