//! A folder with a workspace in it, and things around that no agent may reach.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use akgentic_workspace::{Filesystem, Root};
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
        Filesystem::new(Root::open(&self.root()).expect("the root"))
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
