//! Outlook messages: properties in the streams of a compound file.

use std::fmt::Write as _;
use std::io::{Cursor, Read as _};

use cfb::CompoundFile;
use encoding_rs::{Encoding, UTF_8, UTF_16LE, WINDOWS_1252};
use jiff::Timestamp;

use super::{ConvertFault, html};

const KIND: &str = "Outlook message";

/// Most bytes of one property.
const PROPERTY_MAX: u64 = 16 << 20;

/// Most attachments that are named.
const ATTACHMENTS_MAX: usize = 200;

/// Bytes before the entries of the table of properties of a message, and of an attachment.
const MESSAGE_HEAD: usize = 32;

/// Seconds from 1601, where times of messages begin, to 1970.
const FROM_1601: i64 = 11_644_473_600;

const SUBJECT: u16 = 0x0037;
const SENT_AT: u16 = 0x0039;
const RECEIVED_AT: u16 = 0x0E06;
const SENDER_NAME: u16 = 0x0C1A;
const SENDER_ADDRESS: u16 = 0x5D01;
const SENDER_PLAIN_ADDRESS: u16 = 0x0C1F;
const TO: u16 = 0x0E04;
const CC: u16 = 0x0E03;
const BODY: u16 = 0x1000;
const HTML_BODY: u16 = 0x1013;
const RTF_BODY: u16 = 0x1009;
const CODE_PAGE: u16 = 0x3FFD;
const INTERNET_CODE_PAGE: u16 = 0x3FDE;
const ATTACHMENT_LONG_NAME: u16 = 0x3707;
const ATTACHMENT_NAME: u16 = 0x3704;

/// The Markdown of a message: subject, people and time, then its text and what is attached.
pub(super) fn markdown(data: &[u8]) -> Result<String, ConvertFault> {
    let mut message = Message::open(data)?;
    let mut text =
        format!("# {}\n", message.text("", SUBJECT).unwrap_or("(no subject)".to_owned()));
    let address = message
        .text("", SENDER_ADDRESS)
        .or_else(|| message.text("", SENDER_PLAIN_ADDRESS).filter(|address| address.contains('@')));
    let from = match (message.text("", SENDER_NAME), address) {
        (Some(name), Some(address)) if name != address => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address),
    };
    let sent = message.time(SENT_AT).or_else(|| message.time(RECEIVED_AT));
    for (label, value) in
        [("From", from), ("To", message.text("", TO)), ("Cc", message.text("", CC)), ("Date", sent)]
    {
        if let Some(value) = value {
            _ = write!(text, "\n**{label}:** {value}");
        }
    }
    text.push_str("\n\n");
    text.push_str(&message.body());
    let attached = message.attachments();
    if !attached.is_empty() {
        text.push_str("\n\n## Attachments\n");
        for name in attached {
            _ = write!(text, "\n- {name}");
        }
    }
    Ok(text)
}

struct Message<'d> {
    file: CompoundFile<Cursor<&'d [u8]>>,
    encoding: &'static Encoding,
    /// The table of fixed properties.
    table: Vec<u8>,
}

impl<'d> Message<'d> {
    fn open(data: &'d [u8]) -> Result<Self, ConvertFault> {
        let file = CompoundFile::open(Cursor::new(data));
        let file = file.map_err(|error| ConvertFault::unreadable(KIND, error))?;
        let mut message = Self { file, encoding: WINDOWS_1252, table: Vec::new() };
        let table = message.stream("/__properties_version1.0");
        message.table =
            table.ok_or_else(|| ConvertFault::unreadable(KIND, "it has no properties"))?;
        if let Some(code_page) = message.number(CODE_PAGE) {
            message.encoding = encoding_of(code_page);
        }
        Ok(message)
    }

    fn stream(&mut self, path: &str) -> Option<Vec<u8>> {
        let stream = self.file.open_stream(path).ok()?;
        let mut bytes = Vec::new();
        stream.take(PROPERTY_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// A property of text below a storage, which is the message itself when empty.
    fn text(&mut self, storage: &str, property: u16) -> Option<String> {
        let base = format!("{storage}/__substg1.0_{property:04X}");
        let text = if let Some(bytes) = self.stream(&format!("{base}001F")) {
            UTF_16LE.decode_without_bom_handling(&bytes).0.into_owned()
        } else {
            let bytes = self.stream(&format!("{base}001E"))?;
            self.encoding.decode_without_bom_handling(&bytes).0.into_owned()
        };
        let text =
            text.trim_matches(|character: char| character == '\0' || character.is_whitespace());
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The eight bytes of a property of fixed size.
    fn fixed(&self, property: u16, kind: u16) -> Option<[u8; 8]> {
        let tag = (u32::from(property) << 16 | u32::from(kind)).to_le_bytes();
        let entries = self.table.get(MESSAGE_HEAD..)?;
        let entry = entries.chunks_exact(16).find(|entry| entry.starts_with(&tag))?;
        entry.get(8..)?.try_into().ok()
    }

    fn number(&self, property: u16) -> Option<u32> {
        let [a, b, c, d, ..] = self.fixed(property, 0x0003)?;
        Some(u32::from_le_bytes([a, b, c, d]))
    }

    fn time(&self, property: u16) -> Option<String> {
        let ticks = i64::from_le_bytes(self.fixed(property, 0x0040)?);
        let time = Timestamp::from_second(ticks / 10_000_000 - FROM_1601).ok()?;
        Some(time.to_string())
    }

    fn body(&mut self) -> String {
        if let Some(text) = self.text("", BODY) {
            return text.replace("\r\n", "\n");
        }
        if let Some(page) = self.text("", HTML_BODY) {
            return html::markdown(&page);
        }
        let base = format!("/__substg1.0_{HTML_BODY:04X}0102");
        if let Some(page) = self.stream(&base) {
            let encoding = self.number(INTERNET_CODE_PAGE).map_or(self.encoding, encoding_of);
            return html::markdown(&encoding.decode(&page).0);
        }
        if self.stream(&format!("/__substg1.0_{RTF_BODY:04X}0102")).is_some() {
            return "<!-- the text of the message is there as RTF only, which is not read -->"
                .to_owned();
        }
        String::new()
    }

    fn attachments(&mut self) -> Vec<String> {
        let storages: Vec<String> = self
            .file
            .read_root_storage()
            .filter(|entry| entry.is_storage() && entry.name().starts_with("__attach_version1.0_"))
            .map(|entry| format!("/{}", entry.name()))
            .take(ATTACHMENTS_MAX)
            .collect();
        let names = storages.iter().filter_map(|storage| {
            self.text(storage, ATTACHMENT_LONG_NAME).or_else(|| self.text(storage, ATTACHMENT_NAME))
        });
        names.collect()
    }
}

/// The encoding that a code page of Windows stands for.
fn encoding_of(code_page: u32) -> &'static Encoding {
    let label = match code_page {
        65001 => return UTF_8,
        1200 => return UTF_16LE,
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        20866 => "koi8-r".to_owned(),
        21866 => "koi8-u".to_owned(),
        28591..=28605 => format!("iso-8859-{}", code_page - 28590),
        50220..=50222 => "iso-2022-jp".to_owned(),
        51932 => "euc-jp".to_owned(),
        54936 => "gb18030".to_owned(),
        other => format!("windows-{other}"),
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
}
