//! A tunnel that is busy for long, and whose keys change all the time.

use std::fmt::Write;
use std::process::Command;

use crate::bed::{IN_UDP, number, pair, reports, run};
use crate::common::Place;

/// Streams go both ways for a minute (or the seconds that `MILLSTREAM_SOAK_SECONDS` says), while each second brings new keys with the next of
/// some suites. Nothing is dropped, nobody waits, and the processes have no more memory at the end than at the beginning.
#[test]
#[ignore = "takes long, and runs with `cargo xtask ci --deep`"]
fn long_soak_with_new_keys() {
    let test = "long_soak_with_new_keys";
    if !Command::new("iperf3").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED {test}: this needs iperf3");
        return;
    }
    let seconds: u8 =
        std::env::var("MILLSTREAM_SOAK_SECONDS").map_or(60, |seconds| seconds.parse().expect("seconds"));
    let suites = [
        "aead rfc4106(gcm(aes)) KEY20 128",
        "enc cbc(aes) KEY16\n auth-trunc hmac(sha256) KEY32 128",
        "aead rfc7539esp(chacha20,poly1305) KEY36 128",
        "enc cbc(des3_ede) KEY24\n auth hmac(sha1) KEY20",
        "enc rfc3686(ctr(aes)) KEY20\n auth-trunc hmac(sha512) KEY64 256",
    ];
    let place = Place::new();
    place.key("sa.conf", pair(0, suites[0], IN_UDP));
    let mut rekeys = String::new();
    for round in 1..=seconds {
        let both = pair(round, suites[usize::from(round) % suites.len()], IN_UDP);
        let (there, back) = both.split_at(both.rfind("src").unwrap());
        place.key(&format!("there{round}"), there);
        place.key(&format!("back{round}"), back);
        writeln!(rekeys, "rekey {round} {:02x} {:02x}", round - 1, round.saturating_sub(2)).unwrap();
    }
    let script = format!(
        r#"
ctl() {{ what=$1; shift; $MILLSTREAM esp $what "$@"; }}
resident() {{ for process in $A $B; do sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$process/status; done; }}
rekey() {{ # NEW LAST BEFORE
    ctl add there$1 --control b.sock; ctl add back$1 --control a.sock
    ctl add there$1 --control a.sock; ctl add back$1 --control b.sock
    # Packets of the last keys are still under way, those of the ones before are not.
    [ $1 = 1 ] || for end in a b; do for way in 1 2; do ctl del 0xc0de${{3}}0$way --control $end.sock; done; done
    sleep 1
    kill -0 $A $B $STREAM
    [ $1 != 10 ] || resident > early
}}
there iperf3 --version4 --server --one-off --json > server.json & SERVER=$!
until there grep -q ':1451 00000000:0000 0A' /proc/net/tcp; do kill -0 $SERVER; sleep 0.02; done
iperf3 --client 10.2.0.1 --bidir --json --time {time} --interval 1 > client.json & STREAM=$!
{rekeys}
resident > late
[ -e early ] || cp late early
kill $STREAM $SERVER 2>/dev/null || true
paste early late | while read early late; do [ $late -lt $((early + 16384)) ] || {{ echo "from $early to $late KiB"; exit 1; }}; done
through 20 ''
show a; show b
"#,
        time = u32::from(seconds) * 3 + 30,
    );
    let Some(out) = run(test, &place, ["--workers 2", ""], "", &script) else { return };
    let reports = reports(&out);
    assert_eq!(reports.len(), 2, "{out}");
    for report in &reports {
        assert!(number(report, "out", "packets") >= 20, "{report:#}");
        for sa in report["associations"].as_array().unwrap() {
            assert_eq!(sa["dropped"], serde_json::json!({}), "{report:#}");
        }
        assert_eq!(
            (&report["dropped"], &report["refused"]),
            (&serde_json::json!({}), &0.into()),
            "{report:#}"
        );
    }
}
