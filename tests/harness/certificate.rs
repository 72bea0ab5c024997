//! Certificates for the tests, made with the default provider.

use std::path::PathBuf;

use crate::{OpenSsl, Place, Provider, Side, run};

/// A key and a self-signed certificate for `localhost`.
pub struct Certificate {
    /// The private key's file.
    pub key: PathBuf,
    /// The certificate's file.
    pub certificate: PathBuf,
}

impl Certificate {
    /// Makes one with an RSA key of 2048 bits.
    #[track_caller]
    pub fn rsa(place: &Place) -> Certificate {
        Certificate::make(place, "rsa", &["rsa:2048"])
    }

    /// Makes one with an ECDSA key on P-256.
    #[track_caller]
    pub fn ecdsa(place: &Place) -> Certificate {
        Certificate::make(place, "ecdsa", &["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
    }

    /// Makes one with a key of Ed25519.
    #[track_caller]
    pub fn ed25519(place: &Place) -> Certificate {
        Certificate::make(place, "ed25519", &["ed25519"])
    }

    /// Makes one with a DSA key of 1024 bits, as the oldest suites want.
    #[track_caller]
    pub fn dsa(place: &Place) -> Certificate {
        let side = Side::new(place, "parameters", Provider::Default);
        let words = "genpkey -genparam -algorithm DSA -pkeyopt dsa_paramgen_bits:1024";
        let parameters = place.write("dsa.pem", OpenSsl::system().good(&side, words, b""));
        Certificate::make(place, "dsa", &[&format!("dsa:{}", parameters.display())])
    }

    #[track_caller]
    fn make(place: &Place, name: &str, key_type: &[&str]) -> Certificate {
        // The settings of `openssl req` need a configuration of their own.
        let side = Side::new(place, &format!("{name}-certificate"), Provider::Default);
        let key = place.path(&format!("{name}.key"));
        let certificate = place.path(&format!("{name}.crt"));
        let config = place.write(&format!("{name}.req"), "[req]\ndistinguished_name = dn\n[dn]\n");
        let mut req = OpenSsl::system().command(&side, "req -x509 -nodes -days 2 -subj /CN=localhost");
        req.args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-newkey"]).args(key_type);
        req.arg("-config").arg(config).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
        run(&mut req, b"").good();
        Certificate { key, certificate }
    }
}
