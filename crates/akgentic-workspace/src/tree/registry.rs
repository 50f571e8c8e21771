//! One owner per tree and process, whatever path and team it is reached by.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use super::{Tree, TreeError, TreeOptions};
use crate::filesystem::Filesystem;

/// Device and number of a root.
type Identity = (u64, u64);

/// The owners that live; what a tree is does not depend on who asks, so this is one per process.
static OWNERS: LazyLock<Mutex<HashMap<Identity, Weak<Tree>>>> = LazyLock::new(Mutex::default);

/// The owner of a tree; the first one to ask decides on its options.
pub(super) fn open(files: Filesystem, options: TreeOptions) -> Result<Arc<Tree>, TreeError> {
    let identity = files.root().directory().identity().map_err(std::io::Error::from)?;
    // Held while the owner is made, so that there is never a second one.
    let mut owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tree) = owners.get(&identity).and_then(Weak::upgrade) {
        return Ok(tree);
    }
    owners.retain(|_, owner| owner.strong_count() > 0);
    let tree = Arc::new(Tree::new(files, options));
    owners.insert(identity, Arc::downgrade(&tree));
    Ok(tree)
}
