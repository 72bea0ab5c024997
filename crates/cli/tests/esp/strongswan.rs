//! strongSwan's data plane in user space, `kernel-libipsec`, at the other end of a tunnel.

use std::path::Path;

use crate::bed::{number, one, reports, run};
use crate::common::Place;

const CHARON: &str = "/usr/lib/ipsec/charon";

/// The plug-ins that a daemon needs, with the data plane of its own.
const PLUGINS: &str = "random nonce openssl aes sha1 sha2 hmac gcm chapoly kdf curve25519 kernel-libipsec kernel-netlink \
                       socket-default vici";

/// Has a daemon at each end agree on keys, and then takes the place of this end's, with the keys that it has written to its log.
const AGREE: &str = r#"
daemon() { # END LOCAL REMOTE INNER REMOTE-INNER
    mkdir $1
    printf 'charon {\n load = %s\n plugins { vici { socket = unix://%s/vici } }\n filelog { log { path = %s/log\n default = 1\n chd = 4\n flush_line = yes } } }\n' \
        "$PLUGINS" $PWD/$1 $PWD/$1 > $1/strongswan.conf
    cat > $1/swanctl.conf <<END
connections { t {
    version = 2
    local_addrs = $2
    remote_addrs = $3
    rekey_time = 0
    proposals = aes128-sha256-x25519
    local { auth = psk
 id = $2
 }
    remote { auth = psk
 id = $3
 }
    children { c {
        local_ts = $4/32
        remote_ts = $5/32
        rekey_time = 0
        esp_proposals = $PROPOSAL
 } } } }
secrets { ike { secret = "of the test" } }
END
}
daemon a 192.0.2.1 192.0.2.2 10.1.0.1 10.2.0.1
daemon b 192.0.2.2 192.0.2.1 10.2.0.1 10.1.0.1
ip addr add 10.1.0.1/32 dev lo; there ip addr add 10.2.0.1/32 dev lo
# The file with a daemon's number is always the same one.
begun='mount -t tmpfs tmpfs /run; exec "$0"'
STRONGSWAN_CONF=$PWD/a/strongswan.conf unshare -m sh -c "$begun" $CHARON 2>/dev/null & DAEMON=$!
STRONGSWAN_CONF=$PWD/b/strongswan.conf there unshare -m sh -c "$begun" $CHARON 2>/dev/null &
for end in a b; do
    until swanctl --stats --uri unix://$PWD/$end/vici >/dev/null 2>&1; do sleep 0.05; done
    swanctl --load-all --file $end/swanctl.conf --uri unix://$PWD/$end/vici >/dev/null
done
swanctl --initiate --child c --timeout 20 --uri unix://$PWD/a/vici > initiated || { cat initiated a/log; exit 1; }
# Nobody is told that it goes.
kill -9 $DAEMON; wait $DAEMON 2>/dev/null || true
ip addr del 10.1.0.1/32 dev lo
python3 - "$XFRM" > sa.conf <<'END'
import re, sys
log = open("a/log").read()
def key(name):
    text = log[log.index(f"{name} key =>"):].split("\n")
    count = int(re.search(r"=> (\d+) bytes", text[0])[1])
    rows = [re.search(r"\d+: ((?:[0-9A-F]{2} ){1,16})", line)[1] for line in text[1 : 1 + (count + 15) // 16]]
    return "0x" + "".join(rows).replace(" ", "").lower()[: 2 * count]
spis = re.search(r"with SPIs ([0-9a-f]{8})_i ([0-9a-f]{8})_o", log)
for who, ends, spi in ("initiator", (1, 2), spis[2]), ("responder", (2, 1), spis[1]):
    algorithms = sys.argv[1].replace("KEY", key(f"encryption {who}"))
    if "AUTH" in algorithms:
        algorithms = algorithms.replace("AUTH", key(f"integrity {who}"))
    print(f"src 192.0.2.{ends[0]} dst 192.0.2.{ends[1]} proto esp spi 0x{spi} reqid 1 mode tunnel replay-window 128 {algorithms}"
          " encap type espinudp sport 4500 dport 4500 addr 0.0.0.0")
END
chmod 600 sa.conf
begin_b() { :; }
"#;

#[test]
#[ignore = "takes long, and runs with `cargo xtask ci --deep`"]
fn long_strongswan_is_at_the_other_end() {
    let test = "long_strongswan_is_at_the_other_end";
    if !Path::new(CHARON).exists() || !Path::new("/usr/sbin/swanctl").exists() {
        println!("SKIPPED {test}: this needs strongSwan's charon, swanctl and kernel-libipsec");
        return;
    }
    for (proposal, algorithms) in [
        ("aes128gcm16", "aead rfc4106(gcm(aes)) KEY 128"),
        ("chacha20poly1305", "aead rfc7539esp(chacha20,poly1305) KEY 128"),
        ("aes256-sha256", "enc cbc(aes) KEY auth-trunc hmac(sha256) AUTH 128"),
        ("aes128ctr-sha512", "enc rfc3686(ctr(aes)) KEY auth-trunc hmac(sha512) AUTH 256"),
        ("3des-sha1", "enc cbc(des3_ede) KEY auth hmac(sha1) AUTH"),
    ] {
        let place = Place::new();
        let before =
            format!("CHARON={CHARON} PLUGINS='{PLUGINS}' PROPOSAL={proposal} XFRM='{algorithms}'\n{AGREE}");
        let script = "
through 20 ''
for size in 0 1 2 3 500 1200 1300; do through 1 \"-s $size\"; done
through 3 '-s 4000'
show a
";
        let Some(out) = run(test, &place, ["--workers 1", ""], &before, script) else { return };
        let report = &reports(&out)[0];
        // Longer pings go in fragments of the inner packet.
        assert!(number(report, "out", "packets") >= 36, "{proposal}: {report:#}");
        assert_eq!(
            number(report, "out", "packets"),
            number(report, "in", "packets"),
            "{proposal}: {report:#}"
        );
        assert_eq!(one(report, "in")["dropped"], serde_json::json!({}), "{proposal}: {report:#}");
    }
}
