//! Dates, for what is measured today and read later.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns today's date in UTC, as `2026-11-25`.
#[must_use]
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    civil_date(seconds / 86_400)
}

/// Returns a time in UTC that is counted in seconds from 1970, as `2026-11-25T13:05:09Z`. Times after the year 9999 are shown as its last second.
#[must_use]
pub fn moment(seconds: u64) -> String {
    let seconds = seconds.min(253_402_300_799);
    let (date, second) = (civil_date(seconds / 86_400), seconds % 86_400);
    format!("{date}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Returns the Gregorian date of a day counted from 1970-01-01.
fn civil_date(days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= months[month] {
        left -= months[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(moment(1_794_789_909), "2026-11-16T00:45:09Z");
        assert_eq!(moment(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(civil_date(0), "1970-01-01");
        assert_eq!(civil_date(59), "1970-03-01");
        assert_eq!(civil_date(11_016), "2000-02-29");
        assert_eq!(civil_date(20_513), "2026-03-01");
    }
}
