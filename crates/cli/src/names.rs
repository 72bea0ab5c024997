//! Names of algorithms and features that users type: spellings that mean the same, and what a wrong one was meant
//! to be.

/// The likeness from which a name is suggested, as in clap's own suggestions but for short names.
const ALIKE: f64 = 0.8;

/// Returns true when both are the same name in capitals or not, with or without `-`, `_` and `/`.
pub fn is_same(a: &str, b: &str) -> bool {
    plain(a) == plain(b)
}

/// Returns the entry of a table that a name means, in any spelling. `names` returns an entry's name and its others.
pub fn find<'a, T>(table: &'a [T], given: &str, names: impl Fn(&T) -> (&str, &[&str])) -> Option<&'a T> {
    table.iter().find(|entry| {
        let (name, others) = names(entry);
        is_same(name, given) || others.iter().any(|other| is_same(other, given))
    })
}

/// Returns the known name that a wrong one was probably meant to be: the same in another spelling, one that begins
/// with it, or one that is much alike.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = plain(given);
    if given.len() < 2 {
        return None;
    }
    let score = |name: &str| match plain(name) {
        name if name == given => 3.0,
        name if name.starts_with(&given) => 2.0,
        name => strsim::jaro_winkler(&given, &name),
    };
    let best = known.into_iter().map(|name| (score(name), name)).filter(|(score, _)| *score >= ALIKE);
    // The first of several that are as good.
    best.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, name)| name)
}

/// Formats the question behind an error about a wrong name, or nothing.
pub fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !"-_/".contains(*c)).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_finds_the_right_one() {
        let macs = ["des_mac", "sha1_hmac", "sha256_hmac", "sha512_hmac", "sha512_256_hmac", "aes_cmac"];
        for (given, near) in [
            ("sha256", Some("sha256_hmac")),
            ("SHA512", Some("sha512_hmac")),
            ("sha-256-hmac", Some("sha256_hmac")),
            ("aes_cmca", Some("aes_cmac")),
            ("x", None),
            ("poly1305", None),
        ] {
            assert_eq!(nearest(given, macs), near, "{given}");
        }
        assert_eq!(nearest("aesni", ["sse2", "aes", "sha"]), Some("aes"));
        assert!(is_same("SHA-512/256", "sha512_256") && !is_same("sha512", "sha512_256"));
    }
}
