//! Units of time. Every instant and every span in this crate is a whole number of microseconds.

/// An instant (microseconds since the Unix epoch, UTC) or a span (microseconds).
///
/// 2^53 microseconds are 285 years, so an instant also survives a double, which is what Lua has.
pub type Micros = u64;

/// Microseconds in a second.
pub const SECOND: Micros = 1_000_000;

/// Microseconds in a day; UTC as Unix counts it has no leap seconds.
pub const DAY: Micros = 86_400 * SECOND;

/// A UTC day, counted from 1 January 1970.
pub type Day = u32;

/// The day that holds `at`.
#[must_use]
pub fn day(at: Micros) -> Day {
    (at / DAY) as Day // 2^64 microseconds are 2^28 days
}

/// The UTC calendar date of an instant as `Y-m-d`, for years 1970 to 9999.
///
/// Civil-from-days on the proleptic Gregorian calendar, counted in 400-year eras of 146 097 days
/// that begin on 1 March, so that the leap day is the last day of a year.
#[must_use]
pub fn utc_date(at: Micros) -> [u8; 10] {
    let days = at / DAY;
    let since_era_zero = days + 719_468; // days from 0000-03-01 to 1970-01-01
    let era = since_era_zero / 146_097;
    let day_of_era = since_era_zero % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153; // 0 is March
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);

    let digit = |n: u64| b'0' + (n % 10) as u8;
    [
        digit(year / 1000),
        digit(year / 100),
        digit(year / 10),
        digit(year),
        b'-',
        digit(month / 10),
        digit(month),
        b'-',
        digit(day / 10),
        digit(day),
    ]
}

#[cfg(test)]
mod tests {
    use super::{DAY, SECOND, utc_date};

    fn date(seconds: u64) -> String {
        String::from_utf8(utc_date(seconds * SECOND).to_vec()).unwrap()
    }

    #[test]
    fn dates_are_utc_calendar_days() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_709_164_800, "2024-02-29"),
            (1_796_083_199, "2026-11-30"),
            (1_796_083_200, "2026-12-01"),
            (4_107_542_400, "2100-03-01"),
            (253_402_300_799, "9999-12-31"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn every_day_follows_the_day_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..100_000 {
            assert_eq!(date(days * (DAY / SECOND)), format!("{year:04}-{month:02}-{day:02}"));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
