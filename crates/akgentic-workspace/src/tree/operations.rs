//! The changes that tools make, each as one call.

use super::change::{Change, Stop};
use super::refused::file_refusal;
use super::{Tree, Verb, edits, patches, spill};
use crate::gate::{Code, Refusal};
use crate::models::EditItem;

impl Tree {
    /// Gives a file a whole content.
    pub fn write(&self, agent: &str, path: &str, content: &str) -> Result<(), Stop> {
        self.change(agent, Verb::Write, |change| change.write(path, content).map(drop))
    }

    /// Removes a file.
    pub fn delete(&self, agent: &str, path: &str) -> Result<(), Stop> {
        self.change(agent, Verb::Delete, |change| change.delete(path))
    }

    /// Replaces a text in a file; the answer is the diff.
    pub fn edit(&self, agent: &str, item: &EditItem) -> Result<String, Stop> {
        self.edit_unless(agent, item, &|| false)
    }

    /// [`Tree::edit`], given up when `is_cancelled` says so before anything is published.
    pub fn edit_unless(
        &self,
        agent: &str,
        item: &EditItem,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<String, Stop> {
        let items = std::slice::from_ref(item);
        let body = |change: &mut Change<'_>| edits::apply(change, items);
        let edits = self.change_unless(agent, Verb::Edit, is_cancelled, body)?;
        Ok(edits.answer(&format!("(no change) {}", item.path)))
    }

    /// Makes several replacements in order, all of them or none; the answer is the diffs.
    pub fn multi_edit(&self, agent: &str, items: &[EditItem]) -> Result<String, Stop> {
        self.multi_edit_unless(agent, items, &|| false)
    }

    /// [`Tree::multi_edit`], given up when `is_cancelled` says so before anything is published.
    pub fn multi_edit_unless(
        &self,
        agent: &str,
        items: &[EditItem],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<String, Stop> {
        let body = |change: &mut Change<'_>| edits::apply(change, items);
        let edits = self.change_unless(agent, Verb::MultiEdit, is_cancelled, body)?;
        Ok(edits.answer("(no changes applied)"))
    }

    /// Applies a unified diff, all of it or nothing; the answer has one line per file.
    pub fn patch(&self, agent: &str, text: &str) -> Result<String, Stop> {
        self.patch_unless(agent, text, &|| false)
    }

    /// [`Tree::patch`], given up when `is_cancelled` says so before anything is published.
    pub fn patch_unless(
        &self,
        agent: &str,
        text: &str,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<String, Stop> {
        let body = |change: &mut Change<'_>| patches::apply(change, text);
        self.change_unless(agent, Verb::Patch, is_cancelled, body)
    }

    /// Makes a directory, its parents included.
    pub fn mkdir(&self, path: &str) -> Result<(), Stop> {
        // Had to the end, so that no run begins meanwhile.
        let _turn = self.turn()?;
        self.free(&mut self.state())?;
        if let Some(journal) = &self.journal {
            journal.look();
        }
        let rel = self.files.root().resolve(path).map_err(|error| file_refusal(&error))?;
        if spill::is_reserved(&rel) {
            return Err(Refusal::new(Code::Reserved, path).into());
        }
        match self.files.mkdir(path) {
            Ok(_) => Ok(()),
            Err(error) => Err(file_refusal(&error).into()),
        }
    }
}
