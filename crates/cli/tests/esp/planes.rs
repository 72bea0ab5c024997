//! Pings and streams, new keys, what is no packet, services and workers that end, and peers that move.

use std::process::Command;

use crate::bed::{ATTACK, GCM, IN_UDP, number, one, pair, reports, run};
use crate::common::{MILLSTREAM, Place};

#[test]
fn pings_go_through_every_suite_and_both_sorts_of_packets() {
    let suites = [
        (GCM, IN_UDP, 2),
        (GCM, "flag esn", 0),
        ("aead rfc7539esp(chacha20,poly1305) KEY36 128", IN_UDP, 1),
        ("enc cbc(aes) KEY32\n auth-trunc hmac(sha512) KEY64 256", "flag esn", 3),
        ("enc cbc(des3_ede) KEY24\n auth hmac(sha1) KEY20", IN_UDP, 2),
        ("enc rfc3686(ctr(aes)) KEY20\n auth-trunc hmac(sha384) KEY48 192", IN_UDP, 1),
    ];
    for (suite, more, workers) in suites {
        let place = Place::new();
        place.key("sa.conf", pair(1, suite, more));
        let workers = format!("--workers {workers}");
        // One packet fits exactly and may not be cut, and another one is cut by the kernel.
        let script = "
through 20 ''
MTU=$(cat /sys/class/net/esp0/mtu 2>/dev/null || ip link show esp0 | sed -n 's/.*mtu \\([0-9]*\\).*/\\1/p')
through 3 \"-s $((MTU - 28)) -M do\"
through 3 '-s 4000'
show a; show b
";
        let test = "pings_go_through_every_suite_and_both_sorts_of_packets";
        let Some(out) = run(test, &place, [&workers, ""], "", script) else { return };
        let reports = reports(&out);
        assert_eq!(reports.len(), 2, "{out}");
        for report in &reports {
            for direction in ["in", "out"] {
                assert!(number(report, direction, "packets") >= 26, "{suite}: {report:#}");
            }
            assert!(
                report["associations"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|sa| sa["dropped"] == serde_json::json!({}))
            );
        }
        assert_eq!(number(&reports[0], "out", "packets"), number(&reports[1], "in", "packets"));
    }
}

/// Streams of TCP go both ways, computed by several workers.
#[test]
fn streams_go_through_both_ways() {
    let test = "streams_go_through_both_ways";
    if !Command::new("iperf3").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED {test}: this needs iperf3");
        return;
    }
    const BYTES: u64 = 8 << 20;
    let suites = [(GCM, IN_UDP), ("enc cbc(aes) KEY16\n auth-trunc hmac(sha256) KEY32 128", "flag esn")];
    for (suite, more) in suites {
        let place = Place::new();
        place.key("sa.conf", pair(1, suite, more));
        let script = "
stream() {
    there iperf3 --version4 --server --one-off --json > server.json & SERVER=$!
    # The port in the table of sockets that listen.
    until there grep -q ':1451 00000000:0000 0A' /proc/net/tcp; do kill -0 $SERVER; sleep 0.02; done
    iperf3 --client 10.2.0.1 --json --bytes 8M --window 256K ${1:-} || { cat server.json; exit 1; }
    wait $SERVER
}
stream; stream --reverse
show a; show b
";
        let Some(out) = run(test, &place, ["--workers 2", ""], "", script) else { return };
        let reports = reports(&out);
        let [there, back, a, b] = &reports[..] else { panic!("{out}") };
        for stream in [there, back] {
            let bytes = |what: &str| stream["end"][what]["bytes"].as_u64().unwrap();
            // The stream ends when all was sent: what is in the buffers then is not counted as received.
            let (sent, received) = (bytes("sum_sent"), bytes("sum_received"));
            assert!(sent >= BYTES && received > BYTES / 2, "{suite}: {sent} bytes sent, {received} received");
        }
        for report in [a, b] {
            for direction in ["in", "out"] {
                assert!(number(report, direction, "bytes") > BYTES / 2, "{suite}: {report:#}");
                assert_eq!(one(report, direction)["dropped"], serde_json::json!({}), "{suite}: {report:#}");
            }
            assert_eq!(report["dropped"], serde_json::json!({}), "{suite}: {report:#}");
            // Both ends have given long packets and taken them.
            for way in ["in", "out"] {
                let long = report["long_packets"][way].as_u64().unwrap();
                let all = number(report, way, "packets");
                assert!(
                    long > 0 && long < all / 4,
                    "{suite}: {long} of {all} packets stood for several: {report:#}"
                );
            }
        }
    }
}

/// Keys change while packets are under way, and none is lost. A process that is killed goes on behind the numbers that it may have used.
#[test]
fn keys_change_under_load_and_a_killed_sender_repeats_no_number() {
    let place = Place::new();
    place.key("sa.conf", pair(1, GCM, IN_UDP));
    let new = pair(2, "aead rfc7539esp(chacha20,poly1305) KEY36 128", IN_UDP);
    let (there, back) = new.split_at(new.rfind("src").unwrap());
    place.key("there.conf", there);
    place.key("back.conf", back);
    place.key("new.conf", &new);
    let script = "
(for i in $(seq 60); do through 10 ''; sleep 0.02; done) & LOAD=$!
sleep 0.3
# Both ends can open the new ones before either seals.
$MILLSTREAM esp add there.conf --control b.sock; $MILLSTREAM esp add back.conf --control a.sock
$MILLSTREAM esp add there.conf --control a.sock; $MILLSTREAM esp add back.conf --control b.sock
sleep 0.3
for end in a b; do $MILLSTREAM esp del 0xc0de0101 --control $end.sock; $MILLSTREAM esp del 0xc0de0102 --control $end.sock; done
wait $LOAD
show a
kill -9 $A; wait $A || true
mv new.conf sa.conf
begin_a
show a
through 20 ''
show a
kill -TERM $A; wait $A
begin_a
show a
ls a.sock; kill -TERM $A; wait $A; ! ls a.sock 2>/dev/null
";
    let test = "keys_change_under_load_and_a_killed_sender_repeats_no_number";
    let Some(out) = run(test, &place, ["--workers 2", ""], "", script) else { return };
    let reports = reports(out.trim_end().trim_end_matches("a.sock"));
    let [loaded, killed, after, again] = &reports[..] else { panic!("{out}") };
    let last = |report| number(report, "out", "number");
    assert!((1..600).contains(&last(loaded)), "{loaded:#}");
    // Reserved numbers count as used.
    assert_eq!(last(killed), 1 << 20, "{killed:#}");
    assert_eq!(last(after), (1 << 20) + 20);
    // An end in order loses nothing.
    assert_eq!(last(again), (1 << 20) + 20);
    // Nor is anything accepted again.
    assert_eq!(number(again, "in", "number"), number(after, "in", "number"));
}

/// Peers choose the SPI of what they receive, so two may have chosen the same one. Each is kept awake, however much the other one was sent.
#[test]
fn peers_with_one_spi_get_keep_alives_each() {
    let place = Place::new();
    let other = pair(2, GCM, &format!("{IN_UDP}\n sel src 0.0.0.0/0 dst 10.9.0.0/16"));
    let (towards, _back) = other.split_once("src 192.0.2.2").unwrap();
    // Another peer, with another key.
    let other = towards.replace("dst 192.0.2.2", "dst 192.0.2.3").replace("0xc0de0201", "0xc0de0101");
    place.key("sa.conf", pair(1, GCM, IN_UDP));
    place.key("two.conf", pair(1, GCM, IN_UDP) + &other);
    let script = r#"
through 1 ''
count() { show $1 | tr -d ' \n' | sed 's/.*"keepalives":{"in":\([0-9]*\),"out":\([0-9]*\)}.*/\'$2/; }
# This end counts those for both, and the other end its own; one may be under way.
until [ $(count a 2) -gt $(($(count b 1) + 1)) ] && [ $(count b 1) -gt 0 ]; do sleep 0.1; done
show a
"#;
    let options = ["", "--keepalive 1"];
    let test = "peers_with_one_spi_get_keep_alives_each";
    let Some(out) = run(test, &place, options, "SA_A=two.conf", script) else { return };
    let report = &reports(&out)[0];
    let sealing = report["associations"].as_array().unwrap().iter().filter(|sa| sa["direction"] == "out");
    assert_eq!(sealing.map(|sa| &sa["spi"]).collect::<Vec<_>>(), ["0xc0de0101"; 2], "{report:#}");
}

/// Replayed, forged, cut, oversized and unknown packets from the wire are counted, each where it belongs, and dropped.
/// Sockets, and the threads that read from them, are there as long as an association uses them, and no longer.
#[test]
fn sockets_and_threads_end_with_the_last_association() {
    const ROUNDS: u16 = 2;
    let test = "sockets_and_threads_end_with_the_last_association";
    let place = Place::new();
    place.key("sa.conf", pair(1, GCM, IN_UDP));
    for number in 1..=20 {
        let more = IN_UDP.replace("4500", &(5000 + u16::from(number)).to_string());
        place.key(&format!("more{number}"), pair(100 + number, GCM, &more));
    }
    // The first association in it is right, and the second one has the key of the first.
    let right = pair(99, GCM, &IN_UDP.replace("4500", "4999"));
    let (first, _) = right.split_at(right.rfind("src").unwrap());
    place.key("wrong", format!("{first}{}", first.replace("0xc0de6301", "0xc0de6303")));
    let ports = |all: std::ops::Range<u16>| -> String {
        let one = |port: u16| {
            format!(
                "src 192.0.2.1 dst 192.0.2.2 proto esp spi {port} mode tunnel {} encap type espinudp sport {port} dport 4500\n",
                GCM.replace("KEY20", &format!("0x{port:040x}"))
            )
        };
        all.map(one).collect()
    };
    place.key("all", ports(20_000..20_254));
    place.key("too-many", ports(20_254..20_256));
    place.key("empty", "");
    let script = format!(
        r#"
ctl() {{ what=$1; shift; $MILLSTREAM esp $what "$@" --control a.sock; }}
count() {{ echo "$(ls /proc/$A/fd | wc -l) $(ls /proc/$A/task | wc -l)"; }}
through 3 ''
count > before
for round in $(seq {ROUNDS}); do
    for number in $(seq 20); do ctl add more$number; done
    count > during$round
    for number in $(seq 20); do for way in 1 2; do ctl del $(printf 0xc0de%02x0%d $((100 + number)) $way); done; done
    ctl add wrong 2>>wrong.log && exit 1
    count > after$round
    cmp before after$round
done
ctl add all
ctl add too-many 2>>too-many.log && exit 1
ctl add empty 2>>empty.log && exit 1
show a
for port in $(seq 20000 20253); do ctl del $port; done
count > last
cmp before last
through 3 ''
show a
"#
    );
    let Some(out) = run(test, &place, ["--workers 0", ""], "", &script) else { return };
    let [full, end] = &reports(&out)[..] else { panic!("{out}") };
    assert_eq!((&full["sockets"], &end["sockets"]), (&255.into(), &1.into()));
    let read = |name: &str| -> Vec<usize> {
        let text = std::fs::read_to_string(place.path(name)).unwrap();
        text.split_whitespace().map(|count| count.parse().unwrap()).collect()
    };
    let (before, during) = (read("before"), read("during2"));
    // Each has a socket, an event, and a thread.
    assert_eq!(during, [before[0] + 40, before[1] + 20]);
    let said = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert!(said("wrong.log").contains("have the same key"), "{}", said("wrong.log"));
    assert!(said("too-many.log").contains("256 sockets are open"), "{}", said("too-many.log"));
    assert!(said("empty.log").contains("empty: it is empty"), "{}", said("empty.log"));
}

/// A file that has nothing, or far too much, is named with the remedy before a device is made.
#[test]
fn a_file_without_associations_and_one_that_is_none_are_named() {
    let place = Place::new();
    place.key("empty.conf", "");
    place.key("long.conf", "#\n".repeat(1 << 20));
    for (file, what) in [("empty.conf", "--state"), ("long.conf", "millstream esp add")] {
        let folder = place.path("state");
        let mut command = Command::new(MILLSTREAM);
        command.args(["esp", "run", "--control", "/nowhere/esp.sock", "--sa"]).arg(place.path(file));
        let ended = command.arg("--state").arg(&folder).output().unwrap();
        let error = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && error.contains(file) && error.contains(what), "{error}");
        assert!(!folder.exists(), "nothing has begun");
    }
}

#[test]
fn packets_that_are_none_are_counted_and_dropped() {
    let place = Place::new();
    place.key("sa.conf", pair(1, GCM, IN_UDP));
    place.write("attack.py", ATTACK);
    let script = "
python3 attack.py watch wire 100 > seen & WATCH=$!
until [ -e watching ]; do kill -0 $WATCH; sleep 0.02; done
# One by one: packets that go together are one on the wire, which nothing divides there.
for i in $(seq 100); do through 1 ''; done
wait $WATCH
kill -TERM $A; wait $A
python3 attack.py send 4500 < seen
# The last of them is a keep-alive.
until show b | tr -d ' \\n' | grep -q '\"keepalives\":{\"in\":1'; do sleep 0.05; done
show b
";
    if !Command::new("python3").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED packets_that_are_none_are_counted_and_dropped: this needs python3");
        return;
    }
    let test = "packets_that_are_none_are_counted_and_dropped";
    let Some(out) = run(test, &place, ["--workers 1", ""], "", script) else { return };
    let report = &reports(&out)[0];
    let inbound = one(report, "in");
    let expected = serde_json::json!({ "replayed": 1, "old": 1, "forged": 2, "malformed": 3 });
    assert_eq!(inbound["dropped"], expected, "{report:#}");
    assert_eq!(report["dropped"], serde_json::json!({ "no_sa": 1, "malformed": 1 }), "{report:#}");
    assert_eq!((&report["ike"], &report["keepalives"]["in"]), (&1.into(), &1.into()), "{report:#}");
    assert_eq!(inbound["packets"], 100);
}

/// The service that holds the keys is killed under load: packets are dropped and counted, and go on when it is there again.
#[test]
fn a_killed_service_stops_packets_until_it_is_back() {
    let place = Place::new();
    place.key("sa.conf", pair(1, "enc cbc(aes) KEY16\n auth-trunc hmac(sha256) KEY32 128", IN_UDP));
    let script = "
through 20 ''
show a
kill -9 $SERVE; wait $SERVE || true
ping -q -c 5 -i 0.05 -W 0.2 10.2.0.1 > lost.log || true
grep -q ' 0 received' lost.log
until show a | grep -q '\"has_keys\": false'; do sleep 0.05; done; show a
begin_service
until show a | grep -q '\"has_keys\": true'; do sleep 0.05; done; sleep 0.3
through 20 ''
show a
";
    let test = "a_killed_service_stops_packets_until_it_is_back";
    let Some(out) = run(test, &place, ["", ISOLATED], SERVICE, script) else { return };
    let reports = reports(&out);
    let [before, lost, back] = &reports[..] else { panic!("{out}") };
    assert_eq!((&before["isolated"], &before["service_losses"]), (&true.into(), &0.into()));
    let sealing = one(lost, "out");
    assert_eq!((&sealing["has_keys"], &lost["service_losses"]), (&false.into(), &1.into()), "{lost:#}");
    assert!(drops(sealing) >= 5, "{lost:#}");
    assert_eq!(number(back, "out", "packets"), number(before, "out", "packets") + 20, "{back:#}");
}

/// Begins a service.
const SERVICE: &str = "
begin_service() { $MILLSTREAM serve --socket $PWD/service.sock >>service.log 2>&1 & SERVE=$!
    until $MILLSTREAM status --socket service.sock >/dev/null 2>&1; do kill -0 $SERVE; sleep 0.02; done; }
begin_service
";

/// The options of a data plane whose keys are in that service.
const ISOLATED: &str = "--isolated --socket service.sock";

/// Returns the packets that an association has dropped.
fn drops(sa: &serde_json::Value) -> u64 {
    sa["dropped"].as_object().unwrap().values().filter_map(|count| count.as_u64()).sum()
}

/// The worker that holds the keys is killed while packets go through it. The service has another one, the keys go there, and packets go on; what
/// was lost meanwhile is counted.
#[test]
fn a_worker_is_killed_under_load() {
    let place = Place::new();
    place.key("sa.conf", pair(1, GCM, IN_UDP));
    let script = "
sent() { show a | grep -A 30 '\"direction\": \"out\"' | sed -n 's/.*\"packets\": \\([0-9]*\\),/\\1/p' | head -n 1; }
beyond() { until [ $(sent) -gt $1 ]; do kill -0 $A $LOAD; sleep 0.02; done; }
(until [ -e enough ]; do ping -q -c 20 -l 20 -i 20 -W 0.2 10.2.0.1 >/dev/null || true; done) & LOAD=$!
beyond 100
WORKERS=$(cat /proc/$SERVE/task/*/children)
kill -9 $WORKERS
until show a | grep -q '\"service_losses\": 1'; do sleep 0.02; done
while show a | grep -q '\"has_keys\": false'; do sleep 0.02; done
BEFORE=$(sent); beyond $((BEFORE + 100))
touch enough; wait $LOAD
through 20 ''
show a
# The service itself went on.
kill -0 $SERVE
[ \"$(cat /proc/$SERVE/task/*/children)\" != \"$WORKERS\" ]
";
    let test = "a_worker_is_killed_under_load";
    let Some(out) = run(test, &place, ["--workers 2", ISOLATED], SERVICE, script) else { return };
    let report = &reports(&out)[0];
    assert_eq!((&report["isolated"], &report["service_losses"]), (&true.into(), &1.into()), "{report:#}");
    let sealing = one(report, "out");
    assert!(number(report, "out", "packets") > 220 && number(report, "in", "packets") > 20, "{report:#}");
    // Each packet took a number, and was either sent or dropped for the service's sake.
    let reasons: Vec<&String> = sealing["dropped"].as_object().unwrap().keys().collect();
    assert!(reasons.iter().all(|reason| ["no_key", "service"].contains(&reason.as_str())), "{report:#}");
    assert!(number(report, "out", "number") >= number(report, "out", "packets"), "{report:#}");
}

/// A peer behind a NAT gets another port: packets go to where its newest authentic packet came from, and forged and replayed ones move nothing.
#[test]
fn a_peer_that_gets_another_port_is_followed() {
    let test = "a_peer_that_gets_another_port_is_followed";
    if !Command::new("python3").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED {test}: this needs python3");
        return;
    }
    let ports = |own: u16| {
        let text = pair(1, GCM, "encap type espinudp sport PORT dport PORT addr 0.0.0.0");
        let port = own.to_string();
        // There and back.
        [port.as_str(), "4500", "4500", &port].iter().fold(text, |text, port| text.replacen("PORT", port, 1))
    };
    let begin = || {
        let place = Place::new();
        place.key("sa.conf", ports(4500));
        // What the other end sees of this one behind a NAT, and behind a NAT that has forgotten it.
        place.key("first.conf", ports(4501));
        place.key("second.conf", ports(4502));
        place.write("attack.py", ATTACK);
        place
    };
    let script = "
through 5 ''
show b
kill -TERM $A; wait $A
SA_A=second.conf
begin_a
python3 attack.py watch wire 3 > seen & WATCH=$!
until [ -e watching ]; do kill -0 $WATCH; sleep 0.02; done
for i in 1 2 3; do through 1 ''; done
wait $WATCH
python3 attack.py send 4999 < seen
until show b | tr -d ' \\n' | grep -q '\"keepalives\":{\"in\":1'; do sleep 0.05; done
through 5 ''
show b; show a
";
    let Some(out) = run(test, &begin(), ["--follow-peers", ""], "SA_A=first.conf", script) else { return };
    let reports = reports(&out);
    let [first, second, a] = &reports[..] else { panic!("{out}") };
    assert_eq!(
        (&first["peers_moved"], &one(first, "out")["moved_to"]),
        (&1.into(), &"192.0.2.1:4501".into())
    );
    assert_eq!(
        (&second["peers_moved"], &one(second, "out")["moved_to"]),
        (&2.into(), &"192.0.2.1:4502".into())
    );
    let dropped = &one(second, "in")["dropped"];
    assert_eq!((&dropped["replayed"], &dropped["forged"]), (&2.into(), &2.into()), "{second:#}");
    assert_eq!(number(second, "in", "packets"), 13);
    assert_eq!((&a["peers_moved"], &one(a, "out")["moved_to"]), (&0.into(), &serde_json::Value::Null));

    // Who does not ask for it has packets go to the port that the association has.
    let script =
        "ping -q -c 2 -i 0.02 -W 0.2 10.2.0.1 > lost.log || true; grep -q ' 0 received' lost.log; show b";
    let Some(out) = run(test, &begin(), ["", ""], "SA_A=first.conf", script) else { return };
    let report = &self::reports(&out)[0];
    assert_eq!((number(report, "in", "packets"), number(report, "out", "packets")), (2, 2), "{report:#}");
    assert_eq!(report["peers_moved"], 0);
}
