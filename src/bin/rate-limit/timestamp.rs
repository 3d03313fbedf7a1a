//! The times that logs are written in, as microseconds since the Unix epoch.

use rate_limit::core::time::{Micros, SECOND, utc_date};

/// Bytes of `01/Aug/1995:06:00:00 +0000`, which is `$time_local` of nginx and `%t` of Apache.
pub const CLF_LENGTH: usize = 26;

const DAY: i64 = 86_400;

/// Reads times and remembers the last day, since a log's lines mostly share it.
#[derive(Default)]
pub struct Dates {
    day: [u8; 11],
    /// Seconds from the epoch to the midnight that began `day`.
    midnight: i64,
}

impl Dates {
    /// Reads `dd/Mon/yyyy:hh:mm:ss +hhmm`, or `None` where that is no time from 1970 to 9999.
    pub fn clf(&mut self, text: &[u8]) -> Option<Micros> {
        let text: &[u8; CLF_LENGTH] = text.try_into().ok()?;
        let (day, rest) = text.split_first_chunk::<11>()?;
        if *day != self.day {
            self.midnight = clf_day(day)?;
            self.day = *day;
        }
        let [b':', time @ .., b' ', _, _, _, _, _] = rest else { return None };
        let offset = zone(&rest[10..])?;
        micros(self.midnight + time_of_day(time)? - offset)
    }
}

/// Reads a time as JSON logs write it: RFC 3339 (a missing zone is UTC), the form that
/// [`Dates::clf`] reads, or a number as in [`from_number`].
pub fn from_text(text: &str, dates: &mut Dates) -> Option<Micros> {
    rfc3339(text.as_bytes())
        .or_else(|| dates.clf(text.as_bytes()))
        .or_else(|| text.parse().ok().and_then(from_number))
}

/// Reads a Unix time, in seconds below 10^11 (the year 5138), and past that in milliseconds,
/// microseconds or nanoseconds: each unit has a thousand times the range of the one before.
pub fn from_number(number: f64) -> Option<Micros> {
    let per_unit = match number {
        n if n < 0.0 || n.is_nan() => return None,
        n if n < 1e11 => 1e6,
        n if n < 1e14 => 1e3,
        n if n < 1e17 => 1.0,
        n if n < 1e20 => 1e-3,
        _ => return None,
    };
    Some((number * per_unit).round() as Micros) // below 1e17
}

/// `yyyy-mm-ddThh:mm:ss`, a fraction if there is one, and `Z`, `+hh:mm`, `+hhmm` or nothing.
fn rfc3339(text: &[u8]) -> Option<Micros> {
    let (date, rest) = text.split_at_checked(10)?;
    let [b'T' | b't' | b' ', rest @ ..] = rest else { return None };
    let (time, rest) = rest.split_at_checked(8)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else { return None };
    let year = number(&[y1, y2, y3, y4])?;
    let midnight = days(year, number(&[m1, m2])?, number(&[d1, d2])?)? * DAY;
    let (fraction, rest) = match rest {
        [b'.' | b',', rest @ ..] => {
            rest.split_at(rest.iter().take_while(|b| b.is_ascii_digit()).count())
        }
        _ => (&[][..], rest),
    };
    let offset = match rest {
        [] | [b'Z' | b'z'] => 0,
        [sign, h1, h2, b':', m1, m2] => zone(&[*sign, *h1, *h2, *m1, *m2])?,
        zone_text => zone(zone_text)?,
    };
    let below_second = (0..6)
        .fold(0, |sum, i| sum * 10 + fraction.get(i).map_or(0, |digit| Micros::from(digit - b'0')));
    Some(micros(midnight + time_of_day(time)? - offset)? + below_second)
}

/// `dd/Mon/yyyy`, as seconds from the epoch to its midnight in UTC.
fn clf_day(text: &[u8; 11]) -> Option<i64> {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let [d1, d2, b'/', m1, m2, m3, b'/', year @ ..] = text else { return None };
    let month = MONTHS.chunks(3).position(|name| name == [*m1, *m2, *m3])?;
    Some(days(number(year)?, month as i64 + 1, number(&[*d1, *d2])?)? * DAY)
}

/// Days from 1970-01-01 to a civil date, the inverse of [`utc_date`], which also says whether
/// there is such a date. Counted from 1 March, so that the leap day is the last of a year.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    let days =
        y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + day_of_year - 719_468;
    let written = format!("{year:04}-{month:02}-{day:02}");
    (utc_date(micros(days * DAY)?) == written.as_bytes()).then_some(days)
}

/// `hh:mm:ss`, in seconds. A leap second, 60, is the first of the next minute.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = *text else { return None };
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[m1, m2])?, number(&[s1, s2])?);
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// `+hhmm` or `-hhmm`, in seconds east of UTC.
fn zone(text: &[u8]) -> Option<i64> {
    let [sign @ (b'+' | b'-'), h1, h2, m1, m2] = *text else { return None };
    let (hour, minute) = (number(&[h1, h2])?, number(&[m1, m2])?);
    let east = (hour < 24 && minute < 60).then_some(hour * 3600 + minute * 60)?;
    Some(if sign == b'-' { -east } else { east })
}

fn number(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

fn micros(seconds: i64) -> Option<Micros> {
    Some(Micros::try_from(seconds).ok()? * SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clf(text: &str) -> Option<Micros> {
        Dates::default().clf(text.as_bytes())
    }

    #[test]
    fn zones_and_years_are_crossed() {
        let midnight = Some(1_798_761_600 * SECOND); // 2027-01-01T00:00:00Z
        for same in [
            "01/Jan/2027:00:00:00 +0000",
            "31/Dec/2026:19:00:00 -0500",
            "01/Jan/2027:05:45:00 +0545",
        ] {
            assert_eq!(clf(same), midnight, "{same}");
        }
        for same in [
            "2027-01-01T00:00:00Z",
            "2026-12-31T19:00:00-05:00",
            "2026-12-31 19:00:00.000-0500",
            "2027-01-01T00:00:00",
            "1798761600",
            "1798761600.000",
            "1798761600000",
            "1798761600000000000",
        ] {
            assert_eq!(from_text(same, &mut Dates::default()), midnight, "{same}");
        }
        assert_eq!(clf("31/Dec/2026:23:59:60 +0000"), midnight);
        assert_eq!(
            from_text("2027-01-01T00:00:00.0000019Z", &mut Dates::default()),
            midnight.map(|t| t + 1)
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in [
            "31/Feb/2026:00:00:00 +0000",
            "00/Jan/2026:00:00:00 +0000",
            "01/Foo/2026:00:00:00 +0000",
            "01/Jan/2026:24:00:00 +0000",
            "01/Jan/2026:00:60:00 +0000",
            "01/Jan/2026:00:00:00 0000 ",
            "01/Jan/1970:00:00:00 +0100",
            "01/Jan/2026 00:00:00 +0000",
            "01/Jan/20x6:00:00:00 +0000",
        ] {
            assert_eq!(clf(bad), None, "{bad}");
        }
        for bad in
            ["", "-1", "NaN", "inf", "2026-13-01T00:00:00Z", "2026-12-01T00:00:00+1", "yesterday"]
        {
            assert_eq!(from_text(bad, &mut Dates::default()), None, "{bad}");
        }
    }

    #[test]
    fn a_refused_day_is_not_remembered() {
        let mut dates = Dates::default();
        assert_eq!(dates.clf(b"31/Feb/2026:00:00:00 +0000"), None);
        assert_eq!(dates.clf(b"31/Feb/2026:00:00:00 +0000"), None);
        assert!(dates.clf(b"28/Feb/2026:00:00:00 +0000").is_some());
    }
}
