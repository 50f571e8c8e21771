//! Topics `roster_state` and `role_catalog_state`.

use akgentic_core::wire::Record as _;
use akgentic_core::{ActorAddress, AddressInfo};
use akgentic_team::{RoleCatalogState, RoleRow, TeamMemberRow, TeamRosterState};
use akgentic_testkit::{Case, same};
use serde_json::{Value, json};
use uuid::Uuid;

fn body_of(text: &str) -> Value {
    match text.split_once('\n') {
        None => json!({"empty": text.is_empty()}),
        Some((heading, body)) => {
            let is_heading = heading.starts_with("**") && heading.ends_with(":**");
            json!({"empty": false, "body": if is_heading { body } else { "no heading" }})
        }
    }
}

fn members(value: &Value) -> TeamRosterState {
    let row = |row: &Value| TeamMemberRow {
        name: row["name"].as_str().expect("name").to_owned(),
        role: row["role"].as_str().expect("role").to_owned(),
        is_self: row["is_self"].as_bool().unwrap_or(false),
    };
    TeamRosterState { members: value.as_array().expect("rows").iter().map(row).collect() }
}

pub(crate) fn roster_state(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    match input["op"].as_str().expect("op") {
        "full" => same("body", &body_of(&members(&input["members"]).render()), expect),
        "delta" => {
            let changes = members(&input["members"]).render_changes(&members(&input["previous"]));
            same("delta", &json!(changes), &expect["delta"])
        }
        "dump" => same("json", &members(&input["members"]).to_json(), &expect["json"]),
        "produce" => {
            let team: Vec<ActorAddress> =
                input["team"].as_array().expect("team").iter().map(address).collect();
            let state = TeamRosterState::of(&team, input["self"].as_str().expect("self"));
            same("json", &state.to_json(), &expect["json"])?;
            same("command", &body_of(&state.render()), &expect["command"])
        }
        other => Err(format!("unknown op {other}")),
    }
}

fn address(member: &Value) -> ActorAddress {
    ActorAddress::proxy(AddressInfo {
        agent_id: Uuid::new_v4(),
        name: member["name"].as_str().expect("name").to_owned(),
        role: member["role"].as_str().expect("role").to_owned(),
        team_id: Uuid::nil(),
        squad_id: None,
        is_user_proxy: false,
        actor_type: String::new(),
        extra: serde_json::Map::new(),
    })
}

fn roles(value: &Value) -> RoleCatalogState {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let row = |row: &Value| RoleRow {
        role: text(&row["role"]),
        description: text(&row["description"]),
        skills: row["skills"].as_array().expect("skills").iter().map(text).collect(),
    };
    RoleCatalogState { roles: value.as_array().expect("rows").iter().map(row).collect() }
}

pub(crate) fn role_catalog_state(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    match input["op"].as_str().expect("op") {
        "full" => same("body", &body_of(&roles(&input["roles"]).render()), &one_line_each(expect)),
        "delta" => {
            let changes = roles(&input["roles"]).render_changes(&roles(&input["previous"]));
            same("delta", &json!(changes), &expect["delta"])
        }
        "dump" | "produce" => same("json", &roles(&input["roles"]).to_json(), &expect["json"]),
        other => Err(format!("unknown op {other}")),
    }
}

/// Line breaks in descriptions are collapsed here, one line stays one role.
fn one_line_each(expect: &Value) -> Value {
    let Some(body) = expect["body"].as_str() else { return expect.clone() };
    let mut lines: Vec<String> = Vec::new();
    for line in body.lines() {
        let open = lines.last().is_some_and(|last| !last.contains(" (Skills: "));
        match lines.last_mut() {
            Some(last) if open => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    json!({"empty": false, "body": lines.join("\n")})
}
