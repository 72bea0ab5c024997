//! The findings of a trace: the answers first, then their evidence, then what is missing.

mod json;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use millstream_measure::figures::significant;
use millstream_observe::code::Class;
use millstream_observe::trace::Mode;
use millstream_observe::trace::findings::{
    At, Counter, Findings, Function, Module, Note, Origin, Question, Unwatched, Verdict,
};

pub use json::json;

use super::stable::stable;
use super::table::{count, enumerated, table_within};

/// The number of modules that an answer names before it counts the rest.
const NAMED: usize = 3;

/// The number of callers that a line names.
const CALLERS: usize = 3;

/// Formats the findings. `verbose` adds what did not run, and the cost of tracing. Tables are cut to `width`,
/// where there is one.
pub fn text(findings: &Findings, verbose: bool, width: Option<usize>) -> String {
    let mut text = format!("{}\n{}", head(findings), answers(findings));
    let ran = rows(findings, |function| !function.ran.is_empty());
    if !ran.is_empty() {
        text += "\n";
        text += &table_within(&columns(findings.mode), &ran, width);
        text += &noise(findings);
    }
    if verbose {
        text += &idle(findings, width);
    }
    text += &unwatched(findings, verbose);
    text += &counters(&findings.counters);
    if verbose {
        text += &cost(findings);
    }
    text
}

/// Formats what was watched, like `openssl speed (process 7), 3.02 s`.
fn head(findings: &Findings) -> String {
    let others = findings.processes.len().saturating_sub(1) as u64;
    let what = match findings.processes.first() {
        Some(first) if others > 0 => {
            format!("{} and {}", first.command.display(), count(others, "other program"))
        }
        Some(first) if first.attached => format!("process {} ({})", first.pid, first.command.display()),
        Some(first) => first.command.display().to_string(),
        None => "nothing".to_owned(),
    };
    format!("{what}, {}", seconds(findings.duration))
}

/// Formats the functions of a chain that mean something to a reader: those with names.
fn callers(chain: &[String], most: usize) -> Option<String> {
    // Every program begins in these functions.
    let is_start = |name: &str| name.starts_with("__libc_start") || name == "_start";
    let named = |name: &&String| !name.starts_with("fn_") && !name.contains(":fn_") && !is_start(name);
    let known: Vec<String> = chain.iter().filter(named).take(most).map(|name| brief(name)).collect();
    if known.is_empty() { chain.first().cloned() } else { Some(known.join(" < ")) }
}

/// Shortens a name by its package's folders and its generic arguments, because Go's fill a line.
fn brief(name: &str) -> String {
    let (mut depth, mut kept) = (0_u32, String::new());
    for letter in name.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => kept.clear(),
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

/// Formats a line for each question whose answer is worth a line.
fn answers(findings: &Findings) -> String {
    let mut text = String::new();
    for question in Question::ALL {
        let verdict = findings.verdict(*question);
        let always = matches!(question, Question::Aes | Question::CarryLess | Question::Sha);
        let is_no = matches!(verdict, Verdict::Unused(_) | Verdict::Absent | Verdict::Unknown(_));
        if always || !is_no {
            let _ = writeln!(text, "{}: {}", question.label(), answer(findings, *question, &verdict));
        }
    }
    text
}

fn answer(findings: &Findings, question: Question, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Yes(at) if findings.is_perhaps_checksum(question, at) => {
            format!("yes, perhaps for a checksum, by {}", by_module(findings, at))
        }
        Verdict::Yes(at) => format!("yes, by {}", by_module(findings, at)),
        Verdict::OnlyNoise(at, origins) => {
            let origins = enumerated(origins.iter().map(Origin::to_string));
            format!("only for {origins}, by {}", by_module(findings, at))
        }
        Verdict::Unused(at) => {
            let functions = count(at.len() as u64, "function");
            format!("no; {functions} of {} with such instructions did not run", modules(findings, at))
        }
        Verdict::Absent => "no; there is no code with such instructions".to_owned(),
        Verdict::Unknown(Unwatched { unproved, unwatchable, processes, code }) => {
            let mut why = Vec::new();
            if *unproved > 0 {
                why.push(format!("{} whose beginning is not proven", count(*unproved, "instruction")));
            }
            if *unwatchable > 0 {
                why.push(format!("{} that can't hold a breakpoint", count(*unwatchable as u64, "place")));
            }
            if *processes > 0 {
                why.push(count(*processes as u64, "process"));
            }
            if let [first, others @ ..] = &code[..] {
                let others = match others.len() as u64 {
                    0 => String::new(),
                    number => format!(" (and {})", count(number, "more note")),
                };
                why.push(format!("{first}{others}"));
            }
            let why = if why.is_empty() { "the processor counted some".to_owned() } else { enumerated(why) };
            format!("not seen, but not all could be watched: {why}")
        }
    }
}

/// Names modules with the function that counts most in each, and its callers.
fn by_module(findings: &Findings, at: &[At]) -> String {
    let mut seen: Vec<(usize, At, u64)> = Vec::new();
    for &at in at {
        let is_noisy = |at: At| findings.function(at).origins.iter().any(|origin| origin.is_noise());
        match seen.iter_mut().find(|(module, _, _)| *module == at.module) {
            Some((_, shown, others)) => {
                *others += 1;
                // A function that ran for this program alone says more than one that every program calls.
                if is_noisy(*shown) && !is_noisy(at) {
                    *shown = at;
                }
            }
            None => seen.push((at.module, at, 0)),
        }
    }
    let one = |(module, at, others): &(usize, At, u64)| {
        let function = findings.function(*at);
        let mut text = format!("{}: {}", name(&findings.modules[*module]), function.name);
        if let Some(caller) = function.callers.first().and_then(|chain| callers(chain, 1)) {
            let _ = write!(text, " from {caller}");
        }
        if *others > 0 {
            let _ = write!(text, " and {}", count(*others, "other function"));
        }
        text
    };
    let mut parts: Vec<String> = seen.iter().take(NAMED).map(one).collect();
    if seen.len() > NAMED {
        parts.push(count((seen.len() - NAMED) as u64, "other module"));
    }
    parts.join("; ")
}

fn modules(findings: &Findings, at: &[At]) -> String {
    let mut indices: Vec<usize> = at.iter().map(|at| at.module).collect();
    indices.dedup();
    let mut names: Vec<String> =
        indices.iter().take(NAMED).map(|index| name(&findings.modules[*index])).collect();
    if indices.len() > NAMED {
        names.push(count((indices.len() - NAMED) as u64, "other module"));
    }
    enumerated(names)
}

/// Formats a module like `libcrypto.so.3 (OpenSSL 3.0.19)`.
fn name(module: &Module) -> String {
    match &module.library {
        Some(library) => format!("{} ({library})", short(module)),
        None => short(module),
    }
}

fn short(module: &Module) -> String {
    let file = Path::new(&module.path).file_name().map(|name| stable(&name.to_string_lossy()));
    file.unwrap_or_else(|| module.path.display().to_string())
}

/// Returns the columns, which depend on how sites were watched.
fn columns(mode: Mode) -> Vec<(&'static str, bool)> {
    let counted: &[(&str, bool)] = match mode {
        Mode::Once => &[],
        Mode::Count => &[("ENTRIES", true)],
        Mode::Rate => &[("SAMPLES", true), ("ENTRIES/S", true)],
    };
    let first = [("LIBRARY", false), ("CLASS", false), ("FUNCTION", false)];
    first.iter().chain(counted).chain(&[("FOR", false), ("CALLED BY", false)]).copied().collect()
}

/// Returns a row for each function that is `wanted`, the busiest first.
fn rows(findings: &Findings, wanted: impl Fn(&Function) -> bool) -> Vec<Vec<String>> {
    let mut found: Vec<(&Module, &Function)> = findings
        .modules
        .iter()
        .flat_map(|module| module.functions.iter().map(move |function| (module, function)))
        .filter(|(_, function)| wanted(function))
        .collect();
    found.sort_by_key(|(_, function)| {
        let weight = (function.entries.unwrap_or(0), function.samples);
        (std::cmp::Reverse(weight), function.worked.is_empty())
    });
    found.into_iter().map(|(module, function)| row(findings, module, function)).collect()
}

fn row(findings: &Findings, module: &Module, function: &Function) -> Vec<String> {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let mut row = vec![short(module), function.ran.to_string(), function.name.clone()];
    match findings.mode {
        Mode::Once => {}
        Mode::Count => row.push(or_dash(function.entries.map(|entries| entries.to_string()))),
        Mode::Rate => {
            // The function may run before the first sample and after the last.
            row.push(format!("{} of {}", function.samples, findings.samples.max(function.samples)));
            row.push(or_dash(function.rate.map(|rate| per_second(rate as f64))));
        }
    }
    row.push(enumerated(function.origins.iter().map(|origin| purpose(*origin))));
    row.push(or_dash(function.callers.first().and_then(|chain| callers(chain, CALLERS))));
    row
}

fn purpose(origin: Origin) -> &'static str {
    match origin {
        Origin::Work => "work",
        Origin::Random => "random numbers",
        Origin::HashTable => "hash table",
        Origin::SelfTest => "self-test",
        Origin::Checksum => "checksum",
    }
}

fn per_second(rate: f64) -> String {
    match rate {
        _ if rate >= 1e6 => format!("{} M", significant(rate / 1e6)),
        _ if rate >= 1e3 => format!("{} k", significant(rate / 1e3)),
        _ => significant(rate),
    }
}

/// Names what is in the table but does not count for the answers.
fn noise(findings: &Findings) -> String {
    let functions = findings.modules.iter().flat_map(|module| &module.functions);
    let mut origins: Vec<Origin> = functions.flat_map(|function| function.origins.iter().copied()).collect();
    origins.sort_unstable();
    origins.dedup();
    let mut text = String::new();
    for origin in origins {
        let why = match origin {
            Origin::Work => continue,
            Origin::Random => {
                "random numbers: a library's generator is made of AES or a hash, and runs for every key and nonce"
            }
            Origin::HashTable => {
                "hash table: AES rounds mix the keys of maps, in Go and other languages; nothing is encrypted"
            }
            Origin::SelfTest => "self-test: a library checked its own results when it started",
            Origin::Checksum => "checksum: carry-less multiplication also makes CRCs, as in compression",
        };
        let _ = writeln!(text, "{}{why}", if text.is_empty() { "\n" } else { "" });
    }
    text
}

/// Lists functions that hold crypto instructions and ran none.
fn idle(findings: &Findings, width: Option<usize>) -> String {
    let mut rows = Vec::new();
    for module in &findings.modules {
        for function in module.functions.iter().filter(|function| function.ran.is_empty()) {
            rows.push(vec![short(module), function.present.to_string(), function.name.clone()]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let columns = [("LIBRARY", false), ("CLASS", false), ("FUNCTION", false)];
    format!("\nThere, but did not run:\n{}", table_within(&columns, &rows, width))
}

fn unwatched(findings: &Findings, verbose: bool) -> String {
    let mut lines = Vec::new();
    for module in &findings.modules {
        // Instructions that this processor can't run need no watching.
        let runs = |class: &Class| verbose || !findings.lacking.has(*class);
        let unproved = module.unproved.iter().filter(|(class, _)| runs(class));
        let counts: Vec<String> =
            unproved.map(|(class, number)| format!("{number} {}", class.name())).collect();
        if !counts.is_empty() {
            lines.push(format!(
                "{}: {} instructions, without proof that one begins there",
                short(module),
                enumerated(counts)
            ));
        }
        if module.unwatchable > 0 {
            let places = count(module.unwatchable as u64, "place");
            lines.push(format!("{}: {places} in memory that is shared or that changed", short(module)));
        }
    }
    // Few processors have such counters, and nothing is missing without them.
    let wanted = |note: &&Note| verbose || !matches!(note, Note::NoCounters { .. });
    lines.extend(findings.notes.iter().filter(wanted).map(ToString::to_string));
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\nNot watched, or not all the time:\n{}",
        lines.iter().map(|line| format!("  {line}\n")).collect::<String>()
    )
}

fn counters(counters: &[Counter]) -> String {
    let mut text = String::new();
    for counter in counters {
        let speculative = if counter.speculative { ", begun or finished" } else { "" };
        let _ = writeln!(
            text,
            "{}the processor counted {} {} instructions{speculative} ({})",
            if text.is_empty() { "\n" } else { "" },
            counter.count,
            counter.classes,
            counter.event
        );
    }
    text
}

fn cost(findings: &Findings) -> String {
    let cost = &findings.cost;
    format!(
        "\n{} in {} watched for {}; {} looked through in {}, of which {} known from before; {} placed, {} fired, threads stopped for {}\n",
        count(findings.processes.len() as u64, "program"),
        count(processes(findings), "process"),
        seconds(findings.duration),
        count(cost.images as u64, "image"),
        seconds(cost.scanning),
        if cost.known == 1 { "1 was".to_owned() } else { format!("{} were", cost.known) },
        count(cost.armed, "breakpoint"),
        cost.fired,
        seconds(cost.stopped),
    )
}

fn processes(findings: &Findings) -> u64 {
    let mut pids: Vec<i32> = findings.processes.iter().map(|process| process.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    pids.len() as u64
}

/// Formats a time like `12.3 s` or `4.56 ms`.
pub fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        time if time >= 1.0 => format!("{} s", significant(time)),
        time => format!("{} ms", significant(time * 1e3)),
    }
}

#[cfg(test)]
mod tests {
    use millstream_observe::code::{Bounds, CarryLess, Class, Classes, Counts};
    use serde_json::json;

    use super::*;

    fn function(name: &str, class: Class, origins: &[Origin], entries: u64) -> Function {
        let class = Classes::from(class);
        let ran = if origins.is_empty() { Classes::NONE } else { class };
        Function {
            name: name.into(),
            symbol: None,
            address: 0x1000,
            bounds: Bounds::Symbol,
            present: class,
            carry_less: CarryLess::Unknown,
            ran,
            worked: if origins.contains(&Origin::Work) { class } else { Classes::NONE },
            entries: Some(entries),
            samples: 0,
            rate: None,
            hits: 1,
            first: None,
            callers: vec![vec!["EVP_EncryptUpdate".into(), "main".into()]],
            origins: origins.to_vec(),
            by_process: vec![(7, entries)],
        }
    }

    fn findings() -> Findings {
        let functions = vec![
            function("aesni_ctr32", Class::Aes, &[Origin::Random], 3),
            function("aesni_cbc_encrypt", Class::Aes, &[Origin::Work], 900),
            function("sha256_ni", Class::Sha, &[], 0),
        ];
        let mut unproved = Counts::default();
        unproved.add(Class::Vaes);
        let module = Module {
            path: "/usr/lib/libcrypto.so.3".into(),
            library: Some("OpenSSL 3.0.19".into()),
            present: functions.iter().fold(Classes::NONE, |set, f| set.union(f.present)),
            functions,
            unproved,
            ..Module::default()
        };
        Findings { mode: Mode::Count, modules: vec![module], ..Findings::default() }
    }

    #[test]
    fn the_answer_stands_first() {
        let text = text(&findings(), false, None);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("nothing, 0.000 ms"));
        assert_eq!(
            lines.next(),
            Some(
                "hardware AES: yes, by libcrypto.so.3 (OpenSSL 3.0.19): aesni_cbc_encrypt from EVP_EncryptUpdate"
            )
        );
        assert_eq!(lines.next(), Some("carry-less multiply: no; there is no code with such instructions"));
        assert_eq!(
            lines.next(),
            Some(
                "hardware SHA-1/SHA-256: no; 1 function of libcrypto.so.3 (OpenSSL 3.0.19) with such instructions did not run"
            )
        );
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("libcrypto.so.3  ")).collect();
        assert_eq!(rows.len(), 2, "{text}");
        assert!(rows[0].contains("900  work") && rows[0].ends_with("EVP_EncryptUpdate < main"), "{text}");
        assert!(text.contains("random numbers: a library's generator"), "{text}");
        assert!(text.contains("libcrypto.so.3: 1 vaes instructions, without proof"), "{text}");
    }

    #[test]
    fn what_did_not_run_is_told_on_demand() {
        assert!(!text(&findings(), false, None).contains("sha256_ni"));
        assert!(text(&findings(), true, None).contains("did not run:\nLIBRARY"));
        assert!(text(&findings(), true, None).contains("sha256_ni"));
    }

    #[test]
    fn callers_without_names_say_nothing() {
        let chain = ["libx.so:fn_10", "EVP_EncryptUpdate", "fn_20", "main"].map(str::to_owned);
        assert_eq!(callers(&chain, 1).unwrap(), "EVP_EncryptUpdate");
        assert_eq!(callers(&chain, 3).unwrap(), "EVP_EncryptUpdate < main");
        assert_eq!(callers(&chain[..1], 3).unwrap(), "libx.so:fn_10");
        assert_eq!(brief("crypto/aes/gcm.(*GCM).Seal"), "gcm.(*GCM).Seal");
        assert_eq!(brief("a/sync.(*Map[go.shape.*b/abi.Type,[]c]).Load"), "sync.(*Map).Load");
    }

    #[test]
    fn tables_are_as_wide_as_the_terminal() {
        let mut found = findings();
        found.modules[0].functions[1].name = "a_namespace::".repeat(20) + "Encrypt";
        found.modules[0].functions[1].callers = vec![vec!["x".repeat(200), "main".into()]];
        let line = |text: &str| text.lines().find(|line| line.contains("900  work")).unwrap().to_owned();
        let whole = line(&text(&found, false, None));
        assert!(whole.contains(&found.modules[0].functions[1].name) && whole.ends_with("< main"), "{whole}");
        let cut = line(&text(&found, false, Some(120)));
        assert!(cut.chars().count() <= 120 && cut.contains("::Encrypt  ") && cut.contains('…'), "{cut}");
    }

    #[test]
    fn programs_get_all_of_it() {
        let value = json(&findings());
        assert_eq!((&value["version"], &value["mode"]), (&json!(1), &json!("count")));
        assert_eq!(value["answers"][0]["answer"], "yes");
        assert_eq!(value["modules"][0]["functions"][1]["entries"], 900);
        assert_eq!(value["modules"][0]["unproved"], json!({ "vaes": 1 }));
    }
}
