//! Real servers on private sockets, ended when dropped.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rate_limit::store::redis::Dsn;

/// The server programs that the store is proved on.
pub const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// A running server with a directory of its own.
pub struct Server {
    command: Command,
    child: Child,
    directory: PathBuf,
    pub port: u16,
}

impl Server {
    pub fn redis() -> Self {
        Self::with(&[])
    }

    /// Starts a server with more `arguments`: Redis, or what RATE_LIMIT_TEST_SERVER names.
    pub fn with(arguments: &[&str]) -> Self {
        Self::start(&program(), arguments)
    }

    /// Starts `program` with more `arguments` and waits until it answers.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        Self::launch(program, temporary_directory(), arguments)
    }

    /// Starts a sentinel that watches `master` under the name `main`.
    pub fn sentinel(master: &Self) -> Self {
        let directory = temporary_directory();
        let file = directory.join("sentinel.conf");
        let watch = format!(
            "sentinel monitor main 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds main 500\n\
             sentinel failover-timeout main 3000\n",
            master.port
        );
        std::fs::write(&file, watch).unwrap();
        Self::launch(&program(), directory, &[file.to_str().unwrap(), "--sentinel"])
    }

    fn launch(program: &str, directory: PathBuf, arguments: &[&str]) -> Self {
        let port = free_port();
        // A test that is killed drops nothing; the kernel ends the server with it.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", program])
            .args(arguments) // a configuration file comes first
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--unixsocket", directory.join("socket").to_str().unwrap()])
            .args(["--dir", directory.to_str().unwrap(), "--save", "", "--appendonly", "no"])
            .stdout(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
        let server = Self { command, child, directory, port };
        server.wait();
        server
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Kills the server and starts it anew, empty.
    pub fn restart(&mut self) {
        self.kill();
        self.child = self.command.spawn().unwrap();
        self.wait();
    }

    fn wait(&self) {
        for _ in 0..500 {
            // The unix socket is bound after the TCP port.
            if UnixStream::connect(self.socket()).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server did not answer within five seconds");
    }

    pub fn socket(&self) -> String {
        self.directory.join("socket").to_str().unwrap().to_owned()
    }

    /// DSN over the unix socket.
    pub fn unix(&self) -> Dsn {
        Dsn::parse(&format!("redis+unix://{}", self.socket())).unwrap()
    }

    /// DSN over TCP.
    pub fn tcp(&self) -> Dsn {
        Dsn::parse(&format!("redis://127.0.0.1:{}", self.port)).unwrap()
    }

    /// A plain connection for the test's own commands, with no part of what is tested.
    pub fn admin(&self) -> Admin {
        Admin { stream: UnixStream::connect(self.socket()).unwrap() }
    }

    pub fn pause(&self) {
        self.signal("-STOP");
    }

    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Speaks to a server in the plainest way.
pub struct Admin {
    stream: UnixStream,
}

impl Admin {
    /// Sends one command and gives the reply's bytes as they came.
    pub fn ask(&self, command: &[&[u8]]) -> Vec<u8> {
        let mut stream = &self.stream;
        let mut request = format!("*{}\r\n", command.len()).into_bytes();
        for part in command {
            request.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
            request.extend_from_slice(part);
            request.extend_from_slice(b"\r\n");
        }
        stream.write_all(&request).unwrap();
        // The end of a reply of unknown shape is found by asking for one that is known.
        stream.write_all(b"*2\r\n$4\r\nPING\r\n$7\r\n<<end>>\r\n").unwrap();
        let mut reply = Vec::new();
        let end = b"$7\r\n<<end>>\r\n";
        while !reply.ends_with(end) {
            let mut chunk = [0; 4096];
            let received = stream.read(&mut chunk).unwrap();
            assert_ne!(received, 0, "the server closed the connection");
            reply.extend_from_slice(&chunk[..received]);
        }
        reply.truncate(reply.len() - end.len());
        reply
    }

    /// Sends one command and waits for nothing.
    pub fn send(&self, command: &str) {
        (&self.stream).write_all(format!("{command}\r\n").as_bytes()).unwrap();
    }

    /// Sends a command written with blanks between its parts, and gives the reply as text.
    pub fn say(&self, command: &str) -> String {
        let parts: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        String::from_utf8_lossy(&self.ask(&parts)).into_owned()
    }

    /// The reply to a command that answers with a number.
    pub fn number(&self, command: &str) -> i64 {
        let reply = self.say(command);
        let digits = reply.strip_prefix(':').unwrap_or_else(|| panic!("{command}: {reply}"));
        digits.trim_end().parse().unwrap()
    }

    /// The names of all keys, sorted.
    pub fn keys(&self) -> Vec<String> {
        let reply = self.say("KEYS *");
        let mut keys: Vec<String> =
            reply.split("\r\n").skip(2).step_by(2).map(str::to_owned).collect();
        keys.sort();
        keys
    }
}

fn program() -> String {
    std::env::var("RATE_LIMIT_TEST_SERVER").unwrap_or_else(|_| "redis-server".to_owned())
}

/// A new directory for one test.
pub fn temporary_directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed); // only has to be unique
    let name = format!("rate_limit-test-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// A TCP port that nobody listens on, low enough that a Cluster's bus port, 10000 above, exists.
pub fn free_port() -> u16 {
    let port = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    std::iter::repeat_with(port).find(|&port| port < 55_000).unwrap()
}
