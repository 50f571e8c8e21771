//! Topics of the matcher and of diffs: `edit_find`, `edit_strategies`, `edit_fuzzy_windows`,
//! `edit_similarity`, `edit_apply`, `unified_diff`.

use std::ops::Range;

use akgentic_workspace::diff::{unified, unified_between};
use akgentic_workspace::edit::{Found, Miss, Strategy, find, substitute, windows};
use akgentic_workspace::similarity::matching_blocks;
use serde_json::{Value, json};

use crate::files::{has_quirk, is_informative};
use crate::replay::Outcome;

fn text<'c>(case: &'c Value, name: &str) -> &'c str {
    case["input"][name].as_str().expect("a text")
}

fn same(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: got {got}, expected {want}")) }
}

/// Code points before a byte.
fn points(content: &str, offset: usize) -> usize {
    content.get(..offset).expect("a boundary").chars().count()
}

fn place(content: &str, range: &Range<usize>) -> Value {
    json!({
        "start": points(content, range.start),
        "end": points(content, range.end),
        "text": content.get(range.clone()).expect("boundaries"),
    })
}

/// Compares a match: where the reference is improved on, the range alone.
fn compare(case: &Value, content: &str, found: Option<&Found>) -> Outcome {
    let expect = &case["expect"];
    if let Some(improved) = expect.get("improved") {
        let found = found.ok_or("nothing was found".to_owned())?;
        return Ok(same("improved", &place(content, &found.range()), improved)?);
    }
    if is_informative(case) {
        return Ok(());
    }
    let want = &expect["match"];
    let Some(found) = found else { return Ok(same("match", &Value::Null, want)?) };
    let mut got = place(content, &found.range());
    for (name, value) in [
        ("strategy", json!(found.strategy.as_str())),
        ("start_byte", json!(found.range().start)),
        ("end_byte", json!(found.range().end)),
    ] {
        if want.get(name).is_some() {
            got[name] = value;
        }
    }
    Ok(same("match", &got, want)?)
}

pub(crate) fn edit_find(case: &Value) -> Outcome {
    let exact_only = case["input"]["exact_only"].as_bool().unwrap_or(false);
    let content = text(case, "content");
    compare(case, content, find(content, text(case, "anchor"), exact_only).as_ref())
}

pub(crate) fn edit_strategies(case: &Value) -> Outcome {
    let name = text(case, "strategy");
    let strategy = Strategy::ALL.into_iter().find(|strategy| strategy.as_str() == name);
    let strategy = strategy.ok_or_else(|| format!("unknown strategy {name}"))?;
    let content = text(case, "content");
    compare(case, content, strategy.find(content, text(case, "anchor")).as_ref())
}

pub(crate) fn edit_fuzzy_windows(case: &Value) -> Outcome {
    let expect = &case["expect"];
    let found = windows(text(case, "content"), text(case, "anchor"));
    #[expect(clippy::cast_precision_loss, reason = "a few lines")]
    let ratios: Vec<f64> =
        found.matched.iter().map(|matched| *matched as f64 / found.lines as f64).collect();
    let want: Vec<f64> =
        expect["ratios"].as_array().expect("ratios").iter().filter_map(Value::as_f64).collect();
    let close = ratios.len() == want.len()
        && ratios.iter().zip(&want).all(|(one, other)| (one - other).abs() < 1e-9);
    // E11: very frequent lines count like others.
    if !close && !has_quirk(case, "E11") {
        return Err(format!("ratios: got {ratios:?}, expected {want:?}").into());
    }
    same("n", &json!(found.lines), &expect["n"])?;
    same("accepted", &json!(found.accepted), &expect["accepted"])?;
    Ok(same("best", &json!(found.best), &expect["best"])?)
}

/// A list of lines in which parts may be repeated.
fn lines(parts: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for part in parts.as_array().expect("lines") {
        match part {
            Value::String(line) => lines.push(line.clone()),
            part => {
                let times = part["times"].as_u64().expect("a number");
                for _ in 0..times {
                    let repeated = part["repeat"].as_array().expect("lines").iter();
                    lines.extend(repeated.map(|line| line.as_str().expect("a line").to_owned()));
                }
            }
        }
    }
    lines
}

pub(crate) fn edit_similarity(case: &Value) -> Outcome {
    let (a, b) = (lines(&case["input"]["a"]), lines(&case["input"]["b"]));
    let (one, other): (Vec<&str>, Vec<&str>) =
        (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
    let blocks = matching_blocks(&one, &other);
    let matched: usize = blocks.iter().map(|block| block.size).sum();
    let shown: Vec<Value> =
        blocks.iter().map(|block| json!([block.a, block.b, block.size])).collect();
    same("blocks", &json!(shown), &case["expect"]["blocks"])?;
    Ok(same("matched", &json!(matched), &case["expect"]["matched"])?)
}

pub(crate) fn unified_diff(case: &Value) -> Outcome {
    let input = &case["input"];
    let sides = (
        input["before_label"].as_str().unwrap_or("a"),
        input["after_label"].as_str().unwrap_or("b"),
    );
    let (before, after) = (text(case, "before"), text(case, "after"));
    let diff = unified_between(text(case, "path"), before, after, sides);
    if is_informative(case) {
        return Ok(());
    }
    Ok(same("diff", &json!(diff), &case["expect"]["diff"])?)
}

/// Whether a text holds what the reference takes for the end of a line and we do not.
fn has_odd_line_end(text: &str) -> bool {
    let odd = ['\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.replace("\r\n", "").contains('\r') || text.contains(odd)
}

pub(crate) fn edit_apply(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let flag = |name: &str| input[name].as_bool().unwrap_or(false);
    let (content, anchor) = (text(case, "content"), text(case, "anchor"));
    let edited = substitute(
        content,
        anchor,
        text(case, "replacement"),
        flag("replace_all"),
        flag("exact_only"),
    );
    let improved = expect.get("improved");
    if is_informative(case) && improved.is_none() {
        return Ok(());
    }
    let edited = match edited {
        Ok(edited) => edited,
        Err(Miss::Ambiguous { .. }) if expect["found"] == true => return Ok(()),
        Err(_) => return Ok(same("found", &json!(false), &expect["found"])?),
    };
    same("found", &json!(true), &expect["found"])?;
    same("content", &json!(edited.text), improved.unwrap_or(&expect["content"]))?;
    if improved.is_none() && !has_odd_line_end(content) {
        let diff = unified(text(case, "path"), content, &edited.text);
        same("diff", &json!(diff), &expect["diff"])?;
    }
    Ok(())
}
