//! Names of functions in the form that people know.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// The longest demangled name that is used. A short mangled name can expand to any length.
const LONGEST: usize = 4096;

/// Returns a function's name for people. Mangled names of Rust and C++ are demangled, without hashes,
/// parameters and return types, and other names stay as they are. A function without a name gets `fn_` and
/// its address.
pub fn display(name: Option<&str>, address: u64) -> String {
    match name {
        Some(name) => demangle(name),
        None => format!("fn_{address:x}"),
    }
}

fn demangle(name: &str) -> String {
    let mut text = Bounded(String::new());
    let is_undone = match rustc_demangle::try_demangle(name) {
        Ok(rust) => write!(text, "{rust:#}").is_ok(),
        Err(_) => name.starts_with("_Z") && demangle_cpp(name, &mut text).is_some(),
    };
    if is_undone && !text.0.is_empty() { text.0 } else { name.to_owned() }
}

fn demangle_cpp(name: &str, text: &mut Bounded) -> Option<()> {
    let symbol = Symbol::new(name).ok()?;
    symbol.structured_demangle(text, &DemangleOptions::new().no_params().no_return_type()).ok()
}

/// A text of at most [`LONGEST`] bytes.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.0.len() + more.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_undone_and_others_kept() {
        for (mangled, name) in [
            ("_ZN4ring4aead7aes_gcm4seal17h0123456789abcdefE", "ring::aead::aes_gcm::seal"),
            ("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"),
            ("_ZN7NCrypto7NSha2568CContext6UpdateEPKhm", "NCrypto::NSha256::CContext::Update"),
            ("_ZN2v88internal4wasm3RunILi3EEEvv", "v8::internal::wasm::Run<3>"),
            ("_ZN12_GLOBAL__N_13AES7encryptEv", "(anonymous namespace)::AES::encrypt"),
            ("_Z", "_Z"),
            ("_ZTV", "_ZTV"),
            ("aesni_ecb_encrypt", "aesni_ecb_encrypt"),
            ("crypto/aes.(*Block).Encrypt", "crypto/aes.(*Block).Encrypt"),
        ] {
            assert_eq!(display(Some(mangled), 0), name);
        }
        assert_eq!(display(None, 0xf1ba0), "fn_f1ba0");
    }

    #[test]
    fn a_name_that_would_grow_beyond_measure_stays_as_it_is() {
        // Each argument of the template is a pair of the one before.
        let name = |pairs: u32| {
            let digit = |number: u32| char::from_digit(number, 36).unwrap().to_ascii_uppercase();
            let pair = |index: u32| format!("S0_IS{0}_S{0}_E", digit(index));
            format!("_Z1fI4PairIiiE{}Evv", (1..pairs).map(pair).collect::<String>())
        };
        assert_eq!(display(Some(&name(2)), 0), "f<Pair<int, int>, Pair<Pair<int, int>, Pair<int, int> > >");
        assert_eq!(display(Some(&name(30)), 0), name(30));
    }
}
