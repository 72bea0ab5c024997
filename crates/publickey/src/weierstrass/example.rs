//! The examples of the known answers: key pairs, and the signatures of the message "sample".
//!
//! Ref. RFC 6979 §A.2.5 with SHA-256, §A.2.6 with SHA-384, §A.2.7 with SHA-512; SP 800-186 §3.2.1 (the base points).
//!
//! # Safety
//! Who asks a kernel for its answers promises that the processor has its features.
#![allow(unsafe_code)]

use super::named::Curve;
use super::ops::{LIMBS, Ops, Pair, Point, Secret, Words};

/// The questions to a curve, and its answers.
pub(crate) struct Example {
    private: Words,
    base: [Words; 2],
    public: [Words; 2],
    message: Words,
    nonce: Words,
    signature: [Words; 2],
}

impl Example {
    /// Returns the example of a curve.
    pub(crate) fn of(curve: Curve) -> &'static Self {
        &EXAMPLES[curve as usize]
    }

    pub(crate) fn private(&self) -> Secret {
        Secret(self.private)
    }

    pub(crate) fn base(&self) -> Point {
        Point { x: self.base[0], y: self.base[1] }
    }

    pub(crate) fn public(&self) -> Point {
        Point { x: self.public[0], y: self.public[1] }
    }

    pub(crate) fn message(&self) -> &Words {
        &self.message
    }

    pub(crate) fn nonce(&self) -> Secret {
        Secret(self.nonce)
    }

    pub(crate) fn signature(&self) -> Pair {
        Pair { r: self.signature[0], s: self.signature[1] }
    }

    /// Returns true if a kernel gives all answers.
    ///
    /// # Safety
    /// The processor has the features that the kernel requires.
    pub(crate) unsafe fn is_answered_by(&self, ops: &Ops) -> bool {
        let (private, public) = (self.private(), self.public());
        let mut other = *self.message();
        other[0] ^= 1;
        // SAFETY: the caller's.
        unsafe {
            (ops.public)(&private) == public
                && (ops.agree)(&private, &self.base()).0 == public.x
                && (ops.sign)(&private, self.message(), &self.nonce()) == self.signature()
                && (ops.verify_vartime)(&public, self.message(), &self.signature())
                && !(ops.verify_vartime)(&public, &other, &self.signature())
                && (ops.is_on_curve)(&public)
                && (ops.decompress)(&public.x, public.y[0] & 1 == 1) == Some(public)
        }
    }
}

const fn words(limbs: &[u64]) -> Words {
    let (mut words, mut i) = ([0; LIMBS], 0);
    while i < limbs.len() {
        words[i] = limbs[i];
        i += 1;
    }
    words
}

static EXAMPLES: [Example; 3] = [
    Example {
        private: words(&[
            0x7b8a_622b_120f_6721,
            0x4e50_c3db_36e8_9b12,
            0x6b5c_2157_67b1_d693,
            0xc9af_a9d8_45ba_7516,
        ]),
        base: [
            words(&[
                0xf4a1_3945_d898_c296,
                0x7703_7d81_2deb_33a0,
                0xf8bc_e6e5_63a4_40f2,
                0x6b17_d1f2_e12c_4247,
            ]),
            words(&[
                0xcbb6_4068_37bf_51f5,
                0x2bce_3357_6b31_5ece,
                0x8ee7_eb4a_7c0f_9e16,
                0x4fe3_42e2_fe1a_7f9b,
            ]),
        ],
        public: [
            words(&[
                0xe669_622e_60f2_9fb6,
                0xc049_b892_3b61_fa6c,
                0xc961_eb74_c635_6d68,
                0x60fe_d4ba_255a_9d31,
            ]),
            words(&[
                0x77a3_c294_d446_2299,
                0xf2f1_b20c_2d7e_9f51,
                0xa41a_e9e9_5628_bc64,
                0x7903_fe10_08b8_bc99,
            ]),
        ],
        message: words(&[
            0x6211_3d8a_62ad_d1bf,
            0x1a83_1d02_68e9_8915,
            0xe2ad_e1d6_94f4_1fc7,
            0xaf2b_dbe1_aa9b_6ec1,
        ]),
        nonce: words(&[
            0x4d61_2949_3d8a_ad60,
            0x3b17_aa87_3382_b0f2,
            0x0865_3839_8355_dd4c,
            0xa6e3_c57d_d01a_be90,
        ]),
        signature: [
            words(&[
                0xc34d_0ea8_4eaf_3716,
                0x9d2c_877b_56aa_f991,
                0x1140_dd9c_d45e_81d6,
                0xefd4_8b2a_acb6_a8fd,
            ]),
            words(&[
                0x4dc4_ab2f_843a_cda8,
                0xf3e9_00db_b9af_f406,
                0xd436_c7a1_b6e2_9f65,
                0xf7cb_1c94_2d65_7c41,
            ]),
        ],
    },
    Example {
        private: words(&[
            0xf872_c9ea_60d2_edf5,
            0x96d5_724e_4c70_a825,
            0x9aa4_7740_7871_37d8,
            0xe23c_3b66_7bf2_97ba,
            0x05b1_9875_b665_9f4d,
            0x6b9d_3dad_2e1b_8c1c,
        ]),
        base: [
            words(&[
                0x3a54_5e38_7276_0ab7,
                0x5502_f25d_bf55_296c,
                0x59f7_41e0_8254_2a38,
                0x6e1d_3b62_8ba7_9b98,
                0x8eb1_c71e_f320_ad74,
                0xaa87_ca22_be8b_0537,
            ]),
            words(&[
                0x7a43_1d7c_90ea_0e5f,
                0x0a60_b1ce_1d7e_819d,
                0xe9da_3113_b5f0_b8c0,
                0xf8f4_1dbd_289a_147c,
                0x5d9e_98bf_9292_dc29,
                0x3617_de4a_9626_2c6f,
            ]),
        ],
        public: [
            words(&[
                0x64a2_5451_5480_bc13,
                0xdef8_f0ea_9055_8660,
                0x06aa_e528_6b30_0c64,
                0xda9a_8bc4_ae92_e02e,
                0x5686_1802_9f42_7fa5,
                0xec3a_4e41_5b4e_19a4,
            ]),
            words(&[
                0x7344_fd25_3326_4720,
                0x288b_231c_3ae0_d4fe,
                0xf54c_a84b_3f1c_9db1,
                0x6708_a593_67f9_dfb9,
                0x4ea8_ef9a_c0c6_2189,
                0x8015_d9b7_2d7d_5724,
            ]),
        ],
        message: words(&[
            0xfee4_2c77_b1ee_25fe,
            0x313b_ca4a_9b5b_890e,
            0x96a0_29f3_4058_5312,
            0xf3bf_603f_4bbd_3811,
            0xaec4_be31_2696_ef7b,
            0x9a90_8350_5bc9_2276,
        ]),
        nonce: words(&[
            0x623b_8c46_8691_5cf9,
            0x2907_e3e8_3ba9_5368,
            0x7a55_5fd5_6d10_fbca,
            0xe4ba_1516_8eaf_0ca8,
            0x3254_e924_2ae8_5abd,
            0x94ed_910d_1a09_9dad,
        ]),
        signature: [
            words(&[
                0x6e36_dd1e_80fa_be46,
                0x81a6_4815_2e44_acf9,
                0x3d64_c4ea_95ad_133c,
                0x3f88_1406_66ce_9fa7,
                0xd473_6e56_c691_916b,
                0x94ed_bb92_a5ec_b8aa,
            ]),
            words(&[
                0x7b82_c71a_3862_8ac8,
                0xa329_c145_786e_679e,
                0x203b_6351_d0a3_a94f,
                0x130e_740a_1962_4526,
                0xa1fe_40db_2603_138f,
                0x99ef_4aeb_15f1_78ce,
            ]),
        ],
    },
    Example {
        private: words(&[
            0x0c08_b0e9_96b8_3538,
            0xf6d8_fbec_67db_89ec,
            0x5836_a6d1_6fcc_1466,
            0x96eb_32f1_f47c_7085,
            0x86e1_b68c_7e75_caa8,
            0xe67f_5bb0_018f_ee8c,
            0xfb40_133d_a757_205d,
            0xd06d_aa62_ba3b_25d2,
            0x0000_0000_0000_00fa,
        ]),
        base: [
            words(&[
                0xf97e_7e31_c2e5_bd66,
                0x3348_b3c1_856a_429b,
                0xfe1d_c127_a2ff_a8de,
                0xa14b_5e77_efe7_5928,
                0xf828_af60_6b4d_3dba,
                0x9c64_8139_053f_b521,
                0x9e3e_cb66_2395_b442,
                0x858e_06b7_0404_e9cd,
                0x0000_0000_0000_00c6,
            ]),
            words(&[
                0x88be_9476_9fd1_6650,
                0x353c_7086_a272_c240,
                0xc550_b901_3fad_0761,
                0x97ee_7299_5ef4_2640,
                0x17af_bd17_273e_662c,
                0x98f5_4449_579b_4468,
                0x5c8a_5fb4_2c7d_1bd9,
                0x3929_6a78_9a3b_c004,
                0x0000_0000_0000_0118,
            ]),
        ],
        public: [
            words(&[
                0xac47_4b9a_2f50_23a4,
                0x38ff_a16d_2bd7_61dc,
                0x70a7_f20f_b633_155d,
                0x23d4_6e45_db6b_5d53,
                0x7167_db4e_5bcd_3711,
                0x121f_86dc_97a0_4e5a,
                0xaa23_b694_f213_f8c3,
                0x4550_d078_5932_e00e,
                0x0000_0000_0000_0189,
            ]),
            words(&[
                0x956d_feaa_2bfd_fcf5,
                0xaafb_d4d3_3f81_ea66,
                0x008b_22ac_c23f_924f,
                0xdb25_741b_5b34_a828,
                0x54d6_630f_746a_28a0,
                0xc2f9_1b47_f87f_f823,
                0xf782_285e_6458_4139,
                0x3101_c962_cd4d_2fdd,
                0x0000_0000_0000_0049,
            ]),
        ],
        message: words(&[
            0xd413_8b23_fdf9_86c7,
            0x9015_f838_556b_c7fa,
            0x18ee_f820_cdb1_ad6c,
            0x9a73_9468_ab80_49bf,
            0x23d5_dc57_d3ff_d8f4,
            0x1132_4ce6_4016_960d,
            0x9850_c605_364f_514c,
            0x39a5_e04a_aff7_455d,
        ]),
        nonce: words(&[
            0x4ef5_2a2f_7ecb_ffd3,
            0x70ec_97dd_5ce0_9012,
            0xa185_4a16_8aa5_a574,
            0x574f_dd03_a905_3c08,
            0x2b7d_28e6_f101_98b1,
            0x256f_c884_7fb9_022e,
            0x882d_4d5e_ae06_21a3,
            0xe2ea_071f_8110_dc26,
            0x0000_0000_0000_01da,
        ]),
        signature: [
            words(&[
                0x15bf_05ec_36e3_77fa,
                0xd7d4_e845_5cc9_1f9b,
                0x606a_dd15_2b53_4931,
                0x25a1_ee90_17b5_d450,
                0x5395_0e6d_4c5f_174e,
                0x5255_69fb_63c5_d3bc,
                0x0370_c463_25d9_87cb,
                0x28fa_fcbd_79dd_7785,
                0x0000_0000_0000_00c3,
            ]),
            words(&[
                0x7f1e_e0e4_4da4_a67a,
                0x20f8_ccb1_dccc_4399,
                0xd8b8_c37f_f077_7b1a,
                0x23ea_a63e_5b5c_0723,
                0x7308_281b_68af_2826,
                0x1cc5_0af2_6ca2_0941,
                0x67f6_78d3_b408_0d6f,
                0x7cce_7cf5_0648_06c4,
                0x0000_0000_0000_0061,
            ]),
        ],
    },
];
