//! The syntax as the commands print it, and as their `add` takes it.

use super::parse;
use crate::description::{Direction, Encapsulation, PolicyDirection};
use crate::suite::{Auth, Cipher, Suite};

/// The kernel's own output, of iproute2 6.1, with keys of another kind.
const PRINTED: &str = "\
src 192.0.2.1 dst 192.0.2.2
\tproto esp spi 0x00000101 reqid 1 mode tunnel
\treplay-window 32 flag af-unspec
\tauth-trunc hmac(sha256) 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128
\tenc cbc(aes) 0x000102030405060708090a0b0c0d0e0f
\tencap type espinudp sport 4500 dport 4501 addr 0.0.0.0
\tanti-replay context: seq 0x9, oseq 0x11, bitmap 0x00000000
\tsel src 10.1.0.0/16 dst 10.2.0.0/16 proto udp
\tlifetime config:
\t  limit: soft (INF)(bytes), hard 1000000(bytes)
\t  limit: soft 10(packets), hard 20(packets)
\t  expire add: soft 0(sec), hard 3600(sec)
\t  expire use: soft 0(sec), hard 0(sec)
\tlifetime current:
\t  0(bytes), 0(packets)
\t  add 2026-01-02 03:04:05 use -
\tstats:
\t  replay-window 0 replay 0 failed 0
src 2001:db8::1 dst 2001:db8::2
\tproto esp spi 0xc0000001(3221225473) reqid 16(0x00000010) mode tunnel
\treplay-window 0 seq 0x00000000 flag decap-dscp af-unspec esn (0x10100004)
\taead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 (160 bits) 96
\tanti-replay esn context:
\t seq-hi 0x1, seq 0x2, oseq-hi 0x3, oseq 0x4
\t replay_window 128, bitmap-length 4
\t 00000000 dead0000 00000000 00000001 
\tsel src ::/0 dst ::/0 uid 0
\tdir in
";

#[test]
fn what_the_commands_print_is_read() {
    let parsed = parse(PRINTED).unwrap();
    let [first, second] = &parsed.states[..] else { panic!("{} states", parsed.states.len()) };
    assert_eq!((first.line, first.spi, first.reqid, first.window, first.extended), (1, 0x101, 1, 32, false));
    assert_eq!(Some(first.suite), Suite::chained(Cipher::AesCbc, Auth::Sha256));
    assert_eq!((first.keys.cipher.len(), first.keys.auth[31], *first.keys.salt), (16, 31, [0; 4]));
    assert_eq!(first.encapsulation, Some(Encapsulation { source_port: 4500, destination_port: 4501 }));
    assert_eq!((first.last_accepted, first.last_sent, first.direction), (9, 0x11, None));
    assert_eq!(first.selector.unwrap().protocol, Some(17));
    let (soft, hard) = (first.limits.soft, first.limits.hard);
    assert_eq!((soft.bytes, soft.packets, soft.seconds), (None, Some(10), None));
    assert_eq!((hard.bytes, hard.packets, hard.seconds), (Some(1_000_000), Some(20), Some(3600)));
    assert_eq!((second.line, second.spi, second.reqid, second.window), (19, 0xc000_0001, 16, 128));
    assert_eq!((second.extended, second.decap_dscp, second.ecn), (true, true, true));
    assert_eq!(Some(second.suite), Suite::aead(Cipher::AesGcm, 12));
    assert_eq!(*second.keys.salt, [0x10, 0x11, 0x12, 0x13]);
    assert_eq!((second.last_accepted, second.last_sent), (1 << 32 | 2, 3 << 32 | 4));
    assert_eq!(second.direction, Some(Direction::In));
}

#[test]
fn what_add_takes_is_read() {
    let text = "\
# a comment
ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x101 mode tunnel reqid 7 \
 enc 'cbc(des3_ede)' 0x000102030405060708090a0b0c0d0e0f1011121314151617 \
 auth \"hmac(sha1)\" 0x000102030405060708090a0b0c0d0e0f10111213 flag noecn limit byte-hard 5000 limit packet-soft 3 \
 replay-window 1024 encap espinudp 4500 4500 0.0.0.0
ip xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel
ip xfrm policy add src 0.0.0.0/0 dst 10.9.0.0/16 dir fwd action block
src ::/0 dst ::/0
\tdir 3 priority 0 ptype main
";
    let parsed = parse(text).unwrap();
    let state = &parsed.states[0];
    assert_eq!((state.line, state.window, state.ecn, state.limits.hard.bytes), (2, 1024, false, Some(5000)));
    assert_eq!(Some(state.suite), Suite::chained(Cipher::TripleDesCbc, Auth::Sha1));
    assert_eq!(state.encapsulation, Some(Encapsulation { source_port: 4500, destination_port: 4500 }));
    let [out, block] = &parsed.policies[..] else { panic!("{:?}", parsed.policies) };
    assert_eq!((out.direction, out.priority, out.template.unwrap().reqid), (PolicyDirection::Out, 5, 7));
    assert_eq!((block.direction, block.template), (PolicyDirection::In, None));
}

/// A wrong text is refused with its line, and no message shows a key.
#[test]
fn faults_are_told_by_their_lines() {
    let secret = "0x000102030405060708090a0b0c0d0e0f10111213";
    let with = |line: &str| {
        format!(
            "src 192.0.2.1 dst 192.0.2.2\n proto esp spi 0x101 mode tunnel\n {}\n",
            line.replace("KEY", secret)
        )
    };
    let gcm = "aead rfc4106(gcm(aes)) KEY 128";
    assert!(parse(&with(gcm)).is_ok());
    let faults = [
        (" indented", 1, "there is none"),
        (&with("aead rfc4106(gcm(aes)) KEY 120"), 3, "no tag of 120 bits"),
        (&with("aead rfc4106(gcm(aes)) 0x0011 128"), 3, "takes no key of 2 bytes"),
        (&with("aead rfc4106(gcm(aes)) 0x001 128"), 3, "hexadecimal"),
        (&with("aead rfc4543(gcm(aes)) KEY 128"), 3, "no AEAD that is there"),
        (&with("enc cbc(aes) KEY"), 1, "without integrity"),
        (&with("enc cbc(aes) KEY\n auth-trunc hmac(sha1) KEY 96"), 3, "takes no key of 20 bytes"),
        (&with("auth hmac(sha256) KEY"), 3, "auth-trunc hmac(sha256) KEY 128"),
        (&with("auth hmac(sha1) 0x00"), 3, "takes 20"),
        (&with(&format!("{gcm} KEY")), 3, "not known in an association"),
        (&with(&format!("{gcm} spi KEY")), 3, "no number that fits"),
        (&with(&format!("{gcm} mark 0x1/0xff")), 3, "mark: not known"),
        (&with(&format!("{gcm}\n mode transport")), 4, "tunnel alone"),
        (&with(&format!("{gcm}\n replay-window 0 flag esn")), 1, "need a replay window"),
        (&with(&format!("{gcm}\n replay-window 5000")), 1, "4096"),
        (&with(&format!("{gcm}\n spi 9")), 1, "reserved"),
        (&with(&format!("{gcm}\n sel src 10.0.0.0/8 dst 10.0.0.0/8 proto tcp sport 80")), 4, "no sport"),
        (&with(&format!("{gcm}\n sel src 10.0.0.0/33 dst 10.0.0.0/8")), 4, "no address with a prefix"),
        ("src 10.0.0.0/8 dst 10.0.0.0/8\n dir out tmpl proto ah", 2, "templates are of esp"),
        ("src 10.0.0.0/8 dst 10.0.0.0/8\n dir out ptype main", 1, "in the clear"),
    ];
    for (text, line, words) in &faults {
        let error = parse(&text.replace("KEY", secret)).expect_err(words);
        assert_eq!(error.line, *line, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.to_string().contains("000102"), "{error}");
    }
}
