//! How often does the counter decide otherwise than an exact sliding window, and by how much?
//!
//! `cargo bench --no-default-features --bench accuracy -- [--seed N] [--write]` prints two tables in
//! about a minute; `--write` also writes benches/accuracy.md and benches/accuracy.svg.
//!
//! It does not measure speed, stores, races between callers, skewed clocks, costs above 1, or real
//! traffic: the clients are synthetic, independent of each other, and do not react to a denial.

mod judge;
mod plot;
mod traffic;

use std::num::NonZero;
use std::{env, fs, io, process, thread};

use judge::{Outcome, Tally};
use traffic::{POPULATIONS, PUBLISHED, Population};

const SEED: u64 = 1;
const READING: &str = "\
A decision is wrong when it differs from the one that an exact sliding window makes about the same
past, the units that this limiter has recorded. Where all requests count, as at Cloudflare, denied
ones are recorded too; the classes record admitted ones only. Cloudflare did not publish the limit,
the window, the duration or the spread of the clients' rates: the first row assumes 50 a minute, a
day, and lognormal rates of sigma 1. The difference of the rates is averaged over requests; over
what theirs was is not published. The clients go on as before when they are denied.
";

fn main() -> io::Result<()> {
    // `cargo bench` says `--bench`; `cargo test --all-targets` runs this too and does not.
    if !env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let (seed, write) = arguments().unwrap_or_else(|reason| {
        eprintln!("accuracy: {reason}; usage: [--seed N] [--write]");
        process::exit(2);
    });
    let outcomes: Vec<Outcome> = POPULATIONS.iter().map(|p| simulate(p, seed)).collect();
    let report = format!(
        "# Accuracy\n\nSeed {seed}, window 60 s, one simulated day; written by `./build.sh accuracy`.\n\n\
         {READING}\n## Beside Cloudflare's figures\n\n{}\n## Other traffic\n\n{}",
        beside_cloudflare(&outcomes[0]),
        by_population(&outcomes),
    );
    print!("{report}");
    if write {
        let benches = concat!(env!("CARGO_MANIFEST_DIR"), "/benches");
        fs::write(format!("{benches}/accuracy.md"), report)?;
        fs::write(format!("{benches}/accuracy.svg"), plot::svg(&outcomes, seed))?;
    }
    Ok(())
}

fn arguments() -> Result<(u64, bool), String> {
    let (mut seed, mut write) = (SEED, false);
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "--write" => write = true,
            "--seed" => {
                let value = args.next().unwrap_or_default();
                let parsed = value.parse::<u32>();
                seed = parsed.map_err(|_| format!("--seed {value:?} is not 0 to 2^32 - 1"))?.into();
            }
            _ => return Err(format!("{arg:?} is no option")),
        }
    }
    Ok((seed, write))
}

/// All clients of a population, in tenths, each on all cores.
fn simulate(population: &Population, seed: u64) -> Outcome {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let every = |step: usize, first: usize| -> Outcome {
        let clients = (first as u64..population.clients).step_by(step);
        clients.map(|client| Outcome::of(population, seed, client)).sum()
    };
    let tenth = |part: usize| -> Outcome {
        let outcome = thread::scope(|scope| {
            let spawn = |t| scope.spawn(move || every(10 * threads, part + 10 * t));
            let running: Vec<_> = (0..threads).map(spawn).collect();
            running.into_iter().map(|thread| thread.join().expect("clients panicked")).sum()
        });
        eprint!(" {} %", 10 * (part + 1));
        outcome
    };
    eprint!("{}, limit {}:", population.name, population.limit);
    let outcome = (0..10).map(tenth).sum();
    eprintln!();
    outcome
}

/// The first population, for which there are published figures.
fn beside_cloudflare(outcome: &Outcome) -> String {
    let row = |what: &str, t: &Tally| {
        vec![
            what.to_owned(),
            grouped(PUBLISHED.clients),
            grouped(t.requests),
            grouped(t.wrong()),
            percent(share(t)),
            percent(t.distance as f64 / 1e4 / t.requests as f64),
            grouped(t.limited),
            grouped(t.limited_in_vain),
        ]
    };
    let head = "who|clients|requests|wrong|share|rates differ on average by|clients limited|\
                of them never denied by the log";
    let published = "Cloudflare, published|270 000|400 million||0.003 %|6 %||0";
    table(
        head,
        vec![
            published.split('|').map(str::to_owned).collect(),
            row("the same rule: all requests count", &outcome.all_counted),
            row("SlidingWindowCounter: admitted requests count", &outcome.counter),
        ],
    )
}

fn by_population(outcomes: &[Outcome]) -> String {
    let row = |(p, o): (&Population, &Outcome)| {
        let of_limit = |units: u64| format!("{:.2}", units as f64 / f64::from(p.limit));
        vec![
            p.name.to_owned(),
            grouped(p.limit.into()),
            grouped(o.counter.requests),
            percent(share(&o.all_counted)),
            grouped(o.counter.wrongly_admitted),
            grouped(o.counter.wrongly_denied),
            percent(share(&o.counter)),
            of_limit(o.counter.most),
            format!("{:.3}", o.counter.admitted as f64 / o.log.admitted as f64),
            grouped(o.counter.limited_in_vain),
            grouped(o.log.wrong()),
            of_limit(o.log.most),
        ]
    };
    let head = "traffic|L|requests|all counted: wrong|counter: wrongly admitted|wrongly denied|\
                wrong|most in a window / L|admitted / log's|clients denied but never by the log|\
                log: wrong|most in a window / L";
    table(head, POPULATIONS.iter().zip(outcomes).map(row).collect())
}

/// Wrong decisions in percent of all.
fn share(tally: &Tally) -> f64 {
    100.0 * tally.wrong() as f64 / tally.requests as f64
}

fn percent(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 0.01 => format!("{v:.5} %"),
        v => format!("{v:.2} %"),
    }
}

/// Digits in threes.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{} {:03}", grouped(number / 1_000), number % 1_000),
    }
}

/// Markdown, in columns that also a terminal shows straight.
fn table(head: &str, mut rows: Vec<Vec<String>>) -> String {
    rows.insert(0, head.split('|').map(str::to_owned).collect());
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    rows.insert(1, widths.iter().map(|w| format!("{}:", "-".repeat(w - 1))).collect());
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, w)| format!(" {cell:>w$} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    rows.iter().map(line).collect()
}
