//! A folder with a workspace in it, and things around that no agent may reach.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use akgentic_workspace::tree::{Tree as Owner, TreeOptions};
use akgentic_workspace::{Filesystem, Root, UNATTACHED};
use tempfile::TempDir;

/// `outer/{ws,ws2/secret,etc/secret}`; the workspace is `ws`.
pub(crate) struct Tree {
    outer: TempDir,
}

pub(crate) const SECRET: &str = "the secret of others\n";

impl Tree {
    pub(crate) fn new() -> Self {
        let outer = tempfile::tempdir().expect("a folder");
        let tree = Self { outer };
        for folder in ["ws", "ws2", "etc"] {
            fs::create_dir(tree.outside(folder)).expect("a folder");
        }
        fs::write(tree.outside("ws2/secret"), SECRET).expect("a file");
        fs::write(tree.outside("etc/secret"), SECRET).expect("a file");
        tree
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outside("ws")
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.outer.path().join(path)
    }

    pub(crate) fn files(&self) -> Filesystem {
        Filesystem::new(Root::open(self.root()).expect("the root"))
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("parents");
        fs::write(path, content).expect("a file");
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.root().join(path)).expect("a link");
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).expect("a file")
    }

    /// Lets the tools of a card that was bound without an agent know the whole of these files.
    ///
    /// What is seen is remembered as long as a bound tool or what this gives back is there.
    pub(crate) fn see(&self, paths: &[&str]) -> Arc<Owner> {
        let owner = Owner::open(self.files(), TreeOptions::default()).expect("an owner");
        for path in paths {
            owner.read(UNATTACHED, path).expect("a file");
        }
        owner
    }

    /// Everything outside the workspace, as it was made.
    pub(crate) fn assert_outside_untouched(&self) {
        for folder in ["ws2", "etc"] {
            let names = fs::read_dir(self.outside(folder)).expect("the folder");
            let names: Vec<_> = names.map(|entry| entry.expect("a name").file_name()).collect();
            assert_eq!(names, ["secret"], "in {folder}");
            let secret = fs::read_to_string(self.outside(folder).join("secret"));
            assert_eq!(secret.expect("the secret"), SECRET);
        }
    }
}
