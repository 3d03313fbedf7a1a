//! The report as tables for a terminal. Every name in it is printable ASCII already.

use std::fmt::Write as _;

use crate::report::{Report, Row, Suggestion, second};
use crate::state::Algorithm;

/// The whole report.
pub fn page(report: &Report) -> String {
    let mut page = heading(report);
    page += &verdict(report);
    page += &suggestions(report);
    let by = report.algorithm.name();
    page += &worst(&format!("clients denied most by {by}"), "client", &report.worst_clients);
    page += &worst(&format!("routes denied most by {by}"), "route", &report.worst_routes);
    page += &worst(&format!("minutes denied most by {by} (UTC)"), "minute", &report.worst_minutes);
    page += &notes(report);
    page
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
            "{} requests stood more than a window behind younger ones and were left out; sort the log to have them counted",
            grouped(report.late)
        ));
    }
    if report.unparsed > 0 {
        cautions.push(format!("{} lines could not be read", grouped(report.unparsed)));
    }
    cautions
}

fn heading(report: &Report) -> String {
    let mut text = format!("{}\n", summary(report));
    for policy in &report.policies {
        let (max, window) = (grouped(policy.limit.max().into()), policy.limit.window_seconds());
        let _ = writeln!(text, "{}: {max} in {window} s for each {}", policy.name, report.budget());
    }
    text
}

fn verdict(report: &Report) -> String {
    let row = |algorithm: Algorithm| {
        let i = algorithm as usize;
        let (denied, clients) = (report.total.denied[i], report.denied_clients[i] as u64);
        let peak = report.difference.peak[i];
        vec![
            algorithm.name().to_owned(),
            grouped(denied),
            percent(denied, report.total.requests),
            grouped(clients),
            percent(clients, report.clients as u64),
            grouped(report.difference.over[i]),
            grouped(report.difference.early[i]),
            format!("{} of {}", grouped(peak.admitted.into()), grouped(peak.limit.into())),
        ]
    };
    let head = ["", "denied", "", "clients denied", "", "over", "early", "peak"];
    let mut text = table(&head, Algorithm::ALL.map(row).into());
    text += "\nover: admitted though the window up to then was full. early: denied though it was not.\n\
             peak: the most that one budget was admitted within any one window, of what its limit allows.\n";
    text
}

fn suggestions(report: &Report) -> String {
    let mut text = String::new();
    for policy in &report.policies {
        let Some(suggestion) = &policy.suggestion else { continue };
        let _ = writeln!(
            text,
            "\n{}: the smallest limit in {} s that touches at most {} % of {} clients is {}",
            policy.name,
            policy.limit.window_seconds(),
            suggestion.share.percent(),
            grouped(suggestion.clients as u64),
            suggested(suggestion, report.algorithm),
        );
        text += &sweep(suggestion);
    }
    text
}

/// The limit that is suggested for an algorithm.
pub fn suggested(suggestion: &Suggestion, algorithm: Algorithm) -> String {
    suggestion.limit[algorithm as usize]
        .map_or("above 100,000".to_owned(), |limit| grouped(limit.into()))
}

fn sweep(suggestion: &Suggestion) -> String {
    let rows = suggestion.sweep.iter().map(|(limit, touched)| {
        let cells = touched.iter().flat_map(|&clients| {
            [grouped(clients as u64), percent(clients as u64, suggestion.clients as u64)]
        });
        [grouped((*limit).into())].into_iter().chain(cells).collect()
    });
    table(&["limit", "log touches", "", "counter touches", "", "fixed touches", ""], rows.collect())
}

fn worst(title: &str, kind: &str, rows: &[Row]) -> String {
    let rows = rows.iter().filter(|row| row.tally.denied != [0; 3]);
    let rows: Vec<_> = rows
        .map(|Row { name, tally }| {
            let [log, counter, fixed] = tally.denied.map(grouped);
            vec![name.clone(), grouped(tally.requests), log, counter, fixed]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\nThe {title}{}", table(&[kind, "requests", "log", "counter", "fixed"], rows))
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
