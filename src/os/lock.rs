//! Kernel locks on files: the kernel frees them when their holder ends, however it ends, so no lock is ever stale and
//! none is judged by its age. The files themselves stay: removing one would let two holders lock two files of one name.
//!
//! Where a file system has no such locks, a second file that must not exist yet is the lock (see
//! [`super::substitute`]).

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::notices::{self, Limit};
use super::substitute::Substitute;
use super::support::has_no_locks;
use super::{Sharing, private_file, system::links};

/// How old a file has to be for its writer to be taken for dead where it cannot be locked.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// An exclusive lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    held: Held,
}

/// Holder of the lock.
#[derive(Debug)]
enum Held {
    /// A file that is locked by the kernel.
    Kernel(KernelLock),
    /// A file that is the lock.
    Substitute(#[expect(dead_code, reason = "dropping it frees the lock")] Substitute),
}

/// A file that is locked by the kernel, unlocked on drop unless a child keeps the lock.
///
/// Closing the file would not do: a child that another thread starts has a copy of each open file until it runs its
/// program, and with it the lock.
#[derive(Debug)]
struct KernelLock {
    file: File,
    is_shared: AtomicBool,
}

impl Drop for KernelLock {
    fn drop(&mut self) {
        if !self.is_shared.load(Ordering::Relaxed) {
            // If this fails, closing the file unlocks it.
            let _ = self.file.unlock();
        }
    }
}

impl Lock {
    /// Locks the file at `path`, which is created (private, empty) when missing, its directory must exist.
    ///
    /// Gives `None` when another process, or another handle of this one, still held it after `wait`.
    pub fn acquire(path: &Path, sharing: Sharing, wait: Duration) -> io::Result<Option<Self>> {
        let held = |file| {
            Some(Self {
                held: Held::Kernel(KernelLock {
                    file,
                    is_shared: AtomicBool::new(false),
                }),
            })
        };
        let file = private_file(path, sharing)?;
        match file.try_lock() {
            Ok(()) => return Ok(held(file)),
            Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                notices::limited(Limit::Locks);
                return Ok(Substitute::acquire(path, sharing, wait)?.map(|lock| Self {
                    held: Held::Substitute(lock),
                }));
            }
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        if wait.is_zero() {
            return Ok(None);
        }
        // The kernel serves those who wait in the order in which they came; trying again and again does not, and then
        // one waits for ten seconds among sixty that save. It knows no deadline, so a thread waits in our place.
        let (sender, receiver) = mpsc::sync_channel(0);
        std::thread::Builder::new().spawn(move || {
            let locked = file.lock().map(|()| file);
            // The receiver is gone: the file is closed, and the lock with it.
            let _ = sender.send(locked);
        })?;
        match receiver.recv_timeout(wait) {
            Ok(locked) => Ok(held(locked?)),
            Err(_) => Ok(None),
        }
    }
}

impl Lock {
    /// The locked file, open once more: a child that has it keeps the lock after this process is killed. `None` where no
    /// child can.
    pub fn shared(&self) -> Option<File> {
        match &self.held {
            Held::Kernel(lock) => {
                lock.is_shared.store(true, Ordering::Relaxed);
                lock.file.try_clone().ok()
            }
            Held::Substitute(_) => None,
        }
    }
}

/// Locks an open file exclusively, however long it takes: for files that others lock for a moment only. Where there are no
/// locks, nothing is locked, and [`try_lock`] judges by age.
pub fn lock(file: &File) -> io::Result<()> {
    match file.lock() {
        Err(error) if has_no_locks(&error) => {
            notices::limited(Limit::Locks);
            Ok(())
        }
        locked => locked,
    }
}

/// Opens and locks the file of a name: where another one took its place meanwhile, that one.
pub fn lock_named(open: impl Fn() -> io::Result<File>) -> io::Result<File> {
    loop {
        let file = open()?;
        lock(&file)?;
        if links(&file)? > 0 {
            return Ok(file);
        }
    }
}

/// Tries to lock an open file exclusively; `false` when another handle holds it, or where there are no locks and the file
/// was written within a day.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if has_no_locks(&error) => {
            let age = file.metadata()?.modified()?.elapsed();
            Ok(age.is_ok_and(|age| age > ABANDONED))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a process holds the lock on the file at `path`, without creating it. Who takes the lock at this very moment
/// may find it held by the question.
pub fn is_locked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        // A child that is being started would keep it if it were only closed.
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) if has_no_locks(&error) => Substitute::is_held(path),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Held, Lock, is_locked};
    use crate::os::Sharing;

    #[test]
    fn a_child_that_is_being_started_does_not_keep_a_lock_that_was_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let acquire = || Lock::acquire(&path, Sharing::default(), Duration::ZERO).unwrap();
        let lock = acquire().unwrap();
        assert!(acquire().is_none());
        let Held::Kernel(kernel) = &lock.held else {
            return;
        };
        // The copy that a child has between fork and exec.
        let inherited = kernel.file.try_clone().unwrap();
        drop(lock);
        assert!(acquire().is_some());
        drop(inherited);
        assert!(!is_locked(&path).unwrap());
    }

    #[test]
    fn a_child_that_shares_a_lock_keeps_it_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let acquire = || Lock::acquire(&path, Sharing::default(), Duration::ZERO).unwrap();
        let lock = acquire().unwrap();
        let Some(shared) = lock.shared() else {
            return;
        };
        drop(lock);
        assert!(acquire().is_none() && is_locked(&path).unwrap());
        drop(shared);
        assert!(acquire().is_some());
    }
}
