//! The broker's part in requests about tokens: who may ask, how much at once, and where answers go.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_protocol::{KeyRefusal, Order, Refusal, Reply, Report, TokenHolder, TokenStatus, Tried};
use millstream_store::vault::{Change, Records};
use millstream_store::{ObjectId, Role, TokenId};

use super::holders::{Held, MOST_SHOWN};
use super::keeper::{Answer, Answered, Ask, Asker, Job};
use crate::broker::Broker;
use crate::chatter::{Kind, say};
use crate::grant::Phase;
use crate::identity::Peer;
use crate::metrics::OpenTokens;
use crate::policy::Right;

/// The most questions of one account that wait at once.
pub(crate) const MOST_AT_ONCE: u32 = 8;

fn token(number: u128) -> TokenId {
    TokenId(number.to_be_bytes())
}

fn object(number: u128) -> ObjectId {
    ObjectId(number.to_be_bytes())
}

fn role(officer: bool) -> Role {
    if officer { Role::Officer } else { Role::User }
}

impl Broker {
    /// Handles a worker's question about tokens, if the report is one.
    pub(crate) fn take_question(&mut self, index: usize, report: Report) {
        let (ticket, grant, ask) = match report {
            Report::CountTry { ticket, grant, token: number, officer } => {
                (ticket, grant, Ask::CountTry { token: token(number), role: role(officer) })
            }
            Report::EndTry { ticket, grant, token: number, officer, tried } => {
                let ask = Ask::EndTry { token: token(number), role: role(officer), right: tried.is_right() };
                self.tell_try(index, grant, number, officer, tried);
                (ticket, grant, ask)
            }
            Report::LookUp { ticket, grant, token: number, object: of, known, manages } => {
                let needs = if manages { Right::Manage } else { Right::Use };
                let of = (of != 0).then(|| object(of));
                (ticket, grant, Ask::LookUp { token: token(number), object: of, known, needs })
            }
            Report::Change {
                ticket,
                grant,
                token: number,
                object: of,
                before,
                attributes,
                sealed,
                index,
            } => {
                let change = Change { sealed: (!sealed.is_empty()).then_some(sealed), index };
                let (token, object) = (token(number), object(of));
                (ticket, grant, Ask::Change { token, object, before, attributes, change })
            }
            Report::ReplaceHeader { ticket, grant, token: number, officer, before, header, index } => {
                let (token, role, records) = (token(number), role(officer), Records { header, index });
                (ticket, grant, Ask::ReplaceHeader { token, role, before, records })
            }
            Report::AddToken { ticket, grant, old, header, index } => {
                let old = (old != 0).then(|| token(old));
                (ticket, grant, Ask::AddToken { old, records: Records { header, index } })
            }
            Report::RemoveToken { ticket, grant, token: number } => {
                (ticket, grant, Ask::RemoveToken { token: token(number) })
            }
            Report::HoldToken { grant, token, sessions } => {
                let held = Held { worker: index, life: self.crew[index].restarts, sessions };
                if sessions == 0 || self.peer_of(index, grant).is_some() {
                    self.holders.note(token, grant, held);
                }
                return;
            }
            _ => return,
        };
        let asker = Asker::Worker { index, life: self.crew[index].restarts, ticket };
        let is_end = matches!(ask, Ask::EndTry { .. });
        let why = match self.peer_of(index, grant) {
            // A right PIN counts, though its client is gone.
            None if !is_end => KeyRefusal::NoSuchToken,
            peer => {
                let peer = peer.unwrap_or(Peer { pid: 0, uid: u32::MAX, gids: Vec::new() });
                match self.ask_keeper(asker, peer, ask, is_end) {
                    Ok(()) => return,
                    Err(Refusal::NoTokens) => KeyRefusal::NoTokens,
                    Err(_) => KeyRefusal::TokensBusy,
                }
            }
        };
        self.crew[index].tell(&Order::NotFound { ticket, why }, Vec::new(), &self.poll);
    }

    /// Returns who has a grant, if that worker serves it.
    fn peer_of(&self, index: usize, grant: u64) -> Option<Peer> {
        let grant = self.grants.get(&grant)?;
        let serves = match grant.phase {
            Phase::Moving { to, .. } => [grant.worker, to].contains(&index),
            _ => grant.worker == index,
        };
        serves.then(|| grant.peer.clone())
    }

    fn ask_keeper(&mut self, asker: Asker, peer: Peer, ask: Ask, always: bool) -> Result<(), Refusal> {
        let Some(keeper) = &self.keeper else { return Err(Refusal::NoTokens) };
        let account = self.policy.account(peer.uid);
        let waiting = self.asking.entry(account).or_default();
        if *waiting >= MOST_AT_ONCE && !always {
            return Err(Refusal::NotNow);
        }
        *waiting += 1;
        keeper.ask(Job { asker, account, peer, tokens: self.policy.tokens().clone(), ask });
        Ok(())
    }

    /// Handles a client's request for the tokens that it may use.
    pub(crate) fn list_tokens(&mut self, id: u64) {
        self.ask_for_client(id, Ask::Tokens);
    }

    /// Handles a client's request for objects of a token.
    pub(crate) fn list_objects(&mut self, id: u64, number: u128, after: u128) {
        self.ask_for_client(id, Ask::Objects { token: token(number), after: object(after) });
    }

    /// Hands a client the page that counts the changes of tokens, if the policy has tokens for this user.
    pub(crate) fn show_changes(&mut self, id: u64) {
        let Some(client) = self.clients.get(&id) else { return };
        let Some(keeper) = &self.keeper else { return self.refuse(id, Refusal::NoTokens, String::new()) };
        if !self.policy.tokens().know(&client.peer) {
            return self.refuse(id, Refusal::Denied, String::new());
        }
        let page = keeper.page();
        self.answer(id, &Reply::Changes {}, vec![page as _]);
    }

    fn ask_for_client(&mut self, id: u64, ask: Ask) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.waits = true;
        let peer = client.peer.clone();
        if let Err(why) = self.ask_keeper(Asker::Client(id), peer, ask, false) {
            self.refuse(id, why, String::new());
        }
    }

    /// Passes the keeper's answers on.
    pub(crate) fn hear_keeper(&mut self) {
        let Some(keeper) = &self.keeper else { return };
        for Answered { asker, account, answer } in keeper.answered() {
            if let Some(waiting) = self.asking.get_mut(&account) {
                *waiting -= 1;
                if *waiting == 0 {
                    self.asking.remove(&account);
                }
            }
            match asker {
                Asker::Worker { index, life, ticket } => self.answer_worker(index, life, ticket, answer),
                Asker::Client(id) => self.answer_client(id, answer),
            }
        }
    }

    fn answer_worker(&mut self, index: usize, life: u64, ticket: u64, answer: Answer) {
        // The process that asked has died.
        if self.crew[index].restarts != life {
            return;
        }
        let (order, memory) = match answer {
            Answer::Found { taken, left, attributes, sealed, memory } => {
                (Order::Found { ticket, taken, left, attributes, sealed }, memory)
            }
            Answer::NotFound(why, said) => {
                if let Some(said) = said {
                    say!(self.chatter, None, Kind::Store, error, why = said, "the store of tokens failed");
                }
                (Order::NotFound { ticket, why }, None)
            }
            _ => return,
        };
        let memory = memory.map(|memory| Arc::new(memory) as _).into_iter().collect();
        if !self.crew[index].tell(&order, memory, &self.poll) {
            let why = KeyRefusal::TokensBusy;
            self.crew[index].tell(&Order::NotFound { ticket, why }, Vec::new(), &self.poll);
        }
    }

    fn answer_client(&mut self, id: u64, answer: Answer) {
        match answer {
            Answer::Tokens(tokens) => {
                for status in tokens {
                    let status = self.with_holders(id, status);
                    self.answer(id, &Reply::Token { status }, Vec::new());
                }
                self.answer(id, &Reply::End {}, Vec::new());
            }
            Answer::Objects(objects, more) => {
                self.answer(id, &Reply::Objects { objects, more }, Vec::new());
            }
            Answer::Refused(why) => self.refuse(id, why, String::new()),
            Answer::Found { .. } | Answer::NotFound(..) => {}
        }
    }

    /// Adds who has a token open, as far as that client may see it.
    fn with_holders(&self, id: u64, mut status: TokenStatus) -> TokenStatus {
        let Some(client) = self.clients.get(&id) else { return status };
        let sees_all = status.manages || self.policy.is_operator(&client.peer);
        for (number, held) in self.holders.of(status.token) {
            let Some(grant) = self.grants.get(&number).filter(|_| self.is_held(number, held)) else {
                continue;
            };
            status.sessions = status.sessions.saturating_add(held.sessions);
            let Peer { pid, uid, .. } = grant.peer;
            if (sees_all || uid == client.peer.uid) && status.holders.len() < MOST_SHOWN {
                status.holders.push(TokenHolder { grant: number, pid, uid, sessions: held.sessions });
            }
        }
        status
    }

    /// Returns true if a grant is still where it was said to have a token open.
    fn is_held(&self, grant: u64, held: Held) -> bool {
        let serves = self.grants.get(&grant).is_some_and(|grant| grant.worker == held.worker);
        serves && self.crew[held.worker].restarts == held.life
    }

    /// Counts the tokens that are open now.
    pub(crate) fn open_tokens(&self) -> OpenTokens {
        let held = self.holders.all().filter(|(_, grant, held)| self.is_held(*grant, *held));
        let mut open = BTreeMap::<u128, u64>::new();
        held.for_each(|(token, _, held)| *open.entry(token).or_default() += u64::from(held.sessions));
        OpenTokens { tokens: open.len() as u64, sessions: open.values().sum() }
    }

    /// Counts a try of a PIN, and writes into the log whose it was.
    fn tell_try(&mut self, index: usize, grant: u64, number: u128, officer: bool, tried: Tried) {
        match tried {
            Tried::Opened => self.counters.tokens_opened += 1,
            Tried::Wrong => self.counters.wrong_pins += 1,
            _ => self.counters.failed_tries += 1,
        }
        let Some(Peer { pid, uid, .. }) = self.peer_of(index, grant) else { return };
        let (token, whose) = (token(number), role(officer));
        match tried {
            Tried::Opened => {
                say!(self.chatter, Some(uid), Kind::Tried, info, %token, %whose, grant, pid, uid, "a token was opened");
            }
            Tried::Wrong => {
                say!(self.chatter, Some(uid), Kind::Tried, warn, %token, %whose, grant, pid, uid, "a wrong PIN was tried");
            }
            why => {
                say!(self.chatter, Some(uid), Kind::Tried, error, %token, %whose, grant, pid, uid, %why, "a token was not opened");
            }
        }
    }
}
