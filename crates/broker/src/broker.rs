//! The event loop, and the fate of workers and grants.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::{Duration, Instant};

use millstream_protocol::{Order, Refusal, Reply, STATE_GONE, STATE_REVOKED};
use millstream_shm::{SecretBytes, plain};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::attach::DIED;
use crate::chatter::{Chatter, Kind, say};
use crate::client::Client;
use crate::config::Config;
use crate::crew::{Outcome, Purpose, STUCK, Verdict, Worker};
use crate::disposal::Disposal;
use crate::ending::Ending;
use crate::errands::Errands;
use crate::error::Error;
use crate::grant::{Grant, Phase};
use crate::idle::Idle;
use crate::key_ends::KeyEnds;
use crate::ledger::{Account, Ledger};
use crate::metrics::{Counters, Metrics};
use crate::operate::Surveys;
use crate::place::Door;
use crate::policy::{Means, Policy};
use crate::poll::{Interest, Poll, Token};
use crate::process;
use crate::stop::Stop;
use crate::tokens::holders::Holders;
use crate::tokens::keeper::Keeper;
use crate::totals::Totals;
use crate::untaken::Untaken;

/// The time that workers get to finish when the broker stops, and after them the errands for grants that have
/// ended.
const FINISH: Duration = Duration::from_secs(5);
/// The number of messages of one sender that are read before the others have their turn.
pub(crate) const TURN: usize = 16;

/// Grants processes their accelerators, and takes them back.
///
/// ```no_run
/// use millstream_broker::{Broker, Config, Stop, WorkerCommand};
///
/// let stop = Stop::new()?;
/// stop.on_signals()?;
/// let config = Config::new("/run/millstream/millstream.sock".into(), WorkerCommand::this_program());
/// Broker::start(config)?.run(&stop)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Broker {
    pub(crate) config: Config,
    pub(crate) policy: Policy,
    pub(crate) poll: Poll,
    pub(crate) door: Door,
    pub(crate) clients: HashMap<u64, Client>,
    pub(crate) grants: BTreeMap<u64, Grant>,
    pub(crate) ending: Ending,
    pub(crate) ledger: Ledger,
    pub(crate) means: Means,
    pub(crate) idle: Idle,
    pub(crate) untaken: Untaken,
    pub(crate) crew: Vec<Worker>,
    pub(crate) surveys: Surveys,
    pub(crate) counters: Counters,
    pub(crate) totals: Totals,
    pub(crate) chatter: Chatter,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) disposal: Disposal,
    /// Errands for new grants, which nobody outside can delay.
    pub(crate) preparing: Errands,
    /// Errands for grants that have ended.
    pub(crate) errands: Errands,
    pub(crate) key_ends: KeyEnds,
    /// The number of orders to serve by a new policy that are unanswered, and the clients who wait for all of
    /// them.
    pub(crate) limits_out: usize,
    pub(crate) reloaders: Vec<u64>,
    pub(crate) clients_ever: u64,
    pub(crate) grants_ever: u64,
    /// The key with which the workers wrap keys: made at the start, and the same for all of them.
    pub(crate) wrapping: SecretBytes,
    /// The keeper of tokens, if the policy has any kept.
    pub(crate) keeper: Option<Keeper>,
    /// The questions about tokens that wait, of each account.
    pub(crate) asking: BTreeMap<Account, u32>,
    /// The grants that have tokens open.
    pub(crate) holders: Holders,
}

impl Broker {
    /// Binds the socket, starts the workers and waits until all of them are ready. From here on this process
    /// can't dump core or gain privileges.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn start(mut config: Config) -> Result<Self, Error> {
        process::settle().map_err(Error::system("the process's limits"))?;
        if config.accelerators == 0 {
            return Err(Error::NoAccelerators);
        }
        let policy = load(&config)?;
        if policy.precomputes_anywhere() {
            tracing::warn!("{PRECOMPUTES}");
        }
        let means = Means {
            descriptors: process::descriptors_for_clients(config.accelerators),
            memory: process::memory(),
            key_memory: config.key_memory as u64,
        };
        // Workers that are started later must be like those that are started now.
        config.key_memory = usize::try_from(policy.service().key_memory(&means)).unwrap_or(config.key_memory);
        let inherited = config.listener.take();
        let disposal = Disposal::default();
        let refuse = config.refuse_descriptors;
        let door = Door::open(&config.socket, inherited, policy.lets_others_in(), refuse, &disposal)
            .map_err(|source| Error::Socket { path: config.socket.clone(), source })?;
        let poll = Poll::new().map_err(Error::system("epoll"))?;
        let keeper = keeper(&policy)?;
        let workers = config.accelerators + config.private_accelerators;
        let crew = (0..workers).map(|index| Worker::new(index, &config, keeper.is_some())).collect();
        let mut broker = Broker {
            config,
            poll,
            door,
            clients: HashMap::new(),
            grants: BTreeMap::new(),
            ending: Ending::new(),
            ledger: Ledger::new(policy.service().whole(&means)),
            policy,
            means,
            idle: Idle::default(),
            untaken: Untaken::default(),
            crew,
            surveys: Surveys::default(),
            counters: Counters::default(),
            totals: Totals::default(),
            chatter: Chatter::new(),
            metrics: None,
            disposal,
            preparing: Errands::new().map_err(Error::system("eventfd"))?,
            errands: Errands::new().map_err(Error::system("eventfd"))?,
            key_ends: KeyEnds::default(),
            limits_out: 0,
            reloaders: Vec::new(),
            clients_ever: 0,
            grants_ever: 0,
            wrapping: wrapping()?,
            keeper,
            asking: BTreeMap::new(),
            holders: Holders::default(),
        };
        broker.wait_for(&broker.preparing, Token::Done)?;
        broker.wait_for(&broker.errands, Token::Done)?;
        if let Some(keeper) = &broker.keeper {
            broker.wait_for(keeper, Token::Kept)?;
        }
        broker.start_workers()?;
        if let Some(config) = &broker.config.metrics {
            let failed = |source| Error::Metrics { address: config.address.clone(), source };
            let metrics = Metrics::serve(config, refuse).map_err(failed)?;
            broker.wait_for(&metrics, Token::Metrics)?;
            broker.metrics = Some(metrics);
        }
        broker.open()?;
        tracing::info!(
            socket = %broker.config.socket.display(), workers = broker.crew.len(), "start"
        );
        Ok(broker)
    }

    fn start_workers(&mut self) -> Result<(), Error> {
        for worker in &mut self.crew {
            worker
                .start(&self.config, &self.poll, &self.disposal)
                .map_err(|source| Error::Worker { program: self.config.worker.program.clone(), source })?;
        }
        let limit = Instant::now() + STUCK;
        while let Some(unready) = self.crew.iter().find(|worker| !worker.is_ready()) {
            if unready.restarts > 0 || Instant::now() >= limit {
                return Err(Error::NotReady { worker: unready.index as u32 });
            }
            self.turn(Some(limit)).map_err(Error::system("epoll"))?;
        }
        Ok(())
    }

    fn wait_for(&self, what: impl std::os::fd::AsFd, token: Token) -> Result<(), Error> {
        self.poll.add(what, token, Interest::READ).map_err(Error::system("epoll"))
    }

    /// Lets clients in.
    fn open(&mut self) -> Result<(), Error> {
        if let Some(listener) = self.door.listener() {
            self.wait_for(listener, Token::Listener)?;
        }
        if let Some(watch) = self.door.watch() {
            self.wait_for(watch, Token::Directory)?;
        }
        Ok(())
    }

    /// Serves until it is told to stop, and then finishes everything that was submitted.
    ///
    /// # Errors
    /// The system's, where the broker can't wait for events.
    pub fn run(mut self, stop: &Stop) -> Result<(), Error> {
        self.wait_for(stop, Token::Stop)?;
        while !stop.is_said() {
            let told = self.turn(None).map_err(Error::system("epoll"))?;
            if told {
                stop.quiet();
            }
            if stop.take_reload() {
                // The error was logged.
                let _ = self.reload(None);
            }
        }
        self.finish_all(stop)
    }

    fn finish_all(mut self, stop: &Stop) -> Result<(), Error> {
        tracing::info!(grants = self.grants.len(), "stop");
        self.poll.remove(stop);
        if let Some(listener) = self.door.listener() {
            self.poll.remove(listener);
        }
        self.crew.iter_mut().for_each(Worker::dismiss);
        let limit = Instant::now() + FINISH;
        while Instant::now() < limit && !self.crew.iter_mut().all(Worker::has_ended) {
            // Only the ends of workers matter now. Clients are no longer answered.
            let events = self.poll.wait(Some(limit)).map_err(Error::system("epoll"))?;
            for event in events {
                match event.token {
                    Token::Ended(index) => self.crew[index].forget_end(&self.poll),
                    Token::Said(index) => self.hear_said(index),
                    Token::Done => self.hear_done(),
                    Token::Worker(index) if !event.gone => {
                        self.crew[index].discard();
                    }
                    token => self.ignore(token),
                }
            }
        }
        for (id, grant) in std::mem::take(&mut self.grants) {
            self.end_shares(id, &grant, STATE_GONE);
        }
        self.ending.keys().copied().collect::<Vec<_>>().into_iter().for_each(|id| self.give_back(id));
        let limit = Instant::now() + FINISH;
        self.preparing.finish(limit);
        self.errands.finish(limit);
        Ok(())
    }

    /// Stops waiting for something.
    fn ignore(&self, token: Token) {
        match token {
            Token::Client(id) => {
                if let Some(client) = self.clients.get(&id) {
                    self.poll.remove(&client.link);
                }
            }
            Token::Left(id) => {
                if let Some(process) = self.clients.get(&id).and_then(|client| client.process.as_ref()) {
                    self.poll.remove(process);
                }
            }
            Token::Worker(index) => {
                if let Some(process) = &self.crew[index].process {
                    self.poll.remove(&process.link);
                }
            }
            Token::Directory => {
                if let Some(watch) = self.door.watch() {
                    self.poll.remove(watch);
                }
            }
            Token::Metrics => {
                if let Some(metrics) = &self.metrics {
                    self.poll.remove(metrics);
                }
            }
            Token::Kept => {
                if let Some(keeper) = &self.keeper {
                    self.poll.remove(keeper);
                }
            }
            Token::Listener | Token::Stop | Token::Done | Token::Ended(_) | Token::Said(_) => {}
        }
    }

    /// Waits for events and handles them. Returns true when it was told to stop or reload.
    fn turn(&mut self, limit: Option<Instant>) -> io::Result<bool> {
        // An order may have broken a worker since the last turn.
        self.bury();
        let until = [limit, self.deadline()].into_iter().flatten().min();
        let mut told = false;
        for event in self.poll.wait(until)? {
            match event.token {
                Token::Listener => self.let_in(),
                Token::Directory => self.look_at_the_door(),
                Token::Stop => told = true,
                Token::Metrics => self.hear_metrics(),
                Token::Done => self.hear_done(),
                Token::Kept => self.hear_keeper(),
                Token::Worker(index) => self.hear_worker(index, event.write),
                Token::Ended(index) => {
                    if let Some(process) = &mut self.crew[index].process {
                        process.broken = true;
                    }
                }
                Token::Said(index) => self.hear_said(index),
                Token::Client(id) => self.hear_client(id, event),
                Token::Left(id) => self.leave(id),
            }
        }
        self.bury();
        self.tick();
        Ok(told)
    }

    /// Returns the next time at which something must be done even without an event; none when idle.
    fn deadline(&self) -> Option<Instant> {
        let workers = self.crew.iter().filter_map(Worker::deadline);
        let door = [self.door.restore_at, self.door.pause_until];
        let others = [self.surveys.begins_at(), self.idle.next_at(), self.untaken.look_at];
        workers.chain(door.into_iter().chain(others).flatten()).min()
    }

    /// Does everything whose time has come.
    fn tick(&mut self) {
        let now = Instant::now();
        for index in 0..self.crew.len() {
            self.crew[index].reap();
            self.crew[index].is_shared = self.grants.len() > 1;
            let verdict = self.crew[index].look(now);
            for purpose in self.crew[index].late(now) {
                let uid = self.whose(purpose);
                say!(
                    self.chatter,
                    uid,
                    Kind::Late,
                    warn,
                    worker = index,
                    ?purpose,
                    "a worker is late to answer"
                );
                self.settle(index, purpose, Outcome::Late);
            }
            match verdict {
                Verdict::Wait => {}
                Verdict::HeldUp(grant) => self.end_singly(index, grant),
                Verdict::Dead => self.give_up(index),
            }
            if self.crew[index].restart_at.is_some_and(|at| now >= at) {
                self.start_again(index);
            }
        }
        self.bury();
        self.close_idle(now);
        self.look_at_untaken(now);
        self.begin_survey(now);
        if self.door.pause_until.is_some_and(|at| now >= at) {
            self.door.pause_until = None;
            self.door.take_spare();
            self.listen(Interest::READ);
        }
        if self.door.restore_at.is_some_and(|at| now >= at) {
            self.restore_the_door();
        }
    }

    /// Gives up on a worker that has said nothing for too long.
    fn give_up(&mut self, index: usize) {
        if let Some(process) = &mut self.crew[index].process {
            tracing::error!(worker = index, "a worker neither answers nor makes progress: it is killed");
            process.broken = true;
        }
    }

    fn start_again(&mut self, index: usize) {
        let worker = &mut self.crew[index];
        if let Err(error) = worker.start(&self.config, &self.poll, &self.disposal) {
            worker.failed_to_start();
            tracing::error!(worker = index, error = %plain(&error), "a worker can't be started");
        }
    }

    /// Revokes a grant.
    pub(crate) fn revoke(&mut self, id: u64) {
        let Some(grant) = self.grants.get_mut(&id) else { return };
        match grant.phase {
            Phase::Live => {
                grant.phase = Phase::Ending;
                let worker = grant.worker;
                self.order_drop(worker, id, true);
            }
            Phase::Preparing | Phase::Serving => {
                self.take_back(id, Refusal::Denied, "it was revoked at once")
            }
            Phase::Moving { to, adopted, .. } => {
                self.finish(id, STATE_REVOKED, &Reply::End {});
                // A worker that has adopted it would serve it for ever. One that has not answered yet is told
                // to drop it when it does.
                if adopted {
                    self.order_drop(to, id, false);
                }
            }
            Phase::Ending => {}
        }
    }

    /// Clears away workers that are dead.
    fn bury(&mut self) {
        for index in 0..self.crew.len() {
            if !self.crew[index].process.as_ref().is_some_and(|process| process.broken) {
                continue;
            }
            self.hear_last_words(index);
            let unanswered = self.crew[index].bury(&self.poll);
            self.counters.restarts += 1;
            for purpose in unanswered {
                self.conclude(index, purpose, Outcome::Died);
            }
            let lost = self.grants.iter().filter(|(_, grant)| match grant.phase {
                Phase::Moving { to, adopted, .. } => to == index && adopted,
                _ => grant.worker == index,
            });
            for (id, phase) in lost.map(|(id, grant)| (*id, grant.phase)).collect::<Vec<_>>() {
                match phase {
                    // The client waits for an answer, and no order of the worker's will bring it.
                    Phase::Preparing => self.take_back(id, Refusal::NoWorker, DIED),
                    _ => self.finish(id, STATE_GONE, &Reply::End {}),
                }
            }
            self.free_all(index);
        }
    }

    fn look_at_the_door(&mut self) {
        if self.door.look() {
            tracing::error!(socket = %self.config.socket.display(), "the socket was taken away");
        }
    }

    fn restore_the_door(&mut self) {
        if let Some(listener) = self.door.listener() {
            self.poll.remove(listener);
        }
        let socket = self.config.socket.display();
        match self.door.restore(self.policy.lets_others_in()) {
            Ok(()) => tracing::info!(%socket, "the socket is there again"),
            Err(error) => tracing::error!(%socket, error = %plain(&error), "the socket can't be made again"),
        }
        let Some(listener) = self.door.listener() else { return };
        if let Err(error) = self.poll.add(listener, Token::Listener, Interest::READ) {
            tracing::error!(error = %plain(&error), "the socket can't be waited for");
        }
    }

    /// Sets whether the broker waits for newcomers.
    pub(crate) fn listen(&self, interest: Interest) {
        if let Some(listener) = self.door.listener() {
            self.poll.change(listener, Token::Listener, interest);
        }
    }

    /// Reads the policy again, for a user or for a signal. Users who may have nothing any more lose their
    /// grants; the other grants go on under the new policy.
    pub(crate) fn reload(&mut self, by: Option<u32>) -> Result<(), Error> {
        let policy = load(&self.config).inspect_err(|error| {
            say!(self.chatter, by, Kind::Reload, error, %error, "the policy stays as it was");
        })?;
        self.ledger.set_whole(policy.service().whole(&self.means));
        if policy.tokens().store != self.policy.tokens().store {
            say!(self.chatter, by, Kind::Reload, warn, "another store of tokens is used after a restart");
        }
        self.policy = policy;
        self.keeper.iter().for_each(Keeper::note_policy);
        if let Err(error) = self.door.admit(self.policy.lets_others_in()) {
            say!(self.chatter, by, Kind::Reload, error, error = %plain(&error), "the mode of the socket can't be changed");
        }
        say!(self.chatter, by, Kind::Reload, info, grants = self.grants.len(), "reload");
        if self.policy.precomputes_anywhere() {
            say!(self.chatter, by, Kind::Reload, warn, "{PRECOMPUTES}");
        }
        for id in self.grants.keys().copied().collect::<Vec<_>>() {
            self.apply_policy(id);
        }
        Ok(())
    }

    fn apply_policy(&mut self, id: u64) {
        let Some(grant) = self.grants.get_mut(&id) else { return };
        let Some(limits) = self.policy.limits(&grant.peer) else {
            self.revoke(id);
            return;
        };
        let served = Worker::serves(self.crew[grant.worker].is_private);
        let algorithms = limits.algorithms.intersection(served).to_bits();
        let (weight, keys) = (limits.weight, limits.keys.clone());
        if (grant.terms.weight, grant.terms.algorithms, &grant.terms.keys) == (weight, algorithms, &keys) {
            return;
        }
        (grant.terms.weight, grant.terms.algorithms, grant.terms.keys) = (weight, algorithms, keys.clone());
        let worker = grant.worker;
        let other = match grant.phase {
            Phase::Moving { to, .. } => Some(to),
            // This grant's limits go to the worker with the grant itself.
            Phase::Preparing => return,
            _ => None,
        };
        for index in [Some(worker), other].into_iter().flatten() {
            self.limits_out += 1;
            let order = Order::Limit { grant: id, weight, algorithms, keys: keys.clone() };
            self.order(index, &order, Vec::new(), Purpose::Limit);
        }
    }
}

/// The warning about a policy with precomputed nonces.
const PRECOMPUTES: &str = "the policy has `precompute = \"on\"`: whoever restores a snapshot of this machine's memory twice, or reads \
    it, can find the P-256 keys of those whom that is for";

/// Opens the store of the tokens, if there are to be any.
fn keeper(policy: &Policy) -> Result<Option<Keeper>, Error> {
    let Some(store) = &policy.tokens().store else { return Ok(None) };
    let (keeper, origin) = Keeper::open(store).map_err(Error::Store)?;
    tracing::info!(store = %store.display(), device_secret = ?origin, "tokens are kept");
    Ok(Some(keeper))
}

fn load(config: &Config) -> Result<Policy, Error> {
    match &config.policy {
        Some(path) => Ok(Policy::load(path)?),
        None => Ok(Policy::own_user()),
    }
}

/// Makes the key with which the workers wrap keys.
fn wrapping() -> Result<SecretBytes, Error> {
    let mut key = SecretBytes::new(32).map_err(Error::system("memory for a key"))?;
    let mut filled = 0;
    while filled < key.len() {
        let more = getrandom(&mut key[filled..], GetRandomFlags::empty());
        filled += more.map_err(|why| Error::system("getrandom")(why.into()))?;
    }
    Ok(key)
}
