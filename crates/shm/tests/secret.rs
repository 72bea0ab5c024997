//! A process whose heap, and a thread whose stack, lie in memory for keys. The heap of this program becomes
//! secret once and for all, so there is one test only.

use std::sync::mpsc::channel;
use std::time::Duration;

use millstream_shm::{SecretHeap, SecretMemory, spawn_on_secret_stack, wipe_stack};

#[global_allocator]
static HEAP: SecretHeap = SecretHeap;

/// Returns the line of `/proc/self/maps` that an address is in.
fn mapping_of(address: usize) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let has = |line: &&str| {
        let (begin, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [begin, end] = [begin, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        (begin..end).contains(&address)
    };
    maps.lines().find(has).unwrap_or_default().to_owned()
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

#[test]
fn heap_and_stack_are_secret() {
    let before = vec![1_u8; 100];
    let hidden = SecretHeap::begin(8 << 20).unwrap();
    assert!(SecretHeap::begin(8 << 20).is_err(), "it began");
    let mine = |at: *const u8| SecretHeap::has(at.cast_mut());
    let mut list = vec![2_u8; 100];
    assert!(!mine(before.as_ptr()) && mine(list.as_ptr()));
    if hidden {
        assert!(mapping_of(list.as_ptr().addr()).contains("secretmem"));
    }
    drop(before);

    // The list grows into another block, and the block that it leaves is zeroed.
    list.extend([3; 100_000]);
    assert!(mine(list.as_ptr()) && list[..100] == [2; 100] && list[100..] == [3; 100_000]);
    for size in [1, 31, 32, 33, 4096, 4097, 1 << 20] {
        let dirty = vec![7_u8; size];
        let at = dirty.as_ptr();
        drop(dirty);
        let clean = vec![0_u8; size];
        assert!(mine(at) && clean.as_ptr() == at && clean.iter().all(|byte| *byte == 0), "{size}");
    }
    // The bytes that `shrink_to_fit` cut off are zeroed, too.
    let mut cut = vec![9_u8; 64];
    cut.truncate(40);
    cut.shrink_to_fit();
    drop(cut);
    assert_eq!(vec![0_u8; 64], [0; 64]);
    // A block that does not fit comes from the system.
    let big = vec![4_u8; 16 << 20];
    assert!(!mine(big.as_ptr()) && big.iter().all(|byte| *byte == 4));

    // Many threads at once.
    let threads: Vec<_> = (0..4_u8)
        .map(|thread| {
            std::thread::spawn(move || {
                let mut lists: Vec<Vec<u8>> = Vec::new();
                for round in 0..2000_usize {
                    let list = vec![thread; (round * 37) % 700];
                    if round % 3 == 0 {
                        lists.clear()
                    } else {
                        lists.push(list)
                    }
                    assert!(lists.iter().flatten().all(|byte| *byte == thread));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // Freed blocks serve smaller sizes when no uncut memory is left.
    let large: Vec<_> =
        (0..32).map(|_| vec![5_u8; 1 << 20]).take_while(|block| mine(block.as_ptr())).collect();
    let freed = large.len() << 20;
    assert!(freed > 1 << 20, "{freed}");
    drop(large);
    let small: Vec<_> = (0..freed >> 13).map(|_| vec![0_u8; 8 << 10]).collect();
    assert!(small.iter().all(|block| mine(block.as_ptr()) && block.iter().all(|byte| *byte == 0)));
    a_thread_on_a_secret_stack(hidden);
}

fn a_thread_on_a_secret_stack(hidden: bool) {
    let (send, receive) = channel();
    let limit = Duration::from_secs(20);
    let on_it = spawn_on_secret_stack(c"on-secret", SecretMemory::new(512 << 10).unwrap(), move || {
        thread_local!(static OF_THREAD: [u64; 4] = const { [5; 4] });
        let local = [1_u8; 64];
        let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
        let of_thread = OF_THREAD.with(address);
        wipe_stack();
        send.send((address(&local), of_thread, name)).unwrap();
    });
    assert_eq!(on_it.unwrap(), hidden);
    let (local, of_thread, name) = receive.recv_timeout(limit).unwrap();
    assert_eq!(name.trim(), "on-secret");
    assert_eq!(mapping_of(local), mapping_of(of_thread), "the thread's own block lies on the stack too");
    let mapping = mapping_of(local);
    assert!(!hidden || mapping.contains("secretmem"), "{mapping}");
    let begin = usize::from_str_radix(mapping.split_once('-').unwrap().0, 16).unwrap();
    assert!(mapping_of(begin - 1).contains(" ---"), "below it is a page that can't be touched");
}
