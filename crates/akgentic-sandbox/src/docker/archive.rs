//! A tar archive of one file, as the engine takes what an image is built from.

const BLOCK: usize = 512;

/// The archive of a file; names are at most 100 bytes, sizes below 8 GiB.
pub(super) fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    archive
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn tar_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tar = Command::new("tar");
        tar.args(["-x", "-f", "-", "-C"]).arg(folder.path()).stdin(Stdio::piped());
        let mut tar = tar.spawn().expect("tar");
        let content = "FROM scratch\n".repeat(100);
        let mut input = tar.stdin.take().expect("a pipe");
        input.write_all(&archive("Dockerfile", content.as_bytes())).expect("written");
        drop(input);
        assert!(tar.wait().expect("tar").success());
        let found = std::fs::read_to_string(folder.path().join("Dockerfile")).expect("a file");
        assert_eq!(found, content);
    }
}
