//! The report's charts, as SVG that takes its colours from page.css.

use std::fmt::Write as _;

use crate::report::{Suggestion, minute};
use crate::state::Algorithm;
use crate::tally::{Tally, Timeline};
use crate::text::{grouped, percent};

const WIDTH: f64 = 960.0;
/// Where the plot begins; the numbers of the upright axis stand before it.
const LEFT: f64 = 60.0;
const TOP: f64 = 8.0;
/// Below the plot, for the numbers of the level axis.
const FOOT: f64 = 22.0;

/// A plot: where values come to lie.
struct Plot {
    height: f64,
    /// The value at the top; the bottom is 0.
    most: f64,
}

impl Plot {
    fn y(&self, value: f64) -> f64 {
        TOP + self.height * (1.0 - value / self.most)
    }

    /// `within` the plot, with the upright axis' numbers. `labels` are texts along the level axis and
    /// their places, from 0 to 1.
    fn svg(&self, title: &str, most: &str, labels: &[(f64, String)], within: &str) -> String {
        let (bottom, right, before) = (TOP + self.height, WIDTH - 1.0, LEFT - 8.0);
        let height = bottom + if labels.is_empty() { 4.0 } else { FOOT };
        let mut svg = format!(
            "<div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
             <line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{TOP}\" y2=\"{TOP}\"/>\
             <text x=\"{before}\" y=\"{}\" text-anchor=\"end\">{most}</text>\
             <text x=\"{before}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n{within}\
             <line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\n",
            TOP + 9.0,
        );
        for (at, text) in labels {
            let anchor = if *at > 0.95 { "end" } else { "start" };
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>",
                x_of(*at),
                bottom + 16.0
            );
        }
        svg + "</svg></div>\n"
    }
}

fn x_of(share: f64) -> f64 {
    LEFT + share * (WIDTH - 1.0 - LEFT)
}

/// All requests over time; a slot under the pointer says its numbers.
pub fn requests(timeline: &Timeline, algorithm: Algorithm) -> String {
    let denied = |slot: &Tally| slot.denied[algorithm as usize];
    let plot = Plot { height: 150.0, most: most(timeline, |slot| slot.requests) };
    let mut within = bars(timeline, &plot, "allowed", |slot| slot.requests);
    within += &bars(timeline, &plot, algorithm.name(), denied);
    let width = 1.0 / timeline.slots.len().max(1) as f64;
    for (i, slot) in timeline.slots.iter().enumerate().filter(|(_, slot)| slot.requests > 0) {
        let [log, counter, fixed] = slot.denied.map(grouped);
        let _ = writeln!(
            within,
            "<rect class=\"slot\" x=\"{:.2}\" y=\"{TOP}\" width=\"{:.2}\" height=\"{}\"><title>{}: {} requests, denied {log} by log, {counter} by counter, {fixed} by fixed</title></rect>",
            x_of(i as f64 * width),
            x_of(width) - LEFT,
            plot.height,
            minute(timeline.start + i as u64 * timeline.width),
            grouped(slot.requests),
        );
    }
    plot.svg("requests over time", &grouped(plot.most as u64), &times(timeline), &within)
}

/// The requests that one algorithm denied over time, all algorithms to the same scale.
pub fn denied(timeline: &Timeline, algorithm: Algorithm) -> String {
    let plot = Plot {
        height: 56.0,
        most: most(timeline, |slot| slot.denied.into_iter().max().unwrap_or(0)),
    };
    let within = bars(timeline, &plot, algorithm.name(), |slot| slot.denied[algorithm as usize]);
    let title = format!("requests denied by {} over time", algorithm.name());
    plot.svg(&title, &grouped(plot.most as u64), &[], &within)
}

/// The share of clients that each limit touches.
pub fn sweep(suggestion: &Suggestion, algorithm: Algorithm) -> String {
    let share = |touched: usize| touched as f64 / suggestion.clients.max(1) as f64;
    let (Some((first, touched)), Some((last, _))) =
        (suggestion.sweep.first(), suggestion.sweep.last())
    else {
        return String::new();
    };
    let most = touched.iter().copied().max().unwrap_or(0);
    let plot = Plot { height: 180.0, most: share(most.max(1)) };
    let span = (f64::from(*last) / f64::from(*first)).ln().max(f64::MIN_POSITIVE);
    let x = |limit: u32| (f64::from(limit) / f64::from(*first)).ln() / span;
    let mut within = String::new();
    for algorithm in Algorithm::ALL {
        let points = suggestion.sweep.iter().map(|(limit, touched)| {
            format!("{:.1},{:.1}", x_of(x(*limit)), plot.y(share(touched[algorithm as usize])))
        });
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            within,
            "<polyline class=\"curve {}\" points=\"{points}\"/>",
            algorithm.name()
        );
    }
    if let Some(limit) = suggestion.limit[algorithm as usize] {
        let at = x_of(x(limit));
        let _ = writeln!(
            within,
            "<line class=\"chosen\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\"/>",
            TOP + plot.height
        );
    }
    let round = |limit: u32| matches!(limit.to_string().trim_end_matches('0'), "1" | "2" | "5");
    let labels = suggestion.sweep.iter().filter(|(limit, _)| round(*limit));
    let labels: Vec<_> = labels.map(|(limit, _)| (x(*limit), grouped((*limit).into()))).collect();
    plot.svg(
        "share of clients that each limit touches",
        &percent(most as u64, suggestion.clients as u64),
        &labels,
        &within,
    )
}

fn most(timeline: &Timeline, value: impl Fn(&Tally) -> u64) -> f64 {
    timeline.slots.iter().map(value).max().unwrap_or(0).max(1) as f64
}

/// A bar for each slot, all in one path.
fn bars(timeline: &Timeline, plot: &Plot, class: &str, value: impl Fn(&Tally) -> u64) -> String {
    let width = 1.0 / timeline.slots.len().max(1) as f64;
    let mut path = String::new();
    for (i, slot) in timeline.slots.iter().enumerate() {
        let value = value(slot);
        if value > 0 {
            let (left, right) = (x_of(i as f64 * width), x_of((i + 1) as f64 * width));
            let height = (plot.y(0.0) - plot.y(value as f64)).max(1.0);
            let _ = write!(
                path,
                "M{left:.2} {:.2}V{:.2}H{right:.2}V{0:.2}z",
                plot.y(0.0),
                plot.y(0.0) - height
            );
        }
    }
    format!("<path class=\"fill {class}\" d=\"{path}\"/>\n")
}

/// Up to six moments and their places.
fn times(timeline: &Timeline) -> Vec<(f64, String)> {
    let slots = timeline.slots.len();
    let step = slots.div_ceil(6).max(1);
    (0..slots)
        .step_by(step)
        .map(|i| (i as f64 / slots as f64, minute(timeline.start + i as u64 * timeline.width)))
        .collect()
}
