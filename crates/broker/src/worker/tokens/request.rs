//! Requests of clients about tokens are read here, as far as that can be done without the broker.

use millstream_protocol::{KeyRefusal, KeyRequest, Secret as Message};
use millstream_store::vault::PIN_BYTES;
use millstream_store::{Attributes, ObjectId, Role, TokenId};
use zeroize::Zeroizing;

use super::job::{Name, What, Wrong};
use super::{MOST_HELD, Tokens};

fn role(officer: bool) -> Role {
    if officer { Role::Officer } else { Role::User }
}

fn check_pin(pin: &Message) -> Result<(), KeyRefusal> {
    if PIN_BYTES.contains(&pin.expose().len()) { Ok(()) } else { Err(KeyRefusal::PinLength) }
}

impl Tokens {
    /// Reads a request; none if it is done already.
    pub(super) fn understood(&mut self, grant: u64, request: KeyRequest) -> Result<Option<What>, Wrong> {
        let attributes =
            |bytes: &[u8]| Attributes::decode(bytes).map_err(|_| Wrong::from(KeyRefusal::Attributes));
        let secret = |bytes: &Message| Zeroizing::new(bytes.expose().to_vec());
        let object = |number: u128| ObjectId(number.to_be_bytes());
        if request.is_about_tokens() && self.vault.is_none() {
            return Err(KeyRefusal::NoTokens.into());
        }
        Ok(Some(match request {
            KeyRequest::OpenToken { token, officer, pin } => {
                check_pin(&pin)?;
                if self.held.range((grant, 0)..=(grant, u32::MAX)).count() >= MOST_HELD {
                    return Err(KeyRefusal::TokensOpen.into());
                }
                What::Open { name: (TokenId(token.to_be_bytes()), role(officer)), pin: secret(&pin) }
            }
            KeyRequest::CloseToken { session } => {
                if let Ok(name) = self.name(grant, session) {
                    self.close(grant, session);
                    self.closed.push((grant, name.0));
                }
                return Ok(None);
            }
            KeyRequest::LoadObject { session, object: of, algorithm, purpose } => {
                What::Load { name: self.user(grant, session)?, object: object(of), algorithm, purpose }
            }
            KeyRequest::ShowObject { session, object: of } => {
                What::Show { name: self.user(grant, session)?, object: object(of) }
            }
            KeyRequest::GenerateObject { session, bits, attributes: asked } => {
                What::Generate { name: self.user(grant, session)?, asked: attributes(&asked)?, bits }
            }
            KeyRequest::ImportObject { session, attributes: asked, bytes } => {
                let (name, asked) = (self.user(grant, session)?, attributes(&asked)?);
                What::Import { name, asked, secret: secret(&bytes) }
            }
            KeyRequest::CopyObject { session, object: of, to, attributes: asked } => {
                let (from, to) = (self.user(grant, session)?, self.user(grant, to)?);
                What::Copy { from, object: object(of), to, asked: attributes(&asked)? }
            }
            KeyRequest::ChangeObject { session, object: of, attributes: asked } => {
                let name = self.user(grant, session)?;
                What::Alter { name, object: object(of), asked: attributes(&asked)? }
            }
            KeyRequest::ExportObject { session, object: of } => {
                What::Export { name: self.user(grant, session)?, object: object(of) }
            }
            KeyRequest::RemoveObject { session, object: of } => {
                What::Remove { name: self.user(grant, session)?, object: object(of) }
            }
            KeyRequest::SetPin { session, officer, pin } => {
                check_pin(&pin)?;
                let (name, role) = (self.name(grant, session)?, role(officer));
                if (name.1, role) == (Role::User, Role::Officer) {
                    return Err(KeyRefusal::PinRole.into());
                }
                What::SetPin { name, role, pin: secret(&pin) }
            }
            KeyRequest::MakeToken { session, label, officer, user } => {
                check_pin(&officer)?;
                let user = (!user.expose().is_empty()).then_some(user);
                user.as_ref().map_or(Ok(()), check_pin)?;
                let old = if session == 0 { None } else { Some(self.officer(grant, session)?.0) };
                What::Make { old, label, officer: secret(&officer), user: user.as_ref().map(secret) }
            }
            KeyRequest::RemoveToken { session } => What::RemoveToken { name: self.officer(grant, session)? },
            request => return Err(Wrong::NotMine(Box::new(request))),
        }))
    }

    fn name(&self, grant: u64, session: u32) -> Result<Name, KeyRefusal> {
        self.held.get(&(grant, session)).copied().ok_or(KeyRefusal::TokenClosed)
    }

    /// Returns the token of that number, if its security officer has opened it.
    fn officer(&self, grant: u64, session: u32) -> Result<Name, KeyRefusal> {
        let name = self.name(grant, session)?;
        if name.1 == Role::Officer { Ok(name) } else { Err(KeyRefusal::PinRole) }
    }

    /// Returns the token of that number, if its user has opened it.
    fn user(&self, grant: u64, session: u32) -> Result<Name, KeyRefusal> {
        let name = self.name(grant, session)?;
        if name.1 == Role::User { Ok(name) } else { Err(KeyRefusal::PinRole) }
    }
}
