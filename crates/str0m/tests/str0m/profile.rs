//! DTLS that gives the keys of a chosen profile. Both ends offer all three and take the first; here both take another one, and the
//! beginning of what the handshake exports as its keys.

use std::time::Instant;

use str0m::crypto::CryptoError;
use str0m::crypto::dtls::{
    DtlsCert, DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, DtlsVersion, KeyingMaterial,
    ProtocolVersion, SrtpProfile,
};

/// Another provider's DTLS, with one profile.
#[derive(Debug)]
pub struct OnlyProfile {
    pub dtls: &'static dyn DtlsProvider,
    pub profile: SrtpProfile,
}

impl DtlsProvider for OnlyProfile {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        self.dtls.generate_certificate()
    }

    fn new_dtls(
        &self,
        cert: &DtlsCert,
        now: Instant,
        version: DtlsVersion,
        mtu: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        let instance = self.dtls.new_dtls(cert, now, version, mtu)?;
        Ok(Box::new(Instance { instance, profile: self.profile }))
    }
}

#[derive(Debug)]
struct Instance {
    instance: Box<dyn DtlsInstance>,
    profile: SrtpProfile,
}

impl DtlsInstance for Instance {
    fn poll_output<'a>(&mut self, buffer: &'a mut [u8]) -> DtlsOutput<'a> {
        match self.instance.poll_output(buffer) {
            DtlsOutput::KeyingMaterial(material, offered) => {
                assert_eq!(offered, SrtpProfile::AEAD_AES_256_GCM, "that of the longest keys is taken");
                let material = KeyingMaterial::new(&material[..self.profile.keying_material_len()]);
                DtlsOutput::KeyingMaterial(material, self.profile)
            }
            output => output,
        }
    }

    fn set_active(&mut self, active: bool) {
        self.instance.set_active(active);
    }

    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        self.instance.handle_packet(packet)
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.instance.handle_timeout(now)
    }

    fn send_application_data(&mut self, data: &[u8]) -> Result<usize, DtlsImplError> {
        self.instance.send_application_data(data)
    }

    fn is_active(&self) -> bool {
        self.instance.is_active()
    }

    fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.instance.protocol_version()
    }

    fn is_closing(&self) -> bool {
        self.instance.is_closing()
    }

    fn is_closed(&self) -> bool {
        self.instance.is_closed()
    }

    fn close(&mut self) -> Result<(), DtlsImplError> {
        self.instance.close()
    }
}
