//! The processor's name, for reports.

/// Returns the processor's own name, such as `AMD EPYC 9R14`: the brand string on x86-64, and elsewhere the
/// operating system's name for it. Returns `unknown processor` if neither exists.
pub fn processor_name() -> String {
    from_cpuinfo().unwrap_or_else(|| "unknown processor".to_owned())
}

/// Reads the first `model name` (x86-64), or the implementer and part numbers (AArch64).
fn from_cpuinfo() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    field("model name")
        .filter(|name| !name.is_empty())
        .map(|name| match (field("cpu family"), field("model"), field("stepping")) {
            (Some(family), Some(model), Some(stepping)) => {
                format!("{name} (family {family} model {model} stepping {stepping})")
            }
            _ => name,
        })
        .or_else(|| {
            Some(format!("AArch64 implementer {} part {}", field("CPU implementer")?, field("CPU part")?))
        })
}

#[cfg(test)]
mod tests {
    #[test]
    fn has_a_name() {
        assert!(super::processor_name().len() > 3);
    }
}
