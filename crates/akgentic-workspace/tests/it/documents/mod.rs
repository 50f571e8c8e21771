//! Documents as a model meets them.

mod made;

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use akgentic_tool_core::{AnyCard, BoundTools, Observer, ToolFactory};
use akgentic_workspace::WorkspaceTool;
use akgentic_workspace::documents::{ConvertFault, DocumentConverter};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use crate::tools::{bind, call};
use crate::tree::Tree;

async fn read(tree: &Tree, path: &str) -> String {
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    call(&tools, "workspace_read", json!({"path": path})).await.expect(path)
}

async fn refused(tree: &Tree, path: &str) -> String {
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let error = call(&tools, "workspace_read", json!({"path": path})).await.expect_err(path);
    assert!(error.is_retriable(), "{path}: {error}");
    error.to_string()
}

/// The lines without their numbers.
fn lines(page: &str) -> String {
    page.lines().map(|line| line.get(6..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn documents_are_read_as_markdown() {
    let tree = Tree::new();
    let long = "Sales went up in every region, for the third year in a row.";
    tree.put("a.docx", made::docx(long));
    tree.put("a.xlsx", made::xlsx());
    tree.put("a.pptx", made::pptx());
    tree.put("a.epub", made::epub());
    tree.put("a.msg", made::msg());
    tree.put(
        "a.pdf",
        made::pdf(&["The first page says this much.", "And the second page says all the rest."]),
    );
    let docx = lines(&read(&tree, "a.docx").await);
    assert!(docx.contains("# Yearly report") && docx.contains(long), "{docx}");
    assert!(docx.contains("| Region | Sales |") && docx.contains("| North | 42 |"), "{docx}");
    let xlsx = lines(&read(&tree, "a.xlsx").await);
    for expected in ["# Costs", "| Paper, white and thick | 12.50 |", "# People", "Ada Lovelace"] {
        assert!(xlsx.contains(expected), "{expected}: {xlsx}");
    }
    let pptx = lines(&read(&tree, "a.pptx").await);
    for expected in ["# Plan for the spring", "Plant the apple trees", "# Plan for the autumn"] {
        assert!(pptx.contains(expected), "{expected}: {pptx}");
    }
    assert_eq!(
        lines(&read(&tree, "a.epub").await),
        "**Title:** Nights & days\n**Authors:** A. Writer\n\n# Chapter one\n\nIt was a *dark* night.\n\n\
         # Chapter two\n\nThe end & nothing more."
    );
    assert_eq!(
        lines(&read(&tree, "a.msg").await),
        "# Lunch ─ tomorrow\n\n**From:** René <rene@example.org>\n**To:** Zoë\n**Date:** 2024-02-03T04:05:06Z\n\n\
         At **noon**,\nin the café.\n\n## Attachments\n\n- menu.pdf"
    );
    let pdf = lines(&read(&tree, "a.pdf").await);
    assert_eq!(pdf, "The first page says this much.\n\nAnd the second page says all the rest.");
    let names = std::fs::read_dir(tree.root()).expect("the root").count();
    assert_eq!(names, 6, "nothing was put beside the documents");
}

#[tokio::test]
async fn old_workbooks_are_read_too() {
    let tree = Tree::new();
    tree.put("a.xls", include_bytes!("table.xls"));
    let page = lines(&read(&tree, "a.xls").await);
    assert!(page.contains("Paper, white and thick") && page.contains("12.5"), "{page}");
}

#[tokio::test]
async fn documents_are_paged_like_text() {
    let tree = Tree::new();
    tree.put("a.epub", made::epub());
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let page =
        call(&tools, "workspace_read", json!({"path": "a.epub", "offset": 4, "limit": 1})).await;
    let page = page.expect("a page");
    assert_eq!(page, "4     # Chapter one\n[... truncated: 10 lines total, showing 4-4 ...]");
}

#[tokio::test]
async fn field_c17_parsers_that_fail_are_answers() {
    let tree = Tree::new();
    let good = [
        ("a.pdf", made::pdf(&["Some text of a page, and then some more of it to be enough."])),
        ("a.docx", made::docx("text")),
        ("a.xlsx", made::xlsx()),
        ("a.pptx", made::pptx()),
        ("a.epub", made::epub()),
        ("a.msg", made::msg()),
        ("a.xls", include_bytes!("table.xls").to_vec()),
    ];
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    for (name, bytes) in &good {
        for part in 0..12 {
            tree.put(name, &bytes[..bytes.len() * part / 12]);
            let answer = call(&tools, "workspace_read", json!({"path": name})).await;
            if let Err(error) = answer {
                assert!(error.is_retriable() && error.to_string().starts_with(name), "{error}");
            }
        }
        // Bytes that are wrong here and there.
        for seed in 1..20usize {
            let mut bytes = bytes.clone();
            for step in 0..8 {
                let length = bytes.len();
                bytes[(seed * 7919 + step * 104_729) % length] ^= 0x5A;
            }
            tree.put(name, &bytes);
            let answer = call(&tools, "workspace_read", json!({"path": name})).await;
            if let Err(error) = answer {
                assert!(error.is_retriable(), "{error}");
            }
        }
    }
}

fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).expect("data");
    encoder.finish().expect("a stream")
}

#[tokio::test]
async fn documents_that_unpack_without_end_are_refused() {
    let tree = Tree::new();
    let zeros = " ".repeat(100 << 20);
    tree.put("bomb.docx", made::docx_of(&zeros));
    assert!(refused(&tree, "bomb.docx").await.contains("unpacks to more than 96 MiB"));
    tree.put("bomb.epub", made::zipped(&[("META-INF/container.xml", &zeros)]));
    assert!(refused(&tree, "bomb.epub").await.contains("unpacks to more than 96 MiB"));
    let deep = format!("{}{}", "<w:tbl>".repeat(5000), "</w:tbl>".repeat(5000));
    tree.put("deep.docx", made::docx_of(&deep));
    assert!(refused(&tree, "deep.docx").await.contains("nest too deeply"));
    // Packed twice: a few hundred bytes that stand for 300 MiB.
    let twice = deflated(&deflated(&vec![0; 300 << 20]));
    let mut pdf =
        b"%PDF-1.4\n1 0 obj\n<< /Filter [/FlateDecode /FlateDecode] >>\nstream\n".to_vec();
    pdf.extend(&twice);
    pdf.extend(b"\nendstream\nendobj\n");
    tree.put("bomb.pdf", pdf);
    assert!(refused(&tree, "bomb.pdf").await.contains("unpacks to more than 256 MiB"));
}

#[tokio::test]
async fn circles_in_a_pdf_come_to_an_end() {
    let tree = Tree::new();
    let page = |parent: &str| {
        format!(
            "<< /Type /Page /Parent {parent} /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> /XObject << /X 6 0 R >> >> >>"
        )
    };
    let text = "BT /F1 12 Tf 72 700 Td (A page that draws a form which draws itself.) Tj ET /X Do";
    let objects = |parent: &str| {
        [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [4 0 R] /Count 1 >>".to_owned(),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
            page(parent),
            format!("<< /Length {} >>\nstream\n{text}\nendstream", text.len()),
            "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 5 /Resources << /XObject << /X 6 0 R >> >> >>\nstream\n/X Do\nendstream".to_owned(),
        ]
    };
    tree.put("form.pdf", made::pdf_of(&objects("2 0 R")));
    tree.put("parent.pdf", made::pdf_of(&objects("4 0 R")));
    for name in ["form.pdf", "parent.pdf"] {
        let tools = bind(WorkspaceTool::at(tree.root())).await;
        let answer = call(&tools, "workspace_read", json!({"path": name})).await;
        match answer {
            Ok(page) => assert!(page.contains("draws a form"), "{name}: {page}"),
            Err(error) => assert!(error.is_retriable(), "{name}: {error}"),
        }
    }
}

#[tokio::test]
async fn scans_and_images_say_what_to_do() {
    let tree = Tree::new();
    tree.put("scan.pdf", made::pdf(&[""]));
    assert_eq!(read(&tree, "scan.pdf").await, "1     <!-- markitdown: no text extracted -->");
    tree.put("a.png", "bytes");
    assert_eq!(
        read(&tree, "a.png").await,
        "1     <!-- markitdown: no text extracted -->\n\
         [... a.png is an image: look at it with workspace_view ...]"
    );
    tree.put("fake.docx", "no archive");
    assert!(refused(&tree, "fake.docx").await.contains("cannot be read as a Word document"));
}

/// Shouts the document.
#[derive(Debug)]
struct Shouting;

impl DocumentConverter for Shouting {
    fn name(&self) -> &'static str {
        "shouting"
    }

    fn convert(&self, data: &[u8], suffix: &str) -> Result<String, ConvertFault> {
        match suffix {
            ".xls" => panic!("an odd record"),
            _ => Ok(String::from_utf8_lossy(data).to_uppercase()),
        }
    }
}

async fn bind_shouting(tree: &Tree) -> BoundTools {
    let observer = Observer::unattached().with::<dyn DocumentConverter>(Arc::new(Shouting)).build();
    let factory = ToolFactory::new(vec![AnyCard::from(WorkspaceTool::at(tree.root()))]);
    factory.bind(&observer).await.expect("bound")
}

#[tokio::test]
async fn a_host_brings_its_own_converter_and_it_may_panic() {
    let tree = Tree::new();
    let text = "a text of fifty characters and more, white space aside, so that it counts";
    tree.put("a.pdf", text);
    tree.put("a.xls", text);
    let tools = bind_shouting(&tree).await;
    let page = call(&tools, "workspace_read", json!({"path": "a.pdf"})).await.expect("a page");
    assert_eq!(lines(&page), text.to_uppercase());
    let error =
        call(&tools, "workspace_read", json!({"path": "a.xls"})).await.expect_err("a panic");
    assert!(error.is_retriable() && error.to_string().contains("an odd record"), "{error}");
}

#[tokio::test]
async fn a_text_beside_a_document_counts_while_it_is_not_older() {
    let tree = Tree::new();
    let text = "a text of fifty characters and more, white space aside, so that it counts";
    tree.put("d/a.pdf", text);
    tree.put("d/.a.pdf.md", "beside");
    let tools = bind_shouting(&tree).await;
    let read = async |force: bool| {
        let args = json!({"path": "d/a.pdf", "force_document_regeneration": force});
        lines(&call(&tools, "workspace_read", args).await.expect("a page"))
    };
    assert_eq!(read(false).await, "beside");
    assert_eq!(read(true).await, text.to_uppercase());
    let older = SystemTime::now() - Duration::from_secs(100);
    let sidecar = std::fs::File::open(tree.root().join("d/.a.pdf.md")).expect("the text");
    sidecar.set_modified(older).expect("a time");
    assert_eq!(read(false).await, text.to_uppercase());
    // Another content under the same name is another document.
    tree.put("d/a.pdf", format!("{text} again"));
    assert_eq!(read(false).await, format!("{} AGAIN", text.to_uppercase()));
}
