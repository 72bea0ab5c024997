//! Apache and curl with keys of the service's token, by OpenSSL's engine for PKCS #11: neither ever has a private key.

use millstream_tests::tokens::{PIN, engine};
use millstream_tests::{Running, Tokens, free_port, program, run};

/// The modules that a server with TLS is made of on Debian.
const MODULES: &[(&str, &str)] = &[
    ("mpm_event_module", "mod_mpm_event"),
    ("authz_core_module", "mod_authz_core"),
    ("ssl_module", "mod_ssl"),
];

/// Returns the URI of a private key of the token.
fn uri(label: &str) -> String {
    format!("pkcs11:token=web;object={label};type=private;pin-value={PIN}")
}

/// The server proves who it is with one key of the token, and the client with another. Apache logs in before it forks its processes, which log in anew.
#[test]
fn long_apache_and_curl() {
    let tokens = Tokens::of_service();
    tokens.generate("p-256 -K host --id 01");
    tokens.generate("rsa -K client --id 02");
    tokens.place.write("openssl.cnf", engine());
    for label in ["host", "client"] {
        let words = format!(
            "req -x509 -engine pkcs11 -keyform engine -key {} -subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 \
             -out {label}.crt",
            uri(label)
        );
        tokens.text(program("openssl"), &words);
    }
    tokens.place.make("www");
    tokens.place.write("www/file", "from the token");
    let (port, at) = (free_port(), tokens.place.folder().display().to_string());
    let mut text =
        format!("ServerRoot {at}\nServerName localhost\nPidFile {at}/pid\nErrorLog {at}/error.log\n");
    for (name, file) in MODULES {
        text += &format!("LoadModule {name} /usr/lib/apache2/modules/{file}.so\n");
    }
    text += &format!(
        "Listen 127.0.0.1:{port}\nDocumentRoot {at}/www\nStartServers 2\nSSLCryptoDevice pkcs11\nSSLSessionCache none\n\
         SSLEngine on\nSSLCertificateFile {at}/host.crt\nSSLCertificateKeyFile \"{}\"\nSSLVerifyClient require\n\
         SSLCACertificateFile {at}/client.crt\n",
        uri("host")
    );
    tokens.place.write("apache.conf", text);
    // Root's Apache would run its processes as somebody else, who has no rights in the service. So it is not root in its own eyes.
    let mut apache = tokens.command(program("unshare"));
    apache.args(["--user", "--map-user=1000", "--map-group=1000"]).arg(program("apache2"));
    apache.args(["-D", "FOREGROUND", "-f"]).arg(tokens.place.path("apache.conf"));
    let _apache = Running::serving(&mut apache, port);
    // Each connection takes a signature of either side.
    tokens.computes(32, || {
        for version in ["--tls-max 1.2", "--tlsv1.3"] {
            for _ in 0..8 {
                let words = format!(
                    "--silent --show-error --fail --max-time 60 --cacert host.crt --cert client.crt --engine pkcs11 --key-type ENG --key {} \
                     {version} https://localhost:{port}/file",
                    uri("client")
                );
                assert_eq!(
                    run(&mut tokens.with(program("curl"), &words), b"").text(),
                    "from the token",
                    "{version}"
                );
            }
        }
    });
    // Who has no key of a certificate that the server trusts is not served.
    let words = format!("--silent --fail --max-time 60 --cacert host.crt https://localhost:{port}/file");
    assert_ne!(tokens.run(program("curl"), &words).code, Some(0));
}
