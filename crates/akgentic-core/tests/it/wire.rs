//! Loading data that means harm, or is merely wrong; writing data that looks like markers.

use akgentic_core::coerce::{Coercer, FieldError, Loc, Options, from_value_coerced};
use akgentic_core::message::{EventMessage, StartMessage, UserMessage, load_message};
use akgentic_core::wire::{AddressResolver, Dyn, Family, Kind, Record, hydrate_addresses};
use akgentic_core::wire::{
    AnyMap, AnyValue, LoadError, Timestamp, WireType as _, dump, fingerprint, load, load_record,
    load_value, registry,
};
use akgentic_core::{
    ActorAddress, AgentCard, AnyConfig, BaseConfig, Message, config, family_member, payload,
    wire_type,
};
use akgentic_testkit::Logs;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Parcel {
    weight: Weight,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    free: AnyMap,
}
payload!(Parcel = "it.Parcel", aliases: ["it.short.Parcel"], deprecated: ["it.old.Parcel"]);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
struct Weight(i64);

impl TryFrom<i64> for Weight {
    type Error = String;

    fn try_from(grams: i64) -> Result<Self, String> {
        if grams % 2 == 0 { Ok(Self(grams)) } else { Err("an odd weight".into()) }
    }
}

#[test]
fn data_constructs_nothing_that_is_not_registered() {
    let attack = json!({"__model__": "subprocess.Popen", "args": ["rm", "-rf", "/"]});
    for value in [
        attack.clone(),
        json!({"__model__": EventMessage::PATH, "event": attack}),
        json!({"__model__": UserMessage::PATH, "content": "x", "unknown": {"deep": attack}}),
        json!({"__model__": UserMessage::PATH, "content": attack}),
        json!({"__model__": StartMessage::PATH, "config": attack}),
    ] {
        let error = load(value).unwrap_err();
        assert!(matches!(error, LoadError::UnresolvableClass(_)), "{error}");
        assert!(error.to_string().contains("subprocess.Popen"), "{error}");
    }
    for marker in [json!(null), json!(5), json!(["it.Parcel"]), json!({"a": 1})] {
        assert!(load(json!({"__model__": marker, "weight": 2})).is_err());
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let event = |inner: Value| {
        let marker = Value::from(EventMessage::PATH);
        Value::Object(
            [("__model__".to_owned(), marker), ("event".to_owned(), inner)].into_iter().collect(),
        )
    };
    let (mut list, mut events) = (json!(1), json!(1));
    for _ in 0..3000 {
        list = Value::Array(vec![list]);
        events = event(events);
    }
    for value in [event(list), events] {
        let error = load(value).unwrap_err();
        assert_eq!(error.errors().first().map(|error| error.kind), Some("recursion_loop"));
    }
}

#[test]
fn a_value_of_another_family_is_refused() {
    let event = |event: Value| json!({"__model__": EventMessage::PATH, "event": event});
    let config = json!({"__model__": "akgentic.core.agent_config.BaseConfig", "role": "R"});
    assert!(load(event(config.clone())).is_ok());
    assert!(load_message(config).is_err());
    assert!(
        load_record::<Parcel>(json!({"__model__": UserMessage::PATH, "content": "x"})).is_err()
    );
    let agent = json!({"__model__": "akgentic.core.user_proxy.UserProxy"});
    let error = load(event(agent)).unwrap_err();
    assert!(matches!(error, LoadError::Invalid { .. }), "{error}");
    let parsed: Result<AnyConfig, _> =
        serde_json::from_value(json!({"__model__": "it.Parcel", "weight": 2}));
    assert!(parsed.is_err());
}

#[test]
fn huge_integers_are_refused_not_rounded() {
    let huge = u64::MAX;
    assert!(load_value(json!([huge])).is_err());
    assert!(load_record::<Parcel>(json!({"weight": huge})).is_err());
    assert!(load_record::<Parcel>(json!({"weight": "9223372036854775808"})).is_err());
    assert_eq!(load_value(json!(i64::MIN)).unwrap(), AnyValue::Int(i64::MIN));
}

#[test]
fn every_path_of_a_type_leads_to_it() {
    for path in ["it.Parcel", "it.short.Parcel", "it.old.Parcel"] {
        let loaded = load(json!({"__model__": path, "weight": "4"})).unwrap();
        assert_eq!(loaded.type_path(), Some("it.Parcel"));
        assert_eq!(dump(&loaded).unwrap()["__model__"], "it.Parcel");
    }
}

#[test]
fn a_former_path_is_reported_when_it_is_used() {
    let logs = Logs::capture();
    for path in ["it.Parcel", "it.short.Parcel", "it.old.Parcel"] {
        load(json!({"__model__": path, "weight": 4})).unwrap();
    }
    assert_eq!(logs.count(&["WARN", "deprecated class path"]), 1, "{:?}", logs.lines());
    assert_eq!(logs.count(&["it.old.Parcel", "it.Parcel"]), 1);
}

#[test]
fn an_unmarked_map_that_loses_fields_is_reported() {
    let start = |config: Value| json!({"__model__": StartMessage::PATH, "config": config});
    let logs = Logs::capture();
    load_message(start(json!({"name": "@a"}))).unwrap();
    assert_eq!(logs.lines(), Vec::<String>::new());
    load_message(start(json!({"name": "@a", "prompt": "lost"}))).unwrap();
    assert_eq!(logs.count(&["WARN", "lost fields", "/config"]), 1, "{:?}", logs.lines());
}

#[test]
fn the_registry_knows_paths_fields_and_schemas() {
    let parcel = registry().get("it.short.Parcel").unwrap();
    assert_eq!((parcel.path(), parcel.kind()), ("it.Parcel", Kind::Payload));
    assert_eq!(parcel.field_names().collect::<Vec<_>>(), ["weight", "labels", "free"]);
    let message = registry().get(UserMessage::PATH).unwrap();
    let fields: Vec<&str> = message.field_names().collect();
    assert!(fields.contains(&"content") && fields.contains(&"parent_id"), "{fields:?}");
    let fixed = registry().get("it.Fixed").unwrap().schema();
    assert_eq!(fixed["properties"]["limit"]["readOnly"], true);
    assert_eq!(fixed["properties"]["note"].get("readOnly"), None);
    let loaded = load(json!({"__model__": "it.Fixed", "limit": "3"})).unwrap();
    assert_eq!(loaded.downcast::<Fixed>().map(|fixed| fixed.limit), Some(3));
}

/// A configuration with a field that is not for editing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Fixed {
    #[serde(flatten)]
    base: BaseConfig,
    #[schemars(extend("readOnly" = true))]
    limit: u32,
    note: String,
}
config!(Fixed = "it.Fixed", base: base);

#[test]
fn an_ordered_set_is_written_in_one_order_and_read_in_any() {
    let loaded = |names: Value| {
        let loaded = load(json!({"__model__": "it.Crew", "names": names})).unwrap();
        (loaded.to_json(), fingerprint(loaded.downcast::<Crew>().unwrap()))
    };
    let crew = loaded(json!(["c", "a", "b", "a"]));
    assert_eq!(crew.0["names"], json!(["a", "b", "c"]));
    assert_eq!(crew, loaded(json!(["b", "c", "a"])));
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Crew {
    names: BTreeSet<String>,
}
payload!(Crew = "it.Crew");

#[test]
fn a_rule_no_schema_knows_is_located() {
    let misfit = |error: &LoadError| match error {
        LoadError::Invalid { class, errors } => (class.clone(), errors[0].loc.clone()),
        other => panic!("{other}"),
    };
    let weight = vec![Loc::Key("weight".into())];
    let odd = json!({"__model__": "it.Parcel", "weight": 3});
    let wanted = ("it.Parcel".to_owned(), weight);
    assert_eq!(misfit(&load(odd.clone()).unwrap_err()), wanted);
    let event = json!({"__model__": EventMessage::PATH, "event": {"a": odd}});
    assert_eq!(misfit(&load(event.clone()).unwrap_err()), wanted);
    assert_eq!(misfit(&load_message(event).unwrap_err()), wanted);
}

#[test]
fn user_maps_with_reserved_keys_come_back_as_they_were() {
    for map in [
        json!({"__model__": "subprocess.Popen"}),
        json!({"__bytes__": "x", "other": [1, {"__type__": "a.b"}]}),
        json!({"__dict__": [["a", 1]]}),
        json!({"__dict__": {"__actor_address__": null}}),
        json!({"plain": {"a": []}}),
    ] {
        let value = AnyValue::from(map.clone());
        let written = dump(&value).unwrap();
        assert_eq!(load_value(written).unwrap(), value);

        let parcel = Parcel {
            weight: Weight(2),
            labels: vec![],
            free: map.as_object().unwrap().clone().into_iter().collect(),
        };
        let written = AnyValue::record(parcel.clone()).to_json();
        assert_eq!(load(written).unwrap().downcast::<Parcel>(), Some(&parcel));
        let written = serde_json::to_value(&parcel).unwrap();
        assert_eq!(serde_json::from_value::<Parcel>(written).unwrap(), parcel);
    }
    let escaped = dump(&AnyValue::from(json!({"__type__": 1}))).unwrap();
    assert_eq!(escaped, json!({"__dict__": [["__type__", 1]]}));
}

/// Maps of a user in typed fields, in every place where one can stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Shelf {
    labels: BTreeMap<String, String>,
    counts: Option<BTreeMap<String, BTreeMap<String, i64>>>,
    boxes: Vec<BoxOf>,
    free: AnyValue,
    owner: Option<ActorAddress>,
}
payload!(Shelf = "it.Shelf");

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum BoxOf {
    Numbers { by_name: BTreeMap<String, i64> },
    Either(Counted),
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Counted {
    Counts(BTreeMap<String, i64>),
    Names(BTreeMap<String, String>),
}

#[test]
fn typed_maps_with_reserved_keys_come_back_as_they_were() {
    for key in ["__model__", "__bytes__", "__type__", "__actor_address__", "__dict__", "plain"] {
        let counts = |count| BTreeMap::from([(key.to_owned(), count)]);
        let mut shelf = Shelf {
            labels: [(key, "it.Gone"), ("a", "b")].map(|(k, v)| (k.into(), v.into())).into(),
            counts: Some(BTreeMap::from([(key.to_owned(), counts(1))])),
            boxes: vec![
                BoxOf::Nothing,
                BoxOf::Numbers { by_name: counts(2) },
                BoxOf::Either(Counted::Counts(counts(3))),
                BoxOf::Either(Counted::Names(BTreeMap::from([(key.to_owned(), "n".to_owned())]))),
            ],
            free: AnyValue::Null,
            owner: None,
        };
        shelf.free = AnyValue::record(shelf.clone());
        let written = AnyValue::record(shelf.clone()).to_json();
        assert_eq!(load(written).unwrap().downcast::<Shelf>(), Some(&shelf), "{key}");
        let event = Message::new(EventMessage { event: AnyValue::record(shelf.clone()) });
        let written = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        let back = load_message(written).unwrap();
        let back = back.body::<EventMessage>().unwrap().event.downcast::<Shelf>();
        assert_eq!(back, Some(&shelf), "{key}");
        let resolver: AddressResolver = Arc::new(|address| Ok(address.clone()));
        assert_eq!(hydrate_addresses(&shelf, resolver).unwrap(), shelf, "{key}");
    }
    let shelf = json!({"__model__": "it.Shelf", "labels": {"__model__": "it.Gone"}, "boxes": []});
    assert!(load(shelf).is_err(), "a plain marker still means what it says");
}

#[test]
fn plain_serde_reads_polymorphic_fields_as_leniently() {
    let event = json!({
        "__model__": EventMessage::PATH,
        "event": [{"__model__": "it.Parcel", "weight": "6"}, {"__model__": "it.Gone"}],
    });
    let message: Message = serde_json::from_value(event).unwrap();
    let AnyValue::List(items) = &message.body::<EventMessage>().unwrap().event else { panic!() };
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].downcast::<Parcel>().map(|parcel| parcel.weight), Some(Weight(6)));
}

#[test]
fn base64_is_read_leniently() {
    for text in ["AAH/", "AA\nH/", "A-AH/", "AAH/ "] {
        let bytes = load_value(json!({"__bytes__": text})).unwrap();
        assert_eq!(bytes, AnyValue::Bytes(vec![0, 1, 255]), "{text:?}");
    }
    assert!(load_value(json!({"__bytes__": 5})).is_err());
    assert!(load_value(json!({"__bytes__": "A"})).is_err());
}

#[test]
fn a_fingerprint_changes_with_the_content() {
    let parcel = |labels: &[&str]| Parcel {
        weight: Weight(2),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        free: AnyMap::default(),
    };
    assert_eq!(fingerprint(&parcel(&["a"])), fingerprint(&parcel(&["a"])));
    assert_ne!(fingerprint(&parcel(&["a"])), fingerprint(&parcel(&["a", "b"])));
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Letter {
    X,
    Y,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Corner {
    x: i64,
    y: i64,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Arguments {
    i: i64,
    #[serde(default)]
    s: String,
    #[serde(default)]
    b: bool,
    #[serde(default)]
    n: f64,
    #[serde(default)]
    l: Option<Vec<i64>>,
    #[serde(default)]
    p: Option<Corner>,
    #[serde(default)]
    k: Option<Letter>,
    #[serde(default)]
    #[schemars(length(min = 2), range(max = 3))]
    short: Option<String>,
    #[serde(default)]
    either: Option<Either>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Flag(bool),
    Corner(Corner),
}

fn errors(found: Vec<FieldError>) -> Vec<(&'static str, String)> {
    let place = |loc: Vec<Loc>| loc.iter().map(Loc::to_string).collect::<Vec<_>>().join(".");
    found.into_iter().map(|error| (error.kind, place(error.loc))).collect()
}

#[test]
fn arguments_are_coerced_and_all_errors_told() {
    let coercer = Coercer::of::<Arguments>();
    let parse = |value: Value| coercer.parse::<Arguments>(value, Options::ARGUMENTS);
    let parsed = parse(json!({
        "i": "7", "b": "true", "n": "1e3", "l": ["3", 4.0, true], "k": "y",
        "p": {"x": 1, "y": "2", "z": 3}, "either": {"x": 1, "y": 2}
    }));
    let corner = |x, y| Corner { x, y };
    let wanted = Arguments {
        i: 7,
        s: String::new(),
        b: true,
        n: 1000.0,
        l: Some(vec![3, 4, 1]),
        p: Some(corner(1, 2)),
        k: Some(Letter::Y),
        short: None,
        either: Some(Either::Corner(corner(1, 2))),
    };
    assert_eq!(parsed, Ok(wanted));
    assert_eq!(parse(json!({"i": -0.0, "either": 1})).unwrap().either, Some(Either::Flag(true)));

    let failed = parse(json!({
        "r": 2, "i": 7.5, "s": 5, "b": 2, "l": [1, "x", null], "p": "{}", "k": "z", "short": "a",
        "either": {"x": 1}, "q": 1
    }));
    let wanted = [
        ("int_from_float", "i"),
        ("string_type", "s"),
        ("bool_parsing", "b"),
        ("int_parsing", "l.1"),
        ("int_type", "l.2"),
        ("model_type", "p"),
        ("literal_error", "k"),
        ("string_too_short", "short"),
        ("bool_type", "either.bool"),
        ("missing", "either.Corner.y"),
        ("extra_forbidden", "r"),
        ("extra_forbidden", "q"),
    ]
    .map(|(kind, place)| (kind, place.to_owned()));
    assert_eq!(errors(failed.unwrap_err()), wanted);
    for value in [json!(null), json!([]), json!("x")] {
        let failed = errors(parse(value).unwrap_err());
        assert_eq!(failed, [("dict_type", String::new())]);
    }
    let input = parse(json!({})).unwrap_err()[0].input.clone();
    assert_eq!(input, json!({}));
}

#[test]
fn foreign_schemas_are_understood() {
    let coercer = Coercer::new(&json!({
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
            "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
            "tree": {"$ref": "#/$defs/Tree"},
            "odd": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "many": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 5},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
            "any": {},
        },
        "required": ["tree"],
        "additionalProperties": {"type": "integer"},
        "$defs": {"Tree": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
        }},
    }));
    let coerce = |value: Value| coercer.coerce(value, Options::ARGUMENTS);
    let read = coerce(json!({
        "tags": ["b", "a", "b"], "pair": ["1", "x", {"free": 1}],
        "tree": {"children": [{"children": [], "dropped": 1}]}, "odd": "5", "many": "4",
        "code": "abc", "any": {"__model__": "plain.data"}, "extra": "9",
    }));
    let wanted = json!({
        "tags": ["b", "a"], "pair": [1, "x", {"free": 1}],
        "tree": {"children": [{"children": []}]}, "odd": "5", "many": 4,
        "code": "abc", "any": {"__model__": "plain.data"}, "extra": 9,
    });
    assert_eq!(read, Ok(wanted));
    let failed = coerce(json!({
        "tree": {"children": [{"children": [1]}]}, "many": 5, "code": "A", "extra": "x",
    }));
    let wanted = [
        ("model_type", "tree.children.0.children.0"),
        ("less_than", "many"),
        ("string_pattern_mismatch", "code"),
        ("int_parsing", "extra"),
    ]
    .map(|(kind, place)| (kind, place.to_owned()));
    assert_eq!(errors(failed.unwrap_err()), wanted);
}

#[test]
fn hostile_schemas_and_ambiguous_values_end() {
    let looping = Coercer::new(&json!({"$ref": "#"}));
    assert!(looping.coerce(json!(1), Options::ARGUMENTS).is_err());
    let ambiguous = Coercer::new(&json!({
        "anyOf": [
            {"type": "array", "items": {"$ref": "#"}},
            {"type": "array", "items": {"$ref": "#"}, "maxItems": 9},
            {"type": "integer"},
        ],
    }));
    let mut value = json!("no number");
    for _ in 0..100 {
        value = json!([value]);
    }
    assert!(ambiguous.coerce(value, Options::ARGUMENTS).is_err());
}

#[test]
fn a_type_is_read_without_being_registered() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Local {
        at: Timestamp,
        parcel: AnyValue,
    }
    let read: Local = from_value_coerced(json!({
        "at": "2026-01-02 03:04", "parcel": {"__model__": "it.Parcel", "weight": 8}
    }))
    .unwrap();
    assert_eq!(read.at.to_string(), "2026-01-02T03:04:00");
    assert!(read.parcel.downcast::<Parcel>().is_some());
    let failed = from_value_coerced::<Local>(json!({"at": true})).unwrap_err();
    let wanted = [("datetime_type", "at"), ("missing", "parcel")];
    assert_eq!(errors(failed), wanted.map(|(kind, place)| (kind, place.to_owned())));
}

/// A family of another crate.
trait Gadget: Record {
    fn noise(&self) -> String;
}

impl Family for dyn Gadget {
    const KIND: Kind = Kind::ContextState;
    const DEFAULT: Option<&'static str> = None;

    fn as_record(&self) -> &dyn Record {
        self
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Bell {
    rings: u8,
}
wire_type!(Bell = "it.Bell");
family_member!(Bell: dyn Gadget, Kind::ContextState);

impl Gadget for Bell {
    fn noise(&self) -> String {
        "ding ".repeat(self.rings.into())
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Shed {
    gadgets: Vec<Dyn<dyn Gadget>>,
    best: Option<Dyn<dyn Gadget>>,
}
payload!(Shed = "it.Shed");

#[test]
fn other_crates_have_families_too() {
    let shed = load_record::<Shed>(json!({
        "gadgets": [{"__model__": "it.Bell", "rings": "2"}, {"__model__": "it.Gone"}],
        "best": null,
    }))
    .unwrap();
    assert_eq!(shed.gadgets.iter().map(|gadget| gadget.noise()).collect::<String>(), "ding ding ");
    let written = json!({
        "gadgets": [{"rings": 2, "__model__": "it.Bell"}], "best": null, "__model__": "it.Shed"
    });
    assert_eq!(shed.to_json(), written);
    let failed = |value: Value| load_record::<Shed>(value).unwrap_err().errors().to_vec();
    let unmarked = failed(json!({"gadgets": [], "best": {"rings": 1}}));
    assert_eq!(errors(unmarked), [("is_instance_of", "best".to_owned())]);
    let too_many = failed(json!({"gadgets": [{"__model__": "it.Bell", "rings": 300}]}));
    assert_eq!(errors(too_many), [("less_than_equal", "rings".to_owned())]);
}

#[tokio::test]
async fn snapshots_hold_no_live_address_and_can_be_hydrated() {
    let (_system, team) = crate::parts::a_team().await;
    let member =
        team.create_actor::<crate::parts::Member>(BaseConfig::new("@a", "A")).await.unwrap();
    let live = member.address().clone();
    let parcel = Parcel {
        weight: Weight(2),
        labels: vec![],
        free: [("who", AnyValue::from(live.clone()))].into_iter().collect(),
    };
    let is_live = |parcel: &Parcel| match &parcel.free["who"] {
        AnyValue::Address(address) => address.is_live(),
        other => panic!("{other:?}"),
    };
    let copy = parcel.snapshot_value().unwrap();
    assert!(is_live(&parcel) && !is_live(&copy));
    assert!(copy.snapshot_value().is_none());
    let event = Message::new(EventMessage { event: AnyValue::record(parcel) });
    let shown = event.snapshot().unwrap();
    let inner = &shown.body::<EventMessage>().unwrap().event;
    assert!(!is_live(inner.downcast::<Parcel>().unwrap()));
    assert!(shown.snapshot().is_none());

    let found: AddressResolver = Arc::new(move |_| Ok(live.clone()));
    assert!(is_live(&hydrate_addresses(&copy, found).unwrap()));
    let refusing: AddressResolver = Arc::new(|_| Err(LoadError::Resolve("gone".into())));
    assert_eq!(hydrate_addresses(&copy, refusing), Err(LoadError::Resolve("gone".into())));
}

#[test]
fn cards_say_whom_their_holder_may_hire() {
    let class = "akgentic.core.UserProxy";
    let card = json!({"agent_class": class, "description": "d", "config": {"role": "R"}});
    let mut routed = card.clone();
    routed["routes_to"] = json!(["B", "C"]);
    let read = load_record::<AgentCard>(routed).unwrap();
    assert_eq!(read.routes_to.as_deref(), Some(&["B".to_owned(), "C".to_owned()][..]));
    let written = read.to_json();
    let keys: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys[keys.len() - 3..], ["metadata", "routes_to", "__model__"]);
    assert_eq!(written["agent_class"], class);
    assert!(load_record::<AgentCard>(card).unwrap().to_json().get("routes_to").is_none());

    let refused = |changed: Value| {
        let mut card = json!({"agent_class": class, "description": "d", "config": {"role": "R"}});
        card.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        let failed = load_record::<AgentCard>(card.clone()).unwrap_err();
        assert!(serde_json::from_value::<AgentCard>(card).is_err());
        errors(failed.errors().to_vec())
    };
    let place = |kind, place: &str| vec![(kind, place.to_owned())];
    assert_eq!(refused(json!({"config": {}})), place("value_error", ""));
    assert_eq!(refused(json!({"agent_class": "NoDot"})), place("value_error", ""));
    let bad = json!({"__model__": "it.Bell", "rings": "x"});
    assert_eq!(refused(json!({"config": bad})), place("int_parsing", "rings"));
    assert_eq!(refused(json!({"metadata": {"__bytes__": "AA=="}})), place("dict_type", "metadata"));
    assert_eq!(refused(json!({"routes_to": "B"})), place("list_type", "routes_to"));
    assert!(AgentCard::new("no.such.Agent", "d", BaseConfig::new("", "R")).is_ok());
    assert!(AgentCard::new("no.such.Agent", "d", BaseConfig::default()).is_err());
}
