//! The processor tiers, one file each: the modes compiled for a vector and a unit; and the vectors and units.
//!
//! Fuzz targets are compiled without the rows that stand in for AES instructions: with checks of addresses and coverage these take ten
//! minutes, and a target runs on the best row anyway.

#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64_ce;
#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64_permute;
#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64_quad;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_aesni;
#[cfg(target_arch = "x86_64")]
mod x86_64_feistel512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_gfni;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_gfni256;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_gfni512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_permute128;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_permute256;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_permute512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_vaes256;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_vaes512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_xmm;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_ymm;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64_zmm;

/// The modes' functions for one tier, compiled with its features: `$wide` vectors where blocks are
/// independent, `$one` where each waits for the one before.
macro_rules! tier {
    ($wide:ty, $one:ty $(, $features:literal $(, feistel $feistel:path)?)?) => {
        /// The functions for FF1, if this tier has more for it than passes over blocks.
        pub(crate) const FEISTEL: Option<crate::aes::feistel::Feistel> = [$($(Some($feistel),)?)? None][0];

        $(const REQUIRES: millstream_cpu::FeatureSet = millstream_cpu::FeatureSet::parse($features);)?

        $(#[target_feature(enable = $features)])?
        pub(crate) fn ecb_encrypt(schedule: &Schedule, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$wide>::new(schedule) };
            ecb::crypt::<_, false>(keys, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn ecb_decrypt(schedule: &Schedule, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$wide>::new(schedule) };
            ecb::crypt::<_, true>(keys, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn cbc_encrypt(schedule: &Schedule, chain: &mut Block, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$one>::new(schedule) };
            cbc::encrypt(keys, chain, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn cbc_decrypt(schedule: &Schedule, chain: &mut Block, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$wide>::new(schedule) };
            cbc::decrypt(keys, chain, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn ctr(schedule: &Schedule, counter: &mut Block, data: &mut InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$wide>::new(schedule) };
            ctr::crypt(keys, counter, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn cfb_encrypt(schedule: &Schedule, chain: &mut Block, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$one>::new(schedule) };
            cfb::encrypt(keys, chain, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn cfb_decrypt(schedule: &Schedule, chain: &mut Block, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$wide>::new(schedule) };
            cfb::decrypt(keys, chain, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn xts_encrypt(schedule: &Schedule, tweak_schedule: &Schedule, start: xts::Start<'_>, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { (Keys::<$wide>::new(schedule), Keys::<$one>::new(schedule), Keys::<$one>::new(tweak_schedule)) };
            xts::crypt::<_, _, false>((keys.0, keys.1), keys.2, start, data)
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) fn xts_decrypt(schedule: &Schedule, tweak_schedule: &Schedule, start: xts::Start<'_>, data: InOut<'_>) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { (Keys::<$wide>::new(schedule), Keys::<$one>::new(schedule), Keys::<$one>::new(tweak_schedule)) };
            xts::crypt::<_, _, true>((keys.0, keys.1), keys.2, start, data)
        }
    };
}

/// [`tier`] for the modes that have nothing to do side by side.
macro_rules! serial_tier {
    ($one:ty $(, $features:literal)?) => {
        $(const SERIAL_REQUIRES: millstream_cpu::FeatureSet = millstream_cpu::FeatureSet::parse($features);)?

        $(#[target_feature(enable = $features)])?
        pub(crate) fn cmac_absorb(schedule: &Schedule, chain: &mut Block, blocks: &[u8], last: u128) {
            // SAFETY: the features of the vectors are those of this function.
            let keys = unsafe { Keys::<$one>::new(schedule) };
            cmac::absorb(keys, chain, blocks, last)
        }
    };
}

/// The modes of many objects, compiled for one tier with its features, on `$lanes` lanes in
/// registers `$group`.
#[cfg(target_arch = "x86_64")]
macro_rules! lanes_tier {
    ($group:ty, $one:ty, $lanes:literal, $features:literal) => {
        const LANES_REQUIRES: millstream_cpu::FeatureSet = millstream_cpu::FeatureSet::parse($features);

        /// The form of the round keys that the lanes take.
        pub(crate) const LANES_FORM: Form = <$group as crate::aes::vector::Rounds>::FORM;

        #[target_feature(enable = $features)]
        pub(crate) fn cbc_lanes(jobs: &mut [&mut CbcJob<'_>], one_key: bool) {
            // SAFETY: the features of the lanes are those of this function.
            unsafe { side_by_side::encrypt::<_, $group, $one, $lanes>(jobs, one_key) }
        }

        #[target_feature(enable = $features)]
        pub(crate) fn cfb_lanes(jobs: &mut [&mut CfbJob<'_>], one_key: bool) {
            // SAFETY: the features of the lanes are those of this function.
            unsafe { side_by_side::encrypt::<_, $group, $one, $lanes>(jobs, one_key) }
        }

        #[target_feature(enable = $features)]
        pub(crate) fn cmac_lanes(jobs: &mut [&mut CmacJob<'_>], one_key: bool) {
            // SAFETY: the features of the lanes are those of this function.
            unsafe { side_by_side::encrypt::<_, $group, $one, $lanes>(jobs, one_key) }
        }

        #[target_feature(enable = $features)]
        pub(crate) fn ctr_lanes(jobs: &mut [&mut CtrJob<'_>], _: bool) {
            for job in jobs {
                // SAFETY: the features of the lanes are those of this function.
                let keys = unsafe { Keys::<$group>::new(&job.key.schedule) };
                ctr::crypt_one(keys, job.key, &job.counter, job.data.reborrow());
            }
        }
    };
}

/// The rows of a mode in lanes: `field: function for lanes, direct function` for each of its
/// operations.
macro_rules! lane_rows {
    ($ops:ident { crossover: $crossover:expr, $($field:ident: $function:ident, $direct:ident),* }) => {{
        #[cfg(target_arch = "x86_64")]
        use $crate::aes::arch;
        use $crate::aes::lanes;
        const {
            &[
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: arch::x86_64_vaes512::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_vaes512::LANES_FORM,
                        $($field: arch::x86_64_vaes512::$function),*
                    },
                },
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: arch::x86_64_vaes256::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_vaes256::LANES_FORM,
                        $($field: arch::x86_64_vaes256::$function),*
                    },
                },
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: arch::x86_64_aesni::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_aesni::LANES_FORM,
                        $($field: arch::x86_64_aesni::$function),*
                    },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_gfni512::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_gfni512::LANES_FORM,
                        $($field: arch::x86_64_gfni512::$function),*
                    },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_gfni256::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_gfni256::LANES_FORM,
                        $($field: arch::x86_64_gfni256::$function),*
                    },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_permute512::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_permute512::LANES_FORM,
                        $($field: arch::x86_64_permute512::$function),*
                    },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_permute256::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_permute256::LANES_FORM,
                        $($field: arch::x86_64_permute256::$function),*
                    },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_permute128::LANES,
                    ops: $ops {
                        crossover: $crossover,
                        form: arch::x86_64_permute128::LANES_FORM,
                        $($field: arch::x86_64_permute128::$function),*
                    },
                },
                Row {
                    kernel: lanes::DIRECT,
                    ops: $ops {
                        crossover: Crossover::NEVER,
                        form: $crate::aes::schedule::Form::Standard,
                        $($field: |jobs, _| $direct(jobs)),*
                    },
                },
            ]
        }
    }};
}

/// The rows of a mode that has every tier, in the order of measurement: `field: function` for each
/// of its operations.
macro_rules! rows {
    ($ops:ident { $($field:ident: $function:ident),* }) => {{
        use $crate::aes::{arch, portable};
        const {
            &[
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: arch::x86_64_vaes512::KERNEL,
                    ops: $ops { $($field: arch::x86_64_vaes512::$function),* },
                },
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: arch::x86_64_vaes256::KERNEL,
                    ops: $ops { $($field: arch::x86_64_vaes256::$function),* },
                },
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: arch::x86_64_aesni::KERNEL,
                    ops: $ops { $($field: arch::x86_64_aesni::$function),* },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_gfni512::KERNEL,
                    ops: $ops { $($field: arch::x86_64_gfni512::$function),* },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_gfni256::KERNEL,
                    ops: $ops { $($field: arch::x86_64_gfni256::$function),* },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_permute512::KERNEL,
                    ops: $ops { $($field: arch::x86_64_permute512::$function),* },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_permute256::KERNEL,
                    ops: $ops { $($field: arch::x86_64_permute256::$function),* },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_permute128::KERNEL,
                    ops: $ops { $($field: arch::x86_64_permute128::$function),* },
                },
                #[cfg(target_arch = "aarch64")]
                Row {
                    kernel: arch::aarch64_ce::KERNEL,
                    ops: $ops { $($field: arch::aarch64_ce::$function),* },
                },
                #[cfg(target_arch = "aarch64")]
                Row {
                    kernel: arch::aarch64_permute::KERNEL,
                    ops: $ops { $($field: arch::aarch64_permute::$function),* },
                },
                Row { kernel: portable::KERNEL, ops: $ops { $($field: portable::$function),* } },
            ]
        }
    }};
}

/// The rows of a mode that works on one block at a time.
macro_rules! serial_rows {
    ($ops:ident { $($field:ident: $function:ident),* }) => {{
        use $crate::aes::{arch, portable};
        const {
            &[
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: arch::x86_64_aesni::SERIAL,
                    ops: $ops { $($field: arch::x86_64_aesni::$function),* },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_gfni256::SERIAL,
                    ops: $ops { $($field: arch::x86_64_gfni256::$function),* },
                },
                #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
                Row {
                    kernel: arch::x86_64_permute128::SERIAL,
                    ops: $ops { $($field: arch::x86_64_permute128::$function),* },
                },
                #[cfg(target_arch = "aarch64")]
                Row {
                    kernel: arch::aarch64_ce::SERIAL,
                    ops: $ops { $($field: arch::aarch64_ce::$function),* },
                },
                #[cfg(target_arch = "aarch64")]
                Row {
                    kernel: arch::aarch64_permute::SERIAL,
                    ops: $ops { $($field: arch::aarch64_permute::$function),* },
                },
                Row { kernel: portable::SERIAL, ops: $ops { $($field: portable::$function),* } },
            ]
        }
    }};
}

#[cfg(target_arch = "x86_64")]
pub(crate) use lanes_tier;
pub(crate) use {lane_rows, rows, serial_rows, serial_tier, tier};
