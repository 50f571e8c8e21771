//! Resources: files a card brings along.

use akgentic_core::payload;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::FileError;
use crate::filesystem::Filesystem;

/// A file that is written into the workspace where nothing has its name yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "__model__", rename = "akgentic.tool.workspace.tool.Resource")]
pub struct Resource {
    /// Its path in the workspace.
    pub file_name: String,
    /// What `content` is.
    #[serde(default)]
    pub file_type: ResourceType,
    /// The text, or the bytes in base64.
    pub content: String,
}
payload!(Resource = "akgentic.tool.workspace.tool.Resource");

/// What the content of a [`Resource`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResourceType {
    /// Text.
    #[default]
    Text,
    /// Bytes in standard base64.
    Image,
}

/// Why a resource cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// Its name is no path below the workspace.
    #[error("resource {0:?}: name a file below the workspace, such as `notes/brief.md`")]
    Name(String),
    /// Its content is not base64.
    #[error("resource {name:?}: the content is not base64: {source}")]
    Base64 {
        /// Its name.
        name: String,
        /// What is wrong.
        source: base64::DecodeError,
    },
    /// It could not be written.
    #[error("resource {0}")]
    File(#[from] FileError),
}

impl Resource {
    /// The bytes of the file.
    pub fn bytes(&self) -> Result<Vec<u8>, ResourceError> {
        match self.file_type {
            ResourceType::Text => Ok(self.content.clone().into_bytes()),
            ResourceType::Image => {
                // Line breaks are usual in long base64 texts.
                let mut digits = self.content.clone();
                digits.retain(|digit| !digit.is_ascii_whitespace());
                let name = || self.file_name.clone();
                STANDARD
                    .decode(digits)
                    .map_err(|source| ResourceError::Base64 { name: name(), source })
            }
        }
    }

    /// Checks name and content, without looking at any file.
    pub fn check(&self) -> Result<(), ResourceError> {
        self.check_name()?;
        self.bytes().map(drop)
    }

    /// Checks that the name is a path below the workspace.
    pub(crate) fn check_name(&self) -> Result<(), ResourceError> {
        let checked = crate::location::check_name(&self.file_name);
        checked.map_err(|_| ResourceError::Name(self.file_name.clone()))
    }
}

/// Writes those resources whose names are free; everything is checked before anything is written.
pub(crate) fn seed(files: &Filesystem, resources: &[Resource]) -> Result<(), ResourceError> {
    for resource in resources {
        resource.check()?;
    }
    for resource in resources {
        if !files.exists(&resource.file_name)? {
            files.write(&resource.file_name, &resource.bytes()?)?;
        }
    }
    Ok(())
}
