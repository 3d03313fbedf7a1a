//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rate_limit::core::identity::Ipv6Prefix;
use rate_limit::core::limit::{Limit, LimitError};
use rate_limit::store::redis::Layout;

use crate::Failure;
use crate::demand::Share;
use crate::json;
use crate::policy::Route;
use crate::replay::By;
use crate::state::Algorithm;

/// Chooses and watches rate limits, with the decisions of the PHP extension rate_limit.
#[derive(Parser)]
#[command(version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Says what a limit would have done to the requests of an access log.
    Replay(ReplayArgs),
    /// Says what is wrong with a Redis or Valkey server, or with the way to it.
    Doctor(DoctorArgs),
    /// Shows who asks most and who is denied most on this host, as pseudonyms.
    Top(TopArgs),
    /// Frees an identity while the workers run.
    Reset(ResetArgs),
}

#[derive(Args)]
#[command(after_help = "\
Run it as the user that the file belongs to: sudo -u www-data rate-limit top ...")]
pub struct TopArgs {
    /// The file that rate_limit.memory_file names
    #[arg(long, value_name = "FILE")]
    pub memory_file: PathBuf,

    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub rows: u16,
}

#[derive(Args)]
#[command(after_help = "\
Run it as the user that the workers run as: sudo -u www-data rate-limit reset ...

With --store as well as --memory-file this host also forgets the denials that it remembers of the
store. Other hosts do so after ten seconds at the latest.")]
pub struct ResetArgs {
    /// Pseudonyms as rate-limit top shows them, of states in memory
    pub pseudonyms: Vec<String>,

    /// The identity as the limiter was given it
    #[arg(long, value_name = "TEXT", conflicts_with = "pseudonyms")]
    pub identity: Option<OsString>,

    /// The limiter's class
    #[arg(long, value_enum)]
    pub class: Option<Class>,

    /// The limiter's window, in seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub window: Option<i64>,

    /// The file that rate_limit.memory_file names
    #[arg(long, value_name = "FILE")]
    pub memory_file: Option<PathBuf>,

    /// The workers' rate_limit.namespace
    #[arg(long, value_name = "NAME", default_value = "")]
    pub namespace: OsString,

    /// The store, as in rate_limit.store; - reads it from standard input
    #[arg(long, value_name = "DSN")]
    pub store: Option<String>,

    /// As rate_limit.log_layout
    #[arg(long, value_enum, default_value_t = LogLayout::SortedSet)]
    pub log_layout: LogLayout,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Class {
    Log,
    Counter,
}

impl From<Class> for rate_limit::core::limit::Algorithm {
    fn from(class: Class) -> Self {
        match class {
            Class::Log => Self::Log,
            Class::Counter => Self::Counter,
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Connects as the extension does, and writes and removes keys of its own under rl:. Prints no credentials.

Exit code: 0 when the extension can work there, also with warnings; 1 when it cannot; 2 when the
command line is wrong.")]
pub struct DoctorArgs {
    /// redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, as in
    /// rate_limit.store; - reads it from standard input, and without one RATE_LIMIT_DSN of the
    /// environment is taken, which ps does not show to other users
    pub dsn: Option<String>,

    /// Seconds, as rate_limit.timeout
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = timeout)]
    pub timeout: f64,

    /// As rate_limit.log_layout
    #[arg(long, value_enum, default_value_t = LogLayout::SortedSet)]
    pub log_layout: LogLayout,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LogLayout {
    SortedSet,
    List,
}

impl From<LogLayout> for Layout {
    fn from(layout: LogLayout) -> Self {
        match layout {
            LogLayout::SortedSet => Self::SortedSet,
            LogLayout::List => Self::List,
        }
    }
}

fn timeout(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.001..=60.0).contains(seconds));
    seconds.ok_or_else(|| format!("must be from 0.001 to 60, {text:?} given"))
}

#[derive(Args)]
#[command(after_help = "\
Reads nginx's and Apache's common and combined formats and JSON lines, gzip or not, several files
in any order. The log's own times are the clock. A line up to a window behind younger ones is put
in its place; one that is too late for that is counted and left out.

Exit code: 0 when the logs were read, also if some lines could not be; 1 when an input is not an
access log or cannot be read; 2 when the command line is wrong.")]
pub struct ReplayArgs {
    /// Access logs; - is standard input
    #[arg(value_name = "LOG", default_value = "-")]
    pub logs: Vec<PathBuf>,

    /// Requests in any window
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true)]
    limit: i64,

    /// Length of the window, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    window: i64,

    /// Whose denials rank the tables and the charts; all three are always compared
    #[arg(long, value_enum, default_value_t = Algorithm::Log)]
    pub algorithm: Algorithm,

    /// Whose budget a request takes from
    #[arg(long, value_enum, default_value_t = By::Client)]
    pub by: By,

    /// Another limit, and a budget of its own, for the paths that PATTERN covers; * is any text.
    /// The first that covers a path wins
    #[arg(long = "route", value_name = "PATTERN=LIMIT/SECONDS")]
    pub routes: Vec<Route>,

    /// Find the smallest limit that touches at most this share of the clients: 0.01 or 1%
    #[arg(long, value_name = "SHARE")]
    pub suggest: Option<Share>,

    /// Print a JSON object instead of the tables
    #[arg(long)]
    pub json: bool,

    /// Write a report with charts, one file that needs no other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Show clients by their addresses, not as pseudonyms that change with each run
    #[arg(long)]
    pub show_addresses: bool,

    /// Rows of each table of the worst
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(..=1000))]
    pub top: u16,

    /// Bits of an IPv6 address that make one client, 1 to 128
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = ipv6_prefix)]
    pub ipv6_prefix: Ipv6Prefix,

    /// Field of JSON lines with the client's address; a.b is b within a. The first of several, apart by spaces, that a line has
    #[arg(long, value_name = "NAMES", default_value = json::CLIENT)]
    pub json_client: String,

    /// Field of JSON lines with the time: RFC 3339, [dd/Mon/yyyy:hh:mm:ss +hhmm] without its brackets, or a Unix time
    #[arg(long, value_name = "NAMES", default_value = json::TIME)]
    pub json_time: String,

    /// Field of JSON lines with the path, or a whole request line
    #[arg(long, value_name = "NAMES", default_value = json::PATH)]
    pub json_path: String,
}

impl ReplayArgs {
    /// The limit for every path that has none of its own.
    ///
    /// # Errors
    /// Where `--limit` or `--window` is out of its range.
    pub fn default_limit(&self) -> Result<Limit, Failure> {
        Limit::new(self.limit, self.window).map_err(|error| {
            let option =
                if matches!(error, LimitError::Max { .. }) { "--limit" } else { "--window" };
            Failure::usage(format!("{option} {error}"))
        })
    }
}

fn ipv6_prefix(text: &str) -> Result<Ipv6Prefix, String> {
    let prefix = text.parse().ok().and_then(Ipv6Prefix::new);
    prefix.ok_or_else(|| format!("must be between 1 and 128, {text:?} given"))
}
