//! The report as tables for a terminal. Every name in it is printable ASCII already.

use std::fmt::Write as _;

use crate::demand::MAX_LIMIT;
use crate::report::{Policy, Report, Row, Suggestion, second};
use crate::state::Algorithm;

/// The whole report.
pub fn page(report: &Report) -> String {
    let mut page = format!("{}\n{}\n", summary(report), policies(report).join("\n"));
    let verdicts = Algorithm::ALL.map(|algorithm| {
        let name = algorithm.name().to_owned();
        std::iter::once(name).chain(verdict(report, algorithm)).collect()
    });
    page += &format!("{}\n{EXPLAINED}", table(&VERDICT, verdicts.into()));
    for policy in &report.policies {
        if let Some(suggestion) = &policy.suggestion {
            let sentence = suggested(policy, suggestion, report.algorithm);
            page += &format!("\n{sentence}\n{}", sweep(suggestion));
        }
    }
    for (kind, rows) in report.worst() {
        page += &worst(kind, report.algorithm, rows);
    }
    page + &notes(report)
}

/// `12345` as `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| group.escape_ascii().to_string());
    groups.collect::<Vec<_>>().join(",")
}

/// `part` of `whole` in per cent, told apart from none and from all.
pub fn percent(part: u64, whole: u64) -> String {
    match (part, part as f64 / whole as f64 * 100.0) {
        (0, _) => "0 %".to_owned(),
        (_, share) if share < 0.01 => "< 0.01 %".to_owned(),
        (_, share) if share > 99.99 && part < whole => "> 99.99 %".to_owned(),
        (_, share) => format!("{share:.2} %"),
    }
}

/// What was replayed, in one sentence.
pub fn summary(report: &Report) -> String {
    let (requests, clients) = (grouped(report.total.requests), grouped(report.clients as u64));
    match report.span {
        Some((first, last)) => format!(
            "{requests} requests by {clients} clients, {} to {}",
            second(first),
            second(last)
        ),
        None => "No requests".to_owned(),
    }
}

/// What must be known to trust the numbers.
pub fn cautions(report: &Report) -> Vec<String> {
    let mut cautions = report.warnings.clone();
    if report.late > 0 {
        cautions.push(format!(
            "requests left out, since they stood more than a window behind younger ones: {} (sort the log)",
            grouped(report.late)
        ));
    }
    if report.unparsed > 0 {
        cautions.push(format!("lines that could not be read: {}", grouped(report.unparsed)));
    }
    cautions
}

/// What holds under each policy, a sentence each.
pub fn policies(report: &Report) -> Vec<String> {
    let sentence = |policy: &Policy| {
        let (max, window) = (grouped(policy.limit.max().into()), policy.limit.window_seconds());
        format!("{}: {max} in {window} s for each {}", policy.name, report.budget())
    };
    report.policies.iter().map(sentence).collect()
}

/// The columns of [`verdict`].
pub const VERDICT: [&str; 8] =
    ["", "denied", "of all", "clients denied", "of all", "over", "early", "peak"];

/// What the columns mean that do not say so.
pub const EXPLAINED: &str = "\
over: admitted though the window up to then was full. early: denied though it was not.
peak: the most that one budget was admitted within any one window, of what its limit allows.
";

/// What an algorithm would have done: a row without its first cell, the name.
pub fn verdict(report: &Report, algorithm: Algorithm) -> Vec<String> {
    let i = algorithm as usize;
    let (denied, clients) = (report.total.denied[i], report.denied_clients[i] as u64);
    let peak = report.difference.peak[i];
    vec![
        grouped(denied),
        percent(denied, report.total.requests),
        grouped(clients),
        percent(clients, report.clients as u64),
        grouped(report.difference.over[i]),
        grouped(report.difference.early[i]),
        format!("{} of {}", grouped(peak.admitted.into()), grouped(peak.limit.into())),
    ]
}

/// What is suggested for a policy, in one sentence.
pub fn suggested(policy: &Policy, suggestion: &Suggestion, algorithm: Algorithm) -> String {
    let limit = suggestion.limit[algorithm as usize].map_or_else(
        || format!("above {}", grouped(MAX_LIMIT.into())),
        |limit| grouped(limit.into()),
    );
    format!(
        "{}: the smallest limit in {} s that touches at most {} % of {} clients is {limit}",
        policy.name,
        policy.limit.window_seconds(),
        suggestion.share.percent(),
        grouped(suggestion.clients as u64),
    )
}

fn sweep(suggestion: &Suggestion) -> String {
    let rows = suggestion.sweep.iter().map(|(limit, touched)| {
        let cells = touched.iter().flat_map(|&clients| {
            [grouped(clients as u64), percent(clients as u64, suggestion.clients as u64)]
        });
        [grouped((*limit).into())].into_iter().chain(cells).collect()
    });
    table(
        &["limit", "log touches", "of all", "counter touches", "of all", "fixed touches", "of all"],
        rows.collect(),
    )
}

fn worst(kind: &str, algorithm: Algorithm, rows: &[Row]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|Row { name, tally }| {
            let [log, counter, fixed] = tally.denied.map(grouped);
            vec![name.clone(), grouped(tally.requests), log, counter, fixed]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [kind, "requests", "log", "counter", "fixed"];
    format!("\nThe {kind}s denied most by {}{}", algorithm.name(), table(&head, rows))
}

fn notes(report: &Report) -> String {
    let mut text = String::new();
    for caution in cautions(report) {
        let _ = write!(text, "\n{caution}");
    }
    for unread in &report.shown {
        let _ = write!(text, "\n  {}: {}: {}", unread.place, unread.rule, unread.text);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// A table with a blank line before it: the first column to the left, the others to the right.
fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let lines: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..lines[0].len()).map(width).collect();
    let mut text = "\n".to_owned();
    for line in &lines {
        let mut row = format!("{:<1$}", line[0], widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(row, "  {cell:>width$}");
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}
