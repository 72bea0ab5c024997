//! Programs made to mislead: data that looks like instructions, instructions that overlap, tables among the code.

use std::fs::File;
use std::process::Command;

use millstream_observe::code::{Bounds, Class, Image};

use crate::support::Directory;

/// Eight times `aesenc %xmm1, %xmm0`, as data.
const LOOKS_LIKE_AES: &str = ".rept 8\n .byte 0x66,0x0f,0x38,0xdc,0xc1\n .endr\n";

/// Assembles a shared library.
fn assemble(name: &str, source: &str) -> Image {
    let directory = Directory::new(name);
    let (from, to) = (directory.path().join("a.s"), directory.path().join("a.so"));
    std::fs::write(&from, source.replace("AES_DATA", LOOKS_LIKE_AES)).unwrap();
    let done = Command::new("cc").args(["-shared", "-nostdlib", "-o"]).arg(&to).arg(&from).status();
    assert!(done.unwrap().success(), "{source}");
    Image::of_file(&File::open(to).unwrap()).unwrap()
}

/// Wraps a body into a function named `f`, whose bounds a symbol and an unwinding table give.
fn function(body: &str) -> String {
    format!(".text\n.globl f\n.type f,@function\nf:\n.cfi_startproc\n{body}\n.cfi_endproc\n.size f,.-f\n")
}

/// Returns the numbers of proven and unproved AES instructions, and the offsets of the sites from the
/// function's start.
fn aes(image: &Image) -> (u32, u32, Vec<u64>) {
    let function = image.functions().iter().find(|function| function.name.as_deref() == Some("f")).unwrap();
    let offsets = image.sites().iter().map(|site| site.address - function.start).collect();
    (image.proven().of(Class::Aes), image.unproved().of(Class::Aes), offsets)
}

fn aes_in(name: &str, body: &str) -> (u32, u32, Vec<u64>) {
    aes(&assemble(name, &function(body)))
}

#[test]
fn data_that_is_jumped_over_is_not_code() {
    let found = aes_in("over", "jmp 1f\nAES_DATA\n1: aesenc %xmm1,%xmm0\nret");
    assert_eq!(found, (1, 8, vec![42]));
}

#[test]
fn data_behind_a_return_is_not_code() {
    let found = aes_in("behind", "aesenc %xmm1,%xmm0\nlea t(%rip),%rax\nret\nt: AES_DATA\nret");
    assert_eq!(found, (1, 8, vec![0]));
}

#[test]
fn data_that_a_call_skips_is_not_code() {
    // The target takes the address behind the call from the stack, by pop or by reading it.
    for take in ["pop %rax", "mov (%rsp),%rax\nadd $8,%rsp"] {
        let found = aes_in("skip", &format!("call 1f\nAES_DATA\n1: {take}\naesenc %xmm1,%xmm0\nret"));
        assert_eq!((found.0, found.1), (1, 8), "{take}");
    }
}

#[test]
fn data_behind_a_call_that_does_not_return_is_not_code() {
    // The code behind the call runs into something impossible, or is loaded from.
    let found = aes_in(
        "noreturn",
        "test %eax,%eax\njz 1f\ncall abort@plt\nAES_DATA\n.byte 6\n1: aesenc %xmm1,%xmm0\nret",
    );
    assert_eq!((found.0, found.1), (1, 8));
    let found = aes_in(
        "loaded",
        "test %eax,%eax\njz 1f\ncall abort@plt\nt: AES_DATA\n1: aesenc t(%rip),%xmm0\naesenc %xmm1,%xmm0\nret",
    );
    assert_eq!((found.0, found.1), (2, 8));
}

#[test]
fn a_table_among_the_code_forbids_sweeping() {
    let body = "lea t(%rip),%rdx\nmovslq (%rdx,%rdi,4),%rax\nadd %rdx,%rax\njmp *%rax\n.balign 4\nt: .long 1f-t,2f-t\nAES_DATA\n1: aesenc %xmm1,%xmm0\nret\n2: aesdec %xmm1,%xmm0\nret";
    let (proven, unproved, _) = aes_in("table", body);
    assert_eq!(proven, 0);
    assert!(unproved >= 8);
}

#[test]
fn behind_a_table_elsewhere_the_code_is_found() {
    let body = "lea t(%rip),%rdx\nmovslq (%rdx,%rdi,4),%rax\nadd %rdx,%rax\njmp *%rax\n1: aesenc %xmm1,%xmm0\nret\n2: aesdec %xmm1,%xmm0\naesdec %xmm1,%xmm0\nret";
    let source = function(body) + ".section .rodata\n.balign 4\nt: .long 1b-t,2b-t\n";
    let (proven, unproved, offsets) = aes(&assemble("elsewhere", &source));
    assert_eq!((proven, unproved), (3, 0));
    assert_eq!(offsets.len(), 2);
}

#[test]
fn sweeping_stops_at_what_is_impossible() {
    let body = "jmp *%rax\n1: aesenc %xmm1,%xmm0\nret\n.byte 6\nret";
    assert_eq!(aes_in("impossible", body), (0, 1, vec![]));
    // A jump leads into the middle of what a sweep takes for an instruction.
    let body = "test %eax,%eax\njz 1f+2\njmp *%rax\n1: .byte 0x48,0xb8\nnop\nret\nnop\nnop\nnop\nnop\nnop\nnop\naesenc %xmm1,%xmm0\nret";
    assert_eq!(aes_in("middle", body), (0, 1, vec![]));
}

#[test]
fn overlapping_instructions_are_not_touched() {
    // Flow runs through `mov $imm, %eax` and also jumps into its immediate, which is an AES instruction.
    let body = "test %eax,%eax\njz 1f+1\n1: .byte 0xb8\naesenc %xmm1,%xmm0\nret";
    let (proven, unproved, sites) = aes_in("overlap", body);
    assert_eq!((proven, sites), (0, vec![]));
    assert_eq!(unproved, 0, "a sweep sees only the first reading");
}

#[test]
fn a_symbol_on_data_proves_nothing() {
    let body = "AES_DATA\n.byte 6\n";
    assert_eq!(aes_in("symbol", body), (0, 8, vec![]));
    // A symbol without a type doesn't count at all.
    let source =
        ".text\nt: AES_DATA\nret\n.globl f\n.type f,@function\nf: aesenc t(%rip),%xmm0\nret\n.size f,.-f\n";
    assert_eq!(aes(&assemble("label", source)), (1, 8, vec![0]));
}

#[test]
fn runs_end_where_flow_may_enter_or_leave() {
    let body = "aesenc %xmm1,%xmm0\nxor %eax,%eax\naesenc %xmm1,%xmm0\n1: aesenc %xmm1,%xmm0\npclmulqdq $0,%xmm1,%xmm0\njnz 1b\naesenc %xmm1,%xmm0\ncall g@plt\naesenc %xmm1,%xmm0\nret";
    let image = assemble("runs", &function(body));
    let (proven, unproved, offsets) = aes(&image);
    assert_eq!((proven, unproved), (5, 0));
    assert_eq!(offsets, [0, 12, 25, 35]);
    let site = image.sites()[1];
    assert_eq!((site.instructions, site.run, site.classes.to_string().as_str()), (2, 11, "aes pclmul"));
    assert_eq!(image.sites()[0].bytes(), [0x66, 0x0F, 0x38, 0xDC, 0xC1]);
}

#[test]
fn a_function_without_a_size_is_followed_from_its_start() {
    let source = ".text\n.globl f\n.type f,@function\nf: aesenc %xmm1,%xmm0\nret\nAES_DATA\nret\n";
    let image = assemble("endless", source);
    assert_eq!(image.functions()[0].bounds, Bounds::Start);
    assert_eq!(aes(&image), (1, 8, vec![0]));
}

#[test]
fn a_function_that_runs_into_the_next_is_right_and_into_nothing_is_not() {
    let next = ".globl g\n.type g,@function\ng: ret\n.size g,.-g\n";
    let falls = ".text\n.globl f\n.type f,@function\nf: aesenc %xmm1,%xmm0\n.size f,.-f\n";
    assert_eq!(aes(&assemble("falls", &format!("{falls}{next}"))).0, 1);
    assert_eq!(aes(&assemble("nothing", &format!("{falls}nop\n{next}"))).0, 0);
}

/// Builds a function with bounds, and after it a function without bounds and a table, both aligned.
fn beyond(name: &str, body: &str, unknown: &str) -> (u32, u32, Vec<u64>) {
    let source = function(body) + ".balign 16\nh: " + unknown + "\n.balign 16\nt: AES_DATA\nret\n";
    aes(&assemble(name, &source))
}

#[test]
fn what_only_other_code_tells_of_is_found() {
    let unknown = "aesdec %xmm1,%xmm0\naesdec %xmm1,%xmm0\nret";
    assert_eq!(beyond("nobody", "aesenc %xmm1,%xmm0\nret", unknown).0, 1);
    assert_eq!(beyond("called", "aesenc %xmm1,%xmm0\ncall h\nret", unknown).0, 3);
    assert_eq!(beyond("jumped", "aesenc %xmm1,%xmm0\njmp h", unknown).0, 3);
    assert_eq!(beyond("pointed", "lea h(%rip),%rax\naesenc %xmm1,%xmm0\nret", unknown).0, 3);
    // Impossible code doesn't count.
    assert_eq!(
        beyond("nonsense", "lea h(%rip),%rax\naesenc %xmm1,%xmm0\nret", "aesdec %xmm1,%xmm0\n.byte 6").0,
        1
    );
}

#[test]
fn a_table_that_is_loaded_from_is_no_function() {
    let body = "lea t(%rip),%rax\naesenc t(%rip),%xmm0\nret";
    assert_eq!(beyond("both", body, "ret").0, 1);
    let body = "lea t(%rip),%rax\ntest %ecx,%ecx\njz 1f\nadd $16,%rax\n1: aesenc (%rax),%xmm0\nret";
    assert_eq!(beyond("through", body, "ret").0, 1);
    let body = "lea t(%rip),%rax\naesenc %xmm1,%xmm0\nret";
    let source = function(body) + ".balign 16\n.skip 4\nt: AES_DATA\nret\n";
    assert_eq!(aes(&assemble("unaligned", &source)).0, 1);
}

#[test]
fn functions_that_data_points_to_are_found() {
    let code = "aesdec %xmm1,%xmm0\naesdec %xmm1,%xmm0\nret";
    let body = function("aesenc %xmm1,%xmm0\nret");
    let found = |name: &str, before: &str, code: &str, data: &str| {
        let source = format!("{body}{before}\nh: {code}\n{data}\n");
        aes(&assemble(name, &source)).0
    };
    let gap = ".balign 16";
    let pointer = ".section .data.rel.ro,\"aw\"\n.balign 8\n.quad 0,h";
    let called = ".section .init_array,\"aw\"\n.balign 8\n.quad h";
    assert_eq!(found("untold", gap, code, ""), 1);
    assert_eq!(found("held", gap, code, pointer), 3);
    assert_eq!(found("marked", ".balign 16,0x11\n.skip 16,0x11", &format!("endbr64\n{code}"), pointer), 3);
    // The loader calls it, wherever it is.
    assert_eq!(found("called-first", ".byte 0x11,0x11", code, called), 3);
    // A number is no pointer. An address in the middle of other bytes, or of impossible code, is no function.
    assert_eq!(found("number", gap, code, ".section .rodata\n.balign 8\n.quad h-f"), 1);
    assert_eq!(found("amid", ".balign 16,0x11\n.skip 16,0x11", code, pointer), 1);
    assert_eq!(found("unaligned-pointer", ".balign 16\n.skip 4,0x90", code, pointer), 1);
    assert_eq!(found("impossible-pointer", gap, "aesdec %xmm1,%xmm0\n.byte 6", pointer), 1);
}
