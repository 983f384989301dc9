//! Ctrl-C while a pager shows our output: the pager decides what it means, and we must not leave it alone on the
//! terminal. Signals are only flagged here, so that every place stops where it can.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps Ctrl-C from ending this process while it lives; asks of it become a flag instead. When it is dropped, the flag
/// is no longer set, but the signal still does not end the process: for the short rest of a command that is harmless.
#[derive(Debug)]
pub struct InterruptGuard {
    flag: Arc<AtomicBool>,
    id: signal_hook::SigId,
}

impl InterruptGuard {
    /// Starts to hold interrupts.
    pub fn new() -> io::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        let id = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&flag))?;
        Ok(Self { flag, id })
    }

    /// Whether the user asked to stop.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.id);
    }
}

/// The signals that ask a process to end, held for a program that has something to finish first.
#[derive(Debug)]
pub struct Ending {
    flags: Vec<(&'static str, Arc<AtomicBool>)>,
    ids: Vec<signal_hook::SigId>,
}

impl Ending {
    /// Starts to hold SIGINT and SIGTERM, and on Unix SIGHUP and SIGQUIT.
    pub fn new() -> io::Result<Self> {
        let mut ending = Self {
            flags: Vec::new(),
            ids: Vec::new(),
        };
        for &(name, signal) in super::system::ENDING {
            let flag = Arc::new(AtomicBool::new(false));
            ending.ids.push(signal_hook::flag::register(signal, Arc::clone(&flag))?);
            ending.flags.push((name, flag));
        }
        Ok(ending)
    }

    /// The name of a signal that came.
    pub fn asked(&self) -> Option<&'static str> {
        let came = self.flags.iter().find(|(_, flag)| flag.load(Ordering::Relaxed));
        came.map(|(name, _)| *name)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

/// Notes that the process continues after it was stopped, as by Ctrl-Z and `fg` of a shell.
#[derive(Debug)]
pub struct Continued {
    flag: Arc<AtomicBool>,
    id: Option<signal_hook::SigId>,
}

impl Continued {
    /// Starts to note it.
    pub fn new() -> io::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        let register = |signal| signal_hook::flag::register(signal, Arc::clone(&flag));
        let id = super::system::CONTINUED.map(register).transpose()?;
        Ok(Self { flag, id })
    }

    /// Whether it continued since this was asked last.
    pub fn take(&self) -> bool {
        self.flag.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Continued {
    fn drop(&mut self) {
        self.id.map(signal_hook::low_level::unregister);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_becomes_a_flag() {
        let held = InterruptGuard::new().expect("a handler");
        assert!(!held.is_set());
        signal_hook::low_level::raise(signal_hook::consts::SIGINT).expect("raised");
        assert!(held.is_set());
    }
}
