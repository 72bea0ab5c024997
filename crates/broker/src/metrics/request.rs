//! Requests: `GET` and `HEAD` of `/metrics` under a name of this machine are answered, all others refused.
//!
//! Ref. RFC 9110 (methods, status codes), RFC 9112 §3.2 (`Host`).

use std::net::IpAddr;

/// The longest head of a request that is read, in bytes.
pub(super) const MOST_BYTES: usize = 8192;
/// The most headers that are parsed.
const MOST_HEADERS: usize = 64;

/// The meaning of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The request is not complete yet.
    Part,
    /// The metrics are asked for, with the body or without.
    Metrics { body: bool },
    /// Anything else: the answer has this status, with a body or without.
    Nothing { status: &'static str, body: bool },
}

const fn nothing(status: &'static str) -> Asked {
    Asked::Nothing { status, body: true }
}

/// Parses the bytes that have come so far. `local` is the address that the connection came to; none where no
/// browser can come from.
pub(super) fn asked(bytes: &[u8], local: Option<IpAddr>, hosts: &[String]) -> Asked {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if bytes.len() < MOST_BYTES => return Asked::Part,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return nothing("431 Request Header Fields Too Large");
        }
        Err(_) => return nothing("400 Bad Request"),
    }
    let mut given = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let (Some(host), None) = (given.next(), given.next()) else { return nothing("400 Bad Request") };
    let (method, path) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let body = method != "HEAD";
    let is_ours = local.is_none_or(|local| {
        std::str::from_utf8(host.value).is_ok_and(|host| is_of_this_machine(host, local, hosts))
    });
    if !is_ours {
        return Asked::Nothing { status: "421 Misdirected Request", body };
    }
    if method != "GET" && method != "HEAD" {
        return nothing("405 Method Not Allowed");
    }
    match path.split('?').next() {
        Some("/metrics") => Asked::Metrics { body },
        _ => Asked::Nothing { status: "404 Not Found", body },
    }
}

/// Returns true when the `Host` header names this machine. Under somebody else's name a browser may have been
/// led here.
fn is_of_this_machine(host: &str, local: IpAddr, hosts: &[String]) -> bool {
    let host = host.trim();
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    if let Ok(address) = name.parse::<IpAddr>() {
        let address = address.to_canonical();
        return address.is_loopback() || address == local;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Asked {
        asked(text.as_bytes(), Some(IpAddr::from([192, 0, 2, 1])), &["Box.example".to_owned()])
    }

    #[test]
    fn names_of_this_machine_are_answered_and_no_others() {
        for host in [
            "localhost",
            "LOCALHOST:9464",
            "localhost.",
            "127.0.0.1:9464",
            "127.9.9.9",
            "[::1]:9464",
            "192.0.2.1:80",
            "[::ffff:192.0.2.1]",
            "box.example",
            "BOX.EXAMPLE:1",
        ] {
            let found = of(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(found, Asked::Metrics { body: true }, "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "192.0.2.2", "127.0.0.1.evil.example", "[::2]"]
        {
            let found = of(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(found, nothing("421 Misdirected Request"), "{host}");
        }
        let over = "GET /metrics HTTP/1.1\r\nHost: anything\r\n\r\n";
        assert_eq!(
            asked(over.as_bytes(), None, &[]),
            Asked::Metrics { body: true },
            "no browser can come there"
        );
    }

    #[test]
    fn whatever_else_is_asked_has_its_status() {
        for (text, status) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "400 Bad Request"),
            ("\0\0\r\n\r\n", "400 Bad Request"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found"),
            ("GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405 Method Not Allowed"),
        ] {
            assert_eq!(of(text), nothing(status), "{text}");
        }
        let long = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nA: {}", "a".repeat(MOST_BYTES));
        assert_eq!(of(&long), nothing("431 Request Header Fields Too Large"));
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: a\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(of(&many), nothing("431 Request Header Fields Too Large"));
        assert_eq!(of("GET /metr"), Asked::Part);
        assert_eq!(
            of("HEAD /metrics?x=1 HTTP/1.0\r\nhost: localhost\r\n\r\n"),
            Asked::Metrics { body: false }
        );
    }
}
