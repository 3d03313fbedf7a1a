//! Networks that fail in chosen places.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Passes commands on to a server and its replies back, one at a time, until told to cut.
pub struct Proxy {
    pub port: u16,
    cut: Arc<AtomicBool>,
}

impl Proxy {
    pub fn to(socket: String) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicBool::new(false));
        let shared = cut.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let server = UnixStream::connect(&socket).unwrap();
                let cut = shared.clone();
                std::thread::spawn(move || pass(client.unwrap(), server, &cut));
            }
        });
        Self { port, cut }
    }

    /// The next reply is not passed on: the server has run the command, and the client's connection
    /// ends.
    pub fn cut_next_reply(&self) {
        self.cut.store(true, SeqCst);
    }
}

fn pass(mut client: TcpStream, mut server: UnixStream, cut: &AtomicBool) {
    let mut chunk = [0; 16 * 1024];
    loop {
        let Some(n @ 1..) = client.read(&mut chunk).ok() else { return };
        server.write_all(&chunk[..n]).unwrap();
        let Some(n @ 1..) = server.read(&mut chunk).ok() else { return };
        if cut.swap(false, SeqCst) || client.write_all(&chunk[..n]).is_err() {
            return;
        }
    }
}

/// Answers whatever is sent with these bytes, a piece at a time, and then closes the connection.
pub fn liar(pieces: Vec<&'static [u8]>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 4096]);
            for piece in &pieces {
                let _ = client.write_all(piece);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    });
    port
}

/// A port on which connecting hangs, as it does where a host drops packets: its queue is full.
pub struct Hanging {
    pub port: u16,
    _listener: socket2::Socket,
    _queue: Vec<socket2::Socket>,
}

impl Hanging {
    pub fn new() -> Self {
        use socket2::{Domain, SockAddr, Socket, Type};
        let any = SockAddr::from(std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&any).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let fill = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            let _ = socket.connect(&address);
            socket
        };
        let queue = (0..3).map(fill).collect();
        let port = address.as_socket().unwrap().port();
        Self { port, _listener: listener, _queue: queue }
    }
}
