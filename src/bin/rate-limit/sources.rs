//! All inputs as one stream of requests in the order of time. Logs of several hosts overlap, and a
//! shell hands rotated ones over in the wrong order, so the input whose next line is the oldest
//! goes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use crate::Failure;
use crate::args::ReplayArgs;
use crate::escape::{printable, without_addresses};
use crate::input::{Line, Lines};
use crate::json::{self, Fields};
use crate::line;
use crate::names::{Clients, Routes};
use crate::order::Request;
use crate::policy::Policies;
use crate::replay::By;
use crate::timestamp::Dates;

/// Unread lines that are shown.
const SHOWN: usize = 5;

/// An input whose first lines are all unread, this many of them, is not a log.
const HOPELESS: u64 = 1_000;

/// Paths that get a route of their own while clients alone are limited. A scanner asks for any
/// number of them.
const MAX_PATHS: usize = 1 << 16;

/// What turns lines into requests, for all inputs.
pub struct Reader {
    fields: Fields,
    /// The clients so far.
    pub clients: Clients,
    /// The routes so far.
    pub routes: Routes,
    /// Whether an unread line is shown with the addresses in it.
    show_addresses: bool,
    /// Lines that could not be read.
    pub unparsed: u64,
    /// The first few of those.
    pub shown: Vec<Unread>,
    /// What went wrong without ending the replay.
    pub warnings: Vec<String>,
    dates: Dates,
}

/// A line that could not be read.
pub struct Unread {
    /// File and line.
    pub place: String,
    /// The rule that it breaks.
    pub rule: &'static str,
    /// The line's beginning, printable.
    pub text: String,
}

impl Reader {
    /// Nothing read yet.
    ///
    /// # Errors
    /// Where the limit is out of its range.
    pub fn new(args: &ReplayArgs) -> Result<Self, Failure> {
        let policies = Policies::new(args.default_limit()?, args.routes.clone());
        let max_paths = if args.by == By::Client { MAX_PATHS } else { usize::MAX };
        Ok(Self {
            fields: Fields::new(&args.json_client, &args.json_time, &args.json_path),
            clients: Clients::new(args.ipv6_prefix),
            routes: Routes::new(policies, max_paths),
            show_addresses: args.show_addresses,
            unparsed: 0,
            shown: Vec::new(),
            warnings: Vec::new(),
            dates: Dates::default(),
        })
    }

    fn request(&mut self, line: &[u8]) -> Result<Request, &'static str> {
        let entry = match line.trim_ascii_start() {
            [b'{', ..] => json::parse(line, &self.fields, &mut self.dates)?,
            _ => line::parse(line, &mut self.dates)?,
        };
        Ok(Request {
            time: entry.time,
            client: self.clients.id(&entry.client),
            route: self.routes.id(&entry.path),
        })
    }

    fn printable(&self, line: &[u8]) -> String {
        if self.show_addresses { printable(line) } else { printable(&without_addresses(line)) }
    }
}

/// One input.
struct Source {
    name: String,
    lines: Lines,
    number: u64,
    parsed: u64,
    first_unread: Option<String>,
}

impl Source {
    fn open(path: &Path, progress: &ProgressBar) -> Result<Self, Failure> {
        let name = match path.as_os_str().as_encoded_bytes() {
            b"-" => "standard input".to_owned(),
            name => printable(name),
        };
        let lines = Lines::open(path, progress)
            .map_err(|error| Failure::new(format!("{name}: cannot be read: {error}")))?;
        Ok(Self { name, lines, number: 0, parsed: 0, first_unread: None })
    }

    /// The next request, `None` at the end.
    fn next(&mut self, reader: &mut Reader) -> Result<Option<Request>, Failure> {
        loop {
            let (line, request) = match self.lines.next() {
                Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => continue,
                Ok(Some(Line::Whole(line))) => (line, reader.request(line)),
                Ok(Some(Line::TooLong(start))) => (start, Err("longer than 128 KiB")),
                Ok(None) => return self.end(),
                Err(error) => return self.broken(&error, reader),
            };
            self.number += 1;
            let Err(rule) = request else {
                self.parsed += 1;
                return Ok(request.ok());
            };
            reader.unparsed += 1;
            let hopeful = self.parsed > 0;
            if reader.shown.len() < SHOWN || !hopeful && self.first_unread.is_none() {
                let text = reader.printable(line);
                self.first_unread.get_or_insert_with(|| format!("{rule}: {text}"));
                let place = format!("{}, line {}", self.name, self.number);
                reader.shown.push(Unread { place, rule, text });
                reader.shown.truncate(SHOWN);
            }
            if !hopeful && self.number >= HOPELESS {
                return self.end();
            }
        }
    }

    fn end(&self) -> Result<Option<Request>, Failure> {
        match &self.first_unread {
            Some(unread) if self.parsed == 0 => Err(Failure::new(format!(
                "{}: not an access log: none of its first {} lines could be read; the first of them: {unread}",
                self.name, self.number,
            ))),
            _ => Ok(None),
        }
    }

    /// Damaged gzip ends an input, and what came before it counts. Anything else ends the replay.
    fn broken(&self, error: &io::Error, reader: &mut Reader) -> Result<Option<Request>, Failure> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let damaged = matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof);
        if !damaged || self.parsed == 0 {
            return Err(Failure::new(format!("{}: cannot be read: {error}", self.name)));
        }
        let (name, lines) = (&self.name, self.number);
        reader.warnings.push(format!("{name}: damaged or cut off after line {lines}: {error}"));
        Ok(None)
    }
}

/// All inputs, merged.
pub struct Sources {
    sources: Vec<Source>,
    /// The next request of each source that has one.
    heads: BinaryHeap<Reverse<(Request, usize)>>,
}

impl Sources {
    /// Opens all of `paths`, `-` being standard input.
    ///
    /// # Errors
    /// Where one cannot be read, or is not a log.
    pub fn open(
        paths: &[PathBuf],
        progress: &ProgressBar,
        reader: &mut Reader,
    ) -> Result<Self, Failure> {
        let opened: Result<Vec<_>, _> =
            paths.iter().map(|path| Source::open(path, progress)).collect();
        let mut all = Self { sources: opened?, heads: BinaryHeap::new() };
        for source in 0..all.sources.len() {
            all.advance(source, reader)?;
        }
        Ok(all)
    }

    /// The next request.
    ///
    /// # Errors
    /// Where an input cannot be read, or is not a log.
    pub fn next(&mut self, reader: &mut Reader) -> Result<Option<Request>, Failure> {
        let Some(Reverse((request, source))) = self.heads.pop() else { return Ok(None) };
        self.advance(source, reader)?;
        Ok(Some(request))
    }

    fn advance(&mut self, source: usize, reader: &mut Reader) -> Result<(), Failure> {
        let next = self.sources[source].next(reader)?;
        self.heads.extend(next.map(|request| Reverse((request, source))));
        Ok(())
    }
}
