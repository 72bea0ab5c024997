//! Certificates of ML-DSA in TLS 1.3. libssl takes signatures of providers from OpenSSL 3.2 on.

use std::path::PathBuf;

use millstream_tests::{OpenSsl, Provider, Service, Side, run};

use crate::peer::Tls;

/// The signatures: names of keys, and of signatures in TLS.
const SIGNATURES: [(&str, &str); 3] =
    [("ML-DSA-44", "mldsa44"), ("ML-DSA-65", "mldsa65"), ("ML-DSA-87", "mldsa87")];

/// Makes a key and a self-signed certificate.
fn certificate(tls: &Tls, openssl: &OpenSsl, side: &Side, name: &str) -> [PathBuf; 2] {
    let config = tls.place.write("req.cnf", "[req]\ndistinguished_name = dn\n[dn]\n");
    let files = ["key", "crt"].map(|kind| tls.place.path(&format!("{name}.{kind}")));
    let mut req = openssl.command(side, "req -x509 -nodes -days 2 -subj /CN=localhost -newkey");
    req.arg(name).arg("-config").arg(config).arg("-keyout").arg(&files[0]).arg("-out").arg(&files[1]);
    run(&mut req, b"").good();
    files
}

/// Each side is the server and the client, and both.
fn certificates_of_ml_dsa(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    for (name, in_tls) in SIGNATURES {
        for maker in [&tls.default, &tls.millstream] {
            let [key, certificate] = certificate(&tls, openssl, maker, name);
            tls.millstream.take();
            let server = format!("-tls1_3 -cert {} -key {}", certificate.display(), key.display());
            let trusted = certificate.display();
            let client = format!("-tls1_3 -CAfile {trusted} -verify_return_error -sigalgs {in_tls}");
            let [both, _, by_client] = tls.exchanges(&server, &client, 1000);
            for counted in [both, by_client] {
                counted.require(&name.to_lowercase(), 1, 100);
            }
        }
    }
    tls.default.counted().require_none();
}

/// A key of a server, and one of a client, is in the service, which signs the handshake.
fn isolated_keys_of_ml_dsa(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    let service = Service::start(&tls.place, &[]);
    let isolated = Side::new(&tls.place, "isolated", Provider::Isolated(&service));
    for (name, in_tls) in SIGNATURES {
        let [key, certificate] = certificate(&tls, openssl, &tls.default, name);
        let own = format!("-tls1_3 -cert {} -key {}", certificate.display(), key.display());
        let trusts = format!("-CAfile {} -verify_return_error -sigalgs {in_tls}", certificate.display());
        isolated.take();
        tls.exchange((&isolated, &tls.default), &own, &format!("-tls1_3 {trusts}"), 1000);
        isolated.take().require_isolated(&name.to_lowercase(), 1, 100);
        // The client's key, and its verification of the server's signature, which needs no key of the service.
        tls.exchange((&tls.default, &isolated), &format!("{own} -Verify 1 {trusts}"), &own, 1000);
        let counted = isolated.take();
        counted.require_isolated(&name.to_lowercase(), 1, 100).require_local(&name.to_lowercase(), 1, 100);
    }
}

#[test]
fn isolated_keys_of_ml_dsa_on_openssl_4() {
    isolated_keys_of_ml_dsa(&OpenSsl::newest(4));
}

#[test]
fn certificates_of_ml_dsa_on_openssl_4() {
    certificates_of_ml_dsa(&OpenSsl::newest(4));
}

#[test]
fn long_newest_3_takes_certificates_of_ml_dsa() {
    certificates_of_ml_dsa(&OpenSsl::newest(3));
    isolated_keys_of_ml_dsa(&OpenSsl::newest(3));
}

/// Where both providers tell of a signature, a client offers it once, in the place as before.
#[test]
fn openssl_4_offers_each_signature_once() {
    let openssl = OpenSsl::newest(4);
    let tls = Tls::new(&openssl);
    let [with, without] = [&tls.millstream, &tls.default].map(|side| {
        let mut server = tls.server(&tls.default, "-naccept 1 -tls1_3");
        let mut client = tls.client(side, "-nocommands -tls1_3 -trace");
        client.expect("the handshake is over", |client| client.wrote("Verify return code"));
        client.finish();
        server.finish();
        let text = String::from_utf8_lossy(&client.out.lock().expect("no reader panics")).into_owned();
        let hello = text.split_once("extension_type=signature_algorithms(13)").expect("a first message").1;
        let lines = hello.lines().skip(1).map(str::trim).take_while(|line| line.contains(" (0x"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(with, without);
    for (_, name) in SIGNATURES {
        assert_eq!(with.iter().filter(|line| line.starts_with(&format!("{name} ("))).count(), 1, "{with:?}");
    }
}
