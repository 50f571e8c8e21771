//! `docker`, where an engine answers: real containers, and what they keep in.

mod container;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use akgentic_sandbox::{Backend as _, Docker, Ended, Level, Limits, OutputLimits};
use tokio_util::sync::CancellationToken;

use self::container::{Container, docker, sh};
use crate::parts::{command, processes_with, said, unlikely, within};

macro_rules! container {
    ($workspace:expr) => {
        container!($workspace, docker())
    };
    ($workspace:expr, $docker:expr) => {
        match Container::start($workspace, $docker).await {
            Some(container) => container,
            None => return,
        }
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_in_a_container_of_the_workspace() {
    let container = container!("a/b");
    fs::create_dir(container.root().join("sub")).expect("a folder");
    let outcome = container.sh("echo out; echo err >&2; touch made; exit 3").await;
    assert_eq!(said(&outcome), ("out\n".to_owned(), "err\n".to_owned(), 3));
    assert!(container.root().join("made").exists());
    let run = |words: &[&str]| container.session.run(command(words).in_folder("sub"));
    assert_eq!(said(&run(&["ls"]).await.expect("a run")).0, "");
    let (_, err, code) = said(&run(&["no-such-program"]).await.expect("a run"));
    assert!(code == 127 && err.contains("no-such-program"), "{code} {err}");
    let refused = container.session.run(command(&["ls"]).in_folder("..")).await;
    assert_eq!(refused.expect_err("refused").code(), "cwd_escapes_workspace");
    container.end().await;
}

/// Each line is an attempt; whatever succeeds says so.
const ESCAPES: &str = r"
mount -o remount,rw / && echo remounted
mount -t tmpfs none /etc && echo mounted
mount --bind /workspace /etc && echo bound
umount /workspace && echo unmounted
tr '\0' '\n' </proc/1/environ | grep -v -e '^PATH=' -e '^HOSTNAME=' -e '^HOME=' && echo read environ
tr '\0' '\n' </proc/self/environ | grep -v -e '^PATH=' -e '^HOSTNAME=' -e '^HOME=/tmp$' -e '^LANG=' && echo inherited
mknod n b 8 0 && echo device
chroot /workspace /bin/true && echo chroot
chown 1:1 . && echo owner
hostname other && echo hostname
unshare -m true && echo mounts
unshare -r true && echo namespace
nsenter -t 1 -m true && echo joined
for f in sys/kernel/core_pattern sys/kernel/hostname sysrq-trigger irq/default_smp_affinity; do (: >>/proc/$f) && echo wrote $f; done
head -c 10 /proc/kcore /proc/kmsg /dev/mem | grep -a '[^=> ]' | grep -v -e /proc -e /dev && echo kernel
kill -0 1 && echo the keeper
ping -c 1 -W 1 127.0.0.1 >&2 && echo raw socket
ls -d /home/* /root/* /var/* /usr/* && echo saw the host
true
";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leads_out() {
    // As root, which the engine's defaults would let do some of this, and as anybody.
    for owner in [None, Some(12345)] {
        let Some(container) = Container::owned("out", docker(), owner).await else { return };
        let (out, err, code) = said(&container.sh(ESCAPES).await);
        assert_eq!((out.as_str(), code), ("", 0), "{owner:?}: {err}");
        let script =
            "grep -h -E '^(Cap(Eff|Prm|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status; id -u";
        let (out, err, _) = said(&container.sh(script).await);
        let zero = "0000000000000000";
        let user = owner.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        let wanted = format!(
            "CapPrm:\t{zero}\nCapEff:\t{zero}\nCapBnd:\t{zero}\nCapAmb:\t{zero}\nNoNewPrivs:\t1\nSeccomp:\t2\n{user}\n"
        );
        assert_eq!(out, wanted, "{err}");
        container.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_network() {
    let container = container!("net");
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
    listener.set_nonblocking(true).expect("not blocking");
    let port = listener.local_addr().expect("an address").port();
    let script = format!(
        "ls /sys/class/net; for host in 127.0.0.1 172.17.0.1 172.18.0.1 192.0.2.1; do \
         echo hello | nc -w 1 $host {port} && echo reached $host; done; true"
    );
    let (out, err, _) = said(&container.sh(&script).await);
    assert_eq!(out, "lo\n", "{err}");
    assert!(listener.accept().is_err(), "nobody came");
    assert_eq!(container.session.enforcement().network.level, Level::Full);
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_memory_and_temporary_files_are_bounded() {
    let few = Limits {
        processes: Some(32),
        memory: Some(64 << 20),
        temporary: 8 << 20,
        ..Limits::default()
    };
    let container = container!("few", Docker { limits: few, ..docker() });
    let mark = unlikely(6002);
    let bomb = format!("f() {{ f | f & sleep {mark}; }}; f; wait");
    let limit = Duration::from_secs(3);
    let outcome = container.session.run(sh(&bomb).within(limit)).await.expect("a run");
    let refused = outcome.stderr.text(1 << 16);
    assert!(refused.contains("fork"), "{outcome:?}");
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    assert_eq!(said(&container.sh("echo next").await).0, "next\n", "the allowance is whole again");

    let (_, _, code) = said(&container.sh("dd if=/dev/zero of=/dev/null bs=200M count=1").await);
    assert!(matches!(code, 1 | 137), "{code}: 200 MiB do not fit into 64");
    let script = "head -c 9000000 /dev/zero >/tmp/f && echo whole; wc -c </tmp/f";
    let (out, err, _) = said(&container.sh(script).await);
    assert_eq!(out.trim(), (8 << 20).to_string(), "{err}");
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_counted_and_ended() {
    let container = container!("flood");
    let limits = OutputLimits { kill: Some(5 << 20), ..OutputLimits::default() };
    let run = command(&["yes", "a"]).keeping(limits).within(Duration::from_mins(1));
    let outcome = container.session.run(run).await.expect("a run");
    assert_eq!(outcome.ended, Ended::TooMuchOutput(5 << 20));
    let kept = outcome.stdout.head().len() + outcome.stdout.tail().len();
    assert_eq!(kept, limits.head + limits.tail);
    assert_eq!(said(&container.sh("ps -o comm | grep -c yes; true").await).0, "0\n");
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_ends_everything_in_the_container() {
    let container = container!("time");
    let mark = unlikely(6001);
    let script = format!(
        "(setsid sleep {mark} &); mkfifo p; (while true; do echo x; sleep 0.1; done) > p & cat p"
    );
    let limit = Duration::from_millis(1500);
    let started = Instant::now();
    let outcome = container.session.run(sh(&script).within(limit)).await.expect("a run");
    assert_eq!(outcome.ended, Ended::TimedOut(limit));
    assert!(outcome.stdout.text(100).starts_with("x\n"));
    within(Duration::from_secs(10), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());

    // What a command leaves behind is gone when it is over, whatever it thinks of signals.
    for script in [
        format!("sleep {mark} & echo started"),
        format!("(trap '' TERM HUP; setsid sleep {mark} >/dev/null 2>&1 &); echo started"),
    ] {
        let started = Instant::now();
        assert_eq!(said(&container.sh(&script).await).0, "started\n");
        within(Duration::from_secs(5), started);
        assert_eq!(processes_with(&mark), Vec::<String>::new());
    }

    let cancel = CancellationToken::new();
    let run = container.session.run(sh(&format!("sleep {mark}")).cancelled_by(cancel.clone()));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run, stop);
    assert_eq!(outcome.expect("a run").ended, Ended::Cancelled);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_belong_to_the_owner_of_the_workspace() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can give a folder away");
        return;
    }
    let Some(container) = Container::owned("mine", docker(), Some(12345)).await else { return };
    let (out, err, _) = said(&container.sh("id -u; id -g; mkdir d; echo x >d/f").await);
    assert_eq!(out, "12345\n12345\n", "{err}");
    for path in ["d", "d/f"] {
        let made = fs::symlink_metadata(container.root().join(path)).expect(path);
        assert_eq!((made.uid(), made.gid()), (12345, 12345), "{path}");
    }
    assert_eq!(container.session.enforcement().kernel.level, Level::Full);
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_planted_for_the_host_leads_nowhere() {
    let container = container!("link");
    fs::write(container.folder.path().join("outside"), "secret").expect("a file");
    let script = "ln -s ../outside a; ln -s /etc b; ln -s .. c; cat a; cat c/outside; ls c/c; true";
    let (out, err, _) = said(&container.sh(script).await);
    assert!(!out.contains("secret") && !err.contains("secret"), "{out} {err}");
    for folder in ["b", "c"] {
        let refused = container.session.run(command(&["ls"]).in_folder(folder)).await;
        assert_eq!(refused.expect_err("refused").code(), "cwd_escapes_workspace");
    }
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_process_reaps_and_stops_when_asked() {
    let container = container!("init");
    container.sh("for i in 1 2 3; do (sleep 0.05 &); done").await;
    assert_eq!(said(&container.sh("sleep 0.2; ps -o stat | grep -c Z; true").await).0, "0\n");
    container.session.stop().await.expect("stopped");
    // 137 would say that it was killed after it did not listen.
    assert_eq!(container.inspect("{{.State.Running}} {{.State.ExitCode}}"), "false 143");
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_of_one_team_do_not_share_a_container() {
    let (one, other) = (container!("one"), container!("other"));
    one.sh("echo 1 >f").await;
    assert_ne!(one.name(), other.name());
    assert_eq!(said(&other.sh("ls").await).0, "");
    one.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_taken_again_only_when_it_fits() {
    let container = container!("again");
    let id = || container.inspect("{{.Id}}");
    let first = id();
    container.session.stop().await.expect("stopped");
    let place = || container.place_at(&container.root());
    let same = docker().start(place()).await.expect("a container");
    assert_eq!(id(), first);
    assert_eq!(said(&same.run(sh("echo same")).await.expect("a run")).0, "same\n");

    let few = Docker { limits: Limits { processes: Some(32), ..Limits::default() }, ..docker() };
    let session = few.start(place()).await.expect("a container");
    let second = id();
    assert_ne!(second, first, "other limits");
    let bound = "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; true";
    assert_eq!(said(&session.run(sh(bound)).await.expect("a run")).0, "32\n");

    let moved = container.folder.path().join("moved");
    let session = few.start(container.place_at(&moved)).await.expect("a container");
    assert_ne!(id(), second, "another folder");
    session.run(sh("touch here")).await.expect("a run");
    assert!(moved.join("here").exists() && !container.root().join("here").exists());
    container.end().await;
}
