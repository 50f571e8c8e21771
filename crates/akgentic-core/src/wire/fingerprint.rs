//! Telling whether a record changed, without keeping a copy.

use std::hash::{DefaultHasher, Hasher as _};
use std::io;

use super::Record;

/// A hash of the record's type and of everything it would write.
///
/// Equal records have equal fingerprints within one program; a field that is a hash map breaks
/// this, because it is written in no fixed order.
pub fn fingerprint(record: &dyn Record) -> u64 {
    let mut hashing = Hashing(DefaultHasher::new());
    hashing.0.write(record.type_path().as_bytes());
    if let Err(error) = record.write_json(&mut hashing) {
        tracing::error!(class = record.type_path(), %error, "a record cannot be written");
    }
    hashing.0.finish()
}

struct Hashing(DefaultHasher);

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
