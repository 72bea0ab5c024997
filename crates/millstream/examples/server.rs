//! A server of many tasks whose keys are in another process. All tasks share one queue, and await room in it.
//!
//! ```console
//! $ millstream serve -q &
//! $ cargo run --example server
//! 200 sessions sealed 4000 records, isolated: true
//! ```

use std::error::Error;

use millstream::cwq::Algorithm;
use millstream::isolated::Attach;
use millstream::queue::{Done, KeyHandle, KeyOptions, Nonces, Request, SharedQueue};

const SESSIONS: usize = 200;
const RECORDS: usize = 20;

type Failure = Box<dyn Error + Send + Sync>;

/// Attaches to the service of this user and serves.
pub fn main() -> Result<(), Failure> {
    println!("{}", run(Attach::default())?);
    Ok(())
}

/// Attaches to the service and serves. The executor is tokio; any other will do.
pub fn run(attach: Attach) -> Result<String, Failure> {
    let accelerator = attach.attach()?;
    // The worker generates the key and makes the nonces. Nothing in this process can use one twice.
    let made = KeyOptions { nonces: Nonces::Made, ..KeyOptions::default() };
    let key = accelerator.generate_key_with(Algorithm::AesGcm, 32, made)?;
    let queue = SharedQueue::new(accelerator.queue()?);
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    executor.block_on(async {
        // A real server accepts connections here.
        let sessions: Vec<_> = (0..SESSIONS).map(|_| tokio::spawn(session(queue.clone(), key))).collect();
        for session in sessions {
            session.await??;
        }
        Ok::<(), Failure>(())
    })?;
    let isolated = accelerator.is_isolated();
    Ok(format!("{SESSIONS} sessions sealed {} records, isolated: {isolated}", SESSIONS * RECORDS))
}

/// Serves one connection.
async fn session(queue: SharedQueue, key: KeyHandle) -> Result<(), Failure> {
    for number in 0..RECORDS {
        let record = format!("record {number} of a session");
        let sealed = seal(&queue, key, record.as_bytes()).await?;
        // The peer needs nonce, ciphertext and tag.
        let ciphertext = sealed.buffers.destination.as_deref().unwrap_or_default();
        assert_eq!((sealed.nonce().len(), ciphertext.len(), sealed.tag().len()), (12, record.len(), 16));
    }
    Ok(())
}

async fn seal(queue: &SharedQueue, key: KeyHandle, record: &[u8]) -> Result<Done, Failure> {
    let (mut source, destination) = (queue.buffer(record.len())?, queue.buffer(record.len())?);
    source.copy_from_slice(record);
    let done = queue.run_async(Request::seal_with_made_nonce(key, b"session", source, destination)).await?;
    done.check()?;
    Ok(done)
}
