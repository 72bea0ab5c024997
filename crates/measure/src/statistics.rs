//! Statistics over many measurements.

/// Returns the median, the upper of the two middle values if their number is even; NaN of none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the least of the sorted values that so great a part of them does not exceed.
#[must_use]
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn quantiles() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((quantile(&hundred, 0.5), quantile(&hundred, 0.99)), (50.0, 99.0));
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }
}
