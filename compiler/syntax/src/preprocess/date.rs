//! The texts of `__DATE__` and `__TIME__`.

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// As C writes a date, `Feb  3 2026`, given seconds since 1970.
pub(super) fn date(seconds: u64) -> String {
    // Days since March 1 of the year 0: leap days come last in years that begin in March.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = 400 * era + year + u64::from(month >= 10);
    let name = MONTHS[((month + 2) % 12) as usize];
    format!("{name} {day:>2} {year}")
}

/// As C writes a time of day, `09:08:07`.
pub(super) fn time(seconds: u64) -> String {
    let second = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_read_as_in_c() {
        for (seconds, expected) in [
            (0, "Jan  1 1970 00:00:00"),
            (951_782_400, "Feb 29 2000 00:00:00"),
            (951_868_799, "Feb 29 2000 23:59:59"),
            (951_868_800, "Mar  1 2000 00:00:00"),
            (1_735_689_599, "Dec 31 2024 23:59:59"),
            (4_107_542_400, "Mar  1 2100 00:00:00"),
        ] {
            assert_eq!(format!("{} {}", date(seconds), time(seconds)), expected);
        }
    }
}
