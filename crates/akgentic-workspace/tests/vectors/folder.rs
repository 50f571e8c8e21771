//! The folder a case starts from, and what is in it afterwards.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use akgentic_workspace::tree::{Tree, TreeOptions};
use akgentic_workspace::{Filesystem, Root, UNATTACHED, is_staging_name};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Folder {
    outer: TempDir,
}

impl Folder {
    /// A root named `ws` with this tree in it, and siblings with secrets.
    pub(crate) fn new(tree: &Value) -> Self {
        Self::with_outside(tree, &Value::Null)
    }

    /// [`Folder::new`] with more files beside the root.
    pub(crate) fn with_outside(tree: &Value, outside: &Value) -> Self {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = Self { outer };
        fs::create_dir(folder.root()).expect("the root");
        for sibling in ["ws2", "wsx"] {
            fs::create_dir(folder.outer.path().join(sibling)).expect("a sibling");
            fs::write(folder.outer.path().join(sibling).join("secret"), "x").expect("a secret");
        }
        for entry in tree.as_array().into_iter().flatten() {
            folder.make(&folder.root(), entry);
        }
        for entry in outside.as_array().into_iter().flatten() {
            folder.make(folder.outer.path(), entry);
        }
        folder
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outer.path().join("ws")
    }

    /// Lets the tools of a card that was bound without an agent know every file that can be read.
    pub(crate) fn see_all(&self) -> Arc<Tree> {
        let tree = Tree::open(self.files(), TreeOptions::default()).expect("an owner");
        let mut ahead = vec![self.root()];
        while let Some(next) = ahead.pop() {
            for entry in fs::read_dir(next).expect("a directory") {
                let entry = entry.expect("an entry");
                let path = entry.path();
                if entry.file_type().expect("a kind").is_dir() {
                    ahead.push(path);
                } else if let Some(path) = path.to_str() {
                    // Special files and links that lead nowhere are seen by nobody.
                    drop(tree.read(UNATTACHED, path));
                }
            }
        }
        tree
    }

    pub(crate) fn files(&self) -> Filesystem {
        Filesystem::new(Root::open(self.root()).expect("the root"))
    }

    /// A text of a case with `<ROOT>` filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("<ROOT>", self.root().to_str().expect("text"))
    }

    fn make(&self, below: &Path, entry: &Value) {
        let path = below.join(entry["path"].as_str().expect("a path"));
        fs::create_dir_all(path.parent().expect("a parent")).expect("parents");
        match entry["type"].as_str() {
            Some("dir") => fs::create_dir_all(&path).expect("a directory"),
            Some("symlink") => {
                let target = self.fill(entry["target"].as_str().expect("a target"));
                symlink(target, &path).expect("a link");
            }
            _ => fs::write(&path, content(entry)).expect("a file"),
        }
        if let Some(mode) = entry["mode"].as_str() {
            let mode = u32::from_str_radix(mode, 8).expect("a mode");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        if let Some(seconds) = entry["mtime"].as_u64() {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            let file = fs::File::open(&path).expect("the file");
            file.set_modified(time).expect("a time");
        }
    }

    /// Files, links and empty directories, by path, as in the cases.
    pub(crate) fn tree(&self) -> Value {
        let mut entries = Vec::new();
        collect(&self.root(), Path::new(""), &mut entries);
        entries.sort_by(|one, other| one["path"].as_str().cmp(&other["path"].as_str()));
        Value::Array(entries)
    }

    pub(crate) fn mode(&self, path: &str) -> String {
        let mode = fs::metadata(self.root().join(path)).expect("metadata").permissions().mode();
        format!("{:o}", mode & 0o7777)
    }

    pub(crate) fn staging_left(&self) -> usize {
        let mut entries = Vec::new();
        collect(self.outer.path(), Path::new(""), &mut entries);
        let names = entries.iter().filter_map(|entry| entry["path"].as_str()?.rsplit('/').next());
        names.filter(|name| is_staging_name(name)).count()
    }
}

/// The bytes that `content` or `content_b64` of an entry stands for.
pub(crate) fn content(entry: &Value) -> Vec<u8> {
    if let Some(text) = entry["content_b64"].as_str().or_else(|| entry["b64"].as_str()) {
        return decode_base64(text);
    }
    match &entry["content"] {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Null => Vec::new(),
        nested if nested.get("repeat").is_some() => {
            let text = nested["repeat"].as_str().expect("a text");
            let times = usize::try_from(nested["times"].as_u64().expect("times")).expect("times");
            text.repeat(times).into_bytes()
        }
        nested => content(nested),
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| ALPHABET.iter().position(|digit| *digit == byte));
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0usize, 0);
    for digit in digits {
        held = held << 6 | digit;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xFF).expect("a byte"));
        }
    }
    bytes
}

fn collect(folder: &Path, below: &Path, entries: &mut Vec<Value>) {
    for entry in fs::read_dir(folder).expect("a directory") {
        let entry = entry.expect("an entry");
        let path = below.join(entry.file_name());
        let name = path.to_str().expect("text");
        let kind = entry.file_type().expect("a kind");
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).expect("a target");
            entries.push(json!({"path": name, "type": "symlink", "target": target}));
        } else if kind.is_dir() {
            if fs::read_dir(entry.path()).expect("a directory").next().is_none() {
                entries.push(json!({"path": name, "type": "dir"}));
            }
            collect(&entry.path(), &path, entries);
        } else {
            let bytes = fs::read(entry.path()).expect("a file");
            match String::from_utf8(bytes) {
                Ok(text) => entries.push(json!({"path": name, "content": text})),
                Err(bad) => {
                    let coded = STANDARD.encode(bad.as_bytes());
                    entries.push(json!({"path": name, "content_b64": coded}));
                }
            }
        }
    }
}
