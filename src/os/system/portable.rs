//! Systems other than Linux, as far as the standard library goes.

use std::io;

/// There is no such call, or only for administrators.
pub(in crate::os) fn sync_file_system<T>(_: T) -> Option<io::Result<()>> {
    None
}

/// Threads are placed well without help.
pub(in crate::os) fn processor() -> usize {
    0
}

pub(in crate::os) fn leave_processor(_: usize) {}
