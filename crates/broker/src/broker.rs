//! The event loop, and what becomes of orders, workers and grants.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::{Duration, Instant};

use millstream_protocol::{Message, Order, Refusal, Reply, Report, STATE_GONE, STATE_REVOKED};

use crate::client::{Chatter, Client};
use crate::config::Config;
use crate::crew::{Outcome, Purpose, STUCK, Traits, Worker};
use crate::error::Error;
use crate::grant::{Grant, Phase};
use crate::link::Shared;
use crate::metrics::{Counters, Metrics};
use crate::operate::Survey;
use crate::place::Door;
use crate::policy::Policy;
use crate::poll::{Interest, Poll, Token};
use crate::stop::Stop;
use crate::{probes, process};

/// How long workers may take to finish when the broker stops.
const FINISH: Duration = Duration::from_secs(5);
/// How many messages of one sender are read before the others' turn.
const TURN: usize = 16;

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
    pub(crate) crew: Vec<Worker>,
    pub(crate) survey: Option<Survey>,
    pub(crate) counters: Counters,
    pub(crate) chatter: Chatter,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) clients_ever: u64,
    pub(crate) grants_ever: u64,
}

impl Broker {
    /// Binds the socket, starts the workers and waits until all of them are ready. This process can't dump core from here
    /// on, nor gain privileges.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn start(mut config: Config) -> Result<Self, Error> {
        process::settle().map_err(Error::system("the process's limits"))?;
        if config.accelerators == 0 {
            return Err(Error::NoAccelerators);
        }
        let policy = load(&config)?;
        let inherited = config.listener.take();
        let door = Door::open(&config.socket, inherited, policy.lets_others_in())
            .map_err(|source| Error::Socket { path: config.socket.clone(), source })?;
        let poll = Poll::new().map_err(Error::system("epoll"))?;
        let crew = (0..config.accelerators).map(|index| Worker::new(index, &config)).collect();
        let mut broker = Broker {
            config,
            policy,
            poll,
            door,
            clients: HashMap::new(),
            grants: BTreeMap::new(),
            crew,
            survey: None,
            counters: Counters::default(),
            chatter: Chatter::default(),
            metrics: None,
            clients_ever: 0,
            grants_ever: 0,
        };
        broker.start_workers()?;
        if let Some(address) = broker.config.metrics {
            let metrics = Metrics::serve(address).map_err(|source| Error::Metrics { address, source })?;
            broker.wait_for(&metrics, Token::Metrics)?;
            broker.metrics = Some(metrics);
        }
        broker.open()?;
        tracing::info!(
            socket = %broker.config.socket.display(), workers = broker.config.accelerators, "start"
        );
        Ok(broker)
    }

    fn start_workers(&mut self) -> Result<(), Error> {
        for worker in &mut self.crew {
            worker
                .start(&self.config, &self.poll)
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

    /// Serves until it is told to stop. What was submitted by then is finished.
    ///
    /// # Errors
    /// The system's, where it does not let the broker wait.
    pub fn run(mut self, stop: &Stop) -> Result<(), Error> {
        self.wait_for(stop, Token::Stop)?;
        while !stop.is_said() {
            let told = self.turn(None).map_err(Error::system("epoll"))?;
            if told {
                stop.quiet();
            }
            if stop.take_reload() {
                // What is wrong with it was logged.
                let _ = self.reload();
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
            // Only to wait: nobody is answered any more.
            let events = self.poll.wait(Some(limit)).map_err(Error::system("epoll"))?;
            for event in events {
                match event.token {
                    Token::Ended(index) => self.crew[index].forget_end(&self.poll),
                    Token::Worker(index) if !event.gone => {
                        self.crew[index].discard();
                    }
                    token => self.ignore(token),
                }
            }
        }
        for (id, grant) in std::mem::take(&mut self.grants) {
            end_shares(id, &grant, STATE_GONE);
        }
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
            Token::Listener | Token::Stop | Token::Ended(_) => {}
        }
    }

    /// Waits, and does what there is to do; whether it was told something.
    fn turn(&mut self, limit: Option<Instant>) -> io::Result<bool> {
        // Orders may have been given since the last turn.
        self.bury();
        let until = [limit, self.deadline()].into_iter().flatten().min();
        let mut told = false;
        for event in self.poll.wait(until)? {
            match event.token {
                Token::Listener => self.let_in(),
                Token::Directory => self.look_at_the_door(),
                Token::Stop => told = true,
                Token::Metrics => self.hear_metrics(),
                Token::Worker(index) => self.hear_worker(index, event.write),
                Token::Ended(index) => {
                    if let Some(process) = &mut self.crew[index].process {
                        process.broken = true;
                    }
                }
                Token::Client(id) => self.hear_client(id, event),
                Token::Left(id) => self.leave(id),
            }
        }
        self.bury();
        self.tick();
        Ok(told)
    }

    /// When something must be done, whatever happens; idle, never.
    fn deadline(&self) -> Option<Instant> {
        let workers = self.crew.iter().filter_map(Worker::deadline);
        workers.chain(self.door.restore_at).chain(self.door.pause_until).min()
    }

    /// Does what the time has come for.
    fn tick(&mut self) {
        let now = Instant::now();
        for index in 0..self.crew.len() {
            for purpose in self.crew[index].late(now) {
                tracing::warn!(worker = index, ?purpose, "a worker is late to answer");
                self.settle(index, purpose, Outcome::Late);
            }
            if self.crew[index].stuck_at().is_some_and(|at| now >= at) {
                self.give_up(index);
            }
            if self.crew[index].restart_at.is_some_and(|at| now >= at) {
                self.start_again(index);
            }
        }
        self.bury();
        if self.door.pause_until.is_some_and(|at| now >= at) {
            self.door.pause_until = None;
            self.door.take_spare();
            self.listen(Interest::READ);
        }
        if self.door.restore_at.is_some_and(|at| now >= at) {
            self.restore_the_door();
        }
    }

    /// A worker says nothing for too long. It is not its fault where it waits for what another has to hand over.
    fn give_up(&mut self, index: usize) {
        let waits_for_another = match self.crew[index].first() {
            Some(Purpose::Adopt(id)) => self
                .grants
                .get(&id)
                .is_some_and(|grant| matches!(grant.phase, Phase::Moving { released: false, .. })),
            _ => false,
        };
        if waits_for_another {
            self.crew[index].was_heard();
        } else if let Some(process) = &mut self.crew[index].process {
            tracing::error!(worker = index, "a worker does not answer: it is killed");
            process.broken = true;
        }
    }

    fn start_again(&mut self, index: usize) {
        let worker = &mut self.crew[index];
        if let Err(error) = worker.start(&self.config, &self.poll) {
            worker.failed_to_start();
            tracing::error!(worker = index, %error, "a worker can't be started");
        }
    }

    /// Gives a worker an order.
    pub(crate) fn order(&mut self, index: usize, order: &Order, with: Vec<Shared>, purpose: Purpose) {
        if let Err(outcome) = self.crew[index].order(order, with, purpose, &self.poll) {
            self.settle(index, purpose, outcome);
        }
    }

    pub(crate) fn order_drop(&mut self, index: usize, grant: u64, tell: bool) {
        self.order(index, &Order::Drop { grant }, Vec::new(), Purpose::Drop { grant, tell });
    }

    fn hear_worker(&mut self, index: usize, takes_more: bool) {
        if takes_more {
            self.crew[index].flush(&self.poll);
        }
        for _ in 0..4 * TURN {
            let Some(process) = &mut self.crew[index].process else { return };
            let report = match process.link.receive() {
                Ok(Some(bytes)) => Report::decode(&bytes).ok(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(None) | Err(_) => None,
            };
            let Some(report) = report else {
                process.broken = true;
                return;
            };
            self.crew[index].was_heard();
            self.take_report(index, report);
        }
    }

    fn take_report(&mut self, index: usize, report: Report) {
        match report {
            Report::Ready { sandbox, key_memory } => {
                tracing::info!(worker = index, %sandbox, %key_memory, "worker ready");
                if let Some(process) = &mut self.crew[index].process {
                    process.traits = Some(Traits { sandbox, key_memory });
                }
            }
            Report::Worker { sleeps } => self.crew[index].sleeps = sleeps,
            Report::Counts { grant, counts } => {
                let is_its = self.grants.get(&grant).is_some_and(|found| found.worker == index);
                if let Some(survey) = self.survey.as_mut().filter(|_| is_its) {
                    survey.counts.insert(grant, counts);
                }
            }
            Report::Done {} => self.take_answer(index, Outcome::Done),
            Report::Failed { why } => {
                tracing::warn!(worker = index, %why, "a worker could not do what it was told");
                self.take_answer(index, Outcome::Failed(why));
            }
            // A message of a later version, which no worker of this broker sends.
            _ => {}
        }
    }

    fn take_answer(&mut self, index: usize, outcome: Outcome) {
        match self.crew[index].answered() {
            Some((Purpose::Count, true)) => {}
            Some((purpose, _)) => self.settle(index, purpose, outcome),
            // An answer to nothing.
            None => {
                if let Some(process) = &mut self.crew[index].process {
                    process.broken = true;
                }
            }
        }
    }

    /// What an order was for has come out, one way or another.
    pub(crate) fn settle(&mut self, index: usize, purpose: Purpose, outcome: Outcome) {
        match purpose {
            Purpose::Serve(id) => self.served(index, id, outcome),
            Purpose::Drop { grant, tell: true } => {
                self.finish(grant, STATE_REVOKED, &Reply::End {});
            }
            Purpose::Drop { tell: false, .. } | Purpose::Limit => {}
            Purpose::Release(id) => self.moved(index, id, true, outcome),
            Purpose::Adopt(id) => self.moved(index, id, false, outcome),
            Purpose::Count => self.counted(index),
        }
    }

    /// One side of a grant's move has answered.
    fn moved(&mut self, index: usize, id: u64, is_release: bool, outcome: Outcome) {
        let Some(grant) = self.grants.get_mut(&id) else {
            // It has ended meanwhile. Whoever has it now is to drop it.
            if matches!(outcome, Outcome::Done | Outcome::Failed(_)) {
                self.order_drop(index, id, false);
            }
            return;
        };
        let Phase::Moving { to, released, adopted } = &mut grant.phase else { return };
        match outcome {
            Outcome::Late => {}
            Outcome::Done => {
                *released |= is_release;
                *adopted |= !is_release;
                if *released && *adopted {
                    grant.worker = *to;
                    grant.phase = Phase::Live;
                    tracing::info!(grant = id, worker = index, "moved");
                    let askers = std::mem::take(&mut grant.askers);
                    self.answer_all(&askers, &Reply::End {});
                }
            }
            Outcome::Failed(_) | Outcome::Died => {
                let (other, other_has_answered) =
                    if is_release { (*to, *adopted) } else { (grant.worker, *released) };
                let why = Refusal::NoWorker;
                let detail = "a worker failed while the grant moved, which ended it".to_owned();
                self.finish(id, STATE_GONE, &Reply::Refused { why, detail });
                if outcome != Outcome::Died {
                    self.order_drop(index, id, false);
                }
                if other_has_answered {
                    self.order_drop(other, id, false);
                }
            }
        }
    }

    /// Ends a grant as far as its client is concerned, and answers who waits for that.
    pub(crate) fn finish(&mut self, id: u64, state: u64, answer: &Reply) {
        let Some(grant) = self.grants.remove(&id) else { return };
        end_shares(id, &grant, state);
        if let Some(client) = self.clients.get_mut(&grant.client) {
            client.grant = None;
        }
        let (pid, uid) = (grant.peer.pid, grant.peer.uid);
        if state == STATE_REVOKED {
            self.counters.revoked += 1;
            tracing::info!(grant = id, pid, uid, "revoke");
        } else {
            self.counters.gone += 1;
            tracing::warn!(grant = id, pid, uid, "a grant has ended with its worker");
        }
        self.answer_all(&grant.askers, answer);
    }

    /// A client has gone, and nobody will use its grant any more.
    pub(crate) fn abandon(&mut self, id: u64) {
        let Some(grant) = self.grants.remove(&id) else { return };
        // A child that it forked may still look at it.
        end_shares(id, &grant, STATE_GONE);
        tracing::info!(grant = id, pid = grant.peer.pid, uid = grant.peer.uid, "ended");
        self.answer_all(&grant.askers, &Reply::End {});
        // In other phases there is an order to be answered, and what is to be done then is seen then.
        if grant.phase == Phase::Live {
            self.order_drop(grant.worker, id, false);
        }
    }

    /// Takes a grant back.
    pub(crate) fn revoke(&mut self, id: u64) {
        let Some(grant) = self.grants.get_mut(&id) else { return };
        match grant.phase {
            Phase::Live => {
                grant.phase = Phase::Ending;
                let worker = grant.worker;
                self.order_drop(worker, id, true);
            }
            Phase::Serving => self.take_back(id, Refusal::Denied, "it was revoked at once"),
            // The workers are told when they have answered.
            Phase::Moving { .. } => self.finish(id, STATE_REVOKED, &Reply::End {}),
            Phase::Ending => {}
        }
    }

    /// Clears away workers that are dead.
    fn bury(&mut self) {
        for index in 0..self.crew.len() {
            if !self.crew[index].process.as_ref().is_some_and(|process| process.broken) {
                continue;
            }
            let unanswered = self.crew[index].bury(&self.poll);
            self.counters.restarts += 1;
            for purpose in unanswered {
                self.settle(index, purpose, Outcome::Died);
            }
            let lost = self.grants.iter().filter(|(_, grant)| match grant.phase {
                Phase::Live | Phase::Ending | Phase::Serving => grant.worker == index,
                Phase::Moving { to, adopted, .. } => to == index && adopted,
            });
            for id in lost.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.finish(id, STATE_GONE, &Reply::End {});
            }
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
            Err(error) => tracing::error!(%socket, %error, "the socket can't be made again"),
        }
        let Some(listener) = self.door.listener() else { return };
        if let Err(error) = self.poll.add(listener, Token::Listener, Interest::READ) {
            tracing::error!(%error, "the socket can't be waited for");
        }
    }

    /// Whether newcomers are waited for.
    pub(crate) fn listen(&self, interest: Interest) {
        if let Some(listener) = self.door.listener() {
            self.poll.change(listener, Token::Listener, interest);
        }
    }

    /// Reads the policy again. Who may have nothing any more loses its grants; the others' go on by the new one.
    pub(crate) fn reload(&mut self) -> Result<(), Error> {
        let policy = load(&self.config).inspect_err(|error| {
            tracing::error!(%error, "the policy stays as it was");
        })?;
        self.policy = policy;
        if let Err(error) = self.door.admit(self.policy.lets_others_in()) {
            tracing::error!(%error, "the mode of the socket can't be changed");
        }
        tracing::info!(grants = self.grants.len(), "reload");
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
        let (weight, algorithms) = (limits.weight, limits.algorithms.to_bits());
        if (grant.terms.weight, grant.terms.algorithms) == (weight, algorithms) {
            return;
        }
        (grant.terms.weight, grant.terms.algorithms) = (weight, algorithms);
        let worker = grant.worker;
        let other = match grant.phase {
            Phase::Moving { to, .. } => Some(to),
            _ => None,
        };
        for index in [Some(worker), other].into_iter().flatten() {
            self.order(index, &Order::Limit { grant: id, weight, algorithms }, Vec::new(), Purpose::Limit);
        }
    }
}

fn load(config: &Config) -> Result<Policy, Error> {
    match &config.policy {
        Some(path) => Ok(Policy::load(path)?),
        None => Ok(Policy::own_user()),
    }
}

fn end_shares(id: u64, grant: &Grant, state: u64) {
    probes::revoke(id, state);
    if let Err(error) = grant.shares.end(state) {
        // It sees the state all the same, when its wait times out.
        tracing::warn!(grant = id, %error, "a client could not be woken");
    }
}
