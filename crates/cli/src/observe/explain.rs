//! Explains why a program failed soon after features were withheld, and what helps.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use millstream_observe::capability::Capabilities;
use millstream_observe::illegal::Refused;

use super::table::few;

/// A program that runs longer than this has found everything it needs.
const SOON: Duration = Duration::from_secs(3);

/// Signals that end a program which misses something: it tried the instruction anyway, or gave up.
const SIGILL: i32 = 4;
const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

/// Exit codes up to this have a meaning, like that of grep that it found nothing. A panic of Rust is 101, and
/// uncaught errors elsewhere mostly have codes above this, too.
const ORDINARY: i32 = 3;

/// The exit code of ld.so when a library is for a higher level of the architecture.
const LOADER: i32 = 127;

/// Returns the likely reason why the program failed, if that has to do with what was withheld.
///
/// `illegal` is the instruction that the processor refused, where that is known.
pub fn explain(
    status: ExitStatus,
    time: Duration,
    taken: Capabilities,
    illegal: Option<&Refused>,
) -> Option<String> {
    if status.success() || taken.is_empty() {
        return None;
    }
    let how = match (status.signal(), status.code()) {
        (Some(SIGILL), _) => refused(illegal),
        (Some(signal @ (SIGABRT | SIGSEGV)), _) if time < SOON => {
            format!("signal {signal} ended the program after {}", seconds(time))
        }
        (None, Some(code)) if time < SOON && code > ORDINARY => {
            let loader = match code == LOADER && for_level(taken) {
                true => {
                    " (ld.so's \"CPU ISA level is lower than required\" means a library that was built for it)"
                }
                false => "",
            };
            format!("the program exited with {code} after {}{loader}", seconds(time))
        }
        _ => return None,
    };
    let names: Vec<&str> = taken.iter().map(|feature| feature.name).collect();
    let withheld = few(&names, "other feature");
    Some(format!(
        "{how}. If it needs a feature, leave that out of --without, or name it in --with-only; withheld were {withheld}"
    ))
}

/// Describes the instruction, as far as it is known.
fn refused(illegal: Option<&Refused>) -> String {
    let Some(illegal) = illegal else { return "the program ended with an illegal instruction".to_owned() };
    let at =
        illegal.file.as_ref().map_or(String::new(), |(path, offset)| format!(" at {offset:#x} of {path}"));
    match &illegal.instruction {
        _ if illegal.is_deliberate => {
            format!(
                "the program ended itself with an illegal instruction{at}, as programs do that miss a feature"
            )
        }
        Some(name) => format!("the program executed {name}{at}, which this processor does not have"),
        None => format!("the program executed bytes{at} that are no instruction of this processor"),
    }
}

/// Returns true when one of the architecture's levels requires it (x86-64-v2 to v4).
fn for_level(taken: Capabilities) -> bool {
    ["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "fma", "avx512f"]
        .iter()
        .any(|name| taken.has(name))
}

fn seconds(time: Duration) -> String {
    super::trace::seconds(time)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn told(raw: i32, ms: u64, taken: &str, illegal: Option<&Refused>) -> Option<String> {
        explain(ExitStatus::from_raw(raw), Duration::from_millis(ms), Capabilities::named(taken), illegal)
    }

    #[test]
    fn a_reason_is_told_where_there_may_be_one() {
        let file = Some(("/lib/libx.so".to_owned(), 0x10));
        let refused = Refused { instruction: Some("aesenc".into()), is_deliberate: false, file };
        let text = told(SIGILL, 9000, "aes", Some(&refused)).unwrap();
        assert!(text.contains("executed aesenc at 0x10 of /lib/libx.so, which"), "{text}");
        assert!(text.ends_with("withheld were aes"), "{text}");
        let refused = Refused { instruction: Some("ud2".into()), is_deliberate: true, file: None };
        assert!(told(SIGILL, 0, "aes", Some(&refused)).unwrap().contains("ended itself"));
        assert!(told(101 << 8, 10, "aes", None).unwrap().contains("exited with 101"));
        assert!(told(127 << 8, 10, "avx2", None).unwrap().contains("ISA level"));
        assert!(told(127 << 8, 10, "aes", None).unwrap().contains("exited with 127"));
        assert!(told(SIGABRT, 10, "aes", None).is_some());
    }

    #[test]
    fn not_every_failure_is_ours() {
        assert_eq!(told(0, 10, "aes", None), None);
        assert_eq!(told(1 << 8, 10, "aes", None), None, "grep found nothing");
        assert_eq!(told(101 << 8, 60_000, "aes", None), None);
        assert_eq!(told(15, 10, "aes", None), None, "SIGTERM");
        assert_eq!(told(101 << 8, 10, "no such feature", None), None);
    }
}
