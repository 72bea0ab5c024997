//! The policy: the limits of each user and of the service.

mod accounts;
mod algorithms;
mod file;
mod tokens;
mod whole;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use millstream_cwq::AlgorithmSet;
use millstream_protocol::{KEY_SLOT_BYTES, KeyRules, Refusal, Wanted};
use millstream_shm::{Rings, plain};

use crate::identity::Peer;
use crate::ledger::{Account, Amounts, Rate, Resource};

pub use accounts::Accounts;
pub use tokens::{Right, Rights, Tokens, Who};
pub(crate) use whole::Means;
pub use whole::Service;

/// The most that a process may be granted, its share, and the most that its user may have in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Grants of one user at a time; with 0 the user gets none.
    pub max_grants: u32,
    /// Mebibytes of arena in a grant.
    pub arena_mib: u32,
    /// Keys in a grant.
    pub key_slots: u32,
    /// Queues in a grant.
    pub queues: u32,
    /// Operations in flight in a queue.
    pub depth: u32,
    /// The share of an accelerator.
    pub weight: u32,
    /// The algorithms that are allowed.
    pub algorithms: AlgorithmSet,
    /// Queues in all grants of a user.
    pub total_queues: u32,
    /// Mebibytes of arenas and rings in all grants of a user.
    pub total_memory_mib: u32,
    /// Keys in all grants of a user.
    pub total_key_slots: u32,
    /// Connections of a user that have no grant.
    pub connections: u32,
    /// Orders about a user's grants that workers have not answered.
    pub orders: u32,
    /// The rate at which a user may ask for grants in the long run, per second; with 0 there is no limit.
    pub attaches_per_s: u32,
    /// The number of requests that a user may make at once after a pause.
    pub attach_burst: u32,
    /// The number of workers that a user's grants may be on, as long as one of those has room; with 0 all.
    pub workers: u32,
    /// The restrictions on keys.
    pub keys: KeyRules,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_grants: 64,
            arena_mib: 256,
            key_slots: 4096,
            queues: 64,
            depth: 4096,
            weight: 1,
            algorithms: AlgorithmSet::all(),
            total_queues: 256,
            total_memory_mib: 1024,
            total_key_slots: 16384,
            connections: 64,
            orders: 64,
            attaches_per_s: 50,
            attach_burst: 200,
            workers: 1,
            keys: KeyRules::default(),
        }
    }
}

/// The connections of a user to whom the policy gives nothing: enough to be told so, and to ask for a status.
const CONNECTIONS_OF_STRANGERS: u64 = 16;

/// The value of `KeyRules::precompute` with which it is on whatever the machine is.
const PRECOMPUTE_ON: u8 = 2;

/// The grant of a client that does not say what it wants, as far as its limits allow.
const USUAL: Size = Size { queues: 1, depth: 256, arena_bytes: 8 << 20, key_slots: 64 };

/// The size of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Queues.
    pub queues: u32,
    /// Operations in flight in each.
    pub depth: u32,
    /// Bytes of arena that the client asked for.
    pub arena_bytes: u32,
    /// Keys.
    pub key_slots: u32,
}

impl Limits {
    /// The limits of the one user of a service without a policy, who need not be kept from harming anybody.
    fn of_own_user() -> Self {
        Limits {
            total_queues: 1 << 16,
            total_memory_mib: 1 << 20,
            total_key_slots: 1 << 26,
            orders: 1 << 16,
            attaches_per_s: 0,
            workers: 0,
            ..Limits::default()
        }
    }

    /// Returns what a user may have in all.
    pub(crate) fn totals(&self) -> Amounts {
        Amounts::UNLIMITED.with(&[
            (Resource::Grants, self.max_grants.into()),
            (Resource::Connections, self.connections.into()),
            (Resource::Queues, self.total_queues.into()),
            (Resource::Memory, u64::from(self.total_memory_mib) << 20),
            (Resource::KeyMemory, u64::from(self.total_key_slots) * KEY_SLOT_BYTES),
            (Resource::Orders, self.orders.into()),
        ])
    }

    pub(crate) fn rate(&self) -> Rate {
        Rate { per_second: self.attaches_per_s, burst: self.attach_burst }
    }

    /// Returns the size of the grant that a client gets.
    ///
    /// # Errors
    /// Names the amount that is too large, and the limit.
    pub fn size(&self, wanted: &Wanted) -> Result<Size, (Refusal, String)> {
        let arena = u32::try_from(u64::from(self.arena_mib) << 20).unwrap_or(u32::MAX);
        let size = Size {
            queues: within("queues", wanted.queues, USUAL.queues, self.queues)?,
            depth: within("depth", wanted.depth, USUAL.depth, previous_power_of_two(self.depth))?,
            arena_bytes: within("arena bytes", wanted.arena_bytes, USUAL.arena_bytes, arena)?,
            key_slots: within("key slots", wanted.key_slots, USUAL.key_slots, self.key_slots)?,
        };
        match Rings::new(size.queues, size.depth) {
            Some(_) => Ok(size),
            None => {
                let detail = format!(
                    "{} queues of depth {}: the depth must be a power of two",
                    size.queues, size.depth
                );
                Err((Refusal::Message, detail))
            }
        }
    }
}

/// Returns the greatest depth that a limit allows.
fn previous_power_of_two(limit: u32) -> u32 {
    limit.checked_ilog2().map_or(0, |log| 1 << log)
}

fn within(what: &str, wanted: u32, usual: u32, limit: u32) -> Result<u32, (Refusal, String)> {
    match wanted {
        0 => Ok(usual.min(limit)),
        wanted if wanted <= limit => Ok(wanted),
        wanted => Err((Refusal::TooMuch, format!("asked for {wanted} {what}, but {limit} are allowed"))),
    }
}

/// The limits of all users, and the operators, who see and end everything.
///
/// ```
/// use millstream_broker::rules::{Peer, Policy};
///
/// let policy = Policy::parse("[[user]]\nuid = 1000\nqueues = 2\n".as_ref(), "policy.toml".as_ref())?;
/// let of = |uid| Peer { pid: 1, uid, gids: vec![uid] };
/// assert_eq!(policy.limits(&of(1000)).unwrap().queues, 2);
/// assert!(policy.limits(&of(1001)).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    users: Vec<(Vec<RangeInclusive<u32>>, Limits)>,
    groups: Vec<(u32, Limits)>,
    default: Option<Limits>,
    operator_uids: Vec<u32>,
    operator_gids: Vec<u32>,
    service: Service,
    accounts: Accounts,
    tokens: Tokens,
}

impl Policy {
    /// Returns the policy without a file: limits for this process's own user and root, and nothing for
    /// others.
    pub fn own_user() -> Self {
        let own = rustix::process::geteuid().as_raw();
        let users = [own, 0].map(|uid| (vec![uid..=uid], Limits::of_own_user())).to_vec();
        // A reserve for others is useless where there is only one user.
        let service = Service { reserve_percent: 0, ..Service::default() };
        Policy { users, service, ..Policy::default() }
    }

    /// Reads a policy from a file.
    ///
    /// # Errors
    /// Names the file, the line, the key and what to do about it.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let text = std::fs::read_to_string(path).map_err(|error| PolicyError {
            path: path.to_owned(),
            line: 0,
            what: format!("it can't be read: {}", plain(&error)),
        })?;
        Policy::parse(&text, path)
    }

    /// Parses a policy from a text. The path is for messages.
    ///
    /// # Errors
    /// The same as for [`Policy::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, PolicyError> {
        file::parse(text).map_err(|(line, what)| PolicyError { path: path.to_owned(), line, what })
    }

    /// Returns the limits of a peer. The first match counts: its user, its groups in the order of the file,
    /// the default.
    pub fn limits(&self, peer: &Peer) -> Option<&Limits> {
        let is_meant = |uids: &[RangeInclusive<u32>]| uids.iter().any(|uids| uids.contains(&peer.uid));
        let by_user = self.users.iter().find(|(uids, _)| is_meant(uids)).map(|(_, limits)| limits);
        let by_group =
            || self.groups.iter().find(|(gid, _)| peer.gids.contains(gid)).map(|(_, limits)| limits);
        let limits = by_user.or_else(by_group).or(self.default.as_ref());
        limits.filter(|limits| limits.max_grants > 0)
    }

    /// Returns the account that is charged for a user.
    pub(crate) fn account(&self, uid: u32) -> Account {
        self.accounts.of(uid)
    }

    /// Returns the connections that a peer may have without a grant, and everything else it may have at once.
    pub(crate) fn totals(&self, peer: &Peer) -> Amounts {
        let strangers = || Amounts::UNLIMITED.with(&[(Resource::Connections, CONNECTIONS_OF_STRANGERS)]);
        match self.limits(peer) {
            Some(limits) => limits.totals(),
            None if self.is_operator(peer) => Limits::default().totals(),
            None => strangers(),
        }
    }

    /// Returns the limits of the whole service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns the tokens of the service.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Returns true when a peer may see and end everybody's grants, as root, the broker's own user, and the
    /// operators may.
    pub fn is_operator(&self, peer: &Peer) -> bool {
        peer.uid == 0
            || peer.uid == rustix::process::geteuid().as_raw()
            || self.operator_uids.contains(&peer.uid)
            || self.operator_gids.iter().any(|gid| peer.gids.contains(gid))
    }

    /// Returns true when anybody's signatures use precomputed nonces whatever the machine is, which whoever copies a running machine has to
    /// know.
    pub fn precomputes_anywhere(&self) -> bool {
        let users = self.users.iter().map(|(_, limits)| limits);
        let all = users.chain(self.groups.iter().map(|(_, limits)| limits)).chain(&self.default);
        all.into_iter().any(|limits| limits.keys.precompute == PRECOMPUTE_ON)
    }

    /// Returns true when anyone but root and the broker's own user may use the socket.
    pub fn lets_others_in(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        let is_other = |uid: &u32| *uid != 0 && *uid != own;
        let mut users = self.users.iter().flat_map(|(uids, _)| uids);
        self.default.is_some()
            || self.tokens.name_others()
            || !self.groups.is_empty()
            || !self.operator_gids.is_empty()
            || users.any(|uids| uids.start() != uids.end() || is_other(uids.start()))
            || self.operator_uids.iter().any(is_other)
    }
}

/// The reason why a policy can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 where it is none in particular.
    pub line: usize,
    /// The mistake, and what to do about it.
    pub what: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {}", self.path.display())?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use millstream_cwq::Usages;

    use super::*;

    fn parse(text: &str) -> Result<Policy, PolicyError> {
        Policy::parse(text, Path::new("test.toml"))
    }

    fn peer(uid: u32, gids: &[u32]) -> Peer {
        Peer { pid: 1, uid, gids: gids.to_vec() }
    }

    const FULL: &str = "
        [default]
        queues = 3
        algorithms = [\"aes-*\", \"sha256\"]
        [[user]]
        name = \"root\"
        queues = 1
        [[user]]
        uid = 4000
        max_grants = 0
        [[group]]
        gid = 70
        queues = 7
        [[group]]
        gid = 80
        queues = 8
        [operators]
        uids = [5000]
        gids = [90]
    ";

    #[test]
    fn the_first_that_fits_counts() {
        let policy = parse(FULL).unwrap();
        let queues = |uid, gids: &[u32]| policy.limits(&peer(uid, gids)).map(|limits| limits.queues);
        assert_eq!(queues(0, &[70]), Some(1), "the user before the group");
        assert_eq!(queues(1, &[80, 70]), Some(7), "groups in the order of the file");
        assert_eq!(queues(1, &[80]), Some(8));
        assert_eq!(queues(1, &[1]), Some(3), "the default");
        assert_eq!(queues(4000, &[70]), None, "no grants is a denial, whatever the group");
        let limits = policy.limits(&peer(1, &[])).unwrap();
        assert_eq!(limits.algorithms.len(), 13);
        assert_eq!(limits.depth, Limits::default().depth, "what is not said is as usual");
    }

    #[test]
    fn what_keys_may_be_is_said_for_each_section() {
        let policy = parse(
            "[default]\n[[user]]\nuid = 4001\nusages = [\"sign\", \"verify\"]\nexportable = false\n\
             [[group]]\ngid = 70\nnonces = \"worker\"\nusages = [\"encrypt\"]\n",
        )
        .unwrap();
        let keys = |uid, gids: &[u32]| policy.limits(&peer(uid, gids)).unwrap().keys.clone();
        assert_eq!(keys(1, &[]), KeyRules::default(), "nothing said, nothing forbidden");
        let encryption = (Usages::ENCRYPT | Usages::DECRYPT | Usages::WRAP | Usages::DERIVE).to_bits();
        let signer = KeyRules { forbidden: encryption, keeps_keys: true, ..KeyRules::default() };
        assert_eq!(keys(4001, &[70]), signer);
        let forbidden = Usages::ALL.without(Usages::ENCRYPT).to_bits();
        assert_eq!(keys(1, &[70]), KeyRules { forbidden, makes_nonces: true, ..KeyRules::default() });
    }

    #[test]
    fn how_often_keys_may_be_used_is_said_for_each_section() {
        let text = "[default]\nkey_uses_per_s = 1000\n[[user]]\nuid = 7\nkey_uses = 5000000000\nuses_per_s = 20\nuses = 30\n";
        let policy = parse(text).unwrap();
        let keys = |uid| policy.limits(&peer(uid, &[])).unwrap().keys.clone();
        assert_eq!(keys(1), KeyRules { key_uses_per_s: 1000, ..KeyRules::default() });
        let limited = KeyRules { key_uses: 5_000_000_000, uses_per_s: 20, uses: 30, ..KeyRules::default() };
        assert_eq!(keys(7), limited);
        let refused = parse("[default]\nuses_per_s = 2000000000\n").unwrap_err().what;
        assert!(refused.contains("it must be from 0 to 1073741824"), "{refused}");
    }

    #[test]
    fn nonces_are_computed_before_only_where_a_section_says_so() {
        for (said, value, anywhere) in [
            ("", 0, false),
            ("precompute = \"off\"", 0, false),
            ("precompute = \"auto\"", 1, false),
            ("precompute = \"on\"", 2, true),
        ] {
            let policy = parse(&format!("[default]\n[[user]]\nuid = 7\n{said}\n")).unwrap();
            let of = |uid| policy.limits(&peer(uid, &[])).unwrap().keys.precompute;
            assert_eq!((of(7), of(8), policy.precomputes_anywhere()), (value, 0, anywhere), "{said}");
        }
        assert!(!Policy::own_user().precomputes_anywhere());
    }

    #[test]
    fn without_a_default_others_get_nothing() {
        let policy = parse("[[user]]\nuid = 7\n").unwrap();
        assert!(policy.limits(&peer(7, &[])).is_some() && policy.limits(&peer(8, &[7])).is_none());
        assert!(policy.lets_others_in());
        assert!(parse("").unwrap().limits(&peer(0, &[0])).is_none(), "an empty file allows nothing");
    }

    #[test]
    fn without_a_file_it_is_the_own_user_and_root() {
        let policy = Policy::own_user();
        let own = rustix::process::geteuid().as_raw();
        assert!(policy.limits(&peer(own, &[])).is_some() && policy.limits(&peer(0, &[])).is_some());
        assert!(policy.limits(&peer(own + 1, &[0])).is_none());
        assert!(!policy.lets_others_in());
    }

    #[test]
    fn operators_are_root_the_own_user_and_who_is_named() {
        let policy = parse(FULL).unwrap();
        let own = rustix::process::geteuid().as_raw();
        for (uid, gids, is) in
            [(0, [1], true), (own, [1], true), (5000, [1], true), (6000, [90], true), (6000, [70], false)]
        {
            assert_eq!(policy.is_operator(&peer(uid, &gids)), is, "{uid} {gids:?}");
        }
    }

    #[test]
    fn users_of_a_range_share_an_account() {
        let text =
            "[default]\n[[user]]\nuids = \"1000, 100000-165535\"\nqueues = 5\n[limits]\nsubuid = false\n";
        let policy = parse(text).unwrap();
        for uid in [1000, 100_000, 165_535] {
            assert_eq!(
                (policy.account(uid), policy.limits(&peer(uid, &[])).unwrap().queues),
                (Account(1000), 5)
            );
        }
        for uid in [999, 1001, 99_999, 165_536] {
            assert_eq!(
                (policy.account(uid), policy.limits(&peer(uid, &[])).unwrap().queues),
                (Account(uid), 64)
            );
        }
    }

    #[test]
    fn totals_are_what_a_user_may_have_in_all_and_strangers_have_little() {
        let policy = parse("[[user]]\nuid = 7\ntotal_queues = 9\ntotal_key_slots = 10\n").unwrap();
        let totals = policy.totals(&peer(7, &[]));
        assert_eq!((totals.get(Resource::Queues), totals.get(Resource::KeyMemory)), (9, 10 * KEY_SLOT_BYTES));
        assert_eq!(totals.get(Resource::Connections), 64);
        let strangers = policy.totals(&peer(8, &[]));
        assert_eq!(strangers.get(Resource::Connections), 16);
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        for (text, line, words) in [
            ("[default]\nqueue = 1\n", 2, "queue"),
            ("[default]\nqueues = \"many\"\n", 2, "queues"),
            ("[default]\nqueues = 0\n", 2, "queues"),
            ("[default]\ndepth = 70000\n", 2, "depth"),
            ("[default]\nweight = 0\n", 2, "weight"),
            ("[default]\nalgorithms = [\"md5\",\n \"blowfish\"]\n", 3, "blowfish"),
            ("[default]\nusages = [\"sign\",\n \"dance\"]\n", 3, "dance"),
            ("[default]\nnonces = \"mine\"\n", 2, "worker"),
            ("[default]\nexportable = 3\n", 2, "exportable"),
            ("[default]\nprecompute = \"always\"\n", 2, "auto"),
            ("[[user]]\nname = \"nobody-of-that-name\"\n", 2, "nobody-of-that-name"),
            ("[[group]]\nname = \"nobody-of-that-name\"\n", 2, "nobody-of-that-name"),
            ("\n[[user]]\nqueues = 1\n", 2, "name"),
            ("\n[[user]]\nname = \"root\"\nuid = 0\n", 3, "uid"),
            ("[operators]\nusers = [\"root\", \"nobody-of-that-name\"]\n", 2, "nobody-of-that-name"),
            ("[default\n", 1, ""),
            ("[[user]]\nuids = \"9-5\"\n", 2, "9-5"),
            ("[[user]]\nuids = \"5-9\"\nuid = 5\n", 3, "uid"),
            ("[[user]]\nuids = \"5-9\"\n[[user]]\nuids = \"1,9-12\"\n", 4, "shared"),
            ("[limits]\nmemory = 5\n", 2, "memory"),
            ("[limits]\nreserve_percent = 95\n", 2, "reserve_percent"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.to_string().contains(words) && error.to_string().contains("test.toml"), "{error}");
        }
    }

    #[test]
    fn sizes_are_what_was_asked_within_the_limits() {
        let limits = Limits { depth: 300, key_slots: 10, arena_mib: 4096, ..Limits::default() };
        let usual = limits.size(&Wanted::default()).unwrap();
        assert_eq!(usual, Size { depth: 256, key_slots: 10, ..USUAL });
        let wanted = Wanted { queues: 5, depth: 64, arena_bytes: 1 << 20, key_slots: 3, ..Wanted::default() };
        assert_eq!(
            limits.size(&wanted).unwrap(),
            Size { queues: 5, depth: 64, arena_bytes: 1 << 20, key_slots: 3 }
        );
        let (why, detail) = limits.size(&Wanted { depth: 512, ..wanted.clone() }).unwrap_err();
        assert_eq!(why, Refusal::TooMuch);
        assert!(detail.contains("512") && detail.contains("256"), "{detail}");
        let (why, _) = limits.size(&Wanted { depth: 100, ..wanted }).unwrap_err();
        assert_eq!(why, Refusal::Message);
    }
}
