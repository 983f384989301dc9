//! Another process that swaps directories for links while files are restored.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{disk, exact, planned, run, save};
use crate::support::World;

/// How long it is tried: a second, or as many as `CHECKPOINT_TEST_RACE` says.
fn duration() -> Duration {
    let seconds = std::env::var("CHECKPOINT_TEST_RACE")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

#[test]
fn no_file_gets_outside_through_a_directory_that_becomes_a_link() {
    let world = World::with_commit();
    let outside = world.root().join("outside");
    fs::create_dir_all(outside.join("sub")).unwrap();
    fs::write(outside.join("precious"), "precious").unwrap();
    fs::write(outside.join("sub/file3"), "precious").unwrap();
    for n in 0..20 {
        world.file(format!("d/file{n}"), "saved");
        world.file(format!("d/sub/file{n}"), "saved");
    }
    let saved = save(&world);
    let before = disk(&outside);
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut restores, mut moved, mut written) = (0_u64, 0, 0);
    let (real, aside) = (world.path("d"), world.root().join("aside"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Whatever the restores made of it meanwhile.
            let put_back = || {
                for _ in 0..1000 {
                    if fs::symlink_metadata(&real).is_ok_and(|meta| meta.is_symlink()) {
                        let _ = fs::remove_file(&real);
                    }
                    let _ = fs::remove_dir_all(&real);
                    if fs::rename(&aside, &real).is_ok() {
                        return;
                    }
                }
            };
            while !stop.load(Ordering::Relaxed) {
                // The real directory steps aside for an instant, and a link has its place.
                if fs::rename(&real, &aside).is_ok() {
                    let _ = symlink(&outside, &real);
                    std::thread::yield_now();
                    put_back();
                    swaps.fetch_add(1, Ordering::Relaxed);
                } else if aside.exists() {
                    put_back();
                } else {
                    let _ = fs::create_dir_all(real.join("sub"));
                }
            }
        });
        let started = Instant::now();
        // As long as it takes on this machine until one comes through, a minute at most.
        let is_short = || started.elapsed() < duration().max(Duration::from_secs(60));
        while started.elapsed() < duration() || written == 0 && is_short() {
            for n in 0..20 {
                let _ = fs::write(world.path(format!("d/file{n}")), format!("edited {restores}"));
                let _ = fs::remove_file(world.path(format!("d/sub/file{n}")));
            }
            fs::write(outside.join("precious"), "precious").unwrap();
            fs::write(outside.join("sub/file3"), "precious").unwrap();
            for n in 0..20 {
                // What the edits above put outside themselves.
                let _ = fs::remove_file(outside.join(format!("file{n}")));
            }
            let Ok(plan) = planned(&world, &saved, exact()) else {
                continue;
            };
            if !plan.blocked.is_empty() {
                continue;
            }
            let done = run(&world, &plan);
            restores += 1;
            moved += done.moved.len();
            written += done.written;
            assert_eq!(disk(&outside), before, "after {restores} restores");
        }
        stop.store(true, Ordering::Relaxed);
    });
    let swaps = swaps.load(Ordering::Relaxed);
    println!("{swaps} swaps, {restores} restores, {written} files written, {moved} left alone, 0 escapes");
    assert!(
        swaps > 50 && restores > 0 && written > 0,
        "{swaps} swaps, {restores} restores, {written} written"
    );
}
