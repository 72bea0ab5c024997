//! Certificates that `millstream key import` brings into a token of the service, and programs with PKCS #11 find, and the other way round.

use std::path::Path;
use std::process::{Command, Output};

use cryptoki::object::{Attribute, AttributeType, CertificateType, ObjectClass};

use crate::bed::{PIN, alone, client, logged_in, make};
use crate::service::millstream;

fn run(folder: &Path, mut command: Command, line: &str) -> Output {
    command.args(line.split_whitespace()).current_dir(folder).env_remove("MILLSTREAM_STORE").output().unwrap()
}

#[test]
fn certificates_stand_beside_their_keys() {
    alone("certificates::certificates_stand_beside_their_keys", |bed| {
        let service = bed.serve();
        make(&service);
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("pin"), PIN).unwrap();
        std::fs::set_permissions(place("pin"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let tool = |line: &str| {
            let done = run(folder.path(), Command::new("openssl"), line);
            assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        };
        let told = |line: &str| {
            let mut command = millstream();
            command.env("MILLSTREAM_SOCKET", bed.socket());
            let done = run(folder.path(), command, line);
            let text = if done.status.success() { done.stdout } else { done.stderr };
            (done.status.success(), String::from_utf8(text).unwrap())
        };
        let good = |line: &str| {
            let (succeeded, text) = told(line);
            assert!(succeeded, "{line}: {text}");
            text
        };
        tool("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem");
        tool("req -new -x509 -key key.pem -subj /CN=example.org -out cert.pem");
        tool("x509 -in cert.pem -outform DER -out cert.der");
        let (der, pem) =
            (std::fs::read(place("cert.der")).unwrap(), std::fs::read(place("cert.pem")).unwrap());
        let pin = "-T web --pin-file pin";
        good(&format!("key import key.pem {pin} -K server --id 0a0b"));
        good(&format!("key import cert.pem {pin} -K server"));
        for (file, why) in [
            ("cert.der", "already"),
            ("cert.pem --exportable", "no usages"),
            ("cert.pem --usages sign", "no usages"),
        ] {
            let (succeeded, text) = told(&format!("key import {file} {pin} -K other"));
            assert!(!succeeded && text.contains(why), "{file}: {text}");
        }
        let mut cut = pem.clone();
        cut.truncate(200);
        std::fs::write(place("cut.pem"), [&cut[..], b"\n-----END CERTIFICATE-----\n"].concat()).unwrap();
        assert!(!told(&format!("key import cut.pem {pin} -K cut")).0);
        let list = good("key list -T web");
        let line = list.lines().find(|line| line.contains("certificate")).unwrap_or_else(|| panic!("{list}"));
        let object = line.split_whitespace().next().unwrap();
        let shown = good(&format!("key show {pin} -K {object}"));
        assert!(
            shown.contains("id          0a0b") && shown.ends_with(&*String::from_utf8_lossy(&pem)),
            "{shown}"
        );
        // The label is still that of the key, which is used by it.
        assert!(good(&format!("key show {pin} -K server")).contains("kind        p-256"));

        let (client, slot) = client();
        let session = client.open_rw_session(slot).unwrap();
        let certificates = [Attribute::Class(ObjectClass::CERTIFICATE), Attribute::Id(vec![0x0a, 0x0b])];
        let found = session.find_objects(&certificates).unwrap();
        assert_eq!(found.len(), 1, "without a login");
        let kinds = [AttributeType::Value, AttributeType::CertificateType, AttributeType::Label];
        let values = session.get_attributes(found[0], &kinds).unwrap();
        assert!(
            values.contains(&Attribute::Value(der.clone()))
                && values.contains(&Attribute::Label(b"server".to_vec()))
        );
        assert!(values.contains(&Attribute::CertificateType(CertificateType::X_509)));
        let kinds = [AttributeType::Subject, AttributeType::Issuer, AttributeType::SerialNumber];
        for value in session.get_attributes(found[0], &kinds).unwrap() {
            let (Attribute::Subject(part) | Attribute::Issuer(part) | Attribute::SerialNumber(part)) = value
            else {
                panic!("{value:?}")
            };
            assert!(part.len() > 2 && der.windows(part.len()).any(|bytes| bytes == part), "{part:?}");
        }
        drop(session);
        let session = logged_in(&client, slot);
        session.destroy_object(found[0]).unwrap();
        assert!(!good("key list -T web").contains("certificate"));
        let template = [
            Attribute::Class(ObjectClass::CERTIFICATE),
            Attribute::CertificateType(CertificateType::X_509),
            Attribute::Token(true),
            Attribute::Label(b"chain".to_vec()),
            Attribute::Subject(b"subject".to_vec()),
            Attribute::Value(der),
        ];
        session.create_object(&template).unwrap();
        // A label that no key has names the certificate.
        assert!(good(&format!("key show {pin} -K chain")).ends_with(&*String::from_utf8_lossy(&pem)));
        good(&format!("key remove {pin} -K chain"));
        assert!(!good("key list -T web").contains("certificate"));
    });
}
