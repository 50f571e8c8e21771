//! Configurations: what is read, refused, told.

use akgentic_agent::{AgentConfig, AgentOptions, AgentState, ConfigFault};
use akgentic_core::wire::{Record as _, load_record};
use serde_json::json;

fn faults(written: &serde_json::Value) -> Vec<String> {
    AgentConfig::check_json(written).iter().map(ToString::to_string).collect()
}

#[test]
fn keys_that_mean_nothing_are_told_with_their_path() {
    let written = json!({
        "name": "@A",
        "nonsense": 1,
        "prompt": {"template": "You are {role}.", "params": {"role": "helpful"}},
        "run_usage_limits": {"request_limit": 5},
        "runtime_cfg": {"http_client_config": {"timeuot": 3}},
        "model_cfg": {"fallback_models": [{"model": "b", "temprature": 1}]},
        "options": {"report_unknown_members": true, "reprot": true, "command_senders": ["@Human"]},
        "tools": [{"__model__": "akgentic.tool.team.team.TeamTool", "hire": false}],
    });
    let told: Vec<ConfigFault> = AgentConfig::check_json(&written);
    let unknown = [
        "nonsense",
        "run_usage_limits.request_limit",
        "runtime_cfg.http_client_config.timeuot",
        "model_cfg.fallback_models.0.temprature",
        "options.reprot",
        "tools.0.hire",
    ];
    assert_eq!(told, unknown.map(|path| ConfigFault::UnknownKey(path.to_owned())));
    assert!(told[0].to_string().starts_with("nonsense is no setting"));
}

#[test]
fn settings_that_say_what_holds_anyway_are_settings() {
    let written = json!({
        "model_cfg": {"reasoning_effort": null, "fallback_models": []},
        "model_roster": [],
        "runtime_cfg": {"http_client_config": {"total_timeout": null}},
        "options": {"max_hops": null, "notify_who_asked": false},
        "tools": [{"__model__": "akgentic.tool.team.team.TeamTool", "only_hireable": false}],
    });
    assert_eq!(AgentConfig::check_json(&written), []);
}

#[test]
fn settings_in_the_wrong_place_mean_nothing() {
    let written = json!({
        "max_hops": 3,
        "cancel": "step",
        "model_cfg": [{"model": "a"}, {"model": "b", "temprature": 1}],
        "usage_limits": {"requests": 1, "request_limit": 2},
    });
    let unknown = ["max_hops", "cancel", "model_cfg.1.temprature", "usage_limits.requests"];
    let told: Vec<ConfigFault> = AgentConfig::check_json(&written);
    let told: Vec<&ConfigFault> =
        told.iter().filter(|fault| !matches!(fault, ConfigFault::Deprecated { .. })).collect();
    let unknown = unknown.map(|path| ConfigFault::UnknownKey(path.to_owned()));
    assert_eq!(told.len(), unknown.len(), "{told:?}");
    assert!(unknown.iter().all(|fault| told.contains(&fault)), "{told:?}");
}

#[test]
fn cards_the_agent_goes_without_are_told() {
    let written = json!({"tools": [
        {"__model__": "akgentic.tool.planning.planning.PlanningTool", "depth": 2},
        {"__model__": "akgentic.tool.team.team.TeamTool", "hire": false},
    ]});
    let class = "akgentic.tool.planning.planning.PlanningTool".to_owned();
    let told = AgentConfig::check_json(&written);
    let expected = [
        ConfigFault::UnknownCard { path: "tools.0".into(), class },
        ConfigFault::UnknownKey("tools.1.hire".into()),
    ];
    assert_eq!(told, expected);
    assert!(told[0].to_string().starts_with("tools.0 is left out: nothing is registered as"));
}

#[test]
fn old_names_are_read_and_told() {
    let written = json!({"usage_limits": {"request_limit": 7}});
    let config: AgentConfig = load_record(written.clone()).expect("loads");
    assert_eq!(config.run_usage_limits.run_request_limit, Some(7));
    #[expect(deprecated, reason = "that it still works is what is tested")]
    let same = config.usage_limits();
    assert_eq!(same, &config.run_usage_limits);
    assert!(!config.to_json().to_string().contains("\"usage_limits\""), "never written");
    let told = faults(&written);
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("usage_limits is deprecated; write run_usage_limits"), "{told:?}");
    for both in [
        json!({"usage_limits": {}, "run_usage_limits": {}}),
        json!({"usage_limits": null, "run_usage_limits": null}),
        json!({"usage_limits": {"request_limit": 1, "run_request_limit": 2}}),
    ] {
        load_record::<AgentConfig>(both.clone()).expect_err("two names of one thing");
        assert!(faults(&both).iter().any(|text| text.contains("two names of one setting")));
    }
    load_record::<AgentConfig>(json!({"usage_limits": null})).expect_err("no record");
}

#[test]
fn what_keeps_an_agent_from_starting_is_told_beforehand() {
    let missing = json!({"prompt": {"template": "You are {role}."}});
    assert!(faults(&missing)[0].contains("needs the parameter \"role\""), "{:?}", faults(&missing));
    let bounds = json!({
        "model_cfg": {"context_length": 1000}, "run_usage_limits": {"total_tokens_limit": 10},
    });
    load_record::<AgentConfig>(bounds.clone()).expect("is no reason not to load it");
    assert!(faults(&bounds)[0].contains("is compacted above 850"), "{:?}", faults(&bounds));
    let stranger = json!({"model_cfg": {"model": "a"}, "model_roster": [{"model": "b"}]});
    assert!(faults(&stranger)[0].contains("is not in model_roster"), "{:?}", faults(&stranger));
    assert_eq!(AgentConfig::default().check(), []);
}

#[test]
fn a_list_of_models_is_the_roster() {
    let written = json!({"model_cfg": [{"model": "a"}, {"provider": "anthropic", "model": "b"}]});
    let config: AgentConfig = load_record(written).expect("loads");
    let keys: Vec<String> =
        config.model_roster.iter().map(akgentic_llm::ModelConfig::key).collect();
    assert_eq!(keys, ["openai:a", "anthropic:b"]);
    assert_eq!(config.model_cfg.key(), "openai:a");
    let again: AgentConfig = load_record(config.to_json()).expect("its own form loads");
    assert_eq!(again.model_roster, config.model_roster);
    let plain = AgentConfig::default().to_json();
    assert!(plain.get("model_roster").is_none() && plain.get("options").is_none(), "{plain}");
}

#[test]
fn tools_without_a_marker_are_refused_with_their_place() {
    let written = json!({"tools": [
        {"__model__": "akgentic.tool.team.team.TeamTool"}, {"hire_team_members": false},
    ]});
    let error = load_record::<AgentConfig>(written).expect_err("no type");
    let places: Vec<String> = error
        .errors()
        .iter()
        .map(|error| error.loc.iter().map(ToString::to_string).collect::<Vec<_>>().join("."))
        .collect();
    assert_eq!(places, ["tools.1"], "{error}");
    let written = json!({"tools": [
        {"__model__": "akgentic.tool.gone.GoneTool"},
        {"__model__": "akgentic.tool.team.team.TeamTool"},
    ]});
    let config: AgentConfig = load_record(written).expect("a type that is gone is left out");
    assert_eq!(config.tools.len(), 1);
}

#[test]
fn states_keep_actions_only_when_there_are_some() {
    let mut state = AgentState::new("You help.");
    assert!(state.to_json().get("operator_actions").is_none());
    state.operator_actions.push("x".to_owned());
    let back: AgentState = load_record(state.to_json()).expect("loads");
    assert_eq!(back.operator_actions, ["x"]);
}

#[test]
fn options_are_off_and_survive_being_written() {
    let options = AgentOptions { keep_refused_messages: true, ..AgentOptions::default() };
    let config = AgentConfig { options: options.clone(), ..AgentConfig::default() };
    let back: AgentConfig = load_record(config.to_json()).expect("loads");
    assert_eq!(back.options, options);
}
