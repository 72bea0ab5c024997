//! Clients of TLS 1.3 that connect again and again, with as little work of their own as can be.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};

use super::hybrid::X25519MlKem768;
use super::pin;

/// Threads that connect again and again, each to one port.
pub struct Clients<'a> {
    pub ports: &'a [u16],
    pub count: u32,
    pub cpu: usize,
    /// True if they agree by X25519MLKEM768, and not by X25519.
    pub hybrid: bool,
}

impl Clients<'_> {
    /// Returns the milliseconds of each handshake that ended within the time.
    ///
    /// # Errors
    /// A handshake failed.
    pub fn turn(&self, time: Duration) -> Result<Vec<f64>, String> {
        let configuration = Arc::new(configuration(self.hybrid)?);
        let begin = Instant::now();
        let client = |port: u16| {
            pin(self.cpu);
            let mut took = Vec::new();
            while begin.elapsed() < time || took.is_empty() {
                let start = Instant::now();
                handshake(port, &configuration)?;
                took.push(start.elapsed().as_secs_f64() * 1e3);
            }
            Ok::<_, String>(took)
        };
        std::thread::scope(|scope| {
            let (ports, client) = (self.ports.iter().cycle().take(self.count as usize), &client);
            let threads: Vec<_> = ports.map(|port| scope.spawn(move || client(*port))).collect();
            let mut all = Vec::new();
            for thread in threads {
                all.extend(thread.join().map_err(|_| "a client ended early".to_owned())??);
            }
            Ok(all)
        })
    }
}

/// One connection, to the end of the handshake: nginx has the client's last message, and answers that the connection closes.
fn handshake(port: u16, configuration: &Arc<ClientConfig>) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("a handshake: {e}");
    let mut socket = TcpStream::connect(("127.0.0.1", port)).map_err(fail)?;
    socket.set_nodelay(true).map_err(fail)?;
    let name = ServerName::try_from("localhost").map_err(|e| e.to_string())?;
    let mut connection = ClientConnection::new(configuration.clone(), name).map_err(|e| e.to_string())?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(fail)?;
    }
    connection.send_close_notify();
    while connection.wants_write() {
        connection.write_tls(&mut socket).map_err(fail)?;
    }
    socket.flush().map_err(fail)
}

/// TLS 1.3 with X25519 or X25519MLKEM768, without resumption. The certificate and its signature are not looked at, so that the clients have
/// little to do.
fn configuration(hybrid: bool) -> Result<ClientConfig, String> {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.kx_groups.retain(|group| group.name() == rustls::NamedGroup::X25519);
    if hybrid {
        provider.kx_groups = vec![&X25519MlKem768];
    }
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let builder = ClientConfig::builder_with_provider(Arc::new(provider));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(|e| e.to_string())?;
    let verifier = Arc::new(Anyone { schemes });
    let mut configuration =
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    configuration.resumption = rustls::client::Resumption::disabled();
    Ok(configuration)
}

/// Takes any server for the right one.
#[derive(Debug)]
struct Anyone {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
