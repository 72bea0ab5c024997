//! Programs that send and receive media, unmodified, on Debian's libsrtp2 with Millstream's library in front of it.

use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};

use millstream_tests::{Place, Provider, Running, Side, eventually, program, run, srtp_library};
use rustix::process::Signal;

/// The packets of a stream. Their numbers begin shortly before 2^16, so that they start over on the way.
const PACKETS: u64 = 100;

/// Bytes of sound in a packet.
const SOUND: u64 = 160;

/// A suite of GStreamer's: cipher, authentication, bytes of the key and its salt, bytes of a tag, and the names under which Millstream counts.
struct Suite {
    cipher: &'static str,
    auth: &'static str,
    key: u8,
    tag: usize,
    counted: &'static [&'static str],
}

const SUITES: [Suite; 5] = [
    Suite {
        cipher: "aes-128-icm",
        auth: "hmac-sha1-80",
        key: 30,
        tag: 10,
        counted: &["aes-128-ctr", "hmac-sha1"],
    },
    Suite {
        cipher: "aes-128-icm",
        auth: "hmac-sha1-32",
        key: 30,
        tag: 4,
        counted: &["aes-128-ctr", "hmac-sha1"],
    },
    Suite {
        cipher: "aes-256-icm",
        auth: "hmac-sha1-80",
        key: 46,
        tag: 10,
        counted: &["aes-256-ctr", "hmac-sha1"],
    },
    Suite { cipher: "aes-128-gcm", auth: "null", key: 28, tag: 16, counted: &["aes-128-gcm"] },
    Suite { cipher: "aes-256-gcm", auth: "null", key: 44, tag: 16, counted: &["aes-256-gcm"] },
];

impl Suite {
    fn key(&self) -> String {
        (1..=self.key).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Runs a pipeline of GStreamer, with Millstream's library in front of libsrtp2 or not.
#[track_caller]
fn pipeline(side: &Side, place: &Place, preload: Option<&Path>, text: &str) {
    let mut command = side.command(program("gst-launch-1.0"));
    // What plugins there are is remembered in the test's own folder.
    command.env("GST_REGISTRY", place.path("registry")).env("GST_DEBUG_NO_COLOR", "1");
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    run(command.args(["--quiet", "--no-fault"]).args(text.split_whitespace()), b"").good();
}

/// GStreamer protects a stream of sound and takes it apart again, each with and without Millstream: packets are the same bytes, and so is the
/// sound, whoever protected it.
#[test]
fn long_gstreamer_streams_pass_between_both() {
    let place = Place::new();
    // The OpenSSL provider is not there, so what is counted is counted by the library in front.
    let side = Side::new(&place, "default", Provider::Default);
    let ours = Some(srtp_library());
    let source = format!(
        "audiotestsrc num-buffers={PACKETS} samplesperbuffer={SOUND} ! audio/x-raw,rate=8000,channels=1 ! alawenc"
    );
    let sound = place.path("sound");
    pipeline(&side, &place, None, &format!("{source} ! filesink location={}", sound.display()));
    let sound = std::fs::read(sound).expect("it was written");
    assert_eq!(sound.len() as u64, PACKETS * SOUND);
    for suite in &SUITES {
        let Suite { cipher, auth, .. } = suite;
        let key = suite.key();
        let protect = |preload, name: &str| {
            let path = place.path(name);
            pipeline(
                &side,
                &place,
                preload,
                &format!(
                    "{source} ! rtppcmapay ssrc=7 seqnum-offset=65500 timestamp-offset=0 min-ptime=20000000 max-ptime=20000000 \
                 ! srtpenc key={key} rtp-cipher={cipher} rtp-auth={auth} rtcp-cipher={cipher} rtcp-auth={auth} \
                 ! rtpstreampay ! filesink location={}",
                    path.display()
                ),
            );
            std::fs::read(path).expect("it was written")
        };
        let open = |preload, name: &str| {
            let (from, to) = (place.path(name), place.path("opened"));
            pipeline(
                &side,
                &place,
                preload,
                &format!(
                    "filesrc location={} ! application/x-srtp-stream,media=audio,clock-rate=8000,encoding-name=PCMA,payload=8,\
                 ssrc=(uint)7,srtp-key=(buffer){key},srtp-cipher={cipher},srtp-auth={auth},srtcp-cipher={cipher},srtcp-auth={auth} \
                 ! rtpstreamdepay ! srtpdec ! rtppcmadepay ! filesink location={}",
                    from.display(),
                    to.display()
                ),
            );
            std::fs::read(to).expect("it was written")
        };
        let plain = protect(None, "plain");
        side.counted().require_none();
        let packets = protect(ours, "ours");
        // Each packet has its length, its header and its tag.
        assert_eq!(
            packets.len(),
            PACKETS as usize * (2 + 12 + SOUND as usize + suite.tag),
            "{cipher} {auth}"
        );
        assert!(packets == plain, "{cipher} {auth}: other packets");
        let sealed = side.take();
        assert!(open(None, "ours") == sound, "{cipher} {auth}: libsrtp2 alone does not get the sound back");
        side.counted().require_none();
        assert!(open(ours, "plain") == sound, "{cipher} {auth}: Millstream does not get the sound back");
        let opened = side.take();
        for (algorithm, counted) in suite.counted.iter().flat_map(|name| [(name, &sealed), (name, &opened)]) {
            counted.require(algorithm, PACKETS, PACKETS * SOUND);
        }
    }
}

/// The settings of Janus: one stream of sound that comes as SRTP, to its port.
fn janus(place: &Place, port: u16) {
    let folder = place.folder().display();
    let others = |kind: &str, kept: &str| {
        let all = std::fs::read_dir(format!("{JANUS}/{kind}")).expect("the package has it").flatten();
        let names = all.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".so") && !name.contains(kept)).collect::<Vec<_>>().join(",")
    };
    let (plugins, transports) = (others("plugins", "streaming"), others("transports", "pfunix"));
    place.write("janus.jcfg", format!(
        "general: {{ configs_folder = \"{folder}\"; plugins_folder = \"{JANUS}/plugins\"; transports_folder = \"{JANUS}/transports\"; \
         debug_level = 4; debug_timestamps = false; debug_colors = false; interface = \"127.0.0.1\" }}\n\
         plugins: {{ disable = \"{plugins}\" }}\ntransports: {{ disable = \"{transports}\" }}\n"
    ));
    place.write("janus.transport.pfunix.jcfg", format!(
        "general: {{ enabled = true; json = \"plain\"; path = \"{folder}/janus.sock\"; type = \"SOCK_SEQPACKET\" }}\n"
    ));
    place.write("janus.plugin.streaming.jcfg", format!(
        "sound: {{ type = \"rtp\"; id = 1; audio = true; video = false; audioport = {port}; audiopt = 8; audiocodec = \"pcma\"; \
         audioiface = \"127.0.0.1\"; srtpsuite = 80; srtpcrypto = \"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0e\" }}\n"
    ));
}

/// Janus's folder of plug-ins.
const JANUS: &str = "/usr/lib/x86_64-linux-gnu/janus";

/// Sends a stream that is protected with the key that begins with the byte in its first argument, from a source of that number, to a port.
const SENDER: &str = "
import socket, sys
from pylibsrtp import Policy, Session

first, port, count = (int(word) for word in sys.argv[1:])
key = bytes([first]) + bytes(range(2, 31))
policy = Policy(key=key, ssrc_type=Policy.SSRC_ANY_OUTBOUND, srtp_profile=Policy.SRTP_PROFILE_AES128_CM_SHA1_80)
session = Session(policy)
wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(count):
    header = bytes([0x80, 8]) + ((65500 + number) % 65536).to_bytes(2, 'big') + (160 * number).to_bytes(4, 'big')
    wire.sendto(session.protect(header + first.to_bytes(4, 'big') + bytes(160)), ('127.0.0.1', port))
";

/// Janus accepts a stream of another program's libsrtp2, and refuses one under another key.
#[test]
fn long_janus_receives_a_stream() {
    if !cfg!(target_arch = "x86_64") {
        println!(
            "SKIPPED long_janus_receives_a_stream: its folder has the name of another processor's libraries"
        );
        return;
    }
    let place = Place::new();
    let port = {
        // The system's choice, which is free a moment later.
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("there is a free port");
        socket.local_addr().expect("it is bound").port()
    };
    janus(&place, port);
    let side = Side::new(&place, "default", Provider::Default);
    let log = File::create(place.path("log")).expect("the place can be written to");
    let mut command = side.command(program("janus"));
    command.arg("--configs-folder").arg(place.folder()).env("LD_PRELOAD", srtp_library());
    command.stdin(Stdio::null()).stderr(log.try_clone().expect("descriptors are there")).stdout(log);
    let mut janus = Running::start(&mut command);
    let said = || String::from_utf8_lossy(&place.read("log")).into_owned();
    let bound = format!(":{port:04X} ");
    eventually("Janus listens", || {
        assert!(janus.child.try_wait().expect("it is our child").is_none(), "{}", said());
        std::fs::read_to_string("/proc/net/udp").expect("proc is there").contains(&bound)
    });
    // Every packet passes by a buffer of the kernel's, which has room for them all. The self-tests are over.
    let before = side.counted();
    let send = |first: u8, count: u64| {
        let mut sender = Command::new("/usr/bin/python3");
        sender.args(["-c", SENDER]).args([first.to_string(), port.to_string(), count.to_string()]);
        run(&mut sender, b"").good();
    };
    send(1, PACKETS);
    send(2, 3);
    let refused = || said().matches("SRTP unprotect error: srtp_err_status_auth_fail").count();
    eventually("Janus has looked at all packets", || refused() == 3);
    let after = side.counted();
    let since = |name: &str| {
        let ((packets, bytes), (packets_before, bytes_before)) = (after.of(name), before.of(name));
        (packets - packets_before, bytes - bytes_before)
    };
    // A packet that is refused is not decrypted.
    assert_eq!(since("aes-128-ctr"), (PACKETS, PACKETS * SOUND), "{after}");
    assert!(since("hmac-sha1").0 >= PACKETS + 3, "{after}");
    assert_eq!(refused(), 3, "{}", said());
    janus.stop(Signal::TERM);
}
