//! The second table as a picture: the share of wrong decisions on a logarithmic scale, and beside
//! it the most units within one true window, in limits.

use crate::judge::Outcome;
use crate::traffic::{POPULATIONS, Population};
use crate::{percent, share};

const TOP: f64 = 84.0;
const ROW: f64 = 44.0;
/// Decades of the left panel, in percent.
const DECADES: std::ops::RangeInclusive<i32> = -4..=2;

/// (colour, what it stands for), in the order of the bars of a row.
const SERIES: [(&str, &str); 3] = [
    ("#b9c4d0", "counter's formula over all requests (Cloudflare)"),
    ("#d1652a", "SlidingWindowCounter"),
    ("#23718c", "SlidingWindowLog"),
];

/// The outcomes of [`POPULATIONS`], in their order.
pub fn svg(outcomes: &[Outcome], seed: u64) -> String {
    let bottom = TOP + ROW * outcomes.len() as f64;
    let rows: String = (0..).zip(POPULATIONS.iter().zip(outcomes)).map(row).collect();
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1000 {height}' font-family='sans-serif' \
         font-size='12' fill='#222'>\n<rect width='1000' height='{height}' fill='#fff'/>\n\
         <text x='16' y='24' font-size='16'>Decisions that an exact window would not have made</text>\n\
         <text x='984' y='24' text-anchor='end'>seed {seed}</text>\n{legend}{axes}{rows}</svg>\n",
        height = bottom + 30.0,
        legend = legend(),
        axes = axes(bottom),
    )
}

/// x of a share in percent.
fn share_x(share: f64) -> f64 {
    let least = f64::from(*DECADES.start());
    250.0 + 72.0 * (share.log10().max(least) - least)
}

/// x of a number of units in limits.
fn units_x(limits: f64) -> f64 {
    770.0 + 90.0 * limits
}

fn legend() -> String {
    let entry = |(x, (colour, what)): (u32, (&str, &str))| {
        format!(
            "<rect x='{x}' y='38' width='12' height='12' fill='{colour}'/>\
             <text x='{}' y='48'>{what}</text>\n",
            x + 18
        )
    };
    [16, 350, 530].into_iter().zip(SERIES).map(entry).collect()
}

fn axes(bottom: f64) -> String {
    let line = |x: f64, label: String| {
        format!(
            "<path d='M{x} {TOP}V{bottom}' stroke='#ddd'/>\
             <text x='{x}' y='{}' text-anchor='middle'>{label}</text>\n",
            bottom + 16.0
        )
    };
    let decades = DECADES.map(|d| line(share_x(10_f64.powi(d)), format!("{} %", 10_f64.powi(d))));
    let limits = [0.0, 1.0, 2.0].map(|n| line(units_x(n), format!("{n} L")));
    let title = |x: f64, what| format!("<text x='{x}' y='{}'>{what}</text>\n", TOP - 10.0);
    let titles =
        title(share_x(0.0), "wrong decisions") + &title(units_x(0.0), "most in one true window");
    decades.chain(limits).collect::<String>() + &titles
}

fn row((index, (population, outcome)): (u32, (&Population, &Outcome))) -> String {
    let y = TOP + ROW * f64::from(index);
    let tallies = [&outcome.all_counted, &outcome.counter, &outcome.log];
    let bar = |x: f64, end: f64, line: usize, label: String| {
        let y = y + 5.0 + 12.0 * line as f64;
        format!(
            "<rect x='{x}' y='{y}' width='{:.1}' height='10' fill='{}'/>\
             <text x='{:.1}' y='{}' font-size='10'>{label}</text>\n",
            end - x,
            SERIES[line].0,
            end + 4.0,
            y + 9.0
        )
    };
    let shares = (0..3).map(|line| {
        let share = share(tallies[line]);
        bar(share_x(0.0), share_x(share), line, percent(share))
    });
    let most = (1..3).map(|line| {
        let limits = tallies[line].most as f64 / f64::from(population.limit);
        bar(units_x(0.0), units_x(limits), line, format!("{limits:.2}"))
    });
    let name = format!(
        "<text x='16' y='{}'>{}, L {}</text>\n",
        y + 26.0,
        population.name,
        population.limit
    );
    name + &shares.chain(most).collect::<String>()
}
