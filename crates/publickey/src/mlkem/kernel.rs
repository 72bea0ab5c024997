//! The macro that makes a kernel of a kind of vector: its functions, each compiled for the features of the row.

/// Defines a kernel's functions: its name, its attributes, its vector, the vector for the last of an odd number of polynomials, and
/// what samples.
macro_rules! kernel {
    ($visible:vis $name:ident: [$($attribute:meta)?] $wide:ty, $one:ty, sample $sample:path) => {
        $visible const $name: $crate::mlkem::ops::Ops = {
            use $crate::mlkem::poly::{Factor, Poly};
            use $crate::mlkem::{coding, vector};

            $(#[$attribute])?
            fn ntt(polys: &mut [Poly]) {
                for polys in polys.chunks_mut(<$wide as vector::Vector>::POLYS) {
                    // SAFETY: the features are this function's own; a whole chunk has so many polynomials.
                    unsafe {
                        if polys.len() == <$wide as vector::Vector>::POLYS {
                            vector::ntt::<$wide>(polys.as_mut_ptr());
                        } else {
                            vector::ntt::<$one>(polys.as_mut_ptr());
                        }
                    }
                }
            }

            $(#[$attribute])?
            fn inverse(polys: &mut [Poly]) {
                for polys in polys.chunks_mut(<$wide as vector::Vector>::POLYS) {
                    // SAFETY: the features are this function's own; a whole chunk has so many polynomials.
                    unsafe {
                        if polys.len() == <$wide as vector::Vector>::POLYS {
                            vector::inverse::<$wide>(polys.as_mut_ptr());
                        } else {
                            vector::inverse::<$one>(polys.as_mut_ptr());
                        }
                    }
                }
            }

            $(#[$attribute])?
            fn arrange(polys: &mut [Poly]) {
                for polys in polys.chunks_mut(<$wide as vector::Vector>::POLYS) {
                    // SAFETY: the features are this function's own; a whole chunk has so many polynomials.
                    unsafe {
                        if polys.len() == <$wide as vector::Vector>::POLYS {
                            vector::arrange::<$wide>(polys.as_mut_ptr());
                        } else {
                            vector::arrange::<$one>(polys.as_mut_ptr());
                        }
                    }
                }
            }

            $(#[$attribute])?
            fn factor(polys: &[Poly], factors: &mut [Factor]) {
                for i in 0..polys.len() {
                    // SAFETY: the features are this function's own, as in all that follow.
                    unsafe { vector::factor::<$wide>(&polys[i], &mut factors[i]) }
                }
            }

            $(#[$attribute])?
            fn multiply(polys: &[Poly], stride: usize, factors: &[Factor], sum: &mut Poly) {
                // SAFETY: the function's features.
                unsafe { vector::multiply::<$wide>(polys, stride, factors, sum) }
            }

            $(#[$attribute])?
            fn add(sum: &mut Poly, other: &Poly) {
                // SAFETY: the function's features.
                unsafe { vector::add::<$wide>(sum, other) }
            }

            $(#[$attribute])?
            fn subtract_from(from: &mut Poly, other: &Poly) {
                // SAFETY: the function's features.
                unsafe { vector::subtract_from::<$wide>(from, other) }
            }

            $(#[$attribute])?
            fn noise2(bytes: &[u8; 128], poly: &mut Poly) {
                coding::noise2(bytes, poly);
            }

            $(#[$attribute])?
            fn compress(poly: &Poly, bits: usize, out: &mut [u8]) {
                // SAFETY: the function's features.
                unsafe { vector::compress::<$wide>(poly, bits, out) }
            }

            $(#[$attribute])?
            fn decompress(bytes: &[u8], bits: usize, poly: &mut Poly) {
                // SAFETY: the function's features.
                unsafe { vector::decompress::<$wide>(bytes, bits, poly) }
            }

            $(#[$attribute])?
            fn encode(poly: &Poly, out: &mut [u8]) {
                // SAFETY: the function's features.
                unsafe { vector::encode::<$one>(poly, out) }
            }

            $(#[$attribute])?
            fn decode(bytes: &[u8], poly: &mut Poly) -> bool {
                // SAFETY: the function's features.
                unsafe { vector::decode::<$one>(bytes, poly) }
            }

            $crate::mlkem::ops::Ops {
                ntt,
                inverse,
                factor,
                multiply,
                add,
                subtract_from,
                sample_vartime: $sample,
                arrange,
                noise2,
                compress,
                decompress,
                encode,
                decode,
            }
        };
    };
}
pub(super) use kernel;
