//! Keeping secrets out of recordings.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Answer, RecordedError};

/// What stands where a secret stood.
const SCRUBBED: &str = "[scrubbed]";

/// Keys as vendors make them, and credentials in headers and addresses.
static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = concat!(
        r"\b(?:sk|pk|rk|nvapi|gsk|hf|xai|tvly)[-_][A-Za-z0-9_\-]{16,}",
        r"|\b(?:AIza|ghp_|gho_|github_pat_|AKIA|xox[abprs]-)[A-Za-z0-9_\-]{12,}",
        r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/\-]{8,}=*",
        r"|\beyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+",
    );
    Regex::new(pattern).ok()
});

/// Fields whose values are secrets.
const FIELDS: [&str; 9] = [
    "api_key",
    "apikey",
    "api-key",
    "authorization",
    "password",
    "passwd",
    "secret",
    "access_token",
    "private_key",
];

/// Replaces secrets in recordings: texts that look like keys, fields that are named like secrets,
/// and the secrets it is told.
#[derive(Clone, Debug, Default)]
pub struct Scrubber {
    secrets: Vec<String>,
}

impl Scrubber {
    /// Replaces these texts as well, wherever they occur.
    #[must_use]
    pub fn secrets(mut self, secrets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.secrets.extend(secrets.into_iter().map(Into::into).filter(|text| !text.is_empty()));
        self
    }

    pub(super) fn scrub(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.scrub_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub(item)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    let secret = FIELDS.contains(&name.to_lowercase().as_str());
                    if secret && value.is_string() {
                        *value = Value::from(SCRUBBED);
                    } else {
                        self.scrub(value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn scrub_answer(&self, answer: &mut Answer) {
        match answer {
            Answer::Response(response) => self.scrub(response),
            Answer::Error(
                RecordedError::Status { body: text, .. }
                | RecordedError::Connection { message: text, .. }
                | RecordedError::UnexpectedReply { message: text, .. }
                | RecordedError::Other { message: text },
            ) => self.scrub_text(text),
            Answer::Error(RecordedError::Timeout { .. }) => {}
        }
    }

    fn scrub_text(&self, text: &mut String) {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), SCRUBBED);
            }
        }
        if let Some(keys) = &*KEYS
            && keys.is_match(text)
        {
            *text = keys.replace_all(text, SCRUBBED).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_known_by_their_looks() {
        let mut value = json!({
            "a": "use sk-proj-abcdefghijklmnop1234 now",
            "b": ["Authorization: Bearer abcdefgh12345", {"Api_Key": "anything", "n": 1}],
            "c": "a risk-free sk-1 and my own: hunter2",
        });
        Scrubber::default().secrets(["hunter2", ""]).scrub(&mut value);
        assert_eq!(
            value,
            json!({
                "a": "use [scrubbed] now",
                "b": ["Authorization: [scrubbed]", {"Api_Key": "[scrubbed]", "n": 1}],
                "c": "a risk-free sk-1 and my own: [scrubbed]",
            })
        );
    }
}
