//! Two network namespaces with a wire between them, and a data plane in each.

use std::process::{Command, Stdio};

use crate::common::{MILLSTREAM, Place};

/// Makes two namespaces with a wire between them, and a data plane in each, whose options are in OPTIONS.
pub const BEGIN: &str = r#"
set -eu
# What IPv6 says by itself would be counted.
quiet='for where in all default; do echo 1 > /proc/sys/net/ipv6/conf/$where/disable_ipv6 || true; done'
sh -c "$quiet"; ip link set lo up
unshare -n sleep 600 & OTHER=$!
until [ "$(readlink /proc/$OTHER/ns/net)" != "$(readlink /proc/self/ns/net)" ] && [ "$(cat /proc/$OTHER/comm)" = sleep ]; do sleep 0.01; done
there() { nsenter -t $OTHER -n "$@"; }
ip link add wire type veth peer name wire2
ip link set wire2 netns $OTHER
ip addr add 192.0.2.1/24 dev wire; ip link set wire up
there sh -c "$quiet"; there ip link set lo up; there ip addr add 192.0.2.2/24 dev wire2; there ip link set wire2 up
# The network of each end is behind its own device.
begin_a() {
    $MILLSTREAM esp run ${FROM:---sa ${SA_A:-sa.conf}} --state a.state --control a.sock $OPTIONS $OPTIONS_A 2>>a.log & A=$!
    until $MILLSTREAM esp show --control a.sock >/dev/null 2>&1; do kill -0 $A; sleep 0.02; done
    ip addr add 10.1.0.1/24 dev esp0; ip route add 10.2.0.0/24 dev esp0
}
begin_b() {
    there $MILLSTREAM esp run --sa sa.conf --state b.state --control b.sock $OPTIONS 2>>b.log & B=$!
    until $MILLSTREAM esp show --control b.sock >/dev/null 2>&1; do kill -0 $B; sleep 0.02; done
    there ip addr add 10.2.0.1/24 dev esp0; there ip route add 10.1.0.0/24 dev esp0
}
show() { $MILLSTREAM esp show --json --control $1.sock; }
# All are sent at once: after the last one, ping waits no longer than between two.
through() { ping -q -c "$1" -l "$1" -i 20 -W 20 10.2.0.1 $2 | tee ping.log | grep -q " $1 received" || { cat ping.log a.log b.log; show a; show b; exit 1; }; }
"#;

/// Runs a script in new user and network namespaces, and before both data planes begin another one. The options are those of both ends, and
/// those of the first alone. Returns what it wrote, or nothing where that can't be had.
pub fn run(test: &str, place: &Place, options: [&str; 2], before: &str, script: &str) -> Option<String> {
    let can = "ip tuntap add probe mode tun && ip link add wire type veth && command -v ping nsenter";
    let unshare = |script: &str| {
        // The first process of a namespace of processes takes all others with it, and `unshare` passes over every signal but this one.
        let mut command = Command::new("timeout");
        command.args([
            "--signal=KILL",
            "120",
            "unshare",
            "--user",
            "--map-root-user",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
        ]);
        command.args(["--mount-proc", "bash", "-c", script]).current_dir(place.path("."));
        command.env("MILLSTREAM", MILLSTREAM).env("OPTIONS", options[0]).env("OPTIONS_A", options[1]);
        command.stdin(Stdio::null());
        command.output()
    };
    if !unshare(can).is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED {test}: this needs user namespaces, TUN devices, and iproute2, ping and nsenter");
        return None;
    }
    let ended = unshare(&format!("{BEGIN}{before}\nbegin_a; begin_b\n{script}")).unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    let last = err.lines().chain(out.lines()).last().unwrap_or("");
    assert!(ended.status.success(), "{:?}, {last}\n{out}\n{err}", ended.status);
    Some(out.into_owned())
}

/// The two directions of a tunnel, with keys of their own, which depend on `round`.
pub fn pair(round: u8, algorithms: &str, more: &str) -> String {
    let end = |source: u8, destination: u8| {
        let key = |len: usize| -> String {
            let byte = |i: usize| (i as u8).wrapping_mul(7) ^ source << 4 ^ round;
            (0..len).map(|i| format!("{:02x}", byte(i))).collect()
        };
        let mut line = algorithms.to_owned();
        for len in [64, 48, 36, 32, 24, 20, 16] {
            line = line.replace(&format!("KEY{len}"), &format!("0x{}", key(len)));
        }
        format!(
            "src 192.0.2.{source} dst 192.0.2.{destination}\n proto esp spi 0xc0de{round:02x}0{source} reqid 1 mode tunnel\n {line}\n {more}\n"
        )
    };
    end(1, 2) + &end(2, 1)
}

pub const GCM: &str = "aead rfc4106(gcm(aes)) KEY20 128";
pub const IN_UDP: &str = "encap type espinudp sport 4500 dport 4500 addr 0.0.0.0";

pub fn number(report: &serde_json::Value, direction: &str, what: &str) -> u64 {
    let all = report["associations"].as_array().unwrap();
    all.iter().filter(|sa| sa["direction"] == direction).map(|sa| sa[what].as_u64().unwrap()).sum()
}

/// Returns the only association of a direction.
pub fn one<'r>(report: &'r serde_json::Value, direction: &str) -> &'r serde_json::Value {
    let all = report["associations"].as_array().unwrap();
    all.iter().find(|sa| sa["direction"] == direction).unwrap()
}

pub fn reports(out: &str) -> Vec<serde_json::Value> {
    serde_json::Deserializer::from_str(out).into_iter().map(Result::unwrap).collect()
}

/// Keeps what is sent to the other end, and sends it again with some changes.
pub const ATTACK: &str = r#"
import socket, sys

if sys.argv[1] == "watch":
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    wire.bind((sys.argv[2], 0))
    wire.settimeout(60)
    open("watching", "w").close()
    seen = []
    while len(seen) < int(sys.argv[3]):
        packet = wire.recv(65536)
        if packet[9] == 17 and packet[12:16] == bytes([192, 0, 2, 1]):
            seen.append(packet[28:])
    print("\n".join(packet.hex() for packet in seen), flush=True)
else:
    seen = [bytes.fromhex(line) for line in sys.stdin]
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.bind(("192.0.2.1", int(sys.argv[2])))
    last = seen[-1]
    new = last[:4] + (int.from_bytes(last[4:8], "big") + 1).to_bytes(4, "big")
    packets = [
        last, seen[0],                                  # a replay, and one that is left of the window
        new + last[8:], new + bytes(60000),             # another number, and the longest forgery
        last[:8], new + last[8:20], new + last[8:-1],   # cut ones
        b"\xc0\xde\xff\xff" + last[4:], b"\xc0\xde",    # nobody's, and no SPI
        bytes(4) + last, b"\xff",                       # IKE's, and a keep-alive
    ]
    for packet in packets:
        peer.sendto(packet, ("192.0.2.2", 4500))
"#;
