//! Files, gzip or not, and standard input, as lines of bounded length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use memchr::memchr;

/// The longest line that is read, in bytes. Servers log at most a few kilobytes of a request.
pub const MAX_LINE: usize = 128 * 1024;

/// The first bytes of a gzip member (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The lines of one input.
pub struct Lines {
    input: Box<dyn Read>,
    buffer: Box<[u8]>,
    /// What is read and not yet handed out: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Whether the rest of a line that did not fit is to be skipped.
    skipping: bool,
}

/// One line, or as much of it as could be had.
pub enum Line<'a> {
    /// A line without its end (LF or CRLF).
    Whole(&'a [u8]),
    /// The beginning of a line longer than [`MAX_LINE`].
    TooLong(&'a [u8]),
}

/// How many bytes there are to read in `path`, for a progress bar; 0 where nobody knows.
pub fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 })
}

impl Lines {
    /// Opens `path`, or standard input for `-`, and unpacks it if it is gzip. What is read moves `progress`.
    pub fn open(path: &Path, progress: &ProgressBar) -> io::Result<Self> {
        let file: Box<dyn Read> = match path.as_os_str().as_encoded_bytes() {
            b"-" => Box::new(io::stdin()),
            _ => Box::new(File::open(path)?),
        };
        Self::new(Box::new(progress.wrap_read(file)))
    }

    fn new(mut file: Box<dyn Read>) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(GZIP.len());
        file.by_ref().take(GZIP.len() as u64).read_to_end(&mut magic)?;
        let packed = magic == GZIP;
        let file = io::Cursor::new(magic).chain(file);
        let input: Box<dyn Read> =
            if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Ok(Self { input, buffer: vec![0; MAX_LINE].into(), start: 0, end: 0, skipping: false })
    }

    /// The next line, `None` after the last. An error loses the line that it cut.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = 0;
        let length = loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                if !std::mem::take(&mut self.skipping) {
                    break searched + at;
                }
                self.start += searched + at + 1;
                searched = 0;
                continue;
            }
            if self.skipping {
                self.start = self.end;
            }
            searched = self.end - self.start;
            if searched == self.buffer.len() {
                self.skipping = true;
                self.start = self.end;
                return Ok(Some(Line::TooLong(&self.buffer)));
            }
            if !self.fill()? {
                if searched == 0 {
                    return Ok(None);
                }
                break searched;
            }
        };
        let line = &self.buffer[self.start..self.start + length];
        self.start = self.end.min(self.start + length + 1);
        Ok(Some(Line::Whole(line.strip_suffix(b"\r").unwrap_or(line))))
    }

    /// Reads more behind what is there; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.end += read;
                    return Ok(read > 0);
                }
            }
        }
    }
}
