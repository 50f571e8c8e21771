//! The gate: nobody's write is lost, whoever else is at work.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use akgentic_workspace::gate::{
    Code, Digest, Evidence, Gate, GateLimits, Intent, Observation, Refusal,
};
use akgentic_workspace::tree::{Stop, Tree, TreeOptions, Verb};
use akgentic_workspace::{Filesystem, RelPath, Root};
use proptest::prelude::*;

fn files(root: &Path) -> Filesystem {
    Filesystem::new(Root::open(root).expect("the root"))
}

fn tree(root: &Path) -> Arc<Tree> {
    Tree::open(files(root), TreeOptions::default()).expect("an owner")
}

fn refused(outcome: Result<(), Stop>) -> Refusal {
    match outcome {
        Err(Stop::Refused(refusal)) => *refusal,
        other => panic!("it was not refused: {other:?}"),
    }
}

/// What happens in a random history; agents and files by number.
#[derive(Clone, Debug)]
enum Event {
    Read {
        agent: usize,
        file: usize,
        full: bool,
    },
    Write {
        agent: usize,
        file: usize,
    },
    /// Puts something in front of what is there.
    Edit {
        agent: usize,
        file: usize,
    },
    Delete {
        agent: usize,
        file: usize,
    },
    Outside {
        file: usize,
    },
    OutsideRemoval {
        file: usize,
    },
}

fn event() -> impl Strategy<Value = Event> {
    let (agent, file) = (0..3_usize, 0..2_usize);
    prop_oneof![
        4 => (agent.clone(), file.clone(), any::<bool>())
            .prop_map(|(agent, file, full)| Event::Read { agent, file, full }),
        3 => (agent.clone(), file.clone()).prop_map(|(agent, file)| Event::Write { agent, file }),
        3 => (agent.clone(), file.clone()).prop_map(|(agent, file)| Event::Edit { agent, file }),
        1 => (agent, file.clone()).prop_map(|(agent, file)| Event::Delete { agent, file }),
        2 => file.clone().prop_map(|file| Event::Outside { file }),
        1 => file.prop_map(|file| Event::OutsideRemoval { file }),
    ]
}

/// A file as the pieces it is made of, each put in once.
type Pieces = BTreeSet<u32>;

fn digest(pieces: &Pieces) -> Digest {
    Digest::of(format!("{pieces:?}").as_bytes())
}

proptest! {
    /// What an accepted change takes away, its agent has seen.
    #[test]
    fn the_gate_never_loses_a_write(events in prop::collection::vec(event(), 1..60)) {
        let outer = tempfile::tempdir().expect("a folder");
        let root = Root::open(outer.path()).expect("the root");
        let paths: Vec<RelPath> =
            (0..2).map(|file| root.resolve(&format!("f{file}")).expect("a path")).collect();
        let mut gate = Gate::new(GateLimits::default());
        let mut world: BTreeMap<usize, Pieces> = BTreeMap::new();
        let mut seen: BTreeMap<(usize, usize), Pieces> = BTreeMap::new();
        for (piece, event) in (0_u32..).zip(events) {
            let name = |agent: usize| format!("agent {agent}");
            match event {
                Event::Read { agent, file, full } => {
                    let Some(pieces) = world.get(&file) else { continue };
                    let seen = seen.entry((agent, file)).or_default();
                    if full {
                        seen.extend(pieces);
                    }
                    let observation = Observation { sha: digest(pieces), full };
                    gate.observe(&name(agent), paths[file].clone(), observation);
                }
                Event::Write { agent, file } | Event::Delete { agent, file } => {
                    let writes = matches!(event, Event::Write { .. });
                    let intent = if writes { Intent::Write } else { Intent::Delete };
                    let live = world.get(&file).map(digest);
                    let ruling = gate.judge(&name(agent), &paths[file], "f", intent, live.as_ref());
                    let Ok(permit) = ruling else { continue };
                    let lost = world.get(&file).cloned().unwrap_or_default();
                    let seen = seen.entry((agent, file)).or_default();
                    prop_assert!(lost.is_subset(seen), "lost {lost:?}, saw {seen:?}");
                    if writes {
                        let pieces = Pieces::from([piece]);
                        seen.insert(piece);
                        gate.accept(&name(agent), &paths[file], digest(&pieces), permit);
                        world.insert(file, pieces);
                    } else {
                        gate.accept_removal(&name(agent), &paths[file]);
                        world.remove(&file);
                    }
                }
                Event::Edit { agent, file } => {
                    let live = world.get(&file).map(digest);
                    let ruling =
                        gate.judge(&name(agent), &paths[file], "f", Intent::Edit, live.as_ref());
                    let Ok(permit) = ruling else { continue };
                    let pieces = world.entry(file).or_default();
                    pieces.insert(piece);
                    seen.entry((agent, file)).or_default().insert(piece);
                    gate.accept(&name(agent), &paths[file], digest(pieces), permit);
                }
                Event::Outside { file } => {
                    world.insert(file, Pieces::from([piece]));
                }
                Event::OutsideRemoval { file } => {
                    world.remove(&file);
                }
            }
        }
    }
}

#[test]
fn one_directory_has_one_owner_however_it_is_spelled() {
    let outer = tempfile::tempdir().expect("a folder");
    fs::create_dir(outer.path().join("tree")).expect("a directory");
    std::os::unix::fs::symlink("tree", outer.path().join("other")).expect("a link");
    let one = tree(&outer.path().join("tree"));
    let other = tree(&outer.path().join("other"));
    assert!(Arc::ptr_eq(&one, &other));
}

#[test]
fn agents_and_an_outside_writer_lose_nothing() {
    const WRITES: usize = 40;
    let outer = tempfile::tempdir().expect("a folder");
    let root = outer.path().join("tree");
    fs::create_dir(&root).expect("the root");
    let file = root.join("f");
    fs::write(&file, "start\n").expect("a file");
    let owner = tree(&root);
    let done = AtomicBool::new(false);
    let (taken, fresh) = (outer.path().join("taken"), outer.path().join("fresh"));
    std::thread::scope(|scope| {
        let agents: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|agent| {
                // Two teams: each opens the tree for itself.
                let tree = tree(&root);
                scope.spawn(move || {
                    let mut written = 0;
                    while written < WRITES {
                        let Ok(bytes) = tree.read(agent, "f") else { continue };
                        let text = String::from_utf8(bytes).expect("text");
                        if tree.write(agent, "f", &format!("{text}{agent}{written}\n")).is_ok() {
                            written += 1;
                        }
                    }
                })
            })
            .collect();
        // It takes the file away, adds a line, and puts it back unless somebody else has.
        let outsider = scope.spawn(|| {
            let mut written = 0;
            while !done.load(Ordering::Relaxed) {
                if fs::rename(&file, &taken).is_err() {
                    continue;
                }
                let text = fs::read_to_string(&taken).expect("text");
                fs::write(&fresh, format!("{text}outside{written}\n")).expect("a file");
                if fs::hard_link(&fresh, &file).is_ok() {
                    written += 1;
                } else {
                    // Somebody created the file meanwhile: keep what was taken.
                    let aside = root.join(format!("f.displaced-outside{written}"));
                    fs::write(aside, text).expect("a file");
                }
                fs::remove_file(&fresh).expect("a file");
                std::thread::yield_now();
            }
            written
        });
        for agent in agents {
            agent.join().expect("an agent");
        }
        done.store(true, Ordering::Relaxed);
        let outside = outsider.join().expect("the outsider");
        let mut kept = String::new();
        for entry in fs::read_dir(&root).expect("a directory") {
            let path = entry.expect("an entry").path();
            assert!(path.extension().is_none_or(|end| end != "tmp"), "{}", path.display());
            kept.push_str(&fs::read_to_string(path).expect("text"));
        }
        let lines: BTreeSet<&str> = kept.lines().collect();
        for agent in ["a", "b", "c"] {
            for number in 0..WRITES {
                assert!(
                    lines.contains(format!("{agent}{number}").as_str()),
                    "lost {agent}{number}"
                );
            }
        }
        for number in 0..outside {
            assert!(lines.contains(format!("outside{number}").as_str()), "lost outside{number}");
        }
    });
    drop(owner);
}

#[test]
fn a_batch_is_undone_when_a_later_file_changed_meanwhile() {
    let outer = tempfile::tempdir().expect("a folder");
    for name in ["x", "y"] {
        fs::write(outer.path().join(name), name).expect("a file");
    }
    let tree = tree(outer.path());
    for name in ["x", "y"] {
        tree.read("a", name).expect("a file");
    }
    let outcome = tree.change("a", Verb::Patch, |change| {
        change.write("x", "new x")?;
        change.write("new", "new")?;
        change.write("y", "new y")?;
        // Between the look at it and the publication.
        fs::write(outer.path().join("y"), "from outside").expect("a file");
        Ok(())
    });
    let refusal = refused(outcome);
    assert_eq!((refusal.code, refusal.path.as_str()), (Code::Changed, "y"));
    let names: BTreeMap<_, _> = fs::read_dir(outer.path())
        .expect("a directory")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = fs::read_to_string(entry.path()).expect("text");
            (entry.file_name().into_string().expect("text"), text)
        })
        .collect();
    let wanted = [("x", "x"), ("y", "from outside")];
    assert_eq!(names, wanted.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
}

#[test]
fn a_refusal_of_many_lines_is_quick_and_small() {
    let outer = tempfile::tempdir().expect("a folder");
    let line_at = |i: usize| {
        if i.is_multiple_of(3) { "}\n".to_owned() } else { format!("line {}\n", i % 97) }
    };
    let before_it: String = (0..20_000).map(line_at).collect();
    let proposed: String =
        (0..20_000).map(|i| if i % 10 == 3 { format!("new {i}\n") } else { line_at(i) }).collect();
    fs::write(outer.path().join("f"), before_it).expect("a file");
    let tree = tree(outer.path());
    let before = Instant::now();
    let refusal = refused(tree.write("a", "f", &proposed));
    println!("refusal of 20000 lines: {:?}", before.elapsed());
    let Some(Evidence::Diff(diff)) = &refusal.evidence else { panic!("a diff") };
    assert!(diff.lines().count() <= 201);
}

#[test]
fn an_older_observation_does_not_replace_a_newer_one() {
    let outer = tempfile::tempdir().expect("a folder");
    fs::write(outer.path().join("f"), "1").expect("a file");
    let tree = tree(outer.path());
    let early = tree.moment();
    tree.read("a", "f").expect("a file");
    let old = Observation { sha: Digest::of(b"0"), full: false };
    tree.observe("a", "f", old, early);
    tree.write("a", "f", "2").expect("a write");
}

#[test]
fn special_bits_are_not_carried_over() {
    use std::os::unix::fs::PermissionsExt as _;
    let outer = tempfile::tempdir().expect("a folder");
    let path = outer.path().join("f");
    fs::write(&path, "1").expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).expect("a mode");
    let tree = tree(outer.path());
    tree.read("a", "f").expect("a file");
    tree.write("a", "f", "2").expect("a write");
    assert_eq!(fs::metadata(&path).expect("metadata").permissions().mode() & 0o7777, 0o755);
}

#[test]
fn how_long_writes_take() {
    let outer = tempfile::tempdir().expect("a folder");
    let tree = tree(outer.path());
    let content = "0123456789abcde\n".repeat(256);
    let mut times = Vec::new();
    for round in 0..400 {
        let before = Instant::now();
        tree.write("a", "f", &format!("{round}{content}")).expect("a write");
        times.push(before.elapsed());
    }
    times.sort();
    println!("one agent, 4 KiB: p50 {:?}, p95 {:?}", times[200], times[380]);
    let mut times: Vec<_> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..10)
            .map(|agent| {
                let (tree, content) = (&tree, &content);
                scope.spawn(move || {
                    let (name, path) = (format!("a{agent}"), format!("f{agent}"));
                    let mut times = Vec::new();
                    for round in 0..100 {
                        let before = Instant::now();
                        tree.write(&name, &path, &format!("{round}{content}")).expect("a write");
                        times.push(before.elapsed());
                    }
                    times
                })
            })
            .collect();
        agents.into_iter().flat_map(|agent| agent.join().expect("an agent")).collect()
    });
    times.sort();
    println!("ten agents, 4 KiB: p50 {:?}, p95 {:?}", times[500], times[950]);
}
