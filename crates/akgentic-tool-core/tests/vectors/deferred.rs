//! Deferred results.

use std::cell::RefCell;
use std::time::Duration;

use akgentic_testkit::{Case, FakeClock, block_on, known_keys, same};
use akgentic_tool_core::deferred::{Admission, DeferredCache, poll_deferred, worker_name};
use serde_json::{Value, json};

type Checked = Result<(), String>;

pub(crate) fn cache(case: &Case) -> Checked {
    known_keys("input", &case.input, &["capacity", "negative_ttl_s", "ops"])?;
    let capacity = usize::try_from(case.input["capacity"].as_u64().unwrap_or(0)).unwrap();
    let ttl = Duration::from_secs_f64(case.input["negative_ttl_s"].as_f64().unwrap_or(0.0));
    let mut cache: DeferredCache<String, Value> = DeferredCache::new(capacity, ttl);
    let clock = FakeClock::default();
    let mut steps = Vec::new();
    for op in case.input["ops"].as_array().ok_or("no ops")? {
        known_keys("op", op, &["op", "key", "value", "s", "spawn_fails"])?;
        let key = op["key"].as_str().unwrap_or_default().to_owned();
        let result = match op["op"].as_str() {
            Some("get") => json!({"value": cache.get(&key)}),
            Some("request") => {
                let admitted = cache.request(&key, clock.now(), None);
                let started = matches!(admitted, Admission::Start(_));
                if started && op["spawn_fails"] == true {
                    cache.fail(key, "no worker", clock.now());
                    json!({"spawned": null, "returned_address": false})
                } else {
                    let name = started.then(|| worker_name(&key));
                    json!({"spawned": name, "returned_address": started})
                }
            }
            Some("deliver") => {
                let value = op["value"].clone();
                cache.deliver(key, (!value.is_null()).then_some(value));
                Value::Null
            }
            Some("fail") => {
                cache.fail(key, "failed", clock.now());
                Value::Null
            }
            Some("advance") => {
                clock.advance(Duration::from_secs_f64(op["s"].as_f64().unwrap_or(0.0)));
                Value::Null
            }
            other => return Err(format!("nobody claims the op {other:?}")),
        };
        let mut in_flight = cache.in_flight();
        in_flight.sort();
        steps.push(json!({"r": result, "slots": cache.keys(), "in_flight": in_flight}));
    }
    let wanted = case.expect["steps"].as_array().ok_or("no steps")?;
    for (index, (got, wanted)) in steps.iter().zip(wanted).enumerate() {
        same(&format!("step {index}"), got, wanted)?;
    }
    same("steps", &steps.len(), &wanted.len())?;
    Ok(())
}

pub(crate) fn poll(case: &Case) -> Checked {
    known_keys("input", &case.input, &["results", "attempts", "delay"])?;
    let attempts = u32::try_from(case.input["attempts"].as_i64().unwrap_or(0).max(0)).unwrap();
    let delay = case.input["delay"].as_f64().unwrap_or(0.0);
    let results = case.input["results"].as_array().ok_or("no results")?;
    let looks = RefCell::new(Vec::new());
    let result = block_on(poll_deferred(
        || {
            let look = looks.borrow().len();
            looks.borrow_mut().push(tokio::time::Instant::now());
            let result = results.get(look).filter(|result| !result.is_null()).cloned();
            std::future::ready(result)
        },
        attempts,
        Duration::from_secs_f64(delay),
    ));
    let looks = looks.into_inner();
    same("result", &json!(result), &case.expect["result"])?;
    same("calls", &json!(looks.len()), &case.expect["calls"])?;
    let sleeps: Vec<_> = looks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let wanted = case.expect["sleeps"].as_array().into_iter().flatten();
    let wanted: Vec<_> = wanted.map(|s| Duration::from_secs_f64(s.as_f64().unwrap())).collect();
    same("number of sleeps", &sleeps.len(), &wanted.len())?;
    for (got, wanted) in sleeps.iter().zip(&wanted) {
        // The clock counts milliseconds.
        if got.abs_diff(*wanted) > Duration::from_millis(1) {
            return Err(format!("slept {got:?}, wanted {wanted:?}"));
        }
    }
    Ok(())
}
