//! The formats of backups and sealed files: heads, manifests, messages, and the files of age. Nothing that was changed opens.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_backup::manifest::{Details, Entry, Index, Manifest, encode};
use millstream_cpu::Features;
use millstream_files::age::{self, Secrets};
use millstream_files::chunked::{self, sealed_len};
use millstream_files::envelope::{Head, Identity, Kind, Recipient, open, seal};

const KEY: [u8; 32] = [7; 32];

fuzz_target!(|data: &[u8]| {
    let features = Features::hardware();

    // Bytes from nowhere.
    if let Ok(head) = Head::read(&mut &data[..]) {
        assert!(data.starts_with(&head.to_bytes()), "a head has one encoding");
    }
    assert!(Manifest::read(features, data, None).is_err(), "bytes from nowhere are signed");
    let mut reader = data;
    assert!(open(features, &mut reader, &[Identity::Key(&KEY)]).is_err(), "bytes from nowhere verified");
    let key = age::Identity::X25519(KEY.into());
    let identities = [key, age::Identity::Hybrid(KEY.into())];
    let mut reader = data;
    assert!(age::open(features, &mut reader, Secrets::Identities(&identities)).is_err());
    let _ = (age::dearmour(data), age::identities(data), age::recipients(features, data));

    // What was made here, and changed in one place.
    let Some((&[at_low, at_high, flip, which], plain)) = data.split_first_chunk::<4>() else { return };
    let at = usize::from(u16::from_le_bytes([at_low, at_high]));
    if which & 1 == 0 {
        let mut sealed = Vec::new();
        let job = seal(features, &[Recipient::Key(&KEY)]).expect("a key");
        job.run_here(plain, &mut sealed).expect("sealing of anything");
        let changed = change(&mut sealed, at, flip);
        let (mut opened, mut reader) = (Vec::new(), &sealed[..]);
        let result = open(features, &mut reader, &[Identity::Key(&KEY)])
            .and_then(|job| job.run_here(reader, &mut opened));
        assert!(result.is_err() == changed, "changed {changed}, {result:?}");
        assert!(plain.starts_with(&opened), "unverified bytes were written");
        assert!(changed || opened == plain);
        return;
    }
    let (head, key) =
        Head::new(features, Kind::Manifest, &[Recipient::Key(&KEY)], Vec::new()).expect("a key");
    let bytes = plain.len() as u64;
    let entry = Entry { salt: [1; chunked::SALT], sealed_bytes: sealed_len(bytes), sha256: [2; 32] };
    let (id, created, segment_bytes) = ([3; 16], 4, 1 << 20);
    let mut index = Index { id, created, segment_bytes, bytes, verifier: [0; 32], segments: vec![entry] };
    let details = Details { name: "name".into(), source: String::from_utf8_lossy(plain).into_owned() };
    // The verifier is the data key's, which a first encoding tells: its own check finds the other one wrong.
    let first = encode(features, &key, head.keys.clone(), &index, &details).expect("an encoding");
    assert!(Manifest::read(features, &first, None).is_err());
    index.verifier = millstream_backup::manifest::verifier(features, &key).expect("a key");
    let mut manifest = encode(features, &key, head.keys, &index, &details).expect("an encoding");
    let changed = change(&mut manifest, at, flip);
    let read = Manifest::read(features, &manifest, None).and_then(|manifest| {
        let key = manifest.head.key(features, &[Identity::Key(&KEY)])?;
        Ok((manifest.open(features, &key)?, manifest.index))
    });
    match read {
        Ok(read) => assert!(!changed && read == (details, index), "a changed manifest was read"),
        Err(error) => assert!(changed, "{error}"),
    }
});

/// Changes a byte, cuts the end off or appends one. Returns true if anything is another way then.
fn change(bytes: &mut Vec<u8>, at: usize, flip: u8) -> bool {
    let at = at % (bytes.len() + 1);
    match (flip, bytes.get_mut(at)) {
        (0, Some(_)) => bytes.truncate(at),
        (0, None) => return false,
        (flip, Some(byte)) => *byte ^= flip,
        (flip, None) => bytes.push(flip),
    }
    true
}
