//! Metrics: what they tell to whom, and that no client keeps them from another.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use millstream_protocol::Request;
use millstream_shm::Socket;

use crate::lingering;
use crate::system::{Service, Setting};

pub const TRIALS: &[(&str, fn())] = &[
    ("metrics tell what happened, without names", without_names),
    ("metrics tell of each grant where that is wanted", with_names),
    ("metrics are asked for under names of this machine only", hosts),
    ("metrics are fetched in no other way, and nothing else is", ways),
    ("idle connections and a slow reader delay nobody's metrics", idle),
    ("who takes metrics byte by byte has no longer for it", slow),
    ("metrics at a socket in the file system", socket),
    ("descriptors to the metrics: the kernel refuses them", || descriptors(false)),
    ("descriptors to the metrics delay nobody's on an old kernel", || descriptors(true)),
];

/// The most that a scrape may take on a busy machine. Everybody else's connection lasts 5 s.
const SOON: Duration = Duration::from_millis(2500);

/// Starts a service and returns the address of its metrics. `words` are those of [`Setting::metrics`].
fn service(words: &str) -> (Service, SocketAddr) {
    // The system chooses a port that is free now.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    (Service::with(Setting { metrics: Some(format!("{address} {words}")), ..Setting::default() }), address)
}

fn ask(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn fetch(address: SocketAddr, start: &str, host: &str) -> String {
    ask(TcpStream::connect(address).unwrap(), &format!("{start} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

fn scrape(address: SocketAddr) -> String {
    let answer = fetch(address, "GET /metrics", "localhost");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    answer
}

fn assert_lines(text: &str, beginnings: &[&str]) {
    for beginning in beginnings {
        assert!(text.lines().any(|line| line.starts_with(beginning)), "{beginning} in {text}");
    }
}

fn without_names() {
    let (service, address) = service("");
    let client = service.client();
    let _granted = client.attach();
    let _ = service.client().refusal(&Request::Revoke { grant: 999 });
    let text = scrape(address);
    assert_lines(
        &text,
        &[
            "Content-Type: text/plain; version=0.0.4; charset=utf-8",
            "millstream_grants_made_total 1",
            "millstream_requests_refused_total{reason=\"NoSuchGrant\"} 1",
            "millstream_worker_grants{worker=\"0\"} 1",
            &format!("millstream_operations_total{{uid=\"{}\"}}", rustix::process::getuid().as_raw()),
        ],
    );
    for label in ["grant=", "pid=", "name="] {
        assert!(!text.contains(label), "{label} in {text}");
    }
}

fn with_names() {
    let (service, address) = service("names");
    let client = service.client();
    let granted = client.attach();
    let text = scrape(address);
    let uid = rustix::process::getuid().as_raw();
    let (grant, pid) = (granted.grant.id, std::process::id());
    let labels = format!("{{grant=\"{grant}\",uid=\"{uid}\",pid=\"{pid}\",name=\"");
    let of_user = format!("millstream_operations_total{{uid=\"{uid}\"}}");
    assert_lines(&text, &[&format!("millstream_grant_operations_total{labels}"), &of_user]);
}

fn hosts() {
    let (_service, address) = service("box.example other.example");
    for host in
        ["localhost:9464", "127.0.0.1", "[::1]:1", &address.to_string(), "box.example", "OTHER.example:80"]
    {
        let answer = fetch(address, "GET /metrics", host);
        assert!(answer.starts_with("HTTP/1.1 200"), "{host}: {answer}");
    }
    for host in ["evil.example", "192.0.2.1", "localhost.evil.example", ""] {
        let answer = fetch(address, "GET /metrics", host);
        assert!(answer.starts_with("HTTP/1.1 421"), "{host}: {answer}");
        assert!(!answer.contains("millstream_"), "{host}: {answer}");
    }
    let answer = ask(TcpStream::connect(address).unwrap(), "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

fn ways() {
    let (_service, address) = service("");
    let answer = fetch(address, "HEAD /metrics", "localhost");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(!answer.contains("millstream_") && !answer.contains("Content-Length: 0"), "{answer}");
    for (start, status) in
        [("POST /metrics", "405"), ("GET /", "404"), ("GET /metrics/x", "404"), ("x", "400")]
    {
        let answer = fetch(address, start, "localhost");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{start}: {answer}");
        assert_eq!(answer.contains("Allow: GET, HEAD\r\n"), status == "405", "{answer}");
    }
    let answer = fetch(address, "GET /metrics", &"a".repeat(10_000));
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

fn idle() {
    let (_service, address) = service("");
    // More connections than there may be altogether say nothing, one reads nothing, and one has sent half a
    // request.
    for count in [8, 100] {
        let idle: Vec<TcpStream> = (0..count).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut reader = TcpStream::connect(address).unwrap();
        reader.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut begun = TcpStream::connect(address).unwrap();
        begun.write_all(b"GET /metr").unwrap();
        let start = Instant::now();
        scrape(address);
        assert!(start.elapsed() < SOON, "{:?} with {count}", start.elapsed());
        drop((idle, reader, begun));
    }
}

fn slow() {
    let (_service, address) = service("");
    let start = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nA: ").unwrap();
    // Bytes keep coming, but that must not make the connection last longer.
    let mut byte = [0];
    loop {
        let sent = stream.write_all(b"a");
        match stream.read(&mut byte) {
            Ok(0) => break,
            Err(error) if sent.is_err() || error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Ok(_) => panic!("it was answered"),
            Err(_) => assert!(start.elapsed() < Duration::from_secs(40), "it is heard for ever"),
        }
    }
    assert!(start.elapsed() > Duration::from_secs(2), "{:?}: it had no time at all", start.elapsed());
}

fn socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("metrics.sock");
    // A socket that was left behind is replaced.
    drop(UnixListener::bind(&path).unwrap());
    let service =
        Service::with(Setting { metrics: Some(format!("unix:{}", path.display())), ..Setting::default() });
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    let stream = UnixStream::connect(&path).unwrap();
    let answer = ask(stream, "GET /metrics HTTP/1.1\r\nHost: whatever\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_lines(&answer, &["millstream_grants_made_total 0"]);
    drop(service);
}

fn descriptors(old_kernel: bool) {
    if !old_kernel && !lingering::kernel_can_refuse() {
        println!("SKIPPED descriptors are refused by the kernel: it is older than 6.16");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("metrics.sock");
    let metrics = Some(format!("unix:{}", path.display()));
    let service = Service::with(Setting { metrics, old_kernel, ..Setting::default() });
    let connect = || UnixStream::connect(&path).unwrap();
    let mut deaf = Vec::new();
    // Descriptors come in the midst of a request, behind the beginning of one, and after the answer.
    for first in ["", "GET /metr", "GET /metrics HTTP/1.1\r\nHost: whatever\r\n\r\n"] {
        let mut stream = connect();
        stream.write_all(first.as_bytes()).unwrap();
        if first.ends_with('\n') {
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 1);
        }
        let socket = Socket::received(stream.into());
        let sent = lingering::send(&socket, b"GET");
        assert_eq!(sent.is_ok(), old_kernel, "{sent:?}");
        deaf.push((socket, sent.ok()));
        let begin = Instant::now();
        let answer = ask(connect(), "GET /metrics HTTP/1.1\r\nHost: whatever\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(begin.elapsed() < SOON, "{:?} after {first:?}", begin.elapsed());
    }
    // Closing these connections must not hold up anybody either.
    drop(deaf);
    let begin = Instant::now();
    ask(connect(), "GET /metrics HTTP/1.1\r\nHost: whatever\r\n\r\n");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    drop(service);
}
