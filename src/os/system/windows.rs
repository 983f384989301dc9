//! Windows: no permission bits, no process groups and few signals; what is open cannot always be removed.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::windows::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::SystemTime;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Files have an attribute that they may only be read, and no permission bits.
pub(in crate::os) const HAS_MODES: bool = false;
/// There is no such call for directories; the file systems journal the names themselves.
pub(in crate::os) const SYNCS_DIRECTORIES: bool = false;
/// A handle that may only read brings nothing to the disk.
pub(in crate::os) const SYNC_NEEDS_WRITE: bool = true;
/// The name of an open file stays taken until it is closed.
pub(in crate::os) const REMOVES_OPEN_FILES: bool = false;
/// `ERROR_BAD_EXE_FORMAT`.
pub(in crate::os) const NO_PROGRAM: i32 = 193;
/// A child cannot be asked to end.
pub(in crate::os) const GUARD: Option<&str> = None;
/// The program of the system that opens a file with what the user chose for it.
pub(in crate::os) const OPENER: &str = "explorer";
/// All signals end a process; see [`send`].
pub(in crate::os) const TERMINATE: i32 = SIGTERM;
/// The same.
pub(in crate::os) const KILL: i32 = SIGTERM;
/// Ctrl-C, which the console gives to the command as well.
pub(in crate::os) const PASSED_ON: &[(i32, bool)] = &[(SIGINT, true)];
/// Ctrl-C, and what the C library knows.
pub(in crate::os) const ENDING: &[(&str, i32)] = &[("SIGINT", SIGINT), ("SIGTERM", SIGTERM)];

/// `FILE_FLAG_DELETE_ON_CLOSE`.
const DELETE_ON_CLOSE: u32 = 0x0400_0000;
/// `MAX_PATH`.
const LONGEST: usize = 260;

/// Processes are not stopped here.
pub(in crate::os) const CONTINUED: Option<i32> = None;

/// Nothing: there is no job control.
pub fn suspend() {}

pub(in crate::os) fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// There are no mode bits here.
#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(in crate::os) fn set_path_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Nothing: a file has the rights of its directory.
pub fn new_mode(_: &mut OpenOptions, _: u32) {}

/// Creates a directory, which has the rights of its parent.
pub(in crate::os) fn create_private_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// There is no user who could lock others out.
pub(in crate::os) fn survive_large_files() {}

pub(in crate::os) fn is_root() -> bool {
    false
}

pub(in crate::os) fn owner(_: &Metadata) -> Option<(u32, u32)> {
    None
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(in crate::os) fn give(_: &File, _: (u32, u32)) -> io::Result<()> {
    Ok(())
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(in crate::os) fn give_path(_: &Path, _: (u32, u32)) -> io::Result<()> {
    Ok(())
}

/// Whether a directory is not marked read-only; its access list is asked when a file is made.
pub fn is_writable(directory: &Path) -> bool {
    std::fs::metadata(directory).is_ok_and(|found| !found.permissions().readonly())
}

/// Fills `bytes` with the file's content from `at` on, wherever the file is read otherwise.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes = &mut bytes[count..];
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The options as they are: no file of a working tree waits.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The options for a file that is gone when it is closed.
pub(in crate::os) fn one_use(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(DELETE_ON_CLOSE)
}

/// Sets the modification time of `path` to now.
pub fn touch(path: &Path) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the time of a file, not of a record")]
    let now = SystemTime::now();
    File::options().write(true).open(path)?.set_modified(now)
}

/// One name: an open file cannot be removed.
#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub fn links(_: &File) -> io::Result<u64> {
    Ok(1)
}

/// Whether two descriptions are of one and the same file, as far as times and length show: the standard library does not
/// give the number of a file.
pub fn same_file(one: &Metadata, other: &Metadata) -> bool {
    one.created().ok() == other.created().ok() && one.len() == other.len() && one.is_file() && other.is_file()
}

/// 0: see [`same_file`].
pub fn file_id(_: &Metadata) -> u64 {
    0
}

pub(in crate::os) fn device(_: &Metadata) -> u64 {
    0
}

/// When the file was created, the one time that unpacking does not set.
pub(in crate::os) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    metadata.created().ok()
}

/// Whether it is a file: its name decides how it is run.
pub fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Bytes of a path or an argument as the system's text; what is no UTF-8 is replaced.
pub fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

pub(in crate::os) fn any_file() -> io::Result<File> {
    File::open("NUL")
}

pub(in crate::os) fn is_out_of_files(error: &io::Error) -> bool {
    /// `ERROR_TOO_MANY_OPEN_FILES`.
    const TOO_MANY: i32 = 4;
    error.raw_os_error() == Some(TOO_MANY)
}

pub(in crate::os) fn is_unsupported(_: &io::Error) -> bool {
    false
}

pub(in crate::os) fn is_without_locks(_: &io::Error) -> bool {
    false
}

pub(in crate::os) fn is_without_directory_sync(_: &io::Error) -> bool {
    false
}

#[expect(clippy::disallowed_methods, reason = "the name of the machine is no setting")]
pub(in crate::os) fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Unknown: the standard library opens no process by its number.
pub(in crate::os) fn exists(_: u32) -> Option<bool> {
    None
}

/// Nothing: there are no process groups.
pub(in crate::os) fn own_group(_: &mut Command) {}

/// Ends a child, whatever the signal. Ctrl-C has reached it by the console.
pub(in crate::os) fn send(child: &mut Child, _: bool, _: i32) -> bool {
    child.kill().is_ok()
}

/// `false`: a child cannot be asked to end.
pub fn terminate(_: &Child) -> bool {
    false
}

pub(in crate::os) fn ended_by(_: ExitStatus) -> Option<i32> {
    None
}

/// Nothing: a process without standard streams has left it.
pub fn leave_terminal() {}

/// Input and output of a protocol.
type Streams = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// The streams themselves, which cannot be moved.
#[expect(clippy::disallowed_methods, reason = "a protocol has them for itself")]
#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(in crate::os) fn take_streams() -> io::Result<Streams> {
    Ok((Box::new(io::stdin()), Box::new(io::stdout())))
}

/// Columns of the console window behind one of the standard streams.
pub(in crate::os) fn columns() -> Option<u16> {
    terminal_size::terminal_size()
        .map(|(width, _)| width.0)
        .filter(|&columns| columns > 0)
}

/// Reading from a console that is gone fails.
pub(in crate::os) const TERMINAL_CAN_GO: bool = false;

pub(in crate::os) fn is_terminal_gone() -> bool {
    false
}

/// No question is asked: what is typed cannot be hidden by the standard library.
pub fn ask_passphrase(_: &str) -> Option<String> {
    None
}

/// Where the user's home is, by the names of variables.
pub(in crate::os) const HOMES: &[&str] = &["HOME", "USERPROFILE"];

/// The variables of the environment, by upper-case names, as case does not count in them. What Unixes set and Windows does
/// not is assumed as by git for Windows: `HOME` is the profile of the user, texts are UTF-8, and `TERM` names a terminal that
/// takes control sequences where the console does.
#[expect(clippy::disallowed_methods, reason = "passed on to the one reader of most of them")]
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    let home = std::env::var_os("USERPROFILE").map(|home| ("HOME".into(), home));
    let takes_sequences = anstyle_query::windows::enable_ansi_colors() == Some(true);
    let terminal = takes_sequences.then(|| ("TERM".into(), "xterm-256color".into()));
    let assumed = [Some(("LANG".into(), "C.UTF-8".into())), home, terminal];
    let set = std::env::vars_os().map(|(name, value)| (name.to_ascii_uppercase(), value));
    // The later one of two counts.
    assumed.into_iter().flatten().chain(set)
}

/// A path without symlinks, `.` and `..`, in the form that git, sh and people read: the standard library gives the long form,
/// which starts with `\\?\`.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    let short = real.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    // What is left of `\\?\UNC\...` is no path, and a long one is reached by its long form alone.
    let is_path = |text: &&str| text.len() < LONGEST && text.as_bytes().get(1) == Some(&b':');
    let short = short.filter(is_path).map(PathBuf::from);
    Ok(short.unwrap_or(real))
}

/// The file names that a program can have.
pub fn program_names(name: &str) -> impl Iterator<Item = String> {
    ["exe", "cmd", "bat"].map(|end| format!("{name}.{end}")).into_iter()
}

/// The shell that runs the command lines of settings and hooks: that of `PATH`, else the one that git for Windows brings,
/// which lies in `bin` or `usr\bin` next to the `cmd` or `bin` of its `git.exe`.
#[expect(clippy::disallowed_methods, reason = "where programs are is no setting of ours")]
pub fn shell() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if directories.iter().any(|directory| directory.join("sh.exe").is_file()) {
        return "sh".into();
    }
    let gits = directories
        .iter()
        .filter(|directory| directory.join("git.exe").is_file());
    let roots = gits.flat_map(|directory| directory.ancestors().skip(1).take(2));
    let mut shells = roots.flat_map(|root| ["bin\\sh.exe", "usr\\bin\\sh.exe"].map(|shell| root.join(shell)));
    shells.find(|shell| shell.is_file()).unwrap_or_else(|| "sh".into())
}
