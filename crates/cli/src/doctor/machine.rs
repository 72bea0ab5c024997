//! The processor, the kernels, and the system.

use millstream::engines;
use millstream_cpu::{Feature, Features, VARIABLE, processor_name};
use millstream_files::pipeline;

use super::finding::Finding;

/// The algorithms whose kernels are named.
const NAMED: [&str; 3] = ["aes-gcm", "sha256", "chacha20-poly1305"];

/// The first version of Linux that has all that a worker wants: `memfd_secret`.
const WANTED: (u32, u32) = (5, 14);

pub(super) fn examine() -> Vec<Finding> {
    let mut findings = Vec::new();
    match Features::active() {
        Ok(features) => findings.extend([processor(features), answers(features)]),
        Err(error) => findings.push(Finding::error(true, "processor", &error)),
    }
    findings.push(linux(rustix::system::uname().release().to_string_lossy().as_ref()));
    findings.extend(clock());
    findings.extend(load());
    findings
}

/// Names the kernels that this process uses, and what keeps it from better ones.
fn processor(active: Features) -> Finding {
    let chosen: Vec<_> = engines()
        .filter(|engine| NAMED.contains(&engine.algorithm().name))
        .map(|engine| (engine.algorithm().name, engine.chosen(active).name))
        .collect();
    let kernels = chosen.iter().map(|(algorithm, kernel)| format!("{algorithm} on {kernel}"));
    let found = format!("{}: {}", processor_name(), kernels.collect::<Vec<_>>().join(", "));
    let masked = Features::hardware().set().difference(active.set());
    if !masked.is_empty() {
        return Finding::warn(
            "processor",
            format!("{found}; {VARIABLE} masks {masked}"),
            format!("unset {VARIABLE}"),
        );
    }
    if !active.contains(Feature::Aes.into()) || chosen.iter().any(|(_, kernel)| *kernel == "portable") {
        let remedy = "this processor lacks the instructions, or its hypervisor hides them: 'millstream caps' names them";
        return Finding::warn("processor", found, remedy);
    }
    Finding::ok("processor", found)
}

/// Has every kernel give its published answer, as `millstream check` does.
fn answers(features: Features) -> Finding {
    let results = engines().flat_map(|engine| {
        engine.kernels().into_iter().filter_map(|kernel| {
            engine.check(features, kernel.name).map(|right| (engine.algorithm().name, kernel.name, right))
        })
    });
    let (mut right, mut wrong) = (0, Vec::new());
    for (algorithm, kernel, is_right) in results {
        if is_right { right += 1 } else { wrong.push(format!("{algorithm} on {kernel}")) }
    }
    if wrong.is_empty() {
        return Finding::ok("answers", format!("{right} kernels give the published answers"));
    }
    let remedy =
        format!("use nothing of this machine before {VARIABLE} masks what they require: 'millstream check'");
    Finding::fail("answers", format!("wrong answers of {}", wrong.join(", ")), remedy)
}

fn linux(release: &str) -> Finding {
    let mut numbers = release.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= WANTED {
        return Finding::ok("Linux", release);
    }
    Finding::warn("Linux", release, "from 5.14 on, keys can lie in memory that not even the kernel maps")
}

/// Tells whether the time-stamp counter can be trusted, by which `millstream speed` measures.
fn clock() -> Option<Finding> {
    let flags = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = flags.lines().find(|line| line.starts_with("flags"))?;
    let has = |flag: &str| flags.split_whitespace().any(|each| each == flag);
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.map_or_else(|_| "unknown".to_owned(), |source| source.trim().to_owned());
    if has("constant_tsc") {
        return Some(Finding::ok(
            "clock",
            format!("the time-stamp counter is constant; the system's clock is {source}"),
        ));
    }
    let found = format!("the time-stamp counter may change its rate; the system's clock is {source}");
    Some(Finding::warn("clock", found, "don't rely on cycles and nanoseconds of 'millstream speed'"))
}

fn load() -> Option<Finding> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    let processors = pipeline::parallelism();
    let found = format!("{load} on {processors} processors");
    if load <= processors as f64 {
        return Some(Finding::ok("load", found));
    }
    Some(Finding::warn(
        "load",
        found,
        "others compute here: figures of 'speed' and 'compare' tell little now",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn versions() {
        for (release, state) in [
            ("6.1.0-32-amd64", State::Ok),
            ("5.14.0-427.el9.x86_64", State::Ok),
            ("5.10.0-30-amd64", State::Warn),
            ("4.19", State::Warn),
            ("10.0", State::Ok),
        ] {
            assert_eq!(linux(release).state, state, "{release}");
        }
    }
}
