//! Published vectors, and the same results as str0m's own provider for every length of a packet.

use millstream_testkit::{hex, hex_array};
use str0m::crypto::{CryptoProvider, from_feature_flags};

/// Returns the provider, and str0m's own.
fn providers() -> [CryptoProvider; 2] {
    [millstream_str0m::provider(from_feature_flags()).unwrap(), from_feature_flags()]
}

/// RFC 3711 appendix B.3: the keys of a session from its master key.
#[test]
fn keys_are_derived_as_in_the_standard() {
    let [provider, _] = providers();
    let (key, salt) = (hex("e1f97a0d3e018be0d64fa32c06de4139"), hex("0ec675ad498afeebb6960b3aabe6"));
    let derived = |label: u8, len: usize| -> Vec<u8> {
        let blocks = (0..len.div_ceil(16)).flat_map(|round| {
            let mut input = [0; 16];
            input[..14].copy_from_slice(&salt);
            input[7] ^= label;
            input[15] = round as u8;
            let mut output = [0xee; 32];
            provider.srtp_provider.srtp_aes_128_ecb_round(&key, &input, &mut output);
            output[..16].to_vec()
        });
        blocks.take(len).collect()
    };
    assert_eq!(derived(0, 16), hex("c61e7a93744f39ee10734afe3ff7a087"));
    assert_eq!(derived(2, 14), hex("30cbbc08863d8c85d49db34a9ae1"));
    let authentication = "cebe321f6ff7716b6fd4ab49af256a156d38baa48f0a0acf3c34e2359e6cdbcee049646c43d9327ad175578ef72270986371c10c9a369ac2f94a8c5fbcdddc256d6e919a48b610ef17c2041e474035766b68642c59bbfc2f34db60dbdfb2dc68";
    assert_eq!(derived(1, 94), &hex(authentication)[..94]);
}

/// FIPS 197 appendix C.3.
#[test]
fn the_longer_key_encrypts_its_block() {
    let [provider, _] = providers();
    let key: Vec<u8> = (0..32).collect();
    let mut output = [0; 16];
    provider.srtp_provider.srtp_aes_256_ecb_round(
        &key,
        &hex("00112233445566778899aabbccddeeff"),
        &mut output,
    );
    assert_eq!(output.to_vec(), hex("8ea2b7ca516745bfeafc49904b496089"));
}

/// RFC 3711 appendix B.2.
#[test]
fn keystream_is_that_of_the_standard() {
    let [provider, _] = providers();
    let key = hex_array("2b7e151628aed2a6abf7158809cf4f3c");
    let mut cipher = provider.srtp_provider.aes_128_cm_sha1_80().create_cipher(key, true);
    let mut output = vec![0; 0xff02 * 16];
    cipher
        .encrypt(&hex_array("f0f1f2f3f4f5f6f7f8f9fafbfcfd0000"), &vec![0; 0xff02 * 16], &mut output)
        .unwrap();
    let blocks = [
        (0, "e03ead0935c95e80e166b16dd92b4eb4"),
        (1, "d23513162b02d0f72a43a2fe4a5f97ab"),
        (2, "41e95b3bb0a2e8dd477901e4fca894c0"),
        (0xfeff, "ec8cdf7398607cb0f2d21675ea9ea1e4"),
        (0xff00, "362b7c3c6773516318a077d7fc5073ae"),
        (0xff01, "6a2cc3787889374fbeb4c81b17ba6c44"),
    ];
    for (block, keystream) in blocks {
        assert_eq!(output[16 * block..][..16], hex(keystream), "block {block:#x}");
    }
}

/// The packet of RFC 7714 §16: its initialisation vector, header and payload, and the payload encrypted under keys of 16 and of 32 bytes,
/// which count from zero.
const IV: &str = "51753c6580c2726f20718414";
const HEADER: &str = "8040f17b8041f8d35501a0b2";
const PAYLOAD: &[u8] = b"Gallia est omnis divisa in partes tres";
const SEALED: [&str; 2] = [
    "f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833899d7f27beb16a9152cf765ee4390cce",
    "32b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799b87b7aa3db36dfffd6b0f9bb7878d7a76c13",
];

#[test]
fn packets_are_sealed_and_opened_as_in_the_standard() {
    let [provider, _] = providers();
    let srtp = provider.srtp_provider;
    let (iv, aad) = (hex_array(IV), hex(HEADER));
    let (short, long) = (hex_array("000102030405060708090a0b0c0d0e0f"), std::array::from_fn(|i| i as u8));
    let mut sealed = [vec![0; PAYLOAD.len() + 16], vec![0; PAYLOAD.len() + 16]];
    srtp.aead_aes_128_gcm().create_cipher(short, true).encrypt(&iv, &aad, PAYLOAD, &mut sealed[0]).unwrap();
    srtp.aead_aes_256_gcm().create_cipher(long, true).encrypt(&iv, &aad, PAYLOAD, &mut sealed[1]).unwrap();
    assert_eq!(sealed, SEALED.map(hex));

    let mut opened = [vec![0; PAYLOAD.len()], vec![0; PAYLOAD.len()]];
    let mut short = srtp.aead_aes_128_gcm().create_cipher(short, false);
    let mut long = srtp.aead_aes_256_gcm().create_cipher(long, false);
    // The header may come in two parts.
    assert_eq!(short.decrypt(&iv, &[&aad], &sealed[0], &mut opened[0]).unwrap(), PAYLOAD.len());
    assert_eq!(
        long.decrypt(&iv, &[&aad[..5], &aad[5..]], &sealed[1], &mut opened[1]).unwrap(),
        PAYLOAD.len()
    );
    assert_eq!(opened, [PAYLOAD, PAYLOAD]);

    // Any bit makes it another packet, of which nothing is given out.
    for bit in 0..8 * sealed[0].len() {
        let mut forged = sealed[0].clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        opened[0].fill(0xee);
        short.decrypt(&iv, &[&aad], &forged, &mut opened[0]).unwrap_err();
        assert!(opened[0].iter().all(|byte| *byte == 0), "bit {bit}");
    }
    short.decrypt(&iv, &[&aad[1..]], &sealed[0], &mut opened[0]).unwrap_err();
    short.decrypt(&iv, &[&aad], &sealed[0][..15], &mut opened[0]).unwrap_err();
    assert!(short.decrypt(&iv, &[&aad], &sealed[0], &mut [0; 3]).is_err(), "no room");
    assert!(short.encrypt(&iv, &aad, PAYLOAD, &mut [0; 53]).is_err(), "no room for the tag");
}

#[test]
fn packets_of_every_length_are_those_of_str0ms_own_provider() {
    let all = providers();
    let text: Vec<u8> = (0..1500_u32).map(|i| (i * 7 + 3) as u8).collect();
    let of = |provider: &CryptoProvider| {
        let srtp = provider.srtp_provider;
        let mut counter = srtp.aes_128_cm_sha1_80().create_cipher([3; 16], true);
        let mut short = srtp.aead_aes_128_gcm().create_cipher([4; 16], true);
        let mut long = srtp.aead_aes_256_gcm().create_cipher([5; 32], true);
        let mut outputs = Vec::new();
        for len in (0..300).chain([1200, 1500]) {
            let mut output = [const { Vec::new() }; 3].map(|_: Vec<u8>| vec![0; len + 16]);
            counter.encrypt(&[0xff; 16], &text[..len], &mut output[0]).unwrap();
            // The other library uses what is behind the packet, too.
            output[0].truncate(len);
            short.encrypt(&[len as u8; 12], &text[..12 + len % 40], &text[..len], &mut output[1]).unwrap();
            long.encrypt(&[len as u8; 12], &text[..12 + len % 40], &text[..len], &mut output[2]).unwrap();
            let hmac =
                provider.sha1_hmac_provider.sha1_hmac(&text[..len % 90], &[&text[..len], &[], &output[0]]);
            let digests =
                (provider.sha1_provider.sha1(&text[..len]), provider.sha256_provider.sha256(&text[..len]));
            outputs.push((output, hmac, digests));
        }
        outputs
    };
    let [ours, theirs] = all.each_ref().map(of);
    assert_eq!(ours.len(), 302);
    assert!(ours == theirs);
}

/// RFC 2202 §3, cases 2 and 6, and the digests of "abc" in FIPS 180-4's examples.
#[test]
fn digests_are_those_of_the_standards() {
    let [provider, _] = providers();
    let hmac = |key: &[u8], parts: &[&[u8]]| provider.sha1_hmac_provider.sha1_hmac(key, parts).to_vec();
    assert_eq!(
        hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]),
        hex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    );
    let long = b"Test Using Larger Than Block-Size Key - Hash Key First";
    assert_eq!(hmac(&[0xaa; 80], &[long]), hex("aa4ae5e15272d00e95705637ce8a3b55ed402112"));
    assert_eq!(provider.sha1_provider.sha1(b"abc").to_vec(), hex("a9993e364706816aba3e25717850c26c9cd0d89d"));
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(provider.sha256_provider.sha256(b"abc").to_vec(), hex(abc));
}

#[test]
fn what_is_shown_of_a_cipher_is_no_key() {
    let [provider, _] = providers();
    let srtp = provider.srtp_provider;
    let shown = [
        format!("{:?}", srtp.aes_128_cm_sha1_80().create_cipher([0x5a; 16], true)),
        format!("{:?}", srtp.aead_aes_128_gcm().create_cipher([0x5a; 16], true)),
        format!("{:?}", srtp.aead_aes_256_gcm().create_cipher([0x5a; 32], true)),
    ];
    for text in shown {
        assert!(!text.contains("90") && !text.contains("5a"), "{text}");
    }
}
