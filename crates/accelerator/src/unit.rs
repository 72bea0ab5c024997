//! The cipher/hash sub-unit, which executes many operations of any kind, those of one kind side by side.

use arrayvec::ArrayVec;
use millstream_cpu::Features;
use millstream_engines::Error;
use millstream_engines::crc::{Crc32, Crc32c};
use millstream_engines::hash::{Hash, HashLanes, Hasher};
use millstream_engines::hmac::HmacLanes;
use millstream_engines::ipsum::IpChecksum;

use crate::algorithms::every_lane;
use crate::alone::run_alone;
use crate::operation::Operation;
use crate::pairs::{Pairs, Presignatures, Watch};
use crate::source::{FillRandom, Source, UnitRandom};
use crate::stats::Filled;
use crate::work::{Checksum, Partial, Work};

/// The most operations that are sorted by group at a time: as many as the widest lanes hold.
const CHUNK: usize = 512;

/// Hashes, each of which has lanes of its own.
const HASHES: u8 = Hash::ALL.len() as u8;

/// The works that are executed together: those of one kind and, where lanes differ by the hash, of one hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group(u8);

impl Group {
    /// The number of groups.
    const COUNT: u8 = Kind::Hash as u8 + (Kind::COUNT - Kind::Hash as u8) * HASHES;

    /// Returns the group's kind, and the number of its hash, which is 0 where it has none.
    fn kind(self) -> (Kind, usize) {
        let Group(number) = self;
        match number.checked_sub(Kind::Hash as u8) {
            None => (Kind::ALL[usize::from(number)], 0),
            Some(number) => {
                let kind = usize::from(Kind::Hash as u8 + number / HASHES);
                (Kind::ALL[kind], usize::from(number % HASHES))
            }
        }
    }
}

// `run_chunk` keeps a bit for each group.
const _: () = assert!(Group::COUNT as u32 <= u128::BITS);

impl Kind {
    /// Returns the group of a kind that needs no hash.
    const fn group(self) -> Group {
        Group(self as u8)
    }

    /// Returns the group of a kind's works with one hash.
    const fn with(self, hash: Hash) -> Group {
        Group(Kind::Hash as u8 + (self as u8 - Kind::Hash as u8) * HASHES + hash as u8)
    }
}

/// Lists the jobs of one group among operations and hands them to their lanes.
///
/// Each use is a function of its own, so that none pays for the stack of the others.
#[inline(never)]
fn gather<'o, 'a, J: 'o>(
    operations: &'o mut [Operation<'a>],
    groups: &[Group],
    group: Group,
    pick: impl Fn(&'o mut Work<'a>) -> Option<&'o mut J>,
    run: impl FnOnce(&mut [&'o mut J]),
) {
    let mut jobs = ArrayVec::<&'o mut J, CHUNK>::new();
    for (operation, found) in operations.iter_mut().zip(groups) {
        if *found == group
            && let Some(job) = pick(&mut operation.work)
        {
            jobs.push(job);
        }
    }
    run(&mut jobs);
}

/// Hands the jobs of one group, which are of one variant of [`Work`], to a function.
macro_rules! lanes {
    ($operations:expr, $groups:expr, $group:expr, $variant:pat => $job:expr, $run:expr) => {
        gather(
            $operations,
            $groups,
            $group,
            |work| match work {
                $variant => Some($job),
                _ => None,
            },
            $run,
        )
    };
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident,)+) => {
        /// The kinds of work. Those from `Hash` on have a group for each hash.
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        enum Kind {
            $($(#[$doc])* $kind,)+
        }

        impl Kind {
            const ALL: &[Kind] = &[$(Kind::$kind),+];
            const COUNT: u8 = Kind::ALL.len() as u8;
        }
    };
}

macro_rules! unit {
    (
        managers { $($field:ident: $module:ident::$manager:ident;)+ }
        ciphers { $($cipher:ident: $cipher_in:ident::$cipher_job:ident $start:tt by $cipher_by:ident.$cipher_run:ident;)+ }
        aeads { $($seal:ident, $open:ident: $aead_in:ident::$aead_job:ident by $aead_by:ident;)+ }
        macs { $($mac:ident: $mac_in:ident::$mac_job:ident by $mac_by:ident.$mac_run:ident;)+ }
    ) => {
        kinds! {
            Null,
            /// A copy, a checksum, or both.
            Bytes,
            Alone,
            Partial,
            $($cipher,)+
            $($seal, $open,)+
            $($mac,)+
            Sign,
            Agree,
            PublicKey,
            Rsa,
            LongSign,
            Encapsulate,
            Decapsulate,
            Verify,
            Random,
            Hash,
            Hmac,
            EncryptThenMac,
            MacThenDecrypt,
        }

        /// Returns the group of a work.
        fn group(work: &Work<'_>) -> Group {
            match work {
                Work::Null => Kind::Null.group(),
                Work::Copy { .. } | Work::CopyChecksum { .. } | Work::Checksum { .. } => Kind::Bytes.group(),
                Work::Alone(_) => Kind::Alone.group(),
                Work::Partial(_) => Kind::Partial.group(),
                $(Work::$cipher(_) => Kind::$cipher.group(),)+
                $(
                    Work::$seal(_) => Kind::$seal.group(),
                    Work::$open(_) => Kind::$open.group(),
                )+
                $(Work::$mac(..) => Kind::$mac.group(),)+
                Work::Sign(_) => Kind::Sign.group(),
                Work::Agree(_) => Kind::Agree.group(),
                Work::PublicKey(_) => Kind::PublicKey.group(),
                Work::Rsa(_) => Kind::Rsa.group(),
                Work::LongSign(_) => Kind::LongSign.group(),
                Work::Encapsulate(_) => Kind::Encapsulate.group(),
                Work::Decapsulate(_) => Kind::Decapsulate.group(),
                Work::Verify(_) => Kind::Verify.group(),
                Work::Random(_) => Kind::Random.group(),
                Work::Hash(hash, _) => Kind::Hash.with(*hash),
                Work::Hmac(job, _) => Kind::Hmac.with(job.key.hash()),
                Work::Chained(chained) if chained.expected.is_none() => {
                    Kind::EncryptThenMac.with(chained.mac.hash())
                }
                Work::Chained(chained) => Kind::MacThenDecrypt.with(chained.mac.hash()),
            }
        }

        /// The cipher/hash sub-unit of an accelerator: the lane managers of every algorithm, chosen once for the
        /// features at hand. It keeps nothing of what it computes.
        ///
        /// Random bytes come from where [`Unit::seed`] or [`Unit::set_random`] say. A clone has no generator until it is
        /// seeded itself.
        ///
        /// See [`Operation`] for an example.
        #[derive(Clone, Debug)]
        pub struct Unit {
            features: Features,
            $(pub(crate) $field: crate::engines::$module::$manager,)+
            pairs: Pairs,
            source: Source,
            pub(crate) hash: [HashLanes; Hash::ALL.len()],
            pub(crate) hmac: [HmacLanes; Hash::ALL.len()],
        }

        impl Unit {
            /// Chooses the best lane kernels that `features` allow.
            pub fn new(features: Features) -> Self {
                Unit {
                    features,
                    $($field: crate::engines::$module::$manager::new(features),)+
                    pairs: Pairs::new(features),
                    source: Source::default(),
                    hash: Hash::ALL.map(|hash| HashLanes::new(features, hash)),
                    hmac: Hash::ALL.map(|hash| HmacLanes::new(features, hash)),
                }
            }

            /// Executes the operations of one group.
            fn run_group(&self, group: Group, groups: &[Group], o: &mut [Operation<'_>]) {
                let (kind, hash) = group.kind();
                match kind {
                    Kind::Null => {}
                    Kind::Bytes | Kind::Alone | Kind::Partial => {
                        for (operation, _) in o.iter_mut().zip(groups).filter(|(_, g)| **g == group) {
                            self.run_one(operation);
                        }
                    }
                    $(Kind::$cipher => {
                        lanes!(o, groups, group, Work::$cipher(job) => job, |jobs| self.$cipher_by.$cipher_run(jobs));
                    })+
                    $(
                        Kind::$seal => lanes!(o, groups, group, Work::$seal(job) => job, |jobs| self.$aead_by.seal(jobs)),
                        Kind::$open => lanes!(o, groups, group, Work::$open(job) => job, |jobs| self.$aead_by.open(jobs)),
                    )+
                    $(Kind::$mac => {
                        lanes!(o, groups, group, Work::$mac(job, _) => job, |jobs| self.$mac_by.$mac_run(jobs));
                        compare(group, groups, o);
                    })+
                    Kind::Sign => {
                        lanes!(o, groups, group, Work::Sign(sign) => sign, |works| self.pairs.sign(works, self.source.random()));
                    }
                    Kind::Agree => {
                        lanes!(o, groups, group, Work::Agree(agree) => agree, |works| self.pairs.agree(works));
                    }
                    Kind::PublicKey => {
                        lanes!(o, groups, group, Work::PublicKey(key) => key, |works| self.pairs.public_keys(works));
                        o.iter_mut().for_each(Operation::take_length);
                    }
                    Kind::Rsa => {
                        lanes!(o, groups, group, Work::Rsa(rsa) => rsa, |works| self.pairs.rsa(works, self.source.random()));
                        o.iter_mut().for_each(Operation::take_length);
                    }
                    Kind::LongSign => {
                        lanes!(o, groups, group, Work::LongSign(sign) => sign, |works| self.pairs.sign_long(works, self.source.random()));
                        o.iter_mut().for_each(Operation::take_length);
                    }
                    Kind::Encapsulate => {
                        lanes!(o, groups, group, Work::Encapsulate(work) => work, |works| self.pairs.encapsulate(works, self.source.random()));
                        o.iter_mut().for_each(Operation::take_length);
                    }
                    Kind::Decapsulate => {
                        lanes!(o, groups, group, Work::Decapsulate(work) => work, |works| self.pairs.decapsulate(works));
                    }
                    Kind::Verify => {
                        lanes!(o, groups, group, Work::Verify(verify) => verify, |works| self.pairs.verify(works));
                    }
                    Kind::Random => {
                        lanes!(o, groups, group, Work::Random(fill) => fill, |fills| self.source.fill_all(fills));
                    }
                    Kind::Hash => {
                        lanes!(o, groups, group, Work::Hash(_, job) => job, |jobs| self.hash[hash].digest(jobs));
                    }
                    Kind::Hmac => {
                        lanes!(o, groups, group, Work::Hmac(job, _) => job, |jobs| self.hmac[hash].sign(jobs));
                        compare(group, groups, o);
                    }
                    Kind::EncryptThenMac | Kind::MacThenDecrypt => {
                        lanes!(o, groups, group, Work::Chained(chained) => chained, |chained| self.run_chained(chained));
                    }
                }
            }

            /// Executes one operation, on this thread and at once.
            pub fn run_one(&self, operation: &mut Operation<'_>) {
                match &mut operation.work {
                    Work::Null => {}
                    Work::Copy { source, destination } => destination.copy_from_slice(source),
                    Work::CopyChecksum { checksum, source, destination } => {
                        operation.value = self.copy_checksum(*checksum, source, destination);
                    }
                    Work::Checksum { checksum, data } => operation.value = self.checksum(*checksum, data),
                    Work::Alone(alone) => operation.result = run_alone(alone),
                    Work::Partial(partial) => match self.partial(partial) {
                        Ok(written) => operation.value = written,
                        Err(error) => operation.result = Err(error),
                    },
                    $(Work::$cipher(job) => self.$cipher_by.$cipher_run(&mut [job]),)+
                    $(
                        Work::$seal(job) => self.$aead_by.seal(&mut [job]),
                        Work::$open(job) => self.$aead_by.open(&mut [job]),
                    )+
                    Work::Hash(hash, job) => self.hash[*hash as usize].digest(&mut [job]),
                    Work::Hmac(job, _) => {
                        self.hmac[job.key.hash() as usize].sign(&mut [job]);
                        operation.compare();
                    }
                    $(Work::$mac(job, _) => {
                        self.$mac_by.$mac_run(&mut [job]);
                        operation.compare();
                    })+
                    Work::Sign(sign) => self.pairs.sign(&mut [sign], self.source.random()),
                    Work::Agree(agree) => self.pairs.agree(&mut [agree]),
                    Work::PublicKey(key) => {
                        self.pairs.public_keys(&mut [key]);
                        operation.take_length();
                    }
                    Work::Rsa(rsa) => {
                        self.pairs.rsa(&mut [rsa], self.source.random());
                        operation.take_length();
                    }
                    Work::LongSign(sign) => {
                        self.pairs.sign_long(&mut [sign], self.source.random());
                        operation.take_length();
                    }
                    Work::Encapsulate(work) => {
                        self.pairs.encapsulate(&mut [work], self.source.random());
                        operation.take_length();
                    }
                    Work::Decapsulate(work) => self.pairs.decapsulate(&mut [work]),
                    Work::Verify(verify) => self.pairs.verify(&mut [verify]),
                    Work::Random(fill) => self.source.fill_all(&mut [fill]),
                    Work::Chained(chained) => self.run_chained(&mut [chained]),
                }
            }
        }
    };
}
every_lane!(unit);

impl Unit {
    /// Returns the features its kernels were chosen for.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Gives the unit a generator of random bytes that begins with a seed of 32 bytes, or mixes the seed into the generator
    /// that it has. See [`Generator`](crate::Generator), also for what a process that forks must know.
    pub fn seed(&mut self, seed: &[u8; 32]) {
        self.source.seed(self.features, seed);
        self.pairs.presigned.seeded();
    }

    /// Returns true when the unit's generator wants another seed: see
    /// [`Generator::wants_seed`](crate::Generator::wants_seed). It wants one also for presignatures, where the machine may have been copied.
    #[inline]
    pub fn wants_seed(&mut self) -> bool {
        self.source.wants_seed() || self.pairs.presigned.wants_seed()
    }

    /// Has the unit take its random bytes from a function of its host, in place of a generator of its own.
    pub fn set_random(&mut self, fill: FillRandom) {
        self.source = Source::Host(fill);
    }

    /// Keeps presignatures: see [`Accelerator::keep_presignatures`](crate::Accelerator::keep_presignatures).
    pub(crate) fn keep_presignatures(&mut self, watch: Box<dyn Watch>) {
        self.pairs.presigned.keep(watch);
    }

    /// Makes some presignatures, and returns true if they were made.
    pub(crate) fn presign(&mut self) -> bool {
        self.pairs.presign(self.features, self.source.random())
    }

    /// Returns the lanes for private keys, which keep the presignatures.
    pub(crate) fn pairs(&mut self) -> &mut Pairs {
        &mut self.pairs
    }

    /// Returns the counts of the presignatures; zeros where none are kept.
    pub(crate) fn presignatures(&self) -> Presignatures {
        self.pairs.presigned.counts()
    }

    /// Returns the unit's random bytes; none before [`Unit::seed`] or [`Unit::set_random`]. Without any ECDSA has the nonces of RFC 6979 and ML-DSA
    /// is deterministic; a signature with PSS and a salt fails, and so does an encapsulation.
    pub fn random(&self) -> Option<UnitRandom<'_>> {
        self.source.random()
    }

    /// Executes all operations. Those of one kind go side by side wherever that pays; results and errors
    /// are in the operations.
    #[inline]
    pub fn run(&self, operations: &mut [Operation<'_>]) {
        self.run_counted(operations);
    }

    /// Executes all operations as [`Unit::run`], and returns how full lanes were.
    #[inline]
    pub(crate) fn run_counted(&self, operations: &mut [Operation<'_>]) -> Filled {
        if let [operation] = operations {
            self.run_one(operation);
            return Filled { operations: 1, calls: 1 };
        }
        let mut calls = 0;
        for chunk in operations.chunks_mut(CHUNK) {
            calls += self.run_chunk(chunk);
        }
        Filled { operations: operations.len() as u64, calls: u64::from(calls) }
    }

    /// Executes operations group by group, and returns how many groups there were.
    #[inline(never)]
    fn run_chunk(&self, operations: &mut [Operation<'_>]) -> u32 {
        let mut groups = ArrayVec::<Group, CHUNK>::new();
        let mut present = 0_u128;
        for operation in operations.iter() {
            let group = group(&operation.work);
            present |= 1 << group.0;
            groups.push(group);
        }
        let calls = present.count_ones();
        while present != 0 {
            let group = Group(present.trailing_zeros() as u8);
            present &= present - 1;
            self.run_group(group, &groups, operations);
        }
        calls
    }

    fn checksum(&self, checksum: Checksum, data: &[u8]) -> u32 {
        match checksum {
            Checksum::Crc32 => Crc32::of(self.features, data),
            Checksum::Crc32c => Crc32c::of(self.features, data),
            Checksum::Ip => u32::from(IpChecksum::of(self.features, data)),
        }
    }

    fn copy_checksum(&self, checksum: Checksum, source: &[u8], destination: &mut [u8]) -> u32 {
        const EQUAL: &str = "lengths were compared when the operation was made";
        match checksum {
            Checksum::Crc32 => {
                let mut crc = Crc32::new(self.features);
                crc.update_copy(source, destination).expect(EQUAL);
                crc.value()
            }
            Checksum::Crc32c => {
                let mut crc = Crc32c::new(self.features);
                crc.update_copy(source, destination).expect(EQUAL);
                crc.value()
            }
            Checksum::Ip => {
                let mut sum = IpChecksum::new(self.features);
                sum.update_copy(source, destination).expect(EQUAL);
                u32::from(sum.value())
            }
        }
    }

    /// Takes up a message, adds a piece, and leaves it off or ends it. Returns the bytes of mid-state written.
    fn partial(&self, partial: &mut Partial<'_>) -> Result<u32, Error> {
        let mut hasher = match partial.before {
            Some(state) => Hasher::import(self.features, partial.hash, state)?,
            None => Hasher::new(self.features, partial.hash),
        };
        hasher.update(partial.data);
        let Some(after) = &mut partial.after else {
            partial.digest = Some(hasher.finish());
            return Ok(0);
        };
        let state = hasher.export();
        let given = after.len();
        let front = after.get_mut(..state.len()).ok_or(Error::OutputLength { given, needed: state.len() })?;
        front.copy_from_slice(&state);
        Ok(state.len() as u32)
    }
}

/// Compares the tags of one group with those that were expected.
fn compare(group: Group, groups: &[Group], operations: &mut [Operation<'_>]) {
    for (operation, found) in operations.iter_mut().zip(groups) {
        if *found == group {
            operation.compare();
        }
    }
}
