//! Programs of all kinds on the PKCS #11 module, unmodified, with keys that stay in a token.
//!
//! Whatever a program signed, encrypted or derived in the token is checked by another implementation: OpenSSL's, Java's, Go's or Python's
//! own. Each test has a store of its own, and each server ends with its test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use millstream_tests::certificate::Certificate;
use millstream_tests::tokens::{PIN, SO_PIN, engine as engine_configuration, module};
use millstream_tests::{
    Nginx, OpenSsl, Place, Provider, Running, Side, Sshd, Tokens, crypto11, eventually, free_port, program,
    python_pkcs11, run, tool,
};

/// The folder of Debian's modules for p11-kit and OpenSSL.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

/// Returns the path of a file that one of Debian's packages has below its folder of libraries.
#[track_caller]
fn library(name: &str, package: &str) -> PathBuf {
    let path = Path::new(LIBRARIES).join(name);
    assert!(path.exists(), "there is no {}: `apt-get install {package}`", path.display());
    path
}

/// Runs OpenSSL's command with these words in the test's folder, and returns its output.
#[track_caller]
fn openssl(tokens: &Tokens, words: &str) -> String {
    tokens.text(program("openssl"), words)
}

/// Runs `pkcs11-tool` as the user with these words.
#[track_caller]
fn tool_of_opensc(tokens: &Tokens, words: &str) -> String {
    let words = format!("--module MODULE --token-label web --login --pin {PIN} {words}");
    tokens.text(program("pkcs11-tool"), &words)
}

/// Makes a connection to a local server with OpenSSL's client, which trusts `ca`, and returns what it says.
#[track_caller]
fn connect(tokens: &Tokens, port: u16, ca: Option<&str>, words: &str) -> String {
    let mut client = tokens.with(program("openssl"), &format!("s_client -connect 127.0.0.1:{port} {words}"));
    if let Some(ca) = ca {
        client.args(["-verify_return_error", "-CAfile", ca]);
    }
    run(&mut client, b"Q\n").text()
}

/// OpenSC's own tests, and every operation of its tool, each checked by OpenSSL.
#[test]
fn opensc() {
    let tokens = Tokens::new();
    tokens.generate("rsa -K rsa --id 01");
    tokens.generate("p-256 -K p256 --id 02");
    tokens.generate("p-384 -K p384 --id 03");
    tokens.generate("ed25519 -K ed --id 04");
    let told = tool_of_opensc(&tokens, "--test --allow-sw");
    assert!(
        told.ends_with("No errors\n") && told.contains("all 4 signature functions seem to work"),
        "{told}"
    );
    let listed = tool_of_opensc(&tokens, "--list-objects");
    for what in ["Private Key Object; RSA", "Private Key Object; EC", "Public Key Object; RSA 3072 bits"] {
        assert!(listed.contains(what), "{listed}");
    }
    assert!(tool_of_opensc(&tokens, "--list-mechanisms").lines().count() > 90);
    tool_of_opensc(&tokens, "--test-fork");

    // Signatures.
    tokens.place.write("text", "keys that stay");
    openssl(&tokens, "dgst -sha256 -binary -out digest text");
    for (label, id) in [("rsa", "01"), ("p256", "02"), ("p384", "03"), ("ed", "04")] {
        tokens.millstream(&format!("key public -T web -K {label} --pin-file pin -o {label}.pub"));
        // Keys that came from the command line and keys as programs see them are the same.
        if label == "rsa" {
            tool_of_opensc(&tokens, &format!("--read-object --type pubkey --id {id} -o {label}.der"));
            openssl(&tokens, &format!("pkey -pubin -inform DER -in {label}.der -out again.pub"));
            assert_eq!(tokens.place.read("again.pub"), tokens.place.read(&format!("{label}.pub")));
        }
    }
    for (mechanism, label, id, words) in [
        ("SHA256-RSA-PKCS", "rsa", "01", ""),
        ("SHA512-RSA-PKCS", "rsa", "01", "-sha512"),
        ("SHA256-RSA-PKCS-PSS", "rsa", "01", "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32"),
        ("ECDSA-SHA256", "p256", "02", ""),
        ("ECDSA-SHA384", "p384", "03", "-sha384"),
        ("ECDSA-SHA1", "p384", "03", "-sha1"),
    ] {
        let sign = format!("--sign -m {mechanism} --id {id} -i text -o signature -f openssl");
        let sign = if mechanism.contains("PSS") { format!("{sign} --salt-len 32") } else { sign };
        tool_of_opensc(&tokens, &sign);
        let words = if words.contains("-sha") { words.to_owned() } else { format!("-sha256 {words}") };
        let told = openssl(&tokens, &format!("dgst {words} -verify {label}.pub -signature signature text"));
        assert_eq!(told, "Verified OK\n", "{mechanism}");
        if !mechanism.contains("PSS") && label == "rsa" {
            let verify = format!("--verify -m {mechanism} --id {id} -i text --signature-file signature");
            assert!(tool_of_opensc(&tokens, &verify).contains("Signature is valid"), "{mechanism}");
        }
    }
    tool_of_opensc(&tokens, "--sign -m EDDSA --id 04 -i text -o signature");
    openssl(&tokens, "pkeyutl -verify -pubin -inkey ed.pub -rawin -in text -sigfile signature");

    // Decryption.
    for (mechanism, words) in [
        ("RSA-PKCS", ""),
        (
            "RSA-PKCS-OAEP --hash-algorithm SHA256",
            "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256",
        ),
    ] {
        openssl(&tokens, &format!("pkeyutl -encrypt -pubin -inkey rsa.pub -in text -out sealed {words}"));
        tool_of_opensc(&tokens, &format!("--decrypt -m {mechanism} --id 01 -i sealed -o opened"));
        assert_eq!(tokens.place.read("opened"), b"keys that stay", "{mechanism}");
    }

    // Agreement: what the token derives, OpenSSL derives too.
    tokens.generate("p-256 -K agree --id 05 --usages derive");
    tokens.millstream("key public -T web -K agree --pin-file pin -o agree.pub");
    openssl(&tokens, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out peer.pem");
    openssl(&tokens, "pkey -in peer.pem -pubout -outform DER -out peer.der");
    tool_of_opensc(&tokens, "--derive -m ECDH1-DERIVE --id 05 -i peer.der -o shared");
    openssl(&tokens, "pkeyutl -derive -inkey peer.pem -peerkey agree.pub -out expected");
    assert_eq!(tokens.place.read("shared"), tokens.place.read("expected"));

    // Secret keys: encryption, wrapping and what comes back.
    tool_of_opensc(&tokens, "--keygen --key-type AES:32 --id 06 --label kek --usage-wrap");
    tokens.place.write("value", [0x42; 32]);
    tool_of_opensc(
        &tokens,
        "--write-object value --type secrkey --key-type AES:32 --id 07 --label data --extractable",
    );
    tokens.place.write("blocks", [7; 64]);
    tool_of_opensc(
        &tokens,
        &format!("--encrypt -m AES-CBC --iv {} --id 07 -i blocks -o sealed", "00".repeat(16)),
    );
    let words = format!(
        "enc -aes-256-cbc -nopad -K {} -iv {} -in blocks -out expected",
        "42".repeat(32),
        "00".repeat(16)
    );
    openssl(&tokens, &words);
    assert_eq!(tokens.place.read("sealed"), tokens.place.read("expected"));
    tool_of_opensc(
        &tokens,
        &format!("--decrypt -m AES-CBC --iv {} --id 07 -i sealed -o opened", "00".repeat(16)),
    );
    assert_eq!(tokens.place.read("opened"), [7; 64]);
}

/// The tokens of a service: OpenSC's tests, GnuTLS's and OpenSSH's, with keys that never come to these programs.
#[test]
fn over_the_service() {
    let tokens = Tokens::of_service();
    for words in ["rsa -K rsa --id 01", "p-256 -K p256 --id 02", "ed25519 -K ed --id 04"] {
        tokens.generate(words);
    }
    let told = tool_of_opensc(&tokens, "--test --allow-sw");
    assert!(
        told.ends_with("No errors\n") && told.contains("all 4 signature functions seem to work"),
        "{told}"
    );
    tool_of_opensc(&tokens, "--test-fork");
    tokens.place.write("text", "keys that stay");
    for (label, id, mechanism) in [("rsa", "01", "SHA256-RSA-PKCS"), ("p256", "02", "ECDSA-SHA256")] {
        tokens.millstream(&format!("key public -T web -K {label} --pin-file pin -o {label}.pub"));
        let sign = format!("--sign -m {mechanism} --id {id} -i text -o signature -f openssl");
        let before = tokens.operations();
        tool_of_opensc(&tokens, &sign);
        assert_eq!(tokens.operations(), before + 1, "the service signed");
        let verify = format!("dgst -sha256 -verify {label}.pub -signature signature text");
        assert_eq!(openssl(&tokens, &verify), "Verified OK\n", "{mechanism}");
    }
    openssl(
        &tokens,
        "pkeyutl -encrypt -pubin -inkey rsa.pub -in text -out sealed -pkeyopt rsa_padding_mode:oaep",
    );
    tool_of_opensc(&tokens, "--decrypt -m RSA-PKCS-OAEP --hash-algorithm SHA-1 --id 01 -i sealed -o opened");
    assert_eq!(tokens.place.read("opened"), b"keys that stay");
    tool_of_opensc(&tokens, "--keypairgen --key-type EC:secp384r1 --id 05 --label made");
    tool_of_opensc(&tokens, "--keygen --key-type AES:32 --id 06 --label aes");
    assert!(tokens.millstream("key list -T web").contains("made"));
    for class in ["privkey", "pubkey"] {
        tool_of_opensc(&tokens, &format!("--delete-object --type {class} --id 05"));
    }
    assert!(!tokens.millstream("key list -T web").contains("made"));

    let tool = |words: &str| {
        let mut command = tokens.with(program("p11tool"), &format!("--provider MODULE --batch {words}"));
        run(command.env("GNUTLS_PIN", PIN), b"").text()
    };
    assert!(tool("--list-tokens").contains("token=web"));
    tokens.computes(1, || tool("--test-sign --login pkcs11:token=web;object=p256;type=private"));
    assert!(tool("--list-all --login pkcs11:token=web").contains("object=p256"));
    tool("--generate-privkey=ecdsa --curve=secp256r1 --label of-gnutls --login pkcs11:token=web");
    assert!(tokens.millstream("key list -T web").contains("of-gnutls"));

    let keys = tokens.text(program("ssh-keygen"), "-D MODULE");
    assert_eq!(keys.lines().count(), 3, "{keys}");
    let server = Place::new();
    let side = Side::new(&server, "server", Provider::Default);
    let sshd = Sshd::start(server, &side);
    let ask = tokens.place.write("ask", format!("#!/bin/sh\necho {PIN}\n"));
    run(Command::new("/bin/chmod").arg("700").arg(&ask), b"").good();
    for line in keys.lines() {
        sshd.admit(line);
        let options =
            "-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentityFile=none";
        let words = format!("{options} -o PKCS11Provider=MODULE -p {} 127.0.0.1 cat", sshd.port());
        let mut ssh = tokens.with(program("ssh"), &words);
        ssh.env("SSH_ASKPASS", &ask).env("SSH_ASKPASS_REQUIRE", "force");
        let ended = tokens.computes(1, || sshd.good(&mut ssh, b"through the service"));
        assert_eq!(ended.out, b"through the service");
    }
}

/// `ssh-keygen`, `ssh` and `ssh-agent` log in with keys of a token, to a server that knows their public keys.
#[test]
fn openssh() {
    let tokens = Tokens::new();
    tokens.generate("p-256 -K host --id 01");
    tokens.generate("rsa -K rsa --id 02");
    // OpenSSH 9.2 leaves Ed25519 out.
    tokens.generate("ed25519 -K ed --id 03");
    let keys = tokens.text(program("ssh-keygen"), "-D MODULE");
    assert_eq!(keys.lines().count(), 2, "{keys}");
    let server = Place::new();
    let side = Side::new(&server, "server", Provider::Default);
    let sshd = Sshd::start(server, &side);
    let ask = tokens.place.write("ask", format!("#!/bin/sh\necho {PIN}\n"));
    run(Command::new("/bin/chmod").arg("700").arg(&ask), b"").good();
    let asks = |command: &mut Command| {
        command.env("SSH_ASKPASS", &ask).env("SSH_ASKPASS_REQUIRE", "force");
    };
    let options = format!(
        "-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o PreferredAuthentications=publickey \
         -o IdentityFile=none -p {}",
        sshd.port()
    );
    for line in keys.lines() {
        sshd.admit(line);
        let mut ssh =
            tokens.with(program("ssh"), &format!("{options} -o PKCS11Provider=MODULE 127.0.0.1 cat"));
        asks(&mut ssh);
        let ended = sshd.good(&mut ssh, b"through the token");
        assert_eq!(ended.out, b"through the token");
    }
    // The agent has the keys in a process of its own, and needs the PIN once.
    let socket = tokens.place.path("agent");
    let allowed = format!("{},{}", module().display(), "/usr/lib/*");
    let mut agent = tokens.command(program("ssh-agent"));
    agent.args(["-D", "-t", "100", "-P", &allowed, "-a"]).arg(&socket).stdout(Stdio::null());
    let _agent = Running::start(&mut agent);
    eventually("the agent listens", || socket.exists());
    let with_agent = |name: &str, words: &str| {
        let mut command = tokens.with(program(name), words);
        command.env("SSH_AUTH_SOCK", &socket);
        asks(&mut command);
        command
    };
    run(&mut with_agent("ssh-add", "-s MODULE"), b"").good();
    let listed = run(&mut with_agent("ssh-add", "-L"), b"").text();
    assert_eq!(listed.lines().count(), 2, "{listed}");
    for line in listed.lines() {
        sshd.admit(line);
        tokens.place.write("one.pub", line);
        let words = format!("{options} -o IdentitiesOnly=yes -i one.pub 127.0.0.1 cat");
        let ended = sshd.good(&mut with_agent("ssh", &words), b"by the agent");
        assert_eq!(ended.out, b"by the agent");
        run(&mut with_agent("ssh-add", "-T one.pub"), b"").good();
    }
    run(&mut with_agent("ssh-add", "-e MODULE"), b"").good();
    let left = run(&mut with_agent("ssh-add", "-L"), b"");
    assert_ne!(left.code, Some(0), "{left:?}");
}

/// Java's provider: `keytool`, a program that compares it with the JDK's own code, and a TLS server.
#[test]
fn java() {
    let tokens = Tokens::of_service();
    let text = format!("name = Millstream\nlibrary = {}\nslot = 0\n", module().display());
    tokens.place.write("java.cfg", text);
    let keytool = |words: &str| {
        let provider = "-providerClass sun.security.pkcs11.SunPKCS11 -providerArg java.cfg";
        let words = format!("-keystore NONE -storetype PKCS11 -storepass {PIN} {provider} {words}");
        tokens.text(tool("keytool"), &words)
    };
    for (alias, kind) in [("rsa", "RSA -keysize 2048"), ("ec", "EC -groupname secp256r1")] {
        let subject = "-dname CN=localhost -validity 2 -ext san=ip:127.0.0.1";
        keytool(&format!("-genkeypair -alias {alias} -keyalg {kind} {subject}"));
        tokens.place.write(&format!("{alias}.crt"), keytool(&format!("-exportcert -rfc -alias {alias}")));
        tokens.place.write("request", keytool(&format!("-certreq -alias {alias}")));
        openssl(&tokens, "req -verify -noout -in request");
    }
    keytool("-genseckey -alias aes -keyalg AES -keysize 256");
    let listed = keytool("-list");
    assert_eq!(listed.matches("PrivateKeyEntry").count(), 2, "{listed}");
    keytool("-delete -alias aes");
    assert!(!keytool("-list").contains("SecretKeyEntry"));

    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("pkcs11/Client.java");
    let java = |words: &[&str]| {
        let mut java = tokens.command(tool("java"));
        java.arg(&client).args(["java.cfg", PIN]).args(words);
        java
    };
    // Keys of a session are in the process; the three of the key store are not.
    let told = tokens.computes(3, || run(&mut java(&["all"]), b"").text());
    assert!(told.ends_with("stores\n"), "{told}");
    let count = |begin: &str| told.lines().filter(|line| line.starts_with(begin)).count();
    assert_eq!((count("signs"), count("ciphers"), count("digests"), count("codes")), (23, 8, 8, 6), "{told}");

    // The server has both keys, and uses the one that the client wants.
    use std::io::{BufRead, BufReader};
    let mut server = Running::start(java(&["serve", "3"]).stdin(Stdio::null()).stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(server.child.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it writes text");
    let port: u16 = line.trim().trim_start_matches("port ").parse().expect("it says its port first");
    for (words, signed, ca) in [
        ("-sigalgs ECDSA+SHA256", "ECDSA", "ec.crt"),
        ("-sigalgs RSA-PSS+SHA256:RSA+SHA256", "RSA-PSS", "rsa.crt"),
        ("-tls1_2 -cipher ECDHE-RSA-AES256-GCM-SHA384 -sigalgs RSA+SHA256", "RSA", "rsa.crt"),
    ] {
        let said = tokens.computes(1, || connect(&tokens, port, Some(ca), words));
        assert!(said.contains(&format!("Peer signature type: {signed}\n")), "{said}");
    }
    server.finish();
}

/// NSS: keys and certificates made in the token, others brought in from PKCS #12, and a TLS server.
#[test]
fn nss() {
    let tokens = Tokens::of_service();
    tokens.place.make("db");
    tokens.place.write("noise", [5; 200]);
    tokens.text(program("certutil"), "-N -d sql:db --empty-password");
    let add = "-dbdir sql:db -force -add Millstream -libfile MODULE -mechanisms FRIENDLY";
    run(&mut tokens.with(program("modutil"), add), b"\n").good();
    let listed = tokens.text(program("modutil"), "-dbdir sql:db -list Millstream");
    assert!(listed.contains("Token Name: web") && listed.contains("Status: Enabled"), "{listed}");
    // A serial number that certutil chooses is the time, and two certificates can be made in one tick.
    for (name, kind) in [("rsa", "-k rsa -g 2048 -m 1"), ("ec", "-k ec -q nistp256 -m 2")] {
        let words =
            format!("-S -d sql:db -h web -f pin -n {name} -s CN=localhost -x -t u,u,u {kind} -z noise -v 1");
        tokens.computes(1, || tokens.text(program("certutil"), &words));
        tokens
            .place
            .write("one.crt", tokens.text(program("certutil"), &format!("-L -d sql:db -n web:{name} -a")));
        openssl(&tokens, "verify -CAfile one.crt one.crt");
    }
    openssl(
        &tokens,
        "req -x509 -newkey rsa:2048 -nodes -subj /CN=imported -days 2 -config /dev/null -keyout k.pem -out c.pem",
    );
    openssl(&tokens, "pkcs12 -export -inkey k.pem -in c.pem -name imported -passout pass:secret -out k.p12");
    // NSS opens the file with the token's PBKDF2 and unwraps the key with the token's AES.
    tokens.text(program("pk12util"), "-i k.p12 -d sql:db -h web -k pin -W secret");
    let keys = tokens.text(program("certutil"), "-K -d sql:db -h web -f pin");
    assert_eq!(keys.lines().filter(|line| line.starts_with('<')).count(), 3, "{keys}");
    let out = tokens.run(program("pk12util"), "-o out.p12 -n web:rsa -d sql:db -k pin -W secret");
    assert_ne!(out.code, Some(0), "a key that stays was exported");
    let port = free_port();
    let words = format!("-d sql:db -p {port} -n web:rsa -f pin -V tls1.2:tls1.3");
    let _server = Running::serving(&mut tokens.with(program("selfserv"), &words), port);
    let said = tokens.computes(1, || connect(&tokens, port, None, ""));
    assert!(said.contains("Peer signature type: RSA-PSS\n"), "{said}");
}

/// GnuTLS: all that `p11tool` does, a certificate signed by a key of the token, and a TLS server with it.
#[test]
fn gnutls() {
    let tokens = Tokens::of_service();
    tokens.generate("p-256 -K host --id 01");
    tokens.generate("rsa -K rsa --id 02");
    let with = |name: &str, words: &str| {
        let mut command = tokens.with(program(name), &format!("--provider MODULE {words}"));
        command.env("GNUTLS_PIN", PIN).env("GNUTLS_SO_PIN", SO_PIN);
        command
    };
    let tool = |words: &str| run(&mut with("p11tool", &format!("--batch {words}")), b"").text();
    assert!(tool("--list-tokens").contains("token=web"));
    assert_eq!(tool("--list-all --login pkcs11:token=web").matches("\tURL: ").count(), 4);
    assert!(tool("--list-mechanisms pkcs11:token=web").lines().count() > 90);
    tool("--generate-privkey=ecdsa --curve=secp384r1 --label made-ec --login pkcs11:token=web");
    tool("--generate-privkey=rsa --bits=2048 --label made-rsa --login pkcs11:token=web");
    for label in ["host", "rsa", "made-ec", "made-rsa"] {
        let sign = format!("--test-sign --login pkcs11:token=web;object={label};type=private");
        tokens.computes(1, || tool(&sign));
        let public = tool(&format!("--export-pubkey --login pkcs11:token=web;object={label};type=private"));
        tokens.place.write("one.pub", public);
        openssl(&tokens, "pkey -pubin -in one.pub -noout");
    }
    tool("--write --secret-key=00112233445566778899aabbccddeeff --label secret --login pkcs11:token=web");
    tool("--set-label renamed --login pkcs11:token=web;object=made-rsa;type=private");
    assert!(tool("--list-privkeys --login pkcs11:token=web").contains("object=renamed"));
    run(&mut with("p11tool", "--delete --login pkcs11:token=web;object=made-ec"), b"y\n").good();
    assert!(!tool("--list-all --login pkcs11:token=web").contains("made-ec"));
    tokens.place.write(
        "template",
        "cn = localhost\nip_address = 127.0.0.1\nexpiration_days = 2\ntls_www_server\nsigning_key\n",
    );
    let key = "--load-privkey pkcs11:token=web;object=host;type=private --load-pubkey pkcs11:token=web;object=host;type=public";
    let words = format!("--generate-self-signed {key} --template template --outfile host.crt");
    run(&mut with("certtool", &words), b"").good();
    openssl(&tokens, "verify -CAfile host.crt host.crt");
    tool("--write --load-certificate host.crt --label host --id 01 --login pkcs11:token=web");
    let stored = tool("--export --login pkcs11:token=web;object=host;type=cert");
    tokens.place.write("stored.crt", stored);
    openssl(&tokens, "verify -CAfile host.crt stored.crt");
    // A new token is made in the slot that waits for one.
    run(&mut with("p11tool", "--batch --initialize pkcs11:serial= --label second"), b"").good();
    assert!(tokens.millstream("token list").contains("second"));
    assert!(tool("--list-tokens").contains("token=second"));

    // This server listens on every interface, so it gets a network of its own, and so does its client.
    let port = free_port();
    let server = format!(
        "{} --provider {} --port {port} --http --x509certfile host.crt --x509keyfile \
         'pkcs11:token=web;object=host;type=private;pin-value={PIN}'",
        program("gnutls-serv").display(),
        module().display()
    );
    let client = format!("openssl s_client -connect 127.0.0.1:{port} -CAfile host.crt -verify_return_error");
    let script = format!(
        "ip link set lo up || exit 9\ntimeout 60 {server} >/dev/null 2>server.log &\nserver=$!\n\
         for i in $(seq 100); do\n  echo Q | {client} >said 2>&1 && cat said && kill $server && exit 0\n  sleep 0.1\ndone\ncat said server.log; exit 1"
    );
    let mut network = tokens.command(program("unshare"));
    network.args(["--user", "--map-root-user", "--net", "/bin/bash", "-c", &script]);
    let said = tokens.computes(1, || run(&mut network, b"").text());
    assert!(
        said.contains("Peer signature type: ECDSA\n") && said.contains("Verify return code: 0 (ok)"),
        "{said}"
    );
}

/// p11-kit: its proxy with the module in the process, its remote modules with the module in a child, and its server.
#[test]
fn p11_kit() {
    let tokens = Tokens::of_service();
    tokens.generate("p-256 -K host --id 01");
    tokens.millstream("key public -T web -K host --pin-file pin -o host.pub");
    tokens.place.write("text", "keys that stay");
    openssl(&tokens, "dgst -sha256 -binary -out digest text");
    tokens.place.make(".config/pkcs11/modules");
    tokens.place.write(".config/pkcs11/pkcs11.conf", "user-config: merge\n");
    let sign = |command: &mut Command, library: &Path| {
        let _ = std::fs::remove_file(tokens.place.path("signature"));
        command.arg("--module").arg(library).args(["--token-label", "web", "--login", "--pin", PIN]);
        command.args("--sign -m ECDSA --id 01 -i digest -o signature -f openssl".split(' '));
        tokens.computes(1, || run(command, b"").good());
        let told = openssl(&tokens, "dgst -sha256 -verify host.pub -signature signature text");
        assert_eq!(told, "Verified OK\n");
    };
    let proxy = library("p11-kit-proxy.so", "libp11-kit0");
    for line in ["module: MODULE", "remote: |p11-kit remote MODULE"] {
        let line = line.replace("MODULE", &module().display().to_string());
        tokens.place.write(".config/pkcs11/modules/millstream.module", format!("{line}\n"));
        // p11-kit reads no configuration of root's own, so the program runs as somebody else in its own eyes.
        let mut command = tokens.command(program("unshare"));
        command.args(["--user", "--map-user=1000", "--map-group=1000"]).arg(program("pkcs11-tool"));
        sign(&mut command, &proxy);
    }
    let socket = tokens.place.path("socket");
    let mut server = tokens.with(program("p11-kit"), "server --foreground --provider MODULE");
    server.arg("--name").arg(&socket).arg("pkcs11:token=web").stdout(Stdio::null());
    let _server = Running::start(&mut server);
    eventually("the server listens", || socket.exists());
    let mut command = tokens.command(program("pkcs11-tool"));
    command.env("P11_KIT_SERVER_ADDRESS", format!("unix:path={}", socket.display()));
    sign(&mut command, &library("pkcs11/p11-kit-client.so", "p11-kit-modules"));
}

/// A client in Python alone uses every mechanism that the token offers, for all that its flags allow.
#[test]
fn every_mechanism() {
    let tokens = Tokens::new();
    let script = tokens.place.write("mechanisms.py", include_str!("python/mechanisms.py"));
    let mut python = tokens.command(program("python3"));
    let told = run(python.args(["-I", "-B"]).arg(script).arg(module()).arg(PIN), b"").text();
    assert_eq!(told, "139 mechanisms\n");
}

/// python-pkcs11 on keys of all kinds; OpenSSL verifies what it signed.
#[test]
fn python() {
    let tokens = Tokens::of_service();
    let script = tokens.place.write("pkcs11_client.py", include_str!("python/pkcs11.py"));
    let mut python = python_pkcs11();
    tokens.apply(&mut python);
    python.args(["-I", "-B"]).arg(script).arg(module()).arg(PIN);
    let told = tokens.computes(20, || run(&mut python, b"").text());
    assert_eq!(told, "secrets\npairs\nfound 2\nforks\n");
    openssl(&tokens, "dgst -sha256 -verify rsa.der -keyform DER -signature rsa-pkcs1.sig text");
    let pss = "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32";
    openssl(&tokens, &format!("dgst -sha256 {pss} -verify rsa.der -keyform DER -signature rsa-pss.sig text"));
}

/// Go's crypto11: signatures, decryption, TLS, AES and HMAC, and sixteen goroutines on its pool of sessions.
#[test]
fn go() {
    let tokens = Tokens::of_service();
    let mut go = crypto11();
    tokens.apply(&mut go);
    let told = tokens.computes(20, || run(go.arg(module()).arg(PIN), b"").text());
    assert_eq!(told, "rsa\nec\nthreads\naes\npairs 3\n");
}

/// The engine of OpenSC for OpenSSL 3.0: the command, and nginx with workers that were forked after the login.
#[test]
fn engine() {
    let tokens = Tokens::of_service();
    tokens.generate("p-256 -K host --id 01");
    tokens.generate("rsa -K rsa --id 02");
    let configuration = engine_configuration();
    tokens.place.write("openssl.cnf", &configuration);
    let uri = |label: &str| format!("pkcs11:token=web;object={label};type=private;pin-value={PIN}");
    tokens.place.write("text", "keys that stay");
    for label in ["host", "rsa"] {
        let key = format!("-engine pkcs11 -keyform engine -key {}", uri(label));
        openssl(
            &tokens,
            &format!(
                "req -x509 {key} -subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 -out {label}.crt"
            ),
        );
        openssl(&tokens, &format!("verify -CAfile {label}.crt {label}.crt"));
        openssl(&tokens, &format!("x509 -in {label}.crt -noout -pubkey -out {label}.pub"));
        openssl(
            &tokens,
            &format!("dgst -sha256 -engine pkcs11 -keyform engine -sign {} -out signature text", uri(label)),
        );
        openssl(&tokens, &format!("dgst -sha256 -verify {label}.pub -signature signature text"));
    }
    let oaep = "-pkeyopt rsa_padding_mode:oaep";
    for padding in ["", oaep] {
        openssl(&tokens, &format!("pkeyutl -encrypt -pubin -inkey rsa.pub {padding} -in text -out sealed"));
        let decrypt = format!(
            "pkeyutl -decrypt -engine pkcs11 -keyform engine -inkey {} {padding} -in sealed",
            uri("rsa")
        );
        assert_eq!(openssl(&tokens, &decrypt), "keys that stay");
    }
    for label in ["host", "rsa"] {
        let place = Place::new();
        let (name, value) = tokens.variable();
        let server = Side::new(&place, "server", Provider::Default).with(name, value);
        std::fs::write(server.configuration(), &configuration).expect("the folder is ours");
        let client = Side::new(&place, "client", Provider::Default);
        let certificate = Certificate {
            key: format!("\"engine:pkcs11:{}\"", uri(label)).into(),
            certificate: tokens.place.path(&format!("{label}.crt")),
        };
        let www = place.make("www");
        place.write("www/file", "from the token");
        let lines = format!("root {};", www.display());
        let nginx = Nginx::start_with(certificate, &[], &place, &server, &OpenSsl::system(), 2, &lines);
        tokens.computes(16, || {
            for options in [&["--tls-max", "1.2"][..], &[]] {
                for _ in 0..8 {
                    let mut curl = client.command(program("curl"));
                    curl.args(["--silent", "--show-error", "--fail", "--max-time", "60", "--cacert"]);
                    curl.arg(&nginx.certificate.certificate).args(options).arg(nginx.url("file"));
                    assert_eq!(run(&mut curl, b"").text(), "from the token", "{label}");
                }
            }
        });
        nginx.finish();
    }
}

/// Knot makes the keys of a zone in the service and signs the zone with them; BIND verifies every signature.
#[test]
fn knot() {
    let tokens = Tokens::of_service();
    let folder = tokens.place.folder().display().to_string();
    tokens.place.make("run");
    tokens.place.make("db");
    let policy =
        "policy:\n  - id: token\n    keystore: token\n    manual: on\n    algorithm: ecdsap256sha256\n";
    let keystore = format!(
        "keystore:\n  - id: token\n    backend: pkcs11\n    config: \"pkcs11:token=web;pin-value={PIN} {}\"\n",
        module().display()
    );
    let configuration = format!(
        "server:\n  rundir: {folder}/run\ndatabase:\n  storage: {folder}/db\n{keystore}{policy}zone:\n  - domain: example.org\n    \
         storage: {folder}\n    file: zone\n    dnssec-signing: on\n    dnssec-policy: token\n"
    );
    tokens.place.write("knot.conf", configuration);
    let names = "@ IN NS ns\nns IN A 192.0.2.1\nwww IN A 192.0.2.2\n";
    let soa = "@ IN SOA ns.example.org. root.example.org. 1 3600 600 86400 300\n";
    tokens.place.write("zone", format!("$TTL 300\n{soa}{names}"));
    for kind in ["ksk", "zsk"] {
        let words = format!("-c knot.conf example.org generate {kind}=yes algorithm=ECDSAP256SHA256");
        tokens.text(program("keymgr"), &words);
    }
    let made = tokens.millstream("key list -T web");
    assert_eq!(made.matches("p-256 ").count(), 2 + made.matches("p-256 public").count(), "{made}");
    // The set of keys, the start of authority, and the sets of names, and a proof beside each name.
    tokens.computes(7, || tokens.text(program("kzonesign"), "-c knot.conf -o signed example.org"));
    let told = tokens.run(program("dnssec-verify"), "-o example.org signed/zone");
    let said = format!("{}{}", String::from_utf8_lossy(&told.out), told.err);
    assert!(told.code == Some(0) && said.contains("Zone fully signed"), "{said}");
    // A zone that was changed is noticed.
    let signed = std::fs::read_to_string(tokens.place.path("signed/zone")).expect("it was written");
    tokens.place.write("signed/zone", signed.replace("192.0.2.2", "192.0.2.3"));
    assert_ne!(tokens.run(program("dnssec-verify"), "-o example.org signed/zone").code, Some(0));
}
