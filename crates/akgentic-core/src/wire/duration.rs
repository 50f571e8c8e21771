//! Lengths of time in ISO-8601, days to seconds.

use jiff::SignedDuration;

/// Writes days, hours, minutes and seconds, leaving out zero parts, to the microsecond.
pub(crate) fn to_iso(duration: SignedDuration) -> String {
    const DAY: u128 = 86_400_000_000;
    let total = duration.as_micros();
    if total == 0 {
        return "PT0S".to_owned();
    }
    let micros = total.unsigned_abs();
    let seconds = micros / 1_000_000;
    let mut text = String::from(if total < 0 { "-P" } else { "P" });
    push_part(&mut text, micros / DAY, 'D');
    if !micros.is_multiple_of(DAY) {
        text.push('T');
        push_part(&mut text, seconds / 3600 % 24, 'H');
        push_part(&mut text, seconds / 60 % 60, 'M');
        let fraction = format!("{:06}", micros % 1_000_000);
        match fraction.trim_end_matches('0') {
            "" => push_part(&mut text, seconds % 60, 'S'),
            digits => {
                text.push_str(&(seconds % 60).to_string());
                text.push('.');
                text.push_str(digits);
                text.push('S');
            }
        }
    }
    text
}

fn push_part(text: &mut String, amount: u128, unit: char) {
    if amount > 0 {
        text.push_str(&amount.to_string());
        text.push(unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_out_zero_parts() {
        for (micros, text) in [
            (0, "PT0S"),
            (3_500_000, "PT3.5S"),
            (86_400_000_000, "P1D"),
            (90_061_250_000, "P1DT1H1M1.25S"),
            (-1_500_000, "-PT1.5S"),
            (60_000_000, "PT1M"),
            (500_000, "PT0.5S"),
            (3_600_000_001, "PT1H0.000001S"),
        ] {
            assert_eq!(to_iso(SignedDuration::from_micros(micros)), text);
        }
    }
}
