//! Lists of one engine's own jobs, for words that follow each other and all ask for the same.
//!
//! If that is frequent, their jobs are made in a list of their engine's own type. Words are judged by the same code as
//! elsewhere; nothing has to be sorted afterwards, and nobody asks of each job what it is.

use arrayvec::ArrayVec;
use millstream_cwq::Status;
use millstream_engines::aes::{CbcJob, CfbJob, CmacJob, CtrJob};
use millstream_engines::chacha20poly1305::ChaCha20Poly1305Job;
use millstream_engines::gcm::GcmJob;
use millstream_engines::gcm_siv::{GcmSivJob, KeyedGcmSivJob};
use millstream_engines::hash::{Hash, HashJob};
use millstream_engines::hmac::HmacJob;
use millstream_engines::modes::Direction;
use millstream_engines::siv::KeyedSivJob;
use millstream_engines::{Error, InOut, camellia, des};

use crate::alone::run_alone;
use crate::check::CheckedWord;
use crate::engines::ff1::KeyedFf1Job;
use crate::held::MOST_HELD;
use crate::key::{AeadKey, CipherKey, KeyRef, MacKey};
use crate::operands::{Operands, combine};
use crate::sink::{block, check_cipher, expect, expect_gcm};
use crate::status::status_of;
use crate::unit::Unit;
use crate::wipe::wipe_list;
use crate::word_keys::WordKeys;
use crate::work::{Alone, Chained};

/// The number of jobs that fill any engine's lanes.
pub(crate) const FULL_LANES: usize = 16;

type CamelliaJob<'a> = camellia::CbcJob<'a>;
type DesJob<'a> = des::CbcJob<'a>;

/// A kind of jobs of one engine.
pub(crate) trait JobKind {
    type Job<'a>;

    /// Returns the kind's list.
    fn list(lists: &mut Lists) -> &mut Vec<Self::Job<'static>>;

    /// Adds the job of a word whose opcode, algorithm and direction are the kind's. It is made in its place: where it were returned, the
    /// first bytes of an initialisation vector would share memory with the status of a failure and be copied apart from the rest, and a
    /// processor waits for both.
    fn add<'a>(
        checked: &CheckedWord,
        keys: WordKeys<'a>,
        operands: Operands<'a>,
        jobs: &mut Vec<Self::Job<'a>>,
    ) -> Result<(), Status>;

    /// Executes jobs, of which there is one at least.
    fn run(unit: &Unit, jobs: &mut [Self::Job<'_>]);

    /// Returns what came of a job.
    fn result(job: &Self::Job<'_>) -> Result<(), Error>;

    /// Returns the digest or tag of a job that went well.
    fn tag<'j>(job: &'j Self::Job<'_>) -> &'j [u8];
}

/// A cipher on one object that shares no lanes, and what came of it.
pub(crate) struct AloneJob<'a> {
    alone: Alone<'a>,
    result: Result<(), Error>,
}

/// Calls a function that takes references to jobs. Their list is filled where it stays: one that is collected is moved afterwards, all 4 KiB of
/// it, which costs a word that is alone 25 ns.
#[inline(always)]
fn with_all<J>(jobs: &mut [J], run: impl FnOnce(&mut [&mut J])) {
    let mut all = ArrayVec::<_, MOST_HELD>::new();
    all.extend(jobs);
    run(&mut all);
}

/// Declares the lists, and the kinds of their jobs. Those of one list differ by what their lanes do.
macro_rules! kinds {
    ($($list:ident: $job:ident {
        $($(#[$doc:meta])* $kind:ident: $add:ident by $run:expr, $result:expr, $tag:expr;)+
    })+) => {
        /// Memory for jobs that is used again and again. A list has none before its first job.
        #[derive(Default)]
        pub(crate) struct Lists {
            $($list: Vec<$job<'static>>,)+
        }

        $($(
            $(#[$doc])*
            pub(crate) enum $kind {}

            impl JobKind for $kind {
                type Job<'a> = $job<'a>;

                #[inline(always)]
                fn list(lists: &mut Lists) -> &mut Vec<$job<'static>> {
                    &mut lists.$list
                }

                #[inline(always)]
                fn add<'a>(
                    checked: &CheckedWord,
                    keys: WordKeys<'a>,
                    operands: Operands<'a>,
                    jobs: &mut Vec<$job<'a>>,
                ) -> Result<(), Status> {
                    $add(checked, keys, operands, jobs)
                }

                #[inline(always)]
                fn run(unit: &Unit, jobs: &mut [$job<'_>]) {
                    let run: fn(&Unit, &mut [$job<'_>]) = $run;
                    run(unit, jobs);
                }

                #[inline(always)]
                fn result(job: &$job<'_>) -> Result<(), Error> {
                    let result: fn(&$job<'_>) -> Result<(), Error> = $result;
                    result(job)
                }

                #[inline(always)]
                fn tag<'j>(job: &'j $job<'_>) -> &'j [u8] {
                    let tag: for<'a> fn(&'a $job<'_>) -> &'a [u8] = $tag;
                    tag(job)
                }
            }
        )+)+
    };
}
kinds! {
    gcm: GcmJob {
        GcmSeal: gcm by |unit, jobs| with_all(jobs, |jobs| unit.gcm.seal(jobs)), |job| job.result, |job| &job.tag;
        GcmOpen: gcm by |unit, jobs| with_all(jobs, |jobs| unit.gcm.open(jobs)), |job| job.result, |_| &[];
    }
    chacha: ChaCha20Poly1305Job {
        ChaChaSeal: chacha by |unit, jobs| with_all(jobs, |jobs| unit.chacha.seal(jobs)), |job| job.result, |job| &job.tag;
        ChaChaOpen: chacha by |unit, jobs| with_all(jobs, |jobs| unit.chacha.open(jobs)), |job| job.result, |_| &[];
    }
    gcm_siv: KeyedGcmSivJob {
        GcmSivSeal: gcm_siv by |unit, jobs| with_all(jobs, |jobs| unit.gcm_siv.seal(jobs)), |job| job.result, |job| &job.tag;
        GcmSivOpen: gcm_siv by |unit, jobs| with_all(jobs, |jobs| unit.gcm_siv.open(jobs)), |job| job.result, |_| &[];
    }
    siv: KeyedSivJob {
        SivSeal: siv by |unit, jobs| with_all(jobs, |jobs| unit.siv.seal(jobs)), |job| job.result, |job| &job.tag;
        SivOpen: siv by |unit, jobs| with_all(jobs, |jobs| unit.siv.open(jobs)), |job| job.result, |_| &[];
    }
    ff1: KeyedFf1Job {
        Ff1Encrypt: ff1 by |unit, jobs| with_all(jobs, |jobs| unit.ff1.encrypt(jobs)), |job| job.result, |_| &[];
        Ff1Decrypt: ff1 by |unit, jobs| with_all(jobs, |jobs| unit.ff1.decrypt(jobs)), |job| job.result, |_| &[];
    }
    cbc: CbcJob {
        CbcEncrypt: cbc by |unit, jobs| with_all(jobs, |jobs| unit.aes_cbc.encrypt(jobs)), |_| Ok(()), |_| &[];
        CbcDecrypt: cbc by |unit, jobs| with_all(jobs, |jobs| unit.aes_cbc.decrypt(jobs)), |_| Ok(()), |_| &[];
    }
    ctr: CtrJob {
        Ctr: ctr by |unit, jobs| with_all(jobs, |jobs| unit.aes_ctr.apply(jobs)), |_| Ok(()), |_| &[];
    }
    cfb: CfbJob {
        CfbEncrypt: cfb by |unit, jobs| with_all(jobs, |jobs| unit.aes_cfb.encrypt(jobs)), |_| Ok(()), |_| &[];
    }
    camellia: CamelliaJob {
        CamelliaEncrypt: camellia by |unit, jobs| with_all(jobs, |jobs| unit.camellia_cbc.encrypt(jobs)), |_| Ok(()), |_| &[];
    }
    des: DesJob {
        DesEncrypt: des by |unit, jobs| with_all(jobs, |jobs| unit.des_cbc.encrypt(jobs)), |_| Ok(()), |_| &[];
        DesDecrypt: des by |unit, jobs| with_all(jobs, |jobs| unit.des_cbc.decrypt(jobs)), |_| Ok(()), |_| &[];
    }
    alone: AloneJob {
        /// AES-ECB and AES-XTS, which work on many blocks of one object.
        Apart: apart by run_all_alone, |job| job.result, |_| &[];
    }
    hash: HashJob {
        Sha1: hash by |unit, jobs| with_all(jobs, |jobs| unit.hash[Hash::Sha1 as usize].digest(jobs)), |_| Ok(()), |job| &job.digest;
        Sha256: hash by |unit, jobs| with_all(jobs, |jobs| unit.hash[Hash::Sha256 as usize].digest(jobs)), |_| Ok(()), |job| &job.digest;
        Md5: hash by |unit, jobs| with_all(jobs, |jobs| unit.hash[Hash::Md5 as usize].digest(jobs)), |_| Ok(()), |job| &job.digest;
        Sha3: hash by |unit, jobs| with_all(jobs, |jobs| unit.hash[Hash::Sha3_256 as usize].digest(jobs)), |_| Ok(()), |job| &job.digest;
        Sha512: hash by |unit, jobs| with_all(jobs, |jobs| unit.hash[Hash::Sha512 as usize].digest(jobs)), |_| Ok(()), |job| &job.digest;
    }
    hmac: HmacJob {
        /// HMACs with one hash, which are not compared with anything.
        Hmac: hmac by sign_all, |_| Ok(()), |job| &job.tag;
    }
    both: Chained {
        /// A cipher and HMACs with one hash, in one direction.
        Both: both by |unit, jobs| with_all(jobs, |jobs| unit.run_chained(jobs)), |job| job.result(), |job| job.tag();
    }
    cmac: CmacJob {
        /// CMACs that are not compared with anything.
        Cmac: cmac by |unit, jobs| with_all(jobs, |jobs| unit.aes_cmac.sign(jobs)), |_| Ok(()), |job| &job.tag;
    }
}

/// Declares the functions that add the jobs of AEADs.
macro_rules! aeads {
    ($($name:ident: $key:ident, $job:ident by $new:expr, $expect:expr;)+) => {
        $(
            #[inline(always)]
            fn $name<'a>(
                checked: &CheckedWord,
                keys: WordKeys<'a>,
                operands: Operands<'a>,
                jobs: &mut Vec<$job<'a>>,
            ) -> Result<(), Status> {
                let Some(AeadKey::$key(key)) = keys.key.and_then(KeyRef::as_aead) else { return Err(Status::Key) };
                let Operands { data, aad, iv, mac, .. } = operands;
                let mut job: $job<'a> = $new(key, iv, aad, data.in_out()?);
                if checked.reverse && !$expect(&mut job, mac) {
                    return Err(Status::MacLength);
                }
                jobs.push(job);
                Ok(())
            }
        )+
    };
}
aeads! {
    gcm: AesGcm, GcmJob by GcmJob::new, expect_gcm;
    chacha: ChaCha20Poly1305, ChaCha20Poly1305Job by ChaCha20Poly1305Job::new, |job: &mut ChaCha20Poly1305Job<'_>, tag| expect(&mut job.tag, tag);
    gcm_siv: AesGcmSiv, KeyedGcmSivJob by
        |key, iv, aad, data| KeyedGcmSivJob { key, job: GcmSivJob::new(iv, aad, data) },
        |job: &mut KeyedGcmSivJob<'_>, tag| expect(&mut job.job.tag, tag);
    siv: AesSiv, KeyedSivJob by KeyedSivJob::new, |job: &mut KeyedSivJob<'_>, tag| expect(&mut job.tag, tag);
}

#[inline(always)]
fn ff1<'a>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    operands: Operands<'a>,
    jobs: &mut Vec<KeyedFf1Job<'a>>,
) -> Result<(), Status> {
    let Some(KeyRef::AesFf1(key)) = keys.key else { return Err(Status::Key) };
    let Operands { data, iv, .. } = operands;
    jobs.push(KeyedFf1Job::new(key, checked.parameter, iv, data.in_out()?));
    Ok(())
}

/// Returns the key, and the data if they and the initialisation vector have lengths that the cipher takes.
#[inline(always)]
fn of_cipher<'a>(
    keys: WordKeys<'a>,
    operands: Operands<'a>,
) -> Result<(CipherKey<'a>, &'a [u8], InOut<'a>), Status> {
    let key = keys.key.and_then(KeyRef::as_cipher).ok_or(Status::Key)?;
    let Operands { data, iv, .. } = operands;
    let data = data.in_out()?;
    check_cipher(key, iv, data.len()).map_err(status_of)?;
    Ok((key, iv, data))
}

/// Declares the functions that add the jobs of ciphers on blocks.
macro_rules! ciphers {
    ($($name:ident: $key:ident, $job:ident by $iv:ident;)+) => {
        $(
            #[inline(always)]
            fn $name<'a>(
                _: &CheckedWord,
                keys: WordKeys<'a>,
                operands: Operands<'a>,
                jobs: &mut Vec<$job<'a>>,
            ) -> Result<(), Status> {
                let (CipherKey::$key(key), iv, data) = of_cipher(keys, operands)? else { return Err(Status::Key) };
                jobs.push($job { key, $iv: block(iv), data });
                Ok(())
            }
        )+
    };
}
ciphers! {
    cbc: AesCbc, CbcJob by iv;
    ctr: AesCtr, CtrJob by counter;
    cfb: AesCfb, CfbJob by iv;
    camellia: CamelliaCbc, CamelliaJob by iv;
    des: DesCbc, DesJob by iv;
}

#[inline(always)]
fn both<'a>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    operands: Operands<'a>,
    jobs: &mut Vec<Chained<'a>>,
) -> Result<(), Status> {
    let Operands { data, iv, mac, .. } = operands;
    jobs.push(combine(checked, keys, iv, data, checked.reverse.then_some(mac))?);
    Ok(())
}

#[inline(always)]
fn apart<'a>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    operands: Operands<'a>,
    jobs: &mut Vec<AloneJob<'a>>,
) -> Result<(), Status> {
    let (key, iv, data) = of_cipher(keys, operands)?;
    let direction = if checked.reverse { Direction::Decrypt } else { Direction::Encrypt };
    jobs.push(AloneJob { alone: Alone { key, iv: block(iv), direction, data }, result: Ok(()) });
    Ok(())
}

#[inline(always)]
fn hash<'a>(
    _: &CheckedWord,
    _: WordKeys<'a>,
    operands: Operands<'a>,
    jobs: &mut Vec<HashJob<'a>>,
) -> Result<(), Status> {
    jobs.push(HashJob::new(operands.data.input()));
    Ok(())
}

#[inline(always)]
fn hmac<'a>(
    _: &CheckedWord,
    keys: WordKeys<'a>,
    operands: Operands<'a>,
    jobs: &mut Vec<HmacJob<'a>>,
) -> Result<(), Status> {
    let Some(MacKey::Hmac(key)) = keys.key.and_then(KeyRef::as_mac) else { return Err(Status::Key) };
    jobs.push(HmacJob::new(key, operands.data.input()));
    Ok(())
}

#[inline(always)]
fn cmac<'a>(
    _: &CheckedWord,
    keys: WordKeys<'a>,
    operands: Operands<'a>,
    jobs: &mut Vec<CmacJob<'a>>,
) -> Result<(), Status> {
    if !operands.iv.is_empty() {
        return Err(Status::IvLength);
    }
    let Some(MacKey::AesCmac(key)) = keys.key.and_then(KeyRef::as_mac) else { return Err(Status::Key) };
    jobs.push(CmacJob { key, data: operands.data.input(), tag: [0; 16] });
    Ok(())
}

/// Signs with the hash of the first job's key, which is that of all.
fn sign_all(unit: &Unit, jobs: &mut [HmacJob<'_>]) {
    if let Some(hash) = jobs.first().map(|job| job.key.hash()) {
        with_all(jobs, |jobs| unit.hmac[hash as usize].sign(jobs));
    }
}

fn run_all_alone(_: &Unit, jobs: &mut [AloneJob<'_>]) {
    for job in jobs {
        job.result = run_alone(&mut job.alone);
    }
}

/// Calls a method that has a shape and a kind of jobs as its parameters, if words of that shape are frequent and have a list; none
/// if not.
macro_rules! with_kind {
    ($shape:expr, $this:ident.$method:ident($($argument:expr),* $(,)?)) => {
        crate::jobs::with_kind!(
            $shape, $this.$method, ($($argument),*),
            ECB_ENCRYPT Apart, ECB_DECRYPT Apart, XTS_ENCRYPT Apart, XTS_DECRYPT Apart,
            CBC_ENCRYPT CbcEncrypt, CBC_DECRYPT CbcDecrypt, CTR_ENCRYPT Ctr, CTR_DECRYPT Ctr,
            GCM_SEAL GcmSeal, GCM_OPEN GcmOpen, CHACHA_SEAL ChaChaSeal, CHACHA_OPEN ChaChaOpen,
            SHA1 Sha1, SHA256 Sha256, SHA512 Sha512,
            HMAC_SHA1 Hmac, HMAC_SHA256 Hmac, HMAC_SHA384 Hmac, HMAC_SHA512 Hmac, CMAC Cmac,
            CBC_THEN_SHA1 Both, CBC_THEN_SHA256 Both, CBC_THEN_SHA512 Both,
            SHA1_THEN_CBC Both, SHA256_THEN_CBC Both, SHA512_THEN_CBC Both,
            CFB_ENCRYPT CfbEncrypt, CAMELLIA_CBC_ENCRYPT CamelliaEncrypt,
            DES_CBC_ENCRYPT DesEncrypt, DES_CBC_DECRYPT DesDecrypt,
            MD5 Md5, SHA3_256 Sha3, HMAC_MD5 Hmac,
            GCM_SEAL_WITH_MADE_NONCE GcmSeal, CHACHA_SEAL_WITH_MADE_NONCE ChaChaSeal,
            GCM_SIV_SEAL GcmSivSeal, GCM_SIV_SEAL_WITH_MADE_NONCE GcmSivSeal, GCM_SIV_OPEN GcmSivOpen,
            SIV_SEAL SivSeal, SIV_OPEN SivOpen, FF1_ENCRYPT Ff1Encrypt, FF1_DECRYPT Ff1Decrypt
        )
    };
    ($shape:expr, $this:ident.$method:ident, $arguments:tt, $($name:ident $kind:ident),+) => {
        match $shape {
            $(crate::shape::frequent::$name => {
                crate::jobs::with_kind!(@ $this.$method, $name, $kind, $arguments)
            })+
            _ => None,
        }
    };
    (@ $this:ident.$method:ident, $name:ident, $kind:ident, ($($argument:expr),*)) => {
        $this.$method::<{ crate::shape::frequent::$name }, crate::jobs::$kind, _, _>($($argument),*)
    };
}
pub(crate) use with_kind;

/// Empties a list of jobs and returns it, in the same memory, for jobs that borrow from something else.
pub(crate) fn recycle<T, U>(mut list: Vec<T>) -> Vec<U> {
    const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) };
    wipe_list(&mut list);
    list.into_iter().map(|_| unreachable!("it is empty")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;
    use crate::work::Checksum;

    #[test]
    fn recycled_memory_is_the_same_memory() {
        let data = [1, 2, 3];
        let mut operations = Vec::with_capacity(100);
        operations.push(Operation::checksum(Checksum::Ip, &data));
        let place = operations.as_ptr() as usize;
        let recycled: Vec<Operation<'static>> = recycle(operations);
        assert_eq!((recycled.as_ptr() as usize, recycled.capacity(), recycled.len()), (place, 100, 0));
    }
}
