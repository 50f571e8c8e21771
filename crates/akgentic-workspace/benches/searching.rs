//! Searches over ten thousand files in 220 directories; beside ripgrep's own program where it is.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use akgentic_workspace::glob::{Pattern, find_files};
use akgentic_workspace::grep::{Query, search};
use akgentic_workspace::{Filesystem, Root};
use criterion::{Criterion, criterion_group, criterion_main};

fn tree(root: &Path) {
    let line = "    value = compute(argument_one, argument_two)  # step\n";
    for folder in 0..200 {
        let path = root.join(format!("d{}/s{folder}", folder % 20));
        fs::create_dir_all(&path).unwrap();
        for file in 0..50 {
            let suffix = ["py", "rs", "ts", "md", "json"][file % 5];
            let mut text = line.repeat(30);
            if folder % 10 == 0 && file == 7 {
                text.push_str("a needle in it\n");
            }
            fs::write(path.join(format!("f{file}.{suffix}")), text).unwrap();
        }
    }
}

fn searches(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let files = Filesystem::new(Root::open(folder.path()).unwrap());
    for (name, pattern) in [
        ("glob **/*.py, 10000 files", "**/*.py"),
        ("glob **/*.{py,rs}, 10000 files", "**/*.{py,rs}"),
        ("glob **, 10000 files", "**"),
    ] {
        let pattern = Pattern::new(pattern).unwrap();
        c.bench_function(name, |b| {
            b.iter(|| find_files(&files, &pattern, "", 100, &|| false).unwrap());
        });
    }
    let has_ripgrep = Command::new("rg").arg("--version").output().is_ok();
    for (name, pattern) in [
        ("20 matches", "needle"),
        ("no match", "haystack"),
        ("a class, no match", r"\w+_three\b"),
        ("every line", "compute"),
    ] {
        let query =
            Query { pattern, path: "", include: "", max_results: 100, max_line_length: 2000 };
        let found = search(&files, &query, &|| false).unwrap();
        c.bench_function(&format!("grep {name}, 10000 files"), |b| {
            b.iter(|| search(&files, &query, &|| false).unwrap());
        });
        if !has_ripgrep {
            println!("rg is not here: nothing to compare with");
            continue;
        }
        let ripgrep = || {
            Command::new("rg")
                .args([
                    "--hidden",
                    "--no-ignore",
                    "--glob",
                    "!.git",
                    "--line-number",
                    "--no-heading",
                ])
                .args(["-e", pattern, "."])
                .current_dir(folder.path())
                .output()
                .unwrap()
        };
        let lines = String::from_utf8(ripgrep().stdout).unwrap().lines().count();
        assert_eq!(u64::try_from(lines).unwrap(), found.total, "{pattern}");
        c.bench_function(&format!("rg {name}, 10000 files"), |b| b.iter(ripgrep));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = searches
}
criterion_main!(benches);
