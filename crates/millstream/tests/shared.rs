//! Queues shared by threads and by the tasks of an executor.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use millstream::Features;
use millstream::cwq::Algorithm;
use millstream::hash::{Hash, HashKernel};
use millstream::hmac::HmacKey;
use millstream::isolated::Attach;
use millstream::queue::{
    AcceleratorThread, Buffer, Config, Done, Queue, Refusal, Request, SharedQueue, ThreadConfig,
};
use millstream_double::Double;

const CONFIG: Config = Config { depth: 64, arena_bytes: 4 << 20, key_slots: 8, weight: 1 };

fn features() -> Features {
    millstream::features().unwrap()
}

fn filled(queue: &SharedQueue, bytes: &[u8]) -> Buffer {
    let mut buffer = queue.buffer(bytes.len()).unwrap();
    buffer.copy_from_slice(bytes);
    buffer
}

fn inline() -> SharedQueue {
    SharedQueue::new(Queue::inline(features(), CONFIG).unwrap())
}

fn on_thread() -> (SharedQueue, AcceleratorThread) {
    let thread = AcceleratorThread::spawn(features(), ThreadConfig::default()).unwrap();
    (SharedQueue::new(thread.queue(CONFIG).unwrap()), thread)
}

fn isolated() -> SharedQueue {
    let double = Double::start();
    let wanted = Attach { depth: CONFIG.depth, arena_bytes: CONFIG.arena_bytes, ..double.wanted() };
    SharedQueue::new(wanted.attach().unwrap().queue().unwrap())
}

/// Waits for room as a program would, by letting others go on.
async fn call(queue: &SharedQueue, message: &[u8]) -> Done {
    loop {
        match queue.submit(Request::digest(Hash::Sha256, filled(queue, message))) {
            Ok(pending) => return pending.await,
            Err(refused) => assert_eq!(refused.why, Refusal::Full),
        }
        tokio::task::yield_now().await;
    }
}

fn check(done: &Done, message: &[u8]) {
    assert_eq!(
        (done.result, done.tag()),
        (Ok(()), &*HashKernel::best(features(), Hash::Sha256).digest(message))
    );
}

#[test]
fn many_threads_use_one_queue() {
    let (threaded, _thread) = on_thread();
    for queue in [inline(), threaded, isolated()] {
        let key = queue.import_key(Algorithm::Sha1, b"secret").unwrap();
        let hmac = HmacKey::new(features(), Hash::Sha1, b"secret");
        std::thread::scope(|scope| {
            for i in 0..8_u8 {
                let (queue, hmac) = (&queue, &hmac);
                scope.spawn(move || {
                    for round in 0..100 {
                        let message = [i; 200];
                        let request = Request::mac(key, filled(queue, &message[..100 + round]));
                        let done = queue.run(request).unwrap();
                        assert_eq!(done.tag(), &*hmac.sign(&message[..100 + round]));
                    }
                });
            }
        });
        assert_eq!(queue.in_flight(), 0);
    }
}

/// Tasks on one thread and on two, many more than the queue is deep.
#[test]
fn many_tasks_use_one_queue() {
    for workers in [1, 2] {
        let (threaded, _thread) = on_thread();
        for queue in [inline(), threaded, isolated()] {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(workers)
                .enable_time()
                .build()
                .unwrap();
            let ended = Arc::new(AtomicUsize::new(0));
            runtime.block_on(async {
                let tasks: Vec<_> = (0..500_usize)
                    .map(|i| {
                        let (queue, ended) = (queue.clone(), ended.clone());
                        tokio::spawn(async move {
                            let message = vec![i as u8; i];
                            check(&call(&queue, &message).await, &message);
                            ended.fetch_add(1, Ordering::Relaxed);
                        })
                    })
                    .collect();
                for task in tasks {
                    tokio::time::timeout(Duration::from_secs(60), task)
                        .await
                        .expect("a wake-up was lost")
                        .unwrap();
                }
            });
            assert_eq!(ended.load(Ordering::Relaxed), 500);
            assert_eq!(queue.in_flight(), 0);
        }
    }
}

/// Far more tasks than the queue has room for await it, and none has to try again.
#[test]
fn tasks_await_room() {
    const TASKS: usize = 5000;
    for workers in [1, 2] {
        let (threaded, _thread) = on_thread();
        for queue in [inline(), threaded, isolated()] {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(workers)
                .enable_time()
                .build()
                .unwrap();
            runtime.block_on(async {
                let tasks: Vec<_> = (0..TASKS)
                    .map(|i| {
                        let queue = queue.clone();
                        tokio::spawn(async move {
                            let message = vec![i as u8; i % 100];
                            let request = Request::digest(Hash::Sha256, filled(&queue, &message));
                            if i % 7 == 3 {
                                // These give up, at whatever they are waiting for.
                                let _ = tokio::time::timeout(Duration::ZERO, queue.run_async(request)).await;
                            } else {
                                check(&queue.run_async(request).await.unwrap(), &message);
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    tokio::time::timeout(Duration::from_secs(120), task)
                        .await
                        .expect("a wake-up was lost")
                        .unwrap();
                }
            });
            // The ends of what was given up are taken by those who work next.
            while queue.in_flight() > 0 {
                check(&queue.run(Request::digest(Hash::Sha256, filled(&queue, b"last"))).unwrap(), b"last");
            }
        }
    }
}

/// A waker that counts.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a future once. Returns its output, and wakes `count`.
fn poll<F: Future + Unpin>(future: &mut F, count: &Arc<Count>) -> Option<F::Output> {
    match Pin::new(future).poll(&mut Context::from_waker(&count.clone().into())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Room goes to those who wait, in their order: nobody overtakes them, and who gives up passes it on.
#[test]
fn room_goes_to_who_came_first() {
    let config = Config { depth: 1, ..CONFIG };
    let queue = SharedQueue::new(Queue::inline(features(), config).unwrap());
    let counts: Vec<Arc<Count>> = (0..4).map(|_| Arc::default()).collect();
    let mut held = queue.submit(Request::null()).unwrap();
    let mut waiting: Vec<_> = (0..4).map(|_| Some(queue.submit_async(Request::null()))).collect();
    for (future, count) in waiting.iter_mut().zip(&counts) {
        assert!(poll(future.as_mut().unwrap(), count).is_none());
    }
    // The operation ends, but its owner has not fetched it, so its room is not free.
    while poll(&mut held, &counts[0]).is_none() {}
    drop(held);
    assert_eq!(queue.submit(Request::null()).unwrap_err().why, Refusal::Full, "others came first");
    assert!(poll(waiting[1].as_mut().unwrap(), &counts[1]).is_none(), "it is not the first");
    let woken = counts[1].0.load(Ordering::Relaxed);
    // The first gives up. The second is told and gets the room.
    drop(waiting[0].take());
    assert!(counts[1].0.load(Ordering::Relaxed) > woken);
    let second = poll(waiting[1].as_mut().unwrap(), &counts[1]).unwrap().unwrap();
    let woken = counts[2].0.load(Ordering::Relaxed);
    // An operation that nobody wants any more makes room once it is collected, which those who wait see to.
    drop(second);
    assert!(counts[2].0.load(Ordering::Relaxed) > woken);
    let third = loop {
        if let Some(third) = poll(waiting[2].as_mut().unwrap(), &counts[2]) {
            break third.unwrap();
        }
    };
    drop((third, waiting));
    while queue.in_flight() > 0 {
        queue.run(Request::null()).unwrap();
    }
    assert!(queue.submit(Request::null()).is_ok());
}

/// When the accelerator ends, those who wait for room hear of it.
#[test]
fn who_waits_for_room_is_told_of_the_end() {
    let (queue, thread) = on_thread();
    let pending: Vec<_> = (0..CONFIG.depth).map(|_| queue.submit(Request::null()).unwrap()).collect();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            std::thread::spawn(move || queue.run(Request::null()))
        })
        .collect();
    drop(thread);
    for waited in threads {
        assert_eq!(waited.join().unwrap().unwrap_err().why, Refusal::Gone);
    }
    drop(pending);
}

/// Futures that are dropped, or whose tasks panic, leave the queue to the others; their buffers come back.
#[test]
fn dropped_and_panicking_tasks_leave_nothing_behind() {
    let (threaded, _thread) = on_thread();
    for queue in [inline(), threaded, isolated()] {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..300_usize)
                .map(|i| {
                    let queue = queue.clone();
                    tokio::spawn(async move {
                        let message = vec![i as u8; 64 + i];
                        if i % 3 == 1 {
                            // Polled at most once, then dropped.
                            let _ = tokio::time::timeout(Duration::ZERO, call(&queue, &message)).await;
                        } else if i % 3 == 2 {
                            let pending =
                                queue.submit(Request::digest(Hash::Sha256, filled(&queue, &message)));
                            std::panic::panic_any(pending.is_ok());
                        } else {
                            check(&call(&queue, &message).await, &message);
                        }
                    })
                })
                .collect();
            for (i, task) in tasks.into_iter().enumerate() {
                let ended =
                    tokio::time::timeout(Duration::from_secs(60), task).await.expect("a wake-up was lost");
                assert_eq!(ended.is_err(), i % 3 == 2);
            }
        });
        // One more, so that the ends of those that nobody waited for are taken too.
        for _ in 0..4 {
            check(&queue.run(Request::digest(Hash::Sha256, filled(&queue, b"last"))).unwrap(), b"last");
        }
        assert_eq!(queue.in_flight(), 0);
        assert!(queue.buffer(1 << 20).is_ok(), "no buffer was lost");
    }
}

#[test]
fn an_accelerator_that_ends_ends_what_is_awaited() {
    let (queue, thread) = on_thread();
    let pending: Vec<_> = (0..32_u8)
        .map(|i| queue.submit(Request::digest(Hash::Sha256, filled(&queue, &[i; 999]))).unwrap())
        .collect();
    drop(thread);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for (i, pending) in pending.into_iter().enumerate() {
        let done = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), pending).await });
        check(&done.expect("it ended"), &[i as u8; 999]);
    }
    assert_eq!(queue.submit(Request::null()).unwrap_err().why, Refusal::Gone);
}

/// A length that no arena has is refused with its own error, and no buffer is made of it.
#[test]
fn buffers_that_no_arena_holds_are_refused() {
    let (threaded, _thread) = on_thread();
    for queue in [inline(), threaded, isolated()] {
        for given in [usize::MAX, usize::MAX - 127, u32::MAX as usize] {
            assert_eq!(queue.buffer(given).unwrap_err(), Refusal::BufferLength);
        }
    }
}

/// A worker wakes one sleeper of a ring. All the threads that wait for its results get them, though each goes to sleep first.
#[test]
fn threads_that_sleep_on_one_queue_all_get_their_results() {
    const THREADS: u8 = 16;
    let double = Double::start();
    let wanted = Attach {
        depth: CONFIG.depth,
        arena_bytes: CONFIG.arena_bytes,
        spin: Duration::from_micros(1),
        ..double.wanted()
    };
    let queue = SharedQueue::new(wanted.attach().unwrap().queue().unwrap());
    let orders = double.last().orders.clone();
    for round in 0..20 {
        orders.stall(true);
        let (tell, told) = std::sync::mpsc::channel();
        for i in 0..THREADS {
            let (queue, tell) = (queue.clone(), tell.clone());
            std::thread::spawn(move || {
                let message = [i ^ round; 100];
                let done = queue.run(Request::digest(Hash::Sha256, filled(&queue, &message))).unwrap();
                check(&done, &message);
                tell.send(()).unwrap();
            });
        }
        let begin = std::time::Instant::now();
        while queue.in_flight() < THREADS.into() {
            assert!(begin.elapsed() < Duration::from_secs(30), "not all are in flight");
            std::thread::sleep(Duration::from_millis(1));
        }
        orders.stall(false);
        for _ in 0..THREADS {
            told.recv_timeout(Duration::from_secs(30)).expect("a result has not arrived");
        }
    }
    assert_eq!(queue.in_flight(), 0);
}
