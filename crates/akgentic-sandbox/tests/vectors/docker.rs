//! Topic `docker_lifecycle`, as actions of an engine that answers as the vectors say.

use std::path::Path;
use std::sync::Mutex;

use akgentic_sandbox::{
    BackendError, ContainerSpec, Engine, FoundContainer, bring_up, container_name, image,
    workspace_name,
};
use akgentic_testkit::{Case, known_keys, same};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// An engine that answers from a list and keeps what was asked.
struct Scripted {
    replies: Mutex<Vec<Value>>,
    actions: Mutex<Vec<Value>>,
    spec: ContainerSpec,
}

impl Scripted {
    fn act(&self, action: Value) -> Result<Value, BackendError> {
        self.actions.lock().unwrap().push(action);
        let mut replies = self.replies.lock().unwrap();
        if replies.is_empty() {
            return Err(BackendError::Engine("there is no engine".to_owned()));
        }
        let reply = replies.remove(0);
        if reply["rc"] == 0 {
            Ok(reply)
        } else {
            Err(BackendError::Engine(reply["stderr"].as_str().unwrap_or_default().to_owned()))
        }
    }
}

fn answer<'a, T: Send + 'a>(
    result: Result<T, BackendError>,
) -> BoxFuture<'a, Result<T, BackendError>> {
    Box::pin(async { result })
}

impl Engine for Scripted {
    fn has_image<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<bool, BackendError>> {
        let reply = self.act(json!(["image", image]));
        answer(
            reply.map(|reply| reply["stdout"].as_str().is_some_and(|text| !text.trim().is_empty())),
        )
    }

    fn build<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        answer(self.act(json!(["build", image])).map(drop))
    }

    fn find<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<FoundContainer>, BackendError>> {
        let reply = self.act(json!(["find", name]));
        answer(reply.map(|reply| {
            let listed = reply["stdout"].as_str().unwrap_or_default();
            let found = listed.lines().any(|line| line == name);
            found.then(|| FoundContainer { fingerprint: Some(self.spec.fingerprint()) })
        }))
    }

    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        answer(self.act(json!(["start", name])).map(drop))
    }

    fn create<'a>(&'a self, spec: &'a ContainerSpec) -> BoxFuture<'a, Result<(), BackendError>> {
        let mount = spec.directory.to_str().expect("text");
        answer(self.act(json!(["create", spec.name, mount, spec.image])).map(drop))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        answer(self.act(json!(["remove", name])).map(drop))
    }

    fn stop<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        answer(self.act(json!(["stop", name])).map(drop))
    }
}

/// The action behind a command line of the reference.
fn action(call: &Value, own_name: &str, team_name: &str) -> Result<Value, String> {
    let words: Vec<&str> =
        call.as_array().expect("words").iter().filter_map(Value::as_str).collect();
    // The name may carry the workspace.
    let name =
        |found: &str| if found == team_name { own_name.to_owned() } else { found.to_owned() };
    Ok(match words[1] {
        "images" => json!(["image", words[3]]),
        "build" => json!(["build", words[3]]),
        "ps" => json!(["find", name(words[4].strip_prefix("name=").expect("a filter"))]),
        "start" => json!(["start", name(words[2])]),
        "stop" => json!(["stop", name(words[2])]),
        "run" => {
            let mount = words[6].strip_suffix(":/workspace").expect("a mount");
            json!(["create", name(words[4]), mount, words[9]])
        }
        other => return Err(format!("unknown call {other}")),
    })
}

pub(crate) fn docker_lifecycle(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    known_keys(
        "input",
        input,
        &["team_id", "workspace_id", "image_env", "docker_on_path", "replies"],
    )?;
    let team = input["team_id"].as_str().expect("a team");
    let workspace = input["workspace_id"].as_str();
    let name = container_name(team, workspace);
    let (image, look) = image(input["image_env"].as_str());
    let spec = ContainerSpec {
        name: name.clone(),
        image,
        directory: Path::new("/srv/ws").join(workspace_name(workspace, team)),
        user: (1000, 1000),
        network: false,
        memory: None,
        processes: None,
    };
    let replies = input["replies"].as_array().expect("replies").clone();
    let engine =
        Scripted { replies: Mutex::new(replies), actions: Mutex::default(), spec: spec.clone() };
    let started = crate::runs::block_on(async {
        bring_up(&engine, &spec, look).await?;
        engine.stop(&name).await
    });
    if input["docker_on_path"] == false {
        return same("error", &started.is_err(), &true);
    }
    same("failed", &started.is_err(), &(expect["error"] == "start_failed"))?;
    let calls = expect["calls"].as_array().expect("calls");
    let wanted: Result<Vec<Value>, String> =
        calls.iter().map(|call| action(call, &name, &format!("sandbox-{team}"))).collect();
    same("actions", &*engine.actions.lock().unwrap(), &wanted?)
}
