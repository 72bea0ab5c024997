//! The kernel without programs: what it refuses, and what it must not let a process do.

use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::aes::Cbc;
use millstream_engines::hash::{Hash, Hasher};
use millstream_engines::modes::BlockMode;

use super::*;
use crate::cpu::Device;
use crate::hypervisor::{ASI_USER_QUEUE, user_register};
use crate::memory::{PAGE_BYTES, Protection};
use crate::spu::{Auth, Chaining, Cipher, CipherKind, Control, ControlWord, Opcode};

const KEY: u64 = 0x10000;
const VECTOR: u64 = 0x10040;
const WORDS: u64 = 0x10100;
const FROM: u64 = 0x12000;
const TO: u64 = 0x14000;

fn errno(number: i32) -> Result<u64, Errno> {
    Err(Errno(number))
}

/// A process's memory, with a key, a vector and data in it.
fn process() -> Memory {
    let mut memory = Memory::new().unwrap();
    memory.map(KEY, 3 * PAGE_BYTES, Protection::DATA);
    memory.write(KEY, &[7; 16]).unwrap();
    memory.write(VECTOR, &[9; 16]).unwrap();
    memory.write(FROM, &data()).unwrap();
    memory
}

fn data() -> [u8; 256] {
    std::array::from_fn(|i| i as u8)
}

fn kernel(processor: Processor) -> Kernel {
    Kernel::new(processor, Model::of(processor).unwrap(), false)
}

fn cbc(bytes: usize) -> ControlWord {
    let cipher = Cipher { kind: CipherKind::Aes128, chaining: Chaining::Cbc };
    ControlWord {
        control: Control::new(Opcode::Cipher, bytes).with_cipher(cipher).encrypting(),
        source: FROM,
        cipher_key: KEY,
        cipher_iv: VECTOR,
        destination: TO,
        ..ControlWord::default()
    }
}

fn put(memory: &mut Memory, words: &[ControlWord]) {
    for (at, word) in (WORDS..).step_by(64).zip(words) {
        memory.write(at, &word.build()).unwrap();
    }
}

fn encrypted() -> [u8; 256] {
    let mut data = data();
    Cbc::new(Features::hardware(), &[7; 16]).unwrap().encrypt(&mut [9; 16], InOut::in_place(&mut data));
    data
}

fn read<const N: usize>(memory: &Memory, address: u64) -> [u8; N] {
    let mut bytes = [0; N];
    memory.read(address, &mut bytes).unwrap();
    bytes
}

/// Executes one operation of these words.
fn operate(kernel: &mut Kernel, memory: &mut Memory, words: &[ControlWord]) -> Result<u64, Errno> {
    put(memory, words);
    kernel.operation(memory, WORDS, words.len() as u64)
}

#[test]
fn more_operations_than_the_queue_has_entries() {
    let (mut kernel, mut memory) = (kernel(Processor::T2), process());
    for _ in 0..150 {
        memory.write(TO, &[0; 256]).unwrap();
        assert_eq!(operate(&mut kernel, &mut memory, &[cbc(256)]), Ok(0));
        assert_eq!(read(&memory, TO), encrypted());
    }
    assert_eq!((kernel.accounts.operations, kernel.accounts.interrupts), (150, 150));
    // The queue is configured once; then each operation needs the tail, the head and the marker.
    assert_eq!(kernel.accounts.hypervisor_calls, 1 + 3 * 150);
}

#[test]
fn a_scattered_source_and_a_transform_in_place() {
    let (mut kernel, mut memory) = (kernel(Processor::T2), process());
    let control = Control(cbc(100).control.0 & !Control::default().ends().0);
    let first = ControlWord { control, ..cbc(100) };
    // A block may have two pieces, unless one of them is the last.
    let middle = ControlWord::piece(FROM + 100, 60);
    let mut last = ControlWord::piece(FROM + 160, 96);
    last.control = last.control.ends();
    assert_eq!(operate(&mut kernel, &mut memory, &[first, middle, last]), Ok(0));
    assert_eq!(read(&memory, TO), encrypted());

    let control = cbc(256).control.in_place_bit();
    let word = ControlWord { control, destination: 0, ..cbc(256) };
    assert_eq!(operate(&mut kernel, &mut memory, &[word]), Ok(0));
    assert_eq!(read(&memory, FROM), encrypted());
}

#[test]
fn a_hash_begins_with_its_state() {
    let (mut kernel, mut memory) = (kernel(Processor::T2), process());
    let state: [u32; 8] =
        [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    memory.write(VECTOR, state.map(u32::to_be_bytes).as_flattened()).unwrap();
    let control = Control::new(Opcode::Auth, 256).with_auth(Auth::Sha256).with_hash_len(32);
    let word =
        ControlWord { control, source: FROM, auth_iv: VECTOR, destination: TO, ..ControlWord::default() };
    assert_eq!(operate(&mut kernel, &mut memory, &[word]), Ok(0));
    let mut hasher = Hasher::new(Features::hardware(), Hash::Sha256);
    hasher.update(&data());
    assert_eq!(read::<32>(&memory, TO), hasher.finish().as_ref());
}

#[test]
fn what_the_framework_refuses() {
    let (mut kernel, mut memory) = (kernel(Processor::T2), process());
    let mut refused = |word: ControlWord| operate(&mut kernel, &mut memory, &[word]);
    let nowhere = 0x5000_0000;
    for word in [
        ControlWord { source: nowhere, ..cbc(256) },
        ControlWord { cipher_key: nowhere, ..cbc(256) },
        ControlWord { cipher_iv: u64::MAX - 3, ..cbc(256) },
        ControlWord { destination: nowhere, ..cbc(256) },
    ] {
        assert_eq!(refused(word), errno(libc::EFAULT), "{word:?}");
    }
    // These have no source; no key, which the unit refuses; a broken block; no start.
    assert_eq!(refused(ControlWord { source: 0, ..cbc(256) }), errno(libc::EINVAL));
    assert_eq!(refused(ControlWord { cipher_key: 0, ..cbc(256) }), errno(libc::EIO));
    assert_eq!(refused(cbc(250)), errno(libc::EIO));
    assert_eq!(refused(ControlWord::piece(FROM, 16)), errno(libc::EINVAL));
    // The kernel goes on after all that.
    assert_eq!(refused(cbc(256)), Ok(0));
    assert_eq!(kernel.operation(&mut memory, WORDS, 0), errno(libc::EINVAL));
    assert_eq!(kernel.operation(&mut memory, WORDS, 17), errno(libc::EINVAL));
    assert_eq!(kernel.operation(&mut memory, u64::MAX, 1), errno(libc::EFAULT));
    assert_eq!(super::tests::kernel(Processor::T1).operation(&mut memory, WORDS, 1), errno(libc::ENODEV));
}

#[test]
fn what_a_power_refuses() {
    let (mut kernel, mut memory) = (kernel(Processor::T1), process());
    let mut power = |request: [u64; 5]| {
        memory.write(WORDS, request.map(u64::to_be_bytes).as_flattened()).unwrap();
        kernel.power(&mut memory, WORDS)
    };
    // The key's bytes are 0x0707..., an odd number, and the data's words begin with an even one of 0x...07.
    assert_eq!(power([TO, FROM, FROM, KEY, 2]), Ok(0));
    assert_eq!(power([TO, FROM, FROM, KEY, 0]), errno(libc::EINVAL));
    assert_eq!(power([TO, FROM, FROM, KEY, 33]), errno(libc::EINVAL));
    assert_eq!(power([TO, FROM, FROM, TO + 0x100, 2]), errno(libc::EINVAL), "an even modulus");
    assert_eq!(power([TO, 0, FROM, KEY, 2]), errno(libc::EFAULT));
    assert_eq!(power([0, FROM, FROM, KEY, 2]), errno(libc::EFAULT));
    assert_eq!(kernel.power(&mut memory, u64::MAX - 7), errno(libc::EFAULT));
}

/// The fast path's word for the page's data; `destination` is an offset in the page.
fn fast(destination: u64) -> ControlWord {
    ControlWord { source: 0x2000, cipher_key: 0x1000, cipher_iv: 0x1040, destination, ..cbc(256) }
}

/// A grant, with key, vector and data in the page.
fn granted(units: &Units, memory: &mut Memory) -> u64 {
    let page = units.kernel().grant(memory, 16).unwrap();
    memory.write(page + 0x1000, &[7; 16]).unwrap();
    memory.write(page + 0x1040, &[9; 16]).unwrap();
    memory.write(page + 0x2000, &data()).unwrap();
    page
}

#[test]
fn the_fast_path_works_without_a_call_and_inside_its_page_alone() {
    let (units, mut memory) = (Units::of(Processor::T3, false).unwrap(), process());
    let mut registers = grant::Registers(units.clone());
    let page = granted(&units, &mut memory);
    let calls = units.accounts().hypervisor_calls;
    let mut run = |memory: &mut Memory, slot: u64, word: ControlWord| {
        memory.write(page + 64 * slot, &word.build()).unwrap();
        registers.store(memory, ASI_USER_QUEUE, user_register::TAIL, 64 * (slot + 1)).unwrap();
        while registers.load(memory, ASI_USER_QUEUE, user_register::HEAD).unwrap() != 64 * (slot + 1) {}
        Control(memory.load_u64(page + 64 * slot).unwrap())
    };
    let done = run(&mut memory, 0, fast(0x3000));
    assert!(done.done() && !done.protocol_error());
    assert_eq!(read(&memory, page + 0x3000), encrypted());
    // Words in place, over the queue, over the source, and beyond the page are refused, and nothing is written.
    let before: [u8; 512] = read(&memory, page + 0x2000);
    for (slot, destination) in (1..).zip([0x2000, 0x80, 0x20f0, grant::GRANT_BYTES - 255, FROM]) {
        let outside = destination == FROM;
        // On this path the process's own address is an offset beyond the page.
        let destination = if outside { page + FROM } else { destination };
        assert!(run(&mut memory, slot, fast(destination)).protocol_error(), "{destination:#x}");
    }
    assert_eq!(read(&memory, page + 0x2000), before);
    assert_eq!(units.accounts().hypervisor_calls, calls);
}

#[test]
fn a_grant_is_one_and_ends() {
    let (units, mut memory) = (Units::of(Processor::T3, false).unwrap(), process());
    let mut registers = grant::Registers(units.clone());
    let page = granted(&units, &mut memory);
    assert_eq!(units.kernel().grant(&mut memory, 16), errno(libc::EBUSY));
    // A word that was submitted and not begun when the grant is taken away does nothing.
    memory.write(page, &fast(0x3000).build()).unwrap();
    registers.store(&mut memory, ASI_USER_QUEUE, user_register::TAIL, 64).unwrap();
    assert_eq!(units.kernel().revoke(&mut memory), Ok(0));
    assert!(memory.protection(page).is_none());
    assert_eq!(units.kernel().revoke(&mut memory), errno(libc::EINVAL));
    // Without a grant, stores are ignored and loads give zero.
    registers.store(&mut memory, ASI_USER_QUEUE, user_register::TAIL, 64).unwrap();
    assert_eq!(registers.load(&mut memory, ASI_USER_QUEUE, user_register::STATUS), Ok(0));
    assert!(registers.load(&mut memory, ASI_USER_QUEUE, 0x18).is_err());
    assert!(registers.load(&mut memory, 0xb9, user_register::STATUS).is_err());
    assert_ne!(granted(&units, &mut memory), 0, "there can be another");
    assert_eq!(Units::of(Processor::T3, false).unwrap().kernel().grant(&mut memory, 3), errno(libc::EINVAL));
    assert_eq!(Units::of(Processor::T2, false).unwrap().kernel().grant(&mut memory, 16), errno(libc::ENODEV));
}
