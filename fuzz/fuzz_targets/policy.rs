//! Policies: any text is one or is refused with the line that is at fault, and whatever one says stays within what a
//! policy may say.
#![cfg_attr(fuzzing, no_main)]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use millstream_broker::rules::{Peer, Policy};

fuzz_target!(|text: &str| {
    let policy = match Policy::parse(text, Path::new("policy.toml")) {
        Ok(policy) => policy,
        Err(error) => {
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            assert!(error.line <= lines, "line {} of {lines}", error.line);
            assert!(error.to_string().starts_with("policy policy.toml"));
            assert!(!error.what.is_empty());
            return;
        }
    };
    for uid in [0, 1, 1000, u32::MAX] {
        for gids in [&[][..], &[0], &[1, 4, 1000], &[u32::MAX]] {
            let peer = Peer { pid: 1, uid, gids: gids.to_vec() };
            let _ = policy.is_operator(&peer);
            if let Some(limits) = policy.limits(&peer) {
                assert!((1..=4095).contains(&limits.arena_mib));
                assert!((1..=1024).contains(&limits.queues));
                assert!((1..=1 << 16).contains(&limits.depth));
                assert!((1..=1024).contains(&limits.weight));
                assert!(limits.max_grants <= 1 << 20 && limits.key_slots <= 1 << 20);
            }
        }
    }
    let _ = policy.lets_others_in();
});
