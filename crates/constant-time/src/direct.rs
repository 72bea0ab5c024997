//! Rows that work on one object at a time, and the constructions on them.

use millstream_cpu::Features;
use millstream_engines::aead::{Aead, AeadStream};
use millstream_engines::chacha20poly1305::{CHACHA20_POLY1305, ChaCha20Poly1305};
use millstream_engines::gcm::{GCM, Gcm, POLYVAL, Polyval};
use millstream_engines::hash::{Hash, HashKernel, Hasher};
use millstream_engines::hkdf::Hkdf;
use millstream_engines::hmac::HmacKey;
use millstream_engines::kasumi::{F8, F9, UEA1, UIA1};
use millstream_engines::modes::{BlockMode, BlockStream, ByteStream, Direction, Padding, StreamMode, unpad};
use millstream_engines::rc4::{RC4, Rc4};
use millstream_engines::sha3::{Shake, Xof, XofKernel};
use millstream_engines::{InOut, Kernel, aes, camellia, cmac, compare, des, sm4, tls};

use crate::Row;
use crate::trial::{Part, Run, Trial};

/// Lengths for the widest kernel's loop and for each of its ragged ends.
const LENS: &[usize] = &[1, 16, 77, 300, 1041];

const DIRECTIONS: [(Direction, &str); 2] = [(Direction::Encrypt, "encrypt"), (Direction::Decrypt, "decrypt")];

/// Returns the lengths rounded up to whole blocks.
fn blocks(block: usize) -> Vec<usize> {
    LENS.iter().map(|len| len.next_multiple_of(block)).collect()
}

/// Returns the trials of a row of a direct table; none for another table.
pub fn trials(row: Row) -> Option<Vec<Trial>> {
    let mut trials = Vec::new();
    let lens = row.key_bits.iter().map(|bits| bits / 8);
    for key in lens {
        trials.extend(keyed(row, key)?);
    }
    if row.key_bits.is_empty() {
        let (hashes, outputs) = (hashes(row), outputs(row));
        if hashes.is_none() && outputs.is_none() {
            return None;
        }
        trials.extend(hashes.into_iter().chain(outputs).flatten());
    }
    Some(trials)
}

/// Makes trials of a mode of whole blocks: an object in one call, and in pieces with padding.
macro_rules! block_mode {
    ($row:expr, $key:expr, $table:expr, $mode:ty) => {{
        let (row, bound) = ($row, $table.named($row.features, $row.name)?);
        let make = move |key: &[u8]| <$mode>::with_kernel(bound, key).expect("a key of that length");
        let mut trials = Vec::new();
        for (direction, what) in DIRECTIONS {
            let what = format!("{what}, key of {} bytes", $key);
            let lens = blocks(<$mode>::BLOCK);
            trials.push(Trial::new(row.algorithm, bound.kernel(), what, $key, &lens, move |key, parts| {
                let mode = make(key);
                for part in parts {
                    mode.pass(direction, &mut [1; 16][..<$mode>::IV], InOut::in_place(part.data));
                }
            }));
        }
        let what = format!("padded, key of {} bytes", $key);
        trials.push(Trial::new(row.algorithm, bound.kernel(), what, $key, &[65], move |key, parts| {
            let (mode, mut sealed) = (make(key), [0; 96]);
            let vector = &[1; 16][..<$mode>::IV];
            let mut stream =
                BlockStream::new(&mode, vector, Direction::Encrypt, Padding::Pkcs7).expect("a vector");
            let done = stream.update(&parts[0].data[..41], &mut sealed).expect("room");
            stream.finish(&mut sealed[done..]).expect("room");
            parts[0].data.copy_from_slice(&sealed[..65]);
        }));
        Some(trials)
    }};
}

/// Makes trials of a mode of any number of bytes, in two pieces.
macro_rules! stream_mode {
    ($row:expr, $key:expr, $table:expr, $mode:ty) => {{
        let (row, bound) = ($row, $table.named($row.features, $row.name)?);
        let trials = DIRECTIONS.map(|(direction, what)| {
            let what = format!("{what}, key of {} bytes", $key);
            Trial::new(row.algorithm, bound.kernel(), what, $key, LENS, move |key, parts| {
                let mode = <$mode>::with_kernel(bound, key).expect("a key of that length");
                for part in parts {
                    let vector = &[1; 16][..<$mode>::BLOCK];
                    let mut stream = ByteStream::new(&mode, vector, direction).expect("a vector");
                    let (first, second) = part.data.split_at_mut(part.data.len() / 3);
                    stream.update(InOut::in_place(first));
                    stream.update(InOut::in_place(second));
                }
            })
        });
        Some(Vec::from(trials))
    }};
}

/// Makes trials of an AEAD: sealed, opened, refused, and opened in pieces.
macro_rules! aead {
    ($row:expr, $key:expr, $table:expr, $mode:ty) => {{
        let (row, bound) = ($row, $table.named($row.features, $row.name)?);
        let make = move |key: &[u8]| <$mode>::with_kernel(bound, key).expect("a key of that length");
        let seal = move |key: &[u8], parts: &mut [Part<'_>]| {
            let key = make(key);
            for part in parts {
                let mut tag = [0; 16];
                key.seal(&[2; 12], &[3; 20], InOut::in_place(part.data), &mut tag).expect("short enough");
                part.put(&tag);
            }
        };
        let open = move |key: &[u8], parts: &mut [Part<'_>]| {
            let key = make(key);
            for part in parts {
                let tag = part.tail.first_chunk().expect("a tag fits");
                let opened = key.open(&[2; 12], &[3; 20], InOut::in_place(part.data), tag);
                part.verdict(&opened);
            }
        };
        let forge = move |key: &[u8], parts: &mut [Part<'_>]| {
            seal(key, parts);
            parts.iter_mut().for_each(|part| part.tail[5] ^= 8);
        };
        let pieces = move |key: &[u8], parts: &mut [Part<'_>]| {
            let key = make(key);
            for part in parts {
                let mut stream = key.stream(&[2; 12]).expect("a nonce");
                stream.aad(&[3; 20]).expect("first");
                let (first, second) = part.data.split_at_mut(part.data.len() / 3);
                stream.decrypt_unverified(InOut::in_place(first)).expect("short enough");
                stream.decrypt_unverified(InOut::in_place(second)).expect("short enough");
                let verified = stream.verify(part.tail.first_chunk().expect("a tag fits"));
                part.verdict(&verified);
            }
        };
        let trial = |what: &str, run: Run| {
            Trial::new(
                row.algorithm,
                bound.kernel(),
                format!("{what}, key of {} bytes", $key),
                $key,
                LENS,
                run,
            )
        };
        Some(vec![
            trial("seal", Box::new(seal)),
            trial("open", Box::new(open)).prepared(seal),
            trial("refuse", Box::new(open)).prepared(forge),
            trial("open in pieces", Box::new(pieces)).prepared(seal),
        ])
    }};
}

/// Makes trials of a MAC: `$sign` is the tag of data under a key, and `$verify` compares it.
macro_rules! mac {
    ($row:expr, $key:expr, $table:expr, $mode:ty, |$k:ident, $data:ident| $sign:expr, |$tag:ident| $verify:expr) => {{
        let (row, bound) = ($row, $table.named($row.features, $row.name)?);
        let make = move |key: &[u8]| <$mode>::with_kernel(bound, key).expect("a key of that length");
        let sign = move |key: &[u8], parts: &mut [Part<'_>]| {
            let $k = make(key);
            for part in parts {
                let $data = &*part.data;
                let tag = $sign;
                part.put(&tag);
            }
        };
        let verify = move |key: &[u8], parts: &mut [Part<'_>]| {
            let $k = make(key);
            for part in parts {
                let ($data, $tag) = (&*part.data, &*part.tail);
                let verified = $verify;
                part.verdict(&verified);
            }
        };
        let name = |what| format!("{what}, key of {} bytes", $key);
        let (algorithm, kernel) = (row.algorithm, bound.kernel());
        Some(vec![
            Trial::new(algorithm, kernel, name("sign"), $key, LENS, sign),
            Trial::new(algorithm, kernel, name("verify"), $key, LENS, verify).prepared(sign),
        ])
    }};
}

fn keyed(row: Row, key: usize) -> Option<Vec<Trial>> {
    match row.algorithm {
        "aes-ecb" => {
            let mut trials = block_mode!(row, key, aes::ECB, aes::Ecb)?;
            trials.extend(crate::blocks::trials(row, key)?);
            Some(trials)
        }
        "aes-cbc" => block_mode!(row, key, aes::CBC, aes::Cbc),
        "aes-ctr" => stream_mode!(row, key, aes::CTR, aes::Ctr),
        "aes-cfb128" => stream_mode!(row, key, aes::CFB, aes::Cfb),
        "aes-gcm" => aead!(row, key, GCM, Gcm),
        "aes-xts" => xts(row, key),
        "aes-cmac" => {
            mac!(row, key, aes::CMAC, aes::Cmac, |k, data| k.mac(data), |tag| k.verify(data, &tag[..16]))
        }
        "chacha20-poly1305" => aead!(row, key, CHACHA20_POLY1305, ChaCha20Poly1305),
        "camellia-ecb" => block_mode!(row, key, camellia::ECB, camellia::Ecb),
        "camellia-cbc" => {
            let mut trials = block_mode!(row, key, camellia::CBC, camellia::Cbc)?;
            let bound = camellia::CBC.named(row.features, row.name)?;
            trials.push(cmac_of(row, bound.kernel(), key, move |key| {
                cmac::Cmac::new(camellia::Cbc::with_kernel(bound, key).expect("a key of that length"))
            }));
            Some(trials)
        }
        "camellia-ctr" => stream_mode!(row, key, camellia::CTR, camellia::Ctr),
        "sm4-ecb" => block_mode!(row, key, sm4::ECB, sm4::Ecb),
        "sm4-cbc" => block_mode!(row, key, sm4::CBC, sm4::Cbc),
        "sm4-ctr" => stream_mode!(row, key, sm4::CTR, sm4::Ctr),
        "des-ecb" => block_mode!(row, key, des::ECB, des::Ecb),
        "des-cbc" => block_mode!(row, key, des::CBC, des::Cbc),
        "des-cfb64" => stream_mode!(row, key, des::CFB, des::Cfb),
        "3des-ecb" => block_mode!(row, key, des::TRIPLE_ECB, des::Ecb),
        "3des-cbc" => {
            let mut trials = block_mode!(row, key, des::TRIPLE_CBC, des::Cbc)?;
            let bound = des::TRIPLE_CBC.named(row.features, row.name)?;
            trials.push(cmac_of(row, bound.kernel(), key, move |key| {
                cmac::Cmac::new(des::Cbc::with_kernel(bound, key).expect("a key of that length"))
            }));
            Some(trials)
        }
        "3des-cfb64" => stream_mode!(row, key, des::TRIPLE_CFB, des::Cfb),
        "des-mac" => des_mac(row, key),
        "kasumi-f8" => f8(row, key),
        "kasumi-f9" => mac!(
            row,
            key,
            UIA1,
            F9,
            |k, data| k.mac(1, 2, 1, data, 8 * data.len() - 3).expect("a direction"),
            |tag| {
                let tag = tag.first_chunk().expect("a tag");
                k.verify(1, 2, 1, data, 8 * data.len() - 3, tag)
            }
        ),
        "polyval" => {
            let bound = POLYVAL.named(row.features, row.name)?;
            let what = "hash".to_owned();
            Some(vec![Trial::new(row.algorithm, bound.kernel(), what, key, LENS, move |key, parts| {
                for part in parts {
                    let mut hash = Polyval::with_kernel(bound, key.first_chunk().expect("16 bytes"));
                    hash.absorb(part.data);
                    let value = hash.value();
                    part.put(&value);
                }
            })])
        }
        "rc4" => {
            let bound = RC4.named(row.features, row.name)?;
            let what = format!("apply, key of {key} bytes");
            Some(vec![Trial::new(row.algorithm, bound.kernel(), what, key, LENS, move |key, parts| {
                let mut state = Rc4::with_kernel(bound, key).expect("a key of that length");
                parts.iter_mut().for_each(|part| state.apply(InOut::in_place(part.data)));
            })])
        }
        "tls-aes-cbc-hmac" => Some(tls_records(row, key)),
        _ => None,
    }
}

fn xts(row: Row, key: usize) -> Option<Vec<Trial>> {
    let bound = aes::XTS.named(row.features, row.name)?;
    let lens = [16, 77, 300, 1041];
    let trials = DIRECTIONS.map(|(direction, what)| {
        let what = format!("{what}, keys of {key} bytes");
        Trial::new(row.algorithm, bound.kernel(), what, key, &lens, move |key, parts| {
            let key = aes::Xts::with_kernel(bound, key).expect("two keys of that length");
            for part in parts {
                let data = InOut::in_place(part.data);
                let done = match direction {
                    Direction::Encrypt => key.encrypt(&[1; 16], data),
                    Direction::Decrypt => key.decrypt(&[1; 16], data),
                };
                done.expect("a data unit");
            }
        })
    });
    Some(Vec::from(trials))
}

/// Makes trials of CMAC over a cipher's CBC.
fn cmac_of<M: cmac::Cbc<N> + 'static, const N: usize>(
    row: Row,
    kernel: &'static Kernel,
    key: usize,
    make: impl Fn(&[u8]) -> cmac::Cmac<M, N> + 'static,
) -> Trial {
    let what = format!("CMAC, key of {key} bytes");
    Trial::new(row.algorithm, kernel, what, key, LENS, move |key, parts| {
        let key = make(key);
        for part in parts {
            let tag = key.mac(part.data);
            part.put(&tag);
        }
    })
}

fn des_mac(row: Row, key: usize) -> Option<Vec<Trial>> {
    let bound = des::MAC.named(row.features, row.name)?;
    let what = format!("sign, key of {key} bytes");
    Some(vec![Trial::new(row.algorithm, bound.kernel(), what, key, LENS, move |key, parts| {
        for part in parts {
            let mut mac = des::Mac::with_kernel(bound, key).expect("a key of that length");
            mac.update(part.data);
            let tag = mac.finish();
            part.put(&tag);
        }
    })])
}

fn f8(row: Row, key: usize) -> Option<Vec<Trial>> {
    let bound = UEA1.named(row.features, row.name)?;
    let what = format!("apply, key of {key} bytes");
    Some(vec![Trial::new(row.algorithm, bound.kernel(), what, key, LENS, move |key, parts| {
        let key = F8::with_kernel(bound, key).expect("a key of that length");
        for part in parts {
            let bits = 8 * part.data.len() - 3;
            key.apply(1, 2, 1, InOut::in_place(part.data), bits).expect("as many bits as the bytes hold");
        }
    })])
}

/// Returns the trials of the hashes that run on a table's kernels.
fn hashes(row: Row) -> Option<Vec<Trial>> {
    let hashes: &[Hash] = match row.algorithm {
        "md5" => &[Hash::Md5],
        "sha1" => &[Hash::Sha1],
        "sha256" => &[Hash::Sha256],
        "sha512" => &[Hash::Sha512, Hash::Sha384],
        "sha3-224" => &[Hash::Sha3_224],
        "sha3-256" => &[Hash::Sha3_256],
        "sha3-384" => &[Hash::Sha3_384],
        "sha3-512" => &[Hash::Sha3_512],
        _ => return None,
    };
    let mut trials = Vec::new();
    for &hash in hashes {
        let kernel = HashKernel::named(row.features, hash, row.name)?;
        let trial = |what: &str, key: usize, run: fn(HashKernel, &[u8], &mut [Part<'_>])| {
            let what = format!("{what} ({hash})");
            Trial::new(row.algorithm, kernel.kernel(), what, key, LENS, move |key, parts| {
                run(kernel, key, parts)
            })
        };
        trials.push(trial("digest", 0, |kernel, _, parts| {
            for part in parts {
                let digest = kernel.digest(part.data);
                part.put(&digest);
            }
        }));
        trials.push(trial("digest in pieces", 0, |kernel, _, parts| {
            for part in parts {
                let mut hasher = Hasher::with_kernel(kernel);
                part.data.chunks(50).for_each(|piece| hasher.update(piece));
                let digest = hasher.finish();
                part.put(&digest);
            }
        }));
        for len in [20, 200] {
            trials.push(trial(&format!("HMAC, key of {len} bytes"), len, hmac));
            let verify = trial(&format!("HMAC verified, key of {len} bytes"), len, |kernel, key, parts| {
                let key = HmacKey::with_kernel(kernel, key);
                for part in parts {
                    let verified = key.verify(part.data, &part.tail[..kernel.hash().output_len()]);
                    part.verdict(&verified);
                }
            });
            trials.push(verify.prepared(move |key, parts| hmac(kernel, key, parts)));
        }
        trials.push(trial("HMAC of a secret length", 20, |kernel, key, parts| {
            let (key, lens) = (HmacKey::with_kernel(kernel, key), [0, 0, 17, 99, 800]);
            for (part, shortest) in parts.iter_mut().zip(lens) {
                // The length itself is a secret: it comes from the last byte, as far as there is room to hide it.
                let room = (part.data.len() - shortest).min(256);
                let secret = usize::from(part.data[part.data.len() - 1]);
                let len = shortest + ((secret * room) >> 8);
                let digest = key.sign_prefix(&[4; 13], part.data, shortest, len);
                part.put(&digest);
            }
        }));
        trials.push(trial("HKDF", 32, |kernel, key, parts| {
            for part in parts {
                let derived = Hkdf::extract_with_kernel(kernel, key, part.data);
                derived.expand(b"what for", &mut part.tail[..60]).expect("short enough");
            }
        }));
    }
    Some(trials)
}

/// Returns the trial of the function with output of any length that runs on a table's kernels.
fn outputs(row: Row) -> Option<Vec<Trial>> {
    let xof = match row.algorithm {
        "shake128" => Xof::Shake128,
        "sha3-256" => Xof::Shake256,
        _ => return None,
    };
    let kernel = XofKernel::named(row.features, xof, row.name)?;
    let what = format!("output in pieces ({xof})");
    Some(vec![Trial::new(row.algorithm, kernel.kernel(), what, 0, LENS, move |_, parts| {
        for part in parts {
            let mut shake = Shake::with_kernel(kernel);
            part.data.chunks(50).for_each(|piece| shake.update(piece));
            let mut output = shake.finish();
            part.tail.chunks_mut(23).for_each(|piece| output.squeeze(piece));
        }
    })])
}

fn hmac(kernel: HashKernel, key: &[u8], parts: &mut [Part<'_>]) {
    let key = HmacKey::with_kernel(kernel, key);
    for part in parts {
        let tag = key.sign(part.data);
        part.put(&tag);
    }
}

/// Returns trials of TLS records with the MAC inside: sealed, opened, and refused for their padding and for
/// their MAC.
fn tls_records(row: Row, key: usize) -> Vec<Trial> {
    const HEADER: [u8; tls::HEADER] = [0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3];
    let mut trials = Vec::new();
    for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha384] {
        let Some(bound) = tls::SEAL.named(row.features, row.name) else { break };
        let features = row.features;
        let make = move |secret: &[u8]| {
            let cbc = aes::Cbc::new(features, &secret[..key]).expect("a key of that length");
            tls::CbcHmac::with_kernel(bound, cbc, HmacKey::new(features, hash, &secret[key..]))
        };
        let lens = [96, 160, 416];
        let seal = move |secret: &[u8], parts: &mut [Part<'_>]| {
            let keys = make(secret);
            for part in parts {
                let payload = part.data.len() - 16 - hash.output_len() - 5;
                let payload =
                    (payload..).find(|p| keys.sealed_len(true, *p) == part.data.len()).unwrap_or(payload);
                keys.seal(&mut [1; 16], &HEADER, part.data, true, payload).expect("a record of that length");
            }
        };
        let open = move |secret: &[u8], parts: &mut [Part<'_>]| {
            let keys = make(secret);
            for part in parts {
                let opened = keys.open(&mut [1; 16], &HEADER, part.data, true);
                part.verdict(&opened);
            }
        };
        // A change in the block before the last one changes padding after decryption. One further ahead
        // changes the data or the MAC.
        let spoil = move |back: usize| {
            move |secret: &[u8], parts: &mut [Part<'_>]| {
                seal(secret, parts);
                for part in parts {
                    let at = part.data.len() - back;
                    part.data[at] ^= 0x40;
                }
            }
        };
        let trial = |what: &str, run: Run| {
            let what = format!("{what} ({hash}), key of {key} bytes");
            Trial::new(row.algorithm, bound.kernel(), what, key + 32, &lens, run)
        };
        trials.push(trial("seal", Box::new(seal)));
        trials.push(trial("open", Box::new(open)).prepared(seal));
        trials.push(trial("refuse for the padding", Box::new(open)).prepared(spoil(17)));
        trials.push(trial("refuse for the MAC", Box::new(open)).prepared(spoil(70)));
    }
    trials
}

/// Returns trials of the code that kernels share and that has no row: comparing, and padding.
pub fn helpers(features: Features) -> Vec<Trial> {
    let kernel = aes::ECB.named(features, "portable").expect("every table has it").kernel();
    let compare = Trial::new("compare", kernel, "begins", 0, &[1, 16, 37], |_, parts| {
        for part in parts {
            let other = part.tail.map(|byte| byte ^ 1);
            let same = compare::begins(part.data, &other[..part.data.len()]);
            part.put(&[same.unwrap_u8()]);
        }
    });
    let padding = Trial::new("padding", kernel, "PKCS #7", 0, &[8, 16], |_, parts| {
        for part in parts {
            let kept = unpad(part.data);
            part.verdict(&kept);
        }
    });
    let mut trials = vec![compare, padding];
    for mac in [0, 20, 32, 48] {
        // Without a MAC in it the record is authentic, so whether its padding is valid is public.
        let lens = [64, 100, 400];
        let what = format!("TLS, a MAC of {mac} bytes");
        trials.push(
            Trial::new("padding", kernel, what, 0, &lens, move |_, parts| {
                for part in parts {
                    if let Ok(unpadded) = tls::remove_padding(part.data, mac) {
                        part.put(&unpadded.mac_or(&[9; 64]));
                    }
                }
            })
            .prepared(|_, parts| {
                for part in parts {
                    let end = part.data.len();
                    part.data[end - 6..].fill(5);
                }
            }),
        );
    }
    trials
}
