//! A short soak; `cargo bench -p akgentic-agent --bench soak` is the long one.

#[path = "../../benches/soak/life.rs"]
mod life;

use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_soak_leaves_nothing_open() {
    let plan = life::Soak {
        duration: Duration::ZERO,
        agents: 40,
        half_life: Duration::from_millis(700),
        seed: 7,
    };
    let dir = tempfile::tempdir().expect("a folder");
    let report = life::soak(plan, dir.path()).await.expect("it holds");
    assert_eq!(report.teams, 1, "{report}");
    assert!(report.turns > 100, "{report}");
}
