//! Unix: permission bits and owners, signals and process groups, terminals.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, CWD, Gid, Mode, OFlags, RawMode, Timespec, Timestamps, UTIME_NOW, Uid};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};

/// Whether files have permission bits.
pub(in crate::os) const HAS_MODES: bool = true;
/// Whether a directory can be brought to the disk.
pub(in crate::os) const SYNCS_DIRECTORIES: bool = true;
/// Whether a file has to be open for writing to be brought to the disk.
pub(in crate::os) const SYNC_NEEDS_WRITE: bool = false;
/// Whether an open file can be removed.
pub(in crate::os) const REMOVES_OPEN_FILES: bool = true;
/// The system's error for a file in no format that it runs.
pub(in crate::os) const NO_PROGRAM: i32 = 8;
/// The shell that watches over a child.
pub(in crate::os) const GUARD: Option<&str> = Some("/bin/sh");
/// The program of the system that opens a file with what the user chose for it.
pub(in crate::os) const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
/// Opens a file that is always there.
pub(in crate::os) fn any_file() -> io::Result<File> {
    File::open("/dev/null")
}

/// Whether an error means that this process, or the system, can open no more files.
pub(in crate::os) fn is_out_of_files(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw_os_error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}

/// Lets a write beyond the limit of file sizes fail, where the signal would end the process. It is handled rather than
/// ignored, so that programs that are started have it as before.
pub(in crate::os) fn survive_large_files() {
    static HANDLED: std::sync::Once = std::sync::Once::new();
    HANDLED.call_once(|| {
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    });
}

/// Asks a process to end.
pub(in crate::os) const TERMINATE: i32 = SIGTERM;
/// Ends a process.
pub(in crate::os) const KILL: i32 = SIGKILL;
/// The signals that would end us and that a command of the user's gets too, and whether a key makes them.
pub(in crate::os) const PASSED_ON: &[(i32, bool)] =
    &[(SIGINT, true), (SIGQUIT, true), (SIGTERM, false), (SIGHUP, false)];
/// The signals that ask a process to end.
pub(in crate::os) const ENDING: &[(&str, i32)] = &[
    ("SIGINT", SIGINT),
    ("SIGTERM", SIGTERM),
    ("SIGHUP", SIGHUP),
    ("SIGQUIT", SIGQUIT),
];

/// Permission bits, with those above 0777; `None` where there are none.
#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(in crate::os) fn mode(metadata: &Metadata) -> Option<u32> {
    Some(metadata.permissions().mode() & 0o7777)
}

/// Sets the permission bits of an open file to exactly these.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(mode_bits(mode)))?)
}

/// Sets the permission bits of a file to exactly these.
pub(in crate::os) fn set_path_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Permission bits in the width of this system.
#[allow(clippy::unnecessary_cast, clippy::cast_possible_truncation)]
pub(in crate::os) fn mode_bits(mode: u32) -> RawMode {
    (mode & 0o7777) as RawMode
}

/// The options with the mode of a file that is made, before the creation mask.
pub fn new_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

/// Creates a directory that only its owner may enter.
pub(in crate::os) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Whether this process may give files away.
pub(in crate::os) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// User and group that a file belongs to.
#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(in crate::os) fn owner(metadata: &Metadata) -> Option<(u32, u32)> {
    Some((metadata.uid(), metadata.gid()))
}

/// Gives an open file or directory away. Where the file system does not know owners, or the user namespace not this one,
/// it stays as it is.
pub(in crate::os) fn give(file: &File, (user, group): (u32, u32)) -> io::Result<()> {
    given(rustix::fs::fchown(
        file,
        Some(Uid::from_raw(user)),
        Some(Gid::from_raw(group)),
    ))
}

/// The same for a name, also of a symlink.
pub(in crate::os) fn give_path(path: &Path, (user, group): (u32, u32)) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    given(rustix::fs::chownat(
        CWD,
        path,
        Some(user),
        Some(group),
        AtFlags::SYMLINK_NOFOLLOW,
    ))
}

fn given(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Err(Errno::PERM | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether this process may make files in a directory.
pub fn is_writable(directory: &Path) -> bool {
    rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Fills `bytes` with the file's content from `at` on, wherever the file is read otherwise.
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// The options with the wish that opening a FIFO or device does not wait for anybody. Files are not concerned.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
}

/// The options for a file that is to be gone when it is closed, where it cannot be removed before.
pub(in crate::os) fn one_use(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Sets the modification time of `path` to now, as git does with an object it finds already stored, so that the next
/// `gc` takes it for fresh.
pub fn touch(path: &Path) -> io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::empty())?)
}

/// How many names an open file has: 0 when it was removed after it was opened.
pub fn links(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.nlink())
}

/// Whether two descriptions are of one and the same file, not merely of equal ones.
pub fn same_file(one: &Metadata, other: &Metadata) -> bool {
    one.ino() == other.ino() && one.dev() == other.dev()
}

/// Identity of a file apart from its path, so that a replacement is noticed; 0 where the system has no such identity.
pub fn file_id(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// The device that a file is on.
pub(in crate::os) fn device(metadata: &Metadata) -> u64 {
    metadata.dev()
}

/// When the entry itself changed, which no program can set.
pub(in crate::os) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanos = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
    UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

/// Whether anybody may execute a file.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Bytes of a path or an argument as the system's text.
pub fn os_string(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// Whether an error means that the file system or the kernel does not know the call.
pub(in crate::os) fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [
        Errno::NOSYS,
        Errno::OPNOTSUPP,
        Errno::NOTSUP,
        Errno::INVAL,
        Errno::NOTTY,
    ];
    unsupported.iter().any(|known| is(error, *known))
}

/// Whether an error of a lock means that no lock is to be had.
pub(in crate::os) fn is_without_locks(error: &io::Error) -> bool {
    is(error, Errno::NOLCK)
}

/// Whether an error means that a directory cannot be synced by its descriptor.
pub(in crate::os) fn is_without_directory_sync(error: &io::Error) -> bool {
    is(error, Errno::BADF)
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// The name of this host, empty when it has none.
pub(in crate::os) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether there is a process with this number; `None` where that cannot be determined.
pub(in crate::os) fn exists(id: u32) -> Option<bool> {
    let id = Pid::from_raw(i32::try_from(id).ok()?)?;
    match rustix::process::test_kill_process(id) {
        Ok(()) | Err(Errno::PERM) => Some(true),
        Err(Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

/// Lets a child lead a process group of its own.
pub(in crate::os) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Sends a signal to a child or, with `group`, to the group that it leads. That it has just ended is no matter. Returns
/// whether it was sent.
pub(in crate::os) fn send(child: &mut Child, group: bool, signal: i32) -> bool {
    let Some(signal) = Signal::from_named_raw(signal) else {
        return false;
    };
    let id = Pid::from_child(child);
    let sent = if group {
        rustix::process::kill_process_group(id, signal)
    } else {
        rustix::process::kill_process(id, signal)
    };
    sent.is_ok()
}

/// Asks a child of ours to end, so that it can clean up behind itself: SIGTERM. `false` where that cannot be asked.
pub fn terminate(child: &Child) -> bool {
    rustix::process::kill_process(Pid::from_child(child), Signal::TERM).is_ok()
}

/// The signal by which a stopped process continues.
pub(in crate::os) const CONTINUED: Option<i32> = Some(signal_hook::consts::SIGCONT);

/// Stops this process and what runs with it, as Ctrl-Z does: git, which waits for us, has to stop too, or the shell would
/// go on waiting. Where no shell could continue it the system does nothing. The caller is continued in any case.
pub fn suspend() {
    let _ = rustix::process::kill_current_process_group(Signal::TSTP);
    // Where nothing was stopped nothing continues either.
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGCONT);
}

/// The signal that ended a process.
pub(in crate::os) fn ended_by(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Leaves the terminal, so that neither Ctrl-C there ends this process nor a program that it starts can ask there.
pub fn leave_terminal() {
    // One that leads a group has no terminal to leave to begin with, or keeps it; it works either way.
    let _ = rustix::process::setsid();
}

/// Input and output of a protocol.
type Streams = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// Takes standard input and output for the caller alone: the process and its children then read nothing from standard
/// input, and what one of them writes to standard output goes to standard error.
pub(in crate::os) fn take_streams() -> io::Result<Streams> {
    use rustix::{io::fcntl_dupfd_cloexec, stdio};
    /// Above the three standard streams.
    const LOWEST: i32 = 3;
    let input = fcntl_dupfd_cloexec(stdio::stdin(), LOWEST)?;
    let output = fcntl_dupfd_cloexec(stdio::stdout(), LOWEST)?;
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok((Box::new(File::from(input)), Box::new(File::from(output))))
}

/// Columns of the terminal behind standard output or, when that is piped into a pager or program, standard error or
/// input. None when none of them is a terminal or its width is unknown.
pub(in crate::os) fn columns() -> Option<u16> {
    #[expect(clippy::disallowed_methods, reason = "only asks the descriptors, and writes nothing")]
    let (out, err, input) = (io::stdout(), io::stderr(), io::stdin());
    [out.as_fd(), err.as_fd(), input.as_fd()]
        .iter()
        .find_map(|fd| rustix::termios::tcgetwinsize(fd).ok())
        .map(|size| size.ws_col)
        .filter(|&columns| columns > 0)
}

/// Whether reading from a terminal that is gone may never return.
pub(in crate::os) const TERMINAL_CAN_GO: bool = true;

/// Whether the terminal is gone: closed, or cut off, with or without a signal.
#[expect(clippy::disallowed_methods, reason = "only asks the descriptor, and reads nothing")]
pub(in crate::os) fn is_terminal_gone() -> bool {
    rustix::termios::tcgetattr(io::stdin()).is_err()
}

/// Asks the person at the terminal for a passphrase, which is not shown as it is typed; `None` where there is no terminal,
/// or the user gives no answer or presses Ctrl-C.
pub fn ask_passphrase(question: &str) -> Option<String> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    /// The byte of Ctrl-C.
    const CTRL_C: u8 = 3;
    /// The most bytes of a passphrase; a terminal gives no longer line.
    const LONGEST: usize = 4096;

    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let before = tcgetattr(&terminal).ok()?;
    let mut silent = before.clone();
    // Ctrl-C ends the line instead of this process, which would leave a terminal that shows nothing.
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    silent.local_modes.insert(LocalModes::ECHONL);
    silent.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
    tcsetattr(&terminal, OptionalActions::Flush, &silent).ok()?;
    // A terminal gives a line at a time.
    let mut line = [0; LONGEST];
    let asked = terminal.write_all(question.as_bytes());
    let read = asked.and_then(|()| terminal.read(&mut line));
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    let line = std::str::from_utf8(&line[..read.ok()?]).ok()?;
    let text = line.trim_end_matches(['\n', '\r']);
    (!text.is_empty() && !text.ends_with(char::from(CTRL_C))).then(|| text.to_owned())
}

/// Where the user's home is, by the names of variables.
pub(in crate::os) const HOMES: &[&str] = &["HOME"];

/// The variables of the environment.
#[expect(clippy::disallowed_methods, reason = "passed on to the one reader of most of them")]
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// A path without symlinks, `.` and `..`.
pub fn real_path(path: &Path) -> io::Result<std::path::PathBuf> {
    path.canonicalize()
}

/// The file names that a program can have.
pub fn program_names(name: &str) -> impl Iterator<Item = String> {
    std::iter::once(name.to_owned())
}

/// The shell that runs the command lines of settings and hooks.
pub fn shell() -> std::path::PathBuf {
    "sh".into()
}
