//! The associations of a machine, and the policies that choose among them.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::description::{Description, Direction, Policy, PolicyDirection};
use crate::fate::Fate;
use crate::ip::Flow;
use crate::outbound::Outbound;
use crate::sa::Sa;

/// The associations of a machine, and the policies that choose among them.
///
/// A packet that leaves takes the newest association that fits it and whose hard limit was not reached. So a new one for the same packets
/// takes over at once, while packets under the old one are still opened until that is removed: nothing is lost when keys change.
#[derive(Default)]
pub struct Table {
    inbound: HashMap<u32, Arc<Sa>>,
    outbound: Outbound,
    /// The lowest priority comes first.
    policies: Vec<Policy>,
}

/// The reason why an association is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// There is one with this SPI, in this direction and, if it seals, to this destination.
    Exists(u32),
    /// Another one has this key, whose vectors would repeat.
    SameKey {
        /// The SPI of the new one.
        spi: u32,
        /// The SPI of the one that has the key.
        other: u32,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Exists(spi) => {
                write!(f, "there is an association {spi:#010x} already; delete it first")
            }
            TableError::SameKey { spi, other } => write!(
                f,
                "associations {spi:#010x} and {other:#010x} have the same key, so vectors would repeat: each direction has a key of its own"
            ),
        }
    }
}

impl std::error::Error for TableError {}

impl Table {
    /// Returns what is wrong with a new association, before its keys are bound.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn check(
        &self,
        description: &Description,
        direction: Direction,
        fingerprint: [u8; 16],
    ) -> Result<(), TableError> {
        let spi = description.spi;
        let taken = match direction {
            Direction::In => self.inbound.contains_key(&spi),
            Direction::Out => self.outbound.get(spi, description.destination).is_some(),
        };
        if taken {
            return Err(TableError::Exists(spi));
        }
        if !description.suite.needs_unique_vectors() {
            return Ok(());
        }
        let mut all = self.inbound.values().chain(self.outbound.all());
        match all.find(|sa| sa.fingerprint() == fingerprint) {
            Some(sa) => Err(TableError::SameKey { spi, other: sa.facts().spi }),
            None => Ok(()),
        }
    }

    /// Adds an association, which [`Table::check`] has looked at.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn add(&mut self, sa: Arc<Sa>) -> Result<(), TableError> {
        self.check(sa.facts(), sa.direction(), sa.fingerprint())?;
        match sa.direction() {
            Direction::In => drop(self.inbound.insert(sa.facts().spi, sa)),
            Direction::Out => self.outbound.add(sa),
        }
        Ok(())
    }

    /// Removes the association with this SPI, and this destination where one is named. Packets under way end under it.
    pub fn remove(&mut self, spi: u32, destination: Option<IpAddr>) -> Option<Arc<Sa>> {
        let fits = |sa: &Arc<Sa>| destination.is_none_or(|address| address == sa.facts().destination);
        if self.inbound.get(&spi).is_some_and(fits) {
            return self.inbound.remove(&spi);
        }
        self.outbound.remove(spi, destination)
    }

    /// Adds a policy. Of two with the same priority the older one comes first.
    pub fn add_policy(&mut self, policy: Policy) {
        let at = self.policies.partition_point(|other| other.priority <= policy.priority);
        self.policies.insert(at, policy);
    }

    /// Replaces all policies. Of two with the same priority the one that comes first here comes first.
    pub fn set_policies(&mut self, mut policies: Vec<Policy>) {
        policies.sort_by_key(|policy| policy.priority);
        self.policies = policies;
    }

    /// Returns the association with this SPI and this outer destination.
    pub fn get(&self, spi: u32, destination: IpAddr) -> Option<&Arc<Sa>> {
        let inbound = self.inbound.get(&spi).filter(|sa| sa.facts().destination == destination);
        inbound.or_else(|| self.outbound.get(spi, destination))
    }

    /// Finds the association for a packet that has arrived, from its SPI on.
    ///
    /// # Errors
    /// [`Fate::Malformed`], [`Fate::NoSa`].
    pub fn for_arrived(&self, packet: &[u8]) -> Result<&Arc<Sa>, Fate> {
        let spi = packet.first_chunk().ok_or(Fate::Malformed)?;
        self.inbound.get(&u32::from_be_bytes(*spi)).ok_or(Fate::NoSa)
    }

    /// Finds the association for an inner packet that leaves. Without any policy for leaving packets the associations' own selectors decide.
    ///
    /// # Errors
    /// [`Fate::Malformed`], [`Fate::NoSa`].
    pub fn for_leaving(&self, packet: &[u8]) -> Result<&Arc<Sa>, Fate> {
        self.for_flow(&Flow::read(packet)?)
    }

    /// Finds the association for an inner packet that leaves, as [`Table::for_leaving`].
    ///
    /// # Errors
    /// [`Fate::NoSa`], [`Fate::Policy`].
    pub fn for_flow(&self, flow: &Flow) -> Result<&Arc<Sa>, Fate> {
        let mut template = None;
        if self.has_policies(PolicyDirection::Out) {
            let policy = self.policy(PolicyDirection::Out, flow).ok_or(Fate::NoSa)?;
            template = Some(policy.template.as_ref().ok_or(Fate::Policy)?);
        }
        self.outbound.find(flow, template).ok_or(Fate::NoSa)
    }

    /// Returns true if an inner packet may arrive by an association (RFC 4301 §5.2).
    pub fn admits(&self, sa: &Sa, flow: &Flow) -> bool {
        if !sa.admits(flow) {
            return false;
        }
        if !self.has_policies(PolicyDirection::In) {
            return true;
        }
        let policy = self.policy(PolicyDirection::In, flow);
        policy.and_then(|policy| policy.template.as_ref()).is_some_and(|template| template.fits(sa.facts()))
    }

    /// Returns all associations: those that open by their SPI, then those that seal, the newest first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Sa>> {
        let mut inbound: Vec<_> = self.inbound.values().collect();
        inbound.sort_unstable_by_key(|sa| sa.facts().spi);
        inbound.into_iter().chain(self.outbound.all())
    }

    /// Returns the policies in their order.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    fn has_policies(&self, direction: PolicyDirection) -> bool {
        self.policies.iter().any(|policy| policy.direction == direction)
    }

    fn policy(&self, direction: PolicyDirection, flow: &Flow) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.direction == direction && policy.selector.contains(flow))
    }
}
