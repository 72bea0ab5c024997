//! What the AES tests share: the modes as the standards write them, over RustCrypto's block
//! cipher, and every kernel behind one signature.
#![allow(dead_code)]

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use millstream_cpu::Features;
use millstream_engines::aes::{CBC, CFB, CTR, Cbc, Cfb, Ctr, ECB, Ecb, XTS, Xts};
use millstream_engines::modes::{BlockMode, Direction};
use millstream_engines::{Engine, InOut};

type Block = [u8; 16];

/// Four blocks more than the widest kernel takes side by side.
pub const LIMIT: usize = 36 * 16;

/// One of the modes that turn data into as much data.
pub struct Mode {
    pub name: &'static str,
    pub table: &'static dyn Engine,
    /// Key lengths in bytes.
    pub keys: &'static [usize],
    /// The shortest data, and of what its length is a multiple.
    pub min: usize,
    pub step: usize,
}

const KEYS: &[usize] = &[16, 24, 32];

pub static MODES: &[Mode] = &[
    Mode { name: "aes-ecb", table: &&ECB, keys: KEYS, min: 0, step: 16 },
    Mode { name: "aes-cbc", table: &&CBC, keys: KEYS, min: 0, step: 16 },
    Mode { name: "aes-ctr", table: &&CTR, keys: KEYS, min: 0, step: 1 },
    Mode { name: "aes-cfb128", table: &&CFB, keys: KEYS, min: 0, step: 1 },
    Mode { name: "aes-xts", table: &&XTS, keys: &[32, 64], min: 16, step: 1 },
];

/// A key bound to a kernel.
pub struct Kernel {
    pub name: &'static str,
    #[allow(clippy::type_complexity)]
    pub run: Box<dyn Fn(Direction, &Block, InOut<'_>)>,
}

/// The key on every kernel of the mode that `features` allow.
pub fn kernels(mode: &Mode, features: Features, key: &[u8]) -> Vec<Kernel> {
    macro_rules! each {
        ($table:ident, $type:ident, |$key:ident, $direction:ident, $iv:ident, $data:ident| $run:expr) => {
            $table
                .available(features)
                .map(|kernel| {
                    let $key = $type::with_kernel(kernel, key).unwrap();
                    assert_eq!($key.kernel().name, kernel.kernel().name);
                    Kernel { name: kernel.kernel().name, run: Box::new(move |$direction, $iv, $data| $run) }
                })
                .collect()
        };
    }
    match mode.name {
        "aes-ecb" => each!(ECB, Ecb, |k, direction, _iv, data| k.pass(direction, &mut [], data)),
        "aes-cbc" => each!(CBC, Cbc, |k, direction, iv, data| k.pass(direction, &mut iv.clone(), data)),
        "aes-ctr" => each!(CTR, Ctr, |k, _direction, iv, data| k.apply(iv, data)),
        "aes-cfb128" => each!(CFB, Cfb, |k, direction, iv, data| match direction {
            Direction::Encrypt => k.encrypt(iv, data),
            Direction::Decrypt => k.decrypt(iv, data),
        }),
        "aes-xts" => each!(XTS, Xts, |k, direction, iv, data| match direction {
            Direction::Encrypt => k.encrypt(iv, data).unwrap(),
            Direction::Decrypt => k.decrypt(iv, data).unwrap(),
        }),
        other => panic!("no mode {other}"),
    }
}

enum Aes {
    K128(aes::Aes128),
    K192(aes::Aes192),
    K256(aes::Aes256),
}

impl Aes {
    fn new(key: &[u8]) -> Self {
        match key.len() {
            16 => Aes::K128(aes::Aes128::new_from_slice(key).unwrap()),
            24 => Aes::K192(aes::Aes192::new_from_slice(key).unwrap()),
            _ => Aes::K256(aes::Aes256::new_from_slice(key).unwrap()),
        }
    }

    fn encrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        match self {
            Aes::K128(aes) => aes.encrypt_block(&mut block),
            Aes::K192(aes) => aes.encrypt_block(&mut block),
            Aes::K256(aes) => aes.encrypt_block(&mut block),
        }
        block.into()
    }

    fn decrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        match self {
            Aes::K128(aes) => aes.decrypt_block(&mut block),
            Aes::K192(aes) => aes.decrypt_block(&mut block),
            Aes::K256(aes) => aes.decrypt_block(&mut block),
        }
        block.into()
    }

    fn run(&self, direction: Direction, block: Block) -> Block {
        if direction == Direction::Encrypt { self.encrypt(block) } else { self.decrypt(block) }
    }
}

fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// The modes, a block at a time.
pub struct Reference {
    key: Aes,
    /// XTS takes the halves of the key.
    halves: Option<[Aes; 2]>,
}

impl Reference {
    pub fn new(key: &[u8]) -> Self {
        let halves = (key.len() >= 32).then(|| {
            let (a, b) = key.split_at(key.len() / 2);
            [Aes::new(a), Aes::new(b)]
        });
        Reference { key: Aes::new(&key[..key.len().min(32)]), halves }
    }

    pub fn run(&self, mode: &str, direction: Direction, iv: &Block, data: &[u8]) -> Vec<u8> {
        if mode == "aes-xts" {
            return self.xts(direction, iv, data);
        }
        let mut out = Vec::new();
        let mut chain = *iv;
        for piece in data.chunks(16) {
            let mut block = [0; 16];
            block[..piece.len()].copy_from_slice(piece);
            let result = match (mode, direction) {
                ("aes-ecb", _) => self.key.run(direction, block),
                ("aes-cbc", Direction::Encrypt) => {
                    chain = self.key.encrypt(xor(block, chain));
                    chain
                }
                ("aes-cbc", Direction::Decrypt) => {
                    let plain = xor(self.key.decrypt(block), chain);
                    chain = block;
                    plain
                }
                ("aes-ctr", _) => {
                    let pad = self.key.encrypt(chain);
                    chain = u128::from_be_bytes(chain).wrapping_add(1).to_be_bytes();
                    xor(block, pad)
                }
                ("aes-cfb128", _) => {
                    let result = xor(block, self.key.encrypt(chain));
                    chain = if direction == Direction::Encrypt { result } else { block };
                    result
                }
                _ => panic!("no mode {mode}"),
            };
            out.extend_from_slice(&result[..piece.len()]);
        }
        out
    }

    /// IEEE 1619 §5.3 and §5.4.
    fn xts(&self, direction: Direction, iv: &Block, data: &[u8]) -> Vec<u8> {
        let [key, tweak_key] = self.halves.as_ref().unwrap();
        let mut tweak = u128::from_le_bytes(tweak_key.encrypt(*iv));
        let mut tweaks = Vec::new();
        for _ in 0..data.len() / 16 + 1 {
            tweaks.push(tweak.to_le_bytes());
            tweak = (tweak << 1) ^ ((tweak >> 127) * 0x87);
        }
        let cipher = |block: &[u8], tweak: Block| {
            xor(key.run(direction, xor(block.try_into().unwrap(), tweak)), tweak)
        };
        let (whole, rest) = (data.len() / 16, data.len() % 16);
        let mut out: Vec<u8> =
            (0..whole).flat_map(|i| cipher(&data[16 * i..16 * i + 16], tweaks[i])).collect();
        if rest > 0 {
            let (first, second) = match direction {
                Direction::Encrypt => (tweaks[whole - 1], tweaks[whole]),
                Direction::Decrypt => (tweaks[whole], tweaks[whole - 1]),
            };
            let last = 16 * (whole - 1);
            let shared = cipher(&data[last..last + 16], first);
            let padded = [&data[last + 16..], &shared[rest..]].concat();
            out.truncate(last);
            out.extend_from_slice(&cipher(&padded, second));
            out.extend_from_slice(&shared[..rest]);
        }
        out
    }

    /// NIST SP 800-38B §6.2.
    pub fn cmac(&self, message: &[u8]) -> Block {
        let double = |block: Block| {
            let n = u128::from_be_bytes(block);
            ((n << 1) ^ ((n >> 127) * 0x87)).to_be_bytes()
        };
        let k1 = double(self.key.encrypt([0; 16]));
        let mut padded = message.to_vec();
        let mut subkey = k1;
        if message.is_empty() || !message.len().is_multiple_of(16) {
            padded.push(0x80);
            padded.resize(padded.len().next_multiple_of(16), 0);
            subkey = double(k1);
        }
        let blocks: Vec<Block> = padded.chunks(16).map(|b| b.try_into().unwrap()).collect();
        let (last, blocks) = blocks.split_last().unwrap();
        let chain = blocks.iter().fold([0; 16], |chain, block| self.key.encrypt(xor(chain, *block)));
        self.key.encrypt(xor(xor(chain, *last), subkey))
    }
}
