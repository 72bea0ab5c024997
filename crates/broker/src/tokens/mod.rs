//! The tokens of the service: keys that outlive it, which the broker keeps and its workers open.
//!
//! ```text
//!                 PIN, keys                     sealed records                 transactions
//! client ═══ key socket ═══► worker: vault ── Report ──► broker ── job ──► keeper: store's file
//!                            session, slots ◄── Order ──        ◄── bell ─
//! ```
//!
//! # Who has what
//! - The *broker* decides who may do what with which token ([`crate::policy::Tokens`]), and has the store's file, on a thread of its own (`keeper.rs`),
//!   because a commit waits for the disk. It sees sealed records, attributes and counters, and the device secret, which it reads at its start and passes to its workers.
//! - A *worker* is the vault (`crate::worker::tokens`). PINs and keys reach it over the key socket of a grant, which the broker can't read. An open token is the
//!   master key in the worker's heap. A key that is loaded goes from the sealed record into a slot of the client's grant, and nowhere else.
//! - A *client* has numbers: of its open tokens, which mean something in its grant only, and of key slots.
//!
//! # A request
//! The client asks its worker, which asks the broker with a *ticket*, and answers the client when the broker has answered. A client's next request is not read meanwhile, so each
//! grant has one question under way, and each account [`serve::MOST_AT_ONCE`]. A change is sealed by the worker on top of the index that it knows, and is on the disk
//! before the client hears of it. If another worker's change came first, the broker sends the token as it is now, in sealed memory (`records.rs`); the worker authenticates that, and
//! seals again.
//!
//! # A try of a PIN
//! 1. The worker takes the try when it is its turn: one at a time, 16 wait at most. It asks the broker to count it.
//! 2. The broker looks whether the user may, whether the token is of this machine and not locked. The keeper commits the count, and only then sends the token's records.
//! 3. The worker's third thread, which does nothing else and gives way to the others, runs Argon2id and compares.
//! 4. The worker tells the outcome. After a right PIN the keeper clears the count, and the client hears of its token.
//!
//! Whoever dies in between has spent the try. Tries at the same time are counted each on its own.
//!
//! # The end
//! With a grant its open tokens end, as its keys do; so with a worker and with the broker. When a grant moves its keys go along and its open tokens end. The policy is asked again at each request, so
//! after a reload an open token is of no use to whom it is not allowed any more.

pub(crate) mod holders;
pub(crate) mod keeper;
pub(crate) mod records;
pub(crate) mod refusal;
pub(crate) mod serve;
