//! Entries of `ip xfrm state`.

use zeroize::Zeroizing;

use super::fault::TextError;
use super::tokens::{Entry, Token};
use super::words::{address, key, number, selector, shown};
use crate::description::{Description, Direction, Encapsulation, KeyMaterial, Limits, Selector};
use crate::suite::{Auth, Cipher, Suite};
use crate::window::MOST_WINDOW;

/// The window where none is said, in packets.
const WINDOW: u32 = 64;

/// The algorithms and keys that an entry named so far.
#[derive(Default)]
struct Algorithms<'t> {
    aead: Option<(Token<'t>, Zeroizing<Vec<u8>>, usize)>,
    cipher: Option<(Token<'t>, Zeroizing<Vec<u8>>)>,
    auth: Option<(Auth, Zeroizing<Vec<u8>>)>,
}

/// The parts of an entry, as they come.
struct Parts<'t> {
    first: Token<'t>,
    source: Option<std::net::IpAddr>,
    destination: Option<std::net::IpAddr>,
    spi: Option<u32>,
    reqid: u32,
    direction: Option<Direction>,
    algorithms: Algorithms<'t>,
    window: Option<u32>,
    extended: bool,
    encapsulation: Option<Encapsulation>,
    selector: Option<Selector>,
    limits: Limits,
    last_sent: u64,
    last_accepted: u64,
    encap_dscp: bool,
    decap_dscp: bool,
    ecn: bool,
}

/// Reads an association.
///
/// # Errors
/// [`TextError`].
pub fn read(entry: &mut Entry<'_>) -> Result<Description, TextError> {
    let first = Token { word: "state", line: entry.line() };
    for word in ["ip", "xfrm", "state"] {
        entry.skip(word);
    }
    if !entry.skip("add") {
        entry.skip("update");
    }
    let mut parts = Parts::new(first);
    while let Some(token) = entry.next() {
        parts.take(entry, token)?;
    }
    parts.finish()
}

impl<'t> Parts<'t> {
    fn new(first: Token<'t>) -> Self {
        Parts {
            first,
            source: None,
            destination: None,
            spi: None,
            reqid: 0,
            direction: None,
            algorithms: Algorithms::default(),
            window: None,
            extended: false,
            encapsulation: None,
            selector: None,
            limits: Limits::default(),
            last_sent: 0,
            last_accepted: 0,
            encap_dscp: true,
            decap_dscp: false,
            ecn: true,
        }
    }

    /// Takes a word with its values.
    fn take(&mut self, entry: &mut Entry<'t>, token: Token<'t>) -> Result<(), TextError> {
        match token.word {
            "src" => self.source = Some(address(entry.after(token)?)?),
            "dst" => self.destination = Some(address(entry.after(token)?)?),
            "proto" => only(entry, token, "esp")?,
            "mode" => only(entry, token, "tunnel")?,
            "spi" => {
                let value = entry.after(token)?;
                // `ip xfrm state` prints some numbers twice, as 0x00000101(257).
                let word = value.word.split('(').next().unwrap_or_default();
                self.spi = Some(number(Token { word, ..value })?);
            }
            "reqid" => {
                let value = entry.after(token)?;
                self.reqid =
                    number(Token { word: value.word.split('(').next().unwrap_or_default(), ..value })?;
            }
            "dir" => {
                self.direction = Some(match entry.after(token)?.word {
                    "in" => Direction::In,
                    "out" => Direction::Out,
                    other => return Err(token.error(format!("{other} is no direction of an association"))),
                });
            }
            "replay-window" => self.window = Some(number(entry.after(token)?)?),
            "replay-seq" => self.last_accepted |= number::<u64>(entry.after(token)?)?,
            "replay-oseq" => self.last_sent |= number::<u64>(entry.after(token)?)?,
            "replay-seq-hi" => self.last_accepted |= number::<u64>(entry.after(token)?)? << 32,
            "replay-oseq-hi" => self.last_sent |= number::<u64>(entry.after(token)?)? << 32,
            "flag" => self.flags(entry, token)?,
            "extra-flag" => self.flags(entry, token)?,
            "aead" | "enc" | "auth" | "auth-trunc" => self.algorithm(entry, token)?,
            "encap" => self.encapsulation = Some(encapsulation(entry, token)?),
            "sel" => self.selector = Some(selector(entry, token)?),
            "limit" => self.limit(entry, token)?,
            "anti-replay" => self.context(entry, token)?,
            "lifetime" => lifetime(&mut self.limits, entry, token)?,
            // The commands print these about the past.
            "stats:" => {
                entry.skip_line(token.line);
                if let Some(next) = entry.peek().filter(|next| next.word == "replay-window") {
                    entry.skip_line(next.line);
                }
            }
            "lastused" => entry.skip_line(token.line),
            "seq" => drop(entry.after(token)?),
            other => return Err(token.error(format!("{}: not known in an association", shown(other)))),
        }
        Ok(())
    }

    fn flags(&mut self, entry: &mut Entry<'t>, token: Token<'t>) -> Result<(), TextError> {
        while let Some(flag) = entry.peek().filter(|flag| flag.line == token.line) {
            match flag.word {
                "esn" => self.extended = true,
                "noecn" => self.ecn = false,
                "decap-dscp" => self.decap_dscp = true,
                "dont-encap-dscp" => self.encap_dscp = false,
                // Selectors say the family here, and path MTUs are not discovered. The number is that of all flags.
                "af-unspec" | "nopmtudisc" => {}
                word if word.starts_with("(0x") => {}
                // A key=value list ends where the next word is a keyword, as in what `add` takes.
                _ => return Ok(()),
            }
            entry.next();
        }
        Ok(())
    }

    fn algorithm(&mut self, entry: &mut Entry<'t>, token: Token<'t>) -> Result<(), TextError> {
        let name = entry.after(token)?;
        let secret =
            entry.after(name).map_err(|_| name.error(format!("{} needs a key", shown(name.word))))?;
        // `ip -s` prints the bits of a key behind it.
        if entry.peek().is_some_and(|next| next.word.starts_with('(')) {
            entry.next();
            entry.skip("bits)");
        }
        let twice = || token.error(format!("{} stands twice", token.word));
        match token.word {
            "aead" => {
                let bits: usize = number(entry.after(token)?)?;
                let before = self.algorithms.aead.replace((name, key(secret)?, bits));
                before.map_or(Ok(()), |_| Err(twice()))
            }
            "enc" => {
                let before = self.algorithms.cipher.replace((name, key(secret)?));
                before.map_or(Ok(()), |_| Err(twice()))
            }
            _ => {
                let bits = match token.word {
                    "auth-trunc" => Some(number(entry.after(token)?)?),
                    _ => None,
                };
                let auth = auth(name, bits)?;
                let secret = key(secret)?;
                if secret.len() != auth.key_len() {
                    return Err(name.error(format!(
                        "a key of {} bytes; {} takes {}",
                        secret.len(),
                        name.word,
                        auth.key_len()
                    )));
                }
                let before = self.algorithms.auth.replace((auth, secret));
                before.map_or(Ok(()), |_| Err(twice()))
            }
        }
    }

    /// `limit byte-hard N`, as `add` takes it.
    fn limit(&mut self, entry: &mut Entry<'t>, token: Token<'t>) -> Result<(), TextError> {
        let which = entry.after(token)?;
        let value = entry.after(which)?;
        let value = if value.word == "INF" { None } else { Some(number(value)?) };
        let (soft, hard) = (&mut self.limits.soft, &mut self.limits.hard);
        let place = match which.word {
            "byte-soft" => &mut soft.bytes,
            "byte-hard" => &mut hard.bytes,
            "packet-soft" => &mut soft.packets,
            "packet-hard" => &mut hard.packets,
            "time-soft" => &mut soft.seconds,
            "time-hard" => &mut hard.seconds,
            other => return Err(which.error(format!("{}: not known as a limit", shown(other)))),
        };
        *place = value;
        Ok(())
    }

    /// `anti-replay context: seq 0x0, oseq 0x7, bitmap 0x0`, and the lines of the one for extended numbers.
    fn context(&mut self, entry: &mut Entry<'t>, token: Token<'t>) -> Result<(), TextError> {
        let mut line = token.line;
        let extended = entry.skip("esn");
        while let Some(token) = entry.peek() {
            let of_context = token.word.starts_with(|first: char| first.is_ascii_digit())
                || token.word.len() == 8 && token.word.bytes().all(|byte| byte.is_ascii_hexdigit())
                || matches!(
                    token.word.trim_end_matches(','),
                    "context:"
                        | "seq"
                        | "oseq"
                        | "seq-hi"
                        | "oseq-hi"
                        | "replay_window"
                        | "bitmap-length"
                        | "bitmap"
                );
            if token.line != line && !(extended && of_context) {
                return Ok(());
            }
            line = token.line;
            entry.next();
            if token.word == "replay_window" {
                let value = entry.after(token)?;
                self.window = Some(number(Token { word: value.word.trim_end_matches(','), ..value })?);
            }
            let place = match token.word {
                "seq" | "seq-hi" => &mut self.last_accepted,
                "oseq" | "oseq-hi" => &mut self.last_sent,
                _ => continue,
            };
            let value = entry.after(token)?;
            let value: u32 = number(Token { word: value.word.trim_end_matches(','), ..value })?;
            let shift = if token.word.ends_with("-hi") { 32 } else { 0 };
            *place |= u64::from(value) << shift;
        }
        Ok(())
    }

    fn finish(self) -> Result<Description, TextError> {
        let error = |what: &str| self.first.error(what);
        let source = self.source.ok_or_else(|| error("an association has an outer source: src ADDRESS"))?;
        let destination =
            self.destination.ok_or_else(|| error("an association has an outer destination: dst ADDRESS"))?;
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(error("src and dst are of one family"));
        }
        let spi = self.spi.ok_or_else(|| error("an association has an SPI: spi 0x101"))?;
        if spi < 256 {
            return Err(error("an SPI of 0 to 255 is reserved (RFC 4303, section 2.1)"));
        }
        let window = self.window.unwrap_or(WINDOW);
        if window > MOST_WINDOW {
            return Err(error("a replay window has 4096 packets at most"));
        }
        if window == 0 && self.extended {
            return Err(error("extended sequence numbers need a replay window"));
        }
        let (suite, keys) = self.algorithms.finish(self.first)?;
        Ok(Description {
            line: self.first.line,
            source,
            destination,
            spi,
            reqid: self.reqid,
            direction: self.direction,
            suite,
            keys,
            window,
            extended: self.extended,
            encapsulation: self.encapsulation,
            selector: self.selector,
            limits: self.limits,
            last_sent: self.last_sent,
            last_accepted: self.last_accepted,
            encap_dscp: self.encap_dscp,
            decap_dscp: self.decap_dscp,
            ecn: self.ecn,
        })
    }
}

impl Algorithms<'_> {
    fn finish(self, first: Token<'_>) -> Result<(Suite, KeyMaterial), TextError> {
        let (name, key, suite, auth) = match self {
            Algorithms { aead: Some((name, key, bits)), cipher: None, auth: None } => {
                let cipher = match name.word {
                    "rfc4106(gcm(aes))" => Cipher::AesGcm,
                    "rfc7539esp(chacha20,poly1305)" => Cipher::ChaCha20Poly1305,
                    other => return Err(name.error(format!("{}: no AEAD that is there", shown(other)))),
                };
                let suite = Suite::aead(cipher, bits / 8).filter(|_| bits.is_multiple_of(8));
                let suite =
                    suite.ok_or_else(|| name.error(format!("{} has no tag of {bits} bits", name.word)))?;
                (name, key, suite, Zeroizing::default())
            }
            Algorithms { aead: None, cipher: Some((name, key)), auth: Some((auth, auth_key)) } => {
                let cipher = match name.word {
                    "cbc(aes)" | "aes" => Cipher::AesCbc,
                    "rfc3686(ctr(aes))" => Cipher::AesCtr,
                    "cbc(des3_ede)" | "des3_ede" => Cipher::TripleDesCbc,
                    other => return Err(name.error(format!("{}: no cipher that is there", shown(other)))),
                };
                let suite = Suite::chained(cipher, auth).ok_or_else(|| name.error("no cipher to chain"))?;
                (name, key, suite, auth_key)
            }
            Algorithms { aead: None, cipher: None, .. } => {
                return Err(first.error("an association has an AEAD, or a cipher and an HMAC"));
            }
            _ => {
                return Err(first.error(
                    "an association has an AEAD alone, or a cipher and an HMAC: without integrity nothing is safe (RFC 8221, section 4)",
                ));
            }
        };
        let salt_at = key.len().saturating_sub(suite.salt_len());
        if !suite.takes_key(salt_at) || key.len() < suite.salt_len() {
            return Err(name.error(format!("{} takes no key of {} bytes", name.word, key.len())));
        }
        let mut salt = Zeroizing::new([0; 4]);
        salt[..suite.salt_len()].copy_from_slice(&key[salt_at..]);
        let cipher = Zeroizing::new(key[..salt_at].to_vec());
        Ok((suite, KeyMaterial { cipher, salt, auth }))
    }
}

fn auth(name: Token<'_>, bits: Option<usize>) -> Result<Auth, TextError> {
    let auth = match name.word {
        "hmac(sha1)" | "sha1" => Auth::Sha1,
        "hmac(sha256)" | "sha256" => Auth::Sha256,
        "hmac(sha384)" | "sha384" => Auth::Sha384,
        "hmac(sha512)" | "sha512" => Auth::Sha512,
        other => return Err(name.error(format!("{}: no HMAC that is there", shown(other)))),
    };
    let takes = 8 * auth.tag_len();
    match bits {
        Some(bits) if bits == takes => Ok(auth),
        // `auth` alone means 96 bits, which is right for SHA-1 alone: the kernel's for SHA-256 is that of a draft.
        None if auth == Auth::Sha1 => Ok(auth),
        _ => {
            Err(name
                .error(format!("{} has a tag of {takes} bits: say auth-trunc {0} KEY {takes}", name.word)))
        }
    }
}

fn only(entry: &mut Entry<'_>, token: Token<'_>, value: &str) -> Result<(), TextError> {
    let found = entry.after(token)?;
    if found.word == value {
        return Ok(());
    }
    Err(token.error(format!("{} {}: it is {value} alone that is there", token.word, shown(found.word))))
}

fn encapsulation(entry: &mut Entry<'_>, token: Token<'_>) -> Result<Encapsulation, TextError> {
    entry.skip("type");
    only(entry, token, "espinudp")?;
    let mut ports = [0, 0];
    for (port, word) in ports.iter_mut().zip(["sport", "dport"]) {
        entry.skip(word);
        *port = number(entry.after(token)?)?;
        if *port == 0 {
            return Err(token.error("a port of 0 is none"));
        }
    }
    // The original address, which tunnel mode has no use for.
    if entry.skip("addr") || entry.peek().is_some_and(|next| next.word.parse::<std::net::IpAddr>().is_ok()) {
        entry.after(token)?;
    }
    Ok(Encapsulation { source_port: ports[0], destination_port: ports[1] })
}

/// The lines below `lifetime config:` and `lifetime current:`.
fn lifetime(limits: &mut Limits, entry: &mut Entry<'_>, token: Token<'_>) -> Result<(), TextError> {
    let which = entry.after(token)?;
    if which.word != "config:" {
        while entry.peek().is_some_and(|next| {
            matches!(next.word, "add" | "use") || next.word.starts_with(|first: char| first.is_ascii_digit())
        }) {
            let line = entry.peek().map_or(0, |next| next.line);
            entry.skip_line(line);
        }
        return Ok(());
    }
    while let Some(next) = entry.peek().filter(|next| matches!(next.word, "limit:" | "expire")) {
        entry.next();
        let uses = next.word == "expire" && entry.after(next)?.word.starts_with("use");
        for limit in [&mut limits.soft, &mut limits.hard] {
            let word = entry.after(next)?;
            let value = entry.after(word)?;
            let text = value.word.trim_end_matches(',');
            let (amount, unit) = text.rsplit_once('(').unwrap_or((text, ""));
            let amount = match amount {
                "(INF)" => None,
                digits => Some(number::<u64>(Token { word: digits, ..value })?),
            };
            match unit {
                "bytes)" => limit.bytes = amount,
                "packets)" => limit.packets = amount,
                "sec)" if !uses => limit.seconds = amount.filter(|seconds| *seconds > 0),
                "sec)" if amount.is_none_or(|seconds| seconds == 0) => {}
                "sec)" => {
                    return Err(
                        next.error("a lifetime counts from when the association was added: expire add")
                    );
                }
                _ => return Err(next.error(format!("{}: no limit", shown(text)))),
            }
        }
    }
    Ok(())
}
