//! Execution in blocks against instruction by instruction: traps in delay slots, annulment, windows, code that
//! changes, memory's limits.

use std::sync::atomic::Ordering;

use crate::cpu::{Cpu, Trap, window};
use crate::memory::{Access, Fault, PAGE_BYTES, Protection};
use crate::processor::{Feature, Features, Processor};

mod single;

const CODE: u64 = 0x10_0000;
const DATA: u64 = 0x20_0000;
const STACK: u64 = 0x30_0000;

const NOP: u32 = 0x0100_0000;
/// `ta 0`, with which a test's program ends.
const END: u32 = 0x91d0_2000;

const G: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const O0: u8 = 8;
const SP: u8 = 14;
const L0: u8 = 16;
const I0: u8 = 24;

/// The word of `op3` of op 2 or 3 with an immediate.
fn immediate(op: u32, op3: u32, rd: u8, rs1: u8, imm: i32) -> u32 {
    op << 30 | u32::from(rd) << 25 | op3 << 19 | u32::from(rs1) << 14 | 1 << 13 | imm as u32 & 0x1fff
}

/// The word of `op3` of op 2 or 3 with a register, and with an ASI for an access that takes one.
fn register(op: u32, op3: u32, rd: u8, rs1: u8, rs2: u8, asi: u8) -> u32 {
    let registers = u32::from(rd) << 25 | u32::from(rs1) << 14 | u32::from(rs2);
    op << 30 | op3 << 19 | registers | u32::from(asi) << 5
}

fn mov(rd: u8, value: i32) -> u32 {
    immediate(2, 0x02, rd, 0, value)
}

fn add(rd: u8, rs1: u8, value: i32) -> u32 {
    immediate(2, 0x00, rd, rs1, value)
}

fn cmp(rs1: u8, value: i32) -> u32 {
    immediate(2, 0x14, 0, rs1, value)
}

/// A branch on %xcc over `words`.
fn branch(condition: u32, annul: bool, words: i32) -> u32 {
    u32::from(annul) << 29 | condition << 25 | 1 << 22 | 1 << 21 | 1 << 19 | words as u32 & 0x7_ffff
}

const ALWAYS: u32 = 8;
const EQUAL: u32 = 1;
const NOT_EQUAL: u32 = 9;

/// A processor with a program at [`CODE`], zeros at [`DATA`], and a stack.
fn program(words: &[u32]) -> Cpu {
    let mut cpu = Cpu::new(Processor::T4.features()).unwrap();
    cpu.memory.map(CODE, 2 * PAGE_BYTES, Protection::ALL);
    cpu.memory.map(DATA, PAGE_BYTES, Protection::DATA);
    cpu.memory.map(STACK, 16 * PAGE_BYTES, Protection::DATA);
    place(&mut cpu, CODE, words);
    cpu.r[usize::from(SP)] = STACK + 16 * PAGE_BYTES - 192 - window::BIAS;
    cpu.jump(CODE);
    cpu
}

fn place(cpu: &mut Cpu, address: u64, words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    cpu.memory.force_write(address, &bytes).unwrap();
}

/// Runs a program in blocks and instruction by instruction; both must end alike. Returns the trap and the processor.
fn both_ways(words: &[u32], prepare: impl Fn(&mut Cpu)) -> (Trap, Cpu) {
    let mut whole = program(words);
    prepare(&mut whole);
    let trap = whole.run();
    let mut single = program(words);
    prepare(&mut single);
    let stopped = loop {
        if let Err(trap) = single.step() {
            break trap;
        }
    };
    assert_eq!(trap, stopped);
    assert_eq!((whole.pc, whole.npc), (single.pc, single.npc), "{trap:?}");
    assert_eq!(whole.r[..32], single.r[..32]);
    assert_eq!((whole.d, whole.ccr(), whole.y, whole.fsr), (single.d, single.ccr(), single.y, single.fsr));
    assert_eq!(instructions(&whole), instructions(&single));
    (trap, whole)
}

/// The number of instructions that were executed.
fn instructions(cpu: &Cpu) -> u64 {
    cpu.blocks().map(|run| run.words.len() as u64 * run.executions - run.annulled).sum()
}

/// Runs a program that ends with [`END`].
fn ends(words: &[u32]) -> Cpu {
    let (trap, cpu) = both_ways(words, |_| {});
    assert_eq!(trap, Trap::Software(0));
    cpu
}

#[test]
fn a_loop_counts_its_instructions() {
    let cpu = ends(&[
        mov(G[1], 100),
        add(G[2], G[2], 3),
        cmp(G[1], 1),
        branch(NOT_EQUAL, false, -2),
        add(G[1], G[1], -1),
        END,
    ]);
    assert_eq!((cpu.r[1], cpu.r[2]), (0, 300));
    assert_eq!(instructions(&cpu), 2 + 4 * 100);
}

#[test]
fn an_annulled_slot_is_executed_only_if_a_conditional_branch_is_taken() {
    for (value, slot) in [(0, 7), (1, 0)] {
        let cpu = ends(&[mov(G[1], value), cmp(G[1], 0), branch(EQUAL, true, 3), mov(G[2], 7), NOP, END]);
        assert_eq!(cpu.r[2], slot);
    }
    let cpu = ends(&[branch(ALWAYS, true, 2), mov(G[2], 7), END]);
    assert_eq!(cpu.r[2], 0);
    let never = ends(&[branch(0, true, 3), mov(G[2], 7), END, NOP]);
    assert_eq!(never.r[2], 0);
    let plain = ends(&[branch(0, false, 3), mov(G[2], 7), END, NOP]);
    assert_eq!(plain.r[2], 7);
}

#[test]
fn a_trap_in_a_delay_slot_leaves_the_target_in_npc() {
    let load = immediate(3, 0x0b, G[2], 0, 0);
    for (words, target) in [
        (vec![branch(ALWAYS, false, 8), load], CODE + 32),
        (vec![cmp(0, 1), branch(EQUAL, false, 8), load], CODE + 12),
        (vec![1 << 30 | 16, load], CODE + 64),
        (vec![register(2, 0x38, 0, G[5], 0, 0), load], DATA),
    ] {
        let (trap, cpu) = both_ways(&words, |cpu| cpu.r[5] = DATA);
        assert_eq!(
            trap,
            Trap::Memory(Fault { address: 0, access: Access::Read, mapped: false, ended: false })
        );
        assert_eq!(cpu.pc, CODE + 4 * (words.len() as u64 - 1));
        assert_eq!(cpu.npc, target);
    }
}

#[test]
fn who_serves_a_trap_in_a_delay_slot_goes_on_at_the_target() {
    let mut cpu = program(&[branch(ALWAYS, false, 4), END, mov(G[1], 1), NOP, 0x91d0_2001]);
    assert_eq!(cpu.run(), Trap::Software(0));
    cpu.advance();
    assert_eq!(cpu.run(), Trap::Software(1));
    assert_eq!((cpu.pc, cpu.r[1]), (CODE + 16, 0));
}

#[test]
fn a_transfer_in_a_delay_slot_executes_one_instruction_at_the_first_target() {
    // The words are ba 1; ba 2. One instruction at 1 is executed, then 2.
    let words = [
        branch(ALWAYS, false, 4),
        branch(ALWAYS, false, 5),
        mov(G[1], 1),
        NOP,
        mov(G[2], 2),
        mov(G[3], 3),
        mov(G[4], 4),
        END,
    ];
    let cpu = ends(&words);
    assert_eq!([cpu.r[1], cpu.r[2], cpu.r[3], cpu.r[4]], [0, 2, 0, 4]);
}

#[test]
fn transfers_in_delay_slots_are_found_by_links_too() {
    // The program goes five times round a loop that begins with ba,a in the delay slot of another, as procedure
    // linkage tables do.
    let words = [
        mov(G[1], 5),
        branch(ALWAYS, false, 4),
        branch(ALWAYS, true, 3),
        NOP,
        NOP,
        add(G[2], G[2], 1),
        cmp(G[1], 1),
        branch(NOT_EQUAL, false, -6),
        add(G[1], G[1], -1),
        END,
    ];
    let cpu = ends(&words);
    assert_eq!((cpu.r[1], cpu.r[2]), (0, 5));
}

#[test]
fn a_call_in_a_delay_slot_links_to_its_own_address() {
    let cpu = ends(&[branch(ALWAYS, false, 3), 1 << 30 | 3, NOP, mov(G[1], 5), END]);
    assert_eq!((cpu.r[15], cpu.r[1]), (CODE + 4, 5));
}

#[test]
fn what_a_fused_op_refuses_stops_at_the_right_instruction() {
    // In "add, load" the second traps, in "load, add" the first. Both have the sum in place of the address.
    let load = |rd: u8, rs1: u8| immediate(3, 0x0b, rd, rs1, 0);
    let (trap, cpu) = both_ways(&[NOP, add(G[1], 0, 8), load(G[2], G[1]), END], |_| {});
    assert_eq!(trap, Trap::Memory(Fault { address: 8, access: Access::Read, mapped: false, ended: false }));
    assert_eq!((cpu.pc, cpu.r[1]), (CODE + 8, 8));
    let (trap, cpu) = both_ways(&[load(G[1], 0), add(G[2], G[1], 8), END], |_| {});
    assert_eq!(trap, Trap::Memory(Fault { address: 0, access: Access::Read, mapped: false, ended: false }));
    assert_eq!((cpu.pc, cpu.r[2]), (CODE, 0));
    let store = immediate(3, 0x0e, G[1], G[1], 1);
    let (trap, cpu) = both_ways(&[add(G[1], 0, 8), store, END], |_| {});
    assert_eq!((trap, cpu.pc, cpu.r[1]), (Trap::NotAligned(9), CODE + 4, 8));
}

#[test]
fn pairs_hand_over_what_the_first_made() {
    let mut words = vec![];
    // Each operation follows each other, on registers that depend on one another in all ways.
    let operations = [0x00, 0x01, 0x02, 0x03, 0x04, 0x25, 0x26, 0x27];
    for first in operations {
        for second in operations {
            words.push(register(2, first, G[1], G[1], G[2], 0));
            words.push(register(2, second, G[2], G[2], G[1], 0));
            words.push(register(2, first, G[3], G[1], G[2], 0));
            words.push(register(2, second, G[3], G[1], G[2], 0));
            words.push(register(2, first, 0, G[1], G[2], 0));
            words.push(immediate(2, second, G[4], 0, -3));
            words.push(register(2, first, G[5], G[4], G[3], 0));
            words.push(immediate(2, second, G[1], G[5], 5));
            words.push(0x0d12_3456 | u32::from(G[6]) << 25);
            words.push(register(2, second, G[2], G[6], G[1], 0));
        }
    }
    words.push(END);
    let (trap, _) =
        both_ways(&words, |cpu| (cpu.r[1], cpu.r[2]) = (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3211));
    assert_eq!(trap, Trap::Software(0));
}

#[test]
fn runs_of_arithmetic_compute_what_their_instructions_do() {
    // Three registers take all roles, so that pairs depend on each other in all ways. A load that traps ends every
    // other run, so that the registers must be those before it.
    let mut random = 1u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for round in 0..400 {
        let mut words: Vec<u32> = (0..12)
            .map(|_| {
                let [rd, rs1, rs2] = [(); 3].map(|()| next(4) as u8);
                match [0x00, 0x03, 0x04, 0x25, 0x26, 0x14][next(6) as usize] {
                    op3 if next(3) == 0 => immediate(2, op3, rd, rs1, next(32) as i32),
                    op3 => register(2, op3, rd, rs1, rs2, 0),
                }
            })
            .collect();
        words.push(if round % 2 == 0 { END } else { immediate(3, 0x0b, G[1], 0, 0) });
        let (_, cpu) = both_ways(&words, |cpu| (cpu.r[1], cpu.r[2], cpu.r[3]) = (7, 1 << 40, u64::MAX - 5));
        assert_eq!(cpu.pc, CODE + 48);
    }
}

#[test]
fn conditions_after_a_compare_are_those_of_the_codes() {
    let values =
        [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, u64::MAX, i64::MAX as u64, 0x1_0000_0000];
    for condition in 0..16 {
        for icc in [false, true] {
            let taken = branch(condition, false, 3) & !(u32::from(icc) << 21);
            // Each pair runs fused, and with an instruction between that keeps it apart.
            let compare = register(2, 0x14, G[3], G[1], G[2], 0);
            let test = register(2, 0x11, G[3], G[1], G[2], 0);
            for instruction in [compare, test, register(2, 0x10, G[3], G[1], G[2], 0)] {
                let fused = [instruction, taken, NOP, mov(G[4], 1), END];
                let apart = [instruction, immediate(2, 0x2e, G[5], 0, 0), taken, NOP, mov(G[4], 1), END];
                for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
                    let results = [&fused[..], &apart[..]].map(|words| {
                        let mut cpu = program(words);
                        (cpu.r[1], cpu.r[2]) = (a, b);
                        assert_eq!(cpu.run(), Trap::Software(0));
                        let codes = if icc { cpu.ccr() } else { cpu.ccr() >> 4 };
                        let holds = crate::cpu::condition::in_codes(condition as u8, codes);
                        assert_eq!(cpu.r[4] == 0, holds, "{instruction:#x} {condition} {a:#x} {b:#x}");
                        (cpu.r[3], cpu.ccr())
                    });
                    assert_eq!(results[0], results[1]);
                }
            }
        }
    }
}

/// A program that calls itself `depth` times, and adds up the depths on the way back.
fn recursion(depth: i32) -> Vec<u32> {
    let save = immediate(2, 0x3c, SP, SP, -176);
    let call = |words: i32| 1 << 30 | words as u32 & 0x3fff_ffff;
    vec![
        mov(O0, depth),
        call(3),
        NOP,
        END,
        // f: save; if %i0 == 0 return 0; call f(%i0 - 1); return %o0 + %i0
        save,
        cmp(I0, 0),
        branch(EQUAL, false, 5),
        mov(L0, 1),
        call(-4),
        add(O0, I0, -1),
        register(2, 0x00, I0, I0, O0, 0),
        // ret; restore
        immediate(2, 0x38, 0, 31, 8),
        register(2, 0x3d, 0, 0, 0, 0),
    ]
}

#[test]
fn windows_spill_to_the_stack_and_come_back() {
    for depth in [0, 1, 5, 6, 7, 8, 20, 500] {
        let (trap, cpu) = both_ways(&recursion(depth), |_| {});
        assert_eq!((trap, cpu.pc), (Trap::Software(0), CODE + 12), "{depth}");
        let depth = depth as u64;
        assert_eq!(cpu.r[usize::from(O0)], depth * (depth + 1) / 2);
        assert_eq!(cpu.windows.cansave + cpu.windows.canrestore, window::WINDOWS - 2);
    }
}

#[test]
fn a_stack_that_ends_stops_at_the_save() {
    let (trap, cpu) = both_ways(&recursion(4000), |_| {});
    let Trap::Memory(fault) = trap else { panic!("{trap:?}") };
    assert_eq!((fault.access, cpu.pc), (Access::Write, CODE + 16));
    assert!(fault.address < STACK);
    let (trap, cpu) = both_ways(&recursion(100), |cpu| cpu.r[usize::from(SP)] = STACK + 0x4000);
    // The oldest window's stack pointer has no bias.
    assert_eq!((trap, cpu.pc), (Trap::NotAligned(STACK + 0x4000 + window::BIAS), CODE + 16));
}

#[test]
fn windows_by_distance_are_what_restores_bring() {
    let save = immediate(2, 0x3c, SP, SP, -176);
    let mut words = vec![];
    for window in 0..6 {
        words.extend([mov(L0, 10 + window), mov(I0, 20 + window), mov(O0, 30 + window), save]);
    }
    words.push(END);
    let mut cpu = ends(&words);
    assert_eq!(cpu.windows.canrestore, 6);
    for k in 1..=6 {
        let number = 6 - k as u64;
        assert_eq!(cpu.window(k, usize::from(L0)), 10 + number);
        // The outs are the ins of the window below, which has set them.
        assert_eq!(cpu.window(k, usize::from(O0)), if k == 1 { 35 } else { 21 + number });
    }
    cpu.set_window(3, usize::from(L0) + 1, 77);
    cpu.set_window(3, usize::from(O0) + 1, 78);
    for _ in 0..3 {
        cpu.restore_window().unwrap();
    }
    assert_eq!((cpu.r[17], cpu.r[9]), (77, 78));
}

#[test]
fn flushed_windows_are_in_their_frames() {
    let mut cpu = ends(&[mov(L0, 42), immediate(2, 0x3c, SP, SP, -176), 0x8158_0000, END]);
    assert_eq!((cpu.windows.canrestore, cpu.windows.cansave), (0, 6));
    let frame = cpu.r[30] + window::BIAS;
    assert_eq!(cpu.memory.load_u64(frame), Ok(42));
    cpu.memory.store_u64(frame, 43).unwrap();
    cpu.restore_window().unwrap();
    assert_eq!(cpu.r[usize::from(L0)], 43);
}

#[test]
fn return_goes_to_an_address_of_the_old_window() {
    let words = [immediate(2, 0x3c, SP, SP, -176), immediate(2, 0x39, 0, L0, 8), mov(G[2], 5), NOP, END];
    let (_, cpu) = both_ways(&words, |cpu| {
        cpu.r[16] = CODE + 8;
    });
    assert_eq!((cpu.pc, cpu.r[2], cpu.windows.canrestore), (CODE + 16, 5, 0));
}

#[test]
fn code_that_changes_is_seen_after_flush() {
    // The program stores a word over the one at `patched`, flushes it, and goes round again.
    let words = [
        mov(G[1], 1),
        immediate(3, 0x04, G[5], G[6], 0),
        register(2, 0x3b, 0, G[6], 0, 0),
        cmp(G[3], 0),
        branch(EQUAL, false, -4),
        mov(G[3], 1),
        END,
    ];
    let mut cpu = program(&words);
    (cpu.r[5], cpu.r[6]) = (u64::from(mov(G[1], 2)), CODE);
    assert_eq!(cpu.run(), Trap::Software(0));
    assert_eq!(cpu.r[1], 2);
    // The first pass and the second one executed different words: the counts of both survive.
    let of =
        |word: u32| cpu.blocks().filter(|run| run.words[0] == word).map(|run| run.executions).sum::<u64>();
    assert_eq!((of(mov(G[1], 1)), of(mov(G[1], 2))), (1, 1));
}

#[test]
fn code_whose_page_changes_is_seen_at_once() {
    let mut cpu = program(&[mov(G[1], 1), END]);
    assert_eq!(cpu.run(), Trap::Software(0));
    cpu.memory.protect(CODE, PAGE_BYTES, Protection::DATA).unwrap();
    cpu.jump(CODE);
    assert_eq!(
        cpu.run(),
        Trap::Memory(Fault { address: CODE, access: Access::Execute, mapped: true, ended: false })
    );
    cpu.memory.unmap(CODE, PAGE_BYTES);
    assert_eq!(
        cpu.run(),
        Trap::Memory(Fault { address: CODE, access: Access::Execute, mapped: false, ended: false })
    );
    cpu.memory.map(CODE, PAGE_BYTES, Protection::ALL);
    place(&mut cpu, CODE, &[mov(G[1], 9), END]);
    assert_eq!(cpu.run(), Trap::Software(0));
    assert_eq!(cpu.r[1], 9);
}

#[test]
fn blocks_go_on_over_pages_and_stop_where_there_is_none() {
    let mut cpu = program(&[]);
    place(&mut cpu, CODE + PAGE_BYTES - 8, &[mov(G[1], 1), branch(ALWAYS, false, 2), mov(G[2], 2), END]);
    cpu.jump(CODE + PAGE_BYTES - 8);
    assert_eq!(cpu.run(), Trap::Software(0));
    assert_eq!((cpu.r[1], cpu.r[2]), (1, 2));
    let last = CODE + 2 * PAGE_BYTES - 4;
    place(&mut cpu, last, &[branch(ALWAYS, false, -2)]);
    cpu.jump(last);
    let fault = Fault { address: last + 4, access: Access::Execute, mapped: false, ended: false };
    assert_eq!(cpu.run(), Trap::Memory(fault));
    assert_eq!((cpu.pc, cpu.npc), (last + 4, last - 8));
}

#[test]
fn attention_stops_a_program_that_does_not_end() {
    let mut cpu = program(&[branch(ALWAYS, false, 0), add(G[1], G[1], 1)]);
    let attention = cpu.attention.clone();
    let setter = std::thread::spawn(move || attention.store(true, Ordering::Relaxed));
    assert_eq!(cpu.run(), Trap::Attention);
    setter.join().unwrap();
    assert_eq!((cpu.pc, cpu.npc), (CODE, CODE + 4));
    assert!(!cpu.attention.load(Ordering::Relaxed));
}

#[test]
fn memory_ends_where_its_pages_do() {
    let mut cpu = program(&[]);
    let end = DATA + PAGE_BYTES;
    assert_eq!(cpu.memory.load_u64(end - 8), Ok(0));
    assert!(cpu.memory.load_u64(end).is_err() && cpu.memory.load_u8(end).is_err());
    assert!(cpu.memory.load_u8(u64::MAX).is_err() && cpu.memory.store_u64(u64::MAX - 7, 0).is_err());
    assert!(cpu.memory.load_u64(crate::memory::SPAN_BYTES).is_err());
    assert!(cpu.memory.bytes(u64::MAX, 2, Access::Read).is_err());
    assert_eq!(
        cpu.memory.write(end - 4, &[1; 8]),
        Err(Fault { address: end, access: Access::Write, mapped: false, ended: false })
    );
    assert_eq!(cpu.memory.load_u32(end - 4), Ok(0), "nothing of a refused write is there");
    cpu.memory.protect(DATA, PAGE_BYTES, Protection::READ).unwrap();
    assert_eq!(
        cpu.memory.store_u8(DATA, 1),
        Err(Fault { address: DATA, access: Access::Write, mapped: true, ended: false })
    );
    cpu.memory.protect(DATA, PAGE_BYTES, Protection::NONE).unwrap();
    assert!(cpu.memory.load_u8(DATA).is_err());
    assert!(cpu.memory.protect(end, PAGE_BYTES, Protection::READ).is_err());
    for address in [DATA + 1, DATA + 2, DATA + 4] {
        assert!(cpu.memory.load_u64(address).is_err());
    }
}

#[test]
fn new_pages_are_zero_and_free_spans_are_free() {
    let mut cpu = program(&[]);
    cpu.memory.store_u64(DATA, 5).unwrap();
    cpu.memory.map(DATA, PAGE_BYTES, Protection::DATA);
    assert_eq!(cpu.memory.load_u64(DATA), Ok(0));
    let first = cpu.memory.free_span(3 * PAGE_BYTES).unwrap();
    cpu.memory.map(first, 3 * PAGE_BYTES, Protection::DATA);
    let second = cpu.memory.free_span(1).unwrap();
    assert_eq!(second, first + 3 * PAGE_BYTES);
    cpu.memory.unmap(first + PAGE_BYTES, PAGE_BYTES);
    assert_eq!(cpu.memory.free_span(PAGE_BYTES), Some(first + PAGE_BYTES));
    assert_eq!(cpu.memory.free_span(2 * PAGE_BYTES), Some(second));
    assert_eq!(cpu.memory.free_span(u64::MAX), None);
}
