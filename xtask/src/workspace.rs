//! What cargo says about this workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{MetadataCommand, Package, TargetKind};

/// Our packages and where they are.
pub(crate) struct Workspace {
    /// Folder of the root manifest.
    pub root: PathBuf,
    /// Where cargo puts what it builds.
    pub target: PathBuf,
    /// Our packages, by name.
    pub members: Vec<Package>,
}

impl Workspace {
    /// Asks cargo, without resolving any dependency.
    pub(crate) fn load() -> Result<Self> {
        let here = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let metadata = MetadataCommand::new()
            .manifest_path(here.join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("cargo metadata failed")?;
        let mut members = metadata.packages;
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
            members,
        })
    }

    /// A path as seen from the root, with forward slashes.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }

    /// The folder of a package as seen from the root.
    pub(crate) fn folder(&self, package: &Package) -> String {
        let manifest = package.manifest_path.as_std_path();
        self.relative(manifest.parent().unwrap_or(manifest))
    }
}

/// The root file of a package's library, if it has one.
pub(crate) fn library(package: &Package) -> Option<&Path> {
    package
        .targets
        .iter()
        .find(|target| target.kind.iter().any(|kind| matches!(kind, TargetKind::Lib)))
        .map(|target| target.src_path.as_std_path())
}
