//! `millstream token setup`: what a program's configuration says to use the keys of a token.

use std::fmt::Write;
use std::path::PathBuf;

use crate::commands::print;
use crate::error::Error;
use crate::programs::module;

/// Print the configuration with which a program uses the keys of a token
#[derive(clap::Args)]
pub(super) struct Setup {
    /// The program
    #[arg(value_enum)]
    program: Program,
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN")]
    token: String,
    /// The label of the key
    #[arg(short = 'K', long = "token-key", value_name = "LABEL", default_value = "server")]
    key: String,
    /// The PKCS #11 module [default: the installed one]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

/// The programs.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Program {
    /// ssh, ssh-add and sshd
    Ssh,
    /// nginx with OpenSSL's engine for PKCS #11
    Nginx,
    /// keytool and programs in Java
    Java,
    /// certutil and programs with NSS
    Nss,
    /// p11tool and programs with GnuTLS
    Gnutls,
    /// dnssec-keyfromlabel and dnssec-signzone of BIND 9.20
    Bind,
    /// keymgr, kzonesign and knotd of Knot DNS
    Knot,
}

impl Setup {
    pub(super) fn run(self) -> Result<(), Error> {
        let module = module::find_pkcs11(self.module.as_deref())?;
        let module = module.display();
        let uri = format!("pkcs11:token={};object={}", escaped(&self.token), escaped(&self.key));
        let mut text = String::new();
        // The engine's section is the same for all programs that reach tokens through OpenSSL's engines.
        let engine = format!(
            "# The file that OPENSSL_CONF names (package libengine-pkcs11-openssl):\nopenssl_conf = main\n[main]\n\
             engines = engines\n[engines]\npkcs11 = pkcs11\n[pkcs11]\nengine_id = pkcs11\nMODULE_PATH = {module}\n"
        );
        let written = match self.program {
            Program::Ssh => writeln!(
                text,
                "# ~/.ssh/config; the token's store is the one that MILLSTREAM_STORE or pkcs11.toml names:\nHost *\n  \
                 PKCS11Provider {module}\n# An agent that has the keys: millstream agent -T {}",
                self.token
            ),
            Program::Nginx => write!(
                text,
                "{engine}# nginx.conf; the environment of nginx names the store:\nenv MILLSTREAM_STORE;\n\
                 ssl_certificate_key \"engine:pkcs11:{uri};type=private?pin-source=file:/etc/millstream/pin\";\n"
            ),
            Program::Java => writeln!(
                text,
                "# A file FILE for SunPKCS11:\nname = Millstream\nlibrary = {module}\n\
                 # The line of java.security: security.provider.N=SunPKCS11 FILE\n\
                 # keytool -list -keystore NONE -storetype PKCS11 -providerClass sun.security.pkcs11.SunPKCS11 -providerArg FILE"
            ),
            Program::Nss => writeln!(
                text,
                "modutil -force -dbdir sql:$HOME/.pki/nssdb -add Millstream -libfile {module}\n\
                 certutil -d sql:$HOME/.pki/nssdb -K -h '{}'",
                self.token.replace('\'', "'\\''")
            ),
            Program::Gnutls => writeln!(
                text,
                "# /etc/pkcs11/modules/millstream.module, where no package has put one:\nmodule: {module}\n\
                 # p11tool --list-all --login '{uri}'\n# gnutls-serv --x509keyfile '{uri};type=private' --x509certfile FILE"
            ),
            Program::Bind => write!(
                text,
                "# BIND 9.20 takes keys of the service's tokens from the OpenSSL provider, which this file loads:\n\
                 # millstream openssl-conf --isolated > FILE; export OPENSSL_CONF=FILE\n\
                 # dnssec-keyfromlabel -a ECDSAP256SHA256 -l '{uri}?pin-source=file:/etc/millstream/pin' ZONE\n\
                 # dnssec-signzone -S -o ZONE FILE\n"
            ),
            Program::Knot => write!(
                text,
                "# knot.conf; keymgr makes the keys in the token (keymgr ZONE generate ksk=yes):\nkeystore:\n  - id: millstream\n    \
                 backend: pkcs11\n    config: \"pkcs11:token={};pin-value=PIN {module}\"\n\
                 policy:\n  - id: token\n    keystore: millstream\n    algorithm: ecdsap256sha256\n",
                escaped(&self.token)
            ),
        };
        written.expect("a String takes everything");
        print(text)
    }
}

/// Returns a label as a URI of RFC 7512 has it.
fn escaped(label: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    label.bytes().fold(String::new(), |mut text, byte| {
        match plain(&byte) {
            true => text.push(char::from(byte)),
            false => write!(text, "%{byte:02X}").expect("a String takes everything"),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_as_the_standard_says() {
        assert_eq!(escaped("web server/1;é"), "web%20server%2F1%3B%C3%A9");
    }
}
