//! SHAKE128 and SHAKE256 on every kernel: the published vectors, every length of message and output, pieces of both.
//!
//! Ref. FIPS 202 §6.2; NIST CAVP, "The Secure Hash Algorithm-3 Validation System", §6.3.

use millstream_cpu::Features;
use millstream_engines::sha3::{Shake, Xof, XofKernel};
use millstream_testkit::{Ran, Random, cavp, executes, hex};
use sha3::digest::{ExtendableOutput, XofReader as _};

fn kernels(xof: Xof) -> Vec<XofKernel> {
    let engine = match xof {
        Xof::Shake128 => "shake128",
        Xof::Shake256 => "sha3-256",
    };
    let mut kernels = XofKernel::available(Features::hardware(), xof);
    kernels.retain(|kernel| executes(engine, kernel.kernel().name));
    kernels
}

fn ours(kernel: &XofKernel, data: &[u8], len: usize) -> Vec<u8> {
    let mut shake = Shake::with_kernel(*kernel);
    shake.update(data);
    let mut out = vec![0; len];
    shake.finish().squeeze(&mut out);
    out
}

/// Returns RustCrypto's output.
fn reference(xof: Xof, data: &[u8], len: usize) -> Vec<u8> {
    fn squeeze(mut hasher: impl ExtendableOutput, data: &[u8], len: usize) -> Vec<u8> {
        hasher.update(data);
        let mut out = vec![0; len];
        hasher.finalize_xof().read(&mut out);
        out
    }
    match xof {
        Xof::Shake128 => squeeze(sha3::Shake128::default(), data, len),
        Xof::Shake256 => squeeze(sha3::Shake256::default(), data, len),
    }
}

#[test]
fn published_outputs() {
    for (xof, file, count) in [
        (Xof::Shake128, "SHAKE128ShortMsg.rsp", 337),
        (Xof::Shake128, "SHAKE128LongMsg.rsp", 100),
        (Xof::Shake128, "SHAKE128VariableOut.rsp", 1126),
        (Xof::Shake256, "SHAKE256ShortMsg.rsp", 273),
        (Xof::Shake256, "SHAKE256LongMsg.rsp", 100),
        (Xof::Shake256, "SHAKE256VariableOut.rsp", 1246),
    ] {
        let cases = cavp::cases(&format!("hashes/SHAKE/{file}"));
        let cases: Vec<_> = cases.iter().filter(|case| case.contains_key("Output")).collect();
        assert_eq!(cases.len(), count, "{file}");
        let mut ran = Ran::new(xof.name());
        for kernel in kernels(xof) {
            for case in &cases {
                let mut message = hex(&case["Msg"]);
                if let Some(bits) = case.get("Len") {
                    message.truncate(bits.parse::<usize>().unwrap() / 8);
                }
                let output = hex(&case["Output"]);
                assert_eq!(ours(&kernel, &message, output.len()), output, "{kernel:?}, {file}");
                ran.kernel(kernel.kernel().name);
            }
        }
        ran.at_least(kernels(xof).len());
    }
}

fn lengths(blocks: usize, step: usize) {
    let data = Random::new(1).bytes(blocks * 168 + 2);
    for xof in Xof::ALL {
        for len in (0..blocks * xof.block_len() + 2).step_by(step) {
            let expected = reference(xof, &data[..len], len);
            for kernel in kernels(xof) {
                assert_eq!(ours(&kernel, &data[..len], len), expected, "{kernel:?}, {len} bytes");
            }
        }
    }
}

#[test]
fn every_length() {
    lengths(4, 1);
}

#[test]
fn miri_lengths() {
    lengths(2, 83);
}

#[test]
fn pieces_of_every_size() {
    for xof in Xof::ALL {
        let data = Random::new(2).bytes(3 * xof.block_len() + 5);
        let expected = reference(xof, &data, 1000);
        for kernel in kernels(xof) {
            for size in 1..=xof.block_len() + 1 {
                let mut shake = Shake::with_kernel(kernel);
                data.chunks(size).for_each(|piece| shake.update(piece));
                let (copy, mut out) = (shake.clone(), vec![0; 1000]);
                let mut reader = shake.finish();
                out.chunks_mut(size).for_each(|piece| reader.squeeze(piece));
                assert_eq!(out, expected, "{kernel:?}, pieces of {size}");
                out.fill(0);
                copy.finish().squeeze(&mut out);
                assert_eq!(out, expected, "{kernel:?}, a copy");
            }
        }
    }
}
