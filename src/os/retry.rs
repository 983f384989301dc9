//! Tries again until something works or a time has passed.

use std::io;
use std::time::{Duration, Instant};

/// The first pause between two tries; later ones double up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_micros(200);
/// Short against a save (some 10 ms), so that a freed lock is not left idle.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Calls `attempt` until it gives something, or until `wait` has passed; then `None`. Pauses grow from 0.2 to 5 ms.
pub fn retry<T>(wait: Duration, mut attempt: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    let deadline = Instant::now() + wait;
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(value) = attempt()? {
            return Ok(Some(value));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(jitter(pause).min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Half to all of `pause`, so that waiting processes do not all wake at once.
fn jitter(pause: Duration) -> Duration {
    let mut byte = [0_u8; 1];
    if getrandom::fill(&mut byte).is_err() {
        return pause;
    }
    pause / 2 + pause.mul_f64(f64::from(byte[0]) / 512.0)
}
