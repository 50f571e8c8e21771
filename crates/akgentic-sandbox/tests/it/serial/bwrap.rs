//! `bwrap`: ways out that must not lead out, as whoever runs the tests and as a plain user.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use akgentic_sandbox::{
    Backend as _, BackendError, Bwrap, Ended, Level, Network, OutputLimits, Repositories,
};
use tokio_util::sync::CancellationToken;

use crate::parts::{Stage, bash, command, names, processes_with, said, unlikely, within};

macro_rules! stage {
    () => {
        match Stage::bwrap().await {
            Some(stage) => stage,
            None => return,
        }
    };
}

/// Each line is an attempt; whatever succeeds says so.
const ESCAPES: &str = r#"
mount -o remount,bind,rw /usr && echo remounted
touch /usr/x && echo wrote usr
touch /etc/x && echo wrote etc
touch /x && echo wrote root
cat /proc/1/environ | tr '\0' '\n' | grep -v -x -e 'PATH=[a-z/:]*' -e 'PWD=[a-z/]*' -e 'HOME=/tmp' -e 'LANG=C.UTF-8' -e 'SHLVL=[0-9]*' -e '_=[a-z/]*' && echo read environ
cat /etc/shadow && echo read shadow
ls /home /root /var 2>/dev/null && echo saw homes
unshare -r true && echo namespace
unshare -m true && echo mounts
mknod n b 8 0 && echo device
chroot . /bin/true && echo chroot
hostname other && echo hostname
for f in sys/kernel/core_pattern sys/kernel/hostname sysrq-trigger mtrr irq/default_smp_affinity; do (: >>/proc/$f) && echo wrote $f; done
cat /proc/kmsg /proc/kcore /dev/mem | head -c 10 | grep -a . && echo kernel
kill -0 1 && test $(cat /proc/1/comm) != sh && echo host process
perl -e 'exit !socket(my $s, 2, 3, 1)' && echo raw socket
perl -e 'exit !socket(my $s, 40, 1, 0)' && echo vsock
perl -e 'exit !socket(my $s, 17, 3, 768)' && echo packet socket
perl -e 'open my $p, "+<", "/dev/ptmx" or exit 1; ioctl $p, 0x5412, my $c = "x"; exit($! == 1)' && echo typed
true
"#;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leads_out() {
    let stage = stage!();
    let outcome = stage.bash(ESCAPES).await;
    let (out, err, code) = said(&outcome);
    assert_eq!((out.as_str(), code), ("", 0), "{err}");
    assert!(!fs::exists("/usr/x").expect("a look"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payload_has_nothing() {
    let stage = stage!();
    let script = "id -u; id -un; grep -h -E '^(Cap(Eff|Prm|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'; \
                  ls /proc/self/fd | wc -l; env | cut -d= -f1 | sort | tr '\\n' ' '; ls -A /tmp | wc -l; pwd";
    let (out, err, _) = said(&stage.bash(script).await);
    let zero = "0000000000000000";
    let wanted = format!(
        "1000\nagent\nCapPrm:{zero}\nCapEff:{zero}\nCapBnd:{zero}\nCapAmb:{zero}\nNoNewPrivs:1\nSeccomp:2\n\
         4\nHOME LANG PATH PWD SHLVL _ 0\n/workspace\n"
    );
    assert_eq!(out, wanted, "{err}");
}

/// Tries calls the filter refuses: mounts, namespaces, tracing, other processes' memory, programs and
/// modules for the kernel, keys, io_uring, page faults, files by number. What it does not refuse fails
/// with another error, since the arguments are nonsense.
#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn the_filter_refuses_calls() {
    let stage = stage!();
    let calls = "165, 166, 155, 161, 430, 431, 432, 433, 429, 428, 442, 272, 308, 101, 310, 311, 438, 321, 298, \
                 248, 249, 250, 246, 320, 175, 313, 176, 425, 426, 427, 323, 300, 304, 167, 168, 170, 103";
    let script = format!(
        "perl -e 'for my $n ({calls}) {{ $! = 0; syscall($n, -1, 0, 0, 0, 0); print \"$n: $!\\n\" unless $! == 1 }} \
         print \"done\\n\"'"
    );
    let (out, err, _) = said(&stage.bash(&script).await);
    assert_eq!(out, "done\n", "{err}");
}

/// Something of the host that listens, and attempts to reach it.
struct Listening {
    port: TcpListener,
    name: UnixListener,
    script: String,
}

impl Listening {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port");
        let number = port.local_addr().expect("an address").port();
        let name = format!("akgentic-test-{}-{number}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let script = format!(
            "(exec 3<>/dev/tcp/127.0.0.1/{number}) && echo TCP\n\
             perl -MSocket -e 'socket(my $s, PF_UNIX, SOCK_STREAM, 0) or exit 1; \
             exit !connect($s, pack(\"Sa*\", PF_UNIX, \"\\0{name}\"))' && echo abstract\ntrue"
        );
        Self { port, name: UnixListener::bind_addr(&address).expect("bound"), script }
    }

    fn was_reached(&self) -> bool {
        self.port.set_nonblocking(true).expect("not blocking");
        self.name.set_nonblocking(true).expect("not blocking");
        self.port.accept().is_ok() || self.name.accept().is_ok()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_listens_on_the_host_is_reached() {
    let stage = stage!();
    let host = Listening::start();
    let (out, err, _) = said(&stage.bash(&host.script).await);
    assert_eq!(out, "", "{err}");
    assert!(!host.was_reached());
    // With the host's network the same attempts succeed: they are real ones.
    let open = Bwrap { network: Network::Host, ..Bwrap::default() };
    let Some(stage) = Stage::bwrap_with(&open).await else { return };
    let (out, err, _) = said(&stage.bash(&host.script).await);
    assert_eq!(out, "TCP\nabstract\n", "{err}");
    assert!(host.was_reached());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_bounded_and_gone() {
    let stage = stage!();
    let mark = unlikely(4001);
    let script = format!("for i in $(seq 1000); do sleep {mark} & done; echo all");
    let started = Instant::now();
    let outcome = stage.run(bash(&script).within(Duration::from_secs(3))).await;
    let seen = outcome.stderr.text(1 << 16);
    assert!(seen.contains("fork"), "{outcome:?}");
    assert_eq!(outcome.enforcement.processes.level, Level::Full, "{}", outcome.enforcement);
    within(Duration::from_secs(15), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    // The next run has the whole allowance again.
    assert_eq!(said(&stage.bash("echo next").await).0, "next\n");

    let bomb = format!("f() {{ f | f & sleep {mark}; }}; f; wait");
    let started = Instant::now();
    let outcome = stage.run(bash(&bomb).within(Duration::from_secs(2))).await;
    assert!(outcome.stderr.text(1 << 16).contains("fork"), "{outcome:?}");
    within(Duration::from_secs(15), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    assert_eq!(said(&stage.bash("echo next").await).0, "next\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_counted_and_ended() {
    let stage = stage!();
    let limits = OutputLimits { kill: Some(20 << 20), ..OutputLimits::default() };
    let run = command(&["yes", "a"]).keeping(limits).within(Duration::from_secs(20));
    let outcome = stage.run(run).await;
    assert_eq!(outcome.ended, Ended::TooMuchOutput(20 << 20));
    let kept = outcome.stdout.head().len() + outcome.stdout.tail().len();
    assert_eq!(kept, limits.head + limits.tail);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_with_a_session_of_its_own_is_gone() {
    let stage = stage!();
    let mark = unlikely(4002);
    for script in [
        format!("(setsid nohup sleep {mark} >/dev/null 2>&1 </dev/null &); echo left"),
        format!("(trap '' TERM HUP INT; (setsid sleep {mark} >/dev/null 2>&1 &) &); echo left"),
        format!("setsid env -i /bin/sleep {mark} >/dev/null 2>&1 & echo left"),
    ] {
        assert_eq!(said(&stage.bash(&script).await).0, "left\n");
        assert_eq!(processes_with(&mark), Vec::<String>::new(), "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn field_a20_a_time_limit_ends_the_whole_namespace() {
    let stage = stage!();
    let mark = unlikely(4003);
    let script =
        format!("mkfifo p; (while true; do echo x; sleep 0.1; done) > p & sleep {mark} & cat p");
    let started = Instant::now();
    let outcome = stage.run(bash(&script).within(Duration::from_millis(900))).await;
    assert_eq!(outcome.ended, Ended::TimedOut(Duration::from_millis(900)));
    assert!(outcome.stdout.text(100).starts_with("x\n"));
    within(Duration::from_secs(4), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    let told = outcome.notices.join("\n");
    assert!(told.contains("p is a FIFO"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn field_a21_output_of_a_child_that_ends_soon_is_kept() {
    let stage = stage!();
    let outcome = stage.bash("exec > >(tee log) && echo kept").await;
    assert_eq!(said(&outcome).0, "kept\n");
    let mark = unlikely(4004);
    let started = Instant::now();
    let outcome = stage.bash(&format!("sleep {mark} & echo started; exit 7")).await;
    assert_eq!(said(&outcome), ("started\n".to_owned(), String::new(), 7));
    within(Duration::from_secs(3), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_has_a_grace() {
    let stage = stage!();
    let cancel = CancellationToken::new();
    let script = "trap 'echo cleaned; exit 3' TERM; echo up; while true; do sleep 0.05; done";
    let run = bash(script).cancelled_by(cancel.clone());
    let stop = async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.run(run), stop);
    assert_eq!(outcome.ended, Ended::Cancelled);
    assert_eq!(outcome.stdout.text(100), "up\ncleaned\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_run_is_gone() {
    let stage = stage!();
    let mark = unlikely(4005);
    let run = command(&["sleep", &mark]);
    let given_up = tokio::time::timeout(Duration::from_millis(500), stage.session.run(run)).await;
    assert!(given_up.is_err());
    for _ in 0..100 {
        if processes_with(&mark).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?} is left", processes_with(&mark));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_repository_can_be_made_to_run_on_the_host() {
    let stage = stage!();
    stage.write(".git/config", "[core]\n");
    stage.write("nested/deep/.git/hooks/keep", "");
    stage.write("worktree/.git", "gitdir: ../x\n");
    let script = "for d in . nested/deep; do echo x >$d/.git/hooks/pre-commit; echo x >>$d/.git/config; \
                  mv $d/.git $d/g; rm -rf $d/.git; done; echo x >worktree/.git; \
                  mv nested other; echo x >other/deep/.git/config; echo done";
    let outcome = stage.bash(script).await;
    assert_eq!(said(&outcome).0, "done\n");
    let root = stage.root();
    assert_eq!(names(&root.join(".git")), ["config"]);
    assert_eq!(fs::read_to_string(root.join(".git/config")).expect("a file"), "[core]\n");
    assert_eq!(names(&root.join("other/deep/.git")), ["hooks"]);
    assert_eq!(names(&root.join("other/deep/.git/hooks")), ["keep"]);
    assert_eq!(fs::read_to_string(root.join("worktree/.git")).expect("a file"), "gitdir: ../x\n");
    assert_eq!(outcome.enforcement.repositories.level, Level::Full);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_there_cannot_be_made_at_the_top() {
    let stage = stage!();
    let script =
        "mkdir -p .git/hooks; git init -q . ; mkdir sub; cd sub; git init -q . && echo nested";
    let outcome = stage.bash(script).await;
    assert_eq!(said(&outcome).0, "nested\n");
    assert_eq!(names(&stage.root()), ["sub"], "nothing is left of what was in the way");
    let told = outcome.notices.join("\n");
    assert!(told.contains("a repository was made at sub/.git"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_can_be_left_writable() {
    let bwrap = Bwrap { repositories: Repositories::Writable, ..Bwrap::default() };
    let Some(stage) = Stage::bwrap_with(&bwrap).await else { return };
    let outcome = stage.bash("git init -q . && echo made").await;
    assert_eq!(said(&outcome).0, "made\n");
    assert_eq!(outcome.enforcement.repositories.level, Level::None);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_planted_for_the_host_are_told() {
    let stage = stage!();
    let outcome = stage.bash("ln -s /etc/passwd a; ln -s ../../x b; ln -s sub c; mkdir sub").await;
    let told = outcome.notices.join("\n");
    assert!(told.contains("a is a link that leads out"), "{told}");
    assert!(told.contains("b is a link that leads out"), "{told}");
    assert!(!told.contains("c is"), "{told}");
    let refused = stage.session.run(command(&["ls"]).in_folder("b")).await;
    assert_eq!(refused.expect_err("refused").code(), "cwd_escapes_workspace");
}

#[tokio::test(flavor = "multi_thread")]
async fn temporary_files_and_memory_are_bounded() {
    let stage = stage!();
    let outcome = stage.bash("head -c 600000000 /dev/zero >/tmp/f; ls -s /tmp").await;
    let (_, err, _) = said(&outcome);
    assert!(err.contains("No space") || err.contains("File size"), "{err}");
    let script =
        "perl -e '$| = 1; for my $n (1 << 20, 3 << 30) { my $x = \"a\" x $n; print \"$n\\n\" }'";
    let (out, err, code) = said(&stage.bash(script).await);
    assert!(out == "1048576\n" && code != 0, "{out} {err} {code}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_workspace_is_not_swapped() {
    let stage = stage!();
    stage.write("mine", "");
    fs::rename(stage.root(), stage.folder.path().join("moved")).expect("moved");
    stage.write("other", "");
    let refused = stage.session.run(command(&["ls"])).await.expect_err("refused");
    assert_eq!(refused.code(), "launch_failed", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn field_a24_a_bwrap_that_cannot_work_says_so_before_the_first_run() {
    let missing = Bwrap { program: "no-such-bwrap".into(), ..Bwrap::default() };
    let error = missing.probe().await.expect_err("refused");
    assert!(matches!(error, BackendError::MissingProgram { .. }), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    let fake = folder.path().join("bwrap");
    fs::write(&fake, "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n").expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&fake, mode).expect("a mode");
    let broken = Bwrap { program: fake, ..Bwrap::default() };
    let error = broken.probe().await.expect_err("refused");
    assert!(error.to_string().contains("No permissions to create new namespace"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn node_and_npm_start() {
    let stage = stage!();
    for program in ["node", "npm"] {
        if !fs::exists(format!("/usr/bin/{program}")).expect("a look") {
            println!("skipped: {program} is not in /usr/bin");
            continue;
        }
        let (out, err, code) = said(&stage.run(command(&[program, "--version"])).await);
        assert_eq!(code, 0, "{program}: {out} {err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_and_too_many_repositories_are_told() {
    let Some(stage) = Stage::bwrap().await else { return };
    let most = "x".repeat((128 << 10) - 1);
    let script = ["sh", "-c", "echo ${#1}", "sh", &most];
    assert_eq!(said(&stage.run(command(&script)).await).0, "131071\n");
    let words = vec!["x"; 8800];
    let many: Vec<&str> = ["sh", "-c", "echo $#"].into_iter().chain(words).collect();
    assert_eq!(said(&stage.run(command(&many)).await).0, "8799\n");
    let more = format!("{most}x");
    for argv in [vec!["echo", &more], vec!["echo"; 200_000], vec!["echo"; 9000]] {
        let error = stage.session.run(command(&argv)).await.expect_err("too long");
        assert_eq!(error.code(), "command_too_long");
        assert!(error.to_string().contains("into a file"), "{error}");
    }
    for number in 0..1001 {
        fs::create_dir_all(stage.root().join(format!("g/{number}/.git"))).expect("folders");
    }
    let error = stage.session.run(command(&["true"])).await.expect_err("too many");
    assert_eq!(error.code(), "too_many_repositories");
    assert!(error.to_string().contains("1002") && error.to_string().contains("g/"), "{error}");
    fs::remove_dir_all(stage.root().join("g")).expect("removed");
    assert_eq!(said(&stage.run(command(&["true"])).await).2, 0);
}

/// The end of one run takes no protection from another one in the same workspace.
#[tokio::test(flavor = "multi_thread")]
async fn runs_beside_each_other_cannot_make_a_repository_at_the_top() {
    let Some(stage) = Stage::bwrap().await else { return };
    let plant = |after: f64| {
        format!(
            "sleep {after}; mkdir -p .git/hooks; echo x >.git/hooks/post-checkout; ls .git; \
             ls .git/hooks; exit 0"
        )
    };
    let (first, second, third) = (plant(0.4), plant(1.2), plant(0.8));
    let late = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        tokio::join!(stage.bash(&second), stage.bash(&third))
    };
    let (one, (two, three)) = tokio::join!(stage.bash(&first), late);
    for outcome in [one, two, three] {
        assert_eq!(said(&outcome).0, "", "nothing is in it");
    }
    assert_eq!(names(&stage.root()), Vec::<String>::new());
    let alone = stage.bash(&plant(0.0)).await;
    assert_eq!(said(&alone).0, "");
    assert_eq!(names(&stage.root()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_in_the_place_of_one_that_was_moved_is_told() {
    let Some(stage) = Stage::bwrap().await else { return };
    stage.write("sub/.git/config", "good");
    let script = "mv sub sub2 && mkdir -p sub/.git && echo evil >sub/.git/config && echo done";
    let outcome = stage.bash(script).await;
    assert_eq!(said(&outcome).0, "done\n");
    let told = outcome.notices.join("\n");
    assert!(told.contains("made at sub/.git:") && told.contains("made at sub2/.git:"), "{told}");
}
