//! A narrow path between the two ends: routers tell the sender, who tells the senders of inner packets, and nobody else is believed.

use std::process::Command;

use crate::bed::{GCM, IN_UDP, number, one, pair, reports, run};
use crate::common::Place;

/// Puts a router between the ends, whose second wire takes 1400 bytes.
const ROUTER: &str = r#"
unshare -n sleep 600 & ROUTER=$!
until [ "$(readlink /proc/$ROUTER/ns/net)" != "$(readlink /proc/self/ns/net)" ] && [ "$(cat /proc/$ROUTER/comm)" = sleep ]; do sleep 0.01; done
router() { nsenter -t $ROUTER -n "$@"; }
there ip link set wire2 netns $ROUTER
router sh -c 'for what in ip_forward conf/all/proxy_arp; do echo 1 > /proc/sys/net/ipv4/$what; done'
router ip link add far type veth peer name far2; router ip link set far2 netns $OTHER
router ip link set lo up; router ip link set wire2 up; router ip link set far mtu 1400 up
there ip link set far2 mtu 1400 up; there ip addr add 192.0.2.2/24 dev far2
# What routers say comes from here.
router ip addr add 198.51.100.1/32 dev lo
router ip route add 192.0.2.1/32 dev wire2; router ip route add 192.0.2.2/32 dev far
"#;

/// Says as a router that a packet was too big: the MTU, and what is quoted of the packet behind its header of UDP.
const ROUTER_SAYS: &str = r#"
import socket, struct, sys

def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack("!H", total ^ 0xffff)

mtu, quoted = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
ends = bytes([192, 0, 2, 1, 192, 0, 2, 2])
header = struct.pack("!BBHHHBBH", 0x45, 0, 1438, 7, 0x4000, 64, 17, 0) + ends
udp = struct.pack("!HHHH", 4500, 4500, 1418, 0)
rest = struct.pack("!HH", 0, mtu) + header + udp + quoted
message = b"\x03\x04" + checksum(b"\x03\x04\0\0" + rest) + rest
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(message, ("192.0.2.1", 0))
"#;

#[test]
fn a_narrow_path_is_found_and_senders_of_inner_packets_are_told() {
    let test = "a_narrow_path_is_found_and_senders_of_inner_packets_are_told";
    if !Command::new("python3").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED {test}: this needs python3");
        return;
    }
    let place = Place::new();
    place.key("sa.conf", pair(1, GCM, IN_UDP));
    place.write("router.py", ROUTER_SAYS);
    let script = r#"
until_said() { until show a | tr -d ' \n' | grep -q "\"path_mtus\":{\"ignored\":$1,\"learned\":$2}"; do sleep 0.02; done; }
# The first packet gets as far as the router.
ping -q -c 1 -W 0.1 -M do -s 1400 10.2.0.1 >/dev/null && exit 1
until_said 0 1
show a
# The next one gets as far as this machine's end, which knows how much would fit.
ping -c 1 -W 20 -M do -s 1400 10.2.0.1 > told || true
grep -q 'mtu = 1338' told || { cat told; exit 1; }
through 3 "-s $((1338 - 28)) -M do"
through 3 '-s 4000'
# Nobody's SPI, a number that was not sent yet, and a quotation that is too short.
router python3 router.py 600 c0deffff00000001
router python3 router.py 600 c0de010100ffffff
router python3 router.py 600 c0de0101
until_said 3 1
# Somebody who has seen a packet. The narrowest path is 1280 bytes, whatever is said.
router python3 router.py 600 c0de010100000001
until_said 3 2
# Those are cut by the kernel, which believes it.
through 3 "-s $((1218 - 28)) -M do"
show a
"#;
    let Some(out) = run(test, &place, ["", ""], ROUTER, script) else { return };
    let reports = reports(&out);
    let [learned, last] = &reports[..] else { panic!("{out}") };
    let of = |report, what: &str| one(report, "out")[what].clone();
    assert_eq!((of(learned, "path_mtu"), of(learned, "longest")), (1400.into(), 1338.into()), "{learned:#}");
    assert_eq!((of(last, "path_mtu"), of(last, "longest")), (1280.into(), 1218.into()), "{last:#}");
    assert_eq!(of(last, "dropped"), serde_json::json!({ "too_big": 1 }), "{last:#}");

    // Without belief in ICMP routers may cut.
    let script = "through 3 '-s 1400 -M do'; show a";
    let Some(out) = run(test, &place, ["--least-path-mtu 0", ""], ROUTER, script) else { return };
    let report = &self::reports(&out)[0];
    assert_eq!(report["path_mtus"], serde_json::json!({ "learned": 0, "ignored": 0 }));
    assert_eq!((number(report, "out", "packets"), number(report, "in", "packets")), (3, 3), "{report:#}");
}

/// The same between ends with addresses of IPv6.
const ROUTER_V6: &str = r#"
unshare -n sleep 600 & ROUTER=$!
until [ "$(readlink /proc/$ROUTER/ns/net)" != "$(readlink /proc/self/ns/net)" ] && [ "$(cat /proc/$ROUTER/comm)" = sleep ]; do sleep 0.01; done
router() { nsenter -t $ROUTER -n "$@"; }
there ip link set wire2 netns $ROUTER
router ip link add far type veth peer name far2; router ip link set far2 netns $OTHER
# Without a search for neighbours with the same address, which takes a second.
v6() { "$@" sh -c 'for end in lo wire wire2 far far2; do where=/proc/sys/net/ipv6/conf/$end
    [ ! -e $where ] || { echo 0 > $where/disable_ipv6; echo 0 > $where/accept_dad; }; done'; }
v6 env; v6 there; v6 router
router sh -c 'ip link set lo up; ip link set wire2 up; ip link set far mtu 1400 up; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'
there ip link set far2 mtu 1400 up
ip addr add fd00:1::1/64 dev wire; router ip addr add fd00:1::ff/64 dev wire2
router ip addr add fd00:2::ff/64 dev far; there ip addr add fd00:2::1/64 dev far2
ip route add fd00:2::/64 via fd00:1::ff; there ip route add fd00:1::/64 via fd00:2::ff
"#;

/// Says as a router of IPv6 that a packet was too big.
const ROUTER_SAYS_V6: &str = r#"
import socket, struct, sys

mtu, quoted = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
ends = b"".join(socket.inet_pton(socket.AF_INET6, end) for end in ("fd00:1::1", "fd00:2::1"))
header = struct.pack("!IHBB", 0x60000000, 1418, 17, 64) + ends
udp = struct.pack("!HHHH", 4500, 4500, 1418, 0)
# The kernel makes the checksum.
message = struct.pack("!BBHI", 2, 0, 0, mtu) + header + udp + quoted
socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6).sendto(message, ("fd00:1::1", 0))
"#;

#[test]
fn a_narrow_path_of_ipv6_is_found() {
    let test = "a_narrow_path_of_ipv6_is_found";
    if !Command::new("python3").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED {test}: this needs python3");
        return;
    }
    let place = Place::new();
    let ends = pair(1, GCM, IN_UDP).replace("192.0.2.1", "fd00:1::1").replace("192.0.2.2", "fd00:2::1");
    place.key("sa.conf", ends);
    place.write("router.py", ROUTER_SAYS_V6);
    let script = r#"
until_said() { until show a | tr -d ' \n' | grep -q "\"path_mtus\":{\"ignored\":$1,\"learned\":$2}"; do sleep 0.02; done; }
through 3 '-s 1000 -M do'
ping -q -c 1 -W 0.1 -M do -s 1372 10.2.0.1 >/dev/null && exit 1
until_said 0 1
show a
ping -c 1 -W 20 -M do -s 1372 10.2.0.1 > told || true
grep -q 'mtu = 1318' told || { cat told; exit 1; }
through 3 "-s $((1318 - 28)) -M do"
through 3 '-s 4000'
# Nobody's SPI, a number that was not sent yet, and a quotation that is too short.
router python3 router.py 1290 c0deffff00000001
router python3 router.py 1290 c0de010100ffffff
router python3 router.py 1290 c0de0101
until_said 3 1
# Somebody who has seen a packet. No path of IPv6 is narrower than 1280 bytes.
router python3 router.py 600 c0de010100000001
until_said 3 2
through 3 "-s $((1198 - 28)) -M do"
show a
"#;
    let Some(out) = run(test, &place, ["", ""], ROUTER_V6, script) else { return };
    let reports = reports(&out);
    let [learned, last] = &reports[..] else { panic!("{out}") };
    let of = |report, what: &str| one(report, "out")[what].clone();
    assert_eq!((of(learned, "path_mtu"), of(learned, "longest")), (1400.into(), 1318.into()), "{learned:#}");
    assert_eq!((of(last, "path_mtu"), of(last, "longest")), (1280.into(), 1198.into()), "{last:#}");
    assert_eq!(of(last, "dropped"), serde_json::json!({ "too_big": 1 }), "{last:#}");
}
