//! A program that failed soon after features were withheld: what may be the reason, and what helps.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use millstream_observe::capability::Capabilities;

/// A program that runs longer than that has found what it needs.
const SOON: Duration = Duration::from_secs(3);

/// Signals by which a program ends that misses something: it tried nevertheless, or gave up.
const SIGILL: i32 = 4;
const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

/// What ld.so ends with where a library is for a higher level of the architecture.
const LOADER: i32 = 127;

/// The likely reason why it failed, if that has to do with what was withheld.
///
/// `illegal` is the instruction that the processor refused, where that is known.
pub fn explain(
    status: ExitStatus,
    time: Duration,
    taken: Capabilities,
    illegal: Option<&str>,
) -> Option<String> {
    if status.success() || taken.is_empty() {
        return None;
    }
    let how = match (status.signal(), status.code()) {
        (Some(SIGILL), _) => {
            let what = illegal.map_or(String::new(), |what| format!(" at {what}"));
            format!(
                "the program ended with an illegal instruction{what}: it took for granted what the processor did not say, \
                 or ends itself so where it misses something"
            )
        }
        (Some(signal @ (SIGABRT | SIGSEGV)), _) if time < SOON => {
            format!("the program was ended by signal {signal} after {}", seconds(time))
        }
        (None, Some(LOADER)) if time < SOON && for_level(taken) => {
            "the program ended with 127: where ld.so said \"CPU ISA level is \
             lower than required\", a library of it is built for processors that have what is withheld"
                .to_owned()
        }
        (None, Some(code)) if time < SOON => {
            format!(
                "the program ended with {code} after {}: it may refuse to run without a feature",
                seconds(time)
            )
        }
        _ => return None,
    };
    Some(format!(
        "{how}. Withheld were: {taken}. Leave what it needs out of --without, or name it in --with-only"
    ))
}

/// Whether one of the architecture's levels asks for it (x86-64-v2 to v4).
fn for_level(taken: Capabilities) -> bool {
    ["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "fma", "avx512f"]
        .iter()
        .any(|name| taken.has(name))
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn told(raw: i32, ms: u64, taken: &str, illegal: Option<&str>) -> Option<String> {
        explain(ExitStatus::from_raw(raw), Duration::from_millis(ms), Capabilities::named(taken), illegal)
    }

    #[test]
    fn a_reason_is_told_where_there_may_be_one() {
        let text = told(SIGILL, 9000, "aes", Some("aesenc in libx.so")).unwrap();
        assert!(text.contains("at aesenc in libx.so") && text.contains("Withheld were: aes."), "{text}");
        assert!(told(1 << 8, 10, "aes", None).unwrap().contains("ended with 1"));
        assert!(told(127 << 8, 10, "avx2", None).unwrap().contains("ISA level"));
        assert!(told(127 << 8, 10, "aes", None).unwrap().contains("ended with 127"));
        assert!(told(SIGABRT, 10, "aes", None).is_some());
    }

    #[test]
    fn not_every_failure_is_ours() {
        assert_eq!(told(0, 10, "aes", None), None);
        assert_eq!(told(1 << 8, 60_000, "aes", None), None);
        assert_eq!(told(15, 10, "aes", None), None, "SIGTERM");
        assert_eq!(told(1 << 8, 10, "no such feature", None), None);
    }
}
