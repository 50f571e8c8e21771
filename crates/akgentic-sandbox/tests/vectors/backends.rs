//! Topics `auto_mode`, `local_env` and `seatbelt_policy`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_sandbox::{
    Backend, BackendError, Local, Place, Registry, Resolution, ResolveError, Seatbelt,
    SeatbeltHost, Session, filtered_env, seatbelt_policy as policy,
};
use akgentic_testkit::{Case, known_keys, same};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A backend that works or not.
struct Known {
    name: String,
    rank: Option<u8>,
    works: bool,
}

impl Backend for Known {
    fn name(&self) -> &str {
        &self.name
    }

    fn auto_rank(&self) -> Option<u8> {
        self.rank
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        let answer = if self.works {
            Ok("works".to_owned())
        } else {
            Err(BackendError::ProbeFailed("does not".to_owned()))
        };
        Box::pin(async { answer })
    }

    fn start(&self, _: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        Box::pin(async { Err(BackendError::Unsupported("a test".to_owned())) })
    }
}

/// A `local` that is never asked to run anything.
struct Unisolated;

impl Backend for Unisolated {
    fn name(&self) -> &'static str {
        "local"
    }

    fn isolates(&self) -> bool {
        Local::default().isolates()
    }

    fn auto_rank(&self) -> Option<u8> {
        Local::default().auto_rank()
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(async { Ok("works".to_owned()) })
    }

    fn start(&self, _: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        Box::pin(async { Err(BackendError::Unsupported("a test".to_owned())) })
    }
}

struct Mac {
    is_ours: bool,
    has_program: bool,
    answer: String,
    probed: AtomicBool,
    probe: Mutex<Value>,
}

impl SeatbeltHost for Mac {
    fn is_macos(&self) -> bool {
        self.is_ours
    }

    fn has_program(&self) -> bool {
        self.has_program
    }

    fn try_run<'a>(
        &'a self,
        argv: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.probed.store(true, Ordering::Relaxed);
        *self.probe.lock().unwrap() = json!({"argv": argv, "timeout": timeout.as_secs()});
        let answer = if self.answer == "ok" { Ok(()) } else { Err(self.answer.clone()) };
        Box::pin(async { answer })
    }
}

pub(crate) fn auto_mode(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    let known =
        ["fn", "mode", "bwrap", "sandbox_exec", "docker", "os", "seatbelt_probe", "registered"];
    known_keys("input", input, &known)?;
    let yes = |key: &str| input[key].as_bool().unwrap_or(false);
    let host = Arc::new(Mac {
        is_ours: input["os"] == "Darwin",
        has_program: yes("sandbox_exec"),
        answer: input["seatbelt_probe"].as_str().unwrap_or("ok").to_owned(),
        probed: AtomicBool::new(false),
        probe: Mutex::default(),
    });
    let registry = Registry::standard();
    let backend = |name: &str, rank, works| Known { name: name.to_owned(), rank, works };
    let rank = |name: &str| registry.get(name).expect("a backend").auto_rank();
    for name in ["bwrap", "docker"] {
        registry.register(Arc::new(backend(name, rank(name), yes(name))));
    }
    registry.register(Arc::new(Seatbelt::on(Arc::clone(&host) as Arc<dyn SeatbeltHost>)));
    registry.register(Arc::new(Unisolated));
    for name in input["registered"].as_array().into_iter().flatten() {
        registry.register(Arc::new(backend(name.as_str().expect("a name"), None, true)));
    }
    let mode = input["mode"].as_str().expect("mode");
    let resolved = crate::runs::block_on(registry.resolve(mode, true));
    match resolved {
        Err(ResolveError::Unregistered { .. }) => {
            same("error", &json!("unregistered_backend"), &expect["error"])
        }
        Err(error) => Err(error.to_string()),
        Ok(Resolution { mode, warning, .. }) => {
            same("mode", &json!(mode), &expect["mode"])?;
            if let Some(warns) = expect.get("warns_no_isolation") {
                same("warning", &json!(warning.is_some()), warns)?;
            }
            if let Some(ran) = expect.get("probe_ran") {
                same("probe ran", &json!(host.probed.load(Ordering::Relaxed)), ran)?;
            }
            match expect.get("probe") {
                Some(probe) => same("probe", &*host.probe.lock().unwrap(), probe),
                None => Ok(()),
            }
        }
    }
}

pub(crate) fn local_env(case: &Case) -> Result<(), String> {
    known_keys("input", &case.input, &["host_env", "platform", "existing_dirs"])?;
    let host = case.input["host_env"].as_object().expect("variables");
    let found = filtered_env(
        |name| host.get(name).and_then(Value::as_str).map(OsString::from),
        case.input["platform"] == "darwin",
        |path| {
            let there = case.input["existing_dirs"].as_array().expect("paths");
            there.iter().any(|known| known.as_str().map(Path::new) == Some(path))
        },
    );
    let found: BTreeMap<String, String> =
        found.into_iter().map(|(name, value)| (name, value.into_string().expect("text"))).collect();
    same("environment", &json!(found), &sorted(&case.expect))
}

fn sorted(map: &Value) -> Value {
    let map: BTreeMap<_, _> = map.as_object().expect("a map").iter().collect();
    json!(map)
}

pub(crate) fn seatbelt_policy(case: &Case) -> Result<(), String> {
    known_keys("input", &case.input, &["workspace", "tmpdir"])?;
    let path = |key: &str| Path::new(case.input[key].as_str().expect("a path"));
    let none: [&Path; 0] = [];
    let rules = policy(path("workspace"), path("tmpdir"), false, &none);
    let rules: Vec<&str> = rules.lines().collect();
    let Some(wanted) = case.expect["rules"].as_array() else {
        // What is wanted is told in words: the path has to be one string of the language.
        let escaped =
            path("workspace").display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let rule = format!("(allow file-write* (subpath \"{escaped}\"))");
        return same("escaped", &rules[7], &rule.as_str());
    };
    let wanted: Vec<&str> = wanted
        .iter()
        .filter_map(Value::as_str)
        .filter(|rule| *rule != "(allow network*)")
        .collect();
    same("rules", &rules, &wanted)
}
