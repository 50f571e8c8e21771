//! Lines of a log that are no records: what the team knows beside them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::card::AgentCard;
use crate::wire::{AnyValue, Record, load};

/// Key by which such a line is told from a record.
const KEY: &str = "akgentic_team_data";

/// One line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LogData {
    #[serde(rename = "akgentic_team_data")]
    kind: Kind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cards: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Profiles,
    Metadata,
}

/// What such lines add up to.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    pub(super) cards: Vec<AgentCard>,
    pub(super) metadata: Option<Arc<dyn Record>>,
}

impl LogData {
    pub(super) fn profiles(cards: &[Arc<AgentCard>]) -> serde_json::Result<Self> {
        let cards = cards.iter().map(|card| card.try_to_json()).collect::<Result<_, _>>()?;
        Ok(Self { kind: Kind::Profiles, cards, metadata: None })
    }

    pub(super) fn metadata(metadata: Option<&Arc<dyn Record>>) -> serde_json::Result<Self> {
        let metadata = metadata.map(|metadata| metadata.try_to_json()).transpose()?;
        Ok(Self { kind: Kind::Metadata, cards: Vec::new(), metadata })
    }

    /// Whether a line is one of these.
    pub(super) fn is(line: &Value) -> bool {
        line.get(KEY).is_some()
    }
}

impl Collected {
    /// Takes a line in; what of it does not load is the error and changes nothing.
    pub(super) fn take(&mut self, line: Value) -> Result<(), String> {
        let data: LogData = serde_json::from_value(line).map_err(|error| error.to_string())?;
        match data.kind {
            Kind::Profiles => {
                let mut refused = Vec::new();
                for card in data.cards {
                    match serde_json::from_value(card) {
                        Ok(card) => self.cards.push(card),
                        Err(error) => refused.push(error.to_string()),
                    }
                }
                if !refused.is_empty() {
                    return Err(refused.join("; "));
                }
            }
            Kind::Metadata => {
                self.metadata = match data.metadata.map(load).transpose() {
                    Ok(Some(AnyValue::Record(record))) => Some(record),
                    Ok(_) => None,
                    Err(error) => return Err(error.to_string()),
                };
            }
        }
        Ok(())
    }
}
