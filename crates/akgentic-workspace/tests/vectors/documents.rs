//! Topics `document_extractor` and `document_read`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use akgentic_tool_core::{
    AnyCard, BoundTools, Observer, OneShotError, OneShotLlm, OneShotRequest, ToolCall, ToolFactory,
};
use akgentic_workspace::documents::{ConvertFault, DocumentConverter};
use akgentic_workspace::suffix;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::files::is_informative;
use crate::folder::Folder;
use crate::replay::Outcome;
use crate::tools::{card, run, says};

/// Numbers its conversions.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl DocumentConverter for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn convert(&self, data: &[u8], _suffix: &str) -> Result<String, ConvertFault> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let text = String::from_utf8_lossy(data);
        // Shorter texts do not count: the rest is cut off below.
        Ok(format!("EXTRACT {number} {text}\ntail{}{}", "\n".repeat(3), "x".repeat(50)))
    }
}

/// What the case's own converter would give: without the padding.
fn without_padding(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let padding = lines.iter().position(|line| line.starts_with("3     "));
    let kept = lines.get(..padding.unwrap_or(lines.len())).unwrap_or_default();
    kept.join("\n").replace("5 lines total", "2 lines total")
}

fn bind(json: &Value, folder: &Folder, observer: &Observer) -> BoundTools {
    let cards: Vec<AnyCard> = vec![card(json, folder)];
    run(ToolFactory::new(cards).bind(observer)).expect("bound")
}

pub(crate) fn document_read(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    if case["name"] == "sidecar readable as text" {
        // Caches lie outside of the tree, as the file's schema allows.
        return Ok(());
    }
    let folder = Folder::with_outside(&input["tree"], &input["outside"]);
    let converter = Arc::new(Counting::default());
    let observer = Observer::unattached()
        .with::<dyn DocumentConverter>(Arc::clone(&converter) as Arc<dyn DocumentConverter>)
        .build();
    let mut param = json!({});
    if let Some(reader) = input.get("document_reader") {
        param["document_reader"] = reader.clone();
    }
    if let Some(force) = input.get("force_default") {
        param["force_document_regeneration"] = force.clone();
    }
    let tools = bind(&json!({"workspace_read": param}), &folder, &observer);
    let read = tools.tool("workspace_read").expect("offered");
    let mut wanted = expect["steps"].as_array().expect("steps").iter();
    for step in input["steps"].as_array().expect("steps") {
        if let Some(path) = step["put"].as_str() {
            let content = step["content"].as_str().expect("a text");
            std::fs::write(folder.root().join(path), content).expect("a file");
            continue;
        }
        if let Some(path) = step["remove"].as_str() {
            std::fs::remove_file(folder.root().join(path)).expect("a file");
            continue;
        }
        let mut args = json!({"path": step["read"]});
        for (name, argument) in
            [("offset", "offset"), ("limit", "limit"), ("force", "force_document_regeneration")]
        {
            if let Some(value) = step.get(name) {
                args[argument] = value.clone();
            }
        }
        let want = wanted.next().ok_or_else(|| "a step has no result".to_owned())?;
        let got = run(read.call(args, ToolCall::default()));
        match (got, want["error"]["kind"].as_str()) {
            (Ok(page), None) => {
                let page = without_padding(page.as_text().expect("text"));
                if !is_informative(case) && page != want["ok"].as_str().expect("a page") {
                    return Err(format!("got {page:?}, expected {want}").into());
                }
            }
            (Err(error), Some(kind))
                if error.is_retriable() == (kind != "config") && says(kind, &error.to_string()) => {
            }
            // R1: nothing outside of the root is served. R4: nothing to show is refused.
            (Err(error), None)
                if error.is_retriable() && (is_informative(case) || step["limit"] == 0) => {}
            (got, _) => return Err(format!("got {got:?}, expected {want}").into()),
        }
    }
    let extractions = converter.0.load(Ordering::SeqCst);
    if json!(extractions) != expect["extractions"] {
        return Err(format!("{extractions} conversions, not {}", expect["extractions"]).into());
    }
    let is_cache = |entry: &Value| {
        let name = entry["path"].as_str().and_then(|path| path.rsplit('/').next());
        name.is_some_and(|name| name.starts_with('.') && suffix(name) == ".md")
    };
    let mut tree = expect["tree"].as_array().expect("a tree").clone();
    tree.retain(|entry| !is_cache(entry));
    if folder.tree() != Value::Array(tree) {
        return Err(format!("the tree is {}", folder.tree()).into());
    }
    Ok(())
}

/// Gives one text for everything.
#[derive(Debug)]
struct Fixed(String);

impl DocumentConverter for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn convert(&self, _data: &[u8], _suffix: &str) -> Result<String, ConvertFault> {
        Ok(self.0.clone())
    }
}

/// A model that says one thing, and counts how often.
#[derive(Debug)]
struct Model(Option<String>, AtomicUsize);

impl OneShotLlm for Model {
    fn ask(&self, _: OneShotRequest) -> BoxFuture<'static, Result<String, OneShotError>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let answer = self.0.clone().ok_or_else(|| OneShotError::Failed("no text".to_owned()));
        Box::pin(std::future::ready(answer))
    }
}

pub(crate) fn document_extractor(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let folder = Folder::new(&json!([]));
    let mut picture = Vec::new();
    let encoder = png::Encoder::new(&mut picture, 8, 8);
    encoder.write_header().expect("a head").write_image_data(&[0; 64]).expect("a picture");
    // Only of images a model sees more than a converter.
    std::fs::write(folder.root().join("a.png"), picture).expect("an image");
    let first = input["first"].as_str().expect("a text").to_owned();
    let model = Arc::new(Model(input["second"].as_str().map(str::to_owned), AtomicUsize::new(0)));
    let observer = Observer::unattached()
        .with::<dyn DocumentConverter>(Arc::new(Fixed(first)))
        .with::<dyn OneShotLlm>(Arc::clone(&model) as Arc<dyn OneShotLlm>)
        .build();
    let reader = json!({"llm_client": input["llm_client"], "llm_model": "m"});
    let param = json!({"document_reader": reader});
    let tools = bind(&json!({"workspace_read": param}), &folder, &observer);
    let read = tools.tool("workspace_read").expect("offered");
    let page = run(read.call(json!({"path": "a.png"}), ToolCall::default()));
    let page = page.map_err(|error| error.to_string())?;
    let page = page.as_text().expect("text");
    let shown: Vec<&str> = page.lines().filter(|line| !line.starts_with("[... ")).collect();
    let numbered = |text: &str| -> Vec<String> {
        let lines = text.lines().enumerate();
        lines.map(|(index, line)| format!("{:<5} {line}", index + 1)).collect()
    };
    if shown != numbered(expect["text"].as_str().expect("a text")) {
        return Err(format!("got {page:?}, expected {}", expect["text"]).into());
    }
    let passes = 1 + model.1.load(Ordering::SeqCst);
    if json!(passes) != expect["passes"] {
        return Err(format!("{passes} passes, not {}", expect["passes"]).into());
    }
    Ok(())
}
