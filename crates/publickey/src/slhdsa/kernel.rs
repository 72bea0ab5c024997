//! The macro that makes a kernel: its functions, each compiled for the features of the row.

/// Defines a kernel's functions: its name, and its attributes.
macro_rules! kernel {
    ($visible:vis $name:ident: [$($attribute:meta)?]) => {
        $visible const $name: $crate::slhdsa::ops::Ops = {
            use millstream_engines::sha3::Keccak;

            use $crate::slhdsa::group::{Group, Run, Snapshot};
            use $crate::slhdsa::sha2::{self, Fold256, Fold512};
            use $crate::slhdsa::shake;

            $(#[$attribute])?
            fn chains_sha2(fold: Fold256, group: &mut Group<'_>, run: Run, snapshots: &mut [Snapshot]) {
                sha2::chains(fold, group, run, snapshots);
            }

            $(#[$attribute])?
            fn chains_shake(keccak: Keccak, group: &mut Group<'_>, run: Run, snapshots: &mut [Snapshot]) {
                shake::chains(keccak, group, run, snapshots);
            }

            $(#[$attribute])?
            fn hash_256(fold: Fold256, group: &mut Group<'_>) {
                sha2::hash_256(fold, group);
            }

            $(#[$attribute])?
            fn hash_512(fold: Fold512, group: &mut Group<'_>) {
                sha2::hash_512(fold, group);
            }

            $(#[$attribute])?
            fn hash_shake(keccak: Keccak, group: &mut Group<'_>) {
                shake::hash(keccak, group);
            }

            $crate::slhdsa::ops::Ops { chains_sha2, chains_shake, hash_256, hash_512, hash_shake }
        };
    };
}
pub(super) use kernel;
