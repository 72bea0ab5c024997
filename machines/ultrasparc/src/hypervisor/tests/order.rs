//! The order of checks: each case has everything wrong from some check on, and the first of them must win.

use super::*;

const CWQ: u64 = QueueType::Cwq as u64;
const MAU: u64 = QueueType::Mau as u64;

#[test]
fn functions_of_versions() {
    for (processor, version, agreed, has) in [
        (Processor::T2, (1, 0), 0, 0..1),
        (Processor::T2, (1, 7), 0, 0..1),
        (Processor::T2, (2, 0), 0, 1..8),
        (Processor::T2, (2, 1), 0, 1..8),
        (Processor::T1, (2, 1), 0, 1..8),
        (Processor::T3, (2, 0), 0, 1..8),
        (Processor::T3, (2, 1), 1, 1..9),
        (Processor::T3, (2, 9), 1, 1..9),
    ] {
        let mut machine = Machine::new(processor, 1);
        assert_eq!(machine.set_version(0, GROUP, version.0, version.1), Ok(agreed));
        for (i, function) in ALL.into_iter().enumerate() {
            let reply = machine.hypercall(0, function, [0; 4], &mut vec![0; 16]);
            assert_eq!(
                reply.status != Status::BadTrap,
                has.contains(&i),
                "{processor} {version:?} {function:#x}"
            );
        }
    }
    let mut machine = Machine::new(Processor::T3, 1);
    assert_eq!(machine.set_version(0, GROUP, 3, 0), Err(Status::NotSupported));
    assert_eq!(machine.set_version(0, GROUP, 0, 0), Err(Status::NotSupported));
    assert_eq!(machine.set_version(0, 0x104, 2, 0), Err(Status::Invalid));
    assert_eq!(machine.set_version(8, GROUP, 2, 0), Err(Status::NoCpu));
    for function in ALL {
        assert_eq!(
            machine.hypercall(0, function, [0; 4], &mut vec![]).status,
            Status::BadTrap,
            "none agreed"
        );
    }
    assert_eq!(machine.set_version(0, GROUP, 2, 1), Ok(1));
    for function in [0x10f, 0x119, 0] {
        assert_eq!(machine.hypercall(0, function, [0; 4], &mut vec![]).status, Status::BadTrap);
    }
    assert_eq!(
        machine.hypercall(8, function::QINFO, [0; 4], &mut vec![]).status,
        Status::BadTrap,
        "no such processor"
    );
    for processor in [Processor::UltraSparc2, Processor::T4] {
        let mut machine = Machine::new(processor, 4);
        assert_eq!((machine.cores(), machine.model()), (0, None));
        assert_eq!(machine.set_version(0, GROUP, 2, 0), Err(Status::NoCpu));
    }
}

/// The order is type and number of entries, then the unit, then alignment, then the address.
#[test]
fn qconf() {
    let mut guest = guest(Processor::T2, 2);
    guest.machine.withhold(1, QueueType::Cwq);
    guest.machine.withhold(1, QueueType::Mau);
    let nowhere = 0x8000_0000;
    let mut status = |cpu, kind, base, entries| guest.status(cpu, function::QCONF, [kind, base, entries]);
    // Processor 8 belongs to core 1, which has no units.
    for kind in [0, 3, u64::MAX] {
        assert_eq!(status(8, kind, nowhere + 1, 4), Status::Invalid);
    }
    for entries in [1, 3, 65, 128, 63, u64::MAX] {
        assert_eq!(status(8, CWQ, nowhere + 1, entries), Status::Invalid, "{entries} entries");
    }
    for entries in [1, 3, 63] {
        assert_eq!(status(8, MAU, nowhere + 1, entries), Status::Invalid, "{entries} entries");
    }
    for kind in [CWQ, MAU] {
        assert_eq!(status(8, kind, nowhere + 1, 4), Status::NoAccess);
        for base in [nowhere + 1, nowhere + 64, nowhere + 128] {
            assert_eq!(status(0, kind, base, 4), Status::BadAlignment, "{base:#x}");
        }
        assert_eq!(status(0, kind, nowhere, 4), Status::NoRealAddress);
        // First the end is outside, then the beginning.
        assert_eq!(status(0, kind, REAL + BYTES, 2), Status::NoRealAddress);
        assert_eq!(status(0, kind, REAL - 0x1000, 64), Status::NoRealAddress);
        assert_eq!(status(0, kind, REAL + BYTES - 0x1000, 64), Status::Ok, "just inside");
    }
    assert_eq!(status(0, MAU, REAL, 128), Status::Ok, "no upper bound");
    assert_eq!(status(0, MAU, REAL, 1 << 60), Status::Invalid, "its bytes are no number");
    assert_eq!(status(0, MAU, 0, 1 << 40), Status::NoRealAddress);
}

#[test]
fn qconf_takes_away() {
    let mut guest = guest(Processor::T2, 2);
    let other = guest.machine.add_domain(vec![], [1]);
    assert_eq!(other, 1);
    let handle = guest.cwq(0, 4);
    assert_eq!(guest.status(0, function::QCONF, [3, 0, 0]), Status::Invalid, "the type first");
    for bad in [handle ^ 1, 8 << 16 | 0xa72, 0xa72 << 16 | 0xa72, 0] {
        assert_eq!(guest.status(0, function::QCONF, [CWQ, bad, 0]), Status::Invalid, "{bad:#x}");
    }
    assert_eq!(
        guest.status(0, function::QCONF, [CWQ, Handle::Cwq(1).code(), 0]),
        Status::NoAccess,
        "another's"
    );
    assert_eq!(guest.status(0, function::QCONF, [MAU, handle, 0]), Status::Invalid, "of the other type");
    guest.put(0, &[copy(DATA, DATA + 0x100)]);
    guest.value(0, function::SETTAIL, [handle, 64, 0]);
    assert_eq!(guest.status(0, function::QCONF, [CWQ, handle, 0]), Status::WouldBlock, "busy");
    assert_eq!(guest.status(0, function::QCONF, [CWQ, QUEUE, 4]), Status::WouldBlock, "nor anew");
    guest.advance(1);
    assert_eq!(guest.status(0, function::QCONF, [CWQ, handle, 0]), Status::Ok);
    assert_eq!(guest.status(0, function::QCONF, [CWQ, handle, 0]), Status::Invalid, "it is gone");
    assert_eq!(guest.status(0, function::GETHEAD, [handle, 0, 0]), Status::Invalid);
}

/// Bad handles: a wrong signature, a number that no unit has, a unit of another partition, a withheld unit, a queue
/// that is not configured.
#[test]
fn handles() {
    let mut guest = guest(Processor::T2, 4);
    guest.machine.add_domain(vec![], [1]);
    guest.machine.withhold(2, QueueType::Cwq);
    let cwq = guest.cwq(0, 4);
    assert_eq!(cwq, 0xa72);
    let mau = guest.value(0, function::QCONF, [MAU, QUEUE, 4]);
    assert_eq!(mau, 0x864);
    assert_eq!(guest.value(24, function::QCONF, [CWQ, QUEUE, 4]), 3 << 16 | 0xa72);
    for function in
        [function::QINFO, function::GETHEAD, function::GETTAIL, function::SETTAIL, function::SETHEAD_MARKER]
    {
        for bad in [
            0xa73,
            0x865,
            8 << 16 | 0xa72,
            1 << 16 | 0xa72,
            2 << 16 | 0xa72,
            3 << 16 | 0x864,
            4 << 16 | 0x864,
            0,
        ] {
            assert_eq!(guest.status(0, function, [bad, 0, 0]), Status::Invalid, "{function:#x} {bad:#x}");
        }
        assert_eq!(guest.status(0, function, [cwq, 0, 0]), Status::Ok, "{function:#x}");
        assert_eq!(guest.status(0, function, [mau, 0, 0]), Status::Ok, "{function:#x}");
    }
    let devino = |guest: &mut Guest, handle| guest.call(0, function::QHANDLE_TO_DEVINO, [handle, 0, 0]);
    assert_ne!(devino(&mut guest, cwq).results[0], devino(&mut guest, mau).results[0]);
    for bad in [0xa73, 8 << 16 | 0xa72, 1 << 16 | 0xa72, 2 << 16 | 0xa72, 0] {
        assert_eq!(devino(&mut guest, bad).status, Status::Invalid, "{bad:#x}");
    }
    assert_eq!(guest.call(8 * 3, function::QINFO, [cwq, 0, 0]).results, [CWQ, QUEUE, 4], "from another core");
    assert_eq!(guest.call(0, function::QINFO, [mau, 0, 0]).results, [MAU, QUEUE, 4]);
}

/// The order is the handle, the caller's core, alignment, the end of the queue; then words: source, addresses.
#[test]
fn settail() {
    let mut guest = guest(Processor::T2, 2);
    let handle = guest.cwq(0, 4);
    let bad = ControlWord { source: 0, destination: 1 << 40, ..copy(DATA, DATA) };
    guest.put(0, &[bad; 4]);
    let mut status = |cpu, handle, offset| guest.status(cpu, function::SETTAIL, [handle, offset, 0]);
    assert_eq!(status(8, handle, 65), Status::Invalid, "another core's");
    assert_eq!(status(8, handle, 0), Status::Invalid, "another core's, though nothing else is wrong");
    assert_eq!(status(0, handle, 65), Status::Invalid);
    assert_eq!(status(0, handle, 256), Status::Invalid, "beyond the last");
    assert_eq!(status(0, handle, u64::MAX - 63), Status::Invalid);
    assert_eq!(status(0, handle, 0), Status::Ok, "nothing is submitted");
    assert_eq!(status(0, handle, 64), Status::Invalid, "no source, before addresses that are none");
    let bad = ControlWord { source: DATA, ..bad };
    guest.put(0, &[bad]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 64, 0]), Status::NoRealAddress);
    assert_eq!(guest.value(0, function::GETTAIL, [handle, 0, 0]), 0, "the tail stays");
    assert!(guest.advance(100).is_empty(), "nothing was started");
    // The second word is wrong: the first one stays in the shadow and is not executed.
    guest.put(0, &[copy(DATA, DATA + 0x100), bad]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 128, 0]), Status::NoRealAddress);
    assert_eq!(guest.value(0, function::GETTAIL, [handle, 0, 0]), 0);
    assert!(guest.advance(100).is_empty());
    guest.put(1, &[copy(DATA, DATA + 0x200)]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 128, 0]), Status::Ok);
    assert_eq!(guest.advance(100).len(), 2);
}

/// A queue whose pointers are zero is refused before any word is looked at.
#[test]
fn settail_looks_at_the_pointers() {
    use crate::spu::register;

    for address in [register::TAIL, register::FIRST, register::LAST] {
        let mut guest = guest(Processor::T2, 1);
        let handle = guest.cwq(0, 4);
        guest.put(0, &[ControlWord { destination: 1 << 40, ..copy(DATA, DATA) }]);
        assert!(guest.machine.cores[0].spu.store(address, 0));
        assert_eq!(guest.status(0, function::SETTAIL, [handle, 64, 0]), Status::Invalid);
        assert_eq!(guest.status(0, function::SETTAIL, [handle, 0, 0]), Status::Invalid);
    }
}

/// A tail may not take submitted words back.
#[test]
fn settail_takes_nothing_back() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 4);
    guest.put(0, &[copy(DATA, DATA + 0x100); 4]);
    let mut status = |offset| guest.status(0, function::SETTAIL, [handle, offset, 0]);
    assert_eq!(status(192), Status::Ok);
    for less in [0, 64, 128] {
        assert_eq!(status(less), Status::Invalid, "{less}");
    }
    assert_eq!(status(192), Status::Ok, "as it is");
    guest.advance(2);
    // The head is at 128 now: one word is pending.
    let mut status = |offset| guest.status(0, function::SETTAIL, [handle, offset, 0]);
    assert_eq!(status(128), Status::Invalid, "none would be");
    assert_eq!(status(64), Status::Ok, "three are");
    assert_eq!(status(0), Status::Invalid);
    assert_eq!(guest.advance(100).len(), 3);
}

/// Each address of a word is checked with its length: exactly at the end of memory, and a byte beyond.
#[test]
fn settail_addresses() {
    let hmac = ControlWord {
        control: Control::new(Opcode::Auth, 100)
            .with_auth(Auth::HmacSha256)
            .with_auth_key_len(20)
            .storing_state(),
        source: DATA,
        auth_key: DATA,
        auth_iv: DATA,
        final_auth_state: DATA,
        destination: DATA,
        ..ControlWord::default()
    };
    let aes = Cipher { kind: CipherKind::Aes256, chaining: Chaining::Cbc };
    let cipher = ControlWord {
        // The hypervisor takes the authentication key's length for the key.
        control: Control::new(Opcode::Cipher, 48).with_cipher(aes).with_auth_key_len(40),
        source: DATA,
        cipher_key: DATA,
        cipher_iv: DATA,
        destination: DATA,
        ..ControlWord::default()
    };
    type Set = fn(&mut ControlWord, u64);
    let cases: [(ControlWord, u64, Set); 9] = [
        (hmac, 100, |word, at| word.source = at),
        (hmac, 20, |word, at| word.auth_key = at),
        (hmac, 32, |word, at| word.auth_iv = at),
        (hmac, 32, |word, at| word.final_auth_state = at),
        (hmac, 100, |word, at| word.destination = at),
        (cipher, 48, |word, at| word.source = at),
        (cipher, 40, |word, at| word.cipher_key = at),
        (cipher, 32, |word, at| word.cipher_iv = at),
        (cipher, 48, |word, at| word.destination = at),
    ];
    let mut guest = guest(Processor::T2, 1);
    for (i, (word, len, set)) in cases.into_iter().enumerate() {
        let end = REAL + BYTES;
        for (at, status) in [
            (end - len, Status::Ok),
            (end - len + 1, Status::NoRealAddress),
            (end, Status::NoRealAddress),
            (REAL - 1, Status::NoRealAddress),
            (u64::MAX - 1, Status::NoRealAddress),
            (PHYSICAL, Status::NoRealAddress),
            (HYPERVISOR_MEMORY, Status::NoRealAddress),
        ] {
            let handle = guest.cwq(0, 4);
            let mut word = word;
            set(&mut word, at);
            guest.put(0, &[word]);
            assert_eq!(guest.status(0, function::SETTAIL, [handle, 64, 0]), status, "case {i} at {at:#x}");
            guest.advance(10);
        }
    }
}

/// The released code did not check these: the unit would touch more than it looked at.
#[test]
fn settail_checks_what_the_unit_touches() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 8);
    let end = REAL + BYTES;
    let rc4 = Cipher { kind: CipherKind::Rc4, chaining: Chaining::Ecb };
    let word = ControlWord {
        control: Control::new(Opcode::Cipher, 4).with_cipher(rc4),
        source: DATA,
        cipher_key: end - 257,
        destination: DATA,
        ..ControlWord::default()
    };
    let hash = ControlWord {
        control: Control::new(Opcode::Auth, 1).with_auth(Auth::Sha256).with_hash_len(32),
        source: DATA,
        auth_iv: DATA,
        destination: end - 31,
        ..ControlWord::default()
    };
    for word in [word, hash] {
        guest.put(0, &[word]);
        assert_eq!(guest.status(0, function::SETTAIL, [handle, 64, 0]), Status::NoRealAddress);
    }
    // The first word's destination is as long as both pieces.
    let open = ControlWord {
        control: Control(Control::new(Opcode::Copy, 16).0 & !(1 << 53)),
        ..copy(DATA, end - 31)
    };
    guest.put(0, &[open, ControlWord { control: Control::piece(16).ends(), ..ControlWord::piece(DATA, 16) }]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 128, 0]), Status::NoRealAddress);
    guest.put(0, &[ControlWord { destination: end - 32, ..open }]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 128, 0]), Status::Ok);
    assert_eq!(guest.advance(10).len(), 2);
}

#[test]
fn sethead_marker() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 4);
    let mut status = |handle, offset| guest.status(0, function::SETHEAD_MARKER, [handle, offset, 0]);
    assert_eq!(status(handle ^ 1, 65), Status::Invalid);
    assert_eq!(status(handle, 65), Status::Invalid);
    assert_eq!(status(handle, 256), Status::Invalid);
    assert_eq!(status(handle, 192), Status::Ok, "no other check");
}

/// ncs_ulqconf checks numbers first, then the unit, alignment, the address, and grants to others.
#[test]
fn ulqconf() {
    const PAGE: u64 = 4 << 20;
    let mut guest = guest(Processor::T3, 2);
    guest.machine.set_memory(0, vec![Range { real: PAGE, physical: 2 * PAGE, bytes: 2 * PAGE }]);
    guest.machine.withhold(1, QueueType::Cwq);
    let nowhere = 0x100 * PAGE;
    let mut status = |cpu, base, code, entries| guest.status(cpu, function::ULQCONF, [base, code, entries]);
    for code in [0, 1, 2, 4, 6, u64::MAX] {
        assert_eq!(status(8, nowhere + 1, code, 4), Status::Invalid, "page size {code}");
    }
    for entries in [1, 3, 65, 128, u64::MAX] {
        assert_eq!(status(8, nowhere + 1, 3, entries), Status::Invalid, "{entries} entries");
    }
    assert_eq!(status(8, nowhere + 0x1000 - 64, 3, 4), Status::Invalid, "it must end in the first 4 KB");
    assert_eq!(status(8, nowhere + 0x2000, 3, 4), Status::Invalid);
    assert_eq!(status(8, nowhere + 1, 3, 4), Status::NoAccess);
    assert_eq!(status(0, nowhere + 64, 3, 4), Status::BadAlignment);
    assert_eq!(status(0, nowhere, 3, 4), Status::NoRealAddress);
    assert_eq!(status(0, 3 * PAGE, 3, 4), Status::NoRealAddress);
    assert_eq!(status(0, PAGE, 5, 4), Status::Invalid, "of 256 MB this is not the beginning");
    assert_eq!(status(0, 0, 5, 4), Status::NoRealAddress, "256 MB are not there");
    assert_eq!(status(0, PAGE + 0x1000 - 256, 3, 4), Status::Ok, "at the end of the first 4 KB");
    assert_eq!(status(0, 2 * PAGE, 3, 4), Status::NoAccess, "the process has one already");
    guest.machine.set_context(1, 7);
    let mut status = |cpu, base, code, entries| guest.status(cpu, function::ULQCONF, [base, code, entries]);
    assert_eq!(status(1, PAGE, 3, 4), Status::NoAccess, "the page is another process's");
    assert_eq!(status(1, 2 * PAGE, 3, 64), Status::Ok);
    // Revocation of a bad handle fails.
    for bad in [0, 0xa72, 0x5d0, 128 << 16 | 0x5d1, 5 << 16 | 0x5d1, 8 << 16 | 0x5d1] {
        assert_eq!(guest.status(0, function::ULQCONF, [bad, 3, 0]), Status::Invalid, "{bad:#x}");
    }
    assert_eq!(guest.status(0, function::ULQCONF, [0x5d1, 99, 0]), Status::Ok, "the size is not looked at");
    assert_eq!(guest.status(0, function::ULQCONF, [0x5d1, 3, 0]), Status::Invalid, "it is gone");
    for function in [
        function::QINFO,
        function::GETHEAD,
        function::GETTAIL,
        function::SETTAIL,
        function::QHANDLE_TO_DEVINO,
        function::SETHEAD_MARKER,
    ] {
        assert_eq!(guest.status(0, function, [1 << 16 | 0x5d1, 0, 0]), Status::Invalid, "{function:#x}");
    }
}
