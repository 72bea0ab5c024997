//! Unwinding: the functions that a stopped thread is in, from the innermost outwards.
//!
//! Ref. System V ABI, AMD64 supplement, §3.6.2 and §3.7; DWARF 5, §6.4.

use std::sync::Arc;

use gimli::{
    CfaRule, Encoding, EvaluationResult, Format, Location, Register, RegisterRule, UnwindContext,
    UnwindExpression, UnwindTableRow, Value,
};

use super::carry_less::CarryLess;
use super::depth;
use super::frames::Bytes;
use super::generated::Generated;
pub use super::modules::{Module, Modules};
use crate::memory::Memory;

/// The largest number of frames that is returned.
pub const MOST_FRAMES: usize = 64;

/// Registers of a stopped thread: the program counter, and the general ones in DWARF's order: rax, rdx, rcx, rbx, rsi, rdi,
/// rbp, rsp, r8 to r15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Registers {
    /// The address of the next instruction.
    pub pc: u64,
    /// The general registers.
    pub general: [u64; 16],
}

const FRAME_POINTER: usize = 6;
const STACK_POINTER: usize = 7;
const RETURN_ADDRESS: u16 = 16;

/// A function that a thread is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The address of the next instruction there.
    pub address: u64,
    /// The same address in the module's file, wherever the module was loaded.
    pub inside: u64,
    /// The module's name, or `None` in generated code.
    pub module: Option<Arc<str>>,
    /// The function's name for people, as [`super::Image::name`] gives it, or `None` where no function is
    /// known.
    pub function: Option<String>,
    /// True when the name is a real one, not made from the address.
    pub is_named: bool,
    /// The distance from the function's start.
    pub offset: u64,
    /// The purpose of its carry-less multiplication, from [`super::Image::carry_less`].
    pub carry_less: CarryLess,
}

/// Returns the functions that a thread with these registers is in, the innermost first, at most
/// [`MOST_FRAMES`]. The list ends where no rule leads to the next caller.
pub fn callers(registers: &Registers, memory: &dyn Memory, modules: &Modules) -> Vec<Caller> {
    Stack { memory, modules, generated: None }.callers(registers)
}

/// Returns the same as [`callers`], also through generated code.
pub fn callers_through(
    registers: &Registers,
    memory: &dyn Memory,
    modules: &Modules,
    generated: &Generated,
) -> Vec<Caller> {
    Stack { memory, modules, generated: Some(generated) }.callers(registers)
}

struct Stack<'a> {
    memory: &'a dyn Memory,
    modules: &'a Modules,
    generated: Option<&'a Generated>,
}

impl Stack<'_> {
    fn callers(&self, registers: &Registers) -> Vec<Caller> {
        let mut registers = *registers;
        let mut callers = Vec::new();
        // A return address may be the first address of the next function, because the call before it never
        // returns.
        let mut is_return = false;
        while callers.len() < MOST_FRAMES && registers.pc != 0 {
            let at = registers.pc - u64::from(is_return);
            let (caller, next) = match self.modules.at(at) {
                Some(module) => {
                    let by_table = step_in(&registers, at, self.memory, module);
                    let next = by_table.or_else(|| Some((self.by_code(&registers, at, module)?, false)));
                    (in_module(registers.pc, at, module), next)
                }
                None => self.in_generated(&registers, at),
            };
            callers.push(caller);
            let Some((next, is_signal)) = next.or_else(|| self.by_frame_pointer(&registers)) else { break };
            // Signal handlers may run on a stack of their own. Otherwise the stack only gets shorter.
            if next.general[STACK_POINTER] <= registers.general[STACK_POINTER] && !is_signal {
                break;
            }
            is_return = !is_signal;
            registers = next;
        }
        callers
    }

    fn in_generated(&self, registers: &Registers, at: u64) -> (Caller, Option<(Registers, bool)>) {
        let made = self.generated.and_then(|generated| generated.made_at(self.memory, at));
        let next = made.as_ref().and_then(|made| self.by_frame_size(registers, made.frame_size));
        let caller = Caller {
            address: registers.pc,
            inside: registers.pc,
            module: None,
            is_named: made.is_some(),
            offset: made.as_ref().map_or(0, |made| registers.pc.saturating_sub(made.start)),
            function: made.map(|made| made.name),
            carry_less: CarryLess::Unknown,
        };
        (caller, next)
    }

    /// Unwinds a compiled method, whose frame has a fixed size and ends with the caller's rbp and the return
    /// address.
    fn by_frame_size(&self, registers: &Registers, size: u64) -> Option<(Registers, bool)> {
        let mut next = *registers;
        let top = registers.general[STACK_POINTER].checked_add(size).filter(|_| size >= 16)?;
        next.pc = self.memory.word(top - 8).ok()?;
        next.general[FRAME_POINTER] = self.memory.word(top - 16).ok()?;
        next.general[STACK_POINTER] = top;
        self.is_code(next.pc).then_some((next, false))
    }

    /// Unwinds a function that no table describes, by its changes to the stack since its entry. Only an
    /// address behind a call is believed.
    fn by_code(&self, registers: &Registers, at: u64, module: &Module) -> Option<Registers> {
        let (inside, image) = (at.wrapping_sub(module.bias), &module.image);
        // A table that describes the place is not second-guessed where it leads nowhere.
        if image.frames.describe(inside) {
            return None;
        }
        let function = &image.functions()[image.function_at(inside)?];
        let [start, end] = [function.start, function.end].map(|address| address.wrapping_add(module.bias));
        let depth = depth::at(self.memory, start, end, registers.pc)?;
        let above = registers.general[STACK_POINTER].checked_add_signed(depth.bytes)?;
        let mut next = *registers;
        next.pc = self.memory.word(above).ok()?;
        next.general[STACK_POINTER] = above.checked_add(8)?;
        for (number, below) in depth.saved() {
            next.general[number] = self.memory.word(above.checked_add_signed(-below)?).ok()?;
        }
        (self.is_code(next.pc) && depth::is_behind_call(self.memory, next.pc)).then_some(next)
    }

    /// Unwinds by rbp, where it points at the caller's rbp and the return address above that. Only addresses
    /// of code are believed.
    fn by_frame_pointer(&self, registers: &Registers) -> Option<(Registers, bool)> {
        const LARGEST_FRAME: u64 = 1 << 20;
        let frame = registers.general[FRAME_POINTER];
        let above = frame.checked_sub(registers.general[STACK_POINTER])?;
        if !frame.is_multiple_of(8) || above > LARGEST_FRAME {
            return None;
        }
        let mut next = *registers;
        next.general[FRAME_POINTER] = self.memory.word(frame).ok()?;
        next.pc = self.memory.word(frame.checked_add(8)?).ok()?;
        next.general[STACK_POINTER] = frame.checked_add(16)?;
        self.is_code(next.pc).then_some((next, false))
    }

    fn is_code(&self, address: u64) -> bool {
        let is_made = |generated: &Generated| generated.made_at(self.memory, address).is_some();
        self.modules.at(address).is_some() || self.generated.is_some_and(is_made)
    }
}

fn in_module(address: u64, at: u64, module: &Module) -> Caller {
    let inside = at.wrapping_sub(module.bias);
    let found = module.image.function_at(inside);
    let function = found.map(|function| &module.image.functions()[function]);
    Caller {
        address,
        inside: address.wrapping_sub(module.bias),
        module: Some(module.name.clone()),
        function: found.map(|function| module.image.name(function)),
        is_named: function.is_some_and(|function| function.name.is_some()),
        offset: function.map_or(0, |function| address.wrapping_sub(module.bias).wrapping_sub(function.start)),
        carry_less: found.map_or(CarryLess::Unknown, |function| module.image.carry_less(function)),
    }
}

/// Returns the registers of the caller, and whether a signal handler was left.
fn step_in(
    registers: &Registers,
    at: u64,
    memory: &dyn Memory,
    module: &Module,
) -> Option<(Registers, bool)> {
    let address = at.wrapping_sub(module.bias);
    let by_table = module.image.frames.entry(address, |section, bases, entry| {
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(section, bases, &mut context, address).ok()?;
        let frame = Frame { registers, memory, section, encoding: entry.cie().encoding(), bias: module.bias };
        Some((frame.caller(row)?, entry.is_signal_trampoline()))
    });
    by_table.or_else(|| Some((by_go_table(registers, address, memory, module)?, false)))
}

/// Unwinds by Go's table, which gives the depth of the stack at each instruction.
fn by_go_table(
    registers: &Registers,
    address: u64,
    memory: &dyn Memory,
    module: &Module,
) -> Option<Registers> {
    let depth = module.image.go.as_ref()?.stack_depth(address)?;
    let mut next = *registers;
    let back = registers.general[STACK_POINTER].checked_add_signed(depth)?;
    next.pc = memory.word(back).ok()?;
    next.general[STACK_POINTER] = back.checked_add(8)?;
    // A frame that is not empty keeps its caller's frame pointer at its top.
    if depth >= 8 {
        next.general[FRAME_POINTER] = memory.word(back - 8).ok()?;
    }
    Some(next)
}

/// The values that a row's rules refer to.
struct Frame<'a> {
    registers: &'a Registers,
    memory: &'a dyn Memory,
    section: &'a gimli::EhFrame<Bytes<'a>>,
    encoding: Encoding,
    bias: u64,
}

impl Frame<'_> {
    fn register(&self, register: Register) -> Option<u64> {
        match register.0 {
            RETURN_ADDRESS => Some(self.registers.pc),
            number => self.registers.general.get(usize::from(number)).copied(),
        }
    }

    fn caller(&self, row: &UnwindTableRow<usize>) -> Option<Registers> {
        let top = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.register(*register)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None)?,
        };
        let mut next = *self.registers;
        next.general[STACK_POINTER] = top;
        for number in 0..16u16 {
            if let Some(value) = self.apply(row.register(Register(number)), top) {
                next.general[usize::from(number)] = value;
            }
        }
        // The outermost function is described as having no return address.
        next.pc = self.apply(row.register(Register(RETURN_ADDRESS)), top)?;
        Some(next)
    }

    fn apply(&self, rule: Option<RegisterRule<usize>>, top: u64) -> Option<u64> {
        match rule? {
            RegisterRule::Offset(offset) => self.memory.word(top.wrapping_add_signed(offset)).ok(),
            RegisterRule::ValOffset(offset) => Some(top.wrapping_add_signed(offset)),
            RegisterRule::Register(register) => self.register(register),
            RegisterRule::Expression(expression) => {
                self.memory.word(self.evaluate(&expression, Some(top))?).ok()
            }
            RegisterRule::ValExpression(expression) => self.evaluate(&expression, Some(top)),
            RegisterRule::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn evaluate(&self, expression: &UnwindExpression<usize>, initial: Option<u64>) -> Option<u64> {
        let encoding = Encoding { address_size: 8, format: Format::Dwarf32, ..self.encoding };
        let mut evaluation = expression.get(self.section).ok()?.evaluation(encoding);
        evaluation.set_max_iterations(1000);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.register(register)?)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let mut bytes = [0; 8];
                    self.memory.read(address, bytes.get_mut(..usize::from(size))?).ok()?;
                    evaluation.resume_with_memory(Value::Generic(u64::from_le_bytes(bytes))).ok()?
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.bias)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.result().first()?.location {
            Location::Address { address } => Some(address),
            _ => None,
        }
    }
}
