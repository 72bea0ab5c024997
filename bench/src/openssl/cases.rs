//! The cases, and the targets.

/// The form in which `openssl speed` runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cipher,
    Decrypt,
    Digest,
    Hmac,
    Cmac,
}

/// One algorithm in one direction, under OpenSSL's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub kind: Kind,
    pub algorithm: &'static str,
}

const CIPHERS: &[&str] = &[
    "aes-128-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-ctr",
    "aes-256-ctr",
    "aes-128-cfb",
    "aes-128-gcm",
    "aes-192-gcm",
    "aes-256-gcm",
    "aes-128-xts",
    "aes-256-xts",
    "chacha20-poly1305",
    "camellia-128-cbc",
    "des-ede3-cbc",
];
/// The algorithms whose decryption differs from encryption.
const DECRYPTED: &[&str] = &[
    "aes-128-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-cfb",
    "aes-128-gcm",
    "aes-256-gcm",
    "aes-128-xts",
    "chacha20-poly1305",
    "camellia-128-cbc",
    "des-ede3-cbc",
];
const DIGESTS: &[&str] =
    &["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-256", "sha3-256", "sha3-512"];
const HMACS: &[&str] = &["sha1", "sha256", "sha384", "sha512"];
const CMACS: &[&str] = &["aes-128-cbc", "aes-256-cbc"];

/// The sizes of `openssl speed`.
pub const SIZES: [usize; 6] = [16, 64, 256, 1024, 8192, 16384];

impl Case {
    /// Returns all cases, in the order of reports.
    pub fn all() -> Vec<Case> {
        let lists = [
            (Kind::Cipher, CIPHERS),
            (Kind::Decrypt, DECRYPTED),
            (Kind::Digest, DIGESTS),
            (Kind::Hmac, HMACS),
            (Kind::Cmac, CMACS),
        ];
        let of = |(kind, names): (Kind, &'static [&'static str])| {
            names.iter().map(move |&algorithm| Case { kind, algorithm })
        };
        lists.into_iter().flat_map(of).collect()
    }

    /// Returns a name like `aes-128-cbc-decrypt`.
    pub fn name(&self) -> String {
        match self.kind {
            Kind::Cipher | Kind::Digest => self.algorithm.to_owned(),
            Kind::Decrypt => format!("{}-decrypt", self.algorithm),
            Kind::Hmac => format!("hmac-{}", self.algorithm),
            Kind::Cmac => format!("cmac-{}", self.algorithm),
        }
    }

    /// Returns the options of `openssl speed`.
    pub fn options(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Cipher | Kind::Digest => vec!["-evp", self.algorithm],
            Kind::Decrypt => vec!["-decrypt", "-evp", self.algorithm],
            Kind::Hmac => vec!["-hmac", self.algorithm],
            Kind::Cmac => vec!["-cmac", self.algorithm],
        }
    }

    /// Returns true when its blocks are independent, so that wide vectors have something to do.
    fn is_wide(&self) -> bool {
        let name = self.name();
        let mode = ["-ctr", "-gcm", "-xts", "-cbc-decrypt", "-gcm-decrypt", "-xts-decrypt"];
        name.starts_with("aes-") && mode.iter().any(|end| name.ends_with(end))
    }
}

/// The OpenSSL that a target is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The series 3.0, as Debian 12 has it.
    First,
    /// The newest version that was measured.
    Newest,
    /// The first version, without the instructions for AES.
    Masked,
}

/// A target.
pub struct Target {
    pub text: &'static str,
    pub which: Which,
    pub at_least: f64,
    covers: fn(&Case, usize) -> bool,
}

/// The targets, in the order of reports.
pub const TARGETS: &[Target] = &[
    Target {
        text: "every algorithm and size, OpenSSL 3.0: 1.0 times the default provider",
        which: Which::First,
        at_least: 1.0,
        covers: |_, _| true,
    },
    Target {
        text: "AES-CTR, GCM, CBC-decrypt, XTS of 8 KB, OpenSSL 3.0: 1.5 times",
        which: Which::First,
        at_least: 1.5,
        covers: |case, size| case.is_wide() && size == 8192,
    },
    Target {
        text: "the same, newest OpenSSL: 1.0 times",
        which: Which::Newest,
        at_least: 1.0,
        covers: |case, size| case.is_wide() && size == 8192,
    },
    Target {
        text: "AES-128-CBC decryption of 8 KB: 12 times OpenSSL without AES instructions",
        which: Which::Masked,
        at_least: 12.0,
        covers: |case, size| case.name() == "aes-128-cbc-decrypt" && size == 8192,
    },
    Target {
        text: "AES-128-CBC decryption of 16 bytes: 6 times OpenSSL without AES instructions",
        which: Which::Masked,
        at_least: 6.0,
        covers: |case, size| case.name() == "aes-128-cbc-decrypt" && size == 16,
    },
];

impl Target {
    /// Returns true when the target applies to this comparison.
    pub fn covers(&self, which: &[Which], case: &Case, size: usize) -> bool {
        which.contains(&self.which) && (self.covers)(case, size)
    }
}

/// Returns true when a case is also measured against OpenSSL without the AES instructions: the case of Sun's
/// figures, both ways.
pub fn is_masked(case: &Case) -> bool {
    case.algorithm == "aes-128-cbc" && matches!(case.kind, Kind::Cipher | Kind::Decrypt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_speaks_of_something() {
        let cases = Case::all();
        for target in TARGETS {
            let covered =
                cases.iter().any(|case| SIZES.iter().any(|&size| target.covers(&[target.which], case, size)));
            assert!(covered, "{}", target.text);
        }
        let names: std::collections::BTreeSet<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names.len(), cases.len());
    }
}
