//! No wake-up of a shared queue is lost: tasks that are polled in a random order, and only when they are woken, all come to their
//! end, whatever the others do and whenever the accelerator ends.

use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use millstream::hash::Hash;
use millstream::isolated::Attach;
use millstream::queue::{
    AcceleratorThread, Config, Pending, Queue, Refusal, Request, SharedQueue, ThreadConfig,
};
use millstream_double::{Double, Served};
use millstream_testkit::Random;

/// What is lost is never found, so only a failure takes as long as this.
const PATIENCE: Duration = Duration::from_secs(30);

/// The numbers of the tasks that were woken.
#[derive(Default)]
struct Woken {
    tasks: Mutex<Vec<usize>>,
    some: Condvar,
}

impl Woken {
    /// Takes one of the tasks that were woken, waiting for one.
    fn next(&self, random: &mut Random) -> Option<usize> {
        let tasks = self.tasks.lock().unwrap();
        let (mut tasks, late) =
            self.some.wait_timeout_while(tasks, PATIENCE, |tasks| tasks.is_empty()).unwrap();
        let at = random.below(tasks.len().max(1));
        (!late.timed_out()).then(|| tasks.swap_remove(at))
    }
}

/// Wakes a task: puts its number among those that were woken.
struct Bell {
    task: usize,
    woken: Arc<Woken>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let mut tasks = self.woken.tasks.lock().unwrap();
        if !tasks.contains(&self.task) {
            tasks.push(self.task);
        }
        self.woken.some.notify_one();
    }
}

type Task = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send>>;

/// The one who executes.
enum Executor {
    Inline,
    Thread(AcceleratorThread),
    Isolated(Arc<Served>),
}

impl Executor {
    fn end(self) {
        match self {
            Executor::Inline => {}
            Executor::Thread(thread) => drop(thread),
            Executor::Isolated(served) => served.revoke(),
        }
    }
}

fn queue(place: usize, depth: usize) -> (SharedQueue, Executor) {
    let features = millstream::features().unwrap();
    let config = Config { depth, arena_bytes: 8 << 20, key_slots: 1, weight: 1 };
    let (queue, executor) = match place {
        0 => (Queue::inline(features, config).unwrap(), Executor::Inline),
        1 => {
            let thread = AcceleratorThread::spawn(features, ThreadConfig::default()).unwrap();
            (thread.queue(config).unwrap(), Executor::Thread(thread))
        }
        _ => {
            static DOUBLE: OnceLock<Double> = OnceLock::new();
            let double = DOUBLE.get_or_init(Double::start);
            let spin = Duration::from_micros(1);
            let wanted = Attach { depth, arena_bytes: 8 << 20, spin, ..double.wanted() };
            (wanted.attach().unwrap().queue().unwrap(), Executor::Isolated(double.last()))
        }
    };
    (SharedQueue::new(queue), executor)
}

/// An operation that is awaited from its beginning to its end, in one of several ways.
fn task(queue: &SharedQueue, random: &mut Random) -> Task {
    let queue = queue.clone();
    // Long ones are under way while others end.
    let (way, len) = (random.below(4), [0, 100, 30_000, 200_000][random.below(4)]);
    Box::pin(async move {
        let request = match queue.buffer(len) {
            Ok(message) if way > 0 => Request::digest(Hash::Sha256, message),
            _ => Request::null(),
        };
        let pending = queue.submit_async(request).await;
        let mut pending = pending.map_err(|refused| refused.why)?;
        if way == 2 {
            // It is awaited by reference, and goes some polls after its end.
            let done = (&mut pending).await;
            Yield(3).await;
            drop(pending);
            return done.result.map_err(|_| Refusal::Gone);
        }
        pending.await.result.map_err(|_| Refusal::Gone)
    })
}

/// Lets the others go on so many times.
struct Yield(usize);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Polls tasks as a seed says until all have ended.
fn trial(place: usize, seed: u64) {
    let mut random = Random::new(seed);
    let depth = 1 + random.below(4);
    let (queue, executor) = queue(place, depth);
    let mut executor = Some(executor);
    // Few tasks, because every new one looks for all others and finds what was lost.
    let all = 2 + random.below(12);
    // After so many polls the accelerator ends, in some of the trials.
    let ends = if random.below(2) == 0 { random.below(6 * all) } else { usize::MAX };
    let woken = Arc::new(Woken::default());
    let mut tasks: BTreeMap<usize, (Task, Waker)> = BTreeMap::new();
    let mut held: Vec<Pending> = Vec::new();
    let (mut begun, mut polls) = (0, 0);
    while begun < all || !tasks.is_empty() {
        while begun < all && random.below(4) > 0 {
            let waker = Waker::from(Arc::new(Bell { task: begun, woken: woken.clone() }));
            waker.wake_by_ref();
            tasks.insert(begun, (task(&queue, &mut random), waker));
            begun += 1;
        }
        match random.below(16) {
            // It is given up, at whatever it waits for.
            0 if tasks.len() > 1 => {
                let number = *tasks.keys().nth(random.below(tasks.len())).unwrap();
                tasks.remove(&number);
            }
            // Somebody who awaits nothing has an operation in flight for a while.
            1 if held.is_empty() => held.extend(queue.submit(Request::null())),
            2 => held.clear(),
            _ => {}
        }
        if polls == ends
            && let Some(executor) = executor.take()
        {
            executor.end();
        }
        if tasks.is_empty() {
            continue;
        }
        if random.below(4) == 0 {
            std::thread::sleep(Duration::from_micros(random.below(300) as u64));
        }
        if woken.tasks.lock().unwrap().is_empty() {
            // All sleep, maybe for the room of one who awaits nothing. The accelerator's end wakes them too.
            match executor.take_if(|executor| ends < usize::MAX && !matches!(executor, Executor::Inline)) {
                Some(executor) => executor.end(),
                None => held.clear(),
            }
        }
        let next = woken.next(&mut random);
        let number = next.unwrap_or_else(|| panic!("a wake-up was lost: place {place}, seed {seed}"));
        polls += 1;
        let Some((task, waker)) = tasks.get_mut(&number) else { continue };
        if let Poll::Ready(result) = task.as_mut().poll(&mut Context::from_waker(waker)) {
            assert!(result.is_ok() || executor.is_none(), "{result:?}: place {place}, seed {seed}");
            tasks.remove(&number);
        }
    }
}

/// Returns the seeds that are always tried, or those that the environment names.
fn seeds(always: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("MILLSTREAM_TRIAL_SEEDS") else { return always };
    let range = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or_else(|| panic!("MILLSTREAM_TRIAL_SEEDS={text}: a range is needed, as 1000..2000"))
}

#[test]
fn no_wake_up_of_an_inline_queue_is_lost() {
    seeds(0..200).for_each(|seed| trial(0, seed));
}

#[test]
fn no_wake_up_of_a_thread_is_lost() {
    seeds(0..200).for_each(|seed| trial(1, seed));
}

#[test]
fn no_wake_up_of_a_worker_is_lost() {
    seeds(0..200).for_each(|seed| trial(2, seed));
}

/// Polls its future the moment it is woken, on the thread that wakes.
struct AtOnce {
    future: Mutex<Option<Task>>,
    /// True when it was woken while it was polled.
    again: AtomicBool,
    tell: Sender<Result<(), Refusal>>,
}

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        self.again.store(true, Ordering::SeqCst);
        let Ok(mut future) = self.future.try_lock() else { return };
        while self.again.swap(false, Ordering::SeqCst)
            && let Some(polled) = future.as_mut()
        {
            if let Poll::Ready(result) = polled.as_mut().poll(&mut Context::from_waker(&self.clone().into()))
            {
                *future = None;
                self.tell.send(result).unwrap();
            }
        }
    }
}

/// An accelerator's thread that ends wakes those who sleep when it takes nothing any more: who looks at once sees that it has
/// ended, and does not sleep again.
#[test]
fn who_is_woken_by_the_end_sees_it() {
    for round in 0..20 {
        let (queue, executor) = queue(1, 1);
        let held = queue.submit(Request::null()).unwrap();
        let waiting = queue.submit_async(Request::null());
        let future: Task = Box::pin(async move { waiting.await.map(drop).map_err(|refused| refused.why) });
        let (tell, told) = channel();
        let at_once =
            Arc::new(AtOnce { future: Mutex::new(Some(future)), again: AtomicBool::new(false), tell });
        Waker::from(at_once.clone()).wake();
        if round % 2 == 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
        executor.end();
        let why = told.recv_timeout(PATIENCE).expect("it sleeps on");
        assert_eq!(why, Err(Refusal::Gone));
        drop(held);
    }
}

/// A worker wakes one of those who sleep on a ring. A thread that is woken, finds its own operation's end and goes on leaves nobody asleep
/// over the ends that come after it.
#[test]
fn a_thread_that_goes_on_leaves_nobody_asleep() {
    /// Bytes whose digest takes longer than the look before a sleep.
    const LONG: usize = 4 << 20;
    /// The length of a sleep over an end that has come.
    const LIMIT: Duration = Duration::from_millis(100);
    let double = Double::start();
    let (depth, spin) = (8, Duration::from_micros(1));
    let wanted = Attach { depth, arena_bytes: 64 << 20, spin, ..double.wanted() };
    let queue = SharedQueue::new(wanted.attach().unwrap().queue().unwrap());
    let queue = &queue;
    // One of the three may be a task.
    let run = |threads: u32, task: Option<u32>| {
        std::thread::scope(|scope| {
            let digest = move |thread: u32| {
                let message = queue.buffer(LONG).unwrap();
                std::thread::sleep(thread * Duration::from_millis(2));
                let request = Request::digest(Hash::Sha256, message);
                let done = match task {
                    Some(task) if task == thread => wait_for(pin!(queue.run_async(request))),
                    _ => queue.run(request),
                };
                done.unwrap().result.unwrap();
            };
            (0..threads).for_each(|thread| drop(scope.spawn(move || digest(thread))));
        });
    };
    // The operations of three threads, one after the other, take thrice as long as one. All is measured in turn, because the machine may be busy.
    for task in [None, Some(0), Some(1), Some(2)] {
        let (mut one, mut three) = (Vec::new(), Vec::new());
        for _ in 0..8 {
            for (threads, took) in [(1, &mut one), (3, &mut three)] {
                let began = Instant::now();
                run(threads, task);
                took.push(began.elapsed());
            }
        }
        let median = |took: &mut Vec<Duration>| {
            took.sort();
            took[took.len() / 2]
        };
        let (one, three) = (median(&mut one), median(&mut three));
        assert!(
            three < 4 * one + LIMIT / 2,
            "they slept over what had come: {three:?} with the task {task:?}, and one takes {one:?}"
        );
    }
}

/// Waits for a future as an executor with one thread does.
fn wait_for<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    struct Parked(Thread);
    impl Wake for Parked {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Parked(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
