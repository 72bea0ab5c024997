//! Chains of blocks inside of ASYNC_JOBs, which are encrypted in lanes.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread::LocalKey;

use millstream::isolated::Chaining;
use millstream::modes::{Direction, MAX_BLOCK};
use millstream::{CipherKey, InOut};
use zeroize::Zeroizing;

use super::{Shared, Work, gather, lock};
use crate::cipher::key::BlockKey;
use crate::cipher::together::{Blocks, together};
use crate::error::{Reason, Result};
use crate::libcrypto::Job;
use crate::provider::Provider;

/// The least bytes that are worth a pause. A shorter chain is done sooner than two switches of the stack.
pub const WORTH: usize = 1024;

/// Blocks of one chain.
struct Chain {
    key: Arc<dyn BlockKey>,
    iv: usize,
    chain: [u8; MAX_BLOCK],
    data: Zeroizing<Vec<u8>>,
    outcome: Option<Result<()>>,
}

thread_local! {
    static LIST: RefCell<Vec<Shared<Chain>>> = const { RefCell::new(Vec::new()) };
}

/// Encrypts whole blocks in AES-CBC beside other jobs', if this is a job and the key is one for AES in this process.
/// Else it hands the data back.
pub fn encrypt<'d>(
    provider: Provider,
    key: &Arc<dyn BlockKey>,
    iv: usize,
    chain: &mut [u8; MAX_BLOCK],
    mut data: InOut<'d>,
) -> std::result::Result<Result<()>, InOut<'d>> {
    // A job's stack has 32 KiB, on which the lanes of AES have room and those of Camellia and DES have not.
    if !matches!(key.engine(), Some(CipherKey::AesCbc(_))) {
        return Err(data);
    }
    let Some(job) = Job::current(provider) else { return Err(data) };
    let bytes = Zeroizing::new(data.input().to_vec());
    let work = gather(&job, Chain { key: Arc::clone(key), iv, chain: *chain, data: bytes, outcome: None });
    let mut work = lock(&work);
    *chain = work.chain;
    data.output().copy_from_slice(&work.data);
    Ok(work.outcome.take().unwrap_or(Err(Reason::INTERNAL)))
}

impl Work for Chain {
    const FULL: usize = 16;

    fn list() -> &'static LocalKey<RefCell<Vec<Shared<Self>>>> {
        &LIST
    }

    fn is_done(&self) -> bool {
        self.outcome.is_some()
    }

    fn run(works: &mut [&mut Self]) {
        let chains = works.iter_mut().filter_map(|work| work.blocks());
        let outcome = together(&mut chains.collect::<Vec<_>>());
        works.iter_mut().for_each(|work| work.outcome = Some(outcome.clone()));
    }
}

impl Chain {
    fn blocks(&mut self) -> Option<Blocks<'_>> {
        let key: CipherKey<'_> = self.key.engine()?;
        Some(Blocks {
            key,
            direction: Direction::Encrypt,
            chaining: Chaining::Ciphertext,
            chain: &mut self.chain[..self.iv],
            data: InOut::in_place(&mut self.data),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(unsafe_code)]

    use std::ffi::c_void;
    use std::sync::{LazyLock, Mutex};

    use millstream::modes::BlockMode;
    use millstream::{EngineError, Features};

    use super::*;

    /// Returns how deep a function's stack becomes, in bytes.
    fn depth(run: fn()) -> usize {
        const STACK: usize = 1 << 20;
        const PAINT: u8 = 0xa5;
        extern "C" fn start(run: *mut c_void) -> *mut c_void {
            // SAFETY: what was passed below.
            unsafe { std::mem::transmute::<*mut c_void, fn()>(run)() };
            std::ptr::null_mut()
        }
        #[repr(align(4096))]
        struct Stack([u8; STACK]);
        let mut stack = Box::new(Stack([PAINT; STACK]));
        // SAFETY: a thread on that memory, which is joined before it is looked at.
        unsafe {
            let mut attributes = std::mem::zeroed();
            libc::pthread_attr_init(&mut attributes);
            assert_eq!(libc::pthread_attr_setstack(&mut attributes, stack.0.as_mut_ptr().cast(), STACK), 0);
            let mut thread = 0;
            assert_eq!(libc::pthread_create(&mut thread, &attributes, start, run as *mut c_void), 0);
            libc::pthread_join(thread, std::ptr::null_mut());
        }
        STACK - stack.0.iter().position(|byte| *byte != PAINT).unwrap_or(STACK)
    }

    fn key<M>(
        new: fn(Features, &[u8]) -> std::result::Result<M, EngineError>,
        len: usize,
    ) -> Arc<dyn BlockKey>
    where
        M: BlockMode + Send + Sync + 'static,
        for<'k> &'k M: Into<CipherKey<'k>>,
    {
        let mode = new(millstream::features().unwrap(), &vec![7; len]).unwrap();
        Arc::new(crate::cipher::block::Local(mode, ""))
    }

    fn both_ways(key: &Arc<dyn BlockKey>) {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            key.blocks(direction, &mut [0; 16], InOut::in_place(&mut vec![1; 8192])).unwrap();
        }
    }

    #[test]
    fn a_list_fits_on_the_stack_of_a_job() {
        let list = depth(|| {
            let key = key(millstream::aes::Cbc::new, 16);
            let work = || Chain {
                key: Arc::clone(&key),
                iv: 16,
                chain: [0; 16],
                data: Zeroizing::new(vec![1; 4096]),
                outcome: None,
            };
            super::super::run(&(0..Chain::FULL).map(|_| Arc::new(Mutex::new(work()))).collect::<Vec<_>>());
        });
        let used = list - depth(|| ());
        assert!(used < 20 << 10, "{used} bytes of 32 KiB");
    }

    /// Two threads that have the same works in opposite orders, as after they resumed each other's jobs.
    #[test]
    fn threads_with_each_others_works_do_not_wait_for_each_other() {
        let key = key(millstream::aes::Cbc::new, 16);
        let done = std::sync::atomic::AtomicUsize::new(0);
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for _ in 0..2000 {
                let work = || Chain {
                    key: Arc::clone(&key),
                    iv: 16,
                    chain: [0; 16],
                    data: Zeroizing::new(vec![1; 64]),
                    outcome: None,
                };
                let one: Vec<Shared<Chain>> =
                    (0..Chain::FULL).map(|_| Arc::new(Mutex::new(work()))).collect();
                let other: Vec<Shared<Chain>> = one.iter().rev().map(Arc::clone).collect();
                let start = std::sync::Barrier::new(2);
                std::thread::scope(|scope| {
                    for list in [&one, &other] {
                        scope.spawn(|| {
                            start.wait();
                            super::super::run(list);
                        });
                    }
                });
                assert!(one.iter().all(|work| work.lock().unwrap().outcome == Some(Ok(()))));
                done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            sender.send(done.into_inner()).unwrap();
        });
        let ended = ended.recv_timeout(std::time::Duration::from_secs(120));
        assert_eq!(ended, Ok(2000), "both ended, each time");
    }

    #[test]
    fn so_does_every_message_alone() {
        let nothing = depth(|| ());
        // Keys of DES are not made on a job's stack: see `cipher/common.rs`.
        static DES: LazyLock<Arc<dyn BlockKey>> = LazyLock::new(|| key(millstream::des::Cbc::new, 24));
        LazyLock::force(&DES);
        for (name, deep) in [
            ("AES", depth(|| both_ways(&key(millstream::aes::Cbc::new, 16)))),
            ("Camellia", depth(|| both_ways(&key(millstream::camellia::Cbc::new, 16)))),
            ("DES", depth(|| both_ways(&DES))),
        ] {
            let used = deep - nothing;
            println!("{name}: {used}");
            assert!(used < 22 << 10, "{name}: {used} bytes of 32 KiB");
        }
    }
}
