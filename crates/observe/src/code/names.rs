//! Names of functions, as people know them.

/// Rust's mangled names are undone, without their hashes; others stay as they are. Where there is no name it is `fn_` and
/// the address.
pub fn display(name: Option<&str>, address: u64) -> String {
    match name {
        Some(name) => demangle(name),
        None => format!("fn_{address:x}"),
    }
}

fn demangle(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(demangled) => format!("{demangled:#}"),
        Err(_) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_names_are_undone_and_others_kept() {
        assert_eq!(
            display(Some("_ZN4ring4aead7aes_gcm4seal17h0123456789abcdefE"), 0),
            "ring::aead::aes_gcm::seal"
        );
        assert_eq!(display(Some("aesni_ecb_encrypt"), 0), "aesni_ecb_encrypt");
        assert_eq!(display(Some("crypto/aes.(*Block).Encrypt"), 0), "crypto/aes.(*Block).Encrypt");
        assert_eq!(display(None, 0xf1ba0), "fn_f1ba0");
    }
}
