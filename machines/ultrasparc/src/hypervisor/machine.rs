//! The machine: cores with their units, partitions, memory of the hypervisor's own, and time.

use super::core::{Core, Given};
use super::cwq::SHADOW_BYTES;
use super::domain::{Bus, Domain};
use super::position::{cwq_devino, mau_devino};
use super::{GROUP, HYPERVISOR_MEMORY, QueueType, Range, Reply, Status, function};
use crate::processor::Processor;
use crate::spu::{Completed, Interrupt, Model, Physical, Queues, Spu, Work, trap};

/// A piece of work that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The core whose unit did it.
    pub core: usize,
    /// The work, and how it ended.
    pub completed: Completed,
}

/// A machine with accelerators.
///
/// ```
/// use millstream_ultrasparc::hypervisor::{GROUP, Machine, Status, function};
/// use millstream_ultrasparc::processor::Processor;
///
/// let mut memory = vec![0_u8; 0x10000];
/// let mut machine = Machine::new(Processor::T2, 2);
/// machine.set_version(0, GROUP, 2, 0)?;
/// // Processor 0 configures its core's control word queue: 16 entries at 0x4000.
/// let reply = machine.hypercall(0, function::QCONF, [2, 0x4000, 16, 0], &mut memory);
/// assert_eq!(reply.status, Status::Ok);
/// let handle = reply.results[0];
/// // ... writes a control word there, and moves the tail.
/// let reply = machine.hypercall(0, function::SETTAIL, [handle, 64, 0, 0], &mut memory);
/// assert_eq!(reply.status, Status::Invalid, "there is nothing at its source address");
/// # Ok::<(), Status>(())
/// ```
pub struct Machine {
    pub(super) model: Option<Model>,
    pub(super) cores: Vec<Core>,
    pub(super) domains: Vec<Domain>,
    /// The hypervisor's own memory.
    pub(super) own: Vec<u8>,
    events: Vec<Event>,
}

impl Machine {
    /// A machine of a processor with that many cores. One partition, number 0, owns them all, and all memory below
    /// the hypervisor's. Its real addresses are the physical ones.
    #[must_use]
    pub fn new(processor: Processor, cores: usize) -> Machine {
        let model = Model::of(processor);
        let most = model.map_or(0, |model| model.units() as usize);
        let core = |model: Model| Core {
            spu: Spu::new(model),
            partition: 0,
            contexts: vec![0; model.strands()],
            given: Given { mau: true, cwq: model.has_queue() },
            cwq: None,
            mau: None,
            left: [None; 2],
        };
        let cores: Vec<Core> =
            model.into_iter().flat_map(|model| (0..cores.min(most)).map(move |_| core(model))).collect();
        let all = Range { real: 0, physical: 0, bytes: HYPERVISOR_MEMORY };
        Machine {
            model,
            own: vec![0; cores.len() * SHADOW_BYTES as usize],
            cores,
            domains: vec![Domain::new(vec![all])],
            events: Vec::new(),
        }
    }

    /// The unit that its cores have.
    #[must_use]
    pub fn model(&self) -> Option<Model> {
        self.model
    }

    /// The number of cores that have a unit.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// Gives a partition other memory. Its queues are gone, because they were in its old memory.
    ///
    /// # Panics
    /// There is no such partition, or the memory is the hypervisor's.
    pub fn set_memory(&mut self, partition: u16, memory: Vec<Range>) {
        let version = self.domains[usize::from(partition)].version;
        self.domains[usize::from(partition)] = Domain { version, ..Domain::new(memory) };
        for core in self.cores.iter_mut().filter(|core| core.partition == partition) {
            core.reset();
        }
    }

    /// Adds a partition, which takes these cores from their former partitions, without their queues.
    ///
    /// # Panics
    /// There is no such core, or the memory is the hypervisor's.
    pub fn add_domain(&mut self, memory: Vec<Range>, cores: impl IntoIterator<Item = usize>) -> u16 {
        let partition = self.domains.len() as u16;
        self.domains.push(Domain::new(memory));
        for core in cores {
            self.cores[core].partition = partition;
            self.cores[core].reset();
        }
        partition
    }

    /// Takes a core's unit from its partition, as the hypervisor's owner may; the partition keeps the core.
    ///
    /// # Panics
    /// There is no such core.
    pub fn withhold(&mut self, core: usize, unit: QueueType) {
        let core = &mut self.cores[core];
        match unit {
            QueueType::Mau => {
                core.given.mau = false;
                core.reset_mau();
            }
            QueueType::Cwq => {
                core.given.cwq = false;
                core.reset_queues();
            }
        }
    }

    /// Sets the address space that a processor executes in now, with which the hardware tags its requests.
    pub fn set_context(&mut self, cpu: usize, context: u16) {
        if let Some((core, strand)) = self.strand_of(cpu) {
            self.cores[core].contexts[strand] = context;
        }
    }

    /// The core of a processor, and its strand in it.
    pub(super) fn strand_of(&self, cpu: usize) -> Option<(usize, usize)> {
        let strands = self.model?.strands();
        let core = cpu / strands;
        (core < self.cores.len()).then_some((core, cpu % strands))
    }

    /// The partition that a core belongs to.
    pub(super) fn domain_of(&self, core: usize) -> &Domain {
        &self.domains[usize::from(self.cores[core].partition)]
    }

    /// Agrees on a version of an API group, as `api_set_version` does; answers the minor version.
    ///
    /// # Errors
    /// [`Status::Invalid`] for another group, [`Status::NotSupported`] for a major version that the machine lacks.
    pub fn set_version(&mut self, cpu: usize, group: u64, major: u64, minor: u64) -> Result<u64, Status> {
        let (core, _) = self.strand_of(cpu).ok_or(Status::NoCpu)?;
        if group != GROUP {
            return Err(Status::Invalid);
        }
        let newest = match (major, self.model) {
            (1, _) => 0,
            (2, Some(Model::RainbowFalls)) => 1,
            (2, _) => 0,
            _ => return Err(Status::NotSupported),
        };
        let minor = minor.min(newest);
        let partition = usize::from(self.cores[core].partition);
        self.domains[partition].version = Some((major, minor));
        Ok(minor)
    }

    /// Serves a hypervisor call of a processor: the function is in %o5, the arguments in %o0 to %o3.
    pub fn hypercall(
        &mut self,
        cpu: usize,
        function: u64,
        arguments: [u64; 4],
        memory: &mut dyn Physical,
    ) -> Reply {
        let Some((core, strand)) = self.strand_of(cpu) else { return Status::BadTrap.into() };
        let needs = match function {
            function::REQUEST => (1, 0),
            function::QCONF..=function::SETHEAD_MARKER => (2, 0),
            function::ULQCONF => (2, 1),
            _ => return Status::BadTrap.into(),
        };
        let agreed = self.domain_of(core).version;
        if !agreed.is_some_and(|(major, minor)| major == needs.0 && minor >= needs.1) {
            return Status::BadTrap.into();
        }
        let caller = Caller { core, strand };
        let [a, b, c, _] = arguments;
        match function {
            function::REQUEST => self.request(caller, a, b, c, memory).map(|()| [0; 3]),
            function::QCONF => self.qconf(caller, a, b, c, memory).map(|handle| [handle, 0, 0]),
            function::QINFO => self.qinfo(caller, a),
            function::GETHEAD => self.gethead(caller, a).map(|offset| [offset, 0, 0]),
            function::GETTAIL => self.gettail(caller, a).map(|offset| [offset, 0, 0]),
            function::SETTAIL => self.settail(caller, a, b, memory).map(|()| [0; 3]),
            function::QHANDLE_TO_DEVINO => self.devino(caller, a).map(|devino| [devino, 0, 0]),
            function::SETHEAD_MARKER => self.sethead_marker(caller, a, b).map(|()| [0; 3]),
            _ => self.ulqconf(caller, a, b, c).map(|handle| [handle, 0, 0]),
        }
        .into()
    }

    /// Lets so many cycles pass. `cost` says how many a piece of work takes. The events of each core are in the order
    /// in which its work ended.
    pub fn advance(
        &mut self,
        memory: &mut dyn Physical,
        cycles: u64,
        cost: &dyn Fn(&Work) -> u64,
    ) -> Vec<Event> {
        for core in 0..self.cores.len() {
            self.advance_queues(core, memory, cycles, cost);
            self.advance_mau(core, memory, cycles, cost);
        }
        self.take_events()
    }

    /// Takes the events since the last time. Calls can have units finish work, too.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn log(&mut self, core: usize, completed: impl IntoIterator<Item = Completed>) {
        self.events.extend(completed.into_iter().map(|completed| Event { core, completed }));
    }

    /// True if no unit has work left.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.cores.iter().all(|core| {
            let queues = core.spu.queues.as_ref().is_none_or(Queues::has_nothing);
            queues && !core.spu.mau.is_busy()
        })
    }

    fn advance_queues(
        &mut self,
        core: usize,
        memory: &mut dyn Physical,
        cycles: u64,
        cost: &dyn Fn(&Work) -> u64,
    ) {
        let mut budget = cycles;
        loop {
            let Core { spu, left, .. } = &mut self.cores[core];
            let Some(queues) = &mut spu.queues else { return };
            let mut bus = Bus { memory, own: &mut self.own };
            if !queues.is_working() {
                left[0] = queues.start(&mut bus).map(|work| cost(&work));
            }
            let Some(needed) = left[0].filter(|_| queues.is_working()) else { return };
            if needed > budget {
                left[0] = Some(needed - budget);
                return;
            }
            budget -= needed;
            let done = queues.finish(&mut bus);
            // The unit goes on before the strand that it interrupts has served the interrupt.
            left[0] = queues.start(&mut bus).map(|work| cost(&work));
            self.log(core, done);
            self.serve_interrupts(core, memory);
        }
    }

    fn advance_mau(
        &mut self,
        core: usize,
        memory: &mut dyn Physical,
        cycles: u64,
        cost: &dyn Fn(&Work) -> u64,
    ) {
        let mut budget = cycles;
        loop {
            let Core { spu, left, .. } = &mut self.cores[core];
            if !spu.mau.is_busy() {
                left[1] = None;
                return;
            }
            let whole = || spu.mau.work().map_or(0, |work| cost(&work));
            let needed = left[1].unwrap_or_else(whole);
            if needed > budget {
                left[1] = Some(needed - budget);
                return;
            }
            budget -= needed;
            left[1] = None;
            let done = spu.mau.finish(&mut Bus { memory, own: &mut self.own });
            self.log(core, done);
            self.serve_interrupts(core, memory);
        }
    }

    /// Serves the traps that a core's unit raised.
    pub(super) fn serve_interrupts(&mut self, core: usize, memory: &mut dyn Physical) {
        while let Some(Interrupt { trap, .. }) = self.cores[core].spu.take_interrupt() {
            match trap {
                trap::CONTROL_WORD_QUEUE => self.cwq_interrupt(core, memory),
                _ => self.mau_interrupt(core, memory),
            }
        }
    }

    /// The device interrupt numbers that are asserted at a processor. Each stays asserted until the guest marks the
    /// head of its queue as seen.
    #[must_use]
    pub fn interrupts(&self, cpu: usize) -> Vec<u64> {
        let Some((core, strand)) = self.strand_of(cpu) else { return Vec::new() };
        let cores = &self.cores[core];
        let cwq = cores.cwq.as_ref().filter(|queue| queue.position.asserts(strand));
        let mau = cores.mau.as_ref().filter(|queue| queue.position.asserts(strand));
        let numbers = [mau.map(|_| mau_devino(core)), cwq.map(|_| cwq_devino(core))];
        numbers.into_iter().flatten().collect()
    }
}

/// The caller of a hypervisor call.
#[derive(Clone, Copy)]
pub(super) struct Caller {
    pub core: usize,
    pub strand: usize,
}
