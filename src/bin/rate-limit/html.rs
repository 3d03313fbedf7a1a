//! The report as one HTML page that needs no other file and runs no script.

use std::fmt::Write as _;

use crate::chart;
use crate::escape::html;
use crate::report::{Report, Row};
use crate::state::Algorithm;
use crate::text::{cautions, grouped, percent, suggested, summary};

/// The whole page.
pub fn page(report: &Report) -> String {
    let sections = [
        heading(report),
        verdict(report),
        timeline(report),
        suggestions(report),
        worst(report, "Clients denied most", &report.worst_clients),
        worst(report, "Routes denied most", &report.worst_routes),
        worst(report, "Minutes denied most (UTC)", &report.worst_minutes),
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
    let mut text =
        format!("<h1>What the limit would have done</h1>\n<p>{}</p>\n", html(&summary(report)));
    for policy in &report.policies {
        let (max, window) = (grouped(policy.limit.max().into()), policy.limit.window_seconds());
        let name = html(&policy.name);
        let _ = writeln!(
            text,
            "<p class=\"faint\">{name}: {max} in {window} s for each {}</p>",
            report.budget()
        );
    }
    for caution in cautions(report) {
        let _ = writeln!(text, "<p class=\"caution\">{}</p>", html(&caution));
    }
    text
}

fn verdict(report: &Report) -> String {
    let rows = Algorithm::ALL.map(|algorithm| {
        let i = algorithm as usize;
        let (denied, clients) = (report.total.denied[i], report.denied_clients[i] as u64);
        let peak = report.difference.peak[i];
        let cells = [
            grouped(denied),
            percent(denied, report.total.requests),
            grouped(clients),
            percent(clients, report.clients as u64),
            grouped(report.difference.over[i]),
            grouped(report.difference.early[i]),
            format!("{} of {}", grouped(peak.admitted.into()), grouped(peak.limit.into())),
        ];
        row(&format!("<td>{}</td>", key(algorithm.name(), algorithm.name())), &cells)
    });
    let head = ["", "requests denied", "", "clients denied", "", "over", "early", "peak"];
    let explained = "<p class=\"faint\">over: admitted though the window up to then was full. early: denied though it was not. \
                     peak: the most that one budget was admitted within any one window, of what its limit allows.</p>\n";
    section("By algorithm", &(table(&head, &rows.concat()) + explained))
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
    let mut text = String::new();
    for policy in &report.policies {
        let Some(suggestion) = &policy.suggestion else { continue };
        let legend =
            Algorithm::ALL.map(|algorithm| key(algorithm.name(), algorithm.name())).join(" ");
        let sentence = format!(
            "<p>{}: the smallest limit in {} s that touches at most {} % of {} clients is <b>{}</b>.</p>\n\
             <p class=\"faint\">{legend}; upwards the clients touched, to the right the limit</p>\n",
            html(&policy.name),
            policy.limit.window_seconds(),
            suggestion.share.percent(),
            grouped(suggestion.clients as u64),
            suggested(suggestion, report.algorithm),
        );
        text += &section("Which limit", &(sentence + &chart::sweep(suggestion, report.algorithm)));
    }
    text
}

fn worst(report: &Report, title: &str, rows: &[Row]) -> String {
    let i = report.algorithm as usize;
    let most = rows.iter().map(|row| row.tally.denied[i]).max().unwrap_or(0).max(1);
    let rows: String = (rows.iter().filter(|row| row.tally.denied != [0; 3]))
        .map(|Row { name, tally }| {
            let [log, counter, fixed] = tally.denied.map(grouped);
            let bar = 10.0 * tally.denied[i] as f64 / most as f64;
            let cells = [grouped(tally.requests), log, counter, fixed];
            let bar = format!("<td style=\"text-align: left\"><span class=\"bar {}\" style=\"width: {bar:.2}rem\"></span></td>", report.algorithm.name());
            row(&format!("<td class=\"name\">{}</td>", html(name)), &cells).replace("</tr>", &format!("{bar}</tr>"))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    section(title, &table(&["", "requests", "log", "counter", "fixed", ""], &rows))
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

/// A row: the first cell with its tags, the others without.
fn row(first: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{first}{cells}</tr>\n")
}
