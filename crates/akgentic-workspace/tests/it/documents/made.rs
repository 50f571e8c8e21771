//! Small documents, made here.

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

pub(crate) fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, SimpleFileOptions::default()).expect("a part");
        writer.write_all(text.as_bytes()).expect("its text");
    }
    writer.finish().expect("an archive").into_inner()
}

const XML: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";

fn relations(entries: &[(&str, &str, &str)]) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(id, kind, target)| {
            format!(r#"<Relationship Id="{id}" Type="{RELATIONS}/{kind}" Target="{target}"/>"#)
        })
        .collect();
    format!(
        r#"{XML}<Relationships xmlns="{PACKAGE}/relationships">{}</Relationships>"#,
        entries.concat()
    )
}

fn content_types(parts: &[(&str, &str)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, kind)| {
            let kind = format!("application/vnd.openxmlformats-officedocument.{kind}+xml");
            format!(r#"<Override PartName="{name}" ContentType="{kind}"/>"#)
        })
        .collect();
    format!(
        r#"{XML}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>{}</Types>"#,
        parts.concat()
    )
}

/// A Word document: a heading, a paragraph and a table.
pub(crate) fn docx(paragraph: &str) -> Vec<u8> {
    let run = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", run(text));
    let row = |cells: [&str; 2]| format!("<w:tr>{}{}</w:tr>", cell(cells[0]), cell(cells[1]));
    let body = format!(
        r#"<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Yearly report</w:t></w:r></w:p>{}<w:tbl>{}{}</w:tbl>"#,
        run(paragraph),
        row(["Region", "Sales"]),
        row(["North", "42"]),
    );
    docx_of(&body)
}

/// A Word document of this body.
pub(crate) fn docx_of(body: &str) -> Vec<u8> {
    zipped(&[
        (
            "[Content_Types].xml",
            &content_types(&[
                ("/word/document.xml", "wordprocessingml.document.main"),
                ("/word/styles.xml", "wordprocessingml.styles"),
            ]),
        ),
        ("_rels/.rels", &relations(&[("rId1", "officeDocument", "word/document.xml")])),
        ("word/_rels/document.xml.rels", &relations(&[("rId1", "styles", "styles.xml")])),
        (
            "word/styles.xml",
            &format!(
                r#"{XML}<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></w:styles>"#
            ),
        ),
        (
            "word/document.xml",
            &format!(
                r#"{XML}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>"#
            ),
        ),
    ])
}

/// An Excel workbook of two sheets.
pub(crate) fn xlsx() -> Vec<u8> {
    const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let sheet = |rows: &[[&str; 2]]| {
        let rows: Vec<String> = rows
            .iter()
            .enumerate()
            .map(|(index, cells)| {
                let number = index + 1;
                let [a, b] =
                    cells.map(|text| format!(r#"t="inlineStr"><is><t>{text}</t></is></c>"#));
                format!(r#"<row r="{number}"><c r="A{number}" {a}<c r="B{number}" {b}</row>"#)
            })
            .collect();
        format!(
            r#"{XML}<worksheet xmlns="{SHEET}"><sheetData>{}</sheetData></worksheet>"#,
            rows.concat()
        )
    };
    zipped(&[
        (
            "[Content_Types].xml",
            &content_types(&[
                ("/xl/workbook.xml", "spreadsheetml.sheet.main"),
                ("/xl/worksheets/sheet1.xml", "spreadsheetml.worksheet"),
                ("/xl/worksheets/sheet2.xml", "spreadsheetml.worksheet"),
            ]),
        ),
        ("_rels/.rels", &relations(&[("rId1", "officeDocument", "xl/workbook.xml")])),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(&[
                ("rId1", "worksheet", "worksheets/sheet1.xml"),
                ("rId2", "worksheet", "worksheets/sheet2.xml"),
            ]),
        ),
        (
            "xl/workbook.xml",
            &format!(
                r#"{XML}<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets><sheet name="Costs" sheetId="1" r:id="rId1"/><sheet name="People" sheetId="2" r:id="rId2"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            &sheet(&[["Item", "Price"], ["Paper, white and thick", "12.50"]]),
        ),
        ("xl/worksheets/sheet2.xml", &sheet(&[["Name", "Role"], ["Ada Lovelace", "Programmer"]])),
    ])
}

/// A presentation of two slides.
pub(crate) fn pptx() -> Vec<u8> {
    const DRAWING: &str = "http://schemas.openxmlformats.org/drawingml/2006/main";
    const SLIDES: &str = "http://schemas.openxmlformats.org/presentationml/2006/main";
    let shape = |kind: &str, text: &str| {
        format!(
            r#"<p:sp><p:nvSpPr><p:cNvPr id="2" name="s"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"#
        )
    };
    let slide = |title: &str, text: &str| {
        format!(
            r#"{XML}<p:sld xmlns:p="{SLIDES}" xmlns:a="{DRAWING}" xmlns:r="{RELATIONS}"><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{}{}</p:spTree></p:cSld></p:sld>"#,
            shape("title", title),
            shape("body", text),
        )
    };
    zipped(&[
        (
            "[Content_Types].xml",
            &content_types(&[
                ("/ppt/presentation.xml", "presentationml.presentation.main"),
                ("/ppt/slides/slide1.xml", "presentationml.slide"),
                ("/ppt/slides/slide2.xml", "presentationml.slide"),
            ]),
        ),
        ("_rels/.rels", &relations(&[("rId1", "officeDocument", "ppt/presentation.xml")])),
        (
            "ppt/_rels/presentation.xml.rels",
            &relations(&[
                ("rId1", "slide", "slides/slide1.xml"),
                ("rId2", "slide", "slides/slide2.xml"),
            ]),
        ),
        (
            "ppt/presentation.xml",
            &format!(
                r#"{XML}<p:presentation xmlns:p="{SLIDES}" xmlns:r="{RELATIONS}"><p:sldIdLst><p:sldId id="256" r:id="rId1"/><p:sldId id="257" r:id="rId2"/></p:sldIdLst></p:presentation>"#
            ),
        ),
        ("ppt/slides/slide1.xml", &slide("Plan for the spring", "Plant the apple trees")),
        ("ppt/slides/slide2.xml", &slide("Plan for the autumn", "Harvest what has grown")),
    ])
}

/// A book of two chapters, the second first in its archive.
pub(crate) fn epub() -> Vec<u8> {
    let chapter = |title: &str, text: &str| {
        format!(
            "<html><head><title>x</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
        )
    };
    zipped(&[
        ("mimetype", "application/epub+zip"),
        (
            "META-INF/container.xml",
            r#"<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>"#,
        ),
        ("OEBPS/two.xhtml", &chapter("Chapter two", "The end &amp; nothing more.")),
        ("OEBPS/text/one 1.xhtml", &chapter("Chapter one", "It was a <em>dark</em> night.")),
        (
            "OEBPS/content.opf",
            r#"<package xmlns:dc="x"><metadata><dc:title>Nights &amp; days</dc:title><dc:creator>A. Writer</dc:creator></metadata><manifest><item id="b" href="two.xhtml"/><item id="a" href="text/one%201.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/><itemref idref="gone"/></spine></package>"#,
        ),
    ])
}

/// A message with an attachment.
pub(crate) fn msg() -> Vec<u8> {
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).expect("a file");
    let mut put = |path: &str, bytes: &[u8]| {
        file.create_stream(path).expect("a stream").write_all(bytes).expect("bytes");
    };
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let mut table = vec![0; 32];
    // The code page, and the time it was sent: 2024-02-03 04:05:06.
    table.extend([0x03, 0, 0xFD, 0x3F, 0, 0, 0, 0]);
    table.extend(1252u64.to_le_bytes());
    table.extend([0x40, 0, 0x39, 0, 0, 0, 0, 0]);
    table.extend(((1_706_933_106u64 + 11_644_473_600) * 10_000_000).to_le_bytes());
    put("/__properties_version1.0", &table);
    put("/__substg1.0_0037001F", &wide("Lunch ─ tomorrow"));
    put("/__substg1.0_0C1A001E", b"Ren\xE9\0");
    put("/__substg1.0_5D01001F", &wide("rene@example.org"));
    put("/__substg1.0_0E04001F", &wide("Zoë"));
    put(
        "/__substg1.0_10130102",
        b"<html><body><p>At <b>noon</b>,<br>in the caf\xE9.</p></body></html>",
    );
    file.create_storage("/__attach_version1.0_#00000000").expect("a storage");
    let name = "/__attach_version1.0_#00000000/__substg1.0_3707001F";
    let mut stream = file.create_stream(name).expect("a stream");
    stream.write_all(&wide("menu.pdf")).expect("a name");
    drop(stream);
    file.flush().expect("a file");
    file.into_inner().into_inner()
}

/// A PDF whose pages show these lines.
pub(crate) fn pdf(pages: &[&str]) -> Vec<u8> {
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
    let mut objects =
        vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), String::new(), font.to_owned()];
    let mut kids = Vec::new();
    for text in pages {
        let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
        let content = objects.len();
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
        kids.push(format!("{} 0 R", objects.len()));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len());
    pdf_of(&objects)
}

/// A PDF of these objects, the first of which is its catalogue.
pub(crate) fn pdf_of(objects: &[String]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).into_bytes());
    }
    let start = bytes.len();
    bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
    for place in places {
        bytes.extend(format!("{place:010} 00000 n \n").into_bytes());
    }
    let size = objects.len() + 1;
    bytes.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n")
            .into_bytes(),
    );
    bytes
}
