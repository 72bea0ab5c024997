//! The control thread's part in requests about tokens: it passes on what they ask, and answers their clients.

use std::os::fd::OwnedFd;

use millstream_protocol::{Error, KeyReply, Order};
use rustix::event::epoll;

use super::control::{Control, Held, Obeyed};
use super::grant::Refused;
use super::tokens::{Effect, Found, Tokens};

impl Control {
    /// Hears what the broker says about tokens.
    pub(super) fn hear_store(
        &mut self,
        order: Order,
        mut descriptors: Vec<OwnedFd>,
    ) -> Result<Obeyed, Refused> {
        let Some(tokens) = &mut self.tokens else { return Err(Refused::Message(Error::Value)) };
        let effects = match order {
            Order::Vault { device } => {
                let is_one = tokens.set_device(device.expose());
                return if is_one { Ok(Obeyed::Done) } else { Err(Refused::Message(Error::Value)) };
            }
            Order::Found { ticket, taken, left, attributes, sealed } => {
                let memory = descriptors.pop();
                tokens.found(Found { ticket, taken, left, attributes, sealed, memory })
            }
            Order::NotFound { ticket, why } => tokens.not_found(ticket, why),
            _ => return Err(Refused::Message(Error::Value)),
        };
        self.carry_out(effects);
        Ok(Obeyed::Heard)
    }

    /// Goes on with what the vault's thread has done.
    pub(super) fn hear_vault(&mut self) {
        let effects = self.tokens.as_mut().map(|tokens| tokens.hear_thread());
        self.carry_out(effects.unwrap_or_default());
    }

    /// Carries out what follows from a step.
    pub(super) fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                // A broker that is gone is seen with the next order.
                Effect::Tell(report) => drop(self.report(&report)),
                Effect::Reply(grant, reply) => self.answer_late(grant, &reply),
                Effect::Load { grant, algorithm, purpose, key } => {
                    self.steps.step_for(grant);
                    let reply = self.load(grant, algorithm, &purpose, &key);
                    self.answer_late(grant, &reply);
                }
            }
        }
    }

    /// Answers a client that has waited, and listens to it again.
    fn answer_late(&mut self, grant: u64, reply: &KeyReply) {
        let Some(held) = self.grants.get_mut(&grant) else { return };
        let Some(keys) = &held.keys else { return };
        let data = epoll::EventData::new_u64(grant);
        let answered = keys.try_send(reply).is_ok();
        if !answered || epoll::add(&self.epoll, keys, data, epoll::EventFlags::IN).is_err() {
            held.keys = None;
        }
    }

    /// Closes the tokens of a grant that ends here. A client that waits, because its grant moves, asks again.
    pub(super) fn close_tokens(&mut self, number: u64, held: &Held) {
        let reply = self.tokens.as_mut().and_then(|tokens| tokens.forget(number));
        if let (Some(reply), Some(keys)) = (reply, &held.keys) {
            // If the grant ends, there is nobody to answer.
            let _ = keys.try_send(&reply);
        }
        self.tell_closed();
    }

    /// Tells the broker which tokens clients have closed.
    pub(super) fn tell_closed(&mut self) {
        let closed = self.tokens.as_mut().map(Tokens::tell_closed);
        self.carry_out(closed.unwrap_or_default());
    }
}
