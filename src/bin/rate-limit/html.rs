//! The report as one HTML page that needs no other file and runs no script.

use std::fmt::Write as _;

use crate::chart;
use crate::escape::html;
use crate::report::{Report, Row};
use crate::state::Algorithm;
use crate::text::{EXPLAINED, VERDICT, cautions, grouped, policies, suggested, summary, verdict};

/// The whole page.
pub fn page(report: &Report) -> String {
    let worst = report.worst().map(|(kind, rows)| worst(report, kind, rows));
    let sections = [
        heading(report),
        verdicts(report),
        timeline(report),
        suggestions(report),
        worst.concat(),
        unread(report),
    ];
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>rate-limit replay</title>\n<style>\n{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        include_str!("page.css"),
        sections.concat(),
    )
}

fn heading(report: &Report) -> String {
    let summary = html(&summary(report));
    let mut text = format!("<h1>What the limit would have done</h1>\n<p>{summary}</p>\n");
    for policy in policies(report) {
        let _ = writeln!(text, "<p class=\"faint\">{}</p>", html(&policy));
    }
    for caution in cautions(report) {
        let _ = writeln!(text, "<p class=\"caution\">{}</p>", html(&caution));
    }
    text
}

fn verdicts(report: &Report) -> String {
    let rows = Algorithm::ALL.map(|algorithm| {
        let name = key(algorithm.name(), algorithm.name());
        row(&format!("<td>{name}</td>"), &verdict(report, algorithm))
    });
    let explained = format!("<p class=\"faint\">{EXPLAINED}</p>\n");
    section("By algorithm", &(table(&VERDICT, &rows.concat()) + &explained))
}

fn timeline(report: &Report) -> String {
    let minutes = report.timeline.width / crate::tally::MINUTE;
    let by = report.algorithm.name();
    let mut text = format!(
        "<p class=\"faint\">{} {}; a bar is {}, times are UTC</p>\n{}",
        key("allowed", "requests"),
        key(by, &format!("denied by {by}")),
        if minutes == 1 { "a minute".to_owned() } else { format!("{} minutes", grouped(minutes)) },
        chart::requests(&report.timeline, report.algorithm),
    );
    for algorithm in Algorithm::ALL {
        let legend = key(algorithm.name(), &format!("denied by {}", algorithm.name()));
        let _ = write!(
            text,
            "<p class=\"faint\">{legend}</p>\n{}",
            chart::denied(&report.timeline, algorithm)
        );
    }
    section("Over time", &text)
}

fn suggestions(report: &Report) -> String {
    let legend = Algorithm::ALL.map(|algorithm| key(algorithm.name(), algorithm.name())).join(" ");
    let mut text = String::new();
    for policy in &report.policies {
        let Some(suggestion) = &policy.suggestion else { continue };
        let _ = write!(
            text,
            "<p>{}</p>\n<p class=\"faint\">{legend}; upwards the clients touched, to the right the limit</p>\n{}",
            html(&suggested(policy, suggestion, report.algorithm)),
            chart::sweep(suggestion, report.algorithm),
        );
    }
    if text.is_empty() { text } else { section("Which limit", &text) }
}

fn worst(report: &Report, kind: &str, rows: &[Row]) -> String {
    let denied = |row: &Row| row.tally.denied[report.algorithm as usize];
    let most = rows.iter().map(denied).max().unwrap_or(0).max(1);
    let by = report.algorithm.name();
    let body: String = rows
        .iter()
        .map(|worst @ Row { name, tally }| {
            let width = 10.0 * denied(worst) as f64 / most as f64;
            let [log, counter, fixed] = tally.denied.map(grouped);
            let bar = format!("<span class=\"bar {by}\" style=\"width: {width:.2}rem\"></span>");
            let cells = [grouped(tally.requests), log, counter, fixed, bar];
            row(&format!("<td class=\"name\">{}</td>", html(name)), &cells)
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = ["", "requests", "log", "counter", "fixed", ""];
    section(&format!("The {kind}s denied most by {by}"), &table(&head, &body))
}

fn unread(report: &Report) -> String {
    if report.shown.is_empty() {
        return String::new();
    }
    let rows = report.shown.iter().map(|unread| {
        let name = format!("<td class=\"name\">{}</td>", html(&unread.text));
        row(&name, &[html(&unread.place), html(unread.rule)])
    });
    section(
        "Lines that could not be read",
        &table(&["the first of them", "", ""], &rows.collect::<String>()),
    )
}

fn section(title: &str, body: &str) -> String {
    format!("<h2>{title}</h2>\n{body}")
}

/// A square in an algorithm's colour, and a text.
fn key(class: &str, text: &str) -> String {
    format!("<span class=\"key {class}\"></span>{text}")
}

/// A table of rows that are HTML already.
fn table(head: &[&str], rows: &str) -> String {
    let head: String = head.iter().map(|cell| format!("<th>{cell}</th>")).collect();
    format!("<div class=\"wide\"><table>\n<tr>{head}</tr>\n{rows}</table></div>\n")
}

/// A row of HTML: the first cell with its tags, the others without.
fn row(first: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{first}{cells}</tr>\n")
}
