//! Texts and numbers that may stand for a value of another scalar type.

use serde_json::{Number, Value};
use uuid::Uuid;

/// Why a scalar does not fit: the kind of error and a text about it.
pub type Misfit = (&'static str, &'static str);

const INT_TYPE: Misfit = ("int_type", "Input should be a valid integer");
const INT_PARSING: Misfit =
    ("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
const INT_SIZE: Misfit = ("int_parsing_size", "Input should be an integer that fits into 64 bits");
const INT_FROM_FLOAT: Misfit =
    ("int_from_float", "Input should be a valid integer, got a number with a fractional part");
const FLOAT_TYPE: Misfit = ("float_type", "Input should be a valid number");
const FLOAT_PARSING: Misfit =
    ("float_parsing", "Input should be a valid number, unable to parse string as a number");
const FINITE: Misfit = ("finite_number", "Input should be a finite number");
const BOOL_TYPE: Misfit = ("bool_type", "Input should be a valid boolean");
const BOOL_PARSING: Misfit =
    ("bool_parsing", "Input should be a valid boolean, unable to interpret input");
const UUID_TYPE: Misfit = ("uuid_type", "UUID input should be a string");
const UUID_PARSING: Misfit = ("uuid_parsing", "Input should be a valid UUID");

/// Reads an integer: surrounding blanks, one sign, digits with single `_` between them, and a
/// fraction of zeros only. `None` for anything else and for what does not fit.
pub fn int_from_text(text: &str) -> Option<i64> {
    i64::try_from(wide_int_from_text(text)?).ok()
}

/// Reads a float in decimal or exponent form, infinities and NaN in any case; too large becomes
/// infinite.
pub fn float_from_text(text: &str) -> Option<f64> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let word = unsigned.to_ascii_lowercase();
    if matches!(word.as_str(), "inf" | "infinity" | "nan") {
        return text.parse().ok();
    }
    let mut previous = 'x';
    for c in unsigned.chars() {
        match c {
            '0'..='9' | '.' | 'e' | 'E' | '+' | '-' => {}
            '_' if previous.is_ascii_digit() => {}
            _ => return None,
        }
        if previous == '_' && !c.is_ascii_digit() {
            return None;
        }
        previous = c;
    }
    if previous == '_' {
        return None;
    }
    if text.contains('_') { text.replace('_', "").parse().ok() } else { text.parse().ok() }
}

/// Reads one of the words for true and false, in any case, without surrounding blanks.
pub fn bool_from_text(text: &str) -> Option<bool> {
    const WORDS: [(&str, bool); 12] = [
        ("true", true),
        ("false", false),
        ("1", true),
        ("0", false),
        ("yes", true),
        ("no", false),
        ("on", true),
        ("off", false),
        ("t", true),
        ("f", false),
        ("y", true),
        ("n", false),
    ];
    WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|&(_, value)| value)
}

/// Reads a UUID: hyphenated, compact, braced or as a URN, in any case.
pub fn uuid_from_text(text: &str) -> Option<Uuid> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let bare = match inner.get(..9) {
        Some(head) if head.eq_ignore_ascii_case("urn:uuid:") => inner.get(9..).unwrap_or_default(),
        _ => inner,
    };
    if !matches!(bare.len(), 32 | 36) {
        return None;
    }
    Uuid::try_parse(bare).ok()
}

/// The integer that `value` stands for.
pub(crate) fn int(value: &Value) -> Result<Number, Misfit> {
    match value {
        Value::Bool(flag) => Ok(Number::from(i64::from(*flag))),
        Value::Number(number) if !number.is_f64() => Ok(number.clone()),
        Value::Number(number) => int_from_float(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => match wide_int_from_text(text) {
            Some(wide) => i64::try_from(wide)
                .map(Number::from)
                .or_else(|_| u64::try_from(wide).map(Number::from))
                .map_err(|_| INT_SIZE),
            None => Err(INT_PARSING),
        },
        _ => Err(INT_TYPE),
    }
}

/// The float that `value` stands for.
pub(crate) fn float(value: &Value) -> Result<Number, Misfit> {
    let float = match value {
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::Number(number) => number.as_f64().ok_or(FLOAT_TYPE)?,
        Value::String(text) => float_from_text(text).ok_or(FLOAT_PARSING)?,
        _ => return Err(FLOAT_TYPE),
    };
    Number::from_f64(float).ok_or(FINITE)
}

/// The truth value that `value` stands for.
pub(crate) fn bool(value: &Value) -> Result<bool, Misfit> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) => bool_from_text(text).ok_or(BOOL_PARSING),
        Value::Number(number) => match number.as_f64() {
            Some(0.0) => Ok(false),
            Some(1.0) => Ok(true),
            _ => Err(BOOL_PARSING),
        },
        _ => Err(BOOL_TYPE),
    }
}

/// The UUID that `value` stands for.
pub(crate) fn uuid(value: &Value) -> Result<Uuid, Misfit> {
    match value {
        Value::String(text) => uuid_from_text(text).ok_or(UUID_PARSING),
        _ => Err(UUID_TYPE),
    }
}

fn wide_int_from_text(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = match unsigned.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        Some(_) => return None,
        None => unsigned,
    };
    let mut total: i128 = 0;
    let mut previous = b'_';
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => {
                total = total.saturating_mul(10).saturating_add(i128::from(byte - b'0'));
            }
            b'_' if previous != b'_' => {}
            _ => return None,
        }
        previous = byte;
    }
    if previous == b'_' {
        return None;
    }
    Some(if negative { -total } else { total })
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn int_from_float(float: f64) -> Result<Number, Misfit> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if !float.is_finite() {
        Err(FINITE)
    } else if float.fract() != 0.0 {
        Err(INT_FROM_FLOAT)
    } else if (-LIMIT..LIMIT).contains(&float) {
        Ok(Number::from(float as i64))
    } else {
        Err(INT_SIZE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_from_text() {
        let accepted = [
            ("7", 7),
            (" \u{a0}+7\n", 7),
            ("-0", 0),
            ("007", 7),
            ("1_000", 1000),
            ("3.000", 3),
            ("-9223372036854775808", i64::MIN),
        ];
        for (text, number) in accepted {
            assert_eq!(int_from_text(text), Some(number), "{text:?}");
        }
        let rejected = [
            "",
            " ",
            "+",
            "--1",
            "1__0",
            "_1",
            "1_",
            "1.",
            ".0",
            "1.5",
            "1e3",
            "0x1",
            "٣",
            "1 2",
            "9223372036854775808",
            "1_.0",
        ];
        for text in rejected {
            assert_eq!(int_from_text(text), None, "{text:?}");
        }
    }

    #[test]
    fn floats_from_text() {
        for (text, number) in
            [("1.5", 1.5), (" .5 ", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("-1_0.5", -10.5)]
        {
            assert_eq!(float_from_text(text), Some(number), "{text:?}");
        }
        assert_eq!(float_from_text("1e999"), Some(f64::INFINITY));
        assert_eq!(float_from_text("-Infinity"), Some(f64::NEG_INFINITY));
        assert!(float_from_text("NaN").is_some_and(f64::is_nan));
        for text in ["", "0x1", "1,5", "1__0", "_1", "1_", "1_.5", "infinit", "."] {
            assert_eq!(float_from_text(text), None, "{text:?}");
        }
    }

    #[test]
    fn booleans_from_text() {
        assert_eq!(bool_from_text("YES"), Some(true));
        assert_eq!(bool_from_text("off"), Some(false));
        assert_eq!(bool_from_text(" on"), None);
        assert_eq!(bool_from_text("2"), None);
    }

    #[test]
    fn uuids_from_text() {
        let uuid = Uuid::from_u128(0xAB);
        for text in [
            "00000000-0000-0000-0000-0000000000AB",
            "000000000000000000000000000000ab",
            "{00000000-0000-0000-0000-0000000000ab}",
            "URN:UUID:00000000-0000-0000-0000-0000000000ab",
        ] {
            assert_eq!(uuid_from_text(text), Some(uuid), "{text:?}");
        }
        assert_eq!(uuid_from_text(" 000000000000000000000000000000ab"), None);
        assert_eq!(uuid_from_text("{{00000000-0000-0000-0000-0000000000ab}}"), None);
        assert_eq!(uuid_from_text(""), None);
    }
}
