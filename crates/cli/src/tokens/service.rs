//! The tokens of the service: PINs and keys go to one of its workers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::token::{Login, OpenToken, Pin};
use millstream::isolated::{Accelerator, Attach, Grants, Service, ServiceError, ServiceRefusal, TokenKey};
use millstream_store::file::TokenInfo;
use millstream_store::{Attributes, Error as StoreError, ObjectId, Role, TokenId};
use zeroize::Zeroizing;

use super::named;
use crate::error::Error;
use crate::secret::Secret;

/// The time that the service may take: others may try PINs before, and keys of RSA take long to make.
const LIMIT: Duration = Duration::from_secs(60);

/// The grants of keys that are used.
static GRANTS: Grants = Grants::new();

/// A service that keeps tokens for this user.
pub struct OfService {
    service: Service,
    /// The grant in which tokens are opened; none before the first.
    accelerator: Option<Accelerator>,
}

fn number(token: TokenId) -> u128 {
    u128::from_be_bytes(token.0)
}

fn pin<'p>(role: Role, pin: &'p Secret) -> Pin<'p> {
    match role {
        Role::User => Pin::User(pin),
        Role::Officer => Pin::Officer(pin),
    }
}

impl OfService {
    /// Connects to the service, if there is one that keeps tokens for this user.
    pub(super) fn connect() -> Result<Option<Self>, Error> {
        let mut service = match Service::connect(None) {
            Ok(service) => service,
            Err(ServiceError::NoService { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match service.tokens() {
            Ok(_) => Ok(Some(OfService { service, accelerator: None })),
            Err(ServiceError::Refused { why: ServiceRefusal::NoTokens | ServiceRefusal::Denied, .. }) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn accelerator(&mut self) -> Result<Accelerator, Error> {
        if let Some(accelerator) = &self.accelerator {
            return Ok(accelerator.clone());
        }
        let socket = Some(self.service.socket().to_owned());
        let wanted = Attach {
            socket,
            depth: 16,
            arena_bytes: 64 << 10,
            key_slots: 1,
            limit: LIMIT,
            ..Attach::default()
        };
        let accelerator = wanted.attach()?;
        self.accelerator = Some(accelerator.clone());
        Ok(accelerator)
    }

    pub(super) fn tokens(&mut self) -> Result<Vec<TokenInfo>, Error> {
        Ok(self.service.tokens()?.into_iter().map(TokenInfo::from).collect())
    }

    pub(super) fn objects(&mut self, token: TokenId) -> Result<Vec<(ObjectId, Attributes)>, Error> {
        let objects = self.service.objects(number(token))?;
        Ok(objects.into_iter().map(|(object, is)| (ObjectId(object.to_be_bytes()), is)).collect())
    }

    pub(super) fn make(&mut self, label: &str, officer: &Secret, user: &Secret) -> Result<(), Error> {
        self.accelerator()?.make_token(label, officer, Some(user))?;
        Ok(())
    }

    pub(super) fn token(
        &mut self,
        token: TokenId,
        role: Role,
        secret: &Secret,
    ) -> Result<OpenService, Error> {
        let open = self.accelerator()?.open_token(number(token), pin(role, secret))?;
        let service = Service::connect(Some(self.service.socket()))?;
        let login = Arc::new(Login::new(number(token), secret));
        Ok(OpenService { open, service, token: number(token), login })
    }

    pub(super) fn copy(
        &mut self,
        (from, pin, name): (TokenId, &Secret, &str),
        to: Option<(TokenId, &Secret)>,
        label: Option<String>,
    ) -> Result<(), Error> {
        let mut source = self.token(from, Role::User, pin)?;
        let object = source.find(name)?;
        let mut asked = source.show(object)?;
        if let Some(label) = label {
            asked.label = label;
        }
        let mut target = to.map(|(to, pin)| self.token(to, Role::User, pin)).transpose()?;
        match target {
            None => source.is_free(&asked.label)?,
            Some(ref mut target) => target.is_free(&asked.label)?,
        }
        let target = target.as_ref().map_or(&source.open, |target| &target.open);
        source.open.copy(number_of(object), target, &asked)?;
        Ok(())
    }
}

/// Returns the keys among a token's objects that are meant.
fn keys(objects: &[(u128, Attributes)], is_meant: impl Fn(&Attributes) -> bool) -> Vec<ObjectId> {
    let meant = objects.iter().filter(|(_, is)| named::is_key(is) && is_meant(is));
    meant.map(|(object, _)| ObjectId(object.to_be_bytes())).collect()
}

fn number_of(object: ObjectId) -> u128 {
    u128::from_be_bytes(object.0)
}

/// An open token of the service.
pub struct OpenService {
    open: OpenToken,
    /// Lists its keys.
    service: Service,
    token: u128,
    /// Opens it again in the grants of keys that are used.
    login: Arc<Login>,
}

impl OpenService {
    pub(super) fn find(&mut self, name: &str) -> Result<ObjectId, Error> {
        let objects = self.service.objects(self.token)?;
        if let Some(key) = named::only(name, &keys(&objects, |is| is.label == name))? {
            return Ok(key);
        }
        if let Some(id) = named::identifier(name)
            && let Some(key) = named::only(name, &keys(&objects, |is| is.id == id))?
        {
            return Ok(key);
        }
        // Other objects than keys may have the label alone.
        let labelled: Vec<_> = objects.iter().filter(|(_, is)| is.label == name).collect();
        if let [(object, _)] = labelled[..] {
            return Ok(ObjectId(object.to_be_bytes()));
        }
        let found = objects.iter().map(|(object, _)| *object).find(|object| format!("{object:032x}") == name);
        let found = found.ok_or_else(|| StoreError::NoObject(name.to_owned()))?;
        Ok(ObjectId(found.to_be_bytes()))
    }

    /// Refuses a label that a key of the token has.
    fn is_free(&mut self, label: &str) -> Result<(), Error> {
        let objects = self.service.objects(self.token)?;
        named::is_free(label, &keys(&objects, |is| is.label == label))
    }

    /// Returns all objects of the token.
    pub(super) fn objects(&mut self) -> Result<Vec<ObjectId>, Error> {
        let objects = self.service.objects(self.token)?;
        Ok(objects.into_iter().map(|(object, _)| ObjectId(object.to_be_bytes())).collect())
    }

    pub(super) fn show(&self, object: ObjectId) -> Result<Attributes, Error> {
        Ok(self.open.show(number_of(object))?)
    }

    /// Loads a key, which is used in the service.
    pub(super) fn load(
        &self,
        object: ObjectId,
        algorithm: Algorithm,
        usages: Usages,
    ) -> Result<TokenKey, Error> {
        let options = Grants::options(Some(self.service.socket().to_owned()));
        let login = Arc::clone(&self.login);
        Ok(TokenKey::load(&GRANTS, &options, login, number_of(object), algorithm, usages)?)
    }

    /// Returns the service's socket and the token's serial number.
    pub(crate) fn place(&self) -> (PathBuf, u128) {
        (self.service.socket().to_owned(), self.token)
    }

    pub(super) fn export(&self, object: ObjectId) -> Result<Zeroizing<Vec<u8>>, Error> {
        Ok(self.open.export(number_of(object))?)
    }

    pub(super) fn generate(&mut self, bits: Option<usize>, asked: &Attributes) -> Result<(), Error> {
        self.is_free(&asked.label)?;
        self.open.generate(asked, bits.map(|bits| bits as u32))?;
        Ok(())
    }

    pub(super) fn import(&mut self, key: &[u8], asked: &Attributes) -> Result<(), Error> {
        self.is_free(&asked.label)?;
        self.open.import(asked, key)?;
        Ok(())
    }

    /// Adds an object that is public as a whole.
    pub(super) fn keep(&mut self, attributes: &Attributes) -> Result<(), Error> {
        self.open.import(attributes, &[])?;
        Ok(())
    }

    pub(super) fn remove(&self, object: ObjectId) -> Result<(), Error> {
        Ok(self.open.remove(number_of(object))?)
    }

    pub(super) fn set_pin(&self, role: Role, secret: &Secret) -> Result<(), Error> {
        Ok(self.open.set_pin(pin(role, secret))?)
    }

    pub(super) fn remove_token(self) -> Result<(), Error> {
        Ok(self.open.remove_token()?)
    }
}
