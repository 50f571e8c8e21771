//! A lock that is handed on in the order in which it was asked for.
//!
//! Whoever changes one file after the other would else keep everybody out for as long as the system
//! lets it run: a thread that gives a lock back and asks again is faster than one that has to wake.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Who has the turn, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Turns {
    line: Mutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    taken: bool,
    waiting: VecDeque<Arc<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    thread: Thread,
    called: AtomicBool,
}

/// The turn, while it is had.
#[derive(Debug)]
pub(super) struct Turn<'t>(&'t Turns);

impl Turns {
    /// Waits for the turn; nothing when it does not come in time.
    pub(super) fn take(&self, within: Duration) -> Option<Turn<'_>> {
        let waiter = {
            let mut line = self.line();
            if !line.taken {
                line.taken = true;
                return Some(Turn(self));
            }
            let thread = std::thread::current();
            let waiter = Arc::new(Waiter { thread, called: AtomicBool::new(false) });
            line.waiting.push_back(Arc::clone(&waiter));
            waiter
        };
        let deadline = Instant::now() + within;
        while !waiter.called.load(Ordering::Acquire) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let mut line = self.line();
                let place = line.waiting.iter().position(|other| Arc::ptr_eq(other, &waiter));
                // Out of the line it has been called meanwhile.
                if let Some(place) = place {
                    line.waiting.remove(place);
                    return None;
                }
                break;
            }
            std::thread::park_timeout(left);
        }
        Some(Turn(self))
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut line = self.0.line();
        let next = line.waiting.pop_front();
        line.taken = next.is_some();
        drop(line);
        if let Some(next) = next {
            next.called.store(true, Ordering::Release);
            next.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn one_has_it_and_all_get_it() {
        let (turns, inside) = (Turns::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let turn = turns.take(LONG).expect("the turn");
                        assert!(!inside.swap(true, Ordering::SeqCst), "two at once");
                        inside.store(false, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert!(turns.take(Duration::ZERO).is_some());
    }

    #[test]
    fn who_waited_in_vain_leaves_the_line() {
        let turns = Turns::default();
        let turn = turns.take(LONG).expect("the turn");
        assert!(turns.take(Duration::from_millis(1)).is_none());
        drop(turn);
        assert!(turns.take(Duration::ZERO).is_some());
    }
}
