//! Topic `recipients`: who a recipient is.

use std::sync::Mutex;

use akgentic_agent::{TeamResolver, resolve_recipient};
use akgentic_core::{ActorAddress, ActorError, AddressInfo};
use akgentic_testkit::{Case, same};
use serde_json::{Value, json};
use uuid::Uuid;

/// A team on paper.
struct Paper {
    members: Vec<String>,
    roles: Vec<String>,
    asked: Mutex<Vec<Value>>,
}

fn address(name: &str) -> ActorAddress {
    ActorAddress::proxy(AddressInfo {
        agent_id: Uuid::nil(),
        name: name.to_owned(),
        role: String::new(),
        team_id: Uuid::nil(),
        squad_id: None,
        is_user_proxy: false,
        actor_type: String::new(),
        extra: serde_json::Map::new(),
    })
}

impl TeamResolver for Paper {
    async fn get_team_member(&self, name: &str) -> Result<Option<ActorAddress>, ActorError> {
        self.asked.lock().expect("lock").push(json!(["member", name]));
        Ok(self.members.iter().find(|member| *member == name).map(|name| address(name)))
    }

    async fn hire_member(&self, role: &str) -> Result<ActorAddress, ActorError> {
        self.asked.lock().expect("lock").push(json!(["hire", role]));
        let found = self.roles.iter().find(|known| *known == role);
        found.map(|role| address(role)).ok_or_else(|| ActorError::new("HireError", "no such role"))
    }
}

pub(crate) fn recipients(case: &Case) -> Result<(), String> {
    let texts = |key: &str| {
        let list = case.input[key].as_array().into_iter().flatten();
        list.map(|text| text.as_str().expect("text").to_owned()).collect()
    };
    let paper = Paper { members: texts("members"), roles: texts("roles"), asked: Mutex::default() };
    let recipient = case.input["recipient"].as_str().expect("a recipient");
    let found = crate::block_on(resolve_recipient(&paper, recipient));
    let outcome = match found {
        Ok(Some(_)) => "address",
        Ok(None) => "none",
        Err(_) => "retriable",
    };
    same("outcome", &json!(outcome), &case.expect["outcome"])?;
    let asked = json!([[case.expect["lookup"], case.expect["argument"]]]);
    same("asked", &json!(paper.asked.into_inner().expect("lock")), &asked)
}
