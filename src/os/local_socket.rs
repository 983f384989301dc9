//! A socket in a directory through which a process of the same user on this machine answers short questions.
//!
//! Both sides ask the kernel who the other one is, and both wait only for a moment: who gets no answer does without one.
//! Its name is reached through the open directory, as the address of a socket has room for a hundred bytes only. Linux
//! alone has all of this; elsewhere there is no such socket.

use std::io;
use std::path::Path;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub use self::linux::{LocalListener, LocalStream, connect_local};
#[cfg(not(target_os = "linux"))]
pub use self::none::{LocalListener, LocalStream, connect_local};

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fd::{AsFd, AsRawFd as _, OwnedFd};
    use rustix::fs::{AtFlags, Mode, OFlags};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

    use super::{Duration, Path, io};

    /// How many may wait to be heard.
    const WAITING: i32 = 64;

    /// The socket of who answers; its name goes with it.
    #[derive(Debug)]
    pub struct LocalListener {
        socket: OwnedFd,
        directory: OwnedFd,
        name: String,
    }

    /// A connection to a process of the same user.
    #[derive(Debug)]
    pub struct LocalStream {
        stream: UnixStream,
        until: Instant,
    }

    impl LocalListener {
        /// Makes the socket, in the place of one that a killed process left: the caller knows that no other one lives.
        pub fn bind(directory: &Path, name: &str) -> io::Result<Self> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let directory = open(directory)?;
            let _ = rustix::fs::unlinkat(&directory, name, AtFlags::empty());
            // A process that connects before the mode is set is asked for its user as well.
            rustix::net::bind(&socket, &address(&directory, name)?)?;
            let listener = Self {
                socket,
                directory,
                name: name.to_owned(),
            };
            rustix::fs::chmodat(&listener.directory, name, Mode::from_raw_mode(0o600), AtFlags::empty())?;
            rustix::net::listen(&listener.socket, WAITING)?;
            Ok(listener)
        }

        /// The next connection of a process of the same user, to be used up within `wait`; `None` if none waits.
        pub fn accept(&self, wait: Duration) -> Option<LocalStream> {
            loop {
                let socket = rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC).ok()?;
                if let Some(stream) = LocalStream::of(socket, wait) {
                    return Some(stream);
                }
            }
        }

        /// Waits until there is a connection, or something to read from `other`, for so long at most. Gives which of both
        /// it is.
        pub fn wait(&self, other: Option<&OwnedFd>, wait: Duration) -> (bool, bool) {
            let mut both = vec![PollFd::new(&self.socket, PollFlags::IN)];
            both.extend(other.map(|other| PollFd::new(other, PollFlags::IN)));
            let wait = Timespec {
                tv_sec: wait.as_secs().try_into().unwrap_or(0),
                tv_nsec: wait.subsec_nanos().into(),
            };
            // An interruption is as good as the end of the wait.
            let _ = poll(&mut both, Some(&wait));
            let is_ready = |at: usize| both.get(at).is_some_and(|fd| !fd.revents().is_empty());
            (is_ready(0), is_ready(1))
        }
    }

    impl Drop for LocalListener {
        fn drop(&mut self) {
            let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }

    impl LocalStream {
        /// `None` if another user is at the other end.
        fn of(socket: OwnedFd, wait: Duration) -> Option<Self> {
            let other = rustix::net::sockopt::socket_peercred(&socket).ok()?;
            (other.uid == rustix::process::geteuid()).then_some(())?;
            let stream = UnixStream::from(socket);
            stream.set_nonblocking(false).ok()?;
            Some(Self {
                stream,
                until: Instant::now() + wait,
            })
        }

        fn left(&self) -> Option<Duration> {
            Some(self.until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
        }

        /// Fills `bytes`; `None` if they do not come in time.
        pub fn receive(&mut self, mut bytes: &mut [u8]) -> Option<()> {
            while !bytes.is_empty() {
                self.stream.set_read_timeout(Some(self.left()?)).ok()?;
                match self.stream.read(bytes) {
                    Ok(0) => return None,
                    Ok(read) => bytes = &mut bytes[read..],
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return None,
                }
            }
            Some(())
        }

        /// Whether the other end said nothing more, and says nothing more.
        pub fn is_over(&mut self) -> bool {
            let set = self.left().map(|left| self.stream.set_read_timeout(Some(left)));
            matches!(set, Some(Ok(()))) && matches!(self.stream.read(&mut [0]), Ok(0))
        }

        /// Sends `bytes`; `None` if they are not taken in time.
        pub fn send(&mut self, bytes: &[u8]) -> Option<()> {
            self.stream.set_write_timeout(Some(self.left()?)).ok()?;
            self.stream.write_all(bytes).ok()
        }
    }

    /// A connection to the process of the same user that answers there, to be used up within `wait`. `None` if there is
    /// none, at once if there is no socket of this name.
    pub fn connect_local(directory: &Path, name: &str, wait: Duration) -> Option<LocalStream> {
        let directory = open(directory).ok()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        rustix::net::connect(&socket, &address(&directory, name).ok()?).ok()?;
        LocalStream::of(socket, wait)
    }

    fn open(directory: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(directory, flags, Mode::empty())?)
    }

    fn address(directory: &impl AsFd, name: &str) -> io::Result<SocketAddrUnix> {
        let path = format!("/proc/self/fd/{}/{name}", directory.as_fd().as_raw_fd());
        Ok(SocketAddrUnix::new(path)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use super::{Duration, Path, io};

    /// There is none.
    #[derive(Debug)]
    pub struct LocalListener(std::convert::Infallible);

    /// There is none.
    #[derive(Debug)]
    pub struct LocalStream(std::convert::Infallible);

    impl LocalListener {
        /// Fails.
        pub fn bind(_directory: &Path, _name: &str) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// No process connects.
        pub fn accept(&self, _wait: Duration) -> Option<LocalStream> {
            match self.0 {}
        }

        /// No process connects.
        pub fn wait(&self, _other: Option<&std::convert::Infallible>, _wait: Duration) -> (bool, bool) {
            match self.0 {}
        }
    }

    impl LocalStream {
        /// Nothing comes.
        pub fn receive(&mut self, _bytes: &mut [u8]) -> Option<()> {
            match self.0 {}
        }

        /// Nothing comes.
        pub fn is_over(&mut self) -> bool {
            match self.0 {}
        }

        /// Nothing goes.
        pub fn send(&mut self, _bytes: &[u8]) -> Option<()> {
            match self.0 {}
        }
    }

    /// There is none.
    pub fn connect_local(_directory: &Path, _name: &str, _wait: Duration) -> Option<LocalStream> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(200);

    #[test]
    fn a_question_is_answered_at_the_end_of_a_long_path() {
        let directory = tempfile::tempdir().expect("a directory");
        let deep = directory.path().join("long".repeat(40)).join("longer".repeat(40));
        std::fs::create_dir_all(&deep).expect("made");
        assert!(connect_local(&deep, "socket", WAIT).is_none(), "no socket");
        let listener = LocalListener::bind(&deep, "socket").expect("bound");
        let mut asker = connect_local(&deep, "socket", WAIT).expect("connected");
        asker.send(b"hi").expect("sent");
        assert_eq!(listener.wait(None, WAIT), (true, false));
        let mut other = listener.accept(WAIT).expect("accepted");
        let mut room = [0; 2];
        other.receive(&mut room).expect("received");
        assert_eq!(&room, b"hi");
        other.send(b"you").expect("sent");
        assert!(asker.receive(&mut [0; 3]).is_some());
        drop(other);
        assert!(asker.is_over());
        drop(listener);
        assert!(!deep.join("socket").exists(), "its name goes with it");
    }

    #[test]
    fn nobody_waits_for_long() {
        let directory = tempfile::tempdir().expect("a directory");
        let listener = LocalListener::bind(directory.path(), "socket").expect("bound");
        let begun = std::time::Instant::now();
        let wait = Duration::from_millis(20);
        let mut asker = connect_local(directory.path(), "socket", wait).expect("connected");
        assert!(asker.receive(&mut [0]).is_none(), "nobody answers");
        assert!(!asker.is_over());
        // As many as may wait, and none of them is heard.
        let all: Vec<_> = (0..1000)
            .map_while(|_| connect_local(directory.path(), "socket", wait))
            .collect();
        assert!(all.len() < 1000);
        assert!(begun.elapsed() < Duration::from_secs(5));
        drop(listener);
    }

    #[test]
    fn a_socket_that_a_kill_left_is_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let listener = LocalListener::bind(directory.path(), "socket").expect("bound");
        std::mem::forget(listener);
        let listener = LocalListener::bind(directory.path(), "socket").expect("bound again");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(directory.path().join("socket"))
                .expect("there")
                .permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
        assert!(connect_local(directory.path(), "socket", WAIT).is_some());
        drop(listener);
    }
}
