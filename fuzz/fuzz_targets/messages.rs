//! Bytes from another process: every channel's messages are understood whole or refused, and say again what they said.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_protocol::{HandOver, KeyReply, KeyRequest, Message, Order, Reply, Report, Request};

fn again<M: Message>(bytes: &[u8]) {
    if let Ok(message) = M::decode(bytes) {
        assert_eq!(*message.encode(), bytes, "the same bytes again");
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else { return };
    // With a sound head more of it is looked at.
    let framed = [&[1, 0, kind % 12, 0], rest].concat();
    for bytes in [data, &framed] {
        again::<Request>(bytes);
        again::<Reply>(bytes);
        again::<KeyRequest>(bytes);
        again::<KeyReply>(bytes);
        again::<Order>(bytes);
        again::<Report>(bytes);
        again::<HandOver>(bytes);
    }
});
