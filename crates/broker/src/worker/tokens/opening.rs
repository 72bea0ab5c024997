//! Tokens that are opened: a PIN that was counted is tried, the broker is told how that ended, and then the client is answered.

use millstream_protocol::{KeyRefusal, KeyReply, Report, Tried};
use millstream_store::vault::{LocalSession, Vault};
use millstream_store::{Error, Role};

use super::job::{Stage, What};
use super::thread::{Outcome, Work};
use super::{Effect, Found, MOST_OPEN, Open, Tokens, refusal, unpack};

impl Tokens {
    /// Has the vault's thread try a PIN that was counted.
    pub(super) fn try_pin(&mut self, found: Found) -> Result<(), KeyRefusal> {
        let Found { ticket, left, memory, .. } = found;
        let (records, entries) = unpack(memory.ok_or(KeyRefusal::Store)?).map_err(|_| KeyRefusal::Store)?;
        let vault = self.vault.clone().ok_or(KeyRefusal::NoTokens)?;
        let job = self.jobs.get_mut(&ticket).ok_or(KeyRefusal::TokenClosed)?;
        let What::Open { name: (_, role), pin } = &mut job.what else { return Err(KeyRefusal::Message) };
        let (role, pin) = (*role, std::mem::take(pin));
        job.stage = Stage::Ending(KeyReply::WrongPin { left }, None);
        let work: Work = Box::new(move || {
            let tried = vault.unlock(&records, &mut entries.into_iter(), role, &pin);
            Outcome::Tried(tried.map(|session| session.map(Box::new)))
        });
        self.thread.begin(ticket, work);
        Ok(())
    }

    /// Answers a try whose outcome the broker knows.
    pub(super) fn opened(&mut self, ticket: u64, effects: &mut Vec<Effect>) -> Result<(), KeyRefusal> {
        let job = self.jobs.get_mut(&ticket).ok_or(KeyRefusal::TokenClosed)?;
        let What::Open { name, .. } = job.what else { return Err(KeyRefusal::Message) };
        let Stage::Ending(reply, session) = &mut job.stage else { return Err(KeyRefusal::Message) };
        let (mut reply, session) =
            (std::mem::replace(reply, KeyReply::Changed { changes: 0 }), session.take());
        if let (Some(session), Some(grant)) = (session, job.grant) {
            if self.open.len() >= MOST_OPEN && !self.open.contains_key(&name) {
                return Err(KeyRefusal::TokensOpen);
            }
            // One that is there already has the same key, and is brought up to date when it is used.
            self.open.entry(name).or_insert(Open { session: *session, holders: 0 }).holders += 1;
            self.numbers = self.numbers.wrapping_add(1).max(1);
            while self.held.contains_key(&(grant, self.numbers)) {
                self.numbers = self.numbers.wrapping_add(1).max(1);
            }
            self.held.insert((grant, self.numbers), name);
            effects.push(self.tell_held(grant, name.0));
            reply = KeyReply::Opened { session: self.numbers };
        }
        self.end(ticket, Ok(reply), effects);
        Ok(())
    }

    /// Tells the broker how a try has ended.
    pub(super) fn tried(
        &mut self,
        ticket: u64,
        tried: Result<Option<Box<LocalSession>>, Error>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.jobs.get_mut(&ticket) else { return };
        let What::Open { name, .. } = job.what else { return };
        let Stage::Ending(wrong, _) = std::mem::replace(&mut job.stage, Stage::Working) else { return };
        let outcome = match tried {
            Ok(Some(_)) => Tried::Opened,
            Ok(None) => Tried::Wrong,
            // These are found with the right PIN alone.
            Err(Error::RolledBack | Error::Forged(_)) => Tried::NotSealed,
            Err(_) => Tried::Failed,
        };
        let (reply, session) = match tried {
            Ok(session @ Some(_)) => (KeyReply::Opened { session: 0 }, session),
            Ok(None) => (wrong, None),
            Err(error) => (KeyReply::Refused { why: refusal(&error) }, None),
        };
        job.stage = Stage::Ending(reply, session);
        let (token, officer) = (u128::from_be_bytes(name.0.0), name.1 == Role::Officer);
        let grant = job.grant.unwrap_or(0);
        effects.push(Effect::Tell(Report::EndTry { ticket, grant, token, officer, tried: outcome }));
    }
}
