//! Single instructions: loads and stores by address space, atomic operations, divisions, and what a processor lacks.

use super::*;

const INSIDE: u64 = DATA + 0x40;

/// Executes one instruction on a processor with `bytes` at [`INSIDE`], whose address is in %g1.
fn one(word: u32, bytes: &[u8], prepare: impl Fn(&mut Cpu)) -> (Result<(), Trap>, Cpu) {
    let mut cpu = program(&[word]);
    cpu.memory.write(INSIDE, bytes).unwrap();
    cpu.r[1] = INSIDE;
    prepare(&mut cpu);
    let result = cpu.step();
    (result, cpu)
}

/// The bytes 0x01 to 0x40 in order.
fn counting() -> Vec<u8> {
    (1..=64).collect()
}

#[test]
fn loads_by_asi() {
    let cases: [(u32, u8, u64); 16] = [
        (0x11, 0x80, 0x01),
        (0x12, 0x80, 0x0102),
        (0x10, 0x80, 0x0102_0304),
        (0x1b, 0x80, 0x0102_0304_0506_0708),
        (0x1b, 0x81, 0x0102_0304_0506_0708),
        (0x1b, 0x82, 0x0102_0304_0506_0708),
        (0x11, 0x88, 0x01),
        (0x12, 0x88, 0x0201),
        (0x10, 0x88, 0x0403_0201),
        (0x1b, 0x88, 0x0807_0605_0403_0201),
        (0x1b, 0x89, 0x0807_0605_0403_0201),
        (0x1b, 0x8a, 0x0807_0605_0403_0201),
        (0x1b, 0x8b, 0x0807_0605_0403_0201),
        (0x18, 0x88, 0x0403_0201),
        (0x19, 0x80, 0x01),
        (0x1b, 0xe2, 0x0102_0304_0506_0708),
    ];
    for (op3, asi, loaded) in cases {
        let (result, cpu) = one(register(3, op3, G[2], G[1], 0, asi), &counting(), |_| {});
        assert_eq!((result, cpu.r[2]), (Ok(()), loaded), "{op3:#x} {asi:#x}");
        let from_asi = immediate(3, op3, G[2], G[1], 0);
        let (result, cpu) = one(from_asi, &counting(), |cpu| cpu.asi = asi);
        assert_eq!((result, cpu.r[2]), (Ok(()), loaded), "{op3:#x} %asi {asi:#x}");
    }
    for (op3, expected) in [(0x19, -1i64), (0x1a, -2), (0x18, -65539)] {
        let bytes: &[u8] = match op3 {
            0x19 => &[0xff],
            0x1a => &[0xfe, 0xff],
            _ => &[0xfd, 0xff, 0xfe, 0xff],
        };
        let asi = if op3 == 0x19 { 0x80 } else { 0x88 };
        let (_, cpu) = one(register(3, op3, G[2], G[1], 0, asi), bytes, |_| {});
        assert_eq!(cpu.r[2], expected.cast_unsigned(), "{op3:#x}");
    }
}

#[test]
fn every_asi_is_memory_a_fault_or_privileged() {
    for asi in 0..=255 {
        let (result, cpu) = one(register(3, 0x1b, G[2], G[1], 0, asi), &counting(), |_| {});
        let known = [0x80, 0x81, 0x82, 0x83, 0x88, 0x89, 0x8a, 0x8b, 0xe2, 0xe3, 0xea, 0xeb];
        match result {
            Ok(()) => assert!(known.contains(&asi), "{asi:#x}"),
            Err(Trap::PrivilegedAction) => assert!(asi < 0x80, "{asi:#x}"),
            Err(Trap::Memory(fault)) => {
                assert!(!known.contains(&asi) && asi >= 0x80 && fault.mapped, "{asi:#x}")
            }
            Err(trap) => panic!("{asi:#x}: {trap:?}"),
        }
        assert_eq!(cpu.r[2] != 0, known.contains(&asi));
        let (result, _) = one(register(3, 0x1e, G[2], G[1], 0, asi), &counting(), |_| {});
        let writable = known.contains(&asi) && asi & 2 == 0 || matches!(asi, 0xe2 | 0xe3 | 0xea | 0xeb);
        assert_eq!(result.is_ok(), writable, "{asi:#x}");
    }
}

#[test]
fn loads_without_faults_are_zero_where_there_is_nothing() {
    let nowhere = |cpu: &mut Cpu| (cpu.r[1], cpu.r[2]) = (8, 9);
    let (result, cpu) = one(register(3, 0x1b, G[2], G[1], 0, 0x82), &[], nowhere);
    assert_eq!((result, cpu.r[2]), (Ok(()), 0));
    let (result, _) = one(register(3, 0x1b, G[2], G[1], 0, 0x80), &[], nowhere);
    assert_eq!(
        result,
        Err(Trap::Memory(Fault { address: 8, access: Access::Read, mapped: false, ended: false }))
    );
    let (result, _) = one(register(3, 0x1b, G[2], G[1], 0, 0x82), &[], |cpu| cpu.r[1] = 9);
    assert_eq!(result, Err(Trap::NotAligned(9)));
}

#[test]
fn doubles_short_partial_and_whole_blocks() {
    let d = |cpu: &mut Cpu| {
        for (index, register) in cpu.d.iter_mut().enumerate() {
            *register = 0x1111_1111_1111_1111 ^ index as u64;
        }
    };
    // %d2 is field 2 and index 1.
    for (asi, loaded) in [
        (0x80, 0x0102_0304_0506_0708),
        (0x88, 0x0807_0605_0403_0201),
        (0xd0, 0x01),
        (0xd2, 0x0102),
        (0xd8, 0x01),
        (0xda, 0x0201),
        (0xe2, 0x0102_0304_0506_0708),
    ] {
        let (result, cpu) = one(register(3, 0x33, 2, G[1], 0, asi), &counting(), d);
        assert_eq!((result, cpu.d[1]), (Ok(()), loaded), "{asi:#x}");
    }
    let stored = |asi: u8, mask: u64| {
        let (result, cpu) = one(register(3, 0x37, 2, G[1], G[2], asi), &counting(), |cpu| {
            cpu.d[1] = 0xa1a2_a3a4_a5a6_a7a8;
            cpu.r[2] = mask;
        });
        assert_eq!(result, Ok(()), "{asi:#x}");
        cpu.memory.load_u64(INSIDE).unwrap()
    };
    assert_eq!(stored(0xc0, 0b1000_0001), 0xa102_0304_0506_07a8);
    assert_eq!(stored(0xc2, 0b0110), 0x0102_a3a4_a5a6_0708);
    assert_eq!(stored(0xc4, 0b01), 0x0102_0304_a5a6_a7a8);
    assert_eq!(stored(0xc8, 0b1000_0001), 0xa802_0304_0506_07a1);
    assert_eq!(stored(0xd0, 0), 0xa802_0304_0506_0708);
    assert_eq!(stored(0xd2, 0), 0xa7a8_0304_0506_0708);
    assert_eq!(stored(0xda, 0), 0xa8a7_0304_0506_0708);
    assert_eq!(stored(0xe2, 0), 0xa1a2_a3a4_a5a6_a7a8);
    assert_eq!(stored(0x88, 0), 0xa8a7_a6a5_a4a3_a2a1);
}

#[test]
fn blocks_of_sixty_four_bytes() {
    // %d16 is field 16 and index 8.
    let (result, cpu) = one(register(3, 0x33, 16, G[1], 0, 0xf0), &counting(), |_| {});
    assert_eq!((result, cpu.d[8], cpu.d[15]), (Ok(()), 0x0102_0304_0506_0708, 0x393a_3b3c_3d3e_3f40));
    for asi in [0xf0, 0xf1, 0xe0, 0xe1] {
        let (result, cpu) = one(register(3, 0x37, 16, G[1], 0, asi), &[0; 64], |cpu| cpu.d[15] = 0xaa);
        assert_eq!((result, cpu.memory.load_u64(INSIDE + 56)), (Ok(()), Ok(0xaa)), "{asi:#x}");
    }
    let (result, _) = one(register(3, 0x33, 16, G[1], 0, 0xf0), &[], |cpu| cpu.r[1] += 8);
    assert_eq!(result, Err(Trap::NotAligned(INSIDE + 8)));
    let (result, _) = one(register(3, 0x33, 2, G[1], 0, 0xf0), &[], |_| {});
    assert!(matches!(result, Err(Trap::IllegalInstruction(_))));
}

#[test]
fn pairs_of_registers() {
    let (_, cpu) = one(register(3, 0x03, G[2], G[1], 0, 0), &counting(), |_| {});
    assert_eq!((cpu.r[2], cpu.r[3]), (0x0102_0304, 0x0506_0708));
    let (_, cpu) = one(register(3, 0x13, G[2], G[1], 0, 0x88), &counting(), |_| {});
    assert_eq!((cpu.r[2], cpu.r[3]), (0x0403_0201, 0x0807_0605));
    let (_, cpu) = one(register(3, 0x13, G[2], G[1], 0, 0xe2), &counting(), |_| {});
    assert_eq!((cpu.r[2], cpu.r[3]), (0x0102_0304_0506_0708, 0x090a_0b0c_0d0e_0f10));
    let (result, _) = one(register(3, 0x13, G[2], G[1], 0, 0xe2), &[], |cpu| cpu.r[1] += 8);
    assert_eq!(result, Err(Trap::NotAligned(INSIDE + 8)));
    let odd = register(3, 0x03, G[3], G[1], 0, 0);
    let (result, _) = one(odd, &[], |_| {});
    assert_eq!(result, Err(Trap::IllegalInstruction(odd)));
    let (_, cpu) = one(register(3, 0x07, G[2], G[1], 0, 0), &[], |cpu| (cpu.r[2], cpu.r[3]) = (u64::MAX, 7));
    assert_eq!(cpu.memory.load_u64(INSIDE), Ok(0xffff_ffff_0000_0007));
    let (_, cpu) = one(register(3, 0x03, 0, G[1], 0, 0), &counting(), |_| {});
    assert_eq!((cpu.r[0], cpu.r[1]), (0, 0x0506_0708));
}

#[test]
fn doubles_at_a_multiple_of_four() {
    let (result, cpu) = one(register(3, 0x23, 2, G[1], 0, 0), &counting(), |cpu| cpu.r[1] += 4);
    assert_eq!((result, cpu.d[1]), (Ok(()), 0x0506_0708_090a_0b0c));
    let (result, cpu) = one(register(3, 0x27, 2, G[1], 0, 0), &counting(), |cpu| {
        cpu.r[1] += 4;
        cpu.d[1] = 0xff;
    });
    assert_eq!((result, cpu.memory.load_u64(INSIDE + 8)), (Ok(()), Ok(0x0000_00ff_0d0e_0f10)));
    let (result, _) = one(register(3, 0x23, 2, G[1], 0, 0), &[], |cpu| cpu.r[1] += 2);
    assert_eq!(result, Err(Trap::NotAligned(INSIDE + 2)));
    let (result, _) = one(register(3, 0x0b, G[2], G[1], 0, 0), &[], |cpu| cpu.r[1] += 4);
    assert_eq!(result, Err(Trap::NotAligned(INSIDE + 4)));
}

#[test]
fn atomic_operations() {
    let cas = |size: u32, asi: u8, expected: u64| {
        one(register(3, size, G[3], G[1], G[2], asi), &counting(), move |cpu| {
            (cpu.r[2], cpu.r[3]) = (expected, 0xabcd_0000_1234_5678);
        })
    };
    let (_, cpu) = cas(0x3e, 0x80, 0x0102_0304_0506_0708);
    assert_eq!((cpu.r[3], cpu.memory.load_u64(INSIDE)), (0x0102_0304_0506_0708, Ok(0xabcd_0000_1234_5678)));
    let (_, cpu) = cas(0x3e, 0x80, 5);
    assert_eq!((cpu.r[3], cpu.memory.load_u64(INSIDE)), (0x0102_0304_0506_0708, Ok(0x0102_0304_0506_0708)));
    let (_, cpu) = cas(0x3c, 0x80, 0xffff_ffff_0102_0304);
    assert_eq!((cpu.r[3], cpu.memory.load_u32(INSIDE)), (0x0102_0304, Ok(0x1234_5678)));
    let (_, cpu) = cas(0x3c, 0x88, 0x0403_0201);
    assert_eq!((cpu.r[3], cpu.memory.load_u32(INSIDE)), (0x0403_0201, Ok(0x7856_3412)));
    let by_asi = register(3, 0x3e, G[3], G[1], G[2], 0) | 1 << 13;
    let (_, cpu) = one(by_asi, &counting(), |cpu| {
        (cpu.r[2], cpu.r[3], cpu.asi) = (0x0807_0605_0403_0201, 7, 0x88);
    });
    assert_eq!((cpu.r[3], cpu.memory.load_u64(INSIDE)), (0x0807_0605_0403_0201, Ok(7 << 56)));
    let (result, _) = cas(0x3e, 0x82, 0);
    assert!(matches!(result, Err(Trap::Memory(_))));
    let (_, cpu) = one(register(3, 0x0d, G[3], G[1], 0, 0), &counting(), |_| {});
    assert_eq!((cpu.r[3], cpu.memory.load_u16(INSIDE)), (1, Ok(0xff02)));
    let (_, cpu) = one(register(3, 0x0f, G[3], G[1], 0, 0), &counting(), |cpu| cpu.r[3] = u64::MAX);
    assert_eq!((cpu.r[3], cpu.memory.load_u64(INSIDE)), (0x0102_0304, Ok(0xffff_ffff_0506_0708)));
    // Memory has to be writable even if nothing is stored.
    let (result, _) = one(register(3, 0x3e, G[3], G[1], G[2], 0x80), &[], |cpu| {
        cpu.memory.protect(DATA, PAGE_BYTES, Protection::READ).unwrap();
        cpu.r[2] = 1;
    });
    assert_eq!(
        result,
        Err(Trap::Memory(Fault { address: INSIDE, access: Access::Write, mapped: true, ended: false }))
    );
}

#[test]
fn divisions() {
    let run = |op3: u32, y: u64, a: u64, b: u64| {
        let (result, cpu) = one(register(2, op3, G[3], G[4], G[5], 0), &[], move |cpu| {
            (cpu.y, cpu.r[4], cpu.r[5]) = (y, a, b);
        });
        result.map(|()| (cpu.r[3], cpu.ccr()))
    };
    assert_eq!(run(0x1e, 0, 7, 2), Ok((3, 0)));
    assert_eq!(run(0x1e, 5, 7, 2), Ok((0xffff_ffff, 0x0a)));
    assert_eq!(run(0x1f, 0xffff_ffff, 0xffff_fff9, 2), Ok((-3i64 as u64, 0x88)));
    assert_eq!(run(0x1f, 0x8000_0000, 0, 0xffff_ffff), Ok((0x7fff_ffff, 0x02)));
    assert_eq!(run(0x1f, 0x8000_0000, 0, 1), Ok((0xffff_ffff_8000_0000, 0x8a)));
    assert_eq!(run(0x2d, 0, 1 << 63, u64::MAX), Ok((1 << 63, 0)));
    for op3 in [0x0d, 0x0e, 0x0f, 0x1e, 0x1f, 0x2d] {
        assert_eq!(
            run(op3, 0, 1, 1 << 32 & u64::from(op3 & 2 != 0 && op3 < 0x20) << 32),
            Err(Trap::DivisionByZero)
        );
    }
}

#[test]
fn what_a_processor_lacks_is_no_instruction() {
    let popc = immediate(2, 0x2e, G[1], 0, 7);
    let mut cpu = program(&[NOP, popc, END]);
    cpu.features = cpu.features.without(Feature::Popc);
    assert_eq!(cpu.run(), Trap::IllegalInstruction(popc));
    assert_eq!((cpu.pc, instructions(&cpu)), (CODE + 4, 1));
    let read_cfr = 0x9146_8000;
    let cpu = ends(&[read_cfr, END]);
    assert_eq!(cpu.r[usize::from(O0)], 0xfff);
    let mut cpu = Cpu::new(Processor::T3.features()).unwrap();
    cpu.memory.map(CODE, PAGE_BYTES, Protection::ALL);
    place(&mut cpu, CODE, &[read_cfr]);
    cpu.jump(CODE);
    assert_eq!(cpu.run(), Trap::IllegalInstruction(read_cfr));
    let (result, _) = one(0x9151_0000, &[], |_| {});
    assert_eq!(result, Err(Trap::PrivilegedOpcode(0x9151_0000)));
}

#[test]
fn each_capability_is_of_its_own_instructions() {
    let (fnadds, fhaddd, bshuffle) = (0x85a0_0a21, 0x89a0_0c42, 0x89b0_0982);
    let run = |features: Features, word: u32| {
        let mut cpu = Cpu::new(features).unwrap();
        cpu.memory.map(CODE, PAGE_BYTES, Protection::ALL);
        place(&mut cpu, CODE, &[word, END]);
        cpu.jump(CODE);
        cpu.run()
    };
    let t4 = Processor::T4.features();
    for word in [fnadds, fhaddd] {
        assert_eq!(run(t4.without(Feature::Hpc), word), Trap::IllegalInstruction(word));
        assert_ne!(run(t4.without(Feature::Vis3), word), Trap::IllegalInstruction(word));
    }
    // A T1's kernel emulates VIS 2.
    assert_ne!(run(Processor::T1.features(), bshuffle), Trap::IllegalInstruction(bshuffle));
    assert_eq!(run(Processor::UltraSparc2.features(), bshuffle), Trap::IllegalInstruction(bshuffle));
}

#[test]
fn compare_and_branch_has_no_delay_slot() {
    // cwbe %g0, 0, over two words is taken, so the next word is skipped.
    let taken = 0x12c0_2060;
    let cpu = ends(&[taken, mov(G[1], 1), mov(G[2], 1), END]);
    assert_eq!((cpu.r[1], cpu.r[2]), (0, 0));
    assert_eq!(instructions(&cpu), 2);
    let cpu = ends(&[taken | 1, mov(G[1], 1), mov(G[2], 1), END]);
    assert_eq!((cpu.r[1], cpu.r[2], instructions(&cpu)), (1, 1, 4));
}
