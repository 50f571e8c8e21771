//! Schemas of tools, whatever they look like, in what providers take.

use akgentic_llm::schema::*;
use akgentic_llm::*;
use serde_json::{Value, json};

const STYLES: [SchemaStyle; 6] = [
    SchemaStyle::OpenAi { lengths: true, inline: false },
    SchemaStyle::OpenAi { lengths: false, inline: true },
    SchemaStyle::Anthropic,
    SchemaStyle::Gemini,
    SchemaStyle::OpenRouterGemini,
    SchemaStyle::Unchanged,
];

#[test]
fn field_b7_a_disliked_schema_is_mended_for_every_provider() {
    let disliked = [
        json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}}]}),
        json!({"type": "object"}),
        json!({}),
        json!(true),
        json!(null),
        json!({"type": "string"}),
        json!({"type": "object", "properties": [], "required": "a"}),
    ];
    for style in STYLES {
        for schema in &disliked {
            let ToolSchema { schema: mended, repairs, .. } = style.tool(schema);
            let place = format!("{style:?} {schema} -> {mended}");
            assert_eq!(mended["type"], "object", "{place}");
            assert!(mended["properties"].is_object(), "{place}");
            assert!(mended.get("anyOf").is_none() && mended.get("oneOf").is_none(), "{place}");
            assert!(mended.get("required").is_none_or(Value::is_array), "{place}");
            if *schema != json!({"type": "object"}) {
                assert!(!repairs.is_empty(), "{place}");
            }
        }
        // what an alternative names can still be given, and the rule is told
        let either = style.tool(&disliked[1]).schema;
        assert_eq!(either["properties"]["a"]["type"], "string");
        let told = style.tool(&disliked[0]).schema["description"].to_string();
        assert!(told.contains("anyOf") && told.contains("required"), "{told}");
    }
}

#[test]
fn definitions_that_explode_stay_where_they_are() {
    let mut definitions = json!({"d0": {"type": "string"}});
    for level in 1..40 {
        let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
        definitions[format!("d{level}")] =
            json!({"type": "object", "properties": {"a": below, "b": below}});
    }
    let schema = json!({
        "type": "object", "properties": {"x": {"$ref": "#/$defs/d39"}}, "$defs": definitions,
    });
    let kept = SchemaStyle::OpenRouterGemini.tool(&schema).schema;
    assert_eq!(kept["properties"]["x"]["$ref"], "#/$defs/d39");
}

#[test]
fn strict_output_tells_what_it_has_no_keyword_for() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": {"type": "string", "maxLength": 3, "pattern": "^a(?=b)", "description": "A name"},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "k": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "p": {"$ref": "#/$defs/P", "description": "A point"},
        },
        "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}},
    });
    let at_home = SchemaStyle::OpenAi { lengths: true, inline: false }.output(&schema).unwrap();
    let name = &at_home["properties"]["n"];
    assert_eq!(name["description"], "A name (pattern=^a(?=b))");
    assert_eq!(name["maxLength"], 3);
    assert_eq!(
        at_home["properties"]["p"],
        json!({"description": "A point", "anyOf": [{"$ref": "#/$defs/P"}]})
    );
    assert_eq!(at_home["required"], json!(["n", "m", "k", "p"]));
    assert_eq!(at_home["properties"]["m"]["additionalProperties"], false);
    assert!(at_home["properties"]["k"].get("oneOf").is_none());
    let elsewhere = SchemaStyle::OpenAi { lengths: false, inline: false }.output(&schema).unwrap();
    let name = &elsewhere["properties"]["n"];
    assert_eq!(name["description"], "A name (maxLength=3, pattern=^a(?=b))");
}

#[test]
fn what_no_provider_can_hold_a_model_to_is_refused_with_its_place() {
    let untyped = json!({"type": "object", "properties": {"list": {"type": "array", "items": {}}}});
    let error = SchemaStyle::Anthropic.output(&untyped).unwrap_err();
    assert_eq!(error.place, "properties/list/items");
    let openai = SchemaStyle::OpenAi { lengths: true, inline: false };
    assert!(openai.output(&untyped).is_err());
    assert!(SchemaStyle::Gemini.output(&untyped).is_ok());
}

#[test]
fn routes_have_their_own_styles() {
    let style = |provider: &str, model: &str| {
        let config = json!({"provider": provider, "model": model});
        SchemaStyle::of(&ModelConfig::from_json(config).unwrap())
    };
    assert_eq!(style("openrouter", "~google/gemini-2.5-flash"), SchemaStyle::OpenRouterGemini);
    let qwen = SchemaStyle::OpenAi { lengths: false, inline: true };
    assert_eq!(style("openrouter", "qwen/qwen3-32b:free"), qwen);
    let plain = SchemaStyle::OpenAi { lengths: false, inline: false };
    assert_eq!(style("openrouter", "anthropic/claude-sonnet-4.5"), plain);
    assert_eq!(style("azure", "d"), plain);
}
