//! `rate-limit`, the operator's tool: which limit to choose, and what one would do.
//!
//! `replay` goes one way: [`input`] gives lines, [`sources`] reads them as requests ([`line`],
//! [`json`]) and merges several logs, [`order`] sorts, [`replay`] decides and counts, [`report`]
//! names what was found, and [`text`] or [`html`] writes it. [`doctor`] asks a store,
//! [`memory`] looks into the workers' shared memory. Another command
//! is another variant of [`args::Command`] and another module.
#![forbid(unsafe_code)]

mod args;
mod chart;
mod demand;
mod doctor;
mod escape;
mod html;
mod input;
mod json;
mod line;
mod memory;
mod names;
mod order;
mod policy;
mod replay;
mod report;
mod sources;
mod state;
mod tally;
mod text;
mod timestamp;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use args::{Cli, Command, ReplayArgs};
use order::Order;
use replay::Replay;
use report::Report;
use sources::{Reader, Sources};

/// Why there is no result, for the person at the terminal.
pub struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// What was asked for cannot be done.
    pub fn new(message: String) -> Self {
        Self { message, code: 1 }
    }

    /// What was asked for makes no sense.
    pub fn usage(message: String) -> Self {
        Self { message, code: 2 }
    }
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Replay(args) => replay(&args).map(|()| true),
        Command::Doctor(args) => doctor::run(&args),
        Command::Top(args) => memory::top(&args).map(|()| true),
        Command::Reset(args) => memory::reset(&args).map(|()| true),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("rate-limit: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    if args.logs.iter().any(|log| log.as_os_str() == "-") && io::stdin().is_terminal() {
        return Err(Failure::usage("name a LOG, or send one to standard input".to_owned()));
    }
    let mut reader = Reader::new(args)?;
    let mut order = Order::new(reader.routes.policies().longest_window());
    let mut replay = Replay::new(args);
    let progress = progress(args);
    let mut sources = Sources::open(&args.logs, &progress, &mut reader)?;
    while let Some(request) = sources.next(&mut reader)? {
        order.push(request);
        while let Some(request) = order.pop() {
            replay.decide(request, &reader.routes);
        }
    }
    while let Some(request) = order.take() {
        replay.decide(request, &reader.routes);
    }
    progress.finish_and_clear();

    let report = Report::new(args, replay, reader, order.late);
    if let Some(path) = &args.html {
        std::fs::write(path, html::page(&report)).map_err(|error| {
            Failure::new(format!("{} cannot be written: {error}", path.display()))
        })?;
    }
    print(&if args.json { format!("{:#}\n", report.json()) } else { text::page(&report) })
}

/// A bar over the bytes of all files, on a terminal only.
fn progress(args: &ReplayArgs) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    const BAR: &str = "{wide_bar} {percent} % of {total_bytes}, {bytes_per_sec}, {eta} to go";
    const COUNT: &str = "{spinner} {bytes} read, {bytes_per_sec}";
    let size = args.logs.iter().map(|path| input::size(path)).sum();
    let (bar, style) =
        if size > 0 { (ProgressBar::new(size), BAR) } else { (ProgressBar::no_length(), COUNT) };
    bar.with_style(ProgressStyle::with_template(style).expect("the template is well-formed"))
        .with_finish(ProgressFinish::AndClear)
}

/// Writes to standard output. A reader that went away, as `head` does, has what it wanted.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
