//! The journal: history that nothing in the tree and nobody's git can bend.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_workspace::journal::{JournalState, ScanLimits};
use akgentic_workspace::lease::ExecOutcome;
use akgentic_workspace::tree::{RunSettings, Stop, Tree, TreeOptions};
use akgentic_workspace::{Filesystem, Root};

const PATIENCE: Duration = Duration::from_secs(30);

struct Place {
    outer: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let outer = tempfile::tempdir().expect("a folder");
        fs::create_dir(outer.path().join("tree")).expect("the root");
        Self { outer }
    }

    fn root(&self) -> PathBuf {
        self.outer.path().join("tree")
    }

    fn git_dir(&self) -> PathBuf {
        self.outer.path().join("tree.git")
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("parents");
        fs::write(path, content).expect("a file");
    }

    fn tree(&self, limits: ScanLimits) -> Arc<Tree> {
        let files = Filesystem::new(Root::open(self.root()).expect("the root"));
        let options = TreeOptions { journal: Some(limits), ..TreeOptions::default() };
        let tree = Tree::open(files, options).expect("an owner");
        assert!(tree.settle_journal(PATIENCE));
        tree
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(self.git_dir())
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn subjects(&self) -> Vec<String> {
        self.git(&["log", "--reverse", "--format=%an %s"]).lines().map(str::to_owned).collect()
    }
}

fn script(path: &Path, marker: &Path) {
    fs::write(path, format!("#!/bin/sh\ntouch {}\n", marker.display())).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
fn field_c18_no_hook_filter_signature_or_setting_takes_part() {
    let place = Place::new();
    let marker = place.outer.path().join("pwned");
    let evil = place.outer.path().join("evil");
    script(&evil, &marker);
    let evil = evil.to_str().expect("text").to_owned();
    place.git(&["init", "-q", "-b", "master"]);
    for (key, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.program", evil.as_str()),
        ("core.fsmonitor", evil.as_str()),
        ("core.hooksPath", place.outer.path().join("hooks").to_str().expect("text")),
        ("core.autocrlf", "input"),
        ("filter.evil.clean", evil.as_str()),
        ("filter.evil.process", evil.as_str()),
        ("filter.evil.required", "true"),
        ("core.worktree", "/"),
    ] {
        place.git(&["config", key, value]);
    }
    for hooks in [place.outer.path().join("hooks"), place.git_dir().join("hooks")] {
        fs::create_dir_all(&hooks).expect("a directory");
        for hook in ["pre-commit", "post-commit", "reference-transaction", "post-index-change"] {
            script(&hooks.join(hook), &marker);
        }
    }
    // A killed git of somebody has left its lock; the journal has no use for that index.
    fs::write(place.git_dir().join("index.lock"), "").expect("a file");
    place.put(".gitattributes", "* filter=evil text eol=lf ident\n");

    let tree = place.tree(ScanLimits::default());
    tree.write("id", "f.txt", "$Id$\r\n").expect("a write");
    assert!(tree.settle_journal(PATIENCE));
    assert_eq!(tree.journal().state, JournalState::On);
    assert_eq!(place.git(&["-c", "core.worktree=", "cat-file", "blob", "HEAD:f.txt"]), "$Id$\r\n");
    assert_eq!(
        place.subjects(),
        ["out-of-band out-of-band: changes from outside the tools", "id write: f.txt"]
    );
    assert!(!marker.exists(), "something ran");
}

#[test]
fn field_a17_a_locked_branch_delays_history_and_no_write() {
    let place = Place::new();
    let tree = place.tree(ScanLimits::default());
    let lock = place.git_dir().join("refs/heads/master.lock");
    fs::write(&lock, "").expect("a lock");
    tree.write("a", "f", "1\n").expect("a write");
    assert!(tree.settle_journal(PATIENCE));
    assert_eq!(tree.journal().lost, 1);
    assert!(lock.exists(), "the lock is somebody's");
    fs::remove_file(&lock).expect("a lock");
    tree.write("a", "g", "1\n").expect("a write");
    assert!(tree.settle_journal(PATIENCE));
    let subjects = place.subjects();
    assert_eq!(subjects.last().map(String::as_str), Some("a write: g"));
    assert_eq!(place.git(&["cat-file", "blob", "HEAD:f"]), "1\n");
    place.git(&["fsck", "--strict"]);
}

#[test]
fn many_failures_turn_the_journal_off_and_the_gate_works_on() {
    let place = Place::new();
    let tree = place.tree(ScanLimits::default());
    fs::remove_dir_all(place.git_dir()).expect("a directory");
    fs::write(place.git_dir(), "no repository").expect("a file");
    for round in 0..8 {
        tree.write("a", "f", &format!("{round}\n")).expect("a write");
        assert!(tree.settle_journal(PATIENCE));
    }
    let report = tree.journal();
    assert!(matches!(report.state, JournalState::Off(_)), "{report:?}");
    assert_eq!(fs::read_to_string(place.root().join("f")).expect("text"), "7\n");
}

#[test]
fn a_place_that_is_taken_means_no_journal_and_why() {
    let place = Place::new();
    fs::create_dir(place.git_dir()).expect("a directory");
    let tree = place.tree(ScanLimits::default());
    tree.write("a", "f", "1\n").expect("a write");
    let state = tree.journal().state;
    assert!(
        matches!(&state, JournalState::Off(reason) if reason.contains("no repository")),
        "{state}"
    );
}

#[test]
fn field_a19_large_files_and_nested_repositories_are_passed_over() {
    let place = Place::new();
    place.put("large", &"x".repeat(2000));
    place.put("nested/.git/HEAD", "ref: refs/heads/main\n");
    place.put("nested/a", "1\n");
    place.put("node_modules/m/index.js", "1\n");
    let tree = place.tree(ScanLimits { file_bytes: 1000, ..ScanLimits::default() });
    assert_eq!(tree.journal().skipped.large, 1);
    let names = place.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(names.lines().any(|name| name == "nested/a"), "{names}");
    assert!(!names.contains(".git/") && !names.contains("node_modules"), "{names}");
    assert!(!names.contains("large"), "{names}");
    // A declared write of that size is made, and counted as not recorded.
    tree.write("a", "big", &"y".repeat(2000)).expect("a write");
    assert!(tree.settle_journal(PATIENCE));
    assert_eq!(tree.journal().lost, 1);
}

/// Names that git keeps for itself, in one spelling or another; no commit may hold them.
#[test]
fn a_name_that_no_commit_may_hold_keeps_nothing_else_out() {
    let place = Place::new();
    place.put("a", "1\n");
    for name in ["git~1", ".GIT/config", "b/.git.", "b/.git /x", ".git::$INDEX_ALLOCATION"] {
        place.put(name, "x\n");
    }
    let tree = place.tree(ScanLimits::default());
    assert_eq!(place.git(&["ls-tree", "-r", "--name-only", "HEAD"]), ".gitignore\na\n");
    assert_eq!(tree.journal().skipped.reserved, 5);
    for round in 0..8 {
        for path in ["c/git~1", "c/GIT~1", "c/Git~1/x", "b/a"] {
            tree.write("a", path, &format!("{round}\n")).expect("a write");
        }
        assert!(tree.settle_journal(PATIENCE));
    }
    let report = tree.journal();
    assert_eq!(report.state, JournalState::On);
    assert_eq!(report.lost, 24, "each is counted");
    assert_eq!(place.git(&["cat-file", "blob", "HEAD:b/a"]), "7\n");
    assert_eq!(place.git(&["ls-tree", "-r", "--name-only", "HEAD"]), ".gitignore\na\nb/a\n");
    place.git(&["fsck", "--strict"]);
}

/// Of such a link, no commit may hold what it may hold of a file.
#[test]
fn a_link_that_no_commit_may_hold_keeps_nothing_else_out() {
    let place = Place::new();
    place.put("a", "1\n");
    place.put("sub/.gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = https://x.test/x\n");
    let link = |path: &str| {
        std::os::unix::fs::symlink("a", place.root().join(path)).expect("a link");
    };
    link(".gitmodules");
    let tree = place.tree(ScanLimits::default());
    assert_eq!(
        place.git(&["ls-tree", "-r", "--name-only", "HEAD"]),
        ".gitignore\na\nsub/.gitmodules\n"
    );
    assert_eq!(tree.journal().skipped.reserved, 1);
    fs::remove_file(place.root().join("sub/.gitmodules")).expect("a file");
    link("sub/.gitmodules");
    for round in 0..8 {
        tree.write("a", "b", &format!("{round}\n")).expect("a write");
        assert!(tree.settle_journal(PATIENCE));
    }
    let report = tree.journal();
    assert_eq!((report.state, report.lost), (JournalState::On, 0));
    assert_eq!(place.git(&["ls-tree", "-r", "--name-only", "HEAD"]), ".gitignore\na\nb\n");
    place.git(&["fsck", "--strict"]);
}

/// Submodules, trees of other repositories and repositories within have a `.git` of some kind.
#[test]
fn files_beside_a_git_file_or_folder_are_recorded_and_it_is_not() {
    let place = Place::new();
    place.put("store/HEAD", "ref: refs/heads/main\n");
    place.put("module/.git", "gitdir: ../.git/modules/module\n");
    place.put("module/a", "1\n");
    place.put("worktree/.git", "gitdir: /nowhere/.git/worktrees/x\n");
    place.put("worktree/deep/b", "1\n");
    place.put("broken/.git/objects/no", "object\n");
    place.put("broken/c", "1\n");
    place.put("linked/d", "1\n");
    std::os::unix::fs::symlink("../store", place.root().join("linked/.git")).expect("a link");
    place.put("bare.git/HEAD", "ref: refs/heads/main\n");
    place.put("bare.git/objects/e", "1\n");
    place.put(".gitmodules", "[submodule \"module\"]\n\tpath = module\n\turl = https://x.test/m\n");
    let tree = place.tree(ScanLimits::default());
    for path in ["module/a", "worktree/deep/b", "broken/c", "linked/d", "bare.git/config"] {
        tree.read("a", path).ok();
        tree.write("a", path, "2\n").expect("a write");
    }
    assert!(tree.settle_journal(PATIENCE));
    assert_eq!(tree.journal().state, JournalState::On);
    assert_eq!(
        place.git(&["ls-tree", "-r", "--name-only", "HEAD"]),
        ".gitignore\n.gitmodules\nbare.git/HEAD\nbare.git/config\nbare.git/objects/e\nbroken/c\n\
         linked/d\nmodule/a\nstore/HEAD\nworktree/deep/b\n"
    );
    place.git(&["fsck", "--strict"]);
}

/// Whatever becomes of the repository meanwhile, changes are made, and recorded again when they can be.
#[test]
fn a_repository_that_is_damaged_meanwhile_stops_nobody() {
    type Damage = fn(&std::path::Path);
    let damages: [(&str, Damage); 5] = [
        ("removed", |git| fs::remove_dir_all(git).expect("a folder")),
        ("no HEAD", |git| fs::remove_file(git.join("HEAD")).expect("a file")),
        ("HEAD is nonsense", |git| {
            fs::write(git.join("HEAD"), "\0\u{7f}nonsense").expect("a file");
        }),
        ("no objects", |git| fs::remove_dir_all(git.join("objects")).expect("a folder")),
        ("the branch is nonsense", |git| {
            fs::write(git.join("refs/heads/master"), "0".repeat(40)).expect("a file");
        }),
    ];
    for (what, damage) in damages {
        let place = Place::new();
        let tree = place.tree(ScanLimits::default());
        tree.write("a", "before", "1\n").expect("a write");
        assert!(tree.settle_journal(PATIENCE), "{what}");
        damage(&place.git_dir());
        for round in 0..12 {
            tree.write("a", "during", &format!("{round}\n")).expect(what);
            assert!(tree.settle_journal(PATIENCE), "{what}");
        }
        let report = tree.journal();
        assert!(report.state == JournalState::On || report.lost > 0, "{what}: {report:?}");
        drop(tree);
        let during = fs::read(place.root().join("during"));
        assert_eq!(during.expect("a file"), b"11\n", "{what}");
    }
}

/// Many at once, most of them refused with a large diff: no change is lost, nobody waits for long, and
/// every change is in the history.
#[test]
fn a_flood_of_changes_and_refusals_loses_none() {
    const FILES: usize = 3;
    const ROUNDS: usize = 12;
    let place = Place::new();
    let filling = "the same line as ever\n".repeat(2000);
    for file in 0..FILES {
        place.put(&format!("f{file}"), &format!("0\n{filling}"));
    }
    let tree = place.tree(ScanLimits::default());
    let number = |bytes: &[u8]| -> usize {
        let text = std::str::from_utf8(bytes).expect("text");
        text.lines().next().and_then(|line| line.parse().ok()).expect("a number")
    };
    let started = Instant::now();
    let counts: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..32)
            .map(|agent| {
                let (tree, filling) = (&tree, &filling);
                scope.spawn(move || {
                    let (name, mut made, mut refused) = (format!("a{agent}"), 0, 0);
                    for round in 0..ROUNDS {
                        let path = format!("f{}", (agent + round) % FILES);
                        let seen = number(&tree.read(&name, &path).expect("a file"));
                        std::thread::yield_now();
                        match tree.write(&name, &path, &format!("{}\n{filling}", seen + 1)) {
                            Ok(()) => made += 1,
                            Err(Stop::Refused(refusal)) => {
                                assert!(refusal.to_string().len() < 20_000, "{refusal}");
                                refused += 1;
                            }
                            Err(stop) => panic!("{stop:?}"),
                        }
                    }
                    (made, refused)
                })
            })
            .collect();
        agents.into_iter().map(|agent| agent.join().expect("an agent")).collect()
    });
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
    let made: usize = counts.iter().map(|(made, _)| made).sum();
    let refused: usize = counts.iter().map(|(_, refused)| refused).sum();
    assert_eq!(made + refused, 32 * ROUNDS);
    let file = |file: usize| fs::read(place.root().join(format!("f{file}"))).expect("a file");
    assert_eq!((0..FILES).map(|at| number(&file(at))).sum::<usize>(), made, "no change is lost");
    assert!(tree.settle_journal(PATIENCE));
    let report = tree.journal();
    assert_eq!((report.state, report.lost), (JournalState::On, 0));
    let writes = place.subjects().iter().filter(|subject| subject.contains(" write: ")).count();
    assert_eq!(writes, made);
}

#[test]
fn ten_agents_keep_their_commits_and_their_order() {
    const WRITES: usize = 20;
    let place = Place::new();
    let tree = place.tree(ScanLimits::default());
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..10)
            .map(|agent| {
                let tree = &tree;
                scope.spawn(move || {
                    let (name, path) = (format!("a{agent}"), format!("f{agent}"));
                    let mut times = Vec::new();
                    for round in 0..WRITES {
                        let content = format!("{round}\n{}", "x".repeat(4096));
                        let before = Instant::now();
                        tree.write(&name, &path, &content).expect("a write");
                        times.push(before.elapsed());
                    }
                    times
                })
            })
            .collect();
        agents.into_iter().flat_map(|agent| agent.join().expect("an agent")).collect()
    });
    times.sort();
    println!("ten agents, 4 KiB, journal on: p50 {:?}, p95 {:?}", times[100], times[190]);
    let before = Instant::now();
    assert!(tree.settle_journal(PATIENCE));
    println!("200 commits settled {:?} later", before.elapsed());
    for agent in 0..10 {
        let (author, path) = (format!("--author=a{agent} "), format!("f{agent}"));
        let patches = place.git(&["log", "--reverse", "--format=%h", &author, "--", &path]);
        let contents: Vec<String> = patches
            .lines()
            .map(|commit| {
                let file = place.git(&["cat-file", "blob", &format!("{commit}:{path}")]);
                file.lines().next().expect("a line").to_owned()
            })
            .collect();
        let wanted: Vec<String> = (0..WRITES).map(|round| round.to_string()).collect();
        assert_eq!(contents, wanted, "{path}");
    }
    let outside = place.subjects().iter().filter(|line| line.starts_with("out-of-band")).count();
    assert_eq!(outside, 1, "only the beginning is nobody's");
}

#[test]
fn an_owner_that_comes_back_goes_on_with_the_history() {
    let place = Place::new();
    let tree = place.tree(ScanLimits::default());
    tree.write("a", "f", "1\n").expect("a write");
    drop(tree);
    place.put("f", "2\n");
    let tree = place.tree(ScanLimits::default());
    assert_eq!(
        place.subjects(),
        [
            "out-of-band out-of-band: changes from outside the tools",
            "a write: f",
            "out-of-band out-of-band: changes from outside the tools",
        ]
    );
    drop(tree);
}

#[test]
fn commits_name_agent_and_run_by_their_ids_where_that_is_asked_for() {
    let place = Place::new();
    let files = Filesystem::new(Root::open(place.root()).expect("the root"));
    let options = TreeOptions {
        journal: Some(ScanLimits::default()),
        trailers: true,
        ..TreeOptions::default()
    };
    let tree = Tree::open(files, options).expect("an owner");
    tree.configure_runs(RunSettings { timeout_s: 15.0, check: None });
    tree.write("agent\n7", "a", "1").expect("a write");
    let run = tree.request_run("agent 8", "make").expect("a run");
    place.put("b", "2");
    tree.deliver(&run, ExecOutcome::default());
    assert!(tree.settle_journal(Duration::from_secs(20)), "recorded");
    let bodies = place.git(&["log", "-2", "--format=%b"]);
    assert!(bodies.contains(&format!("make\n\nAgent-Id: agent 8\nRun-Id: {run}\n")), "{bodies}");
    assert!(bodies.contains("Agent-Id: agent7\n"), "{bodies}");
}
