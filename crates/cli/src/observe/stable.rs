//! Names of files that are the same in each run.

/// Replaces the random parts of a file's name by a star: long numbers and UUIDs, as Java chooses them for
/// libraries that it unpacks.
pub fn stable(name: &str) -> String {
    const LONG: usize = 12;
    let mut kept = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let drawn = if digits >= LONG { digits } else { uuid(rest) };
        if drawn > 0 {
            // The number of an architecture may stand right before a random part.
            kept += if kept.ends_with("x86_") && rest.starts_with("64") { "64*" } else { "*" };
            rest = &rest[drawn..];
        } else {
            let taken = digits.max(first.len_utf8());
            kept += &rest[..taken];
            rest = &rest[taken..];
        }
    }
    kept
}

/// Returns the length of the UUID that a text begins with, or 0.
fn uuid(text: &str) -> usize {
    const LENGTH: usize = 36;
    let fits = |(index, letter): (usize, u8)| match index {
        8 | 13 | 18 | 23 => letter == b'-',
        _ => letter.is_ascii_hexdigit(),
    };
    let text = text.as_bytes();
    if text.len() >= LENGTH && text[..LENGTH].iter().copied().enumerate().all(fits) { LENGTH } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_for_each_run_is_not_told() {
        for (name, told) in [
            (
                "libconscrypt_openjdk_jni-linux-x86_6417953845730760000.so",
                "libconscrypt_openjdk_jni-linux-x86_64*.so",
            ),
            ("jna1843727123456789012.tmp", "jna*.tmp"),
            (
                "sqlite-3.46-5f0c1e8a-1b2c-4d5e-8f90-a1b2c3d4e5f6-libsqlitejdbc.so",
                "sqlite-3.46-*-libsqlitejdbc.so",
            ),
            ("libcrypto-3a8a1b2c.so.3", "libcrypto-3a8a1b2c.so.3"),
            ("checksums.cpython-311-x86_64-linux-gnu.so", "checksums.cpython-311-x86_64-linux-gnu.so"),
            ("libä20261123.so", "libä20261123.so"),
        ] {
            assert_eq!(stable(name), told);
        }
    }
}
