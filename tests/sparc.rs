//! OpenSSL for UltraSPARC, as its authors wrote it, under `millstream sparc`. Its T4 assembly gives the same
//! results as the host's OpenSSL, executes the instructions that it should, and works without them when they
//! are withheld.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use millstream_tests::sparc::{SparcOpenSsl, WITHOUT_CRYPTO};
use millstream_tests::{
    Place, Running, built, bytes, debian_source, eventually, free_port, program, run, target,
};

/// Runs each test with the newest of both series. Those of series 4 take minutes to build, and run with `--deep`
/// only.
macro_rules! with_both {
    ($($test:ident),* $(,)?) => {
        mod newest_3 {
            $(#[test] fn $test() { super::$test(3); })*
        }
        mod long_newest_4 {
            $(#[test] fn $test() { super::$test(4); })*
        }
    };
}

with_both!(
    aes_in_every_mode,
    ciphers_without_their_instructions,
    camellia_and_des_where_the_provider_knows_of_them,
    digests,
    rsa,
    speed,
    tls_server,
    tls_client,
);

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const IV: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/// The length of a message, which is no multiple of a block, and more than any kernel takes at once.
const LEN: usize = 10_007;

/// Returns the words of `openssl enc` for a cipher with a key of so many bits and an IV of so many.
fn enc(cipher: &str, key_bits: usize, iv_bits: usize) -> String {
    let iv = if iv_bits == 0 { String::new() } else { format!(" -iv {}", &IV[..iv_bits / 4]) };
    format!("enc -{cipher} -K {}{iv}", &KEY[..key_bits / 4])
}

/// Runs the host's command.
#[track_caller]
fn host(words: &str, input: &[u8]) -> Vec<u8> {
    run(Command::new(program("openssl")).args(words.split_whitespace()), input).good()
}

/// Returns how many blocks a mode computes for a message. ECB and CBC pad. CFB with short feedback computes
/// one for each byte or bit.
fn blocks(mode: &str, len: usize, block: usize) -> u64 {
    let blocks = match mode {
        "ecb" | "cbc" => len / block + 1,
        "cfb8" => len,
        "cfb1" => 8 * len,
        _ => len.div_ceil(block),
    };
    blocks as u64
}

/// Returns the part of a text that a mode is given.
fn part<'a>(mode: &str, text: &'a [u8]) -> &'a [u8] {
    match mode {
        "cfb8" => &text[..501],
        "cfb1" => &text[..77],
        _ => text,
    }
}

fn aes_in_every_mode(series: u32) {
    let openssl = SparcOpenSsl::newest(series, "openssl");
    let text = bytes(LEN);
    let mut runs = 0;
    for (bits, rounds, expansions) in [(128, 10, 10), (192, 12, 8), (256, 14, 7)] {
        for mode in ["ecb", "cbc", "ctr", "cfb", "ofb", "cfb8", "cfb1"] {
            let text = part(mode, &text);
            let words = enc(&format!("aes-{bits}-{mode}"), bits, if mode == "ecb" { 0 } else { 128 });
            let expected = host(&words, text);
            let (ended, executed) = openssl.run(&[], &words, text);
            assert!(ended.good() == expected, "{words}: not what the host's gives");
            let blocks = blocks(mode, text.len(), 16);
            assert_eq!(executed.count("aes_eround01_l"), blocks, "{words}");
            assert_eq!(executed.count("aes_eround23_l"), blocks, "{words}");
            assert_eq!(executed.count("aes_eround01"), (rounds - 1) * blocks, "{words}");
            assert_eq!(executed.count("aes_kexpand1"), expansions, "{words}");

            let (ended, executed) = openssl.run(&["--hwcap", WITHOUT_CRYPTO], &words, text);
            assert!(ended.good() == expected, "{words}: not what the host's gives, without the instructions");
            assert_eq!(executed.crypto(), [], "{words}");

            let words = format!("{words} -d");
            let (ended, executed) = openssl.run(&[], &words, &expected);
            assert!(ended.good() == text, "{words}: not what was encrypted");
            let inverse = if matches!(mode, "ecb" | "cbc") { blocks } else { 0 };
            assert_eq!(executed.count("aes_dround01_l"), inverse, "{words}");
            assert_eq!(executed.count("aes_eround01_l"), blocks - inverse, "{words}");
            runs += 2;
        }
    }
    assert_eq!(runs, 42);
}

fn ciphers_without_their_instructions(series: u32) {
    let openssl = SparcOpenSsl::newest(series, "openssl");
    let text = bytes(LEN);
    let ciphers = [
        ("aes-128-cbc", 128, 128),
        ("aes-256-ctr", 256, 128),
        ("camellia-192-cbc", 192, 128),
        ("des-ede3-cbc", 192, 64),
    ];
    for (cipher, key, iv) in ciphers {
        let words = enc(cipher, key, iv);
        let (ended, executed) = openssl.run(&["--hwcap", WITHOUT_CRYPTO], &words, &text);
        assert!(ended.good() == host(&words, &text), "{words}: not what the host's gives");
        assert_eq!(executed.crypto(), [], "{words}");
    }
    for digest in ["md5", "sha1", "sha256", "sha512"] {
        let words = format!("dgst -r -{digest}");
        let (ended, executed) = openssl.run(&["--hwcap", WITHOUT_CRYPTO], &words, &text);
        assert_eq!(ended.good(), host(&words, &text), "{words}");
        assert_eq!(executed.crypto(), [], "{words}");
    }
    // These processors never had the instructions.
    for cpu in ["ultrasparc2", "t1", "t2", "t3"] {
        let words = enc("aes-128-cbc", 128, 128);
        let (ended, executed) = openssl.run(&["--cpu", cpu], &words, &text);
        assert!(ended.good() == host(&words, &text), "{cpu}: not what the host's gives");
        assert_eq!(executed.crypto(), [], "{cpu}");
    }
}

/// OpenSSL's providers are compiled without the two definitions that would let them use the library's own T4
/// code for these.
fn camellia_and_des_where_the_provider_knows_of_them(series: u32) {
    let plain = SparcOpenSsl::newest(series, "openssl");
    let all = SparcOpenSsl::newest(series, "openssl-all-t4");
    let text = bytes(LEN);
    let cases = cases();
    for case in &cases {
        let text = part(case.mode, &text).to_vec();
        let count = case.each * blocks(case.mode, text.len(), case.block);
        let words = enc(&case.cipher, case.key, case.iv);
        let expected = host(&words, &text);
        let decrypt = format!("{words} -d");
        for (words, input, expected) in [(&words, &text, &expected), (&decrypt, &expected, &text)] {
            let (ended, executed) = plain.run(&[], words, input);
            assert!(ended.good() == *expected, "{words}: not what the host's gives");
            assert_eq!(executed.crypto(), [], "{words}: the unmodified provider reaches T4 code");
            // Nothing refers to them any more in version 4, so a static program does not have them.
            let functions: &[&str] =
                if series == 3 { &["cmll_t4_set_key", "des_t4_ede3_cbc_encrypt"] } else { &[] };
            let unreached = executed.unreached();
            for function in functions {
                assert!(
                    unreached.iter().any(|name| name == function),
                    "{function} is not among {unreached:?}"
                );
            }
            let (ended, executed) = all.run(&[], words, input);
            assert!(ended.good() == *expected, "{words}: not what the host's gives, by T4 instructions");
            assert_eq!(executed.count(case.instruction), count, "{words}: {:?}", executed.crypto());
            let (ended, executed) = all.run(&["--hwcap", WITHOUT_CRYPTO], words, input);
            assert!(
                ended.good() == *expected,
                "{words}: not what the host's gives, without the instructions"
            );
            assert_eq!(executed.crypto(), [], "{words}");
        }
    }
    assert_eq!(cases.len(), 27);
}

/// A cipher of `openssl enc`, and how often an instruction runs for each of its blocks.
struct Case {
    cipher: String,
    mode: &'static str,
    /// Bits.
    key: usize,
    iv: usize,
    /// Bytes.
    block: usize,
    instruction: &'static str,
    each: u64,
}

fn cases() -> Vec<Case> {
    let iv = |mode, bits| if mode == "ecb" { 0 } else { bits };
    let mut cases = Vec::new();
    for (key, each) in [(128, 2), (192, 3), (256, 3)] {
        for mode in ["ecb", "cbc", "ctr", "cfb", "ofb", "cfb8", "cfb1"] {
            let cipher = format!("camellia-{key}-{mode}");
            cases.push(Case {
                cipher,
                mode,
                key,
                iv: iv(mode, 128),
                block: 16,
                instruction: "camellia_fl",
                each,
            });
        }
    }
    // Triple DES has 16 rounds three times, two to an instruction. The library has T4 code for CBC only.
    for (cipher, mode) in [
        ("des-ede3-cbc", "cbc"),
        ("des-ede3", "ecb"),
        ("des-ede3-cfb", "cfb"),
        ("des-ede3-cfb8", "cfb8"),
        ("des-ede3-cfb1", "cfb1"),
        ("des-ede3-ofb", "ofb"),
    ] {
        let each = if mode == "cbc" { 24 } else { 0 };
        cases.push(Case {
            cipher: cipher.into(),
            mode,
            key: 192,
            iv: iv(mode, 64),
            block: 8,
            instruction: "des_round",
            each,
        });
    }
    cases
}

fn digests(series: u32) {
    let openssl = SparcOpenSsl::newest(series, "openssl");
    let digests = [
        ("md5", "md5", 64),
        ("sha1", "sha1", 64),
        ("sha224", "sha256", 64),
        ("sha256", "sha256", 64),
        ("sha384", "sha512", 128),
        ("sha512", "sha512", 128),
    ];
    for (digest, instruction, block) in digests {
        for len in [0, 55, 56, 64, 111, 112, 100_003] {
            let text = bytes(len);
            let words = format!("dgst -r -{digest}");
            let (ended, executed) = openssl.run(&[], &words, &text);
            assert_eq!(ended.good(), host(&words, &text), "{words}, {len} bytes");
            // FIPS 180-4 §5.1 appends a bit, and the length in an eighth of the block.
            let compressions = (len + 1 + block / 8).div_ceil(block) as u64;
            // The start-up computes nothing with this instruction.
            assert_eq!(
                executed.count(instruction),
                compressions,
                "{words}, {len} bytes: {:?}",
                executed.crypto()
            );
        }
    }
}

fn rsa(series: u32) {
    let openssl = SparcOpenSsl::newest(series, "openssl");
    openssl.place().write("digest", bytes(32));
    for bits in [1024_u64, 1536, 2048, 3072, 4096] {
        let key = host(&format!("genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:{bits}"), b"");
        let path = openssl.place().write("key.pem", key);
        let sign = "pkeyutl -sign -inkey key.pem -in digest -pkeyopt digest:sha256";
        let host_words = sign.replace("key.pem", path.to_str().unwrap());
        let digest = openssl.place().path("digest");
        let expected = host(&host_words.replace("-in digest", &format!("-in {}", digest.display())), b"");
        let (ended, executed) = openssl.run(&[], sign, b"");
        assert!(ended.good() == expected, "RSA-{bits}: another signature than the host's");
        // There is a squaring for each bit of both exponents, if OpenSSL has T4 code for the size of the
        // halves of the Chinese remainder theorem. With 1536 bits only the blinding has.
        let fits = [512, 1024, 1536, 2048].contains(&(bits / 2));
        let squarings = executed.count("montsqr");
        assert_eq!(squarings > bits * 9 / 10, fits, "RSA-{bits}: {:?}", executed.crypto());
        assert!(squarings > 0 && executed.count("montmul") > 0, "RSA-{bits}: {:?}", executed.crypto());
        let (ended, executed) = openssl.run(&["--hwcap", WITHOUT_CRYPTO], sign, b"");
        assert!(ended.good() == expected, "RSA-{bits} without montmul: another signature");
        assert_eq!(executed.crypto(), []);

        openssl.place().write("signature", &expected);
        let verify = "pkeyutl -verify -inkey key.pem -in digest -sigfile signature -pkeyopt digest:sha256";
        let (ended, executed) = openssl.run(&[], verify, b"");
        assert!(ended.text().contains("Verified Successfully"), "RSA-{bits}");
        let fits = [512, 1024, 1536, 2048].contains(&bits);
        assert_eq!(
            executed.count("montmul") + executed.count("montsqr") > 0,
            fits,
            "RSA-{bits}: {:?}",
            executed.crypto()
        );
        let mut wrong = expected.clone();
        wrong[7] ^= 1;
        openssl.place().write("signature", &wrong);
        let (ended, _) = openssl.run(&[], verify, b"");
        assert_eq!(ended.code, Some(1), "RSA-{bits}: a wrong signature: {}", ended.err);
    }
}

/// Checks the alarm, the clock, and the instructions of a second's work.
fn speed(series: u32) {
    let openssl = SparcOpenSsl::newest(series, "openssl");
    let words = "speed -mr -seconds 1 -bytes 1024 -evp aes-128-cbc";
    let (ended, executed) = openssl.run(&[], words, b"");
    let err = ended.err.clone();
    let text = ended.text();
    let figures =
        text.lines().find_map(|line| line.strip_prefix("+F:")).unwrap_or_else(|| panic!("{text}\n{err}"));
    let rate: f64 = figures.split(':').next_back().and_then(|n| n.parse().ok()).expect("a figure");
    assert!(rate > 1e6, "{rate} bytes a second");
    let blocks = executed.count("aes_eround01_l");
    assert!(blocks > 10_000, "{blocks} blocks");
    assert!(executed.instructions() > 20 * blocks);
}

/// Returns Debian's busybox, compiled for SPARC with a few of its commands. The first caller compiles it.
#[track_caller]
fn busybox() -> PathBuf {
    const COMMANDS: &[&str] =
        &["SHA256SUM", "MD5SUM", "SORT", "GZIP", "GUNZIP", "WC", "CAT", "LS", "DD", "SED"];
    let folder = target().join("busybox-sparc64");
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let built = folder.join("busybox");
    if !built.exists() {
        let work = folder.join("building");
        let _ = std::fs::remove_dir_all(&work);
        std::fs::create_dir_all(&work).unwrap();
        let source = debian_source(&work, "busybox");
        let make = |words: &[&str]| {
            let mut make = Command::new(program("make"));
            make.args(["ARCH=sparc64", "CROSS_COMPILE=sparc64-linux-gnu-"]).args(words).current_dir(&source);
            run(&mut make, b"").good();
        };
        make(&["allnoconfig"]);
        let path = source.join(".config");
        let mut text = std::fs::read_to_string(&path).unwrap();
        let options = ["STATIC", "FEATURE_FANCY_SORT", "FEATURE_SORT_BIG", "LONG_OPTS"];
        for option in COMMANDS.iter().chain(&options) {
            text = text.replace(&format!("# CONFIG_{option} is not set"), &format!("CONFIG_{option}=y"));
        }
        std::fs::write(&path, text).unwrap();
        // Options that depend on those keep their defaults.
        make(&["silentoldconfig", "KCONFIG_NOTIMESTAMP=1"]);
        make(&["-j2", "busybox"]);
        std::fs::rename(source.join("busybox"), &built).unwrap();
        std::fs::remove_dir_all(&work).unwrap();
    }
    built
}

/// Programs that nobody here wrote behave like the host's of the same names. They take a minute to compile, so this test runs with `--deep` only.
#[test]
fn long_newest_busybox() {
    let busybox = busybox();
    let place = Place::new();
    place.write("data", bytes(100_003));
    let lines: String = (0..2000_u64).map(|i| format!("{} line\n", i * 7919 % 2003)).collect();
    place.write("lines", lines);
    for words in [
        "sha256sum data lines",
        "md5sum data",
        "sort -n lines",
        "wc -l lines",
        "sed -n s/line/row/p lines",
        "dd if=data bs=1000 skip=3 count=50",
        "cat lines data",
    ] {
        let mut theirs = Command::new("sh");
        let expected =
            run(theirs.arg("-c").arg(format!("LC_ALL=C {words}")).current_dir(place.folder()), b"").good();
        for cpu in ["ultrasparc2", "t4"] {
            let mut ours = Command::new(&built().millstream);
            ours.args(["sparc", "--cpu", cpu]).arg(&busybox).args(words.split_whitespace());
            let got = run(ours.current_dir(place.folder()), b"").good();
            assert!(got == expected, "{words} on {cpu}: not what the host's gives");
        }
    }
    let mut gzip = Command::new(&built().millstream);
    gzip.arg("sparc").arg(&busybox).args(["gzip", "-c", "data"]);
    let packed = run(gzip.current_dir(place.folder()), b"").good();
    assert!(run(Command::new("gunzip").arg("-c"), &packed).good() == bytes(100_003));
}

/// Makes a certificate that both sides know.
fn certificate(openssl: &SparcOpenSsl) {
    let folder = openssl.place().folder().display().to_string();
    host(
        &format!(
            "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
             -keyout {folder}/server.key -out {folder}/server.pem"
        ),
        b"",
    );
}

const SERVER: &str = "s_server -quiet -www -cert server.pem -key server.key -accept";
const CLIENT: &str = "s_client -quiet -verify_return_error -servername localhost -CAfile server.pem -connect";

/// Asks a server until it answers, and requires its page.
#[track_caller]
fn ask(mut client: impl FnMut() -> Command) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let ended = run(&mut client(), b"GET / HTTP/1.0\r\n\r\n");
        let text = String::from_utf8_lossy(&ended.out).into_owned();
        if text.contains("Secure Renegotiation") || text.contains("s_server") {
            return;
        }
        assert!(Instant::now() < end, "no page:\n{text}\n{}", ended.err);
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn tls_server(series: u32) {
    let openssl = SparcOpenSsl::newest(series, "openssl");
    certificate(&openssl);
    for protocol in
        ["-tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256", "-tls1_2 -cipher ECDHE-RSA-AES256-SHA384"]
    {
        let port = free_port();
        let mut server = openssl.command(&[], &format!("{SERVER} {port}"));
        let _server = Running::start(server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        ask(|| {
            let mut client = Command::new(program("openssl"));
            client.args(format!("{CLIENT} localhost:{port} {protocol}").split_whitespace());
            client.current_dir(openssl.place().folder());
            client
        });
    }
}

fn tls_client(series: u32) {
    let openssl = SparcOpenSsl::newest(series, "openssl");
    certificate(&openssl);
    let port = free_port();
    let mut server = Command::new(program("openssl"));
    server.args(format!("{SERVER} {port}").split_whitespace()).current_dir(openssl.place().folder());
    let server = Running::start(server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    eventually("the server listens", || std::net::TcpStream::connect(("localhost", port)).is_ok());
    ask(|| {
        openssl.counting(&[], &format!("{CLIENT} localhost:{port} -tls1_2 -cipher ECDHE-RSA-AES128-SHA256"))
    });
    let executed = openssl.executed();
    for instruction in ["aes_eround01_l", "aes_dround01_l", "sha256", "montsqr"] {
        assert!(executed.count(instruction) > 0, "{instruction}: {:?}", executed.crypto());
    }
    drop(server);
}
