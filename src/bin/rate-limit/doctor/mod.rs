//! `rate-limit doctor`: reaches a store as the extension would, and says what bites operators.
//!
//! [`checks`] go over one connection; [`server`] is about one server, of which a Cluster has several;
//! [`permissions`] tries each command that the extension's scripts use.

mod checks;
mod permissions;
mod server;

use std::fmt::Write as _;
use std::io::{self, Read as _};

use rate_limit::store::StoreError;
use rate_limit::store::redis::Dsn;

use crate::args::DoctorArgs;
use crate::escape::printable;
use crate::{Failure, print};

/// The DSN where the command line has none: there everybody on the machine can read it.
const VARIABLE: &str = "RATE_LIMIT_DSN";

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Level {
    Ok,
    Warn,
    Fail,
}

/// One line of the verdict.
pub struct Finding {
    level: Level,
    check: &'static str,
    text: String,
    remedy: &'static str,
}

impl Finding {
    pub fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Ok, check, text: text.into(), remedy: "" }
    }

    pub fn warn(check: &'static str, text: impl Into<String>, remedy: &'static str) -> Self {
        Self { level: Level::Warn, check, text: text.into(), remedy }
    }

    pub fn fail(check: &'static str, text: impl Into<String>, remedy: &'static str) -> Self {
        Self { level: Level::Fail, check, text: text.into(), remedy }
    }

    /// What the server does not let this user ask, which costs the limiter nothing.
    pub fn unknown(check: &'static str, error: &StoreError, remedy: &'static str) -> Self {
        Self::warn(check, format!("cannot be checked: {error}"), remedy)
    }
}

/// Prints the verdict. Says whether nothing failed.
pub fn run(args: &DoctorArgs) -> Result<bool, Failure> {
    let text = dsn(args)?;
    let dsn = Dsn::parse(&text).map_err(|error| Failure::usage(format!("the DSN {error}")))?;
    let findings = checks::all(&dsn, args);
    let worst =
        findings.iter().fold(
            Level::Ok,
            |worst, finding| {
                if finding.level > worst { finding.level } else { worst }
            },
        );
    print(&page(&findings))?;
    Ok(worst != Level::Fail)
}

fn dsn(args: &DoctorArgs) -> Result<String, Failure> {
    match args.dsn.as_deref() {
        Some(text) => from_input(text),
        None => std::env::var(VARIABLE).map_err(|_| {
            Failure::usage(format!("name a DSN, or put it into the environment as {VARIABLE}"))
        }),
    }
}

/// `text`, or standard input where that is `-`.
pub fn from_input(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::new(format!("standard input cannot be read: {error}")))?;
    Ok(text.trim().to_owned())
}

fn page(findings: &[Finding]) -> String {
    let mut page = String::new();
    for Finding { level, check, text, remedy } in findings {
        let level = match level {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        // What a server said may hold anything. Writing to a string cannot fail.
        let text = text.split(' ').map(|word| printable(word.as_bytes())).collect::<Vec<_>>();
        let _ = writeln!(page, "{level:<5} {check:<12} {}", text.join(" "));
        if !remedy.is_empty() {
            let _ = writeln!(page, "{:18} -> {remedy}", "");
        }
    }
    page
}
