//! Figures for people.

/// Formats a value with three significant digits.
#[must_use]
pub fn significant(value: f64) -> String {
    match value {
        _ if !value.is_finite() => "-".to_owned(),
        _ if value < 1.0 => format!("{value:.3}"),
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Rounds to five digits, which is more than two runs agree in.
#[must_use]
pub fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// Formats a value like `37.2 M`.
#[must_use]
pub fn thousands(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{} G", significant(value / 1e9)),
        _ if value >= 1e6 => format!("{} M", significant(value / 1e6)),
        _ if value >= 1e3 => format!("{} k", significant(value / 1e3)),
        _ => significant(value),
    }
}
