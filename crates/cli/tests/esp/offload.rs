//! Long packets of the device that stand for many: streams and rows of datagrams go through as such, and headers that lie do no harm.

use std::process::Command;

use crate::bed::{GCM, IN_UDP, number, one, pair, reports, run};
use crate::common::Place;

/// Sends datagrams of one length in one call, and says what the other end has received.
const DATAGRAMS: &str = r#"
import os, socket, sys

UDP_SEGMENT, COUNT, BYTES = 103, 40, 1200
if sys.argv[1] == "receive":
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    peer.bind(("10.2.0.1", 7000))
    peer.settimeout(20)
    open("receiving", "w").close()
    rows = [[peer.recv(65536) for _ in range(COUNT)] for _ in range(3)]
    expected = [bytes([number]) * BYTES for number in range(COUNT - 1)] + [b"shorter"]
    assert rows == [expected] * 3, [[(len(one), one[:1]) for one in row] for row in rows]
else:
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, BYTES)
    row = b"".join(bytes([number]) * BYTES for number in range(COUNT - 1)) + b"shorter"
    for _ in range(3):
        peer.sendto(row, ("10.2.0.1", 7000))
"#;

/// Gives the device packets whose header of the device lies, as a program with a socket of packets can.
const LIES: &str = r#"
import itertools, socket, struct

# SOL_PACKET is 263, which Python does not name.
PACKET_VNET_HDR = 15
device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
device.setsockopt(263, PACKET_VNET_HDR, 1)
device.bind(("esp0", 0x0800))

def packet(protocol, length, transport):
    header = struct.pack("!BBHHHBBH", 0x45, 0, length, 7, 0x4000, 64, protocol, 0) + bytes([10, 1, 0, 1, 10, 2, 0, 1])
    return header + transport

def tcp(offset, flags, length):
    return packet(6, 40 + length, struct.pack("!HHIIBBHHH", 5000, 5001, 1, 1, offset << 4, flags, 100, 0, 0) + bytes(length))

def udp(length):
    return packet(17, 28 + length, struct.pack("!HHHH", 5000, 5001, 8 + length, 0) + bytes(length))

packets = [tcp(5, 0x10, 60000), tcp(5, 0x10, 0), tcp(5, 0x12, 9000), tcp(15, 0x10, 9000), tcp(2, 0x10, 9000), udp(60000), udp(3), b"\x45" + bytes(30), b"\x65" + bytes(60)]
# The kernel looks at most of them itself, and takes only some.
taken = 0
for data, flags, kind, size, start, offset in itertools.product(
    packets, (0, 1), (0, 1, 3, 4, 5, 0x81), (0, 1, 700, 1400, 20000, 65535), (0, 20, 40, 65535), (6, 16, 65535)
):
    if size == 1 and len(data) > 10000 and (start, offset) != (20, 16):
        continue
    for hint in (0, 40):
        try:
            device.send(struct.pack("=BBHHHH", flags, kind, hint, size, start, offset) + data)
            taken += 1
        except OSError:
            pass
print(taken, flush=True)
"#;

fn has_python(test: &str) -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok_and(|ended| ended.status.success());
    if !has {
        println!("SKIPPED {test}: this needs python3");
    }
    has
}

#[test]
fn rows_of_datagrams_go_through() {
    let test = "rows_of_datagrams_go_through";
    if !has_python(test) {
        return;
    }
    for workers in ["--workers 0", "--workers 2"] {
        let place = Place::new();
        place.key("sa.conf", pair(1, GCM, IN_UDP));
        place.write("datagrams.py", DATAGRAMS);
        let script = "
there python3 datagrams.py receive & RECEIVER=$!
until [ -e receiving ]; do kill -0 $RECEIVER; sleep 0.02; done
python3 datagrams.py send
wait $RECEIVER
show a; show b
";
        let Some(out) = run(test, &place, [workers, ""], "", script) else { return };
        let reports = reports(&out);
        let [a, b] = &reports[..] else { panic!("{out}") };
        assert_eq!((number(a, "out", "packets"), number(b, "in", "packets")), (120, 120), "{a:#} {b:#}");
        // Linux divides datagrams for the device itself before 6.2.
        let (given, taken) = (&a["long_packets"]["out"], &b["long_packets"]["in"]);
        assert!(given.as_u64() <= Some(3) && taken.as_u64() <= Some(120), "{given} {taken}");
    }
}

/// Whatever a header says, packets are dropped and counted, or go as they are; what comes behind them goes on.
#[test]
fn headers_of_the_device_that_lie_do_no_harm() {
    let test = "headers_of_the_device_that_lie_do_no_harm";
    if !has_python(test) {
        return;
    }
    let place = Place::new();
    place.key("sa.conf", pair(1, GCM, IN_UDP));
    place.write("lies.py", LIES);
    let script = "
python3 lies.py > taken
# What waits in the device's line would leave no room for more.
until last=$(show a; show b); sleep 0.2; [ \"$(show a; show b)\" = \"$last\" ]; do :; done
through 20 ''
# All that it was given has gone through it, or was dropped.
kill -0 $A; kill -0 $B
show a
[ $(cat taken) -gt 20 ] || { cat taken; exit 1; }
";
    let Some(out) = run(test, &place, ["--workers 1", ""], "", script) else { return };
    let report = &reports(&out)[0];
    assert!(number(report, "out", "packets") > 40, "{report:#}");
    let reasons = one(report, "out")["dropped"].as_object().unwrap();
    assert!(reasons.keys().all(|reason| reason == "too_big"), "{report:#}");
    let reasons = report["dropped"].as_object().unwrap();
    assert!(reasons.keys().all(|reason| ["malformed", "no_sa"].contains(&reason.as_str())), "{report:#}");
}
