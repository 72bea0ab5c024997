//! ESP: any text is associations or is refused with the line that is at fault, any bytes are messages of the kernel or are refused, and nothing that arrives is taken for a packet of the association
//! unless it is one. Any header of a TUN device divides its packet, or is refused.
#![cfg_attr(fuzzing, no_main)]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use millstream_esp::{
    Divided, Fate, Flow, FreshKey, Job, KernelMessage, Lane, Numbers, Offload, Packet, Place, Sa, Side,
    kernel_messages, parse, too_big, train,
};

const SUITES: [&str; 3] = [
    "aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128",
    "enc cbc(aes) 0x000102030405060708090a0b0c0d0e0f\n auth hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213",
    "enc rfc3686(ctr(aes)) 0x000102030405060708090a0b0c0d0e0f10111213\n auth hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213",
];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = parse(&text) {
        assert!((1..=text.lines().count()).contains(&error.line), "line {}", error.line);
        assert!(!error.what.is_empty());
    }
    for message in kernel_messages(data) {
        match message {
            Ok(KernelMessage::State(state)) => assert!(state.spi >= 256, "a reserved SPI"),
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if let Ok(flow) = Flow::read(data) {
        assert!(flow.len <= data.len());
        if let Some(message) = too_big(data, 1280) {
            assert!(Flow::read(&message).is_ok_and(|answer| answer.destination == flow.source));
        }
    }
    if let Some((header, packet)) = data.split_first_chunk() {
        divide(Offload::from_bytes(*header), packet);
    }
    let Some((&[which, at, flip], rest)) = data.split_first_chunk::<3>() else { return };
    let extended = if which & 0x80 != 0 { "flag esn" } else { "" };
    let (sealing, opening) = ends(SUITES[usize::from(which) % SUITES.len()], extended);

    // Bytes from nowhere.
    assert!(open(&opening, rest).is_err(), "bytes from nowhere were opened");

    // An inner packet of these bytes, with a byte changed on the way.
    let Ok(job) = Job::seal(&sealing, Packet::from_slice(rest)) else { return };
    let mut jobs = [job];
    Lane::new(&Place::Here).run(&mut jobs);
    jobs[0].finish(|_, _| true).expect("it is sealed");
    let mut sealed = jobs[0].packet().data().to_vec();
    let at = 4 + usize::from(at) % (sealed.len() - 4);
    sealed[at] ^= flip;
    let inner = Flow::read(rest).map(|flow| &rest[..flow.len]).expect("it was sealed");
    match open(&opening, &sealed) {
        Ok(opened) => assert!(flip == 0 && opened == inner, "a changed packet was opened"),
        Err(fate) => assert!(flip != 0, "{fate}"),
    }
});

/// Divides a packet of a TUN device, or refuses it. What is gathered again comes out as it was.
fn divide(offload: Offload, packet: &[u8]) {
    let mut long = packet.to_vec();
    let Ok(mut divided) = Divided::new(offload, &mut long) else { return };
    let all: Vec<Packet> = std::iter::from_fn(|| divided.next(Packet::with_room)).collect();
    let bytes: usize = all.iter().map(|packet| packet.data().len()).sum();
    assert!(!all.is_empty() && bytes >= packet.len(), "bytes are missing");
    let all: Vec<&[u8]> = all.iter().map(Packet::data).collect();
    let gathered = train(&all, true);
    let (header, lead) = gathered.lead().split_first_chunk().expect("a header");
    let rest = all[..gathered.count].iter().flat_map(|packet| &packet[gathered.from..]);
    let mut long: Vec<u8> = lead.iter().chain(rest).copied().collect();
    let mut divided = Divided::new(Offload::from_bytes(*header), &mut long).expect("it was gathered");
    for packet in &all[..gathered.count] {
        assert!(divided.next(Packet::with_room).is_some_and(|again| again.data() == *packet));
    }
    assert!(divided.next(Packet::with_room).is_none());
}

/// Makes both ends of an association.
fn ends(suite: &str, extended: &str) -> (Arc<Sa>, Arc<Sa>) {
    let text = format!(
        "src 192.0.2.1 dst 192.0.2.2\n proto esp spi 0x101 mode tunnel\n {suite}\n replay-window 64 {extended}"
    );
    let end = |side| {
        let description = parse(&text).expect("a text").states.remove(0);
        let keys = Place::Here.bind(description.suite, &description.keys).expect("keys");
        Arc::new(Sa::new(description, keys, side).expect("an association"))
    };
    let numbers = Numbers::new(1, !extended.is_empty(), Box::new(FreshKey));
    (end(Side::Out { numbers, vectors: 7 }), end(Side::In { top: 0 }))
}

fn open(sa: &Arc<Sa>, packet: &[u8]) -> Result<Vec<u8>, Fate> {
    let mut jobs = [Job::open(sa, Packet::from_slice(packet), 0, None).map_err(|(_, fate)| fate)?];
    Lane::new(&Place::Here).run(&mut jobs);
    jobs[0].finish(|_, _| true)?;
    Ok(jobs[0].packet().data().to_vec())
}
