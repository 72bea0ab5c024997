//! The cipher/hash sub-unit: many operations of any kind, those of one kind side by side.

use arrayvec::ArrayVec;
use millstream_cpu::Features;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305Lanes;
use millstream_engines::compare::begins;
use millstream_engines::crc::{Crc32, Crc32c};
use millstream_engines::gcm::GcmLanes;
use millstream_engines::hash::{Digest, Hash, HashLanes, Hasher};
use millstream_engines::hmac::{HmacJob, HmacLanes};
use millstream_engines::ipsum::IpChecksum;
use millstream_engines::modes::{BlockMode, ByteStream, Direction};
use millstream_engines::{Error, InOut, aes, camellia, des, kasumi};

use crate::key::CipherKey;
use crate::operation::{Alone, Chained, Checksum, Operation, Partial, Work};
use crate::stats::Filled;
use crate::wipe::wipe_list;

/// The most operations that are sorted by kind at a time: as many as the widest lanes hold.
const CHUNK: usize = 512;

/// What is executed together: lanes hold messages of one kind.
type Kind = u8;

/// A kind for each variant of [`Work`], and for each hash where lanes differ.
fn kind(work: &Work<'_>) -> Kind {
    const HASHES: Kind = 7;
    match work {
        Work::Null => 0,
        Work::Copy { .. } | Work::CopyChecksum { .. } | Work::Checksum { .. } => 1,
        Work::Alone(_) => 2,
        Work::Partial(_) => 3,
        Work::AesCbcEncrypt(_) => 4,
        Work::AesCbcDecrypt(_) => 5,
        Work::AesCtr(_) => 6,
        Work::AesCfbEncrypt(_) => 7,
        Work::DesCbcEncrypt(_) => 8,
        Work::DesCbcDecrypt(_) => 9,
        Work::DesCfbEncrypt(_) => 10,
        Work::CamelliaCbcEncrypt(_) => 11,
        Work::CamelliaCtr(_) => 12,
        Work::KasumiF8(_) => 13,
        Work::KasumiF9(..) => 14,
        Work::GcmSeal(_) => 15,
        Work::GcmOpen(_) => 16,
        Work::ChaChaSeal(_) => 17,
        Work::ChaChaOpen(_) => 18,
        Work::Cmac(..) => 19,
        Work::DesMac(..) => 20,
        Work::Hash(hash, _) => 21 + *hash as Kind,
        Work::Hmac(job, _) => 21 + HASHES + job.key.hash() as Kind,
        Work::Chained(chained) if chained.expected.is_none() => 21 + 2 * HASHES + chained.mac.hash() as Kind,
        Work::Chained(chained) => 21 + 3 * HASHES + chained.mac.hash() as Kind,
    }
}

/// The cipher/hash sub-unit of an accelerator: the lane managers of every algorithm, chosen once for the
/// features at hand. It keeps nothing of what it computes.
///
/// See [`Operation`] for an example.
#[derive(Clone, Debug)]
pub struct Unit {
    features: Features,
    aes_cbc: aes::CbcLanes,
    aes_ctr: aes::CtrLanes,
    aes_cfb: aes::CfbLanes,
    aes_cmac: aes::CmacLanes,
    des_cbc: des::CbcLanes,
    des_cfb: des::CfbLanes,
    des_mac: des::MacLanes,
    camellia_cbc: camellia::CbcLanes,
    camellia_ctr: camellia::CtrLanes,
    kasumi_f8: kasumi::F8Lanes,
    kasumi_f9: kasumi::F9Lanes,
    gcm: GcmLanes,
    chacha: ChaCha20Poly1305Lanes,
    hash: [HashLanes; Hash::ALL.len()],
    hmac: [HmacLanes; Hash::ALL.len()],
}

/// Lists the jobs of one kind among operations and hands them to their lanes.
///
/// Each use is a function of its own, so that none pays for the stack of the others.
#[inline(never)]
fn gather<'o, 'a, J: 'o>(
    operations: &'o mut [Operation<'a>],
    kinds: &[Kind],
    kind: Kind,
    pick: impl Fn(&'o mut Work<'a>) -> Option<&'o mut J>,
    run: impl FnOnce(&mut [&'o mut J]),
) {
    let mut jobs = ArrayVec::<&'o mut J, CHUNK>::new();
    for (operation, found) in operations.iter_mut().zip(kinds) {
        if *found == kind
            && let Some(job) = pick(&mut operation.work)
        {
            jobs.push(job);
        }
    }
    run(&mut jobs);
}

/// Those operations of one kind that are a given variant of [`Work`], to a function of their jobs.
macro_rules! lanes {
    ($operations:expr, $kinds:expr, $kind:expr, $variant:pat => $job:expr, $run:expr) => {
        gather(
            $operations,
            $kinds,
            $kind,
            |work| match work {
                $variant => Some($job),
                _ => None,
            },
            $run,
        )
    };
}

impl Unit {
    /// The best lane kernels that `features` allow.
    pub fn new(features: Features) -> Self {
        Unit {
            features,
            aes_cbc: aes::CbcLanes::new(features),
            aes_ctr: aes::CtrLanes::new(features),
            aes_cfb: aes::CfbLanes::new(features),
            aes_cmac: aes::CmacLanes::new(features),
            des_cbc: des::CbcLanes::new(features),
            des_cfb: des::CfbLanes::new(features),
            des_mac: des::MacLanes::new(features),
            camellia_cbc: camellia::CbcLanes::new(features),
            camellia_ctr: camellia::CtrLanes::new(features),
            kasumi_f8: kasumi::F8Lanes::new(features),
            kasumi_f9: kasumi::F9Lanes::new(features),
            gcm: GcmLanes::new(features),
            chacha: ChaCha20Poly1305Lanes::new(features),
            hash: Hash::ALL.map(|hash| HashLanes::new(features, hash)),
            hmac: Hash::ALL.map(|hash| HmacLanes::new(features, hash)),
        }
    }

    /// The features its kernels were chosen for.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Executes all operations. Those of one kind go side by side wherever that pays; results and errors
    /// are in the operations.
    #[inline]
    pub fn run(&self, operations: &mut [Operation<'_>]) {
        self.run_counted(operations);
    }

    /// The same; how full lanes were.
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

    /// Executes operations kind by kind; how many kinds there were.
    #[inline(never)]
    fn run_chunk(&self, operations: &mut [Operation<'_>]) -> u32 {
        let mut kinds = ArrayVec::<Kind, CHUNK>::new();
        let mut present = 0_u64;
        for operation in operations.iter() {
            let kind = kind(&operation.work);
            present |= 1 << kind;
            kinds.push(kind);
        }
        let calls = present.count_ones();
        while present != 0 {
            let kind = present.trailing_zeros() as Kind;
            present &= present - 1;
            self.run_kind(kind, &kinds, operations);
        }
        calls
    }

    /// Executes the operations of one kind.
    fn run_kind(&self, kind: Kind, kinds: &[Kind], operations: &mut [Operation<'_>]) {
        let o = &mut *operations;
        match kind {
            0 => {}
            1..=3 => {
                for (operation, _) in o.iter_mut().zip(kinds).filter(|(_, k)| **k == kind) {
                    self.run_one(operation);
                }
            }
            4 => lanes!(o, kinds, kind, Work::AesCbcEncrypt(job) => job, |jobs| self.aes_cbc.encrypt(jobs)),
            5 => lanes!(o, kinds, kind, Work::AesCbcDecrypt(job) => job, |jobs| self.aes_cbc.decrypt(jobs)),
            6 => lanes!(o, kinds, kind, Work::AesCtr(job) => job, |jobs| self.aes_ctr.apply(jobs)),
            7 => lanes!(o, kinds, kind, Work::AesCfbEncrypt(job) => job, |jobs| self.aes_cfb.encrypt(jobs)),
            8 => lanes!(o, kinds, kind, Work::DesCbcEncrypt(job) => job, |jobs| self.des_cbc.encrypt(jobs)),
            9 => lanes!(o, kinds, kind, Work::DesCbcDecrypt(job) => job, |jobs| self.des_cbc.decrypt(jobs)),
            10 => lanes!(o, kinds, kind, Work::DesCfbEncrypt(job) => job, |jobs| self.des_cfb.encrypt(jobs)),
            11 => lanes!(o, kinds, kind, Work::CamelliaCbcEncrypt(job) => job, |jobs| {
                self.camellia_cbc.encrypt(jobs)
            }),
            12 => lanes!(o, kinds, kind, Work::CamelliaCtr(job) => job, |jobs| self.camellia_ctr.apply(jobs)),
            13 => lanes!(o, kinds, kind, Work::KasumiF8(job) => job, |jobs| self.kasumi_f8.apply(jobs)),
            14 => lanes!(o, kinds, kind, Work::KasumiF9(job, _) => job, |jobs| self.kasumi_f9.mac(jobs)),
            15 => lanes!(o, kinds, kind, Work::GcmSeal(job) => job, |jobs| self.gcm.seal(jobs)),
            16 => lanes!(o, kinds, kind, Work::GcmOpen(job) => job, |jobs| self.gcm.open(jobs)),
            17 => lanes!(o, kinds, kind, Work::ChaChaSeal(job) => job, |jobs| self.chacha.seal(jobs)),
            18 => lanes!(o, kinds, kind, Work::ChaChaOpen(job) => job, |jobs| self.chacha.open(jobs)),
            19 => lanes!(o, kinds, kind, Work::Cmac(job, _) => job, |jobs| self.aes_cmac.sign(jobs)),
            20 => lanes!(o, kinds, kind, Work::DesMac(job, _) => job, |jobs| self.des_mac.mac(jobs)),
            21..28 => {
                let hash = &self.hash[usize::from(kind - 21)];
                lanes!(o, kinds, kind, Work::Hash(_, job) => job, |jobs| hash.digest(jobs));
            }
            28..35 => {
                let hmac = &self.hmac[usize::from(kind - 28)];
                lanes!(o, kinds, kind, Work::Hmac(job, _) => job, |jobs| hmac.sign(jobs));
            }
            35..42 => self.encrypt_then_mac(kind, kinds, o),
            _ => self.mac_then_decrypt(kind, kinds, o),
        }
        if matches!(kind, 14 | 19 | 20 | 28..35) {
            compare(kind, kinds, operations);
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
            Work::AesCbcEncrypt(job) => self.aes_cbc.encrypt(&mut [job]),
            Work::AesCbcDecrypt(job) => self.aes_cbc.decrypt(&mut [job]),
            Work::AesCtr(job) => self.aes_ctr.apply(&mut [job]),
            Work::AesCfbEncrypt(job) => self.aes_cfb.encrypt(&mut [job]),
            Work::DesCbcEncrypt(job) => self.des_cbc.encrypt(&mut [job]),
            Work::DesCbcDecrypt(job) => self.des_cbc.decrypt(&mut [job]),
            Work::DesCfbEncrypt(job) => self.des_cfb.encrypt(&mut [job]),
            Work::CamelliaCbcEncrypt(job) => self.camellia_cbc.encrypt(&mut [job]),
            Work::CamelliaCtr(job) => self.camellia_ctr.apply(&mut [job]),
            Work::KasumiF8(job) => self.kasumi_f8.apply(&mut [job]),
            Work::GcmSeal(job) => self.gcm.seal(&mut [job]),
            Work::GcmOpen(job) => self.gcm.open(&mut [job]),
            Work::ChaChaSeal(job) => self.chacha.seal(&mut [job]),
            Work::ChaChaOpen(job) => self.chacha.open(&mut [job]),
            Work::Hash(hash, job) => self.hash[*hash as usize].digest(&mut [job]),
            Work::Hmac(job, _) => {
                self.hmac[job.key.hash() as usize].sign(&mut [job]);
                compare_one(operation);
            }
            Work::Cmac(job, _) => {
                self.aes_cmac.sign(&mut [job]);
                compare_one(operation);
            }
            Work::DesMac(job, _) => {
                self.des_mac.mac(&mut [job]);
                compare_one(operation);
            }
            Work::KasumiF9(job, _) => {
                self.kasumi_f9.mac(&mut [job]);
                compare_one(operation);
            }
            Work::Chained(chained) if chained.expected.is_none() => {
                operation.result = self.encrypt_chained(chained);
                if operation.result.is_ok() {
                    chained.tag = Some(chained.mac.sign(chained.data.output()));
                }
            }
            Work::Chained(chained) => {
                let tag = chained.mac.sign(chained.data.input());
                operation.result = match verified(chained, &tag) {
                    Ok(()) => self.encrypt_chained(chained),
                    Err(error) => Err(error),
                };
            }
        }
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

    /// Takes up a message, adds a piece, and leaves it off or ends it; the bytes of mid-state written.
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

    /// The cipher of a combined operation, in its direction, and the copy of what is in clear.
    fn encrypt_chained(&self, chained: &mut Chained<'_>) -> Result<(), Error> {
        let mut cipher = cipher_of(chained);
        self.run_one(&mut cipher);
        cipher.result()
    }

    /// Encrypts all objects of one kind, side by side where that pays, then authenticates them so.
    fn encrypt_then_mac(&self, kind: Kind, kinds: &[Kind], operations: &mut [Operation<'_>]) {
        self.ciphers(kind, kinds, operations);
        let mut tags = self.macs(kind, kinds, operations, &self.hmac[usize::from(kind - 35)]);
        let mut next = tags.iter();
        for_kind(kind, kinds, operations, |chained, result| {
            let tag = next.next().cloned();
            chained.tag = if result.is_ok() { tag } else { None };
        });
        wipe_list(&mut tags);
    }

    /// Authenticates all objects of one kind, then decrypts those whose tag is right.
    fn mac_then_decrypt(&self, kind: Kind, kinds: &[Kind], operations: &mut [Operation<'_>]) {
        let mut tags = self.macs(kind, kinds, operations, &self.hmac[usize::from(kind - 42)]);
        let mut next = tags.iter();
        for_kind(kind, kinds, operations, |chained, result| {
            if let Some(tag) = next.next() {
                *result = verified(chained, tag);
            }
        });
        wipe_list(&mut tags);
        self.ciphers(kind, kinds, operations);
    }

    /// The tags of the combined operations of one kind: over their outputs, or over their inputs where they
    /// decrypt.
    fn macs(
        &self,
        kind: Kind,
        kinds: &[Kind],
        operations: &mut [Operation<'_>],
        lanes: &HmacLanes,
    ) -> Vec<Digest> {
        let mut jobs = Vec::with_capacity(operations.len());
        for (operation, found) in operations.iter_mut().zip(kinds) {
            if *found == kind
                && let Work::Chained(chained) = &mut operation.work
            {
                let data = match chained.expected {
                    None => chained.data.output(),
                    Some(_) => chained.data.input(),
                };
                jobs.push(HmacJob::new(chained.mac, data));
            }
        }
        lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
        let tags = jobs.iter().map(|job| job.tag).collect();
        wipe_list(&mut jobs);
        tags
    }

    /// The ciphers of those combined operations of one kind that have not failed.
    fn ciphers(&self, kind: Kind, kinds: &[Kind], operations: &mut [Operation<'_>]) {
        let mut ciphers = Vec::with_capacity(operations.len());
        for (operation, found) in operations.iter_mut().zip(kinds) {
            if *found == kind
                && operation.result.is_ok()
                && let Work::Chained(chained) = &mut operation.work
            {
                ciphers.push(cipher_of(chained));
            }
        }
        self.run(&mut ciphers);
        let mut results: Vec<_> = ciphers.iter().map(Operation::result).collect();
        wipe_list(&mut ciphers);
        drop(ciphers);
        let mut next = results.iter();
        for_kind(kind, kinds, operations, |_, result| {
            if result.is_ok()
                && let Some(cipher) = next.next()
            {
                *result = *cipher;
            }
        });
        wipe_list(&mut results);
    }
}

/// Calls `f` for each combined operation of one kind.
fn for_kind(
    kind: Kind,
    kinds: &[Kind],
    operations: &mut [Operation<'_>],
    mut f: impl FnMut(&mut Chained<'_>, &mut Result<(), Error>),
) {
    for (operation, found) in operations.iter_mut().zip(kinds) {
        if *found == kind
            && let Work::Chained(chained) = &mut operation.work
        {
            f(chained, &mut operation.result);
        }
    }
}

/// Copies what is in clear; the cipher over the rest.
fn cipher_of<'c>(chained: &'c mut Chained<'_>) -> Operation<'c> {
    let (mut clear, secret) = chained.data.reborrow().split_at(chained.clear);
    clear.copy();
    let direction = if chained.expected.is_some() { Direction::Decrypt } else { Direction::Encrypt };
    let iv = &chained.iv[..chained.cipher.iv_len()];
    Operation::cipher(chained.cipher, direction, iv, secret)
}

/// Whether the computed tag begins with the expected one; where not, a separate output is zeroed.
fn verified(chained: &mut Chained<'_>, tag: &Digest) -> Result<(), Error> {
    let expected = chained.expected.unwrap_or_default();
    if begins(tag, expected).into() {
        return Ok(());
    }
    if !chained.data.is_in_place() {
        chained.data.output().fill(0);
    }
    Err(Error::Authentication)
}

/// Compares the tags of one kind with those that were expected.
fn compare(kind: Kind, kinds: &[Kind], operations: &mut [Operation<'_>]) {
    for (operation, found) in operations.iter_mut().zip(kinds) {
        if *found == kind {
            compare_one(operation);
        }
    }
}

/// Compares a computed tag, or as much of it as is given, in constant time.
#[inline(always)]
fn compare_one(operation: &mut Operation<'_>) {
    let (tag, expected): (&[u8], _) = match &operation.work {
        Work::Hmac(job, Some(expected)) => (&job.tag, expected),
        Work::Cmac(job, Some(expected)) => (&job.tag, expected),
        Work::DesMac(job, Some(expected)) => (&job.mac, expected),
        Work::KasumiF9(job, Some(expected)) => match &job.result {
            Ok(mac) => (mac, expected),
            Err(_) => return,
        },
        _ => return,
    };
    operation.result = if begins(tag, expected).into() { Ok(()) } else { Err(Error::Authentication) };
}

/// A cipher on one object.
fn run_alone(alone: &mut Alone<'_>) -> Result<(), Error> {
    let Alone { key, iv, direction, data } = alone;
    let (iv, data): (&mut [u8], InOut<'_>) = (&mut iv[..key.iv_len()], data.reborrow());
    match key {
        CipherKey::AesEcb(key) => key.pass(*direction, iv, data),
        CipherKey::CamelliaEcb(key) => key.pass(*direction, iv, data),
        CipherKey::CamelliaCbc(key) => key.pass(*direction, iv, data),
        CipherKey::DesEcb(key) => key.pass(*direction, iv, data),
        CipherKey::AesCfb(key) => key.decrypt(&iv.first_chunk().copied().unwrap_or_default(), data),
        CipherKey::DesCfb(key) => ByteStream::new(*key, iv, *direction)?.update(data),
        // A copy of the state, so that every message begins the keystream anew.
        CipherKey::Rc4(key) => (*key).clone().apply(data),
        CipherKey::AesXts(key) => {
            let tweak = iv.first_chunk().copied().unwrap_or_default();
            return match direction {
                Direction::Encrypt => key.encrypt(&tweak, data),
                Direction::Decrypt => key.decrypt(&tweak, data),
            };
        }
        CipherKey::AesCbc(_)
        | CipherKey::AesCtr(_)
        | CipherKey::DesCbc(_)
        | CipherKey::CamelliaCtr(_)
        | CipherKey::KasumiF8(_) => unreachable!("{} has lanes in both directions", key.name()),
    }
    Ok(())
}
