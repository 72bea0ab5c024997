//! A client that writes whatever it likes to its rings, at any moment: the accelerator goes on, and serves its
//! other queue, whichever way words take.
#![cfg_attr(fuzzing, no_main)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use libfuzzer_sys::fuzz_target;
use millstream_accelerator::{Accelerator, FlushPolicy, LocalArena, Way};
use millstream_cpu::Features;
use millstream_cwq::ring::{self, Consumer, Producer, Word};
use millstream_cwq::{Completion, ControlWord, Opcode, Status};

fuzz_target!(|data: &[u8]| {
    serve(data, Way::Fast);
    serve(data, Way::General);
});

fn serve(data: &[u8], way: Way) {
    let rings = || -> [Arc<[Word]>; 2] {
        [ring::memory::<{ ControlWord::WORDS }>(4).into(), ring::memory::<{ Completion::WORDS }>(4).into()]
    };
    let policy = FlushPolicy { full: 3, deadline: 2 };
    let mut accelerator = Accelerator::new(Features::none(), policy);
    accelerator.set_way(way);
    let grant = accelerator.add_grant(Arc::new(LocalArena::new(4096)), 1);
    let (theirs, mine) = (rings(), rings());
    for [submissions, completions] in [&theirs, &mine] {
        accelerator.add_queue(grant, submissions.clone(), completions.clone(), 1).expect("rings");
    }
    let [submissions, completions] = mine;
    let mut submissions = Producer::<_, { ControlWord::WORDS }>::new(submissions).expect("a ring");
    let mut completions = Consumer::<_, { Completion::WORDS }>::new(completions).expect("a ring");
    let mut now = 0;
    for (tag, chunk) in data.chunks(4).enumerate() {
        let &[ring, at, value, how] = chunk else { return };
        let memory = &theirs[usize::from(ring & 1)];
        let at = if ring & 2 == 0 { usize::from(at % 3) * 8 } else { usize::from(at) % memory.len() };
        let old = memory[at].load(Ordering::Relaxed);
        let value = u64::from(value);
        let new = match how % 4 {
            0 => old.wrapping_add(value),
            1 => old.wrapping_sub(value),
            2 => value << (how / 4),
            _ => u64::from_le_bytes([how; 8]),
        };
        memory[at].store(new, Ordering::Relaxed);
        let word = ControlWord { opcode: Opcode::Null as u8, tag: tag as u64, ..ControlWord::default() };
        submissions.push(&word.to_words()).expect("room");
        submissions.publish();
        accelerator.step(now);
        accelerator.step(now + 2);
        now += 3;
        let done = completions.pop().expect("a sound ring").map(Completion::from_words);
        completions.release();
        let expected = Completion { tag: tag as u64, status: Status::Ok as u16, ..Completion::default() };
        assert_eq!(done, Some(expected));
    }
}
