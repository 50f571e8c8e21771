use akgentic_core::message::{EventMessage, Message};
use akgentic_core::wire::{AnyValue, Timestamp, TypePath, dump, load_record, load_value};
use serde_json::Value;

use akgentic_testkit::{Case, same};

use super::registry::{Pair, Point};

pub(crate) fn serialize_values(case: &Case) -> Result<(), String> {
    let message = Message::new(EventMessage { event: typed(&case.input["value"])? });
    let written = serde_json::to_string(&message).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    same("json", &written["event"], &case.expect["json"])?;
    same("dump", &dump(&message).unwrap(), &written)
}

/// Builds the value a `{"$…": …}` description stands for.
fn typed(described: &Value) -> Result<AnyValue, String> {
    let list =
        |value: &Value| value.as_array().unwrap().iter().map(typed).collect::<Result<Vec<_>, _>>();
    let map = match described {
        Value::Array(_) => return list(described).map(AnyValue::List),
        Value::Object(map) => map,
        plain => return Ok(AnyValue::from(plain.clone())),
    };
    let (tag, value) = map.iter().next().ok_or("an empty description")?;
    let text = value.as_str().unwrap_or_default();
    Ok(match tag.as_str() {
        "$" | "$intkeys" => {
            let pairs = value.as_object().unwrap().iter();
            AnyValue::map(
                pairs
                    .map(|(key, value)| Ok((key, typed(value)?)))
                    .collect::<Result<Vec<_>, String>>()?,
            )
        }
        "$uuid" => uuid::Uuid::parse_str(text).unwrap().into(),
        "$datetime" => Timestamp::parse(text).unwrap().into(),
        "$date" => text.parse::<jiff::civil::Date>().unwrap().into(),
        "$time" => text.parse::<jiff::civil::Time>().unwrap().into(),
        "$duration_s" => {
            jiff::SignedDuration::try_from_secs_f64(value.as_f64().unwrap()).unwrap().into()
        }
        "$bytes" => load_value(serde_json::json!({"__bytes__": text})).unwrap(),
        "$class" => TypePath::new(format!("vec.{text}")).into(),
        "$enum_str" | "$enum_int" | "$strenum" | "$decimal" => AnyValue::from(value.clone()),
        "$path" => std::path::PathBuf::from(text).into(),
        "$tuple" | "$set1" => AnyValue::List(list(value)?),
        "$float" => text.parse::<f64>().unwrap().into(),
        "$point" => AnyValue::record(load_record::<Point>(plain(value)).unwrap()),
        "$pair" => AnyValue::record(load_record::<Pair>(plain(value)).unwrap()),
        "$address" => load_value(value.clone()).unwrap(),
        other => return Err(format!("unknown description {other}")),
    })
}

/// The fields of a record, each as the JSON its description is written as.
fn plain(fields: &Value) -> Value {
    let fields = fields.as_object().unwrap().iter();
    fields.map(|(key, value)| (key.clone(), typed(value).unwrap().to_json())).collect()
}
