//! Bounds of numbers.

use serde_json::Number;

use super::node::Range;

impl Range {
    /// Why `number` lies outside, if it does.
    pub(super) fn misfit(&self, number: &Number) -> Option<(&'static str, String)> {
        let float = number.as_f64()?;
        if number.is_u64() && !number.is_i64() && !self.unsigned {
            return Some((
                "int_parsing_size",
                "Input should be an integer that fits into 64 bits".into(),
            ));
        }
        let below = |bound: &f64| float < *bound;
        let above = |bound: &f64| float > *bound;
        if let Some(bound) = self.minimum.filter(below) {
            Some((
                "greater_than_equal",
                format!("Input should be greater than or equal to {bound}"),
            ))
        } else if let Some(bound) = self.exclusive_minimum.filter(|bound| float <= *bound) {
            Some(("greater_than", format!("Input should be greater than {bound}")))
        } else if let Some(bound) = self.maximum.filter(above) {
            Some(("less_than_equal", format!("Input should be less than or equal to {bound}")))
        } else if let Some(bound) = self.exclusive_maximum.filter(|bound| float >= *bound) {
            Some(("less_than", format!("Input should be less than {bound}")))
        } else if let Some(step) = self.multiple_of.filter(|step| float % *step != 0.0) {
            Some(("multiple_of", format!("Input should be a multiple of {step}")))
        } else {
            None
        }
    }
}
