//! One published vector for each table, and a long message that takes a kernel's wide path.
//!
//! Ref. FIPS 81, appendices B to D; SP 800-67 rev. 2, appendix B; NIST CAVP, TCBCMMT3 and
//! TCFB64MMT3, count 2.

use millstream_cpu::Features;

use super::{BLOCK, Cbc, CbcJob, CbcLanes, Cfb, CfbJob, CfbLanes, Ecb, LanesOps, Mac, MacJob, MacLanes, Ops};
use crate::InOut;
use crate::kernel::Bound;
use crate::modes::{BlockMode, Direction, StreamMode};

struct Vector {
    key: &'static [u64],
    iv: u64,
    plaintext: [u64; 3],
    ciphertext: [u64; 3],
}

/// "Now is the time for all ".
const TEXT: [u64; 3] = [0x4e6f_7720_6973_2074, 0x6865_2074_696d_6520, 0x666f_7220_616c_6c20];

const SINGLE_ECB: Vector = Vector {
    key: &[0x0123_4567_89ab_cdef],
    iv: 0,
    plaintext: TEXT,
    ciphertext: [0x3fa4_0e8a_984d_4815, 0x6a27_1787_ab88_83f9, 0x893d_51ec_4b56_3b53],
};
const SINGLE_CBC: Vector = Vector {
    key: &[0x0123_4567_89ab_cdef],
    iv: 0x1234_5678_90ab_cdef,
    plaintext: TEXT,
    ciphertext: [0xe5c7_cdde_872b_f27c, 0x43e9_3400_8c38_9c0f, 0x6837_8849_9a7c_05f6],
};
const SINGLE_CFB: Vector = Vector {
    key: &[0x0123_4567_89ab_cdef],
    iv: 0x1234_5678_90ab_cdef,
    plaintext: TEXT,
    ciphertext: [0xf309_6249_c7f4_6e51, 0xa69e_839b_1a92_f784, 0x0346_7133_898e_a622],
};
/// The vector with the plaintext "The qufck brown fox jump", which the standard spells so.
const TRIPLE_ECB: Vector = Vector {
    key: &[0x0123_4567_89ab_cdef, 0x2345_6789_abcd_ef01, 0x4567_89ab_cdef_0123],
    iv: 0,
    plaintext: [0x5468_6520_7175_6663, 0x6b20_6272_6f77_6e20, 0x666f_7820_6a75_6d70],
    ciphertext: [0xa826_fd8c_e53b_855f, 0xcce2_1c81_1225_6fe6, 0x68d5_c05d_d9b6_b900],
};
const TRIPLE_CBC: Vector = Vector {
    key: &[0x1a5d_4c08_2507_2a15, 0xa8ad_9dfd_aeda_8c04, 0x8adf_fb85_bc4f_ced0],
    iv: 0x7fcf_a736_f754_8b6f,
    plaintext: [0x983c_3eda_cd93_9406, 0x010e_1bc6_ff9e_1232, 0x0ac5_0081_17fa_8f84],
    ciphertext: [0xd84f_a24f_38cf_451c, 0xa2c9_adc9_6012_0bd8, 0xff98_7158_4fe3_1cee],
};
const TRIPLE_CFB: Vector = Vector {
    key: &[0x9e32_daa4_2679_a898, 0xc262_7a2f_4ac4_9758, 0x85cb_2a68_c8c8_1920],
    iv: 0xcc20_aa6c_3421_4217,
    plaintext: [0x6b7a_cd01_c975_d53f, 0x544b_35b7_6103_a7d0, 0x0c63_ad90_91bd_1a10],
    ciphertext: [0x39be_9a6d_7702_b347, 0x7bad_e6e1_664d_3d92, 0x2ccb_1242_04ef_f794],
};

/// Blocks in the long message: more than the widest kernel takes at a time, and not whole rows.
const MANY: usize = 3 * 261;

fn bytes(blocks: &[u64]) -> Vec<u8> {
    blocks.iter().flat_map(|block| block.to_be_bytes()).collect()
}

impl Vector {
    /// Returns true if `pass` turns the plaintext into the ciphertext and back, and if the
    /// plaintext repeated many times comes back too.
    fn holds(&self, pass: impl Fn(Direction, &mut [u8; BLOCK], &mut [u8])) -> bool {
        let (plaintext, ciphertext) = (bytes(&self.plaintext), bytes(&self.ciphertext));
        let both_ways = |from: &[u8], to: Option<&[u8]>| {
            let mut data = from.to_vec();
            pass(Direction::Encrypt, &mut self.iv.to_be_bytes(), &mut data);
            let right = to.is_none_or(|to| data == to);
            pass(Direction::Decrypt, &mut self.iv.to_be_bytes(), &mut data);
            right && data == from
        };
        both_ways(&plaintext, Some(&ciphertext)) && both_ways(&plaintext.repeat(MANY / 3), None)
    }

    fn ecb(&self, kernel: Bound<Ops>) -> bool {
        Ecb::with_kernel(kernel, &bytes(self.key)).is_ok_and(|ecb| {
            // All blocks are independent, so the long message has a known answer too.
            let mut many = bytes(&self.plaintext).repeat(MANY / 3);
            ecb.encrypt(&mut [], InOut::in_place(&mut many));
            many == bytes(&self.ciphertext).repeat(MANY / 3)
                && self.holds(|direction, _, data| ecb.pass(direction, &mut [], data.into()))
        })
    }

    fn cbc(&self, kernel: Bound<Ops>) -> bool {
        Cbc::with_kernel(kernel, &bytes(self.key))
            .is_ok_and(|cbc| self.holds(|direction, iv, data| cbc.pass(direction, iv, data.into())))
    }

    fn cfb(&self, kernel: Bound<Ops>) -> bool {
        Cfb::with_kernel(kernel, &bytes(self.key))
            .is_ok_and(|cfb| self.holds(|direction, iv, data| cfb.blocks(direction, iv, data.into())))
    }
}

pub(super) fn ecb(kernel: Bound<Ops>) -> bool {
    SINGLE_ECB.ecb(kernel)
}

pub(super) fn cbc(kernel: Bound<Ops>) -> bool {
    SINGLE_CBC.cbc(kernel)
}

pub(super) fn cfb(kernel: Bound<Ops>) -> bool {
    SINGLE_CFB.cfb(kernel)
}

pub(super) fn triple_ecb(kernel: Bound<Ops>) -> bool {
    TRIPLE_ECB.ecb(kernel)
}

pub(super) fn triple_cbc(kernel: Bound<Ops>) -> bool {
    TRIPLE_CBC.cbc(kernel)
}

pub(super) fn triple_cfb(kernel: Bound<Ops>) -> bool {
    TRIPLE_CFB.cfb(kernel)
}

/// Checks the last block of the CBC vector. The vector is XORed onto the first block, because the
/// MAC begins with a zero vector.
pub(super) fn mac(kernel: Bound<Ops>) -> bool {
    let Vector { key, iv, plaintext: [first, rest @ ..], ciphertext } = SINGLE_CBC;
    Mac::with_kernel(kernel, &bytes(key)).is_ok_and(|mut mac| {
        mac.update(&bytes(&[first ^ iv]));
        mac.update(&bytes(&rest));
        mac.finish_block() == ciphertext[2].to_be_bytes()
    })
}

/// Messages in one call: enough for every form of every kernel, and not a whole number of any.
const LANES: usize = 300;

/// Runs a call for each of the numbers of messages that may take another form of a kernel, and
/// checks every message's result.
fn in_lanes<T>(results: impl Fn(usize) -> Vec<T>, right: impl Fn(&T) -> bool) -> bool {
    [1, 7, 20, 40, 100, LANES].into_iter().all(|messages| {
        let results = results(messages);
        results.len() == messages && results.iter().all(&right)
    })
}

impl Vector {
    fn cbc_lanes(&self, kernel: Bound<LanesOps>) -> bool {
        let Ok(key) = Cbc::new(Features::none(), &bytes(self.key)) else { return false };
        let lanes = CbcLanes::with_kernel(kernel);
        let pass = |decrypt: bool, from: &[u64; 3], messages: usize| {
            let mut data = vec![bytes(from); messages];
            let job = |data| CbcJob { key: &key, iv: self.iv.to_be_bytes(), data: InOut::in_place(data) };
            let mut jobs: Vec<_> = data.iter_mut().map(|data| job(data)).collect();
            let mut jobs: Vec<_> = jobs.iter_mut().collect();
            if decrypt {
                lanes.decrypt(&mut jobs)
            } else {
                lanes.encrypt(&mut jobs)
            }
            let chained = jobs.iter().all(|job| job.iv == self.ciphertext[2].to_be_bytes());
            if chained { data } else { Vec::new() }
        };
        in_lanes(|messages| pass(false, &self.plaintext, messages), |data| *data == bytes(&self.ciphertext))
            && in_lanes(
                |messages| pass(true, &self.ciphertext, messages),
                |data| *data == bytes(&self.plaintext),
            )
    }

    fn cfb_lanes(&self, kernel: Bound<LanesOps>) -> bool {
        let Ok(key) = Cfb::new(Features::none(), &bytes(self.key)) else { return false };
        let pass = |messages: usize| {
            let mut data = vec![bytes(&self.plaintext); messages];
            let job = |data| CfbJob { key: &key, iv: self.iv.to_be_bytes(), data: InOut::in_place(data) };
            let mut jobs: Vec<_> = data.iter_mut().map(|data| job(data)).collect();
            CfbLanes::with_kernel(kernel).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
            data
        };
        in_lanes(pass, |data| *data == bytes(&self.ciphertext))
    }
}

pub(super) fn cbc_lanes(kernel: Bound<LanesOps>) -> bool {
    SINGLE_CBC.cbc_lanes(kernel)
}

pub(super) fn cfb_lanes(kernel: Bound<LanesOps>) -> bool {
    SINGLE_CFB.cfb_lanes(kernel)
}

pub(super) fn triple_cbc_lanes(kernel: Bound<LanesOps>) -> bool {
    TRIPLE_CBC.cbc_lanes(kernel)
}

pub(super) fn triple_cfb_lanes(kernel: Bound<LanesOps>) -> bool {
    TRIPLE_CFB.cfb_lanes(kernel)
}

/// Checks the same vector as [`mac`], in lanes.
pub(super) fn mac_lanes(kernel: Bound<LanesOps>) -> bool {
    let Vector { key, iv, plaintext: [first, rest @ ..], ciphertext } = SINGLE_CBC;
    let Ok(key) = Mac::new(Features::none(), &bytes(key)) else { return false };
    let message = bytes(&[first ^ iv, rest[0], rest[1]]);
    let pass = |messages: usize| {
        let job = || MacJob { key: &key, message: &message, mac: [0; BLOCK] };
        let mut jobs: Vec<_> = (0..messages).map(|_| job()).collect();
        MacLanes::with_kernel(kernel).mac(&mut jobs.iter_mut().collect::<Vec<_>>());
        jobs.into_iter().map(|job| job.mac).collect()
    };
    in_lanes(pass, |mac| *mac == ciphertext[2].to_be_bytes())
}
