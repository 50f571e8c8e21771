//! Points in time as they are written: with the offset they were given, or none.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use jiff::civil::DateTime;
use jiff::tz::Offset;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::coerce::scalar::float_from_text;

/// A date and time to the microsecond that keeps its offset; without one it is naive.
///
/// Two timestamps are equal when they name the same instant; a naive one counts as UTC but is
/// never equal to one with an offset.
#[derive(Clone, Copy)]
pub struct Timestamp {
    civil: DateTime,
    offset: Option<Offset>,
}

/// The text is no date and time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date and time")]
pub struct NotATimestamp;

impl Timestamp {
    /// The current time, in UTC.
    pub fn now() -> Self {
        let now = Offset::UTC.to_datetime(jiff::Timestamp::now());
        Self { civil: cut_to_micros(now), offset: Some(Offset::UTC) }
    }

    /// The time this many microseconds after the Unix epoch, in UTC; `None` outside the years 1
    /// to 9999.
    pub fn from_unix_micros(micros: i64) -> Option<Self> {
        let days = micros.div_euclid(MICROS_PER_DAY);
        let rest = micros.rem_euclid(MICROS_PER_DAY);
        let (year, month, day) = date_of_day(days)?;
        let second = rest / 1_000_000;
        let civil = DateTime::new(
            year,
            month,
            day,
            i8::try_from(second / 3600).ok()?,
            i8::try_from(second / 60 % 60).ok()?,
            i8::try_from(second % 60).ok()?,
            i32::try_from(rest % 1_000_000).ok()? * 1000,
        )
        .ok()?;
        (1..=9999).contains(&year).then_some(Self { civil, offset: Some(Offset::UTC) })
    }

    /// Microseconds since the Unix epoch; a naive time counts as UTC.
    pub fn unix_micros(self) -> i64 {
        let civil = self.civil;
        let days = day_of_date(civil.year(), civil.month(), civil.day());
        let seconds = i64::from(civil.hour()) * 3600
            + i64::from(civil.minute()) * 60
            + i64::from(civil.second())
            - i64::from(self.offset.map_or(0, Offset::seconds));
        (days * 86_400 + seconds) * 1_000_000 + i64::from(civil.subsec_nanosecond() / 1000)
    }

    /// Seconds since the Unix epoch.
    #[expect(clippy::cast_precision_loss, reason = "microseconds of any year fit into 2^53")]
    pub fn unix_seconds(self) -> f64 {
        self.unix_micros() as f64 / 1e6
    }

    /// Whether it has no offset.
    pub fn is_naive(self) -> bool {
        self.offset.is_none()
    }

    /// Reads ISO-8601 with `T` or a blank, optional seconds, fraction and offset; a date alone is
    /// its midnight; a number counts seconds since the epoch, milliseconds when above 2·10¹⁰.
    pub fn parse(text: &str) -> Result<Self, NotATimestamp> {
        parse_iso(text).or_else(|| Self::from_number(float_from_text(text)?)).ok_or(NotATimestamp)
    }

    /// Seconds since the epoch, milliseconds when above 2·10¹⁰, in UTC.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
    pub fn from_number(number: f64) -> Option<Self> {
        const MILLISECONDS_ABOVE: f64 = 2e10;
        let seconds = if number.abs() > MILLISECONDS_ABOVE { number / 1000.0 } else { number };
        let micros = (seconds * 1e6).round();
        (micros.abs() < 1e18).then_some(micros as i64).and_then(Self::from_unix_micros)
    }

    /// What a JSON value stands for: text or a number.
    pub fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text).ok(),
            Value::Number(number) => Self::from_number(number.as_f64()?),
            _ => None,
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = (self.civil.date(), self.civil.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            date.year(),
            date.month(),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        )?;
        let micros = time.subsec_nanosecond() / 1000;
        if micros != 0 {
            write!(f, ".{micros:06}")?;
        }
        let Some(offset) = self.offset else {
            return Ok(());
        };
        let total = offset.seconds().abs();
        let sign = if offset.seconds() < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", total / 3600, total / 60 % 60)?;
        if total % 60 != 0 {
            write!(f, ":{:02}", total % 60)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.unix_micros(), self.is_naive()).cmp(&(other.unix_micros(), other.is_naive()))
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timestamp {}

impl Hash for Timestamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.unix_micros(), self.is_naive()).hash(state);
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(instant: jiff::Timestamp) -> Self {
        Self { civil: cut_to_micros(Offset::UTC.to_datetime(instant)), offset: Some(Offset::UTC) }
    }
}

impl std::str::FromStr for Timestamp {
    type Err = NotATimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_json(&value).ok_or_else(|| serde::de::Error::custom(NotATimestamp))
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

fn cut_to_micros(civil: DateTime) -> DateTime {
    let nanos = civil.subsec_nanosecond();
    civil.with().subsec_nanosecond(nanos - nanos % 1000).build().unwrap_or(civil)
}

/// Days since the epoch of a proleptic Gregorian date, counted in 400-year eras from March.
fn day_of_date(year: i16, month: i8, day: i8) -> i64 {
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn date_of_day(days: i64) -> Option<(i16, i8, i8)> {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some((i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?))
}

fn parse_iso(text: &str) -> Option<Timestamp> {
    let mut cursor = Cursor { rest: text.as_bytes() };
    let year = i16::try_from(cursor.digits(4)?).ok()?;
    cursor.expect(b"-")?;
    let month = i8::try_from(cursor.digits(2)?).ok()?;
    cursor.expect(b"-")?;
    let day = i8::try_from(cursor.digits(2)?).ok()?;
    let (mut hour, mut minute, mut second, mut nanos, mut offset) = (0, 0, 0, 0, None);
    if !cursor.rest.is_empty() {
        cursor.expect(b"Tt _")?;
        hour = i8::try_from(cursor.digits(2)?).ok()?;
        cursor.expect(b":")?;
        minute = i8::try_from(cursor.digits(2)?).ok()?;
        if cursor.expect(b":").is_some() {
            second = i8::try_from(cursor.digits(2)?).ok()?;
            if cursor.expect(b".,").is_some() {
                nanos = cursor.micros()? * 1000;
            }
        }
        if !cursor.rest.is_empty() {
            offset = Some(cursor.offset()?);
        }
    }
    if year < 1 || second > 59 {
        return None;
    }
    let civil = DateTime::new(year, month, day, hour, minute, second, nanos).ok()?;
    Some(Timestamp { civil, offset })
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn digits(&mut self, count: usize) -> Option<u32> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        let number = head.iter().try_fold(0, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'))
        })?;
        self.rest = rest;
        Some(number)
    }

    fn expect(&mut self, any_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        if !any_of.contains(first) {
            return None;
        }
        self.rest = rest;
        Some(*first)
    }

    /// A fraction of a second, cut after six digits.
    fn micros(&mut self) -> Option<i32> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        (0..6)
            .try_fold(0, |micros, place| {
                let digit = digits.get(place).map_or(0, |byte| i32::from(byte - b'0'));
                Some(micros * 10 + digit)
            })
            .filter(|_| length > 0)
    }

    /// The offset that ends the text: `Z`, `±HH`, `±HHMM` or `±HH:MM`.
    fn offset(&mut self) -> Option<Offset> {
        let sign = self.expect(b"Zz+-")?;
        if matches!(sign, b'Z' | b'z') {
            return self.rest.is_empty().then_some(Offset::UTC);
        }
        let hours = i32::try_from(self.digits(2)?).ok()?;
        let mut minutes = 0;
        if !self.rest.is_empty() {
            self.expect(b":");
            minutes = i32::try_from(self.digits(2)?).ok()?;
        }
        if hours > 23 || minutes > 59 || !self.rest.is_empty() {
            return None;
        }
        let seconds = hours * 3600 + minutes * 60;
        Offset::from_seconds(if sign == b'-' { -seconds } else { seconds }).ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn rewrite(text: &str) -> Option<String> {
        Timestamp::parse(text).ok().map(|time| time.to_string())
    }

    #[test]
    fn reads_leniently_and_writes_one_form() {
        for (text, written) in [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+00:00"),
            ("2026-01-02 03:04", "2026-01-02T03:04:00"),
            ("2026-01-02", "2026-01-02T00:00:00"),
            ("2026-01-02T03:04:05.1+0530", "2026-01-02T03:04:05.100000+05:30"),
            ("2026-01-02T03:04:05,1234569-05", "2026-01-02T03:04:05.123456-05:00"),
            ("1700000000", "2023-11-14T22:13:20+00:00"),
            ("1700000000000", "2023-11-14T22:13:20+00:00"),
            ("-1.5", "1969-12-31T23:59:58.500000+00:00"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
        ] {
            assert_eq!(rewrite(text).as_deref(), Some(written), "{text:?}");
        }
        for text in [
            "",
            "x",
            "2026-13-02",
            "2026-02-30T00:00:00Z",
            "2026-1-2",
            "2026-01-02T24:00:00",
            "2026-01-02T03:04:60",
            "2026-01-02T03:04:05.",
            "2026-01-02T03:04:05+25:00",
            "0000-01-01",
            "nan",
            "inf",
            "1e30",
            "2026-01-02T03:04:05Zx",
            "2026-01-02T",
        ] {
            assert_eq!(rewrite(text), None, "{text:?}");
        }
    }

    #[test]
    fn compares_instants() {
        let utc = Timestamp::parse("2026-01-02T03:00:00Z").unwrap();
        let shifted = Timestamp::parse("2026-01-02T05:00:00+02:00").unwrap();
        let naive = Timestamp::parse("2026-01-02T03:00:00").unwrap();
        assert_eq!(utc, shifted);
        assert_ne!(utc, naive);
        assert!(utc < Timestamp::now());
        assert_eq!(Timestamp::from_unix_micros(utc.unix_micros()), Some(utc));
    }
}
