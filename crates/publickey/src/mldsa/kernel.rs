//! The macro that makes a kernel of a kind of vector: its functions, each compiled for the features of the row.

/// Defines a kernel's functions: its name, its attributes, its vector, the vector for the last of an odd number of polynomials, and
/// what samples.
macro_rules! kernel {
    ($visible:vis $name:ident: [$($attribute:meta)?] $wide:ty, $one:ty, sample $sample:path) => {
        $visible const $name: $crate::mldsa::ops::Ops = {
            use $crate::mldsa::poly::Poly;
            use $crate::mldsa::set::Gamma2;
            use $crate::mldsa::{coding, rounding, vector};

            /// Defines functions that work on as many polynomials at a time as a vector has.
            macro_rules! on_each {
                ($function:ident) => {
                    $(#[$attribute])?
                    fn $function(polys: &mut [Poly]) {
                        for polys in polys.chunks_mut(<$wide as vector::Vector>::POLYS) {
                            // SAFETY: the features are this function's own; a whole chunk has so many polynomials.
                            unsafe {
                                if polys.len() == <$wide as vector::Vector>::POLYS {
                                    vector::$function::<$wide>(polys.as_mut_ptr());
                                } else {
                                    vector::$function::<$one>(polys.as_mut_ptr());
                                }
                            }
                        }
                    }
                };
            }
            on_each!(ntt);
            on_each!(inverse);
            on_each!(arrange);

            $(#[$attribute])?
            fn multiply(polys: &[Poly], factors: &[Poly], sum: &mut Poly) {
                // SAFETY: the function's features, as in all that follow.
                unsafe { vector::multiply::<$wide>(polys, factors, sum) }
            }

            $(#[$attribute])?
            fn power2round(product: &mut Poly, small: &Poly, high: &mut Poly) {
                // SAFETY: the function's features.
                unsafe { rounding::power2round::<$wide>(product, small, high) }
            }

            $(#[$attribute])?
            fn decompose(poly: &mut Poly, gamma2: Gamma2, high: &mut Poly) {
                // SAFETY: the function's features.
                unsafe { rounding::decompose::<$wide>(poly, gamma2, high) }
            }

            $(#[$attribute])?
            fn add_within(sum: &mut Poly, product: &Poly, bound: i32) -> bool {
                // SAFETY: the function's features.
                unsafe { rounding::add_within::<$wide>(sum, product, bound) }
            }

            $(#[$attribute])?
            fn subtract_within(rest: &mut Poly, product: &Poly, bound: i32) -> bool {
                // SAFETY: the function's features.
                unsafe { rounding::subtract_within::<$wide>(rest, product, bound) }
            }

            $(#[$attribute])?
            fn hint(low: &mut Poly, product: &Poly, high: &Poly, gamma2: Gamma2) -> usize {
                // SAFETY: the function's features.
                unsafe { rounding::hint::<$wide>(low, product, high, gamma2) }
            }

            $(#[$attribute])?
            fn use_hint(poly: &mut Poly, hint: &Poly, gamma2: Gamma2) {
                // SAFETY: the function's features.
                unsafe { rounding::use_hint::<$wide>(poly, hint, gamma2) }
            }

            $(#[$attribute])?
            fn within(poly: &Poly, bound: i32) -> bool {
                // SAFETY: the function's features.
                unsafe { rounding::within::<$wide>(poly, bound) }
            }

            $(#[$attribute])?
            fn encode(poly: &Poly, bits: usize, top: Option<i32>, out: &mut [u8]) {
                // SAFETY: the function's features.
                unsafe { rounding::encode::<$wide>(poly, bits, top, out) }
            }

            $(#[$attribute])?
            fn decode(bytes: &[u8], bits: usize, top: Option<i32>, poly: &mut Poly) {
                // SAFETY: the function's features.
                unsafe { rounding::decode::<$wide>(bytes, bits, top, poly) }
            }

            $(#[$attribute])?
            fn sample_small(bytes: &[u8], eta: i32, poly: &mut Poly, have: usize) -> usize {
                coding::sample_small(bytes, eta, poly, have)
            }

            $crate::mldsa::ops::Ops {
                ntt,
                inverse,
                arrange,
                multiply,
                power2round,
                decompose,
                add_within,
                subtract_within,
                hint,
                use_hint,
                within,
                encode,
                decode,
                sample_vartime: $sample,
                sample_small,
            }
        };
    };
}
pub(super) use kernel;
