//! Macros that define the kernels of a row from a vector's type and a compression function.

/// A kernel of lanes: a vector of words and the compression function over it.
macro_rules! lane_kernel {
    ($(#[$doc:meta])* $name:ident: $vector:ty, $lanes:literal lanes, $features:literal,
     little endian $little:literal, fewest $fewest:literal, live $live:literal) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl $crate::hash::side_by_side::Step<{ WORDS }, $lanes> for $name {
            type Word = <$vector as Words<$lanes>>::Word;
            type Words = $vector;

            const LIVE: usize = $live;

            #[inline(always)]
            unsafe fn step(state: &mut [$vector; WORDS], from: &[*const u8; $lanes]) {
                // SAFETY: the caller's.
                unsafe {
                    let mut block = <$vector as Words<$lanes>>::load_block(from);
                    $crate::hash::side_by_side::fold_bytes::<Self, WORDS, $lanes>(state, &mut block);
                }
            }
        }

        impl $crate::hash::side_by_side::LaneKernel<{ WORDS }, $lanes> for $name {
            const LITTLE_ENDIAN: bool = $little;
            const FEWEST: usize = $fewest;

            #[inline(always)]
            unsafe fn fold(state: &mut [$vector; WORDS], block: &mut [$vector; 16]) {
                #[target_feature(enable = $features)]
                #[inline(never)]
                unsafe fn here(state: &mut [$vector; WORDS], block: &mut [$vector; 16]) {
                    // SAFETY: the caller's.
                    unsafe { fold::<$vector, $lanes>(state, block) }
                }
                // SAFETY: the caller's.
                unsafe { here(state, block) }
            }
        }
    };
}
pub(crate) use lane_kernel;

/// Defines a row whose kernels take over from one another as messages get fewer: lanes, the widest first,
/// then pairs.
macro_rules! lanes_row {
    ($name:literal, $features:literal, [$($kernel:ident $lanes:literal),* $(; $pair:ident)?],
     $crossover:expr, $hmac_crossover:expr, $note:literal) => {{
        $crate::hash::side_by_side::lanes_row!(@work digest HashJob $features [$($kernel $lanes),* $(; $pair)?]);
        $crate::hash::side_by_side::lanes_row!(@work sign HmacJob $features [$($kernel $lanes),* $(; $pair)?]);
        $crate::hash::job::row(
            $name,
            millstream_cpu::FeatureSet::parse($features),
            $crate::hash::job::LanesOps { crossover: $crossover, hmac_crossover: $hmac_crossover, digest, sign },
            $note,
        )
    }};
    (@work $function:ident $job:ident $features:literal [$($kernel:ident $lanes:literal),* $(; $pair:ident)?]) => {
        #[target_feature(enable = $features)]
        unsafe fn $function(side: &Side<State, BLOCK>, jobs: &mut [&mut $job<'_>]) {
            let mut jobs = jobs;
            // SAFETY: the features are this function's own.
            unsafe {
                let in_step = side_by_side::in_step::<State, _, BLOCK>(jobs);
                if !in_step {
                    side_by_side::longest_first::<State, _, BLOCK>(jobs);
                }
                $(jobs = side_by_side::run::<$kernel, _, WORDS, $lanes, BLOCK>(side, jobs, in_step);)*
                $(jobs = side_by_side::run_in_pairs::<$pair, _, _, BLOCK>(side, jobs);)?
                Job::one_by_one(side, jobs);
            }
        }
    };
}
pub(crate) use lanes_row;
