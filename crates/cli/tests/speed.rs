//! `speed`: the real command, for tiny times, against the real OpenSSL and SoftHSM.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Ended, MILLSTREAM, Place, ended};
use millstream_testkit::skip;
use serde_json::Value;

const TINY: &str = "--seconds 0.0001";
const SOFTHSM: &str = "/usr/lib/softhsm/libsofthsm2.so";

fn json(place: &Place, line: &str) -> Value {
    let text = place.words(&format!("speed {TINY} --json {line}")).text();
    serde_json::from_str(&text).unwrap()
}

/// Returns the values of one field in all results, once each, in order.
fn distinct(report: &Value, field: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for cell in report["results"].as_array().unwrap() {
        let value = cell[field].as_str().map_or_else(|| cell[field].to_string(), str::to_owned);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Returns whether the system has OpenSSL 3.
fn has_openssl(place: &Place) -> bool {
    let there = place.words(&format!("speed {TINY} --bytes 16 --ways openssl sha256")).code == Some(0);
    if !there {
        skip("speed beside OpenSSL: there is no libcrypto.so.3");
    }
    there
}

#[test]
fn a_table_has_the_columns_of_openssl_speed_and_a_line_for_each_way() {
    let place = Place::new();
    let text = place.words(&format!("speed {TINY} --ways direct aes-128-gcm sha256")).text();
    let titles =
        ["GB a second", "operations a second", "ns an object", "cycles an object", "latency p50", "p99"];
    let mut tables = 0;
    for line in text.lines().filter(|line| titles.iter().any(|title| line.contains(title))) {
        let words: Vec<&str> = line.rsplit("  ").collect();
        assert!(words[0].ends_with("16384 bytes"), "{line}");
        for bytes in ["16", "64", "256", "1024", "8192"] {
            assert!(words.iter().any(|word| word.trim() == bytes), "no {bytes} in {line}");
        }
        tables += 1;
    }
    assert_eq!(tables, 2 * titles.len(), "{text}");
    let columns = |line: &str| line.split("  ").filter(|word| !word.trim().is_empty()).count();
    let figures = text.lines().filter(|line| line.starts_with("  direct") && !line.contains("in flight"));
    assert!(figures.clone().all(|line| columns(line) == 8), "{text}");
    assert_eq!(figures.count(), tables);
    assert!(text.contains(&millstream_cpu::processor_name()), "{text}");
    let kernel = millstream_engines::gcm::GCM.best(millstream_cpu::Features::hardware()).kernel().name;
    assert!(text.contains(kernel), "{text}");
}

#[test]
fn only_what_is_asked_for_is_shown() {
    let place = Place::new();
    let text = place.words(&format!("speed {TINY} --ways direct --show kb --bytes 64 crc32c")).text();
    assert!(text.contains("1000s of bytes a second") && !text.contains("ns an object"), "{text}");
    assert!(text.lines().last().unwrap().ends_with('k'), "{text}");
    // With many lengths, each has a line.
    let text = place.words(&format!("speed {TINY} --ways direct --show ns --bytes 1-20 crc32c")).text();
    let numbers = |line: &&str| line.split_whitespace().all(|word| word.parse::<f64>().is_ok());
    let lines = text.lines().filter(|line| !line.is_empty()).filter(numbers).count();
    assert_eq!(lines, 20, "{text}");
}

#[test]
fn json_has_every_figure_for_every_cell() {
    let place = Place::new();
    let report = json(&place, "--ways direct --bytes 16-64:16,imix aes-*-ctr hmac-sha1");
    assert_eq!(report["version"], 1);
    assert_eq!(distinct(&report, "algorithm"), ["aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "hmac-sha1"]);
    assert_eq!(distinct(&report, "bytes"), ["16", "32", "48", "64", "imix"]);
    let cells = report["results"].as_array().unwrap();
    assert_eq!(cells.len(), 4 * 5);
    for cell in cells {
        let number = |field: &str| cell[field].as_f64().unwrap_or_else(|| panic!("no {field} in {cell:#}"));
        for field in ["gb_per_s", "objects_per_s", "ns_per_object", "p50_ns", "p99_ns", "mean_bytes"] {
            assert!(number(field) > 0.0 || field.starts_with('p'), "{field}: {cell:#}");
        }
        let gb = number("objects_per_s") * number("mean_bytes") / 1e9;
        assert!((number("gb_per_s") / gb - 1.0).abs() < 1e-3, "{cell:#}");
        assert!((number("ns_per_object") * number("objects_per_s") / 1e9 - 1.0).abs() < 1e-3, "{cell:#}");
        assert_eq!(cell["cycles_per_object"].is_number(), cfg!(target_arch = "x86_64"), "{cell:#}");
        assert!(number("p50_ns") <= number("p99_ns"), "{cell:#}");
    }
}

#[test]
fn csv_has_the_same_fields_in_columns() {
    let place = Place::new();
    let line = format!("speed {TINY} --csv --ways direct --bytes 8,16 3des-cbc+hmac-md5 aes-128-cbc");
    let text = place.words(&line).text();
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    let header: Vec<&str> = lines[0].split(',').collect();
    let report = json(&place, "--ways direct --bytes 16 aes-128-cbc");
    let fields = report["results"][0].as_object().unwrap();
    assert_eq!(header.len(), fields.len());
    assert!(header.iter().all(|name| fields.contains_key(*name)), "{header:?}");
    // AES in CBC takes no objects of 8 bytes.
    assert_eq!(lines.len(), 1 + 2 + 1, "{text}");
    assert!(lines[1..].iter().all(|line| line.split(',').count() == header.len()), "{text}");
    assert!(lines[3].starts_with("aes-128-cbc,encrypt,16,"), "{text}");
}

#[test]
fn a_plot_is_whole_or_not_there() {
    let place = Place::new();
    let line = "--ways direct --bytes 16-1024:x4 --plot curve.svg aes-128-gcm sha256";
    place.words(&format!("speed {TINY} {line}")).good();
    let text = String::from_utf8(place.read("curve.svg")).unwrap();
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
    assert_eq!(text.matches('<').count(), text.matches('>').count());
    for word in ["aes-128-gcm", "sha256", "direct", "bytes", "GB a second"] {
        assert!(text.contains(word), "no '{word}' in the picture");
    }
    assert!(text.contains("<polyline"));
    // No picture is left after an error, or where there is no place for it.
    place
        .words(&format!("speed {TINY} --plot other.svg --openssl /nonexistent sha256"))
        .bad(1, &["/nonexistent"]);
    let nowhere = format!("speed {TINY} --ways direct --bytes 16 --plot missing/other.svg sha256");
    place.words(&nowhere).bad(1, &["missing/other.svg", "No such file"]);
    assert_eq!(place.names(), ["curve.svg"]);
}

#[test]
fn several_threads_and_decryption() {
    let place = Place::new();
    let report = json(&place, "--ways direct --bytes 64,imix --threads 3 -d aes-256-gcm sha256 des-cbc");
    // A digest can't be undone.
    assert_eq!(distinct(&report, "algorithm"), ["aes-256-gcm", "des-cbc"]);
    assert_eq!(distinct(&report, "direction"), ["decrypt"]);
    assert_eq!(distinct(&report, "threads"), ["3"]);
    place.words("speed -d sha256").bad(2, &["sha256", "--decrypt"]);
}

#[test]
fn wrong_calls_say_what_would_be_right() {
    let place = Place::new();
    place.words("speed aes-129-gcm").bad(1, &["aes-129-gcm", "millstream speed -l"]);
    place.words("speed sha256 nothing-*").bad(1, &["nothing-*", "-l"]);
    place.words("speed --bytes 64-1500:0 sha256").bad(2, &["64-1500:4", "imix"]);
    place.words("speed --bytes 7 aes-128-cbc").bad(2, &["--bytes 64"]);
    place.words("speed --seconds 0 sha256").bad(2, &["more than 0"]);
    place.words("speed --ways pkcs11 sha256").bad(2, &["--pkcs11"]);
    place.words("speed --ways quantum sha256").bad(2, &["direct", "openssl-oneshot"]);
    place.words("speed --history sha256").bad(2, &["--history"]);
    place.words("speed --json --csv sha256").bad(2, &["--csv"]);
    place.words("speed --pkcs11 /nonexistent sha256").bad(1, &["/nonexistent", "libsofthsm2.so"]);
    let libm = format!("speed {TINY} --pkcs11 libm.so.6 sha256");
    place.words(&libm).bad(1, &["libm.so.6", "not a PKCS #11 module"]);
    let libm = format!("speed {TINY} --openssl libm.so.6 sha256");
    place.words(&libm).bad(1, &["libm.so.6", "not OpenSSL 3", "--openssl"]);
}

#[test]
fn the_list_names_what_can_be_measured() {
    let place = Place::new();
    let text = place.words("speed --list").text();
    for name in ["aes-128-gcm", "3des-cbc+hmac-md5", "hmac-sha512-256", "kasumi-f9", "ip-checksum"] {
        assert!(text.lines().any(|line| line == name), "{name}: {text}");
    }
    let report = json(&place, "--ways direct --bytes 32 all");
    assert_eq!(distinct(&report, "algorithm"), text.lines().collect::<Vec<_>>());
}

#[test]
fn a_mask_is_told_and_takes_effect() {
    let mut command = Command::new("env");
    command.arg("MILLSTREAM_HWCAP=-aes").arg(MILLSTREAM);
    command.args(["speed", "--seconds", "0.0001", "--ways", "direct", "--bytes", "16", "aes-128-cbc"]);
    let text = ended(&mut command, b"").text();
    let hardware = millstream_cpu::Features::hardware();
    let aes = millstream_cpu::Feature::Aes.into();
    if hardware.contains(aes) {
        assert!(text.contains("Masked     aes"), "{text}");
    }
    let kernel = millstream_engines::aes::CBC.best(hardware.without(aes)).kernel().name;
    assert!(text.contains(&format!("in flight  {kernel}")), "{text}");
}

#[test]
fn the_way_of_queues_is_told_and_an_unknown_one_is_refused() {
    let speed = |way: &str| {
        let mut command = Command::new("env");
        command.arg(format!("MILLSTREAM_QUEUE={way}")).arg(MILLSTREAM);
        command.args(["speed", "--seconds", "0.0001", "--ways", "queue", "--bytes", "16", "aes-128-cbc"]);
        ended(&mut command, b"")
    };
    let told = "on the general way";
    assert!(speed("general").text().contains(told));
    assert!(!speed("").text().contains(told));
    speed("generl").bad(2, &["MILLSTREAM_QUEUE", "'generl'", "known is general"]);
}

#[test]
fn batches_and_queues_agree_on_everything_at_every_depth() {
    let place = Place::new();
    let all = place.words("speed --list").text();
    for direction in ["", "-d"] {
        // 65 objects fill the lanes and leave one over.
        let line = format!("--ways direct,batch,queue --depth 1,5,65 --bytes 48,imix {direction} all");
        let report = json(&place, &line);
        assert_eq!(distinct(&report, "way"), ["direct", "batch", "queue"]);
        assert_eq!(distinct(&report, "in_flight"), ["1", "5", "65"]);
        let names = distinct(&report, "algorithm");
        assert_eq!(report["results"].as_array().unwrap().len(), names.len() * 2 * (1 + 2 * 3));
        assert!(direction == "-d" || names == all.lines().collect::<Vec<_>>(), "{names:?}");
    }
    let report = json(&place, "--ways queue-thread --threads 2 --depth 4 --bytes 64 aes-128-gcm sha1 crc32c");
    assert_eq!(distinct(&report, "way"), ["queue-thread"]);
    place.words("speed --depth 0 sha256").bad(2, &["--depth"]);
    place.words("speed --depth 4001,4003 --bytes 16384 sha256").bad(2, &["multiples of each other"]);
}

#[test]
fn openssl_agrees_on_everything_it_knows() {
    let place = Place::new();
    if !has_openssl(&place) {
        return;
    }
    for direction in ["", "-d"] {
        let report = json(&place, &format!("--ways openssl,openssl-oneshot --bytes 16,imix {direction} all"));
        assert_eq!(distinct(&report, "way"), ["openssl", "openssl-oneshot"]);
        assert!(report["libraries"]["openssl"].as_str().unwrap().contains("OpenSSL 3"), "{report:#}");
        let known = distinct(&report, "algorithm");
        let least = if direction.is_empty() { 45 } else { 30 };
        assert!(known.len() > least, "only {known:?}");
        println!("{} algorithms{}", known.len(), if direction.is_empty() { "" } else { ", decrypting" });
    }
}

#[test]
fn without_openssl_the_rest_is_measured_unless_someone_insists() {
    let place = Place::new();
    place
        .words(&format!("speed {TINY} --openssl /nonexistent sha256"))
        .bad(1, &["/nonexistent", "No such file", "--ways direct"]);
    // The file that the loader finds first is no library.
    place.write("libcrypto.so.3", "");
    let mut command = Command::new(MILLSTREAM);
    command.env("LD_LIBRARY_PATH", place.path("")).args([
        "speed",
        "--seconds",
        "0.0001",
        "--bytes",
        "16",
        "sha256",
    ]);
    let text = ended(&mut command, b"").text();
    assert!(text.contains("OpenSSL    not measured: libcrypto.so.3: "), "{text}");
    assert!(text.contains("  direct  ") && !text.contains("EVP"), "{text}");
    ended(command.args(["--ways", "openssl"]), b"").bad(1, &["libcrypto.so.3", "--openssl"]);
}

/// Makes a library that lies about one algorithm: the real one with a function in front of it.
fn lying_openssl(place: &Place, source: &str) -> Option<String> {
    let source = place.write("lie.c", source);
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wno-implicit-function-declaration", "-o"])
        .arg(place.path("lie.so"))
        .arg(source)
        .args(["-Wl,--no-as-needed", "-l:libcrypto.so.3"])
        .output();
    match made {
        Ok(made) if made.status.success() => Some(place.path("lie.so").display().to_string()),
        _ => {
            skip("speed beside an OpenSSL that lies: cc or libcrypto.so.3 is missing");
            None
        }
    }
}

#[test]
fn a_wrong_result_names_who_gave_it_and_nothing_is_printed() {
    let place = Place::new();
    if !has_openssl(&place) {
        return;
    }
    let wrong = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        int EVP_DigestFinal_ex(void *ctx, unsigned char *out, unsigned *len) {
            int (*real)(void *, unsigned char *, unsigned *) = dlsym(RTLD_NEXT, "EVP_DigestFinal_ex");
            if (!real) real = dlsym(dlopen("libcrypto.so.3", RTLD_NOW), "EVP_DigestFinal_ex");
            int good = real(ctx, out, len);
            out[3] ^= 1;
            return good;
        }"#;
    let Some(lie) = lying_openssl(&place, wrong) else { return };
    for output in ["", "--json", "--csv --plot p.svg"] {
        let line = format!("speed {TINY} --bytes 64 --openssl {lie} {output} aes-128-gcm sha256");
        let words = ["sha256 of 64 bytes", "openssl (EVP_Digest)", "direct (", "byte 3", "nothing was timed"];
        place.words(&line).bad(1, &words);
    }
    assert_eq!(place.names(), ["lie.c", "lie.so"]);
    let refuses = "int EVP_DigestUpdate(void *ctx, void *in, unsigned long len) { return 0; }";
    let Some(lie) = lying_openssl(&place, refuses) else { return };
    let line = format!("speed {TINY} --bytes 64 --openssl {lie} sha256");
    place.words(&line).bad(1, &["sha256 of 64 bytes", "openssl (EVP_Digest) refused"]);
}

/// Makes a token of SoftHSM in this directory, with the PIN 1234.
fn token(place: &Place) -> Option<String> {
    if !Path::new(SOFTHSM).exists() || Command::new("softhsm2-util").arg("--version").output().is_err() {
        skip("speed beside PKCS #11: SoftHSM is missing (apt-get install softhsm2)");
        return None;
    }
    std::fs::create_dir(place.path("tokens")).unwrap();
    let tokens = place.path("tokens").display().to_string();
    let config =
        place.write("softhsm2.conf", format!("directories.tokendir = {tokens}\nlog.level = ERROR\n"));
    let config = config.display().to_string();
    let made = Command::new("softhsm2-util")
        .args(["--init-token", "--free", "--label", "test", "--so-pin", "12345678", "--pin", "1234"])
        .env("SOFTHSM2_CONF", &config)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    Some(config)
}

fn with_token(config: &str, line: &str) -> Ended {
    let mut command = Command::new(MILLSTREAM);
    command.env("SOFTHSM2_CONF", config).args(["speed", "--seconds", "0.0001", "--pkcs11", SOFTHSM]);
    ended(command.args(line.split_whitespace()), b"")
}

#[test]
fn softhsm_agrees_on_everything_it_knows() {
    let place = Place::new();
    let Some(config) = token(&place) else { return };
    let pin = place.key("pin", "1234\n").display().to_string();
    for direction in ["", "-d"] {
        let line = format!("--pin-file {pin} --ways pkcs11 --bytes 16,imix {direction} --json all");
        let report: Value = serde_json::from_str(&with_token(&config, &line).text()).unwrap();
        assert!(report["libraries"]["pkcs11"].as_str().unwrap().contains("'test'"), "{report:#}");
        let known = distinct(&report, "algorithm");
        for name in ["aes-128-ecb", "aes-256-cbc", "aes-192-ctr", "aes-256-gcm", "3des-cbc"] {
            assert!(known.iter().any(|own| own == name), "no {name} in {known:?}");
        }
        if direction.is_empty() {
            for name in ["sha1", "sha512", "hmac-md5", "hmac-sha512", "3des-cbc+hmac-md5"] {
                assert!(known.iter().any(|own| own == name), "no {name} in {known:?}");
            }
        }
    }
    let text =
        with_token(&config, "--pin 1234 --threads 2 --bytes 64 --ways direct,pkcs11 aes-128-cbc").text();
    assert!(text.contains("SoftHSM") && text.contains("C_EncryptInit C_Encrypt"), "{text}");
    let text = with_token(&config, "--pin 1234 --history").text();
    assert!(text.contains("direct over pkcs11"), "{text}");
}

#[test]
fn a_token_that_can_not_be_used_says_why() {
    let place = Place::new();
    let Some(config) = token(&place) else { return };
    with_token(&config, "--pin 4321 aes-128-cbc").bad(1, &["the PIN is wrong", "--pin"]);
    with_token(&config, "aes-128-cbc").bad(1, &["'test' asks for a PIN", "--pin-file"]);
    with_token(&config, "--token other --pin 1234 aes-128-cbc")
        .bad(1, &["no token 'other'", "'test'", "--token"]);
    // A digest needs no login.
    with_token(&config, "--token test --ways pkcs11 --bytes 64 sha256").good();
}

#[test]
fn history_has_their_figures_beside_ours() {
    let place = Place::new();
    let text = place.words(&format!("speed {TINY} --history --ways direct")).err;
    assert!(text.contains("--history"), "{text}");
    let text = place.words(&format!("speed {TINY} --history --plot h.svg")).text();
    for figure in ["4.7 times", "1019", "89.2", "487777", "993599", "11.4", "15.4", "almost linear"] {
        assert!(text.contains(figure), "no '{figure}' in {text}");
    }
    for row in [
        "queue over direct",
        "batch over direct",
        "direct, with",
        "MILLSTREAM_HWCAP=-aes",
        "over one thread",
        "outstanding",
    ] {
        assert!(text.contains(row), "no '{row}' in {text}");
    }
    // A processor or a library that can't be asked has a reason in place of the figures.
    let measured = ["openssl, with over without", "direct over openssl, without"];
    let reason = text.contains("OpenSSL without AES instructions was not measured: ");
    assert!(reason != measured.iter().all(|row| text.contains(row)), "{text}");
    let masked = text.lines().find(|line| line.contains("openssl, OPENSSL_"));
    assert!(reason || masked.is_some_and(|line| !line.contains(" -")), "{text}");
    assert!(String::from_utf8(place.read("h.svg")).unwrap().contains("Sun, built in"));
    let report = json(&place, "--history");
    let experiments = report["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 4);
    for experiment in experiments {
        let columns = experiment["columns"]["values"].as_array().unwrap().len();
        let rows = experiment["rows"].as_array().unwrap();
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row["values"].as_array().unwrap().len() == columns)
        );
    }
}
