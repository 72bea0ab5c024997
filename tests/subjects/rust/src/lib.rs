//! What a subject in Rust does: the same small piece of real work again and again, each result compared with the first.
//!
//! Called as `subject aes-gcm|sha256 SECONDS`. It prints the result in hexadecimal, which no run may change, and to
//! standard error the speed of its fastest repetition in MB/s: that one was not interrupted, so a machine that does
//! other things too gives the same figure.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// The work of one repetition.
pub const LEN: usize = 256 << 10;

/// The key and nonce of every subject.
pub const KEY: [u8; 16] = [7; 16];
/// Of AES-GCM.
pub const NONCE: [u8; 12] = [9; 12];

/// What is encrypted and hashed.
pub fn input() -> Vec<u8> {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..LEN).map(next).collect()
}

/// Runs what the command line names. `seal` encrypts in place and returns the tag.
///
/// # Panics
/// When two repetitions differ, or the command line is not understood.
pub fn main(mut seal: impl FnMut(&mut [u8]) -> [u8; 16], mut hash: impl FnMut(&[u8]) -> [u8; 32]) {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, seconds] = &arguments[..] else { panic!("subject aes-gcm|sha256 SECONDS") };
    let time = Duration::from_secs_f64(seconds.parse().expect("SECONDS is a number"));
    let input = input();
    let mut buffer = input.clone();
    match mode.as_str() {
        "aes-gcm" => {
            repeat(time, || {
                buffer.copy_from_slice(&input);
                let begin = Instant::now();
                let tag = seal(&mut buffer);
                (begin.elapsed(), tag)
            });
            println!("{}", hex(&hash(&buffer)));
        }
        "sha256" => repeat(time, || {
            let begin = Instant::now();
            let digest = hash(&input);
            (begin.elapsed(), digest)
        }),
        other => panic!("{other}: aes-gcm or sha256"),
    }
}

fn repeat<const N: usize>(time: Duration, mut once: impl FnMut() -> (Duration, [u8; N])) {
    let begin = Instant::now();
    let (mut best, first) = once();
    while begin.elapsed() < time {
        let (took, again) = once();
        assert_eq!(again, first, "a repetition has another result");
        best = best.min(took);
    }
    println!("{}", hex(&first));
    eprintln!("{:.1} MB/s", LEN as f64 / best.as_secs_f64() / 1e6);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
